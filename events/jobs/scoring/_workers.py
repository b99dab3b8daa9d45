"""The work of scoring a few documents, in any process."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import corefsample
from corefsample.coreference import AntecedentDistribution
from corefsample.documents import AnnotatedDocument, Parse, Rejected, ScoredDocument, Tokens, span_head
from corefsample.errors import ParameterError, ParameterHint
from corefsample.mention_ranking import (
    AntecedentModel,
    ScoringTally,
    english_model,
    load_model,
    score_documents,
    score_parses,
)
from corefsample.spacy_bridge import parse_temperature
from corefsample.syntax import is_unparsed
from events.jobs import ReadDocument
from events.jobs.scoring._options import ScoreOptions
from events.jobs.scoring._parsing import article_metadata, load_pipeline, parsed_article, parsed_words, pipeline_record
from events.jobs.scoring._recalibration import load_recalibration
from events.jobs.scoring._sampled_parses import parse_sampler, sampled_articles
from events.news import Article, TextTally, repair_version, repaired


@dataclass(frozen=True, slots=True)
class Task:
    """Some documents that belong to one part of the run.

    Attributes
    ----------
    part
        Number of the part, from 0.
    items
        Documents read, and bad ones.
    bytes_read
        Bytes of the inputs read so far.
    n_resumed
        Number of documents skipped because an earlier run finished the part, which then has no items; else None.
    """

    part: int
    items: Sequence[ReadDocument | Rejected]
    bytes_read: int = 0
    n_resumed: int | None = None


@dataclass(slots=True)
class Scored:
    """Scored documents and rejected ones, each in order, and the counts of the scored ones and of their texts."""

    documents: list[ScoredDocument] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    tally: ScoringTally = field(default_factory=ScoringTally)
    texts: TextTally = field(default_factory=TextTally)

    def add(self, other: Scored) -> None:
        """Append the documents of another result."""
        self.documents += other.documents
        self.rejected += other.rejected
        add_tally(self.tally, other.tally)
        self.texts.add(other.texts)


class Scorer:
    """Scores documents of every kind; each result depends on the options and its document alone.

    Raises
    ------
    InputError, ParameterError
        If the model, the pipeline or the recalibration cannot be used.
    """

    def __init__(self, options: ScoreOptions) -> None:
        self.options = options
        self.model: AntecedentModel = english_model() if options.model is None else load_model(options.model)
        self.pipeline: Any = None if options.pipeline is None else load_pipeline(options.pipeline, options.scheme)
        self.sampler: Any = None
        if options.parses is not None and self.pipeline is not None:
            self.sampler = parse_sampler(self.pipeline, options.parse_temperature)
        self.recalibration = load_recalibration(options.recalibration, options.model)

    def described(self) -> dict[str, Any]:
        """Everything but the options on which scores depend: version, model, pipeline, and recalibration."""
        options = self.options
        if options.model is None:
            name = "the English model of the package"
            content = resources.files("corefsample.mention_ranking").joinpath("data", "english.npz").read_bytes()
        else:
            name, content = options.model, Path(options.model).read_bytes()
        return {
            "corefsample": corefsample.__version__,
            "model": {"path": name, "sha256": hashlib.sha256(content).hexdigest()},
            "pipeline": None if options.pipeline is None else pipeline_record(self.pipeline, options.pipeline),
            **self._sampling(),
            "recalibration": None if self.recalibration is None else self.recalibration.to_json(),
            "text_repair": repair_version() if options.fix_text else None,
        }

    def _sampling(self) -> dict[str, Any]:
        """How parses are sampled; nothing where they are not."""
        if self.options.parses is None:
            return {}
        temperature = self.options.parse_temperature or parse_temperature(self.pipeline)
        return {"parses": {"n_samples": self.options.parses, "temperature": temperature}}

    def score(self, items: Sequence[ReadDocument | Rejected]) -> Scored:
        """Score documents one by one; those that cannot be scored are rejected.

        Any other error of a document has a note that names it.
        """
        result = Scored()
        for item in items:
            if isinstance(item, Rejected):
                result.rejected.append(item)
                continue
            tally = ScoringTally()
            try:
                source = item.document
                if isinstance(source, Article) and self.options.fix_text:
                    source = repaired(source)
                document = self._scored(source, tally)
            except ParameterError as error:
                result.rejected.append(item.rejected(error))
            except Exception as error:
                error.add_note(f"while scoring {place_of(item)}")
                raise
            else:
                result.documents.append(document)
                add_tally(result.tally, tally)
                result.texts.add_text(_text_of(source), is_repaired=source is not item.document)
        return result

    def _scored(self, document: AnnotatedDocument | ScoredDocument | Article, tally: ScoringTally) -> ScoredDocument:
        if isinstance(document, Article) and self.options.parses is not None:
            return self._scored_parses(document, self.options.parses, tally)
        is_text = isinstance(document, Article)
        (scored,) = score_documents(
            self.model,
            [self._parsed(document) if isinstance(document, Article) else self._with_parse(document)],
            mentions="parse" if is_text or self.options.mentions == "parse" else "annotated",
            min_prob=self.options.min_prob,
            scheme=self.options.scheme,
            tally=tally,
        )
        return scored if self.recalibration is None else self.recalibration.apply_document(scored)

    def _with_parse(self, document: AnnotatedDocument | ScoredDocument) -> AnnotatedDocument | ScoredDocument:
        """The document, whose words are parsed if there is a pipeline; the heads of mentions are then of that parse."""
        tokens, place = document.tokens, f"doc_id {document.doc_id!r}"
        if tokens is None:
            return document  # which is an error of scoring
        if self.pipeline is None:
            if len(tokens) and is_unparsed(tokens):
                hint = ParameterHint("pipeline", "names a spaCy pipeline that parses its words")
                raise ParameterError("a document must have a parse, got no dependency labels", place=place, hint=hint)
            return document
        if not is_unparsed(tokens):
            hint = ParameterHint("pipeline", "is for documents without one")
            raise ParameterError("a document to be parsed must have no parse, got one", place=place, hint=hint)
        parsed = parsed_words(tokens, self.pipeline)
        heads, mentions = parsed.head.tolist(), document.mentions.copy()
        mentions[:, 2] = [span_head(heads, start, end) for start, end in mentions[:, :2].tolist()]
        return dataclasses.replace(document, tokens=parsed, mentions=mentions)

    def _scored_parses(self, article: Article, n_parses: int, tally: ScoringTally) -> ScoredDocument:
        """Score every different parse of an article; the tally counts the first, the pipeline's own."""
        options = self.options
        drawn = sampled_articles(
            article,
            self.sampler,
            n_parses,
            headline=options.headline,
            paragraphs=options.paragraphs,
        )
        parses, metadata = [], article_metadata(article)
        try:
            scored = score_parses(
                self.model, [tokens for _, tokens in drawn], min_prob=options.min_prob, scheme=options.scheme
            )
        except ParameterError as error:
            raise error.at(f"doc_id {article.doc_id!r}") from None
        tally.add(scored[0][1], None)
        for (count, tokens), (mentions, pruned) in zip(drawn, scored, strict=True):
            antecedents = pruned.distribution
            if self.recalibration is not None:
                document = self.recalibration.apply_document(
                    dataclasses.replace(self._unscored(article, tokens), mentions=mentions, antecedents=antecedents)
                )
                antecedents, metadata = document.antecedents, document.metadata  # the latter is that of all parses
            parses.append(Parse(count, tokens, mentions, antecedents))
        return ScoredDocument.of_parses(article.doc_id, parses, date=article.date, metadata=metadata)

    def _parsed(self, article: Article) -> ScoredDocument:
        """Parse an article to a document without mentions."""
        options = self.options
        tokens = parsed_article(article, self.pipeline, headline=options.headline, paragraphs=options.paragraphs)
        return self._unscored(article, tokens)

    @staticmethod
    def _unscored(article: Article, tokens: Tokens) -> ScoredDocument:
        return ScoredDocument(
            doc_id=article.doc_id,
            mentions=[],  # type: ignore[arg-type]
            antecedents=AntecedentDistribution.from_lists([], []),
            date=article.date,
            tokens=tokens,
            metadata=article_metadata(article),
        )


def _text_of(document: AnnotatedDocument | ScoredDocument | Article) -> str:
    if isinstance(document, Article):
        return f"{document.title}\n{document.text}"
    return "" if document.tokens is None else " ".join(document.tokens.text)


def place_of(item: ReadDocument | Rejected) -> str:
    """File, place in it, and doc_id of a document."""
    doc_id = item.document.doc_id if isinstance(item, ReadDocument) else item.doc_id
    return f"{item.source}: {item.place}: doc_id {doc_id!r}"


def add_tally(total: ScoringTally, more: ScoringTally) -> None:
    """Add counts to others."""
    for name in ScoringTally.__dataclass_fields__:
        setattr(total, name, getattr(total, name) + getattr(more, name))
