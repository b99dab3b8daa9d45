"""corefsample score: documents of every kind, text and pipelines, parts and resuming, errors."""

from __future__ import annotations

import dataclasses
import datetime
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import called, refused
from expected_errors import error
from places import PROJECT
from references import scoring as sr
from run_cases import score_corpus

from corefsample import InputError, ParameterError, Recalibration, read_corefud, read_documents, write_documents
from corefsample.coreference._exact import canonical_labels, map_clustering
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import CorefsampleError
from corefsample.formats.annotated._conll2012 import read_conll2012
from corefsample.mention_ranking import AntecedentModel, load_model
from corefsample.recalibration import read_recalibration
from corefsample.summaries import point_estimate
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._roles import is_unparsed
from events.news._fields import Article
from events.runs._document_inputs import DocumentInputs, named_kind
from events.runs.scoring._options import ScoringOptions
from events.runs.scoring._parsing import article_metadata, load_pipeline, paragraphs_of, parsed_words
from events.runs.scoring._workers import Scorer, Task, load_recalibration, score_task

UD_PIPELINE = PROJECT / ".." / "shared" / "models" / "en_gum_ud"


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sr.small_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def model(model_path: Path) -> AntecedentModel:
    return load_model(model_path)


@pytest.fixture(scope="module")
def documents() -> list[AnnotatedDocument]:
    return sr.short_documents(9)


@pytest.fixture
def corpus(tmp_path: Path, documents: list[AnnotatedDocument]) -> Path:
    return sr.corpus_file(tmp_path / "corpus.conllu", documents)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A pipeline of a few rules, installed as a package, also for new processes."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield sr.tiny_pipeline(folder)


def news_file(path: Path, articles: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(article) + "\n" for article in articles), encoding="utf-8")
    return path


NEWS = [
    {
        "doc_id": "a",
        "date": "2001-02-03",
        "title": "Rebels attacked  Norvo .",
        "text": "The rebels attacked the town . They left .\n\nFrance said , quietly\nFrance left .",
        "version": 7,
    },
    {"doc_id": "b", "date": "2001-05-01", "text": "", "desk": "foreign"},
    {"doc_id": "c", "date": "2001-05-02", "text": "France attacked Iraq . She left .", "title": ""},
]


# --- documents with a parse --------------------------------------------------------------------------------


def test_an_annotated_corpus_keeps_mentions_gold_date_and_metadata(
    tmp_path: Path, corpus: Path, model: AntecedentModel, model_path: Path
) -> None:
    run = score_corpus(corpus, tmp_path / "s.jsonl.gz", ScoringOptions(model=str(model_path), min_prob=0.01))
    found = list(read_documents(tmp_path / "s.jsonl.gz"))
    expected = [model.score_document(document, min_prob=0.01) for document in read_corefud(corpus)]
    assert [each.doc_id for each in found] == [each.doc_id for each in expected]
    assert all(sr.same_documents(a, b) for a, b in zip(found, expected, strict=True))
    assert all(a.gold == list(b.entities) for a, b in zip(found, read_corefud(corpus), strict=True))
    assert all(each.date is not None and "genre" in each.metadata for each in found)
    assert run.tally.n_mentions == sum(each.n_mentions for each in expected)
    assert run.tally.n_candidates == sum(each.antecedents.n_candidates for each in expected)
    pruned = [model.pruned_score(d.tokens, d.mentions, min_prob=0.01) for d in read_corefud(corpus)]
    assert run.tally.dropped_mass == pytest.approx(sum(float(each.dropped_mass.sum()) for each in pruned), rel=1e-12)
    assert run.tally.n_dropped == sum(each.n_dropped for each in pruned) > 0


def test_mentions_of_a_parse_take_the_gold_of_their_spans(tmp_path: Path, corpus: Path, model_path: Path) -> None:
    options = ScoringOptions(model=str(model_path), mentions="parse")
    run = score_corpus(corpus, tmp_path / "s.parquet", options)
    n_without_gold = 0
    for found, annotated in zip(read_documents(tmp_path / "s.parquet"), read_corefud(corpus), strict=True):
        assert found.mentions.tolist() == mentions_from_parse(annotated.tokens).tolist()
        spans = annotated.mentions[:, :2].tolist()
        gold = [
            annotated.entities[spans.index([start, end])] if [start, end] in spans else None
            for start, end in found.mentions[:, :2].tolist()
        ]
        assert list(found.gold or ()) == gold
        n_without_gold += gold.count(None)
    assert run.tally.n_without_gold == n_without_gold > 0


def test_scored_mentions_are_scored_again(
    tmp_path: Path, documents: list[AnnotatedDocument], model: AntecedentModel, model_path: Path
) -> None:
    from corefsample import AntecedentDistribution

    nothing = [[] for _ in documents[0].entities]  # type: ignore[var-annotated]
    bare = documents[0].scored(AntecedentDistribution.from_lists(nothing, nothing))
    write_documents([bare], tmp_path / "bare.jsonl")
    score_corpus(tmp_path / "bare.jsonl", tmp_path / "s.jsonl", ScoringOptions(model=str(model_path)))
    (found,) = read_documents(tmp_path / "s.jsonl")
    assert sr.same_documents(found, model.score_document(bare))
    assert found.antecedents.n_candidates > 0


