"""Texts as agencies, archives and web pages have them: heads, capitals, HTML."""

import datetime
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from places import data_lines

from corefsample import Tokens
from corefsample._arrays import Bools
from events.news._fields import Article
from events.news._preparation import cleaned, is_in_capitals, is_in_title_case, prepared, recased, without_head

SENTENCES = (
    "Ethiopian troops attacked a village near the border on Sunday.",
    '"We attacked," the army said.',
    "14 people were arrested.",
    "U.S. troops fled.",
)
KNOWN = "of praises police troops attack attacked army fled us them let kill said the a in on people were bases air"


def known(words: Sequence[str]) -> Bools:
    return np.isin(words, KNOWN.split())


@pytest.mark.parametrize("line", data_lines("article_heads.txt"))
@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_head_is_recognised_and_the_sentence_is_left(line: str, sentence: str) -> None:
    kinds, _, head = line.partition(" | ")
    head = head.replace(r"\n", "\n")
    notes, rest = without_head(head + sentence)
    assert ([kind for kind, _ in notes], rest) == (kinds.split(), sentence)
    pieces = " ".join(text for _, text in notes).split()
    assert "".join(pieces) == "".join(head.split())  # in the words of the article
    assert without_head((head + sentence).upper())[1] == sentence.upper()


@pytest.mark.parametrize("text", data_lines("article_beginnings.txt"))
def test_a_sentence_is_no_head(text: str) -> None:
    assert without_head(text) == ([], text)


@pytest.mark.parametrize("text", ["By Jane Doe\n", "NAIROBI, Kenya (AP) — ", "[Text]", ""])
def test_a_text_of_nothing_but_a_head_stays(text: str) -> None:
    assert without_head(text) == ([], text)


def test_remarks_of_editors_are_left_out_of_the_whole_text() -> None:
    notes, rest = without_head("Troops [passage omitted] attacked [words indistinct]. The rebels [FMLN] fled.")
    assert [text for _, text in notes] == ["[passage omitted]", "[words indistinct]"]
    assert rest.split() == ["Troops", "attacked", ".", "The", "rebels", "[FMLN]", "fled."]


@given(st.text(alphabet="Aa b-—:()[]/|,.\n1NAIROBI By", max_size=80))
def test_head_and_rest_have_all_characters_of_a_text(text: str) -> None:
    notes, rest = without_head(text)
    assert "".join("".join([*(piece for _, piece in notes), rest]).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Iraq&#39;s army&nbsp;fled &amp;amp; hid", "Iraq's army\xa0fled & hid"),
        ("<p>One <b>two</b>.</p><p>Three<br/>four</p>", "One two.\n\nThree\n\nfour"),
        ("at\N{SOFT HYPHEN}tacked I\N{ZERO WIDTH JOINER}raq\N{ZERO WIDTH SPACE}", "attacked Iraq"),
        ("a <script>if (x < y) {}</script>b<!-- c -->", "a b"),
        ("a < b, c > d, AT&T, R&D; x <3", "a < b, c > d, AT&T, R&D; x <3"),
    ],
)
def test_remains_of_web_pages_are_removed_and_other_signs_stay(text: str, expected: str) -> None:
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("LET US KILL THEM. US TROOPS FLED.", "Let us kill them. US troops fled."),
        ("IRAQ'S ARMY DIDN'T ATTACK ON 3 MARCH.", "Iraq's army didn't attack on 3 March."),
        ("Israeli Troops Attack Syrian Air Bases", "Israeli troops attack Syrian air bases"),
        (
            "THE NATIONAL LIBERATION FRONT [NLF] SAID COL ZXAVO OF THE U.S. ARMY FLED.",
            "The National Liberation Front [NLF] said Col Zxavo of the U.S. army fled.",
        ),
    ],
)
def test_capitals_and_title_case_become_sentences(text: str, expected: str) -> None:
    assert recased([text], known) == [expected]


def test_the_article_itself_says_how_a_headline_writes_a_word() -> None:
    body = "Police in the town said that Bush met the ANC."
    assert recased(["ANC PRAISES BUSH POLICE", body], known) == ["ANC praises Bush police", body]


@given(st.lists(st.text(max_size=60), max_size=3))
def test_another_case_has_the_same_letters_and_sentences_stay(texts: list[str]) -> None:
    for before, after in zip(texts, recased(texts, known), strict=True):
        assert len(after) == len(before)
        assert after.casefold() == before.casefold()
        if not (is_in_capitals(before) or is_in_title_case(before)):
            assert after == before


def test_square_brackets_are_round_for_the_parser_alone() -> None:
    text = prepared(
        Article("a", datetime.date(2001, 5, 5), "The army [army] fled."), known, headline=False, paragraphs="blank-line"
    )
    assert (text.parsed, text.written) == (["The army (army) fled."], ["The army [army] fled."])
    assert text.tally.n_recased == 0


def test_a_short_paragraph_in_capitals_says_nothing_about_words() -> None:
    assert recased(["ARMY:", "THE ARMY FLED ON THE 3RD."], known)[1] == "The army fled on the 3rd."


def test_a_prepared_article_keeps_what_it_had() -> None:
    day = datetime.date(2001, 5, 5)
    article = Article(
        "a", day, "NAIROBI, Kenya (AP) — TROOPS ATTACKED THE <b>ARMY</b>.", "Troops Attack the Army Bases"
    )
    text = prepared(article, known, headline=True, paragraphs="blank-line")
    assert text.parsed == ["Troops attack the army bases", "Troops attacked the army."]
    assert text.metadata() == {"left_out": [{"kind": "dateline", "text": "NAIROBI, Kenya (AP) —"}]}
    tally = text.tally
    assert (tally.n_texts, tally.n_dateline, tally.n_cleaned, tally.n_recased, tally.n_credit) == (1, 1, 1, 1, 0)
    words = " ".join(text.parsed).replace(".", " .").split()
    tokens = text.as_written(Tokens(words, words, words, words, [-1] * len(words), [0] * len(words)))
    assert " ".join(tokens.written) == "Troops Attack the Army Bases TROOPS ATTACKED THE ARMY ."
    assert list(tokens.text) == words
    plain = prepared(article, known, headline=False, paragraphs="blank-line", as_written=True)
    assert (plain.parsed, plain.metadata()) == ([article.text], {})
