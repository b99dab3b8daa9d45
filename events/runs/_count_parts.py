"""Parts of a corpus, which are files or row groups; each is counted in any process and stored under a content key."""

import dataclasses
import gc
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any

import msgspec
import numpy as np

from corefsample._machine import processors
from corefsample.documents._faults import Rejected, missing_field
from corefsample.errors import DamagedFileError, InputError, ParameterError
from corefsample.files._paths import is_file, partition_values
from corefsample.files._reading import LineReader, parquet_errors, sha256
from corefsample.files._remote import credentials
from corefsample.formats import DocumentStream
from corefsample.formats.scored._parquet import ParquetReader, row_group_sizes
from corefsample.posterior._posterior import CorpusRecalibration
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._uncertain import NO_RECALIBRATION, named_recalibration
from events._options import Selection
from events.counts._counter import EventCounter
from events.evidence._columns import Calendar, EventKey
from events.evidence._rule_set import RuleSet
from events.lexicon._lexicon import Lexicon
from events.rules._rules import Rule, sources_of
from events.runs._run_options import CountOptions
from events.runs._store import STANDARD_INPUT, PartStore, Source, StoredPart

_NOT_IN_KEY = ("threads", "part_size", "on_error", "max_quarantined")  # options on which no result depends
_OF_TABLES = ("level", "interval", "rule_error", "reference")  # options on which only the tables depend, but no part
_OBJECTS = 20_000  # number of new objects after which Python searches for reference cycles
_BATCH = 256  # documents in a batch; some 20 MB of columns at 130 mentions per document


def checked_contents(options: CountOptions) -> str:
    """Load and check what the options name; return checksums of the user's files among this as JSON.

    The files of the package need no checksums here, because keys of parts have one of the whole package.

    Raises
    ------
    ParameterError, InputError
        If an option, a rule, a lexicon or a recalibration is invalid.
    """
    Calendar(options.period)
    files: dict[str, Sequence[str | None]] = {
        "rule": [source for rule in options.rules for source in sources_of(rule)],
        "lexicon": [options.lexicon],
        "recalibration": [options.recalibration],
        "trigger model": [options.triggers],
    }
    contents = json.dumps(
        {
            f"content of the {name}": [sha256(path) for path in paths if path is not None and is_file(path)]
            for name, paths in files.items()
        }
    )
    corpus_recalibration(options, contents)
    rules = loaded_rules(options, contents)
    is_outcome = any({*(options.compare or ())} <= {*each} for each in rules.actors_of_outcomes.values())
    for rule in rules.rules if not is_outcome else ():
        for name in options.compare or ():
            _require_compared(name, rule, rules.lexicon)
    return contents


def settings_of(options: CountOptions, contents: str, *without: str) -> dict[str, Any]:
    """Everything on which results depend, except the documents, as JSON values by name.

    Parameters
    ----------
    options, contents
        Options of counting, and what `checked_contents` returned for them.
    without
        Names of options that are left out, because the results in question do not depend on them.
    """
    values = options.subset(*(each.name for each in fields(options) if each.name not in (*_NOT_IN_KEY, *without)))
    return {**json.loads(json.dumps(values)), **json.loads(contents)}


@lru_cache(maxsize=2)
def loaded_rules(options: CountOptions, contents: str) -> RuleSet:
    """Rules and lexicon of options, loaded once in each process, and again if `contents` have changed."""
    names = options.rules, options.preset, options.lexicon, options.outcome
    return RuleSet.named(*names, **options.subset("triggers", "encoder"))


@lru_cache(maxsize=2)
def corpus_recalibration(options: CountOptions, contents: str) -> CorpusRecalibration:
    """Recalibration that all documents share, read once in each process, and again if `contents` have changed."""
    name = named_recalibration(options.recalibration)
    record = None if name is None else read_recalibration(name)
    as_scored = options.recalibration == NO_RECALIBRATION
    return CorpusRecalibration(record, options.uncertainty, options.seed, as_scored=as_scored)


