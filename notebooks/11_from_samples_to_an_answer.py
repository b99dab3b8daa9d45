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
# # 11 From samples to an answer, on real text
#
# One news article with annotated entities, scored by a model that was not trained on it. Which single clustering
# should be reported, how sure can we be of its parts, and what are the alternatives?

# %%
# %matplotlib inline
from pathlib import Path

import numpy as np
import pandas as pd

from corefsample import clustering_scores, map_clustering, read_corefud, sample_clusterings
from corefsample.plots import link_heat_map
from corefsample.scorers import load_scorer, score_documents
from corefsample.summaries import (
    cluster_probability,
    credible_ball,
    document_links,
    point_estimate,
)

# %% [markdown]
# ## The article
#
# It is from GUM's test part, if that is available; otherwise it is a short article written for these notebooks.

# %%
gum = Path("..") / ".." / "shared" / "data" / "gum" / "en_gum-ud-test.conllu.gz"
if gum.exists():
    source, doc_id = gum, "GUM_news_sensitive"
else:
    source, doc_id = Path("own_news.conllu"), "own-05"
    print(f"GUM is not available ({gum.name}), so a short article of this folder is used.")
annotated = next(document for document in read_corefud(source) if document.doc_id == doc_id)
document = next(score_documents(load_scorer(), [annotated]))
distribution = document.antecedents
samples = sample_clusterings(distribution, n_samples=1000, seed=0, doc_id=doc_id)
print(f"{doc_id}: {document.n_mentions} mentions, {len(set(document.gold))} annotated entities.")

# %% [markdown]
# ## Estimates under several losses
#
# Each row is a single clustering: the likeliest antecedents, and the clusterings with the smallest expected loss under
# several losses. Expected loss and scores against gold are different things: the estimate under `conll` has the highest
# CoNLL that the posterior expects, and gold is one clustering. One article is little evidence; the study in
# docs/summaries.md has 79.

# %%
estimates = {"map": map_clustering(distribution)}
for loss in ("binder", "vi", "b3", "lea", "conll"):
    estimates[loss] = point_estimate(distribution, loss=loss, samples=samples).labels
rows = {}
for name, labels in estimates.items():
    scores = clustering_scores(document.gold, labels)
    rows[name] = {
        "entities": len(np.unique(labels)),
        "MUC": scores.muc.f1,
        "B3": scores.b3.f1,
        "CEAFe": scores.ceafe.f1,
        "CoNLL": scores.conll.f1,
    }
pd.DataFrame(rows).T.round(3)

# %% [markdown]
# ## The links, ordered by an estimate
#
# A square is the exact probability that two mentions belong to one entity, from white (0) to dark blue (1). Frames are
# the entities with the smallest Binder loss; entities of one mention are left out.

# %%
link_heat_map(document_links(document, by="binder", smallest=2)).figure

# %% [markdown]
# ## How far does the posterior reach?
#
# The credible ball around an estimate holds 95% of the samples. Its radius is a distance in nats (variation of
# information); the coarsest clustering at its border has the fewest entities, the finest the most.

# %%
ball = credible_ball(samples, estimates["vi"], level=0.95)
print(ball)
sizes = {"estimate": estimates["vi"], "coarsest": ball.coarsest[0], "finest": ball.finest[0]}
print("Entities:", {name: len(np.unique(labels)) for name, labels in sizes.items()})
print("Gold is inside:", ball.contains(np.unique(document.gold, return_inverse=True)[1]))

# %% [markdown]
# ## Is this one entity?
#
# Take the largest entity of an estimate: the exact probability that its mentions are one entity to which no other
# mention belongs, and the share of the samples in which they belong together at all.

# %%
labels = estimates["binder"]
largest = np.flatnonzero(labels == np.bincount(labels).argmax())
print([document.mention_text(m)[:30] for m in largest])
print(cluster_probability(distribution, largest))
print((samples.labels[:, largest] == samples.labels[:, largest[:1]]).all(axis=1).mean())
