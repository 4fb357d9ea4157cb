"""`collage costs`: shows, exports, imports and removes records of the cost database.

Arguments enter, one document or a table leaves. Costs of different machines, versions, threads and options are never mixed.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..base.counted import counted
from ..base.durations import duration
from ..cost.measuring.repetitions import cost_of
from ..errors import CollageError, printable
from .say import say

if TYPE_CHECKING:
    from ..cost.database.database import CostDatabase
    from ..cost.database.maintenance import Group, Selection

F = TypeVar("F", bound=Callable[..., Any])

_HOURS = {"h": 1, "d": 24, "w": 24 * 7}
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@click.group()
def costs() -> None:
    """Show, export, import and remove costs in the database."""


def _which(*more: str) -> Callable[[F], F]:
    """Add the option that names the database, and those of `more` that select records in it."""
    options = {
        "db": click.option("--db", metavar="PATH|URL", help="The database; by default the one in COLLAGE_COSTS, or your own."),
        "toolchain": click.option("--toolchain", default="", help="Only costs of this toolchain."),
        "machine": click.option("--machine", default="", help="Only costs of machines with this name; * matches anything."),
        "version": click.option("--version", default="", help="Only costs of this version of a toolchain."),
        "computation": click.option("--computation", default="", help="List the costs of computations whose digest begins with this."),
    }

    def add(command: F) -> F:
        for name in reversed(("db", *more)):
            command = options[name](command)
        return command

    return add


@costs.command(short_help="Count the costs.")
@_which("toolchain", "machine", "computation")
@_JSON
def show(db: str | None, as_json: bool, **given: str) -> None:
    """Count the costs by machine, toolchain, version, threads and options."""
    from ..cost.database.maintenance import groups, records, selected_profiles, selected_transitions, selected_tunings

    selection = _selection(**given)
    with _opened(db, read_only=True) as database:
        found = groups(database, selection)
        listed = records(database, selection) if selection.computation else []
        pairs, kernels = selected_transitions(database, selection), selected_tunings(database, selection)
        profiles = selected_profiles(database, selection)
    if as_json:
        rows = {
            name: [{**asdict(key), **asdict(value)} for key, value in each]
            for name, each in (("costs", listed), ("transitions", pairs), ("tunings", kernels))
        }
        rows["profiles"] = [{**asdict(key), "created": created} for key, created in profiles]
        document = {"schema": 1, "database": database.name, "groups": [asdict(group) for group in found], **rows}
        click.echo(json.dumps(document, allow_nan=False))
        return
    counts_text = f"{counted(sum(group.costs for group in found), 'cost')}, {counted(len(pairs), 'transition')}"
    say(f"{database.name}: {counts_text}{_more(len(kernels), len(profiles))}")
    _show_groups(found)
    for key, record in listed:
        cost = cost_of(record, 50.0, "recorded")
        setting = f"{key.toolchain} {key.version}, {counted(key.threads, 'thread')}, {key.options}, {key.machine}"
        text = f"{cost.stage}: {cost.reason}" if cost.seconds is None else f"{duration(cost.seconds)}, median of {cost.samples}"
        say(f"{key.computation}  {setting}: {text}")


@costs.command(short_help="Write costs to FILE.")
@click.argument("file")
@_which("machine", "toolchain")
def export(file: str, db: str | None, **given: str) -> None:
    """Write costs to FILE as JSON lines, compressed if its name ends in .gz. - is standard output."""
    from ..cost.database.import_export import write_file
    from ..cost.database.maintenance import records, selected_transitions, selected_tunings

    selection = _selection(**given)
    with _opened(db, read_only=True) as database:
        found, pairs = records(database, selection), selected_transitions(database, selection)
        kernels = selected_tunings(database, selection)
    write_file(file, found, pairs, kernels)
    say(f"exported {counted(len(found), 'cost')} and {counted(len(pairs), 'transition')}{_more(len(kernels))}", err=file == "-")


@costs.command("import", short_help="Merge costs from FILE.")
@click.argument("file")
@_which()
@_JSON
def import_(file: str, db: str | None, as_json: bool) -> None:
    """Merge costs from FILE, an export or a cost database. - is standard input. If both have a cost, the newer one is kept."""
    from ..cost.database.import_export import read_file
    from ..cost.database.maintenance import merge

    brought = read_file(file)
    with _opened(db) as database:
        merged = merge(database, brought.records, brought.transitions, brought.tunings)
    if as_json:
        click.echo(json.dumps({"schema": 1, "database": database.name, **asdict(merged)}))
        return
    say(f"{database.name}: {merged.new} new, {merged.replaced} replaced by newer ones, {merged.kept} kept as they were")


@costs.command(short_help="Remove costs.")
@_which("toolchain", "version", "machine")
@click.option("--older-than", default="", metavar="90d", help="Only costs older than this: hours, days or weeks (12h, 90d, 4w).")
@click.option("--dry-run", is_flag=True, help="Print what would be removed, without removing it.")
@_JSON
def prune(db: str | None, older_than: str, dry_run: bool, as_json: bool, **given: str) -> None:
    """Remove the costs that match all given options."""
    from ..cost.database.maintenance import groups, remove, selected_profiles, selected_transitions, selected_tunings

    selection = _selection(**given, before=_cutoff(older_than))
    if not any((older_than, *given.values())):
        raise CollageError("prune would remove everything", "say what: --older-than, --toolchain, --version or --machine", "bad_option")
    with _opened(db, read_only=dry_run) as database:
        found = groups(database, selection)
        counts = (
            (
                sum(group.costs for group in found),
                len(selected_transitions(database, selection)),
                len(selected_tunings(database, selection)),
                len(selected_profiles(database, selection)),
            )
            if dry_run
            else remove(database, selection)
        )
    if as_json:
        removed = {"dry_run": dry_run, "costs": counts[0], "transitions": counts[1], "tunings": counts[2], "profiles": counts[3]}
        click.echo(json.dumps({"schema": 1, "database": database.name, **removed}))
        return
    _show_groups(found)
    counts_text = f"{counted(counts[0], 'cost')} and {counted(counts[1], 'transition')}{_more(counts[2], counts[3])}"
    say(f"{database.name}: {counts_text} {'would be' if dry_run else 'were'} removed")


def _more(kernels: int, profiles: int = 0) -> str:
    """Return the numbers of tuned kernels and of profiles as the end of a list; empty where there are none."""
    return "".join(f", {counted(count, name)}" for count, name in ((kernels, "tuned kernel"), (profiles, "profile")) if count)


def _opened(db: str | None, *, read_only: bool = False) -> CostDatabase:
    """Open the cost database, and print its notes on standard error."""
    from ..cost.database.database import CostDatabase

    database = CostDatabase(db, read_only=read_only)
    for note in database.notes:
        say(f"note: {note}", err=True)
    return database


def _selection(**given: str) -> Selection:
    from ..cost.database.maintenance import Selection

    return Selection(**given)


def _cutoff(older_than: str) -> str:
    """Return the time before which costs are older than `older_than`; empty where that is empty."""
    if not older_than:
        return ""
    given = re.fullmatch(r"([0-9]{1,5})([hdw])", older_than)
    if given is None:
        raise CollageError(f"--older-than is {older_than!r}, it must be hours, days or weeks", "such as 12h, 90d or 4w", "bad_option")
    time = datetime.now(UTC) - timedelta(hours=int(given[1]) * _HOURS[given[2]])
    return time.isoformat(timespec="seconds")


def _show_groups(groups: list[Group]) -> None:
    """Print a table for each machine."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from ..cost.database.records import machine_id

    console = Console(highlight=False, markup=False, file=sys.stdout)
    for machine, rows in groupby(groups, key=lambda group: group.machine):
        console.print(printable(f"\n{machine}{' (this machine)' if machine == machine_id() else ''}"), soft_wrap=True)
        table = Table(box=None, pad_edge=False)
        for heading in ("toolchain", "version", "threads", "options", "costs", "failed", "newest"):
            table.add_column(heading, overflow="fold")
        for row in rows:
            failed = ", ".join(f"{count} {stage}" for stage, count in sorted(row.failed.items()))
            cells = row.toolchain, row.version, str(row.threads), row.options, str(row.costs), failed, row.newest[:10]
            table.add_row(*(Text(printable(cell)) for cell in cells))
        console.print(table)
