"""`make bench-calls`: its models run on the toolchains that it compares, and it compares contenders within each round."""

from __future__ import annotations

import os
import subprocess

import bench_calls
import bench_calls_builds
import bench_calls_fresh
import bench_calls_models
import numpy as np
import pytest

from collage_core.toolchains.conformance.small_models import reference


@pytest.mark.parametrize("name", bench_calls_models.MODELS)
def test_a_detector_gives_probabilities_that_depend_on_its_input(name: str) -> None:
    model = bench_calls_models.MODELS[name]()
    x = bench_calls.drawn(model)
    first, second = (reference(model, [given])[0] for given in (x, -x))
    assert ((first > 0) & (first < 1)).all()
    assert not np.allclose(first, second)


@pytest.mark.parametrize("chain", [bench_calls_models.relu_chain, bench_calls_models.conv_chain])
def test_each_piece_of_a_chain_reads_what_the_one_before_it_makes(chain) -> None:
    models = chain(3)
    assert [model.inputs[0] for model in models[1:]] == [model.outputs[0] for model in models[:-1]]


def test_a_ratio_is_that_of_each_round() -> None:
    ratio = bench_calls.compared([1.0, 10.0, 2.0] * 5, [1.5, 15.0, 3.0] * 5)
    assert (ratio.middle, ratio.low, ratio.high) == (1.5, 1.5, 1.5)
    assert str(ratio) == "1.500 [1.500, 1.500]"


def test_contenders_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(bench_calls, "_count", lambda run: 1)
    seconds = bench_calls.rounds({name: lambda name=name: order.append(name) for name in "abc"}, 2)
    assert "".join(order) == "abcbca"
    assert {name: len(samples) for name, samples in seconds.items()} == {"a": 2, "b": 2, "c": 2}


def test_both_kinds_of_builds_run_at_each_batch() -> None:
    runs = bench_calls_builds.contenders("mini_mnist", "onnxruntime")
    assert list(runs) == ["each 1", "one 1", "each 4", "one 4"]
    for run in runs.values():
        run()


def test_a_partition_costs_what_a_longer_chain_takes_beyond_its_kernels() -> None:
    entry, call, kernel = 5.0, 0.5, 3.0
    seconds = [part for n in bench_calls.LENGTHS for part in (entry + n * (call + kernel), n * kernel)]
    assert bench_calls._each_s(*seconds) == pytest.approx(call)


def test_telemetry_is_on_in_one_of_two_processes_and_neither_writes_into_the_users_home(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[tuple[str | None, bool]] = []

    def run(command: list[str], env: dict[str, str], **more: object) -> subprocess.CompletedProcess[str]:
        seen.append((env.get("ORT_DISABLE_TELEMETRY"), env["HOME"] == env["XDG_CACHE_HOME"] != os.environ.get("HOME")))
        return subprocess.CompletedProcess(command, 0, "[0.04, 0.008, 0.0001]" if len(seen) % 2 else "[0.04, 0.008, 0.0002]")

    monkeypatch.setattr(bench_calls, "TELEMETRY_ROUNDS", 2)
    monkeypatch.setattr(bench_calls_fresh.subprocess, "run", run)
    assert bench_calls.telemetry([1]) == []
    assert seen == [(None, True), ("1", True), ("1", True), (None, True)]
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines() if "[" in line] == ["| import", "| session", "| call"]


@pytest.mark.long
def test_a_process_with_an_artifact_is_held_against_one_with_its_toolchains_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The processes are run for real, once each; how long they take is not looked at but for being told."""
    monkeypatch.setattr(bench_calls, "START_ROUNDS", 1)
    verdicts = bench_calls.start([1])
    assert [line[4:].split(":")[0].strip() for line in verdicts] == ["native", "pieces", "module"]
    assert [line.split(" | ")[0] for line in capsys.readouterr().out.splitlines() if " to " in line] == ["| native", "| pieces", "| module"]
