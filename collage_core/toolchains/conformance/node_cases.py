"""ONNX's own node tests, as sub-models for a toolchain.

`single_nodes` makes of each test with one node a `NodeCase`: the model, its inputs and the outputs that ONNX expects. Inputs that are
parameters of the operator become initializers, as they are in a real model. `run_all` runs them in worker processes (`model_runs`).
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx.defs
from onnx import ModelProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

from ...errors import CollageError
from ...graph.index_set import IndexSet
from ...model.forms.normalising import normalise
from ...model.model import SubModel
from ...model.onnx_model import OnnxModel
from ...model.shapes.inference import infer
from ...rules.candidate import RejectionLog
from ...rules.rule import RuleContext, RuleOptions
from ..toolchain import Toolchain
from .model_runs import Ran, is_broken, is_close, run_models

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


NODE_TOLERANCE = 1e-5


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
        return None  # sequences and strings, which most toolchains are never offered
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
    if any(tensor.type.is_opaque for tensor in (*sub_model.inputs, *sub_model.outputs)):
        return None  # types of less than a byte; `test_opaque_values` has those
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


def run_all(toolchain: Toolchain, cases: Sequence[NodeCase], threads: int = 1) -> Iterator[tuple[NodeCase, Ran]]:
    """Yield each case with what came of it."""
    yield from zip(cases, run_models(toolchain, [(case.sub_model, case.inputs) for case in cases], threads), strict=True)


def is_right(got: Sequence[np.ndarray], case: NodeCase, tolerance: float) -> bool:
    """Return whether outputs are those that ONNX expects; a number that is quantised may be a neighbour, as where two are equally near."""
    may_be_next = case.op == "DynamicQuantizeLinear"
    return all(
        is_close(one, other, tolerance) or (may_be_next and one.shape == other.shape and bool((_distance(one, other) <= 1).all()))
        for one, other in zip(got, case.wanted, strict=True)
    )


def node_failures(toolchain: Toolchain, cases: Sequence[NodeCase], threads: int = 1) -> dict[str, str]:
    """Return node test → what is wrong, of those that the toolchain's rules take; a refusal at import, build or run is an answer too."""
    wrong = {}
    for case, got in run_all(toolchain, [case for case in cases if not case.refusal(toolchain)], threads):
        if isinstance(got, str):
            if is_broken(got):
                wrong[case.name] = got
        elif not is_right(got, case, NODE_TOLERANCE):
            wrong[case.name] = "wrong values"
    return wrong


def _distance(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return how far two arrays of integers are apart; infinity for others."""
    if one.dtype != other.dtype or one.dtype.kind not in "iu":
        return np.full(one.shape, np.inf)
    return np.abs(one.astype(np.int64) - other.astype(np.int64))
