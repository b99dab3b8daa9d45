"""The job of `corefsample score`, which reads annotated documents or news and writes a file of scored mentions."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from corefsample._arrays import pd
from corefsample._machine import processors
from corefsample.documents._batch import DocumentBatch
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import (
    new_file,
    put_in_place,
    remove_file,
    require_free,
    require_writable,
    write_bytes,
    write_json,
)
from corefsample.files._csv_cells import write_csv
from corefsample.files._paths import Inputs, is_file, local_name, require_suffix
from corefsample.files._reading import read_json
from corefsample.formats.annotated._corefud import write_corefud
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.formats.scored._writing import QUARANTINE, join, write_documents
from corefsample.recalibration._uncertain import chosen_recalibration
from corefsample.scorers._scoring import ScoringTally, few_known_words
from events._options import Progress, fields_of
from events._selection import Selection
from events.news._fields import Article
from events.news._quality import TextTally
from events.runs._annotated_output import clustered
from events.runs._document_inputs import ANNOTATED, DocumentInputs, ReadDocument, RepeatedTexts
from events.runs._engines import Engine, Job
from events.runs._outputs import RECORD_SUFFIX, checksums, free_outputs, quarantine_lines, require_documents, run_record
from events.runs._store import STANDARD_INPUT, PartStore, StoredPart, opened_store
from events.runs.scoring._score_options import ScoreOptions, ScoringOptions
from events.runs.scoring._workers import Scored, Scorer, ScoringTask, score_task, with_absolute_paths

DUPLICATES_SUFFIX = ".duplicates.csv"
_DOCUMENTS = "documents.parquet"


def _parts_folder(path: str) -> Path:
    """Folder for the parts of an unfinished run: beside its output, or in the current folder if that is a URL."""
    return Path(f"{local_name(path)}.parts")


def _parts(
    documents: DocumentInputs, store: PartStore, settings: Mapping[str, Any], size: int
) -> Iterator[ScoringTask]:
    """Read the corpus, and divide it into parts; each has the next documents that are read, valid or invalid."""
    items_of_corpus = iter(documents)
    n_bytes = 0
    for number in count(1):
        items = list(islice(items_of_corpus, size))
        if not items:
            return
        digest = hashlib.sha256()
        for item in items:
            position = [item.source, item.place] if isinstance(item, ReadDocument) else []
            digest.update(json.dumps([*position, item.to_json()]).encode())
        key = store.key(settings, digest.hexdigest())
        yield ScoringTask(number, items, key, documents.bytes_read - n_bytes)
        n_bytes = documents.bytes_read


def _stored(store: PartStore, raise_first_fault: bool, task: ScoringTask, scored: Scored) -> StoredPart:
    """Store a scored part; raise InputError for its first invalid document if `raise_first_fault` is true."""
    if scored.rejected and raise_first_fault:
        raise scored.rejected[0].error()
    with store.adding(task.key) as stored:
        if scored.documents:
            write_documents(scored.documents, stored.folder / _DOCUMENTS, batch_size=len(task.items))
        stored.record.update(
            documents=scored.tally.n_documents,
            tally=dataclasses.asdict(scored.tally),
            texts=dataclasses.asdict(scored.texts),
            rejected=[each.to_json() for each in scored.rejected],
        )
    return stored


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreResult:
    """Outputs and counts of a scoring run.

    Attributes
    ----------
    out, record
        Path of the file of scored documents, and path of the record of the run beside it.
    tally
        Numbers of documents written, of their mentions, and of candidates that were written and left out.
    texts
        Numbers of texts with faults and of texts that were changed: see `events.news._quality.TextTally`.
    n_resumed
        Number of the written documents that an earlier run had scored.
    n_not_selected
        Number of documents that the conditions `ScoringOptions.where` left out.
    n_repeated, duplicates
        Number of articles with the text of an earlier one, and path of the file that lists them; None without such.
    n_quarantined, reasons
        Number of invalid documents that were set aside, and the messages of the first three.
    skipped
        Number of mentions of annotated corpora that could not be read, by reason.
    recalibration
        Name or path of the recalibration that was applied to the scores; None without a recalibration.
    clusters, left_out
        Path of the file with the clustering of each document, None unless `ScoringOptions.clusters` requested one; and
        numbers of mentions that the file lacks because brackets cannot represent them, by reason.
    workers
        Number of processes that scored; None if an existing scheduler had the workers.
    seconds
        Wall time of the run in seconds.
    """

    out: str
    record: str
    tally: ScoringTally
    texts: TextTally = field(default_factory=TextTally)
    n_resumed: int = 0
    n_quarantined: int
    reasons: tuple[str, ...] = ()
    skipped: dict[str, int]
    recalibration: str | None
    clusters: str | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    workers: int | None = 1
    seconds: float
    n_not_selected: int = 0
    n_repeated: int = 0
    duplicates: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Fields by name, with those of the tally."""
        shares = {name: getattr(self.tally, name) for name in ("mean_dropped_mass", "known_share")}
        fields = dataclasses.asdict(self)
        tally = fields.pop("tally")
        return {**fields, **tally, **shares}


