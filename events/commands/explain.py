"""Show sentences with a trigger of a rule, and why they make an event, or do not.

INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; or the folder of
a finished run of `events`, whose files, rules, lexicon and samples are used. For each trigger: the conditions that it
meets; P that it reports the event, with the nearest texts from which the model of triggers was fitted, if its file has
them; for each role the path that matched and the word it led to, or the nearest path, with the step that failed; and
for each actor in the sentence the path of the parse that leads to it. For each document shown: its events with P(event)
from 1,000 samples, as `events` with the same --seed gives it, and the shares of the samples without the event in which
the role has another actor, no actor, or several actors. Of a document with several parses, the likeliest is shown.

Examples
--------
  corefsample explain scored.parquet --rule arrest --lexicon police
  corefsample explain scored.parquet --rule my_rule.yaml --trigger detain
  corefsample explain run --doc-id news-17 --rule kill --actor IRQ
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from corefsample.errors import ParameterError
from corefsample.files._paths import is_run, path_list
from events import _options as shared
from events._summary import Pairs, Summary, counted
from events.commands._parser import Command

if TYPE_CHECKING:
    from corefsample.files._paths import Inputs
    from events.inspection._trigger_traces import ExplainedTrigger

_OF_RUN = ("preset", "triggers", "encoder", "lexicon", "scheme", "seed", "filled")  # options that a run has already
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


@shared.declared
class ExplainOptions(shared.LexiconOption, shared.TriggerModelOption, shared.SchemeOption, shared.Seed):
    """Options that select triggers to explain.

    Attributes
    ----------
    rule
        Shipped rule, or YAML file of your own with a rule, or with outcomes and their rules; of a run, one of its
        rules. [default: attack; of a run all]
    preset
        Preset of the rule. [default: asserted, or the only preset of a file]
    doc_id
        Show only this document. [default: all]
    filled
        Actors that count where a rule has default actors ("was arrested": by the police): those named in the text,
        those by default, or either.
    actor
        Show only events of this actor, and without --doc-id only documents with such an event. [default: all]
    trigger
        Show only sentences with this trigger. [default: all]
    sample
        Number of sentences to show, drawn at random. [default: 20; with --doc-id all]
    seed
        Seed of the random draws: the same seed gives the same sentences.
    """

    rule: str | None = shared.option(default=None, metavar="RULE")
    preset: str | None = shared.option(default=None, metavar="NAME")
    doc_id: str | None = shared.option(default=None, metavar="ID")
    filled: Literal["either", "named", "default"] = "either"
    actor: str | None = shared.option(default=None, metavar="CODE")
    trigger: str | None = shared.option(default=None, metavar="WORDS")
    sample: int | None = shared.option(default=None, at_least=1)


def run_explain(
    inputs: Inputs, options: ExplainOptions | None = None, *, on_progress: shared.Progress | None = None
) -> Summary:
    """Trace the triggers of a rule in scored documents, and draw some to show: see `explain_triggers`.

    The inputs can be the folder of a finished run, whose rules, lexicon, recalibration and samples are then used.
    """
    from events.evidence._rule_set import RuleSet
    from events.inspection._trigger_traces import explain_triggers
    from events.rule_error._counts import reader_probabilities
    from events.runs._count_parts import checked_contents, corpus_recalibration
    from events.runs._count_run import definitions_of_run

    options = options or ExplainOptions()
    selection = options.subset("doc_id", "actor", "trigger", "sample", "scheme", "seed")
    folders = [path for path in path_list(inputs) if is_run(path)]
    if folders:
        for name in _OF_RUN:
            if getattr(options, name) != getattr(ExplainOptions, name):
                raise ParameterError("cannot be combined with a run, which has its own", parameter=name)
        if len(folders) < len(path_list(inputs)):
            raise ParameterError("must be one run, or files of scored mentions", parameter="inputs")
        inputs, definitions, counting = definitions_of_run(folders[0], options.rule)
        selection |= {
            **counting.subset("scheme", "seed", "n_samples"),
            "has_coreference": counting.coreference != "none",
            "readers": reader_probabilities(folders[0]),
        }
        if counting.coreference != "none":
            selection["recalibration"] = corpus_recalibration(counting, checked_contents(counting))
    else:
        rule = [options.rule or "attack"], options.preset, options.lexicon
        definitions = RuleSet.named(*rule, examples=False, **options.subset("triggers", "encoder")).only(options.filled)
    values, triggers = explain_triggers(inputs, definitions, **selection, on_progress=on_progress)
    return Summary(values={**values, "shown": triggers}, shown=[*_shown(values, triggers)], result=triggers)


def _shown(values: Mapping[str, Any], shown: Sequence[ExplainedTrigger]) -> Iterator[str | Pairs]:
    """Yield the numbers of triggers by outcome, and the triggers that were drawn."""
    outcomes = ", ".join(f"{name} {count:,}" for name, count in sorted(values["outcomes"].items()))
    yield (
        f"Rule {values['rule']}, preset {values['preset']}, lexicon {values['lexicon']}: "
        f"{counted(values['n_triggers'], 'trigger')} in "
        f"{counted(values['n_documents'], 'document')}{': ' * bool(outcomes)}{outcomes}."
    )
    if values["n_by_nobody"]:
        yield (
            f"Without coreference, {counted(values['n_with_event'], 'document')} with the event: "
            f"{values['n_by_actor']:,} by an actor, {values['n_by_nobody']:,} by nobody whom the lexicon names."
        )
    if values["n_several_parses"]:
        yield f"The likeliest parse alone is shown of {counted(values['n_several_parses'], 'document')} with several."
    for _, triggers in groupby(shown, key=lambda trigger: trigger.doc_id):  # those of a document are adjacent
        for number, trigger in enumerate(triggers):
            shares = [] if number else [("P(event)", _shares(trigger, values["n_samples"]))]
            yield ""
            yield Pairs(", ".join(filter(None, (trigger.doc_id, trigger.date))), [*_pairs(trigger), *shares])


def _shares(trigger: ExplainedTrigger, n_samples: int) -> str:
    """Text with the events of a trigger's document and their probabilities."""
    if trigger.events is None:
        return "none: the labels fit several schemes, which give different events"
    shares = []
    for event in trigger.events:
        by_default = {"default": " by default", "both": " in several ways"}.get(event["filled"], "")
        stand_ins = f"; {event['stand_ins']}" if event["stand_ins"] else ""
        reasons = f"; without it: {event['reasons']}" if event["reasons"] else ""
        reader = f"; a reader says yes {event['reader_probability']:.3f}" if event["reader_probability"] else ""
        figures = f"{event['probability']:.3f} (MC error {event['mc_se']:.3f}{reader}{stand_ins}{reasons})"
        shares.append(f"{event['actors']}{by_default} {figures}")
    return f"{', '.join(shares) or '0'}, of the document in {n_samples:,} samples"


