"""`sets_beside`: the sets of inputs of a model, drawn and extreme ones beside the first, as far as the model bears them.

Inputs and ways to run the model enter; `InputSets` leave, with notes on what is milder than it might be.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import CollageError
from ...graph.dataflow_graph import DataflowGraph, Node
from ...graph.value_policy import ANY, FINITE
from ...graph.value_ranges import type_range
from ..model import DRAWN, EXTREME, NON_FINITE, OWN, Arrays, InputSet, InputSets
from .accuracy import output_errors, tensors_in
from .extreme_inputs import find_extreme
from .inputs import all_finite
from .movements import is_rounded, rounded_otherwise, with_most_movement
from .ort_session import RuntimeRefusal

MOST_NOISE = 0.25
"""Most that rounding alone may move the outputs on a set beside the first one, as a multiple of the accuracy."""
NOISE = 10.0
"""Largest error of a tensor on extreme inputs, as a multiple of its change under other rounding of the inputs: sums round, too."""
_SPECIAL = (np.inf, -np.inf, np.nan)
_VERSION = 2
"""Of how the sets beside the first are made: costs that were checked on others are checked again."""


def fingerprint(model_hash: str, inputs: Arrays, value_policy: str = FINITE) -> str:
    """Return a digest of what a candidate of a model is checked on: the model, the first set, and how the others follow from these."""
    digest = hashlib.sha256(f"{model_hash} {_VERSION} {value_policy}".encode())
    for name in sorted(inputs):
        digest.update(name.encode())
        for array in tensors_in(inputs[name]):
            plain = array.dtype.kind != "O"
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).tobytes() if plain else pickle.dumps(array.tolist()))
    return digest.hexdigest()[:32]


def same_inputs(one: Arrays, other: Arrays) -> bool:
    """Return whether two sets of inputs hold the same values."""
    return one is other or (one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one))


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    pairs = list(zip(tensors_in(one), tensors_in(other), strict=False))
    if len(pairs) != len(tensors_in(other)) or len(pairs) != len(tensors_in(one)):
        return False
    return all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in pairs)


@dataclass(frozen=True)
class Bearing:
    """Judges whether a model bears some inputs: whether its own results on them are defined, finite, and more than rounding noise.

    Attributes:
        run: The reference in the model's own precision; raises RuntimeRefusal where the model does not accept the inputs.
        compared: What plans are compared with, which may be computed in more precision, from the inputs and what `run` made of them.
        rerun: Runs the model with sums in another order.
        activations: Tensors of the graph by name.
        accuracy: The largest relative error at which a result counts as right.
    """

    graph: DataflowGraph
    run: Callable[[Arrays], Arrays]
    compared: Callable[[Arrays, Arrays], Arrays]
    rerun: Callable[[Arrays], Arrays]
    activations: Callable[[Arrays, Iterable[str]], Arrays]
    accuracy: float

    def why_not(self, inputs: Arrays, *, must_be_finite: bool = True) -> str:
        """Return why the model does not bear `inputs`; empty where it does. It runs twice on inputs that it bears.

        Rows may come and go by rounding, as far as that is forgiven anywhere; how far they do is measured where rows are compared.
        """
        row_sets = self.graph.derive(with_most_movement)
        try:
            made = self.run(inputs)
            if must_be_finite and not all_finite(made):
                return "its outputs would not be finite"
            reason = self._undefined(inputs)
            if reason:
                return reason
            other = self.run(rounded_otherwise(inputs, 0)) if has_floats(inputs) else self.rerun(inputs)
            moved = max(output_errors(other, made, row_sets).values(), default=0.0)
            wide = self.compared(inputs, made)
            moved = max(moved, *output_errors(made, wide, row_sets).values()) if wide and wide is not made else moved
        except (RuntimeRefusal, CollageError) as error:
            return f"the model refuses more ({error})"
        if moved > MOST_NOISE * self.accuracy:
            return f"rounding alone would move its outputs by {moved:.2g}"
        return ""

    def _undefined(self, inputs: Arrays) -> str:
        """Return which operator has no defined result on `inputs`: a cast or a power beyond the integers of its type."""
        casts = {node.inputs[0]: node for node in self.graph.nodes if node.op == "Cast" and _is_float_to_integer(self.graph, node)}
        powers = [node for node in self.graph.nodes if node.op == "Pow" and "int" in node.outputs[0].type.dtype]
        wanted = [*casts, *(name for node in powers for name in node.inputs)]
        read = self.activations(inputs, wanted) if wanted else {}
        for name, node in casts.items():
            if not _is_within(read[name].astype(np.float64), node):
                return f"node {node.name!r} would cast numbers beyond {node.outputs[0].type.dtype}, which ONNX leaves undefined"
        for node in powers:
            base, exponent = (read[name].astype(np.float64) for name in node.inputs)
            with np.errstate(all="ignore"):
                if (exponent < 0).any() or not _is_within(base**exponent, node):
                    return f"node {node.name!r} would go beyond {node.outputs[0].type.dtype}, which ONNX leaves undefined"
        return ""


def _is_within(values: np.ndarray, node: Node) -> bool:
    low, high = type_range(node.outputs[0].type.dtype)
    return bool(np.isfinite(values).all() and (np.trunc(values) >= low).all() and (np.trunc(values) <= high).all())


def _is_float_to_integer(graph: DataflowGraph, node: Node) -> bool:
    source = graph.types.get(node.inputs[0])
    return source is not None and "float" in source.dtype and not source.is_opaque and "int" in node.outputs[0].type.dtype


def has_floats(inputs: Arrays) -> bool:
    """Return whether some input holds floats, which rounding could change."""
    return any(map(is_rounded, inputs.values()))


def with_special_values(inputs: Arrays, settings: Collection[str]) -> dict[str, Any]:
    """Return inputs with a NaN and an infinity of each sign in each tensor of floats, as far as it has room; settings stay."""
    return {name: value if name in settings else _with_special_values(value) for name, value in inputs.items()}


def _with_special_values(value: Any) -> Any:
    if not is_rounded(value):
        return value
    special = value.reshape(-1).copy()
    for position, number in zip(np.linspace(0, special.size - 1, 3).astype(int) if special.size else (), _SPECIAL, strict=False):
        special[position] = number
    return special.reshape(value.shape)


def sets_beside(
    first: Arrays, drawn: Callable[[], Arrays], settings: Collection[str], bearing: Bearing, value_policy: str = FINITE
) -> InputSets:
    """Return the sets of a model: `first`, which are the user's own inputs unless they are the drawn ones, and the others.

    Args:
        drawn: Gives drawn inputs; raises CollageError where the model accepts none.
        settings: As `find_extreme` takes them.
        value_policy: Whether NaN and infinities must be right: then there is a set with some.
    """
    further, notes, base = [], [], first
    try:
        plain = drawn()
        is_own = not same_inputs(first, plain)
        reason = bearing.why_not(plain) if is_own else ""
    except CollageError as error:
        is_own, reason = True, error.message
    if is_own and reason:
        notes.append(f"nothing is checked on drawn inputs: {reason}")
    elif is_own:
        base = plain
        further.append(InputSet(DRAWN, plain))
    extreme, milder = find_extreme(bearing.graph, base, settings, bearing.why_not)
    if same_inputs(extreme, base):
        notes += [f"nothing is checked on extreme inputs: {'; '.join(milder)}"] if milder else []
    else:
        further.append(InputSet(EXTREME, extreme))
        notes += [f"extreme inputs: {said}" for said in milder]
    if value_policy == ANY and has_floats(base):
        special = with_special_values(base, settings)
        reason = bearing.why_not(special, must_be_finite=False)
        if reason:
            notes.append(f"nothing is checked on NaN and infinities: {reason}")
        else:
            further.append(InputSet(NON_FINITE, special))
    return InputSets(InputSet(OWN if is_own else DRAWN, first), tuple(further), tuple(notes))
