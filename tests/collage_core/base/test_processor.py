"""The instruction sets of the processor, read from texts such as Linux writes."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collage_core.base import processor
from collage_core.base.processor import usable_cores
from collage_core.options import Options
from tests.helpers.paths import ROOT


def put(root: Path, **files: str) -> Path:
    for name, text in files.items():
        file = root / name.replace("__", "/").replace("_dot_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.fixture(autouse=True)
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(8)))


def test_without_a_quota_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_cores(tmp_path) == 8
    put(tmp_path, proc__self__cgroup="0::/a/b\n", sys__fs__cgroup__a__b__cpu_dot_max="max 100000\n")
    assert usable_cores(tmp_path) == 8


@pytest.mark.parametrize(
    ("quota", "cores"), [("250000 100000", 2), ("50000 100000", 1), ("3200000 100000", 8), ("nonsense", 8), ("1 0", 8)]
)
def test_a_quota_is_rounded_down(tmp_path: Path, quota: str, cores: int) -> None:
    put(tmp_path, proc__self__cgroup="0::/\n", sys__fs__cgroup__cpu_dot_max=quota)
    assert usable_cores(tmp_path) == cores


def test_the_least_quota_of_all_groups_around_holds(tmp_path: Path) -> None:
    put(tmp_path, proc__self__cgroup="0::/a/b\n", sys__fs__cgroup__a__cpu_dot_max="200000 100000")
    put(tmp_path, sys__fs__cgroup__a__b__cpu_dot_max="400000 100000")
    assert usable_cores(tmp_path) == 2


def test_groups_of_version_1(tmp_path: Path) -> None:
    put(tmp_path, proc__self__cgroup="4:memory:/x\n3:cpu,cpuacct:/docker/1\n")
    for name, text in (("cpu.cfs_quota_us", "300000"), ("cpu.cfs_period_us", "100000")):
        file = tmp_path / "sys/fs/cgroup/cpu/docker/1" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert usable_cores(tmp_path) == 3
    (tmp_path / "sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us").write_text("-1")
    assert usable_cores(tmp_path) == 8


def test_threads_follow_from_it_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other file counts cores by itself, but those that name the machine, bind to cores, or read their counters."""
    monkeypatch.setattr("collage_core.options.usable_cores", lambda: 3)
    assert Options(("tvm",)).used_threads == 3
    counts = re.compile(r"cpu_count\(|sched_getaffinity\(")
    sources = [*(ROOT / "collage_core").rglob("*.py"), *(ROOT / "collage_server").rglob("*.py")]
    found = {file.relative_to(ROOT).as_posix() for file in sources if counts.search(file.read_text())}
    assert found == {
        "collage_core/base/processor.py",
        "collage_core/cost/database/records.py",
        "collage_core/cost/fleet/local.py",
        "collage_core/cost/measuring/core_latency.py",
        "collage_core/cost/measuring/other_load.py",
        "collage_core/toolchains/onnxruntime_cores/core_sets.py",
    }


Lists = Callable[[str], None]


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Lists]:
    """Let the processor have the instruction sets of a text."""
    monkeypatch.setattr(processor, "_CPU_INFO", tmp_path / "cpuinfo")

    def write(flags: str) -> None:
        (tmp_path / "cpuinfo").write_text(f"processor : 0\nmodel name : AVX avx512 of another word\nflags : fpu {flags}\n")
        processor._flags.cache_clear()

    yield write
    processor._flags.cache_clear()


def test_any_of_the_names_will_do(lists: Lists):
    lists("sse4_2 avx2 avx512f")
    assert processor.has_any("avx512f")
    assert processor.has_any("amx_bf16", "avx2")
    assert not processor.has_any("amx_bf16", "avx512")


@pytest.mark.parametrize(
    ("flags", "saturate"), [("avx2", True), ("avx2 avx512f avx512_vnni", False), ("avx2 avx_vnni", False), ("sse4_2", False)]
)
def test_products_saturate_where_there_is_avx2_without_vnni(lists: Lists, flags: str, saturate: bool):
    lists(flags)
    assert processor.products_saturate() is saturate


def test_the_name_tells_processors_of_one_masked_model_apart(lists: Lists):
    lists("avx2 sse4_2 avx512f avx512_bf16 amx_bf16 amx_tile")
    assert processor.name() == "AVX avx512 of another word (avx2 avx512f avx512_bf16 amx_tile amx_bf16)"
    lists("sse4_2")
    assert processor.name() == "AVX avx512 of another word"


def test_where_nothing_lists_them_there_are_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(processor, "_CPU_INFO", tmp_path / "absent")
    processor._flags.cache_clear()
    assert not processor.has_any("avx2")
    assert processor.name() == (platform.processor() or platform.machine())
    processor._flags.cache_clear()
