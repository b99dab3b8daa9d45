"""What labels teach: python benchmarks/learning_study.py [--run FOLDER | --scored FILE] [--quick] [--only PART].

Articles about the police that have labels (`benchmarks/police_events.py`), and simulated corpora with known truth.
Many samples of labels are drawn from the known ones by the plan's defaults; each teaches P. Printed are coverage and
width of totals, against the exact interval of as many labels of a simple random sample; of weeks, against that of the
week's own labels; and average precision, log score and calibration error of the documents without a label.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from audit_corpora import LEVEL, Bools, Floats, Ints, framed, scored
from audit_study import ppi_interval
from police_events import DATA, average_precision
from studies import markdown

from corefsample.calibration import calibration_error
from events.audit import AuditFrame, plan_audit
from events.audit._audit_frame import read_run_documents
from events.audit._learning import (
    LEAST_LABELS,
    PROBABILITY,
    LearnedTarget,
    RunFeatures,
    learn,
    log_losses,
    target_features,
)
from events.audit._model_totals import difference_total
from events.audit._plan import AuditPlan
from events.audit._sheets import SheetLabels
from events.audit._totals import total_interval
from events.rule_error._model import CLASSES, RuleErrorModel, read_reference

EVENTS = ("arrest", "kill", "force")
N_DRAWS = 200  # of the coefficients
YEARS, PER_YEAR = 8, 250
OTHER_RULES = read_reference().query("corpus != 'police'")
WITHOUT_P = ("yes where P is 0", "labels there", "yes among these labels")
REFERENCE = RuleErrorModel(OTHER_RULES)


@dataclass(frozen=True, slots=True)
class Case:
    """One event of a corpus.

    Attributes
    ----------
    corpus, event
        Names.
    frame
        All documents, with P of the event alone.
    columns
        What is known of them beside P, by name.
    truth
        Whether a reader says yes.
    """

    corpus: str
    event: str
    frame: AuditFrame
    columns: dict[str, Floats]
    truth: Bools

    def labels(self, plan: AuditPlan) -> SheetLabels:
        """The true labels of a plan's sample."""
        own = self.truth[plan.sample].astype(np.int8)[:, None]
        return SheetLabels(own, {}, len(plan.rounds), {})

    def learning(self, plan: AuditPlan) -> LearnedTarget:
        """Learning from the labels of a plan."""
        settings = {"level": LEVEL, "n_draws": N_DRAWS, "seed": plan.seed}
        (target,) = learn(plan, self.labels(plan), columns=self.columns, reference=REFERENCE, **settings).targets
        return target


# --- the labelled articles ---------------------------------------------------------------------------------


def police_cases(run: Path, *, half: bool) -> list[Case]:
    """The three events of the labelled articles, of all or of a half of them."""
    rows = pd.read_csv(DATA / "labels.csv", dtype={"doc_id": str}).set_index("doc_id")
    frame = read_run_documents(run, [f"{event}: POLICE" for event in EVENTS])
    known = RunFeatures(run, frame)
    chosen = np.ones(len(frame), np.bool_)
    if half:
        chosen = np.random.default_rng(1).permutation(len(frame)) % 2 == 0
    cases = []
    for target, event in enumerate(EVENTS):
        truth = rows.loc[frame.doc_ids, event].to_numpy(np.bool_)[chosen]
        features = target_features(frame, target, known)
        own = {name: values[chosen] for name, values in features.items() if name not in PROBABILITY}
        p = frame.probability(target)[chosen]
        near = np.array([*CLASSES, CLASSES[-1]])[frame.divisions(target)[chosen]].tolist()
        doc_ids, dates = frame.doc_ids[chosen].tolist(), frame.dates[chosen]
        one = AuditFrame.from_arrays(doc_ids, dates, p, event=event, period="week", cooccurrence=near)
        cases.append(Case("half of the articles" if half else "all articles", event, one, own, truth))
    return cases


