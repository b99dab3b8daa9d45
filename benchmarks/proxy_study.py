"""Several proxies in one audit: python benchmarks/proxy_study.py --run FOLDER [--muc FILE].

Articles about the police (FOLDER: their events, as `learning_study.py` counts them) and reports of MUC (FILE: a scored
file of `muc_events.py`) have labels. The proxies beside P are a coder who is mostly right and a weak score, simulated
from the labels. For 200 samples of labels, coverage and mean width of the intervals of totals are compared with the
estimator of glide-py 0.11 (EmertonData) for several proxies (MultiPPIMeanEstimator; Shan et al. 2025), with normal
intervals, which is written here by its published formula.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from audit_corpora import LEVEL, Bools, Floats, framed
from learning_study import EVENTS
from muc_events import DATA as MUC, LEXICON, true_documents
from police_events import DATA as POLICE
from scipy.stats import norm
from studies import markdown

from corefsample import read_documents
from events import EventCounter, load_lexicon, load_rules
from events.audit import estimate_counts, plan_audit
from events.audit._audit_frame import read_run_documents
from events.audit._sheets import SheetLabels

Limits = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Case:
    """Truth and P of the documents of a corpus, for one event or actor."""

    name: str
    truth: Bools
    p: Floats

    def proxies(self) -> dict[str, Floats]:
        """A coder with sensitivity .8 and specificity .97, and a score that is a little higher for yes."""
        rng = np.random.default_rng(5)
        coder = np.where(self.truth, rng.random(len(self.p)) < 0.8, rng.random(len(self.p)) < 0.03)
        weak = np.clip(0.3 * self.truth + rng.normal(0.3, 0.2, len(self.p)), 0.0, 1.0)
        return {"coder": coder.astype(np.float64), "weak": weak}


def police_cases(run: Path) -> Iterator[Case]:
    labels = pd.read_csv(POLICE / "labels.csv", dtype={"doc_id": str}).set_index("doc_id")
    frame = read_run_documents(run, [f"{event}: POLICE" for event in EVENTS])
    for target, event in enumerate(EVENTS):
        yield Case(f"police, {event}", labels.loc[frame.doc_ids, event].to_numpy(np.bool_), frame.probability(target))


def muc_case(scored: Path, actor: str = "FMLN") -> Case:
    lexicon = load_lexicon(str(LEXICON))
    counter = EventCounter([load_rules("violence")], lexicon, n_samples=100, recalibration=None, scheme="clearnlp")
    counter.update(read_documents(scored))
    evidence = counter.evidence()
    doc_ids = [document.doc_id for document in read_documents(scored)]
    p = evidence[evidence["actor"] == actor].set_index("doc_id")["probability"].reindex(doc_ids, fill_value=0.0)
    true = true_documents(MUC / "keys.csv.gz", lexicon)[actor]
    return Case(f"MUC, {actor}", np.array([doc_id in true for doc_id in doc_ids]), p.to_numpy(np.float64))


def multi_ppi(y: Floats, labelled: Floats, others: Floats) -> Limits:
    """Normal interval of a mean by PPI++ with several proxies (n, n_proxies), tuned as glide-py's multi_ppi_core."""
    n, n_others = len(y), len(others)
    spread = np.atleast_2d(np.cov(np.vstack([labelled, others]), rowvar=False))
    common = (labelled - labelled.mean(axis=0)).T @ (y - y.mean()) / (n - 1)
    weights = n_others / (n + n_others) * np.linalg.solve(spread, common)
    mean = others.mean(axis=0) @ weights + y.mean() - labelled.mean(axis=0) @ weights
    variance = np.var(y - labelled @ weights, ddof=1) / n + np.var(others @ weights, ddof=1) / n_others
    reach = norm.ppf(0.5 + 0.5 * LEVEL) * np.sqrt(variance)
    return mean - reach, mean + reach


def limits_of(case: Case, n_labels: int, seed: int) -> dict[str, Limits]:
    """Limits of the total by each method, from one sample of labels; the peer draws without strata."""
    frame = framed(case.p, np.full(len(case.p), "2000-01-01", "datetime64[D]"))
    proxies = case.proxies()
    limits: dict[str, Limits] = {}
    for name, used in {"design, P": {}, "P and proxies": proxies}.items():
        plan = plan_audit(frame, n_labels, seed=seed, proxies=used)
        labels = SheetLabels(case.truth[plan.sample].astype(np.int8)[:, None], {}, 1, {})
        estimate = estimate_counts(plan, labels)
        by_design = "design, strata by all" if used else name
        for label, table in ((by_design, estimate.totals), (name, estimate.learned)):
            for lower, upper in table[["lower", "upper"]].itertuples(index=False, name=None):
                limits[label] = lower, upper
    chosen = np.random.default_rng([7, seed]).choice(len(case.p), n_labels, replace=False)
    x, y = np.column_stack([case.p, *proxies.values()]), case.truth.astype(np.float64)
    low, high = multi_ppi(y[chosen], x[chosen], np.delete(x, chosen, axis=0))
    limits["glide, several proxies"] = low * len(y), high * len(y)
    return limits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, required=True, help="a run of the articles about the police")
    parser.add_argument("--muc", type=Path, help="a scored file of reports of MUC")
    parser.add_argument("--labels", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    cases = [*police_cases(options.run), *([] if options.muc is None else [muc_case(options.muc)])]
    rows = []
    for case in cases:
        for n_labels in options.labels:
            for seed in range(options.draws):
                total = case.truth.sum()
                rows += [
                    (f"{case.name} ({total} of {len(case.p)})", n_labels, method, low <= total <= high, high - low)
                    for method, (low, high) in limits_of(case, n_labels, seed).items()
                ]
    table = pd.DataFrame(rows, columns=["corpus", "labels", "method", "coverage", "width"])
    means = table.groupby(["corpus", "labels", "method"], sort=False)[["coverage", "width"]].mean().reset_index()
    means["relative"] = means["width"] / means.groupby(["corpus", "labels"])["width"].transform("first")
    markdown(f"Totals, {options.draws} samples", means)


if __name__ == "__main__":
    main()
