"""Dataclasses that come back from JSON as they went."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import pytest

from collage_server.shared.from_json import from_json


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


def test_what_it_does_not_know_is_left_out() -> None:
    assert from_json(Tree, {"name": "a", "colour": 1, "best": {"name": "b", "colour": 2}}) == Tree("a", best=Tree("b"))


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ({}, "in Tree, name is missing"),
        ({"name": 3}, "in Tree, name is 3, it must be a valid string"),
        ({"name": "a", "kind": "bush"}, "in Tree, kind is 'bush', it must be 'leaf' or 'node'"),
        ({"name": "a", "of": [{"name": "b"}, 3]}, "in Tree, of[1] is 3, it must be a dictionary or an instance of Tree"),
        ({"name": "a", "named": {"first": {}}}, "in Tree, named.first.name is missing"),
        ({"name": "a", "best": {"name": "b", "numbers": ["two"]}}, "in Tree, best.numbers[0] is 'two', it must be a valid integer"),
    ],
)
def test_what_is_damaged_is_named(data: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(complaint)}"):
        from_json(Tree, data)
