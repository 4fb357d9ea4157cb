"""`load`: reads a model and writes what the page needs of it into files. Called in a worker process, never in the server's.

A path or the name of a sample enters; ``graph.json.gz`` in a folder and the facts of `ModelInfo` leave. Whatever the model's
file does to the process, the server goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..shared.json_files import json_data, write_json

if TYPE_CHECKING:
    from onnx import ModelProto

    from collage_core.graph.dataflow_graph import DataflowGraph

GRAPH = "graph.json.gz"
GROUPS = "groups.json.gz"
FILE_GRAPHS = "file.json.gz"


def load(
    source: str, sample: str | None, shapes: Mapping[str, Sequence[int] | str], values: Mapping[str, str], region: str | None, folder: str
) -> dict[str, Any]:
    """Read the model at the path `source`, or the `sample`, and write its graph into `folder`.

    Args:
        region: Name of the region of a Relax module.

    Raises:
        SeveralRegions: no region is named, and there are several.
        CollageError: it cannot be read, is no model, has an input whose shape is not known, or a shape or value does not fit.
    """
    from collage_core.model.reference.accuracy import default_accuracy
    from collage_core.model.relax.load import load as load_any
    from collage_core.model.samples import registry as samples
    from collage_core.model.shapes.shapes import input_dimensions

    path = samples.resolve(sample) if sample else Path(source)
    sizes = _shown_shapes(path, shapes)
    model = load_any(path, sizes, fold=True, name=sample or path.stem, values=values, region=region, asks=True)
    graph = model.graph
    types = graph.types
    proto = _read(path)
    folded = json_data([asdict(node) for node in model.folded])
    digest = write_graph(Path(folder), {"id": model.hash, "graph": json_data(graph.to_json()), "folded": folded}, proto)
    write_groups(graph, Path(folder))
    files = _files(path.absolute(), proto)
    return {
        "id": model.hash,
        "name": model.name,
        "nodes": len(graph),
        "folded": len(model.folded),
        "inputs": [tensor.to_json() for tensor in graph.inputs],
        "dimensions": input_dimensions(proto) if proto else {},
        "outputs": [_output(graph.constants, types, output) for output in graph.outputs],
        "size_bytes": sum(file["bytes"] for file in files),
        "quantised": bool(model.is_quantised),
        "accuracy": default_accuracy(model),
        "files": files,
        "graph_digest": digest,
        "is_onnx": proto is not None,
    }


def load_file(source: str, sample: str | None, folder: str, infers: bool) -> dict[str, Any]:
    """Read the ONNX model at the path `source` as its file has it, and write its graphs into `folder`; return what `load` returns.

    Args:
        infers: As for `read_scopes`.

    Raises:
        CollageError: it cannot be read, or is no model.
    """
    from collage_core.model.files.loading import read_structure
    from collage_core.model.nodes import all_nodes, op_name
    from collage_core.model.onnx_model import quantises
    from collage_core.model.samples import registry as samples
    from collage_core.model.shapes.shapes import input_dimensions

    path = samples.resolve(sample) if sample else Path(source)
    file = read_structure(path)
    root = write_file_graphs(str(path), folder, infers)
    graph = root["graph"]
    identity = hashlib.sha256(f"as in the file {file.digest}".encode()).hexdigest()
    digest = write_graph(Path(folder), {"id": identity, "graph": graph, "folded": []}, file.model)
    write_json(Path(folder) / GROUPS, root["groups"])
    files = _files(path.absolute(), file.model)
    tensors = {tensor["name"]: tensor for tensor in (*graph["inputs"], *(one for node in graph["nodes"] for one in node["outputs"]))}
    return {
        "id": identity,
        "name": sample or path.stem,
        "nodes": len(graph["nodes"]),
        "folded": 0,
        "inputs": graph["inputs"],
        "dimensions": input_dimensions(file.model),
        "outputs": [tensors[name] for name in graph["outputs"] if name in tensors],
        "size_bytes": sum(file["bytes"] for file in files),
        "quantised": any(quantises(op_name(node)) for node in all_nodes(file.model.graph)),
        "accuracy": 1e-3,
        "files": files,
        "graph_digest": digest,
    }


def write_file_graphs(source: str, folder: str, infers: bool) -> dict[str, Any]:
    """Write every graph of the ONNX model at `source` into `folder`, as `FileGraph`s without ids; return the model's own.

    Args:
        infers: As for `read_scopes`.
    """
    from collage_core.model.files.loading import read_structure
    from collage_core.model.formal_inputs import formal_inputs
    from collage_core.model.nodes import opset_versions
    from collage_core.model.view.scopes import ROOT, read_scopes, scope_json

    model = read_structure(Path(source)).model
    versions = opset_versions(model)
    graphs: dict[str, dict[str, Any]] = {}
    for scope in read_scopes(model, infers=infers):
        above = graphs[scope.parent]["path"] if scope.parent is not None else [] if scope.id == ROOT else graphs[ROOT]["path"]
        formal = formal_inputs({node.op for node in scope.graph.nodes}, versions)
        graphs[scope.id] = {
            "scope": scope.id,
            "path": [*above, {"scope": scope.id, "title": scope.title}],
            "graph": _with_exact_integers(json_data(scope_json(scope))),
            "formal": {op: asdict(inputs) for op, inputs in formal.items()},
            "groups": _groups(scope.graph, is_sound=scope.is_sound),
            "docs": dict(scope.docs),
        }
    write_json(Path(folder) / FILE_GRAPHS, graphs)
    return graphs[ROOT]


def _shown_shapes(path: Path, shapes: Mapping[str, Sequence[int] | str]) -> dict[str, tuple[int, ...]]:
    """Return the shapes to show the model at: of several that are planned for, those that the record of a run is about."""
    from collage_core.base.sizes import is_fixed, shape_from

    sizes = {name: shape_from(shape, name) for name, shape in shapes.items()}
    if is_fixed(sizes):
        return {name: tuple(size for size in shape if isinstance(size, int)) for name, shape in sizes.items()}

    from collage_core.options import Options
    from collage_core.pipeline.shapes.shapes_to_plan import shapes_to_plan

    return dict(shapes_to_plan(path, Options(("onnxruntime",), shapes=sizes)).shapes[-1].shapes)


def write_graph(folder: Path, graph: Mapping[str, Any], proto: ModelProto | None) -> str:
    """Write a `ModelGraph`, with what the operators of `proto` call their inputs; returns its digest."""
    from collage_core.model.formal_inputs import formal_inputs
    from collage_core.model.nodes import opset_versions

    ops = {node["op"] for node in graph["graph"]["nodes"]}
    formal = formal_inputs(ops, opset_versions(proto) if proto else {})
    graph = {**graph, "graph": _with_exact_integers(graph["graph"])}
    write_json(folder / GRAPH, {**graph, "formal": {op: asdict(inputs) for op, inputs in formal.items()}})
    return hashlib.sha256((folder / GRAPH).read_bytes()).hexdigest()[:32]


MOST_EXACT = 2**53 - 1
"""The largest integer that a page holds exactly: its numbers are doubles."""


def _with_exact_integers(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return the graph with integers that a page would round, in attributes and small constants, as text."""
    nodes = [{**node, "attributes": _exact(node["attributes"])} for node in graph["nodes"]]
    constants = {name: {**constant, "value": _exact(constant.get("value"))} for name, constant in graph["constants"].items()}
    return {**graph, "nodes": nodes, "constants": constants}


