"""A user's own predicate on clusterings, instead of a rule: its events in one document."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Ints, Ints32
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.posterior import DocumentPosterior
from corefsample.posterior._posterior import DrawnRecalibration
from events.counting._evaluation import DocumentEvents
from events.counting._tables import EventKey
from events.counting._tally import MOST

Predicate = Callable[[ScoredDocument, Ints32], Mapping[str, npt.ArrayLike]]


def evaluate_predicate(
    document: ScoredDocument,
    predicate: Predicate,
    *,
    n_samples: int = 1000,
    seed: int = 0,
    recalibrated: DrawnRecalibration | None = None,
) -> DocumentEvents:
    """Sample clusterings of a document with one parse and evaluate a user's own predicate in each.

    Parameters
    ----------
    document
        With a date.
    predicate
        Called with the document and labels, int32 (n_samples, n_mentions); returns for each event name a bool
        array (n_samples,), or whole numbers from 0 to 10,000, whose sums over documents are then counted. It is called
        once more with the likeliest-antecedent clustering, labels (1, n_mentions).
    n_samples
        At least 1.
    seed
        In [0, 2**64).
    recalibrated
        A recalibration whose draws share the samples; None: the scores as they are.

    Raises
    ------
    ParameterError
        If the document has no date, or the predicate returns anything else.
    InputError
        If the document has several parses.
    """
    place = f"doc_id {document.doc_id!r}"
    if document.date is None:
        raise ParameterError("date is required for events", place=place)
    if document.parses:
        rule = "parses must be one for a predicate, which is called with one clustering of the mentions"
        raise InputError(f"{rule}, got {len(document.parses)}", place=place)
    samples = DocumentPosterior.of(document, recalibrated).sample(n_samples=n_samples, seed=seed).of_parse(0)
    by_sample = _answers(predicate, document, samples.labels.T)
    by_best = _answers(predicate, document, samples.likeliest[None, :])
    names = sorted({*by_sample, *by_best})
    is_number = any(values.dtype != np.bool_ for each in (by_sample, by_best) for values in each.values())
    numbers = np.zeros((len(names), n_samples), np.int64)
    one_best: Bools | Ints = np.zeros(len(names), np.int64 if is_number else np.bool_)
    for e, name in enumerate(names):
        numbers[e] = by_sample.get(name, 0)
        one_best[e] = by_best.get(name, [0])[0]
    hits = (numbers > 0).astype(np.uint8)
    keys = tuple(map(EventKey.of, names))
    return DocumentEvents(document.doc_id, document.date, keys, hits, one_best, numbers=numbers if is_number else None)


def _answers(predicate: Predicate, document: ScoredDocument, labels: Ints32) -> dict[str, Bools | Ints]:
    returned = predicate(document, labels)
    if not isinstance(returned, Mapping):
        found = type(returned).__name__
        rule = "must return a mapping of names to booleans or whole numbers"
        raise ParameterError(f"{rule}, got {found}", parameter="predicate")
    answers: dict[str, Bools | Ints] = {}
    for name, values in returned.items():
        array = np.asarray(values)
        if array.shape != (len(labels),) or array.dtype.kind not in "biu":
            rule = f"must return bool or int ({len(labels)},) for {name!r}"
            raise ParameterError(f"{rule}, got {array.dtype} {array.shape}", parameter="predicate")
        if array.dtype != np.bool_ and ((array < 0) | (array > MOST)).any():
            rule = f"must return numbers from 0 to {MOST:,} for {name!r}"
            raise ParameterError(f"{rule}, got {array.min()} to {array.max()}", parameter="predicate")
        answers[str(name)] = array
    return answers
