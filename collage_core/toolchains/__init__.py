"""The one interface to every toolchain, one module or family of modules for each, and the registry that finds them.

What enters are sub-models and a number of threads; what leaves are rule trees, packages of bytes and kernels that run them.
A toolchain never decides what it gets, and its library is imported only when it is needed.

The names below are for those who write a toolchain (docs/toolchains.md); the files of this project import from the file that
defines a name.
"""

from .base import Availability, Kernel, Toolchain, ToolchainError

__all__ = ["Availability", "Kernel", "Toolchain", "ToolchainError"]
