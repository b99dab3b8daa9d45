"""From the text of an article to tokens with a parse, by a spaCy pipeline, paragraph by paragraph."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample.documents import FIELDS, STRING_COLUMNS, Tokens
from corefsample.errors import ParameterError
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax import document_schemes
from events.news import Article

if TYPE_CHECKING:
    from spacy.language import Language

__all__ = [
    "PARAGRAPHS",
    "article_metadata",
    "joined",
    "load_pipeline",
    "paragraphs_of",
    "parsed_article",
    "pipeline_record",
]

PARAGRAPHS = ("blank-line", "line")
# Components that the antecedent model reads nothing of.
_NEEDLESS = ("ner", "textcat", "textcat_multilabel", "entity_linker", "spancat", "corefsample")
_PROBE = "The president of France met her troops. They said that she was right."
_PACKAGE = re.compile(r"[a-z]{2,3}_[a-z]+_[a-z]+_(sm|md|lg|trf)")  # as spaCy names its own
_SPACY_CODE = re.compile(r"^\[[EW]\d+\] ")
_NO_SUCH = ("[E050]", "[E941]")  # no package and no folder of that name
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")
_CLASHING = (*FIELDS, "title")


def load_pipeline(name: str, scheme: str | None = None) -> Language:
    """Load a pipeline, and see that it gives what documents need.

    Components for entities and categories of text are left out: nothing here reads them.

    Parameters
    ----------
    name
        An installed package, or a folder.
    scheme
        ud2, ud1 or clearnlp; None: told from the labels.

    Raises
    ------
    ParameterError
        If there is no such pipeline, or it gives no parse, sentences, parts of speech or lemmas, or labels of no
        scheme.
    """
    import spacy

    try:
        pipeline = spacy.load(name, exclude=list(_NEEDLESS))
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"pipeline must be an installed spaCy pipeline or the folder of one, got {name!r}: {_unloaded(name, error)}"
        ) from None
    try:
        document_schemes(tokens_of_doc(pipeline(_PROBE)).dep, scheme)
    except (ParameterError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ParameterError(f"pipeline must parse text, got {name!r}: {reason}") from None
    return pipeline


def _unloaded(name: str, error: Exception) -> str:
    """Why a pipeline cannot be loaded, and how to get one: shorter than spaCy says it, where the case is plain."""
    reason = " ".join(str(error).split())
    if not reason.startswith(_NO_SUCH):
        return _SPACY_CODE.sub("", reason)
    if len(Path(name).parts) > 1:
        return "there is no such folder"
    package = name if _PACKAGE.fullmatch(name) else "en_core_web_sm"
    return f"not installed (python -m spacy download {package} gets {'it' if package == name else 'one'})"


def pipeline_record(pipeline: Language, name: str) -> dict[str, Any]:
    """What a pipeline is: its name and version, spaCy's version, and a hash of all its files."""
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
    whole = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        with path.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return whole.hexdigest()


def paragraphs_of(text: str, *, mode: str = "blank-line") -> list[str]:
    """Divide a text; whitespace within a paragraph becomes single blanks.

    Parameters
    ----------
    text
        Any text.
    mode
        "blank-line": blank lines part paragraphs, a line break within one is a blank. "line": each line is one.
    """
    lines = "\n".join(text.splitlines())
    parts = lines.split("\n") if mode == "line" else _BLANK_LINE.split(lines)
    return [" ".join(part.split()) for part in parts if part.strip()]


def parsed_article(
    article: Article, pipeline: Language, *, headline: bool = True, paragraphs: str = "blank-line"
) -> Tokens:
    """Parse an article; the result depends on it alone, not on what was parsed before or beside it.

    Parameters
    ----------
    article
        Text and headline.
    pipeline
        As of `load_pipeline`.
    headline
        Whether the headline is the first paragraph.
    paragraphs
        As `mode` of `paragraphs_of`.

    Raises
    ------
    ParameterError
        If the pipeline cannot parse it.
    """
    texts = paragraphs_of(article.text, mode=paragraphs)
    if headline and article.title.strip():
        texts.insert(0, " ".join(article.title.split()))
    try:
        return joined([tokens_of_doc(doc) for doc in pipeline.pipe(texts)])
    except ParameterError:
        raise
    except ValueError as error:
        raise ParameterError(f"text must be what the pipeline can parse, got: {' '.join(str(error).split())}") from None


def joined(parts: Sequence[Tokens]) -> Tokens:
    """Join the tokens of paragraphs; sentences count on, and a space follows each paragraph."""
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


def article_metadata(article: Article) -> Mapping[str, Any]:
    """Metadata of the document of an article: its own, and the headline as `title`.

    What has the name of a field of the file format, or `title`, gets "article_" before it.

    Raises
    ------
    ParameterError
        If the name is then taken as well.
    """
    content: dict[str, Any] = {"title": article.title} if article.title else {}
    for name, value in article.metadata.items():
        kept = f"article_{name}" if name in _CLASHING else name
        if kept in content or (kept != name and kept in article.metadata):
            raise ParameterError(f"metadata must not hold both {name!r} and {kept!r}, got both")
        content[kept] = value
    return content
