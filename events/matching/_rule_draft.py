"""Drafts of rule files from parsed example sentences, with triggers and actors named by the user or unique."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from corefsample import ParameterError, Tokens
from corefsample.syntax._paths import ParseView, connecting_path, follow, leading_to
from corefsample.syntax._schemes import SCHEMES
from events.lexicon._lexicon import Lexicon
from events.matching._matching import LemmaIndex
from events.rules._conditions import shipped_conditions
from events.rules._format import NOBODY
from events.rules._rules import Frame, Phrase, load_rules

_DESCRIBED = ("head", "adjectival_modifier", "of_modifier", "possessive", "compound", "conjoined_modifier")
_FAMILIES = (  # paths of the same role in other constructions
    ("subject", "passive_agent", "conjoined_subject", "shared_subject", "relative_subject", "controlled_subject"),
    ("object", "passive_subject", "conjoined_object"),
)
PRESETS = ("extended", "asserted")  # of a draft


@dataclass(frozen=True, slots=True)
class DraftExample:
    """An example sentence with the trigger and the actor of its event.

    Attributes
    ----------
    tokens
        Parse of the sentence.
    trigger, words
        Token of the trigger's head word, and lemmas of the trigger's words in the order in which the user named them.
    name, code
        Token of the head word of the actor's name, and the actor's code; -1 and "-" for an event without an actor.
    actor
        Token of the head word of the mention that fills the role, or -1 if no mention does.
    path
        Name of the path from the trigger to the actor's head word, or the path itself if no shipped path matches.
    """

    tokens: Tokens
    trigger: int
    words: tuple[str, ...]
    name: int = -1
    code: str = NOBODY
    actor: int = -1
    path: str = ""


def draft_example(
    tokens: Tokens, scheme: str, lexicon: Lexicon, trigger: str | None, actor: str | None
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

    Raises
    ------
    ParameterError
        If the trigger or the actor is not in the sentence, or if it is not named and the sentence has no candidate or
        several.
    """
    view = ParseView(tokens, SCHEMES[scheme])
    head, words = _trigger(view, trigger)
    if actor == NOBODY:
        return DraftExample(tokens, head, words)
    name, code = _actor(tokens, view, lexicon, actor)
    shipped_paths = SCHEMES[scheme].paths
    described = tuple(path for described_by in _DESCRIBED for path in shipped_paths[described_by])
    is_nominal = {token: tokens.upos[token] in ("NOUN", "PROPN", "PRON") for token in leading_to(described, view, name)}
    nominal = sorted(token for token in is_nominal if is_nominal[token]) or [name]
    for path, paths in shipped_paths.items():
        if path in (*_DESCRIBED, "nominal_modifier"):
            continue
        ends = {end for shipped_path in paths for end in follow(shipped_path, view, head)}
        for token in nominal:
            if token in ends:
                return DraftExample(tokens, head, words, name, code, token, path)
    routes = {token: connecting_path(view, head, token) for token in nominal}
    linked = [(route.count(">") + route.count("<"), end, route) for end, route in routes.items() if route is not None]
    if not linked:
        raise ParameterError(
            f"must be in the sentence of the trigger {tokens.text[head]!r}, got {tokens.text[name]!r} in another",
            parameter="actor",
        )
    _, end, route = min(linked)
    return DraftExample(tokens, head, words, name, code, end, route)


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
    tokens = _find(view, text, "trigger", view.lemma, in_order=False)
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
    words = _find(view, text, "actor", view.text)
    for token, code in names.codes.items():
        if token in words:
            return token, code
    return next(token for token in words if view.heads[token] not in words), re.sub(r"\W+", "_", text).upper()


