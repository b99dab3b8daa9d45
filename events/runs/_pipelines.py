"""spaCy pipelines: how they are loaded, and parse articles and words; and the recalibration of a model's scores."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.documents._tokens import STRING_COLUMNS, Tokens
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._paths import PathLike
from corefsample.files._reading import one_line, sha256
from corefsample.languages._language import require_same
from corefsample.parses._sampling import ParseSampler
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._uncertain import chosen_recalibration
from corefsample.scorers.protocol import MentionSource
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import pipeline_scheme, schemes_of

if TYPE_CHECKING:
    from spacy.language import Language

# Components whose output the antecedent model does not read.
_UNUSED = ("ner", "textcat", "textcat_multilabel", "entity_linker", "spancat", "corefsample")
_PROBE = "The president of France met her troops. They said that she was right."
_PACKAGE = re.compile(r"[a-z]{2,3}_[a-z]+_[a-z]+_(sm|md|lg|trf)")  # names of spaCy's own packages


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
        parsed = tokens_of_doc(pipeline(doc))
    if len(parsed) != len(tokens):
        raise ParameterError(f"words must not be whitespace, got {len(tokens) - len(parsed)} words of whitespace")
    return dataclasses.replace(parsed, text=tokens.text, extra={**tokens.extra, **parsed.extra})


def joined(paragraphs: Sequence[Tokens]) -> Tokens:
    """Join the tokens of paragraphs; sentences are numbered throughout, and a space follows each paragraph."""
    columns: dict[str, list[str]] = {name: [] for name in STRING_COLUMNS}
    extra: dict[str, list[Any]] = {"xpos": [], "feats": [], "space_after": []}
    heads, sents = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    n_tokens = n_sentences = 0
    for paragraph in paragraphs:
        if not len(paragraph):
            continue
        for name, column in columns.items():
            column += getattr(paragraph, name)
        for name, values in extra.items():
            values += paragraph.extra[name]
        extra["space_after"][-1] = True
        heads.append(np.where(paragraph.head < 0, -1, paragraph.head + n_tokens))
        sents.append(paragraph.sent + n_sentences)
        n_tokens += len(paragraph)
        n_sentences += int(paragraph.sent[-1]) + 1
    return Tokens(**columns, head=np.concatenate(heads), sent=np.concatenate(sents), extra=extra)


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
    tokens = {doc: tokens_of_doc(doc) for docs in distinct for doc in docs}
    return [(count, joined([tokens[doc] for doc in docs])) for docs, count in distinct.items()]


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
