"""corefsample explain shows triggers with their reasons; doctor counts what a rule finds and checks rules by scheme."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import Calls
from references import events as er, parses as pr
from run_cases import CountOptions, count_events

from corefsample.formats import DocumentStream
from events import EventCounter
from events.commands.doctor import DoctorOptions, run_doctor
from events.commands.explain import ExplainOptions, run_explain
from events.matching._trigger_model import TriggerModel
from events.triggers._nearest_texts import compressed_texts

SENTENCES = {
    "counted": ["Iraqis/PROPN>2:nsubj attacked=attack/VERB>0:root it/PRON>2:obj"],
    "excluded": ["Iraqis/PROPN>3:nsubj may/AUX>3:aux attack/VERB>0:root"],
    "missed": [
        "It/PRON>2:nsubj rained=rain/VERB>0:root",
        "ten/NUM>3:nsubj:pass were=be/AUX>3:aux:pass attacked=attack/VERB>0:root in/ADP>5:case Iraq/PROPN>3:obl",
    ],
    "none": ["It/PRON>2:nsubj rained=rain/VERB>0:root"],
}


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    documents = [er.json_document(name, "1999-01-05", sentences) for name, sentences in SENTENCES.items()]
    return er.write_lines(tmp_path / "scored.jsonl", documents)


def test_the_screen_shows_the_path_that_matched_or_the_step_that_failed(call: Calls, scored: Path) -> None:
    out = call.good("explain", scored, "--triggers", "rules")
    blocks = [" ".join(block.split()) for block in out.split("\n\n")]
    assert blocks[0] == (
        "Rule attack, preset asserted, lexicon countries: 3 triggers in 4 documents: counted 1, excluded 1, no path 1."
    )
    assert blocks[1] == (
        "counted, 1999-01-05 sentence Iraqis [attacked] it trigger attack (frame verb) outcome counted (an event) "
        "agent Iraqis = IRQ, by >nsubj actor Iraqis = IRQ, at >nsubj "
        "P(event) IRQ 1.000 (MC error 0.003), of the document in 1,000 samples"
    )
    assert "outcome excluded (no event: a condition excludes it) conditions modal ('may')" in blocks[2]
    # "in Iraq" has the label of the path, but the preposition is not "by".
    assert (
        "agent nothing; nearest path [passive]>obl[case=by]: 'Iraq' is not >obl[case=by] "
        "actor Iraq = IRQ, at >obl[case=in] P(event) 0, of the document in 1,000 samples"
    ) in blocks[3]
    assert len(blocks) == 4


def test_training_texts_are_reasons_of_p_where_the_model_has_them(call: Calls, scored: Path, tmp_path: Path) -> None:
    texts = ["Kuwait attacked a ship.", "Cells attack it.", "It rained."], ["attack", "attack", "rain"]
    model = TriggerModel(("attack",), {0: 0}, np.zeros((1, 2), np.float32), frozenset(["attack", "rain"]))
    for stored in (compressed_texts(*texts, np.array([[True], [False], [False]]), model.lemmas), b""):
        dataclasses.replace(model, texts=stored).save(tmp_path / "m.npz")
        out = " ".join(call.good("explain", scored, "--triggers", tmp_path / "m.npz", "--doc-id", "counted").split())
        reasons = (
            " like Kuwait attacked a ship. (reports attack) like Cells attack it. (reports no event)" if stored else ""
        )
        assert f"reports P(the trigger reports this event) 0.500{reasons} agent Iraqis" in out


def test_a_run_is_explained_with_its_rules_samples_and_recalibration(call: Calls, tmp_path: Path) -> None:
    lead, they = "Iraqis/PROPN>2:nsubj came=come/VERB>0:root", "they/PRON>2:nsubj killed=kill/VERB>0:root"
    documents = [
        er.json_document(name, "1999-01-05", [lead.replace("Iraqis", actor), they])
        | {"antecedents": [[], [0]], "scores": [[], [0.5]]}
        for name, actor in (("a", "Iraqis"), ("b", "Iranians"), ("c", "Iraqis"))
    ]
    path, run = er.write_lines(tmp_path / "scored.jsonl", documents), tmp_path / "run"
    options = CountOptions(rule=("attack", "kill"), triggers="rules", seed=5, n_samples=70)
    count_events(path, run, dataclasses.replace(options, coreference="none"))
    assert run_explain(run, ExplainOptions(actor="IRQ")).result == []  # "they" is nobody without coreference
    count_events(path, run, options, overwrite=True)
    columns = ["probability", "mc_se", "reasons", "reader_probability"]
    evidence = pd.read_parquet(run / "evidence.parquet").set_index(["doc_id", "actor"])[columns]
    p = evidence.loc["a", "IRQ"]["probability"]  # exactly 1 / (1 + exp(-0.5)) = 0.622, with an error of 0.058
    assert 0.38 < p < 0.86
    assert evidence.loc["a", "IRQ"]["reasons"] == f"no actor {1.0 - p:.3f}"
    for rule, event in ((None, "kill: IRQ"), ("kill", "IRQ")):
        shown = run_explain(run, ExplainOptions(actor="IRQ", rule=rule)).result
        events = [(s.doc_id, *[tuple(e[name] for name in ("actors", *columns)) for e in s.events]) for s in shown]
        assert events == [(doc_id, (event, *evidence.loc[doc_id, "IRQ"])) for doc_id in "ac"]
        path.unlink(missing_ok=True)  # the folder of the run has the documents with evidence
    assert run_explain(run, ExplainOptions(actor="IRQ", rule="attack")).result == []
    assert "did you mean kill" in call.refused("explain", run, "--rule", "kil", status=2)
    out = " ".join(call.good("explain", run, "--doc-id", "b", "--actor", "IRQ").split())
    assert "P(event) 0, of the document in 70 samples" in out
    assert "did you mean IRQ (Iraq)" in call.refused("explain", run, "--actor", "iraqi", status=2)
    for option in ("--preset", "--encoder"):
        assert option in call.refused("explain", run, option, "paper", status=2)


def test_a_noun_that_stands_for_an_actor_is_shown_with_its_probability(call: Calls, tmp_path: Path) -> None:
    sentences = [
        "Peru/PROPN>2:nsubj waited=wait/VERB>0:root",
        "The/DET>2:det army/NOUN>3:nsubj attacked=attack/VERB>0:root",
    ]
    path = er.write_lines(tmp_path / "scored.jsonl", [er.json_document("army", "1999-01-05", sentences)])
    out = " ".join(call.good("explain", path, "--lexicon", "forces").split())
    events = run_explain(path, ExplainOptions(lexicon="forces")).result[0].events
    (event,) = [each for each in events if each["actors"] == "PER"]
    assert event["filled"] == "stands for"
    mentions = f"army [3-4] may stand for PER, named in this text {event['probability']:.3f}"
    assert event["stand_ins"] == mentions
    assert f"PER {event['probability']:.3f} (MC error {event['mc_se']:.3f}; {mentions}" in out


def test_a_sample_of_triggers_does_not_depend_on_the_order_of_documents(tmp_path: Path) -> None:
    sentence = SENTENCES["counted"]
    documents = [er.json_document(f"d{n}", "1999-01-05", sentence) for n in range(40)]
    there = er.write_lines(tmp_path / "there.jsonl", documents)
    back = er.write_lines(tmp_path / "back.jsonl", documents[::-1])
    drawn = set()
    for seed in range(3):
        options = ExplainOptions(sample=5, seed=seed)
        one, other = ([each.doc_id for each in run_explain(path, options).result] for path in (there, back))
        assert one == other[::-1]
        assert len(one) == 5
        drawn.add(tuple(one))
    assert len(drawn) > 1
    run = run_explain(there)
    assert (len(run.result), run["n_triggers"]) == (20, 40)


def test_doctor_counts_what_a_rule_and_a_lexicon_find(call: Calls, scored: Path) -> None:
    out = call.good("doctor", scored, "--rule", "attack", "--preset", "asserted", "--json")
    _, hits = json.loads(out)
    counts = ("n_documents", "n_with_actor", "n_with_trigger", "n_with_event", "n_problems")
    assert [hits[name] for name in counts] == [4, 3, 3, 1, 0]
    assert hits["triggers"] == {"attack": {"counted": 1, "excluded": 1, "no path": 1}}
    assert hits["conditions"] == {"modal": 1}
    assert hits["aliases"] == {"IRQ": {"iraqis": 2, "iraq": 1}}
    assert hits["unmatched"] == {">obl[case=in]": [1, "missed"]}
    out = " ".join(call.good("doctor", scored, "--rule", "meet").split())
    assert "no document has a trigger of the rule" in out


RULE = """
version: 1
name: strike
trigger: {lemma: [strike]}
paths: {near: {ud2: [">obl[case=near]"]}}
classes: {agent: [rebel]}
presets:
  paper: {described: [head], roles: {agent: [subject]}}
  wide: {described: [head], roles: {agent: [subject, near]}}
  narrow: {described: [head], roles: {agent: [near]}}
