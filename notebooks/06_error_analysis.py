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
# Where is the model wrong, and how would the counts change if it were right? Nguyen & O'Connor (2015, section 6.2)
# look at documents whose probability is near one half: if the model is calibrated, errors are most frequent there.
#
# This notebook finds these documents, determines which antecedents make them uncertain, and counts again with the
# correct antecedents.

# %%
# %matplotlib inline
import dataclasses
import json

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from corefsample.plots.style import COLOURS
from events import EventCounter, TrueEvents, load_lexicon, load_rules, simulate_documents
from events.plots import event_band

# %% [markdown]
# ## Counts and truth
#
# The news is simulated. Each document has the true antecedent of each mention (-1: it begins an entity). For real
# news you only know this for the documents that you read yourself.

# %%
rule, lexicon = load_rules("attack"), load_lexicon()
truth = TrueEvents(rule, lexicon)
news = simulate_documents(800, event_share=0.6, seed=6, apart=truth.apart)
simulated = {each.document.doc_id: each for each in news}
documents = {name: each.document for name, each in simulated.items()}
counter = EventCounter(rule, lexicon, triggers="rules", seed=0)
counter.update(documents.values())
evidence = counter.evidence()

truth.update(documents.values())
true = {(event.doc_id, event.actor) for event in truth.events}
evidence["true"] = [(row.doc_id, row.actor) in true for row in evidence.itertuples()]
evidence["wrong"] = evidence["one_best"] != evidence["true"]
print(
    f"{len(evidence):,} pairs of document and country with P > 0; the one best is wrong on {evidence['wrong'].sum()}."
)

# %% [markdown]
# ## Errors are near one half
#
# The plot shows pairs of document and country by P(event). A bar is the share for which the single best answer is
# wrong. At both ends the model is certain and right. In the middle it is uncertain, and its probability shows this
# without gold. Just below one half the single best answer is worst: it often counts events that are improbable under
# the model itself.

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
evidence["uncertainty"] = evidence["probability"] * (1.0 - evidence["probability"])
ranked = evidence.sort_values("uncertainty", ascending=False, ignore_index=True, kind="stable")
tenth = len(ranked) // 10
print(
    f"The tenth of pairs nearest one half ({tenth}) has "
    f"{ranked['uncertainty'][:tenth].sum() / ranked['uncertainty'].sum():.0%}"
)
print(f"of the variance of all counts, and {ranked['wrong'][:tenth].sum() / ranked['wrong'].sum():.0%} of the errors.")

# %% [markdown]
# ## One document near one half
#
# `near_half` lists these documents. (A run in a terminal writes the same to near_half.csv.) We read the nearest one
# in which the attacker is a pronoun.

# %%
for case in counter.near_half(20).itertuples():
    document = documents[case.doc_id]
    instances = json.loads(case.places)["instances"]  # [trigger token, [mentions in its roles], probability, ...]
    trigger, (agent,), *_ = max(instances, key=lambda instance: instance[2])
    if document.tokens.upos[document.mentions[agent, 2]] == "PRON":
        break
country = lexicon.name(case.actor)
print(f"{case.doc_id}, {case.date}: P(attack by {country}) = {case.probability:.3f}")
print(f"The agent is mention {agent}, {document.mention_text(agent)!r}, of {document.tokens.text[trigger]!r}.\n")
print(*case.sentences.split(" | "), sep="\n")

# %% [markdown]
# ## Why: the antecedents of that mention
#
# What may the pronoun refer to? Each candidate has a probability; NEW is "no antecedent". For each candidate we can
# ask: **if this were the antecedent**, how probable would the event be? `with_antecedent` puts all probability on one
# candidate (None is NEW), and we count again.
#
# If the model is certain of everything else, these probabilities are near 0 or 1, and the uncertainty of the document
# comes from this pronoun alone. Otherwise earlier links in the chain are uncertain too.


# %%
def with_antecedents(document, antecedents):
    """Return the document with known antecedents of some mentions: a mapping to the antecedent, -1 for NEW."""
    distribution = document.antecedents
    for mention, antecedent in antecedents.items():
        distribution = distribution.with_antecedent(mention, None if antecedent < 0 else antecedent)
    return dataclasses.replace(document, antecedents=distribution)


def probability(document, code):
    """P(event) of one country in one document."""
    found = EventCounter(rule, lexicon, n_samples=4000, triggers="rules", seed=0).add(document)
    return dict(zip(found.keys, found.probabilities.tolist(), strict=True)).get(code, 0.0)


