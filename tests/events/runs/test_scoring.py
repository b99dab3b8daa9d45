"""corefsample score: documents of every kind, text and pipelines, parts and resuming, errors."""

import dataclasses
import datetime
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import Calls
from expected_errors import error
from references import coreference as references, scoring as sr
from run_cases import score_corpus

import corefsample as cs
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.parses import parse_samples
from corefsample.recalibration._uncertain import read_recalibration
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers._scoring import score_mentions
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import train
from corefsample.scorers.protocol import MIN_PROB
from corefsample.spacy_bridge.pipelines import load_pipeline, tokens_of_paragraphs
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._words import mention_kinds
from events.corpora._document_inputs import named_kind
from events.news._fields import Article
from events.news._preparation import paragraphs_of
from events.runs._run_options import ScoringOptions
from events.runs._score_run import ScorePart
from events.runs._scorer import Scorer, article_metadata
from events.runs._store import PartStore

Score = Callable[..., SimpleNamespace]


@pytest.fixture(scope="module")
def model(model_path: Path) -> AntecedentModel:
    return load_scorer(model_path)


@pytest.fixture(scope="module")
def documents() -> list[AnnotatedDocument]:
    return sr.short_documents(9)


@pytest.fixture
def score(tmp_path: Path, model_path: Path) -> Score:
    """Scoring with the small model, into s.jsonl unless told otherwise."""

    def started(inputs: Any, out: str = "s.jsonl", workers: int | None = None, **options: Any) -> SimpleNamespace:
        chosen = ScoringOptions(**{"model": str(model_path), **options})
        return score_corpus(inputs, tmp_path / out, chosen, workers=workers)

    return started


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


def test_an_annotated_corpus_keeps_its_content(
    tmp_path: Path, gold: Path, model: AntecedentModel, score: Score
) -> None:
    run = score(gold, "s.jsonl.gz", min_prob=0.01)
    found = list(cs.read_documents(tmp_path / "s.jsonl.gz"))
    expected = list(score_documents(model, cs.read_corefud(gold), min_prob=0.01))
    assert found == expected
    assert all(a.gold == list(b.entities) for a, b in zip(found, cs.read_corefud(gold), strict=True))
    assert all(each.date is not None and "genre" in each.metadata for each in found)
    assert run.n_mentions == sum(each.n_mentions for each in expected)
    assert run.n_candidates == sum(each.antecedents.n_candidates for each in expected)
    pruned = [score_mentions(model, [d.tokens], [d.mentions], 0.01, None)[0] for d in cs.read_corefud(gold)]
    assert run.dropped_mass == pytest.approx(sum(float(each.dropped_mass.sum()) for each in pruned), rel=1e-12)
    assert run.n_dropped == sum(each.n_dropped for each in pruned) > 0


def test_scores_are_recalibrated(tmp_path: Path, gold: Path, model: AntecedentModel, score: Score) -> None:
    record = tmp_path / "r.json"
    record.write_text(json.dumps({"corefsample": "x", "recalibration": {"temperature": 2.0, "new_bias": 0.5}}))
    score(gold, recalibration=str(record))
    for found, document in zip(cs.read_documents(tmp_path / "s.jsonl"), cs.read_corefud(gold), strict=True):
        expected = next(score_documents(model, [document])).antecedents.scores / 2.0 - 0.5
        assert found.antecedents.scores.tolist() == expected.tolist()


def test_a_document_whose_scores_overflow_is_set_aside(
    tmp_path: Path, documents: list[AnnotatedDocument], score: Score
) -> None:
    single = dataclasses.replace(documents[0], mentions=documents[0].mentions[:1], entities=documents[0].entities[:1])
    corpus = sr.corpus_file(tmp_path / "corpus.conllu", [single, *documents[1:3]])
    record = tmp_path / "r.json"
    record.write_text(json.dumps({"recalibration": {"temperature": 1e-308, "new_bias": 0.0}}))
    run = score(corpus, recalibration=str(record), on_error="quarantine")
    assert (run.n_documents, run.n_mentions, run.n_quarantined) == (1, 1, 2)
    assert "temperature must leave every score finite" in run.reasons[0]


