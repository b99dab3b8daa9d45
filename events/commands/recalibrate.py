"""Correct probabilities: fit a recalibration to documents with gold, and apply it to others.

GOLD and APPLY are scored mentions (.jsonl, .jsonl.gz, .parquet), globs, or - for JSON Lines on standard input; they
may be the same. The documents of APPLY are written to --out with their new scores, and a record of the fit to a
file beside it.

Examples
--------
  corefsample recalibrate gold.jsonl news.parquet --out recalibrated.parquet
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from corefsample.errors import InputError, ParameterError
from events import _options as shared
from events._summary import Summary, counts_above_zero, set_aside
from events.commands._parser import Command

if TYPE_CHECKING:
    from corefsample.documents._scored import ScoredDocument
    from corefsample.files._paths import Inputs
    from corefsample.recalibration._fitter import CorpusFit

RECORD_SUFFIX = ".recalibration.json"


@shared.declared
class RecalibrateOptions(shared.Overwrite, shared.Unannotated, shared.Seed, shared.OnError):
    """Options of a recalibration.

    Attributes
    ----------
    out
        File for the documents of APPLY with their new scores.
    objective
        Objective of the fit: the log score of pairs of mentions (links-log), which takes longer, or of gold antecedents
        (likelihood).
    form
        Form of the recalibration. global: a temperature and a NEW bias; kinds: also offsets for each kind of mention
        and of antecedent.
    domains
        Metadata field with each document's kind of text, for the form kinds: the fit then estimates how much kinds of
        text differ. [default: genre, if all documents have it]
    n_folds
        Number of folds of the cross-validation, at least 2.
    n_resamples
        Number of refits on resampled documents, from which standard errors are computed.
    seed
        Seed of the random draws: the same seed gives the same folds and refits.
    """

    out: str = shared.option(metavar="FILE")
    objective: Literal["links-log", "likelihood"] = "links-log"
    form: Literal["global", "kinds"] = "kinds"
    domains: str | None = shared.option(default=None, metavar="FIELD")
    n_folds: int = shared.option(default=5, at_least=2)
    n_resamples: int = shared.option(default=200, at_least=2)

    def _check(self) -> None:
        super()._check()
        if self.domains is not None and self.form != "kinds":
            raise ParameterError(f"are for the form 'kinds', got {self.form!r}", parameter="domains")


def run_recalibrate(
    gold: Inputs, apply: Inputs, options: RecalibrateOptions, *, on_progress: shared.Progress | None = None
) -> Summary:
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
    from corefsample.recalibration._fitter import faults_of_application, fit_corpus
    from events.runs._outputs import checksums, free_outputs, run_record

    started, out = time.time(), options.out
    if "-" in path_list(gold) and "-" in path_list(apply):
        raise ParameterError("must not be standard input if gold is, got - twice", parameter="apply")
    require_suffix(out, SUFFIXES, ParameterError)
    record = free_outputs(out, RECORD_SUFFIX, overwrite=options.overwrite)
    with quarantine_file(out, **options.subset("on_error", "overwrite")) as on_rejected:
        apply_paths = DocumentStream(apply).paths  # raises for a missing file before the fit
        stream = DocumentStream(gold, on_rejected=on_rejected)
        documents = list(stream.documents(on_progress=on_progress))
        with_gold = [document for document in documents if document.gold is not None]
        settings = options.subset("objective", "form", "unannotated", "n_folds", "n_resamples", "seed")
        paths = ", ".join(stream.paths)
        if not with_gold:
            raise InputError(f"gold is required for the fit, got none in {len(documents)} documents", place=paths)
        fitted = fit_corpus(with_gold, paths, domain_field=options.domains, **settings)
        files = {"gold": stream.paths, "apply": apply_paths}
        inputs = [{"part": part, **row} for part, names in files.items() for row in checksums(names)]
        uncertain, fitted_ids, n_also_fitted = fitted.uncertain, set(fitted.cross_fit.doc_ids), 0
        needs = () if uncertain.recalibration.offsets is None else ("tokens",)
        applied_to = DocumentStream(apply_paths, needs=needs, on_rejected=on_rejected)

        def recalibrated() -> Iterator[ScoredDocument]:
            nonlocal n_also_fitted
            for document in applied_to.documents(partial(faults_of_application, uncertain), on_progress=on_progress):
                n_also_fitted += document.doc_id in fitted_ids
                yield uncertain.recalibration.apply_document(document)
            # The output is about to be replaced, so the record of an earlier output is no longer valid.
            remove_file(record)

        n_written = write_documents(recalibrated(), out, overwrite=options.overwrite)
        values = {
            "out": out,
            "record": record,
            "applied": uncertain.recalibration.to_json(),
            "n_without_gold": len(documents) - len(with_gold) + fitted.fit.gold.n_without_gold,
            "n_documents": n_written,
            "n_also_fitted": n_also_fitted,
            "n_quarantined": 0 if on_rejected is None else on_rejected.count,
            "seconds": round(time.time() - started, 3),
            **fitted.to_json(),
        }
        folds = [each.to_json() for each in fitted.cross_fit.recalibrations]
        entries = {"summary": values, "folds": folds, **uncertain.to_json()}
        write_json(record, run_record(options.recorded(), inputs, started, **entries))
    return Summary(
        values=values,
        shown=[*_shown(values, fitted)],
        notices=set_aside(values["n_quarantined"]),
        files={"Scores": f"{out} ({n_written:,} documents)", "Record": record},
        result=fitted,
    )


def _shown(values: dict[str, Any], fitted: CorpusFit) -> Iterator[str]:
    """Yield the fit, and its scores on held-out documents."""
    effect = fitted.uncertain.domain_effect
    yield (
        f"Fitted to {values['objective']}: temperature {values['temperature']:.4f} (se "
        f"{values['temperature_se']:.4f}), NEW bias {values['new_bias']:.4f} (se {values['new_bias_se']:.4f})."
    )
    if fitted.fit.prior_sd is not None:
        yield f"Offsets by kind of link have a prior of standard deviation {fitted.fit.prior_sd:g}."
    if effect is not None:
        yield (
            f"Between {effect.n_domains} domains the NEW bias has a standard deviation of {effect.new_bias:.2f}, "
            f"offsets of links one of {effect.link_offsets:.2f}."
        )
    yield (
        f"Held out, {values['n_folds']} folds: {values['score_before']:.5f} before, {values['score_after']:.5f} "
        f"after (se of the change {values['score_change_se']:.5f}); lower is better."
    )
    yield from counts_above_zero(
        (values["n_without_gold"], "document", "without gold left out of the fit"),
        (values["n_also_fitted"], "document", "of those written also used in the fit"),
    )


command = Command(RecalibrateOptions, run_recalibrate, "gold", "apply", task="recalibrating")
