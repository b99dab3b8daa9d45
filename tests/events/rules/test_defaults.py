"""Default actors: who has the event where the text has nobody who could, from the rule file to the tables."""

import copy
import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tolerance
import yaml
from expected_errors import error
from mention_matches import evaluate_matches, evaluate_parses
from references import events as er
from run_cases import CountOptions, count_events

from corefsample import InputError, ParameterError, write_documents
from events import EventCounter, load_lexicon, load_rules
from events.matching._matching import match_document
from events.matching._tracing import trace_document
from events.rules._rules import Rule

DAY = datetime.date(2000, 1, 1)
RULE: dict[str, Any] = {
    "name": "detain",
    "event": ["agent"],
    "optional": ["agent"],
    "frames": [
        {"name": "verb", "trigger": {"lemma": ["arrest"]}, "roles": {"agent": ["subject", "passive_agent"]}},
        {
            "name": "noun",
            "trigger": {"lemma": ["arrest"], "upos": ["NOUN"]},
            "roles": {"agent": ["noun_by", "noun_possessor"]},
        },
    ],
    "defaults": {"agent": {"actor": "POLICE", "when": ["passive", "nominal", "near said"], "unless": ["near army"]}},
    "words": {"officers": ["police"]},
    "conditions": {"said": {"ud2": ["[lemma={report}]>nsubj[lemma={officers}]"]}, "army": {"ud2": ["[lemma=army]"]}},
    "presets": {
        "wide": {"described": ["head"], "distinct_actors": True},
        "plain": {"extends": "wide", "defaults": {}},
        "always": {"extends": "wide", "defaults": {"agent": {"actor": "POLICE"}}},
    },
}
PASSIVE = "men/NOUN>3:nsubj:pass were=be/AUX>3:aux:pass arrested=arrest/VERB>0:root"
NOUN = "the/DET>2:det arrest/NOUN>0:root"
ACTIVE = "to/PART>2:mark arrest/VERB>0:root men/NOUN>2:obj"
BY_GUARD = f"{PASSIVE} by/ADP>5:case guards=guard/NOUN>3:obl:agent"
SAID = "police/NOUN>2:nsubj said=say/VERB>0:root so/ADV>2:advmod"
ARMY = "the/DET>2:det army/NOUN>3:nsubj slept=sleep/VERB>0:root"
RAIN = "it/PRON>2:nsubj rained=rain/VERB>0:root"


def written(folder: Path, **changes: Any) -> str:
    path = folder / "detain.yaml"
    path.write_text(yaml.safe_dump(copy.deepcopy(RULE) | changes), encoding="utf-8")
    return str(path)


@pytest.fixture
def rule(tmp_path: Path) -> Rule:
    return load_rules(written(tmp_path), "wide")


def probabilities(rule: Rule, *sentences: str, lexicon: str = "police") -> dict[str, float]:
    """P of each actor where every mention is an entity of its own."""
    document = er.scored(er.json_document("d", "2000-01-01", sentences))
    matches = match_document(document.tokens, document.mentions, rule, load_lexicon(lexicon), document.date)
    if not matches.possible:
        return {}
    events = evaluate_matches(document.antecedents, matches, "d", document.date, n_samples=10)
    return {key[0] or "-": p for key, p in zip(events.keys, events.probabilities.tolist(), strict=True) if p}


CASES: list[tuple[list[str], dict[str, float]]] = [
    ([PASSIVE], {"-": 1.0, "POLICE": 1.0}),
    ([NOUN], {"-": 1.0, "POLICE": 1.0}),
    ([ACTIVE], {"-": 1.0}),  # no condition holds
    ([BY_GUARD], {"-": 1.0}),  # an agent that is no actor of the lexicon is one all the same
    (["he/PRON>2:nsubj arrested=arrest/VERB>0:root men/NOUN>2:obj", SAID], {"-": 1.0}),
    (["two/NUM>2:nsubj arrested=arrest/VERB>0:root men/NOUN>2:obj", SAID], {"-": 1.0}),  # no mention, but an agent
    (["police/NOUN>2:nsubj arrested=arrest/VERB>0:root men/NOUN>2:obj"], {"POLICE": 1.0}),
    ([ACTIVE, SAID], {"-": 1.0, "POLICE": 1.0}),
    ([SAID, ACTIVE], {"-": 1.0, "POLICE": 1.0}),
    ([SAID, RAIN, ACTIVE], {"-": 1.0}),  # not beside it
    ([PASSIVE, ARMY], {"-": 1.0}),
    ([PASSIVE, RAIN, ARMY], {"-": 1.0, "POLICE": 1.0}),
]


