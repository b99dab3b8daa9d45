"""Scoring of documents of every kind, one by one, in any process; and the spaCy pipelines that parse them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corefsample
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import FIELDS, ScoredDocument
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, sha256
from corefsample.languages._language import code_of, require_same
from corefsample.parses._sampling import ParseSampler, parse_temperature
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._uncertain import chosen_recalibration
from corefsample.scorers import score_documents
from corefsample.scorers._loading import load_scorers, scorer_record
from corefsample.scorers._scoring import ScoringTally, known_words, require_language, score_parses, scored_metadata
from corefsample.scorers.protocol import MENTION_SOURCES, MentionSource, other_scorer
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import SCHEME_FIELD, pipeline_scheme, scheme_metadata, schemes_of
from events.corpora._document_inputs import ReadDocument
from events.news._fields import Article
from events.news._preparation import LEFT_OUT, prepared
from events.news._quality import TextTally, repair_version, repaired
from events.runs._run_options import ScoringOptions

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Components whose output the antecedent model does not read.
_UNUSED = ("ner", "textcat", "textcat_multilabel", "entity_linker", "spancat", "corefsample")
_PROBE = "The president of France met her troops. They said that she was right."
_PACKAGE = re.compile(r"[a-z]{2,3}_[a-z]+_[a-z]+_(sm|md|lg|trf)")  # names of spaCy's own packages
_PREPARING = ("headline", "paragraphs", "as_written")  # keywords of `prepared`
_NOT_IN_KEY = ("on_error", "max_quarantined")  # options on which no score depends


def load_pipeline(name: str, scheme: str | None = None) -> Language:
    """Load a pipeline, and check that its output suffices for documents.

    Components for named entities and for categories of text are not loaded, because their output is not used.

    Parameters
    ----------
    name
        Name of an installed pipeline package, or path of a pipeline's folder.
    scheme
        Dependency scheme of the parser's labels: ud2, ud1 or clearnlp; by default, it is determined from the labels.

    Raises
    ------
    ParameterError
        If no such pipeline is installed, if its output lacks a parse, sentences, parts of speech or lemmas, or if its
        labels fit no dependency scheme.
    """
    import spacy

    rule = f"must be an installed spaCy pipeline or the folder of one, got {name!r}"
    if not spacy.util.is_package(name) and not Path(name).exists():
        if len(Path(name).parts) > 1:
            raise ParameterError(f"{rule}: there is no such folder", parameter="pipeline")
        package = name if _PACKAGE.fullmatch(name) else "en_core_web_sm"
        hint = f"`python -m spacy download {package}` installs {'it' if package == name else 'one'}"
        raise ParameterError(rule, parameter="pipeline", hint=hint)
    try:
        pipeline = spacy.load(name, exclude=list(_UNUSED))
    except (OSError, ValueError) as error:
        raise ParameterError(f"{rule}: {one_line(error)}", parameter="pipeline") from None
    try:
        schemes_of(tokens_of_doc(pipeline(_PROBE)).dep, scheme)
    except (ParameterError, ValueError) as error:
        raise ParameterError(f"must parse text, got {name!r}: {one_line(error)}", parameter="pipeline") from None
    return pipeline


def scheme_of_pipeline(pipeline: Language) -> str:
    """Name of a pipeline's dependency scheme, recognised from its parser's labels, or from its parse of a sentence."""
    return pipeline_scheme(pipeline) or schemes_of(tokens_of_doc(pipeline(_PROBE)).dep)[0]


def pipeline_record(pipeline: Language, name: str) -> dict[str, Any]:
    """Describe a pipeline: its name and version, spaCy's version, and a hash of all its files."""
    meta, folder, total = pipeline.meta, pipeline.path, hashlib.sha256()
    files = [] if folder is None else [path for path in folder.rglob("*") if path.is_file()]
    for path in sorted(path for path in files if "__pycache__" not in path.parts):
        total.update(f"{path.relative_to(folder).as_posix()}\0{sha256(path)}\n".encode())
    return {
        "name": name,
        "pipeline": f"{meta['lang']}_{meta['name']}",
        "version": meta["version"],
        "spacy": metadata.version("spacy"),
        "components": list(pipeline.pipe_names),
        "sha256": None if folder is None else total.hexdigest(),
    }


