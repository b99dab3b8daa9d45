"""ScoredDocument and Tokens: valid and invalid fields, display."""

import dataclasses
import datetime
import math
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from corefsample import AntecedentDistribution, ParameterError, ScoredDocument, Tokens
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Rejected

pytestmark = pytest.mark.kernels

PAIR = AntecedentDistribution.from_lists([[], [0]], [[], [0.0]])


def tokens(**columns: Any) -> Tokens:
    given: dict[str, Any] = {
        "text": ["Troops", "left", "."],
        "lemma": ["troop", "leave", "."],
        "upos": ["NOUN", "VERB", "PUNCT"],
        "dep": ["nsubj", "root", "punct"],
        "head": [1, -1, 1],
        "sent": [0, 0, 0],
    }
    return Tokens(**(given | columns))


def document(**fields: Any) -> ScoredDocument:
    given: dict[str, Any] = {"doc_id": "d", "mentions": [[0, 2, 0], [0, 1, 0]], "antecedents": PAIR}
    return ScoredDocument(**(given | fields))


# --- tokens ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "bounds"),
    [
        ([0, 0, 0], {0: (0, 3)}),
        ([0, 1, 1], {0: (0, 1), 1: (1, 3)}),
        ([0, 0, 4], {0: (0, 2), 4: (2, 3)}),  # numbers may be left out
    ],
)
def test_sentences_are_runs_of_tokens(sent: list[int], bounds: dict[int, tuple[int, int]]) -> None:
    assert tokens(sent=sent).sentences() == bounds


@pytest.mark.parametrize("head", [[1.0, -1.0, 1.0], [1, -1, 2**32 + 1]], ids=str)
def test_heads_of_tokens_must_be_whole_numbers_of_32_bits(head: Any) -> None:
    with pytest.raises(ParameterError, match="head"):
        tokens(head=head)


@pytest.mark.parametrize("columns", [{"lemma": ["a"]}, {"extra": {"xpos": ["a"]}}, {"extra": {"text": ["a"] * 3}}])
def test_tokens_that_break_a_rule_are_rejected(columns: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=next(iter(columns.get("extra", columns)))):
        tokens(**columns)


def has_cycle(heads: list[int]) -> bool:
    """Whether some token's path to the root is longer than the document."""
    for token in range(len(heads)):
        for _ in heads:
            token = heads[token] if token >= 0 else -1
        if token >= 0:
            return True
    return False


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.integers(-1, n - 1), min_size=n, max_size=n)))
def test_cycles_of_heads_are_found_and_nothing_else(heads: list[int]) -> None:
    words = ["w"] * len(heads)
    try:
        Tokens(words, words, words, words, heads, [0] * len(heads))  # type: ignore[arg-type]
    except ParameterError:
        found = True
    else:
        found = False
    assert found == has_cycle(heads)


# --- documents ---------------------------------------------------------------------------------------------


def test_the_text_of_a_mention_is_its_words() -> None:
    assert document(tokens=tokens()).mention_text(0) == "Troops left"
    assert document(tokens=tokens()).mention_text(1) == "Troops"


