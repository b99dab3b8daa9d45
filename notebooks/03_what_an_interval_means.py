# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 What an interval means
#
# A 95% interval should contain the truth 95 times in 100. When does it? Nguyen & O'Connor (2015, section 7) left this
# question open: in what sense are intervals good when calibration is perfect, and how does overconfidence change them?
#
# In a simulation the truth is known, so we can count. Three models read the same news. They differ only in their
# confidence.

# %%
# %matplotlib inline
from collections import Counter

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from scipy.stats import binomtest

from corefsample.calibration import reliability_curve
from corefsample.plots import reliability_axes
from corefsample.plots.style import COLOURS, LINE_STYLES, MARKERS
from events import (
    EventCounter,
    TrueEvents,
    hdi_interval,
    load_lexicon,
    load_rules,
    quantile_interval,
    simulate_documents,
)
from events.counts import count_pmf

# %% [markdown]
# ## News, truth, and three models
#
# Dividing a model's scores by `temperature` would make them calibrated. At 1 they are calibrated: the true entities
# are drawn from exactly the probabilities that the scores define. Above 1 the model is overconfident, below 1
# underconfident. The text is the same for all three.
#
# The true count comes from the true entities, by the same rule as the model's count: `TrueEvents` computes it from
# documents with gold. `truth.apart` are the mentions that the rule's preset keeps in different entities, if it does.

# %%
MODELS = {"underconfident": 0.5, "calibrated": 1.0, "overconfident": 2.0}
N_DOCUMENTS, N_SAMPLES = 1200, 1000
rule, lexicon = load_rules("attack"), load_lexicon()


def read_news(temperature):
    """Let one model read the news: P(event) of each document and country, and which of them are true."""
    counter = EventCounter(rule, lexicon, n_samples=N_SAMPLES, triggers="rules")
    truth = TrueEvents(rule, lexicon)
    options = {"event_share": 1.0, "median_mentions": 60, "seed": 3, "apart": truth.apart}
    news = simulate_documents(N_DOCUMENTS, temperature=temperature, **options)
    for each in news:
        counter.add(each.document)
        truth.add(each.document)
    true = {(event.doc_id, event.actor) for event in truth.events}
    evidence = counter.evidence()[["doc_id", "date", "actor", "probability"]]
    evidence["true"] = [pair in true for pair in zip(evidence["doc_id"], evidence["actor"], strict=True)]
    missed = len(true) - evidence["true"].sum()
    return evidence, missed


evidence = {}
for model, temperature in MODELS.items():
    evidence[model], missed = read_news(temperature)
    print(
        f"{model:<15} temperature {temperature:g}: {len(evidence[model]):,} pairs of document and country with P > 0, "
        f"{evidence[model]['true'].sum():,} true; {missed} true ones have P = 0"
    )

# %% [markdown]
# ## Counts and intervals
#
# Documents are summed by country and by month, quarter, year, or all ten years, so that there are small and large
# counts. Given each document's probability, the distribution of the count is exact. We compute three intervals from
# it:
#
# - **quantile**: from the 2.5% to the 97.5% quantile; both ends are counts;
# - **hdi**: the shortest range of counts that contains 95%;
# - **normal**: the paper's, mean ± 1.96 standard deviations; its ends are not counts, and can be negative.
#
# `promised` is the probability that the model itself gives to the interval. With integers it cannot be exactly 95%.

# %%
LEVEL, Z = 0.95, 1.96
PERIODS = {"month": "M", "quarter": "Q", "year": "Y", "ten years": None}


def intervals_of(probabilities):
    """Three intervals of one count, each with its probability under the distribution of the count."""
    pmf = count_pmf(probabilities)
    half = Z * np.sqrt((probabilities * (1.0 - probabilities)).sum())
    ends = {
        "quantile": quantile_interval(pmf, LEVEL),
        "hdi": hdi_interval(pmf, LEVEL),
        "normal": (probabilities.sum() - half, probabilities.sum() + half),
    }
    counts = np.arange(pmf.size)
    return {
        name: (lower, upper, pmf[(counts >= lower) & (counts <= upper)].sum()) for name, (lower, upper) in ends.items()
    }


rows = []
for model, table in evidence.items():
    dates = pd.PeriodIndex(table["date"], freq="D")
    for period, frequency in PERIODS.items():
        label = "all" if frequency is None else dates.asfreq(frequency).astype(str)
        for _, cell in table.assign(period=label).groupby(["actor", "period"]):
            probabilities = cell["probability"].to_numpy()
            if not ((probabilities > 0.0) & (probabilities < 1.0)).any():
                continue  # the count is certain
            for kind, (lower, upper, promised) in intervals_of(probabilities).items():
                rows.append((model, period, probabilities.sum(), cell["true"].sum(), kind, lower, upper, promised))
columns = ["model", "period", "mean", "truth", "interval", "lower", "upper", "promised"]
counts = pd.DataFrame(rows, columns=columns)
counts["covered"] = counts["truth"].between(counts["lower"], counts["upper"])
counts["width"] = counts["upper"] - counts["lower"]
print({name: int(n) for name, n in Counter(counts["period"][counts["interval"] == "quantile"]).items()})
counts.sample(5, random_state=1)

