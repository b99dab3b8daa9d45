"""Finds events in documents: those of rules, or of a user's own predicate on clusterings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Ints, Ints32
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._scored import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.posterior._posterior import CorpusRecalibration, DocumentPosterior, DrawnRecalibration
from events.counting._definitions import Definitions
from events.counting._evaluation import DocumentEvents, evaluate_document, outcome_events
from events.counting._tables import EventKey
from events.counting._tally import MOST
from events.matching._screening import DocumentMatches, Screen

Predicate = Callable[[ScoredDocument, Ints32], Mapping[str, npt.ArrayLike]]
Matches = dict[int, DocumentMatches]


@dataclass(frozen=True, slots=True)
class RuleFinder:
    """Finds the events of rules in documents that were accepted.

    Attributes
    ----------
    definitions
        Rules, lexicon and outcomes.
    screen
        Selects the documents in which an event is possible.
    recalibration
        What the scores of the documents are recalibrated with.
    n_samples, seed
        Of the samples of each document.
    """

    definitions: Definitions
    screen: Screen
    recalibration: CorpusRecalibration
    n_samples: int
    seed: int

    def match(self, batch: DocumentBatch) -> tuple[Matches, dict[int, Fault]]:
        """What the rules find in each document of a batch, and why another is rejected."""
        return self.screen.match(batch)

    def is_possible(self, matches: DocumentMatches) -> bool:
        """Whether some clustering can have an event."""
        return bool(matches.parses)

    def events(self, batch: DocumentBatch, row: int, matches: DocumentMatches) -> list[DocumentEvents]:
        """Events of one document, and its outcomes, by their names."""
        try:
            recalibrated = self.recalibration.for_scores(batch.metadata(row))
            posterior = DocumentPosterior.of_row(batch, row, recalibrated)
            of_rules = evaluate_document(
                posterior, matches.parses, batch.dates[row].item(), n_samples=self.n_samples, seed=self.seed
            )
            return of_rules + outcome_events(of_rules, self.definitions.outcomes, self.definitions.lexicon.kinds)
        except Exception as error:
            error.add_note(f"while counting {batch.place(row)}")
            raise


@dataclass(frozen=True, slots=True)
class PredicateFinder:
    """Finds the events of a user's own predicate; attributes as of `RuleFinder` and `evaluate_predicate`."""

    predicate: Predicate
    recalibration: CorpusRecalibration
    n_samples: int
    seed: int

    def match(self, batch: DocumentBatch) -> tuple[Matches, dict[int, Fault]]:
        """Nothing is found before sampling; documents with several parses are rejected."""
        counts = {row: batch.n_parses(row) for row in range(len(batch))}
        faults = {row: Fault(f"{_ONE_PARSE}, got {n}") for row, n in counts.items() if n > 1}
        return {row: DocumentMatches() for row in counts}, faults

    def is_possible(self, matches: DocumentMatches) -> bool:
        """Any document can have an event."""
        return True

    def events(self, batch: DocumentBatch, row: int, matches: DocumentMatches) -> list[DocumentEvents]:
        """Events of one document."""
        recalibrated = self.recalibration.for_scores(batch.metadata(row))
        document, sampling = batch.document(row), {"n_samples": self.n_samples, "seed": self.seed}
        return [evaluate_predicate(document, self.predicate, recalibrated=recalibrated, **sampling)]


_ONE_PARSE = "parses must be one for a predicate, which is called with one clustering of the mentions"


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
        The document.
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
        If the predicate returns anything else.
    InputError
        If the document has several parses.
    """
    place = f"doc_id {document.doc_id!r}"
    if document.parses:
        raise InputError(f"{_ONE_PARSE}, got {len(document.parses)}", place=place)
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
