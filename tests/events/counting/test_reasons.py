"""What happens in the samples without an event: against a plain loop, enumeration, and by hand for several parses."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import json
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
import tolerance
from mention_matches import matches_of
from references import coreference as references
from references import events as er

from corefsample import AntecedentDistribution, sample_clusterings
from corefsample.posterior import DocumentPosterior
from corefsample.posterior._posterior import ParsePosterior
from events import EventCounter, load_rules
from events.counting import evaluate_matches
from events.counting._evaluation import evaluate_document
from events.counting._kernel_inputs import REASONS
from events.matching._matching import MentionMatches

DAY = datetime.date(2000, 1, 1)
N_PLAIN = 60  # seeds of cases without composite actors


class Case(NamedTuple):
    """Four to seven mentions, what they are described as, and what a rule found; drawn at random."""

    lists: tuple[list[list[int]], list[list[float]]]
    described: list[set[str]]
    matches: MentionMatches

    @classmethod
    def drawn(cls, seed: int) -> Case:
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


def composite_state(case: Case, labels: list[int], mention: int, role: int, code: str) -> int:
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


def state(case: Case, labels: list[int], mention: int, role: int, code: str) -> int:
    """3 if a role has what it needs, 2 if also another, 1 if no code, 0 if others: by sets."""
    codes: set[str] = set()
    for other, label in enumerate(labels):
        if mention >= 0 and label == labels[mention]:
            codes |= case.described[other] & set(case.matches.codes_of_roles[role])
    counted = codes & case.matches.inner or codes
    if case.matches.apart is None and len(counted) > 1:
        counted = set()
    if not code:
        return 0 if counted else 3
    return 3 if code in counted else 2 if code in codes else 0 if codes else 1


@pytest.mark.kernels
@pytest.mark.parametrize("seed", range(200))
def test_reasons_are_those_of_a_plain_loop_and_add_up(seed: int) -> None:
    case = Case.drawn(seed)
    state_of = state if seed < N_PLAIN else composite_state
    distribution = AntecedentDistribution.from_lists(*case.lists)
    events = evaluate_matches(distribution, case.matches, "d", DAY, n_samples=200)
    labels = sample_clusterings(distribution, n_samples=200, doc_id="d").labels.tolist()
    for e, key in enumerate(events.keys):
        expected: Counter[int] = Counter()
        for row in labels:
            best = max(
                min(state_of(case, row, m, role, key[role]) for role, m in enumerate(instance))
                for instance in case.matches.instances.tolist()
            )
            expected[best] += 1
        assert expected.pop(3, 0) == events.n_hits[e]
        if 0 < events.n_hits[e] < 200:
            assert events.reasons[e].counts.tolist() == [expected[0], expected[1], expected[2], 0]
            assert events.reasons[e].counts.sum() == 200 - events.n_hits[e]
        else:
            assert e not in events.reasons


# Mention 2 fills the role; 0 is described as AAA, 1 as BBB.
SCORES = ([[], [0], [0, 1]], [[], [-0.5], [1.0, 0.5]])
MATCHES = matches_of([{"AAA"}, {"BBB"}], [(2,)])


@pytest.mark.parametrize("are_apart", [False, True])
def test_shares_are_those_of_enumeration(are_apart: bool) -> None:
    together = references.clustering_probs(references.softmax_rows(*SCORES))
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
    events = evaluate_matches(AntecedentDistribution.from_lists(*SCORES), matches, "d", DAY, n_samples=n)
    found = [int(events.n_hits[0]), *events.reasons[0].counts.tolist()]
    assert tolerance.plausible_counts(found, n, list(expected.values())).all()
    # The mention that names the other actor, in every sample with both.
    assert events.reasons[0].others == (() if are_apart else ((0, 1, found[3]),))
    assert (found[3] == 0) == are_apart


def test_a_parse_without_the_event_is_a_reason() -> None:
    """Weights 5, 2, 3: in the second parse AAA is not named, and in the third the event is not possible."""
    other = dataclasses.replace(MATCHES, actors=("CCC", "DDD"))
    parses = tuple(ParsePosterior(AntecedentDistribution.from_lists(*SCORES), weight) for weight in (5.0, 2.0, 3.0))
    (events,) = evaluate_document(DocumentPosterior("d", parses), {0: [MATCHES], 1: [other]}, DAY, n_samples=1000)
    reasons = events.reasons[events.keys.index(("AAA",))].counts
    assert reasons[3] == 500
    assert reasons.sum() == 1000 - events.n_hits[0]


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
