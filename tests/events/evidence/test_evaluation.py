"""Events of sampled clusterings against the definition, tried entity by entity, and against enumeration."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import tolerance
from expected_errors import error
from hypothesis import given, settings, strategies as st
from mention_matches import described_as, evaluate_matches, instances_of, matches_of
from references import coreference as references, events as er
from small_counts import names
from strategies import documents as strategies
from strategies.documents import Lists

import corefsample as cs
from corefsample._random import monte_carlo_errors
from corefsample.coreference import _conditioning
from corefsample.posterior._posterior import DocumentPosterior
from events import EventCounter, TrueEvents, load_lexicon, load_rules, simulate_documents
from events.evidence import _event_kernels as _kernels
from events.evidence._actor_sets import KernelInputs
from events.evidence._document_events import REASONS, DocumentEvents
from events.evidence._evaluation import evaluate_document
from events.evidence._rule_set import RuleSet
from events.matching._matches import ABSENT, DEFAULT, MentionMatches
from events.matching._matching import match_document

DAY = datetime.date(2000, 1, 1)
CODES = ("AAA", "BBB", "CCC")


class Case(NamedTuple):
    """A distribution and what a rule saw, as sets and tuples."""

    lists: Lists
    described: list[set[str]]
    instances: list[tuple[int, ...]]

    @property
    def matches(self) -> MentionMatches:
        return matches_of(self.described, self.instances)

    @property
    def distribution(self) -> cs.AntecedentDistribution:
        return cs.AntecedentDistribution.from_lists(*self.lists)

    def evaluated(self, n_samples: int, seed: int = 0) -> DocumentEvents:
        return evaluate_matches(self.distribution, self.matches, "d", DAY, n_samples=n_samples, seed=seed)


@st.composite
def cases(draw: Callable[..., Any], max_mentions: int = 8, n_roles: int | None = None) -> Case:
    lists = draw(strategies.antecedent_lists(1, max_mentions, strategies.mild_scores))
    n = len(lists.antecedents)
    described = draw(st.lists(st.sets(st.sampled_from(CODES), max_size=2), min_size=n, max_size=n))
    if not any(described):
        described[draw(st.integers(0, n - 1))] = {draw(st.sampled_from(CODES))}
    roles = n_roles or draw(st.integers(1, 2))
    instances = draw(st.lists(st.tuples(*[st.integers(0, n - 1)] * roles), min_size=1, max_size=4))
    return Case(lists, described, instances)


def by_definition(case: Case, labels: list[list[int]]) -> list[set[str]]:
    return [er.events_of_clustering(row, case.described, case.instances) for row in labels]


# --- the definition ----------------------------------------------------------------------------------------


@pytest.mark.kernels
@settings(max_examples=120)
@given(cases(), st.integers(0, 5))
def test_events_are_true_in_the_samples_of_the_definition(case: Case, seed: int) -> None:
    """Instances and descriptions are credited with the samples in which they, or their entity, make the event."""
    events = case.evaluated(n_samples=20, seed=seed)
    labels = cs.sample_clusterings(case.distribution, n_samples=20, seed=seed, doc_id="d").labels.tolist()
    true_events, keys = by_definition(case, labels), names(events)
    assert events.hits.astype(bool).tolist() == [[key in each for each in true_events] for key in keys]
    assert set().union(*true_events) <= set(keys)
    assert events.parses[0].instance_hits.tolist() == [
        [sum(er.instance_event(instance, row, case.described) == key for row in labels) for key in keys]
        for instance in case.instances
    ]
    active = [er.active_mentions(row, case.described, case.instances) for row in labels]
    described = case.matches.described_mentions.tolist()
    assert events.parses[0].description_hits.tolist() == [sum(m in each for each in active) for m in described]
    (best,) = by_definition(case, [cs.map_clustering(case.distribution).tolist()])
    assert {key for key, holds in zip(keys, events.one_best, strict=True) if holds} == best


@pytest.mark.kernels
@settings(max_examples=120)
@given(cases(), st.integers(0, 5), st.booleans())
def test_events_are_those_of_the_clusterings_in_which_actors_are_apart(case: Case, seed: int, nobody: bool) -> None:
    """By the definition: the product over roles of all codes that the mentions of their entities name."""
    described = [(m, codes) for m, codes in enumerate(case.described) if codes]
    pairs = [
        (i, j)
        for (i, one), (j, other) in itertools.combinations(described, 2)
        if not (nobody or one <= other or other <= one)
    ]
    matches = replace(case.matches, apart=np.array(pairs, np.int32).reshape(-1, 2))
    events = evaluate_matches(case.distribution, matches, "d", DAY, n_samples=20, seed=seed)
    last = max(m for m, _ in [*described, *((m, "") for each in case.instances for m in each)]) + 1
    first = case.distribution.first_mentions(last)
    labels = cs.sample_clusterings(first, n_samples=20, seed=seed, doc_id="d", cannot_link=pairs).labels
    assert all((labels[:, i] != labels[:, j]).all() for i, j in pairs)
    for s, row in enumerate(labels.tolist()):
        named = [set().union(*(case.described[j] for j in range(last) if row[j] == row[m])) for m in range(last)]
        expected = {">".join(key) for each in case.instances for key in itertools.product(*(named[m] for m in each))}
        assert {name for name, hit in zip(names(events), events.hits[:, s], strict=True) if hit} == expected


@pytest.mark.kernels
@settings(max_examples=100)
@given(cases(max_mentions=6), st.data())
def test_rules_with_common_descriptions_are_evaluated_as_each_alone(case: Case, data: st.DataObject) -> None:
    base, n = case.matches, len(case.described)
    others = st.sampled_from([base.actors, (*base.actors, ""), base.actors[:1], ("",)])
    rules = []
    for number in range(data.draw(st.integers(1, 4))):
        n_roles = data.draw(st.integers(0, 2))
        instances = data.draw(st.lists(st.tuples(*[st.integers(-1, n - 1)] * n_roles), min_size=1, max_size=3))
        rules.append(
            replace(
                base,
                event=f"rule {number}",
                instances=np.array(instances, np.int32).reshape(len(instances), n_roles),
                triggers=np.zeros(len(instances), np.int32),
                role_codes=tuple(data.draw(others) for _ in range(n_roles)),
                inner=frozenset(base.actors[1:]),
            )
        )
    assert len(KernelInputs.groups(rules, range(len(rules)))) == 1
    together = evaluate_document(DocumentPosterior("d", case.distribution), rules, DAY, n_samples=7)
    for rule, events in zip(rules, together, strict=True):
        alone = evaluate_matches(case.distribution, rule, "d", DAY, n_samples=7)
        assert (events.keys, events.event, events.parses[0].matches) == (alone.keys, rule.event, rule)
        for name in ("hits", "one_best", "instance_hits", "description_hits"):
            np.testing.assert_array_equal(getattr(events.parses[0], name), getattr(alone.parses[0], name))


@pytest.mark.kernels
@settings(max_examples=50)
@given(cases(max_mentions=6), st.integers(0, 2**32 - 1))
def test_many_samples_are_evaluated_as_each_alone(case: Case, seed: int) -> None:
    clusterings = np.array(references.all_clusterings(len(case.described)), np.int32)
    drawn = np.random.default_rng(seed).integers(len(clusterings), size=2 * _kernels.BLOCK + 3)
    matches = replace(case.matches, inner=frozenset(case.matches.actors[1:2]))
    inputs = KernelInputs.of([matches, matches])
    together = inputs.evaluated(np.ascontiguousarray(clusterings[drawn].T))
    alone = [inputs.evaluated(np.ascontiguousarray(clusterings[i][:, None])) for i in drawn]
    for q, hits in enumerate(together):
        np.testing.assert_array_equal(hits.events, np.hstack([each[q].events for each in alone]))
        np.testing.assert_array_equal(hits.instances, sum(each[q].instances for each in alone))
        np.testing.assert_array_equal(hits.descriptions, sum(each[q].descriptions for each in alone))


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(30))
def test_many_composite_actors_are_those_of_a_plain_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More actors than all sets of them are kept for; distinct ones, by the rule of `Lexicon.are_distinct`, apart."""
    for name, value in (("_MOST_TRIES", 20), ("_LEAST", 0.1)):  # quick in plain Python
        monkeypatch.setattr(_conditioning, name, value)
    rng = np.random.default_rng(seed)
    outer, inner = [f"C{c}" for c in range(9)], ["ARMY", "POLICE", "REBEL"]
    described = []
    for _ in range(24):
        few = rng.choice(outer, rng.choice([0, 1, 1, 2]), replace=False).tolist()
        described.append({*few, *rng.choice(inner, rng.integers(0, 2), replace=False).tolist()})
    actors, force = tuple(sorted(set().union(*described))), frozenset(inner)

    def are_distinct(one: set[str], other: set[str]) -> bool:
        parts = ((one & force, other & force), (one - force, other - force))
        return any(first - second and second - first for first, second in parts)

    pairs = [(i, j) for i, j in itertools.combinations(range(24), 2) if are_distinct(described[i], described[j])]
    composites = [f"{one}:{other}" for one in set(actors) - force for other in set(actors) & force]
    matches = matches_of(
        described,
        [(m,) for m in range(24)],
        role_codes=(tuple(sorted([*actors, *composites])),),
        inner=force & {*actors},
        inner_counts_as=frozenset([["composite"], ["composite", "inner"], ["composite", "outer", "inner"]][seed % 3]),
        apart=np.array(pairs, np.int32).reshape(-1, 2),
    )
    lists = [list(range(i)) for i in range(24)], [rng.normal(1.0, 1.0, i).tolist() for i in range(24)]
    distribution = cs.AntecedentDistribution.from_lists(*lists)
    events = evaluate_matches(distribution, matches, "d", DAY, n_samples=50)
    labels = cs.sample_clusterings(distribution, n_samples=50, doc_id="d", cannot_link=pairs).labels.tolist()
    for s, row in enumerate(labels):
        expected = set[str]()
        for label in set(row):
            expected |= er.counted(set().union(*(described[m] for m in range(24) if row[m] == label)), matches)
        assert {key for (key,), hit in zip(events.keys, events.hits[:, s], strict=True) if hit} == expected


