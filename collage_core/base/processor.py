"""`has_any`: which instruction sets this machine's processor has, as Linux names them; `name`: its model. It imports nothing of ours."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_CHOSEN_BY = (
    *("avx2", "avx_vnni", "avx_ne_convert", "avx512f", "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx10"),
    *("amx_tile", "amx_bf16", "amx_fp16", "amx_int8", "asimddp", "asimdhp", "bf16", "i8mm", "sme", "sve", "sve2"),
)
"""Instruction sets by which toolchains choose between kernels. Others are implied by these, or serve no kernel."""


def has_any(*names: str) -> bool:
    """Return whether the processor has one of these instruction sets, such as ``avx512f``; False where nothing lists them."""
    return not _flags().isdisjoint(names)


def name() -> str:
    """Return the processor's model, and the instruction sets by which toolchains choose kernels: ``AMD EPYC (avx2 avx512f)``.

    The model alone does not tell processors apart: clouds mask it, and one masked name stands for hosts with AMX and without.
    """
    listed = next((line for line in _lines() if line.startswith("model name")), "")
    model = " ".join(listed.partition(":")[2].split()) or platform.processor() or platform.machine()
    chosen_by = " ".join(flag for flag in _CHOSEN_BY if has_any(flag))
    return f"{model} ({chosen_by})" if chosen_by else model


def products_saturate() -> bool:
    """Return whether products of uint8 by int8 may overflow in the kernels that x86-64 processors without VNNI get.

    There ``vpmaddubsw`` adds two products in 16 bits, which 255 · 127 + 255 · 127 does not fit.
    """
    return has_any("avx2") and not has_any("avx512_vnni", "avx_vnni")


@cache
def _flags() -> frozenset[str]:
    listed = next((line for line in _lines() if line.lower().startswith(("flags", "features"))), "")
    return frozenset(listed.partition(":")[2].split())


def _lines() -> list[str]:
    try:
        return _CPU_INFO.read_text().splitlines()
    except OSError:
        return []
