"""Classes of floats on which `make value-contract` runs each call of a toolchain, and verdicts on the outputs.

Calls and draws enter; a verdict for each class leaves. ONNX Runtime unoptimised and `onnx.reference` say what is right. Operators on floats
alone run in `onnx.reference` in float64, and the results are rounded. Where the two differ:

- on finite inputs, elements count only where both agree: no toolchain is refused for rounding that the reference has, too, or for an
  overflow of a naive formula (`onnx.reference` takes the exponentials of Softplus and ReduceLogSumExp as they are);
- on NaN and infinities `onnx.reference` decides, but for `OWN_REFERENCE`, whose formulas there are wrong or leave NaN out.

ONNX Runtime as a target is compared with itself unoptimised: its row says what its optimisations change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from collage_core.graph.value_ranges import INDEX_SLOTS
from collage_core.model.model import SubModel
from collage_core.model.types.dtypes import elem_type
from collage_core.toolchains.conformance.model_runs import run_models_on_sets
from collage_core.toolchains.conformance.small_models import node, normal, reference, sub_model, tensor
from collage_core.toolchains.toolchain import Toolchain
from collage_core.toolchains.values.exact_values import ABSENT, EXPONENTS, FINITE_RIGHT, MASKED, RIGHT, VERDICTS, WHOLE, WRONG
from tests.helpers.operator_calls import CALLS, Call, call, ints, model_of, scalar

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def _normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return random.standard_normal(shape)


def _some(*special: float, share: float = 0.2) -> Draw:
    """Return a draw of normal floats with some of `special` among them, at least one of them where there are elements."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        made = random.standard_normal(shape).reshape(-1)
        special_at = np.flatnonzero(random.random(made.size) < share)
        special_at = special_at if special_at.size else np.arange(min(1, made.size))
        made[special_at] = random.choice(special, special_at.size)
        return made.reshape(shape)

    return draw


