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
# # 10 A posterior in ten lines
#
# Scores of any coreference system become a posterior over clusterings. Each question to it is one call: what is the
# best single clustering, which mentions belong together, how many entities are there, how good are the clusterings. The
# document here is simulated news; with scores of your own, `AntecedentDistribution.from_lists(antecedents, scores)`
# replaces it.

# %%
# %matplotlib inline
from importlib.util import find_spec

import corefsample as cs
from corefsample import plots, summaries
from corefsample.links import compare_links
from events import EventCounter, count_samples, load_lexicon, load_rules, simulate_documents

# %%
document = next(iter(simulate_documents(1, seed=3))).document  # mentions, antecedents with scores, tokens, gold
samples = cs.sample_clusterings(document.antecedents, n_samples=1000, doc_id=document.doc_id)
best = summaries.point_estimate(document.antecedents, loss="conll", samples=samples)
links = summaries.document_links(document, by="binder", smallest=2)
counts = summaries.entity_count_posterior(document)
scores = cs.metric_posterior(document.gold, samples, metric="conll")

# %% [markdown]
# ## The best single clustering
#
# `best` is the clustering with the smallest expected loss that the search found, here 1 - CoNLL F1 with a sample as the
# truth. `best.labels` are its entities; the likeliest antecedents, the usual answer, minimise no loss.

# %%
usual = summaries.expected_loss(
    document.antecedents, cs.map_clustering(document.antecedents), loss="conll", samples=samples
)
print(best)
print(f"Expected loss of the likeliest antecedents: {usual.value:.4f} (standard error {usual.mc_se:.4f}).")

# %% [markdown]
# ## Which mentions belong together
#
# A square is the exact probability that two mentions belong to one entity, from white (0) to dark blue (1). Frames are
# the entities with the smallest expected Binder loss.

# %%
plots.link_heat_map(links).figure

# %% [markdown]
# ## How many entities
#
# A bar is the exact probability of this many entities; the marks are the numbers of the likeliest antecedents and of
# the annotation.

# %%
plots.plot(counts)

# %% [markdown]
# ## How good are the clusterings
#
# The posterior of the score needs gold: it is the distribution of CoNLL over the samples.

# %%
print(scores)

# %% [markdown]
# ## Two scorers on the same documents
#
# `compare_links` resamples documents, the same ones for both scorers, and gives each difference with its interval. The
# second scorer here has the scores of the first, divided by two.

# %%
documents = [each.document for each in simulate_documents(40, seed=3)]
flatter = cs.Recalibration(temperature=2.0, new_bias=0.0)
others = [flatter.apply_document(each) for each in documents]
compare_links(cs.link_tables(documents), cs.link_tables(others), n_resamples=500).to_frame()

# %% [markdown]
# ## In ArviZ
#
# Samples of event counts go to ArviZ as a tree of xarray data, with one chain, as the draws are independent. Here the
# counts are those of one event by country and quarter in forty simulated documents (package arviz-base).

# %%
counter = EventCounter(load_rules("attack"), load_lexicon(), n_samples=500)
for simulated in simulate_documents(40, seed=3):
    counter.add(simulated.document)
drawn = count_samples(counter.counts())
if find_spec("arviz_base") is None:
    print("The package arviz-base is not installed, so the samples stay as they are.")
    print(drawn.counts.shape, "samples, actors, periods")
else:
    import arviz_base

    tree = arviz_base.from_dict(
        {"posterior": {"count": drawn.counts[None]}},
        coords={"actor": list(drawn.actors), "period": list(drawn.periods)},
        dims={"count": ["actor", "period"]},
    )
    print(tree["posterior"]["count"].sizes)
    print(tree["posterior"]["count"].sum("period").quantile([0.025, 0.975], dim=["chain", "draw"]).to_pandas())
