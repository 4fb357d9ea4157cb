"""The interface `Toolchain`, its implementations (a folder for each library), and the registry that finds them.

Sub-models and a number of threads enter; rule trees, packages of bytes and kernels that run them leave. A toolchain never decides which
sub-models it gets, and its library is imported only when it is needed.

The names below are for those who write a toolchain (docs/toolchains.md); files of this project import a name from the file that
defines it.
"""

from .libraries.library_functions import LibraryCall, LibraryFunctions, LibraryToolchain
from .toolchain import Availability, Kernel, Toolchain, ToolchainError

__all__ = ["Availability", "Kernel", "LibraryCall", "LibraryFunctions", "LibraryToolchain", "Toolchain", "ToolchainError"]
