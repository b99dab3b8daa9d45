"""Matches of a rule in a parse: every row of the design's table, in each scheme and preset, and difficult cases."""

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from expected_errors import error
from mention_matches import described_as, instances_of
from places import EN_CORE_WEB_SM, EN_GUM_UD, TEST_DATA
from references import events as er

from corefsample import AntecedentDistribution, InputError, ScoredDocument
from corefsample.formats import DocumentStream
from corefsample.formats.scored._writing import write_documents
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._paths import ParseView, follow_each
from corefsample.syntax._schemes import SCHEMES
from events import EventCounter, load_lexicon, load_rules
from events.evidence._evaluation import evaluate_clustering
from events.matching._matches import MentionMatches
from events.matching._matching import match_document
from events.matching._trigger_model import _PARTICIPLE, TriggerModel, feature_hash, with_trigger_model
from events.rules._rules import Rule

DESIGN = Path(__file__).parents[2] / "data" / "attack_design.txt"
DAY = datetime.date(2000, 1, 1)
PRESETS = ("paper", "extended")
BY_SCHEME = {"ud2": ("obj", "nsubj:pass", "aux:pass"), "ud1": ("dobj", "nsubjpass", "auxpass")}
BY_SCHEME["clearnlp"] = BY_SCHEME["ud1"]


def matched(
    text: str, scheme: str | None = None, *, rule: Rule | None = None, date: datetime.date = DAY
) -> MentionMatches:
    tokens = er.parsed(*text.split(" ; "))
    mentions = np.array(er.nominal_mentions(tokens.upos), np.int32).reshape(-1, 3)
    return match_document(tokens, mentions, rule or load_rules(), load_lexicon(), date, scheme)


def found(
    text: str,
    scheme: str | None = None,
    *,
    preset: str = "paper",
    rule: str = "attack",
    coreferent: tuple[int, ...] = (),
    date: datetime.date = DAY,
) -> str:
    """Events where the mentions at these tokens (from 0) are one entity, and every other is one of its own."""
    matches = matched(text, scheme, rule=load_rules(rule, preset), date=date)
    tokens = [m[0] for m in er.nominal_mentions(er.parsed(*text.split(" ; ")).upos)]
    labels = [tokens.index(coreferent[0]) if t in coreferent else i for i, t in enumerate(tokens)]
    return " ".join(sorted(er.events_of_clustering(labels, described_as(matches, len(tokens)), instances_of(matches))))


# --- the table of the design -------------------------------------------------------------------------------


class Row(NamedTuple):
    """One text in some schemes, and the countries that each preset finds."""

    row: str
    schemes: str
    text: str
    paper: str
    extended: str
    coreferent: tuple[int, ...]


