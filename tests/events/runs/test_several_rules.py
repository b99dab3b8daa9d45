"""Several rules, and several parses, in one pass: the rows of each rule's own run, the numbers of the counter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from command_line import Calls
from expected_errors import error
from references import events as er, parses as pr
from run_cases import CountOptions, count_events

from corefsample import ParameterError, read_documents, write_documents
from events import EventCounter, TrueEvents, load_rules
from events.counts import read_count_posterior
from events.counts._evidence import Evidence
from events.runs._count_parts import checked_contents

SENTENCES = [
    "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Iran/PROPN>2:obj",
    "he/PRON>3:nsubj:pass was=be/AUX>3:aux:pass arrested=arrest/VERB>0:root",
    "Iraqi/ADJ>2:amod police/NOUN>3:nsubj arrested=arrest/VERB>0:root him=he/PRON>3:obj",
    "Iraq/PROPN>4:nsubj did=do/AUX>4:aux not/PART>4:advmod attack/VERB>0:root Iran/PROPN>4:obj",
    "he/PRON>2:nsubj slept=sleep/VERB>0:root",
]
RULES = ("attack", "arrest", "attack_target")


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("news") / "news.jsonl"
    documents = [
        er.scored(er.json_document(f"doc {n}", f"1999-0{n + 1}-01", [sentence])) for n, sentence in enumerate(SENTENCES)
    ]
    write_documents(documents, str(path))
    return path


def run(news: Path, folder: Path, rule: str | tuple[str, ...], **options: str) -> dict[str, pd.DataFrame]:
    count_events(news, folder, CountOptions(rule=rule, n_samples=50, **options))  # type: ignore[arg-type]
    evidence = pd.read_parquet(folder / "evidence.parquet", filters=[("probability", ">", 0)])
    return {"counts": pd.read_parquet(folder / "counts.parquet"), "evidence": evidence}


def test_the_tables_have_the_rows_of_each_rules_own_run(news: Path, tmp_path: Path) -> None:
    together = run(news, tmp_path / "run", RULES)
    assert list(together["counts"].columns[:4]) == ["event", "actor", "target", "period"]
    for rule in RULES:
        alone = run(news, tmp_path / rule, rule)
        for name, table in together.items():
            rows = table[table["event"] == rule].reset_index(drop=True)
            pd.testing.assert_frame_equal(rows[alone[name].columns.tolist()], alone[name])
            others = [c for c in ("actor", "actor", "target") if c not in alone[name]]
            assert rows[others].eq("").all(axis=None)


def test_a_counter_needs_different_rules_and_the_name_of_one() -> None:
    attack, arrest = load_rules("attack"), load_rules("arrest")
    for rules in ([], [attack, attack], [1]):
        with error(ParameterError, "rule"):
            EventCounter(rules)  # type: ignore[arg-type]
    counter = EventCounter([attack, arrest])
    with pytest.raises(ParameterError, match="event must be one of attack, arrest, got None"):
        counter.counts()
    with error(ParameterError, "event"):
        counter.counts(event="meet")
    with error(ParameterError, "rule"):
        TrueEvents([attack, arrest])  # type: ignore[arg-type]


def test_an_event_without_an_actor_and_one_with_are_counted_apart(news: Path, tmp_path: Path) -> None:
    counts = run(news, tmp_path / "run", RULES, period="year")["counts"]
    arrests = counts[counts["event"] == "arrest"].set_index("actor")["mean"]
    assert arrests.to_dict() == pytest.approx({"": 1.0, "IRQ": 1.0}, abs=0.1)
    assert read_count_posterior(tmp_path / "run", "IRQ>IRN", "1999", event="attack_target").n_docs == 5
    assert read_count_posterior(tmp_path / "run", "IRQ", "1999", event="arrest").mean == 1.0
    with error(ParameterError, "event"):
        read_count_posterior(tmp_path / "run", "IRQ", "1999")


def test_the_evidence_names_the_condition_that_excluded_a_trigger(news: Path, tmp_path: Path) -> None:
    both = SENTENCES[0], SENTENCES[3]
    path = tmp_path / "both.jsonl"
    write_documents([er.scored(er.json_document("doc", "1999-01-01", both))], str(path))
    evidence = run(path, tmp_path / "run", "attack", preset="asserted")["evidence"]
    assert evidence["excluded"].tolist() == ["attack [6] negated"]
    assert run(path, tmp_path / "paper", "attack", preset="paper")["evidence"]["excluded"].tolist() == [""]


@pytest.mark.parametrize("rule", [("attack", "attack"), ()])
def test_rules_are_different_and_at_least_one(rule: tuple[str, ...]) -> None:
    with error(ParameterError, "rule"):
        checked_contents(CountOptions(rule=rule))


# --- several parses ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parsed_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten documents; every third has one parse."""
    parses = [[each] if n % 3 == 2 else pr.with_other_parses(each, (5, 1, 2)) for n, each in enumerate(er.corpus())]
    made = [parse for of_document in parses for parse in of_document]
    return er.write_lines(tmp_path_factory.mktemp("corpus") / "news.jsonl", made)