def _find(view: ParseView, text: str, parameter: str, lemmas: Sequence[str], *, in_order: bool = True) -> list[int]:
    """Find the tokens of words by their texts or lemmas, ignoring case, by default in the order of the words.

    Without `in_order`, other orders are allowed too, as in a passive: "opened fire" in "fire was opened".
    """
    tokens: list[int] = []
    for word in text.split():
        forms = enumerate(zip(view.text, lemmas, strict=True))
        equal = [t for t, pair in forms if word.lower() in map(str.lower, pair) and t not in tokens]
        candidates = [token for token in equal if not tokens or token > tokens[-1]] or ([] if in_order else equal)
        if not candidates:
            rule = f"must be words of the example{' in their order' * in_order}"
            raise ParameterError(f"{rule}, got {word!r} for {' '.join(view.text)!r}", parameter=parameter)
        tokens.append(candidates[0])
    if not tokens:
        raise ParameterError("must be words of the example, got none", parameter=parameter)
    return tokens


def rule_tree(name: str, drafts: Sequence[DraftExample], scheme: str) -> dict[str, Any]:
    """Content of the file of a rule with these examples, each of which must have its actor in every preset."""
    new_paths = dict.fromkeys(draft.path for draft in drafts if draft.path and draft.path not in SCHEMES[scheme].paths)
    labels = {path: f"actor_path_{number}" for number, path in enumerate(new_paths, start=1)}
    frames: dict[str, dict[str, Any]] = {}
    for draft in drafts:
        upos = draft.tokens.upos[draft.trigger]
        frame = frames.setdefault(upos, {"name": upos.lower(), "trigger": {"lemma": [], "phrase": [], "upos": [upos]}})
        words = frame["trigger"]["lemma" if len(draft.words) == 1 else "phrase"]
        words += [" ".join(draft.words)] if " ".join(draft.words) not in words else []
        if draft.actor >= 0:
            paths = frame.setdefault("roles", {"agent": []})["agent"]
            family = next(
                (family for family in _FAMILIES if draft.path in family), (labels.get(draft.path, draft.path),)
            )
            paths += [path for path in family if path not in paths]
    has_role = any(draft.actor >= 0 for draft in drafts)
    attack = load_rules("attack", "asserted")
    return {
        "version": 1,
        "name": name,
        "event": ["agent"] if has_role else [],
        "optional": ["agent"] if has_role and any(draft.actor < 0 for draft in drafts) else [],
        "frames": [*frames.values()],
        "paths": {label: {scheme: [path]} for path, label in labels.items()},
        "presets": {
            "extended": {"distinct_actors": True, "described": [*_DESCRIBED]},
            "asserted": {"extends": "extended", "unless": [c for c in attack.unless if c in shipped_conditions()]},
        },
        "examples": [
            {
                "parse": _parse_lines(draft.tokens, scheme),
                "scheme": scheme,
                "expect": {preset: [draft.code if has_role else "event"] for preset in PRESETS},
                "words": {draft.tokens.text[draft.name]: draft.code} if draft.actor >= 0 else {},
            }
            for draft in drafts
        ],
    }


def _parse_lines(tokens: Tokens, scheme: str) -> str:
    lines = []
    for token, columns in enumerate(zip(tokens.text, tokens.lemma, tokens.upos, strict=True)):
        feats = str(tokens.extra.get("feats", [""] * len(tokens))[token] or "")
        # Conditions use only the features of verbs.
        shown = f" {feats}" if "=" in feats and tokens.upos[token] in ("VERB", "AUX") else ""
        label = SCHEMES[scheme].reads(tokens.dep[token]) or tokens.dep[token]
        lines.append(f"{token + 1} {' '.join(columns)} {int(tokens.head[token]) + 1} {label}{shown}\n")
    return "".join(lines)


def rule_text(tree: dict[str, Any]) -> str:
    """YAML text of the content of a rule file, in which lists are in one line, and parses in lines."""
    import yaml

    def scalar(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    dumper: Any = type("Dumper", (yaml.SafeDumper,), {})
    dumper.add_representer(str, scalar)
    filled = {key: value for key, value in tree.items() if value or key == "event"}
    return yaml.dump(filled, Dumper=dumper, default_flow_style=None, sort_keys=False, width=10**6, allow_unicode=True)
