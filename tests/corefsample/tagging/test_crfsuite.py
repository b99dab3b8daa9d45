"""Marginals of a conditional random field that python-crfsuite trained, against its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corefsample.tagging import LinearChain

pycrfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed")

SENTENCES = [
    ("the dog saw a cat", "D N V D N"),
    ("a cat saw the old dog", "D N V D A N"),
    ("old dogs sleep", "A N V"),
    ("the saw cut the old wood", "D N V D A N"),
    ("they saw wood", "P V N"),
    ("they cut a dog", "P V D N"),
]


def test_marginals_are_those_of_crfsuite(tmp_path: Path) -> None:
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({"c2": 0.1, "max_iterations": 50, "feature.possible_transitions": True})
    for words, tags in SENTENCES:
        trainer.append([[f"word={word}"] for word in words.split()], tags.split())
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    labels, info = tagger.labels(), tagger.info()
    pairwise = np.array([[info.transitions.get((s, t), 0.0) for t in labels] for s in labels])
    for words, _ in [*SENTENCES, ("the the saw saw unknown wood dog", "")]:
        features = [f"word={word}" for word in words.split()]
        unary = np.array([[info.state_features.get((each, t), 0.0) for t in labels] for each in features])
        tagger.set([[each] for each in features])
        expected = [[tagger.marginal(t, i) for t in labels] for i in range(len(features))]
        chain = LinearChain.from_scores(unary, pairwise)
        np.testing.assert_allclose(chain.marginals(), expected, atol=1e-6, rtol=0.0)
        gold = [labels.index(t) for t in tagger.tag()]
        assert chain.map().tolist() == gold
        assert np.exp(chain.log_prob(gold)) == pytest.approx(tagger.probability(tagger.tag()), abs=1e-6)
