"""What an operator's definition calls its inputs: ``X``, ``W`` and ``B`` of a ``Conv``.

Enters: operators as `Node.op` says them, and the opset versions of the model. Leaves: their names, from ONNX's schemas, and
from ONNX Runtime's where ONNX has none (``com.microsoft``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import onnx
import onnx.defs
from onnxruntime.capi import _pybind_state

from .naming import ONNX_DOMAINS

_NEWEST = 1 << 30


@dataclass(frozen=True, slots=True)
class FormalInputs:
    """The inputs of an operator, by name.

    Attributes:
        names: In order.
        rest: What each further input is called; None where the operator takes no more, or has inner graphs: then what
            these read from outside comes after its own inputs, and no place tells which is which.
    """

    names: tuple[str, ...]
    rest: str | None


def opset_versions(model: onnx.ModelProto) -> dict[str, int]:
    """Domain → version, as the model imports them; ONNX's own domain is ``""``."""
    return {"" if entry.domain in ONNX_DOMAINS else entry.domain: entry.version for entry in model.opset_import}


def formal_inputs(ops: Iterable[str], versions: Mapping[str, int]) -> dict[str, FormalInputs]:
    """The inputs of each of `ops` that a schema is known of; the newest where `versions` does not have the domain."""
    found = {}
    for op in sorted(set(ops)):
        domain, _, name = op.rpartition(".")
        schema = _schema(name, domain, versions.get(domain, _NEWEST))
        if schema is not None:
            found[op] = _inputs_of(schema)
    return found


def _inputs_of(schema: Any) -> FormalInputs:
    single = tuple(one.name for one in schema.inputs if one.option.name != "Variadic")
    variadic = next((one.name for one in schema.inputs if one.option.name == "Variadic"), None)
    has_inner_graph = any(attribute.type.name in ("GRAPH", "GRAPHS") for attribute in schema.attributes.values())
    return FormalInputs(single, None if has_inner_graph else variadic)


def _schema(name: str, domain: str, version: int) -> Any:
    """The newest schema up to `version`; None where nobody has one."""
    known = [one for one in _all_schemas().get((domain, name), ()) if one.since_version <= version]
    return max(known, key=lambda one: one.since_version, default=None)


@cache
def _all_schemas() -> Mapping[tuple[str, str], list[Any]]:
    """Every version of every operator: ONNX's, and those of ONNX Runtime that ONNX does not have."""
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    known = set(found)
    for schema in getattr(_pybind_state, "get_all_operator_schema", list)():
        if (schema.domain, schema.name) not in known:
            found.setdefault((schema.domain, schema.name), []).append(schema)
    return found
