"""Conversion of spaCy Docs to documents of this library, and back.

spaCy makes tokens of whitespace beyond the single blank between words, such as a line break or a second blank. They are
not words, and parsers trained without them attach them anywhere, so the conversion leaves them out:

- token offsets here count words only; `word_offsets` gives the place of each in the Doc;
- a word below a removed token is attached to the nearest word above that token; without such a word, to the first
  word below it, which takes the root's place and label;
- `space_after` is true of a word before a removed token, as before a single blank;
- sentences without a word are not counted.

A Doc made from `Tokens` has therefore no tokens of whitespace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from corefsample import _checks
from corefsample._arrays import Ints32
from corefsample.documents._tokens import Tokens, span_head
from corefsample.errors import ParameterError, shown

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span
    from spacy.vocab import Vocab

    from corefsample.documents._scored import ScoredDocument


_ANNOTATIONS = (
    ("DEP", "a parse", "a parser"),
    ("SENT_START", "sentences", "a parser"),
    ("POS", "universal parts of speech", "a morphologizer, or a tagger with an attribute_ruler"),
    ("LEMMA", "lemmas", "a lemmatizer"),
)


def word_offsets(doc: Doc) -> Ints32:
    """Offsets of the tokens of a Doc that are words rather than whitespace.

    Returns
    -------
    int32 (n_words,), read-only, ascending
        The place in the Doc of each token of `tokens_of_doc`.
    """
    # Token.is_space is False for all tokens of a vocabulary without a language.
    offsets = np.array([t for t, text in enumerate(attribute_texts(doc, "ORTH")) if not text.isspace()], np.int32)
    offsets.flags.writeable = False
    return offsets


def word_tree(doc: Doc, offsets: Ints32) -> tuple[Ints32, list[str]]:
    """Head (-1: a root) and label of each word of `word_offsets`, without the tokens of whitespace in the tree."""
    labels = attribute_texts(doc, "DEP")
    positions = np.arange(len(doc))
    heads = positions + doc.to_array("HEAD").view(np.int64)
    number = np.full(len(doc), -1, np.int32)
    number[offsets] = np.arange(len(offsets))
    is_space = number < 0
    above = np.where(is_space, heads, positions)  # of whitespace the nearest word above, or its own root
    while (above != above[above]).any():
        above = above[above]
    above = np.where(heads == positions, positions, above[heads])[offsets]
    tree = np.where(above == offsets, -1, number[above]).astype(np.int32)
    words = [labels[token] for token in offsets.tolist()]
    for root in set(above[is_space[above]].tolist()):  # the first word below takes its place
        below = np.flatnonzero(above == root)
        tree[below] = below[0]
        tree[below[0]], words[below[0]] = -1, labels[root] or "ROOT"
    return tree, words


def attribute_texts(doc: Doc, name: str) -> list[str]:
    """Texts of an attribute of all tokens, by their numbers in the store of strings."""
    numbers: list[int] = doc.to_array(name).tolist()
    strings: Any = doc.vocab.strings
    texts: dict[int, str] = {number: strings[number] for number in set(numbers)}
    return list(map(texts.__getitem__, numbers))


MENTIONS = "mentions"  # the name of the group of spans with a document's mentions


# --- from spaCy --------------------------------------------------------------------------------------------


def tokens_of_doc(doc: Doc, *, blanks: bool = False) -> Tokens:
    """Words of a parsed Doc, with their lemmas, parts of speech, dependencies and sentences.

    Labels stay as the pipeline wrote them, those of ClearNLP or of Universal Dependencies; `corefsample.syntax`
    recognises the scheme.

    Parameters
    ----------
    doc
        Doc with a parse, sentences, universal parts of speech and lemmas. An empty Doc is allowed.
    blanks
        True if words may contain blanks, as words of a corpus do in some languages. By default they are an error,
        because tokenizers split at blanks, so a component has merged several words.

    Returns
    -------
    Tokens
        Words of the Doc without the tokens of whitespace, as described at the top of this module. Further columns are
        xpos, feats ("_" where a word has no features) and space_after.

    Raises
    ------
    ParameterError
        If `doc` is not a Doc, lacks a parse, sentences, parts of speech or lemmas, or has a word without a dependency
        label or with a blank in it.
    """
    _checks.spacy_doc(doc)
    for attribute, annotation, component in _ANNOTATIONS:
        hint = f"the pipeline needs {component}"
        _checks.require("doc", doc.has_annotation(attribute), f"must have {annotation}", "none", hint=hint)
    offsets = word_offsets(doc)
    unlabelled = offsets[doc.to_array("DEP")[offsets] == 0]
    if unlabelled.size:
        rule = "must have a dependency label for each word"
        raise ParameterError(f"{rule}, got none for {shown(doc[int(unlabelled[0])].text)}", parameter="doc")
    merged = next((text for text in attribute_texts(doc, "ORTH") if len(text.split()) > 1), None)
    hint = "leave components that merge tokens, such as merge_entities, out of the pipeline"
    _checks.require("doc", merged is None or blanks, "must have words without blanks", shown(merged), hint=hint)
    tree, labels = word_tree(doc, offsets)
    sentence = np.cumsum(doc.to_array("SENT_START") == 1)[offsets]
    sent = np.cumsum(np.diff(sentence, prepend=sentence[:1]) > 0, dtype=np.int32)  # without gaps
    of_word = offsets.tolist()
    spaced = doc.to_array("SPACY") == 1
    is_space = np.ones(len(doc), np.bool_)
    is_space[offsets] = False
    spaced[:-1] |= is_space[1:]

    def column(name: str, missing: str = "") -> list[str]:
        texts = attribute_texts(doc, name)
        return [texts[token] or missing for token in of_word]

    return Tokens(
        text=column("ORTH"),
        lemma=column("LEMMA"),
        upos=column("POS"),
        dep=labels,
        head=tree,
        sent=sent,
        extra={"xpos": column("TAG", "_"), "feats": column("MORPH", "_"), "space_after": spaced[offsets].tolist()},
    )


def mentions_of_spans(doc: Doc, spans: Sequence[Span]) -> Ints32:
    """Mentions of a scored document for spans of a parsed Doc, in the order given.

    Whitespace at the ends of a span is ignored.

    Returns
    -------
    int32 (n_spans, 3)
        Offsets of words: start, end (exclusive) and head. Of the words whose own head lies outside the span, the head
        is the one highest in the tree, and the first among equals.

    Raises
    ------
    ParameterError
        If a span has no word, or is of another Doc.
    """
    offsets = word_offsets(doc)
    heads, _ = word_tree(doc, offsets)
    depth, above = np.zeros(len(heads), np.int64), heads  # links from each word up to its root
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, heads[above], -1)
    head_list, depth_list = heads.tolist(), depth.tolist()
    mentions = np.zeros((len(spans), 3), np.int32)
    for i, span in enumerate(spans):
        if span.doc is not doc:
            raise ParameterError(f"mentions[{i}] must be a span of doc, got one of another: {shown(span.text)}")
        start, end = np.searchsorted(offsets, (span.start, span.end)).tolist()
        if start == end:
            raise ParameterError(f"mentions[{i}] must have a word, got {shown(span.text)}")
        mentions[i] = start, end, span_head(head_list, start, end, depth_list)
    return mentions


# --- to spaCy ----------------------------------------------------------------------------------------------


def doc_of_tokens(tokens: Tokens, vocab: Vocab) -> Doc:
    """Make a Doc of words and their parse.

    Parameters
    ----------
    tokens
        Words and their parse, with one root per sentence: spaCy's sentences are the trees of its parse. Of the further
        columns, xpos, feats and space_after are used. Without space_after, a blank follows every word.
    vocab
        Vocabulary of the pipeline to which the Doc will belong.

    Raises
    ------
    ParameterError
        If spaCy cannot represent the tokens: an empty word, a part of speech that is not universal, feats not written
        as name=value, or sentences that are not the trees.
    """
    from spacy.tokens import Doc

    n_tokens = len(tokens)
    feats, xpos = ([_or_empty(v) for v in tokens.extra.get(name, [""] * n_tokens)] for name in ("feats", "xpos"))
    try:
        doc = Doc(
            vocab,
            words=list(tokens.text),
            spaces=[bool(space) for space in tokens.extra.get("space_after", [True] * n_tokens)],
            tags=xpos,
            pos=[_or_empty(pos) for pos in tokens.upos],
            morphs=feats,
            lemmas=list(tokens.lemma),
            heads=[t if head < 0 else head for t, head in enumerate(tokens.head.tolist())],
            deps=list(tokens.dep),
        )
    except ValueError as error:
        raise ParameterError(f"must be what spaCy can represent, got: {error}", parameter="tokens") from None
    trees = {sentence.start for sentence in doc.sents}
    sentences = {start for start, _ in tokens.sentences().values()}
    if trees != sentences:
        start = min(trees ^ sentences)
        source = "sent" if start in sentences else "head"
        rule = "tokens.sent must be one tree per sentence"
        raise ParameterError(f"{rule}, got token {start} as a start only in {source}")
    return doc


def doc_of_scored_document(document: ScoredDocument, vocab: Vocab) -> Doc:
    """Make a Doc of a document's words and parse; its mentions are `doc.spans["mentions"]`, in order.

    Raises
    ------
    ParameterError
        If the document has no tokens, or spaCy cannot represent them: see `doc_of_tokens`.
    """
    if document.tokens is None:
        raise ParameterError("tokens are required for a Doc", place=f"doc_id {document.doc_id!r}")
    doc = doc_of_tokens(document.tokens, vocab)
    doc.spans[MENTIONS] = [doc[start:end] for start, end in document.mentions[:, :2].tolist()]
    return doc


def _or_empty(value: Any) -> str:
    return "" if value in ("_", None) else str(value)
