"""Scores of many tags as prediction-label pairs: one a token and tag, those below a threshold left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample.calibration.binning import FloatArray, _rows, labelled, predictions, require_as_many
from corefsample.calibration.tags._groups import TagGroups
from corefsample.errors import ParameterError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TagScores"]

THRESHOLD = 0.01
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class TagScores:
    """Scores at or above a threshold, with their labels and tags, of all tokens and tags; arrays read-only.

    With hundreds of tags nearly all scores are close to 0 and close to right; left in, they would wash out the error
    of the tags that were in question. The threshold is applied once, to the scores of the model: `recalibrated` puts
    better ones in their place and drops none. Scores of one token need not sum to 1.

    A recalibrator fitted to `scores` and `labels` of all tags together is shared class-wise binning (SCW).

    Attributes
    ----------
    scores
        float64 (n,) in [0, 1].
    labels
        float64 (n,): 1 where the tag is the gold one of the token, else 0.
    codes
        int32 (n,): tag of each, an index into `tag_names`.
    tag_names
        The tags, as many as there are columns; from flat arrays, those met, ascending.
    documents
        int32 (n,): number of the document of each score; None without documents.
    threshold
        Scores below it were dropped.
    n_dropped, n_positives_dropped
        How many scores were dropped, and how many of them were of the gold tag.
    n_gold_outside
        Tokens whose gold tag is none of the columns.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), sections 3.1 and 3.2; Patel et al. (2021) for SCW.
    """

    scores: FloatArray
    labels: FloatArray
    codes: Codes
    tag_names: tuple[Any, ...]
    documents: Codes | None
    threshold: float
    n_dropped: int
    n_positives_dropped: int
    n_gold_outside: int

    def __post_init__(self) -> None:
        for array in (self.scores, self.labels, self.codes, self.documents):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def from_arrays(
        cls,
        scores: npt.ArrayLike,
        labels: npt.ArrayLike,
        tags: npt.ArrayLike,
        *,
        threshold: float = THRESHOLD,
        documents: npt.ArrayLike | None = None,
    ) -> TagScores:
        """Take scores in [0, 1], labels 0 or 1, tags and documents (names), each (n,).

        Raises
        ------
        ParameterError
            If a value breaks its rule, lengths differ, or no score reaches the threshold.
        """
        limit = _checks.probability("threshold", threshold)
        given = np.asarray(scores)
        values, answers = labelled(given, labels, names=("scores", "labels"))
        require_as_many("tags", tags, values.shape[0], "scores")
        kept = _reached(given, limit)
        _require_some(kept, limit)
        codes, names = _rows.coded("tags", tags, values)
        blocks = _document_codes(documents, values.shape[0], "scores")
        n_kept, n_positive = int(kept.sum()), int(answers[~kept].sum())
        return cls(
            scores=values[kept],
            labels=answers[kept],
            codes=codes[kept],
            tag_names=names,
            documents=None if blocks is None else blocks[kept],
            threshold=limit,
            n_dropped=kept.shape[0] - n_kept,
            n_positives_dropped=n_positive,
            n_gold_outside=0,
        )

    @classmethod
    def from_matrix(
        cls,
        probs: npt.ArrayLike,
        gold: npt.ArrayLike,
        *,
        tags: npt.ArrayLike | None = None,
        threshold: float = THRESHOLD,
        documents: npt.ArrayLike | None = None,
    ) -> TagScores:
        """Take the scores of every token and tag.

        Parameters
        ----------
        probs
            (n_tokens, n_tags) in [0, 1].
        gold
            int (n_tokens,): column of each token's gold tag, or -1 where it is none of them: all labels of the token
            are then 0, and the token is counted in `n_gold_outside`.
        tags
            (n_tags,): distinct names of the columns; None: 0, 1, ...
        threshold
            In [0, 1].
        documents
            (n_tokens,): document of each token.

        Raises
        ------
        ParameterError
            If a value breaks its rule, lengths differ, or no score reaches the threshold.
        """
        limit = _checks.probability("threshold", threshold)
        matrix = _checked_matrix(probs)
        n_tokens, n_tags = matrix.shape
        right = _checked_gold(gold, n_tokens, n_tags)
        names = _column_names(tags, n_tags)
        kept = _reached(matrix, limit)
        _require_some(kept, limit)
        token, column = np.nonzero(kept)
        values = matrix[token, column].astype(np.float64) + 0.0
        answers = (right[token] == column).astype(np.float64)
        blocks = _document_codes(documents, n_tokens, "rows of probs")
        n_outside = int((right < 0).sum())
        lost = n_tokens - n_outside - int(answers.sum())
        return cls(
            scores=values,
            labels=answers,
            codes=column.astype(np.int32),
            tag_names=names,
            documents=None if blocks is None else blocks[token],
            threshold=limit,
            n_dropped=matrix.size - values.size,
            n_positives_dropped=lost,
            n_gold_outside=n_outside,
        )

    @property
    def n(self) -> int:
        """Number of scores."""
        return int(self.scores.shape[0])

    def recalibrated(self, scores: npt.ArrayLike) -> TagScores:
        """The same labels and tags with other scores (n,) in [0, 1]; none is dropped, however low."""
        values = predictions("scores", scores) + 0.0
        require_as_many("scores", values, self.n, "those they replace")
        return replace(self, scores=values)

    def groups(self, tag_groups: TagGroups) -> npt.NDArray[np.int64]:
        """Frequency group of each score's tag: int64 (n,), from 1; tags unseen in training are in the last group."""
        return tag_groups._groups_of_names(self.tag_names)[self.codes]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a score: tag, score, label."""
        import pandas as pd

        tag = pd.Series(list(self.tag_names)).take(self.codes).reset_index(drop=True)
        return pd.DataFrame({"tag": tag, "score": self.scores, "label": self.labels.astype(np.int64)})


def _reached(values: npt.NDArray[Any], threshold: float) -> npt.NDArray[np.bool_]:
    """Whether values reach the threshold, in their own precision: 0.01 as float32 is below 0.01 as float64."""
    limit = np.asarray(threshold, values.dtype) if values.dtype.kind == "f" else threshold
    return np.asarray(values >= limit)


def _document_codes(documents: npt.ArrayLike | None, n: int, other: str) -> Codes | None:
    if documents is None:
        return None
    require_as_many("documents", documents, n, other)
    return _rows.coded("documents", documents, np.empty(n))[0]


def _require_some(kept: npt.NDArray[np.bool_], threshold: float) -> None:
    if not kept.any():
        raise ParameterError(f"threshold must be reached by a score, got {threshold!r} and {kept.size} scores below")


def _checked_matrix(probs: npt.ArrayLike) -> npt.NDArray[Any]:
    matrix = np.asarray(probs)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or matrix.size == 0:
        raise ParameterError(f"probs must be numbers in (n_tokens, n_tags), got {matrix.shape} of {matrix.dtype}")
    inside = (matrix >= 0.0) & (matrix <= 1.0)
    if not inside.all():
        row, column = divmod(int(np.argmin(inside)), matrix.shape[1])
        raise ParameterError(f"probs[{row}, {column}] must lie in [0, 1], got {matrix[row, column]}")
    return matrix


def _checked_gold(gold: npt.ArrayLike, n_tokens: int, n_tags: int) -> npt.NDArray[np.int64]:
    columns = _checks.integers("gold", gold)
    require_as_many("gold", columns, n_tokens, "rows of probs")
    outside = np.flatnonzero((columns < -1) | (columns >= n_tags))
    if outside.size:
        k = int(outside[0])
        raise ParameterError(f"gold[{k}] must be a column from 0 to {n_tags - 1}, or -1 for none, got {columns[k]}")
    return columns


def _column_names(tags: npt.ArrayLike | None, n_tags: int) -> tuple[Any, ...]:
    if tags is None:
        return tuple(range(n_tags))
    names = np.asarray(tags)
    if names.ndim != 1 or names.shape[0] != n_tags:
        raise ParameterError(f"tags must be as many as columns of probs ({n_tags}), got shape {names.shape}")
    codes, found = _rows.coded("tags", names, names)
    if len(found) < n_tags:
        twice = found[int(np.argmax(np.bincount(codes)))]
        raise ParameterError(f"tags must be distinct, got {_checks.shown(twice)} twice")
    return tuple(found[code] for code in codes.tolist())
