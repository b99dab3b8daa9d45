"""What is known of a word: kind, person, number, gender, meaning and hashes."""

import zlib
from typing import Any

import numpy as np
import pytest

from corefsample import ParameterError, Tokens
from corefsample.languages._language import load_language
from corefsample.syntax._codes import UPOS, Column, Gender, Kind, Meaning, Number
from corefsample.syntax._words import language_hash, word_hash, word_rows

LISTS = 3507226978
GRAMMAR = [Column.KIND, Column.PERSON, Column.NUMBER, Column.GENDER]


def tokens_of(*rows: tuple[str, str, str], **extra: list[Any]) -> Tokens:
    text, lemma, upos = zip(*rows, strict=True)
    n = len(rows)
    return Tokens(text, lemma, upos, ["dep"] * n, np.full(n, -1), np.zeros(n, int), extra)


def grammar(text: str, lemma: str, upos: str, **extra: str) -> list[int]:
    table = word_rows(tokens_of((text, lemma, upos), **{name: [value] for name, value in extra.items()}))
    return [int(value) for value in table[0, GRAMMAR]]


@pytest.mark.parametrize(
    ("form", "upos", "expected"),
    [
        ("I", "PRON", (Kind.PERSONAL, 1, Number.SINGULAR, Gender.ANIMATE)),
        ("you", "PRON", (Kind.PERSONAL, 2, Number.UNKNOWN, Gender.ANIMATE)),
        ("His", "PRON", (Kind.POSSESSIVE, 3, Number.SINGULAR, Gender.MALE)),
        ("herself", "PRON", (Kind.REFLEXIVE, 3, Number.SINGULAR, Gender.FEMALE)),
        ("its", "PRON", (Kind.POSSESSIVE, 3, Number.SINGULAR, Gender.NEUTER)),
        ("They", "PRON", (Kind.PERSONAL, 3, Number.PLURAL, Gender.UNKNOWN)),
        ("those", "DET", (Kind.DEMONSTRATIVE, 3, Number.PLURAL, Gender.NEUTER)),
        ("who", "PRON", (Kind.RELATIVE, 3, Number.UNKNOWN, Gender.ANIMATE)),
        ("the", "DET", (Kind.DEFINITE_ARTICLE, 0, 0, 0)),
        ("there", "PRON", (Kind.EXISTENTIAL, 3, 0, Gender.NEUTER)),
        # A word that could be a pronoun and is none.
        ("that", "SCONJ", (Kind.NONE, 0, 0, 0)),
        ("mine", "NOUN", (Kind.NONE, 3, Number.SINGULAR, Gender.NEUTER)),
    ],
)
def test_english_pronouns_and_articles_are_listed(form: str, upos: str, expected: tuple[int, ...]) -> None:
    assert tuple(grammar(form, form.lower(), upos)) == expected


@pytest.mark.parametrize(
    ("form", "lemma", "upos", "number", "gender"),
    [
        ("dogs", "dog", "NOUN", Number.PLURAL, Gender.UNKNOWN),  # he, she or it
        ("police", "police", "NOUN", Number.PLURAL, Gender.COLLECTIVE),
        ("team", "team", "NOUN", Number.SINGULAR, Gender.COLLECTIVE),
        ("twaddler", "twaddler", "NOUN", Number.SINGULAR, Gender.UNKNOWN),  # perhaps a person, by the ending
        ("Mr.", "Mr.", "PROPN", Number.SINGULAR, Gender.MALE),
        ("Mary", "Mary", "PROPN", Number.SINGULAR, Gender.FEMALE),
        ("Alps", "Alp", "PROPN", Number.PLURAL, Gender.NEUTER),
        ("Paris", "Paris", "PROPN", Number.SINGULAR, Gender.NEUTER),
        ("Rose", "Rose", "PROPN", Number.SINGULAR, Gender.FEMALE),  # a plant where it is a noun
        ("rose", "rose", "NOUN", Number.SINGULAR, Gender.NEUTER),
        ("Zyx", "Zyx", "PROPN", Number.SINGULAR, Gender.UNKNOWN),
    ],
)
def test_number_and_gender_of_nouns_are_guessed(form: str, lemma: str, upos: str, number: int, gender: int) -> None:
    assert grammar(form, lemma, upos)[2:] == [number, gender]