choices = document.antecedents.to_frame()  # one row per mention and choice; antecedent -1 is NEW
table = choices[choices["mention"] == agent].nlargest(10, "probability")[["antecedent", "probability"]]
table = table.rename(columns={"probability": "P(antecedent)"})
table["text"] = ["NEW" if k < 0 else document.mention_text(k) for k in table["antecedent"]]
table["P(event | it)"] = [probability(with_antecedents(document, {agent: k}), case.actor) for k in table["antecedent"]]
table["true"] = table["antecedent"] == simulated[case.doc_id].true_antecedents[agent]
covered = table["P(antecedent)"].sum()
total = (table["P(antecedent)"] * table["P(event | it)"]).sum()
print(f"The candidates shown have {covered:.1%} of the probability. Their average of P(event | it), weighted by")
print(f"P(antecedent), is {total / covered:.3f}; P(event) was {case.probability:.3f}.")
print(f"The Monte Carlo error of the latter is {case.mc_se:.3f}.")
table.round(3).reset_index(drop=True)

# %% [markdown]
# The table shows what a better model would have to distinguish: candidates with a high and a low P(event | it). The
# choice between candidates that agree on the event does not matter, however uncertain it is.
#
# ## The effect of the correct antecedent
#
# Now for many documents at once. We take the pairs nearest one half, give the agent its true antecedent (in practice
# you would read the document and choose), and count again. How much of the uncertainty disappears?


# %%
def after_reading(row):
    """Return the document of a row of evidence with the true antecedents of its agents."""
    agents = {mention for _, mentions, *_ in json.loads(row.places)["instances"] for mention in mentions}
    true_antecedents = simulated[row.doc_id].true_antecedents
    return with_antecedents(documents[row.doc_id], {mention: int(true_antecedents[mention]) for mention in agents})


N_READ = 60
to_read = ranked[:N_READ]
after = [probability(after_reading(row), row.actor) for row in to_read.itertuples()]
read = to_read.assign(after=after)[["doc_id", "actor", "period", "probability", "after", "true", "places"]]
uncertainty_before = (read["probability"] * (1 - read["probability"])).sum()
uncertainty_after = (read["after"] * (1 - read["after"])).sum()
right_before = ((read["probability"] > 0.5) == read["true"]).mean()
right_after = ((read["after"] > 0.5) == read["true"]).mean()
print(f"{N_READ} pairs of document and country, with the antecedent of the agent set:")
print(f"on the right side of one half: {right_before:.0%} before, {right_after:.0%} after;")
print(f"variance of their count: {uncertainty_before:.1f} before, {uncertainty_after:.1f} after.")
read.drop(columns="places").head(8).round(3)

# %% [markdown]
# The remaining uncertainty is not about the antecedent of the agent, but about that antecedent itself: its
# description as a country depends on earlier links.
#
# ## The bands, before and after
#
# The same as a plot: every document that was read gets its new probability, the others keep theirs. The left panel is
# before reading, the right panel after. Only the country with the most pairs read is shown. The truth is dotted.
# Where the band becomes narrow, reading was worthwhile.

# %%
most_read = read["actor"].value_counts().index[0]
read_documents = {row.doc_id: after_reading(row) for row in read[read["actor"] == most_read].itertuples()}
better = EventCounter(rule, lexicon, triggers="rules", seed=0)
better.update((documents | read_documents).values())

figure = Figure(figsize=(9.6, 3.0), layout="constrained")
for ax, title, each in zip(
    figure.subplots(1, 2, sharey=True), ("as scored", "after reading"), (counter, better), strict=True
):
    counts = truth.beside(each.counts().to_frame())  # adds true_count and covered
    counts = counts[counts["actor"] == most_read]
    event_band(
        ax, counts, f"{lexicon.name(most_read)}, {title} (mean width {(counts['upper'] - counts['lower']).mean():.2f})"
    )
    middles = pd.to_datetime(counts["period_start"]) + pd.Timedelta(45, "D")
    ax.plot(middles, counts["true_count"], "k.", markersize=4, label="truth")
    print(f"{title}: {counts['covered'].sum()} of {len(counts)} intervals contain the true count.")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=9)
print(f"{len(read_documents)} documents read for {lexicon.name(most_read)}.")
figure

# %% [markdown]
# ## In practice
#
# - Sort by |P - 1/2| and read from the top: this is near_half.csv of a run.
# - Note which antecedent is correct. The table of `P(event | it)` shows whether it matters.
# - If most errors are of one kind (pronouns far from their names, say), train or recalibrate for it: notebooks 02 and
#   05.
