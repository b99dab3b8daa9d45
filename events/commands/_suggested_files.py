"""Files of suggested changes, with the evidence for each line as a comment above it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from events.commands._rule_suggesting import Suggestion

_WIDTH = 118
Place = tuple[str, ...]


def evidence_text(each: Suggestion) -> str:
    """What is known of a suggestion, in a line."""
    found = f"labelled {each.right} right, {each.wrong} wrong; unlabelled {each.unlabelled:,}"
    gain = f"; gain {each.gain:.4f}" if each.gain else ""
    return found + gain + (f'; {each.doc_id}: "{each.sentence}"' if each.doc_id else "")


def extending_file(head: Sequence[str], content: Mapping[str, Any], found: Sequence[Suggestion]) -> str:
    """The YAML of a file that extends another.

    Parameters
    ----------
    head
        Comments at the beginning.
    content
        Of the file.
    found
        The suggestions of which the content has lines.
    """
    lines = [line for text in head for line in _comment(text, "")]
    return "\n".join([*lines, *_lines(content, {each.change.item: each for each in found}, (), "")]) + "\n"


def _lines(tree: Any, evidence: Mapping[Place, Suggestion], place: Place, indent: str) -> Iterator[str]:
    """Lines of a mapping or a list, an item a line; a list of mappings is one of frames or entries by name or code."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            if isinstance(value, (Mapping, list)):
                yield f"{indent}{key}:"
                below = place if key in ("trigger", "nouns", "entries") else (*place, str(key))
                yield from _lines(value, evidence, below, indent + "  ")
            else:
                yield f"{indent}{key}: {_scalar(value)}"
        return
    for item in tree:
        if isinstance(item, Mapping):
            name = next(iter(item.values()))
            first, *others = _lines(item, evidence, (*place, str(name)), indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from others
            continue
        known = evidence.get((*place, str(item)))
        if known is not None:
            path = f"{known.change.text}: " if known.change.kind == "path" else ""  # the line has its name
            yield from _comment(path + evidence_text(known), indent)
        yield f"{indent}- {_scalar(item)}"


def _comment(text: str, indent: str) -> list[str]:
    """A text as lines of comments; characters that end a line of YAML are blanks."""
    return textwrap.wrap(
        " ".join(text.split()), _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}#   "
    )


def _scalar(value: Any) -> str:
    return str(yaml.safe_dump([value], default_flow_style=True, width=10**6, allow_unicode=True)).strip()[1:-1]
