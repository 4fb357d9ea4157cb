"""Fixtures of this folder: a small model, runs that measure briefly, the command run in this process, and a folder of data in which
costs are known."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from brief_runs import shorten
from onnx import TensorProto, helper, numpy_helper, save_model

from tests.helpers.command import in_this_process
from tests.helpers.known_costs import Known


@pytest.fixture(scope="session")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """x → Relu → Add → Sigmoid → Mul → y: ten stretches, no two of them the same."""
    random = np.random.default_rng(0)
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="relu"),
        helper.make_node("Add", ["a", "c1"], ["b"], name="add"),
        helper.make_node("Sigmoid", ["b"], ["c"], name="sigmoid"),
        helper.make_node("Mul", ["c", "c2"], ["y"], name="mul"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 64]) for name in "xy"]
    weights = [numpy_helper.from_array(random.standard_normal((2, 64), np.float32), name) for name in ("c1", "c2")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    path = tmp_path_factory.mktemp("model") / "chain.onnx"
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of this process measure briefly."""
    shorten(monkeypatch.setattr)


@pytest.fixture
def shown(
    brief: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs the command in this process, and measures briefly; exit status, standard output, standard error."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))

    return partial(in_this_process, capsys)


@pytest.fixture(scope="session")
def known_once(chain: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    made = Known(chain, folder)
    target, _ = made.run()
    assert target["measured"] == made.rows() > 0
    return folder


@pytest.fixture
def known(chain: Path, known_once: Path, tmp_path: Path) -> Known:
    shutil.copytree(known_once / "home", tmp_path / "home")
    return Known(chain, tmp_path)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data in which no keys lie."""
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"
