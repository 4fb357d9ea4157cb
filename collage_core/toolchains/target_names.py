"""`TargetName`: the parts of a target's name, ``toolchain[@variant][:device]``, such as ``onnxruntime@tf32:cuda:0``."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FORM = re.compile(r"(?P<toolchain>[^@:]+)(@(?P<variant>[^:]+))?(:(?P<type>[A-Za-z]\w*):(?P<number>\d{1,4}))?")


@dataclass(frozen=True, slots=True)
class TargetName:
    """The parts of a target's name.

    Attributes:
        toolchain: Such as ``onnxruntime``.
        variant: How it computes otherwise than by default, such as ``tf32``; empty where it does not.
        device_type: The type of its device, such as ``cuda``; empty for the processor.
        number: Which of the devices of that type.
    """

    toolchain: str
    variant: str = ""
    device_type: str = ""
    number: int = 0

    def __str__(self) -> str:
        variant = f"@{self.variant}" if self.variant else ""
        return self.toolchain + variant + (f":{self.device_type}:{self.number}" if self.device_type else "")


def target_name(text: str) -> TargetName | None:
    """Return the parts of `text`; None where it is no name of a target."""
    match = _FORM.fullmatch(text)
    return match and TargetName(match["toolchain"], match["variant"] or "", match["type"] or "", int(match["number"] or 0))
