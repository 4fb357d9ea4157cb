"""The toolchains `openvino` and `openvino@bf16`: OpenVINO on the CPU, in float32 and in bfloat16 (its own default on some processors).

A package is a compiled model as OpenVINO exports it, for the same machine. The tensors of a kernel use the caller's buffers. Only `build`
and `load` import openvino.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import metadata, util
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from ...base.extras import install_command
from ...base.processor import has_any
from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel, may_name_files
from ..border import one_line
from ..buffers import array_at, buffer_dtype
from ..onnx_models.external_package import is_external, make_package, onnx_of, with_file_numbers
from ..toolchain import Availability, Kernel, Toolchain, ToolchainError, unbound_outputs
from ..values.wrong_calls import OPENVINO_REFUSALS

if TYPE_CHECKING:
    from ...rules.rule import PartitionRule, RuleOptions
    from ..native_files import NativeFiles
    from ..profiling import NodeTime

DEFAULT_DEPTH = 3
SETTINGS_VERSION = "+collage.3"
"""Version of the settings and rewritings here, which the toolchain's version ends with: kernels depend on them too. Count up when kernels
change, so that their costs are measured again."""


class OpenVinoBase(Toolchain):
    """Takes what OpenVINO's ONNX reader takes, in whole sub-graphs, but for calls that are known to give wrong numbers.

    Attributes:
        openvino_device: What OpenVINO calls the device that it computes on.
    """

    openvino_device = "CPU"
    distributions = ("openvino",)
    build_s = 0.08
    has_value_contract = True
    takes_open_shapes = True
    takes_external_data = True
    precision = "float32"
    precision_hint = "f32"

    def availability(self) -> Availability:
        if util.find_spec("openvino") is None:
            hint = install_command("openvino")
            return Availability(False, reason="the package openvino is not installed", hint=hint, precision=self.precision)
        return Availability(True, version=_version() + SETTINGS_VERSION, precision=self.precision)

    def rule(self, options: RuleOptions) -> PartitionRule:
        from ...rules.base_rules import OpPredicate
        from ...rules.combinators import MatchCheck, arbitrary_fusion

        return arbitrary_fusion(MatchCheck(OPENVINO_REFUSALS[options.value_policy], OpPredicate()), options, DEFAULT_DEPTH)

    def build(self, model: SubModel, threads: int) -> bytes:
        if may_name_files(model.onnx):
            return make_package(model.onnx)  # An exported model would hold the weights, so this one is compiled when it is loaded.
        loaded = self._compiled(model.onnx, threads, {})
        try:
            return loaded.compiled.export_model().getvalue()
        except Exception as error:  # any exception of the toolchain is its reason
            raise ToolchainError("build", reason(error)) from error

    def _compiled(self, onnx: bytes, threads: int, further: Mapping[str, Any]) -> _Loaded:
        try:
            read, maps = _read(onnx)
        except Exception as error:  # as above
            raise ToolchainError("import", reason(error)) from error
        try:
            compiled = _core().compile_model(read, self.openvino_device, {**self._settings(threads), **further})
        except Exception as error:  # as above
            raise ToolchainError("build", reason(error)) from error
        if maps:
            from ...model.files.external_data import release_pages

            for weights in maps:
                release_pages(weights)  # Kernels have copies in their own order.
        return _Loaded(compiled, tuple(maps))

    def _settings(self, threads: int) -> dict[str, Any]:
        return _config(threads, self.precision_hint)

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        try:
            return _Kernel(self._shared(package, threads), inputs, outputs)
        except ToolchainError:
            raise
        except Exception as error:  # as above
            raise ToolchainError("build", reason(error)) from error

    def _shared(self, package: bytes, threads: int) -> _Loaded:
        """Return the compiled model of a package: the one that other kernels have, where it takes any shape."""

        def key() -> tuple[str, int, str]:
            return hashlib.blake2b(with_file_numbers(package)).hexdigest(), threads, f"{self.openvino_device} {self.precision_hint}"

        found = _for_any_shape.get(key()) if _for_any_shape else None  # Nearly always there is none: packages are large.
        if found is not None:
            return found
        loaded = self._loaded(package, threads)
        if any(port.partial_shape.is_dynamic for port in loaded.compiled.inputs):
            _for_any_shape[key()] = loaded
        return loaded

    def _loaded(self, package: bytes, threads: int) -> _Loaded:
        if is_external(package):
            return self._compiled(onnx_of(package), threads, {})
        try:
            return _Loaded(_core().import_model(package, self.openvino_device, self._settings(threads)))
        except Exception as error:  # as above
            raise ToolchainError("build", reason(error)) from error

    def profile(self, model: SubModel, inputs: Sequence[np.ndarray], threads: int) -> Sequence[NodeTime]:
        from ..profiling import labelled, node_times, watched_runs
        from .openvino_profile import Counters

        named = labelled(model)
        loaded = self._compiled(named.onnx, threads, {"PERF_COUNT": True})
        kernel, counters = _Kernel(loaded, named.inputs, named.outputs), Counters()
        kernel.bind(inputs, unbound_outputs(named))

        def run() -> None:
            kernel.run()
            counters.add(kernel.performance_counts())

        watched_runs(run)
        return node_times(named, counters.steps(loaded.compiled.get_runtime_model()))


class OpenVinoToolchain(OpenVinoBase):
    """OpenVINO on the processor, in float32."""

    name = "openvino"
    letter = "V"

    def native_files(self, model: SubModel, threads: int, is_alone: bool) -> NativeFiles:
        from .openvino_native import files_of, ir_of

        try:
            onnx = with_bools_by_floats(model.onnx)
            onnx = _with_copied_inputs(onnx) if _hands_inputs_on(_parsed(onnx)[0]) else onnx
            read = _parsed(onnx)[0]
            ir = ir_of(read) if is_alone or _is_changed(read) else None  # Of the ONNX file OpenVINO would not know of the changes.
        except Exception as error:  # as above
            raise ToolchainError("import", reason(error)) from error
        return files_of(onnx, ir, model.outputs, _config(threads, self.precision_hint), _version())

    def open_native(self, path: Path, inputs: Sequence[Tensor], outputs: Sequence[Tensor], settings: Mapping[str, Any]) -> Kernel:
        try:
            return _Kernel(_Loaded(_core().compile_model(path, "CPU", dict(settings))), inputs, outputs)
        except Exception as error:  # as above
            raise ToolchainError("build", reason(error)) from error


class OpenVinoBf16Toolchain(OpenVinoToolchain):
    """The same in bfloat16, as OpenVINO computes by default on processors that have instructions for it."""

    name = "openvino@bf16"
    letter = "B"
    precision = "bfloat16"
    precision_hint = "bf16"
    lowers_precision = True

    def availability(self) -> Availability:
        found = super().availability()
        # OpenVINO would compute in float32 then, and not say so.
        if found.usable and not has_any("avx512_bf16", "amx_bf16", "bf16"):
            reason, hint = "this processor has no bfloat16 instructions", "use openvino, which computes in float32"
            return replace(found, usable=False, reason=reason, hint=hint)
        return found


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A compiled model, and the maps of weights that must outlive it."""

    compiled: Any
    maps: tuple[np.ndarray, ...] = ()


