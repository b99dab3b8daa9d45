"""True events of annotated entities: against the definition, by hand, and beside their posterior."""

import dataclasses
import datetime
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pandas as pd
import pytest
from expected_errors import error
from mention_matches import described_as, instances_of
from references import events as er

from corefsample import InputError, ParameterError, ScoredDocument
from events import EventCounter, TrueEvents, load_lexicon, load_rules, simulate_documents
from events.matching._matching import match_document

SENTENCES = [
    "Iraqi/ADJ>2:amod troops=troop/NOUN>3:nsubj came=come/VERB>0:root ./PUNCT>3:punct",
    "They=they/PRON>2:nsubj attacked=attack/VERB>0:root ./PUNCT>2:punct",
]


def true_events(documents: Iterable[ScoredDocument], *arguments: Any, **options: Any) -> TrueEvents:
    truth = TrueEvents(*arguments, **options)
    truth.update(documents)
    return truth


def news(gold: Any, doc_id: str = "a", **changes: Any) -> ScoredDocument:
    """Mentions: troops, and they, who may be the troops."""
    document = er.scored(er.json_document(doc_id, "1991-02-03", SENTENCES, {1: {0: 0.0}}))
    return dataclasses.replace(document, gold=gold, **changes)


@pytest.fixture(scope="module")
def simulated() -> list[ScoredDocument]:
    until = datetime.date(1991, 6, 30)
    documents = simulate_documents(60, seed=3, end=until, event_share=0.8, median_mentions=40)
    return [each.document for each in documents]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        ([5, 5], ("IRQ",)),
        (["x", "x"], ("IRQ",)),
        ([0, 1], ()),
        ([1, "1"], ()),  # two entities, as in a file
        ([None, None], ()),  # each an entity of its own
        ([3, None], ()),
    ],
)
def test_an_event_is_true_if_the_annotated_entity_attacks(gold: list[Any], expected: tuple[str, ...]) -> None:
    truth = TrueEvents()
    assert truth.add(news(gold)) == expected
    assert [event.actor for event in truth.events] == list(expected)


def test_true_events_are_those_of_the_definition(simulated: list[ScoredDocument]) -> None:
    rule, lexicon = load_rules("attack", "paper"), load_lexicon()
    expected = []
    for document in simulated:
        matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
        described, instances = described_as(matches, document.n_mentions), instances_of(matches)
        entities = {entity: i for i, entity in reversed(list(enumerate(document.gold)))}
        held = er.events_of_clustering([entities[entity] for entity in document.gold], described, instances)
        expected += [(document.doc_id, document.date, country) for country in sorted(held)]
    truth = true_events(simulated, rule)
    assert [(event.doc_id, event.date, event.actor) for event in truth.events] == expected
    assert len(expected) > 20


@pytest.mark.parametrize("period", ["quarter", "W-TUE"])
def test_counts_are_the_events_by_country_and_period(simulated: list[ScoredDocument], period: str) -> None:
    truth = true_events(simulated, period=period)
    table = truth.to_frame()
    assert list(table.columns) == ["doc_id", "date", "period", "event", "actor"]
    assert [tuple(row) for row in table[["doc_id", "date", "actor"]].itertuples(index=False)] == [
        (event.doc_id, event.date, event.actor) for event in truth.events
    ]
    frequency = "Q" if period == "quarter" else period
    expected = Counter((event.actor, str(pd.Period(event.date, freq=frequency))) for event in truth.events)
    assert Counter(zip(table["actor"], table["period"], strict=True)) == expected
    counter = EventCounter(period=period, n_samples=20)
    counter.update(simulated)
    posterior = counter.counts().to_frame()
    beside = truth.beside(posterior)
    assert beside[posterior.columns.tolist()].equals(posterior)
    assert beside["true_count"].tolist() == [
        expected[key] for key in zip(posterior["actor"], posterior["period"], strict=True)
    ]
    held = [row.lower <= row.true_count <= row.upper for row in beside.itertuples()]
    assert beside["covered"].tolist() == held
    if period == "quarter":
        assert True in held
        assert beside["true_count"].sum() == len(truth.events)


def test_an_interval_covers_its_ends() -> None:
    truth = true_events([news([1, 1])])
    ends = [(1.0, 1.0), (0.0, 1.0), (1.0, 2.0), (0.0, 0.0), (2.0, 3.0), (0.2, 0.9)]
    counts = pd.DataFrame({"actor": "IRQ", "period": "1991Q1", "lower": [a for a, _ in ends]})
    counts["upper"] = [b for _, b in ends]
    assert truth.beside(counts)["covered"].tolist() == [True, True, True, False, False, False]
    elsewhere = counts.assign(actor="USA")
    assert truth.beside(elsewhere)["true_count"].tolist() == [0] * 6
    assert truth.beside(elsewhere)["covered"].tolist() == [False, True, False, True, False, False]


@pytest.mark.parametrize("name", ["gold", "date", "tokens"])
def test_a_document_that_lacks_something_is_rejected(name: str) -> None:
    truth, good = TrueEvents(), news([1, 1])
    strange = dataclasses.replace(good, doc_id="a", tokens=dataclasses.replace(good.tokens, dep=["?"] * 7))
    for bad in (dataclasses.replace(good, **{name: None}), strange):
        with error(InputError, place="doc_id 'a'"):
            truth.add(bad)
    assert truth.add(good) == ("IRQ",)  # the bad one is not remembered
    with error(InputError, place="doc_id 'a'"):
        truth.add(good)


@pytest.mark.parametrize("options", [{"rule": "attack"}, {"lexicon": "countries"}, {"scheme": "ptb"}, {"period": "x"}])
def test_parameters_of_another_kind_are_rejected(options: dict[str, Any]) -> None:
    with error(ParameterError, *options):
        TrueEvents(**options)
    with error(ParameterError, "document"):
        true_events("a")  # type: ignore[arg-type]


def test_counts_of_other_columns_or_periods_are_rejected() -> None:
    truth = true_events([news([1, 1])])
    counts = pd.DataFrame({"actor": ["IRQ"], "period": ["1991"], "lower": [0.0], "upper": [1.0]})
    for wrong in (counts, counts.assign(period="soon"), counts.assign(period="1991Q1").drop(columns="lower")):
        with error(ParameterError, "counts"):
            truth.beside(wrong)
