"""The job behind `corefsample score`: annotated documents or news in, a file of scored mentions out."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

import corefsample
from corefsample._lazy import pd
from corefsample._log import logger
from corefsample._machine import processors
from corefsample.documents._rejected import Rejected
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import new_file, remove_file, require_free, write_json
from corefsample.files._contents import read_json
from corefsample.files._digests import sha256
from corefsample.files._paths import PathLike, is_file, require_suffix, suffix_of
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.formats.scored._writing import QuarantineFile, join, quarantine_file, write_documents
from corefsample.recalibration._shipped import chosen_recalibration
from corefsample.scorers._scoring import ScoringTally, few_known_words
from corefsample.scorers.protocol import MentionSource
from events._csv_cells import write_csv
from events._options import Result, fields_of
from events._selection import Selection
from events.news._fields import Article
from events.news._quality import Duplicates, TextTally
from events.runs._annotated_output import write_annotated
from events.runs._document_inputs import ANNOTATED, DocumentInputs, ReadDocument, RepeatedTexts
from events.runs._engines import Engine
from events.runs._plan import STANDARD_INPUT, InputFile, Part, Plan
from events.runs._progress import Progress
from events.runs._record import free_outputs, run_record
from events.runs._run import begun, must_stop, working_in
from events.runs._store import Places, Records, Store, writing
from events.runs.scoring._options import ScoreOptions, ScoringOptions
from events.runs.scoring._workers import Scored, Scorer, Task, add_tally, anywhere, score_task

DOCUMENTS_A_PART = 16
_FREE = ("clusters", "on_error")


def planned(paths: list[str], scorer: Scorer) -> Plan:
    """Make the plan of a new run; a part is a fixed number of documents that are read, good and bad."""
    described = scorer.described()
    options = json.loads(json.dumps(dataclasses.asdict(scorer.options)))  # tuples as they are read back
    settings = {**options, "documents_a_part": DOCUMENTS_A_PART}
    free = {name: settings.pop(name) for name in _FREE}
    contents = {name: [settings.get(name), content] for name, content in described.items() if name != "corefsample"}
    inputs = tuple(InputFile.of(path, checksum=True) for path in paths)
    return Plan(settings, free, json.loads(json.dumps(contents)), inputs)


_DOCUMENTS = "documents.parquet"


def score_missing(
    inputs: DocumentInputs,
    scorer: Scorer,
    places: Places,
    store: Store,
    plan: Plan,
    *,
    engine: Engine,
    on_progress: Progress | None,
) -> int:
    """Score all documents that no complete part contains, and keep them as parts; return how many were scored before.

    Raises
    ------
    InputError
        If a document is bad and is not to be set aside.
    """
    known: Records = {n: record for n, record in store.records(plan).items() if not must_stop(plan, record)}
    n_known = n_done = sum(int(record["documents"]) for record in known.values())
    function = partial(score_task, anywhere(scorer.options), scorer.identity())
    tasks = _tasks(inputs, known, plan)
    for task, scored in engine.results(function, tasks, here=lambda task: scorer.score(task.items)):
        if scored.rejected and plan.stops:
            raise scored.rejected[0].error()
        with writing(places), store.computing(Part(task.number), plan) as (folder, record):
            if scored.documents:
                write_documents(scored.documents, folder / _DOCUMENTS)
            record.update(_described(task, scored))
        n_done += len(scored.documents)
        if task.number == 1 and len(task.items) == DOCUMENTS_A_PART:
            _warn_early(scored)
        if on_progress is not None:
            on_progress(task.bytes_read, inputs.total_bytes, n_done)
    return n_known


def _tasks(inputs: DocumentInputs, known: Records, plan: Plan) -> Iterator[Task]:
    """Cut the corpus into parts, always at the same documents, and leave the complete ones out."""
    documents = iter(inputs)
    for number in count(1):
        items = list(islice(documents, DOCUMENTS_A_PART))
        if number not in known and items:
            yield Task(number, items, inputs.bytes_read)
        elif number in known and len(items) != known[number]["read"]:
            rule = "inputs must not change during a run"
            raise InputError(f"{rule}, got other documents than before", place=", ".join(inputs.paths))
        if len(items) < DOCUMENTS_A_PART:
            return


def _described(task: Task, scored: Scored) -> dict[str, Any]:
    """The record of a part."""
    return {
        "read": len(task.items),
        "documents": len(scored.documents),
        "quarantined": len(scored.rejected),
        "tally": dataclasses.asdict(scored.tally),
        "texts": dataclasses.asdict(scored.texts),
        "rejected": [each.to_json() for each in scored.rejected],
    }


def _warn_early(scored: Scored) -> None:
    """Say after the first part, before a long run is done, that most texts are of another language."""
    if few_known := few_known_words(scored.tally):
        logger("score").warning("of the first texts, %s", few_known)


@dataclass(slots=True)
class JoinedParts:
    """All parts of a run in order.

    Attributes
    ----------
    paths
        Their files of documents.
    tally, texts
        Counts of the scored documents, and of their texts.
    n_rejected, reasons
        Number of bad documents, and the messages of the first three.
    """

    paths: list[Path] = field(default_factory=list)
    tally: ScoringTally = field(default_factory=ScoringTally)
    texts: TextTally = field(default_factory=TextTally)
    n_rejected: int = 0
    reasons: list[str] = field(default_factory=list)


def joined_parts(store: Store, plan: Plan, on_rejected: QuarantineFile | None) -> JoinedParts:
    """Add up the parts, and set their bad documents aside.

    Raises
    ------
    InputError
        If there is no good document.
    """
    result = JoinedParts()
    for record in store.records(plan, verify=False).values():
        if record["documents"]:
            result.paths.append(store.result(record) / _DOCUMENTS)
        add_tally(result.tally, ScoringTally(**record["tally"]))
        result.texts += TextTally(**record["texts"])
        for rejected in map(_rejected, record["rejected"]):
            if on_rejected is not None:
                on_rejected(rejected)
            result.n_rejected += 1
            result.reasons += [rejected.message()] if len(result.reasons) < 3 else []
    if not result.paths:
        if plan.settings.get("where") and not result.n_rejected:
            chosen = " and ".join(plan.settings["where"])
            raise InputError(f"must hold for at least one document, got none for {chosen!r}", parameter="where")
        quarantined = f", {result.n_rejected} rejected, first: {result.reasons[0]}" if result.n_rejected else ""
        rule = "a corpus must have at least one document"
        raise InputError(f"{rule}, got none{quarantined}", place=", ".join(file.path for file in plan.inputs))
    return result


def _rejected(row: Mapping[str, str]) -> Rejected:
    return Rejected(row["source"], row["place"], None, row["doc_id"], row["reason"], row["document"])


RECORD_SUFFIX = ".scoring.json"
DUPLICATES_SUFFIX = ".duplicates.csv"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ScoreResult(Result):
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
    n_not_selected
        Documents that `ScoringOptions.where` leaves out.
    n_repeated, duplicates
        Articles whose text an earlier one has, and the file that lists them, or None.
    n_quarantined, reasons
        Number of bad documents, and the messages of the first three.
    skipped
        Mentions of annotated corpora that are in no document, counted by reason.
    recalibration
        Name or path of the recalibration that the scores had, or None.
    clusters, left_out
        The file of the clustering that `ScoringOptions.clusters` chose, or None; and the mentions that it lacks, as
        brackets cannot represent them, counted by reason.
    workers
        Number of processes; None: those of an existing scheduler.
    seconds
        Wall time.
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

    def _more(self) -> dict[str, Any]:
        shares = {name: getattr(self.tally, name) for name in ("mean_dropped_mass", "known_share")}
        tally = {**dataclasses.asdict(self.tally), **shares}
        return {**tally, "texts": dataclasses.asdict(self.texts)}


def score_corpus(
    inputs: PathLike | Iterable[PathLike], chosen: ScoreOptions, *, on_progress: Progress | None = None
) -> ScoreResult:
    """Score documents, as `events.commands.run_score` says."""
    started = time.time()
    options = ScoringOptions(**chosen.chosen(*fields_of(ScoringOptions)))
    engine, path = _engine(chosen), chosen.out
    require_suffix(path, SUFFIXES, ParameterError)
    # A run that was killed after its output was in its place, but not all of its other files.
    is_joined = not chosen.overwrite and not chosen.restart and Places(path).is_joined()
    overwrite = chosen.overwrite or is_joined
    record = free_outputs(path, RECORD_SUFFIX, overwrite=overwrite)
    clusters = None if options.clusters is None else _clusters_path(path, options.clusters)
    if clusters is not None:
        require_free(clusters, overwrite=overwrite)
    selection = Selection(options.where)
    documents = DocumentInputs(
        inputs,
        entity_fields=options.entity_fields,
        article_options=options.article_options(),
        prefer_news=options.pipeline is not None,
        selected=selection if options.where else None,
        repeated=RepeatedTexts(options.duplicates),
    )
    _require_pipeline_for_text(documents, options)
    scorer = Scorer(options)
    plan = planned(documents.paths, scorer)
    with working_in(path) as places:
        with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
            store, plan = begun(places, plan, restart=chosen.restart)
            n_resumed = score_missing(documents, scorer, places, store, plan, engine=engine, on_progress=on_progress)
            result = joined_parts(store, plan, on_rejected)
            if is_joined:
                _require_own(path, result.paths, store)
            with writing(places):
                places.mark_joined()
            remove_file(record)  # of an earlier run, whose output is about to be replaced
            join(result.paths, path, overwrite=overwrite)
        left_out: dict[str, int] = {}
        if clusters is not None:
            left_out = dict(write_annotated(path, clusters, clustering=options.clusters, on_unwritable="skip").left_out)
        source = _source(options, documents)
        run = ScoreResult(
            out=path,
            record=record,
            tally=result.tally,
            texts=result.texts,
            n_resumed=n_resumed,
            n_quarantined=result.n_rejected,
            reasons=tuple(result.reasons),
            skipped=dict(documents.skipped),
            recalibration=chosen_recalibration(options.recalibration, options.model, source),
            clusters=clusters,
            left_out=left_out,
            workers=None if chosen.scheduler is not None else engine.workers or 1,
            seconds=round(time.time() - started, 3),
            n_not_selected=selection.n_not_selected,
            **_written_duplicates(documents, path, options.duplicates),
        )
        content = run_record(
            {**dataclasses.asdict(options), "out": path},
            [file.to_record(file.sha256) for file in plan.inputs],
            started,
            model={**plan.contents["model"][1], "provenance": dict(scorer.models[source].provenance)},
            recalibration=scorer.recalibration_of(source),
            pipeline=plan.contents["pipeline"][1],
            summary=run.to_json(),
        )
        write_json(record, content)
        places.discard()
    return run


def _written_duplicates(documents: DocumentInputs, path: str, duplicates: Duplicates) -> dict[str, Any]:
    """Write which articles have the text of an earlier one, and warn where they are counted with it."""
    assert documents.repeated is not None
    rows = documents.repeated.rows
    name = path + DUPLICATES_SUFFIX
    remove_file(name)
    if not rows:
        return {}
    table = pd.DataFrame(rows, columns=["doc_id", "date", "first"])
    with new_file(name, overwrite=True) as partial:
        write_csv(table, partial)
    if duplicates == "keep":
        doc_id, _, first = rows[0]
        logger("score").warning(
            "%s of the texts are those of earlier articles, such as %r of %r, and count again: %s lists them; "
            "duplicates drop or group leaves them out or marks them",
            f"{len(rows):,}",
            doc_id,
            first,
            name,
        )
    return {"n_repeated": len(rows), "duplicates": name}


def _source(options: ScoringOptions, documents: DocumentInputs) -> MentionSource:
    """Which mentions are scored."""
    return options.mentions or ("annotated" if documents.first_of("news") is None else "parse")


def is_scored(inputs: PathLike | Iterable[PathLike], path: str, options: ScoringOptions) -> bool:
    """Whether a file has the scores of these inputs with these options, and of the model that there is now."""
    if not (is_file(path) and is_file(path + RECORD_SUFFIX)) or Places(path).any() is not None:
        return False
    documents = DocumentInputs(inputs, article_options=options.article_options(), prefer_news=True)
    if STANDARD_INPUT in documents.paths:  # it may have other documents now
        return False
    scorer = Scorer(options)
    plan = planned(documents.paths, scorer)
    try:
        record = read_json(path + RECORD_SUFFIX)
        model = {**plan.contents["model"][1], "provenance": dict(scorer.models[_source(options, documents)].provenance)}
        now = {
            "corefsample": corefsample.__version__,
            "arguments": {**dataclasses.asdict(options), "out": path},
            "inputs": [file.to_record(file.sha256) for file in plan.inputs],
            "model": model,
            "pipeline": plan.contents["pipeline"][1],
        }
        return all(record[name] == json.loads(json.dumps(value)) for name, value in now.items())
    except (InputError, KeyError, TypeError):
        return False


def _require_own(path: str, parts: list[Path], store: Store) -> None:
    """Raise if there is an output that does not have the content of the complete parts."""
    again = store.path / f"joined{suffix_of(path, SUFFIXES)}"
    join(parts, again, overwrite=True)
    if is_file(path) and sha256(path) != sha256(again):
        require_free(path, overwrite=False)


def _clusters_path(path: str, clusters: str) -> str:
    return f"{path.removesuffix(suffix_of(path, SUFFIXES) or '')}.{clusters}.conllu"


def _engine(options: ScoreOptions) -> Engine:
    workers = options.workers
    if workers is None and options.scheduler is None and options.pipeline is not None:
        workers = processors()
    return Engine(workers, options.scheduler)


def _require_pipeline_for_text(documents: DocumentInputs, options: ScoringOptions) -> None:
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


def _is_parsed(path: str, options: ScoringOptions) -> bool:
    """Whether the first good document of a file has a parse."""
    for item in DocumentInputs([path], entity_fields=options.entity_fields):
        if isinstance(item, ReadDocument) and not isinstance(item.document, Article):
            tokens = item.document.tokens
            return tokens is not None and not tokens.is_unparsed
    return False
