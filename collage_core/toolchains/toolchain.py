"""`Toolchain`: the interface that TVM, ONNX Runtime, OpenVINO and every other toolchain implement.

RFC 10 (target hooks) and RFC 62 (Collage), Appendix F, list what an integration must provide. A toolchain is found through the
entry-point group ``collage.toolchains``; the entry point names a class that is called without arguments. The constructor must be fast
and must not import the toolchain's library, which `build` and `load` do in a worker process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from ..errors import Cancelled, CollageError
from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel, may_name_files
from .buffers import aligned_empty
from .reasons import one_line

if TYPE_CHECKING:
    import tvm

    from ..rules.candidate import CandidatePartition
    from ..rules.rule import PartitionRule, RuleOptions
    from .native_files import NativeFiles
    from .profiling import NodeTime
    from .tuning import Tuning, Workload


_ON_MODELS = ("build", "native_files", "profile", "workloads", "tune", "relax_module", "partitionings")
"""Methods whose first argument is a sub-model."""

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
        style: ``graph`` (whole sub-graphs) or ``library`` (calls).
        letter: One capital letter that marks it on the page.
        reads_weights: Whether its kernels depend on the values of weights, not only on their shapes; then no two candidates share a cost.
        conflicts: Names of toolchains that must not be in one plan with it, such as one whose runtime cannot share a process.
        lowers_precision: Whether it computes in less precision than the model asks for. Its name says so (``openvino@bf16``), it takes part
            only where the user names it, and the errors of its candidates must add up to no more than the accuracy.
        layout: Layout of the images that its kernels read and make: empty for plain, or ``nchw16c`` (`blocked_layout`).
        plain: Of a target with a layout, the one that runs a sub-graph alike where no tensor at its ends has the layout: they share a cost.
        tunes: Whether it can look for faster schedules (`tune`).
        has_costs: Whether it says itself what its candidates cost (`cost_s`); then they are not measured one by one.
        partition_for: The ``partition_for_<toolchain>`` of TVM's whose partitioning is a baseline beside it; that of its name unless given.
        takes_merged: Whether it can be expected to take any number of neighbouring partitions as one. If not, an estimate says nothing of
            merged ones; a trial does.
        takes_external_data: Whether `SubModel.onnx` may name files that hold weights; else these are read into it first (`package`).
        takes_open_shapes: Whether its kernels read inputs and make outputs (`AllocatingKernel`) whose shapes differ from call to call.
        has_native_files: Whether `native_files` returns files.
        has_value_contract: Whether its rules follow `RuleOptions.value_policy`, by what was measured of it (docs/values.md).
        takes_opaque: Whether its kernels read inputs and make outputs that are objects of Python (`TensorType.is_opaque`): strings, lists
            of arrays for sequences, arrays of `ml_dtypes` for types of less than a byte.
    """

    name: str
    style: str = "graph"
    letter: str = "?"
    reads_weights: bool = False
    conflicts: tuple[str, ...] = ()
    lowers_precision: bool = False
    takes_merged: bool = True
    takes_open_shapes: bool = False
    takes_external_data: bool = False
    takes_opaque: bool = False
    has_native_files: bool = False
    has_value_contract: bool = False
    tunes: bool = False
    has_costs: bool = False
    partition_for: str = ""
    layout: str = ""
    plain: str = ""

    def __init_subclass__(cls, **options: Any) -> None:
        """Wrap the methods of a subclass so that a wrong answer or an exception of a plug-in does not end the run."""
        super().__init_subclass__(**options)
        if "availability" in vars(cls):
            cls.availability = _checked_availability(cls.availability)  # type: ignore[assignment, method-assign]
        if "rule" in vars(cls):
            cls.rule = checked_rule(cls.rule)  # type: ignore[assignment, method-assign]
        for name in (*_ON_MODELS, "load", "load_alone", "open_native", "with_weights_in_files"):
            if name in vars(cls):
                setattr(cls, name, _uncancelled(vars(cls)[name]))
        for name in _ON_MODELS:
            if name in vars(cls):
                setattr(cls, name, _in_one_piece(vars(cls)[name]))

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

    def load_alone(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        """Load `package` as `load` does, for a plan of this one partition: no other kernel waits for the cores of its idle threads."""
        return self.load(package, inputs, outputs, threads)

    def with_weights_in_files(self, package: bytes, folder: Path, threads: int) -> bytes | None:
        """Return `package` with its weights in files in `folder`, as `external_package` makes one; None where its weights stay inside.

        Kernels of several such packages whose files are one in the end should hold its weights once (`rewrite/shared_weights.py`).

        Raises:
            ToolchainError: at stage ``build``.
        """
        return None

    def native_files(self, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
        """Return `model` in the toolchain's own files, with the settings that its costs were measured with.

        Args:
            is_alone: It is the only partition of its plan (`load_alone`); else the toolchain prefers ONNX, if it reads that.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """
        raise ToolchainError("build", f"{self.name} has no files of its own")

    def open_native(self, path: Path, inputs: Sequence[Tensor], outputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Kernel:
        """Load what `native_files` made from `path`, its first file, beside which the others lie. It must not import onnx.

        Raises:
            ToolchainError: at stage ``build``.
        """
        raise ToolchainError("build", f"{self.name} has no files of its own")

    def profile(self, model: SubModel, inputs: Sequence[np.ndarray], threads: int) -> Sequence[NodeTime] | None:
        """Return where the time of a run of `model` goes, by the toolchain's own profiler; None if it has none.

        Args:
            inputs: The values that arrive at the sub-model, in the layout of this target.

        Raises:
            ToolchainError: it cannot be built, or fails as it runs.
        """
        return None

    def workloads(self, model: SubModel, threads: int) -> Sequence[Workload]:
        """Return the kernels of `model` whose schedules can be tuned, each once; none for a toolchain that does not tune.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """
        return ()

    def tune(self, model: SubModel, threads: int, seconds: float, known: bytes) -> Tuning:
        """Look for faster schedules of the kernels of `model`, on from what is `known`, in about so many seconds or a few trials.

        It builds and runs kernels in this process, and tells so before each (`tuning.begin_trial`). `build` and `relax_module` use what
        it found where `SubModel.tuning` has it, and the default schedules elsewhere.

        Args:
            known: Kernels as `tuning.encoded` writes them; those of other sub-models may be among them.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """
        raise ToolchainError("build", f"{self.name} does not tune")

    def cost_s(self, candidate: CandidatePartition) -> float | None:
        """Return the seconds of one run of `candidate`, None where they are not known; only where `has_costs` is set.

        It is shown as an estimate. An exception makes the candidate invalid, with its words.
        """
        return None

    def relax_module(self, model: SubModel) -> tvm.IRModule | None:
        """Return `model` as Relax functions; None for a toolchain whose result is a package, which Relax functions call.

        The module's ``main`` takes the sub-model's inputs and returns its output, or a tuple of its outputs, in order. The module
        becomes part of the assembled module (phase 4).

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """
        return None

    def environment(self) -> Mapping[str, str]:
        """Return the variables of the environment by which functions of an assembled module find the libraries that they call.

        The module may have been built where these lay elsewhere. Must not load them.
        """
        return {}

    def partitionings(self, model: SubModel) -> Mapping[str, Sequence[Sequence[str]]]:
        """Return groupings of the nodes of a model that this toolchain would choose itself, such as the kernels of its compiler.

        Called in a worker process, with all nodes of the model that it has candidates for. The key says what made the groups, which are
        names of nodes; they become candidates, and the plan of exactly these groups a baseline.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """
        return {}

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        """Return the part of a Relax module that is this toolchain's, as it wants it; the first hook of RFC 10, "Target hooks".

        A ``main`` that then only calls PrimFuncs, which are added to the module, is lowered: no further hook is called for it.

        Args:
            module: Its ``main`` is one function of this toolchain; nothing else is in it. What is added to it must have other names than
                anything else has.
        """
        return module

    def constant_updater(self, name: str, array: np.ndarray) -> np.ndarray:
        """Return a constant of a function as its kernel wants it (RFC 10, "constant updater").

        Args:
            name: The name of the function, and the index of the constant, such as ``main_mine_0.1``.
        """
        return array

    def relax_to_tir(self, function: tvm.relax.Function) -> tvm.IRModule | None:
        """Return a module whose ``main`` is a PrimFunc that computes `function`; None for a toolchain without this hook.

        Args:
            function: Its parameters are its inputs, and then its constants. The PrimFunc takes these, and then the outputs. It may have
                the attribute ``Codegen`` for `tir_to_runtime`.
        """
        return None

    def relax_to_runtime(self, symbol: str, function: tvm.relax.Function) -> tvm.runtime.Module | None:
        """Return a runtime module with a function `symbol` that computes `function`; None for a toolchain without this hook.

        The function takes the tensors of the parameters, as `relax_to_tir` has them, and then those of the outputs.
        """
        return None

    def tir_to_runtime(self, module: tvm.IRModule) -> tvm.runtime.Module | None:
        """Return a runtime module with a function for each PrimFunc of `module`, under its name; None without this hook."""
        return None


def unbound_outputs(model: SubModel) -> list[np.ndarray | None]:
    """Return a new buffer for each output of `model`, as `AllocatingKernel.bind` takes them: None where the kernel allocates it."""
    return [aligned_empty(tensor.type) if tensor.type.has_buffer else None for tensor in model.outputs]


def outputs_of(kernel: Kernel, bound: Sequence[np.ndarray | None]) -> list[Any]:
    """Return the outputs of the last run of `kernel`: the arrays that were bound, and what it allocated where None was."""
    return [cast(AllocatingKernel, kernel).allocated(index) if array is None else array for index, array in enumerate(bound)]


def check_boundary(toolchain: Toolchain, model: SubModel) -> None:
    """Raise ToolchainError where `model` reads or makes a tensor of open shape or an opaque value, and `toolchain` does not take such."""
    for tensor in (*model.inputs, *model.outputs):
        if tensor.type.is_opaque and not toolchain.takes_opaque:
            raise ToolchainError("import", f"{tensor.name!r} is {tensor.type}: it is no plain memory, which is not supported")
        if tensor.type.open_axes and not toolchain.takes_open_shapes:
            raise ToolchainError("import", f"{tensor.name!r} is {tensor.type}: its shape differs from call to call, which is not supported")


_REPAIR_HINT = "leave it out, or mend the package that it comes with"


def _checked_availability(availability: Callable[[Any], Availability]) -> Callable[[Any], Availability]:
    """Return `availability` with every exception or wrong answer turned into "not usable", with the reason."""

    @wraps(availability)
    def answered(toolchain: Toolchain) -> Availability:
        try:
            found = availability(toolchain)
            if isinstance(found, Availability):
                said = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "usable"}
                return Availability(bool(found.usable), **{name: _word(value) for name, value in said.items()})
            reason = f"it answered with a {type(found).__name__}"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may fail in any way; the reason is kept and shown
            reason = one_line(f"{type(error).__name__}: {error}")
        return Availability(False, reason=f"it cannot say whether it is usable: {reason}", hint=_REPAIR_HINT)

    return answered


def checked_rule(rule: Callable[[Any, RuleOptions], PartitionRule]) -> Callable[[Any, RuleOptions], PartitionRule]:
    """Return `rule` with every exception or wrong answer turned into a CollageError of one line."""

    @wraps(rule)
    def answered(toolchain: Toolchain, options: RuleOptions) -> PartitionRule:
        from ..rules.rule import PartitionRule

        try:
            found = rule(toolchain, options)
            if isinstance(found, PartitionRule):
                return found
            reason = f"it gave a {type(found).__name__}"
        except CollageError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            reason = one_line(f"{type(error).__name__}: {error}")
        raise CollageError(f"the target {toolchain.name!r} has no rule to find candidates by: {reason}", _REPAIR_HINT, "target_unavailable")

    return answered


def _in_one_piece(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return `method`, whose first argument is a sub-model, with the weights read in that this has in files, unless it can take those."""

    @wraps(method)
    def done(toolchain: Toolchain, model: SubModel, *arguments: Any, **named: Any) -> Any:
        return method(toolchain, model if toolchain.takes_external_data else with_weights_inside(model), *arguments, **named)

    return done


def with_weights_inside(model: SubModel) -> SubModel:
    """Return `model` with the weights inside that it has in files.

    Raises:
        ToolchainError: at stage ``import``, where there are more than one ONNX message can hold, or a file cannot be read.
    """
    if not may_name_files(model.onnx):
        return model
    from ..model.files.external_weights import in_one_piece

    try:
        onnx = in_one_piece(model.onnx)
    except CollageError as error:
        raise ToolchainError("import", error.message) from error
    return replace(model, onnx=onnx)


def _uncancelled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return `method` with `Cancelled` turned into a ToolchainError: only the user may cancel a run."""

    @wraps(method)
    def done(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except Cancelled as error:
            raise ToolchainError("build", "it cancelled what nobody had stopped") from error

    return done


def _word(value: Any) -> str:
    """Return `value` as one line of text; empty where there is none."""
    return "" if value in (None, "") else one_line(str(value))


def rule_tree(toolchain: Toolchain) -> dict[str, Any] | None:
    """Return the rule tree as the page draws it (`rule_report.tree_without_counts`); None where the rule fails."""
    from ..rules.rule import RuleOptions
    from ..rules.rule_report import tree_without_counts

    try:
        return tree_without_counts(toolchain.rule(RuleOptions()))
    except CollageError:
        return None


def shown_rules(toolchain: Toolchain) -> str:
    """Return the rule tree as text for lists of toolchains, or why there is none."""
    from ..rules.rule import RuleOptions

    try:
        return str(toolchain.rule(RuleOptions()))
    except CollageError as error:
        return error.message
