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
# # 08 Taggers: is the probability of a tag what it says?
#
# Coreference is one structure among several. A tagger, too, has a posterior distribution over its answers, and the same
# tests apply. This notebook
#
# - trains two taggers on a few sentences, and looks at the posterior of one more;
# - measures the calibration of tags, and of an event of whole sentences;
# - runs small versions of the studies of docs/tagging-studies.md, on the corpora that are available.
#
# It needs the extras `tagging` (python-crfsuite) and, for the studies, `words` (scikit-learn).

# %%
# %matplotlib inline
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from IPython.display import Image, display

from corefsample.calibration import calibration_error
from corefsample.tagging import (
    ConditionalRandomField,
    HiddenMarkovModel,
    TaggedSentence,
    event_pairs,
    labelled_posteriors,
)

# %% [markdown]
# ## A grammar of eight words
#
# The sentences come from a small grammar, so the notebook needs no corpus. "Saw" and "duck" are nouns or verbs.

# %%
rng = np.random.default_rng(0)
NOUNS, VERBS = ["man", "duck", "saw", "dog"], ["saw", "duck", "feed"]


def sentence(number):
    """A sentence of the grammar: DET (ADJ) NOUN VERB (DET NOUN)."""
    words = [("the", "DET")]
    if rng.random() < 0.4:
        words.append((rng.choice(["old", "dog"], p=[0.8, 0.2]), "ADJ"))
    words += [(rng.choice(NOUNS), "NOUN"), (rng.choice(VERBS), "VERB")]
    if rng.random() < 0.6:
        words += [("the", "DET"), (rng.choice(NOUNS), "NOUN")]
    return TaggedSentence([str(word) for word, _ in words], [tag for _, tag in words], f"page {number // 5}")


sentences = [sentence(number) for number in range(900)]
train, test = sentences[:100], sentences[100:]
models = {
    "HMM": HiddenMarkovModel().fit(train),
    "CRF": ConditionalRandomField(l2=0.1).fit(train),
}

# %% [markdown]
# ## The posterior of one sentence
#
# `posterior` returns a `LinearChain`: the distribution over all tag sequences. Its marginals are exact. It can be
# sampled, too: each sample is one complete tag sequence.

# %%
words = ["the", "dog", "duck", "saw"]
chain = models["HMM"].posterior(words)
pd.DataFrame(chain.marginals(), words, models["HMM"].tags).round(3)

# %%
samples = chain.sample(1000, seed=1)
sequences = [" ".join(models["HMM"].tags[code] for code in row) for row in samples]
pd.Series(sequences).value_counts(normalize=True).head(4)

# %% [markdown]
# ## Calibration of tags
#
# Each word and each tag is one prediction-label pair. Words of one page depend on each other, so the interval resamples
# pages. This grammar is close to what an HMM assumes, so here it has the smaller error. On newspaper text it is the
# other way round.

# %%
rows = []
for name, model in models.items():
    pairs = event_pairs(labelled_posteriors(model, test), model.tags)
    error = calibration_error(pairs.q, pairs.y, documents=pairs.documents, bin_size=1000)
    rows.append((name, error.estimate, error.lower, error.upper))
pd.DataFrame(rows, columns=["model", "error", "lower", "upper"]).round(4)

# %% [markdown]
# ## An event of the whole sentence
#
# "The sentence has an ADJ directly before a NOUN" has no simple formula, but samples answer any question. With few
# samples per sentence, chance adds to the error; with 200 it adds little.


# %%
def has_pair(sequences, tags):
    """Whether each sequence of tag codes has an ADJ directly before a NOUN."""
    return ((sequences[:, :-1] == tags.index("ADJ")) & (sequences[:, 1:] == tags.index("NOUN"))).any(axis=1)


rows = []
for name, model in models.items():
    items = list(labelled_posteriors(model, test))
    drawn = [item.chain.sample(200, doc_id=str(number)) for number, item in enumerate(items)]
    shares = [has_pair(samples, model.tags).mean() for samples in drawn]
    labels = [has_pair(item.gold[None], model.tags)[0] for item in items]
    error = calibration_error(shares, labels, documents=[item.doc_id for item in items], n_bins=4)
    rows.append((name, error.estimate, error.lower, error.upper))
pd.DataFrame(rows, columns=["model", "error", "lower", "upper"]).round(4)

# %% [markdown]
# ## The studies, in small
#
# `benchmarks/studies.py` repeats the published studies on open corpora, and docs/tagging-studies.md has the results.
# Here they run with few settings, so figures differ. Each study compares a published claim with what it finds. A study
# whose corpus is not in `../../shared` is skipped.

# %%
sys.path.insert(0, str(Path("..") / "benchmarks"))
from tagger_studies import STUDIES  # noqa: E402
from tagger_studies.corpora import MissingCorpusError  # noqa: E402
from tagger_studies.results import Output  # noqa: E402

scratch = tempfile.TemporaryDirectory()
folder = Path(scratch.name)


def study(name):
    """Run a study, and show its claims."""
    try:
        with open(folder / f"{name}.txt", "w") as stream:
            STUDIES[name](Output(folder, folder, quick=True, stream=stream))
    except MissingCorpusError as error:
        print(f"Skipped: {error}.")
        return None
    return pd.read_csv(folder / f"{name}-claims.csv").style.hide(axis="index")


def picture(name):
    """Show a figure of a study that ran."""
    if (folder / f"{name}.png").exists():
        display(Image(folder / f"{name}.png"))


# %% [markdown]
# ### Equal-width and adaptive bins

# %%
study("figure1")

# %% [markdown]
# Each point is a bin, its line the interval of the share of positive labels. Most predictions are near 0 or 1, so bins
# of equal width in the middle contain few words, and their lines are long.

# %%
picture("study-figure1")

# %% [markdown]
# ### Tweets

# %%
study("tweets")

# %% [markdown]
# A point on the diagonal is right on average; points above it are underconfident, points below it overconfident.

# %%
picture("study-tweets-curves")

# %% [markdown]
# ### Naive Bayes and logistic regression

# %%
study("classification")

# %% [markdown]
# The curve of naive Bayes is flatter than the diagonal: it is overconfident at both ends.

# %%
picture("study-classification-curves")

# %% [markdown]
# ### Bands of simulated news

# %%
study("simulated-claims")

# %% [markdown]
# ## In practice
#
# - Your own tagger needs two arrays: scores of each word's tags, and scores of transitions. `LinearChain.from_scores`
#   takes them, and everything above works.
# - Check calibration on held-out text of the kind that you will tag.
# - For hundreds of tags, recalibrate groups of similar frequency: `python benchmarks/studies.py sparse-tags`.
