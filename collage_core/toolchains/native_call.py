"""`NativeCall`: how a kernel of TVM's calls a library without Python. Plain data; `tvm_library_calls` makes the kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class NativeCall:
    """The same call for a kernel of TVM's, which makes it without Python: a function in C, what it computes, and on which tensors.

    Attributes:
        source: Name of the file of C beside the toolchain. `tvm_library_calls` says what it is compiled with and how it is called.
        words: Word → what stands in the source for ``@WORD@``.
        text: What is computed; the function's first argument.
        operands: Its further arguments: names of inputs of the call, and constants in the form that the library wants.
        failures: What the numbers mean that the function returns, from 1 on; 0 is success.
    """

    source: str
    words: tuple[tuple[str, str], ...]
    text: str
    operands: tuple[str | np.ndarray, ...]
    failures: tuple[str, ...]
