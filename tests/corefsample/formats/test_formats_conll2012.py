"""CoNLL-2012 files: what is read, what is rejected, and that what is written reads back equal, here and elsewhere."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st
from references import annotated_formats as reference
from references.annotated_formats import plain_document, spans

from corefsample import InputError, ParameterError, Tokens
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.formats.annotated import _conll2012 as conll2012

# Written for this test, in the columns of OntoNotes: two parts, and a predicate with its arguments in a sentence.
SAMPLE = """\
#begin document (bc/made/00/made_0001); part 000
bc/made/00/made_0001   0    0     The   DT  (TOP(S(NP(NP*         -    -   -   Ann   (ORG*  (ARG0*   (4|(7
bc/made/00/made_0001   0    1   union   NN              *)    union    -   2   Ann       *)      *      7)
bc/made/00/made_0001   0    2      of   IN            (PP*        -    -   -   Ann       *       *       -
bc/made/00/made_0001   0    3    pilots NNS        (NP*)))        -    -   -   Ann       *       *)  (12)|4)
bc/made/00/made_0001   0    4    voted  VBD         (VP*)      vote   01   1   Ann       *     (V*)      -
bc/made/00/made_0001   0    5       .    .            *))         -    -   -   Ann       *       *       -

bc/made/00/made_0001   0    0    They   PRP  (TOP(S(NP*)          -    -   -   Bob       *     (4)
bc/made/00/made_0001   0    1     did   VBD       (VP*)))        do   02   -   Bob       *       -

#end document
#begin document (bc/made/00/made_0001); part 001
bc/made/00/made_0001   1    0    Rain   NN   (TOP(NP*))           -    -   -     -       *       -

