"""Scores of many tags as prediction-label pairs: one per token and tag, without those below a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample.calibration.binning._results import Result
from corefsample.calibration.binning._validation import coded, labelled, predictions, require_all, require_length
from corefsample.calibration.tags._groups import TagGroups
from corefsample.errors import ParameterError

THRESHOLD = 0.01


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TagScores(Result):
    """Scores at or above a threshold, with their labels and tags, of all tokens and tags; arrays read-only.

    With hundreds of tags nearly all scores are close to 0 and nearly correct; they would hide the error of the
    plausible tags. The threshold is applied once, to the scores of the model: `recalibrated` replaces scores and drops
    none. Scores of one token need not sum to 1.

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
        The tags: those of the columns, or of flat arrays, ascending.
    documents
        int32 (n,): document of each score, numbered; None without documents.
    threshold
        Scores below it were dropped.
    n_dropped, n_positives_dropped
        Number of dropped scores, and of those of the gold tag.
    n_gold_outside
        Number of tokens whose gold tag is none of the columns.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), sections 3.1 and 3.2; Patel et al. (2021) for SCW.
    """

    scores: Floats
    labels: Floats
    codes: Ints32
    tag_names: tuple[Any, ...]
    documents: Ints32 | None
    threshold: float
    n_dropped: int
    n_positives_dropped: int
    n_gold_outside: int

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
        """Tag scores from scores in [0, 1], labels 0 or 1, tags and documents (names), each (n,).

        Raises
        ------
        ParameterError
            If a value breaks its rule, lengths differ, or no score reaches the threshold.
        """
        limit = _checks.probability("threshold", threshold)
        values, answers = labelled(scores, labels, names=("scores", "labels"))
        n = values.shape[0]
        codes, names = coded("tags", tags, n, "scores")
        chosen = _reaching(np.asarray(scores), limit)
        blocks = None if documents is None else coded("documents", documents, n, "scores")[0][chosen]
        return cls(
            scores=values[chosen],
            labels=answers[chosen],
            codes=codes[chosen],
            tag_names=names,
            documents=blocks,
            threshold=limit,
            n_dropped=n - int(chosen.sum()),
            n_positives_dropped=int(answers[~chosen].sum()),
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
        """Tag scores from the scores of every token and tag.

        Parameters
        ----------
        probs
            (n_tokens, n_tags) in [0, 1].
        gold
            int (n_tokens,): column of each token's gold tag, or -1 if it is none of them: all labels of the token
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
        gold_columns = _checked_gold(gold, n_tokens, n_tags)
        names = _column_names(tags, n_tags)
        token, column = np.nonzero(_reaching(matrix, limit))
        values = matrix[token, column].astype(np.float64) + 0.0
        answers = (gold_columns[token] == column).astype(np.float64)
        blocks = None if documents is None else coded("documents", documents, n_tokens, "rows of probs")[0][token]
        n_outside = int((gold_columns < 0).sum())
        return cls(
            scores=values,
            labels=answers,
            codes=column.astype(np.int32),
            tag_names=names,
            documents=blocks,
            threshold=limit,
            n_dropped=matrix.size - values.size,
            n_positives_dropped=n_tokens - n_outside - int(answers.sum()),
            n_gold_outside=n_outside,
        )

    @property
    def n(self) -> int:
        """Number of scores."""
        return int(self.scores.shape[0])

    def subset(self, rows: Ints) -> TagScores:
        """The scores in some rows."""
        documents = None if self.documents is None else self.documents[rows]
        return replace(
            self, scores=self.scores[rows], labels=self.labels[rows], codes=self.codes[rows], documents=documents
        )

    def recalibrated(self, scores: npt.ArrayLike) -> TagScores:
        """The same labels and tags with new scores (n,) in [0, 1]; none is dropped, however low."""
        values = predictions("scores", scores) + 0.0
        require_length("scores", values, self.n, "those they replace")
        return replace(self, scores=values)

    def groups(self, tag_groups: TagGroups) -> Ints:
        """Frequency group of each score's tag: int64 (n,), from 1; tags unseen in training are in the last group."""
        return tag_groups.of(self.tag_names)[self.codes]

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per score: tag, score, label."""
        tag = pd.Series(list(self.tag_names)).take(self.codes).reset_index(drop=True)
        return pd.DataFrame({"tag": tag, "score": self.scores, "label": self.labels.astype(np.int64)})


def _reaching(values: npt.NDArray[Any], threshold: float) -> Bools:
    """Mask of values that reach the threshold, in their own precision: 0.01 as float32 is below 0.01 as float64."""
    limit = np.asarray(threshold, values.dtype) if values.dtype.kind == "f" else threshold
    chosen = np.asarray(values >= limit)
    if not chosen.any():
        found = f"{threshold!r} and {values.size} scores below"
        raise ParameterError(f"must be reached by a score, got {found}", parameter="threshold")
    return chosen


def _checked_matrix(probs: npt.ArrayLike) -> npt.NDArray[Any]:
    matrix = np.asarray(probs)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or matrix.size == 0:
        found = f"{matrix.shape} of {matrix.dtype}"
        raise ParameterError(f"must be numbers in (n_tokens, n_tags), got {found}", parameter="probs")
    inside = (matrix >= 0.0) & (matrix <= 1.0)
    if not inside.all():
        row, column = divmod(int(np.argmin(inside)), matrix.shape[1])
        value = matrix[row, column]
        raise ParameterError(f"must lie in [0, 1], got {value} at [{row}, {column}]", parameter="probs")
    return matrix


def _checked_gold(gold: npt.ArrayLike, n_tokens: int, n_tags: int) -> Ints:
    columns = _checks.integers("gold", gold)
    require_length("gold", columns, n_tokens, "rows of probs")
    rule = f"be a column from 0 to {n_tags - 1}, or -1 for none"
    require_all("gold", columns, (columns >= -1) & (columns < n_tags), rule)
    return columns


def _column_names(tags: npt.ArrayLike | None, n_tags: int) -> tuple[Any, ...]:
    if tags is None:
        return tuple(range(n_tags))
    codes, names = coded("tags", tags, n_tags, "columns of probs")
    if len(names) < n_tags:
        twice = names[int(np.argmax(np.bincount(codes)))]
        raise ParameterError(f"must be distinct, got {_checks.shown(twice)} twice", parameter="tags")
    return tuple(names[code] for code in codes.tolist())
