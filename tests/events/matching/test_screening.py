"""The screen of a batch lets through exactly the documents that a closer look would find possible."""

import datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st
from references import events as er

from corefsample import InputError, ScoredDocument
from corefsample.documents._batch import DocumentBatch
from events import load_lexicon, load_rules
from events.matching._matches import MentionMatches
from events.matching._matching import match_document
from events.matching._screening import Cooccurrence, RuleMatcher

DAY = datetime.date(1999, 6, 1)
WORDS = """
    Iraq/PROPN Iraqi/ADJ United/PROPN States/PROPN New/PROPN Mexico/PROPN forces=force/NOUN they/PRON by/ADP
    that/PRON attacked=attack/VERB Attacks=Attack/VERB attack/NOUN Attacking=atta/VERB attacked=atta/ADJ hit/VERB
    of/ADP turkey/NOUN Korean/ADJ
"""
LABELS = """
    nsubj amod nmod compound case conj obj dobj obl pobj prep nsubj:pass nmod:poss root SBJ
"""


@st.composite
def sentences(draw: Any) -> str:
    """Any words under any labels, as a tree whose root is the first token."""
    words = draw(st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=7))
    labels = LABELS.split()[: draw(st.integers(6, 15))]
    tokens = [f"{words[0]}>0:root"]
    for t, word in enumerate(words[1:], start=1):
        tokens.append(f"{word}>{draw(st.integers(1, t))}:{draw(st.sampled_from(labels))}")
    return " ".join(tokens)


def documents(texts: list[str]) -> list[ScoredDocument]:
    return [er.scored(er.json_document(f"d{n}", DAY.isoformat(), [text])) for n, text in enumerate(texts)]


def looked_at(document: ScoredDocument, scheme: str | None, preset: str) -> MentionMatches | str:
    rule = load_rules("attack", preset)
    try:
        return match_document(document.tokens, document.mentions, rule, load_lexicon(), document.date, scheme)
    except InputError as error:
        return error.message


@settings(max_examples=40)
@given(
    st.lists(sentences(), max_size=5),
    st.sampled_from([None, "ud2", "clearnlp"]),
    st.sampled_from(["paper", "extended"]),
)
def test_a_screen_finds_what_a_look_at_each_document_finds(texts: list[str], scheme: str | None, preset: str) -> None:
    many = documents(texts)
    matches, reasons = RuleMatcher(load_rules("attack", preset), load_lexicon(), scheme).match(DocumentBatch.of(many))
    for row, document in enumerate(many):
        expected = looked_at(document, scheme, preset)
        if isinstance(expected, str):
            assert reasons[row].reason == expected
            assert row not in matches
        else:
            assert row not in reasons
            found = matches[row].parses
            assert bool(found) is expected.possible
            if expected.possible:
                assert found[0][0].agrees(expected)
                assert found[0][0].n_ambiguous == expected.n_ambiguous


@settings(max_examples=60)
@given(st.lists(st.lists(sentences(), min_size=1, max_size=3), max_size=4))
def test_words_and_names_co_occur_where_a_look_at_each_sentence_finds_both(texts: list[list[str]]) -> None:
    many = [er.scored(er.json_document(f"d{n}", DAY.isoformat(), text)) for n, text in enumerate(texts)]
    matches, _ = RuleMatcher(load_rules("attack"), load_lexicon()).match(DocumentBatch.of(many))
    for row, found in matches.items():
        tokens = many[row].tokens
        assert tokens is not None
        lemmas = [
            "attack" if text == "Attacking" else lemma for text, lemma in zip(tokens.text, tokens.lemma, strict=True)
        ]
        with_word = {s for lemma, s in zip(lemmas, tokens.sent.tolist(), strict=True) if lemma.lower() == "attack"}
        names = load_lexicon().match(tokens.text, tokens.head.tolist(), DAY, tokens.lemma).codes
        expected: dict[tuple[str], bool] = {}
        for token, code in names.items() if with_word else ():
            expected[code,] = expected.get((code,), False) or int(tokens.sent[token]) in with_word
        of_rule = found.cooccurrences.get("attack", {})
        assert {key: each.in_sentence for key, each in of_rule.items()} == expected


