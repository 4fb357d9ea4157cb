"""`make value-contract`: measures what each toolchain computes right, and writes the tables that their rules read.

Every operator of `tests/helpers/operator_calls.py` is one call for each integer type, and float64, that ONNX and ONNX Runtime take there. A
call runs on the whole range of its type with the edges, and where that is wrong on smaller numbers, until it is right: that is its limit.
ONNX Runtime unoptimised says what is right; where `onnx.reference` differs, that decides. Calls on floats run on classes of values, such as
large ones, ties or NaN (`float_values`).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import onnx.defs
from onnx import ModelProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from empty_values import EmptyCase, empty_cases, measured_empty  # noqa: E402
from float_values import CLASSES, FLOATS, FloatCase, chain_cases, float_cases, measured_floats  # noqa: E402

from collage_core.graph.value_ranges import INDEX_SLOTS  # noqa: E402
from collage_core.model.model import SubModel  # noqa: E402
from collage_core.model.types.dtypes import dtype_name, elem_type  # noqa: E402
from collage_core.toolchains.conformance.model_runs import Ran, run_models  # noqa: E402
from collage_core.toolchains.conformance.small_models import drawn, matmul, reference  # noqa: E402
from collage_core.toolchains.ncnn.ncnn_operators import CHECKS  # noqa: E402
from collage_core.toolchains.registry import get  # noqa: E402
from collage_core.toolchains.toolchain import Toolchain  # noqa: E402
from collage_core.toolchains.tvm.tvm_operators import OPERATORS  # noqa: E402
from collage_core.toolchains.values.exact_values import ABSENT, EMPTY_DTYPES, EXACT, SATURATES, Limit  # noqa: E402
from collage_core.toolchains.values.wrong_calls import TVM_UNWRITTEN  # noqa: E402
from tests.helpers.operator_calls import CALLS, Call, model_of  # noqa: E402

TABLES: Mapping[str, tuple[Path, str]] = {
    name: (ROOT / f"collage_core/toolchains/values/{name}_values.json", package)
    for name, package in {"ncnn": "ncnn", "onnxruntime": "onnxruntime", "openvino": "openvino", "tvm": "apache-tvm"}.items()
}
"""Toolchain → its table, and the package whose version the table is of."""
EXACT_TABLES = ("openvino", "tvm")
"""Toolchains whose integers and float64 are measured. ncnn takes none, and ONNX Runtime is the reference."""

WIDE = ("int64", "uint64", "int32", "uint32")
NARROW = ("int16", "uint16", "int8", "uint8")
DTYPES = (*WIDE, *NARROW, "float64")
FLOAT32, WRONG = "in float32", "wrong"
TRIED: Mapping[str, tuple[Limit, ...]] = {
    **dict.fromkeys(WIDE, (EXACT, 31, 24, 20)),
    **dict.fromkeys(NARROW, (EXACT, SATURATES)),
    "float64": (EXACT, FLOAT32),
}
"""Dtype → the limits that are tried, the best one first."""
CEILINGS: Mapping[str, Mapping[str, Limit]] = {"openvino": {"int64": 31, "uint64": 31, "float64": FLOAT32}}
"""Toolchain → dtype → the limit of rows that are found exact, but for a Cast to fewer bits. OpenVINO has 32 bits for these types; whether a
kernel sees all 64 depends on its neighbours."""

INTEGERS, EMPTY = "integers", "empty"
ALL_CLASSES = (INTEGERS, *CLASSES, EMPTY)
"""Classes of a table: integers and float64, the classes of floats, and tensors without elements."""

NARROWING = frozenset(f"Cast:{dtype}" for dtype in ("int32", "uint32", *NARROW))

MANY = 64
"""Rows of data where a call reads nothing else: some faults show in few of many numbers."""
LEFT_OUT = frozenset({"DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QuantizeLinear", "RoiAlign", "Resize"})
"""Operators on quantised numbers, whose faults show in pairs, and those whose results on integers ONNX does not define."""


@dataclass(frozen=True)
class Case:
    """A call on one element type.

    Attributes:
        row: The operator; for a Cast with the type that it makes.
        data: Names of the inputs that have this type.
    """

    row: str
    dtype: str
    model: SubModel
    data: tuple[str, ...]

    def draw(self, limit: Limit) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Return inputs on which a call with this limit is right, and what ONNX defines as the outputs.

        A limit of bits holds for the outputs too, so the inputs are halved until it does.
        """
        bounds = None if self.dtype == "float64" else np.iinfo(self.dtype)
        most = bounds.bits if bounds and limit == EXACT else limit if isinstance(limit, int) else 2
        for bits in range(most, 0, -1):
            inputs = self._inputs(bits)
            want = wanted(self.model, inputs)
            if not isinstance(limit, int) or all(np.abs(array.astype(float)).max(initial=0) < 2.0**limit for array in want):
                break
        return inputs, want

    def _inputs(self, bits: int) -> list[np.ndarray]:
        made: list[np.ndarray] = []
        for tensor in self.model.inputs:
            shape = tensor.type.shape
            if tensor.name in self.data:
                made.append(values(self.row, self.dtype, bits, shape, [array for array in made if array.shape == shape]))
            else:
                made.append((np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(tensor.type.dtype))
        return made


def values(row: str, dtype: str, bits: int, shape: Sequence[int], before: Sequence[np.ndarray]) -> np.ndarray:
    """Return seeded numbers of so many bits beside the sign, edges among them; a second operand is close to the first here and there."""
    random = np.random.default_rng([len(before), len(row)])
    if dtype == "float64":  # numbers that float32 rounds to a whole one, and others
        return random.integers(-3, 4, shape) + random.choice([1e-10, -1e-10, 1 / 3, 0.5 + 1e-10], shape)
    bounds = np.iinfo(dtype)
    low, high = max(bounds.min, -(2**bits)), min(bounds.max, 2**bits - 1)
    if row == "Pow":
        low, high = (0, 7) if before else (max(low, -(2 ** (bits // 7))), min(high, 2 ** (bits // 7) + 1))
    if row == "BitShift" and before:
        low, high = 0, bounds.bits - 1
    made = random.integers(low, high, shape, dtype, endpoint=True)
    edges = [edge for edge in (low, high, high - 1, 2**24 + 1, 2**31, 255, 1, 0) if low <= edge <= high]
    made.reshape(-1)[: len(edges)] = np.array(edges, dtype)[: made.size]
    made = random.permutation(made.reshape(-1)).reshape(shape)
    if before and row not in ("Pow", "BitShift"):
        near = np.clip(before[0].astype(float) + random.integers(-1, 2, shape), float(low), float(high))
        is_exact = np.abs(near) < 2**52
        made = np.where(random.random(shape) < 0.5, np.where(is_exact, near, 0).astype(dtype), made).astype(dtype)
        if row == "Sub" and dtype.startswith("u"):
            made = np.minimum(made, before[0]) if bits < bounds.bits else made
        if row in ("Div", "Mod"):
            made = np.where(made == 0, 3, np.where(made == np.array(-1).astype(dtype), 5, made)).astype(dtype)
    return made


def cases(op: str) -> Iterator[Case]:
    """Yield the calls of `op` on each of `DTYPES` that ONNX and ONNX Runtime take."""
    if "." in op or op in LEFT_OUT:
        return
    described = CALLS[op]
    schema = onnx.defs.get_schema(op, described.opset)
    formal = next(
        (each for slot, each in enumerate(schema.inputs) if "tensor(int32)" in each.types and (op, slot) not in INDEX_SLOTS), None
    )
    formal = formal or schema.inputs[0]
    variable = formal.type_str
    for dtype in DTYPES:
        if f"tensor({'double' if dtype == 'float64' else dtype})" not in formal.types:
            continue
        slots = [slot for slot, each in enumerate(described.inputs) if each is not None and _formal(schema, slot).type_str == variable]
        slots = [0, 1] if op == "Pow" else [slot for slot in slots if (op, slot) not in INDEX_SLOTS]
        variants: list[dict[str, Any]] = [{}]
        if op == "Cast":
            variants = [{"to": elem_type(made)} for made in (*DTYPES, "float32", "bool") if made != dtype]
        if op == "BitShift":
            variants = [{"direction": way} for way in ("LEFT", "RIGHT")]
        for attributes in variants:
            case = _case(op, described, dtype, slots, attributes)
            if case is not None:
                yield case


def _formal(schema: onnx.defs.OpSchema, slot: int) -> onnx.defs.OpSchema.FormalParameter:
    return schema.inputs[min(slot, len(schema.inputs) - 1)]


def _case(op: str, described: Call, dtype: str, slots: Sequence[int], attributes: Mapping[str, Any]) -> Case | None:
    """Return the call with the inputs `slots` of `dtype`; None where ONNX Runtime does not take it, or nothing of it is data."""
    inputs: list[Any] = list(described.inputs)
    is_elementwise = all(isinstance(given, tuple) for given in inputs) and len(set(inputs)) == 1
    for slot in slots:
        given = inputs[slot]
        if isinstance(given, np.ndarray):
            inputs[slot] = given.astype(dtype)
        else:
            shape = given[1] if given and isinstance(given[0], str) else given
            inputs[slot] = dtype, (MANY, *shape[1:]) if is_elementwise and len(shape) == 3 else shape
    call = Call(tuple(inputs), {**described.attributes, **attributes}, described.outputs, described.opset)
    try:
        model = _behind_joins(model_of(op, call), {f"x{slot}" for slot in slots})
        case = Case(f"Cast:{dtype_name(attributes['to'])}" if op == "Cast" else op, dtype, *model)
        case.draw(TRIED[dtype][-1])
    except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many kinds; what it does not take is no call of any model
        return None
    return case if case.data else None


def _behind_joins(model: SubModel, names: set[str]) -> tuple[SubModel, tuple[str, ...]]:
    """Return `model` with its data behind a Concat and a Slice: a toolchain may read its inputs better than it computes."""
    proto = ModelProto.FromString(model.onnx)
    data = tuple(tensor.name for tensor in model.inputs if tensor.name in names and tensor.type.shape)
    sizes = {tensor.name: tensor.type.shape[0] for tensor in model.inputs if tensor.name in data}
    call = proto.graph.node.pop()
    for name, size in sizes.items():
        ends = {"from": size, "to": 2 * size}
        proto.graph.initializer.extend(numpy_helper.from_array(np.array([end]), f"{name}/{key}") for key, end in ends.items())
        proto.graph.node.append(helper.make_node("Concat", [name, name], [f"{name}/two"], f"{name}/concat", axis=0))
        proto.graph.node.append(helper.make_node("Slice", [f"{name}/two", f"{name}/from", f"{name}/to"], [f"{name}/data"], f"{name}/slice"))
    call.input[:] = [f"{name}/data" if name in sizes else name for name in call.input]
    proto.graph.node.append(call)
    return SubModel(proto.SerializeToString(), model.inputs, model.outputs), data


def wanted(model: SubModel, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return what ONNX defines as the outputs: those of `onnx.reference` where it runs the model, else those of ONNX Runtime."""
    made = reference(model, inputs)
    given = {tensor.name: array for tensor, array in zip(model.inputs, inputs, strict=True)}
    try:
        with np.errstate(all="ignore"):
            other = ReferenceEvaluator(model.onnx).run(None, given)
    except Exception:  # noqa: BLE001 - it is plain Python, and fails in as many ways
        return made
    same = all(one.shape == array.shape and one.dtype == array.dtype for one, array in zip(map(np.asarray, other), made, strict=True))
    return [np.asarray(one) for one in other] if same else made


def is_right(got: Ran, want: Sequence[np.ndarray], limit: Limit) -> bool:
    tolerance = 1e-5 if limit == FLOAT32 else 1e-12
    return not isinstance(got, str) and all(
        np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True) if other.dtype.kind == "f" else np.array_equal(one, other)
        for one, other in zip(got, want, strict=True)
    )


def measured(toolchain: Toolchain, asked: Sequence[Case]) -> dict[str, dict[str, Limit]]:
    """Return row → dtype → limit; where a row has several calls, that of the worst.

    Raises:
        RuntimeError: the toolchain does not even run a call that every one computes right, so that nothing would be measured.
    """
    control = matmul()
    given = drawn(control.inputs)
    (ran,) = run_models(toolchain, [(control, given)])
    if not is_right(ran, reference(control, given), FLOAT32):
        raise RuntimeError(f"{toolchain.name} does not compute a product of floats here: {ran}")
    limits: dict[int, Limit] = dict.fromkeys(range(len(asked)), WRONG)
    left = list(range(len(asked)))
    for step in range(max(map(len, TRIED.values()))):
        left = [index for index in left if step < len(TRIED[asked[index].dtype])]
        pairs = [asked[index].draw(TRIED[asked[index].dtype][step]) for index in left]
        runs = run_models(toolchain, [(asked[index].model, inputs) for index, (inputs, _) in zip(left, pairs, strict=True)])
        further = []
        for index, (_, want), got in zip(left, pairs, runs, strict=True):
            limit = TRIED[asked[index].dtype][step]
            if is_right(got, want, limit):
                limits[index] = limit
            elif isinstance(got, str):
                limits[index] = ABSENT
            else:
                further.append(index)
        left = further
    found: dict[str, dict[str, Limit]] = {}
    for case, limit in zip(asked, limits.values(), strict=True):
        row = found.setdefault(case.row, {})
        row[case.dtype] = max(row.get(case.dtype, limit), limit, key=partial(badness, case.dtype))
    most = CEILINGS.get(toolchain.name, {})
    for row_name in found.keys() - NARROWING:
        found[row_name] |= {dtype: bits for dtype, bits in most.items() if found[row_name].get(dtype) == EXACT}
    return {name: dict(sorted(row.items())) for name, row in sorted(found.items())}


def badness(dtype: str, limit: Limit) -> int:
    """Return the position of a limit among those that are tried for a dtype; a greater one admits less."""
    tried = TRIED[dtype]
    return tried.index(limit) if limit in tried else len(tried)


def asked_of(name: str, every: int = 1) -> list[Case]:
    """Return the cases of a toolchain: each N-th one."""
    return [case for op in _ops(name) for case in cases(op)][::every] if name in EXACT_TABLES else []


def floats_asked_of(name: str, every: int = 1) -> list[FloatCase]:
    """Return the cases of a toolchain on floats: those of each N-th operator, and each N-th pair of operators."""
    dtypes = ("float32",) if name == "ncnn" else FLOATS
    single = [case for dtype in dtypes for op in _ops(name)[::every] for case in float_cases(op, dtype)]
    pairs = [case for dtype in dtypes if dtype != "bfloat16" for case in chain_cases(dtype)]
    return [*single, *pairs[::every]]


def empty_asked_of(name: str, every: int = 1) -> list[EmptyCase]:
    """Return the cases of a toolchain on tensors without elements: each N-th one."""
    dtypes = EMPTY_DTYPES[:1] if name == "ncnn" else EMPTY_DTYPES
    return [case for op in _ops(name) for dtype in dtypes for case in empty_cases(op, dtype)][::every]


def _ops(name: str) -> list[str]:
    takes = {"ncnn": CHECKS, "tvm": set(OPERATORS) - TVM_UNWRITTEN}.get(name, CALLS)
    return [op for op in sorted(CALLS) if op in takes]


def _rows(table: Mapping[str, Any]) -> str:
    return ",\n".join(f"  {json.dumps(row)}: {json.dumps(limits)}" for row, limits in table.items())


def main() -> int:
    """Measure the toolchains that are asked for, and write their tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("toolchains", nargs="*", default=sorted(TABLES), help=f"of {', '.join(sorted(TABLES))}")
    parser.add_argument("--classes", default="", help=f"measure these alone, with commas between, of {', '.join(ALL_CLASSES)}")
    given = parser.parse_args()
    classes = given.classes.split(",") if given.classes else ALL_CLASSES
    unknown = [name for name in classes if name not in ALL_CLASSES]
    if unknown:
        parser.error(f"there is no class {unknown[0]!r}; there are {', '.join(ALL_CLASSES)}")
    for name in given.toolchains:
        path, package = TABLES[name]
        version = metadata.version(package)
        kept = json.loads(path.read_text()) if given.classes else {"version": version}
        if kept["version"] != version:
            parser.error(f"{path.name} is of {package} {kept['version']}, and {version} is installed: measure it without --classes")
        parts = measured_parts(name, classes, kept)
        tables = ", ".join(f'"{part}": {{\n{_rows(table)}\n}}' for part, table in parts.items())
        path.write_text(f'{{"package": "{package}", "version": "{version}", {tables}}}\n')
        print(f"{name}: {', '.join(classes)} on {package} {version}, {path.relative_to(ROOT)}")
    return 0


def measured_parts(name: str, classes: Sequence[str], kept: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the parts of a toolchain's table: what is measured of `classes`, and all else as it is in `kept`."""
    toolchain, of_floats = get(name), [each for each in classes if each in CLASSES]
    floats: Mapping[str, Any] = kept.get("floats", {})
    if of_floats:
        floats = merged_floats(floats, measured_floats(toolchain, floats_asked_of(name), of_floats), of_floats)
    return {
        "calls": measured(toolchain, asked_of(name)) if INTEGERS in classes else kept["calls"],
        "floats": floats,
        "empty": measured_empty(toolchain, empty_asked_of(name)) if EMPTY in classes else kept.get("empty", {}),
    }


def merged_floats(kept: Mapping[str, Any], found: Mapping[str, Any], classes: Sequence[str]) -> dict[str, dict[str, dict[str, str]]]:
    """Return the rows of `found`, with the verdicts of `kept` on other classes than `classes`; each row in the order of the classes."""
    order = ["all", *CLASSES]
    return {
        row: {
            dtype: dict(
                sorted(
                    ({k: v for k, v in kept.get(row, {}).get(dtype, {}).items() if k not in classes} | verdicts).items(),
                    key=lambda pair: order.index(pair[0]),
                )
            )
            for dtype, verdicts in dtypes.items()
        }
        for row, dtypes in found.items()
    }


if __name__ == "__main__":
    sys.exit(main())
