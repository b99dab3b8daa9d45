"""Drafts of rule files from parsed example sentences, with triggers and actors named by the user or unique."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from corefsample.documents._tokens import Tokens
from corefsample.errors import ParameterError
from corefsample.syntax._paths import connecting_path, follow, leading_to
from corefsample.syntax._schemes import SCHEMES
from corefsample.syntax._views import ParseView
from events.lexicon._lexicon import Lexicon
from events.matching._matching import LemmaIndex
from events.rules._conditions import shipped_conditions
from events.rules._format import NOBODY
from events.rules._rules import Frame, Phrase, load_rules

DESCRIBED = ("head", "adjectival_modifier", "of_modifier", "possessive", "compound", "conjoined_modifier")
_SUBJECTS = (
    *("subject", "passive_agent", "conjoined_subject", "shared_subject", "relative_subject", "controlled_subject"),
)
_OBJECTS = ("object", "passive_subject", "conjoined_object")
_NOMINAL = ("NOUN", "PROPN", "PRON")


@dataclass(frozen=True, slots=True)
class DraftExample:
    """An example sentence with the trigger and the actor of its event.

    Attributes
    ----------
    tokens
        Parse of the sentence.
    trigger, words
        Token of the trigger's head word, and lemmas of the trigger's words in the order in which the user named them.
    upos, lemmas
        Parts of speech of the trigger, and lemmas of a trigger of one word. A first word that is tagged as a name is
        also used as a noun, with the lemma of its form in lower case.
    name, code
        Token of the head word of the actor's name, and the actor's code; -1 and "-" for an event without an actor.
    actor
        Token of the head word of the mention that fills the role, or -1 if no mention does.
    path
        Name of the path from the trigger to the actor's head word, or the path itself if no shipped path matches.
    is_named
        True if `path` is the name of a shipped path.
    """

    tokens: Tokens
    trigger: int
    words: tuple[str, ...]
    upos: tuple[str, ...]
    lemmas: tuple[str, ...]
    name: int
    code: str
    actor: int
    path: str
    is_named: bool


def draft_example(
    tokens: Tokens,
    scheme: str,
    lexicon: Lexicon,
    trigger: str | None,
    actor: str | None,
    *,
    lower: Callable[[], Tokens] | None = None,
) -> DraftExample:
    """Find the trigger and the actor of the event in a sentence.

    Parameters
    ----------
    tokens
        Parse of the sentence, with labels of `scheme`.
    scheme
        Dependency scheme of the parse: ud2, ud1 or clearnlp.
    lexicon
        Lexicon with the names of the actors.
    trigger
        Words of the trigger, as in the sentence or as lemmas; by default, the only verb of the sentence.
    actor
        Words of the actor's name, as in the sentence, or "-" for an event without an actor; by default, the only name
        of the lexicon in the sentence.
    lower
        Function that parses the sentence with its first letter in lower case.

    Raises
    ------
    ParameterError
        If the trigger or the actor is not in the sentence, or if it is not named and the sentence has no candidate or
        several.
    """
    view = ParseView(tokens, SCHEMES[scheme])
    head, words = _trigger(view, trigger)
    trigger_fields = head, words, *_as_noun(tokens, head, words, lower)
    if actor == NOBODY:
        return DraftExample(tokens, *trigger_fields, -1, NOBODY, -1, "", True)
    name, code = _actor(tokens, view, lexicon, actor)
    described = tuple(path for described_by in DESCRIBED for path in SCHEMES[scheme].paths[described_by])
    nominal = [t for t in sorted(leading_to(described, view, name)) if tokens.upos[t] in _NOMINAL] or [name]
    for path, paths in SCHEMES[scheme].paths.items():
        if path in (*DESCRIBED, "nominal_modifier"):
            continue
        ends = {end for each in paths for end in follow(each, view, head)}
        actor_heads = [token for token in nominal if token in ends]
        if actor_heads:
            return DraftExample(tokens, *trigger_fields, name, code, actor_heads[0], path, True)
    routes = {token: connecting_path(view, head, token) for token in nominal}
    linked = [(route.count(">") + route.count("<"), end, route) for end, route in routes.items() if route is not None]
    if not linked:
        raise ParameterError(
            f"must be in the sentence of the trigger {tokens.text[head]!r}, got {tokens.text[name]!r} in another",
            parameter="actor",
        )
    _, end, route = min(linked)
    return DraftExample(tokens, *trigger_fields, name, code, end, route, False)


def _as_noun(
    tokens: Tokens, head: int, words: tuple[str, ...], lower: Callable[[], Tokens] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parts of speech and lemmas of a trigger; those of a first word tagged as a name come from a second parse."""
    upos = tokens.upos[head]
    if upos != "PROPN" or len(words) > 1:
        return (upos,), words
    second_parse = lower() if head == 0 and lower is not None else tokens
    if len(second_parse) != len(tokens) or second_parse.upos[head] == "PROPN":
        return ("NOUN", upos), words
    return (second_parse.upos[head], upos), tuple(dict.fromkeys([second_parse.lemma[head].lower(), *words]))


