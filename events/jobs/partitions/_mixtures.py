"""Documents with one parse or several in a partition: their matches, samples and evidence."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Bools, Bytes
from corefsample.documents import DocumentBatch, Fault
from corefsample.errors import ParameterError
from events.counting import (
    CorpusRecalibration,
    CountedRecalibration,
    DocumentEvents,
    EvidenceRow,
    MatchedParse,
    ParsedMentions,
    evidence_rows,
    mixture_evidence_rows,
)
from events.jobs.partitions._documents import Found
from events.matching import MentionMatches, Screen

__all__ = [
    "Matched",
    "evidence_of",
    "found_words",
    "kinds_of",
    "matched",
    "matched_parses",
    "recalibration_faults",
]

# Of a document with one parse its matches, of one with several the matches in each parse where there are any.
Matched = tuple[MentionMatches, ...] | dict[int, tuple[MentionMatches, ...]]


def matched(screen: Screen, batch: DocumentBatch) -> tuple[dict[int, Matched], dict[int, Fault]]:
    """Match the documents of a batch, as `Screen.match` does; of documents with several parses each of them.

    A document is rejected if a parse of it is.
    """
    parses = batch.parses
    if parses is None:
        matches, reasons = screen.match(batch)
        return dict(matches), reasons
    by_parse, reasons_of_parses = screen.match(parses.batch)
    documents, found, rejected = parses.documents(), dict[int, Matched](), dict[int, Fault]()
    for place in sorted(reasons_of_parses):
        row, (reason, hint) = int(documents[place]), reasons_of_parses[place]
        prefix = f"parses[{place - int(parses.bounds[row])}]: " if batch.n_parses(row) > 1 else ""
        rejected.setdefault(row, Fault(f"{prefix}{reason}", hint))
    for place, several in sorted(by_parse.items()):
        row = int(documents[place])
        if row in rejected:
            continue
        if batch.n_parses(row) < 2:
            found[row] = several
        else:
            own = found.setdefault(row, {})
            assert isinstance(own, dict)
            own[place - int(parses.bounds[row])] = several
    return found, rejected


def found_words(screen: Screen, batch: DocumentBatch) -> Found:
    """Whether each document has a trigger, and a word that may begin a name, in any of its parses."""
    parses = batch.parses
    if parses is None:
        return screen.found(batch)
    if not len(batch):
        return np.zeros(0, np.bool_), np.zeros(0, np.bool_)
    triggers, actors = (_any(each, parses.firsts) for each in screen.found(parses.batch))
    return triggers, actors


def _any(flags: Bools, firsts: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Bools:
    result: Bools = np.logical_or.reduceat(flags, firsts)
    return result


def matched_parses(
    batch: DocumentBatch,
    row: int,
    matches: dict[int, tuple[MentionMatches, ...]],
    recalibrated: CountedRecalibration | None = None,
) -> list[MatchedParse]:
    """All parses of one document that has several, with their matches."""
    assert batch.parses is not None
    parses = batch.parses.batch
    return [
        MatchedParse(
            float(batch.parses.weights[place]),
            parses.antecedents(place),
            matches.get(k, ()),
            kinds_of(parses, place, recalibrated) if k in matches else None,
        )
        for k, place in enumerate(batch.parses.rows(row))
    ]


def kinds_of(batch: DocumentBatch, row: int, recalibrated: CountedRecalibration | None) -> Bytes | None:
    """Kinds of the mentions of one document, if a recalibration needs them."""
    tokens = None if recalibrated is None else batch.tokens(row)
    return None if recalibrated is None or tokens is None else recalibrated.kinds(tokens, batch.spans(row))


def recalibration_faults(batch: DocumentBatch, recalibrated: CorpusRecalibration) -> dict[int, Fault]:
    """Documents whose scores had other recalibrations than those to which a given one was fitted.

    Raises
    ------
    InputError
        If the scores of all documents must be alike, and these are not: then no document is wrong, but the corpus.
    """
    faults: dict[int, Fault] = {}
    if recalibrated.takes_all:
        return faults
    right: set[str | None] = set()  # metadata of many documents are the same
    for row, text in enumerate(batch.columns.column("metadata").to_pylist()):
        if text in right:
            continue
        try:
            recalibrated.for_scores(batch.metadata(row))
            right.add(text)
        except ParameterError as error:
            if recalibrated.takes_alike:
                place = f"{batch.source}: {batch.unit} {batch.places[row]}: doc_id {batch.doc_ids[row]!r}"
                raise error.as_input_error(place) from None
            faults[row] = Fault(f"{error.parameter or ''} {error.message}".strip(), error.hint)
    return faults


def evidence_of(events: DocumentEvents, period: str, batch: DocumentBatch, row: int) -> list[EvidenceRow]:
    """Rows of evidence of one document."""
    if not events.alternatives:
        return evidence_rows(events, period, batch.tokens(row), batch.spans(row))
    assert batch.parses is not None
    parses = []
    for place in batch.parses.rows(row):
        tokens = batch.parses.batch.tokens(place)
        assert tokens is not None  # the stream needs them
        parses.append(ParsedMentions(tokens, batch.parses.batch.spans(place)))
    return mixture_evidence_rows(events, period, parses)
