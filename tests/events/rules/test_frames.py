"""Frames: triggers of nouns and of several words, optional roles, events without roles, classes of actors."""

import datetime
import math
from pathlib import Path
from typing import Any

import numpy as np
import places
import pytest
import tolerance
import yaml
from references import events as er

from corefsample import InputError
from events import EventCounter, load_lexicon, load_rules
from events.evidence._evaluation import evaluate_clustering
from events.lexicon._lexicon import Lexicon
from events.matching._matches import MentionMatches
from events.matching._matching import match_document, match_rules
from events.matching._tracing import trace_document
from events.rules._rules import Rule

DAY = datetime.date(2000, 1, 1)
OWN: dict[str, Any] = {
    "name": "arrest",
    "event": ["agent"],
    "frames": [
        {"name": "verb", "trigger": {"lemma": ["arrest"]}, "roles": {"agent": ["subject", "passive_agent"]}},
        {"name": "custody", "trigger": {"phrase": ["take into custody"]}, "roles": {"agent": ["subject"]}},
        {"name": "noun", "trigger": {"lemma": ["arrest"], "upos": ["NOUN"]}, "roles": {"agent": ["noun_by"]}},
        {
            "name": "firing",
            "trigger": {"span": ["police firing"], "upos": ["NOUN"]},
            "roles": {"agent": ["noun_compound"]},
        },
    ],
    "presets": {"paper": {"described": ["head", "adjectival_modifier", "compound"]}},
}
LEXICON = """
version: 1
extends: countries
inner: [police]
entries:
  - {code: POLICE, name: Police, kind: police, nouns: [police, policeman]}
titles:
  - {title: President Clinton, code: USA, from: 1993-01-20, to: 2001-01-20}
  - {title: superintendent of police, code: POLICE}
"""


def rule(folder: Path, **changes: Any) -> Rule:
    path = folder / "own.yaml"
    content = {name: value for name, value in (OWN | changes).items() if value is not None}
    path.write_text(yaml.safe_dump(content), "utf-8")
    return load_rules(path)


@pytest.fixture
def lexicon(tmp_path: Path) -> Lexicon:
    path = tmp_path / "words.yaml"
    path.write_text(LEXICON, "utf-8")
    return load_lexicon(path)


def matched(rule: Rule, lexicon: Lexicon, text: str, scheme: str = "ud2", day: datetime.date = DAY) -> MentionMatches:
    tokens = er.parsed(text)
    return match_document(tokens, np.array(er.nominal_mentions(tokens.upos), np.int32), rule, lexicon, day, scheme)


def events_of(*args: Any, **options: Any) -> set[tuple[str, ...]]:
    """Events where every mention is an entity of its own."""
    matches = matched(*args, **options)
    labels = np.arange(50)
    return set(evaluate_clustering(matches, labels)) if matches.possible else set()


POLICE = "police/NOUN>2:nsubj arrested=arrest/VERB>0:root"
NOBODY = "he/PRON>3:nsubj:pass was=be/AUX>3:aux:pass arrested=arrest/VERB>0:root"
CLINTON = "President/PROPN>2:compound Clinton/PROPN>3:nsubj arrested=arrest/VERB>0:root"
OPTIONAL = {"optional": ["agent"]}
REQUIRED = {**OPTIONAL, "frames": [{**OWN["frames"][0], "required": ["agent"]}, *OWN["frames"][1:]]}
PAIR = {
    "event": ["agent", "target"],
    "optional": ["target"],
    "frames": [
        {"name": "verb", "trigger": {"lemma": ["arrest"]}, "roles": {"agent": ["subject"], "target": ["object"]}},
        {"name": "again", "trigger": {"lemma": ["arrest"]}, "roles": {"agent": ["subject"]}},
    ],
}


def without_roles(**trigger: Any) -> dict[str, Any]:
    return {"event": [], "frames": [{"name": "only", "trigger": trigger}], "presets": {"paper": {}}}


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "optional": OPTIONAL,
    "required": REQUIRED,
    "pair": PAIR,
    "span": without_roles(span=["police firing"], upos=["NOUN"]),
    "phrase": without_roles(phrase=["police firing"], upos=["NOUN"]),
    "verb phrase": without_roles(phrase=["fire on"]),
    "countries": {"classes": {"agent": ["country"]}},
    "police": {"classes": {"agent": ["police"]}},
}


