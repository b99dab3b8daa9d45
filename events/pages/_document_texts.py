"""Texts of a report's documents with mentions, entities and antecedents, packed for the page.

A part is some documents as JSON, deflated, in base64; the browser unpacks a part when it is needed. A document has

===== ====================================================================================================
tokens    words, each with a blank before it if the text has one
sentences first token of each sentence
mentions  start, end and entity of each mention; entity 0 is a mention alone
estimate  entity of each mention in the estimate with the smallest Binder loss, numbered in the same way
links     for each mention: antecedents, the likeliest first, with their probability p in thousandths
new       for each mention: probability of NEW, in thousandths
best      for each mention: its likeliest antecedent, -1 for NEW
about     names and values of the document's metadata, without the fingerprint of its recalibration
left_out  kind and text of what stands before the first sentence: datelines, credits, notes
events    by number of the actor: instances, descriptions and reasons, as in `places`
===== ====================================================================================================
"""

import datetime
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

from corefsample import CorefsampleError, InputError, Tokens, map_clustering
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._scored import RECALIBRATION_FIELD, ScoredDocument
from corefsample.formats import DocumentStream
from corefsample.summaries import point_estimate
from events.evidence._rule_set import RuleSet
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.news._preparation import LEFT_OUT
from events.pages._rendering import packed_parts
from events.rules._rules import BY_RULES, Rule, rules_and_outcomes

Places = list[tuple[int, str]]  # the evidence of a document: number of the actor, and the column `places`

_HIDDEN = (RECALIBRATION_FIELD, LEFT_OUT)
_MAX_ANTECEDENTS = 5  # per mention
_MIN_PROBABILITY = 0.001  # of an antecedent in the page
_MAX_VALUE_LENGTH = 400  # letters of a metadata value


def document_texts(path: Path, wanted: Mapping[str, Places]) -> tuple[list[str], dict[str, int]]:
    """Read texts of documents from a run's folder, and pack them.

    Parameters
    ----------
    path
        Path of documents.parquet in the folder of the run.
    wanted
        Places of the events of each document to read, by doc_id.

    Returns
    -------
    list of str
        The packed parts.
    dict of str to int
        Number of each document, by doc_id; divided by `PER_PART`, the quotient is the part and the remainder the place
        in it.

    Raises
    ------
    InputError
        If the file lacks one of the documents, or an event lies outside its document.
    """
    numbers: dict[str, int] = {}

    def contents() -> Iterator[dict[str, Any]]:
        batch: DocumentBatch
        for batch in DocumentStream(path, needs=("tokens",)) if wanted else ():
            for row, doc_id in enumerate(batch.doc_ids):
                if doc_id in wanted:
                    numbers[doc_id] = len(numbers)
                    yield _content(batch.document(row), wanted[doc_id])

    packed = packed_parts(contents())
    missing = [doc_id for doc_id in wanted if doc_id not in numbers]
    if missing:
        raise InputError(f"doc_id {missing[0]!r} of the evidence is missing", place=str(path))
    return packed, numbers


