"""Dataclasses that come back from JSON as they went."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pytest
from collage_server.base.from_json import from_json


@dataclass(frozen=True)
class Tree:
    name: str
    kind: Literal["leaf", "node"] = "leaf"
    of: list[Tree] = field(default_factory=list)
    named: dict[str, Tree] = field(default_factory=dict)
    best: Tree | None = None
    numbers: list[int] | None = None
    more: dict[str, Any] = field(default_factory=dict)


def test_what_goes_comes_back() -> None:
    leaf = Tree("leaf", numbers=[1, 2], more={"name": "no tree"})
    tree = Tree("root", "node", [leaf, Tree("b", of=[leaf])], {"first": leaf}, leaf)
    assert from_json(Tree, json.loads(json.dumps(asdict(tree)))) == tree


def test_what_is_missing_has_its_default() -> None:
    assert from_json(Tree, {"name": "a", "best": None}) == Tree("a")


@pytest.mark.parametrize(
    ("data", "error"),
    [({}, TypeError), ({"name": "a", "colour": 1}, KeyError), ({"name": "a", "best": 3}, TypeError), ({"name": "a", "of": [3]}, TypeError)],
)
def test_what_is_damaged_raises(data: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        from_json(Tree, data)
