"""Counts how often the bodies of a model run with given inputs, and keeps the inputs of a typical run: `count_body_runs`.

A model and its inputs enter; for each `If`, `Loop` and `Scan` that the host could run its `NodeRuns` leave, nested as the bodies are. The
nodes are run turn by turn, each body by ONNX Runtime, so what they compute is the reference. How long that may go on is bounded.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ..base.durations import duration
from ..errors import CollageError
from ..graph.control_flow import IF, LOOP, ControlFlow, RunBody, run_control
from ..graph.dataflow_graph import DataflowGraph, Tensor
from .model import Arrays
from .onnx_model import OnnxModel
from .types.dtypes import array_type

MOST_RUNS = 20_000
"""Most runs of bodies that are counted, those of nested ones included."""
LONGEST_S = 20.0
"""Longest that counting may take, but for the run that is under way then."""
MOST_DEPTH = 4
"""Bodies nested deeper than that are left to toolchains that take the whole node."""


@dataclass
class BodyRuns:
    """A body, and how often it ran.

    Attributes:
        model: The body as a model of its own.
        runs: In all, over all runs of the model around it.
        inputs: Of a typical run: the last whose number is a power of two. Of a body that never ran those that its first run would have.
        inner: Index of a node of `model` → its runs.
    """

    model: OnnxModel
    inputs: dict[str, np.ndarray]
    runs: int = 0
    inner: dict[int, NodeRuns] = field(default_factory=dict)


@dataclass
class NodeRuns:
    """A node with bodies.

    Attributes:
        bodies: Attribute → body; those that were needed before `reason` was found.
        passing: Attribute of a body that computes nothing → how often it ran.
        reason: Why the host cannot run it; empty where it can.
    """

    flow: ControlFlow
    bodies: dict[str, BodyRuns] = field(default_factory=dict)
    passing: dict[str, int] = field(default_factory=dict)
    reason: str = ""

    @property
    def runs(self) -> int:
        """How often its bodies ran, all together."""
        return sum(body.runs for body in self.bodies.values()) + sum(self.passing.values())


def count_body_runs(model: OnnxModel, inputs: Arrays, clock: Callable[[], float] = time.monotonic) -> dict[int, NodeRuns]:
    """Return the runs of the bodies of `model` on `inputs`, by the index of the node.

    Raises:
        CollageError: ONNX Runtime cannot run the model on these inputs.
    """
    counter = _Counter(clock)
    runs_of: dict[int, NodeRuns] = {}
    if model.controls:
        counter.run_nodes(model, inputs, runs_of, 1)
    return runs_of


def noted_runs(graph: DataflowGraph) -> dict[int, dict[str, int]]:
    """Return how often bodies run as `OnnxModel.note_runs` wrote it into `graph`."""
    noted = {}
    for node in graph.nodes:
        counts = {name: value["runs"] for name, value in node.attributes.items() if isinstance(value, dict) and "runs" in value}
        if counts:
            noted[node.index] = counts
    return noted


class _Unfit(Exception):
    """Raised where the host cannot run a node; the text is the reason."""


class _Counter:
    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._end_s = clock() + LONGEST_S
        self._left = MOST_RUNS

    def run_nodes(self, model: OnnxModel, inputs: Arrays, found: dict[int, NodeRuns], depth: int) -> None:
        """Run the nodes with bodies of `model` once, and add to what was `found` of them before."""
        for index, flow in model.controls.items():
            found.setdefault(index, NodeRuns(flow, reason=_reason_ahead(model, index, depth)))
        wanted = [name for index in found if not found[index].reason for name in model.graph.nodes[index].inputs if name]
        values = model.activations(inputs, wanted) if wanted else {}
        for index, node in found.items():
            if not node.reason:
                try:
                    self._run_node(model, index, node, values, depth)
                except _Unfit as unfit:
                    node.reason = str(unfit)
                except CollageError as error:
                    node.reason = error.message

    def _run_node(self, model: OnnxModel, index: int, node: NodeRuns, values: Arrays, depth: int) -> None:
        flow = _without_results(node.flow)
        for attribute in flow.bodies:
            if model.passed_on(index, attribute) is not None:
                node.passing.setdefault(attribute, 0)
        run_control(flow, values, {name: self._body(model, index, node, name, values, depth) for name in flow.bodies})
        for attribute in node.flow.bodies:
            if attribute not in node.bodies and attribute not in node.passing:
                given = _named(model, node.flow, attribute, _first_inputs(node.flow, values), values)
                node.bodies[attribute] = BodyRuns(_body_model(model, index, attribute, given), given)

    def _body(self, model: OnnxModel, index: int, node: NodeRuns, attribute: str, values: Arrays, depth: int) -> RunBody:
        """Return what runs a body once, counts that, and keeps its inputs."""

        def run(arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
            self._check_bounds(node)
            if attribute in node.passing:
                node.passing[attribute] += 1
                return []
            given = _named(model, node.flow, attribute, arrays, values)
            if attribute not in node.bodies:
                node.bodies[attribute] = BodyRuns(_body_model(model, index, attribute, given), given)
            body = node.bodies[attribute]
            _check_types(body, given, node.runs)
            body.runs += 1
            if body.runs & (body.runs - 1) == 0:
                body.inputs = given
            if body.model.controls:
                self.run_nodes(body.model, given, body.inner, depth + 1)
            names = _without_results(node.flow).bodies[attribute].outputs
            made = body.model.activations(given, names)
            return [made[name] for name in names]

        return run  # type: ignore[return-value]

    def _check_bounds(self, node: NodeRuns) -> None:
        self._left -= 1
        if self._left < 0 or self._clock() > self._end_s:
            limit = f"{MOST_RUNS} runs of bodies" if self._left < 0 else duration(LONGEST_S)
            raise _Unfit(f"it had not ended after {limit} ({node.runs} of them its own), so how often its bodies run is unknown")


def _without_results(flow: ControlFlow) -> ControlFlow:
    """Return `flow` as far as it decides how often bodies run: they make what a turn hands to the next, and nothing else."""
    kept = flow.carried + (flow.op == LOOP)
    return replace(flow, bodies={name: replace(body, outputs=body.outputs[:kept]) for name, body in flow.bodies.items()})


def _reason_ahead(model: OnnxModel, index: int, depth: int) -> str:
    """Return why the host cannot run a node, as far as its place and its tensors tell; empty where they do not."""
    if depth > MOST_DEPTH:
        return f"it is nested in {depth - 1} bodies, at most {MOST_DEPTH - 1} are partitioned"
    node, types = model.graph.nodes[index], model.graph.types
    for name in (*node.inputs, *(tensor.name for tensor in node.outputs)):
        kind = types.get(name)
        if kind is not None and kind.dtype == "string":
            return f"{name!r} holds text"
        if kind is not None and kind.open_axes and name in node.inputs:
            return f"it reads {name!r}, whose shape depends on data"
    return ""


def _first_inputs(flow: ControlFlow, values: Arrays) -> tuple[np.ndarray, ...]:
    """Return what the first run of the body of `flow` would read, or something of that type."""
    if flow.op == IF:
        return ()
    states = [values[name] for name in flow.inputs if name]
    if flow.op == LOOP:
        return (np.array(0, np.int64), np.array(True), *(values[name] for name in flow.inputs[2:]))
    axes = flow.options.get("scan_input_axes", ())
    for index in range(flow.scanned):
        array = states[flow.carried + index]
        axis = axes[index] if index < len(axes) else 0
        states[flow.carried + index] = np.zeros(np.delete(array.shape, axis), array.dtype)
    return tuple(states)


def _named(model: OnnxModel, flow: ControlFlow, attribute: str, arrays: tuple[np.ndarray, ...], values: Arrays) -> dict[str, np.ndarray]:
    """Return the inputs of a run of a body by name, each an array of its own; what it captures of constants is left out."""
    signature = flow.bodies[attribute]
    given = dict(zip(signature.inputs, arrays, strict=True))
    given |= {name: values[name] for name in signature.captured if name not in model.graph.constants}
    for name, array in given.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind in "OUS":
            raise _Unfit(f"{name!r} is not a tensor of numbers")
    return {name: np.array(array, order="C") for name, array in given.items()}


def _body_model(model: OnnxModel, index: int, attribute: str, given: Arrays) -> OnnxModel:
    inputs = [Tensor(name, array_type(array)) for name, array in given.items()]
    try:
        return model.body(index, attribute, inputs, given)
    except CollageError as error:
        raise _Unfit(f"its {attribute} cannot be a model of its own: {error.message}") from error


def _check_types(body: BodyRuns, given: Arrays, turn: int) -> None:
    """Raise _Unfit where a tensor that the body reads has another shape or dtype than in its first run."""
    for tensor in body.model.graph.inputs:
        array = given[tensor.name]
        if array.shape != tensor.type.shape:
            shapes = f"{list(tensor.type.shape)} and, in turn {turn}, {list(array.shape)}"
            raise _Unfit(f"{tensor.name!r} changes its shape from turn to turn: {shapes}")
