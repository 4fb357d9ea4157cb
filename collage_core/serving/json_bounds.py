"""`parse_json`: reads the JSON of a request, once it is seen to hold no more than the inputs of the model can need.

Python makes some hundred bytes of three (``[],``), so the bytes of a body say little of what it takes to read it. Lists, values and depth
are counted before anything is made of them, in one pass over the bytes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np

from .refusal import Refusal

MOST_NESTED = 64
"""Deepest nesting of lists and objects: a tensor has at most 32 dimensions."""
_TEXTS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BLOCK = 1 << 20
_BINARY = "send binary tensors"


@dataclass(frozen=True)
class JsonBounds:
    """How much a request may hold.

    Attributes:
        values: Most values, lists and objects among them.
        lists: Most lists and objects.
    """

    values: int
    lists: int


def parse_json(text: bytes, bounds: JsonBounds) -> object:
    """Return what the JSON `text` says.

    Raises:
        Refusal: it is not JSON, or holds more than `bounds` admit.
    """
    _check(text, bounds)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise Refusal(400, "the JSON is nested too deeply") from error
    except ValueError as error:
        raise Refusal(400, f"the body is not JSON: {str(error)[:200]}") from error


def _refuse_constant(word: str) -> object:
    raise ValueError(f"{word} is no number of JSON")


def _check(text: bytes, bounds: JsonBounds) -> None:
    # Counting with the texts, whose commas and brackets mean nothing, is quick and never too low. So the texts are taken out only where
    # that is too many.
    lists, commas = _counts(text)
    if lists > MOST_NESTED or lists > bounds.lists or lists + commas > bounds.values:
        bare = _TEXTS.sub(b'""', text)
        lists, commas = _counts(bare)
        if lists > bounds.lists:
            raise Refusal(413, f"the JSON has {lists} lists and objects, the inputs can need {bounds.lists}: {_BINARY}")
        if lists + commas > bounds.values:
            raise Refusal(413, f"the JSON has some {lists + commas} values, the inputs can need {bounds.values}: {_BINARY}")
        if _depth(bare) > MOST_NESTED:
            raise Refusal(400, f"the JSON is nested too deeply: at most {MOST_NESTED} lists and objects may lie in each other")


def _counts(text: bytes) -> tuple[int, int]:
    """Return how many lists and objects begin, and how many commas there are."""
    return text.count(b"[") + text.count(b"{"), text.count(b",")


def _depth(text: bytes) -> int:
    """Return the deepest nesting of lists and objects."""
    depth = deepest = 0
    for start in range(0, len(text), _BLOCK):
        block = np.frombuffer(text, np.uint8, min(_BLOCK, len(text) - start), start)
        # "[", "{", "]" and "}" are 91, 123, 93 and 125: with bit 32 set, 123 and 125.
        marks = block | 32
        levels = np.cumsum((marks == 123).astype(np.int8) - (marks == 125).astype(np.int8), dtype=np.int64) + depth
        deepest, depth = max(deepest, int(levels.max())), int(levels[-1])
    return deepest
