"""The error of computed tensors against the reference: the one definition of what is right.

Arrays of a plan or candidate and those of the reference enter; a number leaves. NaN and infinities of the reference must be where it has
them; under the value policy `FINITE` anything may be there, in tensors that hold a finite value as well. A tensor without one would
otherwise be compared with nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ...graph.value_policy import ANY, FINITE
from ..model import Arrays, Model
from ..row_sets import RowSet, row_errors

FLOAT_ACCURACY = 1e-3
QUANTISED_ACCURACY = 2e-2
COARSE_ACCURACY: Mapping[str, float] = {"float16": 1e-2, "bfloat16": 5e-2, "float8": 0.13}
"""Precision of a model → the accuracy of all that is coarser than float32: some roundings of that type, for float8 a single one."""


def default_accuracy(model: Model) -> float:
    """Return the largest relative error at which a result counts as right, unless the user sets another."""
    coarse = COARSE_ACCURACY.get(model.precision, FLOAT_ACCURACY)
    return max(coarse, QUANTISED_ACCURACY) if model.is_quantised else coarse


def tensors_in(value: Any) -> list[np.ndarray]:
    """Return the tensors of a value: of a tensor itself, of a sequence its elements, of an optional what it holds, of a map its values."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [tensor for part in value for tensor in tensors_in(part)]
    if isinstance(value, dict):
        return [np.asarray(part) for part in value.values()]
    return [np.asarray(value)]


def _form(value: Any) -> Any:
    """Return how a value is made of tensors; equal for two values that can be compared tensor by tensor."""
    if isinstance(value, list | tuple):
        return [_form(part) for part in value]
    return list(value) if isinstance(value, dict) else value is None


def relative_error(got: Any, want: Any, value_policy: str = ANY) -> float:
    """Return the error of one value: of a tensor, or the largest one of the tensors in a sequence, an optional or a map.

    It is infinite where they are not as many, or one value is absent.
    """
    if isinstance(got, np.ndarray) and isinstance(want, np.ndarray):
        return _tensor_error(got, want, value_policy)
    if _form(got) != _form(want):
        return math.inf
    pairs = zip(tensors_in(got), tensors_in(want), strict=True)
    return max((_tensor_error(one, other, value_policy) for one, other in pairs), default=0.0)


def _tensor_error(got: np.ndarray, want: np.ndarray, value_policy: str) -> float:
    """Return the error of one tensor.

    It is max|got − want| / max|want| for floats, absolute where `want` is all zeros, and infinite where `got` is not finite and `want`
    is. Where `want` is not finite, so must `got` be, unless the policy allows anything there. It is the share of elements that differ for
    integers, booleans and strings, and infinite where shape or dtype differ.
    """
    if has_other_type(got, want):
        return math.inf
    if want.size == 0:
        return 0.0
    if not is_float(want.dtype):
        return float(np.mean(got != want))
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    return _float_error(got.astype(wide), want.astype(wide), value_policy)


def has_other_type(got: Any, want: Any) -> bool:
    """Return whether shape or dtype differ; of values that are no tensors, whether these are not as many."""
    if isinstance(got, np.ndarray) and isinstance(want, np.ndarray):
        return got.shape != want.shape or got.dtype != want.dtype
    return bool(_form(got) != _form(want))


def worst_element(got: Any, want: Any, value_policy: str = ANY) -> str:
    """Return which element has the largest error, as in "[0, 3] is 1.5, not 2.5", or that shape or dtype differ."""
    if not isinstance(got, np.ndarray) or not isinstance(want, np.ndarray):
        return f"it holds {len(tensors_in(got))} tensors, not {len(tensors_in(want))}" if has_other_type(got, want) else ""
    if has_other_type(got, want):
        return f"it is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return ""
    position = np.unravel_index(int(np.argmax(_element_errors(got, want, value_policy))), want.shape)
    return f"{[int(index) for index in position]} is {_shown(got[position])}, not {_shown(want[position])}"


