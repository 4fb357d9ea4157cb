"""`attachment`: a response that the browser saves as a file; `plain_name`: names of such files without what they cannot have."""

from __future__ import annotations

from flask import Response


def attachment(response: Response, name: str) -> Response:
    """Return `response` as a file to save under `name`."""
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


def plain_name(name: str) -> str:
    """Return a model's name with ASCII letters, digits, ``-`` and ``_`` alone, at most 60 of them; "model" where nothing is left."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in name)[:60] or "model"
