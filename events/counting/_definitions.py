"""What is counted: rules with different names and the lexicon of their actors, checked together.

Also here: inline examples of rule files, checked with the same matching and evaluation as documents.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np

from corefsample import _checks
from corefsample.documents._tokens import Tokens
from corefsample.errors import CorefsampleError, InputError, ParameterError
from corefsample.syntax import SCHEMES
from events.counting._evaluation import evaluate_clustering
from events.counting._outcomes import check_outcomes
from events.counting._tables import ACTOR, event_name
from events.lexicon._file import SHIPPED_LEXICONS
from events.lexicon._lexicon import Lexicon, LexiconMatches, load_lexicon
from events.matching import match_document
from events.matching._matching import check_classes
from events.rules._format import Example
from events.rules._outcomes import Outcome
from events.rules._rules import Filled, Rule, is_shipped_rule, load_rules, rules_and_outcomes


@dataclass(frozen=True, slots=True, eq=False)
class Definitions:
    """Rules and a lexicon; `of` and `named` check them, and `with_examples` the rules' examples: once for a run.

    Attributes
    ----------
    rules
        With different names.
    lexicon
        The actors.
    outcomes
        Unions of events of the rules.
    """

    rules: tuple[Rule, ...]
    lexicon: Lexicon
    outcomes: tuple[Outcome, ...] = ()

    @classmethod
    def of(
        cls,
        rule: Rule | Sequence[Rule] | None = None,
        lexicon: Lexicon | None = None,
        outcomes: Sequence[str] = (),
    ) -> Self:
        """Check rules, a lexicon and outcomes, beside those of the rules; None stands for the shipped ones.

        Raises
        ------
        ParameterError
            If one is of another type, there is no rule, two have one name, or an outcome breaks its rule.
        InputError
            If a rule has a class or a default actor that is unknown.
        """
        rules = (load_rules(),) if rule is None else tuple(rule) if isinstance(rule, (list, tuple)) else (rule,)
        for each in rules:
            if not isinstance(each, Rule):
                found = _checks.shown(each)
                raise ParameterError(f"must be a Rule, as load_rules returns, got {found}", parameter="rule")
        if not rules:
            raise ParameterError("must have at least one rule, got none", parameter="rule")
        if lexicon is not None and not isinstance(lexicon, Lexicon):
            found = _checks.shown(lexicon)
            raise ParameterError(f"must be a Lexicon, as load_lexicon returns, got {found}", parameter="lexicon")
        name, count = Counter(each.name for each in rules).most_common(1)[0]
        if count > 1:
            raise ParameterError(f"must have different names, got {name!r} twice", parameter="rule")
        lexicon = lexicon or load_lexicon(language=rules[0].language)
        languages = [(each.name, each.language) for each in rules] + [(lexicon.source, lexicon.language)]
        said = [each for each in languages if each[1]]
        if len({code for _, code in said}) > 1:
            found = ", ".join(f"{name} of {code}" for name, code in said)
            hint = "give rules and a lexicon of one language; a file says its own as `language: es`"
            raise InputError(f"rules and lexicon must be of one language, got {found}", hint=hint)
        for each in rules:
            check_classes(each, lexicon)
            _check_defaults(each, lexicon)
        read = [*map(Outcome.parsed, outcomes)]
        for each in rules:
            try:
                read += map(Outcome.parsed, each.outcomes)
            except ParameterError as error:
                raise error.as_input_error(each.source) from None
        check_outcomes(read, rules, lexicon)
        return cls(rules, lexicon, tuple(read))

    def with_examples(self) -> Self:
        """The same; raises InputError if an inline example of a rule fails."""
        for rule in self.rules:
            check_examples(rule, self.lexicon)
        return self

    @classmethod
    def named(
        cls, rules: Sequence[str], preset: str | None, lexicon: str | None = None, outcomes: Sequence[str] = ()
    ) -> Self:
        """Load and check rules, their examples and a lexicon by their names or paths."""
        words = None if lexicon is None else load_lexicon(lexicon)
        loaded, of_files = rules_and_outcomes(rules, preset)
        return cls.of(loaded, words, [*of_files, *outcomes]).with_examples()

    def only(self, filled: Filled) -> Self:
        """The same, for actors that are named, by default, or either."""
        return replace(self, rules=tuple(replace(rule, filled=filled) for rule in self.rules))

    @property
    def language(self) -> str | None:
        """Code of the language of rules and lexicon, None if no file says it."""
        return next((code for code in (*(rule.language for rule in self.rules), self.lexicon.language) if code), None)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Columns of the roles of each rule, by its name, and of the actors of each outcome."""
        return {rule.name: rule.columns for rule in self.rules} | {each.name: ACTOR for each in self.outcomes}

    @property
    def actors_of_outcomes(self) -> dict[str, list[str]]:
        """By name of an outcome the actors with which it is declared."""
        return {
            name: [each.actors for each in self.outcomes if each.name == name]
            for name in dict.fromkeys(each.name for each in self.outcomes)
        }


