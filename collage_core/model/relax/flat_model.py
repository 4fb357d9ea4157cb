"""`flat_model`: a flat Relax function, which one kernel computes whole, as a sub-model in ONNX."""

from __future__ import annotations

from onnx import ModelProto
from tvm import relax

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor
from ..model import SubModel
from .regions import Region, divided, tensor_type


def flat_model(name: str, function: relax.Function) -> tuple[SubModel, tuple[int, ...]]:
    """Return a flat function as a sub-model, and the parameter of each of its inputs.

    Raises:
        CollageError: a binding of it has no ONNX equivalent.
    """
    division = divided(function)
    regions, left = division.regions, division.left
    if left:
        raise CollageError(f"the function {name!r}, binding {left[0].name!r}: {left[0].reason}", "leave it to TVM", "untranslatable")
    if len(regions) != 1:
        raise CollageError(f"the function {name!r} calls no operator", "leave it to TVM", "untranslatable")
    (region,) = regions
    outputs = _outputs(name, region, function)
    proto = region.model(name)
    by_name = dict(zip(region.names, proto.graph.output, strict=True))
    ordered = [by_name[tensor.name] for tensor in outputs]
    del proto.graph.output[:]
    proto.graph.output.extend(ordered)
    inputs = tuple(Tensor(key, tensor_type(var.ty)) for key, var in region.inputs.items())
    parameters = list(function.params)
    order = tuple(parameters.index(var) for var in region.inputs.values())
    outputs = tuple(Tensor(value.name, tensor.type) for value, tensor in zip(ordered, outputs, strict=True))
    return SubModel(proto.SerializeToString(), inputs, outputs), order


def operators_of(name: str, function: relax.Function) -> list[tuple[str, str]]:
    """Return the name of the binding and the ONNX operator of each node that a flat function becomes, in order.

    Raises:
        CollageError: as `flat_model`.
    """
    nodes = ModelProto.FromString(flat_model(name, function)[0].onnx).graph.node
    return [(node.name.partition("/")[0], node.op_type) for node in nodes]


def _outputs(name: str, region: Region, function: relax.Function) -> tuple[Tensor, ...]:
    """Return the tensors that `function` returns, in order, under their names in the region."""
    bound = {binding.var: binding.value for block in function.body.blocks for binding in block.bindings}
    result = function.body.body
    while result in bound and isinstance(bound[result], relax.Tuple | relax.Var):
        result = bound[result]
    fields = list(result.fields) if isinstance(result, relax.Tuple) else [result]
    outputs = []
    for field in fields:
        written = region.writer.values.get(field)
        if not isinstance(written, str) or written not in region.names:
            raise CollageError(
                f"the function {name!r} returns {str(field)[:40]!r}, which it does not compute", "leave it to TVM", "untranslatable"
            )
        outputs.append(Tensor(written, tensor_type(field.ty)))
    return tuple(outputs)
