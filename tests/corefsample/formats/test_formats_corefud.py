"""CorefUD files: what is read, what is rejected, and that what is written reads back equal, here and elsewhere."""

import dataclasses
import datetime
import gzip
import json
import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from references import annotated_formats as reference
from references.annotated_formats import plain_document, spans

from corefsample import AntecedentDistribution, InputError, ParameterError, ScoredDocument, Tokens, read_documents
from corefsample.documents._annotated import NOTES_FIELD, AnnotatedDocument
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Rejected
from corefsample.documents._scored import FIELDS
from corefsample.formats.annotated._corefud import read_corefud, write_corefud

GUM_FIELDS = "GRP-etype-infstat-salience-centering-minspan-link-identity"


def sentence(*rows: str, comments: Sequence[str] = ()) -> str:
    """Rows "ID FORM HEAD MISC", blanks between them, as ten columns."""
    lines = list(comments)
    for row in rows:
        number, form, head, misc = row.split(" ")
        deprel = "_" if head == "_" else "root" if head == "0" else "dep"
        lines.append("\t".join([number, form, form.lower(), "X", "XX", "_", head, deprel, "_", misc]))
    return "\n".join(lines) + "\n\n"


def words(*entities: str, comments: Sequence[str] = (), heads: Sequence[int] | None = None) -> str:
    """A sentence of words a, b, c ..., each the dependent of the one before it unless `heads` are given."""
    heads = range(len(entities)) if heads is None else heads
    rows = [
        f"{i + 1} {chr(97 + i)} {head} {f'Entity={entity}' if entity else '_'}"
        for i, (entity, head) in enumerate(zip(entities, heads, strict=True))
    ]
    return sentence(*rows, comments=comments)


def header(doc_id: str = "d", fields: str | None = "eid-etype-head-other") -> list[str]:
    return [f"# newdoc id = {doc_id}", *([f"# global.Entity = {fields}"] if fields else [])]


read = partial(reference.read_text, read_corefud, name="corpus.conllu")


def read_one(text: str, **options: Any) -> AnnotatedDocument:
    (document,) = read(text, **options)
    return document


written = partial(reference.written_text, write_corefud)


def heads(document: AnnotatedDocument) -> list[int]:
    return document.mentions[:, 2].tolist()


# --- brackets ----------------------------------------------------------------------------------------------


def test_the_longest_of_mentions_that_open_together_comes_first_however_they_are_written() -> None:
    document = read_one(words("(e1-short(e2-long", "e1)", "e2)", comments=header()))
    assert spans(document) == [(0, 3, "e2"), (0, 2, "e1")]
    assert document.attributes["etype"] == ["long", "short"]


def test_the_fields_of_gum_split_seven_times_and_the_last_may_be_missing() -> None:
    entity = "(3-person-giv:act-n_n-cf1-1,2-coref-Jean-Luc_Godard)(4-time-new-nnnnn-cf2-1-sgl)"
    document = read_one(words(entity, comments=header(fields=GUM_FIELDS)))
    assert document.entities == ("3", "4")
    assert {name: column[0] for name, column in document.attributes.items()} == {
        "etype": "person", "infstat": "giv:act", "salience": "n_n", "centering": "cf1",
        "minspan": "1,2", "link": "coref", "identity": "Jean-Luc_Godard",
    }  # fmt: skip
    assert document.attributes["identity"] == ["Jean-Luc_Godard", ""]
    assert document.entity_fields == tuple(GUM_FIELDS.split("-"))


def test_percent_codes_of_an_id_are_read_and_other_text_stays() -> None:
    document = read_one(words("(a%2Db)", "(c%C3%A9)", "(50%)", "(%FF)", comments=header()))
    assert document.entities == ("a-b", "cé", "50%", "%FF")


# --- heads -------------------------------------------------------------------------------------------------


def test_the_head_is_the_first_word_whose_own_head_lies_outside() -> None:
    # c depends on b and b on d, outside; a, the other word with its head outside, comes first in the second span.
    document = read_one(words("(e2-x", "(e1-x", "e1)e2)", "", comments=header(fields="eid-etype"), heads=[4, 4, 2, 0]))
    assert spans(document) == [(0, 3, "e2"), (1, 3, "e1")]
    assert heads(document) == [0, 1]