def counted_run(scored_file: Path | None, folder: Path) -> Path:
    """A run of the articles, which are scored with ten parses where there is no scored file."""
    source = scored_file or folder / "scored.parquet"
    if scored_file is None:
        command = ["corefsample", "score", str(DATA / "news.csv.gz"), "--out", str(source)]
        subprocess.run([*command, "--pipeline", "en_core_web_sm", "--parses", "10"], check=True)
    rules = [part for name in (*EVENTS, "police_action") for part in ("--rule", name)]
    options = ["--lexicon", "police", "--period", "week", "--samples", "200", "--recalibration", "none"]
    command = ["corefsample", "events", str(source), *rules, *options, "--out", str(folder / "run"), "--no-pictures"]
    subprocess.run(command, check=True)
    return folder / "run"


# --- simulated corpora -------------------------------------------------------------------------------------

# How P and the share of yes change over eight years: factors of the odds of yes in the last year, given all features.
DRIFTS = {"alike": 1.0, "odds of yes double, P does not know": 2.0}


def simulated_cases(seed: int) -> list[Case]:
    """Corpora of 2,000 documents in eight years with P of several qualities, and three features that know more."""
    cases = []
    for (drift, factor), share, quality in itertools.product(
        DRIFTS.items(), (0.03, 0.15), ("weak", "good", "good, misses a third")
    ):
        rng = np.random.default_rng([seed, int(1000 * share), len(cases)])
        n = YEARS * PER_YEAR
        p, truth = scored(n, share, quality, rng)
        dates = np.repeat(np.datetime64("2000", "Y") + np.arange(YEARS), PER_YEAR).astype("datetime64[D]")
        year = np.repeat(np.arange(YEARS), PER_YEAR)
        if factor > 1.0:  # some documents of late years turn to yes, without a trace in P or in the features
            added = rng.random(n) < share * (factor - 1.0) * year / (YEARS - 1)
            truth = truth | added
        seen = rng.random(n) < np.where(truth, 0.7, 0.1)
        noise = rng.normal(size=(n, 6))
        frame = framed(p, dates)
        columns = {"seen": seen.astype(np.float64), "score": rng.normal(size=n) + truth}
        columns |= {f"noise {i}": noise[:, i] for i in range(6)}
        cases.append(Case(drift, f"{quality}, {share:g}", frame, columns, truth))
    return cases


# --- samples of labels -------------------------------------------------------------------------------------


def alone(truth: Bools, group: Ints, n_labels: int, rng: np.random.Generator) -> tuple[list[Ints], Ints]:
    """Exact limits of a simple random sample without P: of the total, and of each group of documents."""
    rows = rng.choice(len(truth), n_labels, replace=False)
    total = _exact(int(truth[rows].sum()), n_labels, len(truth))
    limits = []
    for g in range(int(group.max()) + 1):
        own = rows[group[rows] == g]
        limits.append(_exact(int(truth[own].sum()), len(own), int((group == g).sum())))
    return [total], np.array(limits)


def _exact(k: int, n: int, size: int) -> Ints:
    if not n:
        return np.array([0, size])
    return np.array(total_interval(np.array([k]), np.array([n]), np.array([size]), LEVEL, "exact")[1:])


def stratified(plan: AuditPlan, truth: Bools) -> Ints:
    """Limits of the default method."""
    strata = plan.stratum_of[plan.sample]
    k = np.bincount(strata, truth[plan.sample], minlength=len(plan.strata)).astype(np.int64)
    n, size = zip(*((each.n_sampled, each.n_documents) for each in plan.strata), strict=True)
    return np.array(total_interval(k, np.array(n), np.array(size), LEVEL, "mid-p")[1:])


def difference(plan: AuditPlan, truth: Bools, p: Floats) -> Ints:
    """Limits of the difference estimator."""
    y = truth[plan.sample].astype(np.float64)
    return np.array(difference_total(plan.stratum_of, plan.sample, y, p, LEVEL)[1:])


