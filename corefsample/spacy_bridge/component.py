"""The spaCy component "corefsample": each parsed Doc gets the posterior over its entity clusterings.

``nlp.add_pipe("corefsample")`` scores Docs with the antecedent model; ``doc._.coref`` is then a `DocPosterior`, and
``doc.spans`` has the clustering of likeliest antecedents. docs/spacy.md says how to use it.

spaCy imports this module whenever it makes a pipeline, so nothing heavy loads before a component is added. Importing it
yourself registers ``doc._.coref``, for Docs that were scored elsewhere; `set_posterior` attaches the scores of a file,
or of another system, to a Doc.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import zip_longest
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
from corefsample.errors import InputError, ParameterError, shown
from corefsample.files._atomic import write_bytes
from corefsample.languages._language import code_of, require_same
from corefsample.spacy_bridge import _posterior
from corefsample.spacy_bridge._posterior import DocPosterior, JoinProbability, SpanAntecedents, posterior_of
from corefsample.spacy_bridge.documents import mentions_of_spans, tokens_of_doc, word_offsets
from corefsample.syntax._schemes import SCHEMES, pipeline_scheme
from corefsample.syntax._words import mention_kinds

if TYPE_CHECKING:
    from spacy.tokens import Span
    from spacy.training import Example

    from corefsample.recalibration._uncertain import UncertainRecalibration
    from corefsample.scorers.protocol import MentionSource

__all__ = ["CorefComponent", "DocPosterior", "JoinProbability", "SpanAntecedents", "posterior_of", "set_posterior"]

EXTENSION = "coref"
_FILE, _MODEL = "component.msgpack", "model.npz"


def is_scored(doc: Doc) -> bool:
    """Whether a Doc has a posterior, ``doc._.coref``."""
    return _posterior.KEY in doc.user_data


# An extension of this name by another package is kept; adding the component then raises.
if not Doc.has_extension(EXTENSION):
    Doc.set_extension(EXTENSION, getter=posterior_of)


class _Saved(msgspec.Struct):
    """Model and recalibration of a saved component, with their names in its config."""

    model_name: str | None
    model: bytes
    recalibration_name: str | None
    recalibration: dict[str, Any] | None


class CorefComponent(Pipe):
    """Scores parsed Docs; `nlp.add_pipe("corefsample", config={...})` makes it.

    Parameters
    ----------
    nlp, name
        The pipeline, and the component's name in it.
    model
        Path of a model file, or "es" for the shipped Spanish model. By default (null), the shipped English model. A
        missing file is an error only when it is needed: a pipeline that is loaded from disk brings its model.
    mentions
        "parse": mentions found in the parse (`corefsample.syntax`). Any other value is the name of a group of spans,
        which are the mentions.
    min_prob
        Candidate antecedents of a lower probability are left out; in [0, 1).
    scheme
        Dependency scheme: ud2, ud1 or clearnlp. By default (null), it is recognised from the labels of each Doc.
    recalibration
        Path of a record of `corefsample recalibrate`, "english" or "spanish" for the recalibration of a shipped model,
        or "none" for no recalibration. By default (null), a shipped model has its recalibration; other models have
        none.
    n_samples, seed
        Number of clusterings to draw, at least 1, and seed of the draws, in [0, 2**64).
    spans_key
        Prefix of the names of the groups of spans that are written:
        f"{spans_key}_map", f"{spans_key}_clusters_1", ..., f"{spans_key}_sample_0", ...
    sample_groups
        Number of sampled clusterings to write as groups.

    Raises
    ------
    ParameterError
        If a setting breaks its rule, the model is of another language, or ``doc._.coref`` belongs to another package.
    """

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: str | None = None,
        mentions: str = "parse",
        min_prob: float = 1e-4,
        scheme: str | None = None,
        recalibration: str | None = None,
        n_samples: int = 1000,
        seed: int = 0,
        spans_key: str = "coref",
        sample_groups: int = 0,
    ) -> None:
        from corefsample.recalibration._uncertain import chosen_recalibration

        if Doc.get_extension(EXTENSION)[2] is not posterior_of:
            hint = f'Doc.set_extension("{EXTENSION}", getter=posterior_of, force=True) takes it over'
            raise ParameterError(f"doc._.{EXTENSION} must be free, got an extension of another package", hint=hint)
        _posterior.require_text("mentions", mentions)
        _posterior.require_text("spans_key", spans_key)
        for parameter, path in {"model": model, "recalibration": recalibration}.items():
            if path is not None:
                _posterior.require_text(parameter, path)
        is_written = _component_groups(spans_key).fullmatch(mentions)
        _checks.require("mentions", not is_written, "must not be a group that the component writes", repr(mentions))
        if scheme is not None:
            _checks.choice("scheme", scheme, tuple(SCHEMES))
        self.name = name
        self._nlp = nlp
        self._min_prob = _checks.probability("min_prob", min_prob, below_one=True)
        self._n_samples, self._seed = _checks.n_samples(n_samples, 1), _checks.seed(seed)
        self._sample_groups = _checks.whole("sample_groups", sample_groups, 0)
        _checks.at_most("sample_groups", sample_groups, n_samples)
        # Not `model`: spaCy treats components with this attribute as trainable.
        self._model_name, self._mentions, self._scheme_name, self._spans_key = model, mentions, scheme, spans_key
        self._source: MentionSource = "parse" if mentions == "parse" else "annotated"
        self._recalibration_name = chosen_recalibration(recalibration, model, self._source)
        if model is None:
            self._require_language("en")

    @cached_property
    def antecedent_model(self) -> cs.scorers.AntecedentScorer:
        """The model that scores; loaded at its first use.

        Raises
        ------
        InputError
            If the model file cannot be read.
        """
        model = cs.scorers.load_scorer(self._model_name, self._source)
        self._require_language(model.language.code)
        return model

    def _require_language(self, language: str) -> None:
        """Raise ParameterError if the model is of another language than the pipeline."""
        pipeline_language = code_of(self._nlp.lang or "")
        hint = f"a model of {pipeline_language} is made by `corefsample train`"
        require_same("model", language, "the pipeline", pipeline_language, parameter="model", hint=hint)

    @cached_property
    def recalibration(self) -> UncertainRecalibration | None:
        """The recalibration of its scores, with its uncertainty, or None; loaded at its first use.

        Raises
        ------
        InputError
            If the file cannot be read.
        """
        name = self._recalibration_name
        return None if name is None else cs.recalibration.read_recalibration(name)

    @cached_property
    def _scheme(self) -> str | None:
        """The scheme of the settings, or else of all labels of the pipeline's parser."""
        return self._scheme_name or pipeline_scheme(self._nlp)

    def __call__(self, doc: Doc) -> Doc:
        """Score a Doc: set its posterior, ``doc._.coref``, and write the groups of spans.

        Raises
        ------
        ParameterError
            If the Doc has no parse, parts of speech, lemmas or sentences, has labels of no scheme, or lacks the group
            of its mentions; the place is the doc_id if ``doc.user_data`` has one.
        """
        from corefsample.documents._scored import RECALIBRATION_FIELD
        from corefsample.posterior._posterior import drawn_recalibration
        from corefsample.scorers._scoring import score_mentions
        from corefsample.syntax._mentions import mentions_from_parse

        doc_id = _doc_id(doc)
        try:
            tokens = tokens_of_doc(doc)
            scorer = self.antecedent_model
            if self._source == "parse":
                mentions = mentions_from_parse(tokens, scheme=self._scheme, language=scorer.language)
            elif self._mentions in doc.spans:
                rows = mentions_of_spans(doc, list(doc.spans[self._mentions]))
                mentions = rows[np.lexsort((-rows[:, 1], rows[:, 0]))]
            else:
                groups = ", ".join(doc.spans) or "none"
                raise ParameterError(f"doc.spans must have the group {self._mentions!r} of mentions, got {groups}")
            (scored,) = score_mentions(scorer, [tokens], [mentions], self._min_prob, self._scheme)
        except ParameterError as error:
            if doc.user_data.get("doc_id") is None:
                raise
            raise error.at(f"doc_id {doc_id!r}") from None
        distribution, drawn, kinds = scored.distribution, None, None
        metadata: dict[str, str] = {}
        if self.recalibration is not None:
            fit = self.recalibration.recalibration
            kinds = mention_kinds(tokens, mentions, scorer.language)
            distribution, metadata = fit.apply(distribution, kinds), {RECALIBRATION_FIELD: fit.fingerprint()}
            if self.recalibration.widest != "none":
                widest = self.recalibration.widest
                drawn = drawn_recalibration(self.recalibration, widest, self._seed, "", is_applied=True)
        document = cs.ScoredDocument(doc_id, mentions, distribution, metadata=metadata)
        _posterior.store(doc, document, seed=self._seed, n_samples=self._n_samples, recalibrated=drawn, kinds=kinds)
        _write_groups(posterior_of(doc), self._spans_key, self._sample_groups)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Score a stream of Docs. A model that cannot be read is an error before the first Doc is parsed."""
        _ = self.antecedent_model, self.recalibration
        yield from super().pipe(stream, batch_size=batch_size)

    def score(  # type: ignore[override]  # spaCy's own scores are None too without annotation
        self, examples: Iterable[Example], **settings: Any
    ) -> dict[str, float | None]:
        """Score clusterings against annotated Docs, and their posterior; `nlp.evaluate` calls this.

        The annotated entities of an example are the groups ``reference.spans[f"{spans_key}_clusters_..."]``. Spans are
        the same if they have the same characters, ignoring whitespace. Entities of one mention do not count, because
        groups do not contain them.

        Parameters
        ----------
        examples
            Examples whose `predicted` is a scored Doc.
        settings
            Settings that spaCy's scorer passes to every component; they are ignored.

        Returns
        -------
        dict
            For spans_key "coref": coref_p, coref_r and coref_f of the CoNLL average, coref_muc_p and so on of each
            metric, all from the summed counts of the corpus; coref_f_mean, coref_f_lower and coref_f_upper, the
            posterior mean of coref_f and its 95% credible interval. All are None if no example is annotated, and the
            last three if fewer than 2 samples are drawn.

        Raises
        ------
        ParameterError
            If a predicted Doc is not scored.
        """
        from corefsample.metrics._metric_counts import METRICS
        from corefsample.metrics._scores import corpus_posterior, corpus_scores

        prefix = f"{self._spans_key}_clusters_"
        examples = list(examples)
        if not any(name.startswith(prefix) for example in examples for name in example.reference.spans):
            examples = []
        documents, posteriors = [], []
        doc_ids: set[str] = set()
        for number, example in enumerate(examples):
            actual = f"one without a posterior at place {number}"
            _checks.require("examples", is_scored(example.predicted), "must have scored Docs as predicted", actual)
            posterior = posterior_of(example.predicted)
            entities = [group for name, group in example.reference.spans.items() if name.startswith(prefix)]
            labels = [entity for entity, group in enumerate(entities) for _ in group]
            options: dict[str, Any] = {
                "response_spans": _characters(example.predicted, posterior.mentions),
                "singletons": False,
            }
            spans = _characters(example.reference, [span for group in entities for span in group])
            documents.append(cs.clustering_scores(labels, posterior.labels("map"), key_spans=spans, **options))
            if posterior.n_samples > 1:
                samples = posterior.samples
                if posterior.doc_id in doc_ids:  # samples of equal texts must be independent
                    samples = _posterior.content_of(example.predicted).sampled(f"{posterior.doc_id} {number}")
                doc_ids.add(posterior.doc_id)
                posteriors.append(cs.metric_posterior(labels, samples, gold_spans=spans, **options))
        scores: dict[str, float | None] = {}
        corpus = corpus_scores(documents) if documents else None
        for metric in ("conll", *METRICS):
            for short, part in {"p": "precision", "r": "recall", "f": "f1"}.items():
                name = short if metric == "conll" else f"{metric}_{short}"
                scores[name] = None if corpus is None else float(getattr(getattr(corpus, metric), part))
        of_corpus = corpus_posterior(posteriors) if posteriors else None
        for name in ("mean", "lower", "upper"):
            scores[f"f_{name}"] = None if of_corpus is None else getattr(of_corpus, name)
        return {f"{self._spans_key}_{name}": value for name, value in scores.items()}

    # --- to disk and back ----------------------------------------------------------------------------------

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the model and the recalibration as bytes; the settings are in the pipeline's config."""
        with TemporaryDirectory() as folder:
            path = Path(folder, _MODEL)
            self.antecedent_model.save(path)
            fields = None if self.recalibration is None else self.recalibration.to_json()
            saved = _Saved(self._model_name, path.read_bytes(), self._recalibration_name, fields)
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
        if saved.model_name == self._model_name:
            with TemporaryDirectory() as folder:
                path = Path(folder, _MODEL)
                path.write_bytes(saved.model)
                self.antecedent_model = cs.scorers.load_scorer(path)
            self._require_language(self.antecedent_model.language.code)
        if saved.recalibration_name == self._recalibration_name:
            fields = saved.recalibration
            self.recalibration = None if fields is None else UncertainRecalibration.from_json(fields)
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


