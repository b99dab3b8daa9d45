"""Selection of the documents in which an event is possible, by the columns of a batch, without Python objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from operator import or_
from typing import NamedTuple

import numpy as np

from corefsample._arrays import Bools, Ints, Ints32
from corefsample.documents._batch import DocumentBatch
from corefsample.documents._faults import Fault
from corefsample.documents._tokens import Tokens
from corefsample.errors import InputError, ParameterError
from corefsample.formats.scored._stream import DocumentStream
from corefsample.syntax._schemes import SCHEMES, declared_scheme, fitting_schemes
from events.lexicon._file import OF
from events.lexicon._lexicon import Lexicon, LexiconMatches
from events.matching._matches import MentionMatches
from events.matching._matching import match_rules
from events.matching._trigger_model import LEARNED
from events.rules._rules import Rule

_MOST_WORDS = 2**17
_FIRST_DOCUMENTS = 256  # number of documents from which the scheme of a file is determined
_IN_MEMORY = "documents"  # source of batches of Python objects
_MOST_FRAMES = 63  # bits of the flags of tokens


Sentences = dict[int, int]  # first token of a word of a rule, by the sentence
Names = dict[str, dict[int, tuple[int, int]]]  # span of the first name in a sentence, by code and sentence


class Cooccurrence(NamedTuple):
    """A word of a rule together with names of actors, whatever the rule makes of them.

    Readers see events where a rule does not: its word is negated, in another sense, or its roles are not filled. Where
    word and names are in one sentence, some 13% of such documents are misses (development parts of MUC and police
    news), where both are in the document 5%, elsewhere 0.02% of MUC. A class noun counts as a name of each actor of its
    class that the document names, and a default actor counts as named in every document. For any actor and for no named
    actor, no name is required: a document with the word is a miss in 15%, others in 0.6%, and whether the word is a
    trigger, is excluded or has filled roles says no more. Of events of two actors, only those in one sentence are
    listed.

    Attributes
    ----------
    in_sentence
        Whether word and names are in one sentence; if False, they are in one document.
    token
        The first word, in the first such sentence.
    names
        First token and exclusive end of the first name of each actor there; empty if they are not in one sentence.
    """

    in_sentence: bool
    token: int
    names: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class DocumentMatches:
    """Matches of rules and a lexicon in one document.

    Attributes
    ----------
    has_trigger
        Whether any parse of the document has a trigger of some rule.
    has_name
        Whether any parse of the document has a word that may begin a name of the lexicon.
    parses
        Matches of the rules whose event is possible in a parse, by the number of the parse; parses without such a rule
        are left out.
    triggers
        Triggers whose roles are filled in any parse, by the name of the rule: names of the conditions that exclude the
        trigger in any parse, by the trigger's token. If a role of the rule needs an actor, only documents with a word
        that may begin a name have triggers.
    cooccurrences
        Words and names that co-occur in any parse, by the name of the event and the actors' codes.
    """

    has_trigger: bool = False
    has_name: bool = False
    parses: dict[int, tuple[MentionMatches, ...]] = field(default_factory=dict)
    triggers: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    cooccurrences: dict[str, dict[tuple[str, ...], Cooccurrence]] = field(default_factory=dict)

    def add_cooccurrence(self, event: str, key: tuple[str, ...], cooccurrence: Cooccurrence) -> None:
        """Add words and names that co-occur; those in one sentence, and the first ones, replace others."""
        of_event = self.cooccurrences.setdefault(event, {})
        if key not in of_event or cooccurrence.in_sentence > of_event[key].in_sentence:
            of_event[key] = cooccurrence

    def add(self, parse: int, matches: Sequence[MentionMatches]) -> None:
        """Add the matches of the rules in one parse."""
        possible = tuple(rule_matches for rule_matches in matches if rule_matches.possible)
        if possible:
            self.parses[parse] = possible
        for rule_matches in matches:
            conditions_by_token = self.triggers.setdefault(rule_matches.event, {})
            for token in rule_matches.triggers.tolist():
                conditions_by_token.setdefault(token, set())
            for token, conditions in rule_matches.excluded:
                conditions_by_token.setdefault(token, set()).update(conditions)


class RuleMatcher:
    """Matcher of rules and a lexicon with batches, which skips documents without a trigger or an actor's name.

    Rules whose roles are all optional need no actor.

    Parameters
    ----------
    rules
        RuleSet of the events: one rule or several.
    lexicon
        Names of the actors.
    scheme
        Name of the dependency scheme; by default each document's scheme is recognised from its labels.

    Raises
    ------
    ParameterError
        If `rules` is empty, or the rules together have more than 63 frames.
    """

    def __init__(self, rules: Rule | Sequence[Rule], lexicon: Lexicon, scheme: str | None = None) -> None:
        self.rules = (rules,) if isinstance(rules, Rule) else tuple(rules)
        # Frames with the same words and parts of speech share a bit.
        bit_of_words: dict[tuple[frozenset[str], frozenset[str]], int] = {}
        for frame in (frame for rule in self.rules for frame in rule.frames):
            bit_of_words.setdefault((frame.words, frame.upos), len(bit_of_words))
        if not 1 <= len(bit_of_words) <= _MOST_FRAMES:
            message = f"must have 1 to {_MOST_FRAMES} different frames in all, got {len(bit_of_words)}"
            raise ParameterError(message, parameter="rules")
        self.lexicon = lexicon
        self._scheme = scheme
        self._file_scheme: tuple[str, str | None] = ("", None)  # last file with undecided documents, and its scheme
        self._schemes = list(SCHEMES) if scheme is None else [scheme]
        schemes = [SCHEMES[name] for name in self._schemes]
        # Bit i of a label: scheme i cannot read it.
        self._misfits = _cached_flags(
            lambda labels: [sum((s.reads(label) is None) << i for i, s in enumerate(schemes)) for label in labels]
        )
        # Bit i of a lemma or a part of speech: a trigger of frame i could have it.
        by_lemma = _bits(words for words, _ in bit_of_words)
        # Rules that have a word, and the other words of a phrase with it: phrases are found by their longest word.
        self._units: dict[str, set[tuple[int, frozenset[str]]]] = {}
        for r, rule in enumerate(self.rules):
            frames = [frame for frame in rule.frames if frame.name != LEARNED]
            phrases = [phrase.words for frame in frames for phrase in frame.phrases]
            for words in (*((lemma,) for frame in frames for lemma in frame.lemmas), *phrases):
                self._units.setdefault(max(words, key=len), set()).add((r, frozenset(words)))
        by_upos = _bits(upos for _, upos in bit_of_words)
        # Bits of the frames of each rule, and of its frames in which default actors may fill all roles
        self._frame_bits: list[tuple[int, int]] = []
        # Of frames with words of rules.
        of_rules = [frame for rule in self.rules for frame in rule.frames if frame.name != LEARNED]
        self._bits_of_rules = reduce(or_, (1 << bit_of_words[frame.words, frame.upos] for frame in of_rules), 0)
        for rule in self.rules:
            by_default = rule.may_be_absent.issuperset(rule.event)
            bits = [(1 << bit_of_words[frame.words, frame.upos], frame.required) for frame in rule.frames]
            default_bits = reduce(or_, (bit for bit, required in bits if by_default and not required), 0)
            self._frame_bits.append((reduce(or_, (bit for bit, _ in bits), 0), default_bits))
        self._lemmas = _cached_flags(lambda words: [by_lemma.get(word.lower(), 0) for word in words])
        # The same of the form of a verb, and the bits of all frames for a verb
        self._word_of_form = {form: word for rule in self.rules for form, word in rule.forms.items()}
        by_form = {form: by_lemma.get(word, 0) for form, word in self._word_of_form.items()}
        self._forms = _cached_flags(lambda words: [by_form.get(word.lower(), 0) for word in words])
        self._verbs = _cached_flags(lambda words: [-(word == "VERB") for word in words])
        self._upos = _cached_flags(lambda words: [by_upos.get(word, 0) for word in words])
        self._starts = _cached_flags(lambda words: lexicon.may_start(words).tolist())
        self._nouns = _cached_flags(lambda words: lexicon.noun_may_start(words).tolist())

    def __reduce__(self) -> tuple[type[RuleMatcher], tuple[object, ...]]:
        return RuleMatcher, (self.rules, self.lexicon, self._scheme)  # caches are not pickled

    def match(self, batch: DocumentBatch) -> tuple[dict[int, DocumentMatches], dict[int, Fault]]:
        """Match the documents of a batch, each in all its parses.

        Parameters
        ----------
        batch
            Documents with tokens.

        Returns
        -------
        matches
            Matches in each valid document, by the first row of the document.
        reasons
            Faults of the documents that have a parse which cannot be read, by the first row of the document.
        """
        firsts = batch.firsts
        first_rows = np.repeat(firsts, np.diff([*firsts, len(batch)]))
        misfits = _bits_of(batch, self._misfits(batch, "dep"))
        unreadable = np.all([misfits & 1 << i != 0 for i in range(len(self._schemes))], axis=0)
        words = self._lemmas(batch, "lemma")  # in any part of speech
        forms = self._forms(batch, "text") & self._verbs(batch, "upos")
        words |= forms
        triggers, has_name, promising = self._promising(batch, words)
        both = np.stack((triggers, has_name))
        of_documents = np.logical_or.reduceat(both, firsts, axis=1) if len(firsts) else both
        flags = zip(firsts.tolist(), *of_documents.tolist(), strict=True)
        matches = {row: DocumentMatches(has_trigger, is_named) for row, has_trigger, is_named in flags}
        reasons: dict[int, Fault] = {}
        has_word = _bits_of(batch, words) & self._bits_of_rules != 0
        if all(rule.optional.isdisjoint(rule.event) and rule.event for rule in self.rules):
            has_word &= has_name
        is_promising = np.any(promising, axis=0)
        for row in np.flatnonzero(unreadable | is_promising | has_word).tolist():
            first = int(first_rows[row])
            rules = [rule for rule, rows in zip(self.rules, promising, strict=True) if rows[row]] or self.rules
            tokens, date = batch.tokens(row), batch.dates[row].item()
            rule_matches: Sequence[MentionMatches] = ()
            try:
                if tokens is None:
                    raise InputError("tokens are required for events")
                of_row = slice(*batch.token_bounds[row : row + 2])
                sentences = self._sentences(tokens, words[of_row], forms[of_row])
                names = None
                if has_name[row] and any(sentences):
                    names = self.lexicon.match(tokens.text, tokens.head.tolist(), date, tokens.lemma)
                if is_promising[row] or unreadable[row]:
                    scheme, verbs = self.scheme_of(batch, row), np.flatnonzero(forms[of_row]).tolist()
                    spans = batch.spans(row)
                    rule_matches = match_rules(tokens, spans, rules, self.lexicon, date, scheme, names, verbs)
            except InputError as error:
                reasons.setdefault(first, Fault(error.message, error.hint))
                matches.pop(first, None)
                continue
            if first not in reasons:
                matches[first].add(row - first, rule_matches)
                self._add_cooccurrences(matches[first], sentences, self._names(names, tokens.sent))
        return matches, reasons

    def _sentences(self, tokens: Tokens, words: Ints, forms: Ints) -> list[Sentences]:
        """Sentences with a word of each rule, or with all words of a phrase, in any part of speech."""
        in_sentences: dict[int, dict[str, int]] = {}
        for token in np.flatnonzero(words).tolist():
            token_of = in_sentences.setdefault(int(tokens.sent[token]), {})
            token_of.setdefault(tokens.lemma[token].lower(), token)
            if forms[token]:
                token_of.setdefault(self._word_of_form[tokens.text[token].lower()], token)
        sentences: list[Sentences] = [{} for _ in self.rules]
        for number, token_of in in_sentences.items():
            for lemma, token in token_of.items():
                for rule, unit in self._units.get(lemma, ()):
                    if unit <= token_of.keys():
                        sentences[rule].setdefault(number, token)
        return sentences

    def _names(self, matches: LexiconMatches | None, sentences: Ints32) -> Names:
        """Names of actors by sentence, with the nouns of a class for each actor of the class that is named."""
        names: Names = {}
        if matches is not None:
            for head, codes in matches.codes.items():
                for code in codes.split(OF):
                    names.setdefault(code, {}).setdefault(int(sentences[head]), matches.spans[head])
            for class_code, members in self.lexicon.members.items():
                for code in members & names.keys() if class_code in names else ():
                    names[code] = names[class_code] | names[code]
        return names

    def _add_cooccurrences(self, matches: DocumentMatches, sentences: Sequence[Sentences], names: Names) -> None:
        """Add the words of rules and the names of actors that co-occur in one parse."""
        for rule, of_rule in zip(self.rules, sentences, strict=True):
            roles = []
            for role in rule.event if of_rule else ():
                default = rule.defaults[role].actor if role in rule.defaults and rule.filled != "named" else ""
                codes = self.lexicon.countable(names, rule.classes.get(role))
                others = {
                    *([""] if role in rule.optional else []),
                    *([default] if default in self.lexicon.kinds else []),
                }
                roles.append((*codes, *(others - {*codes})))
            for key in product(*roles) if of_rule else ():
                spans = [names.get(part, {}) for code in key if code for part in code.split(OF)]
                common = of_rule.keys() & set.intersection(*map(set, spans)) if spans else of_rule.keys()
                if not common and len(key) > 1:  # pairs of all actors of a document would be too many
                    continue
                sentence = min(common or of_rule)
                of_names = tuple(of_code[sentence] for of_code in spans) if common else ()
                matches.add_cooccurrence(rule.name, key, Cooccurrence(bool(common), of_rule[sentence], of_names))

    def _promising(self, batch: DocumentBatch, words: Ints) -> tuple[Bools, Bools, list[Bools]]:
        """Flags of documents: a trigger, a word that may begin an actor's name, and the words that each rule requires.

        A rule requires a trigger, and, if one of its roles must have an actor, a word that may begin an actor's name.
        """
        frame_bits = _bits_of(batch, words & self._upos(batch, "upos"))
        starts = self._starts(batch, "text")
        if self.lexicon.has_nouns:
            starts = starts | self._nouns(batch, "lemma")
        has_name = _bits_of(batch, starts) != 0
        promising_by_rule = []
        for rule, (bits, by_default) in zip(self.rules, self._frame_bits, strict=True):
            is_promising: Bools = (frame_bits & bits) != 0
            if not rule.optional.issuperset(rule.event):
                is_promising = (is_promising & has_name) | (frame_bits & by_default != 0)
            promising_by_rule.append(is_promising)
        return frame_bits & self._bits_of_rules != 0, has_name, promising_by_rule

    def scheme_of(self, batch: DocumentBatch, row: int) -> str | None:
        """Scheme by which the parse of a row is read; None if its labels fit one scheme only, or if it is undecided.

        If the labels fit several schemes, the scheme that the document declares or the scheme of its file is used.
        """
        if self._scheme is not None:
            return self._scheme
        tokens = batch.tokens(row)
        if tokens is None or len(fitting_schemes(tokens.dep)) < 2:
            return None
        declared = declared_scheme(batch.metadata(row), tokens.dep)
        if declared is not None:
            return declared
        if self._file_scheme[0] != batch.source or batch.source == _IN_MEMORY:
            self._file_scheme = batch.source, _scheme_of_file(batch)
        of_file = self._file_scheme[1]
        return of_file if of_file in fitting_schemes(tokens.dep) else None


def _scheme_of_file(batch: DocumentBatch) -> str | None:
    """The scheme that all labels of the first documents of the batch's file fit; None unless exactly one fits.

    For documents in memory, the labels of the batch are used.
    """
    if batch.source not in (_IN_MEMORY, "-"):
        stream = DocumentStream([batch.source], batch_size=_FIRST_DOCUMENTS, on_rejected=lambda rejected: None)
        batch = next(iter(stream), batch)
    fitting = fitting_schemes(batch.token_words("dep")[0].tolist())
    return fitting[0] if len(fitting) == 1 else None


def _cached_flags(value: Callable[[Sequence[str]], Sequence[int]]) -> Callable[[DocumentBatch, str], Ints]:
    """Function of a batch and a column that returns the value of each token; values of strings are computed once."""
    values: dict[str, int] = {}

    def flags(batch: DocumentBatch, column: str) -> Ints:
        words, indices = batch.token_words(column)
        if len(values) > _MOST_WORDS:  # limits the memory for large vocabularies
            values.clear()
        new = [word for word in words if word not in values]
        if new:
            values.update(zip(new, value(new), strict=True))
        return np.fromiter(map(values.__getitem__, words), np.int64, len(words))[indices]

    return flags


def _bits(word_sets: Iterable[Iterable[str]]) -> dict[str, int]:
    """Bits of the word sets that contain a word, by the word: bit i for set i."""
    bits: dict[str, int] = {}
    for i, words in enumerate(word_sets):
        for word in words:
            bits[word] = bits.get(word, 0) | 1 << i
    return bits


def _bits_of(batch: DocumentBatch, flags: Ints) -> Ints:
    """Bits that are set in any token of each document."""
    result = np.zeros(len(batch), np.int64)
    starts, ends = batch.token_bounds[:-1], batch.token_bounds[1:]
    with_tokens = starts < ends
    result[with_tokens] = np.bitwise_or.reduceat(flags, starts[with_tokens]) if len(flags) else 0
    return result
