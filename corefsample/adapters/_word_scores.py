"""What spacy-experimental and Stanza share: scores of each word's unsorted top antecedents, NEW in front."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from corefsample.adapters._arrays import float_matrix, int_matrix, is_masked
from corefsample.adapters._assembly import Spans
from corefsample.adapters._links import Links
from corefsample.errors import ParameterError

__all__ = ["word_links", "word_spans"]


def word_links(scores: Any, antecedents: Any, n_tokens: int, *, n_new: tuple[int, ...]) -> Links:
    """Links of one row a word; the columns in front of the antecedents' (one of the counts of `n_new`) are NEW."""
    values = float_matrix("scores", scores)
    indices = int_matrix("antecedents", antecedents)
    if values.shape[0] != n_tokens or indices.shape[0] != n_tokens:
        raise ParameterError(
            f"scores and antecedents must have one row a token ({n_tokens}), "
            f"got {values.shape[0]} and {indices.shape[0]}"
        )
    extra = values.shape[1] - indices.shape[1]
    if extra not in n_new:
        counts = " or ".join(map(str, n_new))
        raise ParameterError(
            f"scores must have {counts} more columns than antecedents, in front, for NEW, "
            f"got {values.shape[1]} and {indices.shape[1]}"
        )
    new = np.logaddexp.reduce(values[:, :extra], axis=1)
    masked = np.flatnonzero(is_masked(new))
    if masked.size:
        raise ParameterError(f"scores[{masked[0]}] must begin with the score of NEW, got {values[masked[0], 0]}")
    return Links.from_top_k("scores", values[:, extra:], new, "antecedents", indices)


def word_spans(n_tokens: int, spans: Mapping[int, tuple[int, int]] | None) -> Spans:
    """Every word a mention of its own, or the span that is known of it; the word is the head."""
    heads = np.arange(n_tokens, dtype=np.int64)
    starts, ends = heads.copy(), heads + 1
    for head, (start, end) in (spans or {}).items():
        if not 0 <= start <= head < end <= n_tokens:
            rule = f"hold its head {head} and end by the last token ({n_tokens})"
            raise ParameterError(f"spans[{head}] must {rule}, got {start} to {end} (exclusive)")
        starts[head], ends[head] = start, end
    return Spans(starts, ends, heads)
