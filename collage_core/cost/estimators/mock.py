"""`MockEstimator`: costs by a simple rule from a file, so that any search can be checked by hand and without hardware.

The k-th op of a partition, in node order from 0, costs ``op_s * decay**k``, with its own figure from ``ops``, if any, in place
of ``op_s``. Nothing is run. RFC 62 (Collage), Appendix E, has a mock estimator too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import Any

from ...base.user_file import read_text
from ...errors import CollageError
from ...graph.computation import values_at
from ...graph.dataflow_graph import DataflowGraph
from ...rules.candidate import CandidatePartition
from ...rules.spec import HOST_TARGET
from ..cost import HOST_COST, Cost, TransitionModel, bad_costs, finite_s, refuse_unknown, transitions_from_json

_TARGET_KEYS = ("op_s", "decay", "ops", "invalid")


@dataclass(frozen=True, slots=True)
class MockTarget:
    """The rule of one target.

    Attributes:
        op_s: Seconds of an op.
        decay: Factor by which each further op of a partition gets cheaper; 1 where the file gives none.
        ops: Seconds of particular ops, by operator.
        invalid: Operators that it cannot take.
    """

    op_s: float
    decay: float
    ops: dict[str, float]
    invalid: frozenset[str]

    def figures(self, ops: Sequence[str]) -> tuple[float | str, ...]:
        """Return the seconds of each of `ops` alone; in place of them the operator itself where it cannot be taken."""
        return tuple(op if op in self.invalid else self.ops.get(op, self.op_s) for op in ops)

    def cost(self, figures: Sequence[float | str], where: str) -> Cost:
        """Return the cost of a partition of the ops that have these figures, in node order."""
        if self.invalid:
            refused = next((figure for figure in figures if isinstance(figure, str)), None)
            if refused is not None:
                return Cost.invalid("import", f"the mock file says that {refused} cannot be taken")
        count = len(figures)
        try:
            factors = _factors(self.decay, count)
        except OverflowError:
            raise bad_costs(where, "decay", self.decay, f"small enough that {count} ops in one partition have a cost") from None
        seconds = sum(map(mul, figures, factors))
        return Cost(finite_s(seconds, f"the sum over {count} ops", where), "mock")


@lru_cache(maxsize=1024)
def _factors(decay: float, count: int) -> tuple[float, ...]:
    """Return the factors by which the ops of a partition, in node order, cost less than alone."""
    return tuple(decay**index for index in range(count))


class MockEstimator:
    """Costs from a mock file.

    Raises:
        CollageError: the file cannot be read or is no mock file; the message names the file and the key.
    """

    machine = ""

    def __init__(self, path: Path):
        self.name = f"mock:{path}"
        self._where = f"the mock file {str(path)!r}"
        data = _read(path, self._where)
        if not isinstance(data, dict):
            raise bad_costs(self._where, "the whole", data, 'an object such as {"targets": {"tvm": {"op_s": 3}}}')
        refuse_unknown(data, ("targets", "transitions"), "", self._where)
        targets = data.get("targets")
        if not isinstance(targets, dict) or not targets:
            raise bad_costs(self._where, "targets", targets, 'an object such as {"tvm": {"op_s": 3}}')
        self._targets = {name: _target(name, value, self._where) for name, value in targets.items()}
        self._transitions = transitions_from_json(data.get("transitions", {}), self._where)

    def estimate(self, graph: DataflowGraph, candidates: Sequence[CandidatePartition]) -> Iterator[tuple[CandidatePartition, Cost, bool]]:
        """Yield each candidate in the order given; equal computations on one target have one cost.

        Raises:
            CollageError: a candidate is of a target that the file does not have.
        """
        free = HOST_COST
        known: dict[tuple[str, int], Cost] = {}
        ops = [node.op for node in graph.nodes]
        figures: dict[str, tuple[MockTarget, str, tuple[float | str, ...]]] = {}
        for candidate in candidates:
            if candidate.target == HOST_TARGET:
                yield candidate, free, False
                continue
            computation_key = (candidate.target, candidate.computation)
            cost = known.get(computation_key)
            if cost is None:
                if candidate.target not in figures:
                    figures[candidate.target] = self._on_target(candidate.target, ops)
                target, where, alone = figures[candidate.target]
                cost = known[computation_key] = target.cost(values_at(candidate.inside, alone), where)
            yield candidate, cost, False

    def transitions(self, targets: Sequence[str]) -> TransitionModel:
        """Return all transitions of the file.

        Raises:
            CollageError: the file does not have one of `targets`.
        """
        for name in targets:
            if name != HOST_TARGET:
                self._target(name)
        return self._transitions

    def transition(self, maker: str, reader: str, size: int, dtype: str) -> float:
        return self._transitions.cost_s(maker, reader, size, dtype)

    def close(self) -> None:
        """Do nothing: no worker and no file is held."""

    def _on_target(self, name: str, ops: Sequence[str]) -> tuple[MockTarget, str, tuple[float | str, ...]]:
        """Return the rule of target `name`, its key in the file for messages, and the figure of each of `ops`."""
        target = self._target(name)
        return target, f"{self._where}: targets.{name}", target.figures(ops)

    def _target(self, name: str) -> MockTarget:
        if name not in self._targets:
            known = ", ".join(sorted(self._targets))
            raise CollageError(f"{self._where} has no target {name!r}", f"it has {known}: add {name!r} or choose among them", "bad_costs")
        return self._targets[name]


def _target(name: str, data: Any, where: str) -> MockTarget:
    key = f"targets.{name}"
    if not name or name == HOST_TARGET:
        raise bad_costs(where, "targets", name, "named after toolchains (what is left to the host costs nothing)")
    if not isinstance(data, dict):
        raise bad_costs(where, key, data, 'an object such as {"op_s": 3}')
    refuse_unknown(data, _TARGET_KEYS, key, where)
    if "op_s" not in data:
        raise CollageError(f"{where}: {key} has no op_s", "give the seconds that an op costs", "bad_costs")
    ops = data.get("ops", {})
    if not isinstance(ops, dict):
        raise bad_costs(where, f"{key}.ops", ops, 'an object such as {"Conv": 5}')
    invalid = data.get("invalid", [])
    if not isinstance(invalid, list) or not all(isinstance(op, str) for op in invalid):
        raise bad_costs(where, f"{key}.invalid", invalid, 'a list of operators such as ["Softmax"]')
    return MockTarget(
        finite_s(data["op_s"], f"{key}.op_s", where),
        finite_s(data.get("decay", 1.0), f"{key}.decay", where),
        {op: finite_s(value, f"{key}.ops.{op}", where) for op, value in ops.items()},
        frozenset(invalid),
    )


def _read(path: Path, where: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in pairs:
            if key in made:
                raise CollageError(f"{where} gives the key {key!r} twice", "keep one of them", "bad_costs")
            made[key] = value
        return made

    try:
        return json.loads(read_text(path), object_pairs_hook=unique)
    except OSError as error:
        raise CollageError(f"{where} cannot be read: {error.strerror}", "check the path", "bad_costs") from error
    except (ValueError, RecursionError) as error:
        raise CollageError(f"{where} is not JSON: {error}", "correct the file", "bad_costs") from error