def _check_defaults(rule: Rule, lexicon: Lexicon) -> None:
    """Raise InputError if a default actor is in no lexicon: one of another shipped lexicon is left out instead."""
    for role, default in rule.defaults.items():
        if default.actor not in lexicon.kinds and not any(
            default.actor in load_lexicon(name).kinds for name in SHIPPED_LEXICONS
        ):
            message = f"defaults.{role}.actor must be an actor of a lexicon, got {default.actor!r}"
            raise InputError(message, place=rule.source)


_ANY_DATE = datetime.date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class _Words:
    """A lexicon with the words of an example."""

    codes: dict[str, str]
    kinds: Mapping[str, str]  # of these codes
    inner_codes: frozenset[str]
    inner_counts_as: frozenset[str]

    related: Mapping[str, frozenset[str]]

    countable, are_distinct, _beyond = Lexicon.countable, Lexicon.are_distinct, Lexicon._beyond

    def match(
        self,
        text: Sequence[str],
        heads: Sequence[int],
        date: datetime.date | None,
        lemma: Sequence[str] | None = None,
    ) -> LexiconMatches:
        found = {t: self.codes[word] for t, word in enumerate(text) if word in self.codes}
        return LexiconMatches(found, {t: (t, t + 1) for t in found}, 0)


@dataclass(frozen=True, slots=True)
class ExampleResult:
    """What a rule finds in one of its inline examples.

    Attributes
    ----------
    number, example
        Its number in the file, from 0, and the example.
    preset
        The preset of the rule.
    found
        Names of the events found, sorted.
    fault
        Why the example fails or cannot be read, or None; the place is the file and the example.
    """

    number: int
    example: Example
    preset: str
    found: tuple[str, ...]
    fault: InputError | None

    @property
    def expected(self) -> tuple[str, ...]:
        """Names of the events that must be found."""
        return tuple(sorted(set(self.example.expect[self.preset])))

    @property
    def text(self) -> str:
        """The words of the example."""
        return " ".join(line.split()[1] for line in self.example.parse.splitlines() if len(line.split()) > 1)


def example_results(rule: Rule, lexicon: Lexicon | None = None) -> Iterator[ExampleResult]:
    """What a rule finds in each inline example of its preset; parameters as in `check_examples`."""
    own = lexicon
    if own is None or is_shipped_rule(rule.source):
        own = load_lexicon(language=rule.language)
    if rule.defaults:  # in examples every default actor is one of the lexicon
        own = replace(own, kinds={default.actor: rule.name for default in rule.defaults.values()} | {**own.kinds})
    for number, example in enumerate(rule.examples):
        if rule.preset not in example.expect:
            continue
        place = f"{rule.source}: examples[{number}]"
        try:
            result = ExampleResult(number, example, rule.preset, tuple(_events(example, rule, own)), None)
        except CorefsampleError as error:
            yield ExampleResult(number, example, rule.preset, (), error.as_input_error(place))
            continue
        if result.found != result.expected:
            names, other = (", ".join(events) or "nothing" for events in (result.expected, result.found))
            fault = InputError(f"preset {rule.preset} must find {names}, got {other}", place=place)
            result = replace(result, fault=fault)
        yield result


def check_examples(rule: Rule, lexicon: Lexicon | None = None) -> int:
    """Check that the rule finds the expected events in each inline example of its preset; return their number.

    Parameters
    ----------
    rule
        The rule.
    lexicon
        For examples without words of their own, in rules of the user's; None: the shipped lexicon of countries, which
        shipped rules always use.

    Raises
    ------
    InputError
        At the first example that cannot be read or fails; the place is the file and the example.
    """
    checked = 0
    for result in example_results(rule, lexicon):
        if result.fault is not None:
            raise result.fault
        checked += 1
    return checked


def _events(example: Example, rule: Rule, own: Lexicon) -> list[str]:
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
    lexicon = _words(example, rule, own) if example.words else own
    spans = np.array(mentions, np.int32).reshape(-1, 3)
    matches = match_document(tokens, spans, rule, lexicon, _ANY_DATE, example.scheme)  # type: ignore[arg-type]
    if not matches.possible:
        return []
    labels = np.arange(len(mentions))
    for later, earlier in sorted(links.items()):
        labels[later] = labels[earlier]
    return sorted(map(event_name, evaluate_clustering(matches, labels)))


def _words(example: Example, rule: Rule, own: Lexicon) -> _Words:
    """The words of an example; a code that the lexicon does not have is of the classes that the rule's roles have."""
    any_class = next((min(kinds) for kinds in rule.classes.values()), "country")
    codes = set(example.words.values())
    codes |= {default.actor for default in rule.defaults.values()}
    kinds = {code: own.kinds.get(code, any_class) for code in codes}
    return _Words(example.words, kinds, own.inner_codes & codes, own.inner_counts_as, own.related)


def example_tokens(example: Example) -> Tokens:
    """The parse of an inline example; raises an InputError if a line of it cannot be read."""
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
    """Span of the subtree of `head`."""
    below = {head}
    for _ in range(len(tokens)):
        below |= {t for t, h in enumerate(tokens.head.tolist()) if h in below}
    return min(below), max(below) + 1
