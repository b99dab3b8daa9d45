"""The content that a report reads from a run's folder, and errors for invalid folders."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, strategies as st
from report_pages import unpacked

from corefsample import map_clustering, read_documents
from corefsample.coreference._clusterings import canonical_labels
from corefsample.summaries import point_estimate
from events import read_evidence
from events.pages._document_texts import named_places
from events.pages._report_content import read_report, sampled_pairs
from events.rule_error import _counts, _model


def texts(folder: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The documents of a report, by doc_id."""
    report = read_report(folder, **options)
    several = [each for part in report.texts for each in unpacked(part)]
    documents = report.counts["documents"]
    return {name: several[n] for name, n in zip(documents["id"], documents["text"], strict=True) if n >= 0}


# --- counts and evidence -----------------------------------------------------------------------------------


def test_counts_and_evidence_are_those_of_the_tables(run: Path) -> None:
    report = read_report(run)
    counts, evidence = pd.read_csv(run / "counts.csv"), pd.read_csv(run / "evidence.csv")
    content = report.counts
    totals = pd.read_csv(run / "totals.csv").set_index("actor")
    labels = [period["label"] for period in content["periods"]]
    assert labels == list(counts["period"].unique())
    for actor in content["actors"]:
        rows = counts[counts["actor"] == actor["code"]]
        for field, column in {"mean": "mean", "lower": "lower", "upper": "upper", "oneBest": "one_best"}.items():
            np.testing.assert_allclose(actor[field], rows[column], rtol=6e-4)
        total = totals.loc[actor["code"]]
        assert actor["total"]["first"] == total[["mean_rule", "lower_rule", "upper_rule"]].tolist()
        assert actor["total"]["counted"] == total["mean"]
    rows = content["evidence"]
    assert [content["documents"]["id"][d] for d in rows["document"]] == evidence["doc_id"].tolist()
    assert [content["actors"][a]["code"] for a in rows["actor"]] == evidence["actor"].tolist()
    assert [labels[i] for i in rows["period"]] == evidence["period"].tolist()
    np.testing.assert_allclose(rows["probability"], evidence["probability"], rtol=6e-4)


def test_periods_are_adjacent_and_begin_on_their_first_day(run: Path) -> None:
    periods = read_report(run).counts["periods"]
    assert [each["end"] for each in periods[:-1]] == [each["start"] for each in periods[1:]]
    # 1995-01-01 is 9131 days after 1970-01-01 (25 years and the leap days of 1972, 76, 80, 84, 88, 92), and the last
    # quarter ends with the 366 + 365 days of 1995 and 1996.
    assert periods[0]["start"] == 9131 * 86_400_000
    assert periods[-1]["end"] == (9131 + 365 + 366) * 86_400_000


# --- which texts -------------------------------------------------------------------------------------------


def test_texts_are_alternately_the_nearest_to_one_half_and_the_likeliest(run: Path) -> None:
    evidence = pd.read_parquet(run / "evidence.parquet", filters=[("probability", ">", 0)])
    near = list(dict.fromkeys(evidence.iloc[(evidence["probability"] - 0.5).abs().argsort(kind="stable")]["doc_id"]))
    likely = list(dict.fromkeys(evidence.iloc[(-evidence["probability"]).argsort(kind="stable")]["doc_id"]))
    expected: list[str] = []
    while len(expected) < 9:
        for order in (near, likely):
            doc_id = order.pop(0)
            expected += [doc_id] * (doc_id not in expected)
    for n in (0, 1, 2, 5, 9):
        assert set(texts(run, n_documents=n)) == set(expected[:n])


# --- texts -------------------------------------------------------------------------------------------------


def test_a_text_has_the_document_and_its_likeliest_antecedents(run: Path) -> None:
    contents = texts(run)
    for document in read_documents(run / "documents.parquet"):
        content = contents[document.doc_id]
        assert [word.removeprefix(" ") for word in content["tokens"]] == list(document.tokens.text)
        assert [content["sentences"][s] for s in document.tokens.sent] == [
            document.tokens.sentences()[int(s)][0] for s in document.tokens.sent
        ]
        spans = np.array([[each["start"], each["end"], each["entity"]] for each in content["mentions"]]).reshape(-1, 3)
        assert spans[:, :2].tolist() == document.mentions[:, :2].tolist()
        labels = map_clustering(document.antecedents)
        for i in range(document.n_mentions):
            same = labels == labels[i]
            assert (spans[i, 2] > 0) == (same.sum() > 1)
            assert spans[i, 2] == 0 or set(np.flatnonzero(spans[:, 2] == spans[i, 2])) == set(np.flatnonzero(same))
            candidates, probabilities = document.antecedents.row(i)
            expected = sorted(zip(-probabilities, -candidates, strict=True))[:5]
            pairs = [(each["antecedent"], each["p"]) for each in content["links"][i]]
            assert pairs == [(-k, round(-1000 * p)) for p, k in expected if -p >= 0.001]
            assert content["new"][i] == round(1000 * document.antecedents.new_probs[i])
            best = content["best"][i]
            assert labels[i] == (i if best < 0 else labels[best])
            assert best < 0 or probabilities[list(candidates).index(best)] == probabilities.max()


