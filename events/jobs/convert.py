"""The job behind `corefsample convert`: documents in one format are read, and written in another."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from corefsample import _checks
from corefsample.coreference import map_clustering, sample_clusterings
from corefsample.documents import ON_ERROR, AnnotatedDocument, ScoredDocument
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files import PathLike, path_list, require_free
from corefsample.formats import QuarantineFile, quarantine_file
from corefsample.formats import convert as convert_scored
from corefsample.formats.annotated import OnFault, kept_mentions, write_conll2012, write_corefud
from corefsample.summaries import LOSSES, point_estimate
from events.jobs._document_inputs import ANNOTATED, DocumentInputs, ReadDocument, annotated_kind, output_kind, reject
from events.jobs._reading import Progress

__all__ = ["CLUSTERINGS", "ConversionRun", "ConvertOptions", "run_convert"]

STANDARD_OUTPUT = "-"
CLUSTERINGS = ("gold", "map", "sample", *LOSSES)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertOptions:
    """How to write annotated formats.

    Attributes
    ----------
    clustering
        Entities of scored documents: "gold", the annotated ones; "map", those of each mention's likeliest antecedent;
        "sample", one sampled clustering; or a loss of `corefsample.summaries.point_estimate`, such as "binder": the
        clustering with the smallest expected loss. None: gold.
    seed
        Seed of the sampled clustering or of the samples behind an estimate, in [0, 2**64).
    singletons
        Whether entities of one mention are written.
    entity_fields
        Fields of ``Entity=``: those of files that do not declare them, and those to write. None: as declared.
    on_unwritable
        Brackets cannot represent mentions that cross sentences or another mention of their entity: "refuse" the
        document, or "skip" the mention and count it.
    on_error
        "stop" at the first bad document, or "quarantine" it and continue.
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
        _checks.choice("on_error", self.on_error, ON_ERROR)


@dataclass(frozen=True, slots=True)
class ConversionRun:
    """Result of a conversion.

    Attributes
    ----------
    out
        The file written.
    n_documents, n_quarantined
        Documents written, and bad ones set aside.
    skipped
        Mentions of the inputs that the documents lack, counted by reason.
    left_out
        Mentions of the documents that the file lacks, counted by reason.
    """

    out: str
    n_documents: int
    n_quarantined: int
    skipped: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """The fields by name; counts of mentions only if there are any."""
        content = {name: getattr(self, name) for name in ("out", "n_documents", "n_quarantined")}
        counts = {"skipped": dict(self.skipped), "left_out": dict(self.left_out)}
        return content | {name: count for name, count in counts.items() if count}


def _to_standard_output(names: list[str], options: ConvertOptions, on_progress: Progress | None) -> ConversionRun:
    """Convert to a temporary file, so that a bad document leaves no partial output, and copy that."""
    if options.on_error == "quarantine":
        rule = "must be stop where the output is standard output, which has no file beside it"
        raise ParameterError(f"{rule}, got {options.on_error}", parameter="on_error")
    _require_scores(names, "standard output", options)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "documents.jsonl")
        run = run_convert(names, path, options, on_progress=on_progress)
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    return dataclasses.replace(run, out=STANDARD_OUTPUT)


def run_convert(
    inputs: PathLike | Iterable[PathLike],
    output: PathLike,
    options: ConvertOptions | None = None,
    *,
    overwrite: bool = False,
    on_progress: Progress | None = None,
) -> ConversionRun:
    """Check documents and copy them to another file or format.

    Parameters
    ----------
    inputs
        Files, globs, or "-": scored mentions, CoNLL-U (CorefUD), CoNLL-2012.
    output
        New file; its ending gives the format. Scored mentions can be written to any, annotated documents to annotated
        formats. "-": JSON Lines of scored mentions on standard output, once all documents are valid.
    options
        How to write annotated formats.
    overwrite
        Whether files of an earlier run may be replaced.
    on_progress
        Called as documents are written, with bytes read, bytes in all, and documents.

    Raises
    ------
    ParameterError
        If the output's name has none of the endings, it exists and `overwrite` is false, or scores are needed that
        the inputs lack.
    InputError
        If a document is bad, or there is none.
    OutputError
        If the file cannot be written.
    """
    options = options or ConvertOptions()
    path, names = os.fspath(output), path_list(inputs)
    if path == STANDARD_OUTPUT:
        return _to_standard_output(names, options, on_progress)
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
                on_progress=on_progress and (lambda stream, n: on_progress(stream.bytes_read, stream.total_bytes, n)),
            )
            return ConversionRun(path, n_documents, 0 if on_rejected is None else on_rejected.count)
        require_free(path, overwrite=overwrite)
        documents = _Documents(DocumentInputs(names, options.entity_fields), options, on_rejected, on_progress)
        write = write_conll2012 if kind == "conll2012" else partial(write_corefud, entity_fields=options.entity_fields)
        try:
            # `overwrite` was checked above.
            written = write(
                documents,
                path,
                singletons=options.singletons,
                on_unwritable=options.on_unwritable,
                overwrite=True,
            )
        except ParameterError as error:  # the options are valid, so the fault is in a document
            raise error.as_input_error(", ".join(documents.inputs.paths)) from None
        n_quarantined = 0 if on_rejected is None else on_rejected.count
        return ConversionRun(path, written.n_documents, n_quarantined, documents.skipped, written.left_out)


