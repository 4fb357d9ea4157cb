"""`usable_cores`: how many cores this process may use, by its affinity and by the quota of its container. It imports nothing of ours."""

from __future__ import annotations

import os
from contextlib import suppress
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
    """The folders of the control groups that this process is in, and those around them; quotas of all of them hold."""
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
    """The cores that a control group may use, of version 2 or 1; None where it says nothing."""
    with suppress(OSError, ValueError, ZeroDivisionError):
        limit, period = (group / "cpu.max").read_text().split()
        return None if limit == "max" else float(limit) / float(period)
    with suppress(OSError, ValueError, ZeroDivisionError):
        limit_us = float((group / "cpu.cfs_quota_us").read_text())
        return None if limit_us <= 0 else limit_us / float((group / "cpu.cfs_period_us").read_text())
    return None
