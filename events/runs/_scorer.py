"""Scoring of documents of every kind, one by one, in any process."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import Any

import corefsample
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import FIELDS, ScoredDocument
from corefsample.documents._tokens import span_head
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from corefsample.languages._language import code_of, require_same
from corefsample.parses._sampling import parse_temperature
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._uncertain import chosen_recalibration
from corefsample.scorers import score_documents
from corefsample.scorers._loading import load_scorers, scorer_record
from corefsample.scorers._scoring import ScoringTally, known_words, require_language, score_parses, scored_metadata
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource, other_scorer
from corefsample.spacy_bridge.pipelines import (
    load_pipeline,
    parse_sampler,
    parsed_words,
    parsing,
    pipeline_record,
    sampled_parses,
    scheme_of_pipeline,
    tokens_of_paragraphs,
)
from corefsample.syntax._schemes import SCHEME_FIELD, scheme_metadata
from events.corpora._document_inputs import ReadDocument
from events.news._fields import Article
from events.news._preparation import LEFT_OUT, prepared
from events.news._quality import TextTally
from events.runs._run_options import ScoringOptions

_PREPARING = ("headline", "paragraphs", "as_written")  # keywords of `prepared`
_NOT_IN_KEY = ("on_error", "max_quarantined")  # options on which no score depends


def load_recalibration(
    path: PathLike | None, model: PathLike | None = None, mentions: MentionSource = "parse", language: str | None = None
) -> Recalibration | None:
    """Read the recalibration of a model's scores.

    Parameters
    ----------
    path, model, mentions
        Path or name of the recalibration, path of the model, and kind of the mentions that are scored: see
        `corefsample.recalibration._uncertain.chosen_recalibration`.
    language
        Code of the model's language, which must be that of the recalibration; by default, languages are not compared.

    Raises
    ------
    InputError
        If the file cannot be read, was not written by `corefsample recalibrate`, has another language, or was fitted to
        scores that were recalibrated before.
    """
    name = chosen_recalibration(path, model, mentions)
    if name is None:
        return None
    uncertain = read_recalibration(name)
    try:
        hint = ParameterHint("recalibration", "none leaves the scores as they are")
        fit_language = uncertain.language
        require_same("recalibration", fit_language, "the model", language, parameter="recalibration", hint=hint)
        uncertain.is_in("")
    except ParameterError as error:
        raise error.as_input_error(name) from None
    return uncertain.recalibration


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

    def settings(self, options: ScoringOptions | None = None) -> dict[str, Any]:
        """Everything on which scores depend, except the documents, as JSON values by name.

        `options` are those of this scorer with the paths of files as the user wrote them.
        """
        options = options or self.options
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
        }
        return json.loads(json.dumps(settings))  # type: ignore[no-any-return]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Values that must be the same in all processes: `settings` without options and paths of files."""
        settings = self.settings()
        del settings["options"]
        pipeline = {name: value for name, value in (settings["pipeline"] or {}).items() if name != "name"}
        return {**settings, "model": settings["model"]["sha256"], "pipeline": pipeline}

    def score(self, item: ReadDocument) -> tuple[list[ScoredDocument], ScoringTally, TextTally]:
        """Score a document: its rows, one for each parse, with counts of what was scored and of faults of the text.

        Raises
        ------
        ParameterError
            If the document cannot be scored.
        """
        document, tally, texts = item.document, ScoringTally(), TextTally()
        require_language(self.models["parse"], document.metadata, item.source)
        mentions: MentionSource = self.options.mentions or "annotated"
        if isinstance(document, Article):
            mentions = "parse"
            scored, texts = self._scored_article(document, tally)
        else:
            scoring: dict[str, Any] = {**self.options.subset("min_prob"), "scheme": self.scheme, "tally": tally}
            parsed = [self._with_parse(document)]
            scored = [*score_documents(self.models[mentions], parsed, mentions=mentions, **scoring)]
        if (change := self.recalibrations[mentions]) is not None:
            scored = [*map(change.apply_document, scored)]
        return scored, tally, texts

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
        text = prepared(article, model.knows, **options.subset(*_PREPARING))
        texts = text.parsed
        with parsing("text"):
            if options.parses is None:
                parsed = [(1, tokens_of_paragraphs([*self.pipeline.pipe(texts)]))]
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
        for number, ((count, words), (mentions, pruned)) in enumerate(zip(parsed, scored, strict=True)):
            fields = article.doc_id, mentions, pruned.distribution, article.date, words, None, metadata
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


@lru_cache(maxsize=1)
def scorer_of(options: ScoringOptions) -> Scorer:
    """Scorer with these options, loaded once in each process."""
    return Scorer(options)


def with_absolute_paths(options: ScoringOptions) -> ScoringOptions:
    """The same options with absolute paths, for processes that work in another folder."""
    named = options.subset("model", "pipeline", "recalibration")
    files = {name: os.path.abspath(path) for name, path in named.items() if path is not None and os.path.exists(path)}
    return dataclasses.replace(options, **files)