# %% [markdown]
# ## Coverage
#
# The share of counts whose interval contains the truth, by size of the count. Sizes are those of the posterior mean,
# which the model knows, not of the truth, which it does not know: grouped by the truth, any method looks wrong.

# %%
EDGES = [0.0, 0.25, 1.0, 2.0, 5.0, np.inf]
SIZES = ["up to 0.25", "0.25 to 1", "1 to 2", "2 to 5", "above 5"]
counts["size"] = pd.cut(counts["mean"], EDGES, labels=SIZES)
coverage = (
    counts.groupby(["model", "interval", "size"], observed=True)
    .agg(n=("covered", "size"), covered=("covered", "sum"), promised=("promised", "mean"), width=("width", "mean"))
    .reset_index()
)
coverage["coverage"] = coverage["covered"] / coverage["n"]
ends = [
    binomtest(int(covered), int(n)).proportion_ci(LEVEL)
    for covered, n in zip(coverage["covered"], coverage["n"], strict=True)
]
coverage["low"], coverage["high"] = [end.low for end in ends], [end.high for end in ends]

shown = ["coverage", "promised"]
table = coverage.pivot_table(index=["model", "size"], columns="interval", values=shown, observed=True, sort=False)
table.loc[list(MODELS)].round(3)

# %% [markdown]
# How to read the plot: the vertical axis is the share of intervals that contain the truth; the dashed line is the
# nominal 95%. Counts increase to the right. Bars show how much a point would vary by chance if counts were
# independent; a month and its quarter are not, so the bars are slightly too short. The small grey marks are the
# probability that the model itself gives to its intervals: a point below its mark is less coverage than the model
# promised. For a calibrated model the two should agree.

# %%
figure = Figure(figsize=(9.6, 3.8), layout="constrained")
panels = figure.subplots(1, len(MODELS), sharey=True)
for ax, model in zip(panels, MODELS, strict=True):
    ax.axhline(LEVEL, color="0.45", linewidth=0.9, linestyle=(0, (4, 2)))
    for k, kind in enumerate(("quantile", "hdi", "normal")):
        part = coverage[(coverage["model"] == model) & (coverage["interval"] == kind)]
        x = part["size"].cat.codes + 0.18 * (k - 1)
        ax.vlines(x, part["low"], part["high"], color=COLOURS[k], linewidth=0.9, alpha=0.6)
        ax.plot(x, part["coverage"], color=COLOURS[k], marker=MARKERS[k], linestyle=LINE_STYLES[k], label=kind)
        ax.plot(x, part["promised"], color="0.4", marker="_", linestyle="none", markersize=9)
    ax.set_title(model, loc="left", fontsize=10)
    ax.set_xticks(range(len(SIZES)), SIZES, rotation=40, ha="right", fontsize=8)
    ax.set_xlabel("posterior mean of the count")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("interval contains the truth")
panels[0].yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
panels[-1].legend(frameon=False, fontsize=9, loc="lower left")
figure

# %% [markdown]
# ## Conclusions
#
# **If the model is calibrated, an interval has the coverage that it promises**: points and grey marks agree up to
# chance. The promise differs between the kinds. Quantile and shortest intervals have integer ends, so they promise at
# least 95%, and more for small counts. The normal interval ignores integers and zero: for small counts its promise is
# sometimes below 95%, sometimes above.
#
# **An overconfident model** promises the same and covers less. **An underconfident model** covers more than it
# promises for small counts. But its means are biased too, as the next table shows, and for large counts the bias
# dominates. The uncertainty of single documents averages out; a common error does not.

# %%
bias = counts[(counts["interval"] == "quantile") & (counts["period"] == "ten years")]
bias = bias.groupby("model").agg(countries=("mean", "size"), posterior_mean=("mean", "mean"), truth=("truth", "mean"))
bias["off"] = bias["posterior_mean"] - bias["truth"]
bias.loc[list(MODELS)].round(2)

# %% [markdown]
# ## Calibration of the events themselves
#
# The same question one step earlier: of the documents to which a model gives a probability of about 60%, in how many
# is the event true? A point on the dashed diagonal is right on average. A curve that is flatter than the diagonal is
# overconfident (improbable events happen too often, probable ones too rarely); a steeper one is underconfident. This
# explains the misses above.

# %%
figure = Figure(figsize=(4.8, 4.6), layout="constrained")
reliability_axes(
    figure.subplots(),
    {
        model: reliability_curve(table["probability"], table["true"], n_bins=12, documents=table["doc_id"])
        for model, table in evidence.items()
    },
)
figure

# %% [markdown]
# ## In practice
#
# - Check calibration first (notebook 02). No kind of interval corrects wrong probabilities.
# - Use `quantile`, the default, if small counts should also have their nominal coverage; `hdi` if you want the shortest
#   interval; `normal` only where counts are large.
# - At small counts, show the whole posterior (`events.plots.count_bars`) rather than two numbers.
