"""Show sentences with a trigger of a rule, and why they make an event, or do not.

INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input. For each
trigger: the conditions that it meets; for each role the path that matched and the word it led to, or the nearest path,
with the step that failed; and for each actor in the sentence the path of the parse that leads to it. For each document
shown: its events with P(event) from 1,000 samples, as `events` with the same --seed gives it, and the shares of the
samples without the event in which the role has another actor, no actor, or several actors. Where a document has several
parses: what matched, in which share of them, and an example from one of the most probable parses.

Examples
--------
  corefsample explain scored.parquet --rule arrest --lexicon police
  corefsample explain scored.parquet --rule my_rule.yaml --trigger detain
  corefsample explain scored.parquet --rule kill --doc-id news-17 --all-parses
"""

from __future__ import annotations

import dataclasses
import hashlib
import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Literal

import click

from corefsample.errors import ParameterError
from events import _shared_options as shared
from events._options import CommandResult, Progress, declared, option
from events._summary import counted
from events.commands._parser import Command
from events.commands._screen import pair_lines, print_text

if TYPE_CHECKING:
    from corefsample.documents._batch import DocumentBatch
    from corefsample.documents._faults import Fault
    from corefsample.files._paths import Inputs
    from events.commands._explaining import EventShare, Explained
    from events.rules._rules import Rule

_DEFAULT_SAMPLE = 20  # number of triggers that are shown
_SCREEN = 40  # number of lines about a document with several parses
_MATCHES = 4  # number of different matches of a trigger that are listed
# Explanation of the outcome of a trigger, by its name.
_OUTCOMES = {
    "counted": "an event",
    "excluded": "no event: a condition excludes it",
    "no actor": "an event only if coreference says who this is",
    "several actors": "no event by itself: an entity must be described as one actor",
    "other class": "no event by itself: the actor is of another class",
    "no mention": "no event: the path ends at no mention",
    "no path": "no event: no path of the role leads anywhere",
}


@declared
class ExplainOptions(shared.LexiconOption, shared.SchemeOption, shared.Seed):
    """Options that select triggers to explain.

    Attributes
    ----------
    rule
        Shipped rule, or YAML file of your own with a rule, or with outcomes and their rules.
    preset
        Preset of the rule. [default: asserted, or the only preset of a file]
    doc_id
        Show only this document. [default: all]
    filled
        Actors that count where a rule has default actors ("was arrested": by the police): those named in the text,
        those by default, or either.
    trigger
        Show only sentences with this trigger. [default: all]
    sample
        Number of sentences to show, drawn at random. [default: 20; with --doc-id all]
    all_parses
        Show every parse of a trigger whose document has several. [default: the likeliest, and a summary of the others]
    seed
        Seed of the random draws: the same seed gives the same sentences.
    """

    rule: str = option(default="attack", metavar="RULE")
    preset: str | None = option(default=None, metavar="NAME")
    doc_id: str | None = option(default=None, metavar="ID")
    filled: Literal["either", "named", "default"] = "either"
    trigger: str | None = option(default=None, metavar="WORDS")
    sample: int | None = option(default=None, at_least=1)
    all_parses: bool = False


@dataclass(frozen=True, slots=True)
class ExplainResult(CommandResult):
    """Triggers of a corpus with their outcomes.

    Attributes
    ----------
    rule, preset, lexicon
        Names of the rule and of its preset, and the source of the lexicon.
    n_documents
        Number of documents read.
    n_with_event, n_by_actor, n_by_nobody
        Number of documents with a trigger that makes an event without coreference; number of those with an event by an
        actor of the lexicon; and number of those with an event whose optional role no name of the lexicon fills.
    n_triggers
        Number of triggers that the options select.
    outcomes
        Number of these triggers by outcome.
    shown
        Triggers that were drawn at random to be shown, in the order of the corpus.
    all_parses
        True if all parses of a trigger are shown.
    """

    rule: str
    preset: str
    lexicon: str
    n_documents: int
    n_with_event: int
    n_by_actor: int
    n_by_nobody: int
    n_triggers: int
    outcomes: dict[str, int]
    shown: tuple[Explained, ...]
    all_parses: bool = False