def test_pronouns_of_other_languages_are_recognised_by_features() -> None:
    assert grammar("sie", "sie", "PRON", feats="Gender=Fem|Number=Sing|Person=3|PronType=Prs") == [
        Kind.PERSONAL, 3, Number.SINGULAR, Gender.FEMALE,
    ]  # fmt: skip
    assert grammar("sein", "sein", "DET", feats="Poss=Yes|PronType=Prs|Person=3")[0] == Kind.POSSESSIVE
    assert grammar("sich", "sich", "PRON", feats="PronType=Prs|Reflex=Yes|Person=3")[0] == Kind.REFLEXIVE
    assert grammar("die", "der", "DET", feats="Definite=Def|PronType=Art")[0] == Kind.DEFINITE_ARTICLE
    assert grammar("Frau", "Frau", "NOUN", feats="Gender=Fem|Number=Sing")[2:] == [Number.SINGULAR, Gender.FEMALE]


@pytest.mark.parametrize(
    ("form", "upos", "meaning"),
    [
        ("teacher", "NOUN", Meaning.PERSON),
        ("committee", "NOUN", Meaning.GROUP),
        ("Monday", "PROPN", Meaning.TIME),
        ("Peter", "PROPN", Meaning.GIVEN_NAME),
        ("1999", "NUM", Meaning.YEAR),
        ("7", "NUM", Meaning.NUMERAL),
        ("twaddler", "NOUN", Meaning.PERHAPS_PERSON),
        ("vexation", "NOUN", Meaning.PERHAPS_EVENT),
        ("Zyx", "PROPN", Meaning.UNKNOWN),
    ],
)
def test_meaning_is_by_list_then_by_ending(form: str, upos: str, meaning: int) -> None:
    assert word_rows(tokens_of((form, form.lower(), upos)))[0, Column.MEANING] == meaning


def test_hashes_are_of_lower_case_words() -> None:
    table = word_rows(tokens_of(("Running", "Run", "VERB")))[0]
    assert table[Column.FORM] == zlib.crc32(b"running")
    assert table[Column.LEMMA] == zlib.crc32(b"run")
    assert table[Column.ENDING] == word_hash("-ingAa")
    assert table[Column.STEM] == word_hash("~run")
    assert table[Column.UPOS] == UPOS.index("VERB") + 1


def test_features_and_tags_that_are_null_count_as_none_and_others_are_rejected() -> None:
    row = ("sheep", "sheep", "NOUN")
    plain = word_rows(tokens_of(row))
    np.testing.assert_array_equal(word_rows(tokens_of(row, xpos=[None], feats=[None])), plain)
    for name, value in (("xpos", 3), ("feats", {"Number": "Plur"})):
        with pytest.raises(ParameterError, match=rf"^tokens.{name}\[1\] must be a string, got "):
            word_rows(tokens_of(row, row, **{name: [None, value]}))


@pytest.mark.parametrize(
    ("text", "ending"),
    [("Running", "-ingAa"), ("NATO", "-atoAA"), ("I", "-iAa"), ("1999", "-99900"), ("x-y", "-x-y--"), ("", "---")],
)
def test_endings_are_three_letters_and_a_shape(text: str, ending: str) -> None:
    assert word_rows(tokens_of((text, text, "NOUN")))[0, Column.ENDING] == word_hash(ending)


def test_the_lists_are_what_models_were_trained_with() -> None:
    # A model file names this number: another one makes every trained model unreadable, the one that ships too.
    assert language_hash(load_language("en")) == LISTS