# --- text --------------------------------------------------------------------------------------------------


def test_text_is_parsed_paragraph_by_paragraph(tmp_path: Path, model: AntecedentModel, tiny: str, score: Score) -> None:
    news = news_file(tmp_path / "news.jsonl", NEWS)
    score(news, "s.parquet", pipeline=tiny)
    a, b, c = cs.read_documents(tmp_path / "s.parquet")
    paragraphs = [
        "Rebels attacked Norvo .",
        "The rebels attacked the town . They left .",
        "France said , quietly France left .",
    ]
    expected = sr.tokens_by_paragraph(paragraphs, load_pipeline(tiny))
    assert list(a.tokens.text) == list(expected.text)
    assert (a.tokens.head.tolist(), a.tokens.sent.tolist()) == (expected.head.tolist(), expected.sent.tolist())
    assert (list(a.tokens.dep), list(a.tokens.lemma)) == (list(expected.dep), list(expected.lemma))
    assert {name: list(column) for name, column in a.tokens.extra.items()} == expected.extra
    assert sorted(set(a.tokens.sent.tolist())) == [0, 1, 2, 3]
    assert (a.mentions.tolist(), a.antecedents.scores.tolist()) == sr.scored_text(model, expected)
    assert a.n_mentions > 3
    assert (a.date, a.gold) == (datetime.date(2001, 2, 3), None)
    assert a.metadata == {"title": "Rebels attacked  Norvo .", "article_version": 7}
    assert (len(b.tokens), b.n_mentions, b.metadata) == (0, 0, {"desk": "foreign"})
    assert c.metadata == {}


def test_a_pipeline_of_another_language_than_the_model_is_an_error(tmp_path: Path, tiny: str, score: Score) -> None:
    news = news_file(tmp_path / "news.jsonl", NEWS[:1])
    train(sr.short_documents(2), language="es", epochs=1, bits=8).save(tmp_path / "es.npz")
    with error(cs.ParameterError, "model", hint="model"):
        score(news, pipeline=tiny, model=str(tmp_path / "es.npz"))
    train(sr.short_documents(2), language="none", epochs=1, bits=8).save(tmp_path / "none.npz")
    score(news, pipeline=tiny, model=str(tmp_path / "none.npz"), recalibration="none")


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


def test_a_pipeline_parses_annotated_words(tmp_path: Path, model: AntecedentModel, tiny: str, score: Score) -> None:
    score(unparsed_file(tmp_path), pipeline=tiny)
    (found,) = cs.read_documents(tmp_path / "s.jsonl")
    # By the rules of the pipeline: each verb is the root of its sentence, "the" is a determiner of the next noun.
    assert list(found.tokens.dep) == ["det", "nsubj", "root", "det", "obj", "punct", "nsubj", "root", "punct"]
    assert found.tokens.head.tolist() == [1, 2, -1, 4, 2, 2, 7, -1, 7]
    assert found.tokens.sent.tolist() == [0] * 6 + [1] * 3
    assert list(found.tokens.extra["speaker"]) == ["Ann"] * 6 + ["Bob"] * 3
    assert (found.mentions.tolist(), found.gold) == ([[0, 2, 1], [3, 5, 4], [6, 7, 6]], ["1", "2", "1"])
    expected = score_mentions(model, [found.tokens], [found.mentions], MIN_PROB, None)[0].distribution
    assert found.antecedents.scores.tolist() == expected.scores.tolist()
    score(tmp_path / "u.conll", "p.jsonl", pipeline=tiny, mentions="parse")
    (found,) = cs.read_documents(tmp_path / "p.jsonl")
    assert found.mentions.tolist() == mentions_from_parse(found.tokens).tolist()