def _pairs(trigger: ExplainedTrigger) -> Iterator[tuple[str, str]]:
    """Yield names and values about a trigger, which is in brackets in its sentence."""
    trace, words = trigger.trace, list(trigger.words)
    words[trace.token - trigger.start] = f"[{words[trace.token - trigger.start]}]"
    yield "sentence", " ".join(words)
    yield "trigger", f"{trace.trigger} (frame {trace.frame})"
    remark = "" if trace.is_named or trace.outcome != "counted" else " by nobody whom the lexicon names"
    yield "outcome", f"{trace.outcome} ({_OUTCOMES[trace.outcome]}{remark})"
    if trace.chance is not None:
        yield "reports", f"P(the trigger reports this event) {trace.chance:.3f}"
    for text in trigger.nearest_texts:
        yield "like", f"{text.text} (reports {', '.join(text.types) or 'no event'})"
    if trace.conditions:
        met = zip(trace.conditions, trace.condition_words, strict=True)
        yield "conditions", ", ".join(f"{name} ({word!r})" for name, word in met)
    for role in trace.roles:
        if role.path is None:
            remark = " (optional)" if role.is_optional else ""
            yield role.role, f"nothing{remark}; nearest path {role.near_miss}"
            continue
        actors = ", ".join(role.actors) or "no actor"
        if role.actors and not role.in_class:
            actors += " (another class)"
        yield role.role, f"{role.word} = {actors}, by {role.path or 'the trigger itself'}"
    for actor in trace.actors:
        remark = "" if actor.describes_a_mention else " (describes no mention)"
        path = {None: "another tree", "": "the trigger itself"}.get(actor.path_from_trigger, actor.path_from_trigger)
        yield "actor", f"{actor.words} = {actor.actor}{remark}, at {path}"


command = Command(ExplainOptions, run_explain, "inputs+", task="explaining")