def _trigger(view: ParseView, text: str | None) -> tuple[int, tuple[str, ...]]:
    """Head word of the trigger, and the lemmas of its words."""
    if text is None:
        verbs = [token for token, upos in enumerate(view.upos) if upos == "VERB"]
        if len(verbs) != 1:
            names = ", ".join(view.text[token] for token in verbs) or "none"
            raise ParameterError(
                f"is required unless the sentence has one verb, got {names}: "
                "name the word that reports the event, or several words such as 'opened fire'",
                parameter="trigger",
            )
        return verbs[0], (view.lemma[verbs[0]].lower(),)
    tokens = _find(view, text.split(), "trigger", view.lemma, in_order=False)
    lemmas = tuple(view.lemma[token].lower() for token in tokens)
    phrases = () if len(lemmas) == 1 else (Phrase(lemmas, False),)
    frame = Frame("", frozenset(() if phrases else lemmas), phrases, frozenset(view.upos), {})
    heads = LemmaIndex(view, lemmas).triggers(frame).keys() & set(tokens)
    if not heads:
        names = " and ".join(map(repr, text.split()))
        raise ParameterError(f"must be words that are connected in the parse, got {names}", parameter="trigger")
    return min(heads), lemmas


def _actor(tokens: Tokens, view: ParseView, lexicon: Lexicon, text: str | None) -> tuple[int, str]:
    """Head word of the actor's name, and the actor's code in the lexicon, or a code that is made from the name."""
    names = lexicon.match(tokens.text, view.heads, None, tokens.lemma)
    if text is None:
        if len(names.codes) == 1:
            return next(iter(names.codes.items()))
        shown = ", ".join(" ".join(tokens.text[slice(*names.spans[t])]) for t in sorted(names.codes)) or "none"
        raise ParameterError(
            f"is required unless the sentence names one actor of the lexicon, got {shown}: "
            "name the actor as the sentence does, or - for nobody",
            parameter="actor",
        )
    words = _find(view, text.split(), "actor", view.text)
    for token, code in names.codes.items():
        if token in words:
            return token, code
    head = next(token for token in words if view.heads[token] not in words)
    return head, re.sub(r"\W+", "_", text).upper()


def _find(
    view: ParseView, words: Sequence[str], parameter: str, lemmas: Sequence[str], *, in_order: bool = True
) -> list[int]:
    """Find the tokens of words by their texts or lemmas, ignoring case, by default in the order of the words.

    Without `in_order`, other orders are allowed too, as in a passive: "opened fire" in "fire was opened".
    """
    tokens: list[int] = []
    for word in words:
        forms = enumerate(zip(view.text, lemmas, strict=True))
        equal = [t for t, pair in forms if word.lower() in map(str.lower, pair) and t not in tokens]
        candidates = [token for token in equal if not tokens or token > tokens[-1]] or ([] if in_order else equal)
        if not candidates:
            sentence = " ".join(view.text)
            raise ParameterError(
                f"must be words of the example{' in their order' * in_order}, got {word!r} for {sentence!r}",
                parameter=parameter,
            )
        tokens.append(candidates[0])
    if not tokens:
        raise ParameterError("must be words of the example, got none", parameter=parameter)
    return tokens


