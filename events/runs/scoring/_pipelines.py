"""Loading of spaCy pipelines that parse text, and of recalibrations of scores."""

from __future__ import annotations

import hashlib
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, ParameterHint
from corefsample.files._contents import one_line
from corefsample.files._digests import sha256
from corefsample.files._paths import PathLike
from corefsample.languages._language import require_same
from corefsample.parses._sampling import ParseSampler
from corefsample.recalibration import read_recalibration
from corefsample.recalibration._model import Recalibration
from corefsample.recalibration._shipped import chosen_recalibration
from corefsample.scorers.protocol import MentionSource
from corefsample.spacy_bridge.documents import tokens_of_doc
from corefsample.syntax._schemes import SchemeChoice

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

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
        SchemeChoice(scheme).names(tokens_of_doc(pipeline(_PROBE)).dep)
    except (ParameterError, ValueError) as error:
        raise ParameterError(f"must parse text, got {name!r}: {one_line(error)}", parameter="pipeline") from None
    return pipeline


def scheme_of_pipeline(pipeline: Language) -> str:
    """Name of a pipeline's dependency scheme, recognised from its parser's labels, or from its parse of a sentence."""
    return SchemeChoice.of_pipeline(pipeline).name or SchemeChoice().names(tokens_of_doc(pipeline(_PROBE)).dep)[0]


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


def doc_of_words(tokens: Tokens, pipeline: Language, *, in_sentences: bool = True) -> Doc:
    """Make an unparsed Doc of words, by default with their sentences."""
    from spacy.tokens import Doc

    n_tokens = len(tokens)
    spaces = [bool(space) for space in tokens.extra.get("space_after", [True] * n_tokens)]
    starts: list[bool | int | None] | None = None
    if in_sentences:
        starts = [t == 0 or bool(tokens.sent[t] != tokens.sent[t - 1]) for t in range(n_tokens)]
    return Doc(pipeline.vocab, words=list(tokens.text), spaces=spaces, sent_starts=starts)


def parse_sampler(pipeline: Language, temperature: float | None) -> ParseSampler:
    """Make a sampler of a pipeline's parses, or raise ParameterError if they cannot be sampled."""
    try:
        sampler = ParseSampler(pipeline, temperature=temperature)
        sampler.samples(pipeline.make_doc("They left."), 1)
        return sampler
    except ParameterError as error:
        parameter = "parse_temperature" if error.parameter == "temperature" else "pipeline"
        raise ParameterError(error.message, parameter=parameter, hint=error.hint) from None


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
        `corefsample.recalibration._shipped.chosen_recalibration`.
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
