"""Files of an audit: its plan, what was learned from its labels, and columns of a user's tables."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, pd
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._atomic import new_file, unescaped, write_csv, write_json
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_parquet, sealed, sha256
from events.audit import _audit_frame as audit_frame
from events.audit._plan import NO_WORDS, YES_WORDS, AuditPlan, draw
from events.audit._sheets import SheetLabels, read_sheets
from events.audit._strata import Stratum
from events.counts._run_tables import verified_record, verify_table

PLAN, LEARNED_RECORD = "plan.json", "learned.json"
_STRATA = "strata.parquet"
_PROXY = "proxy: "  # of columns of strata.parquet


# --- plans -------------------------------------------------------------------------------------------------


def write_plan(folder: Path, plan: AuditPlan, **entries: Any) -> None:
    """Write plan.json with further entries, such as the question; and strata.parquet, if the plan has one round."""
    if len(plan.rounds) == 1:
        columns: dict[str, Any] = {"stratum": (plan.stratum_of + 1).astype(np.int32)}
        columns |= {_PROXY + proxy: p for proxy, p in plan.proxies.items()}
        with new_file(folder / _STRATA, overwrite=True) as path:
            pd.DataFrame(columns).to_parquet(path, index=False)
    files = {_STRATA: sha256(folder / _STRATA)}
    write_json(folder / PLAN, sealed({**plan.to_json(), **entries, "files": files}))


def read_plan(folder: PathLike, source: PathLike) -> AuditPlan:
    """Read a plan that `write_plan` wrote.

    Parameters
    ----------
    folder
        Folder of the audit, as `corefsample audit plan` wrote it.
    source
        Folder of the run, or CSV file, that the plan must have been drawn from.

    Raises
    ------
    InputError
        If the folder has no plan, the plan is damaged, or it was drawn from other documents.
    """
    path = Path(folder) / PLAN
    if not path.is_file():
        rule = f"folder must have a plan, {PLAN}, got none"
        raise InputError(rule, place=os.fspath(folder), hint="`corefsample audit plan` makes one")
    record = verified_record(folder, PLAN)
    if record["format"] != 2:
        rule, hint = f"plan must have the format 2, got {record['format']}", "`corefsample audit plan` makes a new plan"
        raise InputError(rule, place=str(path), hint=hint)
    verify_table(Path(folder) / _STRATA, PLAN)
    with audit_frame.as_written("plan", str(path)):
        targets, events = tuple(record["targets"]), tuple(record["event"].split(audit_frame.RULES))
        actors = None if record["source"]["kind"] != "run" or targets == events else targets
        try:
            frame = audit_frame.source_frame(source, actors, record["period"])
        except ParameterError as error:
            if error.parameter != "actors":
                raise
            frame = None
        if frame is None or frame.source["sha256"] != record["source"]["sha256"]:
            rule = f"plan must be of these documents, got one of {record['source']['path']} as it was then"
            raise InputError(rule, place=str(path))
        proxies = record.get("proxies", ())
        columns = read_parquet(Path(folder) / _STRATA, ["stratum", *(_PROXY + name for name in proxies)]).to_pandas()
        stratum_of = columns["stratum"].to_numpy(np.int64) - 1
        rounds = tuple(tuple(counts) for counts in record["rounds"])
        strata = tuple(
            Stratum(stratum["name"], stratum["n_documents"], n_sampled, stratum["spread"])
            for stratum, n_sampled in zip(record["strata"], rounds[-1], strict=True)
        )
        proxy_p = {name: columns[_PROXY + name].to_numpy(np.float64) for name in proxies}
        sample, round_of = draw(frame, stratum_of, rounds, record["seed"])
        cuts, settings = tuple(record["cuts"]), {name: record[name] for name in ("by", "seed", "floor")}
        plan = AuditPlan(frame, strata, stratum_of, rounds, sample, round_of, cuts, **settings, proxies=proxy_p)
        if plan.identity != record["plan"]:
            raise ValueError("content that does not give the identity of the plan")
    return plan


def require_free(folder: Path, *, overwrite: bool) -> None:
    """Raise unless a folder can take a new plan: it is new or empty, or is that of a plan that may be replaced."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"must be a folder, got the file {folder}", parameter="out")
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if names and PLAN not in names:
        rule = "must be a new or empty folder or an earlier plan's"
        raise ParameterError(f"{rule}, got {folder} with {names[0]}", parameter="out")
    if names and not overwrite:
        hint = ParameterHint("overwrite", "replaces the plan and its sheets")
        raise ParameterError(f"must be a new or empty folder, got {folder}", parameter="out", hint=hint)


