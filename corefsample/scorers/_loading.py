"""Scorers by name or path, and their training."""

import hashlib
import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, cast

from corefsample import _checks
from corefsample.errors import ParameterError
from corefsample.files._paths import PathLike
from corefsample.languages._language import Language
from corefsample.scorers import protocol
from corefsample.scorers.log_linear import _training
from corefsample.scorers.log_linear._model import AntecedentModel, load_model

_of_package = cache(load_model)


def scorer_file(name: PathLike | None = None, mentions: protocol.MentionSource = "parse") -> str:
    """Path of the file of a scorer, given its name, or the path itself."""
    text = protocol.DEFAULT if name is None else os.fspath(name)
    return protocol.data_file(protocol.SHIPPED[text][mentions]) if text in protocol.SHIPPED else text


def load_scorer(name: PathLike | None = None, mentions: protocol.MentionSource = "parse") -> protocol.AntecedentScorer:
    """Load a scorer; those of the package are loaded once per process.

    Their scores are as they were trained. `corefsample score` and the spaCy component recalibrate them: see
    `read_recalibration`.

    Parameters
    ----------
    name
        Path of a file that `corefsample train` made, or "en" (the default) or "es" for a scorer of the package.
    mentions
        Origin of the mentions that the scorer will score: "parse" (the default), found in a parse, or "annotated". The
        package has one Spanish scorer for each origin. A file and "en" are for both.

    Raises
    ------
    InputError
        If the file cannot be read, is not a scorer's, is of another version, or has features that this version of
        corefsample does not have.
    """
    text = protocol.DEFAULT if name is None else _checks.path("name", name)
    return (_of_package if text in protocol.SHIPPED else load_model)(scorer_file(text, mentions))


def load_scorers(name: PathLike | None = None) -> dict[protocol.MentionSource, protocol.AntecedentScorer]:
    """Load the scorers of a name for either kind of mentions; a file is read once."""
    files = {source: scorer_file(name, source) for source in protocol.MENTION_SOURCES}
    scorers = {file: load_scorer(name, source) for source, file in reversed(files.items())}
    return {source: scorers[file] for source, file in files.items()}


def scorer_record(name: PathLike | None = None) -> dict[str, str]:
    """Name or path of a scorer, and the SHA-256 checksum of its files, for records."""
    files = dict.fromkeys(scorer_file(name, source) for source in protocol.MENTION_SOURCES)
    data = b"".join(Path(file).read_bytes() for file in files)
    path = "the English model of the package" if name is None else os.fspath(name)
    return {"path": path, "sha256": hashlib.sha256(data).hexdigest()}


def held_out_ids(doc_ids: Collection[str], share: float, *, seed: int = 0) -> frozenset[str]:
    """Draw documents to hold out.

    Documents are ranked by a hash of the seed and their doc_id, so the result does not depend on their order.

    Parameters
    ----------
    doc_ids
        Distinct identifiers of the documents.
    share
        Share of the documents to hold out, in (0, 1). The number is rounded up, and must leave at least one document to
        train on.
    seed
        Seed of the draw, in [0, 2**64).

    Raises
    ------
    ParameterError
        If no document remains for training.
    """
    n_held_out = math.ceil(share * len(doc_ids))
    if n_held_out >= len(doc_ids):
        rule = f"must leave a document to train on in addition to those held out, got {share} of {len(doc_ids)}"
        raise ParameterError(rule, parameter="held_out_share", hint="0 holds out none")
    key = seed.to_bytes(8, "little")

    def rank(doc_id: str) -> tuple[bytes, str]:
        return hashlib.blake2b(doc_id.encode("utf-8", "surrogatepass"), key=key).digest(), doc_id

    return frozenset(sorted(doc_ids, key=rank)[:n_held_out])


def train_scorer(
    documents: Sequence[protocol.MentionDocument],
    held_out: Sequence[protocol.MentionDocument],
    *,
    l2: Sequence[float],
    epochs: int,
    refit: bool,
    provenance: Mapping[str, Any],
    on_epoch: Callable[[protocol.EpochReport], None] | None,
    **settings: Any,
) -> tuple[protocol.AntecedentScorer, dict[str, Any]]:
    """Train a scorer with the penalty and the number of passes that have the lowest loss on held-out documents.

    Parameters
    ----------
    documents, held_out
        Documents to train on, and documents by which penalty and passes are chosen; may be empty.
    l2, epochs
        Penalties that are tried, 0.02 and 0.05 if there are none, and largest number of passes.
    refit
        True to train again on all documents, held-out ones included, with the chosen penalty and number of passes.
    provenance
        Description of the origin of the scorer, which is stored in it.
    on_epoch
        Function that is called with the report of each pass.
    settings
        Other options of the kind of scorer: see `corefsample.scorers.log_linear._training.train`.

    Returns
    -------
    AntecedentScorer
        The scorer, whose provenance has the best penalty and number of passes.
    dict
        Figures as JSON values: best penalty l2 and number of passes epoch, numbers of documents and of mentions, losses
        on held-out documents (None without any), and the losses of all passes.
    """
    reports: list[protocol.EpochReport] = []

    def report(epoch: protocol.EpochReport) -> None:
        reports.append(epoch)
        if on_epoch is not None:
            on_epoch(epoch)

    penalties = tuple(l2) or ((0.02, 0.05) if held_out else (0.02,))
    fixed: dict[str, Any] = {**settings, "on_epoch": report}
    tried: dict[str, Any] = {"held_out": held_out or None, "l2": penalties, "epochs": epochs}
    scorer = _training.train(documents, **tried, provenance=provenance, **fixed)
    if refit and held_out:
        choice = scorer.provenance
        figures = {"n_documents": len(held_out), "l2_tried": list(penalties), **choice["held_out"]}
        best = {"l2": choice["l2"], "epochs": choice["epoch"], "provenance": {**provenance, "chosen_on": figures}}
        scorer = _training.train([*documents, *held_out], **best, **fixed)
    training = {name: scorer.provenance[name] for name in ("l2", "epoch", "n_documents", "n_mentions")}
    losses = next(each.held_out for each in reports if (each.l2, each.epoch) == (training["l2"], training["epoch"]))
    passes = [each.to_json() for each in reports]
    return scorer, {**training, "held_out": None if losses is None else asdict(losses), "passes": passes}


def retrain(
    scorer: protocol.AntecedentScorer,
    documents: Sequence[protocol.MentionDocument],
    language: Language,
    scheme: str | None,
) -> protocol.AntecedentScorer:
    """Train a scorer with the same options on other documents."""
    templates = cast("AntecedentModel", scorer).templates
    return _training.train(documents, **scorer.recipe, templates=templates, language=language, scheme=scheme)
