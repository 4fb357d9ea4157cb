"""`HostControl`: the kernel of a partition that the host runs: a node with bodies. It turns the loop and calls the bodies' artifacts.

Bodies read and write buffers that stay where they are. So what a turn costs beside its body is a copy of what one turn hands to the next,
and of the tensors from around the node once for each run of the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import CollageError
from ...graph.control_flow import ControlFlow, run_control
from ...toolchains.buffers import aligned_copy, aligned_empty
from .calls import Calls
from .control_entry import ControlEntry
from .manifest import REBUILD, PartitionEntry


class HostBody:
    """A body that is ready to run.

    Args:
        flow: The node.
        attribute: The attribute of the node that the body is.
        calls: Its module; None for a body that only passes tensors on.
        constants: Outputs that are constants.
    """

    def __init__(self, flow: ControlFlow, attribute: str, calls: Calls | None, constants: Mapping[str, np.ndarray]):
        self._signature = signature = flow.bodies[attribute]
        self._calls = calls
        self._constants = constants
        memory = {} if calls is None else calls.inputs.memory
        needed = {*signature.outputs} if calls is None else {*signature.outputs, *calls.reads}
        self._memory = {name: array for name, array in memory.items() if name in needed}
        self._fed = [(index, name, self._memory[name]) for index, name in enumerate(signature.inputs) if name in self._memory]
        self._captured = [(name, self._memory[name]) for name in signature.captured if name in self._memory]
        own = {name: index for index, name in enumerate(signature.inputs)}
        handed_on = flow.handed_on
        self._moved = {
            index for index, name in enumerate(signature.outputs) if name in own and handed_on.get(index, own[name]) != own[name]
        }
        """Outputs that are another input of the next turn than the one that they were: its memory is written meanwhile."""
        self._around: Mapping[str, np.ndarray] = {}
        self._is_fresh = False
        self._fixed: list[np.ndarray] | None = None

    def begin(self, around: Mapping[str, np.ndarray]) -> None:
        """Take the tensors of the graph around the node, which the next runs read."""
        self._around, self._is_fresh = around, True

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if self._is_fresh:
            for name, memory in self._captured:
                _copy(name, self._around[name], memory)
            self._is_fresh = False
        for index, name, memory in self._fed:
            array = arrays[index]
            if array.shape != memory.shape:
                _copy(name, array, memory)  # raises
            if array is not memory:
                memory[...] = array
        if self._calls is not None:
            self._calls.call()
        return self._outputs(arrays) if self._fixed is None else self._fixed

    def _outputs(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the outputs of the last call; they are the same arrays from then on where nothing is allocated or must be copied."""
        made = {} if self._calls is None else self._calls.made()
        known = {**self._constants, **self._around, **dict(zip(self._signature.inputs, arrays, strict=True)), **self._memory, **made}
        outputs = [known[name] for name in self._signature.outputs]
        for index in self._moved:
            outputs[index] = outputs[index].copy()
        if self._calls is not None and not self._calls.is_open and not self._moved:
            self._fixed = outputs
        return outputs


class HostControl:
    """The kernel (satisfies `AllocatingKernel`).

    Args:
        bodies: Attribute → body.
        constants: Inputs of the node that are constants.
    """

    def __init__(self, entry: PartitionEntry, control: ControlEntry, bodies: Mapping[str, HostBody], constants: Mapping[str, np.ndarray]):
        self._flow = control.flow
        self._bodies = bodies
        self._inputs = [tensor.name for tensor in entry.inputs]
        self._positions = [control.flow.outputs.index(tensor.name) for tensor in entry.outputs]
        self._names = [tensor.name for tensor in entry.outputs]
        self._constants = constants
        self._empty = [None if tensor is None else aligned_empty(tensor.type) for tensor in control.empty]
        self._values: dict[str, np.ndarray] = {}
        self._buffers: list[np.ndarray | None] = []
        self._made: list[np.ndarray | None] = []

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray | None]) -> None:
        self._values = {**self._constants, **dict(zip(self._inputs, inputs, strict=True))}
        self._buffers = list(outputs)
        self._made = [None] * len(self._buffers)

    def run(self) -> None:
        for body in self._bodies.values():
            body.begin(self._values)
        outputs = run_control(self._flow, self._values, self._bodies, self._empty)
        for index, (position, buffer) in enumerate(zip(self._positions, self._buffers, strict=True)):
            if buffer is None:
                self._made[index] = aligned_copy(np.array(outputs[position], order="C"))
            else:
                _copy(self._names[index], outputs[position], buffer)

    def allocated(self, index: int) -> np.ndarray:
        array = self._made[index]
        assert array is not None
        return array


def _copy(name: str, array: np.ndarray, memory: np.ndarray) -> None:
    """Copy `array` into `memory`. Raises CollageError where the shapes differ: the plan was made for others."""
    if array.shape != memory.shape:
        found = f"{name!r} has the shape {list(array.shape)} here, and {list(memory.shape)} in the plan"
        raise CollageError(found, REBUILD, "shape")
    memory[...] = array
