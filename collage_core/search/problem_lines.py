"""Where in a user's JSON file a mistake stands: the place that an error names, as a line of the text.

Enters: an error with a place such as ``candidates[3].cost_s``, and the text that was read. Leaves: the same error with the file
and the line before it. Nothing here reads files or says whether a value is right.
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
    """Something wrong in a problem or in its constraints.

    Attributes:
        place: Keys and indices from the root of the data, such as ``candidates[3].cost_s``; empty for the whole.
    """

    def __init__(self, message: str, hint: str, code: str, place: str):
        super().__init__(message, hint, code)
        self.place = place

    def in_file(self, path: Path, text: str) -> CollageError:
        """The same mistake, told with the file `path` whose content is `text`, and the line."""
        return CollageError(f"{path}, line {line_of(text, self.place)}: {self.message}", self.hint, self.code)


def line_of(text: str, place: str) -> int:
    """The line, from 1, of the JSON `text` at which `place` begins; where it is missing, what should hold it is meant.

    `text` must be JSON that was read before.
    """
    at = _skip(text, 0)
    for step in _STEP.finditer(place):
        wanted = int(step["index"]) if step["index"] else step["key"] or step["word"]
        members = [value for name, value in _members(text, at) if name == wanted]
        if not members:
            break
        at = members[-1]  # Of a key that is given twice the last counts, as in `json.loads`.
    return text.count("\n", 0, at) + 1


def _members(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """(key or index, where its value begins) of each member of the object or list that begins at `at`; nothing for another value."""
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
    """Where the next thing that is no white space begins."""
    found = _BLANK.match(text, at)
    return found.end() if found else at
