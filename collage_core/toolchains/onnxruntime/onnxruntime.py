"""The toolchains `onnxruntime` and `onnxruntime@int8-dynamic`: ONNX Runtime on the CPU.

A package is the model as ONNX Runtime optimised it for this machine, so that loading it is fast. A kernel binds raw pointers. The first
computes in the precision of the model; the second multiplies matrices in int8, as `dynamic_int8` rewrites the model at build. Only
`build` and `load` import onnxruntime.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base import processor
from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ...graph.value_policy import FINITE
from ...model.model import SubModel, may_name_files
from ..border import one_line
from ..buffers import array_at, buffer_dtype
from ..device_tensors import DeviceTensor
from ..onnx_models.external_package import is_external, make_package, onnx_of
from ..onnx_models.int8_products import refusal
from ..toolchain import Availability, Kernel, Toolchain, ToolchainError, unbound_outputs
from ..values.wrong_calls import onnxruntime_refusal_of_any

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions
    from ..native_files import NativeFiles
    from ..profiling import NodeTime

DEFAULT_DEPTH = 3
PRODUCTS_VERSION = "+collage.3"
"""Version of what `_exact_session` does to models, which the version of every toolchain here ends with. Count up when it makes
other models, so that their costs are measured again."""
REWRITE_VERSION = ".int8.1"
"""Version of `dynamic_int8`, which the int8 toolchain's version ends with; counted up as the other."""
SPIN_CONFIG = {"session.intra_op.spin_duration_us": "50", "session.force_spinning_stop": "1"}
"""In a plan of several partitions the threads of a session spin for 50 µs within a run, and not after it: longer spinning takes cores from
the toolchain that runs next. To wake them takes time at the next run, which a plan of one partition need not spend (`load_alone`)."""

_IN_FILES = {
    "session.optimized_model_external_initializers_file_name": "weights",
    "session.optimized_model_external_initializers_min_size_in_bytes": str(16 << 10),
    "session.save_external_prepacked_constant_initializers": "1",
}
"""Entries for a session that saves its model with the weights in a file beside it; smaller ones are not worth a map of their own."""