def parse_sampler(pipeline: Language, temperature: float | None) -> ParseSampler:
    """Make a sampler of a pipeline's parses, or raise ParameterError if they cannot be sampled."""
    try:
        sampler = ParseSampler(pipeline, temperature=temperature)
        sampler.samples(pipeline.make_doc("They left."), 1)
        return sampler
    except ParameterError as error:
        parameter = "parse_temperature" if error.parameter == "temperature" else "pipeline"
        raise ParameterError(error.message, parameter=parameter, hint=error.hint) from None


@contextmanager
def parsing(noun: str) -> Iterator[None]:
    """Convert errors of a pipeline that parses text or words, as `noun` says, to ParameterError."""
    try:
        yield
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"{noun} must be parsable by the pipeline, got: {one_line(error)}") from None


def parsed_words(tokens: Tokens, pipeline: Language) -> Tokens:
    """Parse the words of a document that has no parse, in its sentences.

    Parameters
    ----------
    tokens
        Words and sentences of the document, with other columns, which are kept if the pipeline does not set them.
    pipeline
        spaCy pipeline that parses the words: see `load_pipeline`.

    Raises
    ------
    ParameterError
        If the pipeline cannot parse the words.
    """
    from spacy.tokens import Doc

    spaces = [bool(space) for space in tokens.extra.get("space_after", [True] * len(tokens))]
    starts: list[Any] = [t == 0 or bool(tokens.sent[t] != tokens.sent[t - 1]) for t in range(len(tokens))]
    with parsing("words"):
        doc = Doc(pipeline.vocab, words=list(tokens.text), spaces=spaces, sent_starts=starts)
        parsed = tokens_of_doc(pipeline(doc), blanks=True)
    if len(parsed) != len(tokens):
        raise ParameterError(f"words must not be whitespace, got {len(tokens) - len(parsed)} words of whitespace")
    return dataclasses.replace(parsed, text=tokens.text, extra={**tokens.extra, **parsed.extra})


def tokens_of_paragraphs(paragraphs: Sequence[Doc]) -> Tokens:
    """Tokens of the paragraphs of an article; sentences are numbered throughout, and a space follows each paragraph."""
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    article = Doc.from_docs(list(paragraphs), exclude=["spans", "tensor", "user_data"])  # type: ignore[call-arg]
    tokens = tokens_of_doc(article or Doc(Vocab()))
    spaces = [*tokens.extra["space_after"][:-1], True][: len(tokens)]
    return tokens.with_valid(extra={**tokens.extra, "space_after": spaces})


def sampled_parses(texts: Sequence[str], doc_id: str, sampler: ParseSampler, n_parses: int) -> list[tuple[int, Tokens]]:
    """Parse an article, and sample parses of it.

    Paragraphs are parsed and sampled independently: sample s of the article consists of sample s of each paragraph. All
    samples have the sentences of the pipeline's usual parse.

    Parameters
    ----------
    texts, doc_id
        Paragraphs of the article, and its identifier.
    sampler
        Sampler of the pipeline's parses: see `parse_sampler`.
    n_parses
        Number of samples, at least 1.

    Returns
    -------
    list of (int, Tokens)
        Distinct parses with their numbers of samples: first the pipeline's usual parse, whose number may be 0, then the
        sampled parses in the order in which they were first drawn.
    """
    names = [f"{p} {doc_id}" for p in range(len(texts))]
    drawn = sampler.parsed_texts(texts, n_parses, doc_ids=names)
    distinct = Counter({tuple(usual for usual, _ in drawn): 0})  # equal parses of a paragraph are the same Doc
    distinct.update(zip(*(samples for _, samples in drawn), strict=True) if drawn else [()] * n_parses)
    return [(count, tokens_of_paragraphs(docs)) for docs, count in distinct.items()]


def load_recalibration(
    path: PathLike | None,
    model: PathLike | None = None,
    mentions: MentionSource = "parse",
    language: str | None = None,
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
            "text_repair": repair_version() if options.fix_text else None,
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
        source = repaired(article) if options.fix_text else article
        text = prepared(source, model.knows, is_repaired=source is not article, **options.subset(*_PREPARING))
        article, texts = source, text.parsed
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


@lru_cache(maxsize=1)
def scorer_of(options: ScoringOptions) -> Scorer:
    """Scorer with these options, loaded once in each process."""
    return Scorer(options)


def with_absolute_paths(options: ScoringOptions) -> ScoringOptions:
    """The same options with absolute paths, for processes that work in another folder."""
    named = options.subset("model", "pipeline", "recalibration")
    files = {name: os.path.abspath(path) for name, path in named.items() if path is not None and os.path.exists(path)}
    return dataclasses.replace(options, **files)
