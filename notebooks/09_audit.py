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
# # 09 Audit: what the interval does not cover
#
# The interval of `corefsample events` covers the uncertainty of coreference. It takes the rule, the lexicon, the parse
# and the choice of documents as correct. Here the rule is wrong on purpose, and some hundred labels repair the counts:
#
# 1. `corefsample audit plan` draws a random sample of documents to label;
# 2. a person labels them on a page, `sheet.html`; in this notebook the simulation does, because it knows the truth;
# 3. `corefsample audit estimate` turns the labels into counts whose intervals hold whatever the model's errors are.

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import pandas as pd
from terminal import run

from corefsample import read_documents, write_documents
from events import TrueEvents, load_rules, simulate_documents
from events.plots import audit_bands

temporary = tempfile.TemporaryDirectory()  # removed when the notebook is closed
folder = Path(temporary.name)

# %% [markdown]
# ## News, and a wrong rule
#
# The news is that of `corefsample demo`: simulated articles of ten years, in which the entities, and so the events, are
# known.

# %%
news = folder / "news.parquet"
truth = TrueEvents(load_rules("attack", "paper"), period="year")
simulated = simulate_documents(1500, seed=0, event_share=0.3, apart=truth.apart)
write_documents((each.document for each in simulated), news)

# %% [markdown]
# The rule below is `attack` with two errors. It looks for the agent of the verb in the wrong place where the sentence
# is passive: of "the town was attacked by the army" it takes the town. And it knows only descriptions by an adjective
# ("Iraqi troops"), not by a name ("Iraq attacked").

# %%
(folder / "wrong.yaml").write_text(
    """
version: 1
name: attack
question: {actor: "{actor} attacked"}
trigger:
  lemma: [attack]
event: [agent]
presets:
  paper:
    described: [adjectival_modifier]
    roles:
      agent: [subject, passive_subject]
"""
)
run(
    "corefsample events news.parquet --rule wrong.yaml --period year --samples 400 --no-pictures --out run",
    folder,
)

# %% [markdown]
# The truth: documents in which Israel attacks, by the correct rule and the true entities.

# %%
truth.update(read_documents(news))
events = truth.to_frame()
events = events[events["actor"] == "ISR"]
positive = set(events["doc_id"])
true_counts = events.groupby("period").size()
true_counts

# %% [markdown]
# ## The sample
#
# 300 of the 1,500 documents, most of them where P leaves most doubt, and some in every stratum. Documents with P = 0
# are drawn too: that is where a wrong rule hides what it misses. The label answers a question about one actor, which
# the plan prints.

# %%
run("corefsample audit plan run --actors ISR --labels 300 --out audit", folder)

# %% [markdown]
# `audit/sheet.html` opens in a browser and shows one document at a time: Y, N and U label it, B goes back, T writes a
# note. It exports the sheet with its labels. Here the truth fills in the column `label`.

# %%
sheet = pd.read_csv(folder / "audit" / "sheet.csv", keep_default_na=False)
sheet["label"] = sheet["doc_id"].isin(positive).map({True: "yes", False: "no"})
sheet.to_csv(folder / "audit" / "sheet.csv", index=False)
sheet[["doc_id", "date", "stratum", "label"]].head()

# %% [markdown]
# ## The estimate
#
# Precision and recall say how wrong the rule is.

# %%
run("corefsample audit estimate run audit/sheet.csv --no-pictures", folder)

# %%
audited = pd.read_csv(folder / "audit" / "audited.csv", keep_default_na=False)
audited["true"] = audited["period"].map(true_counts).fillna(0).astype(int)
audited.loc[audited["period"] == "total", "true"] = len(positive)
columns = ["period", "n_docs", "n_labelled", "true", "estimate", "lower", "upper"]
audited[[*columns, "model_mean", "model_lower", "model_upper"]].round(1)

# %% [markdown]
# The model is sure of wrong counts: in several years its bands miss the truth (crosses). The audited intervals are
# wide, because a year has some thirty labels; that of the total is much narrower than these together.

# %%
periods = audited.loc[audited["period"] != "total"]
crosses = pd.DataFrame({"actor": "ISR", "period": periods["period"], "count": periods["true"]})
audit_bands(audited, truth=crosses)

# %% [markdown]
# How many intervals hold the truth?


# %%
def share_held(table: pd.DataFrame, lower: str, upper: str) -> str:
    """How many periods have their true count within these limits."""
    rows = table[table["period"] != "total"]
    held = (rows[lower] <= rows["true"]) & (rows["true"] <= rows[upper])
    return f"{held.sum()} of {len(rows)}"


print("model  ", share_held(audited, "model_lower", "model_upper"))
print("audited", share_held(audited, "lower", "upper"))
total = audited[audited["period"] == "total"].iloc[0]
assert total["lower"] <= total["true"] <= total["upper"]

# %% [markdown]
# ## Narrower intervals, at the price of an assumption
#
# If the rule fails in the same way in every year, the labels of all years say how P is to be corrected in each:
# `corefsample audit learn` learns the probability that a reader says yes from them. That is an assumption, and the
# picture says so: no random sample guarantees it.

# %%
run("corefsample audit learn run audit/sheet.csv --no-pictures --out learned", folder)
learned = pd.read_csv(folder / "learned" / "learned_counts.csv", keep_default_na=False)
learned["true"] = audited["true"]
print("learned:", share_held(learned, "lower", "upper"))
audit_bands(learned, truth=crosses)

# %% [markdown]
# ## What the model got wrong
#
# The documents where label and P disagree most are the place to start repairing the rule; `disagreements.csv` has their
# texts. The page of the run shows the labels beside P, the audited counts beside the model's, and the documents without
# evidence: `corefsample report run --audit audit`.

# %%
wrong = pd.read_csv(folder / "audit" / "disagreements.csv", keep_default_na=False)
wrong.head()
