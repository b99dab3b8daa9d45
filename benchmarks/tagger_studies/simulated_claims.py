"""Two claims of the paper about bands of event counts, tried on simulated news whose truth is known.

Footnote 11: 10 samples give results like those of 100. Section 6.2: an overconfident scorer gives intervals that are
too narrow.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from corefsample.plots import COLOURS, MARKERS
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.counting import count_pmf
from events.counting._poisson_binomial import quantile_interval
from events.counting._truth import TrueEvents
from tagger_studies.results import Output, ends_of, shown

N_DOCUMENTS, N_SAMPLES = 1000, (10, 100, 1000)
TEMPERATURES = {"underconfident": 0.5, "calibrated": 1.0, "overconfident": 2.0}
LEVEL, Z = 0.95, 1.96
PERIOD = "Q"  # quarters, as in the paper


def run(output: Output) -> None:
    """Run the study `simulated-claims`."""
    n_documents = 200 if output.quick else N_DOCUMENTS
    bands = {
        (model, n_samples): read_news(n_documents, temperature, n_samples)
        for model, temperature in TEMPERATURES.items()
        for n_samples in (N_SAMPLES if model == "calibrated" else N_SAMPLES[1:2])
    }
    sample_study(bands, output)
    confidence_study({model: bands[model, 100] for model in TEMPERATURES}, output)
    output.write_claims("simulated-claims")


def read_news(n_documents: int, temperature: float, n_samples: int) -> pd.DataFrame:
    """Bands of every country and quarter, with the true counts."""
    rule, lexicon = load_rules("attack"), load_lexicon()
    counter, truth = EventCounter(rule, lexicon, n_samples=n_samples), TrueEvents(rule, lexicon)
    options = {"event_share": 1.0, "median_mentions": 60, "seed": 7}
    for each in simulate_documents(n_documents, temperature=temperature, **options):
        counter.add(each.document)
        truth.add(each.document)
    true = {(event.doc_id, event.actor) for event in truth.events}
    evidence = counter.evidence()[["doc_id", "date", "actor", "probability"]]
    evidence["true"] = [pair in true for pair in zip(evidence["doc_id"], evidence["actor"], strict=True)]
    evidence["period"] = pd.PeriodIndex(evidence["date"], freq="D").asfreq(PERIOD).astype(str)
    rows = []
    for (country, period), cell in evidence.groupby(["actor", "period"]):
        probs = cell["probability"].to_numpy()
        mean, sd = probs.sum(), np.sqrt((probs * (1.0 - probs)).sum())
        lower, upper = quantile_interval(count_pmf(probs), LEVEL)
        rows.append((country, period, mean, sd, mean - Z * sd, mean + Z * sd, lower, upper, cell["true"].sum()))
    columns = ["actor", "period", "mean", "sd", "normal_lower", "normal_upper", "lower", "upper", "truth"]
    return pd.DataFrame(rows, columns=columns).set_index(["actor", "period"])


# --- 10 samples against 100 --------------------------------------------------------------------------------


def sample_study(bands: dict[tuple[str, int], pd.DataFrame], output: Output) -> None:
    best = bands["calibrated", N_SAMPLES[-1]]
    rows = []
    for n_samples in N_SAMPLES:
        band = bands["calibrated", n_samples]
        both = best.join(band, how="outer", rsuffix="_few").fillna(0.0)
        off = (both["mean_few"] - both["mean"]).to_numpy()
        widths = (both["sd_few"] - both["sd"]).to_numpy()
        covered, ends = coverage(band)
        rows.append(
            {
                "samples": n_samples,
                "counts": len(band),
                "mean sd of a count": float(band["sd"].mean()),
                "RMS change of the mean (against 1,000)": float(np.sqrt(np.mean(off**2))),
                "RMS change of the sd": float(np.sqrt(np.mean(widths**2))),
                "coverage of normal intervals": shown(covered, ends, 3),
                "of quantile intervals": shown(*coverage(band, "quantile"), 3),
            }
        )
    table = pd.DataFrame(rows)
    output.table("simulated-samples", "Bands of 10, 100 and 1,000 samples, calibrated scorer", table, 3)
    shift = table["RMS change of the mean (against 1,000)"] / table["mean sd of a count"]
    here = f"a mean moves by {shift[0]:.0%} of the band's sd with 10 samples, {shift[1]:.0%} with 100"
    output.claim("10 samples give bands like 100", "footnote 11: similar", here, "yes" if shift[0] < 0.5 else "no")
    here = "; ".join(f"{row['samples']}: {row['coverage of normal intervals']}" for row in rows)
    output.claim("and cover the truth as often", "not in the paper", here, same(bands))


def same(bands: dict[tuple[str, int], pd.DataFrame]) -> str:
    """Whether the intervals of the coverage overlap."""
    few, many = (coverage(bands["calibrated", n])[1] for n in (10, 100))
    return "yes" if few[0] <= many[1] and many[0] <= few[1] else "no"


# --- overconfident scorers ---------------------------------------------------------------------------------


def confidence_study(bands: dict[str, pd.DataFrame], output: Output) -> None:
    rows, shares = [], {}
    for model, band in bands.items():
        uncertain = band[band["sd"] > 0.0]
        misses = (uncertain["truth"] - uncertain["mean"]).to_numpy()
        shares[model] = coverage(band)
        ratio = float(np.sqrt(np.mean(misses**2)) / np.sqrt(np.mean(uncertain["sd"] ** 2)))
        draws = resampled(
            uncertain,
            lambda part: np.sqrt(np.mean((part["truth"] - part["mean"]) ** 2)) / np.sqrt(np.mean(part["sd"] ** 2)),
        )
        rows.append(
            {
                "scorer": model,
                "temperature": TEMPERATURES[model],
                "mean sd of a count": float(band["sd"].mean()),
                "RMS error of the mean / RMS sd": shown(ratio, ends_of(draws), 2),
                "coverage of normal intervals": shown(*shares[model], 3),
                "of quantile intervals": shown(*coverage(band, "quantile"), 3),
            }
        )
    output.table("simulated-confidence", "Scorers of other confidence, 100 samples", pd.DataFrame(rows), 3)
    share, ends = shares["overconfident"]
    known = shares["calibrated"]
    here = f"coverage of 95% intervals {shown(share, ends, 3)}; calibrated {shown(*known, 3)}"
    verdict = "yes" if ends[1] < min(LEVEL, known[1][0]) else "not decided"
    output.claim("intervals of an overconfident scorer are too narrow", "section 6.2: expected", here, verdict)
    output.figure("study-simulated", figure_of(shares))


def coverage(band: pd.DataFrame, kind: str = "normal") -> tuple[float, tuple[float, float]]:
    """Share of counts whose interval contains the truth, with an interval by quarter; certain counts are left out."""
    part = band[band["sd"] > 0.0]
    names = ("normal_lower", "normal_upper") if kind == "normal" else ("lower", "upper")
    inside = part["truth"].between(part[names[0]], part[names[1]])
    draws = resampled(part.assign(inside=inside), lambda each: each["inside"].mean())
    return float(inside.mean()), ends_of(draws)


def resampled(part: pd.DataFrame, statistic: object, n_draws: int = 400) -> np.ndarray:
    """A statistic of resamples of quarters, whose documents are not shared."""
    rng = np.random.default_rng(0)
    periods = part.index.get_level_values("period")
    rows = [np.flatnonzero(periods == period) for period in periods.unique()]
    drawn = []
    for _ in range(n_draws):
        chosen = rng.integers(len(rows), size=len(rows))
        drawn.append(statistic(part.iloc[np.concatenate([rows[each] for each in chosen])]))  # type: ignore[operator]
    return np.array(drawn)


def figure_of(shares: dict[str, tuple[float, tuple[float, float]]]) -> Figure:
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    ax = figure.subplots()
    ax.axhline(LEVEL, color="0.5", linewidth=0.9, linestyle=(0, (4, 2)))
    for k, (share, ends) in enumerate(shares.values()):
        ax.vlines(k, *ends, color=COLOURS[k])
        ax.plot(k, share, MARKERS[k], color=COLOURS[k])
    ax.set_xticks(range(len(shares)), list(shares))
    ax.set_xlim(-0.5, len(shares) - 0.5)
    ax.set_ylabel("95% interval contains the true count")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
