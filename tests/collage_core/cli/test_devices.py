from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.command import document_of

Shown = Callable[..., tuple[int, str, str]]
FILE: dict[str, Any] = {
    "targets": {"tvm:cuda": "cuda", "tvm": "cpu"},
    "annotations": [{"node": "left", "on_device": "cpu"}],
    "nodes": [
        {"name": "left", "reads": ["a"], "makes": ["l"]},
        {"name": "right", "reads": ["b"], "makes": ["r"]},
        {"name": "difference", "reads": ["l", "r"], "makes": ["y"]},
    ],
    "outputs": {"y": None},
    "tensors": {"l": {"bytes": 40}},
}


def test_the_command_prints_where_nodes_and_copies_are(shown: Shown, tmp_path: Path):
    path = tmp_path / "devices.json"
    path.write_text(json.dumps(FILE))
    assert shown("devices", path)[:2] == (
        0,
        "host: 1 node (1 annotation)\ncuda:0: 2 nodes (2 default)\ncopy of l from host to cuda:0: 40 bytes, for difference\n",
    )
    path.write_text(json.dumps({**FILE, "annotations": []}))
    assert "no node is on the device of tvm\n" in shown("devices", path)[1]


def test_the_pins_of_a_models_annotations_hold_in_a_run(capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """The device of a described toolchain is a location, and the plan of the run obeys the annotations that name it."""
    path, pins, gpu, costs = (tmp_path / name for name in ("devices.json", "pins.json", "gpu.toml", "costs.json"))
    annotations = [{"op": "MatMul", "on_device": "cuda:0"}, {"op": "Conv", "on_device": "cpu"}]
    path.write_text(json.dumps({"targets": {"tvm": "cpu", "gpu": "cuda:0"}, "annotations": annotations}))
    document = document_of(capsys, "devices", path, "--model", "mini_mnist", "--constraints", pins)
    located = {node["name"]: (node["location"], node["why"]) for node in document["nodes"]}
    assert located["dense"] == located["relu1"] == ("cuda:0", "annotation")
    assert located["add"] == ("host", "default")
    assert json.loads(pins.read_text())["constraints"] == [
        {"kind": "pin", "node": "add1", "location": "host"},
        {"kind": "pin", "node": "dense", "location": "cuda:0"},
    ]
    gpu.write_text(
        'name = "gpu"\n[location]\nname = "cuda:0"\n[location.from_host]\nfixed_s = 1\n[location.to_host]\nfixed_s = 1\n'
        '[[pattern]]\nlabel = "any"\nmatch = "Conv(*, *) | MatMul(*, *) | Add(*, *) | Relu(*) | Pad(*) | MaxPool(*) | Reshape(*, *)"\n'
    )
    costs.write_text(json.dumps({"targets": {"tvm": {"op_s": 1}, "gpu": {"op_s": 9}}}))
    plan = document_of(
        capsys, "partition", "mini_mnist", "--targets", "tvm,gpu", "--toolchain", gpu, "--costs", f"mock:{costs}", "--constraints", pins
    )["plan"]
    assert next(part["target"] for part in plan["partitions"] if "MatMul" in part["ops"]) == "gpu"
    assert next(part["target"] for part in plan["partitions"] if "Conv" in part["ops"]) == "tvm"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": {"tvm": 3}}, "the device problem is wrong: targets.tvm is 3, it must be"),
        ({"default": "cuda:"}, "the device problem is wrong: default is 'cuda:', it must be a device such as cuda:0"),
        ({"devices": []}, "the device problem is wrong: devices is [], it must be left out"),
        ({"annotations": [{"op": "Conv", "on_device": "cpu"}]}, "annotations[0] selects no node"),
        ({"outputs": {"z": None}}, "outputs names the tensor 'z', which no node reads or makes"),
        ({"nodes": [{"name": "f", "reads": ["a"], "makes": ["a"]}]}, "node 'f' reads 'a', which 'f' makes after it"),
        ({"nodes": [{"name": "f"}, {"name": "f"}]}, "two nodes are called 'f'"),
        ({"nodes": [{"name": "f", "host_reads": ["q"]}]}, "node 'f' says something of 'q', which it neither reads nor makes"),
        ({"nodes": [{"name": "f", "copy": {}}]}, "node 'f' is a copy and must read one tensor and make one"),
        ({"nodes": [{"name": "f", "inside": "g"}]}, "node 'f' is inside 'g', which is no node"),
    ],
)
def test_mistakes_in_the_file_are_named(shown: Shown, tmp_path: Path, change: dict[str, Any], message: str):
    path = tmp_path / "devices.json"
    path.write_text(json.dumps({**FILE, "annotations": [], "outputs": {}, "tensors": {}, **change}))
    status, _, error = shown("devices", path)
    assert status == 2
    assert message in error
