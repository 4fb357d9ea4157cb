"""Names of regions: ``main.0`` is the first region of the function ``main``. Plain data; TVM is not imported."""

from __future__ import annotations

from ...errors import CollageError


def region_name(function: str, index: int) -> str:
    return f"{function}.{index}"


def read_region_name(name: str) -> tuple[str, int]:
    """Return the function and the index of a region.

    Raises:
        CollageError: it is not the name of a region.
    """
    function, _, index = name.rpartition(".")
    if not function or not index.isdecimal():
        raise CollageError(f"{name!r} is not the name of a region", "such as main.0, the first of the function main", "bad_option")
    return function, int(index)
