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
# # 01 First look: from news to bands
#
# Who attacked whom, and how often? A program that counts this in news has to know who "they" and "the forces" are. That
# is coreference resolution, and it is often wrong. Most systems return a single answer without any uncertainty.
#
# This notebook keeps the uncertainty. It counts documents in which a country attacks, by quarter, and shows the
# posterior of each count: a mean, an interval, and the documents behind it.
#
# The news in this notebook is simulated, so nothing has to be downloaded, and the truth is known.

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import pandas as pd
from IPython.display import Image
from terminal import run

from events import load_lexicon
from events.counts import read_count_posterior
from events.plots import count_bars, event_bands

temporary = tempfile.TemporaryDirectory()  # removed when the notebook is closed
folder = Path(temporary.name)

# %% [markdown]
# ## One command
#
# The same command works in a terminal. It simulates ten years of news, counts who attacks, and writes tables and a
# plot.

# %%
run("corefsample demo --out demo", folder)

# %% [markdown]
# ## How to read the plot
#
# Each panel is one country, each point in time one quarter.
#
# - The **solid line** is the posterior mean: the number of documents with an attack that the model expects.
# - The **shaded band** is the 95% credible interval: given the model's probabilities, the count lies in it with at
#   least that probability.
# - The **dashed line** is the count from the usual single best resolution. It carries no uncertainty.
#
# A step of the dashed line inside a wide band can be coreference noise. Whether one count is higher than another is a
# question of its own: overlapping bands do not rule it out. `--compare` computes the probability (notebook 04).

# %%
Image(filename=folder / "demo" / "run" / "bands.png")

# %% [markdown]
# ## The table behind the plot
#
# One row per country and quarter. The plot shows `mean`, `lower` and `upper`; `sd` is the standard deviation of the
# posterior. `mean_mc_se` is the Monte Carlo standard error of the mean, which comes from a finite number of sampled
# clusterings.

# %%
counts = pd.read_parquet(folder / "demo" / "run" / "counts.parquet")
counts.nlargest(8, "sd")[["actor", "period", "n_docs", "mean", "mean_mc_se", "sd", "lower", "upper", "one_best"]]

# %% [markdown]
# ## One best against the posterior
#
# How often is the single best answer outside the interval? We look at the counts that are uncertain (sd above 0), and
# choose the quarter where the single best answer is furthest from the mean.

# %%
open_counts = counts[counts["sd"] > 0.0]
outside = ~open_counts["one_best"].between(open_counts["lower"], open_counts["upper"])
print(f"{len(open_counts)} counts are open; in {outside.sum()} of them the one best lies outside of the interval.")

distance = (open_counts["one_best"] - open_counts["mean"]).abs()
row = open_counts.loc[distance.idxmax()]
country, quarter = row["actor"], row["period"]
name = load_lexicon().name(country)
print(
    f"Furthest off: {name}, {quarter}. The one best counts {row['one_best']} documents, the posterior mean is "
    f"{row['mean']:.1f}, and the interval goes from {row['lower']:.0f} to {row['upper']:.0f}."
)

# %%
event_bands(counts, [country], names={country: name})

# %% [markdown]
# ## One quarter in full
#
# An interval is a summary. This is the whole posterior of that quarter: the height of a bar is the probability that
# exactly this many documents contain an attack by the country. Filled bars are in the interval; the triangle is the
# one-best count. Where the triangle is on a low bar, the single best answer is improbable under the model itself.

# %%
posterior = read_count_posterior(folder / "demo" / "run", country, quarter)
count_bars(posterior, title=f"{name}, {quarter}").figure

# %% [markdown]
# ## The evidence of that quarter
#
# Every number can be traced to documents. `probability` is P(this document contains an attack by this country);
# `one_best` is whether the single best resolution counts it.

# %%
evidence = pd.read_parquet(folder / "demo" / "run" / "evidence.parquet", filters=[("probability", ">", 0)])
behind = evidence[(evidence["actor"] == country) & (evidence["period"] == quarter)]
behind = behind.sort_values("probability", ascending=False, ignore_index=True)
print(f"Probabilities of {len(behind)} documents, summed: {behind['probability'].sum():.3f}.")
print(f"Posterior mean of the count: {row['mean']:.3f}. One best: {behind['one_best'].sum()} documents.")
unlikely = behind["one_best"] & (behind["probability"] < 0.5)
likely = ~behind["one_best"] & (behind["probability"] >= 0.5)
print(f"The one best counts {unlikely.sum()} documents with P below one half, and misses {likely.sum()} above it.")
behind[["doc_id", "date", "probability", "mc_se", "one_best"]]

# %% [markdown]
# Why can the best answer be improbable? It takes the likeliest antecedent of every mention, even if that antecedent
# has a probability below one half, and counts a document fully or not at all. The mean sums the probabilities
# instead.
#
# The model is most uncertain about the documents nearest one half. Each is listed with its sentences, the mentions
# that may be the attacker, and the mentions that may describe the country. The number after a mention is the
# probability that it is part of the event.

# %%
unsure = behind.loc[(behind["probability"] - 0.5).abs().idxmin()]
print(f"{unsure['doc_id']}: P(attack by {name}) = {unsure['probability']:.3f}\n")
for title, column in (
    ("Sentences", "sentences"),
    ("May be the attacker", "role_mentions"),
    ("Names the country", "actor_mentions"),
):
    print(f"{title}:", *unsure[column].split(" | "), sep="\n  ")

# %% [markdown]
# ## What the band does not cover
#
# The band covers uncertainty about coreference only. Parses, country names, the rule and the selection of documents
# are assumed to be correct. And the band is only as good as the model's probabilities: an overconfident model gives
# bands that are too narrow.
#
# - Whether probabilities can be trusted: notebook 02.
# - What an interval means, and when it has its nominal coverage: notebook 03.
# - Events of your own: notebook 04. Your own news: notebook 05.
# - Finding the errors: notebook 06.
