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
# # 02 Is my coreference model calibrated?
#
# A credible interval is worth what the probabilities behind it are worth. A model is **calibrated** if, of all pairs of
# mentions that it calls coreferent with 70%, some 70% are coreferent. This can be checked wherever entities are
# annotated.
#
# This notebook measures it, asks how sure the measurement is, and mends the model with two numbers.

# %%
# %matplotlib inline
from pathlib import Path

import pandas as pd

from corefsample import read_documents
from corefsample.calibration import curve_of_bins
from corefsample.links import calibrate_links, link_tables
from corefsample.plots import calibration_error_dots, reliability_figure
from corefsample.recalibration import LinkScore, fit_recalibration
from events import simulate_documents

# %% [markdown]
# ## Documents with gold entities
#
# The real ones are the GUM corpus: English text of many genres, with the scores of a small model that never saw the
# document it scored. If the file is not there, simulated documents stand in. Their scores are overconfident on purpose:
# the entities were drawn from milder probabilities than the scores say.

# %%
gum = Path("..") / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
if gum.exists():
    documents = list(read_documents(gum))
    print(f"{len(documents)} documents of GUM.")
else:
    temperature = 1.5
    documents = [each.document for each in simulate_documents(150, temperature=temperature, seed=2)]
    print(
        f"GUM is not there ({gum.name}), so {len(documents)} simulated documents stand in. "
        f"Their scores are what calibrated ones would be, times {temperature}."
    )

# %% [markdown]
# Your own file does as well, `read_documents("annotated.jsonl.gz")`. In a terminal, `corefsample calibrate
# annotated.jsonl.gz --out calibration` does what the next cells do.
#
# ## Pairs of mentions: what was said, and what was true
#
# For each pair of mentions of a document the model gives a probability of belonging to one entity, summed exactly over
# all clusterings. Gold says whether it is so. Pairs of similar probability go into one bin; the **calibration error**
# is the distance between what a bin says and what came true, as a root mean square over all pairs.

# %%
tables = link_tables(documents)
calibration = calibrate_links(tables, bin_size=5000, n_resamples=2000)
overall = calibration.overall
print(f"{overall.curve.bins.n_pairs:,} pairs of {overall.n_documents} documents.")
print(f"Said on average: {overall.mean_q:.4f}. True: {overall.share_true:.4f}.")
print(f"Calibration error: {overall.error:.4f}.")

# %% [markdown]
# ## The reliability curve, and how to read it
#
# To the right: what the model said. Upwards: the share that came true. On the dashed diagonal both agree. A curve
# **below** it is overconfident: things come true less often than was said. Bars show how far a bin could move if other
# documents had been annotated. The lower panel shows how many pairs have such a probability or a higher one: nearly all
# pairs lie at the far left, so the right half of the curve rests on few of them.


# %%
def curve(link_tables):
    """Reliability curve of all pairs, in bins large enough to be told apart."""
    return curve_of_bins(link_tables.by_distance.block_bins(bin_size=50_000))


reliability_figure({"as scored": curve(tables)}, title="Link probabilities against gold")

# %% [markdown]
# (The picture uses larger bins than the figures, so that it can be read.)
#
# ## How sure is the error itself?
#
# Two intervals, and they do not agree. **Algorithm 2** of the paper draws each pair anew as if pairs were independent.
# But one wrong link moves many pairs of its document at once. The other interval draws whole **documents** anew. It is
# the one to go by; the first is far too sure of itself where documents are few and pairs many.

# %%
by_document, simulated = overall.by_document, overall.simulated
print(
    f"By document: {by_document.lower:.4f} to {by_document.upper:.4f}, {by_document.upper - by_document.lower:.4f} wide"
)
print(f"Algorithm 2: {simulated.lower:.4f} to {simulated.upper:.4f}, {simulated.upper - simulated.lower:.4f} wide")
print(f"Test of perfect calibration, by flipping the signs of documents: p = {overall.p_value:.2g}")

# %% [markdown]
# ## Where the error sits
#
# The same, by how far the mentions are apart and by what they are. A dot is the error of a group, its line the interval
# by document. A line that reaches zero is a group where no miscalibration can be shown. An interval speaks of the true
# error, and need not hold the dot: binning adds noise to every estimate.

# %%
calibration_error_dots(calibration.to_frame(), title="Calibration error of link probabilities").figure

# %% [markdown]
# ## Mending it: a temperature and a bias
#
# New score = score / temperature - bias. A temperature above 1 takes confidence away, one below 1 adds it; a positive
# bias makes new entities likelier. The two numbers are fitted on one half of the documents and shown on the other,
# **held out**: a fit always looks good on what it was fitted to.

# %%
fitted_on, held_out = documents[0::2], documents[1::2]
fits = {
    "likelihood": fit_recalibration(fitted_on, objective="likelihood"),
    "links (log score)": fit_recalibration(fitted_on, objective=LinkScore("log")),
}
for name, fit in fits.items():
    mended = fit.recalibration
    print(f"{name:<18} temperature {mended.temperature:.3f}, NEW bias {mended.new_bias:+.3f}")

# %% [markdown]
# The two fits ask for different things: the first for right antecedents, the second for right links. Counts of events
# hang on links, so the second is the one to look at if counts are what you want
# ([docs/recalibration.md](../docs/recalibration.md) says more, and fits to questions about entities directly).

# %%
held_out_tables = {"as scored": link_tables(held_out)}
for name, fit in fits.items():
    held_out_tables[name] = link_tables(fit.recalibration.apply_document(document) for document in held_out)
results = {name: calibrate_links(each, n_resamples=2000) for name, each in held_out_tables.items()}

rows = []
for name, result in results.items():
    group = result.overall
    rows.append(
        {
            "held-out documents": name,
            "said": group.mean_q,
            "true": group.share_true,
            "error": group.error,
            "lower": group.by_document.lower,
            "upper": group.by_document.upper,
            "p": group.p_value,
        }
    )
before_and_after = pd.DataFrame(rows)
before_and_after.round(4)

# %% [markdown]
# How to read it: `said` against `true` is the bias on average, which adds up in counts. `error` is the calibration
# error, `lower` and `upper` its interval by document. If the intervals before and after overlap widely, the change is
# small beside what the choice of documents does; `said` moving towards `true` still matters for counts.
#
# In the picture, the curve that lies nearer to the dashed diagonal is the better calibrated one; where the bars of both
# cross the diagonal, neither can be told from perfect.

# %%
reliability_figure(
    {name: curve(held_out_tables[name]) for name in ("as scored", "links (log score)")},
    title="Held-out documents, before and after",
)

# %% [markdown]
# The same by kind of mentions: a dot is the error of a kind, its line the interval by document. One temperature and one
# bias serve all kinds alike: where one kind was too sure and another not sure enough, mending one can worsen the other.

# %%
kinds = pd.concat(results[name].to_frame().assign(partition=name) for name in ("as scored", "links (log score)"))
kinds = kinds[kinds["group"].str.contains("all pairs|name|noun|pronoun")]
calibration_error_dots(kinds, title="Held-out documents, by kind of mentions").figure

# %% [markdown]
# ## And now?
#
# - Mend the scores of the documents you count in: `corefsample recalibrate annotated.jsonl.gz news.parquet --out
#   mended.parquet`, then count in `mended.parquet`.
# - The annotated documents should be like the ones you count in: same scorer, same kind of text. Two numbers fitted on
#   one genre need not serve another.
# - What calibration does for intervals of counts: notebook 03.
