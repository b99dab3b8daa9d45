"""What a model is trained on of an annotated document: its mentions or those of its parse, whole or in windows.

A count of events depends on few mentions near each other, in texts that may be a few sentences long; a model that saw
whole documents alone is too sure of links there. Windows are short texts with the annotation of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress
from typing import Literal

import numpy as np

from corefsample._arrays import Bools, Ints32
from corefsample._random import document_key
from corefsample.documents._tokens import STRING_COLUMNS, Tokens
from corefsample.languages._language import Language
from corefsample.scorers._scoring import Gold, gold_of_found
from corefsample.syntax._mentions import mentions_from_parse
from corefsample.syntax._schemes import schemes_of

TrainingMentions = Literal["annotated", "parse", "both"]
TRAINING_MENTIONS: tuple[TrainingMentions, ...] = ("annotated", "parse", "both")
LONGEST_WINDOW = 6  # sentences


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """Words, mentions int32 (n_mentions, 3), entity of each mention (None if not annotated), scheme and language.

    In a partial annotation, a phrase that is not annotated may be of any entity.
    """

    tokens: Tokens
    mentions: Ints32
    gold: Gold
    scheme: str | None = None
    language: Language | None = None
    partial: bool = False


def readings(
    reading: Reading, *, mentions: TrainingMentions, window_seed: int | None, doc_id: str
) -> Iterator[Reading]:
    """Readings of one document.

    Parameters
    ----------
    reading
        The document with its annotated mentions.
    mentions
        "annotated": the annotated mentions. "parse": those found in the parse. "both": one reading with each.
    window_seed
        Seed of the windows, which come after the whole document. If None, there are no windows.
    doc_id
        Id of the document, which determines the windows together with the seed.
    """
    wholes = [] if mentions == "parse" else [reading]
    if mentions != "annotated":
        wholes.append(_of_parse(reading))
    for document in wholes:
        yield document
        if window_seed is not None:
            yield from _windows(document, np.random.Generator(np.random.Philox(document_key(window_seed, doc_id))))


def _of_parse(reading: Reading) -> Reading:
    """The reading with the mentions of its parse instead of the annotated ones."""
    parse_mentions = mentions_from_parse(reading.tokens, scheme=reading.scheme, language=reading.language)
    gold = gold_of_found(reading.mentions, reading.gold, parse_mentions)
    if not reading.partial:
        # A phrase that no annotator marked is of no entity but its own; one of several with one head may be.
        unannotated_heads = set(compress(reading.mentions[:, 2].tolist(), (entity is None for entity in reading.gold)))
        alone = [
            entity is None and head not in unannotated_heads
            for head, entity in zip(parse_mentions[:, 2].tolist(), gold, strict=True)
        ]
        gold = [(f"\0{i}" if alone[i] else entity) for i, entity in enumerate(gold)]
    return replace(reading, mentions=parse_mentions, gold=gold)


def _windows(document: Reading, generator: np.random.Generator) -> Iterator[Reading]:
    """Cut a document into windows of 1 to 6 sentences, half of them with its first sentence in front.

    The first sentence is a headline in news; who reads an article's lead has read it.
    """
    sentences = np.unique(document.tokens.sent)
    # A window may have labels of several schemes only; that of the whole document reads it.
    document = replace(document, scheme=schemes_of(document.tokens.dep, document.scheme)[0])
    begin = 0
    while begin < len(sentences):
        end = begin + int(generator.integers(1, LONGEST_WINDOW + 1))
        window = sentences[begin:end]
        if generator.random() < 0.5:
            window = np.union1d(window, sentences[:1])
        if len(window) < len(sentences):
            cut = _cut(document, np.isin(document.tokens.sent, window))
            if len(cut.mentions) > 1:
                yield cut
        begin = end


def _cut(document: Reading, is_selected: Bools) -> Reading:
    """The selected tokens, whole sentences, and the mentions within them."""
    tokens = document.tokens
    # Of each selected token; the last is of no head.
    offsets = np.append(np.cumsum(is_selected, dtype=np.int32) - 1, np.int32(-1))
    texts = {name: list(compress(getattr(tokens, name), is_selected)) for name in STRING_COLUMNS}
    extra = {name: list(compress(values, is_selected)) for name, values in tokens.extra.items()}
    short = Tokens(
        **texts,
        head=offsets[tokens.head[is_selected]],
        sent=np.unique(tokens.sent[is_selected], return_inverse=True)[1].astype(np.int32),
        extra=extra,
    )
    first, last = document.mentions[:, 0], document.mentions[:, 1] - 1
    inside = is_selected[first] & is_selected[last] & is_selected[document.mentions[:, 2]]
    inside &= tokens.sent[first] == tokens.sent[last]
    mentions = offsets[document.mentions[inside] - [0, 1, 0]] + np.array([0, 1, 0], np.int32)
    return replace(document, tokens=short, mentions=mentions, gold=list(compress(document.gold, inside)))