@pytest.mark.parametrize(
    "day", ["2024-05-06", pd.Timestamp("2024-05-06"), datetime.datetime(2024, 5, 6), np.datetime64("2024-05-06")]
)
def test_dates_can_be_texts_and_times_at_midnight(day: Any) -> None:
    date = dataclasses.replace(document(), date=day).date
    assert (type(date), date) == (datetime.date, datetime.date(2024, 5, 6))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"doc_id": ""}, "doc_id must be a non-empty string, got ''"),
        ({"mentions": [[0, 1, 0]]}, "antecedents must have one list per mention (1), got 2"),
        ({"antecedents": document()}, "got ScoredDocument (pass document.antecedents)"),
        ({"gold": [1]}, "gold must have one entry per mention (2), got 1"),
        ({"mentions": [[0, 1, 0], [0, 2, 0]]}, "mentions[1] must come in order"),
        ({"mentions": [[0, 1, 0], [1, 4, 1]], "tokens": tokens()}, "at most the number of tokens (3), got [1, 4, 1]"),
        ({"mentions": [[0.5, 1.5, 0.5], [1, 2, 1]]}, "mentions"),
        ({"mentions": [[0, 2**32 + 1, 0], [1, 2, 1]]}, "mentions"),
        ({"mentions": [[0, 1], [0, 0], [1, 0]]}, "mentions"),  # six numbers, but no threes
        *(({"date": day}, "date") for day in (datetime.datetime(2024, 5, 6, 7, 8), "6.5.2024", pd.NaT, 20240506)),
        ({"gold": np.array([True, False])}, "gold"),
        ({"metadata": {"doc_id": "other"}}, "metadata"),
    ],
)
def test_documents_that_break_a_rule_are_rejected(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError) as error:
        document(**fields)
    assert message in str(error.value)


# --- display -----------------------------------------------------------------------------------------------