def test_a_declared_head_counts_empty_nodes_and_falls_back_from_one() -> None:
    rows = ("1 a 0 Entity=(e1-x-3(e2-x-2", "1.1 _ _ _", "2 b 1 Entity=e2)", "3 c 2 Entity=e1)")
    document = read_one(sentence(*rows, comments=header()))
    assert spans(document) == [(0, 3, "e1"), (0, 2, "e2")]
    assert heads(document) == [1, 0]  # e1's third node is b; e2's second is the empty one, so its head is the root


# --- what is no span of words in a sentence ----------------------------------------------------------------

GAP = words("(e1[1/2]-x-1", "e1[1/2])", "(e2)", "(e1[2/2]-x-1)", comments=header())
ACROSS = words("(e1", "(e2)", comments=header()) + words("e1)", "(e3)")


def test_mentions_that_cross_sentences_are_skipped_and_counted_or_kept() -> None:
    document = read_one(ACROSS)
    assert spans(document) == [(1, 2, "e2"), (3, 4, "e3")]
    assert document.skipped == {"crossing_sentences": 1}
    document = read_one(ACROSS, on_crossing_sentences="keep")
    assert {"e1", "e2", "e3"} == set(document.entities)
    assert document.skipped == {}


def test_a_discontinuous_mention_is_its_part_with_the_head_and_is_written_back_whole() -> None:
    document = read_one(GAP)  # a is the head: b hangs on it, and d, the second part, on c
    assert spans(document) == [(0, 2, "e1"), (2, 3, "e2")]
    assert heads(document) == [0, 2]
    assert document.attributes["parts"] == ["0-2 3-4", ""]
    assert document.skipped == {}
    written_back = GAP.replace("(e2)", "(e2--1)")
    assert written([document])[0] == written_back
    # The field head counts the words of all parts: the third is d.
    other = read_one(GAP.replace("-x-1", "-x-3"))
    assert spans(other) == [(2, 3, "e2"), (3, 4, "e1")]
    assert written([other])[0] == written_back.replace("-x-1", "-x-3")


ZERO = (
    "# newdoc id = d\n# global.Entity = eid\n# text = Dicen que llueve.\n"
    "0.1\t_\t_\tPRON\tp\t_\t_\t_\t1:nsubj\tEntity=(e1)\n"
    "1\tDicen\tdecir\tVERB\t_\tNumber=Plur|Person=3\t0\troot\t0:root\t_\n"
    "2-3\tquellueve\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
    "2\tque\tque\tSCONJ\t_\t_\t3\tmark\t3:mark\t_\n"
    "2.1\t#It\t_\tPRON\t_\t_\t_\t_\t2.2:dep|1:nsubj:pass|3:x\tGloss=it\n"
    "2.2\t_\t_\tVERB\t_\t_\t_\t_\t3:dep\t_\n"
    "3\tllueve\tllover\tVERB\t_\t_\t1\tccomp\t1:ccomp\tEntity=(e2)\n\n"
)


def test_zeros_are_tokens_without_text_that_hang_on_a_word() -> None:
    document = read_one(ZERO)
    tokens = document.tokens
    assert tokens.text == ["", "Dicen", "que", "", "llueve"]
    assert tokens.extra["empty"] == ["_", "", "", "#It", ""]
    assert (tokens.head.tolist(), tokens.dep) == ([1, -1, 4, 1, 1], ["nsubj", "root", "mark", "nsubj:pass", "ccomp"])
    assert tokens.extra["space_after"] == [False, True, False, False, False]  # the text is what it was
    assert spans(document) == [(0, 1, "e1"), (4, 5, "e2")]
    assert written([document])[0] == ZERO


def test_without_a_zero_in_a_mention_an_annotated_document_has_no_empty_tokens() -> None:
    assert "empty" not in read_one(ZERO.replace("Entity=(e1)", "_")).tokens.extra
    unannotated = re.sub(r"Entity=\(e.\)", "_", ZERO)
    assert read_one(unannotated).tokens.extra["empty"] == ["_", "", "", "#It", ""]


