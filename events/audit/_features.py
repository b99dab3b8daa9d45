"""What a run, or a table, knows of every document: the features from which the probability of a label is learned.

Nothing is parsed again: the tables in the folder of a run have P of each event by actor, the triggers of each document
with the conditions that exclude them, and how roles are filled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corefsample._arrays import Bools, Floats
from corefsample._extras import require_extra
from corefsample._lazy import pd
from corefsample.errors import InputError, ParameterError
from corefsample.files._contents import parquet_errors, read_parquet
from corefsample.files._paths import PathLike
from events.audit._documents import ALL_DOCUMENTS, RULES, AuditFrame, event_and_actor, numbers_of, read_document_table
from events.counts._run_tables import verify_table
from events.rules._outcomes import ANYBODY

NOBODY = "-"
_LEAST_DOCUMENTS = 5  # in which a feature is not 0
LEAST_P = 0.005  # P is never taken as nearer to 0 or 1: a share of samples says no more about a label
_LISTS = ["events", "actors", "probabilities"]
_ALL_COLUMNS = ["doc_id", "actor", "n_tokens", "triggers", *_LISTS]
_EVIDENCE = ["doc_id", "event", "probability", "role_mentions"]
_OPTIONAL = {"filled": ""}  # columns that not every run has, and what stands for them


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Numbers of every document for one target.

    Attributes
    ----------
    names
        Names of the features; the two of `PROBABILITY`, which are made from the audited P, come first.
    matrix
        Value of each feature in each document: float64 (n_documents, n_features).
    rises
        bool (n_features,): True if P must not fall when the feature rises.
    """

    names: tuple[str, ...]
    matrix: Floats
    rises: Bools


PROBABILITY = ("logit of P", "P above 0")


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
        Folder of the run; by default, the features are P of the targets alone.
    columns
        Further numbers of each document by name, such as the score of another model.
    """

    def __init__(
        self, frame: AuditFrame, run: PathLike | None = None, columns: Mapping[str, Floats] | None = None
    ) -> None:
        self._frame = frame
        self._columns = {name: values.astype(np.float64) for name, values in (columns or {}).items()}
        self._run = None if run is None else _RunTables(Path(run), frame)

    def of(self, target: int) -> Features:
        """Features of one target; those that hardly any document has, and those that repeat another, are left out."""
        frame, p = self._frame, self._frame.probability(target)
        clipped = clipped_probability(p)
        of_p = {PROBABILITY[0]: np.log(clipped / (1.0 - clipped)), PROBABILITY[1]: (p > 0.0).astype(np.float64)}
        columns = {"P": p}
        if len(frame.targets) <= _MOST_TARGETS:
            other_targets = (number for number in range(len(frame.targets)) if number != target)
            columns |= {f"P of {frame.targets[number]}": frame.probability(number) for number in other_targets}
        if self._run is not None:
            event, actor = event_and_actor(frame, frame.targets[target])
            columns |= self._run.columns(event, actor or ANYBODY)
        features = of_p | _distinct(columns | self._columns)
        rises = np.array([name in (*PROBABILITY, "P") for name in features])
        return Features(tuple(features), np.column_stack(list(features.values())), rises)


_MOST_TARGETS = 20  # of which each has a feature


def _distinct(columns: Mapping[str, Floats]) -> dict[str, Floats]:
    """Columns that are not 0 in some documents, and differ from each other."""
    distinct: dict[bytes, str] = {}
    for name, values in columns.items():
        if min(np.count_nonzero(values), np.count_nonzero(values != values[0])) >= _LEAST_DOCUMENTS:
            distinct.setdefault(values.tobytes(), name)
    return {name: columns[name] for name in distinct.values()}


class _RunTables:
    """The tables of a run that describe every document, in the order of a frame."""

    def __init__(self, run: Path, frame: AuditFrame) -> None:
        path = run / ALL_DOCUMENTS
        with parquet_errors(str(path)):
            documents = read_parquet(path, _ALL_COLUMNS).to_pandas()
        if documents["doc_id"].tolist() != frame.doc_ids.tolist():
            raise InputError("run must be that of the frame, got other documents", place=str(path))
        self._documents = documents
        self._probabilities = documents[_LISTS].explode(_LISTS)
        texts = documents["triggers"].explode().dropna().astype(str)
        self._triggers = texts.str.extract(r"^(?P<event>.*?)(?:: (?P<conditions>.*))?$").fillna("")
        self._events = tuple(dict.fromkeys(frame.event.split(RULES)))
        self._evidence = _evidence(run, documents["doc_id"])

    def columns(self, event: str, actor: str) -> dict[str, Floats]:
        """Features of an event by an actor, or by anybody."""
        columns: dict[str, Floats] = {}
        for name in (event, *(other for other in self._events if other != event)):
            rows = self._probabilities[self._probabilities["events"] == name]
            actors, p = rows["actors"], rows["probabilities"]
            columns[f"P of {name} by {actor}"] = self._highest(p[actors == actor])
            columns[f"P of {name} by anybody"] = self._highest(p[actors == ANYBODY])
            columns[f"P of {name} by nobody named"] = self._highest(p[actors == NOBODY])
            columns[f"P of {name} by another actor"] = self._highest(p[~actors.isin([actor, ANYBODY, NOBODY])])
        columns |= self._trigger_columns(event)
        columns |= self._evidence_columns(event, actor)
        columns["name of an actor"] = self._documents["actor"].to_numpy(np.float64)
        columns["log of length"] = np.log1p(self._documents["n_tokens"].to_numpy(np.float64))
        return columns

    def _highest(self, values: pd.Series) -> Floats:
        """The largest value of each document, 0 without one; the index of the values has the documents' rows."""
        highest = values.groupby(level=0).max().reindex(self._documents.index, fill_value=0.0)
        return np.asarray(highest.to_numpy(np.float64))

    def _trigger_columns(self, event: str) -> dict[str, Floats]:
        """Numbers of triggers on a logarithmic scale: those that count, and those that each condition leaves out."""
        n_documents = len(self._documents)
        columns = {"triggers": np.zeros(n_documents)}
        conditions = self._triggers["conditions"][self._triggers["event"] == event].str.split(", ").explode()
        for condition, rows in conditions.groupby(conditions):
            name = f"triggers left out: {condition}" if condition else "triggers"
            columns[name] = np.log1p(np.bincount(rows.index, minlength=n_documents).astype(np.float64))
        return columns

    def _evidence_columns(self, event: str, actor: str) -> dict[str, Floats]:
        """How roles are filled, and how many triggers make the event."""
        rows = self._evidence[self._evidence["event"] == event]
        if actor != ANYBODY:
            rows = rows[rows["actor"] == actor]
        return {
            "P by default": self._highest(rows["probability"] * rows["filled"].isin(["default", "both"])),
            "log of triggers that make it": self._highest(rows["n_instances"]),
        }