@pytest.mark.parametrize(("sentences", "expected"), CASES)
def test_a_default_actor_has_what_nobody_else_can(rule: Rule, sentences: list[str], expected: dict[str, float]) -> None:
    assert probabilities(rule, *sentences) == expected
    assert probabilities(replace(rule, filled="default"), *sentences) == {
        key: p for key, p in expected.items() if key == "-" or (key == "POLICE" and "-" in expected)
    }
    named = {key: p for key, p in expected.items() if key == "-" or "-" not in expected}
    assert probabilities(replace(rule, filled="named"), *sentences) == named


@pytest.mark.parametrize(("sentences", "expected"), CASES)
def test_a_required_role_has_its_default_actor(
    tmp_path: Path, sentences: list[str], expected: dict[str, float]
) -> None:
    rule = load_rules(written(tmp_path, optional=[]), "wide")
    of_police = {key: p for key, p in expected.items() if key == "POLICE"}
    by_default = of_police if "-" in expected else {}
    assert probabilities(rule, *sentences) == of_police
    assert probabilities(replace(rule, filled="default"), *sentences) == by_default
    assert probabilities(replace(rule, filled="named"), *sentences) == (of_police if not by_default else {})
    # A document in which nobody is named is read where a default may apply, and only there.
    counter = EventCounter(rule, load_lexicon("police"), n_samples=10)
    counter.update([er.scored(er.json_document("d", "2000-01-01", sentences))])
    assert dict(counter.evidence()[["actor", "filled"]].to_numpy().tolist()) == (
        {"POLICE": "default" if by_default else "named"} if of_police else {}
    )


@pytest.mark.parametrize("optional", [[], ["agent"]])
def test_actors_by_default_and_by_name_are_in_one_document(tmp_path: Path, optional: list[str]) -> None:
    rule = load_rules(written(tmp_path, optional=optional), "wide")
    nobody = {"-": 1.0} if optional else {}
    by_iraq, by_police = (f"{who}>2:nsubj arrested=arrest/VERB>0:root" for who in ("Iraq/PROPN", "police/NOUN"))
    assert probabilities(rule, PASSIVE, by_iraq) == {**nobody, "IRQ": 1.0, "POLICE": 1.0}
    assert probabilities(replace(rule, filled="default"), PASSIVE, by_iraq) == {**nobody, "POLICE": 1.0}
    assert probabilities(replace(rule, filled="named"), PASSIVE, by_iraq) == {**nobody, "IRQ": 1.0}
    counter = EventCounter(rule, load_lexicon("police"), n_samples=10)
    counter.update([er.scored(er.json_document("d", "2000-01-01", [PASSIVE, by_police]))])
    found = counter.evidence()
    assert found.loc[found["actor"] == "POLICE", "filled"].tolist() == ["both"]


def test_a_trace_counts_a_required_role_where_its_default_actor_has_it(tmp_path: Path) -> None:
    rule = load_rules(written(tmp_path, optional=[]), "wide")

    def outcome(sentence: str, rule: Rule = rule, lexicon: str = "police") -> str:
        document = er.scored(er.json_document("d", "2000-01-01", [sentence]))
        given = document.tokens, document.mentions, rule, load_lexicon(lexicon), document.date
        (trigger,) = trace_document(*given)[0]
        return trigger.outcome

    assert [outcome(each) for each in (PASSIVE, NOUN, BY_GUARD, ACTIVE)] == ["counted"] * 2 + ["no actor", "no path"]
    assert outcome(PASSIVE, replace(rule, filled="named")) == "no path"
    assert outcome(PASSIVE, lexicon="countries") == "no path"


def test_frames_that_require_a_role_have_no_default(tmp_path: Path) -> None:
    frames = [frame | {"required": ["agent"]} for frame in RULE["frames"]]
    rule = load_rules(written(tmp_path, optional=[], frames=frames), "wide")
    assert probabilities(rule, PASSIVE) == probabilities(rule, NOUN) == {}


