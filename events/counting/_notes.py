"""Notes on counts: how often coreference alone would merge distinct actors, and which triggers a preset leaves out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from corefsample._arrays import Ints32
from corefsample.coreference._conditioning import WAYS, Conditioned
from corefsample.documents._batch import DocumentBatch
from corefsample.posterior._posterior import DocumentPosterior
from events.counting._evaluation import DocumentEvents
from events.lexicon._lexicon import Lexicon
from events.matching._matching import distinct_actors

_WORST = 3  # mentions that are listed
_OFTEN = 5  # a probability above 1 / 5 is counted
_UNSETTLED = 20  # doc_ids that are listed
_LONGEST = 12  # tokens of a mention's text
_NO_DATE = "NaT"  # the text of NumPy's missing date

_Mention = tuple[float, str, str, int, int, str]  # minus the probability, date, doc_id, start, end, text


@dataclass(slots=True, eq=False)
class MergedActors:
    """Mentions that name an actor, and draws before conditioning in which their entity names a distinct one too.

    All sums are of whole numbers, each mention counted once for each sample in which it is a mention: so they do not
    depend on the order of the documents.

    Attributes
    ----------
    n_named, n_merged, n_often
        Mentions that name an actor; those in the entity of a distinct actor; those whose share of these is above .2.
    ways
        Number of documents by how their samples were conditioned: see `Conditioned.way`.
    worst
        The mentions with the highest probabilities; of equal ones the first by date, doc_id and place.
    unsettled
        The first 20 of the doc_ids, sorted, of the documents whose Markov chains do not agree.
    """

    n_named: int = 0
    n_merged: int = 0
    n_often: int = 0
    ways: Counter[str] = field(default_factory=Counter)
    worst: list[_Mention] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)

    def add(self, batch: DocumentBatch, row: int, several: Sequence[DocumentEvents]) -> None:
        """Add one document with its events by rule."""
        own: dict[int, tuple[Conditioned, Ints32, int]] = {}  # by parse, the same for all rules
        for each in (each for events in several for each in events.parses):
            if each.conditioned is not None and each.matches.naming is not None:
                own[each.parse] = each.conditioned, each.matches.naming, each.samples.size
        self._add(batch, row, own)

    def add_document(
        self, batch: DocumentBatch, row: int, lexicon: Lexicon, *, scheme: str | None = None, n_samples: int = 100
    ) -> None:
        """Add one document with tokens, of which no rule is asked, by samples of its scores as they are.

        Raises
        ------
        InputError
            If its labels fit no scheme; then it is not added.
        """
        samples = DocumentPosterior.of_row(batch, row).sample(n_samples=n_samples)
        own: dict[int, tuple[Conditioned, Ints32, int]] = {}
        for parse, (_, rows, place) in enumerate(batch.rows_of_parses(row)):
            tokens = rows.tokens(place)
            assert tokens is not None
            pairs, naming = distinct_actors(tokens, rows.spans(place), lexicon, batch.dates[row].item(), scheme)
            n = int(samples.parse_counts[parse])
            if n and len(naming):
                conditioned = Conditioned(np.zeros(0, np.int64), WAYS[0])  # without a pair there is nothing to draw
                if len(pairs):
                    conditioned = samples.of_parse(parse, int(pairs.max()) + 1, pairs).conditioned or conditioned
                own[parse] = conditioned, naming, n
        self._add(batch, row, own)

    def _add(self, batch: DocumentBatch, row: int, own: Mapping[int, tuple[Conditioned, Ints32, int]]) -> None:
        """Add a document by parse: clashes, mentions that name an actor, number of samples."""
        if not own:
            return
        way = max((conditioned.way for conditioned, *_ in own.values()), key=WAYS.index)
        self.ways[way] += 1
        if way == WAYS[-1]:
            self._add_unsettled([batch.doc_ids[row]])
        parses = batch.rows_of_parses(row)
        found: dict[tuple[int, int], tuple[int, int]] = {}  # by tokens: samples with the mention, those of them merged
        for parse, (conditioned, naming, n) in own.items():
            spans, clashes = parses[parse][1].spans(parses[parse][2])[naming].tolist(), conditioned.n_clashes.tolist()
            for mention, (start, end, _) in zip(naming.tolist(), spans, strict=True):
                before = found.get((start, end), (0, 0))
                # Later mentions, which are not drawn, are in no pair.
                found[start, end] = before[0] + n, before[1] + (clashes[mention] if mention < len(clashes) else 0)
        worst = []
        for (start, end), (n, n_merged) in found.items():
            self.n_named += n
            self.n_merged += n_merged
            self.n_often += n * (_OFTEN * n_merged > n)
            if n_merged and (len(self.worst) < _WORST or -n_merged / n <= self.worst[-1][0]):
                worst.append((-n_merged / n, str(batch.dates[row]), batch.doc_ids[row], start, end))
        if worst:
            tokens = parses[0][1].tokens(parses[0][2])
            assert tokens is not None  # rules need them
            texts = [" ".join(tokens.text[start : min(end, start + _LONGEST)]) for *_, start, end in worst]
            self._add_worst([(*each, text) for each, text in zip(worst, texts, strict=True)])

    def _add_worst(self, others: Sequence[_Mention]) -> None:
        self.worst = sorted([*self.worst, *others])[:_WORST]

    def _add_unsettled(self, doc_ids: Sequence[str]) -> None:
        self.unsettled = sorted([*self.unsettled, *doc_ids])[:_UNSETTLED]

    def merge(self, other: MergedActors) -> None:
        """Add the documents of another counter."""
        self.n_named += other.n_named
        self.n_merged += other.n_merged
        self.n_often += other.n_often
        self.ways += other.ways
        self._add_worst(other.worst)
        self._add_unsettled(other.unsettled)

    def to_json(self) -> dict[str, Any]:
        """For `from_json`."""
        sums = {name: getattr(self, name) for name in ("n_named", "n_merged", "n_often", "worst", "unsettled")}
        return {**sums, "ways": dict(self.ways)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Self:
        """From the result of `to_json`."""
        return cls(**{**content, "ways": Counter(content["ways"]), "worst": [(*each,) for each in content["worst"]]})

    def summary(self, n_samples: int) -> dict[str, Any] | None:
        """For the record of a run, as docs/file-formats.md says; None if distinct actors were not kept apart."""
        if not self.ways:
            return None
        n = max(self.n_named, 1)
        return {
            "n_mentions": round(self.n_named / n_samples, 3),
            "probability": self.n_merged / n,
            "share_above_0.2": self.n_often / n,
            "worst": [
                {"doc_id": doc_id, "date": None if date == _NO_DATE else date, "mention": text, "probability": -p}
                for p, date, doc_id, _, _, text in self.worst
            ],
            "n_documents": {way: self.ways[way] for way in WAYS},
            "unsettled": self.unsettled,
        }


def exclusion_texts(by_rule: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A sentence about each result of `excluded_triggers` by name of the rule, of those that leave any out."""
    return [_text(f"{rule}: " * (len(by_rule) > 1), found) for rule, found in by_rule.items() if found["n_excluded"]]