# --- probabilities -----------------------------------------------------------------------------------------

N_SAMPLES = 20_000


def exact_and_sampled(case: Case) -> tuple[DocumentEvents, list[float]]:
    pmf = er.event_distribution(references.softmax_rows(*case.lists), case.described, case.instances)
    events = case.evaluated(n_samples=N_SAMPLES)
    assert set(pmf) <= set(names(events))
    return events, [pmf.get(key, 0.0) for key in names(events)]


SIX = Lists(
    [[], [0], [0, 1], [2, 0], [1, 3], [4, 0, 2]], [[], [0.5], [1.0, -0.5], [0.25, 1.5], [0.0, 1.0], [-1.0, 0.5, 1.0]]
)
PINNED = {
    "one role": Case(SIX, [{"AAA"}, set(), {"BBB"}, set(), {"AAA"}, set()], [(1,), (3,), (5,)]),
    "two countries on one mention": Case(SIX, [{"AAA", "BBB"}, set(), set(), {"AAA"}, set(), set()], [(5,)]),
    "two roles": Case(SIX, [{"AAA"}, set(), {"BBB"}, set(), {"AAA"}, set()], [(1, 3), (5, 4)]),
    "one country everywhere": Case(SIX, [{"AAA"}] * 6, [(5,)]),
}


