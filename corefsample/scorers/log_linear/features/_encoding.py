"""Documents as the antecedent model reads them: their mentions as numbers, hashed by templates.

The columns of `corefsample.syntax._words.WordTable` describe each word by itself.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from corefsample._arrays import Bools, Ints32, Words32
from corefsample.documents._faults import checked_mentions
from corefsample.documents._tokens import NO_SPEAKER, SPEAKER, Tokens
from corefsample.languages._language import ENGLISH, Language, load_language
from corefsample.scorers.log_linear.features import _atom_kernels
from corefsample.scorers.log_linear.features import _feature_codes as codes
from corefsample.scorers.log_linear.features._encoding_kernels import Text
from corefsample.scorers.log_linear.features._pair_kernels import Encoded
from corefsample.syntax._codes import Column, syntax_codes
from corefsample.syntax._roles import NeutralParse
from corefsample.syntax._words import WordTable, extra_strings, language_hash

VERSION = 3  # of how the loops compute atoms; raise it when they change and the numbers in `_feature_codes` do not


@cache
def features_hash(language: Language) -> int:
    """CRC-32 of all that decides features: names of atoms, codes, limits, hash functions and resources of the language.

    A model file names the hash it was trained with; a model of another hash cannot be read.
    """
    numbers = (VERSION, syntax_codes(), sorted(codes.feature_codes().items()))
    return zlib.crc32(repr(numbers).encode(), language_hash(language))


def speaker_numbers(tokens: Tokens) -> Ints32:
    """Number of each token's speaker, from 1; 0 where the document names no speaker."""
    numbers: dict[str, int] = dict.fromkeys(NO_SPEAKER, 0)
    n_unnamed = len(numbers) - 1
    names = extra_strings(tokens, SPEAKER)
    return np.array([numbers.setdefault(name, len(numbers) - n_unnamed) for name in names], np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """How a model reads documents: the words that it distinguishes, and the resources of its language.

    Attributes
    ----------
    vocabulary
        uint32, ascending: hashes of the words that features may name.
    language
        Resources.
    """

    vocabulary: Words32
    language: Language = field(default_factory=partial(load_language, ENGLISH))

    def knows(self, hashes: Words32) -> Bools:
        """Whether the vocabulary has each of some words."""
        places = np.searchsorted(self.vocabulary, hashes)
        in_vocabulary: Bools = np.append(self.vocabulary, np.uint32(0))[places] == hashes  # no word has the hash 0
        return in_vocabulary

    def _named(self, hashes: Words32, endings: Words32) -> Words32:
        """Hashes of the words in the vocabulary, and endings instead of the others."""
        return np.where(self.knows(hashes), hashes, endings)

    def encode(self, tokens: Tokens, mentions: npt.ArrayLike, *, scheme: str | None = None) -> Encoded:
        """Encode the mentions of a document.

        Parameters
        ----------
        tokens
            Words with their parse.
        mentions
            int (n_mentions, 3): start, end (exclusive) and head, sorted by start, then longest first.
        scheme
            Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.

        Raises
        ------
        ParameterError
            If the labels fit no scheme or are ambiguous, mentions break their rules, or ``xpos``, ``feats`` or
            ``speaker`` has a value that is not a string.
        """
        spans, language = checked_mentions(mentions, len(tokens)), self.language
        tokens = language.adapted(tokens)
        words = WordTable.of(tokens, language).rows
        endings = words[:, Column.ENDING]
        parse = NeutralParse.of(tokens, scheme)
        speaker = speaker_numbers(tokens)
        text = Text(
            words=words,
            known_forms=self._named(words[:, Column.FORM], endings),
            known_lemmas=self._named(words[:, Column.LEMMA], endings),
            head=parse.head,
            link=parse.link,
            role=parse.role,
            governor=parse.governor,
            marker=parse.marker,
            # Only sentences with words count: the numbers in `tokens.sent` may have gaps.
            sent=np.unique(tokens.sent, return_inverse=True)[1].astype(np.int32),
            speaker=speaker,
            turn=np.cumsum(np.diff(speaker, prepend=speaker[:1]) != 0, dtype=np.int32),
            mentions=spans,
        )
        n = len(spans)
        atoms, facts = np.zeros((n, len(codes.ATOMS)), np.uint32), np.zeros((n, len(codes.Fact)), np.uint32)
        n_sentences = int(text.sent[-1]) + 1 if len(text.sent) else 0
        _atom_kernels.encode(text, n_sentences, atoms, facts)
        if not language.natural_gender:  # a masculine noun may be anything
            quantity = facts[:, codes.Fact.QUANTITY]
            quantity[quantity == codes.ONE_PERSON] = 0
        indptr, blooms = np.zeros(n + 1, np.int32), np.zeros(n, np.uint32)
        room = int(np.minimum(spans[:, 1] - spans[:, 0], codes.MODIFIER_TOKENS).sum())
        modifiers, before = np.empty(room, np.uint32), np.empty(room, np.bool_)
        _atom_kernels.fill_modifiers(text, indptr, modifiers, before, blooms)
        return Encoded(
            atoms, facts, spans, text.head, text.link, text.role, text.governor, indptr, modifiers, before, blooms
        )