def total_rows(case: Case, n_labels: int, n_draws: int) -> Iterator[dict[str, object]]:
    """Limits of totals and periods by each method, one row for each sample and quantity."""
    truth, p = case.truth, case.frame.probability(0)
    group = case.frame.period_numbers()
    group = group - group.min()
    counts = np.bincount(group, truth).astype(np.int64)
    n_groups = len(counts)
    for draw in range(n_draws):
        rng = np.random.default_rng([7, draw])
        plan = plan_audit(case.frame, n_labels, seed=draw)
        if truth[plan.sample].sum() < LEAST_LABELS:
            continue  # `learn` leaves the event out
        (total,), periods = alone(truth, group, n_labels, rng)
        learning = case.learning(plan)
        learned = learning.counts
        simple = rng.choice(len(truth), n_labels, replace=False)
        ppi = ppi_interval(truth[simple].astype(np.float64), p[simple], p, tuned=True)
        clipped = np.clip(p, 0.005, 0.995)
        limits = {
            "labels alone": total,
            "default": stratified(plan, truth),
            "PPI++, P of the run": np.array(ppi) * len(truth),
            "difference, P of the run": difference(plan, truth, clipped),
            "difference, learned P": difference(plan, truth, learning.documents["cross_fitted"].to_numpy()),
            "learned counts": learned.loc[0, ["lower", "upper"]].to_numpy(np.int64),
        }
        about = {"corpus": case.corpus, "event": case.event, "n_labels": n_labels, "draw": draw}
        zero = p == 0.0
        sampled = plan.sample[zero[plan.sample]]
        about |= dict(zip(WITHOUT_P, (int(truth[zero].sum()), len(sampled), int(truth[sampled].sum())), strict=True))
        for method, (lower, upper) in limits.items():
            covered = bool(lower <= truth.sum() <= upper)
            yield {**about, "of": "total", "method": method, "covered": covered, "width": upper - lower}
        own, run_counts = learned[["lower", "upper"]][1:], learned[["run_lower", "run_upper"]][1:]
        of_periods = (("own labels", periods), ("learned counts", own), ("P of the run", run_counts))
        for method, found in of_periods:
            low, high = np.array(found).T
            for g in range(n_groups):
                covered = bool(low[g] <= counts[g] <= high[g])
                row = {**about, "of": "period", "method": method, "group": g, "covered": covered}
                yield {**row, "width": high[g] - low[g], "chosen": learning.model}


def coverage_table(rows: pd.DataFrame, of: str, baseline: str) -> pd.DataFrame:
    """Coverage and width of every method, and width relative to a baseline; of periods the lowest coverage of one."""
    own = rows[rows["of"] == of]
    keys = ["corpus", "event", "n_labels"]
    widths = own[own["method"] == baseline].groupby(keys)["width"].mean()
    found = own.groupby([*keys, "method"], sort=False)
    table = pd.DataFrame({"coverage": found["covered"].mean(), "width": found["width"].mean()})
    table["samples"] = found["draw"].nunique()
    if of == "period":
        by_group = own.groupby([*keys, "method", "group"], sort=False)["covered"].mean()
        table["lowest"] = by_group.groupby([*keys, "method"], sort=False).min()
    base = widths.reindex(pd.MultiIndex.from_frame(table.reset_index()[keys])).to_numpy()
    return table.assign(**{f"width / {baseline}": table["width"].to_numpy() / base}).reset_index()


def summarised(table: pd.DataFrame) -> pd.DataFrame:
    """Of each corpus, method and number of labels: mean and lowest coverage over events, and median relative width."""
    ratio = table.columns[-1]
    found = table.groupby(["corpus", "n_labels", "method"], sort=False)
    columns = {
        "events": found.size(),
        "samples": found["samples"].mean(),
        "mean coverage": found["coverage"].mean(),
        "lowest": found["coverage"].min(),
    }
    if "lowest" in table:
        columns["lowest of a period"] = found["lowest"].min()
    return pd.DataFrame({**columns, f"median {ratio}": found[ratio].median()}).reset_index()


# --- quality of learned P ----------------------------------------------------------------------------------


