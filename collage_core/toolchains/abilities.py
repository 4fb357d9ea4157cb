"""Abilities that some toolchains have besides building and running: one small protocol for each.

A toolchain has an ability if its class has the members of the protocol; it need not name the protocol. What follows from an ability is
decided where it is asked for, by ``isinstance``; an ability that several files ask for has a function here. Nothing here calls a method.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel
from .device_tensors import HOST_LOCATION
from .toolchain import Kernel, Toolchain, ToolchainError

if TYPE_CHECKING:
    import tvm

    from ..rules.candidate import CandidatePartition
    from .device_tensors import DeviceMemory
    from .native_files import NativeFiles
    from .profiling import NodeTime
    from .tuning import Tuning, Workload


@runtime_checkable
class OpenShapes(Protocol):
    """Says whether its kernels read inputs and make outputs (`AllocatingKernel`) whose shapes differ from call to call."""

    takes_open_shapes: bool


@runtime_checkable
class OpaqueValues(Protocol):
    """Says whether its kernels read inputs and make outputs that are objects of Python (`TensorType.is_opaque`).

    These are strings, lists of arrays for sequences, and arrays of `ml_dtypes` for types of less than a byte.
    """

    takes_opaque: bool


@runtime_checkable
class ExternalData(Protocol):
    """Says whether `SubModel.onnx` may name files that hold weights; any other toolchain gets these weights inside."""

    takes_external_data: bool


@runtime_checkable
class WeightValues(Protocol):
    """Says whether its kernels depend on the values of weights, not only on their shapes; then no two candidates share a cost."""

    reads_weights: bool


@runtime_checkable
class Precision(Protocol):
    """Says whether it computes in less precision than the model asks for.

    Its name says so (``openvino@bf16``), it takes part only where the user names it, and the errors of its candidates must add up to no
    more than the accuracy.
    """

    lowers_precision: bool


@runtime_checkable
class MeasuredValues(Protocol):
    """Says whether its rules follow `RuleOptions.value_policy`, by what was measured of it (docs/values.md)."""

    has_value_contract: bool


@runtime_checkable
class DeviceNumbers(Protocol):
    """Computes on one of several devices, which the end of its name says (``onnxruntime:cuda:0``); the registry knows the first."""

    def at_device(self, number: int) -> Toolchain:
        """Return the same toolchain for another device of its type."""
        ...


@runtime_checkable
class DeviceTensors(Protocol):
    """Has kernels that read and write tensors in the memory of a device, so that neighbours on it hand them over without a copy.

    Attributes:
        location: The memory where its kernels read and write, such as ``cuda:0``.
    """

    location: str

    def memory(self) -> DeviceMemory:
        """Return the memory, the same one for all toolchains of its location. Raises ToolchainError where there is none."""
        ...

    def load_at_device(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        """Load `package` as a kernel that binds a `DeviceTensor` for each tensor, and queues its work on the memory's stream.

        A kernel that says ``graph_refusal``, a text that is not empty, is never captured into a graph.

        Raises:
            ToolchainError: at stage ``build``.
        """
        ...


@runtime_checkable
class MergedPartitions(Protocol):
    """Says whether it can be expected to take any number of neighbouring partitions as one, as any other toolchain is.

    If not, an estimate says nothing of merged ones; a trial does.
    """

    takes_merged: bool


@runtime_checkable
class Conflicts(Protocol):
    """Names the toolchains that must not be in one plan with it, such as one whose runtime cannot share a process."""

    conflicts: tuple[str, ...]


@runtime_checkable
class BoundaryLayout(Protocol):
    """Names the layout of the images that its kernels read and make, such as ``nchw16c`` (`blocked_layout`); empty for plain."""

    layout: str


@runtime_checkable
class PlainTwin(Protocol):
    """Names the target that runs a sub-graph alike where no tensor at its ends has a layout of its own: they share a cost."""

    plain: str


@runtime_checkable
class TvmPartitioning(Protocol):
    """Names the ``partition_for_<name>`` of TVM's whose partitioning is a baseline beside it; that of its own name unless given."""

    partition_for: str


