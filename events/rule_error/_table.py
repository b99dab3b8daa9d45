"""Reference class: figures of rules and actors whose documents were read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Final

import numpy as np

from corefsample._arrays import pd
from corefsample.errors import InputError, shown
from corefsample.files._paths import PathLike

KINDS: Final = ("named", "class noun", "country", "nobody", "any")
NUMBERS: Final = ("n_documents", "sum_p", "n_yes", "n_above", "yes_above", "yes_below")
CELL: Final = ("corpus", "event", "actor", "kind", "preset", "pipeline")
COLUMNS: Final = (*CELL, "period", *NUMBERS)
SHIPPED: Final = "rule_reference.csv"
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
        except FileNotFoundError:
            raise InputError("file must exist, got none", place=str(source)) from None
        except (OSError, ValueError) as error:
            raise InputError(f"cannot be read as a reference table: {error}", place=str(source)) from None
        tables.append(checked_reference(table, str(source)))
    return pd.concat(tables, ignore_index=True)


def reference_file(audit: PathLike) -> Path:
    """Path of an audit's rows for the reference class."""
    path = Path(audit)
    return path / AUDITED if path.is_dir() else path


def checked_reference(table: pd.DataFrame, source: str) -> pd.DataFrame:
    """Validate a reference table; raises InputError that names the first row which breaks a rule."""
    missing = [name for name in COLUMNS if name not in table]
    if missing:
        raise InputError(f"columns must include {missing[0]!r}, got {shown(', '.join(map(str, table)))}", place=source)
    numbers = table[list(NUMBERS)].apply(pd.to_numeric, errors="coerce").fillna(-1)
    integers = numbers.drop(columns="sum_p")
    are_whole = (integers % 1 == 0).all(axis=1) & (numbers >= 0).all(axis=1)
    n_documents, n_yes, n_above, yes_above, yes_below = (integers[name] for name in integers)
    n_below, of_below = n_documents - n_above, ["yes_below", "n_documents", "n_above"]
    rules = {
        f"kind must be one of {', '.join(KINDS)}": (table["kind"].isin(KINDS), ["kind"]),
        "numbers must be whole and not negative": (are_whole, list(NUMBERS)),
        "n_yes must be yes_above + yes_below": (n_yes == yes_above + yes_below, ["n_yes", "yes_above", "yes_below"]),
        "yes_above must be at most n_above": (yes_above <= n_above, ["yes_above", "n_above"]),
        "yes_below must be at most n_documents - n_above": (yes_below <= n_below, of_below),
    }
    for rule, (holds, names) in rules.items():
        if not holds.all():
            row = int(np.flatnonzero(~holds)[0])
            values = ", ".join(f"{name} {shown(str(table[name].iloc[row]))}" for name in names)
            raise InputError(f"{rule}, got {values}", place=f"{source}: row {row + 1}")
    return table.assign(**numbers)[list(COLUMNS)]