def test_parts_that_adjoin_make_one_mention() -> None:
    rows = ("1 a 0 Entity=(e1[1/3]-x-4)", "1.1 _ _ Entity=(e1[2/3]-x-4)", "2 b 1 Entity=(e1[3/3]-x-4",
            "3 c 2 Entity=e1[3/3])")  # fmt: skip
    document = read_one(sentence(*rows, comments=header()))
    assert spans(document) == [(0, 4, "e1")]  # the empty node is a token
    assert heads(document) == [3]


# --- documents, words and comments -------------------------------------------------------------------------


def test_columns_become_tokens() -> None:
    text = (
        "# newdoc id = d\n# meta::genre = news\n# meta::date = 2019-03-04\n# sent_id = d-1\n# text = Vámonos, ya\n"
        "1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n"
        "1\tVamos\tir\tVERB\tV\tMood=Imp\t0\troot\t0:root\tGloss=go\n"
        "2\tnos\tyo\tPRON\t_\t_\t1\tobj\t_\t_\n"
        "3\t,\t,\tPUNCT\t_\t_\t4\tpunct\t_\t_\n"
        "4\tya\tya\tADV\t_\t_\t1\tadvmod\t_\tSpaceAfter=No\n\n"
        "# sent_id = d-2\n1-2\tdel\t_\t_\t_\t_\t_\t_\t_\t_\n"
        "1\tde\tde\tADP\t_\t_\t3\tcase\t_\t_\n2\tel\tel\tDET\t_\t_\t3\tdet\t_\t_\n"
        "3\tmar\tmar\tNOUN\t_\t_\t0\troot\t_\t_\n"
    )
    document = read_one(text)
    assert reference.parse(document.tokens) == Tokens(
        text=["Vamos", "nos", ",", "ya", "de", "el", "mar"],
        lemma=["ir", "yo", ",", "ya", "de", "el", "mar"],
        upos=["VERB", "PRON", "PUNCT", "ADV", "ADP", "DET", "NOUN"],
        dep=["root", "obj", "punct", "advmod", "case", "det", "root"],
        head=np.array([-1, 0, 3, 0, 6, 6, -1]),
        sent=np.array([0, 0, 0, 0, 1, 1, 1]),
    )
    extra = document.tokens.extra
    assert extra["space_after"] == [False, False, True, False, False, True, True]
    assert (extra["xpos"][0], extra["feats"][0], extra["deps"][0], extra["misc"][0]) == (
        "V", "Mood=Imp", "0:root", "Gloss=go",
    )  # fmt: skip
    assert document.date == datetime.date(2019, 3, 4)
    assert dict(document.metadata) == {"genre": "news", "meta::date": "2019-03-04"}
    assert document.sentences[0].comments == ("# sent_id = d-1", "# text = Vámonos, ya")
    assert document.sentences[0].further_rows[0][1].startswith("1-2\tVámonos")
    assert document.n_mentions == 0


def test_documents_begin_at_newdoc_wherever_it_stands_among_the_comments() -> None:
    text = words("(e1)", comments=["# global.Entity = eid", "# newdoc id = a b"]) + words("(e2)")
    text += words("(e3)", comments=["# sent_id = x", "# newdoc"]) + words("(e4)", comments=["# newdoc id = c"])
    documents = read(text)
    assert [document.doc_id for document in documents] == ["a b", "corpus-2", "c"]
    assert [document.entities for document in documents] == [("e1", "e2"), ("e3",), ("e4",)]
    assert [document.entity_fields for document in documents] == [("eid",)] * 3


def test_comments_stay_with_their_sentence() -> None:
    text = words("", comments=[*header(), "# meta::a =  b ", "# x", "# y = z"]) + words("", comments=["# meta::b = c"])
    document = read_one(text)
    assert dict(document.metadata) == {"a": " b "}
    assert [notes.comments for notes in document.sentences] == [("# x", "# y = z"), ("# meta::b = c",)]
    assert written([document])[0] == text


