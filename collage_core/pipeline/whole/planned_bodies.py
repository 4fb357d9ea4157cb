"""The bodies of a plan's nodes, ready to be built: `control_model`.

A model, a plan and a partition of it that the host runs enter; the partition's bodies leave, each cut into the partitions of its own plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...documents.plan import PlanPartition
from ...errors import CollageError
from ...graph.dataflow_graph import DataflowGraph, Tensor, TensorType
from ...model.onnx_model import OnnxModel
from ...model.types.dtypes import array_type
from ...rewrite.partition_models import BodyModel, ControlModel, PartitionModel
from ...rewrite.plan import Plan, PlannedBody
from ...rules.spec import HOST_TARGET

Pieces = Callable[[OnnxModel, Plan], Sequence[PartitionModel]]
"""Cuts a model into the partitions of a plan."""


def control_model(model: OnnxModel, plan: Plan, partition: PlanPartition, pieces: Pieces) -> ControlModel | None:
    """Return the bodies of `partition`; None where it is no node whose bodies the host runs.

    Raises:
        CollageError: the plan lacks the plan of a body, or has that of another body.
    """
    index = partition.nodes[0]
    if partition.target != HOST_TARGET or index not in model.controls:
        return None
    return bodies_of_node(model, index, plan.bodies.get(partition.names[0], {}), pieces)


def bodies_of_node(model: OnnxModel, index: int, planned: Mapping[str, PlannedBody], pieces: Pieces) -> ControlModel:
    """Return the bodies of the node `index`, each by its plan. Raises as `control_model`."""
    flow = model.controls[index]
    bodies, signatures = {}, {}
    for attribute, signature in flow.bodies.items():
        passed = model.passed_on(index, attribute)
        if passed is not None:
            bodies[attribute], signatures[attribute] = (
                _passing(model, passed),
                replace(signature, outputs=_names(signature.outputs, passed)),
            )
            continue
        body = _checked(model, index, attribute, planned)
        names = _sources(body.graph, signature.outputs)
        constants = {name: body.constant(name) for name in names if name in body.graph.constants}
        outputs = tuple(Tensor(name, _type_of(body.graph, name)) for name in names)
        bodies[attribute] = BodyModel(tuple(pieces(body, planned[attribute].plan)), body.graph.inputs, outputs, constants)
        signatures[attribute] = replace(signature, outputs=names)
    own = dict.fromkeys(name for name in flow.inputs if name in model.graph.constants)
    return ControlModel(replace(flow, bodies=signatures), bodies, {name: model.constant(name) for name in own})


def _passing(model: OnnxModel, passed: Mapping[str, str | np.ndarray]) -> BodyModel:
    """Return a body that computes nothing: its outputs are constants, and tensors around the node, which count as its inputs."""
    constants = {name: value for name, value in passed.items() if not isinstance(value, str)}
    around = [Tensor(name, model.graph.types[name]) for name in dict.fromkeys(value for value in passed.values() if isinstance(value, str))]
    outputs = [*around, *(Tensor(name, array_type(value)) for name, value in constants.items())]
    return BodyModel((), tuple(around), tuple(outputs), constants)


def _names(outputs: Sequence[str], passed: Mapping[str, str | np.ndarray]) -> tuple[str, ...]:
    sources = {name: value for name, value in passed.items() if isinstance(value, str)}
    return tuple(sources.get(name, name) for name in outputs)


def _sources(graph: DataflowGraph, outputs: Sequence[str]) -> tuple[str, ...]:
    """Return, for each of the outputs of a body, the tensor that it is another name of: no kernel need run for a name."""
    same: dict[str, str] = {}
    for node in graph.nodes:
        if node.is_host:
            same[node.outputs[0].name] = same.get(node.inputs[0], node.inputs[0])
    return tuple(same.get(name, name) for name in outputs)


def _checked(model: OnnxModel, index: int, attribute: str, planned: Mapping[str, PlannedBody]) -> OnnxModel:
    """Return the model of a body, which must be the one that its plan is for."""
    where = f"{attribute!r} of the node {model.graph.nodes[index].name!r}"
    if attribute not in planned:
        raise CollageError(
            f"the plan leaves {where} to the host and has no plan for it", "make it again with `collage partition`", "bad_plan"
        )
    made = planned[attribute]
    body = model.body(index, attribute, [Tensor(one.name, TensorType(one.shape, one.dtype)) for one in made.inputs])
    if body.hash != made.plan.model.hash:
        raise CollageError(f"the plan of {where} is for another body", "make it again with `collage partition`", "other_model")
    made.plan.check_covers(tuple(node.name for node in body.graph.nodes))
    return body


def _type_of(graph: DataflowGraph, name: str) -> TensorType:
    return graph.types.get(name) or graph.constants[name].type
