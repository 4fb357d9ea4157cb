"""`InputBuffers`: the memory that a module reads its inputs from. Arrays by input name enter, are checked, and are copied into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...toolchains.buffers import buffer_dtype


class InputBuffers:
    """The inputs of a module.

    Args:
        inputs: Those of the model, in order.
        memory: An array over the memory that the module reads, for each of them.
        fixed: Inputs of the model's file that the module does not take → their values.
    """

    def __init__(self, inputs: Sequence[Tensor], memory: Sequence[np.ndarray], fixed: Mapping[str, object] | None = None):
        self._inputs = tuple(inputs)
        self._fixed = fixed or {}
        self._memory = [(tensor.name, array, array.shape, array.dtype) for tensor, array in zip(inputs, memory, strict=True)]

    def fill(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Copy `arrays` into the memory.

        Raises:
            CollageError: the inputs do not fit; then nothing was copied.
        """
        if not self._fits(arrays):
            check_inputs(self._inputs, arrays, self._fixed)
        for name, memory, _, _ in self._memory:
            memory[...] = arrays[name]

    def _fits(self, arrays: Mapping[str, np.ndarray]) -> bool:
        """Return whether `arrays` surely fits, which takes no microsecond; otherwise `check_inputs` decides, and says what is wrong."""
        for name, _, shape, dtype in self._memory:
            array = arrays.get(name)
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return False
        return len(arrays) == len(self._memory)


def check_inputs(inputs: Sequence[Tensor], arrays: Mapping[str, np.ndarray], fixed: Mapping[str, object]) -> None:
    """Check that `arrays` holds exactly the model's inputs, each of its shape and dtype, and none that is `fixed`.

    Raises:
        CollageError: it does not.
    """
    wanted = {tensor.name: tensor.type for tensor in inputs}
    hint = "the model's inputs are " + ", ".join(f"{name}: {kind.dtype}{list(kind.shape)}" for name, kind in wanted.items())
    for name in arrays:
        if name in fixed:
            hint = "leave it out, or build the artifact again without fixing it"
            raise CollageError(f"the input {name!r} was fixed to {fixed[name]} when the artifact was built", hint, "bad_inputs")
        if name not in wanted:
            raise CollageError(f"the model has no input {name!r}", hint, "bad_inputs")
    for name, kind in wanted.items():
        if name not in arrays:
            raise CollageError(f"the input {name!r} is missing", hint, "bad_inputs")
        array = np.asarray(arrays[name])
        if array.shape != kind.shape or array.dtype != buffer_dtype(kind.dtype):
            found = f"{array.dtype}{list(array.shape)}"
            raise CollageError(f"the input {name!r} is {found}, the model takes {kind.dtype}{list(kind.shape)}", hint, "bad_inputs")
