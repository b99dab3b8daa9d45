"""What a run, or a table, knows of every document: the features from which the probability of a label is learned.

Nothing is parsed again: the tables in the folder of a run have P of each event by actor, the triggers of each document
with the conditions that exclude them, and how roles are filled.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from corefsample._arrays import Bools, Floats, pd
from corefsample._lazy import require_extra
from corefsample.errors import InputError, ParameterError
from corefsample.files._paths import PathLike
from events.audit._audit_frame import RULES, AuditFrame, event_and_actor, numbers_of, read_document_table
from events.counts._evidence import read_evidence
from events.rules._format import ANYBODY

NOBODY = "-"
_LEAST_DOCUMENTS = 5  # in which a feature is not 0
LEAST_P = 0.005  # P is never taken as nearer to 0 or 1: a share of samples says no more about a label
_LISTS = ["events", "actors", "probabilities"]


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
        self._run = None if run is None else _RunEvidence(run, frame)

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


class _RunEvidence:
    """What the tables of documents and evidence of a run say of every document, in the order of a frame."""

    def __init__(self, run: PathLike, frame: AuditFrame) -> None:
        run_evidence = read_evidence(run)
        documents, evidence = run_evidence.all_documents(), run_evidence.evidence()
        if documents["doc_id"].tolist() != frame.doc_ids.tolist():
            raise InputError("run must be that of the frame, got other documents", place=os.fspath(run))
        roles = list(run_evidence.settings.roles)
        actors = evidence[roles].fillna("").replace("", NOBODY).agg(">".join, axis=1) if roles else ANYBODY
        n_triggers = np.log1p(evidence["role_mentions"].fillna("").str.count(r" \| ") + 1.0)
        p = evidence["probability"]
        p_by_default = p * evidence["filled"].isin(["default", "both"]) if "filled" in evidence else 0.0 * p
        evidence = evidence.assign(actor=actors, n_triggers=n_triggers, p_by_default=p_by_default)
        self._events = tuple(dict.fromkeys(frame.event.split(RULES)))
        self._documents, self._p = documents, documents[_LISTS].explode(_LISTS).dropna()
        texts = documents["triggers"].explode().dropna().astype(str)
        self._triggers = texts.str.extract(r"^(?P<event>.*?)(?:: (?P<conditions>.*))?$").fillna("")
        self._evidence = evidence.set_index(pd.Index(documents["doc_id"]).get_indexer(evidence["doc_id"]))

    def columns(self, event: str, actor: str) -> dict[str, Floats]:
        """Features of an event by an actor, or by anybody."""
        columns: dict[str, Floats] = {}
        for name in (event, *(other for other in self._events if other != event)):
            rows = self._p[self._p["events"] == name]
            actors, p = rows["actors"], rows["probabilities"].astype(np.float64)
            for title, code in ((actor, actor), ("anybody", ANYBODY), ("nobody named", NOBODY)):
                columns[f"P of {name} by {title}"] = self._highest(p[actors == code])
            columns[f"P of {name} by another actor"] = self._highest(p[~actors.isin([actor, ANYBODY, NOBODY])])
        columns["triggers"] = np.zeros(len(self._documents))
        conditions = self._triggers["conditions"][self._triggers["event"] == event].str.split(", ").explode()
        for condition, triggers in conditions.groupby(conditions):
            name = f"triggers left out: {condition}" if condition else "triggers"
            columns[name] = np.log1p(np.bincount(triggers.index, minlength=len(self._documents)).astype(np.float64))
        evidence = self._evidence[self._evidence["event"] == event]
        if actor != ANYBODY:
            evidence = evidence[evidence["actor"] == actor]
        columns["P by default"] = self._highest(evidence["p_by_default"])
        columns["log of triggers that make it"] = self._highest(evidence["n_triggers"])
        columns["name of an actor"] = self._documents["actor"].to_numpy(np.float64)
        columns["log of length"] = np.log1p(self._documents["n_tokens"].to_numpy(np.float64))
        return columns

    def _highest(self, values: pd.Series) -> Floats:
        """The largest value of each document, 0 without one; the index of the values has the documents' rows."""
        highest = values.groupby(level=0).max().reindex(self._documents.index, fill_value=0.0)
        return np.asarray(highest.to_numpy(np.float64))


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
