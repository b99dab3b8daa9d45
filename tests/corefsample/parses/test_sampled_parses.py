"""Pairs, calibration and temperatures of sampled parses: values derived by hand, and a plain loop."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from corefsample.documents._tokens import Tokens
from corefsample.errors import InputError, ParameterError
from corefsample.parses._calibration import calibrate_parses, fit_temperature
from corefsample.parses._pairs import gold_score, parse_pairs, properties_of

WORDS = ["They", "saw", "her", "duck"]
UPOS = ["PRON", "VERB", "PRON", "NOUN"]


def parse(heads: Sequence[int], labels: str, words: Sequence[str] = WORDS) -> Tokens:
    n = len(heads)
    return Tokens(
        text=list(words), lemma=[w.lower() for w in words], upos=UPOS[:n], dep=labels.split(), head=heads, sent=[0] * n
    )


GOLD = parse([1, -1, 3, 1], "nsubj root nmod:poss obj")
OTHER = parse([1, -1, 1, 2], "nsubj ROOT obj xcomp")
SAMPLES = [GOLD, GOLD, GOLD, OTHER]  # 3 of 4 are right


def test_pairs_of_arcs_by_hand() -> None:
    # Tokens 0 and 1 agree in all samples (P = 1, right). Token 2: head 3 in 3 of 4 (right), head 1 in 1 of 4 (wrong);
    # token 3: head 1 in 3 of 4 (right), head 2 in 1 of 4 (wrong).
    pairs = parse_pairs(GOLD, SAMPLES)
    for name in ("arcs", "labelled arcs", "paths of 1 arc"):
        assert sorted(zip(pairs[name].q.tolist(), pairs[name].y.tolist(), strict=True)) == [
            *[(0.25, 0)] * 2,
            *[(0.75, 1)] * 2,
            *[(1.0, 1)] * 2,
        ]
        assert (pairs[name].n_gold, pairs[name].n_found) == (4, 4)


def test_a_path_that_no_sample_has_is_not_found() -> None:
    pairs = parse_pairs(GOLD, [OTHER])
    # Gold paths of 2 arcs: 0 -> 1 -> root, 2 -> 3 -> 1, 3 -> 1 -> root. OTHER has the first, and 2 -> 1 -> root and
    # 3 -> 2 -> 1, of which no gold path is one.
    paths = pairs["paths of 2 arcs"]
    assert sorted(paths.y.tolist()) == [0, 0, 1]
    assert (paths.n_gold, paths.n_found) == (3, 1)
    assert pairs["paths of 4 arcs"].n_gold == 0  # the deepest token is 3 arcs below the root


def plain_paths(tokens: Tokens, length: int) -> list[object]:
    paths: list[object] = []
    for token in range(len(tokens)):
        path, here = [], token
        while here >= 0 and len(path) < length:
            path.append((int(tokens.head[here]), tokens.dep[here].lower()))
            here = int(tokens.head[here])
        paths.append((token, *path) if len(path) == length else None)
    return paths


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_paths_agree_with_a_plain_loop(length: int) -> None:
    rng = np.random.default_rng(length)
    parses = []
    for _ in range(30):
        heads = [-1] + [int(rng.integers(i)) for i in range(1, 12)]  # deeper than 7 at times
        labels = ["root", *(str(rng.choice(["nsubj", "obj", "nmod"])) for _ in heads[1:])]
        words = [f"w{i}" for i in range(12)]
        parses.append(Tokens(text=words, lemma=words, upos=["NOUN"] * 12, dep=labels, head=heads, sent=[0] * 12))
    pairs = parse_pairs(parses[0], parses[1:])[f"paths of {length} arc{'s' * (length > 1)}"]
    gold = set(plain_paths(parses[0], length)) - {None}
    counts = Counter(path for each in parses[1:] for path in plain_paths(each, length) if path is not None)
    expected = sorted((count / 29, int(path in gold)) for path, count in counts.items())
    found = sorted(zip(pairs.q.tolist(), pairs.y.tolist(), strict=True))
    np.testing.assert_allclose(np.reshape(found, (-1, 2)), np.reshape(expected, (-1, 2)))


def test_parses_of_two_schemes_share_their_roles() -> None:
    universal = parse([1, -1, 3, 1], "nsubj root nmod:poss obj")
    clearnlp = parse([1, -1, 3, 1], "nsubj ROOT poss dobj")
    roles = properties_of([universal, clearnlp], ["ud2", "clearnlp"])
    assert list(roles) == ["roles"]
    np.testing.assert_array_equal(roles["roles"][0], roles["roles"][1])
    pairs = parse_pairs(universal, [clearnlp], schemes=("ud2", "clearnlp"))
    assert pairs["roles"].y.tolist() == [1] * len(pairs["roles"].y)


def test_paths_of_a_rule_start_at_tokens_of_its_parts_of_speech() -> None:
    roles = {"subject": {"ud2": (">nsubj",)}, "object": {"ud2": (">obj",)}}
    pairs = parse_pairs(GOLD, SAMPLES, roles=roles, upos=frozenset(["VERB"]))["role paths"]
    # saw -> They in all; saw -> duck in 3 of 4; saw -> her (its object in OTHER) in 1 of 4.
    assert sorted(zip(pairs.q.tolist(), pairs.y.tolist(), strict=True)) == [(0.25, 0), (0.75, 1), (1.0, 1)]


def test_the_likelihood_is_that_of_the_gold_arcs() -> None:
    # (c + 1/2) / (S + 1): twice 4 of 4, twice 3 of 4
    expected = 2 * math.log(4.5 / 5) + 2 * math.log(3.5 / 5)
    assert gold_score(GOLD, SAMPLES, by="likelihood") == pytest.approx(expected)


def test_the_brier_score_by_hand() -> None:
    # 2 p - sum of p_k**2 - 1 per token. Tokens 0 and 1: p = 1, and all pairs of samples agree: 0. Tokens 2 and 3:
    # p = 3/4; of the 12 ordered pairs of different samples, 6 agree: 3/2 - 1/2 - 1 = 0.
    assert gold_score(GOLD, SAMPLES) == pytest.approx(0.0)
    # Wrong in all samples: tokens 2 and 3 have 0 - 1 - 1.
    assert gold_score(GOLD, [OTHER, OTHER]) == pytest.approx(-4.0)


def test_no_role_is_a_role_of_the_brier_score() -> None:
    clearnlp = parse([1, -1, 3, 1], "nsubj ROOT poss dobj")
    without = parse([1, -1, 3, 1], "nsubj ROOT poss punct")  # the last token has no role
    score = partial(gold_score, GOLD, schemes=("ud2", "clearnlp"))
    assert score([clearnlp] * 2) == pytest.approx(0.0)
    # One of two is right for the last token, and no pair of different samples agrees: 2 / 2 - 0 - 1.
    assert score([clearnlp, without]) == pytest.approx(0.0)
    assert score([without] * 2) == pytest.approx(-2.0)
    none = parse([1, -1, 3, 1], "nsubj root nmod:poss punct")
    assert gold_score(none, [without] * 2, schemes=("ud2", "clearnlp")) == pytest.approx(0.0)


def test_the_brier_score_is_unbiased_for_few_samples() -> None:
    # The mean over all 2**n equally likely sets of n samples of two parses, P = 1/2 each, is the exact score for any
    # n: tokens 0 and 1 have 0, tokens 2 and 3 have 2 * 1/2 - (1/4 + 1/4) - 1 = -1/2.
    for n_samples in (2, 3, 5):
        sets = itertools.product([GOLD, OTHER], repeat=n_samples)
        assert np.mean([gold_score(GOLD, samples) for samples in sets]) == pytest.approx(-1.0)


def test_calibration_counts_documents_and_leaves_small_shares_out() -> None:
    pairs = parse_pairs(GOLD, SAMPLES)
    calibration = calibrate_parses([pairs, pairs], n_resamples=50)
    arcs = calibration["arcs"]
    # Bins of ten: 0.25 (4 pairs, none right), 0.75 (4, all right), 1 (4, all right): gaps 1/4, 1/4, 0.
    assert arcs.error == pytest.approx(math.sqrt((4 * 0.0625 + 4 * 0.0625) / 12))
    assert arcs.largest_gap == pytest.approx(0.25)
    assert (arcs.n_pairs, arcs.n_documents, arcs.share_found) == (12, 2, 1.0)
    frame = calibration.to_frame()
    assert frame.loc[frame["property"] == "arcs", "error"].item() == arcs.error
    rare = [GOLD] * 199 + [OTHER]
    assert calibrate_parses([parse_pairs(GOLD, rare)] * 3)["arcs"].n_pairs == 12
    with pytest.raises(InputError, match="parses must have at least 10 arcs or roles, got fewer"):
        calibrate_parses([])


def test_a_temperature_is_the_top_of_a_parabola_in_its_logarithm() -> None:
    temperatures = [0.5, 1.0, 1.4, 2.0, 4.0]
    tops = np.log([1.2, 1.5, 1.9])  # of three documents
    curves = -np.square(np.log(temperatures)[None] - tops[:, None])
    fit = fit_temperature(curves, temperatures)
    assert fit.temperature == pytest.approx(math.exp(tops.mean()))
    assert fit.lower is not None
    assert fit.upper is not None
    # A resample's top is the mean of its documents' tops.
    assert 1.2 - 1e-9 <= fit.lower < fit.temperature < fit.upper <= 1.9 + 1e-9
    assert not fit.is_at_end
    assert fit_temperature(curves[:1], temperatures).lower is None
    assert fit_temperature(np.array([temperatures]), temperatures).is_at_end


def test_bad_parameters_raise_one_line() -> None:
    with pytest.raises(ParameterError, match="samples must have at least one parse, got none"):
        parse_pairs(GOLD, [])
    with pytest.raises(ParameterError, match="samples must have at least 2 parses, got 1"):
        gold_score(GOLD, [GOLD])
    with pytest.raises(ParameterError, match="by must be"):
        gold_score(GOLD, SAMPLES, by="log")
    with pytest.raises(ParameterError, match=r"samples\[0\] must have the words of gold, got others"):
        parse_pairs(GOLD, [parse([-1], "root", ["They"])])
    with pytest.raises(ParameterError, match="temperatures must be at least 3, ascending, above 0"):
        fit_temperature([[0.0, 1.0]], [1.0, 2.0])
    with pytest.raises(ParameterError, match=r"scores must be finite numbers \(n_documents, 3\)"):
        fit_temperature([[0.0, math.nan, 0.0]], [1.0, 2.0, 3.0])