def test_a_file_without_newdoc_is_one_document_called_by_the_file(tmp_path: Path) -> None:
    path = tmp_path / "en_x.conllu.gz"
    path.write_bytes(gzip.compress((words("", "") + words("")).encode()))
    (document,) = read_corefud(path)
    assert document.doc_id == "en_x"
    assert (document.n_sentences, document.entity_fields) == (2, None)


def test_the_first_existing_date_key_counts() -> None:
    comments = ["# newdoc id = d", "# date = 2001-01-01", "# meta::date = 2003-01-01"]
    assert read_one(words("", comments=comments)).date == datetime.date(2003, 1, 1)
    assert read_one(words("", comments=comments[:2])).date == datetime.date(2001, 1, 1)
    assert read_one(words("", comments=comments[:1])).date is None


# --- bad input ---------------------------------------------------------------------------------------------

GOOD = words("(e1)", comments=[*header("good"), "# sent_id = good-1"])
SECOND = ["# newdoc id = bad", "# sent_id = bad-1"]  # lines 6 and 7: after GOOD's, which are five with the blank one


def bad_row(row: str) -> str:
    return sentence("1 a 0 _", comments=SECOND).rstrip("\n") + f"\n{row}\n\n"


@pytest.mark.parametrize(
    ("text", "line", "fragments"),
    [
        (words("", "e1)", comments=SECOND), 9, ["Entity: a closing bracket must close an open one", "got 'e1)'"]),
        (words("(e1-x", "(e2)", comments=SECOND), 8, ["must be closed before the document ends", "got '(e1-x'"]),
        (words("e1", comments=SECOND), 8, ["must be brackets", "got 'e1'"]),
        (words("(-x)", comments=SECOND), 8, ["must contain an id in field 1", "got '(-x)'"]),
        (words("(e1[2/1])", comments=SECOND), 8, ["parts as [1/2]", "got '(e1[2/1])'"]),
        (words("(e1[1/2])", comments=SECOND), 8, ["must have all its parts", "got '(e1[1/2])' alone"]),
        (words("(e1-x-3", "e1)", comments=SECOND), 8, ["head must be a word of the mention (1 to 2), got '3'"]),
        (sentence("1 a 0 Entity=(e1)|Entity=(e2)", comments=SECOND), 8, ["must appear once, got it 2 times"]),
        (sentence("1-1 a _ Entity=(e1)", "1 a 0 _", comments=SECOND), 8, ["must not be on a multiword token"]),
        (bad_row("2\tb\tb"), 9, ["a row must have 10 columns", "got 3"]),
        (sentence("1 a 0 _", "3 b 1 _", comments=SECOND), 9, ["ID: must be 2, or 1.1 of an empty node, got '3'"]),
        (sentence("1 a 3 _", "2 b 0 _", comments=SECOND), 8, ["HEAD: must be 0 or a word", "(1 to 2), got '3'"]),
        ("\n".join(SECOND) + "\n\n", 7, ["a sentence must have a word, got none"]),
    ],
)
def test_bad_input_is_rejected_by_place_rule_and_value(text: str, line: int, fragments: list[str]) -> None:
    with pytest.raises(InputError) as error:
        read(GOOD + text)
    message = str(error.value)
    assert f"corpus.conllu: line {line}: doc_id 'bad': sent_id 'bad-1': " in message
    assert all(fragment in message for fragment in fragments), message
    assert message.isprintable(), "a message is one line"


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        (words("(e1)", comments=["# newdoc id = bad"]), ["line 2", "global.Entity: must be declared", "got none"]),
        (words("", comments=header("bad", "etype-head")), ["line 2", "one of them eid or GRP", "got 'etype-head'"]),
        (words("", comments=header("bad", "eid-x-x")), ["distinct fields", "got 'eid-x-x'"]),
        (
            words("", comments=header("bad")) + words("", comments=["# global.Entity = GRP"]),
            ["line 5", "sentence 2", "must not change within a document", "got 'GRP'"],
        ),
        (
            words("", comments=[*header("bad"), "# meta::date = 2024-2-30"]),
            ["line 3", "meta::date: ", "got '2024-2-30'"],
        ),
    ],
)
def test_bad_comments_are_rejected(text: str, fragments: list[str]) -> None:
    with pytest.raises(InputError, match=r"corpus\.conllu: line [0-9]+: doc_id 'bad': ") as error:
        read(text)
    assert all(fragment in str(error.value) for fragment in fragments), error.value


