"""Reference class: figures of rules and actors whose documents were read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._paths import PathLike

KINDS: Final = ("named", "class noun", "country", "nobody", "any")
NUMBERS: Final = ("n_documents", "sum_p", "n_yes", "n_above", "yes_above", "yes_below")
CELL: Final = ("corpus", "event", "actor", "kind", "preset", "pipeline")
COLUMNS: Final = (*CELL, "period", *NUMBERS)
SHIPPED: Final = "rule_reference.csv"
N_LABELS: Final = 100  # of an audit whose width is expected
NO_RULE_ERROR: Final = "none"  # in place of a path
AUDITED: Final = "audited-reference.csv"
AUDIT: Final = "audit"  # corpus of the user's audits


def read_reference(path: PathLike | None = None, audits: Sequence[PathLike] = ()) -> pd.DataFrame:
    """Read a table of rules whose documents were read by people.

    Parameters
    ----------
    path
        A CSV file with the columns of the result; by default the table of the package.
    audits
        Further files of this form: those that `corefsample audit estimate` writes, or folders with one.

    Returns
    -------
    pandas.DataFrame
        corpus, event, actor; kind of the actor, one of `KINDS`; preset, pipeline; period (empty without dates); and
        whole numbers of documents: n_documents, n_yes (a reader says yes), n_above (P above .5), yes_above and
        yes_below (of those with P above .5 and the others a reader says yes); sum_p, the sum of P.

    Raises
    ------
    InputError
        If a column is missing, a kind is unknown, or numbers contradict each other.
    """
    paths = [files("events.data").joinpath(SHIPPED) if path is None else Path(path)]
    paths += map(reference_file, audits)
    tables = []
    for source in paths:
        try:
            text = source.read_text(encoding="utf-8")
            table = pd.read_csv(StringIO(text), dtype=dict.fromkeys((*CELL, "period"), str), keep_default_na=False)
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read as a reference table: {error}", place=str(source)) from None
        tables.append(checked_reference(table, str(source)))
    return pd.concat(tables, ignore_index=True)


def reference_file(audit: PathLike) -> Path:
    """Path of an audit's rows for the reference class."""
    path = Path(audit)
    return path / AUDITED if path.is_dir() else path


def checked_reference(table: pd.DataFrame, place: str) -> pd.DataFrame:
    """Validate a reference table; raises InputError that names the first row which breaks a rule."""
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise InputError(f"column {missing[0]} is missing", place=place)
    numbers = table[list(NUMBERS)].apply(pd.to_numeric, errors="coerce").fillna(-1)
    whole = numbers.drop(columns="sum_p")
    rules = {
        f"kind must be one of {', '.join(KINDS)}": table["kind"].isin(KINDS),
        "numbers must be whole and not negative": (whole % 1 == 0).all(axis=1) & (numbers >= 0).all(axis=1),
        "n_yes must be yes_above + yes_below": whole["n_yes"] == whole["yes_above"] + whole["yes_below"],
        "yes_above must be at most n_above": whole["yes_above"] <= whole["n_above"],
        "yes_below must be at most n_documents - n_above": whole["yes_below"]
        <= whole["n_documents"] - whole["n_above"],
    }
    for rule, holds in rules.items():
        if not holds.all():
            row = int(np.flatnonzero(~holds)[0])
            raise InputError(f"row {row + 1}: {rule}", place=place)
    return table.assign(**numbers)[list(COLUMNS)]


def kind_of(actor: str, kinds: Mapping[str, str]) -> str:
    """Kind of an actor in the reference class.

    Parameters
    ----------
    actor
        A code of a lexicon, or several joined with ">", of which the first counts; "-" or "" is nobody named; outcomes
        such as "*" or "POLICE|ARMY" are any.
    kinds
        Of the codes, as the lexicon has them. A code that is its kind's name stands for anybody of a class ("rebels").
    """
    code = actor.split(">")[0]
    if code in ("", "-"):
        return "nobody"
    kind = kinds.get(code, "")
    if kind in ("country", "territory", "historic"):
        return "country"
    if kind.casefold() == code.casefold():
        return "class noun"
    return "named" if kind else "any"


def reference_sentence(summary: Mapping[str, Any]) -> str:
    """The sentence of a `reference_summary`."""
    counted = f"{summary['n_events']} event types of {summary['n_corpora']} corpora with answers"
    ratios = [f"{summary[name]:.2g}".removeprefix("0") for name in ("ratio_lower", "ratio_upper")]
    past = f"In {counted}, the true total was {ratios[0]} to {ratios[1]} times the count."
    if not summary.get("width_after", np.inf) < summary.get("upper", 0.0) - summary.get("lower", 0.0):
        return past
    by = {"-": " by nobody named", "*": ""}.get(summary["actor"], f" by {summary['actor']}")
    now = f"{summary['lower']:,.0f} to {summary['upper']:,.0f}"
    then = f"about {summary['width_after']:,.0f} documents wide"
    return f"{past} {N_LABELS} labels would make the interval of the total of {summary['event']}{by}, {now}, {then}."


_FEWEST_COUNTED = 5.0  # documents of a cell whose ratio of true and counted documents is told


def reference_summary(table: pd.DataFrame) -> dict[str, Any]:
    """What a reference class says about a count, for a sentence.

    Returns
    -------
    dict
        n_events, n_corpora: event types and corpora; ratio_lower, ratio_upper: the least and the greatest ratio of the
        documents in which readers saw an event to the sum of P, of cells with a sum of at least 5; NaN without such.
    """
    cells = table.groupby(list(CELL))[["sum_p", "n_yes"]].sum()
    cells = cells[cells["sum_p"] >= _FEWEST_COUNTED]
    ratios = cells["n_yes"] / cells["sum_p"]
    return {
        "n_events": len(table[["corpus", "event"]].drop_duplicates()),
        "n_corpora": int(table["corpus"].nunique()),
        "ratio_lower": float(ratios.min()),
        "ratio_upper": float(ratios.max()),
    }
