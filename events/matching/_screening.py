"""Selects the documents of a batch in which an event is possible from the columns, before Python objects are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Ints
from corefsample.documents import DocumentBatch, Fault
from corefsample.errors import InputError, ParameterError
from corefsample.syntax import SCHEMES
from events.lexicon import Lexicon
from events.matching._matching import MentionMatches, match_rules
from events.rules import Rule

_MOST_WORDS = 2**17
_MOST_RULES = 63  # bits of the flags of tokens


@dataclass(slots=True)
class _WordTable:
    """Caches a whole number for each distinct string, so that it is computed once for a vocabulary."""

    value: Callable[[Sequence[str]], Iterable[int]]
    known: dict[str, int]

    def flags(self, batch: DocumentBatch, column: str) -> Ints:
        """Value of each token of a batch, by one of its columns of strings."""
        words, indices = batch.token_words(column)
        if len(self.known) > _MOST_WORDS:  # limits the memory for large vocabularies
            self.known.clear()
        new = [word for word in words if word not in self.known]
        if new:
            self.known.update(zip(new, self.value(new), strict=True))
        flags: Ints = np.fromiter((self.known[word] for word in words), np.int64, len(words))[indices]
        return flags


class Screen:
    """Matches rules and a lexicon with batches; documents without a trigger or an actor's name are skipped.

    Parameters
    ----------
    rules, lexicon
        What to look for.
    scheme
        Name of the dependency scheme, or None to recognise each document's from its labels.

    Raises
    ------
    ParameterError
        If there is no rule, or more than 63.
    """

    def __init__(self, rules: Rule | Sequence[Rule], lexicon: Lexicon, scheme: str | None = None) -> None:
        self._rules = (rules,) if isinstance(rules, Rule) else tuple(rules)
        if not 1 <= len(self._rules) <= _MOST_RULES:
            raise ParameterError(f"must be 1 to {_MOST_RULES} rules, got {len(self._rules)}", parameter="rules")
        self._lexicon = lexicon
        self._scheme = scheme
        names = list(SCHEMES) if scheme is None else [scheme]
        self._misfits = [_WordTable(self._unreadable(name), {}) for name in names]
        # Bit i of a lemma or a part of speech: a trigger of rule i could have it.
        by_lemma = _bits(rule.anchors for rule in self._rules)
        by_upos = _bits(rule.upos for rule in self._rules)
        # The first word of a phrase can be of any part of speech.
        any_upos = sum(1 << i for i, rule in enumerate(self._rules) if any(frame.phrases for frame in rule.frames))
        self._lemmas = _WordTable(lambda words: (by_lemma.get(word.lower(), 0) for word in words), {})
        self._upos = _WordTable(lambda words: (by_upos.get(word, 0) | any_upos for word in words), {})
        self._starts = _WordTable(lambda words: lexicon.may_start(words).tolist(), {})
        self._nouns = _WordTable(lambda words: lexicon.noun_may_start(words).tolist(), {})
        # Rules without a required role need no actor.
        self._without_actors = sum(1 << i for i, rule in enumerate(self._rules) if rule.optional.issuperset(rule.event))

    @staticmethod
    def _unreadable(name: str) -> Callable[[Sequence[str]], Iterable[int]]:
        return lambda words: (SCHEMES[name].reads(word) is None for word in words)

    def match(self, batch: DocumentBatch) -> tuple[dict[int, tuple[MentionMatches, ...]], dict[int, Fault]]:
        """Match the documents of a batch.

        Parameters
        ----------
        batch
            Documents with tokens.

        Returns
        -------
        matches, reasons
            By row: the matches of the rules whose event is possible in the document, where there are any, and why a
            document is rejected.
        """
        matches: dict[int, tuple[MentionMatches, ...]] = {}
        reasons: dict[int, Fault] = {}
        promising = self._promising(batch)
        for row in np.flatnonzero(~self._readable(batch) | (promising != 0)).tolist():
            try:
                found = self._match(batch, row, int(promising[row]))
            except InputError as error:
                reasons[row] = Fault(error.message, error.hint)
            else:
                possible = tuple(each for each in found if each.possible)
                if possible:
                    matches[row] = possible
        return matches, reasons

    def _readable(self, batch: DocumentBatch) -> Bools:
        """Whether the labels of each document fit some scheme."""
        readable: Bools = np.any([_bits_of(batch, table.flags(batch, "dep")) == 0 for table in self._misfits], axis=0)
        return readable

    def _promising(self, batch: DocumentBatch) -> Ints:
        """Bits of the rules that may match each document: it has a trigger, and a word that may begin a name."""
        triggers = _bits_of(batch, self._lemmas.flags(batch, "lemma") & self._upos.flags(batch, "upos"))
        starts = self._starts.flags(batch, "text")
        if self._lexicon.has_nouns:
            starts = starts | self._nouns.flags(batch, "lemma")
        named = _bits_of(batch, starts) != 0
        result: Ints = np.where(named, triggers, triggers & self._without_actors)
        return result

    def _match(self, batch: DocumentBatch, row: int, bits: int) -> tuple[MentionMatches, ...]:
        tokens = batch.tokens(row)
        if tokens is None:
            raise InputError("tokens are required for events")
        date = batch.dates[row].item()
        rules = [rule for i, rule in enumerate(self._rules) if bits >> i & 1] or self._rules
        return match_rules(tokens, batch.spans(row), rules, self._lexicon, date, self._scheme)


def _bits(several: Iterable[Iterable[str]]) -> dict[str, int]:
    """For each word of several sets, the bits of the sets that have it."""
    bits: dict[str, int] = {}
    for i, words in enumerate(several):
        for word in words:
            bits[word] = bits.get(word, 0) | 1 << i
    return bits


def _bits_of(batch: DocumentBatch, flags: Ints) -> Ints:
    """Bits that are set in any token of each document."""
    result = np.zeros(len(batch), np.int64)
    tokens = np.flatnonzero(flags)
    documents = np.searchsorted(batch.token_bounds, tokens, side="right") - 1
    np.bitwise_or.at(result, documents, flags[tokens])
    return result
