"""What a run, or a table, knows of every document: the features from which the probability of a label is learned.

Nothing is parsed again: the tables in the folder of a run have P of each event by actor, the triggers of each document
with the conditions that exclude them, and how roles are filled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corefsample._arrays import Bools, Floats, Ints
from corefsample._lazy import pd
from corefsample.errors import InputError
from corefsample.files._contents import parquet_errors, read_parquet
from corefsample.files._paths import PathLike
from events.audit._documents import ALL_DOCUMENTS, RULES, AuditFrame, event_and_actor, numbers_of, read_document_table
from events.counting._run_tables import verify_table
from events.rules._outcomes import ANYBODY

NOBODY = "-"
_LEAST_DOCUMENTS = 5  # in which a feature is not 0
LEAST_P = 0.005  # P is never taken as nearer to 0 or 1: a share of samples says no more about a label
_ALL_COLUMNS = ["doc_id", "actor", "events", "actors", "probabilities", "n_tokens", "triggers"]
_EVIDENCE = ["doc_id", "event", "probability", "role_mentions"]
_OPTIONAL = {"filled": "", "parse_variance": 0.0}  # columns that not every run has, and what stands for them


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Numbers of every document for one target.

    Attributes
    ----------
    names
        Of the features: the audited P comes first, as `PROBABILITY` says.
    matrix
        float64 (n_documents, n_features).
    rises
        bool (n_features,): whether P must not fall when the feature rises.
    """

    names: tuple[str, ...]
    matrix: Floats
    rises: Bools


PROBABILITY = ("logit of P", "P above 0")


def probability_features(p: Floats) -> Features:
    """The audited P alone: its logit, and whether it is above 0."""
    clipped = clipped_probability(p)
    logit = np.log(clipped / (1.0 - clipped))
    return Features(PROBABILITY, np.column_stack([logit, p > 0.0]).astype(np.float64), np.ones(2, np.bool_))


def clipped_probability(p: Floats) -> Floats:
    """P within [.005, .995]."""
    return np.clip(p, LEAST_P, 1.0 - LEAST_P)


class RunFeatures:
    """Features of the documents of a run, or of a table of scores, for any target.

    Parameters
    ----------
    frame
        The documents.
    run
        Folder of the run; None: the features are P of the targets alone.
    columns
        Further numbers of each document by name, such as the score of another model.
    """

    def __init__(
        self, frame: AuditFrame, run: PathLike | None = None, columns: Mapping[str, Floats] | None = None
    ) -> None:
        self._frame, self._columns = frame, dict(columns or {})
        self._run = None if run is None else _RunTables(Path(run), frame)

    def of(self, target: int) -> Features:
        """Features of one target; those that hardly any document has, and those that repeat another, are left out."""
        frame = self._frame
        first = probability_features(frame.probability(target))
        name = frame.targets[target]
        columns = {
            f"P of {other}": frame.probability(number)
            for number, other in enumerate(frame.targets)
            if number != target and len(frame.targets) <= _MOST_TARGETS
        }
        columns = {"P": frame.probability(target)} | columns
        rises = {"P"}
        if self._run is not None:
            event, actor = event_and_actor(frame, name)
            columns |= self._run.columns(event, actor or ANYBODY)
        columns |= self._columns
        kept = _distinct(columns)
        return Features(
            (*first.names, *kept),
            np.column_stack([first.matrix, *kept.values()]),
            np.concatenate([first.rises, [each in rises for each in kept]]),
        )


_MOST_TARGETS = 20  # of which each has a feature


