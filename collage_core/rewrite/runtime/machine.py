"""`Machine`: the system, architecture and instruction sets that compiled code needs.

Kernels of an artifact are compiled for one processor; on one with fewer instruction sets they would end the process.
"""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_INSTRUCTION_SETS = ("amx", "asimd", "avx", "bmi", "f16c", "fma", "gfni", "neon", "sse", "ssse", "sve", "vaes")


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine on which an artifact was built, or this one."""

    system: str
    architecture: str
    features: tuple[str, ...]

    @classmethod
    def here(cls) -> Machine:
        return cls(platform.system(), platform.machine(), _features())

    def lacks(self, built_on: Machine) -> str:
        """Return what code built on `built_on` needs and this machine lacks, as a phrase; empty where it lacks nothing."""
        if (self.system, self.architecture) != (built_on.system, built_on.architecture):
            return f"{built_on.system} on {built_on.architecture}"
        missing = sorted(set(built_on.features) - set(self.features))
        return f"a processor with {', '.join(missing[:5])}" if missing else ""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "features": list(self.features)}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Machine:
        return cls(data["system"], data["architecture"], tuple(data["features"]))


def _features() -> tuple[str, ...]:
    """Return the instruction sets of the processor as Linux names them; empty where it does not list them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return ()
    named = next((line for line in lines if line.lower().startswith(("flags", "features"))), ":")
    return tuple(sorted(flag for flag in named.partition(":")[2].split() if flag.startswith(_INSTRUCTION_SETS)))