@runtime_checkable
class LoadsAlone(Protocol):
    """Loads a package otherwise for a plan of one partition."""

    def load_alone(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        """Load `package` as `Toolchain.load` does; no other kernel waits for the cores of its idle threads."""


@runtime_checkable
class WeightsInFiles(Protocol):
    """Makes packages whose weights lie in files, so that the shapes of an artifact share them (`rewrite/shared_weights.py`)."""

    def with_weights_in_files(self, package: bytes, folder: Path, threads: int) -> bytes | None:
        """Return `package` with its weights in files in `folder`, as `external_package` makes one; None where its weights stay inside.

        Kernels of several such packages whose files are one in the end should hold its weights once.

        Raises:
            ToolchainError: at stage ``build``.
        """


@runtime_checkable
class OwnFiles(Protocol):
    """Writes a sub-model in the toolchain's own files, and opens them."""

    def native_files(self, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
        """Return `model` in the toolchain's own files, with the settings that its costs were measured with.

        Args:
            is_alone: It is the only partition of its plan (`LoadsAlone`); else the toolchain prefers ONNX, if it reads that.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """

    def open_native(self, path: Path, inputs: Sequence[Tensor], outputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Kernel:
        """Load what `native_files` made from `path`, its first file, beside which the others lie. It must not import onnx.

        Raises:
            ToolchainError: at stage ``build``.
        """


@runtime_checkable
class Profiles(Protocol):
    """Says by its own profiler where time goes. Without one, the costs of single nodes stand in."""

    def profile(self, model: SubModel, inputs: Sequence[np.ndarray], threads: int) -> Sequence[NodeTime] | None:
        """Return where the time of a run of `model` goes; None if the profiler does not say it of this one.

        Args:
            inputs: The values that arrive at the sub-model, in the layout of this target.

        Raises:
            ToolchainError: it cannot be built, or fails as it runs.
        """


@runtime_checkable
class Tunes(Protocol):
    """Looks for faster schedules. `build` and `relax_module` use those that `SubModel.tuning` has, and the default ones elsewhere."""

    def workloads(self, model: SubModel, threads: int) -> Sequence[Workload]:
        """Return the kernels of `model` whose schedules can be tuned, each once.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """

    def tune(self, model: SubModel, threads: int, seconds: float, known: bytes) -> Tuning:
        """Look for faster schedules of the kernels of `model`, on from what is `known`, in about so many seconds or a few trials.

        It builds and runs kernels in this process, and tells so before each (`tuning.begin_trial`).

        Args:
            known: Kernels as `tuning.encoded` writes them; those of other sub-models may be among them.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """


@runtime_checkable
class StatesCosts(Protocol):
    """Says itself what its candidates cost; then they are not measured one by one."""

    def cost_s(self, candidate: CandidatePartition) -> float | None:
        """Return the seconds of one run of `candidate`, None where they are not known.

        It is shown as an estimate. An exception makes the candidate invalid, with its words.
        """


@runtime_checkable
class MakesPartitionings(Protocol):
    """Groups the nodes of a model as it would choose itself, such as the kernels of its compiler."""

    def partitionings(self, model: SubModel) -> Mapping[str, Sequence[Sequence[str]]]:
        """Return groupings of the nodes of `model`, called in a worker process with all nodes that it has candidates for.

        The key says what made the groups, which are names of nodes; they become candidates, and the plan of exactly these groups a
        baseline.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """


@runtime_checkable
class MakesRelax(Protocol):
    """Makes Relax functions, which become part of the assembled module, in place of packages that the module calls."""

    def relax_module(self, model: SubModel) -> tvm.IRModule | None:
        """Return `model` as Relax functions; None where it is a package after all.

        The module's ``main`` takes the sub-model's inputs and returns its output, or a tuple of its outputs, in order. The module
        becomes part of the assembled module (phase 4).

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """


@runtime_checkable
class CallsLibraries(Protocol):
    """Makes functions of an assembled module that call libraries."""

    def environment(self) -> Mapping[str, str]:
        """Return the variables of the environment by which these functions find the libraries that they call.

        The module may have been built where these lay elsewhere. Must not load them.
        """


@runtime_checkable
class PreparesRelax(Protocol):
    """Has the first hook of RFC 10, "Target hooks"."""

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        """Return the part of a Relax module that is this toolchain's, as it wants it.

        A ``main`` that then only calls PrimFuncs, which are added to the module, is lowered: no further hook is called for it.

        Args:
            module: Its ``main`` is one function of this toolchain; nothing else is in it. What is added to it must have other names than
                anything else has.
        """


@runtime_checkable
class UpdatesConstants(Protocol):
    """Has the hook "constant updater" of RFC 10."""

    def constant_updater(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return a constant of a function as its kernel wants it.

        Args:
            name: The name of the function, and the index of the constant, such as ``main_mine_0.1``.
        """


@runtime_checkable
class LowersToTir(Protocol):
    """Has the hook "Relax to TIR" of RFC 10."""

    def relax_to_tir(self, function: tvm.relax.Function) -> tvm.IRModule | None:
        """Return a module whose ``main`` is a PrimFunc that computes `function`; None to leave it to the next hook.

        Args:
            function: Its parameters are its inputs, and then its constants. The PrimFunc takes these, and then the outputs. It may have
                the attribute ``Codegen`` for `BuildsTir`.
        """


@runtime_checkable
class LowersToRuntime(Protocol):
    """Has the hook "Relax to runtime" of RFC 10."""

    def relax_to_runtime(self, symbol: str, function: tvm.relax.Function) -> tvm.runtime.Module | None:
        """Return a runtime module with a function `symbol` that computes `function`; None to have its package called.

        The function takes the tensors of the parameters, as `LowersToTir.relax_to_tir` has them, and then those of the outputs.
        """


@runtime_checkable
class BuildsTir(Protocol):
    """Has the hook "TIR to runtime" of RFC 10."""

    def tir_to_runtime(self, module: tvm.IRModule) -> tvm.runtime.Module | None:
        """Return a runtime module with a function for each PrimFunc of `module`, under its name."""


def takes_open_shapes(toolchain: object) -> bool:
    """Return whether its kernels take tensors whose shapes differ from call to call."""
    return isinstance(toolchain, OpenShapes) and toolchain.takes_open_shapes


def takes_opaque(toolchain: object) -> bool:
    """Return whether its kernels take values that are no plain memory."""
    return isinstance(toolchain, OpaqueValues) and toolchain.takes_opaque


def lowers_precision(toolchain: object) -> bool:
    """Return whether it computes in less precision than the model asks for."""
    return isinstance(toolchain, Precision) and toolchain.lowers_precision


def has_value_contract(toolchain: object) -> bool:
    """Return whether its rules follow what was measured of its values."""
    return isinstance(toolchain, MeasuredValues) and toolchain.has_value_contract


def conflicts_of(toolchain: object) -> tuple[str, ...]:
    """Return the toolchains that must not be in one plan with it."""
    return toolchain.conflicts if isinstance(toolchain, Conflicts) else ()


def layout_of(toolchain: object) -> str:
    """Return the layout of the images that its kernels read and make; empty for plain."""
    return toolchain.layout if isinstance(toolchain, BoundaryLayout) else ""


def check_boundary(toolchain: object, model: SubModel) -> None:
    """Raise ToolchainError where `model` reads or makes a tensor of open shape or an opaque value, and `toolchain` does not take such."""
    for tensor in (*model.inputs, *model.outputs):
        if tensor.type.is_opaque and not takes_opaque(toolchain):
            raise ToolchainError("import", f"{tensor.name!r} is {tensor.type}: it is not a flat buffer, which is not supported")
        if tensor.type.open_axes and not takes_open_shapes(toolchain):
            raise ToolchainError("import", f"{tensor.name!r} is {tensor.type}: its shape differs from call to call, which is not supported")


def location_of(toolchain: object) -> str:
    """Return the memory where its kernels read and write tensors; ``host`` for those of the processor."""
    return toolchain.location if isinstance(toolchain, DeviceTensors) else HOST_LOCATION