_for_any_shape: WeakValueDictionary[tuple[str, int, str], _Loaded] = WeakValueDictionary()
"""Digest of a package, threads and precision → the compiled model for any shape that kernels have: another kernel shares its weights."""


class _Kernel:
    """An infer request whose tensors use the caller's buffers; OpenVINO allocates outputs of open shape."""

    def __init__(self, loaded: _Loaded, inputs: Sequence[Tensor], outputs: Sequence[Tensor]):
        self._loaded = loaded
        self._request = loaded.compiled.create_infer_request()
        self._ports = _ports(loaded.compiled.inputs, inputs)
        self._dtypes = [tensor.type.dtype for tensor in outputs]
        self._buffers: tuple[np.ndarray | None, ...] = ()

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray | None]) -> None:
        try:
            for index, array in zip(self._ports, inputs, strict=True):
                if index is not None:
                    self._request.set_input_tensor(index, _over(array))
            for index, made in enumerate(outputs):
                if made is not None:
                    self._request.set_output_tensor(index, _over(made))
        except Exception as error:  # as above
            raise ToolchainError("run", reason(error)) from error
        self._buffers = (*inputs, *outputs)

    def run(self) -> None:
        try:
            self._request.infer(share_outputs=True)
        except Exception as error:  # as above
            raise ToolchainError("run", reason(error)) from error

    def performance_counts(self) -> Any:
        """Return what each operation of the last run took, if the model was compiled to count that."""
        return self._request.get_profiling_info()

    def allocated(self, index: int) -> np.ndarray:
        tensor = self._request.get_output_tensor(index)
        return tensor.data.view(buffer_dtype(self._dtypes[index]))