@dataclass(frozen=True)
class CountPart:
    """A part of a corpus that is counted separately: a file, or some of its row groups.

    Attributes
    ----------
    options, contents
        What is counted and how, and what `checked_contents` returned for these options.
    source
        Input file with the documents of the part.
    store
        Store to which the counts of the part are written.
    groups
        Numbers of the first row group of the part and of the first one after it; None for a whole file.
    share
        Share of the rows of the file that the part contains, in (0, 1].
    excluded
        The doc_ids of documents that are left out, because an earlier part has them.
    urls
        URLs with credentials, for other processes, by the URLs without credentials.
    """

    options: CountOptions
    contents: str
    source: Source
    store: PartStore
    groups: tuple[int, int] | None = None
    share: float = 1.0
    excluded: tuple[str, ...] = ()
    urls: Mapping[str, str] = field(default_factory=credentials.copy, repr=False, hash=False)

    def __str__(self) -> str:
        groups = "" if self.groups is None else f", row groups {self.groups[0]} to {self.groups[1] - 1}"
        return f"part {os.path.basename(self.source.path)}{groups}"

    @property
    def key(self) -> str:
        """Content key of the part: a checksum of everything on which its result depends."""
        settings = settings_of(self.options, self.contents, *_OF_TABLES)
        return self.store.key(settings, self.source.absolute, self.source.fingerprint, self.groups, self.excluded)

    @property
    def n_bytes(self) -> float:
        """Approximate size of the part's documents in bytes."""
        return self.share * self.source.n_bytes

    def compute(self, on_progress: Callable[[float, int], None] | None = None) -> StoredPart:
        """Count the documents, and store the counts; parts can be computed in any order and in any process.

        Parameters
        ----------
        on_progress
            Function that is called after each batch with the bytes read and the number of documents of the part.

        Raises
        ------
        InputError
            If the file has changed since the part was made, or if a document is invalid and `on_error` is "stop".
        OSError
            If the result cannot be written.
        """
        credentials.update(self.urls)
        options = self.options
        self.source.require_unchanged()
        with self.store.adding(self.key) as stored:
            rejected: list[Rejected] = []
            selection = Selection(options.where)
            counter = EventCounter(
                loaded_rules(options, self.contents),
                scheme=options.scheme,
                period=options.period,
                n_samples=options.n_samples,
                seed=options.seed,
                recalibration=corpus_recalibration(options, self.contents),
                filled=options.filled,
                undated=options.undated,
                coreference=options.coreference,
                folder=stored.folder,
            )
            documents = DocumentStream(
                self.source.current_path,
                needs=("tokens",) if options.undated == "keep" else ("date", "tokens"),
                on_rejected=rejected.append if options.on_error == "quarantine" else None,
                batch_size=_BATCH,
                row_groups=None if self.groups is None else range(*self.groups),
                parses=True,
                ahead=True,
                selected=selection if options.where else None,
            )

            def on_batch() -> None:
                if on_progress is not None:
                    on_progress(documents.bytes_read, counter.n_documents)

            threads = options.threads or processors()
            # Documents are many small objects without reference cycles, for which Python would search often.
            thresholds = gc.get_threshold()
            gc.set_threshold(_OBJECTS, *thresholds[1:])
            try:
                counter.update(documents, threads=threads, repeated=self.excluded, on_batch=on_batch)
            finally:
                gc.set_threshold(*thresholds)
            counter.flush()
            self.source.require_unchanged()
            stored.record.update(
                documents=counter.n_documents,
                rejected=[each.to_json() for each in rejected],
                not_selected=selection.n_not_selected,
            )
        return stored

    def location(self, doc_id: str) -> str:
        """Location of the document with this doc_id: its file and line or row."""
        groups = None if self.groups is None else range(*self.groups)
        path = self.source.current_path
        for batch in DocumentStream(path, row_groups=groups, parses=True, on_rejected=lambda rejected: None):
            if doc_id in batch.doc_ids:
                return f"{batch.source}: {batch.unit} {batch.places[batch.doc_ids.index(doc_id)]}"
        return self.source.path


def file_parts(options: CountOptions, contents: str, source: Source, store: PartStore) -> list[CountPart]:
    """Divide a file into parts: JSON Lines are one part; Parquet is divided at row groups by the option `part_size`."""
    whole = CountPart(options, contents, source, store)
    if not source.path.endswith(".parquet"):
        return [whole]
    try:
        rows = row_group_sizes(source.current_path)
    except DamagedFileError:  # it is raised, or the file set aside, when the documents are counted
        return [whole]
    total = sum(rows)
    if not total:
        return [whole]
    n_parts = max(1, round(total / options.part_size))
    last_groups = np.searchsorted(np.cumsum(rows) * n_parts, total * np.arange(1, n_parts + 1))
    bounds = pairwise([0, *(np.unique(last_groups) + 1).tolist()])
    return [dataclasses.replace(whole, groups=each, share=sum(rows[slice(*each)]) / total) for each in bounds]


class _Dated(msgspec.Struct):
    """The fields of a document that are read to check its date."""

    doc_id: Any = None
    date: Any = None


def require_dates(path: str) -> None:
    """Raise InputError at the first document of a file without a date, before the other documents are counted.

    Only the dates are read. Standard input is not read, and other faults of documents are left to the reader.
    """
    if path == STANDARD_INPUT or "date" in partition_values(path):
        return
    for location, document in _dated(path):
        if document.date is None:
            reason, hint = missing_field("date")
            raise InputError(reason, place=f"{path}: {location}: doc_id {document.doc_id!r}", hint=hint)


def _dated(path: str) -> Iterator[tuple[str, _Dated]]:
    """Yield location and date of each document, as far as the file is undamaged."""
    with suppress(DamagedFileError):
        if path.endswith(".parquet"):
            with parquet_errors(path):
                batches = ParquetReader(path).file.iter_batches(columns=["doc_id", "date"])  # if it has a date
                for number, row in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), start=1):
                    yield f"row {number}", _Dated(**row)
            return
        decoder = msgspec.json.Decoder(_Dated)
        for number, line, _ in LineReader(path).byte_lines():
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # also for a blank line
                yield f"line {number}", decoder.decode(line)


def _require_compared(name: str, rule: Rule, lexicon: Lexicon) -> None:
    """Raise ParameterError unless a compared name has a code of the lexicon for each role of a rule."""
    key = EventKey.of(name)
    if not rule.event:
        raise ParameterError(f"must have a rule with roles, got the rule {rule.name} without", parameter="compare")
    if len(key) != len(rule.event):
        shape = EventKey(("AAA", "BBB")[: len(rule.event)]).name
        raise ParameterError(f"must name events of the rule {rule.name} ({shape}), got {name!r}", parameter="compare")
    for code, role in zip(key, rule.event, strict=True):
        if code or role not in rule.optional:
            lexicon.require(code, "compare")
