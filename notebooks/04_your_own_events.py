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
# 1. a **rule** of your own: another verb, in a small text file;
# 2. a **lexicon** of your own: who counts as one actor;
# 3. a **comparison** of two countries, with the probability that one has more;
# 4. a **question in Python**, for what no rule can say.
#
# The news is simulated, as in notebook 01. [docs/rules.md](../docs/rules.md) has every key of the two kinds of file.

# %%
# %matplotlib inline
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from terminal import run

from corefsample import write_documents
from events import EventCounter, load_lexicon, load_rules, simulate_documents
from events.plots import country_comparison, event_bands

temporary = tempfile.TemporaryDirectory()  # goes when the notebook is closed
folder = Path(temporary.name)
documents = [each.document for each in simulate_documents(1000, event_share=0.5, median_mentions=80, seed=4)]
write_documents(documents, folder / "news.parquet")
print(f"{len(documents):,} documents in news.parquet")

# %% [markdown]
# ## A rule file
#
# Which countries shell or open fire? A rule says which words trigger the event, how a mention can be described as a
# country, and which mentions fill the role. `subject` and `passive_agent` are named paths through the parse: the one
# who fires, and the one by whom something was shelled.
#
# The examples at the end are not decoration. They are checked whenever the rule is used.

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
# The doctor says which one, what it should have found, and what it did. Here someone expects that "Israel's army" is
# not Israel's. The command ends with status 3, bad input, so that a script stops too.

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
# ### Counting with it

# %%
run("corefsample events news.parquet --rule bombard.yaml --period year --out bombard", folder)
counts = pd.read_csv(folder / "bombard" / "counts.csv")
names = load_lexicon().names
event_bands(counts, list(counts.groupby("country")["mean"].sum().nlargest(4).index), names=names)

# %% [markdown]
# How to read it: a panel a country, a point a year. The solid line is the posterior mean, the band the 95% credible
# interval, the dashed line the single best resolution.
#
# ## A lexicon of your own
#
# Suppose the Caucasus shall count as one actor. The file starts from the shipped lexicon and gives the words of two
# countries to a new code. What a file says of a word replaces what the shipped lexicon says of it.

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
# The same in Python: a counter with a rule and a lexicon. The region's count is not the sum of the two countries': a
# document in which both act counts once, and an entity that the model can't tell apart between the two is nobody's for
# the shipped lexicon, but the region's for this one.

# %%
rule = load_rules(folder / "bombard.yaml")
by_lexicon = {}
for title, lexicon in (("shipped", load_lexicon()), ("own", load_lexicon(folder / "caucasus.yaml"))):
    counter = EventCounter(rule, lexicon, period="year", seed=0)
    counter.update(documents)
    table = counter.counts().to_frame()
    by_lexicon[title] = table[table["country"].isin(["ARM", "AZE", "X-CAUCASUS"]) & (table["period"] == "1993")]
pd.concat(by_lexicon, names=["lexicon", ""])[["country", "period", "mean", "sd", "lower", "upper"]].round(2)

# %% [markdown]
# ## Two countries compared
#
# Nguyen & O'Connor (2015, section 6.2) ask of 1999: did Yugoslavia attack in more documents than NATO? Two bands that
# overlap do not answer that. The comparison does: it takes the joint law of both counts, document by document, and
# gives the probability that one has more. (In a terminal: `corefsample events news.parquet --compare YUG X-NATO --out
# run`.)
#
# The rule here is the shipped one, `attack`; any other does as well.

# %%
counter = EventCounter(load_rules("attack"), period="quarter", seed=0)
counter.update(documents)
posterior = counter.counts()
comparison = posterior.compare("YUG", "X-NATO")
years = comparison[comparison["period"].between("1998Q1", "1999Q4")]
years[["period", "p_first_greater", "p_equal", "p_second_greater", "mean_difference", "lower", "upper"]].round(3)

# %% [markdown]
# How to read the picture: above, both counts with their bands. Beneath, Yugoslavia's probability to have more stands on
# the floor and NATO's hangs from the top; the white gap between them is the probability that both have as many. A
# quarter is settled where one colour, or the gap, fills the height. Elsewhere it is not, whatever the lines above seem
# to say.

# %%
country_comparison(posterior.to_frame(), years, names=names)

# %% [markdown]
# ## A question in Python
#
# No rule file can ask: **which country is the article mostly about?** Say, the country of the entity with most
# mentions. Who that is hangs on the clustering: where "they" joins the wrong entity, another one is the largest.
#
# A predicate is a function of a document and its sampled clusterings. `labels[s, m]` says to which entity mention `m`
# belongs in sample `s`. It returns, for each name, in which samples the answer is yes.

# %%
lexicon = load_lexicon()


def protagonist(document, labels):
    """Say for each country in which samples the largest entity of the article is named as this country."""
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
print(f"{unsure['doc_id'].nunique()} of them are unsure of it (a country has a probability of 5% to 95%).")
about.groupby("country")[["mean", "one_best"]].sum().nlargest(6, "mean").round(1)

# %%
event_bands(about, list(about.groupby("country")["mean"].sum().nlargest(4).index), names=names)

# %% [markdown]
# How to read it: as above, but the line now counts articles whose largest entity is that country.
#
# The counter draws the same clusterings for a predicate as for a rule, so answers to several questions about one
# document fit together.
