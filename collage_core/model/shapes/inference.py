"""Infers the types of a model's tensors from the graph, by ONNX's shape inference.

A model with fixed input shapes enters; the types of all tensors leave whose shape and dtype inference finds completely, and for the
others the dimensions that it leaves open. `onnx_model` takes their types from a reference run; `proto_graph` makes a dataflow graph by
inference alone, and refuses such tensors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import onnx.shape_inference
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, TensorShapeProto, ValueInfoProto, checker, helper

from ...errors import CollageError
from ...graph.dataflow_graph import DataflowGraph, Node, OpPatternKind, Tensor, TensorType
from ..files.external_data import is_external
from ..nodes import op_name, read_by
from ..types.attributes import attributes_of, constant_of
from ..types.dtypes import dtype_name, type_proto

_SMALL_BYTES = 4096
"""Initializers up to this size are kept for inference, since shapes may be computed from them; others are replaced by their type."""


@dataclass
class Inferred:
    """The result of inference for a model's inputs and the outputs of its nodes.

    Attributes:
        types: Tensor → its type, where that is known completely.
        open_shapes: Tensor → the size of each dimension, or a symbol that stands for one, where their number is known and some are
            not. Dimensions of one symbol have the same size; a symbol that is empty stands for nothing else.
    """

    types: dict[str, TensorType] = field(default_factory=dict)
    open_shapes: dict[str, tuple[int | str, ...]] = field(default_factory=dict)

    def open_axes(self, name: str, count: int) -> tuple[int, ...]:
        """Return the axes without a size among the `count` dimensions of a tensor; all of them if inference has no result."""
        shape = self.open_shapes.get(name, ("",) * count)
        return tuple(axis for axis, size in enumerate(shape) if isinstance(size, str))


def infer(model: ModelProto, known: Iterable[ValueInfoProto] = ()) -> Inferred:
    """Return the types of tensors among inputs and outputs of nodes, as far as they are known.

    Args:
        known: Types of tensors that inference itself does not find.
    """
    # ONNX Runtime loads the model, so inference is at fault where it fails: all types are taken from the reference run.
    inferred = inferred_graph(model, known) or model.graph
    wanted = {value.name for value in model.graph.input} | {name for node in model.graph.node for name in node.output if name}
    found = Inferred()
    for value in (*inferred.input, *inferred.value_info, *inferred.output):
        if value.name not in wanted:
            continue
        if value.type.WhichOneof("value") not in (None, "tensor_type"):
            continue  # how inference names it is not how ONNX Runtime does, which has the last word
        complete, shape = _known_type(value), _open_shape(value)
        if complete is not None:
            found.types[value.name] = complete
        elif any(isinstance(size, str) for size in shape):
            found.open_shapes[value.name] = shape
    for name in _behind_misread_pools(model, found.types):
        found.types.pop(name, None)
    return found


def inferred_graph(model: ModelProto, known: Iterable[ValueInfoProto] = ()) -> GraphProto | None:
    """Return the graph of `model` with the types that ONNX infers, also in bodies, and without large weights; None where that fails."""
    try:
        return onnx.shape_inference.infer_shapes(_skeleton(model, known), data_prop=True).graph
    except (onnx.shape_inference.InferenceError, checker.ValidationError, RuntimeError, ValueError):
        return None


def _behind_misread_pools(model: ModelProto, types: dict[str, TensorType]) -> set[str]:
    """Return the outputs of pools that inference gives a window too many, and all that is computed from them.

    With `ceil_mode` a last window that begins behind the image is left out, by ONNX Runtime and since opset 22 by ONNX; inference for
    older opsets counts it.
    """
    behind: set[str] = set()
    for node in model.graph.node:
        if not behind.isdisjoint(node.input) or _is_misread(node, types):
            behind.update(filter(None, node.output))  # an output that is left out has no name, as an input that is
    return behind


def _is_misread(node: NodeProto, types: dict[str, TensorType]) -> bool:
    if node.op_type not in _POOLS or node.input[0] not in types or node.output[0] not in types:
        return False
    given = {attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute}
    if not given.get("ceil_mode", 0):
        return False
    image, made = types[node.input[0]].shape[2:], types[node.output[0]].shape[2:]
    strides, pads = given.get("strides", [1] * len(image)), given.get("pads", [0] * (2 * len(image)))
    return any((count - 1) * step >= size + pad for count, step, size, pad in zip(made, strides, image, pads, strict=False))


_POOLS = ("AveragePool", "LpPool", "MaxPool")


def value_info(name: str, known: TensorType) -> ValueInfoProto:
    """Return the type of the value `name` as ONNX writes it; data-dependent dimensions have no size."""
    shape = [None if isinstance(size, str) else size for size in known.declared_shape]
    return helper.make_value_info(name, type_proto(known.dtype, shape))


def _known_type(value: ValueInfoProto) -> TensorType | None:
    tensor = value.type.tensor_type
    dims = tensor.shape.dim
    if tensor.elem_type == TensorProto.UNDEFINED or not tensor.HasField("shape") or not all(map(_has_size, dims)):
        return None
    return TensorType(tuple(dim.dim_value for dim in dims), dtype_name(tensor.elem_type))


def _open_shape(value: ValueInfoProto) -> tuple[int | str, ...]:
    return tuple(dim.dim_value if _has_size(dim) else dim.dim_param for dim in value.type.tensor_type.shape.dim)


def _has_size(dim: TensorShapeProto.Dimension) -> bool:
    """Return whether `dim` has a size that a tensor can have; inference gives others where a branch does not fit the shapes at all."""
    return dim.HasField("dim_value") and dim.dim_value >= 0


def _skeleton(model: ModelProto, known: Iterable[ValueInfoProto]) -> ModelProto:
    """Return `model` with its large weights as inputs, with what is `known`, and without the shapes that it declares for its outputs."""
    skeleton = ModelProto(ir_version=model.ir_version)
    skeleton.opset_import.extend(model.opset_import)
    skeleton.functions.extend(model.functions)
    graph: GraphProto = skeleton.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.input.extend(model.graph.input)
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= _SMALL_BYTES and not is_external(tensor):
            graph.initializer.append(tensor)
        else:
            graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    types = {value.name: value for value in known}
    graph.output.extend(types.get(value.name) or ValueInfoProto(name=value.name) for value in model.graph.output)
    graph.value_info.extend(types.values())
    return skeleton


_KEEP_THE_TYPE = frozenset({"GroupNormalization", "RMSNormalization"})
"""Operators that ONNX's inference does not know, whose output has the type of their first input."""


