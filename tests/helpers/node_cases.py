"""ONNX's own node tests, as sub-models for a toolchain, and a worker process that builds and runs them.

`single_nodes` makes of each test with one node a `NodeCase`: the model, its inputs and the outputs that ONNX expects. Inputs that are
parameters of the operator become initializers, as they are in a real model. `run_all` gives many cases to one process after another,
so that a crash or a hang is a result like any other.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx.defs
from onnx import ModelProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from collage_core.errors import CollageError
from collage_core.graph.index_set import IndexSet
from collage_core.model.base import SubModel
from collage_core.model.inference import infer
from collage_core.model.normalising import normalise
from collage_core.model.onnx_model import OnnxModel
from collage_core.rules.base import RuleContext, RuleOptions
from collage_core.rules.candidate import RejectionLog
from collage_core.toolchains.base import Toolchain
from collage_core.toolchains.buffers import aligned_empty

_PARAMETERS = frozenset(
    """
    axes axis B bias constant_value ends initial_c initial_h max max_trip_count mean min min_max input_mean input_var k length num_groups
    output_shape P pads R ratio repeats roi scale Scale scales sequence_lens shape size sizes slope split starts steps training_mode
    unused var W w weight X_zero_point Y_zero_point
    """.split()  # noqa: SIM905 - a list of words reads better as words
)
"""Names of inputs in ONNX's schemas that are weights or settings."""

_OF_ONE = {"TopK": frozenset({"K"})}
"""Names that are parameters of one operator alone."""

_DATA_FIRST = frozenset({"MatMul", "Add", "Sub", "Mul", "Div", "Gemm", "Pow"})
"""Operators with two equal operands, whatever their names are."""

BATCH = 100
SECONDS = 300
"""How many cases a worker gets, and how long it may take."""

_END = b"\n--end of case--\n"


@dataclass(frozen=True)
class NodeCase:
    """One node test of ONNX."""

    name: str
    op: str
    model: OnnxModel
    sub_model: SubModel
    inputs: tuple[np.ndarray, ...]
    wanted: tuple[np.ndarray, ...]

    def refusal(self, toolchain: Toolchain) -> str:
        """Return why the rules of `toolchain` do not take the node; empty where they do."""
        log = RejectionLog()
        graph = self.model.graph
        whole = IndexSet(range(len(graph)))
        if any(found.inside == whole for found in toolchain.rule(RuleOptions()).find(RuleContext(graph, toolchain.name, log))):
            return ""
        return next((rejection.reason for rejection in log.sample if rejection.nodes), "no rule finds it")


@cache
def _tests() -> tuple[Any, ...]:
    """Return ONNX's node tests that are models of one node."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the expected outputs are computed here, some with infinities
        tests = collect_testcases()
    return tuple(
        sorted(
            (test for test in tests if test.model and test.data_sets and len(test.model.graph.node) == 1 and "_expanded" not in test.name),
            key=lambda test: test.name,
        )
    )


def single_nodes(every: int, ops: Collection[str] = ()) -> list[NodeCase]:
    """Return each `every`-th node test, and those of the operators `ops`, that our own loader takes, with fixed shapes."""
    chosen = (index for index, test in enumerate(_tests()) if index % every == 0 or test.model.graph.node[0].op_type in ops)
    return [case for case in map(_case, chosen) if case is not None]


@cache
def _case(index: int) -> NodeCase | None:
    test = _tests()[index]
    proto = ModelProto()
    proto.CopyFrom(test.model)
    given, wanted = test.data_sets[0]
    if not all(isinstance(array, np.ndarray | np.generic) and array.dtype.kind not in "OUS" for array in (*given, *wanted)):
        return None  # sequences, and strings, which no partition hands to another
    arrays = dict(zip((value.name for value in proto.graph.input), map(np.asarray, given), strict=True))
    _make_parameters(proto, arrays)
    try:
        model = OnnxModel(test.name, test.name, *normalise(proto), False)
        sub_model = model.cut(IndexSet(range(len(model.graph))))
    except CollageError:
        return None
    inferred = infer(proto).types
    by_name = dict(zip((value.name for value in proto.graph.output), map(np.asarray, wanted), strict=True))
    inputs = tuple(arrays[tensor.name] for tensor in sub_model.inputs)
    if any(tensor.type.open_axes for tensor in sub_model.outputs):
        return None  # `test_conformance` has cases of its own for outputs of open shape
    for tensor in sub_model.outputs:
        found, shape = by_name[tensor.name], tensor.type.shape
        if (tensor.name not in inferred and shape != inputs[0].shape) or (shape, tensor.type.dtype) != (found.shape, found.dtype.name):
            return None  # the shape depends on values
    return NodeCase(test.name, model.graph.nodes[0].op, model, sub_model, inputs, tuple(by_name[t.name] for t in sub_model.outputs))


def _make_parameters(proto: ModelProto, arrays: dict[str, np.ndarray]) -> None:
    """Make initializers of the inputs that are parameters, and import the oldest opset in which the operator is the same."""
    node = proto.graph.node[0]
    opset = next(entry for entry in proto.opset_import if entry.domain == node.domain)
    schema = onnx.defs.get_schema(node.op_type, opset.version, node.domain)
    opset.version = max(schema.since_version, 7) if not node.domain else opset.version
    parameters = _PARAMETERS | _OF_ONE.get(node.op_type, frozenset())
    for index, name in enumerate(node.input):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)].name
        if name not in arrays or index == 0 or node.op_type in _DATA_FIRST or formal not in parameters:
            continue
        value = next(value for value in proto.graph.input if value.name == name)
        proto.graph.input.remove(value)
        proto.graph.initializer.append(numpy_helper.from_array(arrays.pop(name), name))


_WORKER = """
import pickle, sys
from tests.helpers.node_cases import _END, run_one
name, cases = pickle.load(sys.stdin.buffer)
for case in cases:
    sys.stdout.buffer.write(pickle.dumps(run_one(name, *case)) + _END)
    sys.stdout.buffer.flush()
