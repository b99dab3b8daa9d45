"""Commands about rules: explain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from events.cli._options import Command, json_option, max_line_option, print_result, scheme_option, seed_option
from events.cli._screen import counted, print_pairs, print_text, progress

if TYPE_CHECKING:
    from events.jobs.explain import Explained, Explanation

__all__ = ["explain"]

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


@click.command(cls=Command, short_help="Show why sentences make an event, or do not.")
@click.argument("inputs", nargs=-1, required=True)
@click.option("--rule", default="attack", metavar="RULE", help="A shipped rule, or a YAML file of your own.")
@click.option("--preset", default="paper", metavar="NAME", help="Preset of the rule.")
@click.option("--lexicon", metavar="FILE", help="countries, police, or a YAML file.  [default: countries]")
@scheme_option
@click.option("--doc-id", metavar="ID", help="Only this document.  [default: all]")
@click.option("--trigger", metavar="LEMMA", help="Only this trigger.  [default: all]")
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    help="Sentences to show, drawn at random.  [default: 20; with --doc-id all]",
)
@seed_option("Same seed, same sentences.")
@max_line_option
@json_option
def explain(inputs: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Show sentences with a trigger of a rule, and why they make an event, or do not.

    INPUTS are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input. For each
    trigger: the conditions that hold of it; for each role the path that matched and the word it led to, or the nearest
    path, with the step that failed; and for each actor in the sentence the path of the parse that leads to it. For each
    document shown: its events with P(event) from 1,000 samples, as `events` with the same --seed gives it. Where a
    document has several parses: what the trigger is in each of them, with their share.

    \b
    Examples:
      corefsample explain scored.parquet --rule arrest --lexicon police
      corefsample explain scored.parquet --rule my_rule.yaml --trigger detain
      corefsample explain scored.parquet --rule kill --doc-id news-17
    """
    from events.jobs.explain import ExplainOptions, run_explain

    with progress("explaining", as_json) as on_progress:
        run = run_explain(inputs, ExplainOptions(**options), on_progress=on_progress)
    print_result(run, as_json, _print_explanation)


def _print_explanation(run: Explanation) -> None:
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
    from events.jobs.explain import N_SAMPLES

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
