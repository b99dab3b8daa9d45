"""Which documents to label: a stratified random sample without replacement, drawn from all documents."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Words
from corefsample._lazy import pd
from corefsample._random import document_key
from corefsample._results import HtmlTable
from corefsample.errors import ParameterError
from events.audit._documents import AuditFrame, Names, require_distinct
from events.counting._periods import Calendar

# Share of the documents about which the model is assumed to know nothing, when labels are allocated: a stratum with
# P = 0 is then expected to have some misses. It affects widths only.
DOUBT = 0.05


@dataclass(frozen=True, slots=True)
class Stratum:
    """Documents from which a simple random sample is drawn.

    Attributes
    ----------
    name
        Range of P, and the user's group and the period, if there are any: "P < 0.5, keyword, 1999".
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


def checked_cuts(cuts: Sequence[float]) -> tuple[float, ...]:
    """Return the bounds of the classes of P, or raise."""
    values = tuple(_checks.probability("cuts", cut, above_zero=True) for cut in cuts)
    if list(values) != sorted(set(values)):
        raise ParameterError(f"must rise, got {', '.join(map(str, values))}", parameter="cuts")
    return values


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
    frame: AuditFrame, p: Floats, cuts: Sequence[float], groups: Names | None, by: str | None
) -> tuple[list[str], Ints]:
    """Divide documents by P, a group of the user's, and a period.

    Returns
    -------
    names, numbers
        Names of the strata that have documents, and the stratum of each document: int64 (n_documents,).
    """
    parts: list[tuple[list[str], Ints]] = [(cut_names(cuts), cut_classes(p, cuts))]
    if groups is not None:
        texts, codes = np.unique(groups.astype(str), return_inverse=True)
        parts.append(([str(text) or "(empty)" for text in texts], codes.astype(np.int64)))
    if by is not None:
        calendar = Calendar(by)
        numbers, codes = np.unique(calendar.numbers(frame.dates), return_inverse=True)
        parts.append(([period.label for period in calendar.periods(numbers)], codes.astype(np.int64)))
    shape = [len(names) for names, _ in parts]
    present, strata = np.unique(np.ravel_multi_index([codes for _, codes in parts], shape), return_inverse=True)
    indices = np.transpose(np.unravel_index(present, shape)).tolist()
    labels = [", ".join(names[i] for i, (names, _) in zip(row, parts, strict=True)) for row in indices]
    return labels, strata.astype(np.int64)


def expected_spreads(frame: AuditFrame, strata: Ints, n_strata: int) -> Floats:
    """Expected standard deviation of a label in each stratum: float64 (n_strata,).

    Several targets add their variances.
    """
    sizes = np.bincount(strata, minlength=n_strata)
    sums = np.zeros((len(frame.targets), n_strata))
    np.add.at(sums, (frame.columns, strata[frame.rows]), frame.values)
    return np.asarray(np.sqrt((expected_spread(sums / sizes) ** 2).sum(axis=0)))


def expected_spread(mean_p: Floats) -> Floats:
    """Expected standard deviation of a label where P has this mean, which is drawn a little towards one half."""
    share = (1.0 - DOUBT) * mean_p + 0.5 * DOUBT
    return np.sqrt(share * (1.0 - share))