def score_corpus(inputs: Inputs, options: ScoreOptions, *, on_progress: Progress | None = None) -> ScoreResult:
    """Score documents, as `events.commands.run_score` says."""
    started = time.time()
    scoring = ScoringOptions(**options.subset(*fields_of(ScoringOptions)))
    path = options.out
    suffix = require_suffix(path, SUFFIXES, ParameterError)
    uses_all = options.workers is None and options.scheduler is None and options.pipeline is not None
    engine = Engine(processors() if uses_all else options.workers, options.scheduler)
    # True after a run that was killed when its output was complete, but not its record.
    is_left = _parts_folder(path).is_dir() and not is_file(path + RECORD_SUFFIX)
    overwrite = options.overwrite or is_left
    record_path = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    clusters = None if scoring.clusters is None else f"{path.removesuffix(suffix)}.{scoring.clusters}.conllu"
    if clusters is not None:
        require_free(clusters, overwrite=overwrite)
    selection, repeated = Selection(scoring.where), RepeatedTexts(scoring.duplicates)
    documents = DocumentInputs(
        inputs,
        entity_fields=scoring.entity_fields,
        article_options={**scoring.article_options(), "undated": scoring.undated},
        prefer_news=scoring.pipeline is not None,
        selected=selection if scoring.where else None,
        repeated=repeated,
    )
    _require_pipeline_for_text(documents, scoring)
    scorer = Scorer(scoring)
    quarantine = f"{path}{QUARANTINE}"
    require_free(quarantine, overwrite=overwrite)
    require_writable(path)
    with opened_store(_parts_folder(path), path) as store:
        sources = store.sources(documents.paths)
        settings = scorer.settings()
        raise_first_fault = scoring.on_error == "stop"
        job = Job(
            store=store,
            engine=engine,
            raise_first_fault=raise_first_fault,
            compute=partial(score_task, with_absolute_paths(scoring), scorer.identity()),
            here=lambda task: scorer.score(task.items),
            keep=partial(_stored, store, raise_first_fault),
            total_bytes=documents.total_bytes,
            on_progress=on_progress,
        )
        in_order: list[StoredPart] = []
        for task, stored in job.complete(_parts(documents, store, settings, options.part_size)):
            in_order.append(stored)
            is_first_of_several = stored.is_new and task.number == 1 and len(task.items) == options.part_size
            if is_first_of_several and (few_known := few_known_words(ScoringTally(**stored.record["tally"]))):
                logging.getLogger("corefsample.score").warning(
                    "of the first texts, %s", few_known
                )  # before a long run is done
        tally = sum((ScoringTally(**stored.record["tally"]) for stored in in_order), ScoringTally())
        texts = sum((TextTally(**stored.record["texts"]) for stored in in_order), TextTally())
        rejected = [document for stored in in_order for document in stored.rejected()]
        limits = scoring.where, scoring.max_quarantined
        require_documents(tally.n_documents, rejected, *limits, documents.paths)
        files = [stored.folder / _DOCUMENTS for stored in in_order if stored.record["documents"]]
        # Joined in the folder of the parts, so that the file of a killed run is removed with them.
        joined = store.path / f"joined{suffix}"
        left_out = _write(join(files, joined, overwrite=True), clusters, scoring.clusters)
        remove_file(record_path)  # an earlier run's record, because its output is about to be replaced
        if rejected:
            write_bytes(quarantine, quarantine_lines(rejected), overwrite=True)
        else:
            remove_file(quarantine)
        put_in_place(str(joined), path)
        source = scoring.mentions or ("annotated" if documents.first_of("news") is None else "parse")
        run = ScoreResult(
            out=path,
            record=record_path,
            tally=tally,
            texts=texts,
            n_resumed=sum(each.record["documents"] for each in in_order if not each.is_new),
            n_quarantined=len(rejected),
            reasons=tuple(each.message() for each in rejected[:3]),
            skipped=dict(documents.skipped),
            recalibration=chosen_recalibration(scoring.recalibration, scoring.model, source),
            clusters=clusters,
            left_out=left_out,
            workers=None if options.scheduler is not None else engine.workers or 1,
            seconds=round(time.time() - started, 3),
            n_not_selected=selection.n_not_selected,
            **_written_duplicates(repeated, path),
        )
        record = run_record(
            {**dataclasses.asdict(scoring), "out": path},
            [each.to_record() for each in sources],
            started,
            model={**settings["model"], "provenance": dict(scorer.models[source].provenance)},
            recalibration=scorer.recalibration_of(source),
            pipeline=settings["pipeline"],
            settings=settings,
            summary=run.to_json(),
        )
        write_json(record_path, record)
        store.remove()
    return run


