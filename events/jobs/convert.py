"""The job behind `corefsample convert`: documents of one format in, the same documents in another out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from corefsample import _checks
from corefsample.coreference import map_clustering, sample_clusterings
from corefsample.documents import AnnotatedDocument, Rejected, ScoredDocument
from corefsample.errors import InputError, ParameterError
from corefsample.formats import QuarantineFile, quarantine_file
from corefsample.formats import convert as convert_scored
from corefsample.formats.annotated import OnFault, Written, kept_mentions, write_conll2012, write_corefud
from events.jobs._document_inputs import ANNOTATED, DocumentInputs, Kind, ReadDocument, annotated_kind, output_kind
from events.jobs._record import paths_of, require_free

__all__ = ["CLUSTERINGS", "ConversionRun", "ConvertOptions", "run_convert"]

CLUSTERINGS = ("gold", "map", "sample")

PathLike = str | os.PathLike[str]
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How to write annotated formats.

    Attributes
    ----------
    clustering
        Entities of scored documents: "gold", the annotated ones; "map", those of each mention's likeliest antecedent;
        "sample", one sampled clustering. None: gold.
    seed
        Of the sampled clustering.
    singletons
        Whether entities of one mention are written.
    entity_fields
        Fields of ``Entity=``: those of files that do not declare them, and those to write. None: as they came.
    on_unwritable
        What brackets cannot hold, mentions that cross a sentence's bounds or another mention of their entity: "refuse"
        the document, or "skip" the mention and count it.
    on_error
        "stop" at the first bad document, or "quarantine" it and go on.
    """

    clustering: str | None = None
    seed: int = 0
    singletons: bool = True
    entity_fields: str | None = None
    on_unwritable: OnFault = "refuse"
    on_error: str = "stop"

    def __post_init__(self) -> None:
        if self.clustering is not None:
            _checks.choice("clustering", self.clustering, CLUSTERINGS)
        _checks.seed(self.seed)
        _checks.choice("on_unwritable", self.on_unwritable, ("refuse", "skip"))


@dataclass(frozen=True, slots=True)
class ConversionRun:
    """What a conversion did.

    Attributes
    ----------
    output
        The file written.
    n_documents, n_quarantined
        Documents written, and bad ones set aside.
    skipped
        Mentions that the inputs have and the documents have not, counted by reason.
    left_out
        Mentions of the documents that the file has not, counted by reason.
    """

    output: str
    n_documents: int
    n_quarantined: int
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """The fields by name; counts of mentions where there are any."""
        content: dict[str, Any] = {
            "output": self.output,
            "n_documents": self.n_documents,
            "n_quarantined": self.n_quarantined,
        }
        content |= {"skipped": dict(self.skipped)} if self.skipped else {}
        return content | ({"left_out": dict(self.left_out)} if self.left_out else {})