def table() -> list[Row]:
    lines = [line for line in DESIGN.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = []
    for first, text in zip(lines[0::2], lines[1::2], strict=True):
        name, schemes, paper, extended, *tokens = first.split("\t")
        coreferent = tuple(int(token) for field in tokens for token in field.split())
        rows.append(Row(name, schemes, text, paper.strip("-"), extended.strip("-"), coreferent))
    return rows


CASES = [
    pytest.param(row, scheme, preset, id=f"{row.row} | {scheme} | {preset}")
    for row in table()
    for scheme in row.schemes.split()
    for preset in PRESETS
]


@pytest.mark.parametrize(("row", "scheme", "preset"), CASES)
def test_a_row_of_the_design_has_its_events_in_any_scheme(row: Row, scheme: str, preset: str) -> None:
    expected = row.paper if preset == "paper" else row.extended
    assert found(row.text, scheme, preset=preset, coreferent=row.coreferent) == expected
    try:
        result = found(row.text, preset=preset, coreferent=row.coreferent)
    except InputError as error:
        result = str(error)
    assert result == expected or "which give different events" in result


READINGS = (TEST_DATA / "attack_readings.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("case", [line for line in READINGS if not line.startswith("#")])
def test_a_text_outside_of_the_table_has_its_events(case: str) -> None:
    options, expected, text = case.split(" | ")
    assert found(text, **json.loads(options)) == expected.replace("none", "")


def test_a_passive_subject_is_never_read_as_a_subject_by_its_first_letters() -> None:
    # startswith("nsubj") would take both for agents.
    for label in ("nsubj:pass", "nsubjpass"):
        passive = f"Iraq/PROPN>2:{label} attacked=attack/VERB>0:root"
        assert not matched(passive).possible
        matches = matched(f"{passive} ; it/PRON>2:nsubj attacked=attack/VERB>0:root")
        assert described_as(matches, 2) == [{"IRQ"}, set()]
        assert instances_of(matches) == [(1,)]


# --- names and mentions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sentence",
    [
        "Iraq/PROPN>4:nsubj and/CCONJ>3:cc Iran/PROPN>1:conj left=leave/VERB>0:root",
        "Iraq/PROPN>2:nsubj hit/VERB>0:root Iran/PROPN>2:obj today/NOUN>2:obl",
    ],
)
def test_a_mention_of_two_names_is_described_by_both_and_is_none_of_them(sentence: str) -> None:
    tokens = er.parsed(sentence, "they/PRON>2:nsubj attacked=attack/VERB>0:root")
    mentions = np.array([[0, 3, 0], [0, 1, 0], [2, 3, 2], [4, 5, 4]], np.int32)
    matches = match_document(tokens, mentions, load_rules("attack", "extended"), load_lexicon(), DAY)
    assert described_as(matches, 4) == [{"IRQ", "IRN"}, {"IRQ"}, {"IRN"}, set()]
    assert matches.apart is not None
    assert {(min(pair), max(pair)) for pair in matches.apart.tolist()} == {(0, 1), (0, 2), (1, 2)}
    assert evaluate_clustering(matches, [0, 1, 2, 0]) == (("IRN",), ("IRQ",))


def test_two_names_of_one_clause_fill_no_role_together() -> None:
    tokens = er.parsed(
        "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Iran/PROPN>2:obj and/CCONJ>5:cc Oman/PROPN>3:conj"
    )
    mentions = np.array([[0, 5, 0], [0, 1, 0], [2, 5, 2], [2, 3, 2], [4, 5, 4]], np.int32)
    matches = match_document(tokens, mentions, load_rules("attack", "extended"), load_lexicon(), DAY)
    assert described_as(matches, 5) == [{"IRQ", "IRN", "OMN"}, {"IRQ"}, {"IRN", "OMN"}, {"IRN"}, {"OMN"}]
    assert instances_of(matches) == [(1,)]


def test_tokens_outside_mentions_neither_describe_nor_act() -> None:
    sentence = "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Kuwait/PROPN>2:obj"
    tokens = er.parsed(sentence, "it/PRON>2:nsubj attacked=attack/VERB>0:root")
    mentions = np.array([[2, 3, 2], [3, 4, 3]], np.int32)  # Kuwait and it, not Iraq
    matches = match_document(tokens, mentions, load_rules(), load_lexicon(), DAY)
    assert described_as(matches, 2) == [{"KWT"}, set()]
    assert instances_of(matches) == [(1,)]


# --- which scheme ------------------------------------------------------------------------------------------


def test_where_fitting_schemes_see_different_events_the_document_is_rejected() -> None:
    # nmod without case or subtype: a country's word in ClearNLP's extended rule, not in UD's.
    text = "U.S./PROPN>2:nmod troops/NOUN>3:nsubj attacked=attack/VERB>0:root"
    extended = load_rules("attack", "extended")
    with error(InputError, hint="scheme"):
        matched(text, rule=extended)
    assert not matched(text.replace("attacked=attack", "left=leave"), rule=extended).possible  # the schemes agree
    assert matched(text, "ud2", rule=extended).actors == ("USA",)
    assert found(text, "ud2", preset="extended") == ""
    assert found(text, "clearnlp", preset="extended") == "USA"


@pytest.mark.parametrize("in_file", [False, True])
def test_documents_of_a_file_decide_its_scheme_together(tmp_path: Path, in_file: bool) -> None:
    unclear = "U.S./PROPN>2:nmod troops/NOUN>3:nsubj attacked=attack/VERB>0:root"
    clear = "Iraq/PROPN>2:nsubj left=leave/VERB>0:root it/PRON>2:obj"  # obj: of UD v2 alone
    clearnlp = "Iraq/PROPN>2:nsubj left=leave/VERB>0:root with/ADP>2:prep"

    def counted(*texts: str, **metadata: str) -> list[str]:
        documents: Any = [document_of(f"{i}", text, metadata) for i, text in enumerate(texts)]
        if in_file:
            path = str(tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl")
            write_documents(documents, path)
            documents = DocumentStream([path])
        counter = EventCounter(load_rules("attack", "extended"), n_samples=10, recalibration=None)
        counter.update(documents)
        return counter.evidence()["actor"].tolist()

    assert counted(unclear, clear) == []
    assert counted(clear, unclear) == []
    assert counted(unclear, clearnlp) == ["USA"]
    assert counted(unclear, scheme="clearnlp") == ["USA"]  # as `score` writes it
    assert counted(unclear, scheme="ud2") == []
    for undecided in [(unclear,), (unclear, clear, clearnlp)]:  # a file of two schemes is read one by one
        with pytest.raises(InputError, match="give different events"):
            counted(*undecided)


def document_of(doc_id: str, text: str, metadata: dict[str, str]) -> ScoredDocument:
    tokens = er.parsed(*text.split(" ; "))
    mentions = np.array(er.nominal_mentions(tokens.upos), np.int32).reshape(-1, 3)
    none: list[list[Any]] = [[] for _ in mentions]
    distribution = AntecedentDistribution.from_lists(none, none)
    return ScoredDocument(doc_id, mentions, distribution, DAY, tokens, None, metadata)


# --- who attacks whom --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["ud2", "ud1", "clearnlp"])
def test_dyads_name_the_attacker_and_the_attacked(scheme: str) -> None:
    obj, passive, auxiliary = BY_SCHEME[scheme]
    active = f"Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root Kuwait/PROPN>2:{obj}"
    agent = {"ud2": "by/ADP>5:case Iraq/PROPN>3:obl", "ud1": "by/ADP>5:case Iraq/PROPN>3:nmod"}
    agent["clearnlp"] = "by/ADP>3:agent Iraq/PROPN>4:pobj"
    turned = f"Kuwait/PROPN>3:{passive} was=be/AUX>3:{auxiliary} attacked=attack/VERB>0:root {agent[scheme]}"
    for preset in PRESETS:
        assert found(active, scheme, rule="attack_target", preset=preset) == "IRQ>KWT"
        assert found(turned, scheme, rule="attack_target", preset=preset) == "IRQ>KWT"
    both = f"{active} and/CCONJ>5:cc Iran/PROPN>3:conj"
    assert found(both, scheme, rule="attack_target") == "IRQ>KWT"
    assert found(both, scheme, rule="attack_target", preset="extended") == "IRQ>IRN IRQ>KWT"


# --- parsers of two schemes --------------------------------------------------------------------------------


KILLED = "nine/NOUN>{0}:nsubj:pass were/AUX>{0}:aux:pass killed=kill/VERB>{1}"
ROOT_KILLED = KILLED.format(3, "0:root")
LAUNCHED = "Israel/PROPN>2:nsubj launched=launch/VERB>0:root raids=raid/NOUN>2:obj "
RAIDED = "{0}/PROPN>{1}:nsubj raided=raid/VERB>{2}:advcl"
AGENTS = [  # rule, actors with a trigger model, and the sentence
    ("kill", "ISR", LAUNCHED + "that/DET>5:nsubj killed=kill/VERB>3:acl:relcl"),
    ("kill", "ISR", LAUNCHED + "in/ADP>5:case which/DET>8:obl " + KILLED.format(8, "3:acl:relcl")),
    ("kill", "ISR", "Raids=raid/NOUN>4:nsubj by/ADP>3:case Israel/PROPN>1:nmod killed=kill/VERB>0:root"),
    ("kill", "ISR", "An/DET>3:det Israeli/ADJ>3:amod raid/NOUN>4:nsubj killed=kill/VERB>0:root"),
    ("violence", "ISR", "an/DET>3:det israeli/ADJ>3:amod raid/NOUN>4:nsubj began=begin/VERB>0:root"),  # in lower case
    (
        "kill",
        "ISR",
        "Raids=raid/NOUN>5:nsubj ordered=order/VERB>1:acl by/ADP>4:case Israel/PROPN>2:obl killed=kill/VERB>0:root",
    ),
    ("kill", "ISR", f"{ROOT_KILLED} when/ADV>6:advmod {RAIDED.format('Israel', 6, 3)}"),
    ("kill", "", f"{ROOT_KILLED} before/SCONJ>6:mark {RAIDED.format('Israel', 6, 3)}"),
    ("kill", "", f"{ROOT_KILLED} before/SCONJ>6:mark Israel/PROPN>6:nsubj shelled=shell/VERB>3:advcl"),
    ("kill", "", f"{ROOT_KILLED} even/ADV>7:advmod as/SCONJ>7:mark {RAIDED.format('Israel', 7, 3)}"),
    ("kill", "", f"{ROOT_KILLED} when/ADV>6:advmod they/PRON>6:nsubj raided=raid/VERB>3:advcl Israel/PROPN>6:obl"),
    ("kill", "IRN", f"Iran/PROPN>2:nsubj attacked=attack/VERB>0:root and/CCONJ>6:cc {KILLED.format(6, '2:conj')}"),
    (
        "kill",
        "ISR",
        f"Iran/PROPN>2:nsubj attacked=attack/VERB>0:root and/CCONJ>6:cc {KILLED.format(6, '2:conj')} "
        + f"when/ADV>9:advmod {RAIDED.format('Israel', 9, 6)}",
    ),
    ("kill", "", "Iran/PROPN>2:nsubj hit/VERB>0:root and/CCONJ>5:cc were/AUX>5:aux:pass killed=kill/VERB>2:conj"),
    ("violence", "", "Israelis=israeli/PROPN>2:nsubj died=die/VERB>0:root in/ADP>4:case raids=raid/NOUN>2:obl"),
    ("violence", "IRN", "Iran/PROPN>2:nsubj shot=shoot/VERB>0:root deadly/ADJ>4:amod rockets=rocket/NOUN>2:obj"),
    ("bomb", "IRN", "Iran/PROPN>2:nsubj threw=throw/VERB>0:root incendiary/ADJ>4:amod bombs=bomb/NOUN>2:obj"),
    ("force", "ISR", "He/PRON>2:nsubj saw=see/VERB>0:root israeli/ADJ>4:amod army/NOUN>2:obj firing=fire/VERB>4:acl"),
    ("force", "IRN", "Iran/PROPN>2:nsubj fired=fire/VERB>0:root tear/ADJ>4:amod gas/NOUN>2:obj"),
]


@pytest.mark.parametrize(("rule", "expected", "text"), AGENTS)
def test_an_event_gives_way_to_its_agents_but_victims_do_not_act(rule: str, expected: str, text: str) -> None:
    matches = matched(text, "ud2", rule=with_trigger_model(load_rules(rule), "words"))
    tokens = [m[0] for m in er.nominal_mentions(er.parsed(text).upos)]
    israel = [n for n, token in enumerate(tokens) if er.parsed(text).text[token] in ("Israel", "they")]
    labels = [israel[0] if n in israel else n for n in range(len(tokens))]
    assert matches.chances is not None
    likely = matches.chances > (0.3 if rule == "kill" else 0.05)  # other predicates may report a killing too
    chosen = {"instances": matches.instances[likely], "triggers": matches.triggers[likely], "frames": ()}
    assert {key[0] for key in evaluate_clustering(dataclasses.replace(matches, **chosen), labels)} == {expected}


def test_a_predicate_that_implies_the_type_is_a_candidate(tmp_path: Path) -> None:
    """Bias: kill 3, attack and violence -5; "fade" is not a word of a rule, so that its score is that of kill."""
    weights = np.array([[-5.0, 3.0, -5.0, 0.0]], np.float32)
    model = TriggerModel(("attack", "kill", "violence"), {feature_hash("bias"): 0}, weights, frozenset(["fade"]))
    model.save(tmp_path / "m.npz")
    rule = with_trigger_model(load_rules("violence"), str(tmp_path / "m.npz"))
    matches = matched("Iran/PROPN>2:nsubj faded=fade/VERB>0:root ships=ship/NOUN>2:obj", "ud2", rule=rule)
    assert matches.triggers.tolist() == [1]
    assert matches.chances == pytest.approx([1.0 / (1.0 + np.exp(-3.0))], abs=1e-2)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("troops=troop/NOUN>0:root firing=fire/VERB>1:acl shots=shot/NOUN>2:obj", {0}),
        ("plan/NOUN>0:root to/PART>3:mark fire/VERB>1:acl", set()),
        ("men=man/NOUN>0:root killed=kill/VERB>1:acl in/ADP>4:case raids=raid/NOUN>2:obl", set()),
    ],
)
def test_the_noun_before_an_active_participle_is_its_agent(text: str, expected: set[int]) -> None:
    view = ParseView(er.parsed(text), SCHEMES["ud2"])
    verb = next(token for token, upos in enumerate(view.upos) if upos == "VERB")
    assert set(follow_each((_PARTICIPLE,), view, verb)) == expected


@pytest.mark.parametrize(("folder", "scheme"), [(EN_CORE_WEB_SM, "clearnlp"), (EN_GUM_UD, "ud2")], ids=["sm", "gum"])
def test_a_construction_has_the_same_actors_in_parses_of_both_schemes(folder: Path, scheme: str) -> None:
    if not folder.exists():
        pytest.skip(f"the pipeline is missing: {folder.name}")
    import spacy

    pipeline = spacy.load(folder)
    lines = (TEST_DATA / "constructions.txt").read_text("utf-8").splitlines()
    wrong = []
    for rule, extended, asserted, text in (line.split("\t") for line in lines if not line.startswith("#")):
        tokens = tokens_of_doc(pipeline(text))
        mentions = np.array(er.nominal_mentions(tokens.upos), np.int32).reshape(-1, 3)
        for preset, expected in (("extended", extended), ("asserted", asserted)):
            matches = match_document(tokens, mentions, load_rules(rule, preset), load_lexicon("police"), DAY, scheme)
            keys = evaluate_clustering(matches, range(len(mentions))) if matches.possible else ()
            names = " ".join(sorted(key[0] or "-" for key in keys))
            if names != expected:
                wrong.append((preset, text, names))
    assert wrong == []
