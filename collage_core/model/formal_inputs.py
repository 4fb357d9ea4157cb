"""The names of an operator's inputs in its definition, such as ``X``, ``W`` and ``B`` of a ``Conv``.

Operators (as in `Node.op`) and the opset versions of the model enter. The names come from ONNX's schemas, or from ONNX Runtime's
where ONNX has none (``com.microsoft``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx
import onnx.defs
from onnxruntime.capi import _pybind_state

_NEWEST = 1 << 30


@dataclass(frozen=True, slots=True)
class FormalInputs:
    """The inputs of an operator, by name.

    Attributes:
        names: In order.
        rest: Name of every further input; None where the operator takes no more, or has inner graphs: tensors that these read from
            outside follow its own inputs, and no index tells where they begin.
    """

    names: tuple[str, ...]
    rest: str | None


def formal_inputs(ops: Iterable[str], versions: Mapping[str, int]) -> dict[str, FormalInputs]:
    """Return the inputs of each of `ops` that has a schema; of the newest version where `versions` lacks the domain."""
    by_operator = {}
    for op in sorted(set(ops)):
        domain, _, name = op.rpartition(".")
        schema = schema_of(name, domain, versions)
        if schema is not None:
            by_operator[op] = _inputs_of(schema)
    return by_operator


def _inputs_of(schema: Any) -> FormalInputs:
    single = tuple(one.name for one in schema.inputs if one.option.name != "Variadic")
    variadic = next((one.name for one in schema.inputs if one.option.name == "Variadic"), None)
    has_inner_graph = any(attribute.type.name in ("GRAPH", "GRAPHS") for attribute in schema.attributes.values())
    return FormalInputs(single, None if has_inner_graph else variadic)


def schema_of(name: str, domain: str, versions: Mapping[str, int]) -> Any:
    """Return the schema of an operator in the version that a model imports, the newest where `versions` lacks the domain; None for none."""
    version = versions.get(domain, _NEWEST)
    known = [one for one in _all_schemas().get((domain, name), ()) if one.since_version <= version]
    return max(known, key=lambda one: one.since_version, default=None)


@cache
def _all_schemas() -> Mapping[tuple[str, str], list[Any]]:
    """Return the schemas of every operator in every version: ONNX's, and those of ONNX Runtime for operators that ONNX lacks."""
    schemas: dict[tuple[str, str], list[Any]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        schemas.setdefault((schema.domain, schema.name), []).append(schema)
    known = set(schemas)
    for schema in getattr(_pybind_state, "get_all_operator_schema", list)():
        if (schema.domain, schema.name) not in known:
            schemas.setdefault((schema.domain, schema.name), []).append(schema)
    return schemas