def _exact(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_exact(item) for item in value]
    return str(value) if isinstance(value, int) and abs(value) > MOST_EXACT else value


def _read(path: Path) -> ModelProto | None:
    """Read the model without its external data; None of a Relax module, which has none, and whose operators are those of a new opset."""
    import onnx

    from collage_core.base.model_file import is_relax_file

    if is_relax_file(path):
        return None
    return onnx.load(str(path), load_external_data=False)


def write_groups(graph: DataflowGraph | Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Find what of the model can be shown as one, and write it into `folder`, so that no page waits for it; `graph` may be its JSON."""
    from collage_core.graph.dataflow_graph import DataflowGraph

    kept = _groups(graph if isinstance(graph, DataflowGraph) else DataflowGraph.from_json(graph))
    write_json(folder / GROUPS, kept)
    return kept


def _groups(graph: DataflowGraph, *, is_sound: bool = True) -> dict[str, Any]:
    """Return what of a graph can be shown as one; no repeats are looked for in one that is not sound (`Scope.is_sound`)."""
    from collage_core.graph.groups import scope_groups, sections
    from collage_core.graph.repeats import repeats

    if len(graph) == 0:
        return {"repeats": [], "scopes": [], "sections": []}
    ways = {"repeats": repeats(graph) if is_sound else [], "scopes": scope_groups(graph), "sections": sections(graph)}
    return {kind: [asdict(group) for group in groups] for kind, groups in ways.items()}


def stamp(path: Path) -> dict[str, Any]:
    """Return a file's name, size and time of change, by which it is seen later whether it is still the same."""
    status = path.stat()
    return {"path": str(path), "bytes": status.st_size, "changed_ns": status.st_mtime_ns}


def _files(path: Path, proto: ModelProto | None) -> list[dict[str, Any]]:
    """Return the stamps of the model's file and of those of its external data."""
    from collage_core.model.files.external_data import is_external, tensors_of

    if proto is None:
        return [stamp(path)]
    tensors = filter(is_external, tensors_of(proto))
    locations = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return [stamp(path), *(stamp(path.parent / location) for location in sorted(locations) if (path.parent / location).is_file())]


def _output(constants: Mapping[str, Any], types: Mapping[str, Any], name: str) -> dict[str, Any]:
    known = types.get(name) or constants[name].type
    return {"name": name, **known.to_json()}