def quality_rows(case: Case, n_labels: int, n_draws: int) -> Iterator[dict[str, object]]:
    """Average precision, log score and calibration error of the documents without a label."""
    truth, p = case.truth.astype(np.float64), case.frame.probability(0)
    for draw in range(n_draws):
        plan = plan_audit(case.frame, n_labels, seed=draw)
        learning = case.learning(plan)
        models = {"P of the run": np.clip(p, 0.005, 0.995), "learned": learning.documents["cross_fitted"].to_numpy()}
        without = np.ones(len(truth), np.bool_)
        without[plan.sample] = False
        y = truth[without]
        for model, own in models.items():
            q = own[without]
            raw = p[without] if model == "P of the run" else q
            yield {
                "corpus": case.corpus,
                "event": case.event,
                "n_labels": n_labels,
                "model": model,
                "average precision": average_precision(raw, y),
                "log score": float(log_losses(y, q).mean()),
                "Brier score": float(((q - y) ** 2).mean()),
                "calibration error": float(calibration_error(q, y, interval=None).estimate),
            }


# --- tables ------------------------------------------------------------------------------------------------


def main() -> None:
    """Print the tables of the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="a run that has counted the articles, instead of counting them")
    parser.add_argument("--scored", type=Path, help="a scored file of the articles, instead of scoring them")
    parser.add_argument("--only", choices=["totals", "quality"], help="one part alone")
    parser.add_argument("--corpora", choices=["police", "half", "simulated"], help="one kind of corpora alone")
    parser.add_argument("--labels", type=int, nargs="+", default=[200], help="numbers of labels of the part totals")
    parser.add_argument("--draws", type=int, default=200, help="samples of labels of each case")
    parser.add_argument("--quick", action="store_true", help="ten samples")
    options = parser.parse_args()
    n_draws = 10 if options.quick else options.draws
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        cases: list[Case] = []
        if options.corpora != "simulated":
            run = options.run or counted_run(options.scored, Path(folder))
            cases += police_cases(run, half=False) if options.corpora != "half" else []
            cases += police_cases(run, half=True) if options.corpora != "police" else []
        if options.corpora in (None, "simulated"):
            cases += simulated_cases(0)
        parts = [options.only] if options.only else ["totals", "quality"]
        for part in parts:
            _print_part(part, cases, n_draws, options.labels)
    print(f"{time.process_time() - started:.0f} seconds of processor time")


def _print_part(part: str, cases: Sequence[Case], n_draws: int, of_totals: Sequence[int]) -> None:
    labels = {"totals": of_totals, "quality": (80, 200)}[part]
    rows: list[dict[str, object]] = []
    for case, n_labels in itertools.product(cases, labels):
        if part == "totals":
            rows += total_rows(case, n_labels, n_draws)
        else:
            rows += quality_rows(case, n_labels, min(max(n_draws // 4, 5) if case.corpus in DRIFTS else n_draws, 40))
    table = pd.DataFrame(rows)
    if part == "quality":
        means = table.groupby(["corpus", "event", "n_labels", "model"], sort=False).mean().reset_index()
        markdown("Quality of P of documents without a label", means)
        return
    _print_coverage(f"{part}: totals, {n_draws} samples", coverage_table(table, "total", "labels alone"))
    if "period" in set(table["of"]):
        _print_coverage(f"{part}: periods, {n_draws} samples", coverage_table(table, "period", "own labels"))
        learned = table[(table["of"] == "total") & (table["method"] == "learned counts")]
        samples = learned.groupby(["corpus", "event", "n_labels", *WITHOUT_P])["covered"]
        by_misses = samples.agg(samples="size", coverage="mean").reset_index()
        markdown("Totals of learned counts by the misses among the labels", by_misses)
    if "chosen" in table:
        chosen = table.dropna(subset=["chosen"]).groupby(["corpus", "event"], sort=False)["chosen"]
        markdown("Models chosen, shares", chosen.value_counts(normalize=True).rename("share").reset_index())


def _print_coverage(title: str, table: pd.DataFrame) -> None:
    markdown(title, table)
    markdown(f"{title}: over events", summarised(table))


if __name__ == "__main__":
    main()
