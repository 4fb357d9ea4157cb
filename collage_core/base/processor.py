"""The processor: `usable_cores`, by affinity and by the quota of the container; `has_any` of its instruction sets; `name`, its model.

It imports nothing of ours.
"""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from functools import cache
from pathlib import Path


def usable_cores(root: Path = Path("/")) -> int:
    """Return how many cores this process may use, 1 at least: the number of threads unless the user gives one.

    A quota of 2.5 cores is 2: a third thread would have all of them stopped for a part of each period.

    Args:
        root: Where ``proc`` and ``sys`` lie.
    """
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = [quota for quota in (_quota(folder) for folder in _groups(root)) if quota is not None]
    return max(1, min([allowed, *(int(quota) for quota in quotas)]))


def _groups(root: Path) -> list[Path]:
    """Return the folders of this process's control groups and of their parents; all of their quotas apply."""
    mounted, groups = root / "sys/fs/cgroup", []
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            group = Path(path.lstrip("/"))
            for base in (mounted, *((mounted / name) for name in ("cpu", controllers) if controllers)):
                groups += [base / group, *(base / parent for parent in group.parents)]
    return groups


def _quota(group: Path) -> float | None:
    """Return the quota of a control group (version 2 or 1) in cores; None if it has no quota."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        limit, period = (group / "cpu.max").read_text().split()
        return None if limit == "max" else float(limit) / float(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        limit_us = float((group / "cpu.cfs_quota_us").read_text())
        return None if limit_us <= 0 else limit_us / float((group / "cpu.cfs_period_us").read_text())
    return None


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
