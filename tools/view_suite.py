"""`make view-suite`: opens the models of ONNX's own test suite as their files have them, and compares what is shown with what Netron shows.

Paths of further models or folders enter. Out come how many open, each that does not with its reason, and a table: for ten nodes of each
operator, how often Netron shows a point of it (by its own table of operators and the file), and how often we show the same.
"""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import netron
import onnx
from onnx import ModelProto, NodeProto, TensorProto

from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerError
from collage_core.errors import CollageError
from collage_core.model.nodes import domain_of, op_name, opset_versions
from collage_core.model.view.operators import operator_definitions
from collage_core.model.view.scopes import ROOT, read_scopes, scope_json
from collage_core.model.view.weights import values_of_tensor, weight_of, weight_values
from collage_server.worker.load_model import load_file

NODES_EACH = 10
POINTS = ("description", "attribute", "attribute type", "default", "attribute description", "input name", "output name", "weight", "values")


@dataclass
class Comparison:
    """How often Netron shows each point, how often we do, and the first cases in which we do not."""

    netron: Counter[str] = field(default_factory=Counter)
    ours: Counter[str] = field(default_factory=Counter)
    missing: list[str] = field(default_factory=list)
    nodes: Counter[str] = field(default_factory=Counter)

    def count(self, point: str, op: str, name: str, is_shown: bool) -> None:
        self.netron[point] += 1
        self.ours[point] += is_shown
        if not is_shown:
            self.missing.append(f"{point} {name!r} of {op}")


def main(arguments: Sequence[str]) -> int:
    comparison, opened, failed = Comparison(), 0, []
    with tempfile.TemporaryDirectory() as folder, Worker() as worker:
        for path in [*suite_files(Path(folder)), *given_files(arguments)]:
            try:
                worker.call(load_file, str(path), None, folder, True, timeout_s=60)
            except (CollageError, WorkerError) as error:
                failed.append(f"{path.name}: {error}")
                continue
            opened += 1
            compare(onnx.load(path, load_external_data=False), path, comparison)
    print(report(opened, failed, comparison))
    return 0 if not failed and not comparison.missing else 1


def suite_files(folder: Path) -> Iterator[Path]:
    """Yield the models of ONNX's test suite: those in its package, and those of its node tests, which are written into `folder`."""
    from onnx.backend.test.case.node import collect_testcases

    yield from sorted((Path(onnx.__file__).parent / "backend" / "test" / "data").rglob("*.onnx"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the expected outputs are computed here, some with infinities
        tests = [test for test in collect_testcases() if test.model]
    for test in tests:
        path = folder / f"{test.name}.onnx"
        path.write_bytes(test.model.SerializeToString())
        yield path


def given_files(arguments: Iterable[str]) -> Iterator[Path]:
    for path in map(Path, arguments):
        yield from sorted(path.rglob("*.onnx")) if path.is_dir() else [path]


def compare(model: ModelProto, path: Path, comparison: Comparison) -> None:
    """Count the points of nodes of `model`, at most `NODES_EACH` of each operator over all models."""
    definitions = {definition.op: definition for definition in operator_definitions(model)}
    root = next(scope for scope in read_scopes(model) if scope.id == ROOT)
    shown = {tuple(tensor["name"] for tensor in node["outputs"]): node for node in scope_json(root)["nodes"]}
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        op = op_name(node)
        if comparison.nodes[op] >= NODES_EACH:
            continue
        comparison.nodes[op] += 1
        ours = definitions.get(op)
        drawn = shown[tuple(filter(None, node.output))]
        _compare_definition(node, op, netron_definition(node, opset_versions(model)), ours, drawn["attributes"], comparison)
        for name in filter(weights.__contains__, node.input):
            comparison.count("weight", op, name, name in root.graph.constants)
            comparison.count("values", op, name, _shows_values(model, weights[name], path))


def _compare_definition(
    node: NodeProto, op: str, theirs: Mapping[str, Any], ours: Any, attributes: Mapping[str, Any], comparison: Comparison
) -> None:
    known = {attribute.name: attribute for attribute in ours.attributes} if ours else {}
    if theirs.get("description"):
        comparison.count("description", op, "", bool(ours and ours.doc))
    for attribute in node.attribute:
        comparison.count("attribute", op, attribute.name, attribute.name in attributes)
    for attribute in theirs.get("attributes", ()):
        name = attribute["name"]
        comparison.count("attribute type", op, name, name in known and known[name].type != "")
        if "default" in attribute and attribute["default"] not in ("", None):
            comparison.count("default", op, name, name in known and known[name].default != "")
        if attribute.get("description"):
            comparison.count("attribute description", op, name, name in known and known[name].doc != "")
    for point, side in (("input name", "inputs"), ("output name", "outputs")):
        names = [value.name for value in getattr(ours, side)] if ours else []
        for value in theirs.get(side, ()):
            comparison.count(point, op, value["name"], value["name"] in names)


def netron_definition(node: NodeProto, versions: Mapping[str, int]) -> Mapping[str, Any]:
    """Return what Netron's table says of the operator of `node`; empty where it has nothing."""
    domain = domain_of(node)
    known = [
        definition
        for definition in _table().get((domain or "ai.onnx", node.op_type), ())
        if definition["version"] <= versions.get(domain, 1)
    ]
    return max(known, key=lambda definition: int(definition["version"]), default={})


def _table() -> dict[tuple[str, str], list[dict[str, Any]]]:
    if not _TABLE:
        for definition in json.loads((Path(netron.__file__).parent / "onnx-metadata.json").read_text()):
            _TABLE.setdefault((definition["module"], definition["name"]), []).append(definition)
    return _TABLE


_TABLE: dict[tuple[str, str], list[dict[str, Any]]] = {}


def _shows_values(model: ModelProto, tensor: TensorProto, path: Path) -> bool:
    try:
        read = weight_of(model, tensor.name, path)
        return read is not None and weight_values(tensor.name, "", values_of_tensor(read), 0).shape == list(tensor.dims)
    except CollageError:
        return False


def report(opened: int, failed: Sequence[str], comparison: Comparison) -> str:
    lines = [f"{opened} of {opened + len(failed)} models open", *failed, ""]
    lines += ["| point | Netron shows | we show |", "|---|--:|--:|"]
    lines += [f"| {point} | {comparison.netron[point]} | {comparison.ours[point]} |" for point in POINTS]
    lines.append(f"\n{sum(comparison.nodes.values())} nodes of {len(comparison.nodes)} operators")
    return "\n".join([*lines, *sorted(set(comparison.missing))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
