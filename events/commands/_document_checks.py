"""Checks of documents for `corefsample doctor`: annotated corpora, scored mentions, and news."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import compress
from typing import Any

import numpy as np

from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._tokens import EMPTY_COLUMN
from corefsample.errors import CorefsampleError, InputError, ParameterHint
from corefsample.formats import DocumentStream
from corefsample.formats.annotated._corefud_reading import PARTS
from corefsample.languages._language import ENGLISH, declared_language, differ, load_language
from corefsample.scorers import load_scorer
from corefsample.scorers._scoring import document_scheme, known_words
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._schemes import fitting_schemes
from events._options import Progress
from events.commands._reading import CheckReport, batches
from events.counting._notes import CountNotes
from events.counting._sums import MergedActors
from events.lexicon._lexicon import Lexicon
from events.news._articles import ArticleStream
from events.news._corpus_files import corpus_paths
from events.news._dates import Timeline
from events.news._preparation import KINDS, prepared
from events.news._quality import TextTally
from events.runs._document_inputs import DocumentInputs, ReadDocument


@dataclass(slots=True, kw_only=True)
class AnnotatedReport(CheckReport):
    """Report on annotated corpora.

    Attributes
    ----------
    n_documents, n_words, n_known_words
        Number of documents, of their words that have letters, and of those words that the English model knows.
    n_mentions, n_entities
        Number of mentions and of entities.
    n_zeros, n_discontinuous
        Number of mentions whose head is an empty node, and of mentions in several pieces.
    skipped
        Number of annotated mentions that could not be read, by reason.
    languages
        Number of documents by language, which their metadata or the name of their file declares; "" without one.
    n_of_parse
        Number of mentions that are recognised in the parse with the resources of the language.
    n_by_span, n_by_head
        Number of annotated mentions with the span of a mention of the parse, and number of other annotated mentions
        with the head of a mention of the parse.
    n_unparsed
        Number of documents without a parse.
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
        share = self.n_known_words / self.n_words if self.n_words else 0.0
        skipped = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in self.skipped.items())
        missed = self.n_mentions - self.n_by_span - self.n_by_head
        parse = f"{self.n_of_parse:,}; {self.n_by_span:,} annotated mentions have their spans, "
        return [
            ("documents", f"{self.n_documents:,} valid, {self.n_problems:,} bad"),
            ("language", _language_text(self.languages, share)),
            ("mentions", f"{self.n_mentions:,} of {self.n_entities:,} entities"),
            ("zeros", f"{self.n_zeros:,} of the mentions"),
            ("in parts", f"{self.n_discontinuous:,} of the mentions"),
            ("skipped", skipped or "none"),
            ("unparsed", f"{self.n_unparsed:,} documents"),
            ("of the parse", parse + f"{self.n_by_head:,} only their heads, {missed:,} neither"),
        ]


def check_annotated(
    files: Sequence[str], on_progress: Progress | None, *, scheme: str | None = None
) -> AnnotatedReport:
    """Check annotated corpora, and describe them; invalid documents are listed as problems of the report."""
    report = AnnotatedReport(title=", ".join(files))
    inputs = DocumentInputs(files)
    for item in inputs:
        if isinstance(item, ReadDocument):
            assert isinstance(item.document, AnnotatedDocument)  # all files are annotated
            try:
                _count(report, item.document, declared_language(item.document.metadata, item.source), scheme)
            except CorefsampleError as error:
                report.reject(item.rejected(error))
        else:
            report.reject(item)
        if on_progress is not None:
            on_progress(inputs.bytes_read, inputs.total_bytes, report.n_documents)
    report.skipped = dict(inputs.skipped)
    return report