def _shown(value: Any) -> str:
    kind = np.asarray(value).dtype
    if kind.kind == "c":
        return f"{complex(value):.6g}"
    return f"{float(value):.6g}" if is_float(kind) else str(value)


def _element_errors(got: np.ndarray, want: np.ndarray, value_policy: str) -> np.ndarray:
    """Return the error of each element: infinite where one is not finite and the other differs, and the policy does not allow that."""
    if not is_float(want.dtype):
        return np.asarray(got != want)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    is_same = (got == want) | (np.isnan(got) & np.isnan(want))
    if _allows_any_for_infinite(want, value_policy):
        is_same |= ~np.isfinite(want)
    is_finite = np.isfinite(got) & np.isfinite(want)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(is_same, 0.0, np.where(is_finite, np.abs(got - want), np.inf))


NO_ROW_SETS: Mapping[str, RowSet] = MappingProxyType({})
NO_STEPS: Mapping[str, float] = MappingProxyType({})


def output_errors(
    got: Arrays,
    want: Arrays,
    row_sets: Mapping[str, RowSet] = NO_ROW_SETS,
    value_policy: str = ANY,
    steps: Mapping[str, float] = NO_STEPS,
) -> dict[str, float]:
    """Return the error of each output of `want`, by name; infinite for one that is missing in `got`.

    Args:
        steps: Integers that were rounded from floats → the error of a difference by one; the largest difference counts.
        row_sets: How outputs whose length depends on values are compared where they differ element by element. Rows with NaN or
            infinities are partners only of rows that have these in the same columns, whatever the policy.
    """
    errors = {name: relative_error(got[name], wanted, value_policy) if name in got else math.inf for name, wanted in want.items()}
    for name, step in steps.items():
        if 0 < errors.get(name, 0.0) < math.inf:
            errors[name] = step * float(np.abs(np.subtract(got[name], want[name], dtype=np.int64)).max())
    if any(errors.get(name, 0.0) > 0 for name in row_sets):
        errors |= {name: min(errors[name], error) for name, error in row_errors(got, want, row_sets).items()}
    return errors


def largest_error(got: Arrays, want: Arrays, value_policy: str = ANY) -> float:
    """Return the largest error over all outputs of `want`, which is the error of the whole."""
    return max(output_errors(got, want, value_policy=value_policy).values(), default=0.0)


def without_finite(want: Arrays) -> list[str]:
    """Return the float outputs without any finite value: comparing them proves nothing about finite values."""
    return [name for name, value in want.items() if any(_is_nowhere_finite(array) for array in tensors_in(value))]


def _is_nowhere_finite(array: np.ndarray) -> bool:
    if array.size == 0 or not is_float(array.dtype):
        return False
    wide = np.complex128 if array.dtype.kind == "c" else np.float64
    return not np.isfinite(array.astype(wide)).any()


def is_float(dtype: np.dtype) -> bool:
    """Return whether `dtype` is a float, a complex, or a small float of an extension of numpy."""
    return dtype.kind in "fc" or "float" in dtype.name


def _allows_any_for_infinite(want: np.ndarray, value_policy: str) -> bool:
    """Return whether any value may be where `want` is NaN or infinite: under `FINITE`, but not where all of it is."""
    return value_policy == FINITE and bool(np.isfinite(want).any())


def _float_error(got: np.ndarray, want: np.ndarray, value_policy: str) -> float:
    finite = np.isfinite(want)
    if not finite.all():
        if not _allows_any_for_infinite(want, value_policy) and not np.array_equal(got[~finite], want[~finite], equal_nan=True):
            return math.inf
        got, want = got[finite], want[finite]
        if want.size == 0:
            return 0.0
    if not np.isfinite(got).all():
        return math.inf
    size = float(np.max(np.abs(want)))
    if size > 0:
        # Divide first: the difference of two large numbers may overflow.
        got, want = got / size, want / size
    return float(np.max(np.abs(got - want)))
