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
# # 04 Your own events
#
# "Who attacks" is one question. This notebook asks others:
#
# 1. your own **rule**: another verb, in a small text file;
# 2. your own **lexicon**: which words describe one actor;
# 3. a **comparison** of two countries, with the probability that one has more;
# 4. a **question in Python**, for what a rule cannot express.
#
# The news is simulated, as in notebook 01. [docs/rules.md](../docs/rules.md) documents every key of both kinds of file.

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from terminal import run

from corefsample import write_documents
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.plots import actor_comparison, event_bands

temporary = tempfile.TemporaryDirectory()  # removed when the notebook is closed
folder = Path(temporary.name)
documents = [each.document for each in simulate_documents(1000, event_share=0.5, median_mentions=80, seed=4)]
write_documents(documents, folder / "news.parquet")
print(f"{len(documents):,} documents in news.parquet")

# %% [markdown]
# ## A rule file
#
# Which countries shell or open fire? A rule defines which words trigger the event, how a mention can be described as
# a country, and which mentions fill the role. `subject` and `passive_agent` are named paths through the parse: the
# actor who fires, and the actor by whom something was shelled.
#
# The examples at the end are checked whenever the rule is used.

# %%
rule_file = """
version: 1
name: bombard
description: An entity of one country shells, or fires on something.
trigger: {lemma: [shell, fire], upos: [VERB]}
event: [agent]
presets:
  paper:
    described: [head, adjectival_modifier, nominal_modifier]
    roles: {agent: [subject, passive_agent]}
examples:
  - expect: {paper: [ISR]}
    parse: |
      1 Israeli Israeli ADJ 2 amod
      2 tanks tank NOUN 3 nsubj
      3 fired fire VERB 0 root
      4 on on ADP 5 case
      5 villages village NOUN 3 obl
  - expect: {paper: []}
    parse: |
      1 The the DET 2 det
      2 company company NOUN 5 nsubj:pass
      3 was be AUX 5 aux:pass
      4 not not PART 5 advmod
      5 shelled shell VERB 0 root
"""
(folder / "bombard.yaml").write_text(rule_file, encoding="utf-8")
run("corefsample doctor bombard.yaml", folder)

# %% [markdown]
# ### When an example fails
#
# `doctor` reports the example, the expected result and the actual one. Here someone expects that "Israel's army" is not
# Israel's. The command ends with status 3, bad input, so that a script stops too.

# %%
wrong = (
    rule_file
    + """
  - expect: {paper: []}
    parse: |
      1 Israel Israel PROPN 3 nmod:poss
      2 's 's PART 1 case
      3 army army NOUN 4 nsubj
      4 fired fire VERB 0 root
"""
)
(folder / "wrong.yaml").write_text(wrong, encoding="utf-8")
run("corefsample doctor wrong.yaml", folder, status=3)

# %% [markdown]
# ### Counting with the rule

# %%
run("corefsample events news.parquet --rule bombard.yaml --period year --out bombard", folder)
counts = pd.read_csv(folder / "bombard" / "counts.csv")
names = load_lexicon().names
event_bands(counts, list(counts.groupby("actor")["mean"].sum().nlargest(4).index), names=names)

# %% [markdown]
# Each panel is a country, each point a year. The solid line is the posterior mean, the band the 95% credible
# interval, the dashed line the single best resolution.
#
# ## Your own lexicon
#
# Suppose the Caucasus should count as one actor. The file extends the included lexicon and assigns the words of two
# countries to a new code. An entry of the file replaces the entry of the same word in the included lexicon.

# %%
lexicon_file = """
version: 1
extends: countries
entries:
  - code: X-CAUCASUS
    name: Armenia or Azerbaijan
    kind: organisation
    aliases: [Armenia, Armenian, Armenians, Azerbaijan, Azerbaijani, Azerbaijanis]
"""
(folder / "caucasus.yaml").write_text(lexicon_file, encoding="utf-8")
run("corefsample doctor caucasus.yaml", folder)

