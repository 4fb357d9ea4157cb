"""The examples of `docs/files.md`, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collage_server.shared.session_manifest import read_manifest
from tests.helpers.command import document_of
from tests.helpers.paths import DOCS

DOC = (DOCS / "files.md").read_text()
EXAMPLES = re.findall(r"```(json|toml) (\w+)\n(.*?)```", DOC, re.DOTALL)


def examples(kind: str) -> list[str]:
    found = [text for _, name, text in EXAMPLES if name == kind]
    assert found, f"docs/files.md has no example of {kind}"
    return found


def test_constraints_and_mock_costs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for kind in ("constraints", "mock"):
        (tmp_path / f"{kind}.json").write_text(examples(kind)[0])
    costs, pins = f"mock:{tmp_path / 'mock.json'}", tmp_path / "constraints.json"
    made = document_of(capsys, "partition", "mini_mnist", "--no-fold", "--targets", "tvm,onnxruntime,openvino", "--costs", costs)
    held = document_of(
        capsys,
        "partition",
        "mini_mnist",
        "--no-fold",
        "--targets",
        "tvm,onnxruntime,openvino",
        "--costs",
        costs,
        "--constraints",
        pins,
    )
    assert held["plan"]["total_s"] >= made["plan"]["total_s"]  # type: ignore[index]
    targets = {name: part["target"] for part in held["plan"]["partitions"] for name in part["names"]}  # type: ignore[index]
    assert targets["conv1"] == targets["relu1"] == "tvm"
    assert targets["pool1"] != "tvm"


@pytest.mark.parametrize("text", examples("toolchain"))
def test_described_toolchains(capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str) -> None:
    path = tmp_path / "described.toml"
    path.write_text(text)
    name = re.search(r'name = "(\w+)"', text)
    assert name is not None
    found = document_of(capsys, "candidates", "mnist", "--no-fold", "--targets", name.group(1), "--toolchain", path)
    assert found["candidates"]


def test_the_manifest_of_a_session() -> None:
    manifest = read_manifest(examples("session")[0].encode())
    assert manifest.shown == manifest.runs[0].id


def test_the_problem_by_hand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Pinned to candidate 4 (b, 8 s): its result is handed to a (1.5 s), which takes node 2 (5 s)."""
    path = tmp_path / "problem.json"
    path.write_text(examples("problem")[0])
    found = document_of(capsys, "search", path, "--regret")
    assert found["plan"] == {"total_s": 14.5, "chosen": [4, 2]}
    assert found["regret"] == found["regret_at_least"] == [None, None, 0.0, None, 0.0]
