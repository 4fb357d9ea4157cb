"""A run's options between the page and the engine: which were given, and everything that the engine says against them.

`problems` is called in a worker process, as `job` is: the engine's own checks say what is wrong, one option at a time, so that
each can be told beside its field.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from collage_core.errors import CollageError

from ..messages.requests import RunOptions


def for_engine(options: RunOptions) -> dict[str, Any]:
    """Those that were given, as the engine takes them."""
    return {name: frozenset(value) if name == "taps" else value for name, value in options.given().items()}


def problems(pipeline: str, targets: Sequence[str], given: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is wrong with each option, or with what it says of a target."""
    options = importlib.import_module(pipeline).Options
    return [problem for name, value in given.items() for problem in _problems(options, targets, name, value)]


def _problems(options: Any, targets: Sequence[str], name: str, value: Any) -> Iterator[dict[str, str]]:
    parts = [(target, {target: one}) for target, one in value.items()] if isinstance(value, Mapping) else [("", value)]
    for target, part in parts:
        try:
            options(targets=tuple(targets), **{name: part})
        except CollageError as error:
            yield {"option": name, "target": target, "message": error.message, "hint": error.hint}
