"""Coverage and width of the intervals of years, from the labels of each year."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from audit_corpora import LEVEL, Bools, Floats, Ints, framed, probabilities

from events.audit import estimate_total, plan_audit
from events.audit._estimates import count_rows
from events.audit._plan import AuditPlan
from events.audit._sheets import SheetLabels
from events.audit._totals import DEFAULT_METHOD

YEARS, PER_YEAR = 8, 500
LABELS = (100, 200, 500)
MODELS = ("good", "excellent")
SHARE = 0.1  # of positive documents, which the model expects too
_RISING = tuple(np.linspace(0.05, 0.15, YEARS))


@dataclass(frozen=True, slots=True)
class Scenario:
    """How years differ: share of positives in each, what the model expects, and whether it misses a third later."""

    shares: tuple[float, ...]
    expected: tuple[float, ...]
    is_worse_later: bool


_SAME = (SHARE,) * YEARS
SCENARIOS = {
    "years alike": Scenario(_SAME, _SAME, is_worse_later=False),
    "share rises, P follows": Scenario(_RISING, _RISING, is_worse_later=False),
    "share rises, P does not": Scenario(_RISING, _SAME, is_worse_later=False),
    "a third missed in later years": Scenario(_SAME, _SAME, is_worse_later=True),
}


def _documents(scenario: Scenario, quality: str, rng: np.random.Generator) -> tuple[Floats, Bools]:
    """P and truth of the documents, year after year."""
    p, truth = [], []
    for year, (share, expected) in enumerate(zip(scenario.shares, scenario.expected, strict=True)):
        own = np.arange(PER_YEAR) < round(share * PER_YEAR)
        is_worse = scenario.is_worse_later and year >= YEARS // 2
        p.append(probabilities(own, f"{quality}, misses a third" if is_worse else quality, expected, rng))
        truth.append(own)
    return np.concatenate(p), np.concatenate(truth)


def _samples(plan: AuditPlan, n_draws: int, rng: np.random.Generator) -> Iterator[AuditPlan]:
    """The plan with other samples of its strata."""
    members = [np.flatnonzero(plan.stratum_of == h) for h in range(len(plan.strata))]
    for _ in range(n_draws):
        rows = [
            rng.choice(each, stratum.n_sampled, replace=False)
            for each, stratum in zip(members, plan.strata, strict=True)
        ]
        yield replace(plan, sample=np.concatenate(rows))


def _year_limits(plan: AuditPlan, truth: Bools) -> Ints:
    """Lower and upper limit of each year: (YEARS, 2)."""
    labels = SheetLabels(truth[plan.sample].astype(np.int8)[:, None], {}, 1, {})
    rows = count_rows(plan, labels, 0, LEVEL, DEFAULT_METHOD)
    return np.array([(each["lower"], each["upper"]) for each in rows[1:]], np.int64)


def _alone(truth: Bools, n_labels: int, n_draws: int, rng: np.random.Generator) -> float:
    """Mean width of the exact interval of a year, from its labels in a simple random sample without a model."""
    widths = []
    for _ in range(n_draws):
        sample = rng.choice(len(truth), n_labels, replace=False)
        n = np.bincount(sample // PER_YEAR, minlength=YEARS)
        k = np.bincount(sample[truth[sample]] // PER_YEAR, minlength=YEARS)
        widths += [
            estimate_total([k[y]], [n[y]], [PER_YEAR], method="exact").width if n[y] else PER_YEAR for y in range(YEARS)
        ]
    return float(np.mean(widths))


def periods_part(seed: int, n_draws: int) -> pd.DataFrame:
    """Coverage of the true counts of years, over years and samples; the lowest of a year; and mean width."""
    rows = []
    dates = np.repeat(np.datetime64("2000", "Y") + np.arange(YEARS), PER_YEAR).astype("datetime64[D]")
    for (name, scenario), quality, n_labels in itertools.product(SCENARIOS.items(), MODELS, LABELS):
        rng = np.random.default_rng([seed, list(SCENARIOS).index(name), MODELS.index(quality), n_labels])
        p, truth = _documents(scenario, quality, rng)
        true_counts = truth.reshape(YEARS, PER_YEAR).sum(axis=1)
        alone = _alone(truth, n_labels, n_draws, rng)
        for by in (None, "year"):
            if by and n_labels < 5 * 3 * YEARS:
                continue  # fewer than the floors of the strata need
            plan = plan_audit(framed(p, dates), n_labels, by=by)
            limits = [_year_limits(drawn, truth) for drawn in _samples(plan, n_draws, rng)]
            low, high = np.array(limits).transpose(2, 0, 1)
            covered = (low <= true_counts) & (true_counts <= high)
            figures = {"coverage": covered.mean(), "lowest": covered.mean(axis=0).min()}
            about = {"years": name, "P": quality, "n_labels": n_labels, "by": by or ""}
            rows.append({**about, **figures, "ratio": (high - low).mean() / alone})
    return pd.DataFrame(rows)
