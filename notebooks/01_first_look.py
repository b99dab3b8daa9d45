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
# is coreference resolution, and it is often wrong. Most systems hand over one answer and keep their doubt.
#
# This notebook keeps the doubt. It counts documents in which a country attacks, by quarter, and shows for each count
# what the coreference model believes: a mean, an interval, and the documents behind it.
#
# The news here is simulated, so nothing has to be downloaded, and the truth is known.

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import pandas as pd
from IPython.display import Image
from terminal import run

from events import load_lexicon
from events.counting import read_count_posterior
from events.plots import count_bars, event_bands

temporary = tempfile.TemporaryDirectory()  # goes when the notebook is closed
folder = Path(temporary.name)

# %% [markdown]
# ## One command
#
# The same line works in a terminal. It simulates ten years of news, counts who attacks, and writes tables and a
# picture.

# %%
run("corefsample demo --out demo", folder)

# %% [markdown]
# ## The picture, and how to read it
#
# Each panel is one country, each point in time one quarter.
#
# - The **solid line** is the posterior mean: the number of documents with an attack that the model expects.
# - The **shaded band** is the 95% credible interval: given the model's probabilities, the count lies in it with at
#   least that probability.
# - The **dashed line** is what the usual single best resolution counts. It says nothing of its doubt.
#
# Two quarters differ for sure only if their bands lie apart. A step of the dashed line inside a wide band can be
# coreference noise.

# %%
Image(filename=folder / "demo" / "run" / "bands.png")

# %% [markdown]
# ## The table behind it
#
# One row a country and quarter. `mean`, `lower` and `upper` are what the picture draws; `sd` is the width of the doubt.
# `mean_mc_se` says how precise the mean itself is, as it comes from a finite number of sampled clusterings.

# %%
counts = pd.read_parquet(folder / "demo" / "run" / "counts.parquet")
counts.nlargest(8, "sd")[["country", "period", "n_docs", "mean", "mean_mc_se", "sd", "lower", "upper", "one_best"]]

# %% [markdown]
# ## One best against the posterior
#
# How often does the single best answer fall outside of the interval? We look at the counts that the model leaves open
# (sd above 0), and pick the quarter where the single best answer lies furthest from the mean.

# %%
open_counts = counts[counts["sd"] > 0.0]
outside = ~open_counts["one_best"].between(open_counts["lower"], open_counts["upper"])
print(f"{len(open_counts)} counts are open; in {outside.sum()} of them the one best lies outside of the interval.")

distance = (open_counts["one_best"] - open_counts["mean"]).abs()
row = open_counts.loc[distance.idxmax()]
country, quarter = row["country"], row["period"]
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
# An interval is a summary. This is the whole posterior of that one quarter: the height of a bar is the probability that
# exactly so many documents hold an attack by this country. Filled bars lie in the interval; the triangle is the one
# best. Where the triangle stands on a low bar, the single best answer is one that the model itself finds unlikely.

# %%
posterior = read_count_posterior(folder / "demo" / "run", country, quarter)
count_bars(posterior, title=f"{name}, {quarter}").figure

# %% [markdown]
# ## The evidence of that quarter
#
# Every number can be traced to documents. `probability` is P(this document holds an attack by this country); `one_best`
# says whether the single best resolution counts it.

# %%
evidence = pd.read_parquet(folder / "demo" / "run" / "evidence.parquet")
behind = evidence[(evidence["country"] == country) & (evidence["period"] == quarter)]
behind = behind.sort_values("probability", ascending=False, ignore_index=True)
print(f"Probabilities of {len(behind)} documents, summed: {behind['probability'].sum():.3f}.")
print(f"Posterior mean of the count: {row['mean']:.3f}. One best: {behind['one_best'].sum()} documents.")
unlikely = behind["one_best"] & (behind["probability"] < 0.5)
likely = ~behind["one_best"] & (behind["probability"] >= 0.5)
print(f"The one best counts {unlikely.sum()} documents with P below one half, and misses {likely.sum()} above it.")
behind[["doc_id", "date", "probability", "mc_se", "one_best"]]

# %% [markdown]
# Why can the best answer be unlikely? It takes the likeliest antecedent of every mention, even where that one has less
# than half of the probability, and counts a document wholly or not at all. The mean adds the probabilities up instead.
#
# The documents nearest one half are where the model does not know. Each comes with its sentences, with the mentions
# that may be the attacker, and with the mentions that may say which country it is. The number behind a mention is the
# probability that it takes part.

# %%
unsure = behind.loc[(behind["probability"] - 0.5).abs().idxmin()]
print(f"{unsure['doc_id']}: P(attack by {name}) = {unsure['probability']:.3f}\n")
for title, column in (
    ("Sentences", "sentences"),
    ("May be the attacker", "agent_mentions"),
    ("Names the country", "country_mentions"),
):
    print(f"{title}:", *unsure[column].split(" | "), sep="\n  ")

# %% [markdown]
# ## What the band does not say
#
# The band is the doubt of coreference alone. Parses, country names, the rule, and the choice of documents are taken as
# right. And it can be trusted only as far as the model's probabilities can: an overconfident model draws bands that are
# too narrow.
#
# - Whether probabilities can be trusted: notebook 02.
# - What an interval promises, and when it keeps it: notebook 03.
# - Events of your own: notebook 04. Your own news: notebook 05.
# - Finding the errors: notebook 06.
