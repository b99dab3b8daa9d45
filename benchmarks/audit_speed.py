"""Processor time of planning a million documents and estimating 200 strata-periods: python benchmarks/audit_speed.py.

The smallest of three runs. 200 strata-periods are four strata in 50 quarters, of 20,000 documents with 500 labels.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from audit_corpora import scored

from events.audit import AuditFrame, estimate_counts, estimate_total, plan_audit
from events.audit._learning import learn
from events.audit._plan import AuditPlan
from events.audit._sheets import SheetLabels
from events.audit._totals import METHODS

RUNS = 3


def seconds(work: Callable[[], object]) -> float:
    """The smallest processor time of some runs."""
    times = []
    for _ in range(RUNS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def quarters(n: int, n_quarters: int) -> AuditFrame:
    """Documents of a good model, spread over quarters."""
    p, _ = scored(n, 0.05, "good", np.random.default_rng(0))
    months = np.datetime64("2000-01") + 3 * (np.arange(n) % n_quarters)
    return AuditFrame.from_arrays(list(map(str, range(n))), months.astype("datetime64[D]"), p)


def labelled(plan: AuditPlan) -> SheetLabels:
    """Labels of the sample: positive with probability P."""
    positive = np.random.default_rng(0).random(len(plan.sample)) < plan.frame.probability(0)[plan.sample]
    return SheetLabels(positive.astype(np.int8)[:, None], {}, 1, {})


def main() -> None:
    """Print one row for each kind of work."""
    million = quarters(1_000_000, 50)
    print(f"{'plan 1,000,000 documents':<44}{seconds(lambda: plan_audit(million)):6.2f} s")
    print(f"{'the same by year':<44}{seconds(lambda: plan_audit(million, 500, by='year')):6.2f} s")
    plan = plan_audit(quarters(20_000, 50), 500)
    labels = labelled(plan)
    for method in METHODS:
        estimate_total([1, 4], [10, 5], [50, 10], method=method)  # compiles
        taken = seconds(lambda chosen=method: estimate_counts(plan, labels, method=chosen))  # type: ignore[misc]
        print(f"{f'estimate {len(plan.strata)} strata in 50 quarters, {method}':<44}{taken:6.2f} s")
    plan = plan_audit(quarters(100_000, 50))
    columns = {f"feature {i}": values for i, values in enumerate(np.random.default_rng(0).random((24, 100_000)))}
    taken = seconds(lambda: learn(plan, labelled(plan), columns=columns))
    print(f"{'learn, 100,000 documents, 24 features':<44}{taken:6.2f} s")


if __name__ == "__main__":
    main()