def test_files_of_several_formats_make_one_corpus(
    tmp_path: Path, documents: list[AnnotatedDocument], model_path: Path
) -> None:
    first = sr.corpus_file(tmp_path / "a.conllu", documents[:2])
    second = sr.corpus_file(tmp_path / "b.conllu.gz", documents[2:4])
    score_corpus([first, second], tmp_path / "s.jsonl", ScoringOptions(model=str(model_path)))
    assert [d.doc_id for d in read_documents(tmp_path / "s.jsonl")] == [d.doc_id for d in documents[:4]]


def test_scores_are_recalibrated(tmp_path: Path, corpus: Path, model: AntecedentModel, model_path: Path) -> None:
    record = tmp_path / "r.json"
    record.write_text(json.dumps({"corefsample": "x", "recalibration": {"temperature": 2.0, "new_bias": 0.5}}))
    assert load_recalibration(record) == Recalibration(2.0, 0.5)
    options = ScoringOptions(model=str(model_path), recalibration=str(record))
    score_corpus(corpus, tmp_path / "s.jsonl", options)
    for found, document in zip(read_documents(tmp_path / "s.jsonl"), read_corefud(corpus), strict=True):
        expected = model.score_document(document).antecedents.scores / 2.0 - 0.5
        assert found.antecedents.scores.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["map", "binder"])
def test_clusters_are_written_beside_the_scores(tmp_path: Path, corpus: Path, model_path: Path, name: str) -> None:
    run = score_corpus(corpus, tmp_path / "s.jsonl.gz", ScoringOptions(model=str(model_path), clusters=name))
    assert run.clusters == str(tmp_path / f"s.{name}.conllu")
    assert run.left_out == {}
    for scored, written in zip(read_documents(run.out), read_corefud(run.clusters), strict=True):
        wanted = map_clustering(scored.antecedents)
        if name == "binder":
            wanted = point_estimate(scored.antecedents, loss="binder").labels
        assert written.mentions[:, :2].tolist() == scored.mentions[:, :2].tolist()
        codes = np.unique(np.array(written.entities, str), return_inverse=True)[1]
        assert canonical_labels(codes).tolist() == wanted.tolist()


def test_clusters_are_refused_before_scoring(tmp_path: Path, corpus: Path, model_path: Path) -> None:
    (tmp_path / "s.vi.conllu").write_text("mine")
    with pytest.raises(CorefsampleError, match="must not exist"):
        score_corpus(corpus, tmp_path / "s.jsonl", ScoringOptions(model=str(model_path), clusters="vi"))
    assert not (tmp_path / "s.jsonl").exists()


def test_a_document_whose_scores_overflow_is_quarantined_and_not_counted(
    tmp_path: Path, documents: list[AnnotatedDocument], model_path: Path
) -> None:
    single = dataclasses.replace(documents[0], mentions=documents[0].mentions[:1], entities=documents[0].entities[:1])
    corpus = sr.corpus_file(tmp_path / "corpus.conllu", [single, *documents[1:3]])
    record = tmp_path / "r.json"
    record.write_text(json.dumps({"recalibration": {"temperature": 1e-308, "new_bias": 0.0}}))
    options = ScoringOptions(model=str(model_path), recalibration=str(record), on_error="quarantine")
    run = score_corpus(corpus, tmp_path / "s.jsonl", options)
    assert (run.tally.n_documents, run.tally.n_mentions, run.n_quarantined) == (1, 1, 2)
    assert "temperature must leave every score finite" in run.reasons[0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "file must be JSON"),
        ("{}", "file must be the record of a recalibration"),
        ('{"recalibration": {"temperature": 0, "new_bias": 0}}', "temperature must be above 0"),
    ],
)
def test_an_error_names_a_file_that_is_not_a_record(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "r.json").write_text(content)
    with pytest.raises(InputError, match=rf"r\.json: {message}"):
        load_recalibration(tmp_path / "r.json")


# --- text --------------------------------------------------------------------------------------------------


