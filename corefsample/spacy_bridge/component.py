"""The spaCy component "corefsample": each parsed Doc gets the posterior over its entity clusterings.

``nlp.add_pipe("corefsample")`` scores Docs with the antecedent model; ``doc._.coref`` is then a `DocPosterior`, and
``doc.spans`` has the clustering of likeliest antecedents. docs/spacy.md says how to use it.

spaCy imports this module whenever it makes a pipeline, so nothing heavy loads before a component is added. Importing it
yourself registers ``doc._.coref``, for Docs that were scored elsewhere; `set_posterior` attaches the scores of a file,
or of another system, to a Doc.
"""

from __future__ import annotations

import inspect
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

import corefsample as cs
from corefsample._log import logger
from corefsample.errors import ParameterError
from corefsample.spacy_bridge._attaching import doc_id_of, set_posterior, write_groups
from corefsample.spacy_bridge._mention_results import JoinProbability, SpanAntecedents
from corefsample.spacy_bridge._posterior import DocPosterior, posterior_of
from corefsample.spacy_bridge._scorer import scores_of_examples
from corefsample.spacy_bridge._settings import FROM_PARSE, Settings, packed, read_model, unpack, write_model
from corefsample.spacy_bridge._state import KEY, store

if TYPE_CHECKING:
    import numpy.typing as npt
    from spacy.training import Example

    from corefsample.posterior._posterior import DrawnRecalibration
    from corefsample.recalibration._uncertain import UncertainRecalibration


__all__ = [
    "EXTENSION",
    "CorefComponent",
    "DocPosterior",
    "JoinProbability",
    "SpanAntecedents",
    "corefsample_component",
    "is_scored",
    "posterior_of",
    "set_posterior",
]

EXTENSION = "coref"
_NAME = "corefsample"

# An extension of this name by another package is kept; adding the component then raises.
if not Doc.has_extension(EXTENSION):
    Doc.set_extension(EXTENSION, getter=posterior_of)


def is_scored(doc: Doc) -> bool:
    """Whether a Doc has a posterior, ``doc._.coref``."""
    return KEY in doc.user_data


def corefsample_component(nlp: Language, name: str, **settings: Any) -> CorefComponent:
    """Make the component; `nlp.add_pipe("corefsample", config={...})` calls this.

    Parameters
    ----------
    nlp, name
        The pipeline, and the component's name in it.
    model
        Path of a model file, or "es" for the shipped Spanish model. By default (null), the shipped English model.
    mentions
        "parse": mentions found in the parse (`corefsample.syntax`). Any other value is the name of a group of spans,
        which are the mentions.
    min_prob
        Candidate antecedents of a lower probability are left out; in [0, 1).
    scheme
        Dependency scheme: ud2, ud1 or clearnlp. By default (null), it is recognised from the labels of each Doc.
    temperature, new_bias
        Parameters of the `Recalibration` of the scores, which replaces the recalibration of the model.
    recalibration
        Path of a record of `corefsample recalibrate`, instead of temperature and new_bias; or "english" or "spanish"
        for the recalibration of a shipped model, or "none" for no recalibration. By default (null), a shipped model has
        its recalibration unless temperature or new_bias is set; other models have none.
    n_samples, seed
        Number of clusterings to draw, at least 1, and seed of the draws, in [0, 2**64).
    spans_key
        Prefix of the names of the groups of spans that are written:
        f"{spans_key}_map", f"{spans_key}_clusters_1", ..., f"{spans_key}_sample_0", ...
    sample_groups
        Number of sampled clusterings to write as groups.
    require_parser
        True to reject a pipeline without a parser; false if Docs are parsed before they enter the pipeline.

    Raises
    ------
    ParameterError
        If a setting breaks its rule, the pipeline has no parser, or ``doc._.coref`` belongs to another package.
    InputError
        If the file of the model or of the recalibration exists, but cannot be read.
    """
    if Doc.get_extension(EXTENSION)[2] is not posterior_of:
        raise ParameterError(
            f"doc._.{EXTENSION} must be free, got an extension of another package",
            hint=f'Doc.set_extension("{EXTENSION}", getter=posterior_of, force=True) takes it over',
        )
    checked = Settings(**settings)
    if checked.require_parser:
        _require_parser(nlp, nlp.component_names)
    return CorefComponent(name, checked, nlp)


# spaCy checks a config against the signature of the factory.
_PARAMETERS = {"nlp": Language, "name": str} | {field.name: field.type for field in fields(Settings)}
corefsample_component.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=kind)
        for name, kind in _PARAMETERS.items()
    ]
)
Language.factory(
    _NAME,
    default_config={field.name: field.default for field in fields(Settings)},
    requires=["token.dep", "token.head", "token.lemma", "doc.sents"],
    assigns=[f"doc._.{EXTENSION}", "doc.spans"],
    func=corefsample_component,
)


