"""Scores of many tags as prediction-label pairs: one per token and tag, without those below a threshold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats, Ints, Ints32
from corefsample._lazy import pd
from corefsample._results import Result
from corefsample.calibration._tag_groups import TagGroups
from corefsample.calibration._validation import coded, labelled, predictions, require_length
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
        The tags, in the order of the tagger's or ascending.
    documents
        int32 (n,): document of each score, numbered; None without documents.
    threshold
        Scores below it were dropped.
    n_gold_outside
        Number of tokens whose gold tag is not one of the tags, if that is known.

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
    n_gold_outside: int = 0

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