corefsample_component = CorefComponent  # the name of the entry point, by which spaCy finds the component
Language.factory(
    "corefsample",
    requires=["token.dep", "token.head", "token.lemma", "doc.sents"],
    assigns=[f"doc._.{EXTENSION}", "doc.spans"],
    func=CorefComponent,
)


def _characters(doc: Doc, spans: Iterable[Span]) -> np.typing.NDArray[np.int64]:
    """Start and end of spans in characters that are not whitespace, which tokenisers cannot change; (n, 2)."""
    before = np.zeros(len(doc.text) + 1, np.int64)
    np.cumsum([not character.isspace() for character in doc.text], out=before[1:])
    rows: list[Any] = [(before[span.start_char], before[span.end_char]) for span in spans]
    return np.array(rows, np.int64).reshape(-1, 2)


# --- scores computed elsewhere ----------------------------------------------------------------------------


def _doc_id(doc: Doc) -> str:
    """Return the identifier that samples of a Doc depend on: ``doc.user_data["doc_id"]``, or a digest of its text.

    Raises
    ------
    ParameterError
        If ``doc.user_data["doc_id"]`` is not a non-empty string.
    """
    doc_id = doc.user_data.get("doc_id")
    if doc_id is None:  # different texts get different ids, so that their samples are independent
        digest = hashlib.blake2b(doc.text.encode("utf-8", "surrogatepass"), digest_size=16)
        return f"text-{digest.hexdigest()}"
    if not isinstance(doc_id, str) or not doc_id:
        raise ParameterError(f"doc.user_data['doc_id'] must be a non-empty string, got {doc_id!r}")
    return doc_id