def run_explain(
    inputs: Inputs, options: ExplainOptions | None = None, *, on_progress: Progress | None = None
) -> ExplainResult:
    """Trace the triggers of a rule in scored documents, and draw some to show with the events of their documents.

    In a document with several parses, a trigger is traced in each of them. It counts once, with the outcome that has
    the largest share of the parses.

    Parameters
    ----------
    inputs
        Paths of files of scored mentions, globs, or "-" for JSON Lines on standard input. Documents must have tokens.
    options
        Options that select the triggers, and the number of triggers that are shown.
    on_progress
        Function that is called after each batch with the bytes read, the bytes of all files, and the number of
        documents.

    Raises
    ------
    ParameterError
        If no trigger of the rule has the lemma `trigger`, or no document has the doc_id `doc_id`.
    InputError
        If a rule, a lexicon or a document is invalid.
    """
    from corefsample.formats import DocumentStream
    from corefsample.posterior._posterior import CorpusRecalibration
    from events.commands._explaining import N_SAMPLES, document_events, explained
    from events.commands._reading import batches
    from events.counting._acceptance import Acceptance
    from events.counting._definitions import Definitions
    from events.counting._evaluation import RuleFinder
    from events.matching._screening import Screen
    from events.matching._tracing import COUNTED

    options = options or ExplainOptions()
    definitions = Definitions.named([options.rule], options.preset, options.lexicon, examples=False)
    definitions, recalibration = definitions.only(options.filled), CorpusRecalibration(seed=options.seed)
    rules = definitions.whole_rules
    acceptance = Acceptance(needs=(), language=definitions.language)
    screen = Screen(definitions.rules, definitions.lexicon, options.scheme)
    finder = RuleFinder(screen, definitions.outcomes, N_SAMPLES, options.seed)
    lemma = _wanted_lemma(rules, options.trigger)
    limit = options.sample or (math.inf if options.doc_id is not None else _DEFAULT_SAMPLE)
    sampled: list[tuple[int, int, Explained, DocumentBatch, int]] = []  # heap by minus the random rank
    outcomes: Counter[str] = Counter()
    n_documents = n_triggers = n_by_actor = n_by_nobody = n_with_event = 0
    has_document = options.doc_id is None
    stream = DocumentStream(inputs, needs=("tokens",), parses=True)

    def inspect(batch: DocumentBatch) -> tuple[dict[int, None], dict[int, Fault]]:
        nonlocal recalibration
        recalibration = recalibration.fixed_by(batch.metadata(0))
        return {}, acceptance.faults(batch, recalibration)

    accepted = batches(stream, on_progress, inspect)
    for batch, row in ((documents, row) for documents, _ in accepted for row in documents.firsts.tolist()):
        n_documents += 1
        if options.doc_id not in (None, batch.doc_ids[row]):
            continue
        has_document = True
        has_event = {True: False, False: False}  # by whether actors of the lexicon fill all roles
        for trigger in (named for rule in rules for named in _named(explained(batch, row, rule, screen), rules, rule)):
            if lemma is not None and not _has_lemma(trigger, lemma):
                continue
            n_triggers += 1
            outcomes[trigger.trace.outcome] += 1
            has_event[trigger.trace.is_named] |= trigger.trace.outcome == COUNTED
            rank = -_rank(options.seed, trigger.doc_id, trigger.trace.token)
            heapq.heappush(sampled, (rank, n_triggers, trigger, batch, row))
            if len(sampled) > limit:
                heapq.heappop(sampled)
        n_by_actor += has_event[True]
        n_by_nobody += has_event[False]
        n_with_event += any(has_event.values())
    if not has_document:
        raise ParameterError(f"must be the doc_id of a document, got {options.doc_id!r}", parameter="doc_id")
    events: dict[str, tuple[EventShare, ...] | None] = {}
    for _, _, trigger, batch, row in sampled:
        if trigger.doc_id not in events:
            events[trigger.doc_id] = document_events(batch, row, finder, recalibration)
    ordered = sorted(sampled, key=lambda item: item[1])
    shown = tuple(dataclasses.replace(trigger, events=events[trigger.doc_id]) for _, _, trigger, *_ in ordered)
    sums = n_documents, n_with_event, n_by_actor, n_by_nobody, n_triggers, dict(outcomes)
    names, presets = (", ".join(dict.fromkeys(getattr(rule, name) for rule in rules)) for name in ("name", "preset"))
    return ExplainResult(names, presets, definitions.lexicon.source, *sums, shown, options.all_parses)


