"""Arc scores of graph-based dependency parsers as distributions over trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats
from corefsample.adapters._assembly import float_matrix, int_vector
from corefsample.coreference._dense import is_masked
from corefsample.errors import ParameterError
from corefsample.trees import ArcDistribution


def arcs_from_stanza(scores: Any, n_words: int) -> ArcDistribution:
    """Distribution over the trees of one sentence from the scores of Stanza's dependency parser.

    Outside training, Stanza masks no padding: its softmax is over the heads of the longest sentence of the batch. The
    columns of padding are removed here, which renormalises the rows.

    Parameters
    ----------
    scores
        The sentence's part of the first of the arrays that the parser's forward pass returns: (m + 1, m + 1), m at
        least n_words, log softmax by row. Row and column 0 are the root.
    n_words
        Number of words of the sentence.

    Raises
    ------
    ParameterError
        If the shape is another, a score is NaN or +inf, or the scores allow no tree.

    References
    ----------
    ``Parser.forward`` in stanza/models/depparse/model.py of Stanza: ``F.log_softmax(unlabeled_scores, 2)``.
    """
    return ArcDistribution.from_scores(_root_first(scores, n_words))


def arcs_from_supar(s_arc: Any, *, n_words: int) -> ArcDistribution:
    """Distribution over the trees of one sentence from the scores of the biaffine parsers of SuPar and diaparser.

    Parameters
    ----------
    s_arc
        The sentence's part of the first tensor that the model returns: (m + 1, m + 1), m at least n_words; row:
        dependent, column: head; row and column 0 are the root. Padding is masked by -1e32 (SuPar) or -inf
        (diaparser), and removed here.
    n_words
        Number of words of the sentence.

    Raises
    ------
    ParameterError
        As of `arcs_from_stanza`.

    References
    ----------
    ``BiaffineDependencyModel.forward`` in supar/models/dep/biaffine/model.py of SuPar and
    diaparser/models/dependency.py of diaparser.
    """
    return ArcDistribution.from_scores(_root_first(s_arc, n_words, "s_arc"))


def arcs_from_spacy_experimental(scores: Any, lengths: npt.ArrayLike) -> list[ArcDistribution]:
    """Distributions over the trees of sentences from the scores of spacy-experimental's biaffine parser.

    Parameters
    ----------
    scores
        What the model of the component ``experimental_arc_predicter`` predicts: (n_tokens, m), logits. Each row has
        the heads within the token's sentence; the token itself stands for the root. Padding is masked by -10,000.
    lengths
        Length of each sentence; they add up to n_tokens, and each is at most m.

    Returns
    -------
    list of ArcDistribution
        One for each sentence.

    Raises
    ------
    ParameterError
        If shapes disagree, a score is NaN or +inf, or the scores allow no tree.

    References
    ----------
    ``ArcPredicter.predict`` in spacy_experimental/biaffine_parser/arc_predicter.pyx, and ``mst_decode`` beside it.
    """
    rows = float_matrix("scores", scores)
    sizes = int_vector("lengths", lengths)
    if np.any(sizes < 1) or np.any(sizes > rows.shape[1]) or sizes.sum() != len(rows):
        rule = f"must be from 1 to {rows.shape[1]} and add up to {len(rows)}, as scores are {rows.shape}"
        raise ParameterError(f"{rule}, got {_checks.shown(sizes.tolist())}", parameter="lengths")
    distributions = []
    for first, size in zip((np.cumsum(sizes) - sizes).tolist(), sizes.tolist(), strict=True):
        heads = rows[first : first + size, :size]
        with_root = np.concatenate([np.diagonal(heads)[:, None], heads], axis=1)
        distributions.append(ArcDistribution.from_scores(_unmasked(with_root)))
    return distributions


def _root_first(scores: Any, n_words: int, name: str = "scores") -> Floats:
    """Scores (n_words, n_words + 1) out of those with a row of the root, and with padding."""
    table = float_matrix(name, scores)
    _checks.whole("n_words", n_words, 1)
    if table.shape[0] != table.shape[1] or table.shape[0] < n_words + 1:
        rule = f"must be square, with at least n_words + 1 = {n_words + 1} rows"
        raise ParameterError(f"{rule}, got shape {table.shape}", parameter=name)
    return _unmasked(table[1 : n_words + 1, : n_words + 1])


def _unmasked(scores: Floats) -> Floats:
    return np.where(is_masked(scores), -np.inf, scores)
