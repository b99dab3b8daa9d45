"""Inline examples of rule files, checked with the same matching and evaluation as documents."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from corefsample import CorefsampleError, InputError, Tokens
from corefsample.syntax._schemes import SCHEMES
from events.evidence._evaluation import evaluate_clustering
from events.lexicon._lexicon import Lexicon, LexiconMatches, load_lexicon
from events.matching._matching import match_document
from events.rules._format import Example
from events.rules._rules import Rule, is_shipped_rule

_ANY_DATE = datetime.date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class _Words:
    """A lexicon with the words that an example defines."""

    codes: dict[str, str]
    kinds: Mapping[str, str]  # class of each code
    inner_codes: frozenset[str]
    inner_counts_as: frozenset[str]
    related: Mapping[str, frozenset[str]]
    members: ClassVar[Mapping[str, frozenset[str]]] = {}
    state_nouns: ClassVar[frozenset[str]] = frozenset()

    countable, are_distinct, _beyond = Lexicon.countable, Lexicon.are_distinct, Lexicon._beyond

    def match(
        self,
        text: Sequence[str],
        heads: Sequence[int],
        date: datetime.date | None,
        lemma: Sequence[str] | None = None,
    ) -> LexiconMatches:
        codes = {t: self.codes[word] for t, word in enumerate(text) if word in self.codes}
        return LexiconMatches(codes, {t: (t, t + 1) for t in codes}, 0)


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """The events that a rule finds in one of its inline examples.

    Attributes
    ----------
    number, example
        Number of the example in the file, from 0, and the example.
    preset
        Name of the rule's preset.
    events
        Names of the events that the rule finds in the example, sorted.
    fault
        Error that says why the example fails or cannot be read, with its file and number as the place; None if the
        example passes.
    """

    number: int
    example: Example
    preset: str
    events: tuple[str, ...]
    fault: InputError | None

    @property
    def expected(self) -> tuple[str, ...]:
        """Names of the events that the rule must find, sorted."""
        return tuple(sorted(set(self.example.expect[self.preset])))

    @property
    def text(self) -> str:
        """The words of the example."""
        return " ".join(line.split()[1] for line in self.example.parse.splitlines() if len(line.split()) > 1)


def example_results(rule: Rule, lexicon: Lexicon | None = None) -> Iterator[ExampleResult]:
    """Results of applying a rule to each inline example of its preset; see `check_examples` for the parameters."""
    example_lexicon = lexicon
    if example_lexicon is None or is_shipped_rule(rule.source):
        example_lexicon = load_lexicon(language=rule.language)
    if rule.defaults:  # in examples every default actor is one of the lexicon
        kinds = {each.actor: min(rule.classes.get(role, {rule.name})) for role, each in rule.defaults.items()}
        example_lexicon = replace(example_lexicon, kinds=kinds | {**example_lexicon.kinds})
    for number, example in enumerate(rule.examples):
        if rule.preset not in example.expect:
            continue
        location = f"{rule.source}: examples[{number}]"
        try:
            result = ExampleResult(number, example, rule.preset, tuple(_events(example, rule, example_lexicon)), None)
        except CorefsampleError as error:
            yield ExampleResult(number, example, rule.preset, (), error.as_input_error(location))
            continue
        if result.events != result.expected:
            expected, names = (", ".join(events) or "nothing" for events in (result.expected, result.events))
            fault = InputError(f"preset {rule.preset} must find {expected}, got {names}", place=location)
            result = replace(result, fault=fault)
        yield result


def check_examples(rule: Rule, lexicon: Lexicon | None = None) -> int:
    """Check that the rule finds the expected events in each inline example of its preset; return their number.

    Parameters
    ----------
    rule
        Rule whose examples are checked.
    lexicon
        Lexicon for the examples of a user's rule that define no actors themselves; by default the shipped lexicon in
        the language of the rule, which is always used for shipped rules.

    Raises
    ------
    InputError
        If an example cannot be read or fails: the first one, with its file and number as the place.
    """
    checked = 0
    for result in example_results(rule, lexicon):
        if result.fault is not None:
            raise result.fault
        checked += 1
    return checked


def _events(example: Example, rule: Rule, default_lexicon: Lexicon) -> list[str]:
    tokens = example_tokens(example)
    heads = [t for t, upos in enumerate(tokens.upos) if upos in ("NOUN", "PROPN", "PRON")]
    mentions = sorted(((*_span(tokens, head), head) for head in heads), key=lambda m: (m[0], -m[1]))
    order = {mention[2]: i for i, mention in enumerate(mentions)}
    links: dict[int, int] = {}
    for group in example.coreferent:
        try:
            members = sorted(order[number - 1] for number in group)
        except KeyError:
            rule_of_group = "coreferent must name tokens that are nouns, names or pronouns"
            raise InputError(f"{rule_of_group}, got {list(group)}") from None
        links |= {later: earlier for earlier, later in pairwise(members)}
    lexicon = _words(example, rule, default_lexicon) if example.words else default_lexicon
    spans = np.array(mentions, np.int32).reshape(-1, 3)
    matches = match_document(tokens, spans, rule, lexicon, _ANY_DATE, example.scheme)  # type: ignore[arg-type]
    if not matches.possible:
        return []
    labels = np.arange(len(mentions))
    for later, earlier in sorted(links.items()):
        labels[later] = labels[earlier]
    return sorted(key.name for key in evaluate_clustering(matches, labels))


def _words(example: Example, rule: Rule, default_lexicon: Lexicon) -> _Words:
    """Lexicon of an example's words; a code that the default lexicon lacks gets a class that the rule's roles have."""
    any_class = next((min(kinds) for kinds in rule.classes.values()), "country")
    codes = set(example.words.values())
    codes |= {default.actor for default in rule.defaults.values()}
    kinds = {code: default_lexicon.kinds.get(code, any_class) for code in codes}
    inner_codes = default_lexicon.inner_codes & codes
    return _Words(example.words, kinds, inner_codes, default_lexicon.inner_counts_as, default_lexicon.related)


def example_tokens(example: Example) -> Tokens:
    """Return the parse of an inline example, or raise InputError if a line of it cannot be read."""
    lines = [line.split() for line in example.parse.splitlines() if line.strip()]
    for number, fields in enumerate(lines, start=1):
        well_formed = len(fields) in (6, 7) and fields[0] == str(number) and fields[4].isdecimal()
        if not well_formed or int(fields[4]) > len(lines):
            rule = "must be number, word, lemma, upos, head, label, and perhaps features"
            raise InputError(f"{rule}, got {' '.join(fields)!r}", place=f"parse: line {number}")
    if not lines:
        raise InputError("at least one token is required", place="parse")
    rows = [[*fields, "_"][:7] for fields in lines]
    _, text, lemma, upos, heads, dep, feats = (list(column) for column in zip(*rows, strict=True))
    strange = [label for label in dep if SCHEMES[example.scheme].reads(label) is None]
    if strange:
        raise InputError(f"labels must be of the scheme {example.scheme}, got {strange[0]!r}", place="parse")
    sent = np.zeros(len(text), np.int32)
    return Tokens(text, lemma, upos, dep, np.array(heads, np.int32) - 1, sent, {"feats": feats})


def _span(tokens: Tokens, head: int) -> tuple[int, int]:
    """Token span of the subtree below `head`."""
    below = {head}
    for _ in range(len(tokens)):
        below |= {t for t, h in enumerate(tokens.head.tolist()) if h in below}
    return min(below), max(below) + 1
