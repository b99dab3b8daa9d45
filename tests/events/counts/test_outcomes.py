"""Outcomes: unions of events in each sample, against their definition, and from the rule file to audits and reports."""

from __future__ import annotations

import dataclasses
import datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from command_line import Calls
from expected_errors import error
from hypothesis import given, settings, strategies as st
from mention_matches import matches_of
from references import events as er
from run_cases import CountOptions, count_events
from strategies import documents as strategies

from corefsample import AntecedentDistribution, ParameterError, read_documents, sample_clusterings
from corefsample.posterior._posterior import DocumentPosterior
from events import EventCounter, load_lexicon, load_rules
from events.audit import estimate_counts, plan_audit, read_sheets
from events.audit._audit_frame import read_run_documents
from events.evidence._evaluation import evaluate_document, outcome_events
from events.evidence._rule_set import RuleSet
from events.pages._document_texts import run_definitions
from events.pages._questions import rule_question
from events.pages._report_content import read_report
from events.rules._format import Outcome

DAY = datetime.date(2000, 1, 1)
CODES = ("AAA", "BBB", "CCC")
KINDS = {"AAA": "army", "BBB": "police", "CCC": "army"}
# By notation the actors that it means, "" for nobody named.
ACTORS = {"*": {*CODES, ""}, "AAA": {"AAA"}, "BBB|-": {"BBB", ""}, "{army}": {"AAA", "CCC"}, "-|{police}": {"BBB", ""}}


@settings(max_examples=100)
@given(st.data())
def test_an_outcome_is_true_in_the_samples_in_which_one_of_its_events_is(data: st.DataObject) -> None:
    lists = data.draw(strategies.antecedent_lists(1, 6, strategies.mild_scores))
    n, distribution = len(lists.antecedents), AntecedentDistribution.from_lists(*lists)
    described = data.draw(st.lists(st.sets(st.sampled_from(CODES), max_size=1), min_size=n, max_size=n))
    fillers = {
        name: data.draw(st.lists(st.integers(-1, n - 1), max_size=3, unique=True)) for name in ("arrest", "kill", "hit")
    }
    given = [
        matches_of(described, [(m,) for m in each], actors=CODES, event=name, role_codes=((*CODES, ""),))
        for name, each in fillers.items()
        if each
    ]
    several = evaluate_document(DocumentPosterior("d", distribution), given, DAY, n_samples=20)
    labels = sample_clusterings(distribution, n_samples=20, seed=0, doc_id="d").labels.tolist()
    rules = data.draw(st.lists(st.sampled_from(list(fillers)), min_size=1, max_size=3, unique=True))
    outcomes = [Outcome("union", tuple(rules), actors) for actors in ACTORS]
    found = {key[0] or "-": hits.tolist() for each in outcome_events(several, outcomes, KINDS)
             for key, hits in zip(each.keys, each.hits, strict=True)}  # fmt: skip
    for actors, wanted in ACTORS.items():
        expected = []
        for row in labels:
            made = {
                "" if m < 0 else er.only_country(next(e for e in er.entities(row) if m in e), described) or ""
                for name in rules
                for m in fillers[name]
            }
            expected.append(int(bool(made & wanted)))
        assert found.get(actors, [0] * 20) == expected


# --- a corpus ----------------------------------------------------------------------------------------------

# They are Americans or Iraqis, and attack; in the second document one arrests, and in the third nobody does.
_NAMES = "Americans/PROPN>2:nsubj met=meet/VERB>0:root Iraqis/PROPN>2:obj"
_ATTACK = "they/PRON>2:nsubj attacked=attack/VERB>0:root"
_ARREST = "they/PRON>2:nsubj arrested=arrest/VERB>0:root men/NOUN>2:obj"
_ARRESTED = "men/NOUN>3:nsubj:pass were=be/AUX>3:aux:pass arrested=arrest/VERB>0:root"
_LINKS = {2: {0: 20.0, 1: 20.0}}
CORPUS = [[_NAMES, _ATTACK], [_NAMES, _ARREST], [_ARRESTED], [_NAMES]]
OUTCOMES = ("either=attack|arrest:USA|IRQ", "either=attack|arrest:USA", "noone=arrest:-", "any=attack|arrest")


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = [
        er.json_document(f"doc {n}", f"1999-0{n + 1}-01", each, _LINKS if len(each) > 1 else None)
        for n, each in enumerate(CORPUS)
    ]
    return er.write_lines(tmp_path_factory.mktemp("news") / "news.jsonl", lines)


