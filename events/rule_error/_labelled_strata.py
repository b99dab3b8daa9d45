"""Totals from the error of a rule and labels of a sample of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from events.rule_error._model import RuleError

# Standard deviation, on the logit scale, of the share of yes in a stratum around what precision and misses say: the
# error of a rule is not the same for all documents that it counts. Where P is 0 the stratum has most of the misses, and
# the prior of its small share has the shape 1 / sd**2 of a gamma distribution: one half, as Jeffreys' prior.
STRATUM_SD: Final = 2.0
MISSED_SD: Final = 2.0**0.5


@dataclass(frozen=True, slots=True, eq=False)
class LabelledStrata:
    """Strata of documents from which labels were drawn at random.

    Attributes
    ----------
    sizes
        int64 (n_strata,): numbers of documents.
    mean_p
        float64 (n_strata,): mean P of their documents.
    labels, yes
        int64 (n_strata,): numbers of labels, and of those that say yes.
    """

    sizes: Ints
    mean_p: Floats
    labels: Ints
    yes: Ints


def unlabelled_yes(strata: LabelledStrata, error: RuleError, rng: np.random.Generator) -> Ints:
    """Draw the numbers of documents without a label in which a reader sees the event, given labels.

    Draws of the error are weighted by the likelihood of the labels, which is beta-binomial in each stratum.

    Parameters
    ----------
    strata
        Sizes and labels.
    error
        Draws before any label; some 20,000 for 100 labels.
    rng
        Source of randomness.

    Returns
    -------
    int64 (n_draws, n_strata)
        Joint draws of all strata: the sum of a row and the number of labels of yes are a draw of the total.
    """
    from scipy.special import betaln

    a, b = _beta(yes_shares(strata.sizes, strata.mean_p, error), np.where(strata.mean_p > 0.0, STRATUM_SD, MISSED_SD))
    yes, no = strata.yes, strata.labels - strata.yes
    log_likelihood = (betaln(a + yes, b + no) - betaln(a, b)).sum(axis=1)
    weights = np.exp(log_likelihood - log_likelihood.max())
    draws = rng.choice(len(error), len(error), p=weights / weights.sum())
    shares = rng.beta(a[draws] + yes, b[draws] + no)
    return np.asarray(rng.binomial(strata.sizes - strata.labels, shares))


def yes_shares(sizes: npt.ArrayLike, mean_p: npt.ArrayLike, error: RuleError) -> Floats:
    """Expected share of yes in each stratum: float64 (n_draws, n_strata).

    Parameters
    ----------
    sizes, mean_p
        As in `LabelledStrata`.
    error
        Draws of the error.
    """
    sizes, mean_p = np.asarray(sizes, np.float64), np.asarray(mean_p, np.float64)
    counted = sizes @ mean_p
    precision = 1.0 / (1.0 + np.exp(-error.precision))
    missed = (counted + 0.5) * np.exp(error.misses)
    miss = np.minimum(missed / max(sizes.sum() - counted, 1.0), 1.0)
    return np.outer(precision, mean_p) + np.outer(miss, 1.0 - mean_p)


def expected_width(
    sizes: npt.ArrayLike, mean_p: npt.ArrayLike, labels: npt.ArrayLike, error: RuleError, level: float = 0.95
) -> float:
    """Expected width of the interval of a total by design from labels in strata that are not drawn yet.

    Parameters
    ----------
    sizes, mean_p
        As in `LabelledStrata`.
    labels
        int (n_strata,): numbers of labels that would be drawn.
    error
        Draws of the error.
    level
        Probability that the interval has, in (0, 1).
    """
    from scipy.special import ndtri

    sizes, labels = np.asarray(sizes, np.float64), np.minimum(labels, sizes)
    shares = yes_shares(sizes, mean_p, error)
    # The share after labels varies around its expectation; one half keeps a stratum without any yes uncertain.
    spread = shares * (1.0 - shares) + 0.25 / np.maximum(labels, 1.0)
    variance = (sizes**2 * spread * (1.0 - labels / sizes) / np.maximum(labels, 1.0)).sum(axis=1)
    return float(2.0 * ndtri(0.5 + level / 2.0) * np.sqrt(variance).mean())


def expected_width_of_total(counted: float, n_documents: int, n_labels: int, error: RuleError, level: float) -> float:
    """Expected width of the interval of a total by design from labels, half of them of documents that the rule counts.

    Parameters
    ----------
    counted, n_documents
        Mean number of documents that the rule counts, and number of all documents.
    n_labels
        Number of labels.
    error, level
        See `expected_width`.
    """
    sizes = np.array([counted, n_documents - counted])
    labels = np.clip(n_labels - sizes[::-1], n_labels // 2, n_labels)  # a small stratum leaves labels to the other
    used = sizes > 0.0
    return expected_width(sizes[used], np.array([1.0, 0.0])[used], labels[used], error, level)


def _beta(shares: Floats, sd: Floats) -> tuple[Floats, Floats]:
    """Parameters of beta distributions with means `shares`, whose logits have standard deviations of about `sd`."""
    shares = np.clip(shares, 1e-6, 1.0 - 1e-6)
    concentration = np.maximum(1.0 / (shares * (1.0 - shares) * sd**2) - 1.0, 1.0)
    return shares * concentration, (1.0 - shares) * concentration