def _version() -> str:
    try:
        return metadata.version("openvino")
    except metadata.PackageNotFoundError:
        return "unknown"


@cache
def _core() -> Any:
    import openvino

    return openvino.Core()


def _read(model: bytes) -> tuple[Any, list[np.ndarray]]:
    """Return `model` as OpenVINO reads it, in a form in which no output is an input, and the maps of weights that it uses.

    The reader leaves out what computes nothing (Dropout, a Sum of one). Where an output is then an input, a request with buffers set for
    both does not write the output, and may overwrite the input.
    """
    read, maps = _parsed(model)
    return _parsed(_with_copied_inputs(model)) if _hands_inputs_on(read) else (read, maps)


def _hands_inputs_on(read: Any) -> bool:
    """Return whether an output of a model is one of its inputs."""
    return any(result.input_value(0).get_node().get_type_name() == "Parameter" for result in read.get_results())


def _is_changed(read: Any) -> bool:
    """Return whether a model has operators that `_parsed` replaces."""
    return any(node.get_type_name() in ("Exp", "NonMaxSuppression", "TopK") for node in read.get_ops())


def _order_ties(read: Any) -> None:
    """Let every TopK of a model take the lower index of equal elements, as ONNX does: its reader does not ask for that."""
    from openvino import opset11

    for node in read.get_ops():
        if node.get_type_name() == "TopK" and not node.get_attributes()["stable"]:
            had = node.get_attributes()
            data, count = node.input_value(0), node.input_value(1)
            stable = opset11.topk(data, count, had["axis"], had["mode"], had["sort"], had["index_element_type"], True)
            stable.set_friendly_name(node.get_friendly_name())
            for index in range(node.get_output_size()):
                names = node.output(index).get_names()
                node.output(index).replace(stable.output(index))
                stable.output(index).set_names(names)


def _raise_thresholds(read: Any) -> None:
    """Let every NonMaxSuppression of a model keep boxes whose overlap equals the threshold, as ONNX does.

    OpenVINO suppresses these; with the default threshold of 0 all boxes but one.
    """
    from openvino import opset11

    for node in read.get_ops():
        if node.get_type_name() == "NonMaxSuppression" and node.input_value(3).get_node().get_type_name() == "Constant":
            threshold = node.input_value(3).get_node().data.astype(np.float32)
            least = np.float32(np.finfo(np.float32).tiny)  # A smaller number counts as 0.
            raised = np.maximum(np.nextafter(threshold, np.float32(np.inf)), least)
            node.input(3).replace_source_output(opset11.constant(raised, dtype=np.float32).output(0))


def _halve_exponents(read: Any) -> None:
    """Let every Exp of a model be the square of the exponential of half the number.

    OpenVINO's own is infinite from 88.4 on, and float32 holds those up to 88.7. Where the maximum is subtracted first, as in a softmax of
    its parts, the exponents are at most 0 and OpenVINO has one kernel for the parts; these stay.
    """
    from openvino import opset11

    for node in read.get_ops():
        if node.get_type_name() == "Exp" and node.get_element_type().is_real() and not _is_below_maximum(node):
            half = opset11.constant(0.5, dtype=node.get_element_type())
            root = opset11.exp(opset11.multiply(node.input_value(0), half))
            root.set_friendly_name(f"{node.get_friendly_name()}/root")
            square = opset11.multiply(root, root)
            square.set_friendly_name(node.get_friendly_name())
            names = node.output(0).get_names()
            node.output(0).replace(square.output(0))
            square.output(0).set_names(names)


def _is_below_maximum(exp: Any) -> bool:
    """Return whether an Exp reads the difference of a tensor and its maximum along some axes."""
    difference = exp.input_value(0).get_node()
    if difference.get_type_name() != "Subtract":
        return False
    maximum = difference.input_value(1).get_node()
    return maximum.get_type_name() == "ReduceMax" and maximum.input_value(0) == difference.input_value(0)


def _parsed(model: bytes) -> tuple[Any, list[np.ndarray]]:
    """Return `model` as the reader makes it, changed where OpenVINO computes wrong; maps hold weights in files, which nothing copies."""
    read, maps = _as_read(model)
    _order_ties(read)
    _raise_thresholds(read)
    _halve_exponents(read)
    return read, maps


