"""How often coreference by itself merges distinct actors: against enumeration, and the same for any order and parts."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tolerance
from references import coreference as references, events as er, parses as pr

from corefsample import ScoredDocument, read_documents
from corefsample.coreference import _conditioning
from corefsample.documents._batch import DocumentBatch
from events import EventCounter, load_lexicon, load_rules
from events.counts._run_tables import CountNotes
from events.evidence._documents_table import MERGED_ACTORS, merging_summary, merging_table, sampled_merged_actors

N = 20_000
RULE = load_rules("attack", "extended")
# Mentions: Iraq, Iran, they; and soldiers, who are the object of "attacked".
LINKS = {1: {0: -0.5}, 2: {0: 0.5, 1: 1.0}, 3: {2: 1.5}}


def document(doc_id: str = "d", date: str = "1999-01-05", shift: float = 0.0) -> ScoredDocument:
    links = {i: {j: score + shift for j, score in row.items()} for i, row in LINKS.items()}
    return er.scored(er.json_document(doc_id, date, er.MERGING, links))


def probability(shift: float = 0.0) -> float:
    """P(Iraq and Iran are one entity), before any conditioning."""
    scores = [[score + shift for score in LINKS.get(i, {}).values()] for i in range(4)]
    rows = references.softmax_rows([list(LINKS.get(i, {})) for i in range(4)], scores)
    return sum(p for labels, p in references.clustering_probs(rows).items() if labels[0] == labels[1])


def counted(documents: list[ScoredDocument], n_samples: int = 500) -> EventCounter:
    counter = EventCounter(RULE, n_samples=n_samples)
    counter.update(documents)
    return counter


def merging_rows(counter: EventCounter) -> list[dict[str, Any]]:
    return counter.documents.read("doc_id", *MERGED_ACTORS.names).to_pylist()


def test_the_probability_is_that_of_enumeration_before_conditioning() -> None:
    counter = counted([document()], N)
    (merged,) = merging_rows(counter)
    # Two mentions name an actor, and each is in the entity of the other. "They" and "soldiers" are apart too, as
    # subject and object, and are often one entity; they do not count.
    assert merged["named_mentions"] == 2 * N
    assert merged["merged_mentions"] % 2 == 0
    assert tolerance.plausible_counts([merged["merged_mentions"] // 2], N, [probability()]).all()
    assert not tolerance.plausible_counts([merged["merged_mentions"] // 2], N, [0.0]).all()
    summary = counter.merging_summary()
    assert summary is not None
    assert summary["n_mentions"] == 2.0
    assert summary["probability"] == merged["merged_mentions"] / (2 * N)
    assert summary["n_documents"] == {"as drawn": 0, "drawn again": 1, "chain": 0, "unsettled chain": 0}


def test_a_subject_in_the_entity_of_its_object_is_no_merged_actor() -> None:
    """The second Iraq is often of one entity with "it", of which it is the object; enumerated."""
    sentences = [*er.MERGING, "it/PRON>2:nsubj left=leave/VERB>0:root Iraq/PROPN>2:obj"]
    links = {1: {0: -1.0}, 2: {0: 0.5}, 4: {0: 2.0, 1: -1.0}, 5: {4: 2.0, 1: -2.0}}
    merged = EventCounter(RULE, n_samples=N)
    merged.add(er.scored(er.json_document("d", "1999-01-05", sentences, links)))
    rows = references.softmax_rows(
        [list(links.get(i, {})) for i in range(6)], [list(links.get(i, {}).values()) for i in range(6)]
    )
    others = {0: [1], 1: [0, 5], 5: [1]}
    # The number of these mentions whose entity also names the other country, in each clustering.
    n_merged = {
        labels: sum(any(labels[mention] == labels[j] for j in js) for mention, js in others.items())
        for labels in references.clustering_probs(rows)
    }
    probs = references.clustering_probs(rows)
    mean = sum(p * n_merged[labels] for labels, p in probs.items())
    variance = sum(p * n_merged[labels] ** 2 for labels, p in probs.items()) - mean**2
    (row,) = merging_rows(merged)
    assert tolerance.plausible_means(row["merged_mentions"] / N, mean, math.sqrt(variance / N)).all()


def test_hardly_consistent_documents_are_drawn_again() -> None:
    assert probability(9.0) > 0.9995
    counter = counted([document(shift=9.0), document("e", shift=-30.0)], 200)
    assert {row["doc_id"]: row["conditioned"] for row in merging_rows(counter)} == {"d": "drawn again", "e": "as drawn"}


CLAIMS = ["it/PRON>2:nsubj attacked=attack/VERB>0:root Kuwait/PROPN>2:obj"]


def claimed(names: list[str], score: float) -> ScoredDocument:
    """ "It attacked Kuwait. Iraq waited. Iran waited.": names that are linked to "it" with one score."""
    sentences = CLAIMS + [f"{name}/PROPN>2:nsubj waited=wait/VERB>0:root" for name in names]
    links = {mention: {0: score} for mention in range(2, 2 + len(names))}
    return er.scored(er.json_document("d", "1999-01-05", sentences, links))


def test_two_actors_that_claim_the_attacker_have_it_equally_often() -> None:
    # By symmetry either is "it" with e^7 / (2 e^7 + 1) = .4998.
    (events,) = EventCounter(RULE, n_samples=N).add_to_each(claimed(["Iraq", "Iran"], 7.0))
    assert [key.name for key in events.keys] == ["IRN", "IRQ", "KWT"]
    assert tolerance.plausible_counts(events.n_hits[:2], N, math.exp(7) / (2 * math.exp(7) + 1)).all()


def test_a_document_whose_chains_disagree_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("_ENOUGH", _conditioning._PILOT + 1),
        ("_LEAST", 2.0),
        ("_GOOD", 2.0),
        ("_PAIRS", 0),
        ("_MOST_TRIES", 0),
    ):
        monkeypatch.setattr(_conditioning, name, value)
    counter = counted([claimed(["Iraq", "Iran", "Iraq", "Iran"], 12.0), document("e", shift=-30.0)], 400)
    summary = counter.merging_summary()
    assert summary is not None
    assert (summary["n_documents"]["unsettled chain"], summary["unsettled"]) == (1, ["d"])
    assert "d" in CountNotes(summary).unsettled()
    evidence = counter.evidence().set_index("doc_id")
    assert evidence.loc["d", "reasons"].str.contains("conditioned samples did not settle").all()
    # Independent samples would have the Monte Carlo error sqrt(p (1 - p) / 400).
    p = evidence.loc["d", "probability"]
    assert (evidence.loc["d", "mc_se"] > 3.0 * np.sqrt(p * (1.0 - p) / 400)).all()
    counts = counter.counts().to_frame()
    assert np.allclose(counts.mean_mc_se, evidence.loc["d"].groupby("actor").mc_se.sum(), rtol=0.1)


def test_a_preset_that_lets_an_entity_be_several_actors_has_no_check() -> None:
    counter = EventCounter(load_rules("attack", "paper"), n_samples=50)
    counter.add(document())
    assert counter.merging_summary() is None


def test_the_sums_do_not_depend_on_order_parts_or_files(tmp_path: Path) -> None:
    documents = [document(f"d{n}", f"1999-01-{1 + n % 3:02}", -n / 8) for n in range(7)]
    documents.append(document("a"))  # of the same date as d2, and other samples
    whole = counted(documents).merging_summary()
    assert whole is not None
    for number, order in enumerate(itertools.islice(itertools.permutations(documents), 0, 40_000, 9_999)):
        first, second = counted(list(order[:3])), counted(list(order[3:]))
        for name, each in (("first", first), ("second", second)):
            (tmp_path / f"{name} {number}").mkdir()
            each.save(tmp_path / f"{name} {number}")
        loaded = [EventCounter.load(tmp_path / f"{name} {number}") for name in ("first", "second")]
        loaded[1].merge(loaded[0])
        assert loaded[1].merging_summary() == whole


def test_mentions_of_several_parses_count_for_the_samples_that_have_them(tmp_path: Path) -> None:
    lines = pr.with_other_parses(er.json_document("d", "1999-01-05", er.MERGING, LINKS), (3, 1))
    several = read_documents(er.write_lines(tmp_path / "d.jsonl", lines))
    (merged,) = merging_rows(counted([*several], 1000))
    # In the other parse "they" is an object, so that no event is possible in its samples, 250 of 1,000.
    assert merged["named_mentions"] == 1500
    assert tolerance.plausible_counts([merged["merged_mentions"] // 2], 750, [probability()]).all()


def test_a_document_needs_no_rule_and_no_date(tmp_path: Path) -> None:
    """Without the verb that the rule looks for; of the same enumeration as above."""
    given = [sentence.replace("attacked=attack", "saw=see") for sentence in er.MERGING]
    several = pr.with_other_parses(er.json_document("d", "1999-01-05", given, LINKS), (3, 1))
    for each in several:
        del each["date"]
    other = er.json_document("e", "1999-01-05", given[1:], {})
    batch = DocumentBatch.of([*read_documents(er.write_lines(tmp_path / "d.jsonl", [*several, other]))])
    # The second names no actor.
    rows = batch.firsts.tolist()
    merged = [sampled_merged_actors(batch, row, load_lexicon(), n_samples=N) for row in rows]
    assert merged[0]["named_mentions"] == 2 * N  # in both parses
    assert tolerance.plausible_counts([merged[0]["merged_mentions"] // 2], N, [probability()]).all()
    summary = merging_summary(merging_table(merged), N)
    assert summary is not None
    assert sum(summary["n_documents"].values()) == 1
