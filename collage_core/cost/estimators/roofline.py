"""`RooflineEstimator`: estimates seconds from the work alone: a call, and the longer of computing and of moving bytes.

It takes candidates and gives estimates (source ``estimate``), whose reason says what they rest on. A described
toolchain is as fast as the ``[cost]`` of its file says, any other as fast as this machine computes and copies. The work is that of
the direct method (`work_estimate`), so a toolchain with a better method may be faster. Nothing is built or measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...base.durations import duration
from ...errors import CollageError
from ...events import Emit, Note, ignore
from ...graph.dataflow_graph import DataflowGraph
from ...graph.work_estimate import WorkEstimate, WorkEstimator
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...toolchains.abilities import MergedPartitions
from ...toolchains.border import availability_of
from ...toolchains.described import SPEEDS, DescribedToolchain
from ...toolchains.toolchain import Toolchain
from ..cost import HOST_COST, Cost, TransitionModel
from ..estimator import Known
from .machine_speed import machine_speed

CALL_S = 2e-6
"""Assumed seconds of a call of a toolchain that runs here: about the least that any of the bundled ones needs."""
_MERGED = ".merged"


@dataclass(frozen=True, slots=True)
class Rates:
    """The assumed speed of a target.

    Attributes:
        origin: The source of the rates, in words.
        launch_s: Seconds of a call, however little it does.
        operations_per_s, bytes_per_s: Infinite where they are not given; then they bound nothing.
        has_transfers: Its description says what copies to it and back cost.
    """

    origin: str
    launch_s: float = 0.0
    operations_per_s: float = math.inf
    bytes_per_s: float = math.inf
    has_transfers: bool = False

    def seconds(self, work: WorkEstimate) -> float:
        """Return the seconds of `work` in one call."""
        return self.launch_s + max(work.operations / self.operations_per_s, work.bytes / self.bytes_per_s)

    @property
    def reason(self) -> str:
        """The reason of an estimate by these rates."""
        rates = (("operations", self.operations_per_s), ("bytes", self.bytes_per_s))
        bounds = [f"{name} at {rate:.3g} per s" for name, rate in rates if rate < math.inf]
        longer = f" and the longer of {' and '.join(bounds)}" if len(bounds) > 1 else "".join(f" and {bound}" for bound in bounds)
        return f"an estimate by roofline: {duration(self.launch_s)} for the call{longer} ({self.origin})"

    @property
    def transfers_text(self) -> str:
        """Say whether transfers to and from the target cost something."""
        return "transfers cost what its file says" if self.has_transfers else "transfers free"


def described_rates(toolchain: DescribedToolchain) -> Rates:
    """Return the rates in the ``[cost]`` of a described toolchain.

    Raises:
        CollageError: its file has none.
    """
    cost = toolchain.cost
    if not cost:
        file = toolchain.source.rpartition(", line ")[0]
        raise CollageError(
            f"the target {toolchain.name!r} is only described, and its file {file!r} has no [cost], so its time cannot be estimated",
            f"add [cost] with {', '.join(SPEEDS[:-1])} or {SPEEDS[-1]} to the file, or use mock costs",
            "target_unavailable",
        )
    return Rates(
        f"by the [cost] of {toolchain.name}'s file",
        cost.get("launch_s", 0.0),
        cost.get("flops_per_s", math.inf),
        cost.get("bytes_per_s", math.inf),
        has_transfers=bool(toolchain.location),
    )


def machine_rates(threads: int) -> Rates:
    """Return this machine's rates (`machine_speed`)."""
    speed = machine_speed(threads)
    origin = f"as fast as NumPy multiplies matrices on {threads} cores and copies here; the call is assumed"
    return Rates(origin, CALL_S, speed.operations_per_s, speed.bytes_per_s)


class RooflineEstimator:
    """Estimates costs of the targets `toolchains`, with `threads` threads for those that run here.

    Args:
        emit: Gets a `Note` that says what the estimates rest on.

    Raises:
        CollageError: a described toolchain has no ``[cost]``; from its methods, one that is not described is not of the CPU.
    """

    name = "roofline"
    machine = ""

    def __init__(self, toolchains: Mapping[str, Toolchain], threads: int, emit: Emit = ignore):
        self._toolchains = toolchains
        self._rates = {name: described_rates(found) for name, found in toolchains.items() if isinstance(found, DescribedToolchain)}
        self._threads = threads
        self._emit = emit
        self._told: set[str] = set()

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Yield each candidate in the order given; equal computations on one target have one estimate.

        Raises:
            CollageError: this machine's speed cannot be measured.
        """
        work_of = WorkEstimator(graph)
        known: dict[tuple[str, int], Cost] = {}
        for candidate in candidates:
            if candidate.target == HOST_TARGET:
                yield candidate, HOST_COST, False
                continue
            refused = self._refusal(candidate)
            if refused is not None:
                yield candidate, refused, False
                continue
            computation_key = (candidate.target, candidate.computation)
            if computation_key not in known:
                rates = self._rates_of(candidate.target)
                known[computation_key] = Cost(rates.seconds(work_of(candidate.inside)), "estimate", reason=rates.reason)
            yield candidate, known[computation_key], False

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Return free transitions: copies to a described target and back are no transitions. A `Note` says what is free, once for each."""
        for name in targets:
            if name != HOST_TARGET and name not in self._told:
                self._told.add(name)
                rates = self._rates_of(name)
                self._emit(Note(f"{name} is not measured. Each of its costs is {rates.reason}; {rates.transfers_text}"))
        return TransitionModel()

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return 0.0

    def close(self) -> None:
        """Do nothing: no worker and no file is held."""

    def _rates_of(self, target: str) -> Rates:
        if target not in self._rates:
            self._check_runs_on_cpu(target)
            self._rates[target] = machine_rates(self._threads)
        return self._rates[target]

    def _check_runs_on_cpu(self, target: str) -> None:
        """Raise CollageError for a toolchain of another device: the speed of this machine says nothing of it."""
        toolchain = self._toolchains.get(target)
        device = availability_of(toolchain).device if toolchain else "CPU"
        if device != "CPU":
            raise CollageError(
                f"the target {target!r} runs on a {device}, so its time cannot be estimated from the speed of this machine",
                f"describe the {device} in a file with a [cost] and the rules of {target}, and give it with --toolchain",
                "target_unavailable",
            )

    def _refusal(self, candidate: CandidatePartition) -> Cost | None:
        """Return an invalid cost for merged partitions of a toolchain whose rules do not allow them: only a trial could tell."""
        toolchain = self._toolchains.get(candidate.target)
        if not isinstance(toolchain, MergedPartitions) or toolchain.takes_merged or not candidate.rule.endswith(_MERGED):
            return None
        return Cost.invalid("predicate", f"the rules of {candidate.target} don't take these partitions together, and nothing is tried")