@pytest.fixture(scope="module")
def run(news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("outcomes") / "run"
    options = CountOptions(
        rule=("attack", "arrest"), triggers="rules", outcome=OUTCOMES, n_samples=200, compare=("USA|IRQ", "USA")
    )
    count_events(news, out, options)
    return out


def means(table: pd.DataFrame) -> dict[tuple[str, str], float]:
    sums = table.groupby(["event", "actor"], as_index=False)["mean"].sum()
    return dict(zip(zip(sums["event"], sums["actor"], strict=True), sums["mean"].tolist(), strict=True))


def test_the_probability_of_a_union_is_not_made_from_those_of_its_events(run: Path) -> None:
    """One of two countries attacks for sure, each with P of about 1/2; likewise one arrests."""
    found = means(pd.read_parquet(run / "counts.parquet"))
    assert 0.3 < found["attack", "USA"] < 0.7
    assert found["attack", "USA"] + found["attack", "IRQ"] == pytest.approx(1.0)
    assert found["either", "USA|IRQ"] == 2.0
    assert found["either", "USA"] == pytest.approx(found["attack", "USA"] + found["arrest", "USA"])
    assert found["noone", ""] == found["arrest", ""] == 1.0
    assert found["any", "*"] == 3.0


def test_evidence_and_comparison_of_an_outcome_are_those_of_its_events(run: Path) -> None:
    evidence = pd.read_parquet(run / "evidence.parquet", filters=[("probability", ">", 0)])
    rows = evidence[(evidence["event"] == "either") & (evidence["actor"] == "USA|IRQ")].set_index("doc_id")
    assert rows["probability"].to_dict() == {"doc 0": 1.0, "doc 1": 1.0}
    places = zip(evidence["doc_id"], evidence["event"], evidence["actor"], strict=True)
    p = dict(zip(places, evidence["probability"].tolist(), strict=True))
    highest = max(p["doc 0", "attack", "USA"], p["doc 0", "attack", "IRQ"])
    assert rows.loc["doc 0", "role_mentions"] == f"they [3-4] {highest:.3f}"
    assert rows.loc["doc 0", "sentences"] == "Americans met Iraqis | they attacked"
    compared = pd.read_csv(run / "comparisons.csv")
    assert compared["event"].unique().tolist() == ["either"]  # the rules have no such actors
    first = compared[compared["period"] == "1999Q1"].iloc[0]
    # The documents are independent; in each the other country has the event unless the USA have it.
    p_both_usa = p["doc 0", "attack", "USA"] * p["doc 1", "arrest", "USA"]
    assert first["p_first_greater"] == pytest.approx(1.0 - p_both_usa)


def test_the_total_has_a_sign_of_its_own_and_outcomes_can_be_audited_and_reported(run: Path) -> None:
    rows = pd.read_parquet(run / "all_documents.parquet").set_index("doc_id")
    last = rows.loc["doc 2"]
    assert [*zip(last["events"], last["actors"], strict=True)] == [
        *(("arrest", "*"), ("arrest", "-"), ("noone", "*"), ("noone", "-"), ("any", "*"))
    ]
    frame = read_run_documents(run)
    assert frame.targets == ("attack", "arrest", "either", "noone", "any")
    assert frame.probability(4).tolist() == [1.0, 1.0, 1.0, 0.0]
    by_actor = read_run_documents(run, ["either: USA|IRQ"])
    assert by_actor.probability(0).tolist() == [1.0, 1.0, 0.0, 0.0]
    assert "USA|IRQ" in str(read_report(run).counts)


def test_the_actor_of_a_rule_without_roles_is_anybody_beside_other_rules(news: Path, tmp_path: Path) -> None:
    anyone = tmp_path / "anyone.yaml"
    anyone.write_text("""{version: 1, name: anyone, description: Someone is arrested., event: [],
        trigger: {lemma: [arrest]}, presets: {asserted: {unless: []}}}""")
    options = CountOptions(rule=("arrest", str(anyone)), n_samples=20, triggers="rules")
    count_events(news, tmp_path / "run", options)
    empty = {}
    for table in ("counts", "evidence", "events"):
        path = tmp_path / "run" / f"{table}.parquet"
        rows = pd.read_parquet(path) if path.exists() else pd.read_csv(path.with_suffix(".csv"), keep_default_na=False)
        assert set(rows.loc[rows["event"] == "anyone", "actor"]) == {"*"}, table
        empty[table] = set(rows.loc[rows["event"] == "arrest", "actor"])
    assert empty == {table: {"", "USA", "IRQ"} for table in empty}
    assert means(pd.read_parquet(tmp_path / "run" / "counts.parquet"))["anyone", "*"] == 2.0
    assert "anyone: *" in str(read_report(tmp_path / "run").counts)


def test_rule_files_declare_outcomes_and_outcomes_name_rules(news: Path, run: Path, tmp_path: Path) -> None:
    own = {
        "name": "seize",
        "trigger": {"lemma": ["arrest"]},
        "presets": {"asserted": {"described": ["head"], "roles": {"agent": ["subject"]}, "distinct_actors": True}},
        "outcomes": {"someone": "seize:*"},
    }
    (tmp_path / "seize.yaml").write_text(yaml.safe_dump(own))
    content = {"rules": ["attack", "arrest", "seize.yaml"], "outcomes": {"either": ["attack|arrest:USA|IRQ"]}}
    (tmp_path / "union.yaml").write_text(yaml.safe_dump(content))
    options = CountOptions(rule=str(tmp_path / "union.yaml"), n_samples=200, triggers="rules")
    count_events(news, tmp_path / "run", options)
    found = means(pd.read_parquet(tmp_path / "run" / "counts.parquet"))
    expected = means(pd.read_parquet(run / "counts.parquet"))
    assert {key: mean for key, mean in found.items() if key[0] in ("attack", "arrest")} == {
        key: mean for key, mean in expected.items() if key[0] in ("attack", "arrest")
    }
    assert found["either", "USA|IRQ"] == 2.0
    assert found["someone", "*"] == 1.0
    with error(ParameterError, "rule"):
        load_rules(tmp_path / "union.yaml")


# Each breaks the notation, names what the rules do not have, or is there twice.
WRONG = "arrest:USA a= a=arrest||attack a=arrest|strike:USA attack=arrest:USA a=arrest:U.S. a=arrest:{police}"


@pytest.mark.parametrize("outcome", [*WRONG.split(), "a=arrest:USA>IRQ", "either=arrest:USA"])
def test_outcomes_are_of_the_rules_and_the_actors(outcome: str) -> None:
    with error(ParameterError, "outcome"):
        EventCounter([load_rules("attack"), load_rules("arrest")], outcomes=["either=arrest|attack:USA", outcome])


def test_an_outcome_is_of_rules_with_the_same_samples() -> None:
    rules: list[Any] = [load_rules("attack", "paper"), load_rules("arrest", "extended")]
    with error(ParameterError, "outcome"):
        EventCounter(rules, outcomes=["a=attack|arrest"])
    EventCounter(rules, load_lexicon(), outcomes=["a=attack", "b=arrest"])


OUTCOME_FILE = """
rules: [attack, arrest]
outcomes:
  noun: "arrest.noun"
  states:
    events: ["attack|arrest.verb:{country}|-", "arrest:USA"]
    title: States against people
    question: a state attacked or arrested someone
"""


@pytest.fixture(scope="module")
def titled(news: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("titled")
    (folder / "union.yaml").write_text(OUTCOME_FILE)
    count_events(news, folder / "run", CountOptions(rule=str(folder / "union.yaml"), preset="extended", n_samples=100))
    return folder


def test_an_outcome_selects_a_frame_of_a_rule(news: Path, titled: Path) -> None:
    """The event of one frame is that of a rule with this frame alone."""
    found = means(pd.read_parquet(titled / "run" / "counts.parquet"))
    rule = load_rules("arrest", "extended")
    for name in ("noun", "verb"):
        (frame,) = [frame for frame in rule.frames if frame.name == name]
        alone = EventCounter(dataclasses.replace(rule, frames=(frame,), examples=()), n_samples=100)
        alone.update(read_documents(news))
        expected = {
            (f"arrest.{name}", actor): mean for (_, actor), mean in means(alone.counts_of_all().to_frame()).items()
        }
        assert {key: mean for key, mean in found.items() if key[0] == f"arrest.{name}"} == expected
    assert found["arrest.verb", "USA"]
    with pytest.raises(ParameterError, match="preset paper"):
        EventCounter(load_rules("arrest", "paper"), outcomes=["a=arrest.nothing"])


def test_titles_and_questions_of_outcomes_are_those_of_the_file(titled: Path) -> None:
    content = read_report(titled / "run").counts
    assert "States against people: any country or no actor named" in [actor["name"] for actor in content["actors"]]
    definitions = run_definitions({"rule": str(titled / "union.yaml"), "preset": "extended", "lexicon": None})
    assert definitions is not None

    def asked(*targets: str) -> str:
        return rule_question(read_run_documents(titled / "run", targets or None), definitions)[0]

    assert asked("states: {country}|-") == "Does the article say that a state attacked or arrested someone?"
    assert asked() == "Which of these does the article say?"
    run_lexicon = RuleSet.of(load_rules("arrest"), load_lexicon("police"), ["a=arrest:ARMY|-"])
    frame = dataclasses.replace(read_run_documents(titled / "run"), targets=("a: ARMY|-",))
    assert rule_question(frame, run_lexicon)[0] == (
        "Does the article say that army arrested someone or someone was arrested, and not that an actor of the lexicon "
        "police did it, as a fact?"
    )


def test_labels_are_yes_or_no_of_the_event_of_anybody(run: Path, tmp_path: Path) -> None:
    frame = read_run_documents(run, ["any: *"])
    assert (frame.label_kind, frame.targets) == ("yes-no", ("any: *",))
    assert frame.probability(0).tolist() == read_run_documents(run).probability(4).tolist()
    assert "any: *" not in read_run_documents(run, ["all"]).targets
    plan = plan_audit(frame, 4, floor=1)
    sheet = plan.sheet(1).assign(label="yes")
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    (total,) = estimate_counts(plan, read_sheets(plan, [tmp_path / "sheet.csv"])).totals.itertuples()
    assert (total.event, total.actor, total.estimate) == ("any", "*", 4.0)


def test_commands_take_a_file_of_outcomes(call: Calls, news: Path, titled: Path) -> None:
    file = titled / "union.yaml"
    for command in (["doctor", file], ["rule", "test", file]):
        assert "States against people" in call.good(*command)
    shown = call.good("explain", news, "--rule", file, "--preset", "extended")
    assert "(frame arrest.verb)" in shown
    assert "states: {country}|- 1.000" in shown
    assert call.good("doctor", news, "--rule", file, "--preset", "extended").count("\n  rule ") == 2
    for content, part in (("{a: 'arrest:NOBODY'}", "NOBODY"), ("{a: []}", "bad.yaml: ")):
        file.with_name("bad.yaml").write_text(f"rules: [arrest]\noutcomes: {content}\n")
        status, _, err = call("rule", "test", file.with_name("bad.yaml"))
        assert (status, part in err) == (3, True)
