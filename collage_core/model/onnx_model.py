"""`OnnxModel`: a network in an ONNX file, loaded and ready for partitioning.

A path, the user's shapes and values and whether to fold enter; a dataflow graph, sub-models, seeded inputs and reference outputs leave.
Each step has a file of its own: `loading`, `normalising`, `shapes`, `values`, `folding`, `provenance`, `inference`, `cutting`, `inputs`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, ValueInfoProto

from ..base.open_inputs import OpenShapes
from ..errors import CollageError
from ..graph.control_flow import ControlFlow
from ..graph.dataflow_graph import DataflowGraph, Node, Tensor, TensorType
from ..graph.index_set import IndexSet
from ..graph.value_policy import FINITE
from .files.external_data import MOST_BYTES, external_tensors, slice_of, values_of
from .files.loading import read_model
from .forms.bodies import body_proto, constant_types, control_flow, infer_with_loops, passed_on
from .forms.cutting import Cutter
from .forms.folding import fold as fold_model
from .forms.normalising import normalise
from .forms.opsets import with_known_opset
from .forms.provenance import Provenance, find_provenance
from .forms.taken_branches import take_branches
from .forms.values import Number, Value, check_not_fixed, fix_values, implied_shapes
from .forms.widening import types_of, unrounded, widened
from .model import DRAWN, MOST_SETS, Arrays, FoldedNode, InputSet, InputSets, SubModel
from .nodes import all_nodes, has_inner_graph, holds_graphs, inner_indices, inner_names, op_name, random_notes, read_by
from .reference.accuracy import default_accuracy, output_errors
from .reference.bearing import NOISE, Bearing, has_floats, sets_beside
from .reference.inputs import INTEGERS, Recipe, check_inputs, draw, find_recipe
from .reference.movements import ROUNDED_RUNS, rounded_otherwise, with_most_movement, with_movements
from .reference.ort_session import OrtSession, RuntimeRefusal
from .reference.settings import compared_values, settings_of
from .refusals import error_text, refused
from .row_sets import RowSet
from .shapes.inference import infer
from .shapes.open_axes import largest_sizes, names_after_data
from .shapes.shapes import assumed_sizes, assumed_texts, dynamic_inputs, fix_shapes, shapes_of, sizes_hint, value_options
from .sizes.proposals import fitting_shapes, with_proposals
from .types.attributes import attributes_of, constant_of
from .types.dtypes import array_type, dtype_name, element_shape, type_name
from .types.kinds import kind_of


def load_model(
    source: str | Path,
    shapes: Mapping[str, Sequence[int]] | None = None,
    fold: bool = True,
    name: str | None = None,
    *,
    values: Mapping[str, Value] | None = None,
    inputs: Arrays | None = None,
) -> OnnxModel:
    """Load the ONNX model at `source`.

    Args:
        source: Path of the file; names of samples are resolved by `collage_core.model.samples.registry.resolve`.
        shapes: Shapes of inputs by name, for those that the file leaves open (``--shape``). A symbolic batch becomes 1.
        fold: Whether to fold constants, shape arithmetic, identities, batch norms and scales; else the nodes are those of the file.
        name: The model's name; that of the file unless given.
        values: Values of small inputs by name (``--value``): these inputs become constants.
        inputs: The user's own inputs (``--inputs``): shapes that nothing else says follow them.

    Raises:
        CollageError: the file cannot be read, its model is broken or not supported, a shape is open, or a shape or value does not fit.
    """
    path = Path(source)
    file = read_model(path)
    user, gone = normalise(file.model)
    user = with_known_opset(user)
    values = values or {}
    dynamic = dynamic_inputs(user)
    said, brought = {**(implied_shapes(user, values) if values else {}), **(shapes or {})}, shapes_of(user, inputs or {})
    assumed = assumed_sizes(user, said.keys() | brought.keys())
    before = [ValueInfoProto.FromString(value.SerializeToString()) for value in user.graph.input]
    try:
        sizes = fix_shapes(user, said, brought)
    except OpenShapes as error:
        del user.graph.input[:]
        user.graph.input.extend(before)
        raise with_proposals(error, user, {**brought, **said}, values) from error
    fixed = fix_values(user, values) if values else {}
    identity = [file.digest, sorted(sizes.items()), fold, *([sorted(fixed.items())] if fixed else [])]
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    try:
        return OnnxModel(name or path.stem, digest, user, gone, fold, fixed, inputs, assumed)
    except CollageError as error:
        if error.code != "broken_model" or not dynamic:
            raise
        compared = compared_values(user)
        del user.graph.input[:]
        user.graph.input.extend(value for value in before if value.name not in fixed)
        hint = sizes_hint(fitting_shapes(user, {name: sizes[name] for name in dynamic if name not in fixed}), compared)
        raise CollageError(error.message, hint, error.code) from error


class OnnxModel:
    """A network in ONNX (satisfies `Model`).

    Args:
        name: The model's name.
        digest: The `hash`.
        user: The user's model, normalised, with fixed input shapes.
        gone: Nodes of the file that `user` does not have: constants, and nodes that nothing reads.
        fold: Whether the graph is that of the folded model.
        fixed: Inputs of the file that are constants here → their values.
        given: The user's own inputs; seeded ones unless given. The sizes of dimensions that depend on data are those of a run on them.
        assumed: Dynamic dimensions of the file without a given size, by symbol or as ``input[axis]`` → the size assumed here.

    Attributes:
        graph: Graph of the folded model, or of `user` when not folded.
        folded: Nodes of the file that are not in the graph.
        notes: What the user should know of how the model was read.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        name: str,
        digest: str,
        user: ModelProto,
        gone: tuple[FoldedNode, ...],
        fold: bool,
        fixed: Mapping[str, Number | list[Number]] | None = None,
        given: Arrays | None = None,
        assumed: Mapping[str, int] | None = None,
    ):
        self.name = name
        self.hash = digest
        self.assumed = dict(assumed or {})
        self.notes = (*assumed_texts(self.assumed), *random_notes(user))
        self.fixed = dict(fixed or {})
        self._user = user
        self._folds = fold
        self._is_body = False
        self._row_sets: list[tuple[Arrays, Mapping[str, RowSet]]] = []
        self._input_sets: list[tuple[str, InputSets]] = []
        self._bodies: dict[tuple[int, str, tuple[Tensor, ...]], OnnxModel] = {}
        self._inputs = tuple(Tensor(value.name, _input_type(value)) for value in user.graph.input)
        self._given = None if given is None else self.check_inputs(given)
        self._optimisable: ModelProto | None = None if holds_graphs(user) else user
        unfolded = user, Provenance({}, ())
        self._model, provenance = self._folded_form() if fold else unfolded
        if not self._model.graph.node:  # All of it follows from shapes or constants, and would be gone.
            self._model, provenance = unfolded
        self.folded = gone + provenance.gone
        self.precision = _precision(user)
        self.is_quantised = any(quantises(op_name(node)) for node in all_nodes(user.graph))
        if not fold:
            _ = self._reference
        if not self._model.graph.node:
            raise CollageError("the model has no nodes left without its constants", "there is nothing to partition in it", "no_nodes")
        self.graph = self._graph(provenance)
        self._cutter = Cutter(self._model, self.graph)

    def cut(self, inside: IndexSet, also: Collection[str] = ()) -> SubModel:
        """Return the sub-graph `inside` as a model of its own, which returns the tensors `also` that it makes as well."""
        return self._cutter.cut(inside, also)

    def run_part(self, inside: IndexSet, values: Arrays) -> dict[str, np.ndarray]:
        """Return what the nodes `inside` make of `values` in ONNX Runtime with optimisation off: the tensors that are read outside."""
        part = self.cut(inside)
        try:
            return OrtSession(ModelProto.FromString(part.onnx)).run(values, [tensor.name for tensor in part.outputs])
        except RuntimeRefusal as error:
            raise CollageError(f"ONNX Runtime could not run a part of the model: {error}", "try other inputs", "inputs") from error

    @cached_property
    def controls(self) -> dict[int, ControlFlow]:
        """Index of each node whose bodies the host could run → what it does with them."""
        flows = ((index, control_flow(self._model, node)) for index, node in enumerate(self._model.graph.node) if has_inner_graph(node))
        return {index: flow for index, flow in flows if flow is not None}

    def body(self, index: int, attribute: str, inputs: Sequence[Tensor], given: Arrays | None = None) -> OnnxModel:
        """Return a body of the node `index` as a model of its own, which is made once for the same types.

        Args:
            inputs: As `body_proto` takes them.
            given: Values of a run of the body, by name: sizes that depend on data are those of this run.

        Raises:
            CollageError: the body cannot be a model of its own; the reason.
        """
        key = index, attribute, tuple(inputs)
        if key not in self._bodies:
            proto = body_proto(self._model, self._model.graph.node[index], attribute, inputs)
            digest = hashlib.sha256(proto.SerializeToString(deterministic=True)).hexdigest()
            user, gone = normalise(proto)
            self._bodies[key] = OnnxModel(proto.graph.name, digest, user, gone, self._folds, {}, given)
            self._bodies[key]._is_body = True
        return self._bodies[key]

    def note_runs(self, runs: Mapping[int, Mapping[str, int]]) -> None:
        """Write into the graph how often bodies run: index of a node → attribute → count. What such a node costs depends on that."""
        nodes = list(self.graph.nodes)
        for index, counts in runs.items():
            known = nodes[index].attributes
            noted = {name: {**known[name], "runs": count} for name, count in counts.items()}
            nodes[index] = replace(nodes[index], attributes={**known, **noted})
        self.graph = replace(self.graph, nodes=tuple(nodes))
        self._cutter = Cutter(self._model, self.graph)

    def passed_on(self, index: int, attribute: str) -> dict[str, str | np.ndarray] | None:
        """Return, for a body of the node `index` that computes nothing, each output → the tensor here, or the constant, that it is."""
        found = passed_on(self._model, self._model.graph.node[index], attribute)
        if found is None:
            return None
        return {name: source if isinstance(source, str) else values_of(source) for name, source in found.items()}

    @property
    def external_bytes(self) -> int:
        """Size of the weights that stay in files; 0 where the model is not large."""
        return sum(where.length for where in {slice_of(tensor) for tensor in external_tensors(self._model)})

    @property
    def inputs_note(self) -> str:
        """Why comparing with the reference on the seeded inputs proves little; empty where it proves enough."""
        return self._recipe[1]

    def seeded_inputs(self, seed: int = 0) -> dict[str, np.ndarray]:
        """Return inputs that the model accepts and, where some were found, on which its outputs depend.

        Raises:
            CollageError: the model accepts none of the inputs that were tried.
        """
        return draw(self._inputs, self._recipe[0], seed, self._settings)

    def input_sets(self, inputs: Arrays, value_policy: str = FINITE) -> InputSets:
        """Return all inputs that candidates and artifacts are compared on: `inputs` first, then drawn and extreme ones.

        Where the policy is that NaN and infinities must be right, too, there are some with these.

        A body of another model is compared on `inputs` alone: they are those of a run of that model.
        """
        if self._is_body:
            return InputSets(InputSet(DRAWN, inputs))
        known = next((one for policy, one in self._input_sets if one.first.arrays is inputs and policy == value_policy), None)
        if known is None:
            rerun = cache(self._reordered)
            outputs = [value.name for value in self._user.graph.output]
            bearing = Bearing(
                self.graph,
                self._run_reference,
                self._as_compared,
                lambda arrays: rerun().run(arrays, outputs),
                self.activations,
                default_accuracy(self),
            )
            known = sets_beside(inputs, self.seeded_inputs, self._settings, bearing, value_policy)
            self._input_sets = [*self._input_sets[-1:], (value_policy, known)]
        return known

    def check_inputs(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Return the user's inputs, checked against the model's names, shapes and dtypes.

        Raises:
            CollageError: an input is missing, unknown, fixed to a value, or of another shape or dtype.
        """
        check_not_fixed(self.fixed, arrays)
        return check_inputs(self._inputs, arrays)

    def reference(self, inputs: Arrays) -> dict[str, np.ndarray]:
        """Return the outputs of the user's whole model in ONNX Runtime with optimisation off, by output name.

        A model in float16 or bfloat16 is computed in float32 (`reference_precision`), and its outputs are rounded at the end. An output
        that its own precision moves by more than a fraction of the accuracy is as the model itself computes it.

        Raises:
            CollageError: ONNX Runtime cannot run the model on these inputs.
        """
        try:
            return dict(self._as_compared(inputs, self._run_reference(inputs)))
        except RuntimeRefusal as error:
            raise CollageError(f"ONNX Runtime could not run the model: {error}", "try other inputs", "inputs") from error

    def _as_compared(self, inputs: Arrays, own: Arrays) -> Arrays:
        """Return what plans are compared with on `inputs`, on which the model itself makes `own`."""
        return own if self._wide is None else unrounded(own, self._wide, inputs, default_accuracy(self))

    def row_sets(self, inputs: Arrays) -> Mapping[str, RowSet]:
        """Return how the tensors of the graph are compared whose length depends on the values of `inputs`, by name.

        ONNX does not define the order of the boxes that NonMaxSuppression selects. How far rounding moves the model's own outputs is
        measured at the first call for these inputs.
        """
        for known, sets in self._row_sets:
            if known.keys() == inputs.keys() and all(known[name] is value for name, value in inputs.items()):
                return sets
        sets = with_movements(self.graph, partial(self._movements, inputs))
        self._row_sets = [*self._row_sets[1 - MOST_SETS :], (dict(inputs), sets)]
        return sets

    def _movements(self, inputs: Arrays) -> Iterator[Arrays]:
        """Yield the outputs of the model itself: on `inputs`, with sums in another order, and on inputs that differ by rounding."""
        yield self._run_reference(inputs)
        with suppress(RuntimeRefusal):
            yield self._reordered().run(inputs, [value.name for value in self._user.graph.output])
        for seed in range(ROUNDED_RUNS):
            with suppress(RuntimeRefusal):
                yield self._run_reference(rounded_otherwise(inputs, seed))

    def activations(self, inputs: Arrays, names: Iterable[str]) -> dict[str, np.ndarray]:
        """Return the values of the tensors `names` of the graph when the model runs on `inputs`. Inputs and constants may be among them."""
        wanted = list(dict.fromkeys(names))
        known = {name: inputs[name] for name in wanted if name in inputs}
        known |= {name: self.constant(name) for name in wanted if name in self.graph.constants}
        wanted_here = [name for name in wanted if name not in known]
        try:
            return known | (self._exposed.run(inputs, wanted_here) if wanted_here else {})
        except RuntimeRefusal as error:
            raise CollageError(f"ONNX Runtime could not run the model: {error}", "try other inputs", "inputs") from error

    def noise(self, inputs: Arrays, values: Arrays) -> dict[str, float]:
        """Return by how much tensors of the graph may differ from `values`, which they have on `inputs`, by rounding alone.

        It is a multiple of how far they move where only the floats among the inputs are rounded otherwise.
        """
        if not has_floats(inputs):
            return dict.fromkeys(values, 0.0)
        moved = self.activations(rounded_otherwise(inputs, 0), values)
        errors = output_errors(moved, values, self.graph.derive(with_most_movement))
        return {name: min(NOISE * error, 1.0) for name, error in errors.items()}

    def constant(self, name: str) -> np.ndarray:
        """Return the values of the constant `name` of the graph. Raises KeyError on any other name."""
        return values_of(self._constants[name])

    @cached_property
    def _constants(self) -> dict[str, TensorProto]:
        return {tensor.name: tensor for tensor in self._model.graph.initializer}

    def _folded_form(self) -> tuple[ModelProto, Provenance]:
        taken, gone = self._taken
        try:
            folded = fold_model(taken)
        except RuntimeRefusal as error:
            self._check_runs(error)
            note = f"ONNX Runtime cannot fold the model, so its nodes are those of the file: {error}"
            decided = value_options(compared_values(self._user))
            advice = f"; with {decided} only the branch that is taken counts" if decided else ""
            self.notes = (*self.notes, note + advice)
            return self._user, Provenance({}, ())
        self._optimisable = taken
        provenance = find_provenance(taken, folded)
        return folded, replace(provenance, gone=gone + provenance.gone)

    def _check_runs(self, refusal: RuntimeRefusal) -> None:
        """Raise the error for a model that ONNX Runtime does not fold, and does not run as it is either.

        Folding infers shapes also where no run comes by: in the branch of an `If` that does not fit the shapes of the inputs.
        """
        try:
            self._run_as_drawn(OrtSession(self._user), [value.name for value in self._user.graph.output])
        except RuntimeRefusal:
            raise refused(self._user, str(refusal)) from refusal

    def _run_as_drawn(self, session: OrtSession, names: list[str]) -> Arrays:
        """Return outputs of `session` on the user's inputs, or else on the first seeded ones that it accepts.

        Raises:
            RuntimeRefusal: it accepts none that were tried.
        """
        if self._given is not None:
            return session.run(self._given, names)
        *others, last = (Recipe(1.0, lowest, bound) for lowest, bound in INTEGERS)
        for recipe in others:
            with suppress(RuntimeRefusal):
                return session.run(draw(self._inputs, recipe, 0, self._settings), names)
        return session.run(draw(self._inputs, last, 0, self._settings), names)

    @cached_property
    def _reference(self) -> OrtSession:
        try:
            return OrtSession(self._user)
        except RuntimeRefusal as error:
            # A branch that is not taken need not fit the shapes of the inputs.
            taken = self._taken[0]
            if taken is not self._user:
                with suppress(RuntimeRefusal):
                    return OrtSession(taken)
            raise refused(self._user, str(error)) from error

    @cached_property
    def _taken(self) -> tuple[ModelProto, tuple[FoldedNode, ...]]:
        return take_branches(self._user, self._run_as_drawn) if holds_graphs(self._user) else (self._user, ())

    @property
    def reference_precision(self) -> str:
        """The precision in which the reference is computed where that is not the model's own; else empty."""
        return "" if self._wide is None else "float32"

    @cached_property
    def _wide(self) -> OrtSession | None:
        """The user's model in float32, where it is in less and ONNX Runtime takes it so; it is twice as large."""
        if self.precision not in ("float16", "bfloat16") or 2 * self._user.ByteSize() > MOST_BYTES:
            return None
        try:
            return OrtSession(widened(self._user))
        except RuntimeRefusal:
            return None

    @cached_property
    def _exposed(self) -> OrtSession:
        """The graph's model with every tensor that a node makes as an output."""
        model = ModelProto()
        model.CopyFrom(self._model)
        del model.graph.output[:]
        model.graph.output.extend(ValueInfoProto(name=name) for node in self._model.graph.node for name in node.output if name)
        return OrtSession(model)

    @cached_property
    def _recipe(self) -> tuple[Recipe, str]:
        rerun = partial(self._reordered().run, names=[value.name for value in self._user.graph.output])
        return find_recipe(self._inputs, self._run_reference, rerun, default_accuracy(self), self._settings)

    def _reordered(self) -> OrtSession:
        """Return the model with ONNX Runtime's own optimisations, which add in another order; it is not kept, since it may be large."""
        return self._reference if self._optimisable is None else OrtSession(self._optimisable, optimise=True)

    @cached_property
    def _settings(self) -> dict[str, np.ndarray]:
        """Values of the inputs that are not drawn; one that the model compares with a constant has its value where the model accepts it."""
        settings = settings_of(self._user, self._inputs)
        compared = {name: value for name, value in compared_values(self._user).items() if name not in settings}
        if compared:
            with suppress(RuntimeRefusal):
                self._run_reference(draw(self._inputs, Recipe(), 0, settings | compared))
                return settings | compared
        return settings

    def _run_reference(self, inputs: Arrays) -> dict[str, np.ndarray]:
        return self._reference.run(inputs, [value.name for value in self._user.graph.output])

    def _graph(self, provenance: Provenance) -> DataflowGraph:
        proto = self._model.graph
        types = self._types()
        constants = {tensor.name: constant_of(tensor) for tensor in proto.initializer}
        nodes = []
        for index, node in enumerate(proto.node):
            outputs = tuple(Tensor(name, types[name]) for name in node.output if name)
            inputs, indices = tuple(read_by(node)), inner_indices(node)
            input_types = [types.get(name) or (constants[name].type if name in constants else None) for name in inputs]
            op = op_name(node)
            nodes.append(
                Node(
                    index=index,
                    name=node.name,
                    op=op,
                    kind=kind_of(op, input_types, [tensor.type for tensor in outputs], has_inner_graph(node)),
                    inputs=inputs,
                    outputs=outputs,
                    attributes=attributes_of(node),
                    absorbed=provenance.absorbed.get(node.name, ()),
                    is_host=op == "Identity",
                    inner=tuple(inner_names(node)),
                    index_slots=tuple(slot for slot, name in enumerate(inputs) if name in indices),
                    captured=len(inputs) - len(node.input),
                )
            )
        return DataflowGraph(tuple(nodes), self._inputs, tuple(dict.fromkeys(value.name for value in proto.output)), constants)

    def _types(self) -> dict[str, TensorType]:
        """Return the type of every tensor; a type that inference leaves open is taken from a run on the user's inputs or seeded ones.

        Its dimensions stay open where they may depend on data, and else are those of the run.
        """
        inferred = infer_with_loops(self._model) if holds_graphs(self._model) else infer(self._model)
        types = inferred.types | {tensor.name: tensor.type for tensor in self._inputs}
        makers = {name: node for node in self._model.graph.node for name in node.output if name}
        open_names = [name for name in makers if name not in types]
        if not open_names:
            return types
        try:
            kinds = self._exposed.types
            types |= {name: TensorType((), kinds[name]) for name in open_names if not kinds[name].startswith("tensor")}
            open_names = [name for name in open_names if name not in types]
            if not open_names:
                return types
            values = self._exposed.run(self.seeded_inputs() if self._given is None else self._given, open_names)
        except (RuntimeRefusal, CollageError) as error:
            where = f"the shape of {open_names[0]!r}, made by node {makers[open_names[0]].name!r}, is only known when it runs"
            raise CollageError(
                f"{where}, and {error_text(error)}", "export the model with shapes that don't depend on data", "open_shape"
            ) from error
        after_data = names_after_data(self._model.graph)
        made = {name: array_type(value) for name, value in values.items()}
        largest = largest_sizes(self._model.graph, types | constant_types(self._model), inferred)
        for name in after_data.intersection(made):
            axes = inferred.open_axes(name, len(made[name].shape))
            made[name] = replace(made[name], open_axes=axes, largest_shape=largest.get(name, ()))
        return types | made


def _input_type(value: ValueInfoProto) -> TensorType:
    name, tensor = type_name(value.type), value.type.tensor_type
    if "(" in name:
        return TensorType(element_shape(value.type), name)
    return TensorType(tuple(dim.dim_value for dim in tensor.shape.dim), name)


def _precision(model: ModelProto) -> str:
    """Return `Model.precision` of a model."""
    used = {dtype_name(number) for number in types_of(model)}
    returned = {type_name(value.type) for value in model.graph.output}
    if any(name.startswith("float8") for name in returned):
        return "float8"
    return next((name for name in ("bfloat16", "float16") if name in used), "float32")


def quantises(op: str) -> bool:
    """Return whether `op` computes in quantised numbers."""
    last = op.rsplit(".", 1)[-1]
    return last == "QuantizeLinear" or "DynamicQuantize" in last or "Integer" in last or last.startswith(("QLinear", "QAttention", "QGemm"))
