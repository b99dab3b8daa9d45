"""Scoring of the documents of one part, in any process."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import corefsample
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._faults import Rejected
from corefsample.documents._scored import FIELDS, ScoredDocument
from corefsample.documents._tokens import span_head
from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.languages._language import code_of, require_same
from corefsample.parses._sampling import parse_temperature
from corefsample.scorers import score_documents
from corefsample.scorers._loading import load_scorers, scorer_record
from corefsample.scorers._scoring import ScoringTally, known_words, require_language, score_parses, scored_metadata
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource, other_scorer
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import SCHEME_FIELD, scheme_metadata
from events.news._fields import Article
from events.news._preparation import LEFT_OUT, prepared
from events.news._quality import TextTally, repair_version, repaired
from events.runs._document_inputs import ReadDocument
from events.runs.scoring._pipelines import (
    joined,
    load_pipeline,
    load_recalibration,
    parse_sampler,
    parsed_words,
    parsing,
    pipeline_record,
    sampled_parses,
    scheme_of_pipeline,
)
from events.runs.scoring._score_options import PREPARING, ScoringOptions

_NOT_IN_KEY = ("clusters", "on_error", "max_quarantined")  # options on which no score depends


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """The documents of one part of a run, which are scored together.

    Attributes
    ----------
    number
        Number of the part, from 1.
    items
        Valid and invalid documents, in the order of the inputs.
    key
        Content key of the part.
    n_bytes
        Number of bytes of the inputs that were read for the part.
    """

    number: int
    items: Sequence[ReadDocument | Rejected]
    key: str = ""
    n_bytes: float = 0.0

    def __str__(self) -> str:
        return f"part {self.number}, {len(self.items)} documents from {place_of(self.items[0])},"


@dataclass(slots=True)
class Scored:
    """Result of scoring a part: its scored and its rejected documents, each in order, and counts of the scored ones."""

    documents: list[ScoredDocument] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    tally: ScoringTally = field(default_factory=ScoringTally)
    texts: TextTally = field(default_factory=TextTally)


class Scorer:
    """Scores documents of every kind; the scores of a document depend only on it and on the options.

    Raises
    ------
    InputError, ParameterError
        If the model, the pipeline or the recalibration is missing or cannot be used.
    """

    def __init__(self, options: ScoringOptions) -> None:
        self.options = options
        self.models = load_scorers(options.model)
        self.pipeline: Any = None if options.pipeline is None else load_pipeline(options.pipeline, options.scheme)
        self.scheme: str | None = options.scheme
        if self.pipeline is not None and self.scheme is None:
            self.scheme = scheme_of_pipeline(self.pipeline)
        self.sampler: Any = None
        if options.parses is not None and self.pipeline is not None:
            self.sampler = parse_sampler(self.pipeline, options.parse_temperature)
        language = self.models["parse"].language.code
        if self.pipeline is not None:
            pipeline_language = code_of(self.pipeline.lang)
            hint = other_scorer(pipeline_language)
            require_same("model", language, "the pipeline", pipeline_language, parameter="model", hint=hint)
        names = options.recalibration, options.model
        self.recalibrations = {source: load_recalibration(*names, source, language) for source in MENTION_SOURCES}

    def recalibration_of(self, mentions: MentionSource) -> dict[str, Any] | None:
        """Record of the recalibration of scores of mentions from one source; None without a recalibration."""
        change = self.recalibrations[mentions]
        return None if change is None else {"fingerprint": change.fingerprint(), **change.to_json()}

    def settings(self) -> dict[str, Any]:
        """Everything on which scores depend, except the documents, as JSON values by name."""
        options = self.options
        sampling = {}
        if options.parses is not None:
            temperature = options.parse_temperature or parse_temperature(self.pipeline)
            sampling = {"parses": {"n_samples": options.parses, "temperature": temperature}}
        settings = {
            "options": {name: value for name, value in dataclasses.asdict(options).items() if name not in _NOT_IN_KEY},
            "corefsample": corefsample.__version__,
            "model": scorer_record(options.model),
            "pipeline": None if options.pipeline is None else pipeline_record(self.pipeline, options.pipeline),
            **sampling,
            "recalibration": {source: self.recalibration_of(source) for source in MENTION_SOURCES},
            "text_repair": repair_version() if options.fix_text else None,
        }
        return json.loads(json.dumps(settings))  # type: ignore[no-any-return]

    def identity(self) -> dict[str, Any]:
        """Values that must be the same in all processes: `settings` without options and paths of files."""
        settings = self.settings()
        del settings["options"]
        pipeline = {name: value for name, value in (settings["pipeline"] or {}).items() if name != "name"}
        return {**settings, "model": settings["model"]["sha256"], "pipeline": pipeline}

    def score(self, items: Sequence[ReadDocument | Rejected]) -> Scored:
        """Score documents one by one, and reject those that cannot be scored.

        Any other error gets a note that names the document.
        """
        result = Scored()
        for item in items:
            if isinstance(item, Rejected):
                result.rejected.append(item)
                continue
            tally, texts = ScoringTally(), TextTally()
            source, mentions = item.document, self.options.mentions or "annotated"
            try:
                require_language(self.models["parse"], source.metadata, item.source)
                if isinstance(source, Article):
                    mentions = "parse"
                    documents, texts = self._scored_article(source, tally)
                else:
                    scoring: dict[str, Any] = {**self.options.subset("min_prob"), "scheme": self.scheme, "tally": tally}
                    parsed = [self._with_parse(source)]
                    documents = [*score_documents(self.models[mentions], parsed, mentions=mentions, **scoring)]
                if (change := self.recalibrations[mentions]) is not None:
                    documents = [*map(change.apply_document, documents)]
            except ParameterError as error:
                result.rejected.append(item.rejected(error))
            except Exception as error:
                error.add_note(f"while scoring {place_of(item)}")
                raise
            else:
                result.documents += documents
                result.tally += tally
                result.texts += texts
        return result

    def _with_parse(self, document: AnnotatedDocument | ScoredDocument) -> AnnotatedDocument | ScoredDocument:
        """The document, parsed if a pipeline is set; the heads of its mentions are then taken from this parse."""
        tokens, location = document.tokens, f"doc_id {document.doc_id!r}"
        if tokens is None:
            return document  # scoring will raise an error
        if self.pipeline is None:
            if len(tokens) and tokens.is_unparsed:
                hint = ParameterHint("pipeline", "names a spaCy pipeline that parses it")
                raise ParameterError("a document must have a parse, got no labels", place=location, hint=hint)
            return document
        if not tokens.is_unparsed:
            hint = ParameterHint("pipeline", "is for documents without a parse")
            raise ParameterError("a document to be parsed must have no parse, got one", place=location, hint=hint)
        parsed = parsed_words(tokens, self.pipeline)
        heads, mentions = parsed.head.tolist(), document.mentions.copy()
        mentions[:, 2] = [span_head(heads, start, end) for start, end in mentions[:, :2].tolist()]
        return dataclasses.replace(document, tokens=parsed, mentions=mentions)

    def _scored_article(self, article: Article, tally: ScoringTally) -> tuple[list[ScoredDocument], TextTally]:
        """Score the mentions of every parse of an article; the tally counts those of the pipeline's usual parse."""
        options, model = self.options, self.models["parse"]
        source = repaired(article) if options.fix_text else article
        text = prepared(source, model.knows, is_repaired=source is not article, **options.subset(*PREPARING))
        article, texts = source, text.parsed
        with parsing("text"):
            if options.parses is None:
                parsed = [(1, joined([tokens_of_doc(doc) for doc in self.pipeline.pipe(texts)]))]
            else:
                parsed = sampled_parses(texts, article.doc_id, self.sampler, options.parses)
        parsed = [(count, text.as_written(each)) for count, each in parsed]
        tokens = [each for _, each in parsed]
        scheme = next(filter(None, (scheme_metadata(self.scheme, each.dep) for each in tokens)), {})
        metadata = scored_metadata(model, {**article_metadata(article), **text.metadata(), **scheme})
        try:
            scored = score_parses(model, tokens, min_prob=options.min_prob, scheme=self.scheme)
        except ParameterError as error:
            raise error.at(f"doc_id {article.doc_id!r}") from None
        tally.add(scored[0][1], None, known_words(model, tokens[0]))
        documents, first = list[ScoredDocument](), 0
        for number, ((count, each), (mentions, pruned)) in enumerate(zip(parsed, scored, strict=True)):
            fields = article.doc_id, mentions, pruned.distribution, article.date, each, None, metadata
            samples = (first, first + count) if len(parsed) > 1 else None
            documents.append(ScoredDocument(*fields, number, samples))
            first += count
        return documents, text.tally