def test_text_is_parsed_paragraph_by_paragraph_with_its_headline_first(
    tmp_path: Path, model: AntecedentModel, model_path: Path, tiny: str
) -> None:
    news = news_file(tmp_path / "news.jsonl", NEWS)
    score_corpus(news, tmp_path / "s.parquet", ScoringOptions(model=str(model_path), pipeline=tiny))
    a, b, c = read_documents(tmp_path / "s.parquet")
    paragraphs = [
        "Rebels attacked Norvo .",
        "The rebels attacked the town . They left .",
        "France said , quietly France left .",
    ]
    expected = sr.tokens_by_paragraph(paragraphs, load_pipeline(tiny))
    assert a.tokens is not None
    assert list(a.tokens.text) == list(expected.text)
    assert (a.tokens.head.tolist(), a.tokens.sent.tolist()) == (expected.head.tolist(), expected.sent.tolist())
    assert (list(a.tokens.dep), list(a.tokens.lemma)) == (list(expected.dep), list(expected.lemma))
    assert {name: list(column) for name, column in a.tokens.extra.items()} == expected.extra
    assert sorted(set(a.tokens.sent.tolist())) == [0, 1, 2, 3]
    assert (a.mentions.tolist(), a.antecedents.scores.tolist()) == sr.scored_text(model, expected)
    assert a.n_mentions > 3
    assert (a.date, a.gold) == (datetime.date(2001, 2, 3), None)
    assert a.metadata == {"title": "Rebels attacked  Norvo .", "article_version": 7}
    assert b.tokens is not None
    assert (len(b.tokens), b.n_mentions, b.metadata) == (0, 0, {"desk": "foreign"})
    assert c.metadata == {}


def test_the_headline_can_be_left_out_of_the_text(tmp_path: Path, model_path: Path, tiny: str) -> None:
    news = news_file(tmp_path / "news.jsonl", NEWS[:1])
    options = ScoringOptions(model=str(model_path), pipeline=tiny, headline=False)
    score_corpus(news, tmp_path / "s.jsonl", options)
    (found,) = read_documents(tmp_path / "s.jsonl")
    assert found.tokens is not None
    assert list(found.tokens.text[:3]) == ["The", "rebels", "attacked"]
    assert found.metadata["title"] == "Rebels attacked  Norvo ."


# --- annotated documents without a parse -------------------------------------------------------------------

UNPARSED = """\
#begin document (u); part 000
u 0 0 The DT - - - - Ann - (1
u 0 1 rebels NNS - - - - Ann - 1)
u 0 2 attacked VBD - - - - Ann - -
u 0 3 the DT - - - - Ann - (2
u 0 4 town NN - - - - Ann - 2)
u 0 5 . . - - - - Ann - -

u 0 0 They PRP - - - - Bob - (1)
u 0 1 left VBD - - - - Bob - -
u 0 2 . . - - - - Bob - -

#end document
"""


def unparsed_file(folder: Path) -> Path:
    (folder / "u.conll").write_text(UNPARSED, encoding="utf-8")
    return folder / "u.conll"


def test_a_pipeline_parses_the_words_of_annotated_documents(
    tmp_path: Path, model: AntecedentModel, model_path: Path, tiny: str
) -> None:
    options = ScoringOptions(model=str(model_path), pipeline=tiny)
    score_corpus(unparsed_file(tmp_path), tmp_path / "s.jsonl", options)
    (found,) = read_documents(tmp_path / "s.jsonl")
    assert found.tokens is not None
    # By the rules of the pipeline: each verb is the root of its sentence, "the" is a determiner of the next noun.
    assert list(found.tokens.dep) == ["det", "nsubj", "root", "det", "obj", "punct", "nsubj", "root", "punct"]
    assert found.tokens.head.tolist() == [1, 2, -1, 4, 2, 2, 7, -1, 7]
    assert found.tokens.sent.tolist() == [0] * 6 + [1] * 3
    assert list(found.tokens.extra["speaker"]) == ["Ann"] * 6 + ["Bob"] * 3
    assert (found.mentions.tolist(), found.gold) == ([[0, 2, 1], [3, 5, 4], [6, 7, 6]], ["1", "2", "1"])
    expected = model.score(found.tokens, found.mentions)
    assert found.antecedents.scores.tolist() == expected.scores.tolist()
    score_corpus(tmp_path / "u.conll", tmp_path / "p.jsonl", dataclasses.replace(options, mentions="parse"))
    (found,) = read_documents(tmp_path / "p.jsonl")
    assert found.tokens is not None
    assert found.mentions.tolist() == mentions_from_parse(found.tokens).tolist()


def test_documents_without_a_parse_need_a_pipeline(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model: AntecedentModel, model_path: Path, tiny: str
) -> None:
    corpus = unparsed_file(tmp_path)
    arguments = ("score", corpus, "--model", model_path, "--out", tmp_path / "s.jsonl")
    status, line = refused(capsys, *arguments)
    assert status == 3
    assert line.endswith(
        "doc_id 'u_0': a document must have a parse, got no dependency labels "
        "(--pipeline names a spaCy pipeline that parses its words)"
    )
    (document,) = read_conll2012(corpus)
    with pytest.raises(
        ParameterError, match=r"^doc_id 'u_0': tokens must be parsed to score mentions, got no dependency"
    ):
        model.score_document(document)
    status, line = refused(capsys, *arguments, "--pipeline", tiny, "--parses", 2)
    assert status == 2
    assert line.startswith("corefsample: --parses is for text, got documents that are words already (")


