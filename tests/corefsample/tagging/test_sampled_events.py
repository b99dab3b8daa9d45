"""Sampled events of sentences: shares agree with enumeration, and their noise does not look like miscalibration."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from expected_errors import error
from references.taggers import CountedHmm, probability
from strategies.tagged import random_sentences
from tolerance import plausible_counts

from corefsample import ParameterError
from corefsample.calibration import calibration_error
from corefsample.tagging import HiddenMarkovModel, followed_by, labelled_posteriors, sampled_events

TRAINING = random_sentences(30)
MODEL = HiddenMarkovModel().fit(TRAINING)
SENTENCES = random_sentences(40, seed=5)
AB = followed_by(MODEL.tags, "A", "B")


def enumerated() -> list[float]:
    """Probability of an A directly followed by a B, for each sentence."""
    reference = CountedHmm([(s.words, s.tags) for s in TRAINING], 1.0)
    return [
        probability(reference.posterior(s.words), lambda tags: ("A", "B") in itertools.pairwise(tags))
        for s in SENTENCES
    ]


def test_shares_agree_with_enumeration() -> None:
    found = sampled_events(labelled_posteriors(MODEL, SENTENCES), AB, n_samples=2000, seed=1)
    expected = enumerated()
    for hits in (found.hits_a, found.hits_b):
        assert plausible_counts(hits, 1000, expected).all()
    # The tolerance is small enough to notice a neighbour in the wrong order.
    reversed_pair = sampled_events(
        labelled_posteriors(MODEL, SENTENCES), followed_by(MODEL.tags, "B", "A"), n_samples=2000, seed=1
    )
    assert not plausible_counts(reversed_pair.hits_a, 1000, expected).all()


def test_labels_are_those_of_the_gold_tags() -> None:
    found = sampled_events(labelled_posteriors(MODEL, SENTENCES), AB, n_samples=2)
    expected = [float(("A", "B") in itertools.pairwise(sentence.tags)) for sentence in SENTENCES]
    assert 0 < sum(expected) < len(expected)
    np.testing.assert_array_equal(found.y, expected)
    assert found.to_frame()["doc_id"].tolist() == [sentence.doc_id for sentence in SENTENCES]


def test_equal_sentences_have_samples_of_their_own() -> None:
    sentence = max(SENTENCES, key=lambda each: len(each.words))
    found = sampled_events(labelled_posteriors(MODEL, [sentence] * 30), AB, n_samples=100)
    assert len(set(found.hits_a.tolist())) > 1


def test_samples_do_not_depend_on_other_documents() -> None:
    every = sampled_events(labelled_posteriors(MODEL, SENTENCES), AB, n_samples=20, seed=3)
    last = [sentence for sentence in SENTENCES if sentence.doc_id == "doc9"]
    alone = sampled_events(labelled_posteriors(MODEL, last), AB, n_samples=20, seed=3)
    np.testing.assert_array_equal(every.hits_a[every.documents == every.doc_ids.index("doc9")], alone.hits_a)


def test_the_naive_error_is_that_of_the_shares() -> None:
    found = sampled_events(labelled_posteriors(MODEL, SENTENCES), AB, n_samples=10)
    direct = calibration_error(found.q, found.y, n_bins=3, n_samples=10, interval=None)
    assert found.error(n_bins=3).naive == pytest.approx(direct.estimate, abs=1e-12)


# --- bad input ---------------------------------------------------------------------------------------------


def test_a_query_must_answer_with_one_truth_value_per_sequence() -> None:
    def counts(sequences: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        return (sequences == 0).sum(axis=1)

    with pytest.raises(ParameterError, match=r"^query must return bool \(10,\), got int64 of shape \(10,\)$"):
        sampled_events(labelled_posteriors(MODEL, SENTENCES), counts, n_samples=10)


@pytest.mark.parametrize("n_samples", [3, 0])
def test_the_number_of_samples_must_be_even(n_samples: int) -> None:
    with error(ParameterError, "n_samples"):
        sampled_events(labelled_posteriors(MODEL, SENTENCES), AB, n_samples=n_samples)


def test_without_a_sentence_or_a_known_tag_there_is_an_error() -> None:
    with error(ParameterError, "posteriors"):
        sampled_events([], AB)
    with error(ParameterError, "second"):
        followed_by(MODEL.tags, "A", "X")
