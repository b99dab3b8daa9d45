"""Scores of many tags as prediction-label pairs, one per token and tag, and their calibration error (SMCE).

Tagsets with hundreds of tags are too sparse to measure each tag separately: the shared error pools the scores of all
tags. Bins are adaptive, as in the rest of this package: equal scores share a bin, and a score of 1 belongs to the last
one. The code published with the paper leaves scores of 1 out of all bins, though it counts them.

References
----------
Kranzlein, Liu & Schneider (2021), "Making heads and tails of models with marginal calibration for sparse tagsets".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints32, Result, pd
from corefsample.calibration._error import CalibrationError, IntervalKind, calibration_error
from corefsample.calibration._validation import coded, labelled

THRESHOLD = 0.01
N_BINS = 10


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TagScores(Result):
    """Scores at or above a threshold, with their labels and tags, of all tokens and tags; arrays read-only.

    With hundreds of tags nearly all scores are close to 0 and nearly correct; they would hide the error of the
    plausible tags. Scores of one token need not sum to 1.

    A recalibrator fitted to `scores` and `labels` of all tags together is shared class-wise binning (SCW).

    Attributes
    ----------
    scores
        float64 (n,) in [0, 1]: score of a tag of a token.
    labels
        float64 (n,): 1 if the tag is the gold tag of the token, otherwise 0.
    codes
        int32 (n,): tag of each score, as an index into `tag_names`.
    tag_names
        Names of the tags, in the order of the tagger or ascending.
    documents
        int32 (n,): number of each score's document; None without documents.
    threshold
        Least score, in [0, 1]; lower scores were dropped.

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

    @classmethod
    def from_arrays(
        cls,
        scores: np.typing.ArrayLike,
        labels: np.typing.ArrayLike,
        tags: np.typing.ArrayLike,
        *,
        threshold: float = THRESHOLD,
        documents: np.typing.ArrayLike | None = None,
    ) -> TagScores:
        """Make tag scores from arrays, and drop the scores below a threshold.

        Parameters
        ----------
        scores
            float (n,) in [0, 1]: score of a tag of a token.
        labels
            Labels 0 or 1, (n,): 1 where the tag is the gold one of the token.
        tags
            Name of the tag of each score, (n,).
        threshold
            Least score that is kept, in [0, 1].
        documents
            Name of the document of each score, (n,). By default there are no documents.

        Raises
        ------
        ParameterError
            If a score or the threshold is outside [0, 1], a label is neither 0 nor 1, lengths differ, or no score
            reaches the threshold.
        """
        limit = _checks.probability("threshold", threshold)
        values, answers = labelled(scores, labels, names=("scores", "labels"))
        n = values.shape[0]
        codes, names = coded("tags", tags, n, "scores")
        array = np.asarray(scores)
        # In their own precision: 0.01 as float32 is below 0.01 as float64.
        is_float = array.dtype.kind == "f"
        is_kept = array >= (np.asarray(limit, array.dtype) if is_float else limit)
        actual = f"{limit!r} and {n} scores below"
        _checks.require("threshold", is_kept.any(), "must be reached by a score", actual)
        blocks = None if documents is None else coded("documents", documents, n, "scores")[0][is_kept]
        return cls(
            scores=values[is_kept],
            labels=answers[is_kept],
            codes=codes[is_kept],
            tag_names=names,
            documents=blocks,
            threshold=limit,
        )

    @property
    def n(self) -> int:
        """Number of scores."""
        return int(self.scores.shape[0])

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row per score: tag, score, label."""
        tag = pd.Series(list(self.tag_names)).take(self.codes).reset_index(drop=True)
        return pd.DataFrame({"tag": tag, "score": self.scores, "label": self.labels.astype(np.int64)})


def shared_calibration_error(
    tag_scores: TagScores,
    *,
    n_bins: int | None = None,
    bin_size: int | None = None,
    debiased: bool | None = None,
    interval: IntervalKind | None = "auto",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
) -> CalibrationError:
    """Shared marginal calibration error (SMCE): the scores of all tags pooled, RMS over adaptive bins.

    Parameters
    ----------
    tag_scores
        Scores at or above the threshold, with or without documents.
    n_bins, bin_size
        Number or target size of adaptive bins, at most one of the two: see `bin_pairs`. By default there are 10 bins.
    debiased
        Subtract the sampling variance of the bins, as by default; the published SMCE does not.
    interval, level, n_resamples, seed
        Method, level, number of draws and seed of the confidence interval: see `calibration_error`. By default a
        bootstrap by document if there are documents, otherwise simulated.

    Raises
    ------
    ParameterError
        If `tag_scores` is no TagScores, there are fewer scores than requested bins, or an option is out of range.

    References
    ----------
    Kranzlein, Liu & Schneider (2021), eq. 2.

    Examples
    --------
    >>> scores = TagScores.from_arrays([0.8, 0.2, 0.8, 0.2, 0.2, 0.8], [1, 0, 0, 1, 1, 0], ["N", "V"] * 3)
    >>> error = shared_calibration_error(scores, n_bins=2, interval=None, debiased=False)
    >>> error.bins.mean_q.round(3), error.bins.mean_y.round(3), round(error.estimate, 3)
    (array([0.2, 0.8]), array([0.667, 0.333]), 0.467)
    """
    _checks.instance("tag_scores", tag_scores, TagScores, "TagScores.from_arrays makes them")
    return calibration_error(
        tag_scores.scores,
        tag_scores.labels,
        bin_size=bin_size,
        n_bins=N_BINS if n_bins is None and bin_size is None else n_bins,
        debiased=debiased,
        documents=tag_scores.documents,
        interval=interval,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )
