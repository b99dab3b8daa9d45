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
# # 06 Error analysis
#
# Where is the model wrong, and what would it change if it were right? Nguyen & O'Connor (2015, section 6.2) look at
# documents whose probability is near one half: if the model is calibrated, errors are most frequent there.
#
# This notebook finds these documents, asks which antecedents make them uncertain, and recounts with better ones.

# %%
# %matplotlib inline
import dataclasses
import json

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from corefsample import AntecedentDistribution
from corefsample.plots import COLOURS
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.evaluation import evaluate_clustering, evaluate_matches
from events.matching import match_document
from events.plots import event_band

# %% [markdown]
# ## Count, and keep the truth
#
# Simulated news again. Each document comes with the true antecedent of each mention (-1: it begins an entity). With
# real news you have no such thing, except for the documents that you read yourself.

# %%
rule, lexicon = load_rules("attack"), load_lexicon()
simulated = {each.document.doc_id: each for each in simulate_documents(800, event_share=0.6, seed=6)}
documents = {name: each.document for name, each in simulated.items()}
counter = EventCounter(rule, lexicon, seed=0)
counter.update(documents.values())
evidence = counter.evidence()


def true_events(document):
    """List the countries that attack by the document's true entities."""
    matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
    return evaluate_clustering(matches, np.array(document.gold))


truth = {name: true_events(documents[name]) for name in evidence["doc_id"].unique()}
evidence["true"] = [row.country in truth[row.doc_id] for row in evidence.itertuples()]
evidence["wrong"] = evidence["one_best"] != evidence["true"]
print(
    f"{len(evidence):,} pairs of document and country with P > 0; the one best is wrong on {evidence['wrong'].sum()}."
)

# %% [markdown]
# ## Errors live near one half
#
# How to read the picture: pairs of document and country by P(event). The bar is the share on which the single best
# answer is wrong. At both ends the model is sure, and right. In the middle it is a coin, and says so; no gold is needed
# to find the middle. Just below one half the single best answer is worst: it often counts what the model itself finds
# unlikely.

# %%
edges = [0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98, 1.0]
bins = pd.cut(evidence["probability"], edges, include_lowest=True)
by_bin = evidence.groupby(bins, observed=False)["wrong"].agg(["size", "mean"])
figure = Figure(figsize=(6.4, 3.4), layout="constrained")
ax = figure.subplots()
ax.bar(range(len(by_bin)), by_bin["mean"], color=COLOURS[5], edgecolor=COLOURS[0], width=0.8)
ax.set_xticks(
    range(len(by_bin)),
    [f"{max(bin.left, 0):.2g} to {bin.right:.2g}\n(n = {n})" for bin, n in by_bin["size"].items()],
    fontsize=7,
)
ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
ax.set_xlabel("P(event) of document and country")
ax.set_ylabel("one best is wrong")
ax.spines[["top", "right"]].set_visible(False)
figure

# %%
evidence["doubt"] = evidence["probability"] * (1.0 - evidence["probability"])
ranked = evidence.sort_values("doubt", ascending=False, ignore_index=True)
tenth = len(ranked) // 10
print(
    f"The tenth of pairs nearest one half ({tenth}) holds {ranked['doubt'][:tenth].sum() / ranked['doubt'].sum():.0%}"
)
print(f"of the variance of all counts, and {ranked['wrong'][:tenth].sum() / ranked['wrong'].sum():.0%} of the errors.")

# %% [markdown]
# ## One document near one half
#
# `near_half` lists them. (A run in a terminal writes the same to near_half.csv.) We take the nearest one in which the
# attacker is a pronoun, and read it.

# %%
for case in counter.near_half(20).itertuples():
    document = documents[case.doc_id]
    instances = json.loads(case.places)["instances"]  # [trigger token, [mentions in its roles], probability]
    trigger, (agent,), _ = max(instances, key=lambda instance: instance[2])
    if document.tokens.upos[document.mentions[agent, 2]] == "PRON":
        break
country = lexicon.name(case.country)
print(f"{case.doc_id}, {case.date}: P(attack by {country}) = {case.probability:.3f}")
print(f"The agent is mention {agent}, {document.mention_text(agent)!r}, of {document.tokens.text[trigger]!r}.\n")
print(*case.sentences.split(" | "), sep="\n")

# %% [markdown]
# ## Why: the antecedents of that mention
#
# What may the pronoun stand for? Each candidate has a probability; NEW is "nothing before". And for each candidate we
# can ask: **if this were it**, how probable would the event be? We put all probability on one candidate and recount.
#
# If the model is sure of everything else, these are near 0 or 1, and the document's doubt is this one pronoun's. Where
# they lie in between, the doubt goes on further up the chain.


# %%
def with_antecedent(distribution, mention, antecedent):
    """Return the distribution with one mention's antecedent settled; -1 is NEW."""
    candidates, scores = [], []
    for m in range(distribution.n_mentions):
        row = slice(distribution.indptr[m], distribution.indptr[m + 1])
        candidates.append(distribution.antecedents[row].tolist())
        scores.append(distribution.scores[row].tolist())
    candidates[mention], scores[mention] = ([], []) if antecedent < 0 else ([antecedent], [50.0])  # exp(-50) for NEW
    return AntecedentDistribution.from_lists(candidates, scores)


def probability(document, distribution, code):
    """P(event) of one country in one document."""
    matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
    found = evaluate_matches(distribution, matches, document.doc_id, document.date, n_samples=4000, seed=0)
    return dict(zip(found.keys, found.probabilities.tolist(), strict=True)).get(code, 0.0)


distribution = document.antecedents
choices = distribution.to_frame()  # one row a mention and choice; antecedent -1 is NEW
table = choices[choices["mention"] == agent].nlargest(10, "probability")[["antecedent", "probability"]]
table = table.rename(columns={"probability": "P(antecedent)"})
table["text"] = ["NEW" if k < 0 else document.mention_text(k) for k in table["antecedent"]]
table["P(event | it)"] = [
    probability(document, with_antecedent(distribution, agent, k), case.country) for k in table["antecedent"]
]
table["true"] = table["antecedent"] == simulated[case.doc_id].true_antecedents[agent]
covered = table["P(antecedent)"].sum()
total = (table["P(antecedent)"] * table["P(event | it)"]).sum()
print(f"The candidates shown have {covered:.1%} of the probability. Their average of P(event | it), weighted by")
print(f"P(antecedent), is {total / covered:.3f}; P(event) was {case.probability:.3f}.")
print(f"The Monte Carlo error of the latter is {case.mc_se:.3f}.")
table.round(3).reset_index(drop=True)

# %% [markdown]
# The table says what a better model would have to know: the difference between candidates with a high and a low P(event
# | it). Candidates that agree on the event need no telling apart, however uncertain the choice between them is.
#
# ## What a better antecedent changes
#
# Now for many documents at once. We go through the pairs nearest one half, give the agent its true antecedent (you
# would read the document and choose), and recount. How much of the doubt goes?

# %%
N_READ = 60
to_read = ranked[:N_READ]
after = []
for row in to_read.itertuples():
    document = documents[row.doc_id]
    settled_distribution = document.antecedents
    agents = {mention for _, mentions, _ in json.loads(row.places)["instances"] for mention in mentions}
    for mention in agents:
        true = int(simulated[row.doc_id].true_antecedents[mention])
        settled_distribution = with_antecedent(settled_distribution, mention, true)
    after.append(probability(document, settled_distribution, row.country))
read = to_read.assign(after=after)[["doc_id", "country", "period", "probability", "after", "true"]]
doubt_before = (read["probability"] * (1 - read["probability"])).sum()
doubt_after = (read["after"] * (1 - read["after"])).sum()
right_before = ((read["probability"] > 0.5) == read["true"]).mean()
right_after = ((read["after"] > 0.5) == read["true"]).mean()
print(f"{N_READ} pairs of document and country, one antecedent an agent settled:")
print(f"on the right side of one half: {right_before:.0%} before, {right_after:.0%} after;")
print(f"variance of their count: {doubt_before:.1f} before, {doubt_after:.1f} after.")
read.head(8).round(3)

# %% [markdown]
# What remains uncertain is not the agent's own antecedent, but what that antecedent is: its description as a country is
# settled by links further up.
#
# ## The bands, before and after
#
# The same for the picture: every document that was read gets its new probability, the others keep theirs. Left as the
# model has it, right after reading. Only the country with most pairs read is drawn. Where the band becomes narrow,
# reading paid off; the truth is dotted.

# %%
most_read = read["country"].value_counts().index[0]
read_documents = set(read.loc[read["country"] == most_read, "doc_id"])
better = EventCounter(rule, lexicon, seed=0)
for name, document in documents.items():
    if name in read_documents:
        distribution = document.antecedents
        rows = evidence[(evidence["doc_id"] == name) & (evidence["country"] == most_read)]
        agents = {m for places in rows["places"] for _, ms, _ in json.loads(places)["instances"] for m in ms}
        for mention in agents:
            distribution = with_antecedent(distribution, mention, int(simulated[name].true_antecedents[mention]))
        document = dataclasses.replace(document, antecedents=distribution)
    better.add(document)

true_counts = evidence[evidence["true"] & (evidence["country"] == most_read)]["period"].value_counts()
figure = Figure(figsize=(9.6, 3.0), layout="constrained")
for ax, title, each in zip(
    figure.subplots(1, 2, sharey=True), ("as scored", "after reading"), (counter, better), strict=True
):
    counts = each.counts().to_frame()
    counts = counts[counts["country"] == most_read]
    event_band(
        ax, counts, f"{lexicon.name(most_read)}, {title} (mean width {(counts['upper'] - counts['lower']).mean():.2f})"
    )
    true_line = counts["period"].map(true_counts).fillna(0)
    ax.plot(pd.to_datetime(counts["period_start"]), true_line, "k:", linewidth=1.2, label="truth")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
print(f"{len(read_documents)} documents read for {lexicon.name(most_read)}.")
figure

# %% [markdown]
# ## In practice
#
# - Sort by |P - 1/2| and read from the top: near_half.csv of a run.
# - Note which antecedent is the right one. The table of `P(event | it)` says whether it matters.
# - If most errors are of one kind (pronouns far from their names, say), train or recalibrate for it: notebooks 02 and
#   05.
