"""Lists the models in a folder, such as a repository of Hugging Face with one ONNX file for each precision, so that the user picks one.

A folder enters; paths leave, and the error with which a folder is refused in place of a model. No file is opened.
"""

from __future__ import annotations

import os
from glob import escape
from pathlib import Path

from ..errors import CollageError
from .model_file import WEIGHT_SUFFIXES

DEEPEST = 3
"""How many folders deep models are looked for."""
MOST = 50
_SHOWN = 12


class FolderGiven(CollageError):
    """Raised where a folder is given in place of a model.

    Args:
        choices: Paths of the models in it.
    """

    def __init__(self, message: str, hint: str, code: str, choices: list[str] | None = None):
        super().__init__(message, hint, code)
        self.choices = choices or []


def models_in(folder: Path) -> list[Path]:
    """Return the ONNX files in `folder` and in the folders below it, in the order of their paths; hidden folders are left out."""
    return _files(folder, (".onnx",))


def folder_given(folder: Path) -> FolderGiven:
    """Return the error that lists the models in `folder`, or says that there is none and what there is instead."""
    name, found = repr(str(folder)), models_in(folder)
    if not found:
        weights = _files(folder, WEIGHT_SUFFIXES)
        if weights:
            message = f"{name} holds no ONNX model; {str(weights[0].relative_to(folder))!r} holds weights without a graph"
            return FolderGiven(message, "export it first, such as with `optimum-cli export onnx --model FOLDER OUT`", "not_onnx")
        return FolderGiven(f"{name} is a folder, not a model file", "name an .onnx file; the folder of a run has a run.json.gz", "not_onnx")
    if len(found) == 1:
        hint = f"name the file in it, such as {str(found[0].relative_to(folder))!r}"
        return FolderGiven(f"{name} is a folder, not a model file", hint, "not_onnx", [str(found[0])])
    listed = ", ".join(f"{path.relative_to(folder)} ({_size(path)})" for path in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    message = f"{name} is a folder with {len(found)} models: {listed}{more}"
    return FolderGiven(message, f"name one of them, such as {str(found[0])!r}", "several_models", [str(path) for path in found])


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    found: list[Path] = []
    for where, folders, files in os.walk(folder):
        depth = len(Path(where).relative_to(folder).parts)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if depth < DEEPEST else []
        found += [Path(where) / name for name in files if name.lower().endswith(suffixes) and not name.startswith(".")]
        if len(found) > MOST:
            break
    return sorted(found)[:MOST]


def _size(path: Path) -> str:
    """Return the size of a model file with that of the data beside it that is called after it."""
    try:
        size = sum(file.stat().st_size for file in path.parent.glob(f"{escape(path.name)}*") if file.is_file())
    except OSError:
        return "not readable"
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.1f} MB"
