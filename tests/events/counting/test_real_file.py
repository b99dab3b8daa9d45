"""The job on real documents: 237 gold parses with real antecedent scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tolerance
from mention_matches import described_as, instances_of
from references import coreference as references
from run_cases import CountOptions, count_events

from corefsample import ScoredDocument, read_documents
from events import load_lexicon, load_rules
from events.matching._matches import MentionMatches
from events.matching._matching import match_document
from events.runs.counting._options import EventsResult

N_SAMPLES = 2000
SLOW_SAMPLES = 1500


@pytest.fixture(scope="module")
def conflict(gum_path: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[EventsResult, Path]:
    """A run of the rule of conflict verbs."""
    out = tmp_path_factory.mktemp("gum") / "run"
    return count_events(gum_path, out, CountOptions(rule="conflict", preset="paper", n_samples=N_SAMPLES)), out


def slow_counts(document: ScoredDocument, matches: MentionMatches, seed: int) -> dict[str, int]:
    """Samples with each event: antecedents drawn one by one, the definition tried on every clustering."""
    indptr = document.antecedents.indptr.tolist()
    n = document.n_mentions
    candidates = [document.antecedents.antecedents[indptr[i] : indptr[i + 1]].tolist() for i in range(n)]
    scores = [document.antecedents.scores[indptr[i] : indptr[i + 1]].tolist() for i in range(n)]
    rows = references.softmax_rows(candidates, scores)
    described, instances = described_as(matches, n), instances_of(matches)
    rng = np.random.default_rng(seed)
    drawn = [rng.choice(list(row), size=SLOW_SAMPLES, p=list(row.values())).tolist() for row in rows]
    counts: dict[str, int] = {}
    for s in range(SLOW_SAMPLES):
        vector = [drawn[i][s] for i in range(n)]
        labels: list[int] = []
        for i, antecedent in enumerate(vector):  # links point backwards, so a label is the antecedent's
            labels.append(i if antecedent == i else labels[antecedent])
        sets: dict[int, set[str]] = {}
        for i, label in enumerate(labels):
            sets.setdefault(label, set()).update(described[i])
        unique = [t for t in instances if all(len(sets[labels[m]]) == 1 for m in t)]
        expected = {">".join(c for m in t for c in sets[labels[m]]) for t in unique}
        for event in expected:
            counts[event] = counts.get(event, 0) + 1
    return counts


def test_probabilities_agree_with_slow_samples(conflict: tuple[EventsResult, Path], gum_path: Path) -> None:
    document = next(d for d in read_documents(gum_path) if d.doc_id == "GUM_interview_chomsky")
    matches = match_document(
        document.tokens, document.mentions, load_rules("conflict", "paper"), load_lexicon(), document.date
    )
    assert "DEU" in matches.actors
    slow = slow_counts(document, matches, seed=11)
    evidence = pd.read_csv(conflict[1] / "evidence.csv").set_index(["doc_id", "actor"])["probability"]
    fast = np.array([evidence.get((document.doc_id, country), 0.0) for country in matches.actors])
    share = np.array([slow.get(country, 0) / SLOW_SAMPLES for country in matches.actors])
    # Both estimate one probability: the error of their difference, from the mean of all samples and the prior's one.
    p = (share * SLOW_SAMPLES + fast * N_SAMPLES + 0.5) / (SLOW_SAMPLES + N_SAMPLES + 1)
    error = np.sqrt(p * (1 - p) * (1 / SLOW_SAMPLES + 1 / N_SAMPLES))
    assert tolerance.plausible_means(fast, share, error).all()
    germany = matches.actors.index("DEU")
    assert not tolerance.plausible_means(fast[germany] - 0.1, share[germany], error[germany]).all()