def _as_read(model: bytes) -> tuple[Any, list[np.ndarray]]:
    model = with_bools_by_floats(model)
    if not may_name_files(model):
        return _core().read_model(model=model, weights=b""), []
    import openvino
    from onnx import ModelProto

    from ...model.files.external_data import external_tensors, values_of, without_external

    proto = ModelProto.FromString(model)
    maps = {tensor.name: values_of(tensor) for tensor in external_tensors(proto)}
    read = _core().read_model(model=without_external(proto).SerializeToString(), weights=b"")
    for parameter in list(read.get_parameters()):
        name = next((name for name in parameter.output(0).names if name in maps), None)
        if name is not None:
            constant = openvino.op.Constant(_over(maps[name]), shared_memory=True)
            constant.set_friendly_name(name)
            parameter.output(0).replace(constant.output(0))
            read.remove_parameter(parameter)
    read.validate_nodes_and_infer_types()
    return read, list(maps.values())


_TO_BOOL = b"\n\x02to\x18\x09"
"""The attribute of a Cast to bool as ONNX's files hold it."""


def with_bools_by_floats(model: bytes) -> bytes:
    """Return the ONNX model `model` with each Cast to bool made of two, the first to float32.

    OpenVINO casts an integer to bool by its low bits, so that 2^31 becomes false; to float32 it casts all integers right.
    """
    if _TO_BOOL not in model:
        return model
    import onnx

    from ..onnx_models.model_rewriting import ModelRewriting

    changed = onnx.ModelProto.FromString(model)
    rewriting, before = ModelRewriting(changed), {}
    for node in rewriting.nodes:
        if node.op_type == "Cast" and any(item.name == "to" and item.i == onnx.TensorProto.BOOL for item in node.attribute):
            as_float = rewriting.free(node.output[0])
            before[id(node)] = [onnx.helper.make_node("Cast", [node.input[0]], [as_float], as_float, to=onnx.TensorProto.FLOAT)]
            node.input[0] = as_float
    rewriting.put_nodes(before, {})
    return changed.SerializeToString()


def _with_copied_inputs(model: bytes) -> bytes:
    """Return the ONNX model `model` with an Identity, which OpenVINO keeps, between each input and the nodes that read it."""
    import onnx

    changed = onnx.load_model_from_string(model)
    graph = changed.graph
    nodes = list(graph.node)
    taken = {name for node in nodes for name in (*node.input, *node.output)}
    copies = {value.name: _unused(value.name, taken) for value in graph.input}
    for node in nodes:
        node.input[:] = [copies.get(name, name) for name in node.input]
    del graph.node[:]
    graph.node.extend(onnx.helper.make_node("Identity", [name], [copy]) for name, copy in copies.items())
    graph.node.extend(nodes)
    return changed.SerializeToString()


def _unused(name: str, taken: set[str]) -> str:
    """Return `name` with a suffix that makes it none of those in `taken`."""
    while name in taken:
        name += "'"
    return name


def _config(threads: int, precision_hint: str) -> dict[str, Any]:
    return {
        "INFERENCE_PRECISION_HINT": precision_hint,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0,  # Else products by weights of few bits quantise the floats too, and err by some 6e-3.
    }


def _ports(ports: Sequence[Any], inputs: Sequence[Tensor]) -> list[int | None]:
    """Return the port of each input; None for an input that OpenVINO removed because the outputs do not depend on it."""
    if len(ports) == len(inputs):
        return list(range(len(inputs)))
    return [next((index for index, port in enumerate(ports) if tensor.name in port.names), None) for tensor in inputs]


_FRAME = re.compile(
    "Exception from |Check '.*' failed at |FrontEnd API failed|Model wasn't fully converted|Summary:"
    "|-- .* with a message:|While validating "
)
"""Lines of an error report that only name positions in OpenVINO's sources."""


def reason(error: Exception) -> str:
    """Return the line of OpenVINO's error report that names the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not _FRAME.match(line.strip())]
    return one_line(lines[0].removeprefix("-- ") if lines else error)


def _over(array: np.ndarray) -> Any:
    """Return a tensor over the memory of `array`. OpenVINO requires it to be writable, though it only reads its inputs."""
    import openvino

    own = array if array.flags.writeable else array_at(array.ctypes.data, array.shape, array.dtype)
    extended = _EXTENDED_TYPES.get(array.dtype.name)
    if extended is None:
        return openvino.Tensor(own, shared_memory=True)
    kind = getattr(openvino.Type, extended)
    return openvino.Tensor(own.view(f"u{own.itemsize}"), openvino.Shape(own.shape), kind)


_EXTENDED_TYPES = {"bfloat16": "bf16", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
"""OpenVINO's names for the dtypes that numpy itself does not have."""
