"""What a model is trained on of an annotated document: its mentions or those of its parse, whole or in windows.

A count of events depends on few mentions near each other, in texts that may be a few sentences long; a model that saw
whole documents alone is too sure of links there. Windows are short texts with the annotation of the whole.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Literal, NamedTuple

import numpy as np

from corefsample._arrays import Bools, Ints, Ints32, Words32
from corefsample._random import document_key
from corefsample.documents._tokens import STRING_COLUMNS, Tokens
from corefsample.errors import ParameterError
from corefsample.languages._language import Language
from corefsample.scorers._scoring import Gold, document_scheme, gold_entities, gold_of_parse, required_tokens
from corefsample.scorers.log_linear._encoding import TemplateSet, encoded
from corefsample.scorers.log_linear._feature_codes import Atom
from corefsample.scorers.log_linear._kernels import Hashed
from corefsample.scorers.log_linear._pair_kernels import Encoded
from corefsample.scorers.protocol import MentionDocument
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._schemes import schemes_of

TrainingMentions = Literal["annotated", "parse", "both"]
LONGEST_WINDOW = 6  # sentences


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """Documents to train on, and what is read of them.

    Attributes
    ----------
    documents
        Documents with tokens, mentions and annotated entities.
    weight
        Weight of their losses, above 0; that of the main corpus is 1.
    mentions, windows
        Mentions and windows of the training examples: see `train`.
    partial
        True if only some kinds of entities are annotated. Phrases of the parse that are not annotated are then left out
        of the losses, and NEW has weights of its own for these documents.
    """

    documents: Sequence[MentionDocument]
    weight: float = 1.0
    mentions: TrainingMentions = "annotated"
    windows: bool = False
    partial: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """An encoded document with its entities: int64 (n_mentions,), -1 where not annotated; and weight of its losses."""

    doc: Encoded
    hashed: Hashed
    entities: Ints
    weight: float = 1.0

    @property
    def n_annotated(self) -> int:
        """Number of annotated mentions."""
        return int((self.entities >= 0).sum())


class Reading(NamedTuple):
    """Words, mentions int32 (n_mentions, 3), entity of each mention (None if not annotated), and scheme."""

    tokens: Tokens
    mentions: Ints32
    gold: Gold
    scheme: str | None


def examples_of(
    texts: TrainingTexts,
    vocabulary: Words32,
    templates: TemplateSet,
    language: Language,
    scheme: str | None = None,
    seed: int = 0,
) -> list[Example]:
    """Encode documents, as `readings` says; documents without annotated entities are left out.

    Raises
    ------
    ParameterError
        If a document has no tokens, or cannot be encoded; the text begins with the doc_id.
    """
    examples: list[Example] = []
    for document in texts.documents:
        gold = gold_entities(document)
        if gold is None or all(entity is None for entity in gold):
            continue
        try:
            whole = Reading(required_tokens(document), document.mentions, gold, scheme or document_scheme(document))
            for reading in readings(whole, texts, seed, document.doc_id, language):
                doc = encoded(reading.tokens, reading.mentions, vocabulary, language, scheme=reading.scheme)
                doc.atoms[:, Atom.PARTIAL] = texts.partial
                codes: dict[int | str, int] = {}
                entities = [-1 if entity is None else codes.setdefault(entity, len(codes)) for entity in reading.gold]
                examples.append(Example(doc, templates.hashed(doc), np.array(entities, np.int64), texts.weight))
        except ParameterError as error:
            raise error.at(f"doc_id {document.doc_id!r}") from None
        logging.getLogger("corefsample.steps").info("encoded document %d", len(examples) + 1)
    return examples


def readings(annotated: Reading, texts: TrainingTexts, seed: int, doc_id: str, language: Language) -> Iterator[Reading]:
    """Readings of one document, with its annotated mentions or those of its parse, each followed by its windows.

    Parameters
    ----------
    annotated
        The document with its annotated mentions.
    texts
        The documents among which it is, with what is read of them.
    seed
        Seed of the windows.
    doc_id
        Id of the document, which determines the windows together with the seed.
    language
        Resources of the language of the words.
    """
    wholes = [] if texts.mentions == "parse" else [annotated]
    if texts.mentions != "annotated":
        spans = mentions_from_parse(annotated.tokens, scheme=annotated.scheme, language=language)
        gold = gold_of_parse(annotated.mentions, annotated.gold, spans)
        if not texts.partial:
            # A phrase that no annotator marked is of no entity but its own; one of several with one head may be.
            heads = annotated.mentions[:, 2].tolist()
            unannotated_heads = set(compress(heads, (entity is None for entity in annotated.gold)))
            for i, head in enumerate(spans[:, 2].tolist()):
                if gold[i] is None and head not in unannotated_heads:
                    gold[i] = f"\0{i}"
        wholes.append(annotated._replace(mentions=spans, gold=gold))
    for whole in wholes:
        yield whole
        if texts.windows:
            yield from _windows(whole, np.random.Generator(np.random.Philox(document_key(seed, doc_id))))


def _windows(document: Reading, generator: np.random.Generator) -> Iterator[Reading]:
    """Cut a document into windows of 1 to 6 sentences, half of them with its first sentence in front.

    The first sentence is a headline in news; who reads an article's lead has read it.
    """
    sentences = np.unique(document.tokens.sent)
    # A window may have labels of several schemes only; that of the whole document reads it.
    document = document._replace(scheme=schemes_of(document.tokens.dep, document.scheme)[0])
    begin = 0
    while begin < len(sentences):
        end = begin + int(generator.integers(1, LONGEST_WINDOW + 1))
        window = sentences[begin:end]
        if generator.random() < 0.5:
            window = np.union1d(window, sentences[:1])
        if len(window) < len(sentences):
            cut = window_of(document, np.isin(document.tokens.sent, window))
            if len(cut.mentions) > 1:
                yield cut
        begin = end


def window_of(document: Reading, is_selected: Bools) -> Reading:
    """The selected tokens, whole sentences, and the mentions within them."""
    tokens = document.tokens
    # Of each selected token; the last is of no head.
    offsets = np.append(np.cumsum(is_selected, dtype=np.int32) - 1, np.int32(-1))
    short = Tokens(
        **{name: list(compress(getattr(tokens, name), is_selected)) for name in STRING_COLUMNS},
        head=offsets[tokens.head[is_selected]],
        sent=np.unique(tokens.sent[is_selected], return_inverse=True)[1].astype(np.int32),
        extra={name: list(compress(values, is_selected)) for name, values in tokens.extra.items()},
    )
    first, last = document.mentions[:, 0], document.mentions[:, 1] - 1
    inside = is_selected[first] & is_selected[last] & is_selected[document.mentions[:, 2]]
    inside &= tokens.sent[first] == tokens.sent[last]
    mentions = offsets[document.mentions[inside] - [0, 1, 0]] + np.array([0, 1, 0], np.int32)
    return Reading(short, mentions, list(compress(document.gold, inside)), document.scheme)
