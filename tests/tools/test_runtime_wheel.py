"""The wheel of the runtime: what is in it, what it asks for, and that it runs and serves an artifact where nothing else is installed."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import runtime_wheel

from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.version import __version__

HERE = """
import pickle, sys

sys.path[:0] = [str(path) for path in pickle.loads(sys.stdin.buffer.read(int(sys.argv[1])))]
folder, arrays = pickle.loads(sys.stdin.buffer.read())
import collage_core
from collage_core import Artifact

with Artifact(folder) as artifact:
    outputs = artifact.run(arrays)
    notes = artifact.notes
from collage_core.serving.served_model import ServedModel

served = ServedModel(folder)
metadata = served.metadata()
served.close()
own = sorted({name.partition(".")[0] for name in sys.modules if "site" in str(getattr(sys.modules[name], "__file__", "") or "")})
sys.stdout.buffer.write(pickle.dumps((collage_core.__file__, outputs, metadata, own)))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runtime_wheel.build(tmp_path_factory.mktemp("wheel"))


def test_it_holds_what_runs_artifacts_and_no_more(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (about,) = [archive.read(name).decode() for name in names if name.endswith("METADATA")]
        (points,) = [archive.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    assert wheel.name == f"collage_runtime-{__version__}-py3-none-any.whl"
    rooms = {"/".join(name.split("/")[1:-1]) for name in names if name.startswith("collage_core/")}
    inner = {f"model/{name}" for name in ("dynamic", "files", "forms", "reference", "shapes", "sizes", "types")}
    plain = ("libraries", "ncnn", "onnx_models", "openvino", "tensorrt", "tvm", "values")
    inner |= {
        f"toolchains/{name}"
        for name in (*plain, "cuda", "onnxruntime", "onnxruntime_cores", "onnxruntime_cuda", "openvino_devices", "tvm_cuda")
    }
    assert rooms == {"", "base", "graph", "model", "rewrite", "rewrite/runtime", "rules", "serving", "toolchains"} | inner
    assert not any(name.startswith("collage_server") for name in names)
    assert {Path(name).name for name in names if name.endswith(".json")} == {
        f"{name}_values.json" for name in ("ncnn", "onnxruntime", "openvino", "tvm")
    }
    assert [line for line in re.findall(r"^Requires-Dist: (.*)$", about, re.M) if "extra ==" not in line] == ["numpy>=2.0"]
    assert 'waitress>=3.0.2; extra == "serve"' in about
    assert {"ncnn", "onednn", "onnxruntime", "openvino", "serve", "tvm"} == set(re.findall(r"^Provides-Extra: (\S+)$", about, re.M))
    assert "openvino = collage_core.toolchains.openvino.openvino:OpenVinoToolchain" in points


@pytest.mark.parametrize("form", ["native", "pieces"])
def test_it_runs_and_serves_an_artifact_beside_numpy_and_the_toolchain_alone(wheel: Path, form: str, tmp_path: Path):
    model = sub_model([node("Neg", "x", "y")], [tensor("x", (2,))], [tensor("y", (2,))])
    assemble([PartitionModel("onnxruntime", ("n",), model, "p")], model.inputs, ["y"], tmp_path / "out", 1, form=form)
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for name in ("numpy", "onnxruntime"):
        package = Path(find_spec(name).origin or "").parent  # type: ignore[union-attr]
        for path in package.parent.glob(f"{name}*"):
            (site / path.name).symlink_to(path)
    paths, given = pickle.dumps([site]), pickle.dumps((tmp_path / "out", {"x": np.ones(2, np.float32)}))
    command = [sys.executable, "-I", "-S", "-c", HERE, str(len(paths))]
    ran = subprocess.run(command, input=paths + given, capture_output=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr.decode()
    where, outputs, metadata, imported = pickle.loads(ran.stdout)
    assert Path(where).is_relative_to(site)
    assert outputs["y"].tolist() == [-1, -1]
    assert metadata["inputs"] == [{"name": "x", "datatype": "FP32", "shape": [2]}]
    assert set(imported) == {"collage_core", "numpy", "onnxruntime"}
