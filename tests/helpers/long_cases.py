"""Cases of a parametrised test of which some run in `make test`, and all in `make test-long` after it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mostly_long(cases: Iterable[Any], short: Collection[Any] | int = 1) -> list[Any]:
    """Return the cases, marked ``long`` but for those in `short`, or but for so many of the first."""
    every = list(cases)
    chosen = every[:short] if isinstance(short, int) else [case for case in every if case in short]
    return [case if case in chosen else _long(case) for case in every]


def _long(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
