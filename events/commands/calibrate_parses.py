"""Can the probabilities of sampled parses be trusted? Measure their calibration against a treebank.

TREEBANK are CoNLL-U files or globs. The pipeline parses their words many times, each parse drawn from its parser's
probabilities at a temperature. Prints how often arcs, roles, and paths of 1 to 7 arcs are right, against their
shares of the parses. A pipeline with labels of another scheme than the treebank's is measured by roles, which both
have.

Unless it is given, the temperature is the one of the best Brier score on the documents of --fit or, without them,
for each half of the documents, on the other half. Each document is parsed about ten times as long as usual,
for each of seven temperatures.

Examples
--------
  corefsample calibrate-parses ud.conllu --pipeline en_core_web_sm
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, Self

import click

from corefsample import parses, plots
from corefsample.errors import InputError, ParameterError, ParameterHint
from events import _shared_options as shared
from events._options import FolderResult, Progress, declared, option
from events.commands._parser import Command
from events.commands._screen import print_counts, print_files, print_text
from events.runs._output_folder import save_pictures

if TYPE_CHECKING:
    from spacy.language import Language

    from corefsample._arrays import Floats
    from corefsample.documents._annotated import AnnotatedDocument
    from corefsample.documents._tokens import Tokens
    from corefsample.files._folders import OutputFolder
    from corefsample.files._paths import Inputs
    from corefsample.parses._calibration import ParseCalibration, TemperatureFit
    from corefsample.parses._pairs import ParsePairs
    from events.rules._rules import Rule

_DRAWN = ("labelled arcs", "roles", "paths of 3 arcs", "paths of 7 arcs")


@declared
class CalibrateParsesOptions(shared.OutFolder, shared.Seed, shared.Overwrite, shared.OnError):
    """Options of a measurement of sampled parses.

    Attributes
    ----------
    pipeline
        Name or folder of a spaCy pipeline with a transition parser.
    fit
        File (.conllu) of documents to which the temperature is fitted. [default: for each half of TREEBANK, the other
        half]
    fit_by
        Score of labelled arcs or roles by which the temperature is fitted.
    temperature
        Temperature at which parses are sampled. [default: the fitted temperature]
    temperatures
        Temperatures that a fit tries, at least 3 in ascending order.
    n_samples
        Number of parses that are sampled for each document.
    n_words
        Measure only the first sentences of each document, with at most this number of words. [default: all]
    sentences
        Sentences of the parses: those of the pipeline's usual parse (predicted), or of the treebank (gold).
    rule
        Shipped rule, or rule file of your own, whose paths are measured.
    preset
        Preset of the rule.
    level
        Confidence level of the intervals.
    n_resamples
        Number of random draws for intervals.
    seed
        Seed of the random draws: the same seed gives the same parses.
    """

    pipeline: str = option(metavar="SPACY")
    fit: tuple[str, ...] | None = option(default=None, metavar="FILE")
    fit_by: Literal["brier", "likelihood"] = "brier"
    temperature: float | None = option(default=None, above=0.0)
    temperatures: tuple[float, ...] = option(default=(0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5), above=0.0, flag="")
    n_samples: int = shared.samples(100, at_least=2)
    n_words: int | None = option(default=None, at_least=1)
    sentences: Literal["predicted", "gold"] = "predicted"
    rule: str = option(default="attack", metavar="RULE")
    preset: str = option(default="extended", metavar="NAME")
    level: float = option(default=0.95, above=0.0, below=1.0)
    n_resamples: int = option(default=2000, at_least=2)

    def _check(self) -> None:
        if self.fit is not None and self.temperature is not None:
            raise ParameterError("must be left out if there is a temperature, got both", parameter="fit")


@dataclass(frozen=True, slots=True, eq=False)
class CalibrateParsesResult(FolderResult):
    """Result of a measurement of sampled parses.

    Attributes
    ----------
    calibration
        Calibration of the properties of parses.
    fit
        Fit of the temperature; None if the options set the temperature.
    fit_by
        Score by which the temperature was fitted: "brier" or "likelihood".
    temperatures
        Temperatures at which the measured parses were sampled: the one in the options, the fitted one, or two if the
        temperature was fitted to the measured documents, for each half of them the one that was fitted to the other.
    schemes
        Dependency schemes of the treebank and of the pipeline. If they differ, only roles and role paths are measured.
    n_documents, n_words
        Number of measured documents, and number of their words.
    """

    calibration: ParseCalibration
    fit: TemperatureFit | None
    fit_by: str
    temperatures: tuple[float, ...]
    schemes: tuple[str, str]
    n_documents: int
    n_words: int

    def _more(self) -> dict[str, Any]:
        from events.runs._record import json_rows

        names = ("temperature", "lower", "upper", "level", "is_at_end")
        fit = None if self.fit is None else {name: getattr(self.fit, name) for name in names}
        return {"fit": fit, "properties": json_rows(self.calibration.to_frame())}


def run_calibrate_parses(
    treebank: Inputs, options: CalibrateParsesOptions, *, on_progress: Progress | None = None
) -> CalibrateParsesResult:
    """Measure the calibration of a pipeline's sampled parses against a treebank.

    Parameters
    ----------
    treebank
        Paths or globs of CoNLL-U files with dependency trees.
    options
        Pipeline, options of the measurement, and the folder of the results, if any.
    on_progress
        Function that is called after each parsed document with the number of parsed documents, the number of all, and
        again the number of parsed documents; a document counts once for each temperature.

    Raises
    ------
    ParameterError
        If the folder has other files, or has an earlier result and `overwrite` is false, or if the
        pipeline cannot be loaded or its parses cannot be sampled.
    InputError
        If a file is missing, or a document is invalid and is not set aside.
    OutputError
        If the folder cannot be written. After any error the folder is removed.
    """
    from corefsample.formats.annotated._corefud import read_corefud
    from corefsample.parses._calibration import calibrate_parses
    from events.commands._results import ParsesFolder, results
    from events.rules._rules import load_rules
    from events.runs.scoring._pipelines import load_pipeline

    rule, pipeline = load_rules(options.rule, options.preset), load_pipeline(options.pipeline)
    with results(ParsesFolder, options) as output:
        streams = [read_corefud(treebank, on_rejected=output.on_rejected)]
        streams += [] if options.fit is None else [read_corefud(options.fit)]
        documents, *fit_sets = [[TreebankDocument.of(each, options.n_words) for each in stream] for stream in streams]
        is_crossed = options.fit is None and options.temperature is None
        if is_crossed and len(documents) < 2:
            hint = ParameterHint("fit", "fits the temperature to other documents")
            raise InputError("a treebank to fit the temperature to must have at least 2 documents, got 1", hint=hint)
        schemes = schemes_of([*documents, *chain(*fit_sets)], pipeline)
        fit_documents = [] if options.temperature is not None else fit_sets[0] if fit_sets else documents
        n_parsed = len(documents) + len(fit_documents) * len(options.temperatures)
        sampling = options.n_samples, options.seed, options.sentences == "gold"
        sampled = TreebankParses(pipeline, schemes, *sampling, n_parsed, on_progress)
        fit, temperatures = _fitted(sampled, fit_documents, options, is_crossed=is_crossed)
        pairs = [
            sampled.pairs(document, temperatures[d % len(temperatures)], rule) for d, document in enumerate(documents)
        ]
        result = CalibrateParsesResult(
            calibrate_parses(pairs, **options.subset("level", "n_resamples", "seed")),
            fit,
            options.fit_by,
            temperatures,
            schemes,
            len(documents),
            sum(len(document.tokens) for document in documents),
            **output.summary(),
        )
        if output.folder is not None:
            _write(output.folder, result)
        output.finish(result, [path for stream in streams for path in stream.paths])
    return result


def _fitted(
    sampled: TreebankParses, documents: Sequence[TreebankDocument], options: CalibrateParsesOptions, *, is_crossed: bool
) -> tuple[TemperatureFit | None, tuple[float, ...]]:
    """Fit of the temperature, and the temperature for all measured documents, or one for each half of them."""
    from corefsample.parses._calibration import fit_temperature

    if options.temperature is not None:
        return None, (options.temperature,)
    table = sampled.scores(documents, options.temperatures, options.fit_by)
    settings = options.subset("temperatures", "level", "n_resamples", "seed")
    fit = fit_temperature(table, **settings)
    if not is_crossed:
        return fit, (fit.temperature,)
    return fit, tuple(fit_temperature(table[1 - half :: 2], **settings).temperature for half in (0, 1))


def _write(folder: OutputFolder, run: CalibrateParsesResult) -> None:
    calibration = run.calibration
    calibration.to_frame().to_csv(folder.file("parse_calibration.csv"), index=False)
    calibration.curves_frame().to_csv(folder.file("parse_reliability.csv"), index=False)
    curves = {each.name: each.curve for each in calibration.properties if each.name in _DRAWN}
    title = f"Sampled parses of {run.n_documents:,} documents"
    save_pictures({"parse_reliability": partial(plots.reliability_figure, curves, title=title)}, folder.file)


@dataclass(frozen=True, slots=True, eq=False)
class TreebankDocument:
    """A document of a treebank, or its first sentences.

    Attributes
    ----------
    doc_id
        Identifier of the document.
    tokens
        Words with the parse of the treebank.
    """

    doc_id: str
    tokens: Tokens

    @classmethod
    def of(cls, document: AnnotatedDocument, n_words: int | None = None) -> Self:
        """Take from a document its first sentences with at most `n_words` words in total, but at least one sentence."""
        import numpy as np

        from corefsample.documents._tokens import STRING_COLUMNS, Tokens

        tokens = document.tokens
        if n_words is None or len(tokens) <= n_words:
            return cls(document.doc_id, tokens)
        ends = np.flatnonzero(np.diff(tokens.sent)) + 1
        fitting = int(np.searchsorted(ends, n_words, side="right"))
        end = int(ends[max(fitting - 1, 0)]) if len(ends) else len(tokens)
        columns = {name: getattr(tokens, name)[:end] for name in (*STRING_COLUMNS, "head", "sent")}
        return cls(document.doc_id, Tokens(**columns, extra={name: list(v)[:end] for name, v in tokens.extra.items()}))


def schemes_of(documents: Sequence[TreebankDocument], pipeline: Language) -> tuple[str, str]:
    """Dependency schemes of a treebank and of a pipeline's parser: the same scheme twice if the labels of both fit it.

    Raises
    ------
    InputError
        If the labels of the treebank fit no dependency scheme.
    ParameterError
        If the labels of the pipeline's parser fit no dependency scheme.
    """
    from corefsample.syntax._schemes import SchemeChoice, fitting_schemes

    try:
        treebank_schemes = SchemeChoice().names({label for document in documents for label in document.tokens.dep})
    except ParameterError as error:
        raise error.as_input_error("treebank") from None
    labels = {part for label in pipeline.pipe_labels.get("parser", ()) for part in label.split("||")}
    parser_schemes = fitting_schemes(labels)
    if not parser_schemes:
        raise ParameterError("must have a parser with labels of a known scheme, got others", parameter="pipeline")
    shared = [scheme for scheme in treebank_schemes if scheme in parser_schemes]
    return (shared[0], shared[0]) if shared else (treebank_schemes[0], parser_schemes[0])


@dataclass(slots=True, eq=False)
class TreebankParses:
    """Parses of the words of treebank documents that are sampled from a pipeline.

    Attributes
    ----------
    pipeline
        spaCy pipeline with a transition parser.
    schemes
        Dependency schemes of the treebank and of the pipeline: see `schemes_of`.
    n_samples, seed
        Number of parses that are sampled for each document, and seed: see `corefsample.parses.parse_samples`.
    gold_sentences
        True if sentences are those of the treebank, False if they are those of the pipeline's usual parse.
    n_all, on_progress
        Number of documents that will be parsed, and function that is called after each of them.
    n_done
        Number of documents that were parsed.
    """

    pipeline: Language
    schemes: tuple[str, str]
    n_samples: int
    seed: int
    gold_sentences: bool
    n_all: int
    on_progress: Progress | None
    n_done: int = 0

    def scores(self, documents: Sequence[TreebankDocument], temperatures: Sequence[float], by: str) -> Floats:
        """Score of each document at each temperature (see `gold_score`): float64 (n_documents, n_temperatures)."""
        import numpy as np

        from corefsample.parses._pairs import gold_score

        table = np.empty((len(documents), len(temperatures)))
        for d, document in enumerate(documents):
            for t, temperature in enumerate(temperatures):
                samples = self._samples(document, temperature)
                table[d, t] = gold_score(document.tokens, samples, schemes=self.schemes, by=by)
        return table

    def pairs(self, document: TreebankDocument, temperature: float, rule: Rule) -> Mapping[str, ParsePairs]:
        """Prediction-label pairs of a document's properties."""
        from corefsample.parses._pairs import parse_pairs

        samples = self._samples(document, temperature)
        return parse_pairs(document.tokens, samples, schemes=self.schemes, roles=rule.roles, upos=rule.upos)

    def _samples(self, document: TreebankDocument, temperature: float) -> list[Tokens]:
        from corefsample.spacy_bridge.documents import tokens_of_doc
        from events.runs.scoring._pipelines import doc_of_words

        docs = parses.parse_samples(
            self.pipeline,
            doc_of_words(document.tokens, self.pipeline, in_sentences=self.gold_sentences),
            self.n_samples,
            temperature=temperature,
            seed=self.seed,
            doc_id=document.doc_id,
        )
        docs_by_id = {id(doc): doc for doc in docs}  # equal parses are one Doc
        distinct = {key: tokens_of_doc(doc) for key, doc in docs_by_id.items()}
        self.n_done += 1
        if self.on_progress is not None:
            self.on_progress(self.n_done, self.n_all, self.n_done)
        return [distinct[id(doc)] for doc in docs]


