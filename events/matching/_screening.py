"""Which documents of a batch could hold an event at all: told from columns, before any becomes a Python object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from corefsample.documents import DocumentBatch
from corefsample.errors import InputError
from corefsample.syntax import SCHEMES
from events.lexicon import Lexicon
from events.matching._matching import MentionMatches, match_document, readable_schemes
from events.rules import Rule

__all__ = ["Screen"]

_MOST_WORDS = 2**17

Flags = npt.NDArray[np.bool_]


@dataclass(slots=True)
class _WordTable:
    """Remembers a yes or no for each distinct string, so that a corpus's vocabulary is asked about once."""

    ask: Callable[[Sequence[str]], Sequence[bool]]
    known: dict[str, bool]

    def flags(self, batch: DocumentBatch, column: str) -> Flags:
        """Return the answer for each token of a batch, by one of its columns of strings."""
        words, indices = batch.token_words(column)
        if len(self.known) > _MOST_WORDS:  # so that memory does not grow with the corpus's vocabulary
            self.known.clear()
        new = [word for word in words if word not in self.known]
        if new:
            self.known.update(zip(new, self.ask(new), strict=True))
        answers = np.fromiter((self.known[word] for word in words), np.bool_, len(words))
        flags: Flags = answers[indices]
        return flags


class Screen:
    """Matches a rule and a lexicon against batches, and looks closely at those documents alone that need it.

    Parameters
    ----------
    rule, lexicon
        What to look for.
    scheme
        Name of the dependency scheme, or None to tell each document's from its labels.
    """

    def __init__(self, rule: Rule, lexicon: Lexicon, scheme: str | None = None) -> None:
        self._rule = rule
        self._lexicon = lexicon
        self._scheme = scheme
        names = list(SCHEMES) if scheme is None else [scheme]
        self._strange = [_WordTable(self._unreadable(name), {}) for name in names]
        self._lemmas = _WordTable(lambda words: [word.lower() in rule.lemmas for word in words], {})
        self._upos = _WordTable(lambda words: [word in rule.upos for word in words], {})
        self._starts = _WordTable(lambda words: list(lexicon.may_start(words)), {})

    @staticmethod
    def _unreadable(name: str) -> Callable[[Sequence[str]], Sequence[bool]]:
        return lambda words: [SCHEMES[name].reads(word) is None for word in words]

    def match(self, batch: DocumentBatch) -> tuple[dict[int, MentionMatches], dict[int, str]]:
        """Match the documents of a batch.

        Parameters
        ----------
        batch
            Documents with tokens.

        Returns
        -------
        matches, reasons
            By row: what was seen in each document that could hold an event, and why a document cannot be read.
        """
        reasons = {row: self._misfit(batch, row) for row in np.flatnonzero(~self._readable(batch)).tolist()}
        matches: dict[int, MentionMatches] = {}
        for row in np.flatnonzero(self._promising(batch)).tolist():
            if row in reasons:
                continue
            try:
                found = self._match(batch, row)
            except InputError as error:
                reasons[row] = str(error)
            else:
                if found.possible:
                    matches[row] = found
        return matches, reasons

    def _readable(self, batch: DocumentBatch) -> Flags:
        """Whether some scheme has all labels of each document."""
        readable: Flags = np.any([~_any_token(batch, table.flags(batch, "dep")) for table in self._strange], axis=0)
        return readable

    def _misfit(self, batch: DocumentBatch, row: int) -> str:
        begin, end = batch.token_bounds[row : row + 2].tolist()
        try:
            readable_schemes(batch.token_strings("dep")[begin:end].to_pylist(), self._scheme)
        except InputError as error:
            return str(error)
        raise AssertionError("a document that no scheme reads must be refused")

    def _promising(self, batch: DocumentBatch) -> Flags:
        """Whether each document has a trigger and a word that could begin a country's name."""
        triggers = self._lemmas.flags(batch, "lemma") & self._upos.flags(batch, "upos")
        return _any_token(batch, triggers) & _any_token(batch, self._starts.flags(batch, "text"))

    def _match(self, batch: DocumentBatch, row: int) -> MentionMatches:
        tokens = batch.tokens(row)
        if tokens is None:
            raise InputError("tokens must be there, got none")
        date = batch.dates[row].item()
        return match_document(tokens, batch.spans(row), self._rule, self._lexicon, date, self._scheme)


def _any_token(batch: DocumentBatch, flags: Flags) -> Flags:
    """Whether any token of each document is flagged."""
    before = np.concatenate(([0], np.cumsum(flags)))
    result: Flags = np.diff(before[batch.token_bounds]) > 0
    return result
