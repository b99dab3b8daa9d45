"""What `doctor` says of annotated corpora: what a model can be trained on, and what is lost on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._tokens import EMPTY_COLUMN
from corefsample.errors import CorefsampleError
from corefsample.formats.annotated._corefud_reading import PARTS
from corefsample.languages._language import ENGLISH, declared_language, load_language
from corefsample.mention_ranking import english_model
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._roles import is_unparsed
from events.commands._failures import Report
from events.runs._document_inputs import DocumentInputs, ReadDocument
from events.runs._progress import Progress


@dataclass(slots=True, kw_only=True)
class AnnotatedReport(Report):
    """Content of annotated corpora.

    Attributes
    ----------
    n_documents, n_words, n_known_words
        Documents, their words of letters, and those of them that the English model knows.
    n_mentions, n_entities, n_zeros, n_discontinuous
        Mentions and entities, and of the mentions those of an empty node and those in several parts.
    skipped
        Mentions of the files that no document has, counted by reason.
    languages
        Documents by the language that they, or the names of their files, say; "" where nothing says it.
    n_of_parse
        Mentions that are found in the parse, with the resources of the language.
    n_by_span, n_by_head
        Annotated mentions that have the span of one of these; others that have its head.
    n_unparsed
        Documents without a parse.
    """

    n_documents: int = 0
    n_words: int = 0
    n_known_words: int = 0
    n_mentions: int = 0
    n_entities: int = 0
    n_zeros: int = 0
    n_discontinuous: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    languages: Counter[str] = field(default_factory=Counter)
    n_of_parse: int = 0
    n_by_span: int = 0
    n_by_head: int = 0
    n_unparsed: int = 0

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        said = ", ".join(f"{code or 'not said'} ({count:,})" for code, count in sorted(self.languages.items()))
        share = self.n_known_words / self.n_words if self.n_words else 0.0
        skipped = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in self.skipped.items())
        missed = self.n_mentions - self.n_by_span - self.n_by_head
        parse = f"{self.n_of_parse:,} found; of the annotated, {self.n_by_span:,} have the span of one, "
        return [
            ("documents", f"{self.n_documents:,} valid, {self.n_problems:,} bad"),
            ("language", f"{said or 'none'}; the English model knows {share:.0%} of the words"),
            ("mentions", f"{self.n_mentions:,} of {self.n_entities:,} entities"),
            ("zeros", f"{self.n_zeros:,} of the mentions"),
            ("in parts", f"{self.n_discontinuous:,} of the mentions"),
            ("skipped", skipped or "none"),
            ("unparsed", f"{self.n_unparsed:,} documents"),
            ("of the parse", parse + f"{self.n_by_head:,} more its head, {missed:,} neither"),
        ]


def check_annotated(
    files: Sequence[str], on_progress: Progress | None, *, scheme: str | None = None
) -> AnnotatedReport:
    """Check annotated corpora, and describe their content; bad documents are problems of the report."""
    report = AnnotatedReport(title=", ".join(files))
    inputs = DocumentInputs(files)
    for item in inputs:
        if isinstance(item, ReadDocument):
            assert isinstance(item.document, AnnotatedDocument)  # no other file is given
            try:
                _add(report, item.document, declared_language(item.document.metadata, item.source), scheme)
            except CorefsampleError as error:
                report.reject(item.rejected(error))
        else:
            report.reject(item)
        if on_progress is not None:
            on_progress(inputs.bytes_read, inputs.total_bytes, report.n_documents)
    report.skipped = dict(inputs.skipped)
    return report


def _add(report: AnnotatedReport, document: AnnotatedDocument, language: str | None, scheme: str | None) -> None:
    tokens, mentions = document.tokens, document.mentions
    if is_unparsed(tokens):
        report.n_unparsed += 1
    else:
        found = mentions_from_parse(tokens, scheme=scheme, language=load_language(language or ENGLISH))
        spans, heads = {(start, end) for start, end, _ in found.tolist()}, set(found[:, 2].tolist())
        by_span = [(start, end) in spans for start, end, _ in mentions.tolist()]
        report.n_of_parse += len(found)
        report.n_by_span += sum(by_span)
        report.n_by_head += sum(
            head in heads for head, same in zip(mentions[:, 2].tolist(), by_span, strict=True) if not same
        )
    empty = tokens.extra.get(EMPTY_COLUMN, [""] * len(tokens))
    n_words, n_known = english_model().known_words(tokens)
    report.n_words, report.n_known_words = report.n_words + n_words, report.n_known_words + n_known
    report.n_documents += 1
    report.n_mentions += document.n_mentions
    report.n_entities += len(set(document.entities))
    report.n_zeros += sum(bool(empty[head]) for head in mentions[:, 2].tolist())
    report.n_discontinuous += sum(map(bool, document.attributes.get(PARTS, ())))
    report.languages[language or ""] += 1
