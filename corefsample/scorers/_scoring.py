"""Documents scored by any scorer: their mentions, the links that grammar rules out, and counts of what was scored."""

from __future__ import annotations

import dataclasses
import hashlib
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample.coreference._antecedents import Pruned
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.documents._scored import RECALIBRATION_FIELD, ScoredDocument
from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError, shown
from corefsample.scorers import protocol
from corefsample.syntax._mentions import cannot_link_pairs, mentions_from_parse
from corefsample.syntax._schemes import declared_scheme, scheme_metadata, universal_scheme

SEEN_FIELD = "in_training_data"  # of the metadata of documents that the scorer was trained on
FEW_KNOWN = 0.6  # share of words: about 0.85 in English of any genre, 0.3 in Spanish
ENOUGH_WORDS = 100  # for a share of them to say anything

Gold = list[int | str | None]


@dataclass(slots=True)
class ScoringTally:
    """Counts of the documents of a corpus that are scored.

    Attributes
    ----------
    n_documents, n_mentions, n_candidates
        Documents, their mentions, candidates kept.
    n_dropped
        Number of candidates that were left out.
    dropped_mass
        Probability of the candidates that were left out, summed over mentions; `mean_dropped_mass` is the mean over
        mentions.
    n_without_gold
        Mentions that were found in the parse of an annotated document and have no annotated entity.
    n_words, n_known_words
        Number of words of letters, and number of these that the model knows.
    n_seen
        Number of documents on which the model was trained.
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

    def __add__(self, tally: ScoringTally) -> ScoringTally:
        return ScoringTally(*map(operator.add, dataclasses.astuple(self), dataclasses.astuple(tally)))

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
    scorer: protocol.AntecedentScorer,
    documents: Iterable[protocol.MentionDocument],
    *,
    mentions: protocol.MentionSource = "annotated",
    min_prob: float = protocol.MIN_PROB,
    scheme: str | None = None,
    tally: ScoringTally | None = None,
) -> Iterator[ScoredDocument]:
    """Score the documents of a corpus one by one.

    Links that grammar rules out are no candidates: between a subject and an object of one verb, unless one is
    reflexive, and between a phrase and what modifies its head.

    Parameters
    ----------
    scorer
        Scorer of antecedents.
    documents
        `ScoredDocument` or `AnnotatedDocument`; their annotated entities, dates and metadata are carried over.
    mentions
        "annotated": the document's own. "parse": those found in its parse; a mention has the entity of the annotated
        one of the same span, or else of the same head, and the others have None.
    min_prob, scheme
        Least probability of a candidate that is kept, and dependency scheme of the parses: see
        `AntecedentScorer.score`.
    tally
        Object that counts what is scored. By default, nothing is counted.

    Raises
    ------
    ParameterError
        If a document has no tokens or no parse, labels that fit no scheme or are ambiguous, or mentions that break
        their rules; the place is the doc_id.
    """
    _checks.choice("mentions", mentions, protocol.MENTION_SOURCES)
    _checks.require("scorer", hasattr(scorer, "score"), "must be a scorer", shown(scorer), hint="load_scorer()")
    for document in _checks.elements("documents", documents, ScoredDocument, AnnotatedDocument, hint=_checks.READS):
        try:
            require_language(scorer, document.metadata)
            tokens = required_tokens(document)
            if "dep" in scorer.needs and len(tokens) and tokens.is_unparsed:
                raise ParameterError("tokens must be parsed to score mentions, got no dependency labels")
            spans, gold = np.asarray(document.mentions), gold_entities(document)
            own_scheme = scheme or document_scheme(document)
            if mentions == "parse":
                parse_mentions = mentions_from_parse(tokens, scheme=own_scheme, language=scorer.language)
                gold = None if gold is None else gold_of_parse(spans, gold, parse_mentions)
                spans = parse_mentions
            (scored,) = score_mentions(scorer, [tokens], [spans], min_prob, own_scheme)
        except ParameterError as error:
            raise error.at(f"doc_id {document.doc_id!r}") from None
        seen = document_checksum(document.tokens) in scorer.seen
        if tally is not None:
            tally.add(scored, gold, known_words(scorer, tokens), seen=seen)
        metadata = document.scored_metadata if isinstance(document, AnnotatedDocument) else document.metadata
        metadata = scored_metadata(scorer, {**metadata, **scheme_metadata(own_scheme, tokens.dep)}, seen=seen)
        fields: Any = {"mentions": spans, "antecedents": scored.distribution, "gold": gold, "metadata": metadata}
        if isinstance(document, ScoredDocument):
            yield dataclasses.replace(document, **fields)
        else:
            yield ScoredDocument(doc_id=document.doc_id, date=document.date, tokens=document.tokens, **fields)


def document_scheme(document: protocol.MentionDocument) -> str | None:
    """The scheme that a document declares; of an annotated one, which comes from CoNLL-U, else a universal one."""
    if document.tokens is None:
        return None
    labels = document.tokens.dep
    declared = declared_scheme(document.metadata, labels)
    return declared or (universal_scheme(labels) if isinstance(document, AnnotatedDocument) else None)


def score_parses(
    scorer: protocol.AntecedentScorer,
    parses: Sequence[Tokens],
    *,
    min_prob: float = protocol.MIN_PROB,
    scheme: str | None = None,
) -> list[tuple[Ints32, Pruned]]:
    """Find the mentions in each of several parses of a document, and score their antecedents.

    Parameters
    ----------
    scorer
        Scorer of antecedents.
    parses
        Parses of the same words.
    min_prob, scheme
        See `AntecedentScorer.score`.

    Returns
    -------
    list of (int32 (n_mentions, 3), Pruned)
        Mentions of each parse, and the distribution of their antecedents.

    Raises
    ------
    ParameterError
        If a parse has no labels, or its labels fit no scheme or are ambiguous.
    """
    spans = [mentions_from_parse(tokens, scheme=scheme, language=scorer.language) for tokens in parses]
    return list(zip(spans, score_mentions(scorer, parses, spans, min_prob, scheme), strict=True))


def score_mentions(
    scorer: protocol.AntecedentScorer,
    texts: Sequence[Tokens],
    spans: Sequence[np.typing.NDArray[Any]],
    min_prob: float,
    scheme: str | None,
) -> list[Pruned]:
    """Score the mentions of several texts, without the links that grammar rules out where there is a parse."""
    scored = scorer.score(texts, spans, min_prob=min_prob, scheme=scheme)
    for n, (tokens, mentions) in enumerate(zip(texts, spans, strict=True)):
        if not tokens.is_unparsed:
            pairs = cannot_link_pairs(tokens, mentions, scheme=scheme, language=scorer.language)
            scored[n] = dataclasses.replace(scored[n], distribution=scored[n].distribution.without_links(pairs))
    return scored


def require_language(scorer: protocol.AntecedentScorer, metadata: Mapping[str, Any], path: str = "") -> None:
    """Raise ParameterError if the metadata of a document, or the name of its file, say another language."""
    other_language = scorer.language.other_of(metadata, path)
    if other_language is not None:
        rule = f"must be of the language of the document ({other_language}), got a model of {scorer.language.code}"
        raise ParameterError(rule, parameter="model", hint=protocol.other_scorer(other_language))


def scored_metadata(
    scorer: protocol.AntecedentScorer, metadata: Mapping[str, Any], *, seen: bool = False
) -> dict[str, Any]:
    """Metadata of a document that was scored: its language, unless English, and whether the scorer had seen it.

    The new scores have not been recalibrated.
    """
    remaining = {name: value for name, value in metadata.items() if name not in (RECALIBRATION_FIELD, SEEN_FIELD)}
    remaining = scorer.language.declared_in(remaining)
    return {**remaining, SEEN_FIELD: True} if seen else remaining


def document_checksum(tokens: Tokens | None) -> str:
    """Twelve hexadecimal digits of the words of a document; "" without any."""
    if tokens is None or not len(tokens):
        return ""
    text = "\n".join(tokens.text).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=6).hexdigest()


def known_words(scorer: protocol.AntecedentScorer, tokens: Tokens) -> tuple[int, int]:
    """Number of words of letters, and of those that the scorer knows."""
    words = [text.lower() for text in tokens.text if text.isalpha()]
    return len(words), int(scorer.knows(words).sum())


def few_known_words(tally: ScoringTally) -> str | None:
    """What to say of texts most of whose words a model does not know; None of others."""
    if tally.n_words < ENOUGH_WORDS or tally.known_share >= FEW_KNOWN:
        return None
    return (
        f"the model knows {tally.known_share:.0%} of the words (of text like that of its training about 85%): they may "
        "be of another language or genre; `corefsample train` makes a model of annotated documents like these"
    )


def required_tokens(document: protocol.MentionDocument) -> Tokens:
    """Tokens of a document, or raise ParameterError."""
    if document.tokens is None:
        raise ParameterError("tokens is required")
    return document.tokens


def gold_entities(document: protocol.MentionDocument) -> list[int | str | None] | None:
    """Annotated entity of each mention, or None where the document has no annotation."""
    if isinstance(document, AnnotatedDocument):
        return list(document.entities)
    return None if document.gold is None else list(document.gold)


def gold_of_parse(spans: np.typing.NDArray[Any], gold: Gold, parse_spans: np.typing.NDArray[Any]) -> Gold:
    """Entity of each mention of a parse: of the first annotated mention of the same span, or else of the same head.

    An annotated mention whose span the parse has is not taken for another of the same head.
    """
    by_span: dict[tuple[int, int], int | str | None] = {}
    by_head: dict[int, int | str | None] = {}
    parse_bounds = set(map(tuple, parse_spans[:, :2].tolist()))
    for (start, end, head), entity in zip(spans.tolist(), gold, strict=True):
        by_span.setdefault((start, end), entity)
        if (start, end) not in parse_bounds:
            by_head.setdefault(head, entity)
    entities: dict[tuple[int, int], int | str | None] = {}
    # A name has the head of the coordination that it begins, and comes first.
    for start, end, head in sorted(parse_spans.tolist(), key=lambda span: span[1] - span[0]):
        entities[start, end] = by_span[start, end] if (start, end) in by_span else by_head.pop(head, None)
    return [entities[start, end] for start, end in parse_spans[:, :2].tolist()]
