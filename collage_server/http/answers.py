"""Reads the bodies of requests and makes answers: JSON only, checked on the way in, dataclasses of `protocol` on the way out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, TypeVar

from flask import Response, current_app, request

from ..shared.json_files import json_data
from .error_answers import Problem
from .validation import read

T = TypeVar("T")
DEPTH = 20
JSON_BYTES = "JSON_BYTES"
"""Key of the app's configuration: the largest JSON body, in bytes, of a route that says nothing else."""


def json_body(kind: type[T], most_bytes: int | None = None) -> T:
    """Read the body of this request as a `kind`; `most_bytes` where it may be larger than others.

    Raises:
        Problem: it is not JSON (415, 400), or not what is expected (400).
    """
    if not request.is_json:
        given = request.mimetype or "none"
        raise Problem(415, "not_json", f"a JSON body was expected, and its type is {given!r}", "send Content-Type: application/json")
    request.max_content_length = most_bytes or current_app.config[JSON_BYTES]
    return read(kind, parse(request.get_data()))


def parse(text: bytes | str) -> Any:
    """Decode `text` as JSON.

    Raises:
        Problem: it is none, or nested too deeply (400).
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = str(error) if isinstance(error, json.JSONDecodeError) else "it cannot be read"
        raise Problem(400, "invalid", f"the JSON is broken: {why}", "send valid JSON in UTF-8") from error
    if _is_deep(data):
        raise Problem(400, "invalid", f"the JSON is nested more than {DEPTH} levels deep", "nothing that is expected is")
    return data


def _is_deep(data: Any) -> bool:
    layer = [data]
    for _ in range(DEPTH):
        layer = [
            item for value in layer for item in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        ]
        if not layer:
            return False
    return True


def answer(resource: Any, status: int = 200) -> Response:
    """Answer with a dataclass of `protocol`, or plain data, as JSON."""
    data = json_data(resource)
    return Response(json.dumps(data, allow_nan=False, separators=(",", ":")), status, mimetype="application/json")


def accepts_gzip() -> bool:
    """Return whether the client takes gzip."""
    return "gzip" in request.accept_encodings


def compressed_json(data: bytes) -> Response:
    """Answer with gzipped JSON; the caller has checked that the client takes gzip."""
    response = Response(data, mimetype="application/json")
    response.headers["Content-Encoding"] = "gzip"
    return response


def json_file(file: Path | bytes) -> Response:
    """Answer with a file that `write_json` compressed, or with the content of one, as the client can take it."""
    content = file if isinstance(file, bytes) else file.read_bytes()
    response = compressed_json(content) if accepts_gzip() else answer(json.loads(gzip.decompress(content)))
    response.vary.add("Accept-Encoding")
    return response