# %% [markdown]
# The same in Python: a counter with a rule and a lexicon. The region's count is not the sum of the two countries'
# counts: a document in which both act counts once, and an entity described as both countries belongs to neither under
# the included lexicon, but to the region under this one.

# %%
rule = load_rules(folder / "bombard.yaml")
by_lexicon = {}
for title, lexicon in (("shipped", load_lexicon()), ("own", load_lexicon(folder / "caucasus.yaml"))):
    counter = EventCounter(rule, lexicon, period="year", seed=0)
    counter.update(documents)
    table = counter.counts().to_frame()
    by_lexicon[title] = table[table["actor"].isin(["ARM", "AZE", "X-CAUCASUS"]) & (table["period"] == "1993")]
pd.concat(by_lexicon, names=["lexicon", ""])[["actor", "period", "mean", "sd", "lower", "upper"]].round(2)

# %% [markdown]
# ## Two countries compared
#
# Nguyen & O'Connor (2015, section 6.2) ask about 1999: did Yugoslavia attack in more documents than NATO? Two
# overlapping bands do not answer this. The comparison does: it uses the joint distribution of both events in each
# document, and gives the probability that one country has more documents. (In a terminal: `corefsample events
# news.parquet --compare YUG X-NATO --out run`.)
#
# The rule here is the included rule `attack`; any other rule works too.

# %%
counter = EventCounter(load_rules("attack"), period="quarter", seed=0)
counter.update(documents)
posterior = counter.counts()
comparison = posterior.compare("YUG", "X-NATO")
years = comparison[comparison["period"].between("1998Q1", "1999Q4")]
years[["period", "p_first_greater", "p_equal", "p_second_greater", "mean_difference", "lower", "upper"]].round(3)

# %% [markdown]
# The upper panel shows both counts with their bands. In the lower panel, the probability that Yugoslavia has more
# starts at the bottom and that of NATO at the top; the white gap between them is the probability that both have
# equally many. The answer for a quarter is clear where one colour, or the gap, fills the height.

# %%
actor_comparison(posterior.to_frame(), years, names=names)

# %% [markdown]
# ## A question in Python
#
# A rule file cannot ask: **which country is the article mostly about?** Take the country of the entity with the most
# mentions. This depends on the clustering: if "they" joins the wrong entity, another entity is the largest.
#
# A predicate is a function of a document and its sampled clusterings. `labels[s, m]` is the entity of mention `m` in
# sample `s`. The predicate returns, for each name, the samples in which the answer is yes.

# %%
lexicon = load_lexicon()


def protagonist(document, labels):
    """Return for each country the samples in which the largest entity of the article is named as this country."""
    n_samples, n_mentions = labels.shape
    sizes = np.zeros((n_samples, n_mentions), int)
    np.add.at(sizes, (np.arange(n_samples)[:, None], labels), 1)
    largest = sizes.argmax(axis=1)
    words = lexicon.match(document.tokens.text, document.tokens.head, document.date).codes  # token -> country
    named = {}
    for mention, head in enumerate(document.mentions[:, 2].tolist()):
        if head in words:
            named.setdefault(words[head], []).append(mention)
    return {code: (labels[:, mentions] == largest[:, None]).any(axis=1) for code, mentions in named.items()}


counter = EventCounter(predicate=protagonist, period="year", n_samples=200, seed=0)
counter.update(documents[:400])
about = counter.counts().to_frame()
evidence = counter.evidence()
print(f"{evidence['doc_id'].nunique()} of 400 articles name a country in their largest entity in some sample.")
unsure = evidence[evidence["probability"].between(0.05, 0.95)]
print(f"{unsure['doc_id'].nunique()} of them are uncertain (a country has a probability of 5% to 95%).")
about.groupby("actor")[["mean", "one_best"]].sum().nlargest(6, "mean").round(1)

# %%
event_bands(about, list(about.groupby("actor")["mean"].sum().nlargest(4).index), names=names)

# %% [markdown]
# The plot is read as above, but the line now counts articles whose largest entity is that country.
#
# The counter draws the same clusterings for a predicate as for a rule, so answers to several questions about one
# document are consistent.
