"""The job behind `corefsample score`: annotated documents or news in, a file of scored mentions out."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from corefsample._processors import processors
from corefsample.errors import ParameterError
from corefsample.files import PathLike, remove_file, require_free, require_suffix, write_json
from corefsample.formats import convert, quarantine_file
from corefsample.formats.scored import SUFFIXES
from corefsample.mention_ranking import ScoringTally
from corefsample.recalibration import chosen_recalibration
from corefsample.syntax import is_unparsed
from events.jobs import ANNOTATED, DocumentInputs, ReadDocument, checksums, free_outputs, run_record, write_annotated
from events.jobs._cluster import require_dask
from events.jobs.scoring._engines import Engine
from events.jobs.scoring._job import documents_per_part, score_corpus
from events.jobs.scoring._options import ARTICLE_OPTIONS, ScoreOptions
from events.jobs.scoring._parts import open_parts
from events.jobs.scoring._workers import Scorer
from events.news import Article, TextTally

RECORD_SUFFIX = ".scoring.json"

Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class ScoringRun:
    """Outputs and counts of a scoring run.

    Attributes
    ----------
    out, record
        The file of scored documents, and the record of the run beside it.
    tally
        Documents written, their mentions, candidates kept and left out.
    texts
        Counts of their texts by what is wrong with them: no upper case, a wrong encoding.
    n_resumed
        Number of the written documents that an earlier run had scored.
    n_quarantined, reasons
        Number of bad documents, and the messages of the first three.
    skipped
        Mentions of annotated corpora that are in no document, counted by reason.
    recalibration
        Name or path of the recalibration that the scores had, or None.
    clusters, left_out
        The file of the clustering that `ScoreOptions.clusters` chose, or None; and the mentions that it lacks, as
        brackets cannot represent them, counted by reason.
    jobs
        Number of processes; None: those of an existing scheduler.
    seconds
        Wall time.
    """

    out: str
    record: str
    tally: ScoringTally
    texts: TextTally
    n_resumed: int
    n_quarantined: int
    reasons: tuple[str, ...]
    skipped: dict[str, int]
    recalibration: str | None
    clusters: str | None
    left_out: dict[str, int]
    jobs: int | None
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, with those of the tally among them."""
        fields = {each.name: getattr(self, each.name) for each in dataclasses.fields(self) if each.name != "tally"}
        fields["texts"] = dataclasses.asdict(self.texts)
        counts = dataclasses.asdict(self.tally)
        return {**fields, **counts, "mean_dropped_mass": self.tally.mean_dropped_mass, "reasons": list(self.reasons)}


