"""The instruction sets of the processor, read from texts such as Linux writes."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from collage_core.base import processor

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