def _evidence(run: Path, doc_ids: pd.Series) -> pd.DataFrame:
    """Evidence of a run by row of the document: event, actor, P, filled, and number of instances."""
    import pyarrow.parquet as pq

    path = run / "evidence.parquet"
    verify_table(path)
    with parquet_errors(str(path)):
        names = pq.read_schema(path).names
        roles = names[names.index("event") + 1 : names.index("probability")] if "event" in names else []
        present = [name for name in _OPTIONAL if name in names]
        table = read_parquet(path, [*_EVIDENCE, *roles, *present]).to_pandas()
    table = table[table["probability"] > 0].reset_index(drop=True)
    actors = [">".join(code or NOBODY for code in codes) for codes in table[roles].fillna("").to_numpy().tolist()]
    n_instances = np.log1p(table["role_mentions"].fillna("").str.count(r" \| ") + 1.0)
    absent = {name: value for name, value in _OPTIONAL.items() if name not in present}
    rows: pd.DataFrame = table.assign(actor=actors, n_instances=n_instances, **absent)
    return rows.set_index(pd.Index(doc_ids).get_indexer(table["doc_id"]))


_MOST_WORDS = 20_000
_LEAST_DOCUMENTS_OF_A_WORD = 3
_N_AXES = 100
_SCALE = 5.0  # of a row of length 1: a penalty of 3 is then that of C = 8 in scikit-learn
_N_NAMED = 20


class TextFeatures:
    """The words of every document: tf-idf, in its largest singular directions.

    Attributes
    ----------
    matrix
        float32 (n_documents, n_words), sparse: tf-idf.
    columns
        float64 (n_documents, n_axes): the features.

    Raises
    ------
    ParameterError
        If scikit-learn is missing, or no word is in three documents.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        text = require_extra("sklearn.feature_extraction.text", "scikit-learn", "words")
        decomposition = require_extra("sklearn.decomposition", "scikit-learn", "words")
        vectorizer = text.TfidfVectorizer(
            sublinear_tf=True, min_df=_LEAST_DOCUMENTS_OF_A_WORD, max_features=_MOST_WORDS, dtype=np.float32
        )
        try:
            self.matrix = vectorizer.fit_transform(texts)
        except ValueError as error:
            rule = f"must have a word in {_LEAST_DOCUMENTS_OF_A_WORD} documents"
            raise ParameterError(f"{rule}, got none: {error}", parameter="texts") from None
        svd = decomposition.TruncatedSVD(min(_N_AXES, *self.matrix.shape), random_state=0)
        self.columns: Floats = _SCALE * svd.fit_transform(self.matrix).astype(np.float64)
        self._axes: Floats = svd.components_
        self._names: list[str] = vectorizer.get_feature_names_out().tolist()

    def words(self, coefficients: Floats) -> dict[str, float]:
        """The words with the largest coefficients, from those of the columns."""
        of_words = _SCALE * (coefficients @ self._axes)
        largest = np.argsort(-np.abs(of_words), kind="stable")[:_N_NAMED]
        return {self._names[i]: float(of_words[i]) for i in largest.tolist()}


def numeric_columns(path: PathLike, frame: AuditFrame) -> dict[str, Floats]:
    """Columns of a user's CSV file as features: numbers of every document.

    Raises
    ------
    InputError
        If a document has no row or two rows, or a value is not a number.
    """
    table = read_document_table(path, frame).drop(columns="date", errors="ignore")
    if table.empty:
        raise InputError("table must have a column beside doc_id, got none", place=str(path))
    columns = {f"column {name}": numbers_of(table, str(name)) for name in table.columns}
    for name, values in zip(table.columns, columns.values(), strict=True):
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            doc_id, value = frame.doc_ids[wrong[0]], table[name].iloc[int(wrong[0])]
            rule = f"{name} must be a number for every document, got {value!r}"
            raise InputError(rule, place=f"{path}: doc_id {doc_id!r}")
    return columns
