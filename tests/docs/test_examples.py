"""The examples, run as they stand in ``examples``."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shlex
import threading
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from collage_core.cli.main import collage
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.manifest import read_manifest
from collage_core.serving.http_server import ModelServer
from collage_core.serving.served_model import ServedModel
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError
from tests.helpers.command import brief_collage, document_of
from tests.helpers.paths import ROOT

EXAMPLES = ROOT / "examples"


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_the_list_names_every_example():
    said = set(re.findall(r"^\| \[([\w.-]+)\]", (EXAMPLES / "README.md").read_text(), re.M))
    assert said == {path.name for path in EXAMPLES.iterdir()} - {"README.md", "__pycache__"}


def test_a_model_is_deployed_from_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    deploy = module(EXAMPLES / "deploy.py")
    deploy.export("mini_mnist", tmp_path / "out", ["onnxruntime"], costs="roofline")
    assert re.match(r"\d+ partitions, largest relative error \d\.\de[-+]\d+\n$", capsys.readouterr().out)
    assert read_manifest(tmp_path / "out").form in ("native", "pieces")
    outputs = deploy.call(tmp_path / "out")
    assert all(np.isfinite(array).all() for array in outputs.values())


def test_the_cells_of_the_notebook_run_one_after_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    shown = [value_of("".join(cell["source"]), names) for cell in read_notebook() if cell["cell_type"] == "code"]
    result, why, (predicted, moved), _, files = shown
    assert result._repr_html_().count("<svg ") == 1
    assert "(Conv), node 0" in why._repr_html_()
    assert predicted.change_s <= 0
    assert moved == sum(len(part.nodes) for part in result.plan.partitions if part.target != "onnxruntime")
    assert [path.name for path in files] == ["annotated.onnx", "graph.dot", "graph.svg", "nodes.csv", "partitions.csv"]


def read_notebook() -> list[dict[str, Any]]:
    """Return the cells of the example; none has been run, and none holds an output."""
    data = json.loads((EXAMPLES / "notebook.ipynb").read_text())
    assert (data["nbformat"], data["nbformat_minor"]) == (4, 5)
    assert not any(cell.get("outputs") for cell in data["cells"])
    return data["cells"]


def value_of(cell: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does, and return the value of its last line, which a notebook would show."""
    *lines, last = ast.parse(cell).body
    exec(compile(ast.Module(lines, []), "cell", "exec"), names)
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_a_client_asks_a_server(tmp_path: Path):
    client = module(EXAMPLES / "serve_client.py")
    nodes = [node("Add", "x o", "y"), node("Neg", "k", "z")]
    given, made = [tensor("x", (2, 3)), tensor("k", (4,), "int64")], [tensor("y", (2, 3)), tensor("z", (4,), "int64")]
    model = sub_model(nodes, given, made, {"o": np.ones(3, np.float32)})
    assemble([PartitionModel("onnxruntime", ("a", "n"), model, "p")], model.inputs, ["y", "z"], tmp_path / "out", 1, form="native")
    served = ServedModel(tmp_path / "out", "mine")
    with ModelServer("127.0.0.1", 0, served, served.body_bytes) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        address = f"{server.address}/v2/models/mine"
        found = client.inputs_of(address)
        found["k"][:] = 3
        got = client.infer(address, found)
        server.shutdown()
        thread.join()
    served.close()
    assert got["y"].tolist() == [[1] * 3] * 2
    assert got["z"].tolist() == [-3] * 4


def test_a_described_accelerator_is_searched_with(capsys: pytest.CaptureFixture[str]):
    said = re.search(r"#   collage (partition .*)$", (EXAMPLES / "accelerator.toml").read_text(), re.M)
    assert said is not None
    words = [word.replace("resnet50", "mini_mnist").replace("examples/", f"{EXAMPLES}/") for word in shlex.split(said[1])]
    found = document_of(capsys, *words)
    candidates = {target["name"]: target["candidates"] for target in found["targets"]}
    assert candidates["npu"] > 0
    totals = {baseline["name"]: baseline["total_s"] for baseline in found["baselines"]}
    assert found["plan"]["total_s"] <= totals["npu+host"] < 1


def test_a_toolchain_is_a_package_of_its_own(monkeypatch: pytest.MonkeyPatch):
    project = tomllib.loads((EXAMPLES / "toolchain" / "pyproject.toml").read_text())
    ((name, reference),) = project["project"]["entry-points"]["collage.toolchains"].items()
    assert project["tool"]["setuptools"]["py-modules"] == [reference.partition(":")[0]]
    monkeypatch.syspath_prepend(str(EXAMPLES / "toolchain"))
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", reference)
    toolchain = get(name)
    assert toolchain.availability().usable
    model = sub_model([node("Abs", "x", "y")], [tensor("x", (3,))], [tensor("y", (3,))])
    kernel = toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1)
    made = np.zeros(3, np.float32)
    kernel.bind([np.array([-1, 2, -3], np.float32)], [made])
    kernel.run()
    assert made.tolist() == [1, 2, 3]
    with pytest.raises(ToolchainError, match="numpy takes one call of Relu or Abs, not Neg"):
        toolchain.build(sub_model([node("Neg", "x", "y")], model.inputs, model.outputs), 1)


def commands() -> list[list[str]]:
    """Return the commands of ours in the CI job and in its first lines."""
    text = (EXAMPLES / "collage-check.yml").read_text()
    return [shlex.split(line) for line in re.findall(r"^(?:#|      - run:) +collage (.*)$", text, re.M)]


def test_the_commands_of_the_ci_job_are_commands():
    assert [words[0] for words in commands()] == ["partition", "check"]
    for name, *words in commands():
        collage.commands[name].make_context(name, list(words))


@pytest.mark.long
def test_the_ci_job_holds_a_plan_against_its_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for words in commands():
        given = [{"model.onnx": "mini_mnist", "onnxruntime,openvino": "onnxruntime", "25%": "900%"}.get(word, word) for word in words]
        done = brief_collage(tmp_path / "home", *given)
        assert done.returncode == 0, done.stderr
    assert "the plan holds" in done.stdout
