"""Prints what is known of a plan that is wrong: the document of its run, and the errors of each partition for `apply --check-each`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..base.counted import counted
from ..documents.json_form import to_json
from ..errors import AccuracyError
from .json_output import print_json
from .say import say


@contextmanager
def each_told(*, as_json: bool) -> Iterator[None]:
    """Print the errors of each partition, as text or as a document, before the error of a plan that is wrong ends the command."""
    try:
        yield
    except AccuracyError as error:
        each = getattr(error, "each", None)
        if each is not None and as_json:
            print_json({"schema": 1, "out": None, "verify": None, "each": each})
        elif each is not None:
            show_each(each)
        raise


@contextmanager
def wrong_told(*, as_json: bool) -> Iterator[None]:
    """Print the document of a run that found no right plan, before the error ends the command. Errors that are no numbers are null."""
    try:
        yield
    except AccuracyError as error:
        if as_json and error.document is not None:
            document = to_json(error.document)
            print_json({**document, "verify": _finite(document["verify"])})
        raise


def _finite(data: Any) -> Any:
    """Return JSON data with null in place of what is no number."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    return None if isinstance(data, float) and not math.isfinite(data) else data


def show_each(each: Mapping[str, Any]) -> None:
    """Print what each partition reads and makes errs by, in the order in which they run."""
    for row in each["partitions"]:
        begins = "  <- the error begins here" if row["id"] == each["begins"] else ""
        where = f"{row['target']}, {counted(len(row['names']), 'node')} from {row['names'][0]!r}"
        say(f"  reads {_error(row['input_error'])}, makes {_error(row['output_error'])}  {where}{begins}")


def _error(error: float | None) -> str:
    return f"{error:>8.2g}" if error is not None else "not even near"
