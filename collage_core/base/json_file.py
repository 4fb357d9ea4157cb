"""A user's JSON file: its text and what it holds, or one clear line that says why not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import CollageError


def read_json(path: Path, code: str, hint: str) -> tuple[str, Any]:
    """The text of a user's JSON file, and what it holds.

    Raises:
        CollageError: it cannot be read, or is no JSON; of `code`, with `hint`.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return text, json.loads(text)
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", "give a JSON file", code) from error
    except RecursionError as error:
        raise CollageError(f"{str(path)!r} is nested too deeply", hint, code) from error
    except ValueError as error:
        raise CollageError(f"{str(path)!r} is not JSON: {error}", hint, code) from error
