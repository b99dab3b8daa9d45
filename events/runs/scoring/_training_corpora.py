"""Corpora to train on, with the origin of the model, and feature templates of a file."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import corefsample
from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import Inputs, PathLike
from corefsample.formats.scored._writing import QuarantineFile
from corefsample.languages._language import Language
from corefsample.scorers._held_out_training import held_out_ids
from corefsample.scorers._loading import feature_templates
from corefsample.scorers.protocol import MentionDocument
from events._options import Progress
from events._selection import Selection
from events._yaml_file import file_bytes, read_yaml, typed
from events.runs._outputs import checksums
from events.runs.scoring._annotated_corpora import Corpus, annotated_inputs, chosen_language, read_corpus


@dataclass(frozen=True, slots=True)
class TrainingCorpora:
    """Documents to train on and held-out documents, and the corpora that they are of.

    Attributes
    ----------
    documents, held_out
        Documents to train on, and held-out documents.
    corpora
        The corpus to train on, and the corpus of held-out documents if there is one.
    inputs
        Path, size and checksum of each file, with its part: "train" or "held out".
    """

    documents: list[MentionDocument]
    held_out: list[MentionDocument]
    corpora: list[Corpus]
    inputs: list[dict[str, Any]]

    def numbers(self) -> dict[str, Any]:
        """Numbers of documents that were held out or left out, and of mentions that could not be read, by reason."""
        return {
            "n_held_out": len(self.held_out),
            "n_without_gold": sum(corpus.n_without_gold for corpus in self.corpora),
            "n_not_selected": sum(corpus.n_not_selected for corpus in self.corpora),
            "skipped": dict(sum((corpus.skipped for corpus in self.corpora), Counter[str]())),
        }

    def doc_ids(self) -> dict[str, list[str]]:
        """doc_ids of the documents to train on, and of the held-out ones."""
        parts = {"documents": self.documents, "held_out": self.held_out}
        return {name: [document.doc_id for document in part] for name, part in parts.items()}

    def language(self, requested: str | None) -> Language:
        """Language to train in: see `chosen_language`."""
        return chosen_language(requested, self.corpora)

    def provenance(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Describe the origin of a model without folders and times, so that the same command gives the same bytes.

        `options` are attribution, note, where and refit of the training.
        """
        doc_ids = "\n".join(document.doc_id for document in self.documents).encode("utf-8", "surrogatepass")
        files: dict[str, list[dict[str, Any]]] = {"train": [], "held out": []}
        for row in self.inputs:
            without_folder = {**row, "path": os.path.basename(row["path"])}
            files[without_folder.pop("part")].append(without_folder)
        return {
            "made_by": f"corefsample train, version {corefsample.__version__}",
            **{name: options[name] for name in ("attribution", "note") if options[name] is not None},
            "corpora": files["train"],
            "where": list(options["where"]),
            "held_out_corpora": files["held out"],
            "n_held_out": len(self.held_out),
            "refit": options["refit"],
            "documents_sha256": hashlib.sha256(doc_ids).hexdigest(),
        }


def read_training_corpora(
    corpora: Inputs,
    *,
    held_out: Sequence[str],
    held_out_share: float,
    where: Sequence[str],
    scheme: str | None,
    entity_fields: str | None,
    seed: int,
    on_rejected: QuarantineFile | None,
    on_progress: Progress | None,
) -> TrainingCorpora:
    """Read annotated corpora, and the held-out documents: those of other files, or a share of the documents.

    Raises
    ------
    InputError
        If a document is invalid and `on_rejected` is None, a file has no gold, or a document is in both corpora.
    ParameterError
        If no document remains for training.
    """
    selection = Selection(where)
    opened = [annotated_inputs(paths, entity_fields) for paths in [corpora, held_out] if paths]
    read = [read_corpus(inputs, selection, scheme, on_rejected, on_progress) for inputs in opened]
    rows = [
        {"part": part, **row}
        for part, corpus in zip(("train", "held out"), read, strict=False)
        for row in checksums(corpus.paths)
    ]
    documents = read[0].documents
    doc_ids = {document.doc_id for document in documents}
    if not held_out:
        drawn = held_out_ids(doc_ids, held_out_share, seed=seed)
        parts = [[each for each in documents if (each.doc_id in drawn) == is_held_out] for is_held_out in (False, True)]
        return TrainingCorpora(parts[0], parts[1], read, rows)
    for repeated in (document for document in read[1].documents if document.doc_id in doc_ids):
        location = f"{', '.join(read[1].paths)}: doc_id {repeated.doc_id!r}"
        raise InputError("a document must be trained on or held out, got it in both", place=location)
    return TrainingCorpora(documents, read[1].documents, read, rows)


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