def test_documents_parquet_has_the_first_parse_of_each(parsed_corpus: Path, tmp_path: Path) -> None:
    count_events(parsed_corpus, tmp_path / "run", CountOptions(n_samples=80))
    given = {document.doc_id: document for document in read_documents(parsed_corpus) if not document.parse}
    for document in read_documents(tmp_path / "run" / "documents.parquet"):
        assert document.samples is None
        assert list(document.tokens.dep) == list(given[document.doc_id].tokens.dep)


# --- how many triggers a preset leaves out, and how often actors are merged -------------------------------


HAPPENED = "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Iran/PROPN>2:obj"
BOTH = "Iraq/PROPN>4:nsubj will/AUX>4:aux not/PART>4:advmod attack/VERB>0:root"
DOCUMENTS = [
    [HAPPENED, er.NEGATED],
    [er.NEGATED],  # the only trigger is left out, so that no event is possible
    [BOTH, er.FUTURE],
    [HAPPENED],
    ["Iraq/PROPN>2:nsubj slept=sleep/VERB>0:root"],
    ["attacked=attack/VERB>0:root Iraq/PROPN>1:obj"],  # nothing fills the role
    [er.NEGATED.replace("Iraq", "Tom").replace("Iran", "Ann")],  # no name of the lexicon
]
# By hand, of the documents above.
BY_CONDITIONS = {(): 2, ("negated",): 2, ("future",): 1, ("future", "negated"): 1}


def lines() -> list[dict[str, Any]]:
    return [er.json_document(f"d{n}", f"1999-01-0{n + 1}", each, {}) for n, each in enumerate(DOCUMENTS)]


def counted(given: list[dict[str, Any]], preset: str = "asserted", **options: Any) -> EventCounter:
    counter = EventCounter(load_rules("attack", preset), n_samples=20, triggers="rules")
    counter.update(map(er.scored, given), **options)
    return counter


def by_conditions(evidence: Evidence, event: str = "attack") -> Counter[tuple[str, ...]]:
    """Number of triggers by the conditions that exclude them."""
    texts = [text for row in evidence.documents.read("triggers").to_pylist() for text in row["triggers"]]
    named = [text.partition(": ") for text in texts]
    return Counter(
        tuple(conditions.split(", ")) if conditions else () for name, _, conditions in named if name == event
    )


def test_triggers_are_counted_in_documents_with_and_without_events() -> None:
    assert by_conditions(counted(lines())) == BY_CONDITIONS
    assert by_conditions(counted(lines(), "extended")) == {(): 6}
    one_by_one = EventCounter(n_samples=20, triggers="rules")
    for each in lines():
        one_by_one.add(er.scored(each))
    assert by_conditions(one_by_one) == BY_CONDITIONS


def test_other_rules_of_the_run_do_not_change_the_numbers() -> None:
    meeting = er.json_document("e", "1999-01-09", ["Iraq/PROPN>2:nsubj met=meet/VERB>0:root Iran/PROPN>2:obj"], {})
    several = EventCounter([load_rules("meet"), load_rules("attack")], n_samples=20, triggers="rules")
    several.update(map(er.scored, [*lines(), meeting]))
    assert by_conditions(several) == BY_CONDITIONS
    assert by_conditions(several, "meet") == {(): 1}


def test_a_trigger_of_several_parses_counts_once_with_the_conditions_of_all(tmp_path: Path) -> None:
    several = pr.with_other_parses(er.json_document("d", "1999-01-01", [BOTH, HAPPENED], {}), (2, 1, 1))
    first, second, _ = (each["tokens"]["dep"] for each in several)
    first[1] = "dep"  # not in the future; in the second parse nothing fills the roles, in the third all as written
    assert "nsubj" not in second
    counter = EventCounter(n_samples=20, triggers="rules")
    counter.update(read_documents(er.write_lines(tmp_path / "d.jsonl", several)))
    assert by_conditions(counter) == {("future", "negated"): 1, (): 1}


# --- merged actors -----------------------------------------------------------------------------------------


def test_doctor_says_it_of_a_lexicon(tmp_path: Path, call: Calls) -> None:
    apart = er.json_document("b", "1999-01-06", ["Iraq/PROPN>2:nsubj met=meet/VERB>0:root"], {})
    unknown = er.json_document("c", "1999-01-07", ["Iraq/PROPN>2:SBJ-X met=meet/VERB>0:root"], {})
    merging = er.json_document("a", "1999-01-05", er.MERGING, {1: {0: 30.0}})
    path = er.write_lines(tmp_path / "d.jsonl", [merging, apart, unknown])
    sentence = "different actors with probability 0.667 per mention that names one (3 mentions)"
    for options in (("--lexicon", "countries"), ("--rule", "attack", "--preset", "paper"), ()):
        _, printed, _ = call("doctor", path, *options)  # the rule cannot read the third document
        assert (sentence in " ".join(printed.split())) == bool(options)
    printed = call.good("doctor", path, "--lexicon", "countries", "--json")
    ways = json.loads(printed)[0]["merged_actors"]["n_documents"]
    assert (ways["as drawn"], sum(ways.values())) == (1, 2)
