"""What a model is trained on: windows of documents, and mentions of the parse with gold by span, then by head."""

from __future__ import annotations

import numpy as np
import pytest
from references import mention_ranking as reference

from corefsample.mention_ranking._readings import LONGEST_WINDOW, Reading, gold_of_found, readings

NOUNS = ("king", "queen", "dog") * 5
TEXT = "\n\n".join(
    f"the the DET 2 det\n{noun} {noun} NOUN 3 nsubj\nsaw see VERB 0 root\nher she PRON 3 obj" for noun in NOUNS
)


def whole() -> Reading:
    """15 sentences of two mentions each: the noun is an entity by its word, every "her" is the queen."""
    mentions = [[4 * s + first, 4 * s + end, 4 * s + end - 1] for s in range(15) for first, end in ((0, 2), (3, 4))]
    gold = [entity for noun in NOUNS for entity in (noun, "queen")]
    return Reading(reference.parsed(TEXT), np.array(mentions, np.int32), list(gold), "ud2")


def words(reading: Reading) -> list[tuple[str, str | int | None]]:
    """Words of each mention, and its entity."""
    spans = zip(reading.mentions.tolist(), reading.gold, strict=True)
    assert all(start <= head < end for start, end, head in reading.mentions.tolist())
    return [(" ".join(reading.tokens.text[start:end]), entity) for (start, end, _), entity in spans]


def test_windows_are_whole_sentences_with_their_mentions_and_half_have_the_first_sentence() -> None:
    in_front, seen = 0, 0
    for number in range(60):
        first, *windows = readings(whole(), mentions="annotated", window_seed=0, doc_id=f"d{number}")
        assert first.tokens is whole().tokens or len(first.tokens) == 60
        order: list[str] = []
        for window in windows:
            n = int(window.tokens.sent.max()) + 1
            assert len(window.tokens) == 4 * n
            assert window.tokens.sent.tolist() == [s for s in range(n) for _ in range(4)]
            assert window.tokens.head.tolist() == [4 * s + k if k >= 0 else -1 for s in range(n) for k in (1, 2, -1, 2)]
            entities = dict(words(window))
            assert entities == {**{f"the {noun}": noun for noun in NOUNS if f"the {noun}" in entities}, "her": "queen"}
            assert n <= LONGEST_WINDOW + 1
            order += [entity for text, entity in words(window) if text != "her"]
            seen, in_front = seen + 1, in_front + (n > 1 and window.tokens.text[1] == "king")
        assert len(order) >= 15
    assert seen > 150
    assert in_front > seen / 4


def test_windows_are_fixed_by_seed_and_document() -> None:
    def texts(seed: int, doc_id: str) -> list[str]:
        return [
            " ".join(each.tokens.text) for each in readings(whole(), mentions="both", window_seed=seed, doc_id=doc_id)
        ]

    assert texts(0, "a") == texts(0, "a")
    assert texts(0, "a") != texts(1, "a")
    assert texts(0, "a") != texts(0, "b")
    assert len([*readings(whole(), mentions="both", window_seed=None, doc_id="a")]) == 2


def test_mentions_of_the_parse_have_the_gold_of_their_span_or_head_or_are_alone() -> None:
    given = whole()
    # "the king" is annotated without its article, "her" of the first sentence and the second noun not at all.
    mentions, gold = given.mentions.copy(), list(given.gold)
    mentions[0, 0] = 1
    kept = [i for i in range(len(gold)) if i not in (1, 2)]
    (found,) = readings(
        Reading(given.tokens, mentions[kept], [gold[i] for i in kept], "ud2"),
        mentions="parse",
        window_seed=None,
        doc_id="a",
    )
    names = words(found)
    assert names[0] == ("the king", "king")
    assert names[3:5] == [("her", "queen"), ("the dog", "dog")]
    alone = [entity for _, entity in names[1:3]]
    assert len(set(alone)) == 2
    assert not set(alone) & set(gold)


def test_an_entity_that_is_not_annotated_stays_so() -> None:
    given = whole()
    gold = [None, *given.gold[1:]]
    (found,) = readings(
        Reading(given.tokens, given.mentions, gold, "ud2"), mentions="parse", window_seed=None, doc_id="a"
    )
    assert found.gold == gold


@pytest.mark.parametrize(
    ("spans", "gold", "expected"),
    [
        ([[0, 3, 2]], ["a"], ["a", None]),
        ([[1, 3, 2]], ["a"], [None, "a"]),
        ([[1, 4, 2]], ["a"], ["a", None]),  # the same head: the first found one of this head has it
        ([[0, 3, 2], [1, 3, 2]], ["a", "b"], ["a", "b"]),
        ([[0, 2, 1]], ["a"], [None, None]),
        ([[0, 3, 2], [0, 4, 2]], ["a", "b"], ["a", "b"]),
    ],
)
def test_gold_by_span_and_then_by_head(spans: list[list[int]], gold: list[str], expected: list[str | None]) -> None:
    found = np.array([[0, 3, 2], [1, 3, 2]])
    assert gold_of_found(np.array(spans), list(gold), found) == expected
