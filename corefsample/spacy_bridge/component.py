"""The spaCy component "corefsample": each parsed Doc gets the posterior over its entity clusterings.

``nlp.add_pipe("corefsample")`` scores Docs with the antecedent model; ``doc._.coref`` is then a `DocPosterior`, and
``doc.spans`` has the clustering of likeliest antecedents. docs/spacy.md says how to use it.

spaCy imports this module whenever it makes a pipeline, so nothing heavy loads before a component is added. Importing it
yourself registers ``doc._.coref``, for Docs that were scored elsewhere; `set_posterior` attaches the scores of a file,
or of another system, to a Doc.
"""

from __future__ import annotations

import inspect
import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc

import corefsample as cs
from corefsample import _checks
from corefsample.errors import InputError, ParameterError
from corefsample.files._atomic import write_bytes
from corefsample.spacy_bridge._posterior import (
    DocPosterior,
    JoinProbability,
    SpanAntecedents,
    component_groups,
    doc_id_of,
    posterior_of,
    require_text,
    set_posterior,
    write_groups,
)
from corefsample.spacy_bridge._state import KEY, content_of, store
from corefsample.syntax._schemes import SCHEMES

if TYPE_CHECKING:
    import numpy.typing as npt
    from spacy.tokens import Span
    from spacy.training import Example

    from corefsample.metrics._scores import ClusteringScores, ScoreSamples
    from corefsample.posterior._posterior import DrawnRecalibration
    from corefsample.recalibration._uncertain import UncertainRecalibration
    from corefsample.scorers.protocol import MentionSource


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
_FILE, _MODEL = "component.msgpack", "model.npz"
FROM_PARSE = "parse"