"""


def run_one(toolchain_name: str, model: SubModel, inputs: Sequence[np.ndarray]) -> list[np.ndarray] | str:
    """Build `model` and run it twice; return the outputs of the second run, or why there are none."""
    from collage_core.toolchains.base import ToolchainError
    from collage_core.toolchains.registry import get

    given, outputs = [aligned_empty(tensor.type) for tensor in model.inputs], [aligned_empty(tensor.type) for tensor in model.outputs]
    for array, values in zip(given, inputs, strict=True):
        array[...] = values
    try:
        toolchain = get(toolchain_name)
        kernel = toolchain.load(toolchain.build(model, 1), model.inputs, model.outputs, 1)
        kernel.bind(given, outputs)
        kernel.run()
        for array in outputs:
            array.reshape(-1).view(np.uint8)[...] = 0x55 if array.dtype != bool else 1
        kernel.run()
    except ToolchainError as error:
        return f"{error.stage}: {error.message}"
    changed = any(array.tobytes() != np.asarray(values, array.dtype).tobytes() for array, values in zip(given, inputs, strict=True))
    return "it changed an input" if changed else [np.array(array) for array in outputs]


def run_all(toolchain: Toolchain, cases: Sequence[NodeCase]) -> Iterator[tuple[NodeCase, list[np.ndarray] | str]]:
    """Yield each case with its outputs, or with why there are none; a crash ends the worker, and a new one goes on after it."""
    left = list(cases)
    while left:
        batch = left[:BATCH]
        sent = pickle.dumps((toolchain.name, [(case.sub_model, case.inputs) for case in batch]))
        try:
            ran = subprocess.run([sys.executable, "-c", _WORKER], input=sent, capture_output=True, timeout=SECONDS)
            written, ended = ran.stdout, f"crash: the process ended with {ran.returncode}"
        except subprocess.TimeoutExpired as error:
            written, ended = error.stdout or b"", f"hang: no answer after {SECONDS} s"
        answers = written.split(_END)[:-1]
        yield from zip(batch, map(pickle.loads, answers), strict=False)
        done = len(answers)
        if done < len(batch):
            yield batch[done], ended
            done += 1
        left = left[done:]


def is_right(got: Sequence[np.ndarray], case: NodeCase, tolerance: float) -> bool:
    """Return whether outputs are those that ONNX expects: floats up to `tolerance`, relative to the largest element."""
    return all(_is_close(one, other, tolerance) for one, other in zip(got, case.wanted, strict=True))


def _is_close(got: np.ndarray, want: np.ndarray, tolerance: float) -> bool:
    if got.shape != want.shape or got.dtype != want.dtype:
        return False
    if want.dtype.kind not in "fc":
        return bool((got == want).all())
    finite = np.abs(want[np.isfinite(want)])
    return bool(np.allclose(got, want, rtol=tolerance, atol=tolerance * float(finite.max(initial=0)), equal_nan=True))
