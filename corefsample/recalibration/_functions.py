"""Structured recalibration: a temperature and a NEW bias, fitted so that whole clusterings become calibrated.

Three kinds of objective, each a sum over documents with gold:

``"likelihood"``
    -log of the summed probability of each mention's gold antecedents: antecedents of the same gold entity, or NEW where
    the mention is the first annotated one of its entity. Smooth, with an analytic gradient.
``"links"``
    The Brier score of the exact link marginals, over all pairs of annotated mentions (`LinkScore`; also the log score).
a callable
    Any loss of a document under a recalibration, such as `events.queries.QueryScore`.

What of gold is left out, and counted (`GoldCounts`):

- A document without an annotated mention has no part in a fit.
- A mention without a gold entity has no term. As a candidate it is neither right nor wrong: the likelihood leaves it
  out and lets the mention's other candidates and NEW renormalise; link scores leave its pairs out, though marginals may
  pass through it. With ``unannotated="single"`` such mentions are entities of their own instead, for corpora that
  leave out singletons.
- A mention with earlier mentions of its gold entity, none of them among the candidates, has no term in the likelihood
  by ``missing="skip"``: whatever the temperature, its probability is 0. By ``missing="floor"`` its lowest candidate
  stands in for the gold one, which scored no higher, or it would have been kept. Link scores keep its pairs.
"""

from __future__ import annotations

from collections.abc import Iterable

from corefsample.documents import ScoredDocument
from corefsample.links import Unannotated
from corefsample.recalibration._fitter import RecalibrationFitter
from corefsample.recalibration._losses import DocumentObjective, LinkScore, Objective
from corefsample.recalibration._model import GoldCounts, Recalibration, RecalibrationFit
from corefsample.recalibration._refits import CrossFit, RecalibrationDraws

__all__ = [
    "CrossFit",
    "DocumentObjective",
    "GoldCounts",
    "LinkScore",
    "Objective",
    "Recalibration",
    "RecalibrationDraws",
    "RecalibrationFit",
    "RecalibrationFitter",
    "bootstrap_recalibration",
    "cross_fit",
    "fit_recalibration",
]


def fit_recalibration(
    documents: Iterable[ScoredDocument],
    *,
    objective: Objective = "likelihood",
    missing: str = "skip",
    unannotated: Unannotated = "skip",
) -> RecalibrationFit:
    """Fit a temperature and a NEW bias to documents with gold.

    Parameters
    ----------
    documents, objective, missing, unannotated
        As of `RecalibrationFitter`.

    Returns
    -------
    RecalibrationFit
        The recalibration, the mean loss before and after, and what gold gave.

    Raises
    ------
    ParameterError
        If no document has gold, or gold does not determine a temperature and a bias.

    References
    ----------
    Nguyen & O'Connor (2015), section 7, which leaves recalibration of structures as future work.
    """
    return RecalibrationFitter(documents, objective=objective, missing=missing, unannotated=unannotated).fit()


def cross_fit(
    documents: Iterable[ScoredDocument],
    n_folds: int = 5,
    *,
    seed: int = 0,
    objective: Objective = "likelihood",
    missing: str = "skip",
    unannotated: Unannotated = "skip",
    n_boot: int = 0,
) -> CrossFit:
    """Fit to some documents and score the others, each being held out once.

    Parameters
    ----------
    documents, objective, missing, unannotated
        As of `RecalibrationFitter`.
    n_folds, seed, n_boot
        As of `RecalibrationFitter.cross_fit`.

    Returns
    -------
    CrossFit
        Fold and held-out losses of each document, recalibration of each fold.
    """
    fitter = RecalibrationFitter(documents, objective=objective, missing=missing, unannotated=unannotated)
    return fitter.cross_fit(n_folds, seed=seed, n_boot=n_boot)


def bootstrap_recalibration(
    documents: Iterable[ScoredDocument],
    n_boot: int = 200,
    *,
    seed: int = 0,
    objective: Objective = "likelihood",
    missing: str = "skip",
    unannotated: Unannotated = "skip",
) -> RecalibrationDraws:
    """Refit on bootstrapped documents, for the uncertainty of the recalibration itself.

    Parameters
    ----------
    documents, objective, missing, unannotated
        As of `RecalibrationFitter`.
    n_boot, seed
        As of `RecalibrationFitter.bootstrap`.
    """
    fitter = RecalibrationFitter(documents, objective=objective, missing=missing, unannotated=unannotated)
    return fitter.bootstrap(n_boot, seed=seed)
