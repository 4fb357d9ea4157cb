"""`collage toolchains --inspect`, with a module that stands in for TensorRT."""

from __future__ import annotations

import pytest

from collage_core.cli.main import main
from tests.helpers.command import document_of


@pytest.fixture(autouse=True)
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLLAGE_TOOLCHAINS", "fake_tensorrt:FakeTensorRt")


def test_the_document_has_engines_and_refused_nodes(capsys: pytest.CaptureFixture[str]) -> None:
    found = document_of(capsys, "toolchains", "--inspect", "fake_trt", "mini_mnist")
    assert (found["toolchain"], found["model"], found["nodes"]) == ("fake_trt", "mini_mnist", 6)
    assert [engine["nodes"] for engine in found["engines"]] == [2, 3]
    assert found["refused"] == [{"name": "pool1", "op": "MaxPool", "reason": "Assertion failed: no MaxPool today"}]


def test_the_text_says_what_was_built_and_that_nothing_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["toolchains", "--inspect", "fake_trt", "mini_mnist"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mini_mnist: 5 of 6 nodes in 2 engines of fake_trt unknown"
    assert lines[1].strip().startswith("engines can be built; ")
    assert lines[2] == "  engine 1: 2 nodes, 12 bytes, 2 layers"
    assert lines[-1].endswith("(MaxPool): Assertion failed: no MaxPool today")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("onnxruntime", "error: the toolchain 'onnxruntime' builds no engines to inspect"),
        ("tensorrt", "error: tensorrt cannot build engines here: the package tensorrt is not installed"),
    ],
)
def test_others_are_refused(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    monkeypatch.setattr("collage_core.toolchains.tensorrt.tensorrt.util.find_spec", lambda _name: None)
    with pytest.raises(SystemExit) as ended:
        main(["toolchains", "--inspect", name, "mini_mnist"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines()[0] == message