def test_words_need_a_pipeline_and_a_parse_needs_none(
    tmp_path: Path, gold: Path, model: AntecedentModel, tiny: str, score: Score
) -> None:
    unparsed = unparsed_file(tmp_path)
    with error(cs.InputError, place="doc_id 'u_0'", hint="pipeline"):
        score(unparsed)
    with error(cs.ParameterError, "parses"):
        score(unparsed, pipeline=tiny, parses=2)
    with error(cs.InputError, place="document 1: doc_id 'sim-000000'", hint="pipeline"):
        score([unparsed, gold], pipeline=tiny, workers=1)


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
    with pytest.raises(cs.ParameterError, match="must not contain both 'gold' and 'article_gold'"):
        article_metadata(Article("a", day, "", "", {"gold": 1, "article_gold": 2}))
    with pytest.raises(cs.ParameterError, match="must not contain both 'gold' and 'article_gold'"):
        article_metadata(Article("a", day, "", "", {"article_gold": 2, "gold": 1}))


def test_columns_and_numbers_of_articles_are_options(call: Calls, tmp_path: Path, model_path: Path, tiny: str) -> None:
    news = tmp_path / "news.csv"
    news.write_text("body,day,head\nFrance left .,03.02.2001,Norvo\nThey left .,04.02.2001,\n")
    columns = ("--text-column", "body", "--date-column", "day", "--title-column", "head", "--date-format", "%d.%m.%Y")
    out = tmp_path / "s.jsonl"
    arguments = ("--pipeline", tiny, "--model", model_path, "--workers", 1, *columns)
    line = call.refused("score", news, "--out", out, *arguments)
    assert line.endswith("(--id-column names another column)")
    text = call.good("score", news, "--out", out, *arguments, "--number-articles")
    assert "2 documents" in text
    first, second = cs.read_documents(out)
    assert (first.doc_id, first.date, first.metadata["title"]) == ("news.csv#1", datetime.date(2001, 2, 3), "Norvo")
    assert second.doc_id == "news.csv#2"


def test_text_that_the_pipeline_cannot_parse_is_quarantined_unchanged(tmp_path: Path, tiny: str, score: Score) -> None:
    bad = {"doc_id": "x", "date": "2001-01-01", "text": "REFUSED"}
    news = news_file(tmp_path / "news.jsonl", [bad, NEWS[2]])
    run = score(news, pipeline=tiny, on_error="quarantine")
    (line,) = Path(f"{run.out}.quarantine.jsonl").read_text().splitlines()
    rejected = json.loads(line)
    assert rejected["reason"] == "text must be parsable by the pipeline, got: no such word"
    assert (rejected["place"], json.loads(rejected["document"])["text"]) == ("article 1", "REFUSED")


# --- pipelines and models ----------------------------------------------------------------------------------


def test_a_pipeline_without_a_parser_is_rejected_first(tmp_path: Path, score: Score) -> None:
    import spacy

    blank = spacy.blank("en")
    blank.add_pipe("sentencizer")
    blank.to_disk(tmp_path / "blank")
    (tmp_path / "news.jsonl").write_text("this is no JSON\n")
    with error(cs.ParameterError, "pipeline") as caught:
        score(tmp_path / "news.jsonl", pipeline=str(tmp_path / "blank"))
    assert caught.value.message.endswith(": doc must have a parse, got none (the pipeline needs a parser)")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["blank", "news.jsonl"]


def test_scoring_recalibrated_scores_again_forgets_their_recalibration(gold: Path, score: Score) -> None:
    first = score(gold, model=None)
    again = score(first.out, "again.jsonl", model=None)
    assert Path(again.out).read_bytes() == Path(first.out).read_bytes()
    plain = score(first.out, "plain.jsonl", model=None, recalibration="none")
    assert all("recalibration" not in document.metadata for document in cs.read_documents(plain.out))


# --- processes ----------------------------------------------------------------------------


