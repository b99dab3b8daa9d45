"""Clusterings in displaCy: its input, its markup, and the rendered page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import chromium
import pytest
from expected_errors import error
from spacy import displacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

import corefsample as cs
from corefsample import ParameterError
from corefsample.spacy_bridge.component import set_posterior
from corefsample.spacy_bridge.displacy import (
    STYLES,
    clustering_markup,
    displacy_input,
    displacy_options,
    side_by_side_markup,
)

WORDS = ["His", "dog", "\n", "barked", ".", " ", "He", "left", " ", "the", " ", "dog", ".", "\n\n"]
SPANS = [(0, 2), (0, 1), (6, 7), (9, 12)]  # His dog, His, He, the dog


def scored(words: Sequence[str], spans: Sequence[tuple[int, int]], scores: dict[int, tuple[int, float]]) -> Any:
    """A Doc; each mention has at most one candidate, with a score."""
    doc = Doc(Vocab(), words=list(words), sent_starts=[t == 0 or words[t - 1] == "." for t in range(len(words))])
    rows = [scores.get(i) for i in range(len(spans))]
    distribution = cs.AntecedentDistribution.from_lists(
        [[] if row is None else [row[0]] for row in rows], [[] if row is None else [row[1]] for row in rows]
    )
    set_posterior(doc, distribution, mentions=[doc[start:end] for start, end in spans], n_samples=50)
    return doc


@pytest.fixture
def dogs() -> Any:
    """Map: the dogs are E1, His and He E2. Sentences: tokens 0 to 5, 5 to 13, 13."""
    return scored(WORDS, SPANS, {2: (1, 9.0), 3: (0, 9.0)})


# --- input of displaCy --------------------------------------------------------------------------------


def test_the_input_of_displacy_has_mentions_labelled_by_entity(dogs: Any) -> None:
    drawn = displacy_input(dogs)
    assert [(each["start_token"], each["end_token"]) for each in drawn["spans"]] == SPANS
    assert [each["label"] for each in drawn["spans"]] == ["E1", "E2", "E2", "E1"]
    assert [dogs.text[each["start"] : each["end"]] for each in drawn["spans"]] == [
        dogs[start:end].text for start, end in SPANS
    ]
    assert drawn["tokens"] == [token.text for token in dogs]
    assert (drawn["text"], drawn["title"]) == (dogs.text, None)
    assert len(displacy_input(dogs, [0, 1, 1, 2])["spans"]) == 2
    assert len(displacy_input(dogs, [0, 1, 1, 2], min_size=1)["spans"]) == 4
    assert [each["label"] for each in displacy_input(dogs, style="ent")["ents"]] == ["E1", "E2", "E1"]


def test_labels_and_colours_are_the_same_in_all_clusterings_of_a_doc(dogs: Any) -> None:
    colours = displacy_options(dogs)["colors"]
    changed = displacy_input(dogs, [0, 1, 2, 0], min_size=1)["spans"]
    assert [each["label"] for each in changed] == ["E1", "E2", "M2", "E1"]  # He is no longer his
    for clustering in ("map", 0, 7, [0, 1, 2, 3], [0, 0, 0, 0]):
        drawn = displacy_input(dogs, clustering, min_size=1)["spans"]
        assert {each["label"] for each in drawn} <= set(colours)
        assert [each["label"] for each in drawn] == list(dogs._.coref.entity_names(clustering))


def test_each_name_has_its_own_colour_on_which_black_text_is_readable() -> None:
    n = 100
    doc = scored([f"w{i}" for i in range(n)], [(i, i + 1) for i in range(n)], {n - 1: (7, 9.0)})
    colours = displacy_options(doc)["colors"]
    assert len(colours) == 2 * n - 1
    assert len({colour for name, colour in colours.items() if name.startswith("E")}) == n - 1
    assert next(iter(colours)) == "E8"  # the largest entity
    for colour in colours.values():  # black on it: a contrast of 7 and more, by WCAG's formula
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        assert (luminance + 0.05) / 0.05 >= 7


# --- parts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["span", "sentences"])
def test_a_part_of_a_doc_is_drawn_as_in_the_complete_doc(dogs: Any, part: str) -> None:
    bounds: Any = {"doc": dogs[5:13]} if part == "span" else {"doc": dogs, "sentences": (1, 2)}
    drawn = displacy_input(**bounds)
    assert drawn["text"] == dogs[5:13].text_with_ws
    assert drawn["tokens"] == WORDS[5:13]
    assert [(each["start_token"], each["end_token"]) for each in drawn["spans"]] == [(1, 2), (4, 7)]
    assert [each["label"] for each in drawn["spans"]] == ["E2", "E1"]
    assert [drawn["text"][each["start"] : each["end"]] for each in drawn["spans"]] == ["He", dogs[9:12].text]


def test_sentences_are_a_half_open_range(dogs: Any) -> None:
    texts = [displacy_input(dogs, sentences=each)["text"] for each in ((0, 1), (0, 2), (1, 3), (0, 3))]
    assert texts == [dogs[start:end].text_with_ws for start, end in ((0, 5), (0, 13), (5, 14), (0, 14))]


def test_the_inner_part_of_a_mention_across_the_end_is_drawn(dogs: Any) -> None:
    drawn = displacy_input(dogs[1:10], min_size=1)
    assert [(each["start_token"], each["end_token"]) for each in drawn["spans"]] == [(0, 1), (5, 6), (8, 9)]
    assert [drawn["text"][each["start"] : each["end"]] for each in drawn["spans"]] == ["dog", "He", "the"]
    assert displacy_input(dogs[2:6], min_size=1)["spans"] == []


@pytest.mark.parametrize("sentences", [(0, 0), (1, 0), (-1, 1), (0, 4), (0,), (0, 1, 2), (0, 1.0), "ab", (False, True)])
def test_sentences_out_of_range_are_rejected(dogs: Any, sentences: Any) -> None:
    with error(ParameterError, "sentences"):
        displacy_input(dogs, sentences=sentences)


def test_sentences_of_a_part_or_of_a_doc_without_them_are_rejected(dogs: Any) -> None:
    with pytest.raises(ParameterError, match="sentences must be left out where doc is a Span"):
        clustering_markup(dogs[0:5], sentences=(0, 1))
    bare = Doc(Vocab(), words=["He", "left"])
    set_posterior(bare, cs.AntecedentDistribution.from_lists([[]], [[]]), mentions=[bare[0:1]])
    with pytest.raises(ParameterError, match="doc must have sentences, got none"):
        clustering_markup(bare, sentences=(0, 1))
    assert "left" in clustering_markup(bare)


# --- markup ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("style", STYLES)
def test_markup_shows_the_text_and_runs_nothing(style: Any) -> None:
    words = ["<script>alert('x')</script>", "saw", "&", "\u05e9\u05dc\u05d5\u05dd", "\U0001f600", "."]
    doc = scored(words, [(0, 1), (3, 5), (3, 4)], {1: (0, 9.0), 2: (0, 9.0)})
    doc.user_data["title"] = "<b>"
    html = clustering_markup(doc, style=style, page=True)
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "<b>" not in html
    assert "\u05e9\u05dc\u05d5\u05dd" in html
    assert "\U0001f600" in html
    assert displacy_options(doc)["colors"]["E1"] in html
    assert html.count("E1") == (3 if style == "span" else 2)
    assert html.startswith("<!DOCTYPE html>")
    assert not clustering_markup(doc, style=style).startswith("<!DOCTYPE")


@pytest.mark.parametrize("style", STYLES)
def test_displacy_accepts_the_input_and_the_options(dogs: Any, style: Any) -> None:
    drawn, options = displacy_input(dogs, 0, style=style), displacy_options(dogs, style=style)
    html = displacy.render(drawn, style=style, manual=True, options=options, jupyter=False)
    assert html == clustering_markup(dogs, 0, style=style)


def test_columns_have_titles_and_one_clustering_each(dogs: Any) -> None:
    html = side_by_side_markup(dogs, ["map", 3, [0, 1, 2, 3]], min_size=1)
    assert html.count('<div class="entities"') == 3
    assert [html.count(title) for title in ("Likeliest antecedents", "Sample 3", "Clustering 3")] == [1, 1, 1]
    for clustering in ("map", 3, [0, 1, 2, 3]):
        assert clustering_markup(dogs, clustering, style="ent", min_size=1) in html
    titled = side_by_side_markup(dogs, ["map", 0], titles=["<Best>", "Drawn"], sentences=(0, 1), page=True)
    assert "&lt;Best&gt;" in titled
    assert "Sample" not in titled
    assert "left" not in titled
    assert titled.startswith("<!DOCTYPE html>")


def test_what_cannot_be_drawn_is_rejected(dogs: Any) -> None:
    for draw in (displacy_input, displacy_options, side_by_side_markup):
        with error(ParameterError, "style"):
            draw(dogs, style="dep")  # type: ignore[operator]
    with error(ParameterError, "min_size"):
        displacy_input(dogs, min_size=0)
    for draw in (clustering_markup, displacy_options):
        with error(ParameterError, "doc"):
            draw(Doc(dogs.vocab, words=["a"]))  # type: ignore[operator]
    with pytest.raises(ParameterError, match="doc must be a Doc or a Span, got str"):
        clustering_markup("He left.")  # type: ignore[arg-type]
    for clusterings in ([], "map"):
        with pytest.raises(ParameterError, match="clusterings must be a list of at least one, got "):
            side_by_side_markup(dogs, clusterings)
    for titles in (["a"], "ab"):
        with pytest.raises(ParameterError, match=r"titles must be as many as clusterings \(2\), got "):
            side_by_side_markup(dogs, ["map", 0], titles=titles)
    with pytest.raises(ParameterError, match="clustering must be a sample from 0 to below 50, got 50"):
        side_by_side_markup(dogs, ["map", 50])


# --- in a browser ------------------------------------------------------------------------------------------

RECTANGLES = """[...document.querySelectorAll("mark")].flatMap(
    mark => [...mark.getClientRects()].map(r => [r.left, r.top, r.right, r.bottom]))"""


@pytest.mark.skipif(chromium.missing() is not None, reason=str(chromium.missing()))
def test_shading_over_several_lines_overlaps_nothing(tmp_path: Path) -> None:
    words = ["word"] * 120
    doc = scored(words, [(3 * i, 3 * i + 60 * (i == 1) + 2) for i in range(2)] + [(70, 71)], {1: (0, 9.0), 2: (0, 9.0)})
    # Once more without a document type: there browsers give lines without plain text another height.
    for name, html in (
        ("standard", side_by_side_markup(doc, page=True)),
        ("quirks", f"<html><body>{side_by_side_markup(doc)}</body></html>"),
    ):
        (tmp_path / f"{name}.html").write_text(html, encoding="utf-8")
    with chromium.chromium(width=700, height=900) as browser:
        for name in ("standard", "quirks"):
            browser.get((tmp_path / f"{name}.html").as_uri())
            boxes = browser.execute_script(f"return {RECTANGLES}")
            assert len(boxes) > 12  # three columns, the second mention over several lines in each
            for i, (left, top, right, bottom) in enumerate(boxes):
                for other in boxes[:i]:
                    apart = right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top
                    assert apart, (name, boxes[i], other)
