"""Choose which workers may measure for one run: machines of one kind, with the same versions of its toolchains. Plain data.

Costs of different machines are never mixed: one kind is chosen, and every other worker is left out with a reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ...errors import CollageError
from ...toolchains.toolchain import Availability
from ...version import __version__
from .protocol import Description

_UNKNOWN = Availability(False, reason="no toolchain of this name is known there", hint="install it where the worker runs")


@dataclass(frozen=True)
class Kind:
    """The properties that all workers of one run share.

    Attributes:
        machine: As `machine_id` gives it on them.
        toolchains: (target, its availability) for each target of the run.
        threads: Threads of the run; they have as many cores at least.
    """

    machine: str
    toolchains: tuple[tuple[str, Availability], ...]
    threads: int

    def availability(self, target: str) -> Availability:
        """Return the availability of one target on these workers."""
        return dict(self.toolchains).get(target, _UNKNOWN)

    def why_not(self, worker: Description) -> str:
        """Return why `worker` cannot be one of them; empty where it can."""
        if worker.version != __version__:
            return f"it runs Collage Explorer {worker.version}, this is {__version__}"
        if worker.machine != self.machine:
            return f"it is another machine, {worker.machine!r}; this run measures on {self.machine!r}"
        if worker.cores < self.threads:
            return f"it may use {worker.cores} cores, and the run wants {self.threads} threads"
        for target, wanted in self.toolchains:
            found = worker.toolchains.get(target, _UNKNOWN)
            if _identity(found) != _identity(wanted):
                return f"its {target} is {_shown(found)}, the others' is {_shown(wanted)}"
        return ""


def choose_kind(workers: Sequence[Description], targets: Sequence[str], threads: int, machine: str | None = None) -> Kind:
    """Return the kind that most of `workers` are of; of two that are equally common, the one that has more of the targets.

    Args:
        machine: Only machines of this id, as `machine_id` gives it, or of this pattern, such as ``*EPYC*``.

    Raises:
        CollageError: none of them can take the run.
    """
    able = [worker for worker in workers if worker.version == __version__ and worker.cores >= threads]
    able = [worker for worker in able if machine is None or _is_named(worker, machine)]
    if not able:
        raise _none_can(workers, threads, machine)
    votes = Counter(_signature(worker, targets) for worker in able)

    def rank(worker: Description) -> tuple[int, int, str]:
        usable = sum(worker.toolchains.get(target, _UNKNOWN).usable for target in targets)
        return -votes[_signature(worker, targets)], -usable, worker.machine

    first = min(able, key=rank)
    return Kind(first.machine, tuple((target, first.toolchains.get(target, _UNKNOWN)) for target in targets), threads)


def shared_computers(workers: Sequence[Description]) -> str:
    """Return a warning where several workers are on one computer; empty where none are."""
    hosts = Counter(worker.host for worker in workers)
    shared = sorted(worker.name for worker in workers if hosts[worker.host] > 1)
    if not shared:
        return ""
    return f"the workers {', '.join(shared)} share a computer: unless each has cores of its own, they disturb each other's timings"


def _is_named(worker: Description, machine: str) -> bool:
    return worker.machine == machine or fnmatchcase(worker.machine, machine)


def _signature(worker: Description, targets: Sequence[str]) -> tuple[object, ...]:
    return worker.machine, *(_identity(worker.toolchains.get(target, _UNKNOWN)) for target in targets)


def _identity(available: Availability) -> tuple[object, ...]:
    """Return what two toolchains must have in common for their costs to be comparable."""
    return available.usable, available.version, available.device, available.precision


def _shown(available: Availability) -> str:
    return f"{available.version or 'usable'}" if available.usable else f"not usable ({available.reason})"


def _none_can(workers: Sequence[Description], threads: int, machine: str | None) -> CollageError:
    machines = ", ".join(sorted({repr(worker.machine) for worker in workers}))
    if machine is not None and not any(_is_named(worker, machine) for worker in workers):
        return CollageError(f"no worker of the fleet is a {machine!r}", f"these are there: {machines}", "no_worker")
    others = sorted({worker.version for worker in workers} - {__version__})
    if others:
        hint = f"install {__version__} on the workers too"
        return CollageError(f"the fleet's workers run Collage Explorer {', '.join(others)}, this is {__version__}", hint, "no_worker")
    most = max(worker.cores for worker in workers)
    return CollageError(f"the run wants {threads} threads, the fleet's workers have {most} cores", f"add --threads {most}", "no_worker")
