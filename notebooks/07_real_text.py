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
# # 07 Real text: one article, looked at closely
#
# What does the uncertainty of a real coreference model look like? We take one news article with annotated entities that
# is not in the training data, score it, and look at
#
# - the probabilities of links between mentions;
# - three clusterings drawn from them, side by side;
# - what is uncertain, and whether the errors are there.

# %%
# %matplotlib inline
from pathlib import Path

import numpy as np
import pandas as pd
import spacy

from corefsample import clustering_scores, link_marginals, link_tables, map_clustering, metric_posterior, read_corefud
from corefsample.plots import link_heat_map, link_network, plot
from corefsample.scorers import load_scorer, score_documents
from corefsample.spacy_bridge.component import set_posterior
from corefsample.spacy_bridge.documents import doc_of_scored_document
from corefsample.summaries import document_links, entity_count_posterior

# %% [markdown]
# ## The article
#
# The article is from GUM's test part, if that is available; the model was trained on the train part. Otherwise it is a
# short article written for this notebook, with hand-made parse and entities.

# %%
gum = Path("..") / ".." / "shared" / "data" / "gum" / "en_gum-ud-test.conllu.gz"
if gum.exists():
    source, doc_id = gum, "GUM_news_sensitive"
else:
    source, doc_id = Path("own_news.conllu"), "own-05"
    print(f"GUM is not available ({gum.name}), so a short article of this folder is used.")
annotated = next(document for document in read_corefud(source) if document.doc_id == doc_id)
print(f"{doc_id}, {annotated.date}: {len(annotated.tokens)} words, {annotated.n_mentions} annotated mentions.")

# %% [markdown]
# ## Score it
#
# The English model of the package gives each mention a distribution over its antecedents: one of the earlier
# mentions, or NEW. The mentions here are the annotated ones, so that the result can be compared with gold.

# %%
model = load_scorer()
document = next(score_documents(model, [annotated]))
distribution = document.antecedents
print(f"{distribution.n_candidates:,} candidate antecedents of {distribution.n_mentions} mentions.")
print(f"Expected number of entities: {distribution.new_probs.sum():.1f}. Annotated: {len(set(document.gold))}.")

# %% [markdown]
# ## All links at once
#
# Mentions are ordered by entity along both axes. A square is the probability that two mentions belong to one entity,
# from white (0) to dark blue (1). Frames are the entities of the single best answer. A document without uncertainty
# is dark inside the frames and white outside. **Pale inside a frame**: the entity may be two. **Blue outside the
# frames**: two entities may be one. Entities of a single mention are left out.

# %%
links = document_links(document, smallest=2)
link_heat_map(links).figure

# %% [markdown]
# ## How many entities?
#
# A bar is the probability of exactly this many entities, including entities of a single mention. The marks are the
# numbers of the single best answer and of the annotation; the bars show how probable they are. If the number of the
# annotation has almost no probability, the model links too little or too much in this text, and is confidently wrong
# about it.

# %%
entity_counts = entity_count_posterior(document)
print(f"Mean {entity_counts.mean:.1f}, sd {entity_counts.sd:.1f}.")
print(f"Single best {entity_counts.map_count}, gold {entity_counts.gold_count}.")
plot(entity_counts)

# %% [markdown]
# ## Three clusterings, side by side
#
# Each column is one sample: every mention draws an antecedent from its distribution, and the links form the entities.
# The first column is the single best answer, from the likeliest antecedents. An entity has the same name in all columns
# (E1, E2, ... are those of the single best answer; M12 is an entity that is not in it and begins at mention 12).
# Mentions with the same name in all columns are certain; **mentions whose name changes are uncertain**. The table has
# the first mentions of entities with several mentions in some column.

# %%
parsed = doc_of_scored_document(document, spacy.blank("en").vocab)
posterior = set_posterior(parsed, document, n_samples=1000, seed=0)  # now parsed._.coref, as the spaCy component has it
names = pd.DataFrame(
    {
        "mention": [span.text for span in posterior.mentions],
        "likeliest antecedents": posterior.entity_names("map"),
        **{f"sample {sample}": posterior.entity_names(sample) for sample in range(3)},
    }
)
columns = names.columns[1:]
repeated = pd.concat([names[column].duplicated(keep=False) for column in columns], axis=1).any(axis=1)
names[repeated].head(25)

# %% [markdown]
# The same answer in the text, with a colour for each entity of several mentions; on hover, what a mention may refer to:

# %%
document