def run_score(
    inputs: PathLike | Iterable[PathLike],
    out: PathLike,
    options: ScoreOptions | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    on_progress: Progress | None = None,
) -> ScoringRun:
    """Score documents with an antecedent model.

    The bytes of the output depend on the documents, the model, the pipeline and the options alone: not on the number
    of processes, nor on whether the run was resumed. While it runs, finished parts are kept in the folder `out`.parts;
    an interrupted run leaves them there for `resume`.

    Parameters
    ----------
    inputs
        Files, folders of news, globs, or "-": annotated corpora (CoNLL-U, CoNLL-2012), scored mentions, or dated news
        (with `ScoreOptions.pipeline`, as documents without a parse). Annotated entities, dates and metadata are kept.
    out
        New file: .jsonl, .jsonl.gz or .parquet. The record is written beside it, to the name with .scoring.json added,
        and bad documents, if any, to the name with .quarantine.jsonl added. The clustering that `ScoreOptions.clusters`
        chooses, such as binder, is written to the name with its ending replaced by .binder.conllu.
    options
        How to score.
    resume
        Whether to continue with the parts of an interrupted run, if there are any; inputs, model, pipeline and options
        must be the same (except jobs and on_error).
    overwrite
        Whether files of an earlier run may be replaced.
    workers
        Number of processes of a local Dask cluster, instead of `ScoreOptions.jobs`.
    scheduler
        Address of an existing Dask scheduler, "tcp://...", instead. Its workers have the same model, pipeline and
        version; they need not see the inputs and the output.
    on_progress
        Called after some documents, with bytes read, bytes in all, and number of documents.

    Raises
    ------
    ParameterError
        If an option is outside its range, the pipeline does not parse, an output exists and `overwrite` is false, or
        a run to resume began with something else; before the first document.
    InputError
        If the model is of another version, a document is bad, or there is no document.
    OutputError
        If a file cannot be written.
    """
    started = time.time()
    options = options or ScoreOptions()
    require_dask(workers, scheduler)
    if options.jobs is not None and (workers is not None or scheduler is not None):
        raise ParameterError(f"must be left out with a Dask cluster, got {options.jobs}", parameter="jobs")
    path = os.fspath(out)
    require_suffix(path, SUFFIXES, ParameterError)
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    clusters = None if options.clusters is None else _clusters_path(path, options.clusters)
    if clusters is not None:
        require_free(clusters, overwrite=overwrite)
    documents = DocumentInputs(
        inputs,
        entity_fields=options.entity_fields,
        article_options=options.article_options(),
        prefer_news=options.pipeline is not None,
    )
    _require_pipeline_for_text(documents, options)
    if resume and "-" in documents.paths:
        raise ParameterError("must have inputs that can be read again, got standard input", parameter="resume")
    scorer = Scorer(options)
    sources = checksums(documents.paths)
    manifest = _manifest(scorer, sources)
    engine = _engine(options, workers, scheduler)
    with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
        with open_parts(path, manifest, resume=resume, overwrite=overwrite) as parts:
            result = score_corpus(
                documents, scorer, parts, engine=engine, on_rejected=on_rejected, on_progress=on_progress
            )
            remove_file(record)  # of an earlier run, whose output is about to be replaced
            convert([*parts.paths()], path, overwrite=overwrite)
        left_out: dict[str, int] = {}
        if clusters is not None:
            left_out = dict(write_annotated(path, clusters, clustering=options.clusters, on_unwritable="skip").left_out)
        run = ScoringRun(
            out=path,
            record=record,
            tally=result.tally,
            texts=result.texts,
            n_resumed=result.n_resumed,
            n_quarantined=result.n_rejected,
            reasons=tuple(result.reasons),
            skipped=dict(documents.skipped),
            recalibration=chosen_recalibration(options.recalibration, options.model),
            clusters=clusters,
            left_out=left_out,
            jobs=None if scheduler is not None else workers or engine.jobs,
            seconds=round(time.time() - started, 3),
        )
        arguments = {**dataclasses.asdict(options), "out": path, "resume": resume}
        model = {**manifest["model"], "provenance": dict(scorer.model.provenance)}
        change = scorer.recalibration
        content = run_record(
            arguments,
            sources,
            started,
            model=model,
            recalibration=None if change is None else {"fingerprint": change.fingerprint(), **change.to_json()},
            pipeline=manifest["pipeline"],
            summary=run.to_json(),
        )
        write_json(record, content)
    return run


def _clusters_path(path: str, clusters: str) -> str:
    suffix = next(suffix for suffix in sorted(SUFFIXES, key=len, reverse=True) if path.endswith(suffix))
    return f"{path.removesuffix(suffix)}.{clusters}.conllu"


def _engine(options: ScoreOptions, workers: int | None, scheduler: str | None) -> Engine:
    if workers is not None or scheduler is not None:
        return Engine(workers=workers, scheduler=scheduler)
    return Engine(options.jobs or (processors() if options.pipeline is not None else 1))


def _require_pipeline_for_text(documents: DocumentInputs, options: ScoreOptions) -> None:
    text, words = documents.first_of("news"), documents.first_of("scored", *ANNOTATED)
    if text is not None and options.pipeline is None:
        raise ParameterError(f"must be given to parse text, got none for {text}", parameter="pipeline")
    if text is not None and options.mentions == "annotated":
        raise ParameterError(f"must be 'parse' for text ({text}), got 'annotated'", parameter="mentions")
    if words is None or options.pipeline is None:
        return
    if words != "-" and _is_parsed(words, options):
        rule = f"must be left out for documents with a parse ({words})"
        raise ParameterError(f"{rule}, got {options.pipeline!r}", parameter="pipeline")
    for name in ("parses", "fix_text"):
        if getattr(options, name):
            raise ParameterError(f"is for text, got documents that are words already ({words})", parameter=name)


def _is_parsed(path: str, options: ScoreOptions) -> bool:
    """Whether the first good document of a file has a parse."""
    for item in DocumentInputs([path], entity_fields=options.entity_fields):
        if isinstance(item, ReadDocument) and not isinstance(item.document, Article):
            tokens = item.document.tokens
            return tokens is not None and not is_unparsed(tokens)
    return False


def _manifest(scorer: Scorer, sources: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything on which the content of the parts depends."""
    options, described = scorer.options, scorer.described()
    parses = {"parses": described["parses"]} if "parses" in described else {}
    names = ("min_prob", "scheme", "headline", "paragraphs", *ARTICLE_OPTIONS, "entity_fields")
    return {
        "corefsample": described["corefsample"],
        "documents_a_part": documents_per_part(),
        "model": described["model"],
        "pipeline": described["pipeline"],
        **parses,
        "options": {
            **{name: getattr(options, name) for name in names},
            "mentions": options.mentions or "annotated",
            "recalibration": described["recalibration"],
            "text_repair": described["text_repair"],
        },
        "inputs": sources,
    }
