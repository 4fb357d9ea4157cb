"""Stores described toolchains, one TOML file each in the folder ``toolchains`` of `home()`.

Texts that the engine has read (`check_description`) enter; they leave again by name. Nothing here reads TOML.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

from collage_core.base.home import home

from .http.error_answers import Problem, not_found, refused
from .messages.installation import DescriptionMistake
from .messages.requests import RunRequest
from .process_pool import ProcessPool
from .shared.json_files import is_id
from .worker.toolchain_rows import check_description

MOST_BYTES = 64 << 10
MOST_SAVED = 100
SUFFIX = ".toml"
FOLDER = "toolchains"


def check_size(text: str) -> None:
    """Raise Problem (413) where a text is longer than any description needs to be."""
    size = len(text.encode(errors="replace"))
    if size > MOST_BYTES:
        raise Problem(413, "too_large", f"the description has {size} bytes, {MOST_BYTES} are accepted", "describe it in fewer rules")


def all_saved() -> dict[str, str]:
    """Read every saved description, name → text, sorted by name. A file that somebody damaged is left out."""
    texts = {path.stem: _text(path) for path in sorted(_folder().glob(f"*{SUFFIX}")) if is_id(path.stem)}
    return {name: text for name, text in texts.items() if text is not None}


def save(name: str, text: str) -> None:
    """Keep `text` under `name`, in place of what is there.

    Raises:
        Problem: no file can be called so (400), or there are too many (409).
    """
    if not is_id(name):
        hint = "begin with a letter or a digit, and use only a–z, A–Z, 0–9, '.', '_' and '-'"
        raise Problem(400, "bad_name", f"{name[:80]!r} cannot be the name of a saved toolchain", hint)
    saved = all_saved()
    if name not in saved and len(saved) >= MOST_SAVED:
        raise refused("too_many", f"{len(saved)} described toolchains are saved already", "delete one first")
    write(_folder(), {name: text})


def delete(name: str) -> None:
    """Delete the description called `name`.

    Raises:
        Problem: there is none (404).
    """
    path = _folder() / f"{name}{SUFFIX}"
    if not is_id(name) or not path.is_file():
        raise not_found("unknown_toolchain", f"no described toolchain {name[:80]!r} is saved", "GET /api/v1/described lists them")
    path.unlink()


def saved_among(targets: Iterable[str]) -> dict[str, str]:
    """Read those of `targets` that are saved descriptions, name → text."""
    saved = all_saved()
    return {name: saved[name] for name in targets if name in saved}


def texts_to_try(request: RunRequest, known: Iterable[str], pool: ProcessPool) -> dict[str, str]:
    """Read what is tried beside a run that knows the targets `known`, name → text: the text that was sent, and what is saved.

    Raises:
        Problem: the text that was sent does not read (400), or is too long (413).
    """
    texts = saved_among(set(request.targets) - set(known))
    if request.toolchain is not None:
        check_size(request.toolchain)
        checked = pool.call(check_description, request.toolchain)
        if checked["mistake"]:
            raise problem_of(DescriptionMistake(**checked["mistake"]))
        texts[checked["name"]] = request.toolchain
    return texts


def problem_of(mistake: DescriptionMistake) -> Problem:
    """Make the error of a description that does not read (400)."""
    return Problem(400, "bad_rule", f"line {mistake.line}: {mistake.message}", mistake.hint)


def write(folder: Path, texts: dict[str, str]) -> tuple[Path, ...]:
    """Write each of `texts` into `folder`, whole or not at all; returns the files."""
    folder.mkdir(exist_ok=True)
    paths = []
    for name, text in texts.items():
        path = folder / f"{name}{SUFFIX}"
        scratch = folder / f".{secrets.token_hex(8)}"
        scratch.write_text(text, encoding="utf-8")
        os.replace(scratch, path)
        paths.append(path)
    return tuple(paths)


def _folder() -> Path:
    folder = home() / FOLDER
    folder.mkdir(exist_ok=True)
    return folder


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
