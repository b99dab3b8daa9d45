"""The job of `corefsample score`, which reads annotated documents or news and writes a file of scored mentions."""

import dataclasses
import hashlib
import json
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corefsample import InputError, ParameterError, ScoredDocument
from corefsample._arrays import pd
from corefsample._machine import processors
from corefsample.documents._faults import Rejected
from corefsample.files import _atomic as atomic
from corefsample.files._paths import Inputs, local_name, require_suffix
from corefsample.files._remote import is_url
from corefsample.formats.scored._stream import SUFFIXES
from corefsample.formats.scored._writing import QUARANTINE, join, write_documents
from corefsample.recalibration._uncertain import chosen_recalibration
from corefsample.scorers._scoring import ScoringTally
from events._options import Progress, Selection, fields_of
from events.corpora._document_inputs import ANNOTATED, DocumentInputs, ReadDocument
from events.news._quality import TextTally
from events.runs import _outputs as outputs
from events.runs._engines import completed_parts
from events.runs._run_options import ARTICLE_OPTIONS, ScoreOptions, ScoringOptions
from events.runs._scorer import scorer_of, with_absolute_paths
from events.runs._store import PartStore, Source, StoredPart, opened_store

DUPLICATES_SUFFIX = ".duplicates.csv"
_DOCUMENTS = "documents.parquet"
_lock = threading.Lock()  # a worker may have several threads, but a spaCy pipeline can serve only one at a time


@dataclass(frozen=True)
class ScorePart:
    """The documents of one part of a run, which are scored together.

    Attributes
    ----------
    items
        Valid and invalid documents, in the order of the inputs.
    first
        Checksum of the first of them.
    key
        Content key of the part.
    n_bytes
        Number of bytes of the inputs that were read for the part.
    store
        Store to which the scored documents are written.
    options, identity
        Options of scoring, with absolute paths; and identity of the scorer of the process that began the run.
    """

    items: Sequence[ReadDocument | Rejected]
    first: str
    key: str
    n_bytes: float
    store: PartStore
    options: ScoringOptions
    identity: dict[str, Any]

    def __str__(self) -> str:
        return f"the part of {len(self.items)} documents from {_location(self.items[0])}"

    def compute(self, on_progress: Callable[[float, int], None] | None = None) -> StoredPart:
        """Score the documents, and store them with counts and with the documents that cannot be scored.

        Raises
        ------
        InputError
            If the scorer of this process has another identity, or if a document is invalid and `on_error` is "stop".
        """
        documents, rejected = list[ScoredDocument](), list[Rejected]()
        tally, texts = ScoringTally(), TextTally()
        with _lock:
            scorer = scorer_of(self.options)
            different = [name for name, value in self.identity.items() if scorer.identity[name] != value]
            if different:
                rule = f"a worker must have the same {different[0]} as the process that began the run"
                raise InputError(f"{rule}, got {scorer.identity[different[0]]!r}")
            for item in self.items:
                if isinstance(item, Rejected):
                    rejected.append(item)
                else:
                    try:
                        scored, counts, faults = scorer.score(item)
                        documents += scored
                        tally, texts = tally + counts, texts + faults
                    except ParameterError as error:
                        rejected.append(item.rejected(error))
                    except Exception as error:
                        error.add_note(f"while scoring {_location(item)}")
                        raise
                if rejected and self.options.on_error == "stop":
                    raise rejected[0].error()
        with self.store.adding(self.key) as stored:
            if documents:
                write_documents(documents, stored.folder / _DOCUMENTS)
            stored.record.update(
                documents=tally.n_documents,
                items=[self.first, len(self.items)],
                tally=dataclasses.asdict(tally),
                texts=dataclasses.asdict(texts),
                rejected=[each.to_json() for each in rejected],
            )
        return stored


def _location(item: ReadDocument | Rejected) -> str:
    """Text that names a document by its file, its position in the file and its doc_id."""
    doc_id = item.document.doc_id if isinstance(item, ReadDocument) else item.doc_id
    return f"{item.source}: {item.place}: doc_id {doc_id!r}"


