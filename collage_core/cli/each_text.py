"""The errors of each partition of a plan, for `collage apply --check-each`, also where the plan is wrong and nothing is exported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..base.counted import counted
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


def show_each(each: Mapping[str, Any]) -> None:
    """Print what each partition reads and makes errs by, in the order in which they run."""
    for row in each["partitions"]:
        begins = "  <- the error begins here" if row["id"] == each["begins"] else ""
        where = f"{row['target']}, {counted(len(row['names']), 'node')} from {row['names'][0]!r}"
        say(f"  reads {_error(row['input_error'])}, makes {_error(row['output_error'])}  {where}{begins}")


def _error(error: float | None) -> str:
    return f"{error:>8.2g}" if error is not None else "not even near"