@pytest.mark.parametrize("case", PINNED.values(), ids=PINNED.keys())
def test_sampled_probabilities_agree_with_enumeration(case: Case) -> None:
    events, exact = exact_and_sampled(case)
    assert tolerance.plausible_counts(events.n_hits, N_SAMPLES, exact).all()


def test_a_probability_by_hand() -> None:
    # Mention 0 is of AAA, mention 1 of BBB, mention 2 attacks. Scores of log 2 and log 1 beside NEW's log 1 put 2 with
    # mention 0 at 1/2, with mention 1 at 1/4, alone at 1/4; mention 1 joins mention 0 at 1/2.
    # AAA: 2 is with 0, and 1 is not: 1/2 * 1/2. BBB: 2 is with 1, and 1 is not with 0: 1/4 * 1/2.
    case = Case(Lists([[], [0], [0, 1]], [[], [0.0], [np.log(2.0), 0.0]]), [{"AAA"}, {"BBB"}, set()], [(2,)])
    pmf = er.event_distribution(references.softmax_rows(*case.lists), case.described, case.instances)
    assert pmf == pytest.approx({"AAA": 1 / 4, "BBB": 1 / 8}, abs=1e-15)
    events, exact = exact_and_sampled(case)
    assert tolerance.plausible_counts(events.n_hits, N_SAMPLES, exact).all()
    assert not tolerance.plausible_counts(events.n_hits, N_SAMPLES, [0.28, 0.15]).any()


@pytest.mark.kernels
@settings(max_examples=100)
@given(cases())
def test_mentions_after_the_last_that_matters_change_nothing(case: Case) -> None:
    n = len(case.described)
    antecedents = [*case.lists.antecedents, [0], [n, 0]]
    longer = Case(
        Lists(antecedents, [*case.lists.scores, [0.5], [1.0, 0.0]]), [*case.described, set(), set()], case.instances
    )
    shorter, events = case.evaluated(n_samples=16), longer.evaluated(n_samples=16)
    assert np.array_equal(events.hits, shorter.hits)
    assert np.array_equal(events.one_best, shorter.one_best)


# --- Monte Carlo errors ------------------------------------------------------------------------------------


def test_monte_carlo_errors_by_hand() -> None:
    # 25 of 100: sqrt(.25 * .75 / 100) = .0433013. None or all of 100: a one-sided 95% limit p solves (1 - p)^100 = .05,
    # p = 1 - .05^(1/100) = .0295130; about 3/100.
    errors = monte_carlo_errors([0, 25, 50, 100], 100)
    assert errors == pytest.approx([0.0295130, 0.0433013, 0.05, 0.0295130], abs=5e-8)
    # One sample leaves almost everything open: (1 - p)^1 = .05.
    assert monte_carlo_errors([0, 1], 1) == pytest.approx([0.95, 0.95], abs=1e-15)


