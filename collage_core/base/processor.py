"""`has_any`: which instruction sets this machine's processor has, as Linux names them. It imports nothing of ours."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")


def has_any(*names: str) -> bool:
    """Return whether the processor has one of these instruction sets, such as ``avx512f``; False where nothing lists them."""
    return not _flags().isdisjoint(names)


def products_saturate() -> bool:
    """Return whether products of uint8 by int8 may overflow in the kernels that x86-64 processors without VNNI get.

    There ``vpmaddubsw`` adds two products in 16 bits, which 255 · 127 + 255 · 127 does not fit.
    """
    return has_any("avx2") and not has_any("avx512_vnni", "avx_vnni")


@cache
def _flags() -> frozenset[str]:
    try:
        lines = _CPU_INFO.read_text().splitlines()
    except OSError:
        return frozenset()
    listed = next((line for line in lines if line.lower().startswith(("flags", "features"))), "")
    return frozenset(listed.partition(":")[2].split())