def _named(triggers: Iterable[Explained], rules: Sequence[Rule], rule: Rule) -> Iterator[Explained]:
    """Yield the triggers of a rule; if there are several rules, frames are named RULE.FRAME."""
    for trigger in triggers:
        if len(rules) == 1:
            yield trigger
            continue
        readings = [
            dataclasses.replace(
                reading, trace=dataclasses.replace(reading.trace, frame=f"{rule.name}.{reading.trace.frame}")
            )
            for reading in (trigger, *trigger.alternatives)
        ]
        yield dataclasses.replace(readings[0], alternatives=tuple(readings[1:]))


def _wanted_lemma(rules: Sequence[Rule], trigger: str | None) -> str | None:
    """Return a trigger in lower case, or raise ParameterError if no rule has such a trigger."""
    if trigger is None:
        return None
    words = {word for rule in rules for frame in rule.frames for word in frame.words}
    if trigger.lower() not in words:
        described = "; ".join(f"{rule.name}, preset {rule.preset} ({rule.triggers})" for rule in rules)
        rule_text = f"must be a trigger of the rule {described}"
        raise ParameterError(f"{rule_text}, got {trigger!r}", parameter="trigger")
    return trigger.lower()


def _has_lemma(explained: Explained, lemma: str) -> bool:
    return any(lemma in each.trace.trigger.split() for each in (explained, *explained.alternatives))


def _rank(seed: int, doc_id: str, token: int) -> int:
    """A pseudorandom number that depends on the seed and the trigger alone."""
    return int.from_bytes(hashlib.blake2b(f"{seed}\0{doc_id}\0{token}".encode(), digest_size=8).digest(), "big")


def print_explain(run: ExplainResult) -> None:
    """Print the numbers of triggers by outcome, and the triggers that were drawn."""
    outcomes = ", ".join(f"{name} {count:,}" for name, count in sorted(run.outcomes.items()))
    print_text(
        f"Rule {run.rule}, preset {run.preset}, lexicon {run.lexicon}: {counted(run.n_triggers, 'trigger')} in "
        f"{counted(run.n_documents, 'document')}{': ' * bool(outcomes)}{outcomes}."
    )
    if run.n_by_nobody:
        print_text(
            f"Without coreference, {counted(run.n_with_event, 'document')} with the event: {run.n_by_actor:,} by an "
            f"actor, {run.n_by_nobody:,} by nobody whom the lexicon names."
        )
    for _, shown in groupby(run.shown, key=lambda trigger: trigger.doc_id):  # triggers of a document are adjacent
        _print_document([*shown], all_parses=run.all_parses)


def _print_document(shown: Sequence[Explained], *, all_parses: bool) -> None:
    """Print the triggers of a document; with several parses at most 40 lines, unless `all_parses` is true."""
    is_limited = not all_parses and any(trigger.has_several for trigger in shown)
    n_lines = 0
    for number, trigger in enumerate(shown):
        pairs = _pairs(trigger, all_parses=all_parses)
        if not number:
            pairs.append(("P(event)", _shares(trigger)))
        lines = ["", *pair_lines(_heading(trigger), pairs)]
        n_lines += len(lines)
        if is_limited and number and n_lines > _SCREEN - 2:  # two lines summarise the other triggers
            outcomes = Counter(hidden.trace.outcome for hidden in shown[number:])
            kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(outcomes.items()))
            click.echo()
            print_text(
                f"{_heading(trigger)}: {counted(len(shown) - number, 'more trigger')}, {kinds}; --all-parses shows all."
            )
            return
        for line in lines:
            click.echo(line)


