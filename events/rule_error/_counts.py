"""Counts with the error of a rule: documents that readers would count, by period."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Floats, Ints
from corefsample._random import document_key
from events.rule_error._model import RuleError, miss_exposure


def error_generator(seed: int, event: str, actor: str) -> np.random.Generator:
    """Generator of all random numbers for the error of a count; other counts do not change it."""
    return np.random.Generator(np.random.Philox(key=document_key(seed, f"rule error\0{event}\0{actor}")))


def true_counts(counts: npt.ArrayLike, n_docs: npt.ArrayLike, error: RuleError, rng: np.random.Generator) -> Ints:
    """Draw the numbers of documents in which a reader sees the event, given those that the rule counts.

    Each draw thins the counted documents by the precision of its period, and adds missed ones among the others, in
    proportion to `miss_exposure`.

    Parameters
    ----------
    counts
        int (n_draws, n_periods): documents with the event in a sampled clustering of every document.
    n_docs
        int (n_periods,): documents of each period.
    error
        With n_draws draws.
    rng
        Source of randomness: see `error_generator`.

    Returns
    -------
    int64 (n_draws, n_periods)
        Their sums over periods are draws of the total.
    """
    confirmed, missed = _confirmed_and_missed(np.asarray(counts, np.int64), np.asarray(n_docs, np.int64), error, rng)
    return confirmed + missed


def reader_probability(
    probabilities: npt.ArrayLike,
    counts: npt.ArrayLike,
    n_docs: npt.ArrayLike,
    error: RuleError,
    rng: np.random.Generator,
) -> Floats:
    """Draw the probability that a reader sees the event, for documents with some P of the samples.

    Parameters
    ----------
    probabilities
        float (n,): P of the documents.
    counts, n_docs, error, rng
        As in `true_counts`.

    Returns
    -------
    float64 (n_draws, n)
        A mixture: of the precision with weight P, and of the share of missed documents among those that the rule does
        not count. The mean over draws is the probability, and quantiles are its interval.
    """
    p = np.asarray(probabilities, np.float64)
    counts, n_docs = np.asarray(counts, np.int64), np.asarray(n_docs, np.int64)
    _, missed = _confirmed_and_missed(counts, n_docs, error, rng)
    miss = missed.sum(axis=1) / np.maximum(n_docs.sum() - counts.sum(axis=1), 1)
    return np.outer(_probability(error.precision), p) + np.outer(miss, 1.0 - p)


def _confirmed_and_missed(counts: Ints, n_docs: Ints, error: RuleError, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Documents of each draw and period that a reader confirms, and that the rule does not count."""
    precision = _probability(error.precision[:, None] + error.precision_sd[:, None] * rng.standard_normal(counts.shape))
    misses = np.exp(error.misses[:, None] + error.misses_sd[:, None] * rng.standard_normal(counts.shape))
    confirmed = rng.binomial(counts, precision)
    others = n_docs - counts
    share = np.minimum(misses * miss_exposure(counts, n_docs) / np.maximum(others, 1), 1.0)
    return confirmed, rng.binomial(others, share)


def _probability(logit: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))
