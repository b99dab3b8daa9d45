"""Which changes of a rule find the events that it misses: each is counted, and chosen by its gain in other folds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from corefsample._arrays import Bools, Floats
from corefsample._log import log_step
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError
from corefsample.formats import DocumentStream
from events._selection import Selection
from events.audit import AuditPlan
from events.audit._paired import HALF, CrossValidation, LabelledCells, target_probabilities
from events.commands._explaining import parses_of
from events.commands._rule_changes import NAME, Change, ParsedDocument, RuleChanges, Words, merged, trigger_words
from events.counting._counter import EventCounter
from events.lexicon._lexicon import Lexicon, lexicon_with_nouns
from events.rules._outcomes import ANYBODY
from events.rules._rules import Rule
from events.runs.counting._plan import RunPlan

_MOST_WORDS = 80  # triggers that are counted, of all words of the missed documents
_MOST_FRAMES = 63  # of a counter
_LEAST_GAIN = 1e-6
_SAME = 0.1  # P of the run and P of its rule now

_Sentences = dict[tuple[str, int], str]  # by document and token of a trigger
_T = TypeVar("_T")


class Corpus:
    """The documents of a run, counted with rules that are changed.

    Parameters
    ----------
    run
        What the run counted, and how; its inputs must still be there.
    plan, cells
        Of the audit: the labels of events of one rule.
    actors
        Actor of each of their targets, or "*".
    """

    def __init__(self, run: RunPlan, plan: AuditPlan, cells: LabelledCells, actors: Sequence[str]) -> None:
        self._run, self._cells = run, cells
        self.actors = actors
        self.doc_ids: list[str] = plan.frame.doc_ids.tolist()
        sample = plan.sample[cells.documents]
        self.labels = np.full((len(self.doc_ids), len(actors)), "", object)
        self.labels[sample, cells.targets] = np.where(cells.is_positive, "right", "wrong")
        labelled, self._rows = np.unique(sample, return_inverse=True)
        self.labelled = [self.doc_ids[row] for row in labelled.tolist()]

    def _stream(self) -> DocumentStream:
        options = self._run.options
        return DocumentStream(
            [each.place for each in self._run.inputs],
            needs=("date", "tokens"),
            on_rejected=_ignored,
            parses=True,
            selected=Selection(options.where) if options.where else None,
        )

    @cached_property
    def sample(self) -> list[DocumentBatch]:
        """The labelled documents."""
        wanted = {*self.labelled}
        rows_of = ((each, [row for row, name in enumerate(each.doc_ids) if name in wanted]) for each in self._stream())
        found = [batch.take(rows) for batch, rows in rows_of if rows]
        if sum(map(len, found)) < len(wanted):
            rule = f"inputs must have the {len(wanted):,} labelled documents, got {sum(map(len, found)):,}"
            raise InputError(rule, place=", ".join(each.path for each in self._run.inputs))
        return found

    def parsed(self) -> list[ParsedDocument]:
        """The likeliest parse of the document of each cell."""
        found = {}
        for batch in self.sample:
            for row, doc_id in enumerate(batch.doc_ids):
                _, parses, place = max(parses_of(batch, row), key=lambda parse: parse[0])
                tokens = parses.tokens(place)
                assert tokens is not None  # the stream needs them
                found[doc_id] = ParsedDocument(tokens, parses.spans(place), batch.dates[row].item())
        return [found[self.labelled[row]] for row in self._rows.tolist()]

    def cells_of(self, rules: Sequence[Rule], lexicon: Lexicon) -> list[Floats]:
        """P of each rule in the labelled cells."""
        counted = self._counted(rules, lexicon, lambda: self.sample, self.labelled)
        return [p[self._rows, self._cells.targets] for p, _ in counted]

    def whole(self, rules: Sequence[Rule], lexicon: Lexicon) -> list[tuple[Floats, _Sentences]]:
        """P of each rule in all documents and of all targets, and the sentences of its triggers."""
        return list(self._counted(rules, lexicon, self._stream, self.doc_ids))

    def _counted(
        self,
        rules: Sequence[Rule],
        lexicon: Lexicon,
        documents: Callable[[], Iterable[DocumentBatch] | DocumentStream],
        doc_ids: Sequence[str],
    ) -> Iterator[tuple[Floats, _Sentences]]:
        options = self._run.options
        size = max(1, _MOST_FRAMES // max((len(each.frames) for each in rules), default=1))
        for start in range(0, len(rules), size):
            part = rules[start : start + size]
            counter = EventCounter(
                [dataclasses.replace(rule, name=str(i), outcomes=()) for i, rule in enumerate(part)],
                lexicon,
                scheme=options.scheme,
                n_samples=options.n_samples,
                seed=options.seed,
                recalibration=self._run.recalibration(),
                filled=options.filled,
            )
            log_step("suggesting: counting %d changed rules in %d documents", len(part), len(doc_ids))
            counter.update(documents())
            keys = [(str(i), actor) for i in range(len(part)) for actor in self.actors]
            p = target_probabilities(counter.table_of_all_documents(), doc_ids, keys)
            events = counter.events()
            for i, of_rule in enumerate(np.split(p, len(part), axis=1)):
                own = events[events["event"] == str(i)]
                places = zip(own["doc_id"].tolist(), own["token"].tolist(), strict=True)
                yield of_rule, dict(zip(places, own["sentence"].tolist(), strict=True))


def _ignored(rejected: Rejected) -> None:
    """Leave out a document that the run set aside."""


@dataclass(frozen=True, slots=True, eq=False)
class Suggestion:
    """A change, and what it would do alone.

    Attributes
    ----------
    change
        What would be added or removed.
    right, wrong
        Labelled documents that it finds besides, with a yes and without.
    unlabelled
        Other documents of the corpus that it finds besides.
    gain
        Growth of the mean log score by this change after those before it, in folds that did not choose it.
    doc_id, sentence
        An example that it finds.
    """

    change: Change
    right: int
    wrong: int
    unlabelled: int
    gain: float
    doc_id: str
    sentence: str


@dataclass(frozen=True, slots=True, eq=False)
class Suggested:
    """What was found.

    Attributes
    ----------
    chosen, weaker
        Changes with a gain in other folds, in the order in which they were chosen; and others that find missed events.
    content, nouns
        Of a file that extends the rule by the chosen ones, and of one that extends the lexicon, by code.
    before, after
        float64 (n_cells,): P by the rule, and with all that was chosen.
    n_tried
        Changes that were counted.
    """

    chosen: list[Suggestion]
    weaker: list[Suggestion]
    content: dict[str, Any]
    nouns: dict[str, Any]
    before: Floats
    after: Floats
    n_tried: int


class Suggester:
    """Finds changes of a rule by which it finds missed events.

    Parameters
    ----------
    corpus, cells
        The documents and labels.
    changes
        Of the rule.
    lexicon
        Name or path of the lexicon.
    seed
        Of the folds.
    """

    def __init__(self, corpus: Corpus, cells: LabelledCells, changes: RuleChanges, lexicon: str, seed: int = 0) -> None:
        self._corpus, self._cells, self._changes = corpus, cells, changes
        self._lexicon = lexicon
        self._names = lexicon_with_nouns(lexicon, {})
        self._validation = CrossValidation(cells, seed)

    def suggested(self, expected: Floats, most: int) -> Suggested:
        """Choose at most `most` changes.

        Parameters
        ----------
        expected
            float64 (n_cells,): P of the run, which the rule must still give.
        most
            Changes at most.

        Raises
        ------
        InputError
            If the rule, the lexicon or the inputs of the run have changed.
        """
        changes = self._changes
        before = self._corpus.cells_of([changes.rule], self._names)[0]
        if np.abs(before - expected).max() > _SAME:
            message = "rule and lexicon must give the probabilities of the run, got others for its labelled documents"
            raise InputError(message, place=changes.rule.source, hint="repeat the run")
        p = {
            change: np.maximum(before, found)
            for change, found in self._each(self._candidates(before), self._corpus.cells_of).items()
        }
        n_tried = len(p)
        missed = self._cells.is_positive & (before <= HALF)
        p = {change: found for change, found in p.items() if (missed & (found > HALF)).any()}
        chosen, now = self._greedy(before, p, most)
        within = {
            each: self._validation.gain_within(now, np.maximum(now, p[each])) for each in p.keys() - chosen.keys()
        }
        weaker = sorted(
            (each for each in within if within[each] > _LEAST_GAIN), key=lambda each: (-within[each], str(each))
        )
        content: dict[str, Any] = {}
        nouns: dict[str, Any] = {}
        for change in chosen:
            if change.kind == NAME:
                nouns = merged(nouns, change.content)
            else:
                content = merged(content, change.content)
        rule, lexicon = changes.changed(content), lexicon_with_nouns(self._lexicon, nouns)
        after = self._corpus.cells_of([rule], lexicon)[0]
        shown = self._described(chosen | dict.fromkeys(weaker[: max(0, most - len(chosen))], 0.0))
        return Suggested(shown[: len(chosen)], shown[len(chosen) :], content, nouns, before, after, n_tried)

    def _each(
        self, several: Sequence[Change], counted: Callable[[Sequence[Rule], Lexicon], list[_T]]
    ) -> dict[Change, _T]:
        """What is counted with each change: those of the rule together, those of the lexicon one by one."""
        ruled = [change for change in several if change.kind != NAME]
        rules = [self._changes.trial(change) for change in ruled]
        found = dict(zip(ruled, counted(rules, self._names), strict=True))
        for change in several:
            if change.kind == NAME:
                lexicon = lexicon_with_nouns(self._lexicon, change.content)
                found[change] = counted([self._changes.rule], lexicon)[0]
        return found

    def _candidates(self, before: Floats) -> list[Change]:
        """Changes that could find missed events, by their parses alone."""
        cells, actors = self._cells, self._corpus.actors
        missed = np.flatnonzero(cells.is_positive & (before <= HALF)).tolist()
        parsed = self._corpus.parsed()
        found = self._changes.from_traces([(parsed[i], actors[cells.targets[i]]) for i in missed])
        rule = self._changes.rule
        near_names = bool({*rule.event} - rule.optional)
        traces = [self._changes.trace(document) for document in parsed]
        words = [
            trigger_words(document, trace, near_names=near_names)
            for document, trace in zip(parsed, traces, strict=True)
        ]
        # An event of a word is thought to be that of every actor whom the document names, or who has it by default.
        by_default = {default.actor for default in rule.defaults.values()}
        actor_of = [actors[target] for target in cells.targets.tolist()]
        is_named = np.array(
            [
                actor == ANYBODY or actor in by_default or {*actor.split(">")} <= {*trace.names.codes.values()}
                for actor, trace in zip(actor_of, traces, strict=True)
            ],
            np.bool_,
        )
        cells_of: dict[Words, list[int]] = {}
        for i in np.flatnonzero(is_named).tolist():
            for each in words[i]:
                cells_of.setdefault(each, []).append(i)
        gains: dict[Words, float] = {}
        for each in {each for i in missed for each in words[i]} & cells_of.keys():
            after = before.copy()
            after[cells_of[each]] = 1.0
            gains[each] = self._validation.gain_within(before, after)
        best = sorted((each for each in gains if gains[each] > _LEAST_GAIN), key=lambda each: (-gains[each], each))
        return found + [self._changes.from_words(*each) for each in best[:_MOST_WORDS]]

    def _greedy(self, before: Floats, p: dict[Change, Floats], most: int) -> tuple[dict[Change, float], Floats]:
        """The change with the highest gain after those before it, again and again, and these gains; P with all."""
        chosen: dict[Change, float] = {}
        now = before
        while len(chosen) < most:
            gains = {each: self._validation.gain(now, np.maximum(now, p[each])) for each in p if each not in chosen}
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None or gains[best] <= _LEAST_GAIN:
                break
            chosen[best] = gains[best]
            now = np.maximum(now, p[best])
        return chosen, now

    def _described(self, gains: dict[Change, float]) -> list[Suggestion]:
        """What changes would do alone, in the whole corpus."""
        corpus = self._corpus
        before, known = corpus.whole([self._changes.rule], self._names)[0]
        found = []
        counted = self._each([*gains], corpus.whole)
        for change, gain in gains.items():
            p, sentences = counted[change]
            is_new = (p > HALF) & (before <= HALF)
            new = {label: self._documents(is_new & (corpus.labels == label)) for label in ("right", "wrong", "")}
            shown = next(
                (
                    (doc_id, " ".join(sentence.split()))
                    for documents in new.values()
                    for (doc_id, token), sentence in sentences.items()
                    if doc_id in documents and ((doc_id, token) not in known or change.kind in ("path", NAME))
                ),
                ("", ""),
            )
            n_other = len(new[""] - new["right"] - new["wrong"])
            found.append(Suggestion(change, len(new["right"]), len(new["wrong"]), n_other, gain, *shown))
        return found

    def _documents(self, chosen: Bools) -> set[str]:
        return {self._corpus.doc_ids[row] for row in np.flatnonzero(chosen.any(axis=1)).tolist()}
