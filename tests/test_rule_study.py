"""The study of what shipped rules find beside a keyword search: each cause on a sentence written for it."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest
from places import GUM_SCORED, PROJECT
from references import events as er

from corefsample import ScoredDocument, read_documents
from corefsample.errors import ParameterError
from corefsample.links._pairs import gold_codes
from events.counting import evaluate_clustering
from events.lexicon._lexicon import load_lexicon
from events.matching import match_document
from events.rules._rules import load_rules

pytestmark = pytest.mark.skipif(
    not (PROJECT / "benchmarks").exists(), reason="the studies are beside the sources alone"
)

# The cause of each sentence with a keyword of `meet`, in preset asserted with the lexicon countries.
MEET = [
    ("France=France/PROPN>2:nsubj met=meet/VERB>0:root Spain=Spain/PROPN>2:obj", "found, with an actor"),
    # "They" is France.
    ("They/PRON>3:nsubj will/AUX>3:aux meet/VERB>0:root Tom=Tom/PROPN>3:obj", "excluded: future"),
    # Nobody here is an actor, so the condition is not what keeps the sentence from being found.
    ("Tom=Tom/PROPN>3:nsubj will/AUX>3:aux meet/VERB>0:root Ann=Ann/PROPN>3:obj", "filler is no actor of the lexicon"),
    ("Tom=Tom/PROPN>2:nsubj met=meet/VERB>0:root Ann=Ann/PROPN>2:obj", "filler is no actor of the lexicon"),
    ("The/DET>2:det meeting/NOUN>3:nsubj ended=end/VERB>0:root", "nothing fills the role"),
    ("Ten/NUM>2:nsubj met=meet/VERB>0:root", "filler is no mention"),
    ("Tom=Tom/PROPN>2:nsubj talked=talk/VERB>0:root", "part of speech"),
    ("Tom=Tom/PROPN>2:nsubj visited=visit/VERB>0:root Ann=Ann/PROPN>2:obj", "keyword only: lemma is no trigger"),
    (
        "French/ADJ>4:amod and/CCONJ>3:cc Spanish/ADJ>1:conj ministers=minister/NOUN>5:nsubj met=meet/VERB>0:root",
        "several actors",
    ),
    (
        "Tom=Tom/PROPN>2:nsubj sat=sit/VERB>0:root and/CCONJ>5:cc Ann=Ann/PROPN>5:nsubj fell=fall/VERB>2:conj "
        "down/ADV>5:advmod",
        "words of a phrase, not connected",
    ),
    # The nearest cause of two keywords.
    (
        "Tom=Tom/PROPN>2:nsubj visited=visit/VERB>0:root and/CCONJ>5:cc France=France/PROPN>5:nsubj "
        "met=meet/VERB>2:conj",
        "found, with an actor",
    ),
    ("In/ADP>2:case March=March/PROPN>4:obl Tom=Tom/PROPN>4:nsubj slept=sleep/VERB>0:root", None),
]
KILL = [
    ("Ten/NUM>3:nsubj:pass were=be/AUX>3:aux:pass killed=kill/VERB>0:root", "found, no actor: nothing fills the role"),
    (
        "Soldiers=soldier/NOUN>2:nsubj killed=kill/VERB>0:root ten/NUM>2:obj",
        "found, no actor: filler is no actor of the lexicon",
    ),
    (
        "French/ADJ>4:amod and/CCONJ>3:cc Spanish/ADJ>1:conj troops=troop/NOUN>5:nsubj killed=kill/VERB>0:root",
        "found, no actor: several actors",
    ),
    (
        "If/SCONJ>5:mark ten/NUM>5:nsubj:pass were=be/AUX>5:aux:pass not/PART>5:advmod killed=kill/VERB>0:root",
        "excluded: negated",
    ),
    ("Ten/NUM>2:nsubj died=die/VERB>0:root", "keyword only: lemma is no trigger"),
]


def written(doc_id: str, sentences: list[tuple[str, str | None]]) -> dict[str, Any]:
    """A document as a line of a file; every mention is an entity of its own, but for "They", which is the first."""
    line = er.json_document(doc_id, "2000-01-01", [text for text, _ in sentences])
    first = [line["tokens"]["text"][start] for start, _, _ in line["mentions"]]
    return line | {"gold": [0 if word == "They" else i for i, word in enumerate(first)]}


def scored(line: dict[str, Any]) -> ScoredDocument:
    return replace(er.scored(line), gold=line["gold"])


@pytest.fixture
def rule_study(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    return importlib.import_module("rule_study")


@pytest.fixture
def sentences(rule_study: ModuleType) -> pd.DataFrame:
    table: pd.DataFrame = rule_study.study([scored(written("m", MEET)), scored(written("k", KILL))])
    return table


def causes(table: pd.DataFrame, doc_id: str, **reading: str) -> dict[int, str]:
    """Causes by sentence, of one reading."""
    chosen = table[(table["doc_id"] == doc_id) & (table[list(reading)] == list(reading.values())).all(axis=1)]
    assert chosen["sentence"].is_unique
    return dict(zip(chosen["sentence"], chosen["cause"], strict=True))


@pytest.mark.parametrize(("doc_id", "rule", "expected"), [("m", "meet", MEET), ("k", "kill", KILL)])
def test_each_sentence_has_its_cause(
    sentences: pd.DataFrame, doc_id: str, rule: str, expected: list[tuple[str, str | None]]
) -> None:
    found = causes(sentences, doc_id, rule=rule, preset="asserted", lexicon="countries")
    assert found == {i: cause for i, (_, cause) in enumerate(expected) if cause is not None}


def test_the_month_of_march_is_no_protest(sentences: pd.DataFrame) -> None:
    assert "protest" not in set(sentences["rule"])


def test_no_condition_excludes_in_the_preset_without_conditions(sentences: pd.DataFrame) -> None:
    meet = causes(sentences, "m", rule="meet", preset="extended", lexicon="countries")
    kill = causes(sentences, "k", rule="kill", preset="extended", lexicon="countries")
    assert meet[1] == "found, with an actor"
    assert kill[3] == "found, no actor: nothing fills the role"


def test_the_lexicon_decides_who_is_an_actor(sentences: pd.DataFrame) -> None:
    kill = causes(sentences, "k", rule="kill", preset="asserted", lexicon="police")
    # Soldiers and troops are the army, which is an inner actor: the troops are not two countries.
    assert kill[1] == kill[2] == "found, with an actor"


def test_all_conditions_of_a_trigger_are_listed(sentences: pd.DataFrame) -> None:
    row = sentences.query("doc_id == 'k' and sentence == 3 and preset == 'asserted' and lexicon == 'countries'")
    assert row["conditions"].tolist() == ["negated conditional"]
    assert row["word"].tolist() == ["kill VERB"]


def test_the_table_of_counts_adds_up(rule_study: ModuleType, sentences: pd.DataFrame) -> None:
    counts = rule_study.counts(sentences)
    assert counts["sentences"].sum() == len(sentences)
    wide = rule_study.wide(counts[counts["lexicon"] == "countries"]).set_index("sentences")
    # Of the 12 sentences of MEET one has no keyword and two are found; of the 5 of KILL three are.
    assert wide.loc[["with a keyword", "found", "not found"], "meet, asserted"].tolist() == [11, 2, 9]
    assert wide.loc[["with a keyword", "found", "not found"], "kill, asserted"].tolist() == [5, 3, 2]
    assert wide.loc["filler is no actor of the lexicon", "meet, asserted"] == 2
    assert wide["arrest, extended"].sum() == 0


def test_files_have_the_text_only_on_request(
    rule_study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = er.write_lines(tmp_path / "scored.jsonl", [written("m", MEET), written("k", KILL)])
    for more in ([], ["--text"]):
        options = ["--counts", tmp_path / "counts.csv", "--sentences", tmp_path / "sentences.csv", *more]
        monkeypatch.setattr(sys, "argv", ["rule_study.py", str(file), *map(str, options)])
        rule_study.main()
        listed = pd.read_csv(tmp_path / "sentences.csv", keep_default_na=False)
        assert ("text" in listed.columns) == bool(more)
    assert listed["text"][0] == "France met Spain"
    assert list(pd.read_csv(tmp_path / "counts.csv")) == ["rule", "preset", "lexicon", "cause", "sentences"]
    printed = capsys.readouterr().out
    assert "| found, with an actor | 2 |" in printed
    assert "meet, part of speech: talk VERB 1" in printed
    assert "France" not in printed


def test_a_document_without_gold_is_an_error_of_one_line(
    rule_study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = {key: value for key, value in written("m", MEET).items() if key != "gold"}
    (tmp_path / "scored.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setattr(sys, "argv", ["rule_study.py", str(tmp_path / "scored.jsonl")])
    with pytest.raises(SystemExit, match=r"^Error: .*'m'.*gold is missing"):
        rule_study.main()


def test_a_rule_of_two_roles_is_an_error(rule_study: ModuleType) -> None:
    rule = load_rules("attack_target")
    with pytest.raises(ParameterError, match="must have one role and keywords, got 'attack_target'"):
        list(rule_study.sentence_causes(scored(written("m", MEET)), [rule], load_lexicon(), "countries"))


@pytest.mark.skipif(not GUM_SCORED.exists(), reason="the GUM file is missing")
def test_a_document_has_a_found_sentence_exactly_where_it_has_the_event(rule_study: ModuleType) -> None:
    documents = list(islice(read_documents(GUM_SCORED), 0, 200, 20))
    table = rule_study.study(documents, lexicons=["police"])
    lexicon = load_lexicon("police")
    for rule_name in rule_study.KEYWORDS:
        for preset in rule_study.PRESETS:
            rule = load_rules(rule_name, preset)
            expected = set()
            for document in documents:
                assert document.tokens is not None
                matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date, "ud2")
                if matches.possible and evaluate_clustering(matches, gold_codes(document, "single")):
                    expected.add(document.doc_id)
            of_rule = table[(table["rule"] == rule_name) & (table["preset"] == preset)]
            assert set(of_rule[of_rule["cause"].isin(rule_study.FOUND)]["doc_id"]) == expected
