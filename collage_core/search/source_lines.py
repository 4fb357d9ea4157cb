"""Source lines of mistakes in a user's JSON file.

An error with a JSON path such as ``candidates[3].cost_s`` and the text of the file enter; the same error, with file name and
line number, leaves. Nothing here reads files or checks values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from ..errors import CollageError

_STEP = re.compile(r"\[(?P<index>\d+)\]|\['(?P<key>[^']*)'\]|(?P<word>[^.\[\]]+)")
_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class ProblemMistake(CollageError):
    """Raised for a mistake in a problem or in its constraints.

    Attributes:
        json_path: Keys and indices from the root of the data, such as ``candidates[3].cost_s``; empty for the root.
    """

    def __init__(self, message: str, hint: str, code: str, json_path: str):
        super().__init__(message, hint, code)
        self.json_path = json_path

    def in_file(self, file: Path, text: str) -> CollageError:
        """Return the same mistake with the name of `file`, whose content is `text`, and the line number."""
        return CollageError(f"{file}, line {line_of(text, self.json_path)}: {self.message}", self.hint, self.code)


def line_of(text: str, json_path: str) -> int:
    """Return the line, from 1, at which the value at `json_path` begins, or the innermost existing value that should hold it.

    `text` must be valid JSON.
    """
    at = _skip(text, 0)
    for step in _STEP.finditer(json_path):
        wanted = int(step["index"]) if step["index"] else step["key"] or step["word"]
        members = [value for name, value in _members(text, at) if name == wanted]
        if not members:
            break
        at = members[-1]  # Of a repeated key the last counts, as in `json.loads`.
    return text.count("\n", 0, at) + 1


def _members(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Yield (key or index, offset of its value) for each member of the object or list at offset `at`; none for other values."""
    if text[at] not in "{[":
        return
    is_object = text[at] == "{"
    index = 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        name: str | int = index
        if is_object:
            name, after = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, after) + 1)
        yield name, at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1


def _skip(text: str, at: int) -> int:
    """Return the offset of the next character, from `at` on, that is no white space."""
    found = _BLANK.match(text, at)
    return found.end() if found else at