@pytest.mark.parametrize("case", places.data_lines("frame_events.txt"))
def test_a_text_has_the_events_of_the_rule(tmp_path: Path, lexicon: Lexicon, case: str) -> None:
    variant, expected, text = case.split(" | ")
    found = events_of(rule(tmp_path, **VARIANTS[variant]), lexicon, text)
    assert " ".join(sorted(">".join(code or "-" for code in key) or "*" for key in found)) == expected.replace(
        "none", ""
    )


def test_what_a_rule_says_of_its_roles(tmp_path: Path, lexicon: Lexicon) -> None:
    assert rule(tmp_path, **PAIR).columns == ("actor", "target")
    assert rule(tmp_path, **REQUIRED).frames[0].required == {"agent"}
    # A phrase is found where the noun hangs on the preposition.
    text = "police/NOUN>2:nsubj took=take/VERB>0:root him=he/PRON>2:dobj into/ADP>2:prep custody/NOUN>4:pobj"
    assert events_of(rule(tmp_path), lexicon, text, "clearnlp") == {("POLICE",)}
    assert events_of(rule(tmp_path), lexicon, CLINTON, day=datetime.date(2002, 1, 1)) == set()


def test_an_event_without_roles_counts_documents(tmp_path: Path, lexicon: Lexicon) -> None:
    alone = rule(tmp_path, event=[], presets={"paper": {}})
    assert events_of(alone, lexicon, NOBODY) == {()}
    assert events_of(alone, lexicon, "he/PRON>2:nsubj left=leave/VERB>0:root") == set()
    counter = EventCounter(alone, lexicon, n_samples=20)
    for number, verb in enumerate(("arrested=arrest", "left=leave", "arrested=arrest")):
        sentence = f"he/PRON>3:nsubj:pass was=be/AUX>3:aux:pass {verb}/VERB>0:root"
        counter.add(er.scored(er.json_document(f"d{number}", "2000-01-01", [sentence])))
    (row,) = counter.counts().to_frame().to_dict("records")
    assert (row["event"], row["mean"], row["lower"], row["one_best"], row["n_docs"]) == ("arrest", 2.0, 2, 2, 3)
    assert "actor" not in row
    assert counter.counts().pmf((), "2000Q1").tolist() == pytest.approx([0, 0, 1])


BRITISH = "British/ADJ>2:amod police/NOUN>3:nsubj arrested=arrest/VERB>0:root"
OF_BRITAIN = "police/NOUN>4:nsubj of/ADP>3:case Britain/PROPN>1:nmod arrested=arrest/VERB>0:root"
BOTH = "Iraqi/ADJ>4:amod and/CCONJ>3:cc Iranian/ADJ>1:conj police/NOUN>5:nsubj arrested=arrest/VERB>0:root"
CODES = {
    (): ({"POLICE"}, {"POLICE"}),
    ("inner",): ({"POLICE"}, {"POLICE"}),
    ("composite",): ({"GBR:POLICE"}, {"IRQ:POLICE", "IRN:POLICE"}),
    ("outer",): ({"GBR"}, {"IRQ", "IRN"}),
    ("composite", "inner"): ({"GBR:POLICE", "POLICE"}, {"IRQ:POLICE", "IRN:POLICE", "POLICE"}),
    ("composite", "outer"): ({"GBR:POLICE", "GBR"}, {"IRQ:POLICE", "IRN:POLICE", "IRQ", "IRN"}),
}


@pytest.mark.parametrize("counts_as", CODES)
def test_the_police_of_a_country_count_as_declared(tmp_path: Path, counts_as: tuple[str, ...]) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(LEXICON + f"inner_counts_as: [{', '.join(counts_as)}]\n", "utf-8")
    words = load_lexicon(path)
    described = ["head", "adjectival_modifier", "conjoined_modifier", "of_modifier"]
    preset = {"wide": {"described": described, "distinct_actors": True}}
    frames = [{"name": "verb", "trigger": {"lemma": ["arrest"]}, "roles": {"agent": ["subject"]}}]
    own = rule(tmp_path, presets=preset, frames=frames)
    one, both = CODES[counts_as]
    assert events_of(own, words, BRITISH) == events_of(own, words, OF_BRITAIN) == {(code,) for code in one}
    assert events_of(own, words, BOTH) == {(code,) for code in both}
    assert events_of(own, words, POLICE) == {("POLICE",)}
    # A class of the role is that of the inner actor; the country alone has another.
    police = rule(tmp_path, presets=preset, frames=frames, classes={"agent": ["police"]})
    of_class = {each for each in one if "POLICE" in each} or {"POLICE"}
    assert events_of(police, words, BRITISH) == {(code,) for code in of_class}


