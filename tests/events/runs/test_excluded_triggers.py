"""How many triggers a preset leaves out, and how often actors are merged: by hand, and where a run says so."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from command_line import Calls
from references import events as er, parses as pr

from corefsample import read_documents
from events import EventCounter, load_rules
from events.counts._evidence import Evidence

HAPPENED = "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Iran/PROPN>2:obj"
NEGATED = "Iraq/PROPN>4:nsubj did=do/AUX>4:aux not/PART>4:advmod attack/VERB>0:root Iran/PROPN>4:obj"
FUTURE = "Iraq/PROPN>3:nsubj will/AUX>3:aux attack/VERB>0:root"
BOTH = "Iraq/PROPN>4:nsubj will/AUX>4:aux not/PART>4:advmod attack/VERB>0:root"
DOCUMENTS = [
    [HAPPENED, NEGATED],
    [NEGATED],  # the only trigger is left out, so that no event is possible
    [BOTH, FUTURE],
    [HAPPENED],
    ["Iraq/PROPN>2:nsubj slept=sleep/VERB>0:root"],
    ["attacked=attack/VERB>0:root Iraq/PROPN>1:obj"],  # nothing fills the role
    [NEGATED.replace("Iraq", "Tom").replace("Iran", "Ann")],  # no name of the lexicon
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
    assert by_conditions(counted(lines(), threads=2)) == BY_CONDITIONS
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


MERGING = [
    "Iraq/PROPN>2:nsubj met=meet/VERB>0:root Iran/PROPN>2:obl",
    "they/PRON>2:nsubj attacked=attack/VERB>0:root soldiers/NOUN>2:obj",
]


def test_doctor_says_it_of_a_lexicon(tmp_path: Path, call: Calls) -> None:
    apart = er.json_document("b", "1999-01-06", ["Iraq/PROPN>2:nsubj met=meet/VERB>0:root"], {})
    unknown = er.json_document("c", "1999-01-07", ["Iraq/PROPN>2:SBJ-X met=meet/VERB>0:root"], {})
    merging = er.json_document("a", "1999-01-05", MERGING, {1: {0: 30.0}})
    path = er.write_lines(tmp_path / "d.jsonl", [merging, apart, unknown])
    sentence = "different actors with probability 0.667 per mention that names one (3 mentions)"
    for options in (("--lexicon", "countries"), ("--rule", "attack", "--preset", "paper"), ()):
        _, printed, _ = call("doctor", path, *options)  # the rule cannot read the third document
        assert (sentence in " ".join(printed.split())) == bool(options)
    printed = call.good("doctor", path, "--lexicon", "countries", "--json")
    ways = json.loads(printed)[0]["merged_actors"]["n_documents"]
    assert (ways["as drawn"], sum(ways.values())) == (1, 2)
