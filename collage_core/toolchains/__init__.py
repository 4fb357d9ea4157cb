"""The one interface to every toolchain, and where they are found (design, room ``toolchains``)."""

from .base import Availability, Kernel, Toolchain, ToolchainError
from .described import DescribedToolchain, DescriptionMistake, parse_description, read_description
from .registry import all_toolchains, check_name_is_free, get, names

__all__ = [
    "Availability",
    "DescribedToolchain",
    "DescriptionMistake",
    "Kernel",
    "Toolchain",
    "ToolchainError",
    "all_toolchains",
    "check_name_is_free",
    "get",
    "names",
    "parse_description",
    "read_description",
]