def test_a_document_with_a_parse_among_others_is_rejected_with_a_pipeline(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, corpus: Path, model_path: Path, tiny: str
) -> None:
    first = unparsed_file(tmp_path)
    arguments = ("--model", model_path, "--pipeline", tiny, "--workers", 1, "--out", tmp_path / "s.jsonl")
    status, line = refused(capsys, "score", first, corpus, *arguments)
    assert status == 3
    assert line.endswith(
        "document 1: doc_id 'sim-000000': a document to be parsed must have no parse, got one "
        "(--pipeline is for documents without one)"
    )


def test_a_real_parser_keeps_the_words_and_sentences_of_a_document(tmp_path: Path) -> None:
    if not UD_PIPELINE.exists():
        pytest.skip(f"the pipeline is not there: {UD_PIPELINE.name}")
    (document,) = read_conll2012(unparsed_file(tmp_path))
    words = ["I", "ca", "n't", "go", "She", "left", "Paris"]  # no punctuation shows where a sentence ends
    tokens = Tokens(words, words, ["_"] * 7, ["_"] * 7, np.full(7, -1), np.array([0, 0, 0, 0, 1, 1, 1]))
    pipeline = load_pipeline(str(UD_PIPELINE))
    for given in (tokens, document.tokens):
        parsed = parsed_words(given, pipeline)
        assert (list(parsed.text), parsed.sent.tolist()) == (list(given.text), given.sent.tolist())
        assert not is_unparsed(parsed)
        assert (parsed.head < 0).sum() == 2
    with pytest.raises(ParameterError, match=r"^words must not be whitespace, got 1 that are$"):
        parsed_words(dataclasses.replace(tokens, text=["I", " ", *words[2:]]), pipeline)


@pytest.mark.parametrize(
    ("text", "mode", "paragraphs"),
    [
        ("", "blank-line", []),
        (" \n\n \n", "blank-line", []),
        ("a b\nc\n\nd", "blank-line", ["a b c", "d"]),
        ("a\r\n \t\r\nb", "blank-line", ["a", "b"]),
        ("a\n\n\n\nb\n", "blank-line", ["a", "b"]),
        ("a  b\nc\n\nd", "line", ["a b", "c", "d"]),
    ],
)
def test_blank_lines_or_line_breaks_separate_paragraphs(text: str, mode: str, paragraphs: list[str]) -> None:
    assert paragraphs_of(text, mode=mode) == paragraphs


def test_metadata_with_the_name_of_a_field_is_renamed_or_raises() -> None:
    day = datetime.date(2001, 2, 3)
    metadata = article_metadata(Article("a", day, "", "T", {"scores": [1], "title": "other", "desk": "x"}))
    assert metadata == {"title": "T", "article_scores": [1], "article_title": "other", "desk": "x"}
    with pytest.raises(ParameterError, match="must not contain both 'gold' and 'article_gold'"):
        article_metadata(Article("a", day, "", "", {"gold": 1, "article_gold": 2}))
    with pytest.raises(ParameterError, match="must not contain both 'gold' and 'article_gold'"):
        article_metadata(Article("a", day, "", "", {"article_gold": 2, "gold": 1}))


def test_columns_and_numbers_of_articles_are_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model_path: Path, tiny: str
) -> None:
    news = tmp_path / "news.csv"
    news.write_text("body,day,head\nFrance left .,03.02.2001,Norvo\nThey left .,04.02.2001,\n")
    columns = ("--text-column", "body", "--date-column", "day", "--title-column", "head", "--date-format", "%d.%m.%Y")
    out = tmp_path / "s.jsonl"
    arguments = ("--pipeline", tiny, "--model", model_path, "--workers", 1, *columns)
    status, line = refused(capsys, "score", news, "--out", out, *arguments)
    assert (status, line) == (
        3,
        f"corefsample: {news}: columns must include 'doc_id', got 'body, day, head' (--id-column names another)",
    )
    status, line = refused(capsys, "score", news, "--out", out, *arguments[:-2], "--number-articles")
    assert (status, line) == (
        3,
        f"corefsample: {news}: line 2: doc_id 'news.csv#1': day must be an ISO date, got '03.02.2001' "
        "(--date-format says how dates are written, such as %m/%d/%Y)",
    )
    status, text, err = called(capsys, "score", news, "--out", out, *arguments, "--number-articles")
    assert (status, err) == (0, "")
    assert "2 documents" in text
    first, second = read_documents(out)
    assert (first.doc_id, first.date, first.metadata["title"]) == ("news.csv#1", datetime.date(2001, 2, 3), "Norvo")
    assert second.doc_id == "news.csv#2"


