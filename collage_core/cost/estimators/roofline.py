"""`RooflineEstimator`: seconds by the work alone: a call, and whichever takes longer of computing and of moving bytes.

What enters are candidates; what leaves are estimates (source ``estimate``), whose reason says what they rest on. A described
toolchain is as fast as the ``[cost]`` of its file says, any other as fast as this machine computes and copies. Work is that
of the direct method (`work`), so a toolchain that knows a better one may be faster. Nothing is built, and nothing is ever
said to be measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...errors import CollageError
from ...events import Emit, Note, ignore
from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ...toolchains.base import Toolchain
from ...toolchains.described import DescribedToolchain
from ..cost import Cost
from ..estimator import Known
from ..transition import TransitionModel
from .machine_speed import machine_speed
from .work_estimate import WorkEstimate, WorkEstimator

CALL_S = 2e-6
"""What a call of a toolchain that runs here is taken to cost: about the least that any of the bundled ones needs."""
_MERGED = ".merged"


@dataclass(frozen=True, slots=True)
class Rates:
    """How fast a target is taken to be.

    Attributes:
        origin: Who says so, in words.
        launch_s: Seconds of a call, however little it does.
        operations_per_s, bytes_per_s: Infinite where nothing is said of them; then they bound nothing.
    """

    origin: str
    launch_s: float = 0.0
    operations_per_s: float = math.inf
    bytes_per_s: float = math.inf

    def seconds(self, work: WorkEstimate) -> float:
        """What `work` takes in one call."""
        return self.launch_s + max(work.operations / self.operations_per_s, work.bytes / self.bytes_per_s)

    @property
    def reason(self) -> str:
        """What an estimate by these rates rests on."""
        rates = (("operations", self.operations_per_s), ("bytes", self.bytes_per_s))
        bounds = [f"{name} at {rate:.3g} per s" for name, rate in rates if rate < math.inf]
        longer = f" and the longer of {' and '.join(bounds)}" if len(bounds) > 1 else "".join(f" and {bound}" for bound in bounds)
        return f"an estimate by roofline: {self.launch_s:g} s for the call{longer} ({self.origin})"


def described_rates(toolchain: DescribedToolchain) -> Rates:
    """What the ``[cost]`` of a described toolchain says.

    Raises:
        CollageError: its file has none.
    """
    cost = toolchain.cost
    if not cost:
        file = toolchain.source.rpartition(", line ")[0]
        raise CollageError(
            f"the target {toolchain.name!r} is only described, and its file {file!r} has no [cost]: nobody can say what it takes",
            "add [cost] with launch_s, flops_per_s or bytes_per_s to the file, or use mock costs",
            "target_unavailable",
        )
    return Rates(
        f"by the [cost] of {toolchain.name}'s file",
        cost.get("launch_s", 0.0),
        cost.get("flops_per_s", math.inf),
        cost.get("bytes_per_s", math.inf),
    )


def machine_rates(threads: int) -> Rates:
    """This machine's, by `machine_speed`."""
    speed = machine_speed(threads)
    origin = f"as fast as NumPy multiplies matrices on {threads} cores and copies here; the call is assumed"
    return Rates(origin, CALL_S, speed.operations_per_s, speed.bytes_per_s)


class RooflineEstimator:
    """Estimates for the targets `toolchains`, with `threads` threads for those that run here.

    Args:
        emit: Gets a `Note` that says what the estimates rest on.

    Raises:
        CollageError: a described toolchain has no ``[cost]``.
    """

    name = "roofline"
    machine = ""

    def __init__(self, toolchains: Mapping[str, Toolchain], threads: int, emit: Emit = ignore):
        self._described = {name: found for name, found in toolchains.items() if isinstance(found, DescribedToolchain)}
        self._rates = {name: described_rates(found) for name, found in self._described.items()}
        self._threads = threads
        self._emit = emit
        self._told: set[str] = set()

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[Known]:
        """Each candidate in the order given; equal computations on one target have one estimate.

        Raises:
            CollageError: this machine's speed cannot be measured.
        """
        work_of = WorkEstimator(graph)
        known: dict[tuple[str, int], Cost] = {}
        for candidate in candidates:
            if candidate.target == HOST_TARGET:
                yield candidate, Cost(0.0, "host"), False
                continue
            refused = self._refusal(candidate)
            if refused is not None:
                yield candidate, refused, False
                continue
            sort = (candidate.target, candidate.computation)
            if sort not in known:
                rates = self._rates_of(candidate.target)
                known[sort] = Cost(rates.seconds(work_of(candidate.inside)), "estimate", reason=rates.reason)
            yield candidate, known[sort], False

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Nothing is known of hand-overs: they are free, and a `Note` says so, once for each target."""
        for name in targets:
            if name != HOST_TARGET and name not in self._told:
                self._told.add(name)
                self._emit(
                    Note(f"{name} is not measured. Each of its costs is {self._rates_of(name).reason}; hand-overs to and from it are free")
                )
        return TransitionModel()

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return 0.0

    def close(self) -> None:
        """There is nothing to let go of."""

    def _rates_of(self, target: str) -> Rates:
        if target not in self._rates:
            self._rates[target] = machine_rates(self._threads)
        return self._rates[target]

    def _refusal(self, candidate: CandidatePartition) -> Cost | None:
        """What is said of neighbours taken as one by a toolchain whose rules don't allow that: no trial could tell."""
        toolchain = self._described.get(candidate.target)
        if toolchain is None or toolchain.takes_merged or not candidate.rule.endswith(_MERGED):
            return None
        return Cost.invalid("predicate", f"{candidate.target} is only described, and its rules don't take its partitions together")
