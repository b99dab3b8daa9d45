"""Rules of the format on dates, mentions and parses; descriptions of broken rules; rejected documents."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from corefsample import _checks
from corefsample._arrays import Bools, Ints, Ints32
from corefsample.errors import InputError, ParameterError, ParameterHint, shown


def checked_mentions(mentions: np.typing.ArrayLike, n_tokens: int | None) -> Ints32:
    """Return mentions as a new, read-only array of shape (n_mentions, 3).

    Parameters
    ----------
    mentions
        Token offsets start, end (exclusive) and head of each mention, sorted by start, then longest first.
    n_tokens
        Number of tokens of the document, or None if unknown.

    Raises
    ------
    ParameterError
        If mentions are not such numbers, lie outside the tokens, or are not sorted.
    """
    numbers = _checks.regular_array("mentions", mentions)
    if numbers.size and (numbers.ndim != 2 or numbers.shape[1] != 3):
        hint = "mentions_of_spans of corefsample.spacy_bridge.documents gives the heads of spans of a spaCy Doc"
        message = f"mentions must be (start, end, head) each, got an array of shape {numbers.shape}"
        raise ParameterError(message, hint=hint)
    array = np.zeros((0, 3), np.int32)
    if numbers.size:
        array = _checks.integers_32("mentions", numbers.ravel()).reshape(-1, 3)
    limits = np.array([-1 if n_tokens is None else n_tokens], np.int64)
    starts, ends, heads = array.T
    for fault in mention_faults(np.array([0, len(array)], np.int64), starts, ends, heads, limits).values():
        raise ParameterError(fault)
    array.flags.writeable = False
    return array


def mention_faults(bounds: Ints, starts: Ints32, ends: Ints32, heads: Ints32, n_tokens: Ints) -> dict[int, str]:
    """Describe the first mention that breaks a rule, for each document with one.

    Mentions of document d are ``bounds[d]:bounds[d + 1]``; `n_tokens` is -1 for a document without tokens.
    """
    document = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    limits = n_tokens[document]
    misplaced = np.zeros(len(starts), np.bool_)
    misplaced[1:] = (starts[1:] < starts[:-1]) | ((starts[1:] == starts[:-1]) & (ends[1:] > ends[:-1]))
    misplaced[1:] &= document[1:] == document[:-1]
    rules = {
        ": start must be at least 0, got {span}": starts < 0,
        ": end must be past start, got {span}": ends <= starts,
        ": head must lie in the span (start <= head < end), got {span}": (heads < starts) | (heads >= ends),
        ": end must be at most the number of tokens ({limit}), got {span}": (limits >= 0) & (ends > limits),
        " must come in order (by start, then longest first), got {span} after {before}": misplaced,
    }
    reasons = {}
    for d, row, rule in _first_faults(document, rules):
        span, before = (f"[{starts[i]}, {ends[i]}, {heads[i]}]" for i in (row, row - 1))
        reasons[d] = f"mentions[{row - int(bounds[d])}]{rule.format(span=span, before=before, limit=n_tokens[d])}"
    return reasons


def share_fault(parse: int | None, samples: Sequence[int] | None) -> str | None:
    """Describe how the number or the range of one of several parses breaks its rule, or return None if it is valid."""
    if samples is None:
        return f"samples is missing, which a numbered parse needs, got parse {parse}" if parse else None
    if len(samples) != 2 or not 0 <= samples[0] <= samples[1]:
        return f"samples must be [first, end) with 0 <= first <= end, got {shown(list(samples))}"
    if parse is None or parse < 0:
        return f"parse must be a number of at least 0 beside samples, got {parse}"
    return None


def shares_fault(parses: Sequence[int], samples: Sequence[Sequence[int]]) -> str | None:
    """Describe how the numbers or the ranges of all parses of a document break a rule, or return None."""
    if len(set(parses)) < len(parses):
        return f"parse must differ in the parses of a document, got {', '.join(map(str, parses))}"
    if samples[0][0] != 0 or any(end != first for (_, end), (first, _) in itertools.pairwise(samples)):
        texts = ", ".join(f"[{first}, {end}]" for first, end in samples)
        return f"samples must follow each other from 0 in the parses of a document, got {texts}"
    return None if samples[-1][1] else "samples must have at least one sample in the parses of a document, got none"


def parse_faults(bounds: Ints, heads: Ints32, sents: Ints32) -> dict[int, str]:
    """Describe the first token whose head or sentence breaks a rule, for each document with one.

    A cycle is described by the first token whose walk to the root ends in it.
    """
    document = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    token = np.arange(len(heads)) - bounds[document]
    outside = (heads < -1) | (heads >= np.diff(bounds)[document])
    is_falling = np.zeros(len(heads), np.bool_)
    is_falling[1:] = (sents[1:] < sents[:-1]) & (token[1:] > 0)
    rules = {
        "head[{t}] must be -1 or a token (0 to {last}), got {head}": outside,
        "head[{t}] must not be the token itself, got {t}": heads == token,
        "sent must count from 0, got {sent} first": (token == 0) & (sents != 0),
        "sent[{t}] must not fall, got {sent} after {before}": is_falling,
    }
    root = len(heads)  # index of an artificial root, whose ancestor is the root itself
    ancestors = np.append(np.where(outside | (heads < 0), root, heads + bounds[document]), root)
    for _ in range(int(np.diff(bounds).max(initial=0)).bit_length()):  # each round doubles the distance to `ancestors`
        if (ancestors == root).all():
            break
        ancestors = ancestors[ancestors]
    cycles = {"head must form trees, got a cycle through token {t}": ancestors[:-1] < root}
    reasons: dict[int, str] = {}
    for d, row, rule in (*_first_faults(document, rules), *_first_faults(document, cycles)):
        values = {"head": heads[row], "sent": sents[row], "before": sents[row - 1]}
        text = rule.format(t=token[row], last=bounds[d + 1] - bounds[d] - 1, **values)
        reasons.setdefault(d, f"tokens.{text}")
    return reasons


def _first_faults(document: Ints, rules: Mapping[str, Bools]) -> Iterator[tuple[int, int, str]]:
    """Yield, for each document with a fault, its number, its first row that breaks a rule, and the broken rule."""
    rows = np.flatnonzero(np.logical_or.reduce(list(rules.values())))
    documents, first = np.unique(document[rows], return_index=True)
    for d, row in zip(documents.tolist(), rows[first].tolist(), strict=True):
        yield d, row, next(rule for rule, broken in rules.items() if broken[row])


ON_ERROR = ("stop", "quarantine")

_HINTS: dict[str, str | ParameterHint] = {
    "date": ParameterHint("undated", "keep counts documents without a date, in no period"),
    "mentions": "`corefsample score` finds and scores the mentions of news",
    "tokens": "the file must contain the parse, as `corefsample score` writes it",
}


class Fault(NamedTuple):
    """Reason for the rejection of a document (field, rule and value in one line), and a hint at the next step."""

    reason: str
    hint: str | ParameterHint | None = None


def missing_field(name: str) -> Fault:
    """Fault of a document without a required field."""
    return Fault(f"{name} is missing", _HINTS.get(name))


def version_fault(version: object) -> Fault:
    """Fault of a document or a file of another version of the format than 1."""
    hint = "score the texts again, because version 1 now has several parses, too" if version == 2 else None
    return Fault(f"version must be 1, got {shown(version)}", hint)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A document that breaks a rule, with its location, the reason for its rejection, and its text.

    Attributes
    ----------
    source
        File name, or "-" for standard input.
    unit
        Unit by which documents of the file are counted, "line" or "row"; the complete location if `number` is None.
    number
        Number of the line or row, from 1, or None.
    doc_id
        Id of the document; empty if it could not be read.
    reason
        Reason in one line: field, rule and actual value.
    document
        Unchanged line of the document, or its row as JSON.
    hint
        Next step for the user, or None.
    """

    source: str
    unit: str
    number: int | None
    doc_id: str
    reason: str
    document: str
    hint: str | ParameterHint | None = None

    @classmethod
    def file(cls, path: str, error: InputError) -> Self:
        """A damaged file, of which everything is rejected, or everything after the place of the error."""
        location = (error.place or "").removeprefix(path).strip(": ")
        unit = f"{location} and all after it" if location else "file"
        return cls(path, unit, None, "", error.message, "", error.hint)

    @classmethod
    def from_json(cls, row: Mapping[str, str]) -> Self:
        """The rejected document in a line of a quarantine file."""
        return cls(row["source"], row["place"], None, row["doc_id"], row["reason"], row["document"])

    @property
    def place(self) -> str:
        """Place in the file, such as "line 12"."""
        return self.unit if self.number is None else f"{self.unit} {self.number}"

    def error(self) -> InputError:
        """Error to raise if bad documents are not set aside."""
        doc_id = f": doc_id {self.doc_id!r}" if self.doc_id else ""
        return InputError(self.reason, place=f"{self.source}: {self.place}{doc_id}", hint=self.hint)

    def message(self) -> str:
        """One line: file, place, doc_id and reason, without the hint."""
        error = self.error()
        return f"{error.place}: {error.message}"

    def to_json(self) -> dict[str, str]:
        """Return the object of a line of a quarantine file."""
        return {name: getattr(self, name) for name in ("source", "place", "doc_id", "reason", "document")}
