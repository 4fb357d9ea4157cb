"""`patch_between`: compares two values of a dataclass, and gives JSON Patch (RFC 6902) that turns one into the other. Pure.

Fields and rows that are the same object in both are not looked into. So what stays costs nothing, however large it is: `state.apply`
makes each snapshot of a run from the one before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import is_dataclass
from typing import Any

from collage_core.documents.json_form import members

from ..messages.live import PatchOperation

MOST_ROWS = 32
"""A list in which more rows changed is replaced: a page copies the list at each row."""


def patch_between(old: Any, new: Any) -> list[PatchOperation]:
    """Return the operations that turn the JSON of `old` into that of `new`; their values are parts of `new`, not yet JSON."""
    return list(_between("", old, new))


def _between(path: str, old: Any, new: Any) -> Iterator[PatchOperation]:
    if old is new:
        return
    if is_dataclass(old) and type(old) is type(new):
        before, after = members(old), members(new)
        if before.keys() == after.keys():  # else a member comes or goes, which "replace" cannot say
            for key, value in after.items():
                yield from _between(f"{path}/{key}", before[key], value)
            return
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        yield from _rows_between(path, old, new)
    elif old != new:
        yield PatchOperation("replace", path, new)


def _rows_between(path: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[PatchOperation]:
    """Replace, add and remove whole rows between those that stay at both ends, or the list where that is shorter."""
    start = _same(old, new)
    shorter = min(len(old), len(new)) - start
    end = _same(old[::-1][:shorter], new[::-1][:shorter])
    removed, added = len(old) - end, len(new) - end
    both = min(removed, added)
    replaced = [index for index in range(start, both) if old[index] != new[index]]
    operations = len(replaced) + max(removed, added) - both
    if operations > min(MOST_ROWS, len(new) // 2):
        yield PatchOperation("replace", path, new)
        return
    for index in replaced:
        yield PatchOperation("replace", f"{path}/{index}", new[index])
    for index in range(both, added):
        yield PatchOperation("add", f"{path}/{index}", new[index])
    for _ in range(both, removed):
        yield PatchOperation("remove", f"{path}/{both}")


def _same(old: Sequence[Any], new: Sequence[Any]) -> int:
    """Count the first rows that are the same in both."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((index for index, (before, after) in pairs if before is not after and before != after), min(len(old), len(new)))