def _count(report: AnnotatedReport, document: AnnotatedDocument, language: str | None, scheme: str | None) -> None:
    tokens, mentions = document.tokens, document.mentions
    if tokens.is_unparsed:
        report.n_unparsed += 1
    else:
        scheme = scheme or document_scheme(document)
        parsed_mentions = mentions_from_parse(tokens, scheme=scheme, language=load_language(language or ENGLISH))
        spans, heads = {(start, end) for start, end, _ in parsed_mentions.tolist()}, set(parsed_mentions[:, 2].tolist())
        by_span = [(start, end) in spans for start, end, _ in mentions.tolist()]
        report.n_of_parse += len(parsed_mentions)
        report.n_by_span += sum(by_span)
        report.n_by_head += sum(
            head in heads for head, is_equal in zip(mentions[:, 2].tolist(), by_span, strict=True) if not is_equal
        )
    empty = tokens.extra.get(EMPTY_COLUMN, [""] * len(tokens))
    n_words, n_known = known_words(load_scorer(ENGLISH), tokens)
    report.n_words, report.n_known_words = report.n_words + n_words, report.n_known_words + n_known
    report.n_documents += 1
    report.n_mentions += document.n_mentions
    report.n_entities += len(set(document.entities))
    report.n_zeros += sum(bool(empty[head]) for head in mentions[:, 2].tolist())
    report.n_discontinuous += sum(map(bool, document.attributes.get(PARTS, ())))
    report.languages[language or ""] += 1


_SAMPLES = 100  # number of samples per document


@dataclass(slots=True, kw_only=True)
class CorpusReport(CheckReport):
    """Report on files of scored mentions.

    Attributes
    ----------
    n_documents, n_mentions, n_candidates
        Number of valid documents, of their mentions, and of candidate antecedents.
    n_several_parses, n_parses
        Number of documents with several parses, and number of their parses; all other values describe the first parse
        of each document.
    n_dated, n_parsed, n_gold
        Number of documents with a date, with tokens, and with gold entities.
    dates
        First and last date; None if no document has a date.
    mentions_quantiles
        Minimum, median and maximum number of mentions per document.
    schemes
        Number of documents by dependency scheme ("ud2 or clearnlp" if the labels fit both; "none" if they fit none).
    languages
        Number of documents by the language in their metadata; "" for documents without one.
    known_share
        Share of the words that the English model of the package knows: about 0.85 of English text, 0.3 of Spanish.
    new_mass
        Mean of P(NEW) over mentions, which is the expected share of mentions that begin an entity.
    merged_actors
        How often coreference merges distinct actors of the lexicon into one entity: see docs/file-formats.md. None
        without a lexicon, or if no mention names an actor.
    """

    n_documents: int = 0
    n_mentions: int = 0
    n_candidates: int = 0
    n_several_parses: int = 0
    n_parses: int = 0
    n_dated: int = 0
    n_parsed: int = 0
    n_gold: int = 0
    dates: tuple[str, str] | None = None
    mentions_quantiles: tuple[int, float, int] = (0, 0.0, 0)
    schemes: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    known_share: float | None = None
    new_mass: float = 0.0
    merged_actors: dict[str, Any] | None = None

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        parses = []
        if self.n_several_parses:
            mean = self.n_parses / self.n_several_parses
            documents = f"{self.n_several_parses:,} document{'s' * (self.n_several_parses > 1)} with several parses"
            parses = [("parses", f"{documents}, on average {mean:.1f}")]
        merging = [] if self.merged_actors is None else [("actors", CountNotes(self.merged_actors).merging())]
        low, median, high = self.mentions_quantiles
        schemes = ", ".join(f"{name} ({count:,})" for name, count in sorted(self.schemes.items()))
        return [
            ("documents", f"{self.n_documents:,} valid, {self.n_problems:,} bad"),
            ("mentions", f"{self.n_mentions:,} ({low:,} to {high:,} per document, median {median:,g})"),
            ("candidates", f"{self.n_candidates:,} ({self.n_candidates / max(self.n_mentions, 1):.1f} per mention)"),
            ("dates", f"{self.dates[0]} to {self.dates[1]} ({self.n_dated:,} documents)" if self.dates else "none"),
            ("tokens", f"{self.n_parsed:,} documents"),
            *parses,
            ("scheme", schemes or "none"),
            ("language", _language_text(self.languages, self.known_share)),
            ("gold", f"{self.n_gold:,} documents"),
            ("P(NEW)", f"{self.new_mass:.3f}, mean over mentions" if self.n_mentions else "none"),
            *merging,
        ]