"""


def test_doctor_finds_paths_that_a_scheme_lacks(call: Calls, tmp_path: Path) -> None:
    rule = tmp_path / "strike.yaml"
    rule.write_text(RULE)
    out = " ".join(call.good("doctor", rule).split())
    assert "preset paper no examples; serves ud2, ud1, clearnlp " in out
    assert "serves ud2, ud1 (without near (agent)), clearnlp (without near (agent))" in out
    assert "preset narrow no examples; serves ud2" in out
    status, out, err = call("doctor", rule, "--scheme", "clearnlp")
    assert status == 3
    assert err.splitlines() == [
        f"corefsample: {rule}: presets.{preset}: every path must be given in clearnlp, got none for near (agent)"
        for preset in ("wide", "narrow")
    ]
    assert call("doctor", rule, "--scheme", "ud2")[0] == 0


def test_doctor_checks_the_classes_and_examples_of_a_rule_with_a_lexicon(call: Calls, tmp_path: Path) -> None:
    rule, lexicon = tmp_path / "strike.yaml", tmp_path / "own.yaml"
    parse = "      1 Rebels rebel NOUN 2 nsubj\n      2 struck strike VERB 0 root\n"
    rule.write_text(f"{RULE}examples:\n  - expect: {{paper: [REB]}}\n    parse: |\n{parse}")
    lexicon.write_text("version: 1\nentries:\n  - {code: REB, name: Rebels, kind: rebel, nouns: [rebel]}\n")
    out = call.good("doctor", rule, "--lexicon", lexicon)
    assert "preset paper examples hold (1: ud2 1)" in " ".join(out.split())
    status, _, err = call("doctor", rule, "--lexicon", "countries")
    assert status == 3
    assert f"{rule}: classes.agent must be classes of the lexicon countries" in err
    assert f"{rule}: examples[0]: preset paper must find REB, got nothing" in err


# --- documents with several parses -------------------------------------------------------------------------


@pytest.fixture
def mixture(tmp_path: Path) -> Path:
    """A document of which "attacked" has the Iraqis as subject, as object, and as modifier of a noun."""
    parses = [
        (5, ["Iraqis/PROPN>2:nsubj attacked=attack/VERB>0:root it/PRON>2:obj"]),
        (3, ["Iraqis/PROPN>2:obj attacked=attack/VERB>0:root it/PRON>2:obj"]),
        (1, ["Iraqis/PROPN>2:compound attacked=attack/NOUN>0:root it/PRON>2:dep"]),
        (1, ["Iraqis/PROPN>2:nsubj attacked=attack/VERB>0:root it/PRON>2:obj"]),
    ]
    one = er.json_document("one", "1999-01-05", SENTENCES["counted"])
    return er.write_lines(tmp_path / "scored.jsonl", [*pr.of_several_parses("several", parses), one])


# --- events by nobody whom the lexicon names -----------------------------------------------------------------

ARRESTS = {
    "both": [
        "Police/NOUN>2:nsubj arrested=arrest/VERB>0:root",
        "He/PRON>3:nsubj:pass was/AUX>3:aux:pass jailed=jail/VERB>0:root",
    ],
    "nobody": ["Men=man/NOUN>3:nsubj:pass were/AUX>3:aux:pass arrested=arrest/VERB>0:root"],
    "guard": ["Guards=guard/NOUN>2:nsubj arrested=arrest/VERB>0:root"],
    "excluded": ["Police/NOUN>3:nsubj may/AUX>3:aux arrest/VERB>0:root"],
    # Two mentions: "police" alone, and "police fire", whose head is the trigger.
    "itself": ["police/NOUN>2:compound fire/NOUN>3:nsubj killed=kill/VERB>0:root"],
}


def test_documents_are_counted_by_actor_and_by_nobody_where_a_role_is_optional(call: Calls, tmp_path: Path) -> None:
    documents = [er.json_document(name, "1999-01-05", sentences) for name, sentences in ARRESTS.items()]
    path = er.write_lines(tmp_path / "scored.jsonl", documents)
    numbers = ("n_with_event", "n_by_actor", "n_by_nobody")
    run = run_explain(path, ExplainOptions(rule="arrest", lexicon="police", triggers="rules"))
    assert [run[name] for name in ("n_documents", *numbers)] == [5, 3, 1, 3]
    out = call.good("explain", path, "--rule", "arrest", "--lexicon", "police", "--triggers", "rules")
    flat = " ".join(out.split())
    assert "Without coreference, 3 documents with the event: 1 by an actor, 3 by nobody whom the lexicon names." in flat
    assert flat.count("counted (an event by nobody whom the lexicon names)") == 3
    *_, hits = run_doctor([str(path)], DoctorOptions(rule="arrest", lexicon="police")).result
    assert [hits[name] for name in numbers] == [3, 1, 3]
    assert dict(hits.pairs)["by nobody"] == "3"


def test_the_likeliest_parse_is_shown_with_the_events_of_all(call: Calls, tmp_path: Path, mixture: Path) -> None:
    run = run_explain(mixture, ExplainOptions(seed=7, triggers="rules"))
    assert [run[f"n_{name}"] for name in ("documents", "several_parses", "triggers")] == [2, 1, 2]
    several = next(each for each in run.result if each.doc_id == "several")
    count_events(mixture, tmp_path / "run", CountOptions(seed=7, triggers="rules"))
    filters = [("probability", ">", 0), ("doc_id", "==", "several")]
    (evidence,) = pd.read_parquet(tmp_path / "run" / "evidence.parquet", filters=filters).to_dict("records")
    (event,) = several.events or ()
    assert (event["probability"], event["mc_se"]) == (evidence["probability"], evidence["mc_se"])
    assert "no event in the parse 0.4" in event["reasons"]
    assert 0.58 < event["probability"] < 0.62  # parses 0 and 3 have 6 of 10 samples; the draws are spread evenly
    assert "The likeliest parse alone is shown of 1 document with several." in call.good("explain", mixture)


def test_doctor_inspects_the_likeliest_of_several_parses(call: Calls, tmp_path: Path) -> None:
    parses = [(n, [f"Iraqis/PROPN>2:{label} attacked=attack/VERB>0:root"]) for n, label in ((1, "obj"), (2, "nsubj"))]
    path = er.write_lines(tmp_path / "scored.jsonl", pr.of_several_parses("d", parses))
    *_, hits = run_doctor([str(path)], DoctorOptions(rule="attack")).result
    assert [hits[f"n_{name}"] for name in ("documents", "with_parses", "with_event", "problems")] == [1, 1, 1, 0]
    out = call("doctor", path, "--rule", "attack")[1]
    assert "the likeliest parse alone is inspected of 1 document with several" in " ".join(out.split())


def test_a_document_whose_labels_fit_several_schemes_is_read_as_events_reads_it(tmp_path: Path) -> None:
    """In ClearNLP "nmod" before a noun is a modifier like "compound"; in UD it needs the word "of"."""
    clear = "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root on/ADP>2:prep Monday/PROPN>3:pobj"
    several = "Iraq/PROPN>2:nmod forces=force/NOUN>3:nsubj attacked=attack/VERB>0:root"
    documents = [er.json_document(name, "2000-01-01", [text]) for name, text in (("a", clear), ("b", several))]
    path = er.write_lines(tmp_path / "scored.jsonl", documents)
    counter = EventCounter(n_samples=10)
    counter.update(DocumentStream([path]))
    run = run_explain([str(path)])
    assert [each.trace.outcome for each in run.result] == ["counted", "counted"]
    assert run["n_by_actor"] == counter.document_counts()["n_with_events"] == 2
