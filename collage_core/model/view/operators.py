"""`operator_definitions`: what ONNX, ONNX Runtime or the model itself says of each operator that a model has.

A `ModelProto` as it was read enters; `OperatorDefinition`s of the known operators leave.
"""

from __future__ import annotations

from typing import Any

from onnx import AttributeProto, FunctionProto, ModelProto

from ...documents.model_view import OperatorAttribute, OperatorDefinition, OperatorValue
from ..formal_inputs import schema_of
from ..nodes import all_nodes, domain_of, op_name, opset_versions
from ..types.attributes import attribute_text


def operator_definitions(model: ModelProto) -> list[OperatorDefinition]:
    """Return the definition of each operator of `model`, its bodies and functions included, by name."""
    versions = opset_versions(model)
    local = {".".join(filter(None, (domain_of(function), function.name))): function for function in model.functions}
    used = {op_name(node): node for graph in (model.graph, *model.functions) for node in all_nodes(graph)}
    definitions = []
    for op, node in sorted(used.items()):
        if op in local:
            definitions.append(_of_function(op, local[op]))
        elif (schema := schema_of(node.op_type, domain_of(node), versions)) is not None:
            definitions.append(_of_schema(op, schema))
    return definitions


def _of_schema(op: str, schema: Any) -> OperatorDefinition:
    support = "deprecated" if schema.deprecated else schema.support_level.name.lower().replace("common", "stable")
    types = {constraint.type_param_str: sorted(map(_plain_type, constraint.allowed_type_strs)) for constraint in schema.type_constraints}
    return OperatorDefinition(
        op=op,
        since=schema.since_version,
        support=support,
        doc=_text(schema.doc),
        attributes=[_attribute(schema.attributes[name]) for name in sorted(schema.attributes)],
        inputs=[_value(value, types) for value in schema.inputs],
        outputs=[_value(value, types) for value in schema.outputs],
    )


def _of_function(op: str, function: FunctionProto) -> OperatorDefinition:
    required = [OperatorAttribute(name, "", True, "", "") for name in function.attribute]
    with_defaults = [
        OperatorAttribute(attribute.name, _type_of(attribute), False, attribute_text(attribute), _text(attribute.doc_string))
        for attribute in function.attribute_proto
    ]
    return OperatorDefinition(
        op=op,
        since=0,
        support="local function",
        doc=_text(function.doc_string),
        attributes=[*required, *with_defaults],
        inputs=[OperatorValue(name, [], "single", "") for name in function.input],
        outputs=[OperatorValue(name, [], "single", "") for name in function.output],
    )


def _attribute(attribute: Any) -> OperatorAttribute:
    default = getattr(attribute, "default_value", None)
    if default is None:  # ONNX Runtime gives it as bytes.
        default = AttributeProto.FromString(attribute._default_value)
    known = default.type != AttributeProto.UNDEFINED
    kind = attribute.type.name.lower()
    return OperatorAttribute(
        attribute.name, kind, attribute.required, attribute_text(default) if known else "", _text(attribute.description)
    )


def _value(value: Any, types: dict[str, list[str]]) -> OperatorValue:
    kind = value.typeStr if hasattr(value, "typeStr") else value.type_str  # ONNX Runtime's name, and ONNX's
    return OperatorValue(value.name, types.get(kind, [_plain_type(kind)]), value.option.name.lower(), _text(value.description))


def _type_of(attribute: AttributeProto) -> str:
    return str(AttributeProto.AttributeType.Name(attribute.type).lower())


def _plain_type(name: str) -> str:
    """Return the name of a type without ``tensor`` around it."""
    return name.removeprefix("tensor(").removesuffix(")") if name.startswith("tensor(") else name


def _text(doc: str | bytes | None) -> str:
    return (doc.decode(errors="replace") if isinstance(doc, bytes) else doc or "").strip()