def _language_text(languages: Counter[str], known_share: float | None) -> str:
    """Text with the number of documents by language, and the share of their words that the English model knows."""
    counts = ", ".join(f"{code or 'not said'} ({count:,})" for code, count in sorted(languages.items()))
    share = "" if known_share is None else f"; the English model knows {known_share:.0%} of the words"
    return f"{counts or 'none'}{share}"


def check_corpus(
    files: list[str],
    on_progress: Progress | None,
    *,
    lexicon: Lexicon | None = None,
    scheme: str | None = None,
    language: str = "",
) -> CorpusReport:
    """Check files of scored mentions, and describe them; invalid documents are listed as problems of the report.

    With a lexicon, clusterings are sampled to count how often its actors are merged. Documents that declare another
    language than that of the rule and the lexicon are a problem.
    """
    report = CorpusReport(title=", ".join(files))
    stream = DocumentStream(files, on_rejected=report.reject, parses=True)
    sizes: list[int] = []
    new_mass, words, merged = 0.0, np.zeros(2, np.int64), MergedActors()
    for parses, _ in batches(stream, on_progress, report=report):
        batch, firsts = parses.usual_parses(), parses.firsts.tolist()
        report.n_documents += len(batch)
        counts = [len(parses.parses(row)) for row in firsts]
        report.n_several_parses += sum(n > 1 for n in counts)
        report.n_parses += sum(n for n in counts if n > 1)
        sizes += np.diff(batch.mentions[0]).tolist()
        report.n_candidates += len(batch.candidates[1])
        report.n_gold += len(batch) - batch.table.column("gold").null_count
        _add_dates(report, batch)
        _add_schemes(report, batch)
        report.languages.update(declared_language(batch.metadata(row)) or "" for row in range(len(batch)))
        words += sum(
            np.array(known_words(load_scorer(ENGLISH), tokens))
            for row in range(len(batch))
            if (tokens := batch.tokens(row)) is not None
        )
        new_mass += sum(float(batch.antecedents(row).new_probs.sum()) for row in range(len(batch)))
        if lexicon is not None:
            for row in (firsts[d] for d in np.flatnonzero(batch.has_tokens).tolist()):
                with suppress(InputError):  # the report says how many documents fit no scheme
                    merged.add_document(parses, row, lexicon, scheme=scheme, n_samples=_SAMPLES)
    report.n_mentions = sum(sizes)
    if sizes:
        report.mentions_quantiles = min(sizes), float(np.median(sizes)), max(sizes)
    report.new_mass = new_mass / max(report.n_mentions, 1)
    report.known_share = float(words[1] / words[0]) if words[0] else None
    other_languages = {code: n for code, n in report.languages.items() if differ(language or None, code or None)}
    if other_languages:
        other_texts = ", ".join(f"{n:,} of {code}" for code, n in other_languages.items())
        rule = f"documents must be in the language of the rule and the lexicon ({language})"
        hint = "docs/languages.md says how to write rules and lexicons of another language"
        report.problems.append(InputError(f"{rule}, got {other_texts}", hint=hint))
        report.n_problems += 1
    report.merged_actors = merged.summary(_SAMPLES)
    return report


def _add_dates(report: CorpusReport, batch: DocumentBatch) -> None:
    dates = batch.dates[~np.isnat(batch.dates)]
    report.n_dated += len(dates)
    if len(dates):
        ends = sorted([*(report.dates or ()), str(dates.min()), str(dates.max())])
        report.dates = ends[0], ends[-1]


def _add_schemes(report: CorpusReport, batch: DocumentBatch) -> None:
    labels, bounds = batch.token_strings("dep"), batch.token_bounds
    for row in np.flatnonzero(batch.has_tokens).tolist():
        report.n_parsed += 1
        distinct = labels[int(bounds[row]) : int(bounds[row + 1])].unique().to_pylist()
        report.schemes[" or ".join(fitting_schemes(distinct)) or "none"] += 1


# --- news --------------------------------------------------------------------------------------------------

