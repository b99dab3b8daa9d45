"""The study of what shipped rules find beside a keyword search: each cause on a sentence written for it."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from places import PROJECT
from references import events as er

pytestmark = pytest.mark.skipif(
    not (PROJECT / "benchmarks").exists(), reason="the studies are beside the sources alone"
)

# The cause of each sentence with a keyword of `meet`, in preset asserted with the lexicon countries.
MEET = [
    ("France=France/PROPN>2:nsubj met=meet/VERB>0:root Spain=Spain/PROPN>2:obj", "found, with an actor"),
    # "They" is France.
    ("They/PRON>3:nsubj will/AUX>3:aux meet/VERB>0:root Tom=Tom/PROPN>3:obj", "excluded: future"),
    # Nobody here is an actor, so the condition is not what keeps the sentence from being found.
    ("Tom=Tom/PROPN>3:nsubj will/AUX>3:aux meet/VERB>0:root Ann=Ann/PROPN>3:obj", "filler is no actor of the lexicon"),
    ("Tom=Tom/PROPN>2:nsubj met=meet/VERB>0:root Ann=Ann/PROPN>2:obj", "filler is no actor of the lexicon"),
    ("The/DET>2:det meeting/NOUN>3:nsubj ended=end/VERB>0:root", "nothing fills the role"),
    ("Ten/NUM>2:nsubj met=meet/VERB>0:root", "filler is no mention"),
    ("Tom=Tom/PROPN>2:nsubj talked=talk/VERB>0:root", "part of speech"),
    ("Tom=Tom/PROPN>2:nsubj visited=visit/VERB>0:root Ann=Ann/PROPN>2:obj", "keyword only: lemma is no trigger"),
    (
        "French/ADJ>4:amod and/CCONJ>3:cc Spanish/ADJ>1:conj ministers=minister/NOUN>5:nsubj met=meet/VERB>0:root",
        "found, with an actor",
    ),
    (
        "Tom=Tom/PROPN>2:nsubj sat=sit/VERB>0:root and/CCONJ>5:cc Ann=Ann/PROPN>5:nsubj fell=fall/VERB>2:conj "
        "down/ADV>5:advmod",
        "words of a phrase, not connected",
    ),
    # The nearest cause of two keywords.
    (
        "Tom=Tom/PROPN>2:nsubj visited=visit/VERB>0:root and/CCONJ>5:cc France=France/PROPN>5:nsubj "
        "met=meet/VERB>2:conj",
        "found, with an actor",
    ),
    ("In/ADP>2:case March=March/PROPN>4:obl Tom=Tom/PROPN>4:nsubj slept=sleep/VERB>0:root", None),
]
KILL = [
    ("Ten/NUM>3:nsubj:pass were=be/AUX>3:aux:pass killed=kill/VERB>0:root", "found, no actor: nothing fills the role"),
    (
        "Soldiers=soldier/NOUN>2:nsubj killed=kill/VERB>0:root ten/NUM>2:obj",
        "found, no actor: filler is no actor of the lexicon",
    ),
    (
        "French/ADJ>4:amod and/CCONJ>3:cc Spanish/ADJ>1:conj troops=troop/NOUN>5:nsubj killed=kill/VERB>0:root",
        "found, with an actor",
    ),
    (
        "If/SCONJ>5:mark ten/NUM>5:nsubj:pass were=be/AUX>5:aux:pass not/PART>5:advmod killed=kill/VERB>0:root",
        "excluded: negated",
    ),
    ("Ten/NUM>2:nsubj died=die/VERB>0:root", "keyword only: lemma is no trigger"),
]


def written(doc_id: str, sentences: list[tuple[str, str | None]]) -> dict[str, Any]:
    """A document as a line of a file; every mention is an entity of its own, but for "They", which is the first."""
    line = er.json_document(doc_id, "2000-01-01", [text for text, _ in sentences])
    first = [line["tokens"]["text"][start] for start, _, _ in line["mentions"]]
    return line | {"gold": [0 if word == "They" else i for i, word in enumerate(first)]}


def test_each_sentence_has_its_cause_and_files_have_the_text_only_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    rule_study = importlib.import_module("rule_study")
    file = er.write_lines(tmp_path / "scored.jsonl", [written("m", MEET), written("k", KILL)])
    for more in ([], ["--text"]):
        options = ["--counts", tmp_path / "counts.csv", "--sentences", tmp_path / "sentences.csv", *more]
        monkeypatch.setattr(sys, "argv", ["rule_study.py", str(file), *map(str, options)])
        rule_study.main()
        table = pd.read_csv(tmp_path / "sentences.csv", keep_default_na=False)
        assert ("text" in table.columns) == bool(more)
    for doc_id, rule, sentences in (("m", "meet", MEET), ("k", "kill", KILL)):
        keys = ["doc_id", "rule", "preset", "lexicon"]
        rows = table[(table[keys] == [doc_id, rule, "asserted", "countries"]).all(axis=1)]
        found = dict(zip(rows["sentence"], rows["cause"], strict=True))
        assert found == {i: cause for i, (_, cause) in enumerate(sentences) if cause is not None}
    assert "protest" not in set(table["rule"])  # March is a month
    assert pd.read_csv(tmp_path / "counts.csv")["sentences"].sum() == len(table)
    printed = capsys.readouterr().out
    assert "meet, part of speech: talk VERB 1" in printed
    assert "France" not in printed
