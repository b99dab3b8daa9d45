"""What is counted: rules with different names, the lexicon of their actors, and outcomes, checked together."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from corefsample.errors import CorefsampleError, InputError, ParameterError, ParameterHint, shown
from events.evidence._columns import ACTOR, EventKey
from events.evidence._examples import check_examples
from events.lexicon._file import SHIPPED, SHIPPED_LEXICONS
from events.lexicon._lexicon import Lexicon, load_lexicon
from events.matching._trigger_model import load_trigger_model, with_trigger_model, without_trigger_model
from events.rules._format import ANYBODY, CLASS, NOBODY, Outcome
from events.rules._rules import BY_RULES, Filled, Rule, load_rules, rules_and_outcomes


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """Rules, a lexicon and outcomes that fit together, as `of` and `named` check once for a run.

    Attributes
    ----------
    rules
        RuleSet of events, with different names.
    lexicon
        Names of the actors.
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
        outcomes: Sequence[str | Outcome] = (),
        *,
        triggers: str = BY_RULES,
        encoder: str | None = None,
    ) -> Self:
        """Check rules, a lexicon, and outcomes, to which the outcomes of the rules are added.

        By default, the rule is the shipped rule `attack` and the lexicon the shipped one in the language of the rules.
        If an outcome refers to an event RULE.FRAME, a rule with this single frame is added.

        Raises
        ------
        ParameterError
            If `rule` or `lexicon` has the wrong type, there is no rule, two rules have the same name, or an outcome is
            invalid or does not fit the rules and the lexicon.
        InputError
            If rules and lexicon are of different languages, the lexicon has no actor of a class that a rule requires,
            or the default actor of a rule is in no lexicon.
        """
        rules = (load_rules(),) if rule is None else tuple(rule) if isinstance(rule, (list, tuple)) else (rule,)
        for item in rules:
            if not isinstance(item, Rule):
                raise ParameterError(f"must be a Rule, as load_rules returns, got {shown(item)}", parameter="rule")
        if not rules:
            raise ParameterError("must have at least one rule, got none", parameter="rule")
        if lexicon is not None and not isinstance(lexicon, Lexicon):
            rule = "must be a Lexicon, as load_lexicon returns"
            raise ParameterError(f"{rule}, got {shown(lexicon)}", parameter="lexicon")
        name, count = Counter(item.name for item in rules).most_common(1)[0]
        if count > 1:
            raise ParameterError(f"must have different names, got {name!r} twice", parameter="rule")
        lexicon = lexicon or load_lexicon(language=rules[0].language)
        languages = [(item.name, item.language) for item in rules] + [(lexicon.source, lexicon.language)]
        declared = [(name, code) for name, code in languages if code]
        if len({code for _, code in declared}) > 1:
            pairs = ", ".join(f"{name} of {code}" for name, code in declared)
            hint = "give rules and a lexicon of one language; the line `language: es` declares a file's language"
            raise InputError(f"rules and lexicon must be of one language, got {pairs}", hint=hint)
        for item in rules:
            check_classes(item, lexicon)
            _check_defaults(item, lexicon)
        parsed_outcomes = [item if isinstance(item, Outcome) else Outcome.parsed(item) for item in outcomes]
        parsed_outcomes += [outcome for item in rules for outcome in item.outcomes]
        rules += _frames_of(parsed_outcomes, rules)
        rules = tuple(with_trigger_model(item, triggers, encoder or "") for item in rules)
        check_outcomes(parsed_outcomes, rules, lexicon)
        return cls(rules, lexicon, tuple(parsed_outcomes))

    def with_examples(self) -> Self:
        """Return these definitions, or raise InputError if an inline example of a rule fails."""
        for rule in self.rules:
            check_examples(without_trigger_model(rule), self.lexicon)
        return self

    @classmethod
    def named(
        cls,
        rules: Sequence[str],
        preset: str | None,
        lexicon: str | None = None,
        outcomes: Sequence[str] = (),
        *,
        examples: bool = True,
        triggers: str = BY_RULES,
        encoder: str | None = None,
    ) -> Self:
        """Load rules and a lexicon by their names or paths, and check them, by default with the rules' examples."""
        words = None if lexicon is None else load_lexicon(lexicon)
        loaded, file_outcomes = rules_and_outcomes(rules, preset)
        definitions = cls.of(loaded, words, [*file_outcomes, *outcomes], triggers=triggers, encoder=encoder)
        return definitions.with_examples() if examples else definitions

    def only(self, filled: Filled) -> Self:
        """RuleSet whose rules count only "named" actors, only "default" actors, or "either"."""
        return replace(self, rules=tuple(replace(rule, filled=filled) for rule in self.rules))

    @property
    def language(self) -> str | None:
        """Code of the language of rules and lexicon; None if no file declares a language."""
        return next((code for code in (*(rule.language for rule in self.rules), self.lexicon.language) if code), None)

    @property
    def texts(self) -> dict[str, str]:
        """Texts that identify rules and lexicon: names, presets and files, with checksums of their definitions."""
        rules = ", ".join(f"{rule.name}, preset {rule.preset}" for rule in self.rules)
        models = sorted(
            {(rule.trigger_model, rule.encoder, rule.model_checksum) for rule in self.rules if rule.event_type}
        )
        checksums = ", ".join(f"{model[0]} [{load_trigger_model(*model).checksum}]" for model in models)
        return {
            "rule": f"{rules} [{_checksum(self.rules)}]",
            "lexicon": f"{self.lexicon.source} [{_checksum(_content(self.lexicon))}]",
            **({"triggers": checksums} if models else {}),
        }

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Names of the columns of roles, by the name of the rule or the outcome."""
        return {rule.name: rule.columns for rule in self.rules} | {each.name: ACTOR for each in self.outcomes}

    @property
    def whole_rules(self) -> tuple[Rule, ...]:
        """The rules, without the single-frame rules that were added for outcomes."""
        return tuple(rule for rule in self.rules if "." not in rule.name)

    @property
    def names(self) -> dict[str, str]:
        """Names of actors by their codes, and the titles of outcomes."""
        return {**self.lexicon.names, **{each.name: each.title for each in self.outcomes if each.title}}

    @property
    def kin(self) -> dict[str, str]:
        """Shipped rule that a rule extends, whose errors are like its errors, by the name of the rule."""
        return {rule.name: rule.kin for rule in self.rules if rule.kin != rule.name}

    def to_record(self) -> dict[str, Any]:
        """Describe the rules for the record of a run."""
        return {
            "name": ", ".join(rule.name for rule in self.rules),
            "preset": ", ".join(dict.fromkeys(rule.preset for rule in self.rules)),
            "source": ", ".join(rule.source for rule in self.rules),
            **({"outcomes": list(map(str, self.outcomes))} if self.outcomes else {}),
            "extends": list(dict.fromkeys(base for rule in self.rules for base in rule.bases)),
            "kin": self.kin,
        }

    @property
    def actors_of_outcomes(self) -> dict[str, list[str]]:
        """Patterns of actors with which each outcome is declared, by the name of the outcome."""
        return {
            name: [each.actors for each in self.outcomes if each.name == name]
            for name in dict.fromkeys(each.name for each in self.outcomes)
        }

    def notes(self, documents: pa.Table) -> list[str]:
        """Warnings that the lexicon is probably not the one that the rules need.

        Parameters
        ----------
        documents
            Table with a row for each document of a run: `trigger` (whether it has a trigger), `actor` (whether it has a
            word of an actor's name) and `actors` (list of the events in it).
        """
        events = pc.unique(pc.list_flatten(documents["actors"])).to_pylist()
        codes_with_events = {code for event in events for code in EventKey.of(event)}
        notes = []
        lexicon = self.lexicon
        rules_with_roles = [rule for rule in self.rules if rule.event]
        if rules_with_roles and codes_with_events.isdisjoint(lexicon.codes):
            names = ", ".join(rule.name for rule in rules_with_roles)
            n_named, n_with_trigger = (pc.sum(documents[name]).as_py() or 0 for name in ("actor", "trigger"))
            notes.append(
                f"no actor of the lexicon {lexicon.source} fills a role of {names} in any document; of "
                f"{len(documents):,} inspected, {n_named:,} have a word of an actor's name and "
                f"{n_with_trigger:,} a trigger: `corefsample doctor` "
                "with the rule and the lexicon counts what each of them finds"
            )
        for rule in rules_with_roles:
            events = [event for example in rule.examples for event in example.expect.get(rule.preset, ())]
            missing = {code for event in events for code in event.split(">")} - {"-", "", *lexicon.codes}
            if missing and lexicon.source == SHIPPED:
                codes = ", ".join(sorted(missing))
                suitable = [name for name in SHIPPED_LEXICONS if missing <= set(load_lexicon(name).codes)]
                advice = f"the lexicon {suitable[0]} has them" if suitable else "give the lexicon that has them"
                rule_text = f"only countries can fill the roles of {rule.name}, whose examples have other actors"
                notes.append(f"{rule_text} ({codes}): {advice}")
        return notes


def _content(lexicon: Lexicon) -> list[Any]:
    """Values of the fields from which a lexicon was made, without its cache of matched texts."""
    return [getattr(lexicon, field.name) for field in fields(lexicon) if field.init]


def _checksum(value: object) -> str:
    encoded = msgspec.json.encode(value, order="deterministic")
    return hashlib.blake2b(encoded, digest_size=4).hexdigest()


def _check_defaults(rule: Rule, lexicon: Lexicon) -> None:
    """Raise InputError if a default actor is neither in the lexicon nor in a shipped one.

    A default actor that only another shipped lexicon has is ignored.
    """
    for role, default in rule.defaults.items():
        if default.actor not in lexicon.kinds and not any(
            default.actor in load_lexicon(name).kinds for name in SHIPPED_LEXICONS
        ):
            message = f"defaults.{role}.actor must be an actor of a lexicon, got {default.actor!r}"
            raise InputError(message, place=rule.source)


def _frames_of(outcomes: Sequence[Outcome], rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Single-frame rules for the events that outcomes refer to as RULE.FRAME."""
    by_name = {rule.name: rule for rule in rules}
    names = dict.fromkeys(event for outcome in outcomes for event in outcome.events if event not in by_name)
    rule_and_frame = [name.partition(".") for name in names]
    return tuple(by_name[rule].with_frame(frame) for rule, _, frame in rule_and_frame if frame and rule in by_name)


def check_outcomes(outcomes: Sequence[Outcome], rules: Sequence[Rule], lexicon: Lexicon) -> None:
    """Raise ParameterError unless all outcomes are valid for the rules and the lexicon.

    An outcome is invalid if it refers to an unknown rule or actor, has the name and actors of another outcome, or
    unites rules that keep distinct actors apart with rules that do not.
    """
    by_name = {rule.name: rule for rule in rules}
    for n, outcome in enumerate(outcomes):
        try:
            _check(outcome, by_name, lexicon)
            if outcome in outcomes[:n] or any(
                (each.name, each.actors) == (outcome.name, outcome.actors) for each in outcomes[:n]
            ):
                raise ParameterError("must have different names or actors, got the same twice")
        except CorefsampleError as error:
            raise ParameterError(f"{outcome}: {error.message}", parameter="outcome", hint=error.hint) from None


def _check(outcome: Outcome, rules: Mapping[str, Rule], lexicon: Lexicon) -> None:
    if outcome.name in rules:
        raise InputError(f"name must differ from the names of rules, got {outcome.name!r}")
    unknown = [name for name in outcome.events if name not in rules]
    if unknown:
        raise InputError(f"events must be names of the rules {', '.join(rules)}, got {unknown[0]!r}")
    united_rules = [rules[name] for name in outcome.events]
    if len({rule.distinct_actors for rule in united_rules}) > 1:
        names = ", ".join(rule.name for rule in united_rules if rule.distinct_actors)
        raise InputError(f"all rules or none must have distinct_actors, got distinct_actors for {names} only")
    for pattern in outcome.actors.split("|"):
        codes = pattern.split(">")
        short = [rule for rule in united_rules if len(rule.event) < len(codes) and pattern != ANYBODY]
        if short:
            raise InputError(f"actors must be at most as many as the roles of {short[0].name}, got {pattern!r}")
        for code in codes:
            class_match = CLASS.fullmatch(code)
            if class_match is None and code not in (ANYBODY, NOBODY):
                lexicon.require(code)
            elif class_match is not None and class_match[1] not in lexicon.kinds.values():
                classes = ", ".join(sorted(set(lexicon.kinds.values())))
                rule = f"classes must be those of the lexicon {lexicon.source} ({classes})"
                raise InputError(f"{rule}, got {class_match[1]!r}")


def check_classes(rule: Rule, lexicon: Lexicon) -> None:
    """Raise InputError if a rule restricts a role to a class and the lexicon has no actor of this class."""
    classes = set(lexicon.kinds.values())
    for role, kinds in rule.classes.items():
        for kind in sorted(kinds - classes):
            names = ", ".join(sorted(classes))
            message = f"classes.{role} must be classes of the lexicon {lexicon.source} ({names}), got {kind!r}"
            hint = ParameterHint("lexicon", "names one that has them; the shipped police has police, army and others")
            raise InputError(message, place=rule.source, hint=hint)
