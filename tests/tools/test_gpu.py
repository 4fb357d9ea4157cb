"""`make gpu` on a machine without a GPU, and what it prints of a run on one."""

from __future__ import annotations

from pathlib import Path

import gpu
import pytest


def test_without_a_gpu_it_says_what_is_missing_and_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert gpu.main(["--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "not usable: onnxruntime:cuda:0: the package onnxruntime-gpu is not installed" in printed
    assert printed.endswith("gpu: no toolchain can compute on a GPU here, so there is nothing to measure\n")


def test_a_folder_of_wheels_is_all_that_it_installs_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """ONNX Runtime's package for GPUs comes last, since it takes the place of the other one."""
    asked: list[list[str]] = []
    monkeypatch.setattr(gpu.venv, "create", lambda *arguments, **others: None)
    monkeypatch.setattr(gpu.subprocess, "run", lambda command, check: asked.append(command))
    assert gpu.installed(tmp_path, tmp_path / "made") == tmp_path / "made" / "bin" / "python"
    assert [command[-1] for command in asked] == ["hypothesis", "onnxruntime", "cuda-bindings"]
    assert asked[-1][-2] == "onnxruntime-gpu"
    assert all({"--no-index", str(tmp_path)} <= set(command) for command in asked if "install" in command)


def test_usable_targets_of_gpus_are_told_from_others():
    listed = [
        {"name": "tvm", "device": "CPU", "usable": True},
        {"name": "gpu", "device": "described", "usable": False},
        {"name": "onnxruntime:cuda:0", "device": "cuda:0", "usable": True},
        {"name": "tensorrt", "device": "GPU", "usable": False, "reason": "none", "hint": "get one"},
    ]
    assert gpu.gpu_targets(listed) == (["onnxruntime:cuda:0"], ["tensorrt: none (get one)"])


def test_a_run_is_one_line():
    parts = [{"target": "onnxruntime:cuda:0", "nodes": [0, 1]}, {"target": "onnxruntime", "nodes": [2]}]
    document = {
        "baselines": [{"name": "onnxruntime", "measured_s": 0.01}, {"name": "onnxruntime:cuda:0", "measured_s": 0.006}],
        "verify": {"measured_s": 0.002},
        "plan": {"partitions": parts},
    }
    targets = ["onnxruntime", "onnxruntime:cuda:0"]
    assert gpu.row(document, targets) == (
        "onnxruntime:cuda:0 alone 6.000 ms, plan 2.000 ms, 3.00 times; 1 on onnxruntime, 2 on onnxruntime:cuda:0"
    )


def test_each_model_is_a_run_into_one_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """The command is a stand-in that only prints what it was asked."""
    fake = tmp_path / "collage"
    fake.write_text('#!/bin/sh\necho "$@" >> $(dirname $0)/asked\nexit 3\n')
    fake.chmod(0o755)
    assert not gpu.measure([str(fake)], ["tvm"], ["a", "b"], tmp_path)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[1] == f"partition b --targets tvm --costs-db {tmp_path}/costs.db --out {tmp_path}/b --json"
    assert capsys.readouterr().out == "a: failed with status 3\nb: failed with status 3\n"
