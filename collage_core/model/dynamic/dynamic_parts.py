"""`dynamic_parts`: the whole model with its dimensions left dynamic, cut into the partitions of a plan that was made at one shape.

The dynamic model enters, with the same model at one shape and the names of its nodes in each partition; a `SubModel` for each leaves, in
an order in which they run. Shape arithmetic, which is gone at one shape, is in every partition that reads its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onnx import ModelProto, ValueInfoProto

from ...errors import CollageError
from ...graph.dataflow_graph import Tensor, TensorType
from ...graph.topological_order import topological_order
from ..model import SubModel
from ..nodes import read_by
from ..onnx_model import OnnxModel
from ..shapes.inference import Inferred, infer, value_info
from ..shapes.shapes import set_shape


def dynamic_parts(whole: SubModel, at_one: OnnxModel, parts: Sequence[Sequence[str]]) -> list[tuple[int, SubModel]]:
    """Return each partition as a model with dynamic dimensions, with its index in `parts`; one that has nothing to compute is left out.

    Args:
        whole: What `dynamic_model` made.
        at_one: The same model at one shape, of whose graph the nodes in `parts` are.

    Raises:
        CollageError: the dynamic model cannot be cut like that; the message says why, as half of a sentence.
    """
    cutter = _DynamicCutter(ModelProto.FromString(whole.onnx), whole, at_one, parts)
    return [(index, cutter.cut(index)) for index in cutter.order()]


class _DynamicCutter:
    """Cuts the dynamic model into parts."""

    def __init__(self, model: ModelProto, whole: SubModel, at_one: OnnxModel, parts: Sequence[Sequence[str]]):
        self._model, self._nodes = model, list(model.graph.node)
        self._maker = {name: index for index, node in enumerate(self._nodes) for name in node.output if name}
        self._outputs = [value.name for value in model.graph.output]
        del model.graph.output[:]  # An exporter may have got their declared shapes wrong.
        model.graph.output.extend(ValueInfoProto(name=name) for name in self._outputs)
        self._inputs = {tensor.name: tensor for tensor in whole.inputs}
        self._owner = self._owned(at_one, parts)
        if any(name not in self._maker for name in self._outputs):
            raise CollageError("an output of the model is a constant or an input")
        self._own_outputs()
        self._members = {part: self._with_arithmetic(part) for part in sorted(set(self._owner.values()))}
        self._reads = {part: self._read_outside(members) for part, members in self._members.items()}
        self._types = _Types(model, at_one)

    def order(self) -> list[int]:
        """Return the parts in an order in which they can run."""
        parts = list(self._members)
        position = {part: number for number, part in enumerate(parts)}
        made = [{position[self._owner[self._maker[name]]] for name in self._reads[part] if name in self._maker} for part in parts]
        order = topological_order(made)
        if len(order) < len(parts):
            raise CollageError("with dynamic dimensions two of its partitions wait for one another's shapes")
        return [parts[number] for number in order]

    def cut(self, part: int) -> SubModel:
        """Return a part as a model of its own."""
        members, wanted = self._members[part], set(self._outputs)
        for other, read in self._reads.items():
            wanted |= set(read) if other != part else set()
        made = [name for index in members if self._owner.get(index) == part for name in self._nodes[index].output if name in wanted]
        inputs = tuple(self._inputs.get(name) or Tensor(name, self._types.of(name)) for name in self._reads[part])
        outputs = tuple(Tensor(name, self._types.of(name)) for name in made)
        cut = ModelProto(ir_version=self._model.ir_version, producer_name="collage")
        cut.opset_import.extend(self._model.opset_import)
        cut.graph.name = self._nodes[members[0]].name
        cut.graph.node.extend(self._nodes[index] for index in members)
        cut.graph.input.extend(value_info(tensor.name, tensor.type) for tensor in inputs)
        cut.graph.output.extend(value_info(tensor.name, tensor.type) for tensor in outputs)
        used = {name for index in members for name in read_by(self._nodes[index])}
        cut.graph.initializer.extend(tensor for tensor in self._model.graph.initializer if tensor.name in used)
        return SubModel(cut.SerializeToString(), inputs, outputs)

    def _owned(self, at_one: OnnxModel, parts: Sequence[Sequence[str]]) -> dict[int, int]:
        """Return the index of each node that is in a part, or was folded into a node that is, with that part."""
        part_of = {name: part for part, names in enumerate(parts) for name in names}
        hosted = {node.name for node in at_one.graph.nodes if node.is_host}
        into = {one.name: one.into for one in at_one.folded if one.into is not None}
        owned = {}
        for index, node in enumerate(self._nodes):
            name = into.get(node.name, node.name)
            if name in part_of and name not in hosted:
                owned[index] = part_of[name]
        return owned

    def _own_outputs(self) -> None:
        """Give nodes that make outputs of the model, and are in no part, to the part of the last node before them; else to the first."""
        first = min(self._owner.values(), default=0)
        for name in self._outputs:
            index = self._maker[name]
            if index not in self._owner:
                self._owner[index] = max(((before, self._owner[before]) for before in self._before(index)), default=(0, first))[1]

    def _before(self, index: int) -> Iterable[int]:
        """Yield the nodes in parts from which the node `index` follows, by arithmetic that is in none."""
        waiting, seen = [index], {index}
        while waiting:
            for name in read_by(self._nodes[waiting.pop()]):
                maker = self._maker.get(name)
                if maker in self._owner:
                    yield maker
                elif maker is not None and maker not in seen:
                    seen.add(maker)
                    waiting.append(maker)

    def _with_arithmetic(self, part: int) -> list[int]:
        """Return the nodes of a part with those that are in no part and that it follows from, in order."""
        members = {index for index, owner in self._owner.items() if owner == part}
        waiting = list(members)
        while waiting:
            for name in read_by(self._nodes[waiting.pop()]):
                maker = self._maker.get(name)
                if maker is not None and maker not in self._owner and maker not in members:
                    members.add(maker)
                    waiting.append(maker)
        return sorted(members)

    def _read_outside(self, members: Sequence[int]) -> list[str]:
        """Return the tensors that nodes read and others, or the host, make; each once."""
        inside = {name for index in members for name in self._nodes[index].output}
        read = dict.fromkeys(name for index in members for name in read_by(self._nodes[index]))
        return [name for name in read if name not in inside and (name in self._maker or name in self._inputs)]


class _Types:
    """The types of tensors of the dynamic model, whose inputs get the shapes of `at_one`.

    A dimension that inference gives a size has it at every shape; the others are open, with the size at one shape.
    """

    def __init__(self, model: ModelProto, at_one: OnnxModel):
        self._dynamic: Inferred = infer(model)
        sizes = {tensor.name: tensor.type.shape for tensor in at_one.graph.inputs}
        for value in model.graph.input:
            if value.name in sizes:
                set_shape(value, sizes[value.name])
        self._fixed = infer(model).types | dict(at_one.graph.types)

    def of(self, name: str) -> TensorType:
        known = self._dynamic.types.get(name)
        if known is not None:
            return known
        if name not in self._fixed:
            raise CollageError(f"the type of {name!r}, which passes from one partition to another, is not known")
        kind = self._fixed[name]
        return kind.with_open(self._dynamic.open_axes(name, len(kind.shape)))