def _parts(
    documents: DocumentInputs, settings: Mapping[str, Any], size: int, store: PartStore, *scoring: Any
) -> Iterator[ScorePart]:
    """Read the corpus, and divide it into parts; each has the next documents that are read, valid or invalid.

    A part that begins as one in the store ends as that one, and the part before it ends there. So documents that are
    added to a corpus, anywhere, change few of the parts.
    """
    stored_sizes = dict(record["items"] for record in store.records() if "items" in record)
    n_bytes = 0.0
    items: list[ReadDocument | Rejected] = []
    texts: list[str] = []
    n_items = size

    def part() -> ScorePart:
        key, size_in_bytes = store.key(settings, texts), documents.bytes_read - n_bytes
        return ScorePart(items, texts[0], key, size_in_bytes, store, *scoring)

    for item in documents:
        position = [item.source, item.place] if isinstance(item, ReadDocument) else []
        text = hashlib.sha256(json.dumps([*position, item.to_json()]).encode()).hexdigest()
        if items and (len(items) == n_items or text in stored_sizes):
            yield part()
            n_bytes, items, texts = documents.bytes_read, [], []
        if not items:
            n_items = stored_sizes.get(text, size)
        items.append(item)
        texts.append(text)
    if items:
        yield part()


def _parts_folder(path: str) -> Path:
    """Folder for the parts of an unfinished run: beside its output, or in the current folder if that is a URL."""
    return Path(f"{local_name(path)}.parts")


def score_corpus(inputs: Inputs, options: ScoreOptions, *, on_progress: Progress | None = None) -> dict[str, Any]:
    """Score documents, as `events.commands.run_score` says; return the numbers that docs/json-output.md describes."""
    started, path = time.time(), options.out
    scoring = ScoringOptions(**options.subset(*fields_of(ScoringOptions)))
    suffix = require_suffix(path, SUFFIXES, ParameterError)
    if options.workers is None and options.scheduler is None and options.pipeline is not None:
        options = dataclasses.replace(options, workers=processors())
    # Without a record after a run that was killed when its output was complete; with one after a finished run, whose
    # settings are compared below. A file of another kind with the name of the record is the user's.
    is_left = not is_url(path) and (_parts_folder(path).is_dir() or bool(outputs.scoring_of(path)))
    record_path = outputs.free_outputs(path, outputs.RECORD_SUFFIX, QUARANTINE, overwrite=options.overwrite or is_left)
    atomic.require_writable(path)
    selection = Selection(options.where)
    documents = DocumentInputs(
        inputs,
        article_options={**options.subset(*ARTICLE_OPTIONS), "undated": options.undated},
        prefer_news=options.pipeline is not None,
        selected=selection if options.where else None,
        duplicates=options.duplicates,
    )
    _require_pipeline_for_text(documents, scoring)
    scorer = scorer_of(with_absolute_paths(scoring))
    with opened_store(_parts_folder(path), path) as store:
        sources = [*map(Source.of, documents.paths)]
        settings = scorer.settings(scoring)
        if not options.overwrite:
            outputs.require_same(record_path, path, settings, documents.paths)
        parts = _parts(documents, settings, options.part_size, store, scorer.options, scorer.identity)
        stored = completed_parts(
            parts,
            store,
            options,
            raise_first_fault=options.on_error == "stop",
            total_bytes=documents.total_bytes,
            on_progress=on_progress,
        )
        scorer_of.cache_clear()
        tally = sum((ScoringTally(**each.record["tally"]) for each in stored), ScoringTally())
        texts = sum((TextTally(**each.record["texts"]) for each in stored), TextTally())
        rejected = [document for each in stored for document in each.rejected()]
        counts = selection.n_not_selected, options.max_quarantined
        outputs.require_documents(tally.n_documents, rejected, options.where, *counts)
        # Joined in the folder of the parts, so that the file of a killed run is removed with them.
        joined = store.path / f"joined{suffix}"
        files = [each.folder / _DOCUMENTS for each in stored if each.record["documents"]]
        join(files, joined, overwrite=True)
        atomic.remove_file(record_path)  # an earlier run's record, because its output is about to be replaced
        atomic.remove_file(path + QUARANTINE)
        if rejected:
            atomic.write_bytes(path + QUARANTINE, outputs.quarantine_lines(rejected), overwrite=True)
        atomic.put_in_place(str(joined), path)
        source = options.mentions or ("annotated" if documents.first_of("news") is None else "parse")
        more = {
            "n_resumed": sum(each.record["documents"] for each in stored if not each.is_new),
            "n_quarantined": len(rejected),
            "reasons": [each.message() for each in rejected[:3]],
            "skipped": dict(documents.skipped),
            "recalibration": chosen_recalibration(options.recalibration, options.model, source),
            "workers": None if options.scheduler is not None else options.workers or 1,
            "n_repeated": len(documents.repeated),
            "duplicates": _written_duplicates(documents, path),
        }
        values = scoring_values(options.out, started, selection, tally, texts, **more)
        record = outputs.run_record(
            {**dataclasses.asdict(scoring), "out": path},
            [each.to_record() for each in sources],
            started,
            model={**settings["model"], "provenance": dict(scorer.models[source].provenance)},
            recalibration=scorer.recalibration_of(source),
            pipeline=settings["pipeline"],
            settings=settings,
            summary=values,
        )
        atomic.write_json(record_path, record)
        if is_url(path):
            shutil.rmtree(store.path)
        else:
            store.keep(stored)
    return values


