"""Correct probabilities: fit a recalibration to documents with gold, and apply it to others.

GOLD and APPLY are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; they
may be the same. The documents of APPLY are written to --out with their new scores, and a record of the fit to a
file beside it.

Examples
--------
  corefsample recalibrate gold.jsonl news.parquet --out recalibrated.parquet
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import click

from corefsample import recalibration
from corefsample.errors import InputError, ParameterError
from events import _shared_options as shared
from events._options import CommandResult, Progress, declared, option
from events._summary import counts_above_zero
from events.commands._parser import Command
from events.commands._screen import print_text

if TYPE_CHECKING:
    from corefsample.documents._batch import DocumentBatch
    from corefsample.documents._faults import Fault
    from corefsample.documents._scored import ScoredDocument
    from corefsample.files._paths import Inputs
    from corefsample.recalibration._domains import DomainEffect
    from corefsample.recalibration._model import Recalibration
    from corefsample.recalibration._refits import CrossFit, RecalibrationDraws, RecalibrationFit
    from corefsample.recalibration._uncertain import UncertainRecalibration
    from events.commands._reading import GoldDocuments

__all__ = ["RECORD_SUFFIX", "RecalibrateOptions", "RecalibrateResult", "print_recalibrate", "run_recalibrate"]

RECORD_SUFFIX = ".recalibration.json"


@declared
class RecalibrateOptions(shared.Overwrite, shared.RecalibrationFitOptions):
    """Options of a recalibration.

    Attributes
    ----------
    out
        File for the documents of APPLY with their new scores.
    objective
        Objective of the fit: the log score of pairs of mentions (links-log), which takes longer, or of gold antecedents
        (likelihood).
    n_resamples
        Number of refits on resampled documents, from which standard errors are computed.
    shrink
        Shrink the fit towards no change according to its uncertainty, for use with few documents with gold.
    """

    out: str = option(metavar="FILE")
    objective: Literal["links-log", "likelihood"] = "links-log"
    form: shared.Form = "kinds"
    n_resamples: int = option(default=200, at_least=2)
    shrink: bool = False

    def _check(self) -> None:
        super()._check()
        if self.form == "kinds" and self.shrink:
            rule = "is for the form 'global', because offsets by kind have a prior already"
            raise ParameterError(f"{rule}, got 'kinds'", parameter="shrink")


@dataclass(frozen=True, slots=True, eq=False)
class RecalibrateResult(CommandResult):
    """Result of a recalibration.

    Attributes
    ----------
    out, record
        Path of the file of recalibrated documents, and path of the record of the fit beside it.
    fit
        Recalibration that was fitted to all documents with gold.
    cross_fit
        Recalibrations that were each fitted without one fold of the documents, with their scores on this fold.
    draws
        Recalibrations that were refitted to bootstrapped documents.
    applied
        Recalibration of the written documents: the fit, or the fit shrunk towards no change.
    domain_effect
        Difference of the recalibration between domains; None if the domains are unknown or not used.
    n_without_gold
        Number of documents of the gold inputs that were left out because they have no gold.
    n_documents
        Number of documents written.
    n_also_fitted
        Number of written documents that were also used in the fit.
    n_quarantined
        Number of invalid documents of both inputs that were set aside.
    seconds
        Wall time in seconds.
    """

    out: str
    record: str
    fit: RecalibrationFit
    cross_fit: CrossFit
    draws: RecalibrationDraws
    applied: Recalibration
    domain_effect: DomainEffect | None
    n_without_gold: int
    n_documents: int
    n_also_fitted: int
    n_quarantined: int
    seconds: float

    def _more(self) -> dict[str, Any]:
        held_out, draws = self.cross_fit, self.draws
        return {
            "objective": self.fit.objective,
            "form": self.fit.form,
            "prior_sd": self.fit.prior_sd,
            **self.fit.recalibration.to_json(),
            "temperature_se": float(draws.temperature.std(ddof=1)),
            "new_bias_se": float(draws.new_bias.std(ddof=1)),
            "domain_effect": None if self.domain_effect is None else dataclasses.asdict(self.domain_effect),
            "n_folds": held_out.n_folds,
            "score_before": held_out.score_before,
            "score_after": held_out.score_after,
            "score_change_se": held_out.score_change_se,
            "n_terms": self.fit.n_terms,
            "gold": self.fit.gold.to_json(),
        }


def run_recalibrate(
    gold: Inputs, apply: Inputs, options: RecalibrateOptions, *, on_progress: Progress | None = None
) -> RecalibrateResult:
    """Fit a recalibration to documents with gold, and write other documents with recalibrated scores.

    Parameters
    ----------
    gold
        Paths, globs, or "-" of the documents for the fit. Documents without gold are counted and left out.
    apply
        Paths, globs, or "-" of the documents whose scores are recalibrated; they may be the same files.
    options
        Options of the fit, and the new file (.jsonl, .jsonl.gz or .parquet). The record of the fit is written to its
        name with .recalibration.json added, and invalid documents to its name with .quarantine.jsonl added.
    on_progress
        Function that is called as documents are read with the bytes read, the bytes of all files, and the number of
        documents; first for `gold`, then for `apply`.

    Raises
    ------
    ParameterError
        If an output exists and `overwrite` is false, there are more folds than documents, or gold does not determine
        a recalibration.
    InputError
        If a document is invalid and is not set aside, or if no document of `gold` has gold.
    OutputError
        If a file cannot be written.
    """
    from corefsample.files._atomic import remove_file, write_json
    from corefsample.files._paths import path_list, require_suffix
    from corefsample.formats import DocumentStream
    from corefsample.formats.scored._stream import SUFFIXES
    from corefsample.formats.scored._writing import quarantine_file, write_documents
    from corefsample.recalibration._uncertain import DOMAIN_FIELD, UncertainRecalibration
    from events._document_batches import streamed
    from events.commands._reading import gold_documents
    from events.runs._outputs import checksums, free_outputs, run_record

    started = time.time()
    if "-" in path_list(gold) and "-" in path_list(apply):
        raise ParameterError("must not be standard input if gold is, got - twice", parameter="apply")
    require_suffix(options.out, SUFFIXES, ParameterError)
    record = free_outputs(options.out, RECORD_SUFFIX, overwrite=options.overwrite)
    with quarantine_file(options.out, **options.subset("on_error", "overwrite")) as on_rejected:
        apply_paths = DocumentStream(apply).paths  # raises for a missing file before the fit
        gold_inputs = gold_documents(
            gold,
            "the fit",
            on_rejected=on_rejected,
            on_progress=on_progress,
        )
        _require_unseen(gold_inputs)
        language = _common_language(gold_inputs)
        fitter, fit, effect = _fitted(gold_inputs, options)
        cross_fit = fitter.cross_fit(options.n_folds, seed=options.seed)
        draws = fitter.bootstrap(options.n_resamples, seed=options.seed)
        applied = draws.shrunk(fit.recalibration) if options.shrink else fit.recalibration
        inputs = [{"part": "gold", **row} for row in checksums(gold_inputs.paths)]
        inputs += [{"part": "apply", **row} for row in checksums(apply_paths)]
        uncertain = UncertainRecalibration(
            applied, draws, effect, fitter.gold.base, options.domains or DOMAIN_FIELD, language
        )
        needs = () if applied.offsets is None else ("tokens",)
        stream = DocumentStream(apply_paths, needs=needs, on_rejected=on_rejected)
        fitted, n_also_fitted = frozenset(fitter.gold.doc_ids), 0

        def recalibrated() -> Iterator[ScoredDocument]:
            nonlocal n_also_fitted
            for document in streamed(stream, on_progress, partial(_faults, uncertain)):
                n_also_fitted += document.doc_id in fitted
                yield applied.apply_document(document)
            # The output is about to be replaced, so the record of an earlier output is no longer valid.
            remove_file(record)

        n_written = write_documents(recalibrated(), options.out, overwrite=options.overwrite)
        result = RecalibrateResult(
            out=options.out,
            record=record,
            fit=fit,
            cross_fit=cross_fit,
            draws=draws,
            applied=applied,
            domain_effect=effect,
            n_without_gold=gold_inputs.n_without_gold + fit.gold.n_without_gold,
            n_documents=n_written,
            n_also_fitted=n_also_fitted,
            n_quarantined=0 if on_rejected is None else on_rejected.count,
            seconds=round(time.time() - started, 3),
        )
        folds = [each.to_json() for each in cross_fit.recalibrations]
        entries = {"summary": result.to_json(), "folds": folds, **uncertain.to_json()}
        write_json(record, run_record(options.recorded(), inputs, started, **entries))
    return result


def _fitted(
    gold: GoldDocuments, options: RecalibrateOptions
) -> tuple[recalibration.RecalibrationFitter, RecalibrationFit, DomainEffect | None]:
    domains = options.domains_of(gold.documents, gold.place)
    try:
        fitter = recalibration.RecalibrationFitter(
            gold.documents, domains=domains, **options.subset("objective", "missing", "unannotated", "form")
        )
        fit = fitter.fit()
        return fitter, fit, None if domains is None else fitter.domain_effect()
    except ParameterError as error:  # the options are valid, so the fault is in the files
        raise error.as_input_error(gold.place) from None


def _require_unseen(gold: GoldDocuments) -> None:
    """Raise InputError if documents of a fit were in the training of the model that scored them."""
    from corefsample.scorers._scoring import SEEN_FIELD

    n_seen = sum(bool(each.metadata.get(SEEN_FIELD)) for each in gold.documents)
    if n_seen:
        rule = "must be scored by a model that was not trained on them"
        seen_share = f"{n_seen:,} of {len(gold.documents):,} documents with {SEEN_FIELD}"
        hint = "`corefsample score CORPUS --folds 5 --out FILE` scores each document by a model that has not seen it"
        raise InputError(f"documents to fit on {rule}, got {seen_share}", place=gold.place, hint=hint)


def _common_language(gold: GoldDocuments) -> str | None:
    """Language that the documents of a fit declare; None if none declares one; InputError if they are in several."""
    from corefsample.languages._language import declared_language

    languages = sorted({declared_language(each.metadata) or "" for each in gold.documents} - {""})
    if len(languages) > 1:
        raise InputError(f"must be in one language, got {', '.join(languages)}", place=gold.place)
    return languages[0] if languages else None


def _faults(uncertain: UncertainRecalibration, batch: DocumentBatch) -> dict[int, str | Fault]:
    """Faults by row: scores or language that differ from those of the fit, and scores that become infinite."""
    from corefsample.documents._faults import Fault
    from corefsample.languages._language import declared_language, differ
    from corefsample.recalibration._model import Recalibration

    wrong: dict[int, str | Fault] = {}
    hint = "`corefsample score --recalibration none` keeps the scores of the model"
    for row in range(len(batch)):
        try:
            applied = Recalibration.applied_to(batch.metadata(row))
            if applied != uncertain.base:
                wrong[row] = Fault(f"scores {uncertain.other_scores(applied)}", hint)
            language = declared_language(batch.metadata(row))
            if differ(uncertain.language, language):
                wrong[row] = f"must be in the language of the fit ({uncertain.language}), got {language}"
            uncertain.recalibration.scores(batch.antecedents(row).scores)
        except ParameterError as error:
            wrong[row] = str(error)
    return wrong


def print_recalibrate(run: RecalibrateResult) -> None:
    """Print the fit, and its scores on held-out documents."""
    summary = run.to_json()
    print_text(
        f"Fitted to {summary['objective']}: temperature {summary['temperature']:.4f} (se "
        f"{summary['temperature_se']:.4f}), NEW bias {summary['new_bias']:.4f} (se {summary['new_bias_se']:.4f})."
    )
    if run.fit.prior_sd is not None:
        print_text(f"Offsets by kind of link have a prior of standard deviation {run.fit.prior_sd:g}.")
    if run.domain_effect is not None:
        effect = run.domain_effect
        print_text(
            f"Between {effect.n_domains} domains the NEW bias has a standard deviation of {effect.new_bias:.2f}, "
            f"offsets of links one of {effect.link_offsets:.2f}."
        )
    if run.applied != run.fit.recalibration:
        print_text(
            f"Shrunk: temperature {run.applied.temperature:.4f} and NEW bias {run.applied.new_bias:.4f} were applied."
        )
    print_text(
        f"Held out, {summary['n_folds']} folds: {summary['score_before']:.5f} before, {summary['score_after']:.5f} "
        f"after (se of the change {summary['score_change_se']:.5f}); lower is better."
    )
    for text in counts_above_zero(
        (run.n_without_gold, "document", "without gold left out of the fit"),
        (run.n_quarantined, "bad document", "set aside"),
        (run.n_also_fitted, "document", "of those written also used in the fit"),
    ):
        print_text(text)
    click.echo(f"\nScores   {run.out} ({run.n_documents:,} documents)\nRecord   {run.record}")


command = Command(
    RecalibrateOptions,
    run_recalibrate,
    "gold",
    "apply",
    task="recalibrating",
    sections={"Fitting": "form domains n_folds n_resamples missing unannotated seed"},
    show=print_recalibrate,
)