# --- predicates --------------------------------------------------------------------------------------------

PAIR = er.json_document(
    "pair", "2001-02-03", ["a/NOUN>2:nsubj saw=see/VERB>0:root b/NOUN>2:obj"], {1: {0: float(np.log(3.0))}}
)


def together(document: Any, labels: np.ndarray) -> dict[str, np.ndarray]:
    return {"together": labels[:, 0] == labels[:, 1], "apart": labels[:, 0] != labels[:, 1]}


def test_a_predicate_is_evaluated_in_each_sample() -> None:
    document = er.scored(PAIR)
    events = EventCounter(predicate=together, n_samples=N_SAMPLES, seed=1).add(document)
    labels = cs.sample_clusterings(document.antecedents, n_samples=N_SAMPLES, seed=1, doc_id="pair").labels
    assert names(events) == ("apart", "together")
    assert events.hits[1].tolist() == (labels[:, 1] == 0).tolist()
    assert events.one_best.tolist() == [False, True]
    # A score of log 3 beside NEW's 0: 3/4 together.
    assert tolerance.plausible_counts(events.n_hits, N_SAMPLES, [0.25, 0.75]).all()


def test_a_key_that_only_the_likeliest_clustering_gives_has_no_hits() -> None:
    def only_best(document: Any, labels: np.ndarray) -> dict[str, np.ndarray]:
        return {"best": np.array([True])} if len(labels) == 1 else {"sampled": labels[:, 0] == 0}

    events = EventCounter(predicate=only_best, n_samples=5).add(er.scored(PAIR))
    assert names(events) == ("best", "sampled")
    assert events.n_hits.tolist() == [0, 5]
    assert events.one_best.tolist() == [True, False]


@pytest.mark.parametrize(
    "answer",
    [
        lambda d, labels: labels[:, 0] == 0,
        lambda d, labels: None,
        lambda d, labels: {"x": labels[:, 0] * 0.5},
        lambda d, labels: {"x": labels[:, 0] - 1},
        lambda d, labels: {"x": labels[:, 0] + 10_001},
        lambda d, labels: {"x": True},
        lambda d, labels: {"x": labels == 0},
    ],
)
def test_a_predicate_that_returns_something_else_is_rejected(answer: Any) -> None:
    with error(cs.ParameterError, "predicate"):
        EventCounter(predicate=answer, n_samples=7).add(er.scored(PAIR))