_RESERVED = (*FIELDS, "title", LEFT_OUT, SCHEME_FIELD)


def article_metadata(article: Article) -> Mapping[str, Any]:
    """Return the metadata of an article's document: those of the article, and its headline as `title`.

    Metadata of the article that are named like a field of the file format, or `title`, get the prefix "article_".

    Raises
    ------
    ParameterError
        If the article has other metadata with the name that the prefix makes.
    """
    metadata: dict[str, Any] = {"title": article.title} if article.title else {}
    for name, value in article.metadata.items():
        new_name = f"article_{name}" if name in _RESERVED else name
        if new_name in metadata or (new_name != name and new_name in article.metadata):
            raise ParameterError(f"metadata must not contain both {name!r} and {new_name!r}, got both")
        metadata[new_name] = value
    return metadata


# --- in any process ----------------------------------------------------------------------------------------

_lock = threading.Lock()  # a worker may have several threads, but a spaCy pipeline can serve only one at a time

_scorer_of: dict[ScoringOptions, tuple[Scorer, dict[str, Any]]] = {}  # the last scorer of this worker


def with_absolute_paths(options: ScoringOptions) -> ScoringOptions:
    """The same options with absolute paths, for processes that work in another folder."""
    named = {name: getattr(options, name) for name in ("model", "pipeline", "recalibration")}
    files = {name: os.path.abspath(path) for name, path in named.items() if path is not None and os.path.exists(path)}
    return dataclasses.replace(options, **files)


def score_task(options: ScoringOptions, identity: dict[str, Any], task: ScoringTask) -> Scored:
    """Score the documents of a part in a worker; raise InputError if its scorer has another identity than the run's."""
    with _lock:
        if options not in _scorer_of:
            _scorer_of.clear()
            scorer = Scorer(options)
            _scorer_of[options] = scorer, scorer.identity()
        scorer, identity_here = _scorer_of[options]
        for name, expected in identity.items():
            if identity_here[name] != expected:
                rule = f"a worker must have the same {name} as the process that began the run"
                raise InputError(f"{rule}, got {identity_here[name]!r}")
        return scorer.score(task.items)


def place_of(item: ReadDocument | Rejected) -> str:
    """Text that names a document by its file, its position in the file and its doc_id."""
    doc_id = item.document.doc_id if isinstance(item, ReadDocument) else item.doc_id
    return f"{item.source}: {item.place}: doc_id {doc_id!r}"
