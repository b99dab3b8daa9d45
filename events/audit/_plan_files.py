"""Files of an audit: its plan, what was learned from its labels, and columns of a user's tables."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Floats, pd
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._atomic import new_file, write_json
from corefsample.files._csv_cells import unescaped, write_csv
from corefsample.files._paths import PathLike
from corefsample.files._reading import read_json, read_parquet
from events.audit._audit_frame import (
    NO_WORDS,
    RULES,
    YES_WORDS,
    AuditFrame,
    as_written,
    event_and_actor,
    numbers_of,
    read_document_table,
    read_run_documents,
    read_scores,
    read_text_table,
)
from events.audit._plan import AuditPlan, draw, extend_plan
from events.audit._sheets import SheetLabels, read_sheets
from events.audit._strata import Stratum

PLAN = "plan.json"
_STRATA = "strata.parquet"
_PROXY, _CLUSTER = "proxy: ", "cluster"  # of columns of strata.parquet


def write_tables(folder: Path, tables: Mapping[str, pd.DataFrame]) -> None:
    """Write tables as CSV files by their names, each in place of an earlier one."""
    for name, table in tables.items():
        with new_file(folder / name, overwrite=True) as path:
            write_csv(table, path)


def source_frame(source: PathLike, actors: Sequence[str] | None, period: str) -> AuditFrame:
    """The documents of a run or of a CSV file."""
    if Path(source).is_file():
        if actors is not None:
            raise ParameterError("must be left out where P comes from a CSV file", parameter="actors")
        return read_scores(source, period=period)
    return read_run_documents(source, actors)


def document_column(name: str, frame: AuditFrame, table: PathLike | None, *, parameter: str = "column") -> list[str]:
    """Text of a column of a table with a row for each document; without a table, of the run or the CSV file with P."""
    if table is not None:
        return [str(value) for value in read_document_table(table, frame, (name,))[name]]
    if name not in frame.properties:
        rule = f"must be a further column of the documents ({', '.join(frame.properties) or 'none'}), got {name!r}"
        raise ParameterError(rule, parameter=parameter, hint=ParameterHint("table", "reads it from another file"))
    return [str(value) for value in frame.properties[name]]


def proxy_columns(names: Sequence[str], frame: AuditFrame, table: PathLike | None) -> dict[str, Floats]:
    """Probabilities of other models in columns of a table, or of the CSV file with P; yes is 1, and no is 0.

    Raises
    ------
    InputError
        If a value is neither yes, no nor a number in [0, 1].
    """
    words = {**dict.fromkeys(YES_WORDS, "1"), **dict.fromkeys(NO_WORDS, "0")}
    proxies: dict[str, Floats] = {}
    for name in names:
        texts = pd.Series(document_column(name, frame, table, parameter="proxies"))
        p = numbers_of(pd.DataFrame({name: texts.map(lambda text: words.get(text.strip().lower(), text))}), name)
        wrong = np.flatnonzero(~((p >= 0.0) & (p <= 1.0)))
        if wrong.size:
            location = f"{frame.source['path'] if table is None else table}: doc_id {frame.doc_ids[wrong[0]]!r}"
            raise InputError(f"{name} must be yes, no or a number in [0, 1], got {texts[wrong[0]]!r}", place=location)
        proxies[name] = p
    return proxies


def story_column(name: str, frame: AuditFrame, table: PathLike | None) -> list[str]:
    """Story of each document; a document without a row in the table, or with an empty value, is one of its own."""
    if table is None:
        stories = document_column(name, frame, None, parameter="cluster")
    else:
        stories = read_document_table(table, frame, (name,), partial=True)[name].tolist()
    return [story or doc_id for doc_id, story in zip(frame.doc_ids.tolist(), stories, strict=True)]


def write_plan(folder: Path, plan: AuditPlan, **entries: Any) -> None:
    """Write plan.json with further entries, such as the question; and strata.parquet, if the plan has one round."""
    if len(plan.rounds) == 1:
        columns: dict[str, Any] = {"stratum": (plan.stratum_of + 1).astype(np.int32)}
        columns |= {_PROXY + proxy: p for proxy, p in plan.proxies.items()}
        columns |= {} if plan.clusters is None else {_CLUSTER: plan.clusters}
        with new_file(folder / _STRATA, overwrite=True) as path:
            pd.DataFrame(columns).to_parquet(path, index=False)
    write_json(folder / PLAN, {**plan.to_json(), **entries})


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
    with as_written("plan", str(path)):
        record = read_json(path)
        targets, of_events = tuple(record["targets"]), record["event"].split(RULES)
        actors = None if record["source"]["kind"] != "run" or targets == tuple(of_events) else targets
        rule = f"plan must be of these documents, got one of {record['source']['path']} as it was then"
        try:
            frame = source_frame(source, actors, record["period"])
        except ParameterError as error:
            if error.parameter != "actors":
                raise
            raise InputError(rule, place=str(path)) from None
        if frame.source["sha256"] != record["source"]["sha256"]:
            raise InputError(rule, place=str(path))
        proxies, has_clusters = record.get("proxies", ()), record.get("has_clusters", False)
        names = ["stratum", *(_PROXY + name for name in proxies), *([_CLUSTER] if has_clusters else [])]
        columns = read_parquet(Path(folder) / _STRATA, names).to_pandas()
        stratum_of = columns["stratum"].to_numpy(np.int64) - 1
        proxy_p = {name: columns[_PROXY + name].to_numpy(np.float64) for name in proxies}
        clusters = columns[_CLUSTER].to_numpy(np.int64) if has_clusters else None
        rounds = tuple(tuple(counts) for counts in record["rounds"])
        strata = tuple(
            Stratum(each["name"], each["n_documents"], n_sampled, each["spread"])
            for each, n_sampled in zip(record["strata"], rounds[-1], strict=True)
        )
        sample, round_of = draw(frame, stratum_of, rounds, record["seed"])
        settings = tuple(record["cuts"]), record["by"], record["seed"], record["floor"]
        plan = AuditPlan(frame, strata, stratum_of, rounds, sample, round_of, *settings, proxy_p, clusters)
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


def later_plan(folder: Path, source: PathLike, more: int, learned_folder: PathLike | None) -> AuditPlan:
    """The plan in a folder with a further round of `more` documents, divided by the learned P in a folder, if any."""
    plan = read_plan(folder, source)
    learned = None
    if learned_folder is not None:
        p_of = read_learned(learned_folder, plan, "learned")
        names = enumerate(plan.frame.targets)
        learned = [p_of[name] if name in p_of else plan.frame.probability(target) for target, name in names]
    try:
        return extend_plan(plan, more, learned=learned)
    except ParameterError as error:
        raise ParameterError(error.message, parameter="more") from None


def read_learned(folder: PathLike, plan: AuditPlan, column: str) -> dict[str, Floats]:
    """P that `corefsample audit learn` wrote for all documents, by target, without targets with too few labels.

    Parameters
    ----------
    folder, plan
        Folder that the command wrote, and the plan whose labels it learned from.
    column
        Column of learned.csv to read: "learned", or "cross_fitted", the P of a document that was learned from the
        labels of other documents.

    Raises
    ------
    InputError
        If the folder has no learned.csv, if the table is of another plan or of other documents, or if a P is outside
        [0, 1].
    """
    table_path = str(Path(folder) / "learned.csv")
    if not Path(table_path).is_file():
        rule = "folder must have learned.csv, got none"
        raise InputError(rule, place=os.fspath(folder), hint="`corefsample audit learn` makes it")
    record = read_json(Path(folder) / "learned.json")
    shown = record.get("plan") if isinstance(record, dict) else None
    if shown != plan.identity:
        raise InputError(f"plan must be {plan.identity}, got {shown!r}", place=str(Path(folder) / "learned.json"))
    table = read_text_table(table_path, ("doc_id", "event", "actor", column))
    values = np.asarray(numbers_of(table, column))
    learned: dict[str, Floats] = {}
    for name in plan.frame.targets:
        event, actor = event_and_actor(plan.frame, name)
        of_target = ((table["event"] == event) & (table["actor"] == actor)).to_numpy()
        if not of_target.any():  # left out: too few labels
            continue
        doc_ids = table["doc_id"][of_target].map(unescaped).tolist()
        if doc_ids != plan.frame.doc_ids.tolist():
            unexpected = next((each for each in doc_ids if each not in plan.frame.doc_ids), None)
            shown = f"{len(doc_ids):,} rows" if unexpected is None else repr(unexpected)
            raise InputError(f"doc_id must be the documents of the plan, in its order, got {shown}", place=table_path)
        if not ((values[of_target] >= 0.0) & (values[of_target] <= 1.0)).all():
            raise InputError(f"{column} of {name} must be in [0, 1], got another value", place=table_path)
        learned[name] = values[of_target]
    return learned


def learned_counts(folder: PathLike) -> pd.DataFrame:
    """Counts by period that `corefsample audit learn` wrote."""
    numbers = ("mean", "lower", "upper", "level")
    with as_written("learned", os.fspath(folder)):
        table = read_text_table(Path(folder) / "learned_counts.csv", ("event", "actor", "period", *numbers))
        counts: pd.DataFrame = table.map(unescaped).astype(dict.fromkeys(numbers, float))
    return counts


def labelled_plan(
    source: PathLike, sheets: Sequence[PathLike], folder: PathLike | None = None
) -> tuple[Path, AuditPlan, SheetLabels]:
    """Folder of an audit (by default that of the first sheet), its plan, and the labels in the sheets."""
    sheets = list(_checks.elements("sheets", sheets, str, os.PathLike))
    if not sheets:
        raise ParameterError("must name at least one sheet, got none", parameter="sheets")
    if not Path(sheets[0]).is_file():
        raise InputError("file must exist, got none", place=os.fspath(sheets[0]))
    plan_folder = Path(sheets[0]).parent if folder is None else Path(folder)
    plan = read_plan(plan_folder, source)
    return plan_folder, plan, read_sheets(plan, sheets)
