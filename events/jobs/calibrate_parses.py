"""The job behind `corefsample calibrate-parses`: a treebank and a pipeline in, calibration of sampled parses out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from corefsample import _checks
from corefsample.documents import ON_ERROR
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files import PathLike
from corefsample.formats.annotated import read_corefud
from corefsample.parses import SCORES, ParseCalibration, TemperatureFit, calibrate_parses, fit_temperature
from corefsample.plots import reliability_figure
from events.jobs._output_folder import OutputFolder
from events.jobs._parse_sampling import TreebankDocument, TreebankParses, schemes_of
from events.jobs._pictures import picture_files, save_pictures
from events.jobs._reading import BadDocuments, Progress
from events.jobs._record import checksums, json_rows, plain_fields, run_record
from events.jobs.scoring import load_pipeline
from events.rules import Rule, load_rules

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = ["CalibrateParsesOptions", "ParseCalibrationFolder", "ParseCalibrationRun", "run_calibrate_parses"]

SENTENCES = ("predicted", "gold")
_DRAWN = ("labelled arcs", "roles", "paths of 3 arcs", "paths of 7 arcs")


class ParseCalibrationFolder(OutputFolder):
    """Collects the files of a calibration of parses: see `OutputFolder`."""

    RECORD: ClassVar[str] = "parse_calibration.json"
    FILES: ClassVar[frozenset[str]] = frozenset(
        [
            "parse_calibration.csv",
            "parse_reliability.csv",
            "quarantine.jsonl",
            *picture_files("parse_reliability"),
            RECORD,
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateParsesOptions:
    """What to measure, and how.

    Attributes
    ----------
    pipeline
        Installed spaCy pipeline, or the folder of one, with a transition parser.
    temperature
        At which to measure; None: fitted.
    temperatures
        Those that a fit tries: at least 3, ascending, above 0.
    fit_by
        "brier": the temperature has the best Brier score; "likelihood": the highest likelihood, which samples can
        estimate only where they have the treebank's arc. See `corefsample.parses.gold_score`.
    n_samples
        Parses drawn of each document, at least 2.
    n_words
        Only the first sentences of each document, with at most so many words; None: all.
    sentences
        "predicted": those of the pipeline's usual parse; "gold": those of the treebank.
    rule, preset
        Rule whose paths are measured.
    level
        Level of the intervals, in (0, 1).
    n_resamples
        Draws for each interval, at least 2.
    seed
        In [0, 2**64).
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
    """

    pipeline: str
    temperature: float | None = None
    temperatures: tuple[float, ...] = (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5)
    fit_by: str = "brier"
    n_samples: int = 100
    n_words: int | None = None
    sentences: str = "predicted"
    rule: str = "attack"
    preset: str = "extended"
    level: float = 0.95
    n_resamples: int = 2000
    seed: int = 0
    on_error: str = "stop"

    def __post_init__(self) -> None:
        if self.temperature is not None:
            _checks.above_zero("temperature", self.temperature)
        _checks.choice("fit_by", self.fit_by, SCORES)
        _checks.n_samples(self.n_samples, 2)
        if self.n_words is not None:
            _checks.whole("n_words", self.n_words, 1)
        _checks.choice("sentences", self.sentences, SENTENCES)
        _checks.probability("level", self.level, below_one=True, above_zero=True)
        _checks.whole("n_resamples", self.n_resamples, 2)
        _checks.seed(self.seed)
        _checks.choice("on_error", self.on_error, ON_ERROR)


@dataclass(frozen=True, slots=True, eq=False)
class ParseCalibrationRun:
    """Result of a calibration of parses.

    Attributes
    ----------
    calibration
        The measured calibration.
    fit
        The fitted temperature, from all documents for it; None if a temperature was given.
    fit_by
        Score that was fitted: "brier" or "likelihood".
    temperatures
        Those at which the parses measured were drawn: the given one, the fitted one, or if the same documents served
        both, one for each half of them, fitted to the other half.
    schemes
        Dependency schemes of the treebank and of the pipeline. If they differ, only roles and role paths are measured.
    out
        The folder, or None if nothing was written.
    n_documents, n_words
        Measured.
    n_quarantined
        Bad documents set aside.
    seconds
        Wall time.
    """

    calibration: ParseCalibration
    fit: TemperatureFit | None
    fit_by: str
    temperatures: tuple[float, ...]
    schemes: tuple[str, str]
    out: str | None
    n_documents: int
    n_words: int
    n_quarantined: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Temperatures and the rows of the table."""
        fit = None if self.fit is None else {**plain_fields(self.fit), "is_at_end": self.fit.is_at_end}
        return {
            **plain_fields(self),
            "fit": fit,
            "temperatures": list(self.temperatures),
            "schemes": list(self.schemes),
            "properties": json_rows(self.calibration.to_frame()),
        }


