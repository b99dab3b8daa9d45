"""spaCy pipelines that parse texts and words, with the errors of pipelines that cannot."""

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

from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.files._reading import one_line, sha256
from corefsample.parses._sampling import ParseSampler
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import pipeline_scheme, schemes_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Components whose output is not read here.
UNUSED = ("ner", "textcat", "textcat_multilabel", "entity_linker", "spancat", "corefsample")
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
        pipeline = spacy.load(name, exclude=list(UNUSED))
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