def mixed_corpus(folder: Path, documents: list[AnnotatedDocument]) -> list[Path]:
    """Good documents, two that cannot be scored, and one that cannot be read."""
    strange = dataclasses.replace(documents[1].tokens, dep=["head"] * len(documents[1].tokens))
    odd = [dataclasses.replace(documents[1], doc_id=name, tokens=strange) for name in ("odd", "odder")]
    first = sr.corpus_file(folder / "a.conllu", [documents[0], odd[0], *documents[1:4], odd[1]])
    second = sr.corpus_file(folder / "b.conllu", [documents[0], *documents[4:]])
    return [first, second]


def test_rejected_documents_are_in_order(tmp_path: Path, documents: list[AnnotatedDocument], score: Score) -> None:
    inputs = mixed_corpus(tmp_path, documents)
    run = score(inputs, on_error="quarantine")
    lines = [json.loads(line) for line in Path(f"{run.out}.quarantine.jsonl").read_text().splitlines()]
    places = [(Path(line["source"]).name, line["place"], line["doc_id"]) for line in lines]
    assert places == [
        ("a.conllu", "document 2", "odd"),
        ("a.conllu", "document 6", "odder"),
        ("b.conllu", "document 1", documents[0].doc_id),
    ]
    assert "must be unique in the corpus" in lines[2]["reason"]
    quarantined = json.loads(lines[0]["document"])
    (odd,) = (document for document in cs.read_corefud(inputs[0]) if document.doc_id == "odd")
    assert quarantined["gold"] == list(odd.entities)
    assert quarantined["tokens"]["text"] == list(documents[1].tokens.text)
    assert quarantined["scores"] == [[] for _ in documents[1].entities]


def test_an_unexpected_error_names_its_document(gold: Path, monkeypatch: pytest.MonkeyPatch, score: Score) -> None:
    def broken(*arguments: Any, **keywords: Any) -> None:
        raise RuntimeError("out of luck")

    monkeypatch.setattr(AntecedentModel, "score", broken)
    with pytest.raises(RuntimeError) as caught:
        score(gold)
    (note,) = caught.value.__notes__
    assert note.startswith(f"while scoring {gold}: document 1: doc_id ")


