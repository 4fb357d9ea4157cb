"""`ControlFlow`: a node that runs graphs of its own (`If`, `Loop`, `Scan`), as plain data, and `run_control`, which does what it says.

The node's tensors by name and a function that runs a body enter; the node's outputs leave. The reference run (which counts how often a
body runs) and an artifact's host share this code, so both turn a loop equally often. Nothing here knows how a body is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

IF, LOOP, SCAN = "If", "Loop", "Scan"
CONTROL_OPS = (IF, LOOP, SCAN)
"""Operators whose bodies the host can run, one after another."""

Arrays = Sequence[np.ndarray]
_FIRST_ROWS = 16
RunBody = Callable[[Arrays], Arrays]
"""Runs a body once on its own inputs, in order, and returns its outputs, in order. Both may be overwritten by the next call."""


@dataclass(frozen=True, slots=True)
class BodySignature:
    """The tensors of a body.

    Attributes:
        inputs: Those that the node hands over at each run, in order.
        captured: Those of the graph around the node that the body reads; they are the same at each run of one inference.
        outputs: Those that it makes, in order.
    """

    inputs: tuple[str, ...]
    captured: tuple[str, ...]
    outputs: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"inputs": list(self.inputs), "captured": list(self.captured), "outputs": list(self.outputs)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> BodySignature:
        return cls(tuple(data["inputs"]), tuple(data["captured"]), tuple(data["outputs"]))


@dataclass(frozen=True, slots=True)
class ControlFlow:
    """A node with bodies.

    Attributes:
        op: One of `CONTROL_OPS`.
        inputs: Its own inputs in their positions, ``""`` where absent.
        outputs: Its outputs in their positions, ``""`` where nothing reads them.
        bodies: Attribute (``body``, ``then_branch``, ``else_branch``) → signature.
        scanned: Of a `Scan`: number of inputs that it takes apart; they are its last ones.
        options: Of a `Scan`: its directions and axes, by the name of the attribute.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    bodies: Mapping[str, BodySignature]
    scanned: int = 0
    options: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def carried(self) -> int:
        """Number of tensors that one turn hands to the next."""
        return {IF: 0, LOOP: len(self.inputs) - 2}.get(self.op, len(self.inputs) - self.scanned)

    @property
    def handed_on(self) -> dict[int, int]:
        """Index of each output of a body that the next turn reads → index of the body's input that it becomes."""
        if self.op == LOOP:
            return {index: index + 1 for index in range(1 + self.carried)}
        return {index: index for index in range(self.carried)}

    def to_json(self) -> dict[str, Any]:
        return {
            "op": self.op,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "bodies": {name: body.to_json() for name, body in self.bodies.items()},
            "scanned": self.scanned,
            "options": {name: list(values) for name, values in self.options.items()},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ControlFlow:
        return cls(
            op=str(data["op"]),
            inputs=tuple(data["inputs"]),
            outputs=tuple(data["outputs"]),
            bodies={str(name): BodySignature.from_json(body) for name, body in data["bodies"].items()},
            scanned=int(data["scanned"]),
            options={str(name): tuple(map(int, values)) for name, values in data["options"].items()},
        )


def run_control(flow: ControlFlow, values: Mapping[str, np.ndarray], bodies: Mapping[str, RunBody], empty: Sequence[Any] = ()) -> list[Any]:
    """Run the node once, and return its outputs in their positions. An output may be an array that a body overwrites when it runs again.

    Args:
        values: The node's inputs by name.
        bodies: Attribute → what runs that body.
        empty: For each output an array that it is when a loop makes no turn; only what a loop collects turn by turn needs one.
    """
    if flow.op == IF:
        return list(bodies["then_branch" if _flag(values[flow.inputs[0]]) else "else_branch"](()))
    if flow.op == LOOP:
        return _loop(flow, values, bodies["body"], empty)
    return _scan(flow, values, bodies["body"], empty)


def _loop(flow: ControlFlow, values: Mapping[str, np.ndarray], body: RunBody, empty: Sequence[Any]) -> list[Any]:
    most = _count(values[flow.inputs[0]]) if flow.inputs[0] else None
    goes = _flag(values[flow.inputs[1]]) if flow.inputs[1] else True
    count, turn = flow.carried, 0
    states: Arrays = [values[name] for name in flow.inputs[2:]]
    kept = [_Rows() for _ in flow.bodies["body"].outputs[1 + count :]]
    number, yes = np.array(0), np.array(True)
    while goes and (most is None or turn < most):
        number[()] = turn
        results = body((number, yes, *states))
        goes, states = _flag(results[0]), results[1 : 1 + count]
        for rows, row in zip(kept, results[1 + count :], strict=True):
            rows.add(row)
        turn += 1
    return [*states, *(rows.stacked() if turn else empty[count + index] for index, rows in enumerate(kept))]


def _scan(flow: ControlFlow, values: Mapping[str, np.ndarray], body: RunBody, empty: Sequence[Any]) -> list[Any]:
    count = flow.carried
    states: Arrays = [values[name] for name in flow.inputs[:count]]
    scanned = [_in_turns(flow, index, values[name]) for index, name in enumerate(flow.inputs[count:])]
    kept = [_Rows() for _ in flow.bodies["body"].outputs[count:]]
    turns = len(scanned[0]) if scanned else 0
    for turn in range(turns):
        results = body((*states, *(rows[turn] for rows in scanned)))
        states = results[:count]
        for rows, row in zip(kept, results[count:], strict=True):
            rows.add(row)
    return [*states, *(_stacked(flow, index, rows) if turns else empty[count + index] for index, rows in enumerate(kept))]


def _in_turns(flow: ControlFlow, index: int, array: np.ndarray) -> np.ndarray:
    """Return what `Scan` takes apart of its scanned input `index`, with the turns as the first dimension and in their order."""
    rows = np.moveaxis(array, _option(flow, "scan_input_axes", index), 0)
    return rows[::-1] if _option(flow, "scan_input_directions", index) else rows


def _stacked(flow: ControlFlow, index: int, rows: _Rows) -> np.ndarray:
    """Return what the turns made of the scanned output `index`, along its axis."""
    stacked = rows.stacked()
    ordered = stacked[::-1] if _option(flow, "scan_output_directions", index) else stacked
    return np.moveaxis(ordered, 0, _option(flow, "scan_output_axes", index))


class _Rows:
    """Copies of what the turns made of one output. The buffer doubles when it is full: a loop may say that it turns 2^62 times."""

    def __init__(self) -> None:
        self._buffer = np.empty((0,))
        self._count = 0

    def add(self, row: np.ndarray) -> None:
        """Copy `row`; raises ValueError where it has another shape than those before it."""
        if self._count == len(self._buffer):
            self._grow(row)
        if row.shape != self._buffer.shape[1:]:
            raise ValueError(f"a turn made the shape {list(row.shape)}, those before it {list(self._buffer.shape[1:])}")
        self._buffer[self._count] = row
        self._count += 1

    def _grow(self, row: np.ndarray) -> None:
        before, self._buffer = self._buffer, np.empty((max(_FIRST_ROWS, 2 * self._count), *row.shape), row.dtype)
        if self._count:
            self._buffer[: self._count] = before

    def stacked(self) -> np.ndarray:
        """Return all rows, one after another."""
        return self._buffer[: self._count]


def _option(flow: ControlFlow, name: str, index: int) -> int:
    values = flow.options.get(name, ())
    return values[index] if index < len(values) else 0


def _flag(value: np.ndarray) -> bool:
    return bool(value.item())


def _count(value: np.ndarray) -> int:
    return int(value.item())