def labelled_plan(
    source: PathLike, sheets: Sequence[PathLike], folder: PathLike | None = None, rounds: int | None = None
) -> tuple[Path, AuditPlan, SheetLabels]:
    """Folder of an audit (by default that of the first sheet), its plan, and the labels of its first rounds or all."""
    sheets = list(_checks.elements("sheets", sheets, str, os.PathLike))
    if not sheets:
        raise ParameterError("must name at least one sheet, got none", parameter="sheets")
    if not Path(sheets[0]).is_file():
        raise InputError("file must exist, got none", place=os.fspath(sheets[0]))
    plan_folder = Path(sheets[0]).parent if folder is None else Path(folder)
    plan = read_plan(plan_folder, source)
    return plan_folder, plan, read_sheets(plan, sheets, rounds=rounds)


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write tables as CSV files by their names, each in place of an earlier one."""
    for name, table in tables.items():
        with new_file(folder / name, overwrite=True) as path:
            write_csv(table, path)


# --- tables of users ---------------------------------------------------------------------------------------


def read_document_table(path: PathLike, frame: audit_frame.AuditFrame, required: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV file as text, with these columns and one row for each document, in the order of a frame."""
    rows = audit_frame.read_text_table(path, ("doc_id", *required)).map(unescaped).set_index("doc_id")
    repeated = rows.index[rows.index.duplicated()]
    if len(repeated):
        raise InputError(f"doc_id must be unique, got {repeated[0]!r} again", place=os.fspath(path))
    missing = frame.doc_ids[~pd.Index(frame.doc_ids).isin(rows.index)]
    if len(missing):
        rule = "table must have a row for every document"
        raise InputError(f"{rule}, got none for {missing[0]!r}", place=os.fspath(path))
    documents: pd.DataFrame = rows.reindex(frame.doc_ids.tolist())
    return documents


def document_column(
    name: str, frame: audit_frame.AuditFrame, table: PathLike | None, *, parameter: str = "column"
) -> pd.Series:
    """Text of a column of a table with a row for each document; without a table, of the run or the CSV file with P."""
    if table is not None:
        return read_document_table(table, frame, (name,))[name].reset_index(drop=True)
    if name not in frame.properties:
        rule = f"must be a further column of the documents ({', '.join(frame.properties) or 'none'}), got {name!r}"
        raise ParameterError(rule, parameter=parameter, hint=ParameterHint("table", "reads it from another file"))
    return pd.Series(frame.properties[name]).astype(str)


def proxy_columns(names: Sequence[str], frame: audit_frame.AuditFrame, table: PathLike | None) -> dict[str, Floats]:
    """Probabilities of other models in columns of a table, or of the CSV file with P; yes is 1, and no is 0.

    Other texts that are no number are NaN: see `events.audit._plan.checked_proxies`.
    """
    words = {**dict.fromkeys(YES_WORDS, "1"), **dict.fromkeys(NO_WORDS, "0")}
    proxies: dict[str, Floats] = {}
    for name in names:
        texts = document_column(name, frame, table, parameter="proxies")
        proxies[name] = audit_frame.numbers_of(texts.map(lambda text: words.get(text.strip().lower(), text)))
    return proxies


def numeric_columns(path: PathLike, frame: audit_frame.AuditFrame) -> dict[str, Floats]:
    """Columns of a user's CSV file as features: numbers of every document.

    Raises
    ------
    InputError
        If a document has no row or two rows, or a value is not a number.
    """
    table = read_document_table(path, frame).drop(columns="date", errors="ignore")
    if table.empty:
        raise InputError("table must have a column beside doc_id, got none", place=str(path))
    columns: dict[str, Floats] = {}
    for name in table.columns:
        columns[f"column {name}"] = values = audit_frame.numbers_of(table[name])
        if not np.isfinite(values).all():
            row = int(np.argmin(np.isfinite(values)))
            rule = f"{name} must be a number for every document, got {table[name].iloc[row]!r}"
            raise InputError(rule, place=f"{path}: doc_id {frame.doc_ids[row]!r}")
    return columns


# --- what was learned --------------------------------------------------------------------------------------


def read_learned(folder: PathLike, plan: AuditPlan) -> dict[str, Floats]:
    """Cross-fitted P that `corefsample audit learn` wrote for all documents, by target.

    Targets with too few labels are left out.

    Parameters
    ----------
    folder, plan
        Folder that the command wrote, and the plan whose labels it learned from.

    Raises
    ------
    InputError
        If a file is missing or not as the command wrote it, or if the table is of another plan.
    """
    table_path, record_path = str(Path(folder) / "learned.csv"), str(Path(folder) / LEARNED_RECORD)
    plan_name = verified_record(folder, LEARNED_RECORD).get("plan")
    verify_table(table_path, LEARNED_RECORD)
    if plan_name != plan.identity:
        raise InputError(f"plan must be {plan.identity}, got {plan_name!r}", place=record_path)
    table = audit_frame.read_text_table(table_path, ("doc_id", "event", "actor", "cross_fitted")).map(unescaped)
    learned: dict[str, Floats] = {}
    for name in plan.frame.targets:
        event, actor = audit_frame.event_and_actor(plan.frame, name)
        rows = table[(table["event"] == event) & (table["actor"] == actor)]
        if rows.empty:  # left out: too few labels
            continue
        learned[name] = audit_frame.numbers_of(rows["cross_fitted"])
    return learned


def learned_counts(folder: PathLike) -> pd.DataFrame:
    """Counts by period that `corefsample audit learn` wrote."""
    numbers, path = ("mean", "lower", "upper", "level"), Path(folder) / "learned_counts.csv"
    verify_table(path, LEARNED_RECORD)
    table = audit_frame.read_text_table(path, ("event", "actor", "period", *numbers))
    counts: pd.DataFrame = table.map(unescaped).astype(dict.fromkeys(numbers, float))
    return counts
