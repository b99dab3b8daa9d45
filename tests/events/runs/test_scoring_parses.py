"""corefsample score --parses: alternative parses of news, each with its own mentions and antecedents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Calls
from expected_errors import error
from places import EN_CORE_WEB_SM, EN_GUM_UD
from references import coreference as references
from run_cases import score_corpus

from corefsample import ParameterError, ScoredDocument, Tokens, read_documents
from corefsample.mention_ranking import english_model
from corefsample.mention_ranking._model import MIN_PROB, score_mentions
from corefsample.mention_ranking.features import mention_kinds
from corefsample.recalibration import english_recalibration
from corefsample.spacy_bridge import parse_samples
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._mentions import mentions_from_parse
from events.runs.scoring._options import ScoringOptions
from events.runs.scoring._parsing import joined

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


@pytest.fixture(params=[EN_GUM_UD, EN_CORE_WEB_SM], ids=lambda path: path.name, scope="module")
def pipeline(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    if not path.exists():
        pytest.skip(f"the pipeline is not there: {path.name}")
    return path


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    path.write_text("".join(json.dumps(article) + "\n" for article in ARTICLES))
    return path


@pytest.fixture(scope="module")
def scored(news: Path, pipeline: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("scored") / "scored.jsonl"
    score_corpus(news, out, ScoringOptions(pipeline=str(pipeline), parses=8))
    return out


def usual(news: Path, pipeline: Path, folder: Path) -> list[ScoredDocument]:
    score_corpus(news, folder / "one.jsonl", ScoringOptions(pipeline=str(pipeline)))
    assert b'"version":2' not in (folder / "one.jsonl").read_bytes()
    return list(read_documents(folder / "one.jsonl"))


def test_the_first_parse_is_that_of_a_run_without_samples(
    news: Path, pipeline: Path, scored: Path, tmp_path: Path
) -> None:
    for document, one in zip(read_documents(scored), usual(news, pipeline, tmp_path), strict=True):
        assert document.n_parses > 2
        assert references.content(document.with_parse(0)) == references.content(one)
        assert sum(parse.weight for parse in document.parses) == 8
        assert all(parse.weight > 0 for parse in document.parses[1:])


def sampled_tokens(document: ScoredDocument, nlp: Any) -> list[Tokens]:
    """Tokens of each sample, paragraph by paragraph, without what is done once for all of them."""
    paragraphs = [str(document.metadata["title"]), *ARTICLES[int(document.doc_id[-1]) - 1]["text"].split("\n\n")]
    drawn = [parse_samples(nlp, nlp(text), 8, doc_id=f"{p} {document.doc_id}") for p, text in enumerate(paragraphs)]
    return [joined([tokens_of_doc(samples[s]) for samples in drawn]) for s in range(8)]


def frozen(tokens: Tokens) -> str:
    return json.dumps(tokens.to_frame().to_dict("list"))


def test_parses_are_the_samples_and_each_is_scored_by_itself(pipeline: Path, scored: Path) -> None:
    import spacy

    nlp = spacy.load(pipeline, exclude=["ner"])
    for document in read_documents(scored):
        counts: dict[str, int] = {}
        for tokens in sampled_tokens(document, nlp):
            counts[frozen(tokens)] = counts.get(frozen(tokens), 0) + 1
        assert {frozen(parse.tokens): parse.weight for parse in document.parses if parse.weight} == counts
        for parse in document.parses:
            mentions = mentions_from_parse(parse.tokens)
            scored = score_mentions(english_model(), parse.tokens, mentions, MIN_PROB, None).distribution
            expected = english_recalibration().recalibration.apply(scored, mention_kinds(parse.tokens, mentions))
            assert parse.mentions.tolist() == mentions.tolist()
            assert np.array_equal(parse.antecedents.antecedents, expected.antecedents)
            assert np.array_equal(parse.antecedents.scores, expected.scores)


def test_processes_and_the_order_of_documents_do_not_matter(
    news: Path, pipeline: Path, scored: Path, tmp_path: Path
) -> None:
    reversed_news = tmp_path / "reversed.jsonl"
    reversed_news.write_text("".join(f"{line}\n" for line in reversed(news.read_text().splitlines())))
    score_corpus(reversed_news, tmp_path / "other.jsonl", ScoringOptions(pipeline=str(pipeline), parses=8), workers=2)
    assert sorted((tmp_path / "other.jsonl").read_bytes().splitlines()) == sorted(scored.read_bytes().splitlines())


def test_a_temperature_near_0_leaves_the_usual_parse(news: Path, pipeline: Path, tmp_path: Path) -> None:
    options = ScoringOptions(pipeline=str(pipeline), parses=3, parse_temperature=1e-3)
    score_corpus(news, tmp_path / "s.jsonl", options)
    usual(news, pipeline, tmp_path)
    # Greedy parses: one parse a document, so the file is of version 1 and the same.
    assert (tmp_path / "s.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


def test_the_record_says_how_parses_were_sampled(news: Path, pipeline: Path, tmp_path: Path, call: Calls) -> None:
    out = tmp_path / "s.parquet"
    arguments = ("--pipeline", pipeline, "--parses", 2, "--parse-temperature", 2, "--workers", 1, "--out", out)
    assert call("score", news, *arguments)[0] == 0
    record = json.loads((tmp_path / "s.parquet.scoring.json").read_text())
    assert (record["arguments"]["parses"], record["arguments"]["parse_temperature"]) == (2, 2.0)
    assert [document.n_parses for document in read_documents(out)] == [3, 3, 3]


# --- errors ------------------------------------------------------------------------------------------------


def test_a_pipeline_whose_parser_cannot_be_sampled_is_rejected_before_the_first_document(
    news: Path, tiny: str, tmp_path: Path, call: Calls
) -> None:
    line = call.refused("score", news, "--pipeline", tiny, "--parses", 3, "--out", tmp_path / "s.jsonl")
    assert "--pipeline must have a transition parser (spaCy's parser), got the components" in str(line)
    assert not list(tmp_path.iterdir())


def test_options_that_do_not_go_together_are_rejected() -> None:
    with error(ParameterError, "parses"):
        ScoringOptions(parses=3)
    with error(ParameterError, "parse_temperature"):
        ScoringOptions(pipeline="x", parse_temperature=1.0)
