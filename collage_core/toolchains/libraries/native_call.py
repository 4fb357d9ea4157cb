"""`NativeCall`: how a kernel of TVM's calls a library without Python. Plain data; `tvm_library_calls` makes the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class NativeCall:
    """The same call for a kernel of TVM's, which makes it without Python: a function in C, what it computes, and on which tensors.

    Attributes:
        source: The file of C, which is compiled behind ``library_calls.h``. That says how its function, ``@SYMBOL@``, is called.
        words: Word → what stands in the source for ``@WORD@``.
        text: What is computed; the function's first argument.
        operands: Its further arguments: names of inputs of the call, and constants in the form that the library wants.
        failures: What the numbers mean that the function returns, from 1 on; 0 is success.
    """

    source: Path
    words: tuple[tuple[str, str], ...]
    text: str
    operands: tuple[str | np.ndarray, ...]
    failures: tuple[str, ...]
