"""Several parses scored together against each of them scored alone, bit by bit."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import mention_atoms as encoding_references
from strategies import parses as strategies

from corefsample import ParameterError
from corefsample.documents import Tokens
from corefsample.mention_ranking import AntecedentModel, TemplateSet, _parses, score_parses
from corefsample.mention_ranking.features import DEFAULT_TEMPLATES
from corefsample.syntax import mentions_from_parse

VOCABULARY = {"dog", "attack", "mary", "the", "king"}


def model(templates: TemplateSet = DEFAULT_TEMPLATES, *, bits: int = 12) -> AntecedentModel:
    weights = np.random.default_rng(0).normal(0.0, 0.7, 1 << bits).astype(np.float32)
    return AntecedentModel(weights, encoding_references.vocabulary_hashes(VOCABULARY), templates)


def alternatives(tokens: Tokens, n_parses: int, n_changes: int, seed: int) -> list[Tokens]:
    """The parse, and others in which some words hang on another earlier word, have another label or part of speech."""
    rng = np.random.default_rng(seed)
    parses = [tokens]
    for _ in range(n_parses - 1):
        head, dep, upos = tokens.head.copy(), list(tokens.dep), list(tokens.upos)
        for token in rng.integers(0, len(tokens), n_changes).tolist():
            head[token] = token - 1 if token else -1
            dep[token] = str(rng.choice(["nsubj", "obj", "nmod", "conj", "det", "root"]))
            upos[token] = str(rng.choice(["NOUN", "PROPN", "PRON", "VERB"]))
        heads = [int(head[t]) if head[t] < t else t - 1 for t in range(len(tokens))]  # backwards: no cycle
        parses.append(dataclasses.replace(tokens, head=np.array(heads, np.int32), dep=dep, upos=upos))
    return parses


def require_the_same(some: AntecedentModel, parses: list[Tokens], min_prob: float) -> None:
    found = score_parses(some, parses, min_prob=min_prob, scheme="ud2")
    assert len(found) == len(parses)
    for tokens, (mentions, scored) in zip(parses, found, strict=True):
        np.testing.assert_array_equal(mentions, mentions_from_parse(tokens, scheme="ud2"))
        alone = some.pruned_score(tokens, mentions, min_prob=min_prob, scheme="ud2")
        for name in ("indptr", "antecedents", "scores", "probs", "new_probs"):
            ours, theirs = getattr(scored.distribution, name), getattr(alone.distribution, name)
            assert ours.tobytes() == theirs.tobytes(), name
        assert scored.dropped_mass.tobytes() == alone.dropped_mass.tobytes()
        assert scored.n_dropped == alone.n_dropped


@pytest.mark.kernels
@settings(max_examples=15)
@given(strategies.parses(max_tokens=14), st.integers(1, 4), st.integers(0, 5), st.sampled_from([0.0, 0.05]))
def test_parses_scored_together_are_as_scored_alone(
    tokens: Tokens, n_parses: int, n_changes: int, min_prob: float
) -> None:
    require_the_same(model(), alternatives(tokens, n_parses, n_changes if len(tokens) else 0, len(tokens)), min_prob)


@pytest.mark.parametrize("known_bytes", [1, 40_000, 1 << 22])
@pytest.mark.parametrize("room", [1, 16])
def test_neither_the_rows_kept_nor_the_room_for_candidates_matters(
    monkeypatch: pytest.MonkeyPatch, known_bytes: int, room: int
) -> None:
    monkeypatch.setattr(_parses, "_KNOWN_BYTES", known_bytes)
    monkeypatch.setattr(_parses, "_ROOM", room)
    for seed in range(3):
        tokens = strategies.long_text(seed).tokens
        require_the_same(model(), alternatives(tokens, 4, 25, seed), 0.0)


def test_more_templates_than_bits_of_a_word_are_compared() -> None:
    lines = [f"i.{one} k.{other}" for one in ("kind", "head", "role", "governor", "link") for other in (
        "kind", "head", "role", "governor", "place", "number", "nesting", "outer", "first", "last", "next", "previous",
        "length", "class",
    )]  # fmt: skip
    assert len(lines) > 64
    many = TemplateSet(pronoun=lines, phrase=[*lines, "pair.match pair.syntax"], new=["i.kind"])
    tokens = strategies.long_text(5).tokens
    require_the_same(model(many), alternatives(tokens, 3, 30, 5), 1e-4)


def test_a_parse_without_mentions_is_scored_too() -> None:
    tokens = Tokens(["run"], ["run"], ["VERB"], ["root"], np.array([-1]), np.array([0]))
    noun = dataclasses.replace(tokens, upos=["NOUN"])
    for parses in ([tokens, noun, tokens], [noun, tokens], [tokens], [tokens, tokens]):
        require_the_same(model(), parses, 0.0)


def test_bad_parses_raise_one_line() -> None:
    tokens = Tokens(["run"], ["run"], ["VERB"], [""], np.array([-1]), np.array([0]))
    with pytest.raises(ParameterError, match="tokens must be parsed to find mentions"):
        score_parses(model(), [tokens, tokens])
    with pytest.raises(ParameterError, match="min_prob must lie in"):
        score_parses(model(), [dataclasses.replace(tokens, dep=["root"])], min_prob=1.0)
