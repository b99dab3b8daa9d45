"""What a run of `events` says about its lexicon: no actor found, or only countries where a rule expects others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corefsample._log import logger
from corefsample.files._paths import PathLike
from events.counting._keys import event_key
from events.lexicon._file import SHIPPED, SHIPPED_LEXICONS
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.rules._rules import Rule

__all__ = ["Inspected", "actor_notes", "inspected", "warn_about_actors"]


@dataclass(frozen=True, slots=True)
class Inspected:
    """What was found in all documents of a run.

    Attributes
    ----------
    n_documents, n_with_trigger, n_named
        Documents; those with a trigger of a rule; those with a word that may begin the name of an actor.
    actors
        Codes of actors that fill a role in some document.
    """

    n_documents: int
    n_with_trigger: int
    n_named: int
    actors: frozenset[str]


def warn_about_actors(folder: PathLike, rules: Sequence[Rule], lexicon: Lexicon) -> None:
    """Log what `actor_notes` finds in the folder of a finished run."""
    for note in actor_notes(rules, lexicon, inspected(folder)):
        logger("events").warning("%s", note)


def inspected(folder: PathLike) -> Inspected:
    """What a finished run found, from its table of all documents."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(Path(folder) / "all_documents.parquet", columns=["trigger", "actor", "actors"])
    events = pc.unique(pc.list_flatten(table["actors"])).to_pylist()
    return Inspected(
        len(table),
        pc.sum(table["trigger"]).as_py() or 0,
        pc.sum(table["actor"]).as_py() or 0,
        frozenset(code for event in events for code in event_key(event)) - {""},
    )


def actor_notes(rules: Sequence[Rule], lexicon: Lexicon, found: Inspected) -> list[str]:
    """Sentences about a lexicon that probably is not the one that the rules need.

    Parameters
    ----------
    rules, lexicon
        What was counted.
    found
        What was found in the documents.
    """
    notes = []
    with_roles = [rule for rule in rules if rule.event]
    if with_roles and not found.actors:
        names = ", ".join(rule.name for rule in with_roles)
        notes.append(
            f"no actor of the lexicon {lexicon.source} fills a role of {names} in any document; of "
            f"{found.n_documents:,} inspected, {found.n_named:,} have a word of an actor's name and "
            f"{found.n_with_trigger:,} a trigger: `corefsample doctor` "
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