def role_paths(names: Iterable[str]) -> list[str]:
    """Add to each path the paths of the same role in other constructions: all subjects, or all objects."""
    path_names: dict[str, None] = {}
    for name in names:
        family = next((paths for paths in (_SUBJECTS, _OBJECTS) if name in paths), (name,))
        path_names |= dict.fromkeys(family)
    return list(path_names)


# --- the file ----------------------------------------------------------------------------------------------


def rule_text(
    name: str, examples: Sequence[DraftExample], scheme: str, expected: Mapping[tuple[int, str], Sequence[str]]
) -> str:
    """YAML text of a rule with these examples; `expected` has the events by number of the example and preset."""
    path_labels = {draft.path: "" for draft in examples if not draft.is_named}
    for number, path in enumerate(path_labels, start=1):
        path_labels[path] = "actor_path" if len(path_labels) == 1 else f"actor_path_{number}"
    by_upos: dict[tuple[str, ...], list[DraftExample]] = {}
    for draft in examples:
        by_upos.setdefault(draft.upos, []).append(draft)
    nobody = [draft for draft in examples if draft.actor < 0]
    event = "[]" if len(nobody) == len(examples) else "[agent]"
    excluding = [key for key in load_rules("attack", "asserted").unless if key in shipped_conditions()]
    optional = ["optional: [agent]"] if nobody and event != "[]" else []
    lines = ["version: 1", f"name: {name}", f"event: {event}", *optional, "frames:"]
    for upos, drafts in by_upos.items():
        roles = role_paths(d.path if d.is_named else path_labels[d.path] for d in drafts if d.actor >= 0)
        lines += [
            f"  - name: {'_'.join(upos).lower()}",
            f"    trigger: {_flow({**_words(drafts), 'upos': [*upos]})}",
            *([f"    roles: {_flow({'agent': roles})}"] if roles else []),
        ]
    if path_labels:
        lines.append("paths:")
        lines += [f"  {label}: {_flow({scheme: [path]})}" for path, label in path_labels.items()]
    lines += [
        "presets:",
        f"  extended: {_flow({'distinct_actors': True, 'described': [*DESCRIBED]})}",
        f"  asserted: {_flow({'extends': 'extended', 'unless': excluding})}",
        "examples:",
    ]
    for number, draft in enumerate(examples):
        code = "event" if event == "[]" else draft.code
        codes = {preset: expected.get((number, preset), [code]) for preset in ("extended", "asserted")}
        lines += _example_lines(draft, scheme, codes)
    return "\n".join(lines) + "\n"


def _words(examples: Sequence[DraftExample]) -> dict[str, list[str]]:
    """Triggers of one word, under "lemma", and of several words, under "phrase"."""
    single = dict.fromkeys(lemma for each in examples if len(each.words) == 1 for lemma in each.lemmas)
    phrases = dict.fromkeys(" ".join(each.words) for each in examples if len(each.words) > 1)
    return {key: list(words) for key, words in (("lemma", single), ("phrase", phrases)) if words}


def _example_lines(draft: DraftExample, scheme: str, expected: Mapping[str, Sequence[str]]) -> list[str]:
    tokens = draft.tokens
    lines = ["  - parse: |"]
    for token in range(len(tokens)):
        feats = str(tokens.extra.get("feats", [""] * len(tokens))[token] or "")
        # Conditions use only the features of verbs.
        shown = f" {feats}" if "=" in feats and tokens.upos[token] in ("VERB", "AUX") else ""
        label = SCHEMES[scheme].reads(tokens.dep[token]) or tokens.dep[token]
        columns = (token + 1, tokens.text[token], tokens.lemma[token], tokens.upos[token])
        lines.append(f"      {' '.join(map(str, columns))} {int(tokens.head[token]) + 1} {label}{shown}")
    return [
        *lines,
        f"    scheme: {scheme}",
        f"    expect: {_flow({preset: list(codes) for preset, codes in expected.items()})}",
        *([f"    words: {_flow({tokens.text[draft.name]: draft.code})}"] if draft.actor >= 0 else []),
    ]


def _flow(value: Any) -> str:
    """YAML text of a value in one line."""
    import yaml

    return str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6, allow_unicode=True)).strip()