def set_posterior(
    doc: Doc,
    scored: cs.ScoredDocument | cs.AntecedentDistribution,
    *,
    mentions: Iterable[Span] | None = None,
    n_samples: int = 1000,
    seed: int = 0,
    spans_key: str = "coref",
    sample_groups: int = 0,
) -> DocPosterior:
    """Attach existing scores, from a file or another system, to a Doc. Nothing is scored again.

    Parameters
    ----------
    doc
        Doc with the words that were scored; tokens of whitespace are ignored. It needs no parse.
    scored
        A document, as read from a file or made by `corefsample.adapters`; samples then depend on its doc_id, and are
        those in which events are counted. Or a distribution, with `mentions`; samples then depend on
        ``doc.user_data["doc_id"]``, or on a digest of the text if that is not set.
    mentions
        The mentions of a distribution: spans of `doc`, by start, then longest first.
    n_samples, seed, sample_groups
        Number of clusterings to draw, seed of the draws in [0, 2**64), and number of sampled clusterings that are
        written as groups of spans.
    spans_key
        Prefix of the names of the groups of spans that are written.

    Returns
    -------
    DocPosterior
        Posterior of the Doc, which is also available as ``doc._.coref``.

    Raises
    ------
    ParameterError
        If the document has other words, the mentions are not those of the distribution, or an option breaks its rule.
        The Doc is then unchanged.
    """
    from corefsample.posterior._posterior import CorpusRecalibration
    from corefsample.recalibration._model import document_kinds

    _checks.spacy_doc(doc)
    _posterior.require_text("spans_key", spans_key)
    _checks.seed(seed)
    _checks.at_most("sample_groups", _checks.whole("sample_groups", sample_groups, 0), _checks.n_samples(n_samples, 1))
    if isinstance(scored, cs.ScoredDocument):
        if mentions is not None:
            raise ParameterError("must be left out where scored is a document, which has its own", parameter="mentions")
        document = scored
    elif isinstance(scored, cs.AntecedentDistribution):
        if mentions is None:
            raise ParameterError("is required where scored is a distribution", parameter="mentions")
        document = cs.ScoredDocument(_doc_id(doc), mentions_of_spans(doc, list(mentions)), scored)
    else:
        rule = "must be a ScoredDocument or an AntecedentDistribution"
        raise ParameterError(f"{rule}, got {type(scored).__name__}", parameter="scored")
    _require_same_words(doc, document)
    drawn: dict[str, Any] = {}
    if document.tokens is not None:
        drawn["recalibrated"] = CorpusRecalibration(seed=seed).for_scores(document.metadata)
        drawn["kinds"] = document_kinds(document)
    _posterior.store(doc, document, seed=seed, n_samples=n_samples, **drawn)
    posterior = posterior_of(doc)
    _write_groups(posterior, spans_key, sample_groups)
    return posterior


