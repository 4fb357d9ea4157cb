"""Route ``/api/v1/toolchains``: which toolchains there are, and why one is not usable. They are asked in another process."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from .answers import answer
from .protocol import ToolchainInfo, ToolchainList
from .services import services

blueprint = Blueprint("toolchains", __name__)


@blueprint.get("/toolchains")
def list_toolchains() -> Response:
    rows = services().pool.look_up(describe_toolchains)
    return answer(ToolchainList([ToolchainInfo(**row) for row in rows]))


def describe_toolchains(pipeline: str) -> list[dict[str, Any]]:
    """Every toolchain as the fields of `ToolchainInfo`; called in another process, as a plug-in may do anything."""
    from collage_core.toolchains.base import rule_tree, shown_rules
    from collage_core.toolchains.registry import all_toolchains

    rows = []
    for toolchain in all_toolchains():
        there = toolchain.availability()
        row: dict[str, Any] = {"name": toolchain.name, "letter": toolchain.letter, "style": toolchain.style}
        row |= {"rules": shown_rules(toolchain), "tree": rule_tree(toolchain)}
        about = {field: getattr(there, field) for field in ("usable", "version", "reason", "hint", "device", "precision")}
        rows.append({**row, **about})
    return rows
