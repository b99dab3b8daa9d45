"""Strata of an audit: ranges of P and groups of documents, and how labels are divided among them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from corefsample import ParameterError, _checks
from corefsample._arrays import Floats, Ints
from events.audit._audit_frame import COUNTED, NEITHER, AuditFrame, Names, event_and_actor
from events.evidence._columns import Calendar
from events.rule_error import _counts
from events.rule_error._model import CLASSES, Cell, RuleError, RuleErrorModel, kind_of, reference_model

# Share of the documents about which the model is assumed to know nothing, when labels are allocated: a stratum with
# P = 0 is then expected to have some misses. It affects widths only.
DOUBT = 0.05
LEAST_NEITHER = 10  # labels of documents without both a word of the rule and a name of the actor, at most a quarter
DIVISIONS = (*(f"P <= 0.5, {name}" for name in CLASSES), "P > 0.5")  # see `AuditFrame.divisions`


@dataclass(frozen=True, slots=True)
class Stratum:
    """Documents from which a simple random sample is drawn.

    Attributes
    ----------
    name
        Range of P or class, and the user's group and the period, if there are any: "P <= 0.5, sentence, 1999".
    n_documents
        Size, at least 1.
    n_sampled
        Documents drawn so far, in all rounds.
    spread
        Expected standard deviation of a label, summed over the targets, by which labels are allocated.
    """

    name: str
    n_documents: int
    n_sampled: int
    spread: float

    @property
    def inclusion_probability(self) -> float:
        """Probability that a document of the stratum is in the sample."""
        return self.n_sampled / self.n_documents


def cut_classes(p: Floats, cuts: Sequence[float] | Floats) -> Ints:
    """Class of P: 0 for P = 0, then one more for each bound that P reaches, from 1."""
    return np.where(p > 0.0, 1 + np.searchsorted(np.asarray(cuts), p, side="right"), 0)


def cut_names(cuts: Sequence[float]) -> list[str]:
    """Names of the classes of P."""
    bounds = [f"{cut:g}" for cut in cuts]
    if not bounds:
        return ["P = 0", "P > 0"]
    between = [f"{low} <= P < {high}" for low, high in pairwise(bounds)]
    return ["P = 0", f"0 < P < {bounds[0]}", *between, f"P >= {bounds[-1]}"]


def stratify(
    frame: AuditFrame, p: Floats, cuts: Sequence[float], groups: Names | None, by: str | None, *, has_classes: bool
) -> tuple[list[str], Ints]:
    """Divide documents by ranges of P, or with `has_classes` by class and the bounds of P, a group, and a period.

    Returns
    -------
    names, numbers
        Names of the strata that have documents, and the stratum of each document: int64 (n_documents,).
    """
    divisions: list[tuple[list[str], Ints]] = [(list(DIVISIONS), frame.divisions())] if has_classes else []
    if cuts or not has_classes:
        divisions.append((cut_names(cuts), cut_classes(p, cuts)))
    if groups is not None:
        texts, codes = np.unique(groups.astype(str), return_inverse=True)
        divisions.append(([str(text) or "(empty)" for text in texts], codes.astype(np.int64)))
    if by is not None:
        calendar = Calendar(by)
        numbers, codes = np.unique(calendar.numbers(frame.dates), return_inverse=True)
        divisions.append(([period.label for period in calendar.periods(numbers)], codes.astype(np.int64)))
    shape = [len(names) for names, _ in divisions]
    present, strata = np.unique(np.ravel_multi_index([codes for _, codes in divisions], shape), return_inverse=True)
    indices = np.transpose(np.unravel_index(present, shape)).tolist()
    labels = [", ".join(names[i] for i, (names, _) in zip(row, divisions, strict=True)) for row in indices]
    return labels, strata.astype(np.int64)


def expected_spread(mean_p: Floats) -> Floats:
    """Expected standard deviation of a label where P has this mean, which is drawn a little towards one half."""
    share = (1.0 - DOUBT) * mean_p + 0.5 * DOUBT
    return np.sqrt(share * (1.0 - share))


def allocate(
    sizes: np.typing.ArrayLike,
    spreads: np.typing.ArrayLike,
    n_labels: int,
    *,
    floor: np.typing.ArrayLike,
    earlier_labels: np.typing.ArrayLike | None = None,
) -> Ints:
    """Divide labels among strata by expected variance (Neyman's allocation), with a floor in every stratum.

    Parameters
    ----------
    sizes
        Number of documents in each stratum.
    spreads
        Expected standard deviation of a label in each stratum.
    n_labels
        Number of labels in all strata, at most the number of documents.
    floor
        Smallest number of labels in every stratum, or in each; a smaller stratum is labelled whole.
    earlier_labels
        Number of labels that each stratum already has, which it keeps; by default none.

    Returns
    -------
    int64 (n_strata,)
        Number of labels in each stratum, earlier ones included; the numbers add up to `n_labels`.

    Raises
    ------
    ParameterError
        If there are fewer labels than the floors need, or more than documents.

    References
    ----------
    Neyman (1934), "On the two different aspects of the representative method", JRSS 97; Cochran (1977), "Sampling
    Techniques", section 5.5.
    """
    size, spread = _checks.integers("sizes", sizes), _checks.floats("spreads", spreads)
    least = np.minimum(size, floor)
    if earlier_labels is not None:
        least = np.maximum(least, _checks.integers("earlier_labels", earlier_labels))
    if n_labels > size.sum():
        rule = f"must be at most the number of documents, {size.sum():,}"
        raise ParameterError(f"{rule}, got {n_labels:,}", parameter="n_labels")
    if n_labels < least.sum():
        rule = f"must be at least {least.sum():,}, for the floors of {len(size)} strata"
        raise ParameterError(f"{rule}, got {n_labels:,}", parameter="n_labels")
    weight = size * np.maximum(spread, 1e-12)
    low, high = 0.0, float(n_labels) / weight.min() + 1.0

    def shares(scale: float) -> Floats:
        return np.clip(scale * weight, least, size)

    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if shares(middle).sum() < n_labels else (low, middle)
    exact = shares(high)
    counts = np.floor(exact + 1e-9).astype(np.int64)
    room = np.flatnonzero(counts < size)
    order = room[np.argsort(-(exact - counts)[room], kind="stable")]
    counts[order[: n_labels - int(counts.sum())]] += 1
    return counts


# --- errors of rules in strata -----------------------------------------------------------------------------


def target_error(
    frame: AuditFrame, target: int, model: RuleErrorModel, n_draws: int, seed: int
) -> tuple[RuleError, np.random.Generator]:
    """Draws of the error of a target of a run, and the generator of the further random numbers of its count."""
    corpus = model.corpus_of([event_and_actor(frame, name)[1] for name in frame.targets])
    event, actor = event_and_actor(frame, frame.targets[target])
    rng, name = _counts.error_generator(seed, event, actor), _counts.reference_event(model, corpus, event, frame.kin)
    sizes = np.bincount(frame.divisions(target), minlength=len(DIVISIONS))
    documents = [frame.probability(target).sum(), *sizes[:COUNTED]]
    return model.draws(Cell(target_kind(frame, actor), name, actor, corpus), documents, n_draws, rng), rng


def target_kind(frame: AuditFrame, actor: str) -> str:
    """Kind of the actor of a target, "any" for anybody, and "named" if kinds are unknown."""
    if not actor:
        return "any"
    return kind_of(actor, frame.kinds) if frame.kinds else "named"


def target_strata(frame: AuditFrame, target: int, codes: Ints, n: int) -> tuple[Ints, Floats, Floats]:
    """Sizes of `n` strata, means of P of a target, and shares of `CLASSES` among documents with P of .5 or less.

    `codes` are the strata of the documents, int64 (n_documents,); the shares are float64 (n, 3).
    """
    width = len(DIVISIONS)
    counts = np.bincount(width * codes + frame.divisions(target), minlength=width * n).reshape(n, width)
    sizes, below = counts.sum(axis=1), counts[:, :COUNTED]
    sums = np.bincount(codes, frame.probability(target), minlength=n)
    return sizes, sums / np.maximum(sizes, 1), below / np.maximum(below.sum(axis=1), 1)[:, None]


def class_spreads(frame: AuditFrame, strata: Ints, n: int, n_labels: int) -> tuple[Floats, Ints]:
    """Expected standard deviations of a label in strata by the reference class, and least numbers of labels."""
    variance = np.zeros(n)
    for target in range(len(frame.targets)):
        error, _ = target_error(frame, target, reference_model(), 1000, 0)
        _, mean_p, classes = target_strata(frame, target, strata, n)
        share = _counts.yes_shares(mean_p, classes, error).mean(axis=0)
        variance += share * (1.0 - share)
    is_neither = np.bincount(strata, frame.divisions() == NEITHER, n) > 0
    least = min(LEAST_NEITHER, n_labels // 4)
    return np.sqrt(variance), np.where(is_neither, -(-least // max(int(is_neither.sum()), 1)), 0)


# Candidates for bounds: hundredths, and finer below .01, where P of rare events lies.
_CANDIDATES: Floats = np.unique(
    np.concatenate([np.outer(10.0 ** -np.arange(3, 7), [1.0, 2.0, 5.0]).ravel(), np.arange(1, 101) / 100]).round(6)
)


def best_cuts(probabilities: Floats, n_bounds: int) -> tuple[float, ...]:
    """Bounds between ranges of P above 0 under which the stratified estimate is expected to vary least.

    With labels allocated by Neyman's rule, the variance of the estimate falls with the sum over strata of size times
    standard deviation of a label. That sum is minimised over bounds that are hundredths, or .000001 to .005 in steps of
    1, 2 and 5, by dynamic programming. P is only used to choose them: whatever they are, intervals hold.

    Parameters
    ----------
    probabilities
        P of every document, in [0, 1].
    n_bounds
        Number of bounds, 1 or 2; fewer are returned if P has fewer ranges with documents.

    Returns
    -------
    tuple of float
        Rising bounds, each of which divides documents.

    References
    ----------
    Dalenius (1950), "The problem of optimum stratification", Scandinavian Actuarial Journal; Cochran (1977), "Sampling
    Techniques", section 5A.7.
    """
    classes = cut_classes(probabilities, _CANDIDATES)
    present, codes = np.unique(classes[classes > 0], return_inverse=True)
    n_bounds = min(n_bounds, len(present) - 1)
    if n_bounds < 1:
        return ()
    sizes = np.append(0.0, np.cumsum(np.bincount(codes)))
    sums = np.append(0.0, np.cumsum(np.bincount(codes, probabilities[classes > 0])))
    # Size times expected standard deviation of the classes from a up to b > a: (n_classes + 1, n_classes + 1).
    n, total = sizes - sizes[:, None], sums - sums[:, None]
    above = np.triu(np.ones(n.shape, np.bool_), 1)
    weights = np.full(n.shape, np.inf)
    weights[above] = n[above] * expected_spread(total[above] / n[above])
    first, last = weights[0], weights[:, -1]  # of the classes before each bound, and from each bound on
    if n_bounds == 1:
        starts = [int((first + last).argmin())]
    else:
        second, start = divmod(int((first[:, None] + weights + last).T.argmin()), len(weights))
        starts = [start, second]
    return tuple(float(_CANDIDATES[present[start] - 2]) for start in starts)
