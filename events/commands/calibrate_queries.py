"""Check intervals of counts with entity queries that a corpus with gold can answer.

INPUTS are as for `corefsample calibrate`, and need tokens. For each verb a query asks whether some entity with a
name (or a plural, or a singular noun) has a pronoun that is the subject of the verb, as events do. The command
shows how often the true count lies in its interval, before and after recalibration on other documents. It takes
minutes.

Examples
--------
  corefsample calibrate-queries gold.jsonl.gz --out queries
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from corefsample import _checks, plots, recalibration
from corefsample._lazy import pd
from corefsample.errors import InputError, ParameterError
from events import _shared_options as shared
from events._options import FolderResult, Progress, declared, option
from events.commands._parser import Command
from events.commands._screen import print_files, print_text
from events.runs._output_folder import save_pictures

if TYPE_CHECKING:
    from corefsample.documents._scored import ScoredDocument
    from corefsample.files._paths import Inputs
    from events.queries._study import QueryStudy

_OPTIONAL_GROUPS = ("genre",)
_OBJECTIVES: dict[str, tuple[str, ...]] = {
    "global": ("likelihood", "links", "links-log", "queries"),
    "kinds": ("joint", "likelihood"),
}


@declared
class CalibrateQueriesOptions(
    shared.OutFolder, shared.Pictures, shared.Overwrite, shared.RecalibrationFitOptions, shared.UncertainlyRecalibrated
):
    """Options of a study of entity queries, with recalibrations fitted to the corpus or one fitted elsewhere.

    Attributes
    ----------
    objectives
        Recalibrations to compare: joint, likelihood, links, links-log, queries, queries-log. [default: those that
        docs/recalibration.md compares; joint and likelihood for the form kinds]
    n_resamples
        Number of refits on resampled documents, or number of draws of a recalibration that was fitted elsewhere.
    group_by
        Metadata field by whose values P is compared with the truth.
    pictures
        Draw pictures of reliability curves and of the coverage of intervals.
    """

    form: shared.Form = "global"
    objectives: tuple[str, ...] | None = option(default=None, flag="")
    n_resamples: int = 100
    group_by: tuple[str, ...] = option(default=_OPTIONAL_GROUPS, metavar="FIELD")

    def _check(self) -> None:
        from corefsample.recalibration._shipped import NO_RECALIBRATION
        from events.queries._score import OBJECTIVES

        super()._check()
        for objective in self.objectives or ():
            _checks.choice("objectives", objective, OBJECTIVES)
        if self.recalibration == NO_RECALIBRATION:
            object.__setattr__(self, "recalibration", None)
            object.__setattr__(self, "uncertainty", "none")


@dataclass(frozen=True, slots=True, eq=False)
class CalibrateQueriesResult(FolderResult):
    """Result of a study of entity queries.

    Attributes
    ----------
    study
        Queries, with their probabilities before and after recalibration.
    n_documents
        Number of documents with gold.
    n_without_gold
        Number of documents left out because they have no gold.
    """

    study: QueryStudy
    n_documents: int
    n_without_gold: int

    def _more(self) -> dict[str, Any]:
        from events.runs._record import json_rows

        study = self.study
        return {
            "n_queries": len(study.table.queries),
            "n_pairs": study.table.n_pairs,
            "n_left_out": study.n_left_out,
            "scores": json_rows(study.scores()),
            "recalibrations": json_rows(study.recalibrations()),
            "coverage": json_rows(study.coverage()),
            "failures": dict(study.failures),
        }


def run_calibrate_queries(
    inputs: Inputs, options: CalibrateQueriesOptions | None = None, *, on_progress: Progress | None = None
) -> CalibrateQueriesResult:
    """Check the intervals of entity queries on a corpus with gold, before and after cross-validated recalibration.

    Parameters
    ----------
    inputs
        Paths of files, globs, or "-" for JSON Lines on standard input. Documents without gold are counted and left out.
    options
        Options of the study; by default, those of the command line.
    on_progress
        Function that is called as documents are read with the bytes read, the bytes of all files, and the number of
        documents.

    Raises
    ------
    ParameterError
        If the folder has other files, or has an earlier result and `overwrite` is false.
    InputError
        If a file is missing, a document is invalid and is not set aside, or the documents have too little gold.
    OutputError
        If the folder cannot be written. After any error the folder is removed.
    """
    from events.commands._reading import gold_documents
    from events.commands._results import QueriesFolder, results

    options = options or CalibrateQueriesOptions()
    with results(QueriesFolder, options) as output:
        gold = gold_documents(
            inputs,
            "queries",
            for_queries=True,
            **options.subset("role", "scheme"),
            on_rejected=output.on_rejected,
            on_progress=on_progress,
        )
        study = _study(gold.documents, gold.place, options)
        result = CalibrateQueriesResult(study, len(gold.documents), gold.n_without_gold, **output.summary())
        if output.folder is not None:
            write_study(study, output.folder.file, pictures=options.pictures)
        output.finish(result, gold.paths)
    return result


def _study(documents: Sequence[ScoredDocument], location: str, options: CalibrateQueriesOptions) -> QueryStudy:
    from events.queries._study import N_BINS, study_queries

    names = "form missing n_folds n_resamples n_samples objectives role scheme seed unannotated uncertainty"
    settings = options.subset(*names.split())
    settings |= {"by": options.group_by, "domains": options.domains_of(documents, location)}
    if options.objectives is None:
        settings["objectives"] = _OBJECTIVES[options.form]
    if options.recalibration is not None:
        settings["recalibration"] = recalibration.read_recalibration(options.recalibration)
        if options.uncertainty is not None:
            settings["recalibration"].sampled(options.uncertainty, 1)  # an error of the option, not of the documents
    for name in options.group_by:
        if name not in _OPTIONAL_GROUPS and not any(name in document.metadata for document in documents):
            rule = f"documents with gold must have the field {name} (group_by)"
            raise InputError(f"{rule}, got none in {len(documents)}", place=location)
    try:
        return study_queries(documents, min_pairs=N_BINS, **settings)
    except ParameterError as error:  # the options are valid, so the fault is in the files
        raise error.as_input_error(location) from None


def write_study(study: QueryStudy, file: Callable[[str], Path], *, pictures: bool = True) -> None:
    """Write the tables of a study, and pictures of its reliability curves and coverage.

    Parameters
    ----------
    study
        Queries with their probabilities before and after recalibration.
    file
        Function that returns the path of each of QUERY_FILES.
    pictures
        True if pictures are drawn, which is the default.
    """
    from events.plots.queries import query_coverage, query_quantiles
    from events.queries._true_counts import LEVELS

    curves, coverage, quantiles = study.reliability(), study.coverage(), study.quantiles()
    reliability = pd.concat([curve.to_frame().assign(variant=name) for name, curve in curves.items()])
    reliability.insert(0, "variant", reliability.pop("variant"))
    tables = {"scores": study.scores(), "recalibrations": study.recalibrations(), "coverage": coverage}
    tables |= {"quantiles": quantiles, "intervals": study.intervals, "groups": study.misfit()}
    tables["reliability"] = reliability
    for name, table in tables.items():
        table.to_csv(file(f"query_{name}.csv"), index=False)
    study.pairs().to_parquet(file("query_pairs.parquet"), index=False)
    if pictures:
        title = f"{len(study.table.queries):,} queries of {len(study.table.documents):,} documents"
        figures = {"query_reliability": partial(plots.reliability_figure, curves, title=title)}
        if len(coverage):
            figures["query_coverage"] = partial(query_coverage, coverage, level=max(LEVELS))
        if len(quantiles):
            figures["query_quantiles"] = partial(query_quantiles, quantiles)
        save_pictures(figures, file)


def print_calibrate_queries(report: CalibrateQueriesResult) -> None:
    """Print calibration errors and coverage, before and after recalibration."""
    from events.queries._true_counts import LEVELS

    study = report.study
    # Before any output, so that a failure prints nothing.
    scores, coverage, quantiles = study.scores(), study.coverage(), study.quantiles()
    print_text(
        f"{len(study.table.queries):,} queries of {report.n_documents:,} documents, {study.table.n_pairs:,} pairs of "
        "query and document."
    )
    click.echo("\nProbabilities, held out (recalibrated on other documents):")
    click.echo(f"{'recalibration':<14}{'mean P':>8}{'true':>8}{'error':>8}  95% by document")
    for row in scores.itertuples():
        click.echo(
            f"{row.variant:<14}{row.mean_p:>8.4f}{row.share_true:>8.4f}{row.calibration_error:>8.4f}"
            f"  {row.lower:.4f} to {row.upper:.4f}"
        )
    selected = coverage[(coverage["level"] == max(LEVELS)) & (coverage["interval"] == "quantile")]
    sizes = list(dict.fromkeys(selected["documents"]))
    click.echo(f"\nQueries whose true count lies in the {100 * max(LEVELS):g}% quantile interval, by documents:")
    click.echo(f"{'recalibration':<27}" + "".join(f"{size:>8}" for size in sizes))
    for (variant, kind), rows in selected.groupby(["variant", "recalibration"], sort=False):
        shares = rows.set_index("documents")["coverage"]
        name = f"{variant}, uncertain" if kind == "uncertain" else str(variant)
        click.echo(f"{name:<27}" + "".join(f"{shares[size]:>8.1%}" for size in sizes))
    p_values = quantiles.groupby("variant", sort=False)["p_value"].first()
    if len(p_values):
        shown_p = ", ".join(f"{name} {p_value:.3f}" for name, p_value in p_values.items())
        print_text(f"Quantiles of the true counts are uniform if P is right; p-value by document: {shown_p}.")
    click.echo("uncertain: the interval includes the uncertainty of the recalibration itself.")
    for name, reason in study.failures.items():
        print_text(f"{name}: not fitted. {reason}.")
    if report.out is not None:
        pictures = {"Coverage": "query_coverage.png", "Curves": "query_reliability.png"}
        pictures |= {"Quantiles": "query_quantiles.png"} if len(quantiles) else {}
        print_files(report.out, {**pictures, "Table": "query_coverage.csv"})


command = Command(
    CalibrateQueriesOptions,
    run_calibrate_queries,
    print_calibrate_queries,
    "inputs+",
    task="asking",
    sections={
        "Measuring": "form domains recalibration uncertainty group_by role n_folds n_samples n_resamples missing "
        "scheme unannotated seed"
    },
)