def scoring_values(
    out: str, started: float, selection: Selection, tally: ScoringTally, texts: TextTally, **more: Any
) -> dict[str, Any]:
    """The numbers that docs/json-output.md describes: what was written and counted, the seconds, and further ones."""
    shares = {name: getattr(tally, name) for name in ("mean_dropped_mass", "known_share")}
    counts = {"texts": dataclasses.asdict(texts), **dataclasses.asdict(tally), **shares}
    written = {"out": out, "record": out + outputs.RECORD_SUFFIX, "seconds": round(time.time() - started, 3)}
    none = {"n_resumed": 0, "reasons": [], "workers": 1, "n_repeated": 0, "duplicates": None}
    return {**written, **counts, "n_not_selected": selection.n_not_selected, **none, **more}


def _written_duplicates(documents: DocumentInputs, path: str) -> str | None:
    """Write the list of articles with the text of an earlier one, and warn if they are counted too; return its path."""
    name = path + DUPLICATES_SUFFIX
    atomic.remove_file(name)
    if not documents.repeated:
        return None
    with atomic.new_file(name, overwrite=True) as partial:
        atomic.write_csv(pd.DataFrame(documents.repeated, columns=["doc_id", "date", "first"]), partial)
    if documents.duplicates == "keep":
        doc_id, _, first = documents.repeated[0]
        logging.getLogger("corefsample.score").warning(
            "%d articles have the text of an earlier article, such as %r that of %r, and are counted too; %s lists "
            "them. --duplicates drop leaves them out",
            *(len(documents.repeated), doc_id, first, name),
        )
    return name


def _require_pipeline_for_text(documents: DocumentInputs, options: ScoringOptions) -> None:
    text, words = documents.first_of("news"), documents.first_of("scored", *ANNOTATED)
    if text is not None and options.pipeline is None:
        rule = f"is required to parse the text of {text}"
        raise ParameterError(rule, parameter="pipeline", hint="en_core_web_sm is one")
    if text is not None and options.mentions == "annotated":
        raise ParameterError(f"must be 'parse' for text ({text}), got 'annotated'", parameter="mentions")
    if words is None or options.pipeline is None:
        return
    if options.parses:
        raise ParameterError(f"is for text, got documents that consist of words ({words})", parameter="parses")