#end document
"""


read = partial(reference.read_text, conll2012.read_conll2012, name="corpus.v4_gold_conll")


written = partial(reference.written_text, conll2012.write_conll2012)


def cells(*coreference: str, name: str = "d", sentence_ends: Sequence[int] = ()) -> str:
    """A document of words a, b, c ... with these last columns."""
    lines = [f"#begin document ({name});"]
    for i, cell in enumerate(coreference):
        lines += [f"{name} 0 {i} {chr(97 + i)} {cell}"] + [""] * (i in sentence_ends)
    return "\n".join([*lines, "", "#end document", ""])


def tabbed(*last: str) -> str:
    """A document of words a, b, c ... whose columns are between tabs, with these last cells."""
    rows = [f"d\t0\t{i}\t{chr(97 + i)}\t_\t_\t{cells}" for i, cells in enumerate(last)]
    return "\n".join(["#begin document (d);", *rows, "", "#end document", ""])


# --- reading -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "last",
    [
        ("(1\t", "1)\t", "(2)\t", "_\t"),  # an empty column after the coreference
        ("_\t(1", "_\t1)", "_\t(2)", "_\t"),  # coreference, empty for none
        ("(1", "1)", "(2)", "_"),
    ],
)
def test_the_last_column_between_tabs_may_be_empty(last: tuple[str, ...]) -> None:
    (document,) = read(tabbed(*last))
    assert spans(document) == [(0, 2, "1"), (2, 3, "2")]
    assert list(document.tokens.text) == ["a", "b", "c", "d"]


def test_coreference_that_is_empty_throughout_is_none() -> None:
    # The column before has arguments of a predicate, which look like brackets.
    (document,) = read(tabbed("(A0*)\t", "(V*)\t", "*\t"))
    assert document.n_mentions == 0


def test_each_part_is_a_document_with_its_columns() -> None:
    first, second = read(SAMPLE)
    assert (first.doc_id, second.doc_id) == ("bc/made/00/made_0001_0", "bc/made/00/made_0001_1")
    assert dict(first.metadata) == {"document": "bc/made/00/made_0001", "part": "000", "genre": "bc"}
    assert reference.parse(first.tokens) == Tokens(
        text=["The", "union", "of", "pilots", "voted", ".", "They", "did"],
        lemma=["The", "union", "of", "pilots", "vote", ".", "They", "do"],
        upos=["DET", "NOUN", "ADP", "NOUN", "VERB", "PUNCT", "PRON", "VERB"],
        dep=["_"] * 8,
        head=np.array([-1] * 8),
        sent=np.array([0] * 6 + [1] * 2),
    )
    extra = first.tokens.extra
    assert extra["xpos"][:2] == ["DT", "NN"]
    assert extra["parse_bit"][:3] == ["(TOP(S(NP(NP*", "*)", "(PP*"]
    assert (extra["predicate_lemma"][4], extra["frameset"][4], extra["sense"][1]) == ("vote", "01", "2")
    assert extra["speaker"][5:7] == ["Ann", "Bob"]
    assert extra["named_entity"][:2] == ["(ORG*", "*)"]
    assert extra["arguments"][4:7] == ["(V*)", "*", ""]
    assert second.tokens.text == ["Rain"]
    assert second.n_mentions == 0


def test_brackets_are_read_and_heads_found_in_the_parse_bits() -> None:
    document = read(SAMPLE)[0]
    assert spans(document) == [(0, 4, "4"), (0, 2, "7"), (3, 4, "12"), (6, 7, "4")]
    assert document.mentions[:, 2].tolist() == [1, 1, 3, 6]  # union, union, pilots, They


def test_files_of_few_columns_and_tabs_and_other_headers_are_read() -> None:
    text = "#begin document Some Name\nx\t0\t0\tA\tNNP\t(1)\n# a remark\nx 0 1 b\u00a0c VB _\n#end document x\n"
    (document,) = read(text)
    assert document.doc_id == "Some Name"
    assert document.tokens.text == ["A", "b\u00a0c"]
    assert document.tokens.upos == ["PROPN", "VERB"]
    assert document.tokens.extra["parse_bit"] == ["-", "-"]


def test_mentions_that_cross_sentences_are_skipped_and_counted_or_kept() -> None:
    text = cells("(1", "(2)", "1)", sentence_ends=[0])
    (document,) = read(text)
    assert spans(document) == [(1, 2, "2")]
    assert document.skipped == {"crossing_sentences": 1}
    (document,) = read(text, on_crossing_sentences="keep")
    assert spans(document) == [(0, 3, "1"), (1, 2, "2")]
    assert document.skipped == {}
    with error(ParameterError, "on_crossing_sentences"):
        read(text, on_crossing_sentences="drop")


# --- heads and tags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "tags", "span", "head"),
    [
        # the president | of France: the noun before what modifies it from behind
        ("(NP(NP* *) (PP* (NP*)))", "DT NN IN NNP", (0, 4), 1),
        # the same words as a span that is no constituent of its own
        ("(NP* * (PP* (NP*)))", "DT NN IN NNP", (0, 2), 1),
        # France 's old president
        ("(NP(NP* *) * *)", "NNP POS JJ NN", (0, 4), 3),
        # France 's: the name, not the ending
        ("(NP(NP* *) * *)", "NNP POS JJ NN", (0, 2), 0),
        # dogs and cats; the dog and the cat: the first part, as Universal Dependencies have it
        ("(NP* * *)", "NNS CC NNS", (0, 3), 0),
        ("(NP(NP* *) * (NP* *))", "DT NN CC DT NN", (0, 5), 1),
        # the poor; both; his; 1999
        ("(NP* *)", "DT JJ", (0, 2), 1),
        ("(NP*)", "PRP$", (0, 1), 0),
        # a verb; a clause: its last word
        ("(S(NP*) (VP* (NP*)))", "NNP VBD NNP", (1, 2), 1),
        # very poor, eh
        ("(NP(ADJP* *) *)", "RB JJ UH", (0, 3), 1),
        # no tree
        ("* * *", "NN IN NN", (0, 3), 2),
    ],
)
def test_the_head_of_a_noun_phrase_stands_before_its_modifiers(
    bits: str, tags: str, span: tuple[int, int], head: int
) -> None:
    assert conll2012.head_of(conll2012.sentence_tree(bits.split(), tags.split()), *span) == head


def bits_of(node: conll2012.Constituent) -> list[str]:
    """Parse bits of a tree, the obvious way."""
    if not node.children:
        return ["*"]
    bits = [bit for child in node.children for bit in bits_of(child)]
    return [f"({node.label}{bits[0]}", *bits[1:-1], f"{bits[-1]})"] if len(bits) > 1 else [f"({node.label}{bits[0]})"]


@st.composite
def trees(draw: st.DrawFn) -> conll2012.Constituent:
    """A phrase over words X, phrases and words below it."""

    def phrase(start: int, depth: int) -> conll2012.Constituent:
        label, end = draw(st.sampled_from(["NP", "VP", "S"])), start
        children = []
        for _ in range(draw(st.integers(1, 3))):
            deeper = depth < 3 and draw(st.booleans())
            children.append(phrase(end, depth + 1) if deeper else conll2012.Constituent("X", end, end + 1))
            end = children[-1].end
        return conll2012.Constituent(label, start, end, children)

    return phrase(0, 0)


@given(trees(), st.data())
def test_parse_bits_are_the_tree_they_were_made_of(tree: conll2012.Constituent, data: st.DataObject) -> None:
    bits = bits_of(tree)
    root = conll2012.sentence_tree(bits, ["X"] * tree.end)
    assert root is not None
    assert root.children == [tree]
    start = data.draw(st.integers(0, tree.end - 1))
    end = data.draw(st.integers(start + 1, tree.end))
    assert start <= conll2012.head_of(root, start, end) < end


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "fragments"),
    [
        (cells("-", "1)"), "line 3: doc_id 'd': sentence 1: ", ["must close an open one", "got '1)'"]),
        (cells("(1", "(2)"), "line 2: doc_id 'd': sentence 1: ", ["must be closed", "got '(1'"]),
        (cells("-", "1"), "line 3: doc_id 'd': sentence 1: ", ["must be - or brackets", "got '1'"]),
        (cells("-", "- -"), "line 3: doc_id 'd': sentence 1: ", ["have 5 columns, as all rows of the sentence, got 6"]),
        (cells("-").replace("#end document\n", ""), "line 3: doc_id 'd': ", ["must end with #end document"]),
        (cells("-") + "d 0 0 a -\n", "line 5: ", ["a row must be between #begin document", "got 'd 0 0 a -'"]),
        (cells("-") + cells("-"), "line 5: doc_id 'd': ", ["must be unique in the corpus"]),
        (SAMPLE.replace("(VP*)  ", "(VP*   "), "sentence 1: ", ["parse bits of a sentence must be a tree"]),
        (SAMPLE.replace(" *)) ", " *)))"), "line 7: ", ["must be a tree", "got '*)))'"]),
    ],
)
def test_bad_input_is_rejected_by_place_rule_and_value(text: str, place: str, fragments: list[str]) -> None:
    with pytest.raises(InputError) as error:
        read(text)
    message = str(error.value)
    assert f"corpus.v4_gold_conll: {place}" in message or ("sentence" in place and place in message)
    assert all(fragment in message for fragment in fragments), message
    assert message.isprintable(), "a message is one line"


# --- writing -----------------------------------------------------------------------------------------------


def test_a_file_of_the_format_is_written_as_it_was_but_for_blanks() -> None:
    text, summary = written(read(SAMPLE))
    # Brackets of one word come in an order of our own: what opens, what is one word, what closes.
    expected = [" ".join(line.split()) for line in SAMPLE.splitlines()]
    assert text.splitlines() == expected
    assert (summary.n_documents, summary.n_mentions, summary.left_out) == (2, 4, {})


@settings(max_examples=60)
@given(reference.annotated_documents())
def test_what_is_written_reads_back_equal(document: AnnotatedDocument) -> None:
    document = dataclasses.replace(document, doc_id=document.doc_id.strip())
    remaining = reference.writable(document)
    text, summary = written([document])
    (found,) = read(text)
    assert found.doc_id == document.doc_id
    assert found.mentions[:, :2].tolist() == document.mentions[remaining, :2].tolist()
    expected = dataclasses.replace(
        document,
        mentions=document.mentions[remaining],
        entities=[document.entities[i] for i in remaining],
        attributes={},
    )
    assert found.labels.tolist() == expected.labels.tolist()
    assert found.tokens.text == [word.replace(" ", "_") for word in document.tokens.text]
    assert found.tokens.sent.tolist() == document.tokens.sent.tolist()
    assert summary.left_out.total() == document.n_mentions - len(remaining)
    again, _ = written([found])
    assert again == text
    assert read(again) == [found]
    pieces = [tuple(span) for span in found.mentions[:, :2].tolist()]
    named = Counter((*span, entity) for span, entity in zip(pieces, found.entities, strict=True))
    assert reference.bracket_spans(reference.conll2012_cells(text)) == named, "by an independent reading of the text"


def test_entities_keep_whole_numbers_as_names_and_others_are_numbered() -> None:
    numbers = plain_document(4, [(0, 1, "12"), (1, 2, "7")])
    assert read(written([numbers])[0])[0].entities == ("12", "7")
    mixed = plain_document(4, [(0, 1, "12"), (1, 2, "e7"), (2, 3, "12")])
    assert read(written([mixed])[0])[0].entities == ("0", "1", "0")


def test_singletons_are_left_out_on_request() -> None:
    document = plain_document(4, [(0, 4, "1"), (0, 1, "2"), (1, 2, "2")])
    text, summary = written([document], singletons=False)
    assert spans(read(text)[0]) == [(0, 1, "2"), (1, 2, "2")]
    assert summary.left_out == {"singletons": 1}


def test_a_part_is_written_where_the_name_of_the_document_still_has_it() -> None:
    document = read(SAMPLE)[1]
    assert "#begin document (bc/made/00/made_0001); part 001" in written([document])[0]
    renamed = dataclasses.replace(document, doc_id="other")
    text, _ = written([renamed])
    assert "#begin document (other);\n" in text
    assert read(text)[0].doc_id == "other"


def test_documents_outside_the_format_are_rejected(tmp_path: Path) -> None:
    path = tmp_path / "out.conll"
    for document, rule in (
        (plain_document(4, [], doc_id="a\nb"), "name must be one line"),
        (plain_document(4, [], doc_id=" "), "name must be one line without blanks at its ends"),
    ):
        with pytest.raises(ParameterError, match=rule):
            conll2012.write_conll2012([document], path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("mine")
    with pytest.raises(ParameterError, match="output must not exist"):
        conll2012.write_conll2012([], path)
    assert path.read_text() == "mine"


# --- the field's scorers -----------------------------------------------------------------------------------


def scorch_clusters(text: str) -> list[Counter[tuple[Any, ...]]]:
    """Entities by scorch, spans by sentence and word; it keeps a span in one entity alone, the first."""
    conll = pytest.importorskip("scorch.conll", reason="scorch, a scorer of the field, is not installed")
    found = []
    for _, entities in conll.parse_file(line.strip() for line in text.splitlines()):
        found.append(Counter(tuple(sorted((s, int(a), int(b)) for s, a, b in spans)) for spans in entities.values()))
    return found


@settings(max_examples=40)
@given(st.lists(reference.annotated_documents(), min_size=1, max_size=2))
def test_a_scorer_sees_the_same_entities(documents: list[AnnotatedDocument]) -> None:
    ready, expected = [], []
    for k, document in enumerate(documents):
        # Each span once, as scorch asks for.
        spans_of = [tuple(span) for span in document.mentions[:, :2].tolist()]
        remaining = [i for i in reference.writable(document) if spans_of[i] not in spans_of[:i]]
        names = [document.entities[i] for i in remaining]
        ready.append(
            dataclasses.replace(
                document, doc_id=f"d{k}", mentions=document.mentions[remaining], entities=names, attributes={}
            )
        )
        sents, first = document.tokens.sent, {s: a for s, (a, _) in document.tokens.sentences().items()}
        where = [
            (int(sents[a]), a - first[sents[a]], b - 1 - first[sents[a]]) for a, b in (spans_of[i] for i in remaining)
        ]
        expected.append(
            Counter(
                tuple(sorted(span for span, other in zip(where, names, strict=True) if other == name))
                for name in set(names)
            )
        )
    text, _ = written(ready)
    assert scorch_clusters(text) == expected
