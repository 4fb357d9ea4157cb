"""Reads and writes the marks of a run: the name, star and note that its user gave it, in ``marks.json`` of the run's folder.

The run itself never writes that file. A damaged one counts as no marks.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path

from ..http.error_answers import Problem
from ..http.validation import read
from ..messages.runs import RunMarks
from ..shared.json_files import read_json, write_json

MARKS = "marks.json"
NAME_CHARACTERS = 120
NOTE_CHARACTERS = 2000

_writing = threading.Lock()


def marks_of(folder: Path) -> RunMarks:
    """Read the marks of the run in `folder`; a run that nobody marked has an empty name and note, and no star."""
    with suppress(OSError, ValueError, Problem):
        return _whole(read(RunMarks, read_json(folder / MARKS)))
    return _whole(RunMarks())


def change_marks(folder: Path, change: RunMarks) -> RunMarks:
    """Set the marks that `change` gives, and leave those that it leaves out.

    Raises:
        Problem: a text is too long, or holds what cannot be shown (400).
    """
    name = None if change.name is None else _checked("name", " ".join(change.name.split()), NAME_CHARACTERS)
    note = None if change.note is None else _checked("note", change.note.strip(), NOTE_CHARACTERS)
    with _writing:
        known = marks_of(folder)
        is_starred = known.is_starred if change.is_starred is None else change.is_starred
        marks = replace(known, name=known.name if name is None else name, note=known.note if note is None else note, is_starred=is_starred)
        write_json(folder / MARKS, asdict(marks))
    return marks


def _whole(marks: RunMarks) -> RunMarks:
    return RunMarks(marks.name or "", marks.note or "", bool(marks.is_starred))


def _checked(what: str, text: str, most: int) -> str:
    if len(text) > most:
        raise Problem(400, "invalid", f"the {what} has {len(text)} characters, {most} are accepted", "shorten it")
    if any(not (char.isprintable() or char == "\n") for char in text):
        raise Problem(400, "invalid", f"the {what} holds characters that cannot be shown", "leave them out")
    return text
