"""Documents as the antecedent model reads them: encoded mentions, hashed by templates."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from corefsample.documents import Tokens, checked_mentions
from corefsample.mention_ranking import _kernels
from corefsample.mention_ranking._kernels import Hashed
from corefsample.mention_ranking.features import _atom_kernels, _encoding_kernels, _pair_kernels
from corefsample.mention_ranking.features._encoding_kernels import Text
from corefsample.mention_ranking.features._pair_kernels import Encoded
from corefsample.mention_ranking.features._templates import CompiledTemplates, TemplateSet
from corefsample.mention_ranking.features._words import Column, Words, word_lists_hash, word_table
from corefsample.syntax import NeutralParse, neutral_parse

__all__ = ["encode", "features_hash", "hashed"]

VERSION = 1  # of what the atoms mean


@cache
def features_hash() -> int:
    """CRC-32 of what atoms there are and of the word lists: models of another one read other features."""
    atoms = (VERSION, _encoding_kernels.ATOMS, _pair_kernels.PAIR_ATOMS)
    return zlib.crc32(repr(atoms).encode(), word_lists_hash())


def _known(hashes: Words, endings: Words, vocabulary: Words) -> Words:
    """Return the hashes that the vocabulary has, and endings instead of the others."""
    if vocabulary.size == 0:
        return endings.copy()
    places = np.minimum(np.searchsorted(vocabulary, hashes), vocabulary.size - 1)
    return np.where(vocabulary[places] == hashes, hashes, endings)


def _text(words: Words, vocabulary: Words, parse: NeutralParse, sent: Any, mentions: npt.NDArray[np.int32]) -> Text:
    endings = words[:, Column.ENDING]
    return Text(
        words=words,
        known_forms=_known(words[:, Column.FORM], endings, vocabulary),
        known_lemmas=_known(words[:, Column.LEMMA], endings, vocabulary),
        head=parse.head,
        link=parse.link,
        role=parse.role,
        governor=parse.governor,
        marker=parse.marker,
        # Sentences count by those that have words: numbers may leave some out.
        sent=np.unique(sent, return_inverse=True)[1].astype(np.int32),
        mentions=mentions,
    )


def encode(tokens: Tokens, mentions: npt.ArrayLike, vocabulary: Words, *, scheme: str | None = None) -> Encoded:
    """Encode the mentions of a document.

    Parameters
    ----------
    tokens
        Words with their parse.
    mentions
        int (n_mentions, 3): start, end (exclusive) and head, sorted by start, then longest first.
    vocabulary
        uint32, ascending: hashes of the words that features may name.
    scheme
        ud2, ud1 or clearnlp; None: told from the labels.

    Raises
    ------
    ParameterError
        If the labels fit no scheme, mentions break their rules, or ``xpos`` or ``feats`` hold what is no string.
    """
    spans = checked_mentions(mentions, len(tokens))
    words = word_table(tokens)
    text = _text(words, vocabulary, neutral_parse(tokens, scheme), tokens.sent, spans)
    n = len(spans)
    atoms = np.zeros((n, len(_encoding_kernels.ATOMS)), np.uint32)
    facts = np.zeros((n, _encoding_kernels.N_FACTS), np.uint32)
    _atom_kernels.encode(text, atoms, facts)
    indptr, blooms = np.zeros(n + 1, np.int32), np.zeros(n, np.uint32)
    room = int(np.minimum(spans[:, 1] - spans[:, 0], _atom_kernels.MODIFIER_TOKENS).sum())
    modifiers, before = np.empty(room, np.uint32), np.empty(room, np.bool_)
    _atom_kernels.fill_modifiers(text, indptr, modifiers, before, blooms)
    return Encoded(
        atoms, facts, spans, text.head, text.link, text.role, text.governor, indptr, modifiers, before, blooms
    )


def _hashes(atoms: Words, template_atoms: npt.NDArray[np.int32], seeds: Words) -> Words:
    hashes = np.empty((len(atoms), len(seeds)), np.uint32)
    _kernels.hash_mentions(atoms, template_atoms, seeds, hashes)
    return hashes


def hashed(doc: Encoded, templates: TemplateSet) -> Hashed:
    """Hash the mentions of an encoded document by each template."""

    def sides(group: CompiledTemplates) -> tuple[Words, Words, npt.NDArray[np.int32]]:
        nothing = np.zeros_like(group.seeds)
        return (
            _hashes(doc.atoms, group.mention, group.seeds),
            _hashes(doc.atoms, group.candidate, nothing),
            group.pair,
        )

    pronoun, phrase, new = templates.groups
    return Hashed(*sides(pronoun), *sides(phrase), _hashes(doc.atoms, new.mention, new.seeds), new.best)
