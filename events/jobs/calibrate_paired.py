"""The job behind `corefsample calibrate A B --paired`: two scorers of the same documents compared."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from corefsample.calibration.intervals import PairedComparison
from corefsample.errors import InputError, ParameterError
from corefsample.files import PathLike
from corefsample.formats import DocumentStream
from corefsample.links import compare_links, scorer_links
from events.jobs._reading import BadDocuments, Progress, streamed
from events.jobs._record import checksums, json_rows, plain_fields, run_record
from events.jobs.calibrate_links import CalibrateOptions, CalibrationFolder

__all__ = ["PairedRun", "run_calibrate_paired"]


@dataclass(frozen=True, slots=True, eq=False)
class PairedRun:
    """Result of a comparison.

    Attributes
    ----------
    comparison
        The differences.
    inputs
        Names of the first and of the second scorer's files.
    n_without_gold
        Documents left out of each because they have no gold.
    out
        The folder, or None if nothing was written.
    n_quarantined
        Bad documents set aside.
    seconds
        Wall time.
    """

    comparison: PairedComparison
    inputs: tuple[str, str]
    n_without_gold: tuple[int, int]
    out: str | None
    n_quarantined: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The rows of the table, and what they were computed from."""
        compared = self.comparison
        return {
            **plain_fields(self),
            "n_documents": compared.n_blocks,
            "n_without_gold": sum(self.n_without_gold),
            "inputs": list(self.inputs),
            "n_pairs": compared.n_pairs,
            "n_bins": list(compared.n_bins),
            "norm": compared.norm,
            "level": compared.level,
            "n_resamples": compared.n_resamples,
            "differences": json_rows(compared.to_frame()),
        }


def run_calibrate_paired(
    inputs: Sequence[PathLike],
    out: PathLike | None = None,
    options: CalibrateOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> PairedRun:
    """Compare the link marginals of two scorers of the same documents and mentions.

    Parameters
    ----------
    inputs
        Two: files or globs of the first and of the second scorer. The documents with gold have the same doc_ids, in any
        order, with the same mentions and gold.
    out
        Folder for the table and the record; None to write nothing.
    options
        What to measure.
    overwrite
        Whether an earlier calibration's folder may be replaced.
    on_progress
        Called as the documents of each are read, with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If there are not two inputs, or the folder is in use.
    InputError
        If a file is missing, a document is bad, or documents, mentions or gold differ.
    OutputError
        If the folder cannot be written. After an error no folder is left.
    """
    started = time.time()
    options = options or CalibrateOptions()
    if len(inputs) != 2:
        raise ParameterError(f"must be two files for a paired comparison, got {len(inputs)}", parameter="inputs")
    with nullcontext() if out is None else CalibrationFolder(out, overwrite=overwrite) as folder:
        bad = BadDocuments(folder)
        on_rejected = bad if options.on_error == "quarantine" else None
        streams = [DocumentStream(each, on_rejected=on_rejected) for each in inputs]
        links = [scorer_links(streamed(each, on_progress), unannotated=options.unannotated) for each in streams]
        names = ("bin_size", "norm", "level", "n_resamples", "seed")
        try:
            compared = compare_links(*links, **{name: getattr(options, name) for name in names})
        except InputError as error:
            raise error.at(" and ".join(", ".join(each.paths) for each in streams)) from None
        run = PairedRun(
            compared,
            (os.fspath(inputs[0]), os.fspath(inputs[1])),
            (links[0].n_without_gold, links[1].n_without_gold),
            None if out is None else os.fspath(out),
            bad.count,
            round(time.time() - started, 3),
        )
        if folder is not None:
            compared.to_frame().to_csv(folder.file("paired.csv"), index=False)
            arguments = {**dataclasses.asdict(options), "out": run.out, "paired": True}
            paths = [path for each in streams for path in each.paths]
            folder.finish_record(run_record(arguments, checksums(paths), started, summary=run.to_json()))
    return run