def allocate(
    sizes: npt.ArrayLike, spreads: npt.ArrayLike, n_labels: int, *, floor: int, taken: npt.ArrayLike | None = None
) -> Ints:
    """Divide labels among strata by expected variance (Neyman's allocation), with a floor in every stratum.

    Parameters
    ----------
    sizes
        Documents of each stratum.
    spreads
        Expected standard deviation of a label in each.
    n_labels
        Labels in all, at most the number of documents.
    floor
        The fewest in a stratum; all of its documents if it has fewer.
    taken
        Labels that each stratum has already, which stay.

    Returns
    -------
    int64 (n_strata,)
        Labels of each stratum, `taken` included; they add up to `n_labels`.

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
    if taken is not None:
        least = np.maximum(least, _checks.integers("taken", taken))
    if n_labels > size.sum():
        raise ParameterError(
            f"must be at most the number of documents, {size.sum():,}, got {n_labels:,}", parameter="n_labels"
        )
    if n_labels < least.sum():
        rule = f"must be at least {least.sum():,}, for a floor of {floor} in each of {len(size)} strata"
        raise ParameterError(f"{rule}, got {n_labels:,}", parameter="n_labels")
    weight = size * np.maximum(spread, 1e-12)
    low, high = 0.0, float(n_labels) / weight.min() + 1.0

    def shares(scale: float) -> Floats:
        return np.clip(scale * weight, least, size)

    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if shares(middle).sum() < n_labels else (low, middle)
    exact = shares(high)
    whole = np.floor(exact + 1e-9).astype(np.int64)
    room = np.flatnonzero(whole < size)
    order = room[np.argsort(-(exact - whole)[room], kind="stable")]
    whole[order[: n_labels - int(whole.sum())]] += 1
    return whole


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
        One or two; there are fewer if P has fewer ranges with documents.

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
    weights = _weights(sizes, sums)
    first, last = weights[0], weights[:, -1]  # of the classes before each bound, and from each bound on
    if n_bounds == 1:
        starts = [int((first + last).argmin())]
    else:
        second, start = divmod(int((first[:, None] + weights + last).T.argmin()), len(weights))
        starts = [start, second]
    return tuple(float(_CANDIDATES[present[start] - 2]) for start in starts)


def _weights(sizes: Floats, sums: Floats) -> Floats:
    """Size times expected standard deviation of the classes from a up to b > a: (n_classes + 1, n_classes + 1)."""
    n, total = sizes - sizes[:, None], sums - sums[:, None]
    above = np.triu(np.ones(n.shape, np.bool_), 1)
    weights = np.full(n.shape, np.inf)
    weights[above] = n[above] * expected_spread(total[above] / n[above])
    return weights


FLOOR = 5
_BOUNDS = 2  # between ranges of P
SHEET_COLUMNS = (
    *("plan", "round", "doc_id", "date", "stratum", "inclusion_probability"),
    *("text", "label", "labeller", "note"),
)
_OF_STRATA = ("name", "n_documents", "n_sampled", "inclusion_probability")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AuditPlan(HtmlTable):
    """A stratified random sample of the documents of a frame.

    Attributes
    ----------
    frame
        All documents.
    strata
        The strata, numbered from 1 in files.
    stratum_of
        int64 (n_documents,): index of each document's stratum.
    rounds
        Labels of each stratum after each round: the last are those of the whole sample.
    sample, round_of
        int64 (n_sampled,): the documents to label, in random order within each round, and their rounds, from 1.
    cuts
        Bounds of the ranges of P.
    by, seed, floor
        As given to `plan_audit`.
    proxies
        Probabilities of other models by name, float64 (n_documents,) each, whose mean with P made the strata.
    clusters
        int64 (n_documents,): number of each document's story; None if no document is a copy of another.
    """

    frame: AuditFrame
    strata: tuple[Stratum, ...]
    stratum_of: Ints
    rounds: tuple[tuple[int, ...], ...]
    sample: Ints
    round_of: Ints
    cuts: tuple[float, ...]
    by: str | None
    seed: int
    floor: int
    proxies: Mapping[str, Floats] = field(default_factory=dict)
    clusters: Ints | None = None

    def __repr__(self) -> str:
        labels = f"{len(self.sample):,} of {len(self.frame):,} documents"
        return f"AuditPlan({labels} in {len(self.strata)} strata, {len(self.rounds)} rounds)"

    @property
    def identity(self) -> str:
        """Twelve hexadecimal digits that name the plan, of whatever round."""
        content = {
            "source": self.frame.source["sha256"],
            "targets": self.frame.targets,
            "strata": [[each.name, each.n_documents] for each in self.strata],
            "first": self.rounds[0],
            "seed": self.seed,
            "documents": hashlib.sha256(
                "\n".join(self.frame.doc_ids[self.sample[self.round_of == 1]]).encode()
            ).hexdigest(),
        }
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]

    def inclusion_probability(self, round_number: int) -> dict[int, float]:
        """Probability of each stratum's documents to be in the sample of the rounds up to this one, by index."""
        counts = self.rounds[round_number - 1]
        return {h: counts[h] / each.n_documents for h, each in enumerate(self.strata)}

    def to_frame(self) -> pd.DataFrame:
        """Tidy table, one row a stratum: stratum, name, n_documents, n_sampled, inclusion_probability."""
        rows = [{name: getattr(each, name) for name in _OF_STRATA} for each in self.strata]
        return pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="stratum")).reset_index()

    @property
    def labelled_as(self) -> Ints:
        """Index in the sample of the document whose label counts: the first one of the same story.

        int64 (n_sampled,). A story that is drawn again needs no second label.
        """
        if self.clusters is None:
            return np.arange(len(self.sample))
        _, first, story = np.unique(self.clusters[self.sample], return_index=True, return_inverse=True)
        return np.asarray(first[story])

    def same_for_copies(self, values: Ints) -> Ints:
        """Values of documents, in which every copy has the value of the first document of its story."""
        if self.clusters is None:
            return values
        _, first, story = np.unique(self.clusters, return_index=True, return_inverse=True)
        return np.asarray(values[first[story]])

    def sheet(self, round_number: int = 1, texts: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Documents of one round to label, in random order, with empty labels; one document of each story.

        Parameters
        ----------
        round_number
            Number of the round, from 1.
        texts
            Text of each document by doc_id; the column `text` is empty for other documents.

        Returns
        -------
        pandas.DataFrame
            One row for each document, with the columns of sheet.csv: see docs/audit-details.md.
        """
        is_read = self.labelled_as == np.arange(len(self.sample))
        rows = self.sample[is_read & (self.round_of == round_number)]
        doc_ids = self.frame.doc_ids[rows].tolist()
        probability = self.inclusion_probability(round_number)
        strata = self.stratum_of[rows].tolist()
        columns = {
            "plan": self.identity,
            "round": round_number,
            "doc_id": doc_ids,
            "date": self.frame.date_texts()[rows],
            "stratum": [h + 1 for h in strata],
            "inclusion_probability": [probability[h] for h in strata],
            "text": [(texts or {}).get(doc_id, "") for doc_id in doc_ids],
            "label": "",
            "labeller": "",
            "note": "",
        }
        return pd.DataFrame(columns, columns=list(SHEET_COLUMNS))

    def to_json(self) -> dict[str, Any]:
        """Content of plan.json, without the list of documents: see docs/audit-details.md."""
        frame = self.frame
        return {
            "format": 1,
            "plan": self.identity,
            "source": dict(frame.source),
            "event": frame.event,
            "targets": list(frame.targets),
            "labels": frame.label_kind,
            "period": frame.period,
            "seed": self.seed,
            "cuts": list(self.cuts),
            "by": self.by,
            "floor": self.floor,
            "proxies": list(self.proxies),
            "has_clusters": self.clusters is not None,
            "n_documents": len(frame),
            "n_sampled": len(self.sample),
            "strata": [
                {"stratum": h, **{name: getattr(each, name) for name in (*_OF_STRATA, "spread")}}
                for h, each in enumerate(self.strata, start=1)
            ],
            "rounds": [list(counts) for counts in self.rounds],
        }


def plan_audit(
    frame: AuditFrame,
    n_labels: int = 200,
    *,
    cuts: Sequence[float] | None = None,
    groups: Sequence[Any] | None = None,
    by: str | None = None,
    floor: int = FLOOR,
    seed: int = 0,
    proxies: Mapping[str, npt.ArrayLike] | None = None,
    clusters: Sequence[Any] | None = None,
) -> AuditPlan:
    """Draw a stratified random sample of documents to label.

    Strata are ranges of the highest probability P of any target: P = 0, and the ranges between the bounds `cuts`. These
    are divided further by `groups` and by period, if requested. Labels go where they are expected to narrow the
    interval most, and every stratum gets some. P only guides the sample: estimates do not assume that it is right.

    Parameters
    ----------
    frame
        All documents, from `read_run_documents`, `read_scores` or `AuditFrame.from_arrays`.
    n_labels
        Number of documents to label, enough for `floor` in each stratum.
    cuts
        Bounds of the ranges of P, ascending, in (0, 1]. By default, `best_cuts` chooses two bounds, or one if `floor`
        would take more than half of the labels.
    groups
        One value for each document, such as a property or whether a keyword matches; documents with different values
        are in different strata. By default, there are no groups.
    by
        Length of the periods that have strata of their own, such as "year". By default, strata span all periods.
    floor
        Least number of labels in each stratum, at least 1; all documents of a smaller stratum are labelled.
    seed
        Seed of the draw, in [0, 2**64). The sample depends on the seed and the doc_ids, not on the order of documents.
    proxies
        Probabilities of other models by name, (n_documents,) each in [0, 1], such as the labels of a language model as
        0 and 1. Strata are then ranges of the mean of these and the highest P, and `estimate_counts` uses the proxies.
        By default, strata are ranges of P alone.
    clusters
        Story of each document, (n_documents,): documents of one story are copies, with the same label. Documents are
        drawn as without stories, but a story that is drawn again is labelled once. By default, there are no copies.

    Raises
    ------
    ParameterError
        If `frame` has another type, `n_labels` is too small for `floor` labels in each stratum or larger than the
        corpus, `cuts` are not ascending in (0, 1], groups, proxies or clusters have not one valid value for each
        document, or `by`, `floor` or `seed` is invalid.
    InputError
        If the names of targets are so alike, or so like the words of a label, that a label would be ambiguous.
    """
    _checks.instance("frame", frame, AuditFrame, hint="`AuditFrame.from_arrays` makes one")
    require_distinct(frame)
    n_labels, floor = _checks.whole("n_labels", n_labels, 1), _checks.whole("floor", floor, 1)
    seed = _checks.seed(seed)
    group_of, story_of = _by_document("groups", groups, frame), _by_document("clusters", clusters, frame)
    other_p = checked_proxies(proxies, frame)
    p = np.mean([frame.highest(), *other_p.values()], axis=0)
    bounds = _best_bounds(frame, p, group_of, by, n_labels, floor) if cuts is None else checked_cuts(cuts)
    names, stratum_of = stratify(frame, p, bounds, group_of, by)
    sizes = np.bincount(stratum_of, minlength=len(names))
    if proxies:
        spreads = expected_spread(np.bincount(stratum_of, p) / sizes)
    else:
        spreads = expected_spreads(frame, stratum_of, len(names))
    counts = allocate(sizes, spreads, n_labels, floor=floor)
    strata = tuple(
        Stratum(name, size, n_sampled, spread)
        for name, size, n_sampled, spread in zip(names, sizes.tolist(), counts.tolist(), spreads.tolist(), strict=True)
    )
    rounds = (tuple(counts.tolist()),)
    sample, round_of = draw(frame, stratum_of, rounds, seed)
    stories = None if story_of is None else np.unique(story_of.astype(str), return_inverse=True)[1].astype(np.int64)
    drawn = sample, round_of, bounds, by, seed, floor
    return AuditPlan(frame, strata, stratum_of, rounds, *drawn, other_p, stories)


def _by_document(name: str, values: Sequence[Any] | None, frame: AuditFrame) -> Names | None:
    """Return the values of documents as an array, or raise unless every document has one."""
    if values is not None and len(values) != len(frame):
        raise ParameterError(
            f"must have one value for each of {len(frame)} documents, got {len(values)}", parameter=name
        )
    return None if values is None else np.array(list(values), dtype=object)


def checked_proxies(proxies: Mapping[str, npt.ArrayLike] | None, frame: AuditFrame) -> dict[str, Floats]:
    """Return probabilities of other models as arrays, or raise unless every document has one in [0, 1]."""
    checked: dict[str, Floats] = {}
    for name, values in (proxies or {}).items():
        p = _checks.floats("proxies", values)
        if len(p) != len(frame):
            rule = f"must have one value for each of {len(frame)} documents"
            raise ParameterError(f"{rule}, got {len(p)} of {name}", parameter="proxies")
        wrong = np.flatnonzero(~((p >= 0.0) & (p <= 1.0)))
        if wrong.size:
            rule = f"{name} must lie in [0, 1] for every document"
            doc_id = frame.doc_ids[wrong[0]]
            raise ParameterError(f"{rule}, got {p[wrong[0]]:g} for {doc_id!r}", parameter="proxies")
        checked[name] = p
    return checked


def _best_bounds(
    frame: AuditFrame, p: Floats, groups: Names | None, by: str | None, n_labels: int, floor: int
) -> tuple[float, ...]:
    """The best bounds of P: two if the floors leave half of the labels, else one, or none if it has no room."""
    for n_bounds, share in ((_BOUNDS, 0.5), (1, 1.0)):
        bounds = best_cuts(p, n_bounds)
        _, stratum_of = stratify(frame, p, bounds, groups, by)
        if np.minimum(np.bincount(stratum_of), floor).sum() <= share * n_labels:
            return bounds
    return ()


def extend_plan(plan: AuditPlan, n_more: int, *, learned: Sequence[Floats] | None = None) -> AuditPlan:
    """Add a round of documents to an earlier plan: together they are one stratified random sample.

    The new labels are divided by the same expected variances as before and do not depend on the labels of earlier
    rounds, so that in each stratum the sample stays a simple random one.

    Parameters
    ----------
    plan
        The plan.
    n_more
        Documents of the new round.
    learned
        Of each target P that a reader says yes, (n_documents,), learned from the labels so far: the new labels then go
        where labels are expected to differ most from it. Numbers of labels then depend on earlier labels.

    Raises
    ------
    ParameterError
        If `n_more` is below 1, or above the number of documents left.
    """
    n_more = _checks.whole("n_more", n_more, 1)
    n_left = len(plan.frame) - len(plan.sample)
    if n_more > n_left:
        raise ParameterError(
            f"must be at most the number of documents left, {n_left:,}, got {n_more:,}", parameter="n_more"
        )
    sizes = [each.n_documents for each in plan.strata]
    spreads = [each.spread for each in plan.strata] if learned is None else _learned_spreads(plan, learned)
    counts = allocate(sizes, spreads, len(plan.sample) + n_more, floor=plan.floor, taken=plan.rounds[-1])
    rounds = (*plan.rounds, tuple(counts.tolist()))
    strata = tuple(dataclasses.replace(each, n_sampled=n) for each, n in zip(plan.strata, counts.tolist(), strict=True))
    sample, round_of = draw(plan.frame, plan.stratum_of, rounds, plan.seed)
    return dataclasses.replace(plan, strata=strata, rounds=rounds, sample=sample, round_of=round_of)


def _learned_spreads(plan: AuditPlan, learned: Sequence[Floats]) -> list[float]:
    """Expected standard deviation of label less learned P in each stratum; several targets add their variances."""
    n = np.array([each.n_documents for each in plan.strata])
    variances = [np.bincount(plan.stratum_of, expected_spread(p) ** 2, minlength=len(n)) / n for p in learned]
    return list(np.sqrt(np.sum(variances, axis=0)))


def draw(frame: AuditFrame, stratum_of: Ints, rounds: Sequence[Sequence[int]], seed: int) -> tuple[Ints, Ints]:
    """Documents of the sample and their rounds: of each stratum those with the smallest keys.

    A document's key is its 64-bit digest with the seed, so that the order is random, does not depend on that of the
    documents, and the sample of the first rounds stays when another is added.
    """
    keys: Words = np.array([document_key(seed, doc_id) for doc_id in frame.doc_ids], np.uint64)
    order = np.lexsort((keys, stratum_of))
    starts = np.searchsorted(stratum_of[order], np.arange(len(rounds[0])))
    sampled, numbers = [], []
    before = [0] * len(rounds[0])
    for number, counts in enumerate(rounds, start=1):
        rows = np.concatenate([order[s + b : s + c] for s, b, c in zip(starts, before, counts, strict=True)])
        sampled.append(rows[np.argsort(_mixed(keys[rows]), kind="stable")])  # strata are mixed
        numbers.append(np.full(len(rows), number, np.int64))
        before = list(counts)
    return np.concatenate(sampled).astype(np.int64), np.concatenate(numbers)


def _mixed(keys: Words) -> Words:
    """Keys in another random order: the smallest keys of a large stratum are smaller than those of a small one."""
    with np.errstate(over="ignore"):
        mixed: Words = (keys ^ (keys >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))