def test_a_bad_document_is_set_aside_and_no_other() -> None:
    bad = words("(e1", comments=SECOND) + words("", comments=["# sent_id = bad-2"])
    later = words("(e2)", comments=["# newdoc id = later"])
    rejected: list[Rejected] = []
    documents = read(GOOD + bad + later, on_rejected=rejected.append)
    assert [document.doc_id for document in documents] == ["good", "later"]
    (found,) = rejected
    assert (found.place, found.doc_id, found.document) == ("line 8", "bad", bad.removesuffix("\n"))
    assert found.reason.startswith("sent_id 'bad-1': Entity: an opening bracket must be closed")


def test_heads_must_form_trees() -> None:
    with pytest.raises(InputError, match=r"line 6: doc_id 'bad': tokens\.head must form trees, got a cycle through"):
        read(GOOD + words("", "", "", comments=SECOND, heads=[0, 3, 2]))


# --- writing -----------------------------------------------------------------------------------------------


def assert_same(found: AnnotatedDocument, document: AnnotatedDocument, remaining: Sequence[int]) -> None:
    """Everything of the document is there, its mentions as far as they are `kept`."""
    assert (found.doc_id, found.date, found.entity_fields) == (document.doc_id, document.date, document.entity_fields)
    assert found.mentions.tolist() == document.mentions[list(remaining)].tolist()
    assert list(found.entities) == [document.entities[i] for i in remaining]
    for name, column in document.attributes.items():
        assert found.attributes[name] == [column[i] for i in remaining]
    extra = {name: found.tokens.extra[name] for name in document.tokens.extra}
    assert dataclasses.replace(found.tokens, extra=extra) == document.tokens
    dated = {} if document.date is None else {"dateCreated": document.date.isoformat()}
    assert dict(found.metadata) == {**document.metadata, **dated}


@settings(max_examples=100)
@given(reference.annotated_documents() | reference.annotated_documents(by_rule=True))
def test_what_is_written_reads_back_equal(document: AnnotatedDocument) -> None:
    remaining = reference.writable(document)
    text, summary = written([document])
    found = read_one(text)
    assert_same(found, document, remaining)
    assert (summary.n_documents, summary.n_mentions) == (1, len(remaining))
    assert summary.left_out.total() == document.n_mentions - len(remaining)
    again, _ = written([found])
    assert again == text
    assert read_one(again) == found
    assert written([through_scores(found)])[0] == text


def through_scores(document: AnnotatedDocument) -> AnnotatedDocument:
    """The gold entities of a document that was written as a scored one and read back."""
    nothing: list[list[Any]] = [[] for _ in range(document.n_mentions)]
    scored_document = document.scored(AntecedentDistribution.from_lists(nothing, nothing))
    fields = json.loads(json.dumps(DocumentBatch.of([scored_document]).to_json(0)))
    metadata = {name: value for name, value in fields.items() if name not in FIELDS}
    return AnnotatedDocument.from_scored(dataclasses.replace(scored_document, metadata=metadata))


def renamed(document: AnnotatedDocument) -> AnnotatedDocument:
    """The document with entities e0, e1 ... and without attributes of the annotated ones."""
    entities = [f"e{label}" for label in document.labels.tolist()]
    return dataclasses.replace(document, entities=entities, attributes={}, entity_fields=None)


@settings(max_examples=40)
@given(reference.annotated_documents())
def test_brackets_mean_the_spans_that_they_were_written_for(document: AnnotatedDocument) -> None:
    """By an independent reading of the text."""
    document = renamed(document)
    text, _ = written([document])
    remaining = reference.writable(document)
    expected = Counter(
        (*span, document.entities[i])
        for i, span in zip(remaining, document.mentions[remaining, :2].tolist(), strict=True)
    )
    assert reference.bracket_spans(reference.corefud_cells(text, 4)) == expected