def proto_graph(proto: ModelProto, outputs: Sequence[Tensor] = ()) -> DataflowGraph:
    """Return the graph of `proto`; the kinds of its nodes are not worked out.

    Args:
        outputs: Outputs whose types are known, though inference may not find them.

    Raises:
        CollageError: the shape of a tensor is not known.
    """
    types = infer(proto).types | {tensor.name: tensor.type for tensor in outputs}
    nodes = []
    for index, node in enumerate(proto.graph.node):
        if node.op_type in _KEEP_THE_TYPE and node.input[0] in types:
            types.setdefault(node.output[0], types[node.input[0]])
        lost = next((name for name in node.output if name and name not in types), None)
        if lost is not None:
            raise CollageError(f"the shape of {lost!r}, which {op_name(node)} makes, is not known", "", "open_shape")
        made = tuple(Tensor(name, types[name]) for name in node.output if name)
        nodes.append(Node(index, node.name, op_name(node), OpPatternKind.OPAQUE, tuple(read_by(node)), made, attributes_of(node)))
    inputs = tuple(Tensor(value.name, types[value.name]) for value in proto.graph.input)
    constants = {tensor.name: constant_of(tensor) for tensor in proto.graph.initializer}
    return DataflowGraph(tuple(nodes), inputs, tuple(value.name for value in proto.graph.output), constants)