def test_two_commands_turn_news_into_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model_path: Path, tiny: str
) -> None:
    news = news_file(tmp_path / "news.jsonl", NEWS)
    scored = tmp_path / "scored.parquet"
    assert (
        called(capsys, "score", news, "--pipeline", tiny, "--model", model_path, "--workers", 1, "--out", scored)[0]
        == 0
    )
    arguments = ("--samples", 20, "--out", tmp_path / "run", "--no-pictures")
    status, out, err = called(capsys, "events", scored, *arguments)
    assert (status, err) == (0, "")
    assert out.startswith("3 documents, 2001Q1 to 2001Q2")
    counts = pd.read_csv(tmp_path / "run" / "counts.csv")
    (row,) = counts[(counts["actor"] == "FRA") & (counts["period"] == "2001Q2")].to_dict("records")
    assert (row["n_docs"], row["one_best"]) == (2, 1)
    assert row["mean"] > 0.5


def test_text_without_a_date_raises_or_is_quarantined(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model_path: Path, tiny: str
) -> None:
    undated = {"doc_id": "x", "text": "France left ."}
    news = news_file(tmp_path / "news.jsonl", [NEWS[0], undated, NEWS[2]])
    out = tmp_path / "s.jsonl"
    arguments = ("score", news, "--pipeline", tiny, "--model", model_path, "--workers", 1, "--out", out)
    status, line = refused(capsys, *arguments)
    assert (status, line) == (3, f"corefsample: {news}: line 2: doc_id 'x': date is missing")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["news.jsonl"]
    status, text, err = called(capsys, *arguments, "--on-error", "quarantine")
    assert (status, err) == (0, "")
    assert f"1 bad document set aside in {out}.quarantine.jsonl" in text
    assert f"  {news}: line 2: doc_id 'x': date is missing" in text.splitlines()
    assert [d.doc_id for d in read_documents(out)] == ["a", "c"]


def test_text_that_the_pipeline_cannot_parse_is_quarantined_unchanged(
    tmp_path: Path, model_path: Path, tiny: str
) -> None:
    bad = {"doc_id": "x", "date": "2001-01-01", "text": "REFUSED"}
    news = news_file(tmp_path / "news.jsonl", [bad, NEWS[2]])
    options = ScoringOptions(model=str(model_path), pipeline=tiny, on_error="quarantine")
    run = score_corpus(news, tmp_path / "s.jsonl", options)
    (line,) = Path(f"{run.out}.quarantine.jsonl").read_text().splitlines()
    rejected = json.loads(line)
    assert rejected["reason"] == "text must be parsable by the pipeline, got: no such word"
    assert (rejected["place"], json.loads(rejected["document"])["text"]) == ("article 1", "REFUSED")


def test_a_corpus_without_a_good_document_raises(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model_path: Path, tiny: str
) -> None:
    news = news_file(tmp_path / "news.jsonl", [{"doc_id": "x", "text": "France left ."}])
    arguments = ("--pipeline", tiny, "--model", model_path, "--out", tmp_path / "s.jsonl", "--on-error", "quarantine")
    status, line = refused(capsys, "score", news, *arguments)
    assert status == 3
    assert "a corpus must have at least one document, got none, 1 rejected, first:" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["news.jsonl"]


# --- pipelines and models ----------------------------------------------------------------------------------


def test_a_pipeline_without_a_parser_raises_before_the_first_document(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model_path: Path
) -> None:
    import spacy

    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    blank.to_disk(tmp_path / "blank")
    news = tmp_path / "news.jsonl"
    news.write_text("this is no JSON\n")
    arguments = ("score", news, "--model", model_path, "--out", tmp_path / "s.jsonl", "--pipeline")
    status, line = refused(capsys, *arguments, tmp_path / "blank")
    assert status == 2
    assert line.startswith("corefsample: --pipeline must parse text, got ")
    assert line.endswith(": doc must have a parse, got none (the pipeline needs a parser)")
    status, line = refused(capsys, *arguments, "nowhere_at_all")
    assert status == 2
    assert "--pipeline must be an installed spaCy pipeline or the folder of one, got 'nowhere_at_all'" in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blank", "news.jsonl"]


def test_a_pipeline_is_required_for_text_and_only_for_text(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, corpus: Path, tiny: str
) -> None:
    news = news_file(tmp_path / "news.jsonl", NEWS)
    status, line = refused(capsys, "score", news, "--out", tmp_path / "s.jsonl")
    assert (status, line) == (2, f"corefsample: --pipeline must be given to parse text, got none for {news}")
    status, line = refused(capsys, "score", corpus, "--pipeline", tiny, "--out", tmp_path / "s.jsonl")
    assert status == 2
    assert line.startswith("corefsample: --pipeline must be left out for documents with a parse")
    arguments = ("--pipeline", tiny, "--mentions", "annotated", "--out", tmp_path / "s.jsonl")
    assert refused(capsys, "score", news, *arguments)[1].startswith(
        f"corefsample: --mentions must be 'parse' for text ({news}), got 'annotated'"
    )


