"""Tables of a run as frames of pandas, which is optional: a missing package is an error that says how to install it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ..base.csv_table import Cell
from ..errors import CollageError


def frame(header: Sequence[str], lines: Sequence[Sequence[Cell]]) -> Any:
    """Return a table as a ``pandas.DataFrame``.

    Raises:
        CollageError: pandas is not installed.
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        message = "a frame needs the Python package 'pandas', which is not installed"
        raise CollageError(
            message, "pip install pandas; export(..., ['csv']) writes the same tables without it", "not_installed"
        ) from error
    return pandas.DataFrame(list(lines), columns=list(header))
