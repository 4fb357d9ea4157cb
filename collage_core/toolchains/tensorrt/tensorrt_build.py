"""Builds engines with TensorRT, and asks its ONNX parser what it takes of a model. Called in worker processes only.

A serialised ONNX model enters; an engine with the names of its layers leaves, or the parser's own words. Engines are kept
(`engine_store`). Needs no GPU.
"""

from __future__ import annotations

import importlib
import platform
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from ...graph.dataflow_graph import DataflowGraph, Node
from ...graph.index_set import IndexSet
from ...model.model import Model
from ...model.onnx_model import load_model
from ...model.samples.registry import resolve
from ..border import one_line, with_weights_inside
from ..onnxruntime.onnxruntime_halves import in_halves
from ..toolchain import ToolchainError
from .engine_store import BuiltEngine, EngineStore, engine_key

_LAYER = re.compile(r"^Name: ([^,]+), LayerType: ([^,]+),", re.M)


@dataclass(frozen=True)
class EngineSettings:
    """The settings that engines are built with.

    Attributes:
        library: The library's Python module.
        version: The library's version.
        capability: Compute capability to build for, such as ``SM120``; None for that of the GPU here.
        halves: Whether float32 is converted to float16 first; inputs and outputs stay as they are.
    """

    library: str
    version: str
    capability: str | None
    halves: bool = False


@dataclass(frozen=True)
class RefusedNode:
    """A node that the parser does not take: its name, its operator, and the parser's reason."""

    name: str
    op: str
    reason: str


@dataclass(frozen=True)
class SupportedNodes:
    """The parser's answer about a model: groups of names of nodes that it takes together, and the first nodes that it refuses."""

    groups: tuple[tuple[str, ...], ...]
    refused: tuple[RefusedNode, ...]


def kept_engine(settings: EngineSettings, onnx: bytes, store: EngineStore) -> BuiltEngine:
    """Return the engine of the ONNX model `onnx` from `store`, or build it and keep it there.

    Raises:
        ToolchainError: as `build_engine`.
    """
    key = engine_key(onnx, [settings.library, settings.version, settings.capability or device_of(settings.library), str(settings.halves)])
    engine = store.get(key)
    if engine is None:
        engine = build_engine(settings, onnx)
        store.put(key, engine)
    return engine


def device_of(library: str) -> str:
    """Return a word for the GPU that an engine without a compute capability is built for."""
    return f"the GPU of {library} on {platform.node()}"


def build_engine(settings: EngineSettings, onnx: bytes) -> BuiltEngine:
    """Build an engine from the ONNX model `onnx`.

    Raises:
        ToolchainError: at stage ``device`` where no builder can be made, ``import`` where the parser refuses, or ``build``.
    """
    tensorrt, log, builder = _builder(settings.library)
    onnx = in_halves(onnx) if settings.halves else onnx
    log.messages.clear()
    network = _network(tensorrt, builder)
    parser = tensorrt.OnnxParser(network, log)
    if not parser.parse(onnx):
        raise ToolchainError("import", "; ".join(f"{node.name} ({node.op}): {node.reason}" for node in _refused(parser)) or _last(log))
    config = builder.create_builder_config()
    config.profiling_verbosity = tensorrt.ProfilingVerbosity.DETAILED
    if settings.capability is not None:
        config.num_compute_capabilities = 1
        config.set_compute_capability(getattr(tensorrt.ComputeCapability, settings.capability), 0)
    package = builder.build_serialized_network(network, config)
    if package is None:
        raise ToolchainError("build", _last(log))
    layers = (f"{name} ({kind})" for _, text in log.messages for name, kind in _LAYER.findall(text))
    return BuiltEngine(bytes(package), tuple(layers))


def supported_nodes(library: str, onnx: bytes) -> SupportedNodes:
    """Ask the parser of the module `library` which nodes of the model `onnx` it takes.

    Raises:
        ToolchainError: at stage ``device`` where no builder can be made.
    """
    import onnx as onnx_library

    tensorrt, log, builder = _builder(library)
    network = _network(tensorrt, builder)  # the parser crashes when nobody else holds its network
    parser = tensorrt.OnnxParser(network, log)
    parser.supports_model_v2(onnx)
    names = [node.name for node in onnx_library.load_model_from_string(onnx).graph.node]
    groups = (parser.get_subgraph_nodes(index) for index in range(parser.num_subgraphs))
    return SupportedNodes(tuple(tuple(names[node] for node in group) for group in groups), _refused(parser))