def changed_header(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of a model file with another header."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(content, "w") as copy:
        for name in archive.namelist():
            data = archive.read(name)
            if name == "header.json":
                header = json.loads(data)
                change(header)
                data = json.dumps(header).encode()
            copy.writestr(name, data)
    changed = path.with_name("changed.npz")
    changed.write_bytes(content.getvalue())
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(version=9), "version must be 1, got 9"),
        (lambda header: header.update(features=1), "features must be those of this version of corefsample"),
        (lambda header: header["templates"].update(new=["i.nothing"]), "must be of known atoms, got 'i.nothing'"),
        (lambda header: header["templates"].update(other=[]), "templates"),
        (lambda header: header.update(format="x"), "got another format"),
    ],
)
def test_a_model_of_another_version_or_other_features_raises_in_one_line(
    capsys: pytest.CaptureFixture[str], corpus: Path, model_path: Path, change: Callable[[Any], None], message: str
) -> None:
    other = changed_header(model_path, change)
    status, line = refused(capsys, "score", corpus, "--model", other, "--out", corpus.with_name("s.jsonl"))
    assert status == 3
    assert line.startswith(f"corefsample: {other}: ")
    assert message in line
    assert [path.name for path in corpus.parent.iterdir()] == ["corpus.conllu"]


def test_an_error_names_a_missing_model(capsys: pytest.CaptureFixture[str], tmp_path: Path, corpus: Path) -> None:
    status, line = refused(capsys, "score", corpus, "--model", tmp_path / "no.npz", "--out", tmp_path / "s.jsonl")
    assert (status, line) == (
        3,
        f"corefsample: {tmp_path / 'no.npz'}: model file must be readable, got: No such file or directory",
    )


def test_the_default_model_is_the_english_one(tmp_path: Path, corpus: Path) -> None:
    if not resources.files("corefsample.mention_ranking").joinpath("data", "english.npz").is_file():
        pytest.skip("the package has no English model yet")
    from corefsample.mention_ranking import english_model

    run = score_corpus(corpus, tmp_path / "s.jsonl")
    found, document = next(read_documents(run.out)), next(read_corefud(corpus))
    change = read_recalibration("english").recalibration
    assert sr.same_documents(found, change.apply_document(english_model().score_document(document)))
    record = json.loads(Path(run.record).read_text())
    assert record["model"]["path"] == "the English model of the package"
    assert record["recalibration"]["fingerprint"] == found.metadata["recalibration"] == change.fingerprint()
    assert (run.recalibration, record["summary"]["recalibration"]) == ("english", "english")


def test_without_recalibration_scores_are_those_of_the_model(tmp_path: Path, corpus: Path) -> None:
    from corefsample.mention_ranking import english_model

    run = score_corpus(corpus, tmp_path / "s.jsonl", ScoringOptions(recalibration="none"))
    found, document = next(read_documents(run.out)), next(read_corefud(corpus))
    assert sr.same_documents(found, english_model().score_document(document))
    assert "recalibration" not in found.metadata
    assert run.recalibration is None


def test_scoring_recalibrated_scores_again_forgets_their_recalibration(tmp_path: Path, corpus: Path) -> None:
    first = score_corpus(corpus, tmp_path / "s.jsonl")
    again = score_corpus(first.out, tmp_path / "again.jsonl")
    assert Path(again.out).read_bytes() == Path(first.out).read_bytes()
    plain = score_corpus(first.out, tmp_path / "plain.jsonl", ScoringOptions(recalibration="none"))
    assert all("recalibration" not in document.metadata for document in read_documents(plain.out))


def test_a_model_of_ones_own_has_no_recalibration(tmp_path: Path, corpus: Path, model_path: Path) -> None:
    run = score_corpus(corpus, tmp_path / "s.jsonl", ScoringOptions(model=str(model_path)))
    assert run.recalibration is None