def test_the_country_and_the_role_can_come_from_two_mentions_of_an_entity(tmp_path: Path) -> None:
    """By hand: the army may be that of Pakistan or that of India, not both, or its country is unknown."""
    sentences = [
        "Pakistani/ADJ>2:amod troops/NOUN>3:nsubj left=leave/VERB>0:root",
        "the/DET>2:det army/NOUN>3:nsubj attacked=attack/VERB>0:root",
        "Indian/ADJ>2:amod soldiers=soldier/NOUN>3:nsubj attacked=attack/VERB>0:root",
    ]
    path = tmp_path / "own.yaml"
    path.write_text("version: 1\nextends: police\ninner_counts_as: [composite]\n", "utf-8")
    counter = EventCounter(load_rules("attack", "extended"), load_lexicon(path), n_samples=20_000)
    e = math.e
    counter.add(er.scored(er.json_document("d", "1999-01-05", sentences, {1: {0: 1.0}, 2: {1: 1.0}})))
    found = counter.evidence().set_index("actor").probability
    # Each link has weight e, and none 1; both together would make one entity of distinct actors.
    total = 2 * e + 1
    expected = {"PAK:ARMY": e / total, "ARMY": 1 / total, "IND:ARMY": 1.0}
    assert {*found.index} == {*expected}
    counts = [round(found[code] * 20_000) for code in expected]
    assert tolerance.plausible_counts(counts, 20_000, list(expected.values())).all()


@pytest.mark.parametrize(
    ("word", "expected", "in_paper"),
    [
        # Lemmas as lemmatisers write them
        ("shot=shot/VERB", {"force", "violence"}, set()),
        ("Raped=ra/VERB", {"violence"}, set()),
        ("struck=struck/VERB", {"conflict"}, set()),
        ("killed=Kill/VERB", {"kill", "force", "violence", "conflict"}, {"kill", "violence", "conflict"}),
        # Only verbs have forms, and forms that may be another verb have the lemma of the text.
        ("shot=shot/NOUN", set(), set()),
        ("struck=struck/ADJ", set(), set()),
        ("found=found/VERB", set(), set()),
        ("wound=wind/VERB", set(), set()),
    ],
)
def test_a_form_of_a_verb_is_its_verb_whatever_the_lemma(word: str, expected: set[str], in_paper: set[str]) -> None:
    tokens = er.parsed(f"police/NOUN>2:nsubj {word}>0:root them=they/PRON>2:obj")
    mentions = np.array(er.nominal_mentions(tokens.upos), np.int32)
    names, lexicon = ("kill", "force", "violence", "conflict"), load_lexicon("police")
    papers = [load_rules(name, "paper") for name in names]
    rules = [*map(load_rules, names), load_rules("kidnap"), *papers]
    matches = match_rules(tokens, mentions, rules, lexicon, DAY, "ud2")
    assert {each.event for each in matches[:-4] if each.possible} == expected
    assert {each.event for each in matches[-4:] if each.possible} == in_paper
    for each, one in zip(matches, rules, strict=True):
        assert each.agrees(match_document(tokens, mentions, one, lexicon, DAY, "ud2"))
        traces, _ = trace_document(tokens, mentions, one, lexicon, DAY, "ud2")
        assert len(traces) == each.possible
    assert not match_document(tokens, mentions, load_rules("police_action"), lexicon, DAY, "ud2").possible or expected


def test_a_title_without_a_code_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "words.yaml"
    path.write_text("version: 1\nextends: countries\ntitles: [{title: Prime Minister}]\n", "utf-8")
    with pytest.raises(InputError, match=r"titles\[0\] \(Prime Minister\): code must be the code of an entry"):
        load_lexicon(path)
