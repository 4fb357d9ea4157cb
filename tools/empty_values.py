"""Calls on tensors without elements, and what a toolchain makes of them, for `make value-contract`.

Each call of `tests/helpers/operator_calls.py` is taken with one dimension of its data 0, as far as ONNX Runtime runs that. Some results
have elements all the same: the sum of none is 0, and the largest of none the least number of the type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np

from collage_core.graph.value_ranges import INDEX_SLOTS
from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.model_runs import is_broken, run_models
from collage_core.toolchains.conformance.small_models import drawn, reference
from collage_core.toolchains.toolchain import Toolchain
from collage_core.toolchains.values.exact_values import ABSENT, RIGHT, WRONG
from tests.helpers.operator_calls import CALLS, Call, Given, model_of

WORST_LAST = (RIGHT, ABSENT, WRONG)


@dataclass(frozen=True)
class EmptyCase:
    """A call of which some data has no elements.

    Attributes:
        want: The outputs of ONNX Runtime, unoptimised.
    """

    row: str
    dtype: str
    model: SubModel
    inputs: Sequence[np.ndarray]
    want: Sequence[np.ndarray]


def empty_cases(op: str, dtype: str) -> Iterator[EmptyCase]:
    """Yield the calls of `op` on `dtype` with each dimension of the data 0 in turn, of those that ONNX Runtime runs."""
    described = CALLS[op]
    data = [slot for slot, given in enumerate(described.inputs) if _shape(given) and (op, slot) not in INDEX_SLOTS]
    rank = max((len(_shape(described.inputs[slot])) for slot in data), default=0)
    own = next((given[0] for given in map(described.inputs.__getitem__, data[:1]) if _is_named(given)), dtype)
    if own != dtype and dtype != "float32":
        return  # The call has a type of its own, and is measured once.
    for axis in range(rank):
        inputs: list[Any] = [_emptied(given, axis, dtype) if slot in data else given for slot, given in enumerate(described.inputs)]
        try:
            model = model_of(op, Call(tuple(inputs), described.attributes, described.outputs, described.opset))
            given = drawn(model.inputs)
            want = reference(model, given)
        except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many kinds; what it does not take is no call of any model
            continue
        yield EmptyCase(op, own, model, given, want)


def _is_named(given: Given) -> TypeGuard[tuple[str, tuple[int, ...]]]:
    """Return whether an input says its type."""
    return isinstance(given, tuple) and bool(given) and isinstance(given[0], str)


def _shape(given: Given) -> tuple[int, ...]:
    """Return the shape of data; none of a weight, or of what is absent."""
    if given is None or isinstance(given, np.ndarray):
        return ()
    return given[1] if _is_named(given) else tuple(size for size in given if isinstance(size, int))


def _emptied(given: Given, axis: int, dtype: str) -> Given:
    """Return an input with 0 elements along `axis`, of `dtype` unless it has a type of its own."""
    shape = _shape(given)
    return given[0] if _is_named(given) else dtype, tuple(0 if each == axis else size for each, size in enumerate(shape))


def measured_empty(toolchain: Toolchain, asked: Sequence[EmptyCase]) -> dict[str, dict[str, str]]:
    """Return row → dtype → verdict, that of its worst call, of what a toolchain does not take or computes wrong."""
    table: dict[str, dict[str, str]] = {}
    for case, got in zip(asked, run_models(toolchain, [(case.model, case.inputs) for case in asked]), strict=True):
        row = table.setdefault(case.row, {})
        verdict = (WRONG if is_broken(got) else ABSENT) if isinstance(got, str) else _verdict(got, case.want)
        row[case.dtype] = max(row.get(case.dtype, RIGHT), verdict, key=WORST_LAST.index)
    return {op: {dtype: verdict for dtype, verdict in sorted(row.items()) if verdict != RIGHT} for op, row in sorted(table.items())}


def _verdict(got: Sequence[np.ndarray], want: Sequence[np.ndarray]) -> str:
    same = all(
        one.shape == other.shape and one.dtype == other.dtype and np.allclose(one, other, rtol=1e-5, equal_nan=True)
        for one, other in zip(got, want, strict=True)
    )
    return RIGHT if same else WRONG