def _require_scores(names: list[str], path: str, options: ConvertOptions) -> None:
    for name in names:
        if annotated_kind(name) is not None:
            rule = f"annotated documents have no scores to write to {path}"
            raise ParameterError(rule, place=name, hint="`corefsample score` adds scores")
    if options.clustering is not None:
        rule = f"must be left out where scores are written ({path})"
        raise ParameterError(f"{rule}, got {options.clustering!r}", parameter="clustering")


@dataclass
class _Documents:
    """The documents of the inputs with the entities that are to be written; iterate once."""

    inputs: DocumentInputs
    options: ConvertOptions
    on_rejected: QuarantineFile | None
    on_progress: Progress | None
    skipped: Counter[str] = field(init=False, default_factory=Counter)

    def __post_init__(self) -> None:
        text, annotated = self.inputs.first_of("news"), self.inputs.first_of(*ANNOTATED)
        if text is not None:
            rule = "text must be parsed and scored first"
            raise InputError(f"{rule}, got text", place=text, hint="`corefsample score` does both")
        if annotated is not None and self.options.clustering not in (None, "gold"):
            rule = f"must be gold for annotated documents, which have no scores ({annotated})"
            raise ParameterError(f"{rule}, got {self.options.clustering!r}", parameter="clustering")

    def __iter__(self) -> Iterator[AnnotatedDocument]:
        n_documents = 0
        for item in self.inputs.accepted(self.on_rejected):
            try:
                document = self._annotated(item)
            except ParameterError as error:
                reject(item.rejected(error), self.on_rejected)
                continue
            n_documents += 1
            yield document
            if self.on_progress is not None:
                self.on_progress(self.inputs.bytes_read, self.inputs.total_bytes, n_documents)
        self.skipped.update(self.inputs.skipped)
        if not n_documents:
            raise InputError("a corpus must have at least one document, got none", place=", ".join(self.inputs.paths))

    def _annotated(self, item: ReadDocument) -> AnnotatedDocument:
        document: Any = item.document
        if isinstance(document, ScoredDocument):
            document = self._clustered(document)
            self.skipped.update(document.skipped)
        # The writer checks this again, but here the document can still be set aside.
        kept_mentions(document, singletons=True, on_unwritable=self.options.on_unwritable, left_out=Counter())
        return document  # type: ignore[no-any-return]

    def _clustered(self, document: ScoredDocument) -> AnnotatedDocument:
        if self.options.clustering in (None, "gold"):
            if document.gold is None:
                hint = ParameterHint("clustering", "can be map or sample")
                raise ParameterError("gold is required to write gold entities", hint=hint)
            return AnnotatedDocument.from_scored(document)
        if self.options.clustering == "map":
            labels = map_clustering(document.antecedents)
        elif self.options.clustering in LOSSES:
            labels = point_estimate(
                document.antecedents, loss=self.options.clustering, seed=self.options.seed, doc_id=document.doc_id
            ).labels
        else:
            samples = sample_clusterings(
                document.antecedents, n_samples=1, seed=self.options.seed, doc_id=document.doc_id
            )
            labels = samples.labels[0]
        # Annotations of the parse that refer to gold entities (bridging) do not belong to this clustering.
        return AnnotatedDocument.from_scored(document, labels).with_clustering(labels)