def inspect_model(settings: EngineSettings, source: str, store: EngineStore) -> dict[str, Any]:
    """Build an engine from each group of nodes of the model `source` that the parser takes, or take it from `store`.

    Where a build fails and the reason names a node, that node is refused, and what does not depend on it in the group, and what does,
    are built apart.

    Args:
        source: A sample's name or a file.

    Returns:
        JSON data: ``nodes`` (how many the model has), ``engines`` (each with ``nodes``, ``bytes`` and ``layers``, or with ``nodes`` and
        the ``reason`` why it was not built) and ``refused`` (each with ``name``, ``op`` and ``reason``).

    Raises:
        CollageError: the model cannot be loaded.
        ToolchainError: as `supported_nodes`.
    """
    model = load_model(resolve(source))
    placed = [node.index for node in model.graph.nodes if not node.is_host]
    supported = supported_nodes(settings.library, with_weights_inside(model.cut(IndexSet(placed))).onnx)
    groups = [IndexSet(model.graph.index_by_name[name] for name in names) for names in supported.groups]
    engines, failed = _built(model, groups, settings, store)
    return {"nodes": len(placed), "engines": engines, "refused": [asdict(node) for node in (*supported.refused, *failed)]}


def _built(
    model: Model, pending: list[IndexSet], settings: EngineSettings, store: EngineStore
) -> tuple[list[dict[str, Any]], list[RefusedNode]]:
    """Build each group of `pending`, split further where a node of it fails; return the rows of engines and the nodes that failed."""
    engines: list[dict[str, Any]] = []
    failed: list[RefusedNode] = []
    while pending:
        inside = pending.pop(0)
        row: dict[str, Any] = {"nodes": len(inside)}
        try:
            engine = kept_engine(settings, with_weights_inside(model.cut(inside)).onnx, store)
            engines.append({**row, "bytes": len(engine.package), "layers": list(engine.layers)})
        except ToolchainError as error:
            node = _blamed(model.graph, inside, error.message)
            if node is None:
                engines.append({**row, "reason": error.message})
                continue
            failed.append(RefusedNode(node.name, node.op, error.message))
            after = IndexSet.from_bits(model.graph.downstream[node.index])
            own = IndexSet.window(node.index, 1)
            pending = [part for part in (inside - after - own, (inside & after) - own) if part] + pending
    return engines, failed


def _blamed(graph: DataflowGraph, inside: IndexSet, message: str) -> Node | None:
    """Return the node of `inside` that `message` names; the one with the longest name, where some are parts of others."""
    named = (graph.nodes[index] for index in inside if graph.nodes[index].name in message)
    return max(named, key=lambda node: len(node.name), default=None)


@cache
def _builder(library: str) -> tuple[Any, Any, Any]:
    """Return the module, a log that keeps messages, and a builder: one for the process, since TensorRT keeps its first log."""
    try:
        tensorrt = importlib.import_module(library)

        class Log(tensorrt.ILogger):  # type: ignore[name-defined]
            """Keeps (is an error, text) of each message."""

            def __init__(self) -> None:
                tensorrt.ILogger.__init__(self)
                self.messages: list[tuple[bool, str]] = []

            def log(self, severity: Any, text: str) -> None:
                is_error = severity in (tensorrt.ILogger.Severity.ERROR, tensorrt.ILogger.Severity.INTERNAL_ERROR)
                self.messages.append((is_error, text))

        log = Log()
        return tensorrt, log, tensorrt.Builder(log)
    except Exception as error:  # any exception of the toolchain is its reason
        raise ToolchainError("device", one_line(error)) from error


def opened_engine(library: str, package: bytes) -> Any:
    """Return the engine of `package`, ready to run on the GPU that CUDA has made current in this process.

    Raises:
        ToolchainError: at stage ``build``; the engine is for another GPU or version, with TensorRT's words.
    """
    tensorrt, log, _ = _builder(library)
    engine = tensorrt.Runtime(log).deserialize_cuda_engine(package)
    if engine is None:
        raise ToolchainError("build", _last(log))
    return engine


def _network(tensorrt: Any, builder: Any) -> Any:
    """Return an empty network whose tensors have the types of the model, in which the library may not lower the precision."""
    return builder.create_network(1 << int(tensorrt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))


def _refused(parser: Any) -> tuple[RefusedNode, ...]:
    errors = (parser.get_error(index) for index in range(parser.num_errors))
    return tuple(RefusedNode(error.node_name(), error.node_operator(), _said(error)) for error in errors)


def _said(error: Any) -> str:
    """Return the parser's words about an error; its code where they say nothing (``false`` for an operator without importer)."""
    text = one_line(error.desc())
    return text if text != "false" else one_line(str(error.code()).rpartition(".")[2])


def _last(log: Any) -> str:
    """Return the last error that was logged."""
    texts: Sequence[str] = [text for is_error, text in log.messages if is_error]
    return one_line(texts[-1]) if texts else "it gave no reason"
