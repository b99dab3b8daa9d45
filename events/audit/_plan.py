"""Which documents to label: a stratified random sample without replacement, drawn from all documents."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, Ints, Words
from corefsample._html import HtmlTable
from corefsample._lazy import pd
from corefsample._random import document_key
from corefsample.errors import ParameterError
from events.audit._documents import AuditFrame, Names, require_distinct
from events.audit._strata import (
    Stratum,
    allocate,
    best_cuts,
    checked_cuts,
    expected_spread,
    expected_spreads,
    stratify,
)

FLOOR = 5
_BOUNDS = 2  # between ranges of P
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
) -> AuditPlan:
    """Draw a stratified random sample of documents to label.

    Strata are ranges of the highest P of any target: 0, and those between the bounds `cuts`; crossed with groups of the
    user's and with periods, if there are any. Labels go where they are expected to narrow the interval most, and every
    stratum gets some. P only guides the sample: estimates do not assume that it is right.

    Parameters
    ----------
    frame
        All documents, from `read_run_documents`, `read_scores` or `AuditFrame.from_arrays`.
    n_labels
        Documents to label, at least one per stratum.
    cuts
        Rising bounds of the ranges of P, in (0, 1]. None: two of them by `best_cuts`, or one where the floors would
        take more than half of the labels.
    groups
        One value for each document: a column of the user's, or whether a keyword expression matches.
    by
        Length of the periods of which each gets its own strata, such as "year"; None: none.
    floor
        The fewest labels of a stratum, at least 1; a smaller stratum is labelled whole.
    seed
        In [0, 2**64). It and the doc_ids fix the sample, whatever the order of the documents.

    Raises
    ------
    ParameterError
        If a parameter breaks its rule, or the labels are too few for the floors.
    InputError
        If a label could not tell the targets apart.
    """
    require_distinct(frame)
    n_labels, floor = _checks.whole("n_labels", n_labels, 1), _checks.whole("floor", floor, 1)
    seed = _checks.seed(seed)
    values = None if groups is None else np.array(list(groups), dtype=object)
    if values is not None and len(values) != len(frame):
        raise ParameterError(
            f"must have one value for each of {len(frame)} documents, got {len(values)}", parameter="groups"
        )
    bounds = _own_cuts(frame, values, by, n_labels, floor) if cuts is None else checked_cuts(cuts)
    names, stratum_of = stratify(frame, bounds, values, by)
    sizes = np.bincount(stratum_of, minlength=len(names))
    spreads = expected_spreads(frame, stratum_of, len(names))
    counts = allocate(sizes, spreads, n_labels, floor=floor)
    strata = tuple(
        Stratum(name, size, n_sampled, spread)
        for name, size, n_sampled, spread in zip(names, sizes.tolist(), counts.tolist(), spreads.tolist(), strict=True)
    )
    rounds = (tuple(counts.tolist()),)
    sample, round_of = draw(frame, stratum_of, rounds, seed)
    return AuditPlan(frame, strata, stratum_of, rounds, sample, round_of, bounds, by, seed, floor)


def _own_cuts(frame: AuditFrame, groups: Names | None, by: str | None, n_labels: int, floor: int) -> tuple[float, ...]:
    """The best bounds of P: two if the floors leave half of the labels, else one, or none if it has no room."""
    highest = frame.highest()
    for n_bounds, share in ((_BOUNDS, 0.5), (1, 1.0)):
        bounds = best_cuts(highest, n_bounds)
        _, stratum_of = stratify(frame, bounds, groups, by)
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
