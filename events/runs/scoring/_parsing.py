"""Parsing the text of an article with a spaCy pipeline, paragraph by paragraph, once or in samples."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.documents._scored import FIELDS
from corefsample.documents._tokens import STRING_COLUMNS, Tokens
from corefsample.errors import ParameterError
from corefsample.files._digests import sha256
from corefsample.parses._sampling import ParseSampler
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import SCHEME_FIELD, document_schemes, pipeline_scheme
from events.news._fields import Article
from events.news._preparation import LEFT_OUT

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

# Components whose output the antecedent model does not read.
_UNUSED = ("ner", "textcat", "textcat_multilabel", "entity_linker", "spancat", "corefsample")
_PROBE = "The president of France met her troops. They said that she was right."
_PACKAGE = re.compile(r"[a-z]{2,3}_[a-z]+_[a-z]+_(sm|md|lg|trf)")  # names of spaCy's own packages
_RESERVED = (*FIELDS, "title", LEFT_OUT, SCHEME_FIELD)


def load_pipeline(name: str, scheme: str | None = None) -> Language:
    """Load a pipeline, and check that its output suffices for documents.

    Components for entities and categories of text are not loaded, because nothing here reads them.

    Parameters
    ----------
    name
        An installed package, or a folder.
    scheme
        ud2, ud1 or clearnlp; None: detected from the labels.

    Raises
    ------
    ParameterError
        If there is no such pipeline, or it gives no parse, sentences, parts of speech or lemmas, or labels of no
        scheme.
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
        raise ParameterError(f"{rule}: {_one_line(error)}", parameter="pipeline") from None
    try:
        document_schemes(tokens_of_doc(pipeline(_PROBE)).dep, scheme)
    except (ParameterError, ValueError) as error:
        raise ParameterError(f"must parse text, got {name!r}: {_one_line(error)}", parameter="pipeline") from None
    return pipeline


def scheme_of_pipeline(pipeline: Language) -> str:
    """The dependency scheme of a pipeline, by the labels of its parser, or else by its labels of a sentence."""
    return pipeline_scheme(pipeline) or document_schemes(tokens_of_doc(pipeline(_PROBE)).dep)[0]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def pipeline_record(pipeline: Language, name: str) -> dict[str, Any]:
    """Describe a pipeline: its name and version, spaCy's version, and a hash of all its files."""
    meta = pipeline.meta
    return {
        "name": name,
        "pipeline": f"{meta['lang']}_{meta['name']}",
        "version": meta["version"],
        "spacy": metadata.version("spacy"),
        "components": list(pipeline.pipe_names),
        "sha256": _folder_digest(pipeline.path),
    }


def _folder_digest(folder: Path | None) -> str | None:
    """SHA-256 of the names and contents of all files of a folder."""
    if folder is None:
        return None
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        total.update(f"{path.relative_to(folder).as_posix()}\0{sha256(path)}\n".encode())
    return total.hexdigest()


@contextmanager
def parsing(what: str) -> Iterator[None]:
    """Turn errors of a pipeline that parses `what` into ParameterError."""
    try:
        yield
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"{what} must be parsable by the pipeline, got: {_one_line(error)}") from None


def parsed_words(tokens: Tokens, pipeline: Language) -> Tokens:
    """Parse the words of a document that has no parse, in its sentences.

    Parameters
    ----------
    tokens
        Words and sentences. Columns that the pipeline does not give are kept.
    pipeline
        As of `load_pipeline`.

    Raises
    ------
    ParameterError
        If the pipeline cannot parse them.
    """
    with parsing("words"):
        parsed = tokens_of_doc(pipeline(doc_of_words(tokens, pipeline)))
    if len(parsed) != len(tokens):
        raise ParameterError(f"words must not be whitespace, got {len(tokens) - len(parsed)} that are")
    return dataclasses.replace(parsed, text=tokens.text, extra={**tokens.extra, **parsed.extra})