@settings(max_examples=40)
@given(st.lists(reference.annotated_documents(), min_size=1, max_size=3), st.booleans())
def test_clusterings_of_several_documents_stay_apart(documents: list[AnnotatedDocument], singletons: bool) -> None:
    documents = [dataclasses.replace(renamed(document), doc_id=f"d{k}") for k, document in enumerate(documents)]
    text, summary = written(documents, singletons=singletons)
    everything: list[str] = []
    for document, found in zip(documents, read(text), strict=True):
        remaining = reference.writable(document)
        sizes = Counter(document.entities[i] for i in remaining)
        remaining = [i for i in remaining if singletons or sizes[document.entities[i]] > 1]
        expected = dataclasses.replace(
            document, mentions=document.mentions[remaining], entities=[document.entities[i] for i in remaining]
        )
        assert reference.clusters(found) == reference.clusters(expected)
        everything += set(found.entities)
    assert len(everything) == len(set(everything)), "an eid is one entity in a file"
    assert summary.n_mentions + summary.left_out.total() == sum(document.n_mentions for document in documents)


def test_empty_nodes_and_multiword_tokens_are_written_where_they_stood_and_counted_in_heads() -> None:
    rows = ("0.1 z _ Entity=(e2)", "1-2 ab _ SpaceAfter=No", "1 a 2 Entity=(e1-x-3", "1.1 z _ Gloss=x", "2 b 0 Z=y",
            "2.1 z _ _", "3-3 c. _ _", "3 c 2 A=b|Entity=e1)(e3--1)|Z=z", "3.1 z _ _", "3.2 z _ _")  # fmt: skip
    comments = [*header(), "# newpar", "# sent_id = s", "# text = abc."]
    text = sentence(*rows, comments=comments)
    text += sentence("1 a 0 Entity=(e4--3", "1.1 z _ _", "2 b 1 Entity=e4)", comments=["# text = ab"])
    document = read_one(text)
    assert heads(document) == [0, 2, 3, 5]
    expected = text.replace("e1)(e3--1)", "(e3--1)e1)").replace("(e2)", "(e2--1)")
    assert written([document])[0] == written([through_scores(document)])[0] == expected


def test_a_sentence_that_came_without_gets_an_id_and_its_text() -> None:
    extra = {"space_after": [False, True, False]}
    document = plain_document(3, [], doc_id="a/b c", sent=[0, 0, 1], head=[1, -1, -1], extra=extra)
    lines = written([document])[0].splitlines()
    comments = [line for line in lines if line.startswith("#")]
    # In a sent_id a slash divides the zone from the sentence.
    assert comments == [
        "# newdoc id = a/b c", "# global.Entity = eid-etype-head-other",
        "# sent_id = a_b_c-1", "# text = ab", "# sent_id = a_b_c-2", "# text = c",
    ]  # fmt: skip
    assert [line.split("\t")[9] for line in lines if line[:1].isdigit()] == ["SpaceAfter=No", "_", "SpaceAfter=No"]


def test_brackets_come_in_the_order_that_validators_ask_for() -> None:
    # Closings, openings, singles; without openings singles first. Longest opens first, latest opened closes first.
    spans_of = [(0, 3, "a"), (0, 2, "b"), (0, 1, "c"), (1, 3, "d"), (2, 4, "e"), (2, 3, "f"), (3, 4, "g")]
    text, _ = written([plain_document(5, spans_of, entity_fields=("eid",))])
    cells = [line.rpartition("\t")[2] for line in text.splitlines() if line[:1].isdigit()]
    assert cells == ["Entity=(a(b(c)", "Entity=b)(d", "Entity=d)a)(e(f)", "Entity=(g)e)", "_"]


def test_mentions_that_brackets_cannot_represent_are_left_out_and_counted() -> None:
    heads = [-1, 0, 1, -1]
    document = plain_document(4, [(0, 4, "b"), (0, 2, "a"), (1, 3, "a"), (2, 3, "c")], sent=[0, 0, 0, 1], head=heads)
    text, summary = written([document])
    assert spans(read_one(text)) == [(0, 2, "a"), (2, 3, "c")]
    assert summary.left_out == {"crossing_sentences": 1, "crossing_mentions": 1}


