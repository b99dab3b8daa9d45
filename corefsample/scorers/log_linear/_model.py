"""The antecedent model: scores of antecedents from hashed features, as distributions and scored documents."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from corefsample import _checks
from corefsample._arrays import Bools, Floats32, Ints32, Words32
from corefsample.coreference._antecedents import AntecedentDistribution, Pruned
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import RECALIBRATION_FIELD, ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, ParameterHint
from corefsample.languages._language import ENGLISH, Language, declared_language, load_language, require_same
from corefsample.scorers.log_linear import _kernels
from corefsample.scorers.log_linear._readings import gold_of_found
from corefsample.scorers.log_linear.features._encoding import encode, hashed, is_known, word_hash
from corefsample.scorers.log_linear.features._templates import TemplateSet
from corefsample.syntax._mentions import mentions_apart, mentions_from_parse
from corefsample.syntax._schemes import declared_scheme, undecided, universal_scheme

MIN_PROB = 1e-4
SEEN_FIELD = "in_training_data"  # of the metadata of documents that the model was trained on
# By language and the mentions that are scored; the English one, for both, is the default.
SHIPPED_MODELS = {"es": {"parse": "spanish.npz", "annotated": "spanish-annotated.npz"}}
FEW_KNOWN = 0.6  # share of words: about 0.85 in English of any genre, 0.3 in Spanish
ENOUGH_WORDS = 100  # for a share of them to say anything
LARGEST_TABLE = 1 << 22
_ROOM = 16  # candidates kept for each mention before the arrays grow

MentionSource = Literal["annotated", "parse"]
MENTION_SOURCES: tuple[MentionSource, ...] = ("annotated", "parse")


MentionDocument = ScoredDocument | AnnotatedDocument


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AntecedentModel:
    """A log-linear model of each mention's antecedent.

    P(a_i = k) is proportional to exp(w . f(i, k)), P(a_i = NEW) to exp(w . f(i, NEW)); each feature is a template with
    the values of its atoms, and has its weight where its hash says. Arrays are read-only.

    Attributes
    ----------
    weights
        float32 (n_buckets,): n_buckets is a power of two.
    vocabulary
        uint32, ascending: hashes of the words that features may name; other words are replaced by their endings.
    templates
        Templates of features.
    provenance
        Data, options and held-out figures of the training; anything that JSON can represent.
    language
        Resources of the language that it was trained on.

    Raises
    ------
    ParameterError
        On construction, if weights or vocabulary break their rules.

    References
    ----------
    Durrett & Klein (2013); Nguyen & O'Connor (2015), section 5.1.
    """

    weights: Floats32
    vocabulary: Words32
    templates: TemplateSet
    provenance: Mapping[str, Any] = field(default_factory=dict)
    language: Language = field(default_factory=partial(load_language, ENGLISH))

    def __post_init__(self) -> None:
        wide = _checks.floats("weights", self.weights)
        if not 2 <= wide.size <= LARGEST_TABLE or wide.size & (wide.size - 1):
            raise ParameterError(
                f"must be as many as a power of two, from 2 to {LARGEST_TABLE}, got {wide.size}", parameter="weights"
            )
        outside = ~(np.abs(wide) <= np.finfo(np.float32).max)
        if outside.any():
            raise ParameterError(f"must be finite in 32 bits, got {wide[outside][0]}", parameter="weights")
        hashes = _checks.integers("vocabulary", self.vocabulary)
        outside = (hashes < 0) | (hashes > np.iinfo(np.uint32).max)
        if outside.any():
            raise ParameterError(f"must be whole numbers of 32 bits, got {hashes[outside][0]}", parameter="vocabulary")
        falls = np.flatnonzero(hashes[1:] <= hashes[:-1])
        if falls.size:
            place = int(falls[0])
            raise ParameterError(f"must ascend, got {hashes[place + 1]} after {hashes[place]}", parameter="vocabulary")
        for name, array in (("weights", wide.astype(np.float32)), ("vocabulary", hashes.astype(np.uint32))):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        return (
            f"AntecedentModel({len(self.weights):,} weights, {len(self.vocabulary):,} words, "
            f"{self.templates.n_templates} templates, language {self.language.code})"
        )

    def pruned_score(
        self, tokens: Tokens, mentions: npt.ArrayLike, *, min_prob: float = MIN_PROB, scheme: str | None = None
    ) -> Pruned:
        """Score the antecedents of mentions and leave out unlikely candidates.

        Parameters
        ----------
        tokens
            Words with their parse, in UD v2, UD v1 or ClearNLP.
        mentions
            int (n_mentions, 3): start, end (exclusive) and head, sorted by start, then longest first.
        min_prob
            In [0, 1): candidates below it are left out.
        scheme
            ud2, ud1 or clearnlp; None recognises it from the labels.

        Returns
        -------
        Pruned
            The distribution, with scores relative to NEW, and the probability left out for each mention.

        Raises
        ------
        ParameterError
            If the labels fit no scheme or are ambiguous, or mentions break their rules.
        """
        _checks.probability("min_prob", min_prob, below_one=True)
        doc = encode(tokens, mentions, self.vocabulary, scheme=scheme, language=self.language)
        n = len(doc.mentions)
        indptr, dropped = np.zeros(n + 1, np.int64), np.zeros(n)
        given = doc, hashed(doc, self.templates), self.weights, float(min_prob)
        candidates, scores = np.empty(_ROOM * n, np.int32), np.empty(_ROOM * n)
        first = 0
        while (first := _kernels.score_kept(*given, first, indptr, dropped, candidates, scores)) < n:
            candidates = np.concatenate((candidates, np.empty_like(candidates)))
            scores = np.concatenate((scores, np.empty_like(scores)))
        candidates, scores = candidates[: indptr[n]].copy(), scores[: indptr[n]].copy()
        distribution = AntecedentDistribution.from_csr(indptr, candidates, scores)
        return Pruned(distribution, dropped, n * (n - 1) // 2 - len(candidates))

    @property
    def seen(self) -> frozenset[str]:
        """Checksums of the documents that it was trained on, as of `document_checksum`."""
        return frozenset(self.provenance.get("documents", ()))

    def knows(self, words: Sequence[str]) -> Bools:
        """Whether its vocabulary has each of some words, which are in lower case."""
        return is_known(np.array([word_hash(word) for word in words], np.uint32), self.vocabulary)

    def known_words(self, tokens: Tokens) -> tuple[int, int]:
        """Number of words of letters, and of those that its vocabulary has: few where the language is another."""
        words = [text.lower() for text in tokens.text if text.isalpha()]
        return len(words), int(self.knows(words).sum())

    def require_language(self, document: Mapping[str, Any], path: str = "") -> None:
        """Raise ParameterError if the metadata of a document, or the name of its file, say another language."""
        found = declared_language(document, path)
        require_same("model", self.language.code, "the document", found, parameter="model", hint=other_model(found))

    def scored_metadata(self, metadata: Mapping[str, Any], *, seen: bool = False) -> dict[str, Any]:
        """Metadata of a document that the model has scored: its language, unless English, and whether it was seen.

        The new scores have not been recalibrated.
        """
        kept = {name: value for name, value in metadata.items() if name not in (RECALIBRATION_FIELD, SEEN_FIELD)}
        if declared_language(kept) is None and self.language.code != ENGLISH:
            kept = {**kept, "lang": self.language.code}
        return {**kept, SEEN_FIELD: True} if seen else kept

    def score(
        self, tokens: Tokens, mentions: npt.ArrayLike, *, min_prob: float = MIN_PROB, scheme: str | None = None
    ) -> AntecedentDistribution:
        """Score the antecedents of mentions: the distribution of `pruned_score`."""
        return self.pruned_score(tokens, mentions, min_prob=min_prob, scheme=scheme).distribution

    def score_document(
        self, document: MentionDocument, *, min_prob: float = MIN_PROB, scheme: str | None = None
    ) -> ScoredDocument:
        """Score the mentions that a document has; its annotated entities, date and metadata are carried over.

        Parameters
        ----------
        document
            A `ScoredDocument`, whose scores are replaced, or an `AnnotatedDocument`.
        min_prob, scheme
            As of `pruned_score`.

        Raises
        ------
        ParameterError
            If the document has no tokens, or as of `pruned_score`; the place is the doc_id.
        """
        return next(score_documents(self, [document], min_prob=min_prob, scheme=scheme))


@dataclass(slots=True)
class ScoringTally:
    """Counts of the documents of a corpus that are scored.

    Attributes
    ----------
    n_documents, n_mentions, n_candidates
        Documents, their mentions, candidates kept.
    n_dropped
        Candidates left out.
    dropped_mass
        Their probability, summed over mentions; `mean_dropped_mass` is the mean over mentions.
    n_without_gold
        Mentions that were found in the parse of an annotated document and have no annotated entity.
    n_words, n_known_words
        Words of letters, and those of them that the model knows.
    n_seen
        Documents that the model was trained on.
    """

    n_documents: int = 0
    n_mentions: int = 0
    n_candidates: int = 0
    n_dropped: int = 0
    dropped_mass: float = 0.0
    n_without_gold: int = 0
    n_words: int = 0
    n_known_words: int = 0
    n_seen: int = 0

    @property
    def mean_dropped_mass(self) -> float:
        """Probability left out of a mention on average; 0 without mentions."""
        return self.dropped_mass / self.n_mentions if self.n_mentions else 0.0

    @property
    def known_share(self) -> float:
        """Share of the words that the model knows; 1 without words."""
        return self.n_known_words / self.n_words if self.n_words else 1.0

    def add(
        self, scored: Pruned, gold: list[int | str | None] | None, words: tuple[int, int], *, seen: bool = False
    ) -> None:
        """Count one document."""
        self.n_words, self.n_known_words = self.n_words + words[0], self.n_known_words + words[1]
        self.n_seen += seen
        self.n_documents += 1
        self.n_mentions += scored.distribution.n_mentions
        self.n_candidates += scored.distribution.n_candidates
        self.n_dropped += scored.n_dropped
        self.dropped_mass += float(scored.dropped_mass.sum())
        self.n_without_gold += gold.count(None) if gold is not None else 0


def score_documents(
    model: AntecedentModel,
    documents: Iterable[MentionDocument],
    *,
    mentions: MentionSource = "annotated",
    min_prob: float = MIN_PROB,
    scheme: str | None = None,
    tally: ScoringTally | None = None,
) -> Iterator[ScoredDocument]:
    """Score the documents of a corpus one by one.

    Links that grammar rules out are no candidates: between a subject and an object of one verb, unless one is
    reflexive, and between a phrase and what modifies its head.

    Parameters
    ----------
    model
        The model.
    documents
        `ScoredDocument` or `AnnotatedDocument`; their annotated entities, dates and metadata are carried over.
    mentions
        "annotated": the document's own. "parse": those found in its parse; a mention has the entity of the annotated
        one of the same span, or else of the same head, and the others have None.
    min_prob, scheme
        As of `AntecedentModel.pruned_score`.
    tally
        Counts what is scored.

    Raises
    ------
    ParameterError
        If a document has no tokens or no parse, labels that fit no scheme or are ambiguous, or mentions that break
        their rules; the place is the doc_id.
    """
    _checks.choice("mentions", mentions, MENTION_SOURCES)
    for document in documents:
        try:
            model.require_language(document.metadata)
            tokens = required_tokens(document)
            if len(tokens) and tokens.is_unparsed:
                raise ParameterError("tokens must be parsed to score mentions, got no dependency labels")
            spans, gold = np.asarray(document.mentions), gold_entities(document)
            own_scheme = scheme or document_scheme(document)
            if mentions == "parse":
                found = mentions_from_parse(tokens, scheme=own_scheme, language=model.language)
                gold = None if gold is None else gold_of_found(spans, gold, found)
                spans = found
            scored = score_mentions(model, tokens, spans, min_prob, own_scheme)
        except ParameterError as error:
            raise error.at(f"doc_id {document.doc_id!r}") from None
        seen = document_checksum(document.tokens) in model.seen
        if tally is not None:
            tally.add(scored, gold, model.known_words(tokens), seen=seen)
        metadata = model.scored_metadata({**document.metadata, **undecided(own_scheme, tokens.dep)}, seen=seen)
        if isinstance(document, ScoredDocument):
            yield dataclasses.replace(
                document, mentions=spans, antecedents=scored.distribution, gold=gold, metadata=metadata
            )
        else:
            rest = (document.date, document.tokens, gold, metadata)
            yield ScoredDocument(document.doc_id, spans, scored.distribution, *rest)


def document_scheme(document: MentionDocument) -> str | None:
    """The scheme that a document declares; of an annotated one, which comes from CoNLL-U, else a universal one."""
    if document.tokens is None:
        return None
    labels = document.tokens.dep
    own = declared_scheme(document.metadata, labels)
    return own or (universal_scheme(labels) if isinstance(document, AnnotatedDocument) else None)


def score_parses(
    model: AntecedentModel, parses: Sequence[Tokens], *, min_prob: float = MIN_PROB, scheme: str | None = None
) -> list[tuple[Ints32, Pruned]]:
    """Find the mentions in each of several parses of a document, and score their antecedents.

    Parameters
    ----------
    model
        The model.
    parses
        The same words with different parses.
    min_prob, scheme
        As of `AntecedentModel.pruned_score`.

    Returns
    -------
    list of (int32 (n_mentions, 3), Pruned)
        Mentions of each parse, and what `AntecedentModel.pruned_score` returns for them.

    Raises
    ------
    ParameterError
        If the labels of a parse fit no scheme or are ambiguous, or there are none.
    """
    spans = [mentions_from_parse(tokens, scheme=scheme, language=model.language) for tokens in parses]
    return [
        (own, score_mentions(model, tokens, own, min_prob, scheme)) for tokens, own in zip(parses, spans, strict=True)
    ]


def score_mentions(
    model: AntecedentModel, tokens: Tokens, spans: npt.NDArray[Any], min_prob: float, scheme: str | None
) -> Pruned:
    """Scores of mentions, as of `AntecedentModel.pruned_score`, without the links that grammar rules out."""
    found = model.pruned_score(tokens, spans, min_prob=min_prob, scheme=scheme)
    distribution = found.distribution.without_links(
        mentions_apart(tokens, spans, scheme=scheme, language=model.language)
    )
    return Pruned(distribution, found.dropped_mass, found.n_dropped)


def document_checksum(tokens: Tokens | None) -> str:
    """Twelve hexadecimal digits of the words of a document; "" without any."""
    if tokens is None or not len(tokens):
        return ""
    text = "\n".join(tokens.text).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=6).hexdigest()


def few_known_words(tally: ScoringTally) -> str | None:
    """What to say of texts most of whose words a model does not know; None of others."""
    if tally.n_words < ENOUGH_WORDS or tally.known_share >= FEW_KNOWN:
        return None
    return (
        f"the model knows {tally.known_share:.0%} of the words (of text like that of its training about 85%): they may "
        "be of another language or genre; `corefsample train` makes a model of annotated documents like these"
    )


def other_model(language: str | None) -> ParameterHint:
    """The next step where a model is of another language."""
    if language == ENGLISH:
        return ParameterHint("model", "is left out for the English one of the package")
    if language in SHIPPED_MODELS:
        return ParameterHint("model", f"{language} takes that of the package")
    return ParameterHint("model", f"names one of the language {language}, which `corefsample train` makes")


def required_tokens(document: MentionDocument) -> Tokens:
    """Tokens of a document, or raise ParameterError."""
    if document.tokens is None:
        raise ParameterError("tokens is required")
    return document.tokens


def gold_entities(document: MentionDocument) -> list[int | str | None] | None:
    """Annotated entity of each mention, or None where the document has no annotation."""
    if isinstance(document, AnnotatedDocument):
        return list(document.entities)
    return None if document.gold is None else list(document.gold)
