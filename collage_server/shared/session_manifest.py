"""`SessionManifest`: says what a session file holds: its model, its runs, and the digest of every file in it.

Text of a stranger enters; a checked manifest leaves, or an error in one line. No file is opened here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, with_config

from collage_core.base.validation import first_mistake
from collage_core.errors import CollageError

from .json_files import is_id

SUFFIX = ".collage"
MANIFEST = "manifest.json"
FORMAT = "collage-session"
VERSION = 1
MANIFEST_BYTES = 4 << 20

RECORD, SNAPSHOT, EVENTS = "run.json.gz", "snapshot.json", "events.jsonl.gz"
"""The files of a run, in a folder ``runs/<id>``."""

BAD = "bad_session"
NOT_OPENED = "this session cannot be opened: "
"""How the message of an error of that code begins."""

_HINT = "ask whoever made it to save the session again"
_DIGEST = r"[0-9a-f]{64}"


def _id(text: str) -> str:
    if not is_id(text):
        raise ValueError("an id of letters, digits, dots, dashes and underscores")
    return text


def _plain(text: str) -> str:
    if not all(char.isprintable() or char == "\n" for char in text):
        raise ValueError("text that can be shown")
    return text


Id = Annotated[str, AfterValidator(_id)]
Line = Annotated[str, Field(max_length=300), AfterValidator(_plain)]
Digest = Annotated[str, Field(pattern=f"^{_DIGEST}$")]
Shape = Annotated[list[int], Field(max_length=64)] | Annotated[str, Field(max_length=1000)]


@with_config(ConfigDict(extra="ignore"))
@dataclass(frozen=True)
class SessionFile:
    """A file in the session: its size and its SHA-256."""

    bytes: Annotated[int, Field(ge=0)]
    sha256: Digest


@with_config(ConfigDict(extra="ignore"))
@dataclass(frozen=True)
class SessionModel:
    """The model of a session.

    Attributes:
        id: Its hash, as the explorer computes it of the file, the shapes and the values.
        files: Entries below ``model/``, the model itself first; empty where the session has its hash alone.
        shapes, values, region: What was fixed when it was opened.
        size_bytes, quantised, accuracy, dimensions: As in `ModelInfo`; believed only where there are no files.
    """

    id: Id
    name: Line
    files: list[str] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    region: Line | None = None
    size_bytes: Annotated[int, Field(ge=0)] = 0
    quantised: bool = False
    accuracy: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1e-3
    dimensions: dict[str, list[str]] = field(default_factory=dict)


@with_config(ConfigDict(extra="ignore"))
@dataclass(frozen=True)
class SessionRun:
    """A run in the folder ``runs/<id>`` of a session, with the name, note and star that its user gave it."""

    id: Id
    name: Annotated[str, Field(max_length=120), AfterValidator(_plain)] = ""
    note: Annotated[str, Field(max_length=2000), AfterValidator(_plain)] = ""
    is_starred: bool = False


@with_config(ConfigDict(extra="ignore"))
@dataclass(frozen=True)
class SessionManifest:
    """``manifest.json`` of a session.

    Attributes:
        made_by: Version of the program that wrote it.
        shown: The run that is shown when it is opened; None for none.
        files: Every other entry of the file, by its name.
    """

    format: Literal["collage-session"]
    version: int
    made_by: Line
    created: Line
    model: SessionModel
    runs: Annotated[list[SessionRun], Field(max_length=1000)]
    shown: Id | None
    files: dict[str, SessionFile]


_ADAPTER = TypeAdapter(SessionManifest)


def damaged(why: str) -> CollageError:
    """Make the error of a session that is not as it must be."""
    return CollageError(NOT_OPENED + why, _HINT, BAD)


def read_manifest(text: bytes) -> SessionManifest:
    """Read the manifest in `text`, and check that it is whole by itself.

    Raises:
        CollageError: it is no manifest, a newer version wrote it, or it contradicts itself.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged("its manifest is no JSON") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise damaged("its manifest is not that of a session")
    version = data.get("version")
    if isinstance(version, int) and version > VERSION:
        message = f"this session has version {version}, and this program reads up to {VERSION}"
        raise CollageError(message, "update Collage Explorer to open it", "newer_session")
    try:
        manifest = _ADAPTER.validate_json(text, strict=True)
    except ValidationError as error:
        raise damaged(f"in its manifest {first_mistake(error)}") from None
    _check(manifest)
    return manifest


def _check(manifest: SessionManifest) -> None:
    ids = [run.id for run in manifest.runs]
    if len(set(ids)) < len(ids):
        raise damaged("its manifest names a run twice")
    if manifest.shown is not None and manifest.shown not in ids:
        raise damaged(f"its manifest shows the run {manifest.shown!r}, which is not in it")
    needed = [f"runs/{run}/{name}" for run in ids for name in (RECORD, SNAPSHOT)]
    allowed = {*needed, *manifest.model.files, *(f"runs/{run}/{EVENTS}" for run in ids)}
    for name in (*needed, *manifest.model.files):
        if name not in manifest.files:
            raise damaged(f"its manifest has no digest of {name!r}")
    for name in manifest.files:
        if name not in allowed:
            raise damaged(f"{name!r} belongs to no run and no model of it")
    for name in manifest.model.files:
        if not is_model_entry(name):
            raise damaged(f"{name!r} cannot be a file of its model")
    if not manifest.model.files and not ids:
        raise damaged("there is neither a model nor a run in it")


_PART = re.compile(r"[^/\\\0:]{1,200}")


def is_model_entry(name: str) -> bool:
    """Return whether `name` is a plain path below ``model/``: it cannot lead anywhere else, and shows as it is."""
    first, *rest = name.split("/")
    plain = (part.isprintable() and part.strip(". ") and _PART.fullmatch(part) for part in rest)
    return first == "model" and 0 < len(rest) <= 16 and all(plain)


def to_json(manifest: SessionManifest) -> Any:
    """Return the manifest as JSON has it."""
    return _ADAPTER.dump_python(manifest, mode="json")