def test_references_to_entities_are_not_written() -> None:
    misc = ["Bridge=a<b:part,a<c|Gloss=x", "SplitAnte=a<b,b<c", "_"]
    text, _ = written([plain_document(3, [(0, 1, "a"), (1, 2, "b")], extra={"misc": misc})])
    assert read_one(text).tokens.extra["misc"] == ["Gloss=x", "_", "_"]


@pytest.mark.parametrize(("field", "entities"), [("eid", ("a.2", "b.2")), ("GRP", ("a", "b"))])
def test_an_eid_is_one_entity_in_a_file(field: str, entities: tuple[str, str]) -> None:
    mentions = [(0, 1, "a"), (1, 2, "b")]
    documents = [plain_document(2, mentions, doc_id=name, entity_fields=(field,)) for name in ("one", "two")]
    text, _ = written(documents)
    assert [document.entities for document in read(text)] == [("a", "b"), entities]


@pytest.mark.parametrize("key", ["meta::dateCreated", "date", "meta::other"])
def test_a_date_that_changed_is_written(key: str) -> None:
    text = words("", comments=[*header(), f"# {key} = 2001-01-01"])
    document = read_one(text)
    changed, _ = written([dataclasses.replace(document, date=datetime.date(2002, 2, 2))])
    assert read_one(changed).date == datetime.date(2002, 2, 2)
    assert written([document])[0] == text


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"doc_id": "a\nb"}, "must be one line"),
        ({"metadata": {"a=b": "x"}}, "metadata must have names that a comment can represent"),
        ({"extra": {"xpos": ["a\tb", "c"]}}, "tokens must contain no tab"),
        ({"attributes": {"etype": ["a-b"]}}, r"etype\[0\] must contain no bracket"),
        ({"entity_fields": ("etype",)}, "fields of Entity= must be distinct fields"),
        ({"sent": [0, 1]}, r"tokens.head\[1\] must lie in its sentence \(1 to 1\)"),
    ],
)
def test_documents_outside_the_format_are_rejected(fields: dict[str, Any], rule: str, tmp_path: Path) -> None:
    document = plain_document(2, [(0, 1, "a")], **fields)
    with pytest.raises(ParameterError, match=rule):
        write_corefud([document], tmp_path / "out.conllu")
    assert list(tmp_path.iterdir()) == [], "no file is left"


def test_documents_of_other_fields_do_not_share_a_file() -> None:
    documents = [plain_document(1, [(0, 1, "a")], entity_fields=(name,), doc_id=name) for name in ("eid", "GRP")]
    with pytest.raises(ParameterError, match="doc_id 'GRP': fields of Entity= must be the same in a file"):
        written(documents)


# --- documents ---------------------------------------------------------------------------------------------


def scored(**fields: Any) -> ScoredDocument:
    document = plain_document(3, [(0, 2, "x"), (0, 1, "x"), (2, 3, "x")])
    distribution = AntecedentDistribution.from_lists([[], [0], [0]], [[], [0.0], [0.0]])
    return ScoredDocument("d", document.mentions, distribution, tokens=document.tokens, **fields)


def test_a_scored_document_is_written_with_its_gold_or_with_any_clustering() -> None:
    gold = AnnotatedDocument.from_scored(scored(gold=[1, None, "1"]))
    assert (gold.entities, gold.skipped) == (("1", "'1'"), {"not_annotated": 1})
    labels = AnnotatedDocument.from_scored(scored(), np.array([7, 7, 0], np.int32))
    assert labels.entities == ("e1", "e1", "e2")
    assert labels.labels.tolist() == [0, 0, 2]
    assert clusters_after_writing(labels) == reference.clusters(labels)