_EXAMPLES = 5  # number of examples of each kind
_EVERY = 100  # number of articles between reports of progress


@dataclass(slots=True, kw_only=True)
class NewsReport(CheckReport):
    """Report on files of news.

    Attributes
    ----------
    n_articles
        Number of valid articles.
    texts
        Counts of their texts by faults and by changes.
    examples
        First pieces that are not parsed, by kind; under "capitals", the first paragraphs that are rewritten to sentence
        case, in this case.
    dates, first_ids
        Number of articles by date, and doc_id of the first article of each date.
    """

    n_articles: int = 0
    texts: TextTally = field(default_factory=TextTally)
    examples: dict[str, list[str]] = field(default_factory=dict)
    dates: Counter[str] = field(default_factory=Counter)
    first_ids: dict[str, str] = field(default_factory=dict)

    def _more(self) -> dict[str, Any]:
        return {"texts": asdict(self.texts)}

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of name and value, to print."""
        dates = sorted(self.dates)
        numbers = np.array([self.dates[day] for day in dates], np.int64)
        timeline = Timeline(np.array(dates, "datetime64[D]"), numbers)
        outliers = timeline.notice(dates)
        far = [self.first_ids[day] for day in compress(dates, timeline.outlying())] if outliers else []
        examples = [(kind, " | ".join(self.examples[kind])) for kind in (*KINDS, "capitals") if kind in self.examples]
        return [
            ("articles", f"{self.n_articles:,} valid, {self.n_problems:,} bad"),
            ("dates", f"{dates[0]} to {dates[-1]}" if dates else "none"),
            *([("outlying", f"{outliers} Doc_ids: {', '.join(far[:_EXAMPLES])}.")] if outliers else []),
            *examples,
            *(("texts", notice) for notice in self.texts.notices()),
        ]


def check_news(files: Sequence[str], on_progress: Progress | None) -> NewsReport:
    """Read articles, and describe the text that `corefsample score` would leave out of the parse or rewrite.

    A file that cannot be read is listed as a problem of the report, unless it is the only file.
    """
    paths, report = corpus_paths(list(files)), NewsReport(title=", ".join(files))
    problems: list[CorefsampleError] = []
    while paths:
        report = NewsReport(title=report.title)
        try:
            _read_news(report, paths, on_progress)
            break
        except InputError as error:
            _name_option_of_score(error)
            remaining = [path for path in paths if error.place != path and not str(error.place).startswith(f"{path}:")]
            if len(remaining) == len(paths) or (not remaining and not problems):
                raise
            paths, problems = remaining, [*problems, error]
    for problem in report.problems:
        _name_option_of_score(problem)
    report.problems[:0] = problems
    report.n_problems += len(problems)
    return report


def _name_option_of_score(error: CorefsampleError) -> None:
    """Replace a hint that names a parameter, because `corefsample doctor` has no options for columns and dates."""
    if isinstance(error.hint, ParameterHint):
        option = error.hint.parameter.replace("_", "-")
        error.hint = f"`corefsample score` has --{option}, which {error.hint.effect}"


def _read_news(report: NewsReport, files: Sequence[str], on_progress: Progress | None) -> None:
    stream = ArticleStream(list(files), on_rejected=report.reject)
    knows = load_scorer(ENGLISH).knows
    for article in stream:
        text = prepared(article, knows, headline=True, paragraphs="blank-line")
        report.n_articles += 1
        report.texts += text.tally
        report.dates[str(article.date)] += 1
        report.first_ids.setdefault(str(article.date), article.doc_id)
        pairs = zip(text.parsed, text.written, strict=True)
        changed = [("capitals", parsed) for parsed, written in pairs if parsed != written]
        for kind, piece in [*((note.kind, note.text) for note in text.notes), *changed]:
            listed = report.examples.setdefault(kind, [])
            if len(listed) < _EXAMPLES and piece not in listed:
                listed.append(piece)
        if on_progress is not None and report.n_articles % _EVERY == 0:
            on_progress(stream.bytes_read, stream.total_bytes, report.n_articles)
