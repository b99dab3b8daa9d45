"""Text classifiers: the same posteriors as plain loops and as scikit-learn, through the calls of the taggers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from references.taggers import bernoulli_posterior
from strategies.tagged import random_texts

from corefsample import ParameterError
from corefsample.tagging import event_pairs, labelled_posteriors
from corefsample.tagging._classifiers import LogisticRegression, NaiveBayes
from corefsample.tagging._sentences import LabelledText

pytest.importorskip("sklearn")

UNSEEN = [["w1"], ["w0", "w3", "w3", "w9"], ["never", "seen"], ["w2", "never"]]


@pytest.mark.parametrize("labels", ["xy", "xyz"])
@pytest.mark.parametrize("pseudocount", [0.3, 1.0])
def test_naive_bayes_is_that_of_loops(labels: str, pseudocount: float) -> None:
    texts = random_texts(40, labels)
    model = NaiveBayes(pseudocount=pseudocount).fit(texts)
    for words in UNSEEN:
        expected = bernoulli_posterior([(text.words, text.label) for text in texts], words, pseudocount)
        assert model.tags == tuple(expected)
        np.testing.assert_allclose(model.posterior(words).marginals()[0], list(expected.values()), rtol=1e-10)


@pytest.mark.parametrize("labels", ["xy", "xyz"])
def test_logistic_regression_is_that_of_scikit_learn(labels: str) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression as Theirs

    texts = random_texts(80, labels)
    vectorizer = CountVectorizer(analyzer=lambda words: words, binary=True)
    matrix = vectorizer.fit_transform([text.words for text in texts])
    theirs = Theirs(C=2.0, max_iter=5000, tol=1e-10).fit(matrix, [text.label for text in texts])
    model = LogisticRegression(l2=0.5).fit(texts)
    expected = theirs.predict_proba(vectorizer.transform(UNSEEN))
    found = np.concatenate([model.posterior(words).marginals() for words in UNSEEN])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_a_text_is_a_sequence_of_one_tag_for_all_other_calls() -> None:
    texts = random_texts(30)
    model = NaiveBayes().fit(texts)
    pairs = event_pairs(labelled_posteriors(model, texts), model.tags, ["y"])
    np.testing.assert_array_equal(pairs.y, [text.label == "y" for text in texts])
    assert pairs.n == 30


def test_words_of_too_few_texts_are_ignored() -> None:
    texts = [LabelledText(["a", "b"], "x"), LabelledText(["b", "b"], "y"), LabelledText(["c", "c"], "y")]
    assert NaiveBayes(min_count=2).fit(texts).weights.words == ("b",)
    with pytest.raises(ParameterError, match=r"^texts must have a word in at least 3 texts, got none$"):
        NaiveBayes(min_count=3).fit(texts)
    with pytest.raises(ParameterError, match=r"^texts must have at least 2 labels, got 1$"):
        LogisticRegression().fit(texts[:1])


@pytest.mark.parametrize("kind", [NaiveBayes, LogisticRegression])
def test_without_scikit_learn_the_error_names_the_extra(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sklearn.naive_bayes", "sklearn.linear_model"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ParameterError, match=r"^scikit-learn must be installed, .* 'scikit-learn>=.*'\)$"):
        kind().fit(random_texts(10))


@pytest.mark.parametrize(
    ("kind", "option"),
    [
        *[(NaiveBayes, {"pseudocount": 0.0}), (NaiveBayes, {"min_count": 0})],
        *[(LogisticRegression, option) for option in ({"l2": 0.0}, {"l2": math.inf}, {"max_iterations": 0})],
    ],
)
def test_parameters_outside_their_range_are_rejected(kind: Any, option: dict[str, Any]) -> None:
    with error(ParameterError, *option):
        kind(**option)


@pytest.mark.parametrize(
    ("words", "label", "parameter"), [([], "x", "words"), (["a"], "", "label"), (["a"], 1, "label")]
)
def test_a_labelled_text_checks_its_words_and_label(words: list[str], label: Any, parameter: str) -> None:
    with error(ParameterError, parameter):
        LabelledText(words, label)  # type: ignore[arg-type]


def test_texts_must_be_labelled_texts() -> None:
    with pytest.raises(ParameterError, match=r"^texts must be LabelledText, got 'a' at \[0\]$"):
        NaiveBayes().fit(["a"])  # type: ignore[list-item]
