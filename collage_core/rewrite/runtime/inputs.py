"""`InputBuffers`: the memory that a module reads its inputs from. Arrays by input name enter, are checked, and are copied into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor, TensorType
from ...graph.value_arrays import as_text, as_values
from ...toolchains.buffers import value_dtype


class InputBuffers:
    """The inputs of a module.

    Args:
        inputs: Those of the model, in order.
        memory: An array over the memory that the module reads, for each of them; the holder of an opaque value.
        fixed: Inputs of the model's file that the module does not take → their values.
    """

    def __init__(self, inputs: Sequence[Tensor], memory: Sequence[Any], fixed: Mapping[str, object] | None = None):
        self._inputs = tuple(inputs)
        self._fixed = fixed or {}
        pairs = list(zip(inputs, memory, strict=True))
        self._memory = [(tensor.name, array, array.shape, array.dtype) for tensor, array in pairs if not tensor.type.is_opaque]
        self._opaque = [(tensor, holder) for tensor, holder in pairs if tensor.type.is_opaque]

    @property
    def memory(self) -> dict[str, np.ndarray]:
        """The memory of each input by name; the caller that writes into it checks the shapes."""
        return {name: memory for name, memory, _, _ in self._memory}

    def fill(self, arrays: Mapping[str, Any]) -> None:
        """Copy `arrays` into the memory; opaque values are kept, not copied.

        Raises:
            CollageError: the inputs do not fit; then nothing was copied.
        """
        if not self._fits(arrays):
            check_mapping(arrays)
            values = as_values(arrays, self._inputs)
            arrays = values | {tensor.name: typed(values[tensor.name], tensor.type) for tensor in self._inputs if tensor.name in values}
            check_inputs(self._inputs, arrays, self._fixed)
        for name, memory, _, _ in self._memory:
            memory[...] = arrays[name]
        for tensor, holder in self._opaque:
            holder.value = arrays[tensor.name]

    def _fits(self, arrays: Mapping[str, Any]) -> bool:
        """Return whether `arrays` surely fits, which takes no microsecond; otherwise `check_inputs` decides, and says what is wrong."""
        if self._opaque or type(arrays) is not dict:
            return False
        for name, _, shape, dtype in self._memory:
            array = arrays.get(name)
            if type(array) is not np.ndarray or array.shape != shape or array.dtype != dtype:
                return False
        return len(arrays) == len(self._memory)


def typed(value: Any, kind: TensorType) -> Any:
    """Return a value as kernels take it: text as objects, and the bytes that a file has of a type that numpy lacks as that type."""
    if isinstance(value, list | tuple):
        return [typed(part, kind) for part in value]
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "US":
        return as_text(value)
    if value.dtype.type is not np.void or kind.is_container or value.dtype.itemsize != value_dtype(kind.dtype).itemsize:
        return value
    return value.view(value_dtype(kind.dtype))


def check_mapping(arrays: object) -> None:
    """Check that a caller gave arrays by input name.

    Raises:
        CollageError: it is something else.
    """
    if not isinstance(arrays, Mapping):
        said = f"the inputs are a {type(arrays).__name__}, not arrays by input name"
        raise CollageError(said, "give a dict of the name of each input and its array", "bad_inputs")


def as_array(name: str, value: object) -> np.ndarray:
    """Return the value of the input `name` as an array.

    Raises:
        CollageError: numpy can make no array of it.
    """
    try:
        return np.asarray(value)
    except (ValueError, OverflowError, RecursionError) as error:
        hint = "give a numpy array; lists must have equal lengths"
        raise CollageError(f"the input {name!r} is no array: {str(error)[:200]}", hint, "bad_inputs") from error


def check_inputs(inputs: Sequence[Tensor], arrays: Mapping[str, Any], fixed: Mapping[str, object]) -> None:
    """Check that `arrays` holds exactly the model's inputs, each of its shape and dtype, and none that is `fixed`.

    Raises:
        CollageError: it does not.
    """
    wanted = {tensor.name: tensor.type for tensor in inputs}
    hint = "the model's inputs are " + ", ".join(f"{name}: {_shown(kind)}" for name, kind in wanted.items())
    for name in arrays:
        if name in fixed:
            hint = "leave it out, or build the artifact again without fixing it"
            raise CollageError(f"the input {name!r} was fixed to {fixed[name]} when the artifact was built", hint, "bad_inputs")
        if name not in wanted:
            raise CollageError(f"the model has no input {name!r}", hint, "bad_inputs")
    for name, kind in wanted.items():
        if name not in arrays:
            raise CollageError(f"the input {name!r} is missing", hint, "bad_inputs")
        if kind.is_container:
            if not _is_container_of(arrays[name], kind.dtype):
                raise CollageError(f"the input {name!r} is a {type(arrays[name]).__name__}, the model takes {kind}", hint, "bad_inputs")
            continue
        array = as_array(name, arrays[name])
        if array.shape != kind.shape or array.dtype != value_dtype(kind.dtype):
            found = f"{array.dtype}{list(array.shape)}"
            raise CollageError(f"the input {name!r} is {found}, the model takes {_shown(kind)}", hint, "bad_inputs")


def _shown(kind: TensorType) -> str:
    return kind.dtype if kind.is_container else f"{kind.dtype}{list(kind.shape)}"


def _is_container_of(value: Any, dtype: str) -> bool:
    """Return whether `value` can be one of this type; what its tensors are is for the toolchain that reads it."""
    if dtype.startswith("optional(") and value is None:
        return True
    if "seq(" in dtype:
        return isinstance(value, list | tuple)
    return isinstance(value, dict if "map(" in dtype else np.ndarray)
