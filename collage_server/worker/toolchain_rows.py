"""Makes the rows of the page's list of toolchains, and checks the text of a described one. Called in a worker process only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collage_core.errors import CollageError

LETTERS = "ABCDEFGIJKLMNOPQRSTUVWXYZ"
"""All but the host's."""


def describe_toolchains(saved: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return every toolchain as the fields of `ToolchainInfo`. A plug-in may do anything, so never call this in the server's process.

    Args:
        saved: Name → text of those that are only described.
    """
    from collage_core.toolchains.abilities import Tunes, lowers_precision
    from collage_core.toolchains.border import availability_of, rule_tree, shown_rules
    from collage_core.toolchains.registry import all_toolchains

    rows = []
    for toolchain in all_toolchains():
        there = availability_of(toolchain)
        row: dict[str, Any] = {"name": toolchain.name, "letter": toolchain.letter, "style": toolchain.style}
        row |= {"rules": shown_rules(toolchain), "tree": rule_tree(toolchain), "lowers_precision": lowers_precision(toolchain)}
        row["tunes"] = isinstance(toolchain, Tunes)
        about = {field: getattr(there, field) for field in ("usable", "version", "reason", "hint", "device", "precision")}
        rows.append({**row, **about})
    for name, text in saved.items():
        rows.append(_described_row(name, text, {row["letter"] for row in rows}))
    return rows


def _described_row(name: str, text: str, taken: set[str]) -> dict[str, Any]:
    """Return a described toolchain as a row of the list; it has a letter that no other one has, while there are letters."""
    from collage_core.toolchains.border import rule_tree, shown_rules
    from collage_core.toolchains.described import parse_description
    from collage_core.toolchains.registry import check_name_is_free

    letters = [letter for letter in [*name.upper(), *LETTERS] if letter in LETTERS and letter not in taken]
    row: dict[str, Any] = {"name": name, "letter": (letters or [name[0].upper()])[0], "style": "graph", "version": "", "described": True}
    row |= {"device": "described", "precision": "estimated", "usable": False, "rules": "", "tree": None, "hint": ""}
    try:
        toolchain = parse_description(text, name)
        check_name_is_free(toolchain)
    except CollageError as error:
        return {**row, "reason": error.message, "hint": error.hint}
    row |= {"style": toolchain.style, "rules": shown_rules(toolchain), "tree": rule_tree(toolchain)}
    if not toolchain.cost:
        reason = "its description has no [cost], so its time cannot be estimated"
        return {**row, "reason": reason, "hint": "add launch_s, flops_per_s or bytes_per_s"}
    return {**row, "usable": True, "reason": ""}


def check_description(text: str) -> dict[str, Any]:
    """Return how a description reads, as the fields of `DescriptionCheck`."""
    from collage_core.toolchains.border import rule_tree
    from collage_core.toolchains.described import DescriptionError, parse_description
    from collage_core.toolchains.registry import check_name_is_free

    nothing = {"name": None, "tree": None, "has_cost": False}
    try:
        toolchain = parse_description(text, "the description")
    except DescriptionError as error:
        return {**nothing, "mistake": {"line": error.line, "message": error.reason, "hint": error.hint}}
    try:
        check_name_is_free(toolchain)
    except CollageError as error:
        return {**nothing, "mistake": {"line": toolchain.line_of("name"), "message": error.message, "hint": error.hint}}
    return {"name": toolchain.name, "tree": rule_tree(toolchain), "has_cost": bool(toolchain.cost), "mistake": None}