class OnnxRuntimeBase(Toolchain):
    """Takes every operator that ONNX Runtime has a CPU kernel for, in whole sub-graphs."""

    build_s = 0.01
    distributions = ("onnxruntime",)
    has_value_contract = True
    takes_open_shapes = True
    takes_external_data = True
    takes_opaque = True

    def availability(self) -> Availability:
        if util.find_spec("onnxruntime") is None:
            return Availability(False, reason="the package onnxruntime is not installed", hint="pip install onnxruntime")
        return Availability(True, version=_version() + PRODUCTS_VERSION)

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.combinators import arbitrary_fusion

        return arbitrary_fusion(_taken(options), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        import onnxruntime

        options = session_options(threads, SPIN_CONFIG)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        with tempfile.TemporaryDirectory(prefix="collage-ort-") as folder:
            path = Path(folder) / "optimised.onnx"
            options.optimized_model_filepath = str(path)
            options.add_session_config_entry("session.disable_prepacking", "1")  # It is saved, and never runs.
            try:
                _exact_session(model.onnx, options)
            except Exception as error:  # any exception of the toolchain is its reason
                raise ToolchainError(_stage(error), one_line(error)) from error
            return _package(path, model.onnx)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return _loaded(package, inputs, outputs, session_options(threads, SPIN_CONFIG))

    def load_alone(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return _loaded(package, inputs, outputs, session_options(threads, {}))

    def with_weights_in_files(self, package: bytes, folder: Path, threads: int) -> bytes | None:
        """Return `package` with its weights in a file, each beside the form in which kernels pack it: sessions map both."""
        import onnxruntime
        from onnx import ModelProto

        from ...model.files.external_data import external_tensors, make_paths_absolute, tensors_of
        from ...model.files.external_data import is_external as has_file

        options = session_options(threads, SPIN_CONFIG)
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        path = folder / "model.onnx"
        options.optimized_model_filepath = str(path)
        for name, value in _IN_FILES.items():
            options.add_session_config_entry(name, value)
        try:
            _session(onnx_of(package) if is_external(package) else package, options)
        except Exception as error:  # as in `build`
            raise ToolchainError("build", one_line(error)) from error
        proto = ModelProto.FromString(path.read_bytes())
        outside = external_tensors(proto)
        if not outside or len(outside) < sum(map(has_file, tensors_of(proto))):
            return None  # Weights of inner graphs are in the file as well; nothing here finds them again.
        make_paths_absolute(proto, folder)
        return make_package(proto.SerializeToString())

    def profile(self, model: SubModel, inputs: Sequence[np.ndarray], threads: int) -> Sequence[NodeTime]:
        from ..profiling import labelled, node_times, watched_runs
        from .onnxruntime_profile import numbered, steps

        named = labelled(model)
        built = self.build(named, threads)
        package, kernels = numbered(onnx_of(built) if is_external(built) else built)
        with tempfile.TemporaryDirectory(prefix="collage-ort-") as folder:
            options = session_options(threads, SPIN_CONFIG)
            options.enable_profiling, options.profile_file_prefix = True, str(Path(folder) / "profile")
            kernel = _loaded(package, named.inputs, named.outputs, options)
            kernel.bind(inputs, unbound_outputs(named))
            watched_runs(kernel.run)
            return node_times(named, steps(kernels, Path(kernel.end_profiling())))


class OnnxRuntimeToolchain(OnnxRuntimeBase):
    """ONNX Runtime in the precision of the model, with plain tensors at the ends of a sub-graph."""

    name = "onnxruntime"
    letter = "O"

    def native_files(self, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
        return self._files(model.onnx, model.outputs, threads, is_alone)

    def _files(self, onnx: bytes, outputs: Sequence[Tensor], threads: int, is_alone: bool) -> NativeFiles:
        from .onnxruntime_native import files_of

        entries = {} if is_alone else SPIN_CONFIG
        try:
            _, exact, further = _exact_session(onnx, session_options(threads, entries))
        except Exception as error:  # as in `build`
            raise ToolchainError(_stage(error), one_line(error)) from error
        return files_of(exact, outputs, threads, {**entries, **further}, _version())

    def open_native(self, path: Path, inputs: Sequence[Tensor], outputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Kernel:
        import onnxruntime

        try:
            options = session_options(int(settings["threads"]), dict(settings["entries"]))
            session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # as in `build`
            raise ToolchainError("build", one_line(error)) from error
        return _kernel(session, inputs, outputs)


def _taken(options: RuleOptions) -> PartitionRule:
    """Return the rule of single calls: all, but for those whose NaN and infinities optimisations change, where these count."""
    from ...rules.base_rules import OpPredicate
    from ...rules.combinators import MatchCheck

    return OpPredicate() if options.value_policy == FINITE else MatchCheck(onnxruntime_refusal_of_any, OpPredicate())


def _loaded(package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], options: Any) -> BoundSession | _OpaqueKernel:
    import onnxruntime

    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = _session(onnx_of(package) if is_external(package) else package, options)
    except Exception as error:  # as in `build`
        raise ToolchainError("build", one_line(error)) from error
    return _kernel(session, inputs, outputs)


def _kernel(session: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> BoundSession | _OpaqueKernel:
    is_opaque = any(tensor.type.is_opaque for tensor in (*inputs, *outputs))
    return (_OpaqueKernel if is_opaque else BoundSession)(session, inputs, outputs)


class OnnxRuntimeInt8Toolchain(OnnxRuntimeToolchain):
    """The same with matrix products in int8: weights are quantised at build, activations at each run (dynamically).

    It takes sub-graphs that hold such a product; on any other it would be `onnxruntime` under another name. Convolutions stay as they
    are: ONNX Runtime's dynamically quantised ones are slower than its own in float32.
    """

    name = "onnxruntime@int8-dynamic"
    letter = "Q"
    lowers_precision = True
    takes_external_data = False

    def availability(self) -> Availability:
        found = super().availability()
        return replace(found, version=found.version + REWRITE_VERSION, precision="int8 products") if found.usable else found

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.combinators import MatchCheck, arbitrary_fusion

        return MatchCheck(refusal, arbitrary_fusion(_taken(options), options, DEFAULT_DEPTH))

    def build(self, model: SubModel, threads: int) -> bytes:
        from ..onnx_models.dynamic_int8 import quantised

        return super().build(replace(model, onnx=quantised(model.onnx)), threads)

    def native_files(self, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
        from ..onnx_models.dynamic_int8 import quantised

        return self._files(quantised(model.onnx), model.outputs, threads, is_alone)


class _OpaqueKernel:
    """A session that reads or makes values which are no plain memory: they are converted at each run, and outputs are copied."""

    def __init__(self, session: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor]):
        from ...model.reference.ort_session import ValueRunner

        self._session, self._runner = session, ValueRunner(session)
        self._inputs = [tensor.name for tensor in inputs]
        self._outputs = [tensor.name for tensor in outputs]
        self._given: dict[str, Any] = {}
        self._buffers: Sequence[np.ndarray | None] = ()
        self._made: dict[str, Any] = {}

    def bind(self, inputs: Sequence[Any], outputs: Sequence[np.ndarray | None]) -> None:
        self._given = dict(zip(self._inputs, inputs, strict=True))
        self._buffers = outputs

    def run(self) -> None:
        try:
            self._made = self._runner.run(self._given, self._outputs)
        except Exception as error:  # as in `build`
            raise ToolchainError("run", one_line(error)) from error
        for name, buffer in zip(self._outputs, self._buffers, strict=True):
            if buffer is not None:
                buffer[...] = self._made[name]

    def end_profiling(self) -> str:
        """Return the path of the file with the profile of all runs; the session's options asked for it."""
        return str(self._session.end_profiling())

    def allocated(self, index: int) -> Any:
        return self._made[self._outputs[index]]


class BoundSession:
    """A session with an I/O binding on the caller's buffers.

    ONNX Runtime allocates outputs of open shape. It writes into the last ones where it finds them bound, so they are bound anew each time.

    Args:
        run_options: Of each run; None for ONNX Runtime's own.
    """

    def __init__(self, session: Any, inputs: Sequence[Tensor], outputs: Sequence[Tensor], run_options: Any = None):
        self._run_options = run_options
        self._inputs = [tensor.name for tensor in inputs]
        self._outputs = [tensor.name for tensor in outputs]
        self._session = session
        self._binding = session.io_binding()
        self._dtypes = [tensor.type.dtype for tensor in outputs]
        self._open: list[str] = []
        self._made: list[Any] = []
        self._buffers: tuple[object, ...] = ()

    def bind(self, inputs: Sequence[np.ndarray | DeviceTensor], outputs: Sequence[np.ndarray | DeviceTensor | None]) -> None:
        self._open = [name for name, tensor in zip(self._outputs, outputs, strict=True) if tensor is None]
        try:
            for name, tensor in zip(self._inputs, inputs, strict=True):
                self._binding.bind_input(name, *_bound(tensor))
            for name, made in zip(self._outputs, outputs, strict=True):
                self._binding.bind_output(name, *(("cpu",) if made is None else _bound(made)))
        except Exception as error:  # as in `build`
            raise ToolchainError("run", one_line(error)) from error
        self._buffers = (*inputs, *outputs)

    def run(self) -> None:
        try:
            for name in self._open:
                self._binding.bind_output(name, "cpu")
            self._session.run_with_iobinding(self._binding, self._run_options)
            if self._open:
                self._made = self._binding.get_outputs()
        except Exception as error:  # as in `build`
            raise ToolchainError("run", one_line(error)) from error

    def unguarded_run(self) -> Callable[[], object]:
        """Return a function that does what `run` does on the buffers that are bound now, and raises what ONNX Runtime raises."""
        return self.run if self._open else partial(self._session.run_with_iobinding, self._binding, self._run_options)

    def end_profiling(self) -> str:
        """Return the path of the file with the profile of all runs; the session's options asked for it."""
        return str(self._session.end_profiling())

    def allocated(self, index: int) -> np.ndarray:
        made = self._made[index]
        return array_at(made.data_ptr(), tuple(made.shape()), buffer_dtype(self._dtypes[index]))


def _bound(tensor: np.ndarray | DeviceTensor) -> tuple[Any, ...]:
    """Return where `tensor` is as an I/O binding takes it: type and number of its device, dtype, shape, address."""
    if isinstance(tensor, DeviceTensor):
        device, _, number = tensor.location.partition(":")
        return device, int(number), _element_type(buffer_dtype(tensor.type.dtype)), tensor.type.shape, tensor.address
    return "cpu", 0, _element_type(tensor.dtype), tensor.shape, tensor.ctypes.data


def _version() -> str:
    for package in ("onnxruntime", "onnxruntime-gpu"):  # either holds the module, with the processor's provider
        with suppress(metadata.PackageNotFoundError):
            return metadata.version(package)
    return "unknown"


def session_options(threads: int, spinning: Mapping[str, str]) -> Any:
    """Return options for a session on `threads` threads, with entries that say how long they spin (as ONNX Runtime itself has it: none)."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 4
    for name, value in spinning.items():
        options.add_session_config_entry(name, value)
    return options


def _package(path: Path, source: bytes) -> bytes:
    """Return the optimised model at `path` as a package; what it did not change of `source` stays in files that are there."""
    from .onnxruntime_casts import with_unique_casts

    optimised = with_unique_casts(path.read_bytes())
    if not may_name_files(optimised):
        return optimised
    from onnx import ModelProto

    from ...model.files.external_data import external_tensors, make_paths_absolute, with_relative_paths

    proto = ModelProto.FromString(optimised)
    make_paths_absolute(proto, with_relative_paths(ModelProto.FromString(source))[1])
    return make_package(proto.SerializeToString()) if external_tensors(proto) else optimised


def _session(model: bytes, options: Any) -> Any:
    """Return a session of `model`; the files that it names are mapped, and of weights that kernels copy the pages are free again."""
    import onnxruntime

    if may_name_files(model):
        from onnx import ModelProto

        from ...model.files.external_data import with_relative_paths

        model, folder = with_relative_paths(ModelProto.FromString(model))
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


_EXACT = "session.x64quantprecision"
_FLOAT_BY_4_BITS = {"session.qdq_matmulnbits_accuracy_level": "1"}
"""Products of floats by weights of few bits stay in float32. ONNX Runtime would quantise the floats to int8 and err by a hundredth."""


def _exact_session(model: bytes, options: Any) -> tuple[Any, bytes, dict[str, str]]:
    """Return a session that computes large integers, and products of quantised weights on this processor too, right.

    Its model, and the entries that it added, are returned as well.

    ONNX Runtime can make weights uint8 that it quantises with (``QDQS8ToU8Transformer``), but fails where nodes share them.
    """
    model, entries = _with_integer_products(_with_exact_integers(model)), {}
    if b"DequantizeLinear" in model:
        entries = _FLOAT_BY_4_BITS
        for name, value in entries.items():
            options.add_session_config_entry(name, value)
    if not processor.products_saturate():
        return _session(model, options), model, {**entries}
    from onnx import load_model_from_string

    from ...model.files.unsigned_weights import with_unsigned_weights

    exact = with_unsigned_weights(load_model_from_string(model)).SerializeToString()
    options.add_session_config_entry(_EXACT, "1")
    try:
        return _session(exact, options), exact, {**entries, _EXACT: "1"}
    except Exception:  # noqa: BLE001 - whatever it is, it is raised below where the option is not the reason
        options.add_session_config_entry(_EXACT, "0")
        return _session(exact, options), exact, {**entries, _EXACT: "0"}


def _with_exact_integers(model: bytes) -> bytes:
    """Return `model` with calls in place of those that ONNX Runtime may compute wrong; one whose ranges show small values stays."""
    from ...model.reference.exact_integers import may_hold, with_exact_integers

    if not may_hold(model):
        return model
    from onnx import load_model_from_string

    from ...graph.value_ranges import ranges_of
    from ...model.shapes.inference import proto_graph

    proto = load_model_from_string(model)
    if with_exact_integers(proto) is proto:
        return model
    with suppress(CollageError):  # where a shape is not known nothing is shown small
        return with_exact_integers(proto, ranges_of(proto_graph(proto))).SerializeToString()
    return with_exact_integers(proto).SerializeToString()


def _with_integer_products(model: bytes) -> bytes:
    """Return `model`, changed as `unsigned_activations` and `clips_on_integers` do where it is quantised."""
    if b"DequantizeLinear" not in model:
        return model
    from onnx import load_model_from_string

    from ..onnx_models.clips_on_integers import move_clips_behind_quantisers
    from ..onnx_models.unsigned_activations import make_activations_unsigned

    changed = load_model_from_string(model)
    make_activations_unsigned(changed)
    move_clips_behind_quantisers(changed)
    return changed.SerializeToString()


def _stage(error: Exception) -> str:
    """Return ``import`` where ONNX Runtime does not understand the model, ``build`` where only a kernel is missing."""
    return "build" if type(error).__name__ == "NotImplemented" else "import"


_EXTENDED_TYPES = {
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
    "float8_e8m0fnu": 24,
}
"""ONNX's numbers for the dtypes that numpy itself does not have."""


def _element_type(dtype: np.dtype) -> Any:
    return _EXTENDED_TYPES.get(dtype.name, dtype.type)
