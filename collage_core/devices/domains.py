"""`Domains`: sets of positions that must agree on a device, each with what fixed it, so that a conflict names what clashes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from .virtual_device import VirtualDevice


@dataclass(frozen=True)
class Clash:
    """Two annotations that fix one field to different values."""

    field: str
    first: Any
    first_source: str
    second: Any
    second_source: str


class Domains:
    """A union-find structure over positions; each set has the fields that are fixed for it, with their sources."""

    def __init__(self) -> None:
        self._parent: dict[Hashable, Hashable] = {}
        self._fixed: dict[Hashable, dict[str, tuple[Any, str]]] = {}

    def device(self, position: Hashable) -> VirtualDevice:
        """Return what is fixed for `position`."""
        return VirtualDevice(**{name: value for name, (value, _) in self._fixed.get(self.root(position), {}).items()})

    def is_constrained(self, position: Hashable) -> bool:
        """Return whether something fixes a field of `position`."""
        return bool(self._fixed.get(self.root(position)))

    def constrain(self, position: Hashable, device: VirtualDevice, source: str) -> Clash | None:
        """Fix for `position` what `device` fixes; return what clashes instead, if something does."""
        return self._merge(self.root(position), {name: (value, source) for name, value in device.fixed.items()})

    def unify(self, first: Hashable, second: Hashable) -> Clash | None:
        """Let two positions agree from now on; return what clashes instead, if something does."""
        kept, joined = self.root(first), self.root(second)
        if kept == joined:
            return None
        clash = self._merge(kept, self._fixed.get(joined, {}))
        if clash is None:
            self._parent[joined] = kept
            self._fixed.pop(joined, None)
        return clash

    def root(self, position: Hashable) -> Hashable:
        """Return the position that stands for the set of `position`."""
        while (above := self._parent.get(position, position)) != position:
            self._parent[position] = position = self._parent.get(above, above)
        return position

    def _merge(self, root: Hashable, further: dict[str, tuple[Any, str]]) -> Clash | None:
        fixed = self._fixed.get(root, {})
        for name, (value, source) in further.items():
            known, known_source = fixed.get(name, (value, source))
            if known != value:
                return Clash(name, known, known_source, value, source)
        self._fixed[root] = {**further, **fixed}
        return None