def test_a_preset_can_do_without_defaults_or_have_others(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert probabilities(load_rules(path, "plain"), PASSIVE) == {"-": 1.0}
    assert probabilities(load_rules(path, "always"), ACTIVE) == {"-": 1.0, "POLICE": 1.0}
    assert probabilities(load_rules(path, "wide"), PASSIVE, lexicon="countries") == {"-": 1.0}


def test_an_unknown_default_actor_or_choice_of_actors_is_an_error(tmp_path: Path, rule: Rule) -> None:
    misspelt = load_rules(written(tmp_path, defaults={"agent": {"actor": "POLISE"}}), "wide")
    with error(InputError, None, "detain.yaml"):
        EventCounter(misspelt, load_lexicon("police"))
    with error(ParameterError, "filled"):
        EventCounter(rule, load_lexicon("police"), filled="both")  # type: ignore[arg-type]


# --- tables ------------------------------------------------------------------------------------------------

# POLICE is named in the first and by default in the second; both in the third; a guard is named in the last.
NAMED = "police/NOUN>2:nsubj arrested=arrest/VERB>0:root men/NOUN>2:obj"
DOCUMENTS = [[NAMED], [PASSIVE], [NAMED, RAIN, PASSIVE], [BY_GUARD]]
# By choice: mean of POLICE, mean named, and mean of nobody.
MEANS = {"either": (3.0, 2.0, 3.0), "named": (2.0, 2.0, 3.0), "default": (2.0, 0.0, 3.0)}


def documents() -> list[Any]:
    return [er.scored(er.json_document(f"doc {n}", "1999-01-01", each)) for n, each in enumerate(DOCUMENTS)]


@pytest.mark.parametrize("filled", list(MEANS))
def test_tables_say_what_is_named_and_what_is_by_default(tmp_path: Path, filled: Any) -> None:
    news, path = tmp_path / "news.jsonl", written(tmp_path)
    write_documents(documents(), str(news))
    options = CountOptions(rule=path, preset="wide", lexicon="police", filled=filled, n_samples=20)
    count_events(news, tmp_path / "run", options)
    counts = pd.read_parquet(tmp_path / "run" / "counts.parquet").set_index("actor")
    police, named, nobody = MEANS[filled]
    means = counts[["mean", "mean_named"]].to_dict("index")
    assert means == {"POLICE": {"mean": police, "mean_named": named}, "": {"mean": nobody, "mean_named": nobody}}
    evidence = pd.read_parquet(tmp_path / "run" / "evidence.parquet", filters=[("probability", ">", 0)])
    of_police = evidence[evidence["actor"] == "POLICE"].set_index("doc_id")["filled"].to_dict()
    every = {"doc 0": "named", "doc 1": "default", "doc 2": "both"}
    expected = every if filled == "either" else {n: filled for n, each in every.items() if each in (filled, "both")}
    assert of_police == expected
    assert evidence[evidence["actor"] == ""]["filled"].eq("").all()

    events = pd.read_csv(tmp_path / "run" / "events.csv", keep_default_na=False)
    rows = {*zip(events["doc_id"], events["token"], events["actor"], events["filled"], strict=True)}
    by_default = {("doc 1", 2, "POLICE", "default"), ("doc 2", 7, "POLICE", "default")}
    by_name = {("doc 0", 1, "POLICE", "named"), ("doc 2", 1, "POLICE", "named")}
    by_guards = {("doc 3", 2, "", "")}
    without = {(doc_id, token, "", "") for doc_id, token, *_ in by_default}  # then nobody has these events
    assert (
        rows == by_guards | {"either": by_name | by_default, "named": by_name | without, "default": by_default}[filled]
    )


def test_of_several_parses_the_default_actor_has_the_event_in_those_without_an_agent(rule: Rule) -> None:
    """In parse 1 "by guards" depends on men. P(POLICE) is the weight of that parse, .3, and nobody is in both."""
    texts = BY_GUARD, BY_GUARD.replace(">3:obl:agent", ">1:nmod")
    documents = [er.scored(er.json_document("d", "2000-01-01", [text])) for text in texts]
    matches = [match_document(each.tokens, each.mentions, rule, load_lexicon("police"), None) for each in documents]
    n = 20_000
    events = evaluate_parses(documents[0].antecedents, matches, (7, 3), DAY, n_samples=n)
    p = dict(zip(events.keys, events.n_hits.tolist(), strict=True))
    assert p["",] == n
    assert tolerance.plausible_counts(np.array([p["POLICE",]]), n, [0.3]).all()
    assert events.n_named.tolist() == [n, 0]
    assert [events.filled(e) for e in range(2)] == ["", "default"]
