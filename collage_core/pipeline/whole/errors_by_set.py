"""The errors of an artifact on each set of inputs that it was compared on, as numbers and in words.

A `verify` document or its ``sets`` enter; text and numbers leave. Nothing is run, and no library is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...documents.verify import Verify

ErrorsBySet = Mapping[str, Mapping[str, float]]
"""Name of a set of inputs → output → its error there; the set that is timed comes first."""


def largest_errors(by_set: ErrorsBySet) -> dict[str, float]:
    """Return the error of each output on the set where it is largest."""
    largest: dict[str, float] = {}
    for errors in by_set.values():
        largest |= {name: max(error, largest.get(name, 0.0)) for name, error in errors.items()}
    return largest


def sets_text(names: Iterable[str]) -> str:
    """Return the sets in words, such as ``on drawn and extreme inputs``; empty without any."""
    *others, last = [*names] or [""]
    return f"on {' and '.join([*([', '.join(others)] if others else []), last])} inputs" if last else ""


def error_text(max_rel_error: float | None, names: Iterable[str]) -> str:
    """Return the largest relative error in words, with the sets of inputs on which it was found; empty where nothing was compared."""
    return (
        ""
        if max_rel_error is None
        else " ".join(part for part in (f"largest relative error {max_rel_error:.2g}", sets_text(names)) if part)
    )


def worst_set(verify: Verify) -> str:
    """Return the name of the set of a `verify` document on which the artifact errs most; the first one where they are equal."""
    by_set: ErrorsBySet = verify.sets
    return max(by_set, key=lambda name: max(by_set[name].values(), default=0.0), default="")


def where_text(verify: Verify) -> str:
    """Return on which inputs the artifact of a `verify` document errs most, such as `` on extreme inputs``; empty for the first set."""
    worst = worst_set(verify)
    return f" on {worst} inputs" if worst and worst != next(iter(verify.sets)) else ""
