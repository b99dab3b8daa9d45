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
# # 12 Parses: the alternatives that a parser does not show
#
# A parser returns its best tree. Sampled parses show which others it considered, and how likely each is.

# %%
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import spacy

from corefsample.parses import parse_samples
from corefsample.trees import ArcDistribution

# %% [markdown]
# ## Trees from scores of arcs
#
# Three words, "saw her duck", with scores that leave two readings: her bird, or the movement that she made. Rows are
# dependents; column 0 is the root, column k word k - 1. Everything about the distribution is exact, and samples agree.

# %%
words = ["saw", "her", "duck"]
scores = np.array([[4.0, -np.inf, -3.0, -3.0], [-3.0, 1.5, -np.inf, 2.0], [-3.0, 2.5, 0.5, -np.inf]])
arcs = ArcDistribution.from_scores(scores)
pd.DataFrame(arcs.marginals().round(3), index=words, columns=["root", *words])

# %%
trees = Counter(map(tuple, arcs.sample(10_000, seed=0).tolist()))
pd.DataFrame(
    [
        {
            "heads": ", ".join(
                f"{word} <- {'root' if head < 0 else words[head]}" for word, head in zip(words, tree, strict=True)
            ),
            "share of samples": count / 10_000,
            "probability": np.exp(arcs.log_prob(tree)),
        }
        for tree, count in trees.most_common(4)
    ]
).round(4)

# %% [markdown]
# Heads drawn word by word, each from its own softmax, need not form a tree:

# %%
print(f"they form one with probability {arcs.independent_tree_probability():.2f}")

# %% [markdown]
# ## Parses of a spaCy pipeline
#
# `parse_samples` draws whole parses from a pipeline's own parser. This part needs a pipeline: one installed as
# en_core_web_sm, or in ../../shared/models.

# %%
names = ("en_core_web_sm", "../../shared/models/en_core_web_sm")
found = [name for name in names if spacy.util.is_package(name) or Path(name).exists()]
nlp = spacy.load(found[0]) if found else None
if nlp is None:
    print("no pipeline is there: the rest of this notebook shows nothing")

# %%
if nlp is not None:
    doc = nlp("The soldiers attacked the village with the bridge on Monday.")
    parses = parse_samples(nlp, doc, 200, seed=0)
    rows = []
    for token in doc:
        heads = Counter((parse[token.i].head.text, parse[token.i].dep_) for parse in parses)
        best = ", ".join(f"{head} ({label}) {count / 200:.2f}" for (head, label), count in heads.most_common(3))
        rows.append({"word": token.text, "usual parse": f"{token.head.text} ({token.dep_})", "samples": best})
    print(pd.DataFrame(rows).to_string(index=False))

# %% [markdown]
# ## What the shares say
#
# The attachment of "with" and "on" is where the parser hesitates; subject and object are nearly certain. Whether such
# shares are right is a question for a treebank: the study benchmarks/parse_calibration.py measures them, and fits the
# temperature at which they are (docs/parses.md).