def test_a_worker_with_another_model_is_an_error(model_path: Path, tmp_path: Path) -> None:
    options = ScoringOptions(model=str(model_path))
    part = ScorePart([], "", "key", 0.0, PartStore(tmp_path), options, Scorer(options).identity)
    assert part.compute().record["documents"] == 0
    with error(cs.InputError) as caught:
        dataclasses.replace(part, identity={**part.identity, "model": "another"}).compute()
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
def test_a_files_kind_follows_from_its_name_or_first_line(tmp_path: Path, name: str, content: bytes, kind: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert named_kind(str(tmp_path / name), prefer_news=False) == kind
    unclear = content in (b'{"body": "a"}', b"\x1f\x8bbroken", b"no Parquet")
    assert named_kind(str(tmp_path / name), prefer_news=True) == ("news" if unclear else kind)


def test_a_parquet_files_kind_is_of_its_columns(
    tmp_path: Path, documents: list[AnnotatedDocument], model: AntecedentModel
) -> None:
    cs.write_documents([next(score_documents(model, [documents[0]]))], tmp_path / "scored.parquet")
    pd.DataFrame({"text": ["a"], "date": ["2001-01-01"]}).to_parquet(tmp_path / "news.parquet")
    for prefer_news in (True, False):
        assert named_kind(str(tmp_path / "scored.parquet"), prefer_news=prefer_news) == "scored"
        assert named_kind(str(tmp_path / "news.parquet"), prefer_news=prefer_news) == "news"


# --- several parses ----------------------------------------------------------------------------------------


ARTICLES = [
    {
        "doc_id": f"news {n}",
        "date": f"1999-0{n}-03",
        "title": "Old friends saw her duck",
        "text": f"{name} saw the man with the telescope near the bank. He said that visiting relatives can be fun.\n\n"
        "Flying planes made the troops attack. They left.\n\n"
        "The minister of the country that she had visited in spring said that it was wrong.",
    }
    for n, name in enumerate(("Peter", "Mary", "Susan"), start=1)
]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    path.write_text("".join(json.dumps(article) + "\n" for article in ARTICLES))
    return path


@pytest.fixture(scope="module")
def drawn(wire: Path, pipeline: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scored") / "scored.jsonl"
    score_corpus(wire, out, ScoringOptions(pipeline=str(pipeline), parses=8))
    return out


def usual(wire: Path, pipeline: Path, folder: Path) -> list[cs.ScoredDocument]:
    score_corpus(wire, folder / "one.jsonl", ScoringOptions(pipeline=str(pipeline)))
    assert b'"samples":' not in (folder / "one.jsonl").read_bytes()
    return list(cs.read_documents(folder / "one.jsonl"))


def by_document(path: Path) -> dict[str, list[cs.ScoredDocument]]:
    parses: dict[str, list[cs.ScoredDocument]] = {}
    for document in cs.read_documents(path):
        parses.setdefault(document.doc_id, []).append(document)
    return parses


def n_drawn(parse: cs.ScoredDocument) -> int:
    assert parse.samples is not None
    return parse.samples[1] - parse.samples[0]


def test_the_first_parse_is_that_without_samples(wire: Path, pipeline: Path, drawn: Path, tmp_path: Path) -> None:
    for parses, one in zip(by_document(drawn).values(), usual(wire, pipeline, tmp_path), strict=True):
        assert len(parses) > 2
        assert references.content(dataclasses.replace(parses[0], samples=None)) == references.content(one)
        assert [parse.parse for parse in parses] == [*range(len(parses))]
        assert sum(map(n_drawn, parses)) == 8
        assert all(n_drawn(parse) > 0 for parse in parses[1:])


def sampled_tokens(document: cs.ScoredDocument, nlp: Any) -> list[cs.Tokens]:
    """Tokens of each sample, paragraph by paragraph, without what is done once for all of them."""
    paragraphs = [str(document.metadata["title"]), *ARTICLES[int(document.doc_id[-1]) - 1]["text"].split("\n\n")]
    drawn = [parse_samples(nlp, nlp(text), 8, doc_id=f"{p} {document.doc_id}") for p, text in enumerate(paragraphs)]
    return [tokens_of_paragraphs([samples[s] for samples in drawn]) for s in range(8)]


def frozen(tokens: cs.Tokens) -> str:
    return json.dumps(tokens.to_frame().to_dict("list"))


def test_parses_are_the_samples_and_each_is_scored_by_itself(pipeline: Path, drawn: Path) -> None:
    import spacy

    nlp = spacy.load(pipeline, exclude=["ner"])
    for parses in by_document(drawn).values():
        counts: dict[str, int] = {}
        for tokens in sampled_tokens(parses[0], nlp):
            counts[frozen(tokens)] = counts.get(frozen(tokens), 0) + 1
        assert {frozen(parse.tokens): n_drawn(parse) for parse in parses if n_drawn(parse)} == counts
        for parse in parses:
            mentions = mentions_from_parse(parse.tokens)
            scored = score_mentions(load_scorer(), [parse.tokens], [mentions], MIN_PROB, None)[0].distribution
            expected = read_recalibration("english").recalibration.apply(scored, mention_kinds(parse.tokens, mentions))
            assert parse.mentions.tolist() == mentions.tolist()
            assert np.array_equal(parse.antecedents.antecedents, expected.antecedents)
            assert np.array_equal(parse.antecedents.scores, expected.scores)


# --- errors ------------------------------------------------------------------------------------------------


def test_a_pipeline_that_cannot_be_sampled_is_rejected_first(wire: Path, tiny: str, tmp_path: Path) -> None:
    with error(cs.ParameterError, "pipeline"):
        score_corpus(wire, tmp_path / "s.jsonl", ScoringOptions(pipeline=tiny, parses=3))
    assert not list(tmp_path.iterdir())


def test_options_that_do_not_go_together_are_rejected() -> None:
    with error(cs.ParameterError, "parses"):
        ScoringOptions(parses=3)
    with error(cs.ParameterError, "parse_temperature"):
        ScoringOptions(pipeline="x", parse_temperature=1.0)