def _distinct(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Columns that are not 0 in some documents, and differ from each other."""
    kept: dict[str, Floats] = {}
    seen: set[bytes] = set()
    for name, values in columns.items():
        content = values.astype(np.float64)
        varies = np.count_nonzero(content != content[0]) >= _LEAST_DOCUMENTS
        if np.count_nonzero(content) >= _LEAST_DOCUMENTS and varies and content.tobytes() not in seen:
            seen.add(content.tobytes())
            kept[name] = content
    return kept


class _RunTables:
    """The tables of a run that say something of every document, in the order of a frame."""

    def __init__(self, run: Path, frame: AuditFrame) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        path = run / ALL_DOCUMENTS
        with parquet_errors(str(path)):
            table = read_parquet(path, _ALL_COLUMNS)
        self._n = len(frame)
        place = {doc_id: row for row, doc_id in enumerate(frame.doc_ids.tolist())}
        rows = np.array([place.get(doc_id, -1) for doc_id in table.column("doc_id").to_pylist()], np.int64)
        if len(rows) != self._n or (rows < 0).any():
            raise InputError("run must be that of the frame, got other documents", place=str(path))
        self.is_named, self.length = np.zeros(self._n), np.zeros(self._n)
        self.is_named[rows] = table.column("actor").to_numpy()
        self.length[rows] = np.log1p(table.column("n_tokens").to_numpy())

        def flat(name: str) -> tuple[Ints, pa.Array]:
            lengths = pc.list_value_length(table.column(name)).to_numpy()
            return np.repeat(rows, lengths), pc.list_flatten(table.column(name)).combine_chunks()

        self._rows, events = flat("events")
        self._events = np.array(events.to_pylist(), dtype=object)
        self._actors = np.array(flat("actors")[1].to_pylist(), dtype=object)
        self._p = np.asarray(flat("probabilities")[1].to_numpy(zero_copy_only=False), np.float64)
        self._trigger_rows, triggers = flat("triggers")
        encoded = triggers.dictionary_encode()
        self._triggers: list[str] = encoded.dictionary.to_pylist()  # the different texts
        self._trigger_codes = encoded.indices.to_numpy().astype(np.int64)
        self.events = tuple(dict.fromkeys(frame.event.split(RULES)))
        self._evidence = _evidence(run, place)

    def columns(self, event: str, actor: str) -> dict[str, Floats]:
        """Features of an event by an actor, or by anybody."""
        found: dict[str, Floats] = {}
        for name in (event, *(each for each in self.events if each != event)):
            of_event = self._events == name
            is_total, is_nobody = self._actors == ANYBODY, self._actors == NOBODY
            others = ~is_total & ~is_nobody & (self._actors != actor)
            found[f"P of {name} by {actor}"] = self._highest(of_event & (self._actors == actor))
            found[f"P of {name} by anybody"] = self._highest(of_event & is_total)
            found[f"P of {name} by nobody named"] = self._highest(of_event & is_nobody)
            found[f"P of {name} by another actor"] = self._highest(of_event & others)
        found |= self._trigger_columns(event)
        found |= self._evidence_columns(event, actor)
        return found | {"name of an actor": self.is_named, "log of length": self.length}

    def _highest(self, chosen: Bools) -> Floats:
        p = np.zeros(self._n)
        np.maximum.at(p, self._rows[chosen], self._p[chosen])
        return p

    def _trigger_columns(self, event: str) -> dict[str, Floats]:
        """Numbers of triggers, on a logarithmic scale: those that count, those of other events, and by condition."""

        def logs(chosen: Sequence[bool]) -> Floats:
            rows = self._trigger_rows[np.array(chosen, np.bool_)[self._trigger_codes]]
            return np.log1p(np.bincount(rows, minlength=self._n).astype(np.float64))

        parts = [text.partition(": ") for text in self._triggers]
        found = {"triggers": logs([name == event and not of for name, _, of in parts])}
        for condition in sorted({each for name, _, of in parts if name == event for each in of.split(", ") if of}):
            has = [name == event and condition in of.split(", ") for name, _, of in parts]
            found[f"triggers left out: {condition}"] = logs(has)
        return found

    def _evidence_columns(self, event: str, actor: str) -> dict[str, Floats]:
        """How roles are filled, how far parses differ, and how many triggers make the event."""
        rows = self._evidence
        own = rows[rows["event"] == event]
        own = own if actor == ANYBODY else own[own["actor"] == actor]

        def highest(values: pd.Series) -> Floats:
            column = np.zeros(self._n)
            np.maximum.at(column, own["row"].to_numpy(), values.to_numpy(np.float64))
            return column

        return {
            "P by default": highest(own["probability"] * own["filled"].isin(["default", "both"])),
            "variance among parses": highest(own["parse_variance"]),
            "log of triggers that make it": highest(own["n_instances"]),
        }


def _evidence(run: Path, place: Mapping[str, int]) -> pd.DataFrame:
    """Evidence of a run: row of the document, event, actor, P, filled, parse_variance, and number of instances."""
    import pyarrow.parquet as pq

    path = run / "evidence.parquet"
    verify_table(path)
    with parquet_errors(str(path)):
        known = pq.read_schema(path).names
        roles = known[known.index("event") + 1 : known.index("probability")] if "event" in known else []
        chosen = [name for name in _OPTIONAL if name in known]  # without default actors, or with one parse, not all
        table = read_parquet(path, [*_EVIDENCE, *roles, *chosen]).to_pandas()
    table = table.assign(**{name: value for name, value in _OPTIONAL.items() if name not in chosen})
    of_roles = table[roles].fillna("").to_numpy(dtype=object)
    actors = [">".join(str(code) or NOBODY for code in codes) for codes in of_roles]
    instances = np.log1p(table["role_mentions"].fillna("").str.count(r" \| ").to_numpy(np.float64) + 1.0)
    rows = table["doc_id"].map(place).to_numpy(np.int64)
    found: pd.DataFrame = table.assign(actor=actors, n_instances=instances, row=rows)
    return found


def numeric_columns(path: PathLike, frame: AuditFrame) -> dict[str, Floats]:
    """Columns of a user's CSV file as features: numbers of every document.

    Raises
    ------
    InputError
        If a document has no row or two rows, or a value is not a number.
    """
    chosen = read_document_table(path, frame)
    columns: dict[str, Floats] = {}
    for name in (each for each in chosen.columns if each != "date"):
        values = numbers_of(chosen, str(name))
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            doc_id, found = frame.doc_ids[wrong[0]], chosen[name].iloc[int(wrong[0])]
            raise InputError(
                f"{name} must be a number for every document, got {found!r}", place=f"{path}: doc_id {doc_id!r}"
            )
        columns[f"column {name}"] = values
    if not columns:
        raise InputError("table must have a column beside doc_id, got none", place=str(path))
    return columns