def _text(start: str, found: Mapping[str, Any]) -> str:
    n, n_excluded = found["n_triggers"], found["n_excluded"]
    conditions = ", ".join(f"{name} {count:,}" for name, count in found["conditions"].items())
    several = " (one with several conditions counts for each)" * (sum(found["conditions"].values()) > n_excluded)
    noun = "trigger" if n == 1 else "triggers"
    return f"{start}{found['preset']} leaves out {n_excluded:,} of {n:,} {noun}: {conditions}{several}."


def unsettled_text(merged_actors: Mapping[str, Any]) -> str:
    """A sentence about documents whose Markov chains disagree, by the result of `MergedActors.summary`; "" if none."""
    n, doc_ids = merged_actors["n_documents"]["unsettled chain"], merged_actors["unsettled"]
    if not n:
        return ""
    names = ", ".join(doc_ids) + f" and {n - len(doc_ids):,} more" * (n > len(doc_ids))
    return (
        f"Conditioned samples did not settle in {n:,} document{'s' * (n > 1)}, where many mentions may be of distinct "
        f"actors: {names}. Probabilities there are not reliable."
    )


def merging_text(found: Mapping[str, Any]) -> str:
    """A sentence about the result of `MergedActors.summary`."""
    worst = "; ".join(f"{each['mention']!r} in {each['doc_id']}, {each['probability']:.2f}" for each in found["worst"])
    return (
        f"Coreference merges different actors with probability {found['probability']:.3f} per mention that names one, "
        f"before the samples are conditioned: above .2 for {100 * found['share_above_0.2']:.1f}% of "
        f"{found['n_mentions']:,.0f} mentions" + f"; most for {worst}" * bool(worst) + "."
    )
