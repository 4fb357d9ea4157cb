"""`VirtualDevice`: a device type, its number, a target and a memory scope, each of them fixed or free (RFC 38, "Summary")."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

GLOBAL = "global"
"""The memory scope of what names none: the plain memory of the device."""
_TEXT = re.compile(r"(?P<type>[A-Za-z]\w*)(:(?P<number>\d{1,4}))?(/(?P<scope>[\w.]+))?")


@dataclass(frozen=True, slots=True)
class VirtualDevice:
    """The place where something is computed or held, as far as it is known.

    Attributes:
        type: Such as ``cpu`` or ``cuda``; None where it is free.
        number: Which of the devices of that type; None where it is free.
        target: Name of the target that computes there; None where it is free.
        memory_scope: Which memory of the device, by a name that means nothing but itself; None where it is free.
    """

    type: str | None = None
    number: int | None = None
    target: str | None = None
    memory_scope: str | None = None

    def __str__(self) -> str:
        number = "" if self.number is None else f":{self.number}"
        scope = "" if self.memory_scope in (None, GLOBAL) else f"/{self.memory_scope}"
        target = "" if self.target is None else f" for {self.target}"
        return f"{self.type or 'any device'}{number}{scope}{target}"

    @property
    def fixed(self) -> dict[str, Any]:
        """The fields that are not free."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def join(self, other: VirtualDevice) -> VirtualDevice | None:
        """Return the least constrained virtual device that refines both; None where both fix a field, to different values."""
        fixed = other.fixed
        if any(fixed.get(name, value) != value for name, value in self.fixed.items()):
            return None
        return VirtualDevice(**{**self.fixed, **fixed})

    def refines(self, other: VirtualDevice) -> bool:
        """Return whether it fixes all that `other` fixes, to the same values."""
        return self.join(other) == self

    def filled(self, default: VirtualDevice) -> VirtualDevice:
        """Return it with type, number and scope fixed: free ones are the default's, as far as these belong to a device of this type."""
        kind = self.type or default.type or "cpu"
        other = default if default.type == kind else VirtualDevice()
        number = self.number if self.number is not None else other.number or 0
        is_same = (default.type, default.number or 0) == (kind, number)
        target = self.target or (default.target if is_same else None)
        return VirtualDevice(kind, number, target, self.memory_scope or other.memory_scope or GLOBAL)

    @property
    def memory(self) -> tuple[str | None, int | None, str | None]:
        """The memory that it names. Two virtual devices with one memory need no copy between them, whatever their targets are."""
        return self.type, self.number, self.memory_scope

    def location(self, host: VirtualDevice) -> str:
        """Return the name of its memory as the search has it: ``host``, ``cuda:0``, or ``cuda:0/global.texture``."""
        if self.memory == host.memory:
            return "host"
        return f"{self.type}:{self.number}" + ("" if self.memory_scope == GLOBAL else f"/{self.memory_scope}")


FREE = VirtualDevice()
PROCESSOR = VirtualDevice("cpu")


def device_from_text(text: str) -> VirtualDevice | None:
    """Return the virtual device that ``cuda``, ``cuda:1`` or ``cuda:1/global.texture`` names; None where `text` is nothing like that."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    number = match["number"]
    return VirtualDevice(match["type"], None if number is None else int(number), memory_scope=match["scope"])