# An extension of this name by another package is kept; adding the component then raises.
if not Doc.has_extension(EXTENSION):
    Doc.set_extension(EXTENSION, getter=posterior_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of a component, as `corefsample_component` describes them.

    Raises
    ------
    ParameterError
        On construction, if one breaks its rule.
    """

    model: str | None = None
    mentions: str = FROM_PARSE
    min_prob: float = 1e-4
    scheme: str | None = None
    temperature: float = 1.0
    new_bias: float = 0.0
    recalibration: str | None = None
    n_samples: int = 1000
    seed: int = 0
    spans_key: str = "coref"
    sample_groups: int = 0
    require_parser: bool = True

    def __post_init__(self) -> None:
        if self.model is not None:
            require_text("model", self.model)
        require_text("mentions", self.mentions)
        require_text("spans_key", self.spans_key)
        if component_groups(self.spans_key).fullmatch(self.mentions):
            raise ParameterError(
                f"must not be a group that the component writes, got {self.mentions!r}", parameter="mentions"
            )
        if self.scheme is not None:
            _checks.choice("scheme", self.scheme, tuple(SCHEMES))
        _checks.probability("min_prob", self.min_prob, below_one=True)
        if self.recalibration is not None:
            require_text("recalibration", self.recalibration)
            if self.configured_recalibration is not None and self.named_recalibration is not None:
                rule = "must be null with a temperature or a new_bias"
                raise ParameterError(f"{rule}, got {self.recalibration!r}", parameter="recalibration")
        _checks.n_samples(self.n_samples, 1)
        _checks.seed(self.seed)
        _checks.at_most("sample_groups", _checks.whole("sample_groups", self.sample_groups, 0), self.n_samples)

    @property
    def mention_source(self) -> MentionSource:
        """Source of the mentions: "parse", or "annotated" for mentions that the Doc marks."""
        return "parse" if self.mentions == FROM_PARSE else "annotated"

    @property
    def configured_recalibration(self) -> cs.Recalibration | None:
        """Recalibration by temperature and new_bias; None if they change nothing."""
        configured = cs.Recalibration(self.temperature, self.new_bias)
        return None if configured == cs.Recalibration() else configured

    @property
    def named_recalibration(self) -> str | None:
        """Name or path of the recalibration, by default that of a model of the package; None for none."""
        from corefsample.recalibration._uncertain import chosen_recalibration

        if self.recalibration is None and self.configured_recalibration is not None:
            return None
        return chosen_recalibration(self.recalibration, self.model, self.mention_source)


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


class _Saved(msgspec.Struct):
    """Model and recalibration of a saved component, with their names in its config."""

    model_name: str | None
    model: bytes
    recalibration_name: str | None
    recalibration: dict[str, Any] | None


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
        if settings.model is not None and os.path.exists(settings.model):
            _ = self.antecedent_model
        named = settings.named_recalibration
        if named is not None and os.path.exists(named):
            _ = self.recalibration
        self._counts = [0, 0]  # words of the first Docs, and those of them that the model knows
        if settings.model is None:
            self._require_language("en")

    @cached_property
    def antecedent_model(self) -> cs.scorers.AntecedentScorer:
        """The model that scores; loaded at its first use.

        It is not called `model`, because spaCy treats components with that attribute as trainable.

        Raises
        ------
        InputError
            If the model file cannot be read.
        """
        model = cs.scorers.load_scorer(self.settings.model, self.settings.mention_source)
        self._require_language(model.language.code)
        return model

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
        uncertain = self._uncertain
        return self.settings.configured_recalibration if uncertain is None else uncertain.recalibration

    @cached_property
    def _uncertain(self) -> UncertainRecalibration | None:
        """The recalibration that the config names, with its uncertainty; None without a name."""
        named = self.settings.named_recalibration
        return None if named is None else cs.recalibration.read_recalibration(named)

    def __call__(self, doc: Doc) -> Doc:
        """Score a Doc: set its posterior, ``doc._.coref``, and write the groups of spans.

        Raises
        ------
        ParameterError
            If the Doc has no parse, parts of speech, lemmas or sentences, has labels of no scheme, or lacks the group
            of its mentions; the place is the doc_id if ``doc.user_data`` has one.
        """
        from corefsample.documents._scored import RECALIBRATION_FIELD
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
        except ParameterError as error:
            if doc.user_data.get("doc_id") is None:
                raise
            raise error.at(f"doc_id {doc_id!r}") from None
        document, change, kinds = cs.ScoredDocument(doc_id, mentions, scored.distribution), self.recalibration, None
        if change is not None:
            kinds = WordTable.adapted(tokens, scorer.language).mention_kinds(mentions)
            metadata = {RECALIBRATION_FIELD: change.fingerprint()}
            document = cs.ScoredDocument(doc_id, mentions, change.apply(scored.distribution, kinds), metadata=metadata)
        drawn = self._drawn_recalibration
        store(doc, document, seed=settings.seed, n_samples=settings.n_samples, recalibrated=drawn, kinds=kinds)
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
            logging.getLogger("corefsample.spacy_bridge").warning("of the first Docs, %s", few_known)

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

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model and the recalibration as bytes; the settings are in the pipeline's config."""
        with TemporaryDirectory() as folder:
            path = Path(folder, _MODEL)
            self.antecedent_model.save(path)
            fields = None if self._uncertain is None else self._uncertain.to_json()
            saved = _Saved(self.settings.model, path.read_bytes(), self.settings.named_recalibration, fields)
        return msgspec.msgpack.encode(saved)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> CorefComponent:
        """Read the model and the recalibration of `to_bytes`, unless the config had other names for them then.

        Raises
        ------
        InputError
            If the bytes are something else, or the model is not of this version.
        """
        from corefsample.recalibration._uncertain import UncertainRecalibration

        try:
            saved = msgspec.msgpack.decode(bytes_data, type=_Saved)
        except msgspec.DecodeError:
            rule = "must be of a component corefsample, got something else"
            raise InputError(rule, parameter="bytes_data") from None
        if saved.model_name == self.settings.model:
            with TemporaryDirectory() as folder:
                path = Path(folder, _MODEL)
                path.write_bytes(saved.model)
                self.antecedent_model = cs.scorers.load_scorer(path)
            self._require_language(self.antecedent_model.language.code)
        if saved.recalibration_name == self.settings.named_recalibration:
            fields = saved.recalibration
            self._uncertain = None if fields is None else UncertainRecalibration.from_json(fields)
        return self

    def to_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> None:
        """Write the bytes of `to_bytes` to a file in a folder, which is made if it is missing."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / _FILE, self.to_bytes(), overwrite=True)

    def from_disk(self, path: str | os.PathLike[str], *, exclude: Iterable[str] = ()) -> CorefComponent:
        """Read what `to_disk` wrote: see `from_bytes`.

        Raises
        ------
        InputError
            If the file is missing, is something else, or has a model that is not of this version.
        """
        file = Path(path) / _FILE
        try:
            return self.from_bytes(file.read_bytes())
        except OSError as error:
            raise InputError(f"must be readable, got: {error.strerror or error}", place=str(file)) from None


# --- evaluation ---------------------------------------------------------------------------------------------

_PARTS = {"p": "precision", "r": "recall", "f": "f1"}
_FEWEST_SAMPLES = 2


def scores_of_examples(examples: Iterable[Example], *, spans_key: str) -> dict[str, float | None]:
    """Score the likeliest antecedents' clusterings, and the posterior of the CoNLL average.

    The annotated entities of an example are the groups ``reference.spans[f"{spans_key}_clusters_..."]``. Spans are the
    same if they have the same characters, ignoring whitespace. Entities of one mention do not count, because groups do
    not contain them.

    Parameters
    ----------
    examples
        Examples whose `predicted` is a scored Doc.
    spans_key
        Prefix of the names of the groups of spans, and of the names of the scores.

    Returns
    -------
    dict
        For spans_key "coref": coref_p, coref_r and coref_f of the CoNLL average, coref_muc_p and so on of each metric,
        all from the summed counts of the corpus; coref_f_mean, coref_f_lower and coref_f_upper, the posterior mean of
        coref_f and its 95% credible interval. All are None if no example is annotated, and the last three if fewer than
        2 samples are drawn.

    Raises
    ------
    ParameterError
        If the predicted Doc of an example is not scored.
    """
    prefix = f"{spans_key}_clusters_"
    examples = list(examples)
    if not any(name.startswith(prefix) for example in examples for name in example.reference.spans):
        examples = []
    documents: list[ClusteringScores] = []
    posteriors: list[ScoreSamples] = []
    doc_ids: set[str] = set()
    for number, example in enumerate(examples):
        if KEY not in example.predicted.user_data:
            rule = "must have scored Docs as predicted"
            raise ParameterError(f"{rule}, got one without a posterior at place {number}", parameter="examples")
        posterior = posterior_of(example.predicted)
        entities = [group for name, group in example.reference.spans.items() if name.startswith(prefix)]
        labels = [entity for entity, group in enumerate(entities) for _ in group]
        key_spans = _offsets(example.reference, [span for group in entities for span in group])
        own_spans = _offsets(example.predicted, posterior.mentions)
        documents.append(
            cs.clustering_scores(
                labels, posterior.labels("map"), key_spans=key_spans, response_spans=own_spans, singletons=False
            )
        )
        if posterior.n_samples >= _FEWEST_SAMPLES:
            # Samples of equal texts must be independent.
            is_repeated = posterior.doc_id in doc_ids
            state = content_of(example.predicted)
            samples = state.sampled(f"{posterior.doc_id} {number}") if is_repeated else state.samples
            doc_ids.add(posterior.doc_id)
            posteriors.append(
                cs.metric_posterior(labels, samples, singletons=False, gold_spans=key_spans, response_spans=own_spans)
            )
    return {f"{spans_key}_{name}": value for name, value in _values(documents, posteriors).items()}


def _values(documents: list[ClusteringScores], posteriors: list[ScoreSamples]) -> dict[str, float | None]:
    """Scores by their names without the prefix; None without documents."""
    from corefsample.metrics._metric_counts import METRICS
    from corefsample.metrics._scores import corpus_posterior, corpus_scores

    corpus = corpus_scores(documents).corpus if documents else None
    posterior = corpus_posterior(posteriors).corpus if posteriors else None
    scores: dict[str, float | None] = {}
    for metric in ("conll", *METRICS):
        for short, measure in _PARTS.items():
            name = short if metric == "conll" else f"{metric}_{short}"
            scores[name] = None if corpus is None else float(getattr(getattr(corpus, metric), measure))
    return scores | {
        f"f_{name}": None if posterior is None else getattr(posterior, name) for name in ("mean", "lower", "upper")
    }


def _offsets(doc: Doc, spans: Iterable[Span]) -> npt.NDArray[np.int64]:
    """Start and end of spans in characters that are not whitespace, which tokenisers cannot change; (n, 2)."""
    before = np.zeros(len(doc.text) + 1, np.int64)
    np.cumsum([not character.isspace() for character in doc.text], out=before[1:])
    rows: list[Any] = [(before[span.start_char], before[span.end_char]) for span in spans]
    return np.array(rows, np.int64).reshape(-1, 2)
