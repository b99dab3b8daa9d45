"""The job behind `corefsample recalibrate`: fit on documents with gold, rewrite the scores of others."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from corefsample import _checks
from corefsample.documents import ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.files import require_suffix
from corefsample.formats import quarantine_file, write_documents
from corefsample.formats.scored import SUFFIXES
from corefsample.links import UNANNOTATED, Unannotated
from corefsample.recalibration import (
    CrossFit,
    Objective,
    Recalibration,
    RecalibrationDraws,
    RecalibrationFit,
    RecalibrationFitter,
)
from corefsample.syntax import scheme_names
from events.jobs._gold_documents import GoldDocuments, PathLike, Progress
from events.jobs._recalibrated_documents import RecalibratedDocuments
from events.jobs._record import checksums, free_outputs, paths_of, run_record, write_record
from events.queries import OBJECTIVES, ROLES, named_objective

__all__ = ["RECORD_SUFFIX", "RecalibrationRun", "run_recalibrate"]

RECORD_SUFFIX = ".recalibration.json"
ON_ERROR = ("stop", "quarantine")
MISSING = ("skip", "floor")
Inputs = PathLike | Iterable[PathLike]


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrationRun:
    """What a recalibration did.

    Attributes
    ----------
    out, record
        The file of recalibrated documents, and the record of the fit beside it.
    fit
        The recalibration, fitted to all documents with gold.
    cross_fit
        The same by folds: its scores are held out.
    draws
        Refits on bootstrapped documents.
    applied
        What the documents were put through: the fit, or the fit shrunk.
    n_without_gold
        Documents of the gold inputs that have no gold, and were left out.
    n_written
        Documents written.
    n_also_fitted
        Of them, documents that the fit has seen.
    n_quarantined
        Bad documents set aside, of both inputs.
    seconds
        Wall time.
    """

    out: str
    record: str
    fit: RecalibrationFit
    cross_fit: CrossFit
    draws: RecalibrationDraws
    applied: Recalibration
    n_without_gold: int
    n_written: int
    n_also_fitted: int
    n_quarantined: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """What was fitted, how well it does on held-out documents, and what was left out."""
        held_out, draws = self.cross_fit, self.draws
        return {
            "out": self.out,
            "record": self.record,
            "objective": self.fit.objective,
            **self.fit.recalibration.to_json(),
            "temperature_se": float(draws.temperature.std(ddof=1)),
            "new_bias_se": float(draws.new_bias.std(ddof=1)),
            "applied": self.applied.to_json(),
            "n_folds": held_out.n_folds,
            "score_before": held_out.score_before,
            "score_after": held_out.score_after,
            "score_change_se": held_out.score_change_se,
            "n_terms": self.fit.n_terms,
            "gold": self.fit.gold.to_json(),
            "n_without_gold": self.n_without_gold,
            "n_written": self.n_written,
            "n_also_fitted": self.n_also_fitted,
            "n_quarantined": self.n_quarantined,
            "seconds": self.seconds,
        }


def run_recalibrate(
    gold_inputs: Inputs,
    apply_inputs: Inputs,
    out: PathLike,
    *,
    objective: str = "queries",
    folds: int = 5,
    seed: int = 0,
    n_samples: int = 1000,
    n_boot: int = 200,
    role: str = "subject",
    scheme: str | None = None,
    unannotated: Unannotated = "skip",
    missing: str = "skip",
    shrink: bool = False,
    overwrite: bool = False,
    on_error: str = "stop",
    on_progress: Progress | None = None,
) -> RecalibrationRun:
    """Fit a temperature and a NEW bias to documents with gold, and write other documents with their scores mended.

    Parameters
    ----------
    gold_inputs
        Files, globs, or "-": documents to fit on. Those without gold are counted and left out.
    apply_inputs
        Files, globs, or "-": documents whose scores are to be mended; they may be the same files.
    out
        New file of documents: .jsonl, .jsonl.gz or .parquet. Beside it comes the record of the fit, the name with
        .recalibration.json added, and where there were bad documents they come with .quarantine.jsonl added.
    objective
        "queries", "queries-log", "links", "links-log" or "likelihood".
    folds
        Of the cross-validation that the reported scores come from, from 2 to the number of documents with gold.
    seed
        Of folds, bootstrap and samples, in [0, 2**64).
    n_samples
        Clusterings a document, for the queries; at least 2.
    n_boot
        Refits on bootstrapped documents, at least 2.
    role, scheme
        As of `events.queries.match_queries`.
    unannotated, missing
        As of `corefsample.recalibration.RecalibrationFitter`.
    shrink
        Whether to draw the fit towards no change by its own uncertainty before it is applied
        (`RecalibrationDraws.shrunk`): for few documents with gold.
    overwrite
        Whether files of an earlier run may be replaced.
    on_error
        "stop" at the first bad document, or "quarantine" it and go on.
    on_progress
        Called as documents are read, with bytes read, bytes in all, and documents; first of the one, then of the
        other inputs.

    Raises
    ------
    ParameterError
        If an option is outside its range, an output exists and overwrite is not said, or gold does not determine a
        recalibration.
    InputError
        If a document is bad, or none has gold.
    OutputError
        If a file cannot be written.
    """
    started = time.time()
    options = {"objective": objective, "folds": folds, "seed": seed, "n_samples": n_samples, "n_boot": n_boot}
    options |= {"role": role, "scheme": scheme, "unannotated": unannotated, "missing": missing, "on_error": on_error}
    options |= {"shrink": shrink}
    _check_options(options)
    path, gold_names, names = os.fspath(out), paths_of(gold_inputs), paths_of(apply_inputs)
    if "-" in gold_names and "-" in names:
        raise ParameterError("apply_inputs must not be standard input where gold_inputs is, got - twice")
    require_suffix(path, SUFFIXES, ParameterError)
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    query = {name: options[name] for name in ("role", "scheme", "unannotated", "n_samples", "seed")}
    with quarantine_file(path, on_error=on_error, overwrite=overwrite) as on_rejected:
        gold = GoldDocuments(
            gold_names,
            for_queries=objective.startswith("queries"),
            role=role,
            scheme=scheme,
            on_rejected=on_rejected,
            on_progress=on_progress,
        )
        target = RecalibratedDocuments(names, on_rejected, on_progress)  # a missing file is told before the fit
        fitter, fit = _fitted(gold, named_objective(objective, query), missing=missing, unannotated=unannotated)
        held_out, draws = fitter.cross_fit(folds, seed=seed), fitter.bootstrap(n_boot, seed=seed)
        applied = draws.shrunk(fit.recalibration) if shrink else fit.recalibration
        inputs = [{"part": "gold", **row} for row in checksums(gold.stream.paths)]
        inputs += [{"part": "apply", **row} for row in checksums(target.stream.paths)]
        n_written = write_documents(
            _then_removing(record, target.under(applied, fitter.gold.doc_ids)), path, overwrite=overwrite
        )
        run = RecalibrationRun(
            out=path,
            record=record,
            fit=fit,
            cross_fit=held_out,
            draws=draws,
            applied=applied,
            n_without_gold=gold.n_without_gold + fit.gold.n_without_gold,
            n_written=n_written,
            n_also_fitted=target.n_also_fitted,
            n_quarantined=0 if on_rejected is None else on_rejected.count,
            seconds=round(time.time() - started, 3),
        )
        write_record(record, _record(run, {**options, "out": path}, inputs, started))
    return run


def _check_options(options: dict[str, Any]) -> None:
    _checks.choice("objective", options["objective"], OBJECTIVES)
    _checks.whole("folds", options["folds"], 2)
    _checks.seed(options["seed"])
    _checks.whole("n_samples", options["n_samples"], 2)
    _checks.whole("n_boot", options["n_boot"], 2)
    _checks.choice("role", options["role"], ROLES)
    if options["scheme"] is not None:
        _checks.choice("scheme", options["scheme"], scheme_names())
    _checks.choice("unannotated", options["unannotated"], UNANNOTATED)
    _checks.choice("missing", options["missing"], MISSING)
    _checks.choice("on_error", options["on_error"], ON_ERROR)


def _fitted(
    gold: GoldDocuments, objective: Objective, *, missing: str, unannotated: Unannotated
) -> tuple[RecalibrationFitter, RecalibrationFit]:
    documents = list(gold)
    files = ", ".join(gold.stream.paths)
    if not documents:
        raise InputError(f"{files}: gold must be there to fit on, got none in {gold.n_without_gold} documents")
    try:
        fitter = RecalibrationFitter(documents, objective=objective, missing=missing, unannotated=unannotated)
        return fitter, fitter.fit()
    except ParameterError as error:  # the options are checked: what is left to be wrong is in the files
        raise InputError(f"{files}: {error}") from None


def _then_removing(path: str, documents: Iterator[ScoredDocument]) -> Iterator[ScoredDocument]:
    """Pass documents on; then an earlier run's record goes, as the file it tells of is about to."""
    yield from documents
    with suppress(FileNotFoundError):
        os.unlink(path)


def _record(
    run: RecalibrationRun, arguments: dict[str, Any], inputs: list[dict[str, Any]], started: float
) -> dict[str, Any]:
    held_out = run.cross_fit
    return run_record(
        arguments,
        inputs,
        started,
        recalibration=run.applied.to_json(),
        summary=run.to_json(),
        folds=[each.to_json() for each in held_out.recalibrations],
        draws={"temperature": run.draws.temperature.tolist(), "new_bias": run.draws.new_bias.tolist()},
    )