class Marks(HTMLParser):
    """The words of a page, and for each mark its words, look and title."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[tuple[int, dict[str, str | None]]] = []
        self.found: list[tuple[list[str], str, str]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "mark":
            self.open.append((len(self.words), dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag == "mark":
            start, attributes = self.open.pop()
            self.found.append((self.words[start:], str(attributes["style"]), str(attributes["title"])))

    def handle_data(self, data: str) -> None:
        if self.lasttag != "sub" or not data.isdigit():  # the number of an entity
            self.words += data.split()


def words_of(text: list[str]) -> Tokens:
    n = len(text)
    return Tokens(**dict.fromkeys(("text", "lemma", "upos", "dep"), text), head=[-1] * n, sent=[0] * n)  # type: ignore[arg-type]


def test_the_html_of_a_document_has_its_entities_and_antecedents() -> None:
    # The mayor [met the "king"]: he saw the mayor; he is the mayor with 3/4, the king with 1/8, NEW with 1/8.
    text = ["The", "mayor", "met", "the", '"king"', "he", "saw", "her"]
    mentions = [[0, 2, 1], [3, 5, 4], [4, 5, 4], [5, 6, 5], [7, 8, 7]]
    lists: list[list[int]] = [[], [], [], [0, 1], [0]]
    scores = [[], [], [], [math.log(6), 0.0], [9.0]]
    made = ScoredDocument("d", mentions, AntecedentDistribution.from_lists(lists, scores), tokens=words_of(text))
    page = Marks(made._repr_html_().partition("<br>")[2])
    assert page.words == text
    by_words = {" ".join(words): (look, title) for words, look, title in page.found}
    assert by_words.keys() == {"The mayor", 'the "king"', '"king"', "he", "her"}
    looks = {words: look for words, (look, _) in by_words.items()}
    assert looks["The mayor"] == looks["he"] == looks["her"] != looks['the "king"']
    assert "dotted" in looks['"king"']  # an entity of its own
    assert by_words["he"][1] == '3: The mayor 0.75, NEW 0.12, the "king" 0.12'
    assert by_words["The mayor"][1] == "0: NEW 1.00"


def test_a_mention_that_crosses_another_is_not_marked() -> None:
    # b c crosses a b, which begins before it.
    antecedents = AntecedentDistribution.from_lists([[], [0], [1]], [[], [1.0], [1.0]])
    made = ScoredDocument("d", [[0, 2, 0], [1, 3, 2], [3, 4, 3]], antecedents, tokens=words_of(list("abcd")))
    assert [" ".join(words) for words, _, _ in Marks(made._repr_html_().partition("<br>")[2]).found] == ["a b", "d"]
    gold = AnnotatedDocument("d", words_of(list("abcd")), made.mentions, ["<x>", "y", "<x>"])
    assert [title for _, _, title in Marks(gold._repr_html_().partition("<br>")[2]).found] == ["<x>", "<x>"]


# --- rejected documents ------------------------------------------------------------------------------------


def test_a_rejected_document_is_an_error_with_place_and_hint() -> None:
    rejected = Rejected("a.jsonl", "line", 3, "d", "tokens is missing", "{}", "do this")
    error = rejected.error()
    assert (error.place, error.message, error.hint) == ("a.jsonl: line 3: doc_id 'd'", "tokens is missing", "do this")
    assert rejected.message() == "a.jsonl: line 3: doc_id 'd': tokens is missing"
    assert dataclasses.replace(rejected, doc_id="", unit="member x", number=None).error().place == "a.jsonl: member x"
    assert list(rejected.to_json()) == ["source", "place", "doc_id", "reason", "document"]


def some_documents(n: int) -> list[ScoredDocument]:
    """Documents of different sizes, of which some have no tokens, date or entities."""
    return [
        ScoredDocument(
            doc_id=f"d{i}",
            mentions=[(m, m + 1, m) for m in range(i)],
            antecedents=AntecedentDistribution.from_lists(
                [list(range(m)) for m in range(i)], [[0.5 * k - i for k in range(m)] for m in range(i)]
            ),
            date=datetime.date(1999 + i, 1, 1) if i % 3 else None,
            tokens=Tokens([f"w{t}-{i}" for t in range(i)], *[["x"] * i] * 3, [-1] * i, [0] * i) if i % 4 else None,
            gold=[f"e{m % 2}" for m in range(i)] if i % 2 else None,
            metadata={"n": i},
        )
        for i in range(n)
    ]


@pytest.mark.parametrize("rows", [[], [3], [0, 1, 2], [5, 0, 3, 4], [7, 6], [2, 2], list(range(8))], ids=str)
def test_rows_of_a_batch_are_copied_in_the_order_given(rows: list[int]) -> None:
    documents = some_documents(8)
    batch = DocumentBatch.of(documents)
    taken = batch.take(rows)
    expected = DocumentBatch.of([documents[row] for row in rows])
    assert list(taken.places) == [row + 1 for row in rows]
    assert taken.table.to_pylist() == expected.table.to_pylist()
    for flat in ("mentions", "candidates"):
        for own, other in zip(getattr(taken, flat), getattr(expected, flat), strict=True):
            np.testing.assert_array_equal(own, other)


# --- several parses --------------------------------------------------------------------------------------------


def parse(number: int, samples: tuple[int, int], *words: str, doc_id: str = "d") -> ScoredDocument:
    none = AntecedentDistribution.from_lists([[]], [[]])
    return ScoredDocument(doc_id, [[0, 1, 0]], none, tokens=words_of(list(words)), parse=number, samples=samples)


def test_parses_of_a_document_are_rows_that_know_their_share() -> None:
    rows = [parse(0, (0, 0), "a"), parse(1, (0, 3), "a"), parse(4, (3, 4), "a"), parse(0, (0, 2), "b", doc_id="e")]
    batch = DocumentBatch.of([*some_documents(1), *rows])
    assert batch.firsts.tolist() == [0, 1, 4]
    assert [[*batch.parses(first)] for first in (0, 1, 4)] == [[0], [1, 2, 3], [4]]
    assert [batch.share(row) for row in range(5)] == [(0, 1), (0, 0), (0, 0.75), (0.75, 1), (0, 1)]
    assert [batch.weight(row) for row in range(5)] == [1, 0, 0.75, 0.25, 1]
    assert batch.document(3) == rows[2]
    assert "parse 4, samples 3 to 4" in repr(rows[2])
    usual = batch.usual_parses()
    assert usual.doc_ids == [some_documents(1)[0].doc_id, "d", "e"]
    assert usual.firsts.tolist() == [0, 1, 2]
    assert usual.document(1).samples is None


@pytest.mark.parametrize(
    ("number", "samples", "message"), [(0, (0, 1, 2), "samples must be"), (1, None, "samples is missing")]
)
def test_a_parse_has_a_number_and_a_range_of_samples(number: int, samples: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        parse(number, samples, "a")
