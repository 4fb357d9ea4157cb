"""The benchmark of large models: the sizes that it makes, what it samples, and the budgets that it checks."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bench_size
import pytest
from bench_opening import NotOpened

from tests.helpers.large_models import Sizes, write_transformer


def test_a_model_has_about_as_many_nodes_and_bytes_as_are_asked_for():
    sizes = bench_size.sizes_of(3.0, 2000, is_dense=False)
    assert sizes.layers * bench_size.NODES_A_LAYER == pytest.approx(2000, rel=0.05)
    assert sizes.weight_bytes == pytest.approx(3e9, rel=0.1)
    assert sizes.width % sizes.heads == 0


def test_the_nodes_of_a_layer_are_those_that_the_model_has(tmp_path: Path):
    import onnx

    path = write_transformer(tmp_path, Sizes(layers=3, width=64, random_values=4))
    assert len(onnx.load(path, load_external_data=False).graph.node) == 3 * bench_size.NODES_A_LAYER + 1
    data = path.with_name(f"{path.name}.data").stat()
    assert data.st_size == Sizes(layers=3, width=64).weight_bytes
    assert bench_size.on_disk(tmp_path) < data.st_size


def test_a_process_opens_a_model_as_the_page_does(tmp_path: Path):
    path = write_transformer(tmp_path, Sizes(layers=1, width=64))
    (tmp_path / "out").mkdir()
    output, _, _ = bench_size.run([sys.executable, "-c", bench_size.OPEN, str(path), str(tmp_path / "out")], tmp_path, {})
    assert int(output) == bench_size.NODES_A_LAYER + 1


def test_a_process_is_sampled_until_it_ends(tmp_path: Path):
    code = "import time; data = bytearray(300 << 20); open('file', 'wb').write(bytes(1 << 20)); time.sleep(0.5); print('made')"
    output, seconds, seen = bench_size.run([sys.executable, "-c", f"import os; os.chdir({str(tmp_path)!r}); {code}"], tmp_path, {})
    assert output == "made\n"
    assert seconds > 0.5
    assert 300 << 20 < max(seen.others.values()) < 400 << 20
    assert seen.workers == {}
    assert seen.together >= max(seen.others.values())


def test_a_command_that_fails_ends_the_benchmark(tmp_path: Path):
    with pytest.raises(SystemExit, match="ended with status 3"):
        bench_size.run([sys.executable, "-c", "import sys; sys.exit(3)"], tmp_path, {})


def figures(**changed: float) -> dict[str, dict[str, float]]:
    opened = {"seconds": 3.0, "nodes": 2000, "own_bytes": 1e8}
    whole = {"seconds": 60.0, "own_bytes": 2e8, "worker_bytes": 3.3e9, "together_bytes": 1e10, "disk_bytes": 1e8}
    page = {"weight_bytes": 4e9, "first_s": 3.0, "again_s": 2.0, "own_bytes": 2e8, **changed}
    return {"first": opened, "again": opened, "page": page, "partition": {**whole, "artifact_bytes": 3e9, "costs_bytes": 1e6, **changed}}


@pytest.mark.parametrize(
    ("changed", "failed"),
    [
        ({}, []),
        ({"worker_bytes": 4.5e9}, ["no worker takes more than 1.3 times the weights"]),
        ({"own_bytes": 3e9}, ["the process that plans holds no weights"]),
        ({"first_s": 6.0}, ["opens in the page within 5 s"]),
        ({"costs_bytes": 3e9, "artifact_bytes": 6e9}, ["no weights in the cost database", "the artifact holds each weight once"]),
    ],
)
def test_a_budget_that_is_not_kept_is_named(changed: dict[str, float], failed: list[str], capsys: pytest.CaptureFixture[str]):
    sizes = bench_size.sizes_of(3.0, 2000, is_dense=False)
    assert bench_size.report(sizes, figures(**changed)) == len(failed)
    lines = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("FAIL  ") for line in lines if line.startswith("FAIL")] == failed
    assert any(line.startswith("workers: at most ") for line in lines)


def test_a_machine_without_the_memory_is_told(tmp_path: Path):
    with pytest.raises(SystemExit, match=r"GB of memory are needed, .* take a smaller model \(--gigabytes\)"):
        bench_size.check_room(bench_size.sizes_of(10_000, 2000, is_dense=False), Sizes(), tmp_path, is_dense=False)


@pytest.mark.long
def test_a_browser_opens_a_small_model_and_a_refusal_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It runs in a thread of its own: where other tests of this process hold a browser, this thread has an event loop already."""

    def in_thread(name: str) -> dict[str, float]:
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(bench_size.opened_in_page, tmp_path / name, Sizes(random_values=4)).result()

    found = in_thread("right")
    assert found["first_s"] > 0
    assert found["again_s"] > 0
    assert found["weight_bytes"] == (tmp_path / "right" / "transformer.onnx.data").stat().st_size
    assert found["own_bytes"] > 10 << 20
    monkeypatch.setattr(bench_size, "write_transformer", empty_file)
    with pytest.raises(NotOpened, match=r"model\.onnx' is empty"):
        in_thread("wrong")


def empty_file(folder: Path, sizes: Sizes) -> Path:
    (folder / "model.onnx").touch()
    return folder / "model.onnx"