def test_phrases_class_nouns_default_actors_and_nobody_co_occur_by_hand(tmp_path: Path) -> None:
    lexicon = tmp_path / "lexicon.yaml"
    lexicon.write_text(
        "{version: 1, extends: police, entries: [{code: REBEL, name: rebels, kind: rebel, nouns: [rebel]},"
        "{code: FF, name: Free Front, kind: rebel, aliases: [Front]},"
        "{code: EE, name: Eastern, kind: rebel, aliases: [Eastern]}]}"
    )
    sleeping = "Front/PROPN>2:nsubj slept=sleep/VERB>0:root"
    texts = [
        # All words of "set fire" are in the sentence of the rebels, who can stand for the Front, not for the Eastern.
        ["rebels=rebel/NOUN>2:nsubj set/VERB>0:root it/PRON>2:obj near/ADP>5:case fire/NOUN>2:obl", sleeping],
        # They are in two sentences.
        [
            "Front/PROPN>2:nsubj set/VERB>0:root it/PRON>2:obj",
            "Front/PROPN>2:nsubj saw=see/VERB>0:root fire/NOUN>2:obj",
        ],
        # The police can have made an arrest by default.
        ["an/DET>2:det arrest/NOUN>3:nsubj failed=fail/VERB>0:root", sleeping],
    ]
    many = [er.scored(er.json_document(f"d{n}", DAY.isoformat(), text)) for n, text in enumerate(texts)]
    rules = load_rules("arson"), load_rules("arrest")
    matches, _ = RuleMatcher(rules, load_lexicon(lexicon)).match(DocumentBatch.of(many))
    fire = Cooccurrence(True, 4, ((0, 1),))
    assert matches[0].cooccurrences["arson"] == {("REBEL",): fire, ("FF",): fire, ("",): Cooccurrence(True, 4)}
    assert matches[1].cooccurrences == {}
    unnamed = Cooccurrence(False, 1)
    assert matches[2].cooccurrences["arrest"] == {("FF",): unnamed, ("POLICE",): unnamed, ("",): Cooccurrence(True, 1)}
    # Of two actors only those that are in the sentence of the word.
    pair = "Iraq/PROPN>2:nsubj saw=see/VERB>0:root Kuwait/PROPN>4:compound attack/NOUN>2:obj"
    texts = [[pair], [pair, sleeping.replace("Front", "Iran")]]
    dyads = [er.scored(er.json_document(f"d{n}", DAY.isoformat(), text)) for n, text in enumerate(texts)]
    matches, _ = RuleMatcher(load_rules("attack_target"), load_lexicon()).match(DocumentBatch.of(dyads))
    assert matches[0].cooccurrences == matches[1].cooccurrences
    assert matches[1].cooccurrences["attack_target"]["IRQ", "KWT"] == Cooccurrence(True, 3, ((0, 1), (2, 3)))


def possible(screen: RuleMatcher, many: list[ScoredDocument]) -> set[int]:
    """Rows of documents in which an event is possible."""
    matches, reasons = screen.match(DocumentBatch.of(many))
    assert not reasons
    return {row for row, found in matches.items() if found.parses}


def test_a_screen_serves_batch_after_batch() -> None:
    screen = RuleMatcher(load_rules(), load_lexicon())
    one = documents(["Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root"])
    other = documents(["Iraq/PROPN>2:nsubj slept=sleep/VERB>0:root", "Iran/PROPN>2:nsubj ATTACKED=ATTACK/VERB>0:root"])
    assert [possible(screen, many) for many in (one, other, one)] == [{0}, {1}, {0}]