def _masked(made: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return `made` with some of its rows along each axis −∞, as a mask of attention hides all keys of some queries."""
    for axis in range(made.ndim):
        shape = tuple(1 if each == axis else size for each, size in enumerate(made.shape))
        made = np.where(random.random(shape) < 0.3, -np.inf, made)
    return made


_INEXACT = (1, 41, 47, 55, 61, 83, 97, 107)
"""Numbers of which the product with their reciprocal, each rounded to float32, is not 1, beside 1."""
CLASSES: Mapping[str, Draw] = {
    "ordinary": _normal,
    "large": lambda random, shape: random.uniform(-1, 1, shape) * random.choice([1, 20, 100, 1e3, 1e4], shape),
    "offset": lambda random, shape: 1e4 + random.standard_normal(shape),
    "tails": lambda random, shape: random.uniform(-80, 80, shape),
    "huge": _some(1e30, -1e30, 3e38, -3e38, 1e20, share=0.1),
    "zeros": _some(0.0),
    "signed zeros": _some(0.0, -0.0, share=0.5),
    "subnormal": lambda random, shape: random.standard_normal(shape) * 1e-39,
    "ties": lambda random, shape: random.integers(-2, 3, shape).astype(float),
    "halves": lambda random, shape: random.integers(-9, 9, shape) * 0.5 + 0.25 * random.integers(0, 2, shape),
    WHOLE: lambda random, shape: (random.integers(1, 21, shape) * random.choice(_INEXACT, shape)).astype(float),
    EXPONENTS: lambda random, shape: random.uniform(88.4, 88.7, shape) * random.choice([1, -1], shape),
    "infinite": _some(np.inf, -np.inf),
    MASKED: lambda random, shape: _masked(random.standard_normal(shape), random),
    "nan": _some(np.nan),
}
"""Name of a class → how its floats are drawn."""
FLOATS = ("float32", "float16", "bfloat16")
IMAGE = (1, 4, 8, 8)
FURTHER: Mapping[str, Sequence[Call]] = {
    "ArgMax": [call((2, 300), axis=1), call((2, 300), axis=1, select_last_index=1), call((3, 5), axis=0)],
    "ArgMin": [call((2, 300), axis=1)],
    "MaxPool": [call(IMAGE, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])],
    "QuantizeLinear": [call((2, 3, 40), scalar(0.5), scalar(3, "uint8")), call((2, 3, 40), scalar(0.5), scalar(0, "int8"))],
    "Pow": [call((2, 3, 40), scalar(exponent)) for exponent in (2.0, 0.5, -1.0, 3.0)],
    "TopK": [
        call((2, 300), ints(5), outputs=2),
        call((2, 300), ints(100), outputs=2),
        call((2, 300), ints(100), outputs=2, largest=0),
        call((40, 20), ints(20), outputs=2),
        call((40, 20), ints(3), outputs=2, axis=0),
    ],
}
"""Operator → calls of it beside that of `CALLS`."""
OWN_REFERENCE = frozenset({"AveragePool", "LRN", "LpPool", "Resize"})
"""Operators that ONNX Runtime decides: `onnx.reference` averages what is not NaN, sums other windows, or multiplies infinity by 0."""
UNDEFINED = frozenset(
    [
        (op, name) for op in ("Cast", "CastLike") for name in ("infinite", MASKED, "nan", "huge")
    ]  # ONNX does not define the integers that are made.
    + [("Conv", "huge")]  # Whether partial sums overflow depends on their order, which ONNX does not define either.
)
ROUNDED = frozenset({"QuantizeLinear"})
"""Operators whose call of `CALLS` has a scale that no float is: halves of it do not exist."""
MANY = 64


@dataclass(frozen=True)
class FloatCase:
    """A call on floats of one type, with the inputs that are drawn."""

    row: str
    dtype: str
    model: SubModel
    data: tuple[str, ...]

    def sets(self, classes: Collection[str] = tuple(CLASSES)) -> dict[str, list[list[np.ndarray]]]:
        """Return class → sets of inputs, of `classes`: all data of the class, then each input of several alone."""
        return {name: [self._inputs(CLASSES[name], chosen) for chosen in self._chosen()] for name in classes if self._is_defined(name)}

    def _is_defined(self, name: str) -> bool:
        return (self.row.partition(" ")[0], name) not in UNDEFINED and (name != WHOLE or (self.dtype == "float32" and " " not in self.row))

    def _chosen(self) -> list[tuple[str, ...]]:
        return [self.data, *((name,) for name in self.data if len(self.data) > 1)]

    def _inputs(self, draw: Draw, chosen: Sequence[str]) -> list[np.ndarray]:
        random = np.random.default_rng(len(chosen) + len(self.row))
        made = []
        for given in self.model.inputs:
            shape, dtype = given.type.shape, given.type.dtype
            if given.name in self.data:
                wide = draw(random, shape) if given.name in chosen else random.standard_normal(shape)
                with np.errstate(over="ignore"):
                    made.append(wide.astype(_numpy(dtype)))
            else:
                made.append((np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype))
        return made


def _numpy(dtype: str) -> Any:
    return helper.tensor_dtype_to_np_dtype(elem_type(dtype))


def float_cases(op: str, dtype: str) -> Iterator[FloatCase]:
    """Yield the calls of `op` on floats of `dtype` that ONNX Runtime takes."""
    for described in (*([] if op in ROUNDED else [CALLS[op]]), *FURTHER.get(op, ())):
        data = [slot for slot, given in enumerate(described.inputs) if isinstance(given, tuple) and not _is_named(given)]
        data = [slot for slot in data if (op, slot) not in INDEX_SLOTS]
        if not data:
            continue
        inputs: list[Any] = list(described.inputs)
        is_elementwise = all(isinstance(given, tuple) or given is None for given in inputs) and len({inputs[slot] for slot in data}) == 1
        for slot, given in enumerate(inputs):
            if slot in data:
                shape = given
                inputs[slot] = dtype, (MANY, *shape[1:]) if is_elementwise and len(shape) == 3 else shape
            elif isinstance(given, np.ndarray) and given.dtype == np.float32 and op not in ("Resize", "QuantizeLinear"):
                inputs[slot] = given.astype(_numpy(dtype))
        changed = Call(tuple(inputs), described.attributes, described.outputs, described.opset)
        try:
            model = model_of(op, changed)
            case = FloatCase(op, dtype, model, tuple(f"x{slot}" for slot in data))
            reference(model, case.sets()["ordinary"][0])
        except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many kinds; what it does not take is no call of any model
            continue
        yield case


def _is_named(given: Any) -> bool:
    return bool(given) and isinstance(given[0], str)


def _widened(model: SubModel) -> ModelProto:
    """Return the model in float64."""
    proto = ModelProto.FromString(model.onnx)
    narrow = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)
    for value in (*proto.graph.input, *proto.graph.output):
        if value.type.tensor_type.elem_type in narrow:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for index, constant in enumerate(proto.graph.initializer):
        if constant.data_type in narrow:
            proto.graph.initializer[index].CopyFrom(
                numpy_helper.from_array(numpy_helper.to_array(constant).astype(np.float64), constant.name)
            )
    return proto


def wanted(case: FloatCase, inputs: Sequence[np.ndarray], name: str, by_runtime: bool = False) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return for each output what is right, and which elements of it count."""
    own = reference(case.model, inputs)
    if by_runtime or case.row in OWN_REFERENCE or " " in case.row:
        return [(array, _counts(array, name)) for array in own]
    is_wide = all(array.dtype.kind in "fV" for array in own)
    given = {
        read.name: array.astype(np.float64) if is_wide and read.type.dtype in FLOATS else array
        for read, array in zip(case.model.inputs, inputs, strict=True)
    }
    try:
        with np.errstate(all="ignore"):
            evaluator = ReferenceEvaluator(_widened(case.model) if is_wide else case.model.onnx)
            other = [np.asarray(one) for one in evaluator.run(None, given)]
    except Exception:  # noqa: BLE001 - it is plain Python, and fails in as many ways
        return [(array, _counts(array, name)) for array in own]
    if any(one.shape != array.shape for one, array in zip(other, own, strict=True)):
        return [(array, _counts(array, name)) for array in own]
    return [_decided(one, array, name) for one, array in zip(other, own, strict=True)]


def _counts(own: np.ndarray, name: str) -> np.ndarray:
    """Return which elements of the class say something: of `WHOLE` whole numbers and halves, which a Round that reads them needs exactly.

    Beyond 2^20 rounding makes whole numbers of others.
    """
    if name != WHOLE or own.dtype.kind != "f":
        return np.ones(own.shape, bool)
    return np.asarray((np.rint(2 * own) == 2 * own) & (np.abs(own) < 2**20))


def _decided(other: np.ndarray, own: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):
        other, counts = other.astype(own.dtype), _counts(own, name)
    if name in ("infinite", MASKED, "nan"):
        return other, counts
    return own, counts & _close(other, own, name)


def _close(got: np.ndarray, want: np.ndarray, name: str) -> np.ndarray:
    """Return which elements are right: up to a share of themselves, and of the largest one where sums may cancel."""
    if want.dtype.kind not in "fV":
        return np.asarray(got == want)
    if name == WHOLE:
        return np.asarray(got == want)
    is_half = want.dtype.itemsize == 2
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    relative = 1e-2 if is_half or name == "tails" else 1e-3
    absolute = _ABSOLUTE.get(name, 1e-4) + _OF_LARGEST.get(name, 1e-6) * scale
    if is_half and name not in ("subnormal", "tails"):
        absolute += 4e-3 * max(scale, 1.0)
    with np.errstate(all="ignore"):
        close = np.isclose(got, want, rtol=relative, atol=absolute, equal_nan=True)
    if name == "signed zeros":
        close &= np.signbit(got) == np.signbit(want)
    return close


_ABSOLUTE: Mapping[str, float] = {"tails": 1e-37, "subnormal": 0.0, "offset": 2e-2, "large": 1e-3}
_OF_LARGEST: Mapping[str, float] = {"tails": 0.0, "subnormal": 1e-3, "offset": 1e-5, "large": 1e-5}
"""Class → how far an element may be off, absolutely and as a share of the largest."""


def verdict(got: Sequence[np.ndarray], want: Sequence[tuple[np.ndarray, np.ndarray]], name: str) -> str:
    """Return how right the outputs of a call are on floats of the class `name`."""
    worst = RIGHT
    for made, (right, counts) in zip(got, want, strict=True):
        if made.shape != right.shape or made.dtype != right.dtype:
            return WRONG
        close = _close(made, right, name) | ~counts
        if not close.all():
            finite = np.isfinite(right.astype(np.float64)) if right.dtype.kind in "fV" else np.ones(right.shape, bool)
            worst = max(worst, FINITE_RIGHT if close[finite].all() else WRONG, key=VERDICTS.index)
    return worst


def measured_floats(
    toolchain: Toolchain, asked: Sequence[FloatCase], classes: Collection[str] = tuple(CLASSES)
) -> dict[str, dict[str, dict[str, str]]]:
    """Return row → dtype → class → verdict, of `classes` on which a call is not right; that of its worst call where it has several.

    Raises:
        RuntimeError: the toolchain runs none of the calls, so that nothing would be measured.
    """
    drawn = [case.sets(classes) for case in asked]
    sets = [[inputs for each in by_class.values() for inputs in each] for by_class in drawn]
    runs = run_models_on_sets(toolchain, [(case.model, given) for case, given in zip(asked, sets, strict=True)])
    table: dict[str, dict[str, dict[str, str]]] = {}
    taken: set[tuple[str, str]] = set()
    refused = ""
    for case, by_class, got in zip(asked, drawn, runs, strict=True):
        row = table.setdefault(case.row, {}).setdefault(case.dtype, {})
        if isinstance(got, str):
            refused = got
            continue
        taken.add((case.row, case.dtype))
        outputs = iter(got)
        for name, inputs in ((name, one) for name, each in by_class.items() for one in each):
            by_runtime = toolchain.name == "onnxruntime"
            found = verdict(next(outputs), wanted(case, inputs, name, by_runtime), name)
            if found != RIGHT:
                row[name] = max(row.get(name, found), found, key=VERDICTS.index)
    if not taken:
        raise RuntimeError(f"{toolchain.name} runs no call on floats here: {refused}")
    for op, dtypes in table.items():
        dtypes.update({dtype: {"all": ABSENT} for dtype in dtypes if (op, dtype) not in taken})
    return {op: dict(sorted(dtypes.items())) for op, dtypes in sorted(table.items())}


def chain_cases(dtype: str) -> Iterator[FloatCase]:
    """Yield pairs of calls that toolchains fuse into one kernel, whose end may then treat NaN otherwise than alone."""
    ends: Mapping[str, tuple[str, dict[str, Any], dict[str, np.ndarray]]] = {
        "Clip": (" low high", {}, {"low": np.zeros((), dtype), "high": np.full((), 6, dtype)}),
        "HardSigmoid": ("", {}, {}),
        "LeakyRelu": ("", {}, {}),
        "Relu": ("", {}, {}),
        "Sigmoid": ("", {}, {}),
        "Tanh": ("", {}, {}),
    }
    heads: Mapping[str, tuple[tuple[int, ...], str, dict[str, np.ndarray], tuple[int, ...]]] = {
        "Add": ((64, 3, 4), "x x", {}, (64, 3, 4)),
        "Conv": ((1, 16, 8, 8), "x w", {"w": normal(16, 16, 3, 3, scale=0.1).astype(dtype)}, (1, 16, 6, 6)),
        "Gemm": ((24, 16), "x w", {"w": normal(16, 16, scale=0.3).astype(dtype)}, (24, 16)),
        "MatMul": ((2, 24, 16), "x w", {"w": normal(16, 16, scale=0.3).astype(dtype)}, (2, 24, 16)),
    }
    for head, (shape, read, weights, made) in heads.items():
        for end, (more, attributes, constants) in ends.items():
            nodes = [node(head, read, "m"), node(end, f"m{more}", "y", **attributes)]
            model = sub_model(nodes, [tensor("x", shape, dtype)], [tensor("y", made, dtype)], weights | constants)
            yield FloatCase(f"{head} {end}", dtype, model, ("x",))
