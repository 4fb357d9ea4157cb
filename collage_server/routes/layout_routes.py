"""Routes of ``/api/v1/models/<id>/layouts``: keep the positions of a model's boxes for the pages that come later.

A layout is kept under the key that the page gives it, a digest of all that it depends on. The server checks only that it is
a layout; the page that reads it decides whether it fits. The folder is bounded: the layouts used least lately are removed.
"""

from __future__ import annotations

import gzip
import os
import re
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from flask import Blueprint, Response

from collage_core.base.home import home

from ..http.answers import accepts_gzip, compressed_json, json_body
from ..http.error_answers import Problem, not_found
from ..messages.models import LayoutJson
from ..services import services
from ..shared.json_files import write_json

blueprint = Blueprint("layouts", __name__)

LAYOUT_BYTES = 8 << 20
KEPT_BYTES = 64 << 20
FARTHEST = 1e8
_KEY = re.compile(r"[0-9a-f]{8,64}")


@blueprint.get("/models/<model>/layouts/<key>")
def get_layout(model: str, key: str) -> Response:
    """Answer with the layout, or 204 where nobody has made it."""
    file = _file(model, key)
    try:
        data = file.read_bytes()
        os.utime(file)
    except OSError:
        return Response(status=204)
    return compressed_json(data) if accepts_gzip() else Response(gzip.decompress(data), mimetype="application/json")


@blueprint.put("/models/<model>/layouts/<key>")
def put_layout(model: str, key: str) -> Response:
    """Keep a layout; one that is there already stays as it is."""
    file = _file(model, key)
    layout = json_body(LayoutJson, LAYOUT_BYTES)
    fault = _fault(layout)
    if fault:
        raise Problem(400, "invalid", f"this is no layout: {fault}", "docs/api.md shows what is expected")
    if not file.exists():
        write_json(file, asdict(layout))
        _make_room(file.parent)
    return Response(status=204)


def _file(model: str, key: str) -> Path:
    if not _KEY.fullmatch(key):
        raise not_found("unknown_layout", f"{key[:80]!r} is no key of a layout", "a key is 8 to 64 hexadecimal digits")
    folder = home() / "layouts"
    folder.mkdir(exist_ok=True)
    return folder / f"{services().models.get(model).id}-{key}.json.gz"


def _fault(layout: LayoutJson) -> str:
    """Say why these numbers are no layout; empty where they are one."""
    if not layout.centres or any(len(pairs) % 2 for pairs in (layout.centres, layout.points, layout.labels)):
        return "x and y come in pairs"
    if layout.offsets[:1] != [0] or layout.offsets[-1] != len(layout.points) or any(a > b for a, b in pairwise(layout.offsets)):
        return "'offsets' must rise from 0 to the number of 'points'"
    if len(layout.labels) != 2 * (len(layout.offsets) - 1):
        return "each edge has one label"
    numbers = (value for values in (layout.centres, layout.points, layout.labels) for value in values if value is not None)
    return f"no position is beyond {FARTHEST:g}" if any(abs(value) > FARTHEST for value in numbers) else ""


def _make_room(folder: Path) -> None:
    """Remove the layouts that were used least lately until the others are within the bound."""
    files = [(path.stat().st_mtime_ns, path.stat().st_size, path) for path in folder.glob("*.json.gz")]
    size = sum(size_bytes for _, size_bytes, _ in files)
    for _, size_bytes, path in sorted(files):
        if size <= KEPT_BYTES:
            return
        path.unlink(missing_ok=True)
        size -= size_bytes
