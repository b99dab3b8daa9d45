"""Rule files that extend another file (their base), add to it and remove from it.

A rule is a tree of mappings and lists in this module. A value of the extending file replaces the value of the base with
the same key; mappings are merged key by key, and a frame is merged with the frame of the same name. `add` and `remove`
follow the same tree down to a list, where frames are a mapping by name: ``add: {frames: {verb: {lemma: [hold]}}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from corefsample.errors import InputError, shown
from corefsample.syntax._schemes import SCHEMES
from events._yaml_file import typed
from events.rules._conditions import shipped_words_and_conditions
from events.rules._format import RuleFile

_CHANGED = ("optional", "frames", "presets", "classes", "paths", "words", "conditions")
_OF_FRAMES = ("roles", "required")  # beside the words of the trigger


def extended(base: RuleFile, file_tree: Mapping[str, Any], source: str) -> RuleFile:
    """The rule of a file that extends `base`.

    Parameters
    ----------
    base
        Rule that the file extends, already checked.
    file_tree
        YAML content of the file, as mappings and lists.
    source
        Name of the file for error messages.

    Raises
    ------
    InputError
        If a value does not have the type that the format requires, or if `add` or `remove` names a key or an item that
        the rule does not have.
    """
    # The file need not have presets of its own, which its type requires: an empty preset satisfies the check.
    extension = typed(source, {"presets": {"base": {}}, **file_tree}, RuleFile)
    tree = {**as_yaml(base), "frames": as_yaml(base.all_frames()), "trigger": None}
    tree["examples"] = [*(tree["examples"] if extension.base_examples else ()), *file_tree.get("examples", ())]
    merged = {key: value for key, value in file_tree.items() if key not in ("frames", "examples", "add", "remove")}
    tree = _merged(tree, merged)
    frames = {frame["name"]: frame for frame in tree["frames"]}
    for frame in file_tree.get("frames", []):
        frames[frame["name"]] = _merged(frames.get(frame["name"], {}), frame)
    tree["frames"] = list(frames.values())
    for key in ("remove", "add"):
        changes = file_tree.get(key, {})
        view = _view(typed(source, tree, RuleFile), changes)
        tree |= _changed(view, changes, f"{source}: {key}", is_removal=key == "remove")
        tree["frames"] = [
            {"name": name, **{key: frame.pop(key) for key in _OF_FRAMES}, "trigger": frame}
            for name, frame in tree["frames"].items()
        ]
    return typed(source, {**tree, "add": {}, "remove": {}}, RuleFile)


def as_yaml(value: Any) -> Any:
    """Convert a structure of msgspec to the mappings and lists that its YAML would give."""
    return msgspec.json.decode(msgspec.json.encode(value))


def _merged(base: Any, extension: Any) -> Any:
    """A mapping updated with another one, recursively where both values are mappings; an empty mapping clears it."""
    if not (isinstance(base, dict) and isinstance(extension, dict) and extension):
        return extension
    return base | {key: _merged(base.get(key), value) for key, value in extension.items()}


def _view(file: RuleFile, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Tree to which changes apply, with the shipped lists that the changes name and the values that presets inherit."""
    tree = as_yaml(file)
    view = {key: tree[key] for key in _CHANGED}
    view["frames"] = {
        frame["name"]: {**(frame["trigger"] or {}), **{key: frame[key] for key in _OF_FRAMES}}
        for frame in tree["frames"]
    }
    for name, preset in view["presets"].items():
        if name not in _keys(changes, "presets"):
            continue
        resolved = as_yaml(file.resolved(name))
        defaults: dict[str, Any] = {"described": [], "roles": {}, "frames": [*view["frames"]], "unless": []}
        for key in _keys(changes["presets"], name):
            if key in defaults and preset[key] is None:
                preset[key] = defaults[key] if resolved[key] is None else resolved[key]
    words, conditions = shipped_words_and_conditions()
    paths = {
        name: {scheme.name: list(scheme.written.get(name, ())) for scheme in SCHEMES.values()}
        for name in next(iter(SCHEMES.values())).written
    }
    for key, shipped_lists in (("words", words), ("conditions", conditions), ("paths", paths)):
        view[key] = {name: shipped_lists[name] for name in _keys(changes, key) if name in shipped_lists} | view[key]
    return view


def _keys(changes: Any, key: str) -> Any:
    """Keys or items that changes have below a key."""
    below = changes.get(key) if isinstance(changes, dict) else None
    return below if isinstance(below, (dict, list)) else ()


def _changed(tree: Any, changes: Any, location: str, *, is_removal: bool) -> Any:
    """A tree with items added to its lists, or without some items of its lists and some keys of its mappings.

    A key without a value, whose items a user deleted, changes nothing.
    """
    if changes is None:
        return tree
    if isinstance(tree, dict) and isinstance(changes, dict):
        return tree | {
            key: _changed(_member(tree, key, location), value, f"{location}.{key}", is_removal=is_removal)
            for key, value in changes.items()
        }
    if isinstance(changes, list) and is_removal and isinstance(tree, (dict, list)):
        for item in changes:
            _member(tree, item, location)
        if isinstance(tree, dict):
            return {key: value for key, value in tree.items() if key not in changes}
        return [item for item in tree if item not in changes]
    if isinstance(changes, list) and isinstance(tree, list):
        return tree + [item for item in changes if item not in tree]
    kind = "a mapping" if isinstance(tree, dict) else "a list"
    raise InputError(f"must be {kind}, got {shown(changes)}", place=location)


def _member(tree: Any, key: Any, location: str) -> Any:
    if key not in tree:
        names = ", ".join(map(str, tree)) or "none"
        raise InputError(f"must name what the rule has ({names}), got {shown(key)}", place=location)
    return tree[key] if isinstance(tree, dict) else None