def test_attributes_belong_to_gold_entities_and_sentences_to_every_clustering() -> None:
    document = read_one(words("(e1-x-1-)", "", "(e2-y-1-z)", comments=[*header(), "# sent_id = s"]))
    scored_document = document.scored(AntecedentDistribution.from_lists([[], [0]], [[], [0.0]]))
    gold = AnnotatedDocument.from_scored(dataclasses.replace(scored_document, gold=[None, "e2"]))
    assert gold.attributes == {"etype": ["y"], "other": ["z"]}
    other = AnnotatedDocument.from_scored(scored_document, np.array([0, 0], np.int32))
    assert (dict(other.attributes), other.sentences) == ({}, document.sentences)
    with pytest.raises(ParameterError) as raised:
        AnnotatedDocument.from_scored(scored(gold=[1, 1, 1], metadata={NOTES_FIELD: {"sentences": "text"}}))
    assert raised.value.parameter == NOTES_FIELD


def clusters_after_writing(document: AnnotatedDocument) -> Counter[Any]:
    return reference.clusters(read_one(written([document])[0]))


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        *(({"doc_id": ""}, "doc_id"), ({"entities": ["a"]}, "entities"), ({"entities": ["a", ""]}, r"entities\[1\]")),
        *(({"attributes": {"etype": []}}, "etype"), ({"attributes": {"start": ["", ""]}}, "attributes")),
        *(({"mentions": [[0, 1, 0], [0, 2, 0]]}, "mentions"), ({"sentences": (None, None)}, "sentences")),
    ],
)
def test_a_document_rejects_invalid_fields(fields: dict[str, Any], rule: str) -> None:
    document = plain_document(2, [(0, 2, "a"), (1, 2, "b")])
    with pytest.raises(ParameterError, match=rule):
        dataclasses.replace(document, **fields)


# --- the real corpus ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("split", "n_documents", "n_words", "n_mentions"),
    [("train", 177, 177_410, 49_649), ("dev", 30, 28_119, 7_897), ("test", 30, 28_397, 7_927)],
)
def test_gum_is_read_as_it_was_scored_and_written_as_it_was_read(
    split: str, n_documents: int, n_words: int, n_mentions: int, gum_path: Path, tmp_path: Path
) -> None:
    path = gum_path.parent / f"en_gum-ud-{split}.conllu.gz"
    if not path.exists():
        pytest.skip(f"the real corpus is not there: {path.name}")
    stream = read_corefud(path)
    documents = list(stream)
    assert (len(documents), stream.skipped) == (n_documents, {})
    assert sum(len(document.tokens) for document in documents) == n_words
    assert sum(document.n_mentions for document in documents) == n_mentions
    scored = (document for document in read_documents(gum_path) if document.metadata["split"] == split)
    for document, expected in zip(documents, scored, strict=True):
        gold = list(expected.gold or ())
        assert (document.doc_id, document.date) == (expected.doc_id, expected.date)
        assert document.mentions.tolist() == expected.mentions.tolist()
        assert document.labels.tolist() == [gold.index(entity) for entity in gold]
        assert reference.parse(document.tokens) == expected.tokens
        assert all(document.metadata[name] == expected.metadata[name] for name in ("genre", "title"))
    summary = write_corefud(documents, tmp_path / "out.conllu")
    assert (summary.n_documents, summary.n_mentions, summary.left_out) == (n_documents, n_mentions, {})
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        expected = [without_references(line) for line in lines]
    assert (tmp_path / "out.conllu").read_text().splitlines(keepends=True) == expected


def without_references(line: str) -> str:
    cells = line.rstrip("\n").split("\t")
    if len(cells) == 10:
        attributes = [part for part in cells[9].split("|") if not part.startswith(("Bridge=", "SplitAnte="))]
        cells[9] = "|".join(attributes) or "_"
    return "\t".join(cells) + "\n"


# --- speakers ----------------------------------------------------------------------------------------------


def test_the_speaker_of_a_sentence_is_that_of_its_tokens_and_is_written_back() -> None:
    comments = [[*header(), "# speaker = Ann"], [], ["# speaker = Bob Lee "]]
    text = "".join(words("", "", comments=each) for each in comments)
    document = read_one(text)
    assert document.tokens.extra["speaker"] == ["Ann", "Ann", "", "", "Bob Lee", "Bob Lee"]
    assert read_one(written([document])[0]) == document
    anew = dataclasses.replace(document, sentences=())
    assert read_one(written([anew])[0]).tokens.extra["speaker"] == document.tokens.extra["speaker"]
