"""`load`: reads a model in a process of its own, and leaves what the page needs of it as files.

In goes a path or the name of a sample; out come ``graph.json.gz`` in a folder and what `ModelInfo` says. Whatever the file
does to the process, the server goes on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .plain import plain, write_json

if TYPE_CHECKING:
    from collage_core.graph import DataflowGraph

GRAPH = "graph.json.gz"
GROUPS = "groups-1.json.gz"
"""Its number rises with what `collage_core.graph` finds."""


def load(source: str, sample: str | None, shapes: Mapping[str, Sequence[int]], folder: str) -> dict[str, Any]:
    """Read the model at the path `source`, or the `sample`, and write its graph into `folder`.

    Raises:
        CollageError: it cannot be read, is no model, or has an input whose shape is not known.
    """
    from collage_core import samples
    from collage_core.model import load_model

    path = samples.resolve(sample) if sample else Path(source)
    model = load_model(path, {key: tuple(shape) for key, shape in shapes.items()} or None, fold=True, name=sample or path.stem)
    graph = model.graph
    types = graph.types
    write_json(
        Path(folder) / GRAPH, {"id": model.hash, "graph": plain(graph.to_json()), "folded": plain([asdict(node) for node in model.folded])}
    )
    write_groups(graph, Path(folder))
    files = _files(path.resolve())
    return {
        "id": model.hash,
        "name": model.name,
        "nodes": len(graph),
        "folded": len(model.folded),
        "inputs": [tensor.to_json() for tensor in graph.inputs],
        "outputs": [_output(graph.constants, types, output) for output in graph.outputs],
        "size_bytes": sum(file["bytes"] for file in files),
        "quantised": bool(model.is_quantised),
        "files": files,
        "graph_digest": hashlib.sha256((Path(folder) / GRAPH).read_bytes()).hexdigest()[:32],
    }


def write_groups(graph: DataflowGraph, folder: Path) -> dict[str, Any]:
    """Find what of the model can be shown as one, and leave it in `folder`, so that no page waits for it."""
    from collage_core.graph import repeats, scope_groups, sections

    found = {"repeats": repeats(graph), "scopes": scope_groups(graph), "sections": sections(graph)}
    kept = {kind: [asdict(group) for group in groups] for kind, groups in found.items()}
    write_json(folder / GROUPS, kept)
    return kept


def stamp(path: Path) -> dict[str, Any]:
    """A file's name, size and time of change, by which it is seen later whether it is still the same."""
    status = path.stat()
    return {"path": str(path), "bytes": status.st_size, "changed_ns": status.st_mtime_ns}


def _files(path: Path) -> list[dict[str, Any]]:
    """The model's file and those of its external data."""
    import onnx

    from collage_core.model.external_data import is_external, tensors_of

    tensors = filter(is_external, tensors_of(onnx.load(str(path), load_external_data=False)))
    locations = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return [stamp(path), *(stamp(path.parent / location) for location in sorted(locations))]


def _output(constants: Mapping[str, Any], types: Mapping[str, Any], name: str) -> dict[str, Any]:
    known = types.get(name) or constants[name].type
    return {"name": name, **known.to_json()}