def print_calibrate_parses(run: CalibrateParsesResult) -> None:
    """Print the temperatures, and the calibration of each property of a parse."""
    print_text(f"{run.n_documents:,} documents with {run.n_words:,} words.")
    print_counts((run.n_quarantined, "bad document", "set aside"))
    if run.schemes[0] != run.schemes[1]:
        print_text(
            f"The treebank's labels are of {run.schemes[0]}, the pipeline's of {run.schemes[1]}: measured by roles."
        )
    if run.fit is not None:
        fit = run.fit
        ends = "" if fit.lower is None else f", {100 * fit.level:g}% interval {fit.lower:.2f} to {fit.upper:.2f}"
        score = "Brier score" if run.fit_by == "brier" else "likelihood"
        print_text(f"Temperature by {score}: {fit.temperature:.2f}{ends}.")
        if fit.is_at_end:
            print_text("It is at the end of the temperatures that were tried: one beyond may be better.")
    if run.fit is None or len(run.temperatures) > 1:
        print_text(f"Measured at {' and '.join(f'{item:.2f}' for item in run.temperatures)}.")
    click.echo(
        f"\n{'property':<16}{'number':>9} {'mean P':>7} {'true':>7} {'error':>7}  {'by document':<16} {'largest':>7}"
    )
    for item in run.calibration.properties:
        interval = item.by_document
        ends = "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"
        click.echo(
            f"{item.name:<16}{item.n_pairs:>9,} {item.mean_q:>7.4f} {item.share_true:>7.4f} {item.error:>7.4f}"
            f"  {ends:<16} {item.largest_gap:>7.4f}"
        )
    click.echo()
    print_text("error: root mean square distance of P and the share that is right, over ten bins of P from 0.01 up.")
    print_text("by document: interval of the true error. largest: distance in the worst bin.")
    if run.out is not None:
        files = {"Picture": "parse_reliability.png", "Table": "parse_calibration.csv", "Bins": "parse_reliability.csv"}
        print_files(run.out, files)


command = Command(
    CalibrateParsesOptions,
    run_calibrate_parses,
    print_calibrate_parses,
    "treebank+",
    task="parsing",
    sections={
        "Fitting": "fit fit_by temperature",
        "Measuring": "n_samples n_words sentences rule preset level n_resamples seed",
    },
)