def _component_groups(spans_key: str) -> re.Pattern[str]:
    """Names of the groups of spans that the component writes, and replaces when it scores a Doc again."""
    return re.compile(rf"{re.escape(spans_key)}_(map|clusters_\d+|sample_\d+)")


def _write_groups(posterior: DocPosterior, spans_key: str, sample_groups: int) -> None:
    """Write the component's groups of spans, and remove those of an earlier run."""
    doc, pattern = posterior.doc, _component_groups(spans_key)
    for key in [key for key in doc.spans if pattern.fullmatch(key)]:
        del doc.spans[key]
    posterior.add_clustering("map", key=f"{spans_key}_map")
    posterior.add_clusters("map", prefix=f"{spans_key}_clusters")
    for sample in range(sample_groups):
        posterior.add_clustering(sample, key=f"{spans_key}_sample_{sample}")


def _require_same_words(doc: Doc, document: cs.ScoredDocument) -> None:
    """Raise if a document has other words, or if one without tokens has mentions past the end of the Doc."""
    words = [doc[i].text for i in word_offsets(doc).tolist()]
    location = f"doc_id {document.doc_id!r}"
    if document.tokens is not None:
        for t, (token, word) in enumerate(zip_longest(document.tokens.text, words)):
            if token != word:
                rule = f"tokens.text[{t}] must be the word {shown(word)} of doc"
                raise ParameterError(f"{rule}, got {shown(token)}", place=location)
    outside = np.flatnonzero(document.mentions[:, 1] > len(words))
    if outside.size:
        rule = f"mentions[{outside[0]}] must lie in the {len(words)} words of doc"
        raise ParameterError(f"{rule}, got {document.mentions[outside[0]].tolist()}", place=location)
