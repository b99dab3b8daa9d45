"""The first rule that the candidates of a document break, in words: place, rule and value."""

from __future__ import annotations

import numpy as np

from corefsample._arrays import Floats, Ints, Ints32
from corefsample.coreference._check_kernels import ANTECEDENT_NOT_BEFORE, ANTECEDENT_TWICE, check_antecedents


def candidate_faults(mention_bounds: Ints, indptr: Ints, antecedents: Ints32, scores: Floats) -> dict[int, str]:
    """Describe the first candidate that breaks a rule, in each document that has one.

    Candidates must be distinct mentions before their own mention, and their scores finite.

    Parameters
    ----------
    mention_bounds
        int64 (n_documents + 1,): where the mentions of each document begin.
    indptr, antecedents, scores
        The candidates of all documents' mentions, as in `AntecedentDistribution`; antecedents count within a document.

    Returns
    -------
    dict of str
        By number of the document; documents without a fault have no entry.
    """
    codes = np.zeros(mention_bounds.shape[0] - 1, np.int8)
    places = np.zeros(codes.shape[0], np.int64)
    last_named_by = np.full(np.diff(mention_bounds).max(initial=0), -1, np.int64)
    check_antecedents(mention_bounds, indptr, antecedents, scores, last_named_by, codes, places)
    faults = {}
    for document in np.flatnonzero(codes).tolist():
        place = int(places[document])
        row = int(np.searchsorted(indptr, place, side="right")) - 1
        i, k = row - int(mention_bounds[document]), place - int(indptr[row])
        if codes[document] == ANTECEDENT_NOT_BEFORE:
            faults[document] = f"antecedents[{i}][{k}] must be a mention before {i}, got {antecedents[place]}"
        elif codes[document] == ANTECEDENT_TWICE:
            faults[document] = f"antecedents[{i}] must be distinct, got {antecedents[place]} twice"
        else:
            faults[document] = f"scores[{i}][{k}] must be finite, got {float(scores[place])}"
    return faults
