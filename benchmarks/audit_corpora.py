"""Corpora of the study of audits: P and truth of documents, their strata, and the coverage of intervals of totals."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit
from scipy.stats import hypergeom, norm

from events.audit import AuditFrame, plan_audit
from events.audit._totals import Method, gamma_limit, is_possible, log_share_sampled, stratum_limits

LEVEL = 0.95
SIZES = (300, 2_000, 20_000, 200_000)
SHARES = (0.001, 0.01, 0.05, 0.15, 0.4)
LABELS = (50, 100, 200, 500, 1000)
NEGLIGIBLE = 1e-9  # probability of numbers of labels that are left out of the enumeration
ENUMERATED = 200_000  # the most outcomes of all strata that are enumerated
DRAWS = 20_000  # samples where there are more
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
# Area under the curve, factor of the evidence (2: overconfident), and share of positives that have P = 0 in any case.
QUALITIES = {
    "useless": (0.5, 1.0, 0.0),
    "weak": (0.7, 1.0, 0.0),
    "good": (0.9, 1.0, 0.0),
    "good, overconfident": (0.9, 2.0, 0.0),
    "good, underconfident": (0.9, 0.5, 0.0),
    "good, misses a third": (0.9, 1.0, 1 / 3),
    "excellent": (0.98, 1.0, 0.0),
    "excellent, overconfident": (0.98, 2.0, 0.0),
    "excellent, misses a third": (0.98, 1.0, 1 / 3),
    "perfect": (1.0, 1.0, 0.0),
}
# How a corpus is divided: the bounds of P (None: those of the plan's default), a group, and years.
Division = Callable[[Bools, np.random.Generator], dict[str, object]]


def by_default(truth: Bools, rng: np.random.Generator) -> dict[str, object]:
    """P alone, with the bounds that a plan chooses."""
    return {}


@dataclass(frozen=True, slots=True)
class Corpus:
    """One cell of the grid: P and truth of every document, and the strata with their labels."""

    n_documents: int
    share: float
    quality: str
    n_labels: int
    p: Floats
    truth: Bools
    sizes: Ints
    positive: Ints
    labelled: Ints

    @property
    def total(self) -> int:
        return int(self.truth.sum())

    def auc(self) -> float:
        """Area under the curve of P: the chance that a positive document has the higher P; ties count one half."""
        values, codes = np.unique(self.p, return_inverse=True)
        positive = np.bincount(codes[self.truth], minlength=len(values))
        negative = np.bincount(codes[~self.truth], minlength=len(values))
        below = np.cumsum(negative) - 0.5 * negative
        return float((positive * below).sum() / max(positive.sum() * negative.sum(), 1))

    def row(self) -> dict[str, object]:
        names = ("n_documents", "share", "quality", "n_labels")
        return {**{name: getattr(self, name) for name in names}, "auc": self.auc()}

    def undivided(self) -> Corpus:
        """The same documents in one stratum."""
        one = (np.array([n]) for n in (self.n_documents, self.total, self.n_labels))
        return Corpus(self.n_documents, self.share, self.quality, self.n_labels, self.p, self.truth, *one)


def corpora(
    seed: int,
    *,
    division: Division = by_default,
    sizes: Sequence[int] = SIZES,
    shares: Sequence[float] = SHARES,
    qualities: Sequence[str] = tuple(QUALITIES),
    labels: Sequence[int] = LABELS,
) -> Iterator[Corpus]:
    """The cells of the grid: at most half of a corpus is labelled, and there is at least one positive document."""
    for n, share, quality in itertools.product(sizes, shares, qualities):
        rng = np.random.default_rng([seed, n, int(1000 * share), list(QUALITIES).index(quality)])
        p, truth = scored(n, share, quality, rng)
        frame = framed(p, np.datetime64("2000-01-01") + np.arange(n) % 3652)  # ten years
        options = division(truth, rng)
        for n_labels in (each for each in labels if each <= n // 2):
            plan = plan_audit(frame, n_labels, **options)  # type: ignore[arg-type]
            stratum_of = plan.stratum_of
            positive = np.bincount(stratum_of[truth], minlength=len(plan.strata))
            strata = np.array([(each.n_documents, each.n_sampled) for each in plan.strata])
            yield Corpus(n, share, quality, n_labels, p, truth, strata[:, 0], positive, strata[:, 1])


def framed(p: Floats, dates: npt.ArrayLike) -> AuditFrame:
    """Documents with these P and dates, by year."""
    return AuditFrame.from_arrays(list(map(str, range(len(p)))), dates, p, period="year")


def scored(n: int, share: float, quality: str, rng: np.random.Generator) -> tuple[Floats, Bools]:
    """P and truth of n documents: P is the posterior of a normal score, the share of 1,000 samples with the event."""
    truth = np.zeros(n, np.bool_)
    truth[: max(1, round(share * n))] = True
    # Not in the order of the documents, whose dates are in that order.
    order = np.random.default_rng(0).permutation(n)
    p = probabilities(truth, quality, share, rng)
    return p[order], truth[order]


def probabilities(truth: Bools, quality: str, share: float, rng: np.random.Generator) -> Floats:
    """P of documents with this truth, from a model of some quality that expects a share of positives."""
    auc, factor, missed = QUALITIES[quality]
    n = len(truth)
    if auc == 1.0:
        return truth.astype(float)
    distance = np.sqrt(2.0) * norm.ppf(auc)
    evidence = distance * (rng.normal(size=n) + distance * truth) - 0.5 * distance**2
    p = np.asarray(rng.binomial(1000, expit(logit(share) + factor * evidence)) / 1000)
    p[truth & (rng.random(n) < missed)] = 0.0
    return p


# --- coverage of intervals joined from strata --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figures:
    """Coverage and mean width of an interval, and the standard error of the coverage: 0 where it is exact."""

    coverage: float
    width: float
    error: float


@dataclass(frozen=True, slots=True)
class _Outcomes:
    """Numbers of positive labels of one stratum that are not negligible, and what each gives."""

    k: Ints
    pmf: Floats
    lower: Floats
    upper: Floats


def interval_figures(corpus: Corpus, method: Method) -> Figures:
    """Coverage and mean width of a joined method: by enumeration, or from samples where there are too many outcomes."""
    strata = _outcomes(corpus, method)
    shape = tuple(len(each.k) for each in strata)
    if np.prod(shape, dtype=float) <= ENUMERATED:
        chosen = [each.ravel() for each in np.indices(shape)]
        weight = np.prod([each.pmf[i] for each, i in zip(strata, chosen, strict=True)], axis=0)
    else:
        rng = np.random.default_rng([corpus.n_documents, corpus.n_labels])
        chosen = [rng.choice(len(each.k), DRAWS, p=each.pmf) for each in strata]
        weight = np.full(DRAWS, 1.0 / DRAWS)
    low, high = _joined(corpus, strata, chosen, method)
    covered = (low <= corpus.total) & (corpus.total <= high)
    coverage = float(weight[covered].sum())
    is_exact = np.prod(shape, dtype=float) <= ENUMERATED
    error = 0.0 if is_exact else float(np.sqrt(coverage * (1.0 - coverage) / DRAWS))
    return Figures(coverage, float((weight * (high - low)).sum()), error)


def _outcomes(corpus: Corpus, method: Method) -> list[_Outcomes]:
    joined = np.count_nonzero(corpus.labelled < corpus.sizes) != 1
    found = []
    for size, positive, n in zip(corpus.sizes, corpus.positive, corpus.labelled, strict=True):
        k = np.arange(max(0, n - (size - positive)), min(n, positive) + 1)
        pmf = hypergeom.pmf(k, size, positive, n)
        kept = pmf > NEGLIGIBLE
        k, pmf = k[kept], pmf[kept] / pmf[kept].sum()
        found.append(
            _Outcomes(
                k, pmf, *stratum_limits(k, np.full_like(k, n), np.full_like(k, size), LEVEL, method, joined=joined)
            )
        )
    return found


def _joined(corpus: Corpus, strata: list[_Outcomes], chosen: list[Ints], method: Method) -> tuple[Floats, Floats]:
    """Limits of the total for outcomes of all strata: a second implementation of `estimate_total`, on arrays."""
    estimate, below, above, variance, all_positive, all_negative = np.zeros((6, len(chosen[0])))
    n_spread, known_low, known_high = np.zeros((3, len(chosen[0])), np.int64)
    for each, i, size, n in zip(strata, chosen, corpus.sizes, corpus.labelled, strict=True):
        centre = size * (each.k / n)
        spread = size * (each.k / n) * (1 - each.k / n) * (size / n - 1)
        estimate += centre[i]
        below += ((centre - each.lower) ** 2)[i]
        above += ((each.upper - centre) ** 2)[i]
        variance += spread[i]
        n_spread += (spread > 0)[i]
        all_positive += log_share_sampled(each.k, n, size)[i]
        all_negative += log_share_sampled(n - each.k, n, size)[i]
        known_low += each.k[i]
        known_high += (size - n + each.k)[i]
    lower, upper = estimate - np.sqrt(below), estimate + np.sqrt(above)
    several = n_spread > 1
    mean, spread, total = estimate[several], variance[several], corpus.n_documents
    lower[several] = np.minimum(lower[several], gamma_limit(mean, spread, LEVEL, method))
    upper[several] = np.maximum(upper[several], total - gamma_limit(total - mean, spread, LEVEL, method))
    lower[several & is_possible(all_positive, LEVEL, method)] = 0.0  # then only the known documents limit it
    upper[several & is_possible(all_negative, LEVEL, method)] = total
    slack = 1e-9 * estimate
    return np.maximum(np.ceil(lower - slack), known_low), np.minimum(np.floor(upper + slack), known_high)


def labels_alone(corpus: Corpus) -> Figures:
    """Coverage and mean width of the exact interval of a simple random sample, without P."""
    return interval_figures(corpus.undivided(), "exact")
