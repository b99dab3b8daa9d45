"""Rule files that extend another: what they take from it, add to it and remove from it.

A rule is a tree of mappings and lists here. What the extending file gives under a key of the format replaces what the
base has there; mappings are merged key by key, and a frame with the frame of its name. `add` and `remove` follow the
same tree down to a list, where frames are a mapping by name: ``add: {frames: {verb: {lemma: [hold]}}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from corefsample._checks import shown
from corefsample.errors import InputError
from corefsample.syntax._schemes import SCHEMES
from events._yaml_file import typed
from events.rules._conditions import shipped_words_and_conditions
from events.rules._format import RuleFile

_CHANGED = ("optional", "frames", "presets", "classes", "paths", "words", "conditions")
_OF_FRAMES = ("roles", "required")  # beside the words of the trigger


def extended(base: RuleFile, content: Mapping[str, Any], source: str) -> RuleFile:
    """The rule of a file that extends `base`.

    Parameters
    ----------
    base
        The rule that is extended, checked.
    content
        What YAML gives for the file.
    source
        The file, for errors.

    Raises
    ------
    InputError
        If a value has another type than the format gives it, or `add` or `remove` names what is not there.
    """
    # Presets can all be those of the base: the file's own types are checked with one in their place.
    own = typed(source, {"presets": {"base": {}}, **content}, RuleFile)
    tree = {**as_yaml(base), "frames": as_yaml(base.all_frames()), "trigger": None}
    tree["examples"] = [*(tree["examples"] if own.base_examples else ()), *content.get("examples", ())]
    merged = {key: value for key, value in content.items() if key not in ("frames", "examples", "add", "remove")}
    tree = _merged(tree, merged)
    frames = {frame["name"]: frame for frame in tree["frames"]}
    for frame in content.get("frames", []):
        frames[frame["name"]] = _merged(frames.get(frame["name"], {}), frame)
    tree["frames"] = list(frames.values())
    for change, key in ((_without, "remove"), (_with, "add")):
        changes = content.get(key, {})
        view = _view(typed(source, tree, RuleFile), changes)
        tree |= _frames_listed(change(view, changes, f"{source}: {key}"))
    return typed(source, {**tree, "add": {}, "remove": {}}, RuleFile)


def as_yaml(content: Any) -> Any:
    """The mappings and lists that YAML gives for some content."""
    return msgspec.json.decode(msgspec.json.encode(content))


def _merged(base: Any, own: Any) -> Any:
    """A mapping with the keys of another, which replace its own unless both are mappings; an empty one clears it."""
    if not (isinstance(base, dict) and isinstance(own, dict) and own):
        return own
    return base | {key: _merged(base.get(key), value) for key, value in own.items()}


def _view(file: RuleFile, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The tree that changes follow: also with the shipped lists that they name, and what presets inherit."""
    tree = as_yaml(file)
    view = {key: tree[key] for key in _CHANGED}
    view["frames"] = {
        frame["name"]: {**(frame["trigger"] or {}), **{key: frame[key] for key in _OF_FRAMES}}
        for frame in tree["frames"]
    }
    for name, preset in view["presets"].items():
        if name not in _keys(changes, "presets"):
            continue
        whole = as_yaml(file.resolved(name))
        empty: dict[str, Any] = {"described": [], "roles": {}, "frames": [*view["frames"]], "unless": []}
        for key in _keys(changes["presets"], name):
            if key in empty and preset[key] is None:
                preset[key] = empty[key] if whole[key] is None else whole[key]
    words, conditions = shipped_words_and_conditions()
    paths = {
        name: {scheme.name: list(scheme.written.get(name, ())) for scheme in SCHEMES.values()}
        for name in next(iter(SCHEMES.values())).written
    }
    for key, shipped in (("words", words), ("conditions", conditions), ("paths", paths)):
        view[key] = {name: shipped[name] for name in _keys(changes, key) if name in shipped} | view[key]
    return view


def _keys(changes: Any, key: str) -> Any:
    """The keys below a key of some changes."""
    below = changes.get(key) if isinstance(changes, dict) else None
    return below if isinstance(below, (dict, list)) else ()


def _frames_listed(view: dict[str, Any]) -> dict[str, Any]:
    frames = [
        {"name": name, **{key: frame.pop(key) for key in _OF_FRAMES}, "trigger": frame}
        for name, frame in view["frames"].items()
    ]
    return {**view, "frames": frames}


def _with(tree: Any, added: Any, place: str) -> Any:
    """A tree with items added to its lists; a key whose items were all deleted changes nothing."""
    if added is None:
        return tree
    if isinstance(tree, dict) and isinstance(added, dict):
        return tree | {key: _with(_member(tree, key, place), value, f"{place}.{key}") for key, value in added.items()}
    if isinstance(tree, list) and isinstance(added, list):
        return tree + [item for item in added if item not in tree]
    raise InputError(f"must be {_kind(tree)}, got {shown(added)}", place=place)


def _without(tree: Any, removed: Any, place: str) -> Any:
    """A tree without items of its lists, or without whole keys of its mappings; a key without items as in `_with`."""
    if removed is None:
        return tree
    if isinstance(tree, dict) and isinstance(removed, dict):
        return tree | {
            key: _without(_member(tree, key, place), value, f"{place}.{key}") for key, value in removed.items()
        }
    if isinstance(tree, (dict, list)) and isinstance(removed, list):
        for item in removed:
            _member(tree, item, place)
        if isinstance(tree, dict):
            return {key: value for key, value in tree.items() if key not in removed}
        return [item for item in tree if item not in removed]
    raise InputError(f"must be {_kind(tree)}, got {shown(removed)}", place=place)


def _member(tree: Any, key: Any, place: str) -> Any:
    if key not in tree:
        names = ", ".join(map(str, tree)) or "none"
        raise InputError(f"must name what the rule has ({names}), got {shown(key)}", place=place)
    return tree[key] if isinstance(tree, dict) else None


def _kind(tree: Any) -> str:
    return "a mapping" if isinstance(tree, dict) else "a list"