def _shares(trigger: Explained) -> str:
    """Text with the events of a trigger's document and their probabilities."""
    from events.commands._explaining import N_SAMPLES

    if trigger.events is None:
        return "none: the labels fit several schemes, which give different events"
    shares = ", ".join(map(str, trigger.events)) or "0"
    return f"{shares}, of the document in {N_SAMPLES:,} samples"


def _heading(trigger: Explained) -> str:
    return trigger.doc_id if trigger.date is None else f"{trigger.doc_id}, {trigger.date}"


def _pairs(trigger: Explained, *, all_parses: bool) -> list[tuple[str, str]]:
    """Pairs of name and value about a trigger, which is in brackets in its sentence."""
    words, position = list(trigger.words), trigger.trace.token - trigger.start
    words[position] = f"[{words[position]}]"
    pairs = [("sentence", " ".join(words))]
    if all_parses or not trigger.has_several:
        for reading in (trigger, *trigger.alternatives):
            share = f"{reading.share:.3f} of them:"
            pairs += [("parses", share), *_reading(reading)] if trigger.has_several else _reading(reading)
        if trigger.share_without:
            pairs.append(("parses", f"{trigger.share_without:.3f} of them: no trigger"))
        return pairs
    matches: dict[str, float] = {}
    for reading in (trigger, *trigger.alternatives):
        matches[reading.match()] = matches.get(reading.match(), 0.0) + reading.share
    if trigger.share_without:
        matches["no trigger"] = trigger.share_without
    ordered = sorted(matches.items(), key=lambda item: -item[1])
    few = [f"{share:.3f} {match}" for match, share in ordered[:_MATCHES]]
    if len(ordered) > _MATCHES:
        few.append(f"{math.fsum(share for _, share in ordered[_MATCHES:]):.3f} others")
    return [
        *pairs,
        ("parses", "; ".join(few)),
        ("likeliest", f"{trigger.share:.3f} of them, for example:"),
        *_reading(trigger),
    ]


def _reading(reading: Explained) -> list[tuple[str, str]]:
    """Pairs of name and value about the trace of a trigger in some parses or in all."""
    trace = reading.trace
    pairs = [("trigger", f"{trace.trigger} (frame {trace.frame})")]
    remark = " by nobody whom the lexicon names" if reading.is_by_nobody else ""
    pairs.append(("outcome", f"{trace.outcome} ({_OUTCOMES[trace.outcome]}{remark})"))
    if trace.conditions:
        words = zip(trace.conditions, trace.condition_words, strict=True)
        pairs.append(("conditions", ", ".join(f"{name} ({word!r})" for name, word in words)))
    for role in trace.roles:
        if role.path is None:
            remark = " (optional)" if role.is_optional else ""
            pairs.append((role.role, f"nothing{remark}; nearest path {role.near_miss}"))
            continue
        actors = ", ".join(role.actors) or "no actor"
        if role.actors and not role.in_class:
            actors += " (another class)"
        pairs.append((role.role, f"{role.word} = {actors}, by {role.path or 'the trigger itself'}"))
    for actor in trace.actors:
        remark = "" if actor.describes_a_mention else " (describes no mention)"
        path = {None: "another tree", "": "the trigger itself"}.get(actor.path_from_trigger, actor.path_from_trigger)
        pairs.append(("actor", f"{actor.words} = {actor.actor}{remark}, at {path}"))
    return pairs


command = Command(
    ExplainOptions,
    run_explain,
    "inputs+",
    task="explaining",
    show=print_explain,
)
