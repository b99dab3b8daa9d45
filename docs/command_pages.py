"""A page for each command, made from the program's own help."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import click

from events.commands._parser import Command
from events.commands._program import cli

OVERVIEW = "overview.md"

__all__ = ["write_pages"]


def commands(group: click.Group = cli, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with its words, groups before what they contain."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*words, name), command
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))


def write_pages(folder: Path) -> None:
    """Write one page per command, and the table that the page of commands includes."""
    folder.mkdir(parents=True, exist_ok=True)
    found = list(commands())
    pages = {f"{'-'.join(words)}.md": _page(words, command) for words, command in found}
    rows = [
        f"| [{' '.join(words)}](reference/commands/{'-'.join(words)}.md) | {_plain(command.get_short_help_str(200))} |"
        for words, command in found
    ]
    pages[OVERVIEW] = "\n".join(["| command | what |", "|---|---|", *rows, ""])
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _page(words: tuple[str, ...], command: click.Command) -> str:
    context = command.make_context(" ".join(("corefsample", *words)), [], resilient_parsing=True)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    lines = [f"# corefsample {' '.join(words)}", "", "```sh", usage, "```", ""]
    lines += [_block(block) for block in (command.help or "").split("\n\n")]
    if isinstance(command, click.Group):
        lines += [f"- [{name}]({'-'.join((*words, name))}.md)" for name in command.list_commands(context)]
        return "\n".join([*lines, ""])
    sections: dict[str, list[str]] = {"Options": []}
    section_of = command.section_of if isinstance(command, Command) else {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context) if isinstance(parameter, click.Option) else None
        if record is not None:
            title = section_of.get(parameter.name or "", "Options")
            sections.setdefault(title, []).append(f"`{record[0]}`\n: {_plain(record[1])}\n")
    for title, options in sections.items():
        lines += [f"## {title}", "", *options]
    return "\n".join(lines)


def _block(block: str) -> str:
    """A paragraph of help, or lines that are not wrapped, with their title."""
    if not block.startswith("\b\n"):
        return f"{_plain(block)}\n"
    title, *lines = block.removeprefix("\b\n").split("\n")
    code = textwrap.dedent("\n".join(lines))
    return f"{_plain(title)}\n\n```sh\n{code}\n```\n"


def _plain(text: str) -> str:
    """Text of a help with its code, in which nothing else is markup: "raid*" has no emphasis."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(part if k % 2 else re.sub(r"([\\*_<>\[\]$|#])", r"\\\1", part) for k, part in enumerate(parts))