def n_entities(document: Any, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Number of entities, and whether it is 1."""
    n = np.array([len({*row}) for row in labels.tolist()])
    return {"entities": n, "one": n == 1}


def test_numbers_of_a_predicate_are_summed_by_convolution() -> None:
    counter = EventCounter(predicate=n_entities, n_samples=N_SAMPLES, period="month")
    shares = []
    for number in range(3):
        events = counter.add(er.scored({**PAIR, "doc_id": f"pair {number}"}))
        shares.append(np.bincount(events.numbers[0], minlength=3) / N_SAMPLES)
        assert events.one_best.tolist() == [1, 1]
    # Every combination of the three documents' numbers, which are 1 or 2 each.
    expected = np.zeros(7)
    for values in itertools.product(range(3), repeat=3):
        expected[sum(values)] += math.prod(share[value] for share, value in zip(shares, values, strict=True))
    counts = counter.counts()
    assert counts.pmf("entities", "2001-02") == pytest.approx(expected, abs=1e-12)
    (row,) = counts.to_frame().query("actor == 'entities'").to_dict("records")
    k = np.arange(7)
    assert row["mean"] == pytest.approx(expected @ k, abs=1e-12)
    assert row["sd"] == pytest.approx(math.sqrt(expected @ k**2 - (expected @ k) ** 2), abs=1e-9)
    below = np.cumsum(expected)
    assert (row["lower"], row["upper"]) == (np.argmax(below >= 0.025), np.argmax(below >= 0.975))
    assert row["one_best"] == 3
    assert counter.evidence().query("actor == 'entities'")["probability"].tolist() == [1.0] * 3
    # Of one document 1 or 2 entities; each document has one in 3/4 of the samples.
    assert row["mean_mc_se"] == pytest.approx(math.sqrt(3 * 3 / 16 / N_SAMPLES), rel=0.1)
    difference = counts.compare("entities", "one")
    assert difference["mean_difference"].item() == pytest.approx(3 * (5 / 4 - 3 / 4), abs=0.2)


@given(cases(n_roles=2), st.booleans(), st.integers(0, 2))
def test_an_event_of_every_clustering_is_evaluated_as_any_other(case: Case, nameless: bool, n_roles: int) -> None:
    # Without described mentions, or without mentions in any role, all roles are empty in every sample.
    described = [set[str]() for _ in case.described] if nameless else case.described
    instances: list[tuple[int, ...]] = case.instances if nameless else [(-1, -1)] * len(case.instances)
    plain = case._replace(described=described, instances=instances).matches
    roles = plain.instances[:, :n_roles]
    matches = replace(plain, instances=roles, role_codes=((*plain.actors, ""),) * n_roles)
    assert matches.possible
    events = evaluate_matches(case.distribution, matches, "d", DAY, n_samples=5)
    none = events.keys.index(("",) * n_roles)
    labels = cs.sample_clusterings(case.distribution, n_samples=5, doc_id="d").labels.T
    ((hits, instance_hits, description_hits),) = KernelInputs.of([matches]).evaluated(labels)
    np.testing.assert_array_equal(events.hits, hits)
    np.testing.assert_array_equal(events.parses[0].instance_hits, instance_hits)
    np.testing.assert_array_equal(events.parses[0].description_hits, description_hits)
    assert np.flatnonzero(events.n_hits).tolist() == [none]
    assert np.flatnonzero(events.one_best).tolist() == [none]


# --- default actors ----------------------------------------------------------------------------------------


@st.composite
def cases_with_defaults(draw: Callable[..., Any]) -> tuple[Case, MentionMatches]:
    """Optional roles, which nothing (-1), nothing but the default actor (-2) or a mention fills."""
    case = draw(cases())
    n, n_roles = len(case.described), len(case.instances[0])
    fillers = st.sampled_from([ABSENT, DEFAULT, *range(n)])
    instances = draw(st.lists(st.tuples(*[fillers] * n_roles), min_size=1, max_size=4))
    default = draw(st.sampled_from([*CODES, "POLICE"]))
    case = case._replace(instances=instances)
    defaults = tuple(default if any(each[r] == DEFAULT for each in instances) else "" for r in range(n_roles))
    codes = tuple(
        (*case.matches.actors, "", *((each,) if each and each not in case.matches.actors else ())) for each in defaults
    )
    return case, replace(case.matches, role_codes=codes, defaults=defaults)


def ways_of_instance(case: Case, defaults: tuple[str, ...], instance: tuple[int, ...], labels: list[int]) -> set[Any]:
    """Keys that an instance makes true in a clustering, each with whether a default actor is in it."""
    roles = []
    for filler, default in zip(instance, defaults, strict=True):
        code = None
        if filler >= 0:
            code = er.only_country(next(e for e in er.entities(labels) if filler in e), case.described)
        roles.append([(code or "", False), *([(default, True)] if filler == DEFAULT else [])])
    return {(tuple(code for code, _ in made), any(way for _, way in made)) for made in itertools.product(*roles)}


@pytest.mark.kernels
@settings(max_examples=150)
@given(cases_with_defaults(), st.sampled_from([False, True]))
def test_default_actors_have_events_without_an_agent(
    given_case: tuple[Case, MentionMatches], only_default: bool
) -> None:
    case, matches = given_case
    matches = replace(matches, only_default=only_default)
    events = evaluate_matches(case.distribution, matches, "d", DAY, n_samples=20)
    labels = cs.sample_clusterings(case.distribution, n_samples=20, seed=0, doc_id="d").labels.tolist()
    instance_hits = events.parses[0].instance_hits.tolist()
    for e, key in enumerate(events.keys):
        by_instance = [[ways_of_instance(case, matches.defaults, i, row) for row in labels] for i in case.instances]
        wanted = {(key, False), (key, True)} if not (only_default and any(key)) else {(key, True)}
        made = [set().union(*(of_one[s] for of_one in by_instance)) & wanted for s in range(len(labels))]
        assert events.hits[e].tolist() == [bool(each) for each in made]
        assert events.n_named[e] == sum((key, False) in each for each in made)
        ways = {way for each in made for _, way in each}
        assert events.filled(e) == {(): "", (False,): "named", (True,): "default"}.get(tuple(ways), "both") * any(key)
        assert [row[e] for row in instance_hits] == [sum(bool(each & wanted) for each in of) for of in by_instance]


# --- why an event does not hold: reasons by sample ---------------------------------------------------------


N_PLAIN = 60  # seeds of cases without composite actors


class DrawnCase(NamedTuple):
    """Four to seven mentions, what they are described as, and what a rule found; drawn at random."""

    lists: tuple[list[list[int]], list[list[float]]]
    described: list[set[str]]
    matches: MentionMatches

    @classmethod
    def drawn(cls, seed: int) -> DrawnCase:
        rng = np.random.default_rng(seed)
        n, n_roles = int(rng.integers(4, 8)), int(rng.integers(1, 3))
        codes = ["AAA", "BBB", "CCC", "DDD"] if seed >= N_PLAIN else ["AAA", "BBB", "CCC"]
        described = [{code for code in codes if rng.random() < 0.25} for _ in range(n)]
        described[0].add("AAA")
        actors = tuple(sorted(set().union(*described)))
        instances = rng.integers(-1 if seed % 3 == 0 else 0, n, (int(rng.integers(1, 4)), n_roles))
        matches = matches_of(
            described,
            instances.tolist(),
            role_codes=tuple(((*actors, "") if seed % 3 == 0 else actors[: 1 + seed % 2]) for _ in range(n_roles)),
            inner=frozenset(actors[-1:]) if seed % 4 == 0 else frozenset(),
            apart=np.zeros((0, 2), np.int32) if seed % 5 == 0 else None,
        )
        if seed >= N_PLAIN:
            matches = with_composites(matches, *WAYS[seed % len(WAYS)], optional=seed % 3 == 0)
        lists = [list(range(i)) for i in range(n)], [rng.normal(0.0, 1.5, i).tolist() for i in range(n)]
        return cls(lists, described, matches)


# What inner actors count as, and the kinds of a role: any, or only inner actors.
WAYS = [
    (frozenset(counts_as), only_inner)
    for n in range(1, 4)
    for counts_as in itertools.combinations(("inner", "composite", "outer"), n)
    for only_inner in (False, True)
]


def with_composites(
    matches: MentionMatches, counts_as: frozenset[str], only_inner: bool, *, optional: bool
) -> MentionMatches:
    """The same with the last two of three or four actors as inner ones, and all codes that a role can have."""
    inner = frozenset(matches.actors[-2:]) if len(matches.actors) > 2 else frozenset(matches.actors[-1:])
    outer = [code for code in matches.actors if code not in inner]
    composites = [f"{one}:{other}" for one in outer for other in inner] if "composite" in counts_as else []
    codes = (*sorted([*composites, *inner, *([] if only_inner else outer)]), *([""] if optional else []))
    role_codes = (codes,) * matches.instances.shape[1]
    return dataclasses.replace(matches, inner=inner, inner_counts_as=counts_as, role_codes=role_codes)


def state(case: DrawnCase, labels: list[int], mention: int, role: int, code: str) -> int:
    """3 if a role has what it needs, 2 if also another, 1 if no code, 0 if others: by sets."""
    own = set(case.matches.codes_of_roles[role])
    possible = {part for each in own for part in each.split(":")}
    named = (case.described[m] for m, label in enumerate(labels) if mention >= 0 and label == labels[mention])
    codes = set[str]().union(*named) & possible
    found = er.counted(codes, case.matches) & own
    if not code:
        return 0 if found else 3
    if code in found or not codes:
        return 3 if code in found else 1
    if not {*code.split(":")} <= codes:
        return 0
    # The actor is there: beside one that makes it another actor, or several.
    joint, counts_as, inner = case.matches.apart is not None, case.matches.inner_counts_as, case.matches.inner
    beside = codes - inner if code in inner else codes & inner
    decides = "inner" not in counts_as if code in inner else ":" not in code and "outer" not in counts_as
    return 0 if decides and counts_as != {"inner"} and beside and (joint or len(beside) == 1) else 2


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(200))
def test_reasons_are_those_of_a_plain_loop_and_add_up(seed: int) -> None:
    case = DrawnCase.drawn(seed)
    distribution = cs.AntecedentDistribution.from_lists(*case.lists)
    events = evaluate_matches(distribution, case.matches, "d", DAY, n_samples=200)
    labels = cs.sample_clusterings(distribution, n_samples=200, doc_id="d").labels.tolist()
    for e, key in enumerate(events.keys):
        expected: Counter[int] = Counter()
        for row in labels:
            best = max(
                min(state(case, row, m, role, key[role]) for role, m in enumerate(instance))
                for instance in case.matches.instances.tolist()
            )
            expected[best] += 1
        assert expected.pop(3, 0) == events.n_hits[e]
        if 0 < events.n_hits[e] < 200:
            assert events.reasons[e].counts.tolist() == [expected[0], expected[1], expected[2], 0, 0]
            assert events.reasons[e].counts.sum() == 200 - events.n_hits[e]
        else:
            assert e not in events.reasons


# Mention 2 fills the role; 0 is described as AAA, 1 as BBB.
REASON_SCORES = ([[], [0], [0, 1]], [[], [-0.5], [1.0, 0.5]])
MATCHES = matches_of([{"AAA"}, {"BBB"}], [(2,)])


@pytest.mark.parametrize("are_apart", [False, True])
def test_shares_are_those_of_enumeration(are_apart: bool) -> None:
    together = references.clustering_probs(references.softmax_rows(*REASON_SCORES))
    if are_apart:
        together = {labels: p for labels, p in together.items() if labels[0] != labels[1]}
    total = sum(together.values())
    expected = {"event": 0.0, **dict.fromkeys(REASONS, 0.0)}
    for labels, p in together.items():
        with_first, with_second = labels[2] == labels[0], labels[2] == labels[1]
        name = "several actors" if with_first and with_second else "event" if with_first else ""
        expected[name or ("another actor" if with_second else "no actor")] += p / total
    matches = dataclasses.replace(MATCHES, apart=np.array([[0, 1]], np.int32)) if are_apart else MATCHES
    n = 20_000
    events = evaluate_matches(cs.AntecedentDistribution.from_lists(*REASON_SCORES), matches, "d", DAY, n_samples=n)
    found = [int(events.n_hits[0]), *events.reasons[0].counts.tolist()]
    assert tolerance.plausible_counts(found, n, list(expected.values())).all()
    # The mention that names the other actor, in every sample with both.
    assert events.reasons[0].other_actors == (() if are_apart else ((0, 1, found[3]),))
    assert (found[3] == 0) == are_apart


# --- triggers in doubt ------------------------------------------------------------------------------------


def doubted(chances: list[float], triggers: list[int]) -> MentionMatches:
    """The mentions of `MATCHES`, with an instance of the third mention for each trigger."""
    n = len(chances)
    instances, tokens = np.full((n, 1), 2, np.int32), np.array(triggers, np.int32)
    return dataclasses.replace(MATCHES, instances=instances, triggers=tokens, chances=np.array(chances))


def test_a_trigger_reports_with_its_chance_whatever_the_clustering() -> None:
    """P(event) is the product of P(the clustering has it), by enumeration, and the chance of the trigger."""
    together = references.clustering_probs(references.softmax_rows(*REASON_SCORES))
    p = sum(q for labels, q in together.items() if labels[2] == labels[0] != labels[1])
    antecedents, n = cs.AntecedentDistribution.from_lists(*REASON_SCORES), 20_000
    events = evaluate_matches(antecedents, doubted([0.3], [7]), "d", DAY, n_samples=n)
    unreported = int(events.reasons[0].counts[3])
    found = [int(events.n_hits[0]), unreported, n - int(events.n_hits[0]) - unreported]
    assert tolerance.plausible_counts(found, n, [0.3 * p, 0.7 * p, 1.0 - p]).all()
    assert not events.one_best[0]


@pytest.mark.parametrize("n_roles", [0, 1])
@pytest.mark.parametrize(("triggers", "chance"), [([7, 7], 0.6), ([7, 8], 1.0 - 0.7 * 0.4)])
def test_instances_share_draws_of_one_trigger_and_of_no_other(triggers: list[int], chance: float, n_roles: int) -> None:
    """With chances .3 and .6: max(.3, .6) at one trigger, and 1 - (1 - .3)(1 - .6) at two."""
    instances = np.full((2, n_roles), ABSENT, np.int32)
    nobody = MentionMatches((), *np.zeros((2, 0), np.int32), instances, np.array(triggers))
    matches = dataclasses.replace(nobody, role_codes=(("",),) * n_roles, chances=np.array([0.3, 0.6]))
    lonely = cs.AntecedentDistribution.from_lists([[]], [[]])
    events = evaluate_matches(lonely, matches, "d", DAY, n_samples=20_000)
    assert tolerance.plausible_counts([int(events.n_hits[0])], 20_000, [chance]).all()
    assert events.instance_hits.sum() >= events.n_hits[0]
    assert events.reasons[0].counts.tolist() == [0, 0, 0, 20_000 - events.n_hits[0], 0]


def test_rules_share_the_draws_of_a_trigger() -> None:
    posterior = DocumentPosterior("d", cs.AntecedentDistribution.from_lists(*REASON_SCORES))
    rules = [dataclasses.replace(doubted([chance], [7]), event=str(chance)) for chance in (0.3, 0.6, 1.0)]
    rare, common, certain = (events.hits[0] for events in evaluate_document(posterior, rules, DAY, n_samples=2000))
    assert (rare <= common).all()
    assert (common <= certain).all()
    assert 0 < rare.sum() < common.sum() < certain.sum()


@pytest.mark.parametrize("triggers", ["rules", "words"])
def test_evidence_has_the_probability_that_a_trigger_reports(triggers: str) -> None:
    sentence = (
        "Iraq/PROPN>2:nsubj attacked=attack/VERB>0:root and/CCONJ>4:cc shelled=shell/VERB>2:conj Gaza/PROPN>4:obj"
    )
    document = er.scored(er.json_document("d", "1999-01-05", [sentence], {}))
    rules = RuleSet.of([load_rules("attack"), load_rules("bomb")], outcomes=["any=attack|bomb:*"], triggers=triggers)
    counter = EventCounter(rules, n_samples=1000)
    counter.add(document)
    by_event = {
        event: part.set_index("token")["p_reports"].to_dict() for event, part in counter.events().groupby("event")
    }
    assert by_event["attack"][1] == 1.0 if triggers == "rules" else 0.5 < by_event["attack"][1] < 1.0
    rows = counter.evidence().set_index("event")["places"].map(json.loads)
    for event in ("attack", "bomb", "any"):
        for token, _, p, p_reports in rows[event]["instances"]:
            assert p_reports == max(each.get(token, 0.0) for name, each in by_event.items() if event in ("any", name))
            assert abs(p - p_reports) < 0.1  # nothing else is in doubt


def test_evidence_names_the_reasons_and_their_mentions() -> None:
    sentences = [
        "Iraq/PROPN>2:nsubj met=meet/VERB>0:root Iran/PROPN>2:obj",
        "they/PRON>2:nsubj attacked=attack/VERB>0:root",
    ]
    document = er.scored(er.json_document("d", "1999-01-05", sentences, {1: {0: -1.0}, 2: {0: 0.5, 1: 0.0}}))
    counter = EventCounter(load_rules("attack", "paper"), n_samples=1000)
    counter.add(document)
    for row in counter.evidence().itertuples():
        parts = dict(part.split(" (")[0].rsplit(" ", 1) for part in row.reasons.split(" | "))
        assert {*parts} == {"another actor", "no actor", "several actors"}
        assert sum(map(float, parts.values())) == pytest.approx(1.0 - row.probability, abs=1e-9)
        other, place = ("Iran [2-3]", 1) if row.actor == "IRQ" else ("Iraq [0-1]", 0)
        assert f"several actors {parts['several actors']} ({other} {parts['several actors']})" in row.reasons
        (several,) = (each for each in json.loads(row.places)["reasons"] if each[0] == "several actors")
        assert several[1:] == [float(parts["several actors"]), [[place, float(parts["several actors"])]]]


# --- true events of annotated entities ----------------------------------------------------------------------


SENTENCES = [
    "Iraqi/ADJ>2:amod troops=troop/NOUN>3:nsubj came=come/VERB>0:root ./PUNCT>3:punct",
    "They=they/PRON>2:nsubj attacked=attack/VERB>0:root ./PUNCT>2:punct",
]


def true_events(documents: Iterable[cs.ScoredDocument], *arguments: Any, **options: Any) -> TrueEvents:
    truth = TrueEvents(*arguments, **options)
    truth.update(documents)
    return truth


def news(gold: Any, doc_id: str = "a", **changes: Any) -> cs.ScoredDocument:
    """Mentions: troops, and they, who may be the troops."""
    document = er.scored(er.json_document(doc_id, "1991-02-03", SENTENCES, {1: {0: 0.0}}))
    return dataclasses.replace(document, gold=gold, **changes)


@pytest.fixture(scope="module")
def simulated() -> list[cs.ScoredDocument]:
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


def test_true_events_are_those_of_the_definition(simulated: list[cs.ScoredDocument]) -> None:
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
def test_counts_are_the_events_by_country_and_period(simulated: list[cs.ScoredDocument], period: str) -> None:
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
        with error(cs.InputError, place="doc_id 'a'"):
            truth.add(bad)
    assert truth.add(good) == ("IRQ",)  # the bad one is not remembered
    with error(cs.InputError, place="doc_id 'a'"):
        truth.add(good)


@pytest.mark.parametrize("options", [{"rule": "attack"}, {"lexicon": "countries"}, {"scheme": "ptb"}, {"period": "x"}])
def test_parameters_of_another_kind_are_rejected(options: dict[str, Any]) -> None:
    with error(cs.ParameterError, *options):
        TrueEvents(**options)
    with error(cs.ParameterError, "document"):
        true_events("a")  # type: ignore[arg-type]


def test_counts_of_other_columns_or_periods_are_rejected() -> None:
    truth = true_events([news([1, 1])])
    counts = pd.DataFrame({"actor": ["IRQ"], "period": ["1991"], "lower": [0.0], "upper": [1.0]})
    for wrong in (counts, counts.assign(period="soon"), counts.assign(period="1991Q1").drop(columns="lower")):
        with error(cs.ParameterError, "counts"):
            truth.beside(wrong)
