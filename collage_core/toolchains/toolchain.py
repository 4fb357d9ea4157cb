"""`Toolchain`: the class that TVM, ONNX Runtime, OpenVINO and every other toolchain extend, and the kernels that it makes.

RFC 10 (target hooks) and RFC 62 (Collage), Appendix F, list what an integration must provide. A toolchain is found through the
entry-point group ``collage.toolchains``; the entry point names a class that is called without arguments. The constructor must be fast
and must not import the toolchain's library, which `build` and `load` do in a worker process. What some toolchains can do besides stands
in `abilities`; whoever calls a toolchain does so through `border`, since a plug-in may fail in any way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel
from .buffers import aligned_empty

if TYPE_CHECKING:
    from ..rules.rule import PartitionRule, RuleOptions

PROCESSOR = "CPU"
"""`Availability.device` of the toolchains that compute on the processor."""


@dataclass(frozen=True)
class Availability:
    """Says whether a toolchain is usable on this machine.

    Attributes:
        usable: Whether it can build and run.
        version: Version of its library, where that is installed.
        reason: Why it is not usable, in one line.
        hint: The command that makes it usable.
        device: The device that it runs on, such as ``CPU``.
        precision: The precision that it computes in, such as ``float32``; ``model`` for that of the model.
    """

    usable: bool
    version: str = ""
    reason: str = ""
    hint: str = ""
    device: str = "CPU"
    precision: str = "model"


class ToolchainError(CollageError):
    """Raised when a toolchain cannot take a sub-model.

    Args:
        stage: The stage at which it failed: ``import``, ``build``, ``run`` or ``device``.
        reason: The toolchain's own message, in one line.
    """

    def __init__(self, stage: str, reason: str):
        super().__init__(reason, code="toolchain")
        self.stage = stage


class Kernel(Protocol):
    """A built sub-model, ready to run in this process.

    One with outputs of open shape is an `AllocatingKernel`. One that runs for microseconds may also have ``unguarded_run()``, which returns
    a function that does what `run` does on the buffers that are bound now, and raises whatever the toolchain raises.
    """

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Set the buffers that the next calls of `run` read and write, in the order of the sub-model's tensors.

        The arrays are C-contiguous, of the declared shapes and dtypes, and outlive the calls. The kernel reads and writes them
        in place; nothing is copied. An input of open shape is bound again for a call in which its shape is another.
        """
        ...

    def run(self) -> None:
        """Run one inference on the bound buffers, and return when the outputs are written."""
        ...


class AllocatingKernel(Kernel, Protocol):
    """A kernel some of whose outputs have no buffer (`TensorType.has_buffer`): it allocates them itself as it runs."""

    def bind(self, inputs: Sequence[Any], outputs: Sequence[np.ndarray | None]) -> None:
        """Set the buffers as `Kernel.bind` does; `inputs` has an opaque value as it is, `outputs` None for each output without a buffer."""
        ...

    def allocated(self, index: int) -> Any:
        """Return what the last `run` made of the output `index`, for which None was bound.

        An array has the shape of that run and is C-contiguous. It may change at the next `run`.
        """
        ...


class Toolchain(ABC):
    """A way to compile and run sub-graphs.

    Attributes:
        name: Name in ``--targets``.
        letter: One capital letter that marks it on the page.
        style: ``graph`` (whole sub-graphs) or ``library`` (calls).
        build_s: Seconds that it takes to build a small sub-graph, roughly. The quickest toolchains are measured first.
        distributions: The packages that pip installs for it; the first one has its version.
    """

    name: str
    letter: str = "?"
    style: str = "graph"
    build_s: float = 0.1
    distributions: tuple[str, ...] = ()

    @abstractmethod
    def availability(self) -> Availability:
        """Return whether it is usable here, or why not. Must not raise, and must not import the toolchain's library."""

    @abstractmethod
    def rule(self, options: RuleOptions) -> PartitionRule:
        """Return the rule tree that finds its candidates (phase 1). Must raise nothing but CollageError."""

    @abstractmethod
    def build(self, model: SubModel, threads: int) -> bytes:
        """Compile `model` into a package that `load` can read, in this process or another of the same machine.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """

    @abstractmethod
    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        """Load `package` as a kernel that runs with `threads` threads.

        Raises:
            ToolchainError: at stage ``build``.
        """


def unbound_outputs(model: SubModel) -> list[np.ndarray | None]:
    """Return a new buffer for each output of `model`, as `AllocatingKernel.bind` takes them: None where the kernel allocates it."""
    return [aligned_empty(tensor.type) if tensor.type.has_buffer else None for tensor in model.outputs]


def outputs_of(kernel: Kernel, bound: Sequence[np.ndarray | None]) -> list[Any]:
    """Return the outputs of the last run of `kernel`: the arrays that were bound, and what it allocated where None was."""
    return [cast(AllocatingKernel, kernel).allocated(index) if array is None else array for index, array in enumerate(bound)]
