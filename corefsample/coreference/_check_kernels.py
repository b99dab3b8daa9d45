"""Compiled checks of the candidates of many documents in one pass: one code and position per document.

Legend of dimensions and names
    d : document, i : mention, c : candidate antecedent
    mention_bounds[d]:mention_bounds[d+1] : the mentions of document d
    indptr[i]:indptr[i+1]                 : the candidates of mention i
    codes[d], positions[d]                : the first rule that document d breaks (0 if it is valid), and the flat index
"""

from __future__ import annotations

import math

from corefsample._arrays import Floats, Ints, Ints8, Ints32
from corefsample._jit import kernel_in_place

OK = 0
ANTECEDENT_NOT_BEFORE, ANTECEDENT_TWICE, SCORE_NOT_FINITE = 1, 2, 3


@kernel_in_place
def in_order(indptr: Ints, antecedents: Ints32, scores: Floats) -> bool:
    """True if the candidates of one document are valid and ascend; branchless, because most documents are valid."""
    faults = 0
    for i in range(indptr.shape[0] - 1):
        row = antecedents[indptr[i] : indptr[i + 1]]
        m = row.shape[0]
        if m > 0:
            faults += row[0] < 0
            faults += row[m - 1] >= i
            left, right = row[: m - 1], row[1:]
            for c in range(left.shape[0]):
                faults += left[c] >= right[c]
    for c in range(scores.shape[0]):
        faults += scores[c] - scores[c] != 0.0  # infinity minus itself is NaN, which differs from 0
    return faults == 0


@kernel_in_place
def check_antecedents(
    mention_bounds: Ints,
    indptr: Ints,
    antecedents: Ints32,
    scores: Floats,
    last_named_by: Ints,
    codes: Ints8,
    positions: Ints,
) -> None:
    """Check that candidates are distinct mentions before their own, and that scores are finite.

    last_named_by : the last flat mention that has each mention of the document as a candidate, -1 at first; as long as
    the longest document. It needs no clearing between mentions.
    """
    for d in range(mention_bounds.shape[0] - 1):
        first = mention_bounds[d]
        for i in range(first, mention_bounds[d + 1]):
            if codes[d] != OK:
                break
            for c in range(indptr[i], indptr[i + 1]):
                k = antecedents[c]
                if k < 0 or k >= i - first:
                    codes[d], positions[d] = ANTECEDENT_NOT_BEFORE, c
                    break
                if last_named_by[k] == i:
                    codes[d], positions[d] = ANTECEDENT_TWICE, c
                    break
                last_named_by[k] = i
                if not math.isfinite(scores[c]):
                    codes[d], positions[d] = SCORE_NOT_FINITE, c
                    break
