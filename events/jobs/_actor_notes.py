"""What a run of `events` says about its lexicon: no actor found, or only countries where a rule expects others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corefsample._log import logger
from corefsample.files import PathLike
from events.counting import role_columns
from events.jobs.partitions import EventsOptions
from events.lexicon import SHIPPED, SHIPPED_LEXICONS, Lexicon, load_lexicon
from events.rules import Rule, load_rules

__all__ = ["actor_notes", "warn_about_actors"]


def warn_about_actors(folder: PathLike, options: EventsOptions) -> None:
    """Log what `actor_notes` finds in the folder of a finished run."""
    import pandas as pd

    counts = pd.read_parquet(Path(folder) / "counts.parquet")
    actors = {actor for column in role_columns(counts.columns) for actor in counts[column].unique()}
    names = [options.rule] if isinstance(options.rule, str) else options.rule
    rules = [load_rules(name, options.preset) for name in names]
    for note in actor_notes(rules, load_lexicon(options.lexicon), actors):
        logger("events").warning("%s", note)


def actor_notes(rules: Sequence[Rule], lexicon: Lexicon, actors: set[str]) -> list[str]:
    """Sentences about a lexicon that probably is not the one that the rules need.

    Parameters
    ----------
    rules, lexicon
        What was counted.
    actors
        Codes that fill a role somewhere; "" stands for none.
    """
    notes = []
    with_roles = [rule for rule in rules if rule.event]
    if with_roles and not actors - {""}:
        names = ", ".join(rule.name for rule in with_roles)
        notes.append(
            f"no actor of the lexicon {lexicon.source} fills a role of {names} in any document: `corefsample doctor` "
            "with the rule and the lexicon counts what each of them finds"
        )
    for rule in with_roles:
        missing = _expected(rule) - set(lexicon.codes)
        if missing and lexicon.source == SHIPPED:
            codes = ", ".join(sorted(missing))
            others = [name for name in SHIPPED_LEXICONS if missing <= set(load_lexicon(name).codes)]
            other = f"the lexicon {others[0]} has them" if others else "give the lexicon that has them"
            notes.append(
                f"only countries can fill the roles of {rule.name}, whose examples have other actors ({codes}): {other}"
            )
    return notes


def _expected(rule: Rule) -> set[str]:
    """Codes of actors that the examples of the preset expect; "-" stands for none."""
    events = [event for example in rule.examples for event in example.expect.get(rule.preset, ())]
    return {code for event in events for code in event.split(">")} - {"-", ""}
