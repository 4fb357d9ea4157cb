"""The toolchains of TensorRT describe themselves; nothing here needs the library or a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains.conformance.small_models import matmul
from collage_core.toolchains.registry import get
from collage_core.toolchains.tensorrt import tensorrt, tensorrt_build
from collage_core.toolchains.toolchain import ToolchainError
from tests.helpers.graphs import graph

COMMANDS = {
    "tensorrt": "pip install tensorrt",
    "tensorrt_rtx": "pip install tensorrt-rtx-cu13-bindings==1.7.1.116 tensorrt-rtx-cu13-libs==1.7.1.116",
}


@pytest.mark.parametrize("name", ["tensorrt", "tensorrt_rtx"])
def test_without_the_library_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, name: str):
    monkeypatch.setattr(tensorrt.util, "find_spec", lambda _name: None)
    found = get(name).availability()
    assert (found.usable, found.version, found.device) == (False, "", "GPU")
    assert found.reason == f"the package {tensorrt_packages()[name]} is not installed"
    assert found.hint == COMMANDS[name]


def tensorrt_packages() -> dict[str, str]:
    return {"tensorrt": "tensorrt", "tensorrt_rtx": "tensorrt-rtx-cu13-bindings"}


@pytest.mark.parametrize(
    ("driver", "reason"),
    [(False, "no GPU here to measure on"), (True, "running them on a GPU is not implemented")],
)
def test_with_the_library_engines_are_built_and_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: bool, reason: str):
    monkeypatch.setattr(tensorrt.util, "find_spec", lambda _name: object())
    monkeypatch.setattr(tensorrt, "DRIVER", tmp_path if driver else tmp_path / "none")
    found = get("tensorrt_rtx").availability()
    assert (found.usable, found.reason) == (False, f"engines can be built; {reason}")
    assert found.version
    assert "collage toolchains --inspect tensorrt_rtx MODEL" in found.hint


def test_its_rule_takes_the_operators_that_the_parser_knows():
    drawn, log = graph(["a: Relu <- x", "b: Unique <- a", "c: Tanh <- b"]), RejectionLog()
    found = list(get("tensorrt_rtx").rule(RuleOptions()).find(RuleContext(drawn, "tensorrt_rtx", log)))
    assert {tuple(match.inside) for match in found} == {(0,), (2,)}
    assert [item.reason for item in log.sample if item.stage == "predicate"] == ["tensorrt_rtx does not take operator Unique"]


def test_an_engine_is_not_loaded():
    with pytest.raises(ToolchainError, match="running them is not implemented"):
        get("tensorrt_rtx").load(b"", (), (), 1)


@pytest.mark.parametrize("made", [tensorrt.TensorRtRtxFp16Toolchain, tensorrt.TensorRtFp16Toolchain])
def test_float16_is_in_the_name_and_never_a_default(made: type[tensorrt.TensorRtRtxToolchain]):
    toolchain = made()
    assert toolchain.name == f"{made.__mro__[1].name}@fp16"
    assert toolchain.lowers_precision
    assert toolchain.availability().precision == "float16"
    assert made.__mro__[1]().availability().precision == "model"


def test_an_engine_in_float16_is_built_of_halves_and_kept_in_the_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))
    given: list[bool] = []

    class Fake(tensorrt.TensorRtRtxFp16Toolchain):
        library = "fake_tensorrt"

    in_halves = tensorrt_build.in_halves
    monkeypatch.setattr(tensorrt_build, "in_halves", lambda onnx: given.append(True) or in_halves(onnx))
    assert {Fake().build(matmul(), 1) for _ in range(2)} == {b"engine SM120"}
    assert given == [True], "the second time it is taken from the folder"
    assert len(list((tmp_path / "engines").iterdir())) == 1
