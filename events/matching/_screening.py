"""Selects the documents of a batch in which an event is possible from the columns, before Python objects are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Ints
from corefsample.documents import DocumentBatch, Fault
from corefsample.errors import InputError
from corefsample.syntax import SCHEMES, FlatParses
from events.lexicon import Lexicon
from events.matching._matching import MentionMatches, match_document
from events.rules import Rule

_MOST_WORDS = 2**17


@dataclass(slots=True)
class _WordTable:
    """Caches a truth value for each distinct string, so that it is computed once for a vocabulary."""

    test: Callable[[Sequence[str]], Sequence[bool]]
    known: dict[str, bool]

    def flags(self, batch: DocumentBatch, column: str) -> Bools:
        """Truth value of each token of a batch, by one of its columns of strings."""
        words, indices = batch.token_words(column)
        if len(self.known) > _MOST_WORDS:  # limits the memory for large vocabularies
            self.known.clear()
        new = [word for word in words if word not in self.known]
        if new:
            self.known.update(zip(new, self.test(new), strict=True))
        flags: Bools = np.fromiter((self.known[word] for word in words), np.bool_, len(words))[indices]
        return flags


class Screen:
    """Matches a rule and a lexicon with batches; documents without a trigger or a country name are skipped.

    So are documents with a trigger for which no mention can fill a role.

    Parameters
    ----------
    rule, lexicon
        What to look for.
    scheme
        Name of the dependency scheme, or None to recognise each document's from its labels.
    """

    def __init__(self, rule: Rule, lexicon: Lexicon, scheme: str | None = None) -> None:
        self._rule = rule
        self._lexicon = lexicon
        self._scheme = scheme
        self._found: tuple[DocumentBatch, Bools, Bools] | None = None
        names = list(SCHEMES) if scheme is None else [scheme]
        self._misfits = {name: _WordTable(self._unreadable(name), {}) for name in names}
        self._lemmas = _WordTable(lambda words: [word.lower() in rule.lemmas for word in words], {})
        self._upos = _WordTable(lambda words: [word in rule.upos for word in words], {})
        self._starts = _WordTable(lambda words: list(lexicon.may_start(words)), {})

    @staticmethod
    def _unreadable(name: str) -> Callable[[Sequence[str]], Sequence[bool]]:
        return lambda words: [SCHEMES[name].reads(word) is None for word in words]

    def match(self, batch: DocumentBatch) -> tuple[dict[int, MentionMatches], dict[int, Fault]]:
        """Match the documents of a batch.

        Parameters
        ----------
        batch
            Documents with tokens.

        Returns
        -------
        matches, reasons
            By row: the matches of each document in which an event is possible, and why a document is rejected.
        """
        matches: dict[int, MentionMatches] = {}
        reasons: dict[int, Fault] = {}
        readable = {name: ~_any_token(batch, table.flags(batch, "dep")) for name, table in self._misfits.items()}
        unreadable = ~np.any([*readable.values()], axis=0)
        for row in np.flatnonzero(unreadable | self._promising(batch, readable)).tolist():
            try:
                found = self._match(batch, row)
            except InputError as error:
                reasons[row] = Fault(error.message, error.hint)
            else:
                if found.possible:
                    matches[row] = found
        return matches, reasons

    def _promising(self, batch: DocumentBatch, readable: Mapping[str, Bools]) -> Bools:
        """Whether each document has a trigger, a word that may begin the name of a country, and mentions for all roles.

        `readable` says for each scheme which documents it can read.
        """
        triggers = self._lemmas.flags(batch, "lemma") & self._upos.flags(batch, "upos")
        self._found = batch, _any_token(batch, triggers), _any_token(batch, self._starts.flags(batch, "text"))
        named = self._found[1] & self._found[2]
        bounds = batch.token_bounds
        starts = np.flatnonzero(triggers)
        starts = starts[named[np.searchsorted(bounds, starts, side="right") - 1]]
        fillable = np.zeros(len(batch), np.bool_)
        is_served = np.zeros(len(batch), np.bool_)
        for name, rows in readable.items():
            if self._rule.serves(name) and (rows & named).any():
                is_served |= rows
                fillable |= rows & self._fillable(batch, name, starts)
        return named & (fillable | ~is_served)  # a document that the rule cannot serve is rejected with a reason

    def _fillable(self, batch: DocumentBatch, scheme: str, triggers: Ints) -> Bools:
        """Whether some mention of each document may fill each role, at some of these triggers."""
        bounds, heads = batch.token_bounds, batch.token_integers("head")
        firsts = bounds[:-1].astype(np.int32)  # a batch has fewer than 2**31 tokens, as all Arrow lists
        offsets = np.repeat(firsts, np.diff(batch.mentions[0]))
        heads = np.where(heads < 0, np.int32(-1), heads + np.repeat(firsts, np.diff(bounds)))
        dep, lemma, upos = (batch.token_words(name) for name in ("dep", "lemma", "upos"))
        parses = FlatParses(heads, dep, lemma, upos, SCHEMES[scheme])
        is_head = np.zeros(len(heads), np.bool_)
        mention_heads = batch.mentions[3] + offsets
        is_head[mention_heads[mention_heads < len(heads)]] = True  # not all are there in a batch without tokens
        every = np.ones(len(batch), np.bool_)
        for role in self._rule.event:
            reached = [parses.reachable(path, triggers) for path in self._rule.roles[role][scheme]]
            fillers = np.concatenate(reached)
            filled = np.zeros(len(batch), np.bool_)
            filled[np.searchsorted(bounds, fillers[is_head[fillers]], side="right") - 1] = True
            every &= filled
        return every

    def found(self, batch: DocumentBatch) -> tuple[Bools, Bools]:
        """Whether each document has a trigger, and a word that may begin a name of the lexicon.

        Of the last batch that was matched, the answer is kept.
        """
        if self._found is None or self._found[0] is not batch:
            triggers = self._lemmas.flags(batch, "lemma") & self._upos.flags(batch, "upos")
            words = self._starts.flags(batch, "text")
            self._found = batch, _any_token(batch, triggers), _any_token(batch, words)
        return self._found[1:]

    def _match(self, batch: DocumentBatch, row: int) -> MentionMatches:
        tokens = batch.tokens(row)
        if tokens is None:
            raise InputError("tokens are required for events")
        date = batch.dates[row].item()
        return match_document(tokens, batch.spans(row), self._rule, self._lexicon, date, self._scheme)


def _any_token(batch: DocumentBatch, flags: Bools) -> Bools:
    """Whether each document has a token whose flag is true."""
    result = np.zeros(len(batch), np.bool_)
    result[np.searchsorted(batch.token_bounds, np.flatnonzero(flags), side="right") - 1] = True
    return result
