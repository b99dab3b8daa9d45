"""The job behind `corefsample score`: annotated documents or news in, a file of scored mentions out."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import corefsample
from corefsample._processors import processors
from corefsample.errors import InputError, ParameterError
from corefsample.files import require_suffix
from corefsample.formats import convert, quarantine_file
from corefsample.formats.scored import SUFFIXES
from corefsample.mention_ranking import ScoringTally
from corefsample.recalibration import Recalibration
from events.jobs import ANNOTATED, DocumentInputs, checksums, free_outputs, run_record, write_record
from events.jobs.scoring._job import ScoringJob, documents_a_part
from events.jobs.scoring._options import ScoreOptions
from events.jobs.scoring._parsing import pipeline_record
from events.jobs.scoring._parts import PARTS_SUFFIX, Parts
from events.jobs.scoring._workers import Scorer, Settings

__all__ = ["PARTS_SUFFIX", "RECORD_SUFFIX", "ScoreOptions", "ScoringRun", "load_recalibration", "run_score"]

RECORD_SUFFIX = ".scoring.json"

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class ScoringRun:
    """What a scoring did.

    Attributes
    ----------
    out, record
        The file of scored documents, and the record of the run beside it.
    tally
        Documents written, their mentions, candidates kept and left out.
    n_resumed
        Of the documents written, those that an earlier run had scored.
    n_quarantined, reasons
        Bad documents set aside, and the first few with their places.
    skipped
        Mentions of annotated corpora that no document has, counted by reason.
    jobs
        Processes.
    seconds
        Wall time.
    """

    out: str
    record: str
    tally: ScoringTally
    n_resumed: int
    n_quarantined: int
    reasons: tuple[str, ...]
    skipped: dict[str, int]
    jobs: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The fields by name, those of the tally among them."""
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self) if each.name != "tally"}
        counts = dataclasses.asdict(self.tally)
        return {**fields, **counts, "mean_dropped_mass": self.tally.mean_dropped_mass, "reasons": list(self.reasons)}


def run_score(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike,
    options: ScoreOptions | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> ScoringRun:
    """Score documents with an antecedent model.

    The output's bytes depend on the documents, the model, the pipeline and the options alone: not on the number of
    processes, nor on whether the run was resumed. While it runs, finished parts are kept in the folder `out`.parts; a
    run that ends early leaves them there for `resume`.

    Parameters
    ----------
    inputs
        Files, folders of news, globs, or "-": annotated corpora (CoNLL-U, CoNLL-2012), scored mentions, or dated news
        (with `ScoreOptions.pipeline`). Annotated entities, dates and metadata are carried over.
    out
        New file: .jsonl, .jsonl.gz or .parquet. Beside it comes the record, the name with .scoring.json added, and
        where there were bad documents they come with .quarantine.jsonl added.
    options
        How to score.
    resume
        Whether to go on from the parts of a run that ended early, if there are any; inputs, model, pipeline and options
        must be the same (jobs and on_error apart).
    overwrite
        Whether files of an earlier run may be replaced.
    on_progress
        Called as documents are done, with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If an option is outside its range, the pipeline does not parse, an output exists and overwrite is not said, or
        a run to resume began with something else; before the first document.
    InputError
        If the model is of another version, a document is bad, or there is none.
    OutputError
        If a file cannot be written.
    """
    started = time.time()
    options = options or ScoreOptions()
    path = os.fspath(out)
    require_suffix(path, SUFFIXES, ParameterError)
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    read = DocumentInputs(
        inputs,
        entity_fields=options.entity_fields,
        article_options=options.article_options(),
        prefer_news=options.pipeline is not None,
    )
    _require_pipeline_for_text(read, options)
    if resume and "-" in read.paths:
        raise ParameterError("resume must have inputs that can be read again, got standard input")
    scorer = Scorer(_settings(options))
    sources = checksums(read.paths)
    manifest = _manifest(options, scorer, sources)
    with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
        with Parts(path, manifest, resume=resume, overwrite=overwrite) as parts:
            job = ScoringJob(read, scorer, parts, on_rejected, on_progress, _jobs(options))
            job.run()
            with suppress(FileNotFoundError):  # an earlier run's record, as the file it tells of is about to go
                os.unlink(record)
            convert([*parts.paths()], path, overwrite=overwrite)
            parts.finish()
        run = ScoringRun(
            out=path,
            record=record,
            tally=job.tally,
            n_resumed=job.n_resumed,
            n_quarantined=job.n_rejected,
            reasons=tuple(job.reasons),
            skipped=dict(read.skipped),
            jobs=job.jobs,
            seconds=round(time.time() - started, 3),
        )
        arguments = {**dataclasses.asdict(options), "out": path, "resume": resume}
        provenance = dict(scorer.model.provenance)
        more = {"model": {**manifest["model"], "provenance": provenance}, "pipeline": manifest["pipeline"]}
        content = run_record(arguments, sources, started, **more, summary=run.to_json())
        write_record(record, content)
    return run


def load_recalibration(path: PathLike) -> Recalibration:
    """Read a temperature and a NEW bias from the record that `corefsample recalibrate` leaves.

    Raises
    ------
    InputError
        If the file cannot be read, or is no such record.
    """
    name = os.fspath(path)
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: file must be readable, got: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"{name}: file must be JSON, got: {error}") from None
    try:
        if not isinstance(content, dict) or "recalibration" not in content:
            raise ParameterError("file must be the record of a recalibration, got another")
        return Recalibration.from_json(content["recalibration"])
    except ParameterError as error:
        raise InputError(f"{name}: {error}") from None


def _require_pipeline_for_text(read: DocumentInputs, options: ScoreOptions) -> None:
    text, parsed = read.first_of("news"), read.first_of("scored", *ANNOTATED)
    if text is not None and options.pipeline is None:
        raise ParameterError(f"pipeline must be given to parse text, got none for {text}")
    if parsed is not None and options.pipeline is not None:
        raise ParameterError(
            f"pipeline must be left out for documents that have their parse ({parsed}), got {options.pipeline!r}"
        )


def _settings(options: ScoreOptions) -> Settings:
    return Settings(
        model=options.model,
        pipeline=options.pipeline,
        mentions=options.mentions or "annotated",  # type: ignore[arg-type]
        min_prob=options.min_prob,
        scheme=options.scheme,
        headline=options.headline,
        paragraphs=options.paragraphs,
        recalibration=None if options.recalibration is None else load_recalibration(options.recalibration),
    )


def _jobs(options: ScoreOptions) -> int:
    return options.jobs or (processors() if options.pipeline is not None else 1)


def _manifest(options: ScoreOptions, scorer: Scorer, sources: list[dict[str, Any]]) -> dict[str, Any]:
    """What decides the content of the parts."""
    if options.model is None:
        name = "the English model of the package"
        content = resources.files("corefsample.mention_ranking").joinpath("data", "english.npz").read_bytes()
    else:
        name, content = options.model, Path(options.model).read_bytes()
    settings = dataclasses.asdict(scorer.settings)
    own = ("text_column", "date_column", "id_column", "title_column", "date_format", "entity_fields")
    return {
        "corefsample": corefsample.__version__,
        "documents_a_part": documents_a_part(),
        "model": {"path": name, "sha256": hashlib.sha256(content).hexdigest()},
        "pipeline": None if options.pipeline is None else pipeline_record(scorer.pipeline, options.pipeline),
        "options": {
            **{name: value for name, value in settings.items() if name not in ("model", "pipeline")},
            **{name: getattr(options, name) for name in own},
        },
        "inputs": sources,
    }