def _write(batches: Iterator[DocumentBatch], clusters: str | None, clustering: str | None) -> dict[str, int]:
    """Consume the scored documents, and write their clusterings; return numbers of mentions left out, by reason."""
    if clusters is None or clustering is None:
        deque(batches, maxlen=0)
        return {}
    documents = (batch.document(row) for batch in batches for row in batch.firsts.tolist())
    annotated = (clustered(document, clustering) for document in documents)
    return dict(write_corefud(annotated, clusters, on_unwritable="skip", overwrite=True).left_out)


def _written_duplicates(repeated: RepeatedTexts, path: str) -> dict[str, Any]:
    """Write the list of articles with the text of an earlier one, and warn if they are counted too."""
    name = path + DUPLICATES_SUFFIX
    remove_file(name)
    if not repeated.rows:
        return {}
    table = pd.DataFrame(repeated.rows, columns=["doc_id", "date", "first"])
    with new_file(name, overwrite=True) as partial:
        write_csv(table, partial)
    if repeated.duplicates == "keep":
        doc_id, _, first = repeated.rows[0]
        logging.getLogger("corefsample.score").warning(
            "%s articles have the text of an earlier article, such as %r that of %r, and are counted too; %s lists "
            "them. --duplicates drop leaves them out, and --duplicates group marks them",
            f"{len(repeated.rows):,}",
            doc_id,
            first,
            name,
        )
    return {"n_repeated": len(repeated.rows), "duplicates": name}


def is_scored(inputs: Inputs, path: str, options: ScoringOptions) -> bool:
    """Whether a file has the scores of these inputs with these options and the present model and pipeline."""
    if not (is_file(path) and is_file(path + RECORD_SUFFIX)):
        return False
    documents = DocumentInputs(inputs, article_options=options.article_options(), prefer_news=True)
    if STANDARD_INPUT in documents.paths:  # its documents may have changed
        return False
    try:
        record = read_json(path + RECORD_SUFFIX)
        is_same = record["settings"] == Scorer(options).settings() and record["inputs"] == checksums(documents.paths)
    except (InputError, KeyError, TypeError):
        return False
    if is_same and _parts_folder(path).is_dir():  # left by a run that was killed while it removed the folder
        with opened_store(_parts_folder(path), path) as store:
            store.remove()
    return bool(is_same)


def _require_pipeline_for_text(documents: DocumentInputs, options: ScoringOptions) -> None:
    text, words = documents.first_of("news"), documents.first_of("scored", *ANNOTATED)
    if text is not None and options.pipeline is None:
        raise ParameterError(
            f"is required to parse the text of {text}", parameter="pipeline", hint="en_core_web_sm is one"
        )
    if text is not None and options.mentions == "annotated":
        raise ParameterError(f"must be 'parse' for text ({text}), got 'annotated'", parameter="mentions")
    if words is None or options.pipeline is None:
        return
    if words != "-" and _is_parsed(words, options):
        rule = f"must be left out for documents with a parse ({words})"
        raise ParameterError(f"{rule}, got {options.pipeline!r}", parameter="pipeline")
    for name in ("parses", "fix_text"):
        if getattr(options, name):
            raise ParameterError(f"is for text, got documents that consist of words ({words})", parameter=name)


def _is_parsed(path: str, options: ScoringOptions) -> bool:
    """Whether the first good document of a file has a parse."""
    for item in DocumentInputs([path], entity_fields=options.entity_fields):
        if isinstance(item, ReadDocument) and not isinstance(item.document, Article):
            tokens = item.document.tokens
            return tokens is not None and not tokens.is_unparsed
    return False
