"""Show sentences with a trigger of a rule, and why they make an event, or do not.

INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input. For each
trigger: the conditions that hold of it; for each role the path that matched and the word it led to, or the nearest
path, with the step that failed; and for each actor in the sentence the path of the parse that leads to it. For each
document shown: its events with P(event) from 1,000 samples, as `events` with the same --seed gives it, and by share
what happens in the samples without the event: the role has another actor, no actor, or several. Where a document has
several parses: what the trigger is in each of them, with their share.

Examples
--------
  corefsample explain scored.parquet --rule arrest --lexicon police
  corefsample explain scored.parquet --rule my_rule.yaml --trigger detain
  corefsample explain scored.parquet --rule kill --doc-id news-17
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from events.commands._explaining import ExplainOptions
from events.commands._parser import Command
from events.commands._screen import counted, print_pairs, print_text

if TYPE_CHECKING:
    from corefsample.files._paths import PathLike
    from events.commands._explaining import Explained, ExplainResult
    from events.runs._progress import Progress

_ROUNDING = 1e-9  # of the sum of the shares of parses
# What the outcome of a trigger means, after its name.
_OUTCOMES = {
    "counted": "an event",
    "excluded": "no event: a condition excludes it",
    "no actor": "an event only if coreference says who this is",
    "several actors": "no event by itself: an entity must be described as one actor",
    "other class": "no event by itself: the actor is of another class",
    "no mention": "no event: the path ends at no mention",
    "no path": "no event: no path of the role leads anywhere",
}


def run_explain(
    inputs: PathLike | Iterable[PathLike], options: ExplainOptions | None = None, *, on_progress: Progress | None = None
) -> ExplainResult:
    """Trace the triggers of a rule in scored documents, and choose some to show with the events of their documents.

    In a document with several parses, a trigger is traced in each of them. It counts once, with the outcome of those
    parses that are likeliest together.

    Parameters
    ----------
    inputs
        Files of scored mentions, globs, or "-" for JSON Lines on standard input; every document with tokens.
    options
        Which triggers.
    on_progress
        Called after each batch with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If no trigger of the rule has the lemma, or no document has the doc_id.
    InputError
        If a rule, a lexicon or a document breaks its rule.
    """
    from events.commands._explaining import explained

    return explained(inputs, options or ExplainOptions(), on_progress)


def print_explain(run: ExplainResult) -> None:
    """Print the triggers that were chosen, and what they are."""
    outcomes = ", ".join(f"{name} {count:,}" for name, count in sorted(run.outcomes.items()))
    print_text(
        f"Rule {run.rule}, preset {run.preset}, lexicon {run.lexicon}: {counted(run.n_triggers, 'trigger')} in "
        f"{counted(run.n_documents, 'document')}{': ' * bool(outcomes)}{outcomes}."
    )
    doc_id = ""
    for each in run.shown:
        click.echo()
        pairs = _pairs(each)
        if each.doc_id != doc_id:  # the triggers of a document follow each other
            doc_id = each.doc_id
            pairs.append(("P(event)", _shares(each)))
        print_pairs(_place(each), pairs)


def _shares(each: Explained) -> str:
    """Events of the document of a trigger."""
    from events.commands._explaining import N_SAMPLES

    if each.events is None:
        return "none: the labels fit several schemes, which give different events"
    shares = ", ".join(map(str, each.events)) or "0"
    return f"{shares}, of the document in {N_SAMPLES:,} samples"


def _place(each: Explained) -> str:
    return each.doc_id if each.date is None else f"{each.doc_id}, {each.date}"


def _pairs(each: Explained) -> list[tuple[str, str]]:
    """Lines about one trigger; the trigger is in brackets in its sentence."""
    words, place = list(each.words), each.trace.token - each.start
    words[place] = f"[{words[place]}]"
    pairs = [("sentence", " ".join(words)), *_reading(each)]
    for other in each.alternatives:
        pairs += _reading(other)
    missing = 1.0 - sum(reading.share for reading in (each, *each.alternatives))
    if missing > _ROUNDING:
        pairs.append(("parses", f"{missing:.3f} of them: no trigger"))
    return pairs


def _reading(each: Explained) -> list[tuple[str, str]]:
    """Lines about what a trigger is in some or all parses."""
    trace = each.trace
    pairs = [("parses", f"{each.share:.3f} of them:")] if each.share < 1.0 - _ROUNDING else []
    pairs.append(("trigger", f"{trace.trigger} (frame {trace.frame})"))
    pairs.append(("outcome", f"{trace.outcome} ({_OUTCOMES[trace.outcome]})"))
    if trace.conditions:
        pairs.append(("conditions", ", ".join(trace.conditions)))
    for role in trace.roles:
        if role.path is None:
            remark = " (optional)" if role.is_optional else ""
            pairs.append((role.role, f"nothing{remark}; nearest path {each.near_miss(role)}"))
            continue
        assert role.token is not None  # the end of the path
        actors = ", ".join(role.codes) or "no actor"
        if role.codes and not role.in_class:
            actors += " (another class)"
        pairs.append((role.role, f"{each.text(role.token)} = {actors}, by {role.path or 'the trigger itself'}"))
    for actor in trace.actors:
        remark = "" if actor.describes else " (describes no mention)"
        pairs.append(("actor", f"{each.text(*actor.span)} = {actor.code}{remark}, at {actor.route or 'another tree'}"))
    return pairs


command = Command(ExplainOptions, run_explain, print_explain, "inputs+", task="explaining")
