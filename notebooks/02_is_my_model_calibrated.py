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
# A credible interval is only as good as the probabilities behind it. A model is **calibrated** if, of all pairs of
# mentions to which it gives a probability of 70%, about 70% are coreferent. This can be checked wherever entities are
# annotated.
#
# This notebook measures calibration, computes how uncertain the measurement is, and recalibrates the model with two
# numbers.

# %%
# %matplotlib inline
from pathlib import Path

import pandas as pd

from corefsample import link_tables, read_documents
from corefsample.calibration import reliability_curve
from corefsample.links import calibrate_links
from corefsample.plots import calibration_error_dots, reliability_figure
from corefsample.recalibration import RecalibrationFitter
from events import simulate_documents

# %% [markdown]
# ## Documents with gold entities
#
# The real documents are the GUM corpus: English text of many genres, with the scores of a small model that was not
# trained on the document it scored. If the file is missing, simulated documents are used. Their scores are
# overconfident on purpose: the entities were drawn from less extreme probabilities than the scores give.

# %%
gum = Path("..") / ".." / "shared" / "data" / "gum" / "gum-scored.jsonl.gz"
if gum.exists():
    documents = list(read_documents(gum))
    print(f"{len(documents)} documents of GUM.")
else:
    temperature = 1.5
    documents = [each.document for each in simulate_documents(150, temperature=temperature, seed=2)]
    print(
        f"GUM is not available ({gum.name}), so {len(documents)} simulated documents are used. "
        f"Their scores are what calibrated ones would be, times {temperature}."
    )

# %% [markdown]
# You can use your own file: `read_documents("annotated.jsonl.gz")`. In a terminal, `corefsample calibrate
# annotated.jsonl.gz --out calibration` does the same as the next cells.
#
# ## Pairs of mentions: predicted probability and truth
#
# For each pair of mentions of a document the model gives a probability of belonging to one entity, summed exactly
# over all clusterings. Gold gives the truth. Pairs of similar probability go into one bin; the **calibration error**
# is the difference between the mean probability of a bin and its share of coreferent pairs, as a root mean square
# over all pairs.

# %%
tables = link_tables(documents)
calibration = calibrate_links(tables, bin_size=5000, n_resamples=2000)
overall = calibration.overall
print(f"{overall.curve.bins.n_pairs:,} pairs of {overall.n_documents} documents.")
print(f"Predicted on average: {overall.mean_q:.4f}. True: {overall.share_true:.4f}.")
print(f"Calibration error: {overall.error:.4f}.")

# %% [markdown]
# ## How to read the reliability curve
#
# The horizontal axis is the predicted probability, the vertical axis the share of coreferent pairs. On the dashed
# diagonal they are equal. A curve **below** the diagonal is overconfident: pairs are coreferent less often than
# predicted. Bars show how much a bin would vary if other documents had been annotated. The lower panel shows how many
# pairs have at least this probability: almost all pairs are at the far left, so the right half of the curve rests on
# few of them.


# %%
def curve(links):
    """Reliability curve of all pairs, in large bins."""
    return reliability_curve(links.q, links.y, documents=links.documents, bin_size=50_000)


reliability_figure({"as scored": curve(tables)}, title="Link probabilities against gold")

# %% [markdown]
# (The plot uses larger bins than the numbers, to be readable.)
#
# ## How uncertain is the error?
#
# The two intervals disagree. The second one assumes independent **pairs**. But one wrong link changes many pairs of its
# document at once, so the first one resamples **documents**. Use that one; the other is much too narrow where there are
# few documents and many pairs. Algorithm 2 of the paper assumes independent pairs too, and adds the noise of the labels
# a second time: `calibration_error(q, y, interval="algorithm2")` computes it.

# %%
by_document, simulated = overall.by_document, overall.simulated
print(
    f"By document: {by_document.lower:.4f} to {by_document.upper:.4f}, {by_document.upper - by_document.lower:.4f} wide"
)
print(f"By pair: {simulated.lower:.4f} to {simulated.upper:.4f}, {simulated.upper - simulated.lower:.4f} wide")
print(f"Test of perfect calibration, by flipping the signs of documents: p = {overall.p_value:.2g}")

# %% [markdown]
# ## Which pairs have the error
#
# The same by distance and by type of the mentions. A dot is the error of a group, its line the interval by document.
# If the line includes zero, the data show no miscalibration in that group. The interval is that of the true error and
# may exclude the dot, because binning adds noise to every estimate.

# %%
calibration_error_dots(calibration.to_frame(), title="Calibration error of link probabilities").figure

# %% [markdown]
# ## Recalibration: a temperature and a bias
#
# New score = score / temperature - bias. A temperature above 1 reduces confidence, one below 1 increases it; a
# positive bias makes new entities more probable. The two numbers are fitted on one half of the documents and
# evaluated on the other, **held-out** half: a fit always looks good on the data it was fitted to.

# %%
fitted_on, held_out = documents[0::2], documents[1::2]
fits = {
    "likelihood": RecalibrationFitter(fitted_on, objective="likelihood").fit(),
    "links-log": RecalibrationFitter(fitted_on, objective="links-log").fit(),
}
for name, fit in fits.items():
    recalibration = fit.recalibration
    print(f"{name:<18} temperature {recalibration.temperature:.3f}, NEW bias {recalibration.new_bias:+.3f}")

# %% [markdown]
# The two fits have different objectives: the first calibrates antecedents, the second links. Counts of events depend on
# links, so use the second if you want counts ([docs/recalibration.md](../docs/recalibration.md) has more).

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
            "predicted": group.mean_q,
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
# How to read it: `predicted` against `true` is the average bias, which adds up in counts. `error` is the calibration
# error, `lower` and `upper` its interval by document. If the intervals before and after overlap widely, the change is
# small compared with the effect of the choice of documents; `predicted` moving towards `true` still matters for counts.
#
# In the plot, the curve nearer to the dashed diagonal is the better calibrated one; where the bars of both cross the
# diagonal, neither can be distinguished from perfect calibration.

# %%
reliability_figure(
    {name: curve(held_out_tables[name]) for name in ("as scored", "links-log")},
    title="Held-out documents, before and after",
)

# %% [markdown]
# The same by type of mentions: a dot is the error of a type, its line the interval by document. One temperature and one
# bias apply to all types. If one type was overconfident and another underconfident, improving one can worsen the other.

# %%
kinds = pd.concat(results[name].to_frame().assign(partition=name) for name in ("as scored", "links-log"))
kinds = kinds[kinds["group"].str.contains("all pairs|name|noun|pronoun")]
calibration_error_dots(kinds, title="Held-out documents, by kind of mentions").figure

# %% [markdown]
# ## Next steps
#
# - Recalibrate the documents that you count in: `corefsample recalibrate annotated.jsonl.gz news.parquet --out
#   recalibrated.parquet`, then count in `recalibrated.parquet`.
# - The annotated documents should be like the ones you count in: same scorer, same kind of text. Two numbers fitted on
#   one genre may be wrong for another.
# - What calibration does for intervals of counts: notebook 03.