def run_calibrate_parses(
    treebank: PathLike | Iterable[PathLike],
    out: PathLike | None = None,
    options: CalibrateParsesOptions | None = None,
    *,
    fit: PathLike | Iterable[PathLike] | None = None,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> ParseCalibrationRun:
    """Measure the calibration of a pipeline's sampled parses against a treebank, at a temperature fitted or given.

    Parameters
    ----------
    treebank
        CoNLL-U files or globs, with dependency trees.
    out
        Folder for tables, a picture and the record; None to write nothing.
    options
        Pipeline, and what to measure.
    fit
        Other CoNLL-U files, to fit the temperature to. None, without a temperature in the options: the temperature for
        each half of the treebank's documents is fitted to the other half.
    overwrite
        Whether an earlier folder may be replaced.
    on_progress
        Called after each document parsed, with how many were parsed, how many there are to parse, and again how many
        were; documents count once per temperature.

    Raises
    ------
    ParameterError
        If the folder is in use, or the pipeline cannot be used.
    InputError
        If a file is missing or a document is bad.
    OutputError
        If the folder cannot be written. After an error no folder is left.
    """
    started = time.time()
    if options is None:
        raise ParameterError("must name a pipeline, got none", parameter="pipeline")
    if fit is not None and options.temperature is not None:
        raise ParameterError("must be left out if there is a temperature, got both", parameter="fit")
    rule = load_rules(options.rule, options.preset)
    pipeline = load_pipeline(options.pipeline)
    with nullcontext() if out is None else ParseCalibrationFolder(out, overwrite=overwrite) as folder:
        bad = BadDocuments(folder)
        stream = read_corefud(treebank, on_rejected=bad if options.on_error == "quarantine" else None)
        documents = [TreebankDocument.of(document, options.n_words) for document in stream]
        fit_stream = None if fit is None else read_corefud(fit)
        fit_documents = (
            None if fit_stream is None else [TreebankDocument.of(document, options.n_words) for document in fit_stream]
        )
        measure = _Measurement(pipeline, options, rule, documents, fit_documents, on_progress)
        calibration = measure.calibration()
        run = ParseCalibrationRun(
            calibration,
            measure.fit,
            options.fit_by,
            measure.temperatures,
            measure.schemes,
            None if out is None else os.fspath(out),
            len(documents),
            sum(len(document.tokens) for document in documents),
            bad.count,
            round(time.time() - started, 3),
        )
        if folder is not None:
            _write(folder, run)
            paths = [*stream.paths, *(fit_stream.paths if fit_stream is not None else ())]
            arguments = {**dataclasses.asdict(options), "out": run.out}
            folder.finish_record(run_record(arguments, checksums(paths), started, summary=run.to_json()))
    return run


class _Measurement:
    """Fits temperatures if none is given, and measures."""

    def __init__(
        self,
        pipeline: Language,
        options: CalibrateParsesOptions,
        rule: Rule,
        documents: Sequence[TreebankDocument],
        fit_documents: Sequence[TreebankDocument] | None,
        on_progress: Progress | None,
    ) -> None:
        self._options, self._rule = options, rule
        self._documents = documents
        self._fit_documents = documents if fit_documents is None else fit_documents
        self._is_crossed = fit_documents is None and options.temperature is None
        if self._is_crossed and len(documents) < 2:
            hint = ParameterHint("fit", "fits the temperature to other documents")
            raise InputError("a treebank to fit the temperature to must have at least 2 documents, got 1", hint=hint)
        self.schemes = schemes_of([*documents, *(fit_documents or ())], pipeline)
        self.fit: TemperatureFit | None = None
        self.temperatures: tuple[float, ...] = ()
        self._n_parsed, self._on_progress = 0, on_progress
        self._n_all = len(documents)
        if options.temperature is None:
            self._n_all += len(self._fit_documents) * len(options.temperatures)
        self._parses = TreebankParses(
            pipeline,
            schemes=self.schemes,
            n_samples=options.n_samples,
            seed=options.seed,
            gold_sentences=options.sentences == "gold",
            on_document=self._count,
        )

    def calibration(self) -> ParseCalibration:
        """Calibration of all documents, each at its temperature."""
        options = self._options
        of_document = self._fitted_temperatures() if options.temperature is None else [options.temperature]
        self.temperatures = tuple(of_document)
        pairs = [
            self._parses.pairs(document, of_document[d % len(of_document)], self._rule)
            for d, document in enumerate(self._documents)
        ]
        return calibrate_parses(pairs, level=options.level, n_resamples=options.n_resamples, seed=options.seed)

    def _fitted_temperatures(self) -> list[float]:
        options = self._options
        table = self._parses.scores(self._fit_documents, options.temperatures, options.fit_by)
        fitted = partial(
            fit_temperature,
            temperatures=options.temperatures,
            level=options.level,
            n_resamples=options.n_resamples,
            seed=options.seed,
        )
        self.fit = fitted(table)
        if not self._is_crossed:
            return [self.fit.temperature]
        return [fitted(table[1 - half :: 2]).temperature for half in (0, 1)]

    def _count(self) -> None:
        self._n_parsed += 1
        if self._on_progress is not None:
            self._on_progress(self._n_parsed, self._n_all, self._n_parsed)


def _write(folder: ParseCalibrationFolder, run: ParseCalibrationRun) -> None:
    calibration = run.calibration
    calibration.to_frame().to_csv(folder.file("parse_calibration.csv"), index=False)
    calibration.curves_frame().to_csv(folder.file("parse_reliability.csv"), index=False)
    curves = {each.name: each.curve for each in calibration.properties if each.name in _DRAWN}
    title = f"Sampled parses of {run.n_documents:,} documents"
    save_pictures({"parse_reliability": partial(reliability_figure, curves, title=title)}, folder.file)
