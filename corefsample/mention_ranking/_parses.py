"""Scores of the mentions in several parses of one document, computed anew only where the parses differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints, Ints32
from corefsample.coreference import AntecedentDistribution, Pruned
from corefsample.documents import Tokens
from corefsample.mention_ranking import _reuse_kernels
from corefsample.mention_ranking._kernels import RowScratch
from corefsample.mention_ranking._model import MIN_PROB, AntecedentModel
from corefsample.mention_ranking._reuse_kernels import N_PAIR_ATOMS, WORD, Changed, Known
from corefsample.mention_ranking.features import encode, hashed
from corefsample.syntax import mentions_from_parse

_ROOM = 16  # candidates kept for each mention before the arrays grow
_KNOWN_BYTES = 1 << 22  # of known weights at a time, so that they stay in a processor's cache


def score_parses(
    model: AntecedentModel, parses: Sequence[Tokens], *, min_prob: float = MIN_PROB, scheme: str | None = None
) -> list[tuple[Ints32, Pruned]]:
    """Find the mentions in each of several parses of a document, and score their antecedents.

    The result is that of `AntecedentModel.pruned_score` for each parse, to the bit. The weights of the first parse's
    pairs are kept while the others are scored, and taken from there where features are the same.

    Parameters
    ----------
    model
        The model.
    parses
        The same words with different parses.
    min_prob, scheme
        As of `AntecedentModel.pruned_score`.

    Returns
    -------
    list of (int32 (n_mentions, 3), Pruned)
        Mentions of each parse, and what `pruned_score` returns for them.

    Raises
    ------
    ParameterError
        If the labels of a parse fit no scheme or are ambiguous, or there are none.
    """
    _checks.probability("min_prob", min_prob, below_one=True)
    spans = [mentions_from_parse(tokens, scheme=scheme) for tokens in parses]
    if len(parses) == 1:
        return [(spans[0], model.pruned_score(parses[0], spans[0], min_prob=min_prob, scheme=scheme))]
    scored = [_Scored(model, tokens, own, scheme) for tokens, own in zip(parses, spans, strict=True)]
    first = scored[0]
    for parse in scored:
        parse.align(first)
    n_templates = max(len(first.codes.pair_0), len(first.codes.pair_1))
    n = len(first.doc.mentions)
    n_rows = max(1, _KNOWN_BYTES // max(1, 4 * n * (n_templates + N_PAIR_ATOMS)))
    shape = min(n_rows, n), n
    known = Known(
        np.empty(shape), np.empty((*shape, n_templates), np.float32), np.empty((*shape, N_PAIR_ATOMS), np.uint32)
    )
    for start in range(0, max(n, 1), n_rows):
        rows = start, min(start + n_rows, n)
        _reuse_kernels.fill_known(first.doc, first.codes, model.weights, *rows, RowScratch.of(n, n_templates), known)
        for parse in scored:
            parse.score(first, rows, known, float(min_prob))
    return [(own, parse.result()) for own, parse in zip(spans, scored, strict=True)]


class _Scored:
    """One parse, of which the first mentions are scored."""

    def __init__(self, model: AntecedentModel, tokens: Tokens, mentions: Ints32, scheme: str | None) -> None:
        self.doc = encode(tokens, mentions, model.vocabulary, scheme=scheme)
        self.codes = hashed(self.doc, model.templates)
        self._weights = model.weights
        n, n_templates = len(self.doc.mentions), max(len(self.codes.pair_0), len(self.codes.pair_1))
        self._next = 0
        self._scratch = RowScratch.of(n, n_templates)
        self._indptr, self._dropped = np.zeros(n + 1, np.int64), np.zeros(n)
        self._candidates, self._scores = np.empty(_ROOM * n, np.int32), np.empty(_ROOM * n)
        n_words = -(-n_templates // WORD)
        self._changed = Changed(
            by_mention=np.zeros(n_words, np.uint64),
            by_candidate=np.zeros((2, n, n_words), np.uint64),
            by_atom=np.zeros((2, N_PAIR_ATOMS, n_words), np.uint64),
            of_pair=np.zeros(n_words, np.uint64),
            weights=np.empty(n_templates, np.float32),
            places=np.arange(n_templates, dtype=np.uint32),
        )
        self._aligned: Ints = np.zeros(0, np.int64)

    def align(self, first: _Scored) -> None:
        """Find the mentions of the first parse with the same heads."""
        mention_of = np.full(len(first.doc.head), -1, np.int64)
        heads = first.doc.mentions[:, 2]
        mention_of[heads[::-1]] = np.arange(len(heads))[::-1]  # the first of several
        self._aligned = mention_of[self.doc.mentions[:, 2]]
        _reuse_kernels.fill_changed(self.codes, first.codes, self._aligned, self._changed)

    def score(self, first: _Scored, rows: tuple[int, int], known: Known, min_prob: float) -> None:
        """Score the mentions whose counterparts are not beyond the rows."""
        while True:
            self._next = _reuse_kernels.score_again(
                self.doc,
                self.codes,
                self._weights,
                min_prob,
                self._next,
                self._scratch,
                self._indptr,
                self._dropped,
                self._candidates,
                self._scores,
                first.doc,
                first.codes,
                self._aligned,
                rows[0],
                rows[1],
                known,
                self._changed,
            )
            n_kept = self._indptr[self._next]
            if self._next == len(self._aligned) or n_kept + self._next <= len(self._candidates):
                return
            self._candidates = _doubled(self._candidates)
            self._scores = _doubled(self._scores)

    def result(self) -> Pruned:
        """What `AntecedentModel.pruned_score` returns."""
        n = len(self._aligned)
        n_kept = int(self._indptr[n])
        self._dropped.flags.writeable = False
        distribution = AntecedentDistribution.from_csr(
            self._indptr, self._candidates[:n_kept].copy(), self._scores[:n_kept].copy()
        )
        return Pruned(distribution, self._dropped, n * (n - 1) // 2 - n_kept)


def _doubled(array: Any) -> Any:
    return np.concatenate((array, np.empty_like(array)))
