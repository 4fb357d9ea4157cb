"""`HostControl`: the kernel of a partition that the host runs: a node with bodies. It turns the loop and calls the bodies' artifacts.

Bodies read and write buffers that stay where they are. So what a turn costs beside its body is a copy of what one turn hands to the next,
and of the tensors from around the node once for each run of the node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import CollageError
from ...graph.control_flow import BodySignature, run_control
from ...toolchains.buffers import aligned_copy, aligned_empty
from .control_entry import ControlEntry
from .manifest import REBUILD, PartitionEntry
from .module_calls import ModuleCalls


class HostBody:
    """A body that is ready to run.

    Args:
        calls: Its module; None for a body that only passes tensors on.
        constants: Outputs that are constants.
    """

    def __init__(self, signature: BodySignature, calls: ModuleCalls | None, constants: Mapping[str, np.ndarray]):
        self._signature = signature
        self._calls = calls
        self._constants = constants
        self._memory = {} if calls is None else calls.inputs.memory
        self._own = [(name, self._memory.get(name)) for name in signature.inputs]
        self._around: Mapping[str, np.ndarray] = {}
        self._is_fresh = False
        self._fixed: list[np.ndarray] | None = None

    def begin(self, around: Mapping[str, np.ndarray]) -> None:
        """Take the tensors of the graph around the node, which the next runs read."""
        self._around, self._is_fresh = around, True

    def __call__(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if self._is_fresh:
            for name in self._signature.captured:
                if name in self._memory:
                    _copy(name, self._around[name], self._memory[name])
            self._is_fresh = False
        for (name, memory), array in zip(self._own, arrays, strict=True):
            if memory is not None:
                _copy(name, array, memory)
        if self._calls is not None:
            self._calls.call()
        return self._outputs(arrays) if self._fixed is None else self._fixed

    def _outputs(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        made = {} if self._calls is None else self._calls.made()
        if self._calls is not None and not self._calls.is_open and all(name in made for name in self._signature.outputs):
            self._fixed = [made[name] for name in self._signature.outputs]
            return self._fixed
        passed = self._memory or dict(zip(self._signature.inputs, arrays, strict=True))  # what `arrays` are over may be written by now
        outputs = []
        for name in self._signature.outputs:
            if name in made:
                outputs.append(made[name])
            elif name in passed:
                outputs.append(passed[name].copy())  # the next turn writes one input after another
            else:
                outputs.append(self._constants[name] if name in self._constants else self._around[name])
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
        made = run_control(self._flow, self._values, self._bodies, self._empty)
        for index, (position, buffer) in enumerate(zip(self._positions, self._buffers, strict=True)):
            if buffer is None:
                self._made[index] = aligned_copy(np.array(made[position], order="C"))
            else:
                _copy(self._names[index], made[position], buffer)

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
