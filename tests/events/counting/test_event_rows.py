"""The table of events, one row a trigger: against the definition, and against the evidence of the documents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from mention_matches import described_as
from references import events as er
from references import parses as pr
from run_cases import CountOptions, count_events

from corefsample import read_documents, sample_clusterings
from events import EventCounter, load_lexicon, load_rules
from events.matching import match_document

N = 100


def test_each_trigger_has_the_share_of_samples_in_which_it_makes_the_event() -> None:
    rule, lexicon = load_rules("attack", "paper"), load_lexicon()
    counter = EventCounter(rule, n_samples=N)
    expected: dict[tuple[str, int, str], float] = {}
    words = {}
    for document in map(er.scored, er.corpus()):
        counter.add(document)
        assert document.tokens is not None
        matches = match_document(document.tokens, document.mentions, rule, lexicon, document.date)
        described = described_as(matches, document.n_mentions)
        labels = sample_clusterings(document.antecedents, n_samples=N, seed=0, doc_id=document.doc_id).labels.tolist()
        for instance, token in zip(matches.instances.tolist(), matches.triggers.tolist(), strict=True):
            for row in labels:
                actor = er.instance_event(tuple(instance), row, described)
                if actor is not None:
                    place = document.doc_id, token, actor
                    expected[place] = expected.get(place, 0) + 1 / N
                    sent = document.tokens.sent
                    sentence = " ".join(np.array(document.tokens.text)[sent == sent[token]])
                    words[place] = sentence, document.tokens.text[token]
    table = counter.events()
    places = [*zip(table["doc_id"], table["token"], table["actor"], strict=True)]
    found = dict(zip(places, table["probability"], strict=True))
    assert found.keys() == expected.keys()
    assert np.allclose([found[place] for place in places], [expected[place] for place in places], rtol=0, atol=1e-12)
    assert dict(zip(places, zip(table["sentence"], table["trigger"], strict=True), strict=True)) == words
    assert set(table["filled"]) == {"named"}
    assert set(table["frame"]) == {"verb"}
    assert table["date"].is_monotonic_increasing


def test_of_several_parses_the_rows_agree_with_the_evidence(tmp_path: Path) -> None:
    """P of a document is at least that of each of its triggers, and at most their sum."""
    lines = [pr.with_other_parses(each, (5, 1, 2)) for each in er.corpus()]
    news = er.write_lines(tmp_path / "news.jsonl", lines)
    count_events(news, tmp_path / "run", CountOptions(rule=("attack", "attack_target"), n_samples=N), pictures=False)
    events = pd.read_csv(tmp_path / "run" / "events.csv", keep_default_na=False)
    evidence = pd.read_csv(tmp_path / "run" / "evidence.csv", keep_default_na=False)
    place = ["doc_id", "event", "actor", "target"]
    by_document = events.groupby(place)["probability"].agg(["max", "sum"])
    p = evidence.set_index(place)["probability"].sort_index()
    assert by_document.index.equals(p.index)
    assert (by_document["max"] <= p + 1e-12).all()
    assert (by_document["sum"] >= p - 1e-12).all()
    assert (by_document["max"] < 1.0).any()
    counter = EventCounter([load_rules("attack"), load_rules("attack_target")], n_samples=N)
    counter.update(read_documents(news))
    table = counter.events().assign(date=lambda each: each["date"].astype(str))
    pd.testing.assert_frame_equal(table, events, check_dtype=False)