def test_a_text_has_the_entities_of_the_binder_estimate(run: Path) -> None:
    contents = texts(run)
    differing = 0
    for document in read_documents(run / "documents.parquet"):
        content = contents[document.doc_id]
        labels = point_estimate(document.antecedents, loss="binder").labels
        names = [-i - 1 if entity == 0 else entity for i, entity in enumerate(content["estimate"])]
        assert canonical_labels(names).tolist() == labels.tolist()
        differing += content["estimate"] != [each["entity"] for each in content["mentions"]]
    assert differing


def test_events_have_the_places_of_the_evidence(run: Path) -> None:
    """The mentions and sentences that the tables quote are found again at the places."""
    contents, report = texts(run), read_report(run)
    codes = {actor["code"]: str(a) for a, actor in enumerate(report.counts["actors"])}
    evidence = pd.read_csv(run / "evidence.csv")
    assert len(evidence) > 100
    for row in evidence.to_dict("records"):
        content = contents[row["doc_id"]]
        words = [word.removeprefix(" ") for word in content["tokens"]]
        event = content["events"][codes[row["actor"]]]

        def quoted(mention: int, content: dict[str, Any] = content, words: Sequence[str] = words) -> str:
            start, end = (content["mentions"][mention][name] for name in ("start", "end"))
            return f"{' '.join(words[start:end])} [{start}-{end}]"

        agents = [f"{quoted(each['mentions'][0])} {each['p'] / 1000:.3f}" for each in event["instances"]]
        described = [f"{quoted(each['mention'])} {each['p'] / 1000:.3f}" for each in event["descriptions"]]
        assert " | ".join(agents) == row["role_mentions"]
        assert " | ".join(dict.fromkeys(described)) == row["actor_mentions"]
        assert all(words[each["trigger"]].startswith("attack") for each in event["instances"])
        for mention, (start, end) in ((each["mention"], each["words"]) for each in event["descriptions"]):
            first, last = (content["mentions"][mention][name] for name in ("start", "end"))
            assert first <= start < end <= last  # of the paper's rule: head, or a modifier, inside of the mention


REASONS = [["several actors", 0.2, [[0, 0.2], [-1, 0.1]]], ["no actor", 0.1, []]]


def test_places_have_no_mention_where_the_first_parse_has_none() -> None:
    places = {"instances": [[2, [-1], 0.7, 0.8]], "descriptions": [[1, "ELN", [4, 5], 0.5, True]], "reasons": REASONS}
    assert named_places(json.dumps(places)) == {
        "instances": [{"trigger": 2, "mentions": [], "p": 700, "reports": 800}],
        "descriptions": [{"mention": 1, "words": [4, 5], "p": 500, "stands_for": "ELN"}],
        "reasons": [
            {"text": "several actors", "p": 200, "mentions": [0]},
            {"text": "no actor", "p": 100, "mentions": []},
        ],
    }


# --- comparisons of actors by sample, against a loop over samples ------------------------------------------


ACTORS, PERIODS = {"A": 0, "B": 1, "C": 2}, {"1999": 0, "2000": 1}
CELLS = [(actor, period) for actor in ACTORS for period in PERIODS]


def sampled_table(cells: dict[tuple[str, str], list[int]]) -> pd.DataFrame:
    rows = [{"name": actor, "period": period, "counts": counts} for (actor, period), counts in cells.items()]
    return pd.DataFrame(rows, columns=["name", "period", "counts"])


def test_actors_are_compared_by_what_readers_would_count(run: Path) -> None:
    content, evidence = read_report(run).counts, read_evidence(run)
    names = [("attack", actor["code"]) for actor in content["actors"]][:30]
    tables, model = _counts.CountTables.of(evidence.counts_of_all(), ()), _model.reference_model(None, ())
    drawn = _counts.joint_counts(tables, model, evidence.settings.kinds, {}, names, seed=0)
    pairs = content["pairs"]
    assert pairs["compared"] == len(names)
    checked = set()
    for period, first, second, more, less in zip(*(pairs[name] for name in pairs if name != "compared"), strict=True):
        a, b = (
            0 if number < 0 else drawn[names[number]][content["periods"][period]["label"]] for number in (first, second)
        )
        assert (more, less) == ((a > b).mean(), (a < b).mean())
        checked.add((first, second))
    assert {(0, 1), (0, -1), (1, 2)} <= checked


@given(st.dictionaries(st.sampled_from(CELLS), st.lists(st.integers(0, 3), min_size=5, max_size=5)))
def test_pairs_are_those_of_a_loop_over_samples(cells: dict[tuple[str, str], list[int]]) -> None:
    found = sampled_pairs(sampled_table(cells), ACTORS, PERIODS)
    assert found["compared"] == 3
    names = ("period", "first", "second", "more", "less")
    shares = {row[:3]: row[3:] for row in zip(*(found[name] for name in names), strict=True)}
    expected = {}
    for period, p in PERIODS.items():
        drawn = {a: cells[actor, period] for actor, a in ACTORS.items() if (actor, period) in cells}
        for a, counts in drawn.items():
            for b, others in {**drawn, -1: [0] * 5}.items():
                if b < 0 or a < b:
                    pairs = list(zip(counts, others, strict=True))
                    expected[p, a, b] = (sum(x > y for x, y in pairs) / 5, sum(x < y for x, y in pairs) / 5)
    assert shares == expected