def _require_parser(nlp: Language, before: Iterable[str]) -> None:
    names = list(before)
    if not any("token.dep" in nlp.get_pipe_meta(each).assigns for each in names):
        raise ParameterError(
            f"pipeline must have a parser before {_NAME}, got {', '.join(names) or 'nothing'}",
            hint="require_parser = false accepts Docs that are parsed already",
        )


class CorefComponent(Pipe):
    """Scores parsed Docs; made by `corefsample_component`.

    Parameters
    ----------
    name
        Its name in the pipeline.
    settings
        Its settings.
    nlp
        Its pipeline, whose language and scheme it has.

    Raises
    ------
    InputError
        If the file of the model or of the recalibration exists, but cannot be read. A missing file is an error only
        when it is needed: a pipeline loaded from disk brings both.
    """

    def __init__(self, name: str, settings: Settings, nlp: Language | None = None) -> None:
        self.name = name
        self._nlp = nlp
        self.settings = settings
        self._model: cs.scorers.AntecedentScorer | None = None
        if settings.model is not None and os.path.exists(settings.model):
            _ = self.antecedent_model
        self._recalibration: UncertainRecalibration | None = None
        self._is_saved_without = False  # a pipeline was saved by a model that had no recalibration
        named = settings.named_recalibration
        if named is not None and os.path.exists(named):
            _ = self.recalibration
        self._counts = [0, 0]  # words of the first Docs, and those of them that the model knows
        if settings.model is None:
            self._require_language("en")

    @property
    def antecedent_model(self) -> cs.scorers.AntecedentScorer:
        """The model that scores; loaded at its first use.

        It is not called `model`, because spaCy treats components with that attribute as trainable.

        Raises
        ------
        InputError
            If the model file cannot be read.
        """
        if self._model is None:
            self._model = cs.scorers.load_scorer(self.settings.model, self.settings.mention_source)
            self._require_language(self._model.language.code)
        return self._model

    def _require_language(self, language: str) -> None:
        """Raise ParameterError if the model is of another language than the pipeline."""
        from corefsample.languages._language import code_of, require_same

        if self._nlp is not None:
            pipeline_language = code_of(self._nlp.lang or "")
            hint = f"a model of {pipeline_language} is made by `corefsample train`"
            require_same("model", language, "the pipeline", pipeline_language, parameter="model", hint=hint)

    @property
    def recalibration(self) -> cs.Recalibration | None:
        """The recalibration of its scores, or None; a file is loaded at its first use.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        settings, uncertain = self.settings, self._uncertain
        if uncertain is not None:
            return uncertain.recalibration
        configured = cs.Recalibration(settings.temperature, settings.new_bias)
        return None if configured == cs.Recalibration() else configured

    @property
    def _uncertain(self) -> UncertainRecalibration | None:
        """The recalibration that the config names, with its uncertainty; None without a name."""
        named = self.settings.named_recalibration
        if self._recalibration is None and named is not None and not self._is_saved_without:
            self._recalibration = cs.recalibration.read_recalibration(named)
        return self._recalibration

    def __call__(self, doc: Doc) -> Doc:
        """Score a Doc: set its posterior, ``doc._.coref``, and write the groups of spans.

        Raises
        ------
        ParameterError
            If the Doc has no parse, parts of speech, lemmas or sentences, has labels of no scheme, or lacks the group
            of its mentions; the place is the doc_id if ``doc.user_data`` has one.
        """
        from corefsample.scorers._scoring import score_mentions
        from corefsample.spacy_bridge.documents import tokens_of_doc
        from corefsample.syntax._words import WordTable

        settings, doc_id = self.settings, doc_id_of(doc)
        try:
            tokens = tokens_of_doc(doc)
            self._count(tokens)
            mentions = self._mentions(doc, tokens)
            scorer = self.antecedent_model
            (scored,) = score_mentions(scorer, [tokens], [mentions], settings.min_prob, self._scheme)
            distribution = scored.distribution
        except ParameterError as error:
            if doc.user_data.get("doc_id") is None:
                raise
            raise error.at(f"doc_id {doc_id!r}") from None
        change, options = self.recalibration, dict[str, Any]()
        if change is not None:
            kinds = WordTable.adapted(tokens, scorer.language).mention_kinds(mentions)
            distribution = change.apply(distribution, kinds)
            options = {"recalibration": change.fingerprint(), "kinds": kinds, "recalibrated": self._drawn_recalibration}
        sampling: dict[str, Any] = {"seed": settings.seed, "n_samples": settings.n_samples}
        store(doc, mentions, distribution, doc_id=doc_id, **sampling, **options)
        write_groups(posterior_of(doc), settings.spans_key, settings.sample_groups)
        return doc

    @property
    def _drawn_recalibration(self) -> DrawnRecalibration | None:
        """Draws relative to the fit of a recalibration whose uncertainty is known."""
        from corefsample.posterior._posterior import drawn_recalibration

        uncertain = self._uncertain
        if uncertain is None or uncertain.widest == "none":
            return None
        return drawn_recalibration(uncertain, uncertain.widest, self.settings.seed, "", is_applied=True)

    @cached_property
    def _scheme(self) -> str | None:
        """The scheme of the settings, or else of all labels of the pipeline's parser."""
        from corefsample.syntax._schemes import pipeline_scheme

        return self.settings.scheme or (None if self._nlp is None else pipeline_scheme(self._nlp))

    def _count(self, tokens: cs.Tokens) -> None:
        """Warn once, after some words, if the model knows few of them."""
        from corefsample.scorers._scoring import ENOUGH_WORDS, ScoringTally, few_known_words, known_words

        if self._counts[0] >= ENOUGH_WORDS:
            return
        counts = known_words(self.antecedent_model, tokens)
        self._counts = [self._counts[0] + counts[0], self._counts[1] + counts[1]]
        few_known = few_known_words(ScoringTally(n_words=self._counts[0], n_known_words=self._counts[1]))
        if few_known:
            logger("spacy_bridge").warning("of the first Docs, %s", few_known)

    def _mentions(self, doc: Doc, tokens: cs.Tokens) -> npt.NDArray[np.int32]:
        from corefsample.spacy_bridge.documents import mentions_of_spans
        from corefsample.syntax._mentions import mentions_from_parse

        if self.settings.mentions == FROM_PARSE:
            language = self.antecedent_model.language
            return mentions_from_parse(tokens, scheme=self._scheme, language=language)
        if self.settings.mentions not in doc.spans:
            groups = ", ".join(doc.spans) or "none"
            raise ParameterError(f"doc.spans must have the group {self.settings.mentions!r} of mentions, got {groups}")
        rows = mentions_of_spans(doc, list(doc.spans[self.settings.mentions]))
        return rows[np.lexsort((-rows[:, 1], rows[:, 0]))]

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Score a stream of Docs. A model that cannot be read is an error before the first Doc is parsed."""
        _ = self.antecedent_model, self.recalibration
        yield from super().pipe(stream, batch_size=batch_size)

    def score(  # type: ignore[override]  # spaCy's own scores are None too without annotation
        self, examples: Iterable[Example], **settings: Any
    ) -> dict[str, float | None]:
        """Score clusterings against annotated Docs; `nlp.evaluate` calls this.

        The annotated entities are groups of spans with the names that the component gives to its clusters:
        coref_clusters_1 and so on. docs/spacy.md describes the scores.

        Parameters
        ----------
        examples
            Examples whose `predicted` is a scored Doc.
        settings
            Settings that spaCy's scorer passes to every component; they are ignored.

        Raises
        ------
        ParameterError
            If a predicted Doc is not scored.
        """
        return scores_of_examples(examples, spans_key=self.settings.spans_key)

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None) -> None:
        """Check that the pipeline has a parser and that the model can be read; nothing is trained.

        Raises
        ------
        ParameterError, InputError
            As for `corefsample_component`.
        """
        if nlp is not None and self.settings.require_parser:
            _require_parser(nlp, takewhile(lambda name: name != self.name, nlp.pipe_names))
        _ = self.antecedent_model, self.recalibration

    # --- to disk and back ----------------------------------------------------------------------------------

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the model and the recalibration into a folder; the settings are in the pipeline's config."""
        # A recalibration of the config itself is not saved again.
        read = None if self.settings.named_recalibration is None else self._uncertain
        write_model(self.antecedent_model, read, self.settings, Path(path))

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> CorefComponent:
        """Read model and recalibration from a folder, unless the config named others when they were written.

        Raises
        ------
        InputError
            If the model is missing, or is not of this version.
        """
        saved = read_model(Path(path), self.settings)
        self._model = saved.model or self._model
        if saved.model is not None:
            self._require_language(saved.model.language.code)
        if saved.has_recalibration:
            self._recalibration, self._is_saved_without = saved.recalibration, saved.recalibration is None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return as bytes what `to_disk` writes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            return packed(Path(folder))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> CorefComponent:
        """Read the bytes of `to_bytes`.

        Raises
        ------
        InputError
            If they are something else, or the model is not of this version.
        """
        with tempfile.TemporaryDirectory() as folder:
            unpack(bytes_data, Path(folder))
            return self.from_disk(folder)