def test_the_screen_says_that_scores_were_recalibrated(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, shown, _ = called(capsys, "score", corpus, "--out", tmp_path / "s.jsonl")
    assert status == 0
    assert "Recalibrated (the English model's recalibration); --recalibration none" in " ".join(shown.split())
    status, shown, _ = called(capsys, "score", corpus, "--recalibration", "none", "--out", tmp_path / "n.jsonl")
    assert status == 0
    assert "Recalibrated" not in shown


# --- processes ----------------------------------------------------------------------------


def mixed_corpus(folder: Path, documents: list[AnnotatedDocument]) -> list[Path]:
    """Good documents, two that cannot be scored, and one that cannot be read."""
    strange = dataclasses.replace(documents[1].tokens, dep=["head"] * len(documents[1].tokens))
    odd = [dataclasses.replace(documents[1], doc_id=name, tokens=strange) for name in ("odd", "odder")]
    first = sr.corpus_file(folder / "a.conllu", [documents[0], odd[0], *documents[1:4], odd[1]])
    second = sr.corpus_file(folder / "b.conllu", [documents[0], *documents[4:]])
    return [first, second]


@pytest.mark.parametrize("suffix", ["parquet", "jsonl.gz"])
def test_the_output_does_not_depend_on_processes(
    tmp_path: Path, documents: list[AnnotatedDocument], model_path: Path, suffix: str
) -> None:
    inputs = [*mixed_corpus(tmp_path, documents), sr.corpus_file(tmp_path / "c.conllu", sr.short_documents(30)[12:])]
    options = ScoringOptions(model=str(model_path), on_error="quarantine")
    found = []
    for workers in (1, 2):
        run = score_corpus(inputs, tmp_path / f"{workers}.{suffix}", options, workers=workers)
        assert (run.tally.n_documents, run.n_quarantined, run.workers) == (27, 3, workers)
        found.append((Path(run.out).read_bytes(), Path(f"{run.out}.quarantine.jsonl").read_bytes()))
    assert found[0] == found[1]


def test_rejected_documents_are_in_the_order_of_the_corpus(
    tmp_path: Path, documents: list[AnnotatedDocument], model_path: Path
) -> None:
    inputs = mixed_corpus(tmp_path, documents)
    run = score_corpus(inputs, tmp_path / "s.jsonl", ScoringOptions(model=str(model_path), on_error="quarantine"))
    lines = [json.loads(line) for line in Path(f"{run.out}.quarantine.jsonl").read_text().splitlines()]
    places = [(Path(line["source"]).name, line["place"], line["doc_id"]) for line in lines]
    assert places == [
        ("a.conllu", "document 2", "odd"),
        ("a.conllu", "document 6", "odder"),
        ("b.conllu", "document 1", documents[0].doc_id),
    ]
    assert "must be unique in the corpus" in lines[2]["reason"]
    quarantined = json.loads(lines[0]["document"])
    (odd,) = (document for document in read_corefud(inputs[0]) if document.doc_id == "odd")
    assert quarantined["gold"] == list(odd.entities)
    assert quarantined["tokens"]["text"] == list(documents[1].tokens.text)
    assert quarantined["scores"] == [[] for _ in documents[1].entities]


def test_text_is_parsed_alike_in_one_process_and_in_several(tmp_path: Path, model_path: Path, tiny: str) -> None:
    news = news_file(tmp_path / "news.jsonl", [{**NEWS[n % 3], "doc_id": str(n)} for n in range(20)])
    options = ScoringOptions(model=str(model_path), pipeline=tiny)
    for workers in (1, 2):
        score_corpus(news, tmp_path / f"{workers}.jsonl", options, workers=workers)
    assert (tmp_path / "1.jsonl").read_bytes() == (tmp_path / "2.jsonl").read_bytes()


def test_an_unexpected_error_names_its_document(
    tmp_path: Path, corpus: Path, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any, **keywords: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(AntecedentModel, "pruned_score", broken)
    with pytest.raises(RuntimeError) as caught:
        score_corpus(corpus, tmp_path / "s.jsonl", ScoringOptions(model=str(model_path)))
    (note,) = caught.value.__notes__
    assert note.startswith(f"while scoring {corpus}: document 1: doc_id ")


def test_a_worker_with_another_model_is_an_error(model_path: Path) -> None:
    options = ScoringOptions(model=str(model_path))
    identity = Scorer(options).identity()
    assert score_task(options, identity, Task(1, [])).documents == []
    with error(InputError) as caught:
        score_task(options, {**identity, "model": "another"}, Task(1, []))
    assert caught.value.message.startswith("a worker must have the same model as the process that began the run")


# --- inputs and outputs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("x.conllu", b"", "corefud"),
        ("x.conllu.gz", b"", "corefud"),
        ("x.conll", b"", "conll2012"),
        ("x.v4_gold_conll", b"", "conll2012"),
        ("x.v4_auto_conll.gz", b"", "conll2012"),
        ("x.csv", b"", "news"),
        ("x.tgz", b"", "news"),
        ("x.xml", b"", "news"),
        ("x.jsonl", b'{"doc_id": "a", "tokens": {"text": ["a"]', "scored"),
        ("x.jsonl", b'{"doc_id":"a","mentions":[]', "scored"),
        ("x.jsonl", b'{"doc_id": "a", "text": "the \\"mentions\\": [1]", "tokens": 5}', "news"),
        ("x.jsonl.gz", gzip.compress(b'{"text": "a"}', mtime=0), "news"),
        ("x.jsonl", b'{"body": "a"}', "scored"),
        ("x.jsonl.gz", b"\x1f\x8bbroken", "scored"),
        ("x.parquet", b"no Parquet", "scored"),
    ],
)
def test_the_kind_of_a_file_follows_from_its_name_or_its_first_line(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(content)
    assert named_kind(str(tmp_path / name), prefer_news=False) == kind
    unclear = content in (b'{"body": "a"}', b"\x1f\x8bbroken", b"no Parquet")
    assert named_kind(str(tmp_path / name), prefer_news=True) == ("news" if unclear else kind)


def test_the_kind_of_a_parquet_file_follows_from_its_columns(
    tmp_path: Path, documents: list[AnnotatedDocument], model: AntecedentModel
) -> None:
    write_documents([model.score_document(documents[0])], tmp_path / "scored.parquet")
    pd.DataFrame({"text": ["a"], "date": ["2001-01-01"]}).to_parquet(tmp_path / "news.parquet")
    for prefer_news in (True, False):
        assert named_kind(str(tmp_path / "scored.parquet"), prefer_news=prefer_news) == "scored"
        assert named_kind(str(tmp_path / "news.parquet"), prefer_news=prefer_news) == "news"


def test_an_error_names_an_input_that_cannot_be_read(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "x.docx").touch()
    for name, message in (
        ("nowhere.conllu", "file must exist, got none"),
        ("*.conll", "glob must match a file, got none"),
        ("x.docx", "file name must end in one of"),
    ):
        with pytest.raises(InputError, match=message):
            DocumentInputs([tmp_path / name])
    with pytest.raises(InputError, match="must be named once, got it again"):
        DocumentInputs([corpus, corpus])
    with pytest.raises(InputError, match="inputs must name at least one file"):
        DocumentInputs([])


@pytest.mark.parametrize("name", ["s.jsonl", "s.jsonl.scoring.json", "s.jsonl.quarantine.jsonl"])
def test_an_existing_output_raises(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, corpus: Path, model_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    status, line = refused(capsys, "score", corpus, "--model", model_path, "--out", tmp_path / "s.jsonl")
    assert status == 2
    assert line == f"corefsample: {tmp_path / name}: output must not exist, got a file (--overwrite replaces it)"
    assert (tmp_path / name).read_text() == "mine"


@pytest.mark.parametrize(
    "options",
    [{"min_prob": 1.0}, {"mentions": "gold"}, {"paragraphs": "page"}, {"scheme": "ud3"}, {"clusters": "rand"}],
)
def test_an_option_outside_its_range_raises(options: dict[str, Any]) -> None:
    with error(ParameterError, next(iter(options))):
        ScoringOptions(**options)


def test_an_output_with_another_ending_raises(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(ParameterError, match=r"s\.txt: file name must end in one of \.jsonl, "):
        score_corpus(corpus, tmp_path / "s.txt")


def test_standard_input_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_path: Path, tiny: str
) -> None:
    lines = news_file(tmp_path / "news.jsonl", NEWS)
    arguments = ("score", "-", "--model", model_path, "--pipeline", tiny, "--workers", 1, "--out", tmp_path / "s.jsonl")
    with lines.open("rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        assert called(capsys, *arguments)[0] == 0
    assert [document.doc_id for document in read_documents(tmp_path / "s.jsonl")] == ["a", "b", "c"]


def test_the_record_describes_the_run(tmp_path: Path, corpus: Path, model_path: Path) -> None:
    run = score_corpus(corpus, tmp_path / "s.jsonl", ScoringOptions(model=str(model_path)))
    record = json.loads(Path(run.record).read_text())
    assert record["model"]["provenance"] == load_model(model_path).provenance
    assert record["inputs"][0]["path"] == str(corpus)
    assert record["summary"] == json.loads(json.dumps(run.to_json()))
    assert record["summary"]["n_documents"] == 9
    assert record["pipeline"] is None


def test_the_screen_shows_what_was_scored(capsys: pytest.CaptureFixture[str], corpus: Path, model_path: Path) -> None:
    out = corpus.with_name("s.jsonl")
    status, text, err = called(capsys, "score", corpus, "--model", model_path, "--mentions", "parse", "--out", out)
    assert (status, err) == (0, "")
    documents = list(read_documents(out))
    n_mentions = sum(document.n_mentions for document in documents)
    n_candidates = sum(document.antecedents.n_candidates for document in documents)
    assert text.startswith(f"9 documents, {n_mentions:,} mentions, {n_candidates:,} candidates.\n")
    assert "unlikely candidates left out" in text
    assert "mentions of annotated documents have no annotated entity" in text


# --- a real pipeline ---------------------------------------------------------------------------------------


def test_news_goes_through_a_real_pipeline_to_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, model_path: Path
) -> None:
    if not UD_PIPELINE.exists():
        pytest.skip(f"the pipeline is not there: {UD_PIPELINE.name}")
    text = (
        "French troops attacked a village in the north on Monday.\n\nThe soldiers left after two hours, officials said."
    )
    news = news_file(tmp_path / "news.jsonl", [{"doc_id": "a", "date": "2001-02-03", "text": text}])
    scored = tmp_path / "scored.parquet"
    arguments = ("--pipeline", UD_PIPELINE, "--model", model_path, "--workers", 1, "--out", scored)
    assert called(capsys, "score", news, *arguments)[0] == 0
    record = json.loads(Path(f"{scored}.scoring.json").read_text())
    assert record["pipeline"]["pipeline"] == "en_gum_ud"
    assert len(record["pipeline"]["sha256"]) == 64
    status, _, err = called(capsys, "events", scored, "--samples", 20, "--out", tmp_path / "run", "--no-pictures")
    assert (status, err) == (0, "")
    assert pd.read_csv(tmp_path / "run" / "counts.csv")["actor"].tolist() == ["FRA"]