def doc_of_words(tokens: Tokens, pipeline: Language, *, in_sentences: bool = True) -> Doc:
    """A Doc of words that is not parsed, in their sentences or without any."""
    from spacy.tokens import Doc

    n_tokens = len(tokens)
    spaces = [bool(space) for space in tokens.extra.get("space_after", [True] * n_tokens)]
    starts: list[bool | int | None] | None = None
    if in_sentences:
        starts = [t == 0 or bool(tokens.sent[t] != tokens.sent[t - 1]) for t in range(n_tokens)]
    return Doc(pipeline.vocab, words=list(tokens.text), spaces=spaces, sent_starts=starts)


def joined(parts: Sequence[Tokens]) -> Tokens:
    """Join the tokens of paragraphs; sentences are numbered throughout, and a space follows each paragraph."""
    columns: dict[str, list[str]] = {name: [] for name in STRING_COLUMNS}
    extra: dict[str, list[Any]] = {"xpos": [], "feats": [], "space_after": []}
    heads, sents = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    n_tokens = n_sentences = 0
    for part in parts:
        if not len(part):
            continue
        for name, column in columns.items():
            column += getattr(part, name)
        for name, values in extra.items():
            values += part.extra[name]
        extra["space_after"][-1] = True
        heads.append(np.where(part.head < 0, -1, part.head + n_tokens))
        sents.append(part.sent + n_sentences)
        n_tokens += len(part)
        n_sentences += int(part.sent[-1]) + 1
    return Tokens(**columns, head=np.concatenate(heads), sent=np.concatenate(sents), extra=extra)


def parse_sampler(pipeline: Language, temperature: float | None) -> ParseSampler:
    """A sampler of a pipeline's parses; raise if they cannot be sampled."""
    try:
        sampler = ParseSampler(pipeline, temperature=temperature)
        sampler.samples(pipeline.make_doc("They left."), 1)
        return sampler
    except ParameterError as error:
        parameter = "parse_temperature" if error.parameter == "temperature" else "pipeline"
        raise ParameterError(error.message, parameter=parameter, hint=error.hint) from None


def sampled_parses(texts: Sequence[str], doc_id: str, sampler: ParseSampler, n_parses: int) -> list[tuple[int, Tokens]]:
    """Parse an article, and draw parses of it.

    Paragraphs are parsed and sampled apart: sample s of the article has sample s of each. Sentences are those of the
    pipeline's own parse.

    Parameters
    ----------
    texts, doc_id
        Paragraphs and name of the article.
    sampler
        As of `parse_sampler`.
    n_parses
        Number of samples, at least 1.

    Returns
    -------
    list of (int, Tokens)
        The pipeline's own parse first, and the different ones among the samples in the order of the draws, each with
        its number of samples; only that of the first may be 0.
    """
    names = [f"{p} {doc_id}" for p in range(len(texts))]
    drawn = sampler.parsed_texts(texts, n_parses, doc_ids=names)
    chosen = Counter({tuple(own for own, _ in drawn): 0})  # equal parses of a paragraph are the same Doc
    chosen.update(zip(*(samples for _, samples in drawn), strict=True) if drawn else [()] * n_parses)
    tokens = {doc: tokens_of_doc(doc) for docs in chosen for doc in docs}
    return [(count, joined([tokens[doc] for doc in docs])) for docs, count in chosen.items()]


def article_metadata(article: Article) -> Mapping[str, Any]:
    """Return metadata for the document of an article: its own, and the headline as `title`.

    Names of fields of the file format, and `title`, get the prefix "article_".

    Raises
    ------
    ParameterError
        If the name with the prefix is taken, too.
    """
    content: dict[str, Any] = {"title": article.title} if article.title else {}
    for name, value in article.metadata.items():
        new_name = f"article_{name}" if name in _RESERVED else name
        if new_name in content or (new_name != name and new_name in article.metadata):
            raise ParameterError(f"metadata must not contain both {name!r} and {new_name!r}, got both")
        content[new_name] = value
    return content
