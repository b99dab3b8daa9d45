"""Texts of documents from their tokens, with blanks, and in pieces: triggers, names of a lexicon, and the rest."""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from corefsample.documents._rejected import Rejected
from corefsample.documents._tokens import Tokens
from corefsample.errors import CorefsampleError
from corefsample.formats import DocumentStream
from events.counting._definitions import Definitions
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.rules._rules import Rule, rules_and_outcomes

PLAIN, TRIGGER, NAME = 0, 1, 2


@dataclass(frozen=True, slots=True)
class MarkedText:
    """The text of a document in pieces.

    Attributes
    ----------
    pieces
        Pairs of a kind, PLAIN, TRIGGER or NAME, and a piece of the text; adjacent pieces differ in kind, or are two
        triggers or names with nothing between them.
    """

    pieces: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        """The whole text, one line a sentence."""
        return "".join(piece for _, piece in self.pieces)


@dataclass(frozen=True, slots=True)
class Marker:
    """Marks the words that rules and a lexicon look for.

    Attributes
    ----------
    rules
        Their triggers are marked; none for no marks.
    lexicon
        Its names are marked; None for no marks.
    """

    rules: Sequence[Rule] = ()
    lexicon: Lexicon | None = None

    def marked(self, tokens: Tokens, date: datetime.date | None = None) -> MarkedText:
        """The text of one document; its date chooses between actors that share a name.

        Examples
        --------
        >>> from corefsample import Tokens
        >>> from events import load_lexicon
        >>> from events import load_rules
        >>> words = ["Iraqi", "troops", "attacked", "."]
        >>> tokens = Tokens(words, ["Iraqi", "troop", "attack", "."], ["ADJ", "NOUN", "VERB", "PUNCT"],
        ...                 [1, 2, -1, 2], ["amod", "nsubj", "root", "punct"], [0, 0, 0, 0])
        >>> Marker([load_rules("attack")], load_lexicon()).marked(tokens).pieces
        ((2, 'Iraqi'), (0, ' troops '), (1, 'attacked'), (0, '.'))
        """
        marks = self._marks(tokens, date)
        pieces: list[tuple[tuple[int, int], str]] = []  # kind and number of the mark, and a piece
        unmarked = (PLAIN, -1)
        words = spaced(tokens)
        for number, (start, end) in enumerate(tokens.sentences().values()):
            if number:
                pieces.append((unmarked, "\n"))
            for t in range(start, end):
                word = words[t].lstrip(" ") if t == start else words[t]
                blank = word[: len(word) - len(word.lstrip(" "))]
                inside = t > start and marks[t] == marks[t - 1]  # a blank within a name belongs to it
                pieces += [(marks[t] if inside else unmarked, blank), (marks[t], word[len(blank) :])]
        groups = groupby((piece for piece in pieces if piece[1]), key=lambda piece: piece[0])
        return MarkedText(tuple((mark[0], "".join(text for _, text in group)) for mark, group in groups))

    def _marks(self, tokens: Tokens, date: datetime.date | None) -> list[tuple[int, int]]:
        """Kind of each token, and a number that differs between adjacent marks."""
        marks = [(PLAIN, -1)] * len(tokens)
        if self.lexicon is not None:
            found = self.lexicon.match(tokens.text, tokens.head.tolist(), date, tokens.lemma)
            for number, (start, end) in enumerate(found.spans.values()):
                marks[start:end] = [(NAME, number)] * (end - start)
        lemmas = [lemma.lower() for lemma in tokens.lemma]
        for frame in [frame for rule in self.rules for frame in rule.frames]:
            single = (t for t, lemma in enumerate(lemmas) if lemma in frame.lemmas and tokens.upos[t] in frame.upos)
            for t in [*single, *_phrase_words(tokens, lemmas, [phrase.words for phrase in frame.phrases])]:
                marks[t] = (TRIGGER, t)
        return marks


def _phrase_words(tokens: Tokens, lemmas: Sequence[str], phrases: Sequence[Sequence[str]]) -> Iterator[int]:
    """Words of phrases, in sentences that have all words of the phrase."""
    for start, end in tokens.sentences().values() if phrases else ():
        for words in phrases:
            if set(words) <= set(lemmas[start:end]):
                yield from (t for t in range(start, end) if lemmas[t] in words)


_CLITICS = frozenset(f"{mark}{end}" for mark in "'’" for end in ("s", "re", "ve", "ll", "d", "m"))
_NO_BLANK_BEFORE = frozenset([*".,;:!?)]}%'’”", "''", "...", "n't", "n’t", *_CLITICS])
_NO_BLANK_AFTER = frozenset([*"([{“‘$£€", "``"])


def spaced(tokens: Tokens) -> list[str]:
    """Words, each with a blank before it if the text has one.

    Blanks follow the column space_after of the tokens; without it, they follow English punctuation.
    """
    after = tokens.extra.get("space_after")
    words: list[str] = []
    blank = False
    opened = False  # whether a straight quotation mark is open
    for t, word in enumerate(tokens.written):
        quote = word == '"'
        before = blank if after is not None else blank and not (word in _NO_BLANK_BEFORE or (quote and opened))
        words.append(f" {word}" if before else word)
        opened ^= quote
        blank = bool(after[t]) if after is not None else not (word in _NO_BLANK_AFTER or (quote and opened))
    return words


def run_texts(record: Mapping[str, Any], chosen: Collection[str] | None = None) -> Iterator[tuple[str, MarkedText]]:
    """Yield doc_id and text of documents of a run, from those of its inputs that still exist.

    Triggers and names are marked if the rule and the lexicon of the run can still be read.

    Parameters
    ----------
    record
        Content of run.json.
    chosen
        Of which documents; None: of all.
    """
    found = run_definitions(record["arguments"])
    marker = Marker() if found is None else Marker(found.rules, found.lexicon)
    left = None if chosen is None else set(chosen)
    for path in [os.fspath(each["path"]) for each in record["inputs"] if Path(os.fspath(each["path"])).is_file()]:
        for batch in DocumentStream(path, on_rejected=_ignored, parses=True):
            if left is not None and left.isdisjoint(batch.doc_ids):
                continue
            for row, doc_id in enumerate(batch.doc_ids):
                if left is not None and doc_id not in left:
                    continue
                document = batch.document(row)
                if document.tokens is not None:
                    yield doc_id, marker.marked(document.tokens, document.date)
                if left is not None:
                    left.remove(doc_id)
            if left is not None and not left:
                return


def run_definitions(arguments: Mapping[str, Any]) -> Definitions | None:
    """The rules and the lexicon of a run, read again from their files; None where one moved or is damaged."""
    try:
        names = arguments["rule"]
        rules, _ = rules_and_outcomes([names] if isinstance(names, str) else names, arguments["preset"])
        name = arguments["lexicon"]
        return Definitions.of(rules, None if name is None else load_lexicon(name))
    except (CorefsampleError, KeyError, TypeError):
        return None


def _ignored(rejected: Rejected) -> None:
    """Leave out a document that the run set aside."""
