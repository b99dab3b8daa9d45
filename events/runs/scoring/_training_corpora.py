"""Documents to train on, the origin of a model, and feature templates of a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import corefsample
from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import PathLike
from corefsample.scorers._held_out_training import held_out_ids
from corefsample.scorers._loading import feature_templates
from corefsample.scorers.protocol import MentionDocument
from events._yaml_file import file_bytes, read_yaml, typed
from events.runs.scoring._annotated_corpora import Corpus


def split_documents(
    corpus: Corpus, held_out_corpus: Corpus, *, share: float, seed: int
) -> tuple[list[MentionDocument], list[MentionDocument]]:
    """Return the documents for training, and those of `held_out_corpus`, or a share of the corpus if it has no files.

    Raises
    ------
    InputError
        If a document is in both corpora.
    ParameterError
        If no document remains for training.
    """
    doc_ids = {document.doc_id for document in corpus.documents}
    if not held_out_corpus.paths:
        held_out = held_out_ids(doc_ids, share, seed=seed)
        documents = [document for document in corpus.documents if document.doc_id not in held_out]
        return documents, [document for document in corpus.documents if document.doc_id in held_out]
    for repeated in (document for document in held_out_corpus.documents if document.doc_id in doc_ids):
        location = f"{', '.join(held_out_corpus.paths)}: doc_id {repeated.doc_id!r}"
        raise InputError("a document must be trained on or held out, got it in both", place=location)
    return corpus.documents, held_out_corpus.documents


def training_provenance(
    options: Mapping[str, Any],
    sources: Sequence[dict[str, Any]],
    held_out_sources: Sequence[dict[str, Any]],
    documents: Sequence[MentionDocument],
    n_held_out: int,
) -> dict[str, Any]:
    """Describe the origin of a model without folders and times, so that the same command gives the same bytes.

    `options` are attribution, note, where and refit of the training.
    """
    doc_ids = "\n".join(document.doc_id for document in documents).encode("utf-8", "surrogatepass")
    return {
        "made_by": f"corefsample train, version {corefsample.__version__}",
        **{name: options[name] for name in ("attribution", "note") if options[name] is not None},
        "corpora": _without_folders(sources),
        "where": list(options["where"]),
        "held_out_corpora": _without_folders(held_out_sources),
        "n_held_out": n_held_out,
        "refit": options["refit"],
        "documents_sha256": hashlib.sha256(doc_ids).hexdigest(),
    }


def _without_folders(sources: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "path": os.path.basename(row["path"])} for row in sources]


def load_templates(path: PathLike) -> Any:
    """Read feature templates from a YAML file with the lists pronoun, phrase and new.

    Raises
    ------
    InputError
        If the file cannot be read, does not have these lists, or has an invalid template.
    """
    name = os.fspath(path)
    lists = typed(name, read_yaml(name, file_bytes(name)), dict[str, list[str]])
    try:
        return feature_templates(lists)
    except ParameterError as error:
        raise error.as_input_error(name) from None
