"""The reference page of the command line, made from the definitions of the commands: usage, arguments and options as ``--help`` has them.

The group of all commands enters; Markdown leaves. No command is run.
"""

from __future__ import annotations

from collections.abc import Iterator

import click
from docs_markdown import code, plain, table

from collage_core.cli import main

PROGRAM = "collage"
_WIDE = 10_000
"""Columns, so that click breaks no line of a usage or of a help."""


def command_page() -> str:
    """Return the page."""
    context = click.Context(main.collage, info_name=PROGRAM, terminal_width=_WIDE, max_content_width=_WIDE)
    statuses = (main.__doc__ or "").split("\n\n")[1].split("Each command")[0]
    parts = ["# The command line", plain(statuses), table(("command", "does"), _overview(context))]
    return "\n\n".join([*parts, *_sections(context, 2)]) + "\n"


def commands_below(context: click.Context) -> Iterator[click.Context]:
    """Yield a context of each command of a group, by name."""
    group = context.command
    if isinstance(group, click.Group):
        for name in sorted(group.commands):
            if not group.commands[name].hidden:
                yield click.Context(group.commands[name], parent=context, info_name=name)


def label(context: click.Context) -> str:
    """Return the label of the section about a command, such as ``collage-costs-show``."""
    return context.command_path.replace(" ", "-")


def _overview(context: click.Context) -> list[tuple[str, str]]:
    return [
        (f"[{code(one.info_name or '')}](#{label(one)})", plain(one.command.get_short_help_str(_WIDE))) for one in commands_below(context)
    ]


def _sections(context: click.Context, level: int) -> Iterator[str]:
    for one in commands_below(context):
        yield f"({label(one)})=\n{'#' * level} {one.command_path}"
        yield "\n\n".join(map(plain, (one.command.help or "").replace("\b", "").split("\n\n")))
        yield f"```text\n{' '.join(one.command.get_usage(one).removeprefix('Usage: ').split())}\n```"
        rows = [(code(names), plain(said)) for names, said in _options(one)]
        if rows:
            yield table(("option", "means"), rows)
        yield from _sections(one, level + 1)


def _options(context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        shown = parameter.get_help_record(context)
        if shown and shown[1] and not shown[0].endswith("--help"):
            yield shown