def _content(document: ScoredDocument, places: Places) -> dict[str, Any]:
    tokens, antecedents = document.tokens, document.antecedents
    assert tokens is not None  # the stream needs them
    entities = _entities(map_clustering(antecedents).tolist())
    links, best = [], []
    for mention, new_prob in enumerate(antecedents.new_probs.tolist()):
        candidates, probabilities = antecedents.row(mention)
        # Among equal ones the nearer first, as in the one best clustering.
        order = np.lexsort((-candidates, -probabilities))[:_MAX_ANTECEDENTS].tolist()
        likely = [k for k in order if probabilities[k] >= _MIN_PROBABILITY]
        links.append([{"antecedent": int(candidates[k]), "p": round(1000 * probabilities[k])} for k in likely])
        best.append(int(candidates[order[0]]) if order and probabilities[order[0]] > new_prob else -1)
    about = []
    for name, value in document.metadata.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if name not in _HIDDEN:
            about.append([name, text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}..."])
    return {
        "tokens": spaced(tokens),
        "sentences": [start for start, _ in tokens.sentences().values()],
        "mentions": [
            {"start": start, "end": end, "entity": entity}
            for (start, end, _), entity in zip(document.mentions.tolist(), entities, strict=True)
        ],
        "estimate": _entities(point_estimate(antecedents, loss="binder").labels.tolist()),  # exact link marginals
        "links": links,
        "new": np.rint(1000.0 * antecedents.new_probs).astype(int).tolist(),
        "best": best,
        "about": about,
        "left_out": left_out(document.metadata),
        "events": {actor: named_places(text) for actor, text in places},
    }


def _entities(labels: Sequence[int]) -> list[int]:
    """Number the entities with several mentions from 1, in the order of the text; other mentions get 0."""
    sizes, numbers = Counter(labels), dict[int, int]()
    return [numbers.setdefault(label, len(numbers) + 1) if sizes[label] > 1 else 0 for label in labels]


def left_out(metadata: Mapping[str, Any]) -> list[list[str]]:
    """Kind and text of each piece of an article that was not parsed; empty if the metadata are not of scored news."""
    pieces = metadata.get(LEFT_OUT)
    pieces = pieces if isinstance(pieces, list) else []
    return [[str(piece["kind"]), str(piece["text"])] for piece in pieces if {"kind", "text"} <= piece.keys()]


def named_places(text: str) -> dict[str, Any]:
    """Content of the column `places` for the page, with probabilities in thousandths.

    Its numbers are those of tokens and mentions, of which -1 stands for a role that nothing fills.
    """
    places = json.loads(text)
    return {
        "instances": [
            {
                "trigger": trigger,
                "mentions": [m for m in mentions if m != -1],
                "p": round(1000 * p),
                "reports": round(1000 * p_reports),
            }
            for trigger, mentions, p, p_reports in places["instances"]
        ],
        "descriptions": [
            {"mention": mention, "words": words, "p": round(1000 * p), "stands_for": code if is_stand_in else ""}
            for mention, code, words, p, is_stand_in in places["descriptions"]
        ],
        "reasons": [
            {"text": name, "p": round(1000 * p), "mentions": [m for m, _ in others if m != -1]}
            for name, p, others in places["reasons"]
        ],
    }


PLAIN, TRIGGER, NAME = 0, 1, 2


@dataclass(frozen=True, slots=True)
class MarkedText:
    """The text of a document in pieces.

    Attributes
    ----------
    pieces
        Pairs of a kind, PLAIN, TRIGGER or NAME, and a piece of the text; adjacent pieces differ in kind, or are two
        triggers or names with nothing between them.
    left_out
        Kind and text of each piece before the first sentence that was not parsed: see `left_out` of this module.
    """

    pieces: tuple[tuple[int, str], ...]
    left_out: Sequence[Sequence[str]] = ()

    @property
    def text(self) -> str:
        """The whole text, one line a sentence."""
        return "".join(piece for _, piece in self.pieces)


def marked_text(
    tokens: Tokens, date: datetime.date | None = None, rules: Sequence[Rule] = (), lexicon: Lexicon | None = None
) -> MarkedText:
    """Mark the words that rules and a lexicon look for in the text of a document.

    Parameters
    ----------
    tokens
        Words of the document.
    date
        Date of the document, which chooses between actors that share a name.
    rules
        Rules whose triggers are marked; without rules, no trigger is.
    lexicon
        Lexicon whose names are marked; with None, no name is.

    Examples
    --------
    >>> from corefsample import Tokens
    >>> from events import load_lexicon
    >>> from events import load_rules
    >>> words = ["Iraqi", "troops", "attacked", "."]
    >>> tokens = Tokens(words, ["Iraqi", "troop", "attack", "."], ["ADJ", "NOUN", "VERB", "PUNCT"],
    ...                 ["amod", "nsubj", "root", "punct"], [1, 2, -1, 2], [0, 0, 0, 0])
    >>> marked_text(tokens, rules=[load_rules("attack")], lexicon=load_lexicon()).pieces
    ((2, 'Iraqi'), (0, ' troops '), (1, 'attacked'), (0, '.'))
    """
    unmarked = (PLAIN, -1)
    marks = [unmarked] * len(tokens)  # kind of each token, and a number that differs between adjacent marks
    if lexicon is not None:
        matches = lexicon.match(tokens.text, tokens.head.tolist(), date, tokens.lemma)
        for number, (start, end) in enumerate(matches.spans.values()):
            marks[start:end] = [(NAME, number)] * (end - start)
    sentences = list(tokens.sentences().values())
    lemmas = [lemma.lower() for lemma in tokens.lemma]
    for frame in [frame for rule in rules for frame in rule.frames]:
        triggers = {t for t, lemma in enumerate(lemmas) if lemma in frame.lemmas and tokens.upos[t] in frame.upos}
        for phrase, (start, end) in product(frame.phrases, sentences):
            if {*phrase.words} <= {*lemmas[start:end]}:  # the sentence has all words of the phrase
                triggers |= {t for t in range(start, end) if lemmas[t] in phrase.words}
        for t in triggers:
            marks[t] = (TRIGGER, t)
    pieces: list[tuple[tuple[int, int], str]] = []  # kind and number of the mark, and a piece
    words = spaced(tokens)
    for number, (start, end) in enumerate(sentences):
        if number:
            pieces.append((unmarked, "\n"))
        for t in range(start, end):
            word = words[t].lstrip(" ")
            blank = words[t][: len(words[t]) - len(word)] if t > start else ""
            inside = t > start and marks[t] == marks[t - 1]  # a blank within a name belongs to it
            pieces += [(marks[t] if inside else unmarked, blank), (marks[t], word)]
    groups = groupby((piece for piece in pieces if piece[1]), key=lambda piece: piece[0])
    return MarkedText(tuple((mark[0], "".join(text for _, text in group)) for mark, group in groups))


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


def run_texts(record: Mapping[str, Any], doc_ids: Collection[str] | None = None) -> Iterator[tuple[str, MarkedText]]:
    """Yield doc_id and text of documents of a run, from those of its inputs that still exist.

    Triggers and names are marked if the rule and the lexicon of the run can still be read.

    Parameters
    ----------
    record
        Content of run.json of the run.
    doc_ids
        doc_ids of the documents to yield; by default, all documents.
    """
    definitions = run_definitions(record["arguments"])
    marks = ((), None) if definitions is None else (definitions.rules, definitions.lexicon)
    left = None if doc_ids is None else set(doc_ids)
    for path in [path for path in (os.fspath(each["path"]) for each in record["inputs"]) if Path(path).is_file()]:
        for read in DocumentStream(path, on_rejected=lambda rejected: None, parses=True):  # the run set these aside
            batch = read.usual_parses()
            for row, doc_id in enumerate(batch.doc_ids):
                if left is not None and doc_id not in left:
                    continue
                document = batch.document(row)
                if document.tokens is not None:
                    marked = marked_text(document.tokens, document.date, *marks)
                    yield doc_id, replace(marked, left_out=left_out(document.metadata))
                if left is not None:
                    left.remove(doc_id)
            if left is not None and not left:
                return


def run_definitions(arguments: Mapping[str, Any]) -> RuleSet | None:
    """Rules, lexicon and outcomes of a run, read again from their files; None if a file is missing or damaged."""
    try:
        names = arguments["rule"]
        rules, outcomes = rules_and_outcomes([names] if isinstance(names, str) else names, arguments["preset"])
        name = arguments["lexicon"]
        lexicon = None if name is None else load_lexicon(name)
        return RuleSet.of(
            rules, lexicon, [*outcomes, *arguments.get("outcome", ())], triggers=arguments.get("triggers", BY_RULES)
        )
    except (CorefsampleError, KeyError, TypeError):
        return None