# %% [markdown]
# In numbers: how similar are the samples? For each pair of samples, the share of linked mention pairs that they have in
# common, of those in either.

# %%
samples = posterior.samples
later, earlier = np.tril_indices(document.n_mentions, -1)


def linked(labels):
    """Whether each pair of mentions is in one entity."""
    return labels[later] == labels[earlier]


drawn = [linked(samples.labels[s]) for s in range(3)]
for a, b in ((0, 1), (0, 2), (1, 2)):
    common, either = (drawn[a] & drawn[b]).sum(), (drawn[a] | drawn[b]).sum()
    print(f"Draws {a} and {b}: {common} linked pairs in common, of {either} that either has.")

# %% [markdown]
# ## Which mentions are uncertain
#
# The entropy of a mention's antecedents: 0 bits is certainty, 1 bit an even choice between two, 2 bits between four.
# But not every uncertainty matters: if a pronoun may refer to either of two mentions **of the same entity**, its
# antecedent is uncertain but its entity is not. The last column shows this: the probability that the mention belongs
# to the entity of its likeliest antecedent.

# %%
choices = distribution.to_frame()  # one row per mention and choice; antecedent -1 is NEW
choices["bits"] = -choices["probability"] * np.log2(choices["probability"].where(choices["probability"] > 0.0, 1.0))
entropy = choices.groupby("mention")["bits"].sum()
linked_choices = choices[choices["antecedent"] >= 0]
likeliest = linked_choices.loc[linked_choices.groupby("mention")["probability"].idxmax()]
marginals = link_marginals(distribution)

uncertain = pd.DataFrame(
    {
        "text": [document.mention_text(m)[:40] for m in likeliest["mention"]],
        "bits": entropy[likeliest["mention"]].to_numpy(),
        "P(NEW)": distribution.new_probs[likeliest["mention"]],
        "likeliest antecedent": [document.mention_text(m)[:40] for m in likeliest["antecedent"]],
        "P(antecedent)": likeliest["probability"].to_numpy(),
        "P(same entity)": marginals[likeliest["mention"], likeliest["antecedent"]],
    },
    index=likeliest["mention"],
)
uncertain.nlargest(12, "bits").round(3)

# %% [markdown]
# ## Which links are uncertain
#
# The pairs nearest one half, with their gold value.

# %%
gold = np.array(document.gold)
probabilities = marginals[later, earlier]
true = gold[later] == gold[earlier]
nearest = np.argsort(np.abs(probabilities - 0.5), kind="stable")[:12]
pd.DataFrame(
    {
        "first": [document.mention_text(m)[:40] for m in earlier[nearest]],
        "second": [document.mention_text(m)[:40] for m in later[nearest]],
        "P(one entity)": probabilities[nearest].round(3),
        "gold": np.where(true[nearest], "one entity", "two"),
    }
)

# %% [markdown]
# Is the model wrong where it is uncertain? Pairs by probability, with the share that is linked in gold: for a
# calibrated model, the two columns agree. (One article is little evidence; notebook 02 uses many.)

# %%
tables = link_tables([document])
pairs = pd.DataFrame({"q": tables.q, "y": tables.y})
pairs["P"] = pd.cut(pairs["q"], [0, 0.01, 0.1, 0.3, 0.7, 0.9, 1.0], include_lowest=True)
pairs.groupby("P", observed=False).agg(n=("y", "size"), predicted=("q", "mean"), true=("y", "mean")).round(3)

# %% [markdown]
# ## Against gold
#
# The usual scores of the single best answer, and the posterior of the same scores over sampled clusterings. The
# single best answer scores better than most samples, each of which contains some errors; the interval shows how much
# the score varies with the uncertainty of the model.

# %%
scores = clustering_scores(document.gold, map_clustering(distribution))
of_draws = metric_posterior(document.gold, samples, metric="conll")
print(f"CoNLL average of the single best answer: {scores.conll.f1:.3f}")
ends = f"95% of them from {of_draws.lower:.3f} to {of_draws.upper:.3f}"
print(f"CoNLL average of draws: mean {of_draws.mean:.3f}, {ends}")

# %% [markdown]
# ## The network
#
# A point is a mention; the width of a line is the probability that two mentions belong together. Points of one colour
# and shape are one entity of the single best answer. Lines between colours are where the answer could have been
# different. Only entities of three or more mentions are drawn.

# %%
link_network(document_links(document, smallest=3), floor=0.2, most_labels=30).figure
