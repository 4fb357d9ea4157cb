"""The one interface to every toolchain, and where they are found (design, room ``toolchains``)."""

from .base import Availability, Kernel, Toolchain, ToolchainError
from .described import DescribedToolchain, read_description
from .registry import all_toolchains, get, names

__all__ = [
    "Availability",
    "DescribedToolchain",
    "Kernel",
    "Toolchain",
    "ToolchainError",
    "all_toolchains",
    "get",
    "names",
    "read_description",
]