def run_convert(
    inputs: PathLike | Iterable[PathLike],
    output: PathLike,
    options: ConvertOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> ConversionRun:
    """Copy documents to another file or format, checked.

    Parameters
    ----------
    inputs
        Files, globs, or "-": scored mentions, CoNLL-U (CorefUD), CoNLL-2012.
    output
        New file; its ending tells the format. Scored mentions go to any, annotated documents to annotated formats.
    options
        How to write annotated formats.
    overwrite
        Whether files of an earlier run may be replaced.
    on_progress
        Called as documents are written, with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If the output's name has none of the endings, it exists and overwrite is not said, or scores are asked for that
        the inputs lack.
    InputError
        If a document is bad, or there is none.
    OutputError
        If the file cannot be written.
    """
    options = options or ConvertOptions()
    path = os.fspath(output)
    names = paths_of(inputs)
    kind = output_kind(path)
    if kind == "scored":
        _require_scores(names, path, options)
    with quarantine_file(path, on_error=options.on_error, overwrite=overwrite) as on_rejected:
        if kind == "scored":
            n_documents = convert_scored(
                names,
                path,
                overwrite=overwrite,
                on_rejected=on_rejected,
                on_progress=None
                if on_progress is None
                else lambda stream, done: on_progress(stream.bytes_read, stream.total_bytes, done),
            )
            return ConversionRun(path, n_documents, 0 if on_rejected is None else on_rejected.count)
        require_free(path, overwrite=overwrite)
        documents = _Documents(names, options, on_rejected, on_progress)
        written = _written(documents, path, kind, options)
        n_quarantined = 0 if on_rejected is None else on_rejected.count
        return ConversionRun(path, written.n_documents, n_quarantined, documents.skipped, written.left_out)


def _require_scores(names: list[str], path: str, options: ConvertOptions) -> None:
    for name in names:
        if annotated_kind(name) is not None:
            raise ParameterError(
                f"{name}: annotated documents have no scores to write to {path} (corefsample score gives them scores)"
            )
    if options.clustering is not None:
        raise ParameterError(
            f"clustering must be left out where scores are written ({path}), got {options.clustering!r}"
        )


def _written(documents: _Documents, path: str, kind: Kind, options: ConvertOptions) -> Written:
    shared: dict[str, Any] = {
        "singletons": options.singletons,
        "on_unwritable": options.on_unwritable,
        "overwrite": True,  # what is there was looked at before
    }
    try:
        if kind == "corefud":
            return write_corefud(documents, path, entity_fields=options.entity_fields, **shared)
        return write_conll2012(documents, path, **shared)
    except ParameterError as error:  # of a document: the options are checked
        raise InputError(f"{', '.join(documents.inputs.paths)}: {error}") from None


class _Documents:
    """The documents of the inputs with the entities that are to be written; iterate once."""

    def __init__(
        self,
        names: list[str],
        options: ConvertOptions,
        on_rejected: QuarantineFile | None,
        on_progress: Progress | None,
    ) -> None:
        self.inputs = DocumentInputs(names, entity_fields=options.entity_fields)
        self.skipped: Counter[str] = Counter()
        text, annotated = self.inputs.first_of("news"), self.inputs.first_of(*ANNOTATED)
        if text is not None:
            raise InputError(f"{text}: text must be parsed and scored first (corefsample score does both), got text")
        if annotated is not None and options.clustering in ("map", "sample"):
            rule = f"clustering must be gold for annotated documents, which have no scores ({annotated})"
            raise ParameterError(f"{rule}, got {options.clustering!r}")
        self._options = options
        self._on_rejected, self._on_progress = on_rejected, on_progress

    def __iter__(self) -> Iterator[AnnotatedDocument]:
        n_documents = 0
        for found in self.inputs:
            if isinstance(found, Rejected):
                self._reject(found)
                continue
            try:
                document = self._annotated(found)
            except ParameterError as error:
                self._reject(found.rejected(str(error)))
                continue
            n_documents += 1
            yield document
            if self._on_progress is not None:
                self._on_progress(self.inputs.bytes_read, self.inputs.total_bytes, n_documents)
        self.skipped.update(self.inputs.skipped)
        if not n_documents:
            raise InputError(f"{', '.join(self.inputs.paths)}: a corpus must hold at least one document, got none")

    def _annotated(self, found: ReadDocument) -> AnnotatedDocument:
        document: Any = found.document
        if isinstance(document, ScoredDocument):
            document = self._clustered(document)
            self.skipped.update(document.skipped)
        # Once more by the writer: here it can still be set aside.
        kept_mentions(document, singletons=True, on_unwritable=self._options.on_unwritable, left_out=Counter())
        kept: AnnotatedDocument = document
        return kept

    def _clustered(self, document: ScoredDocument) -> AnnotatedDocument:
        if self._options.clustering in (None, "gold"):
            if document.gold is None:
                raise ParameterError("gold must be there to be written (clustering chooses map or sample), got none")
            return AnnotatedDocument.from_scored(document)
        if self._options.clustering == "map":
            labels = map_clustering(document.antecedents)
        else:
            samples = sample_clusterings(
                document.antecedents, n_samples=1, seed=self._options.seed, doc_id=document.doc_id
            )
            labels = samples.labels[0]
        # What a parse carries of the annotated entities (bridging) is not of this clustering.
        return AnnotatedDocument.from_scored(document, labels).with_clustering(labels)

    def _reject(self, rejected: Rejected) -> None:
        if self._on_rejected is None:
            raise rejected.error()
        self._on_rejected(rejected)
