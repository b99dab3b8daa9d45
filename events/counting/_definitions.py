"""What is counted: rules with different names and the lexicon of their actors, checked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from corefsample import _checks
from corefsample.errors import ParameterError
from events.counting._rule_examples import check_examples
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.matching._matching import check_classes
from events.rules._rules import Rule, load_rules


@dataclass(frozen=True, slots=True, eq=False)
class Definitions:
    """Rules and a lexicon; `of` and `named` check them, and `with_examples` the rules' examples: once for a run.

    Attributes
    ----------
    rules
        With different names.
    lexicon
        The actors.
    """

    rules: tuple[Rule, ...]
    lexicon: Lexicon

    @classmethod
    def of(cls, rule: Rule | Sequence[Rule] | None = None, lexicon: Lexicon | None = None) -> Self:
        """Check rules and a lexicon; None stands for the shipped ones.

        Raises
        ------
        ParameterError
            If one is of another type, there is no rule, or two have one name.
        InputError
            If a rule has a class that is unknown.
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
        lexicon = load_lexicon() if lexicon is None else lexicon
        for each in rules:
            check_classes(each, lexicon)
        return cls(rules, lexicon)

    def with_examples(self) -> Self:
        """The same; raises InputError if an inline example of a rule fails."""
        for rule in self.rules:
            check_examples(rule, self.lexicon)
        return self

    @classmethod
    def named(cls, rules: Sequence[str], preset: str, lexicon: str | None = None) -> Self:
        """Load and check rules, their examples and a lexicon by their names or paths."""
        words = load_lexicon(lexicon)
        return cls.of([load_rules(rule, preset) for rule in rules], words).with_examples()

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Columns of the roles of each rule, by its name."""
        return {rule.name: rule.columns for rule in self.rules}
