"""Reads a JSON file of the user, or says in one clear line why that is not possible."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import CollageError
from .user_file import read_text


def read_json(path: Path, code: str, hint: str) -> tuple[str, Any]:
    """Return the text of the JSON file `path`, and the data in it.

    Raises:
        CollageError: the file cannot be read or is not JSON; the error has this `code` and `hint`.
    """
    try:
        text = read_text(path)
        return text, json.loads(text)
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", "give a JSON file", code) from error
    except RecursionError as error:
        raise CollageError(f"{str(path)!r} is nested too deeply", hint, code) from error
    except ValueError as error:
        raise CollageError(f"{str(path)!r} is not JSON: {error}", hint, code) from error
