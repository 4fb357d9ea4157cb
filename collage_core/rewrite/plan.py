"""`Plan`: the result of phase 3 and the input of phase 4, as a versioned JSON file that reads back as an equal plan.

After RFC 62 (Collage), "Phase 3", whose result can be stored and restored. Every field of data from outside is checked before use.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..base.user_file import read_text
from ..base.whole_file import write_whole
from ..documents.json_form import IfKnown
from ..documents.plan import PlanCopy, PlanMemory, PlanParallel, PlanPartition, PlanTransition
from ..errors import CollageError
from ..graph.value_policy import FINITE
from ..rules.spec import HOST_TARGET

SCHEMA = 1
Number = bool | int | float


_LABELS = {"estimate": " (an estimate)", "profile": " (estimated from a profile)", "bound": " (a bound)", "typed": " (typed in)"}


def source_label(source: str) -> str:
    """Return what stands behind a cost that is no measurement, such as " (an estimate)"; empty for the others."""
    return _LABELS.get(source, "")


class _PlanPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class PlannedTarget(_PlanPart):
    """A toolchain that the plan was made for, with its version at that time."""

    name: str
    version: str = ""


class PlannedModel(_PlanPart):
    """The model that the plan was made for.

    Attributes:
        fixed: Inputs of the file that are constants in the plan → their values.
        assumed: Dynamic dimensions of the file without a given size, by symbol or as ``input[axis]`` → the size assumed here.
    """

    name: str
    hash: str
    fixed: dict[str, Number | tuple[Number, ...]] = {}
    assumed: dict[str, int] = {}


class Plan(_PlanPart):
    """An assignment of every node of a model to a partition on a target.

    Attributes:
        partitions: In the order of their first nodes.
        machine: Machine on which the costs were measured; empty for mock costs and estimates.
        accuracy: Largest relative error that the assembled plan may have.
        total_interval_s: Half of the 95 % interval of `total_s`; None where a cost in it has no interval.
        tuning: Digest → schedules as `SubModel.tuning` has them, of every candidate that was tuned.
        bodies: Name of a node → attribute → plan of that body, of every node whose bodies were planned. The host runs them where the node
            is its own; another plan of the same costs may hold any of them.
        options: Options of the run: costs, search, depths, threads, folding, shapes, value policy.
        by_shape: Where several shapes were planned for, the plan of each; this one is then that of one of them.
        ranges: Sizes between those of `by_shape` that are served by the model built for any size.
        other_shapes: What the artifact does with a shape that is not among them (`Options.other_shapes`).
        one_build: Shapes of one plan have builds in common where toolchains take any shape (`Options.one_build`).
        version: That of Collage Explorer which made the plan; empty where an older one did, which did not say.
    """

    schema_version: Literal[1] = Field(alias="schema", default=1)
    model: PlannedModel
    targets: tuple[PlannedTarget, ...]
    options: dict[str, Any] = {}
    constraints: tuple[dict[str, Any], ...] = ()
    machine: str = ""
    accuracy: float = Field(gt=0, default=1e-3)
    total_s: float = Field(ge=0, allow_inf_nan=False)
    total_interval_s: float | None = None
    partitions: tuple[PlanPartition, ...]
    transitions: tuple[PlanTransition, ...] = ()
    copies: IfKnown[tuple[PlanCopy, ...]] = None
    memory: IfKnown[tuple[PlanMemory, ...]] = None
    parallel: IfKnown[PlanParallel] = None
    tuning: dict[str, str] = {}
    bodies: dict[str, dict[str, PlannedBody]] = {}
    by_shape: tuple[ShapePlan, ...] = ()
    ranges: tuple[RangePlan, ...] = ()
    other_shapes: Literal["error", "onnxruntime"] = "error"
    one_build: bool = False
    version: str = ""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    @property
    def value_policy(self) -> str:
        """Return the value policy of the run (docs/values.md)."""
        return str(self.options.get("value_policy", FINITE))

    @property
    def used_targets(self) -> list[str]:
        """The targets of its partitions, each once; those of the bodies that the host runs are among them, the host is not."""
        targets: dict[str, None] = {}
        for partition in self.partitions:
            targets[partition.target] = None
            if partition.target == HOST_TARGET:
                bodies = [body for name in partition.names for body in self.bodies.get(name, {}).values()]
                targets |= {name: None for body in bodies for name in body.plan.used_targets}
        return [name for name in targets if name != HOST_TARGET]

    def to_json(self) -> dict[str, Any]:
        """Return the plan as it is written to a file."""
        return self.model_dump(mode="json", by_alias=True)

    def write(self, path: Path) -> None:
        """Write the plan to `path`, whole or not at all."""
        write_whole(path, f"{json.dumps(self.to_json(), indent=1)}\n".encode())

    def tuning_of(self, partition: PlanPartition) -> bytes:
        """Return the schedules that a partition is built with, as `SubModel.tuning`; empty for the default ones."""
        return self.tuning.get(partition.tuned.digest, "").encode() if partition.tuned else b""

    def check_covers(self, names: tuple[str, ...]) -> None:
        """Raise CollageError unless every node of a model with the nodes `names` is in exactly one partition, by the same name."""
        seen: dict[int, str] = {}
        for partition in self.partitions:
            if len(partition.names) != len(partition.nodes):
                raise _broken(f"partition {partition.id} has {len(partition.nodes)} nodes and {len(partition.names)} names")
            for node, name in zip(partition.nodes, partition.names, strict=True):
                if not 0 <= node < len(names) or names[node] != name:
                    raise _broken(f"partition {partition.id} holds node {node} {name!r}, which the model does not have there")
                if node in seen:
                    raise _broken(f"node {node} {name!r} is in the partitions {seen[node]} and {partition.id}")
                seen[node] = partition.id
        missing = next((node for node in range(len(names)) if node not in seen), None)
        if missing is not None:
            raise _broken(f"node {missing} {names[missing]!r} is in no partition")


class PlannedTensor(_PlanPart):
    """A tensor that a body reads."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class PlannedBody(_PlanPart):
    """The plan of a body.

    Attributes:
        runs: How often the body ran, in all, in the reference run on the inputs of the search.
        inputs: As `bodies.body_proto` takes them.
    """

    runs: int = Field(ge=0)
    inputs: tuple[PlannedTensor, ...]
    plan: Plan


class RangePartition(_PlanPart):
    """A partition of the plan for a range: the names of its nodes, and its target."""

    target: str
    names: tuple[str, ...] = Field(min_length=1)


class RangePlan(_PlanPart):
    """The plan for a range of shapes, on targets that take any size.

    Attributes:
        target: The name of the target that takes the whole model; empty where several partitions do.
        partitions: These partitions; none where one target takes the whole model.
        first, last: Input → the smallest and the largest shape; every dimension lies between.
    """

    target: str = ""
    partitions: tuple[RangePartition, ...] = ()
    first: dict[str, tuple[int, ...]]
    last: dict[str, tuple[int, ...]]

    def holds(self, shapes: Mapping[str, Sequence[int]]) -> bool:
        """Return whether `shapes`, by input, lie in the range."""
        return self.first.keys() == shapes.keys() and all(
            len(self.first[name]) == len(shape)
            and all(low <= size <= high for low, size, high in zip(self.first[name], shape, self.last[name], strict=True))
            for name, shape in shapes.items()
        )


class ShapePlan(_PlanPart):
    """The plan for one of several shapes.

    Attributes:
        name: The shape in a few words, such as ``seq=64``.
        weight: Its share of the calls; 0 for one that has the plan of its neighbours, and was not searched by itself.
    """

    name: str
    weight: float = Field(ge=0, le=1, allow_inf_nan=False)
    plan: Plan


Plan.model_rebuild()

ONE_SHAPE: Mapping[str, Any] = {"by_shape": (), "ranges": (), "other_shapes": "error", "one_build": False}
"""Fields of a plan for one shape."""


def _broken(what: str) -> CollageError:
    return CollageError(f"the plan is broken: {what}", "make it again with `collage partition`", "bad_plan")


def plan_from_json(data: Any, where: str = "the plan") -> Plan:
    """Return the plan that `data` describes; error messages call it `where`.

    Raises:
        CollageError: `data` is no plan, or one of another schema; the message names the first wrong field.
    """
    if isinstance(data, dict) and data.get("schema") not in (None, SCHEMA):
        raise CollageError(
            f"{where} has schema {data['schema']!r}, this version reads {SCHEMA}", "make it again with `collage partition`", "bad_plan"
        )
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise CollageError(
            f"{where} is not a plan: {field}: {first['msg']}", "a plan is the plan.json that `collage partition --out` writes", "bad_plan"
        ) from error


def read_plan(path: Path) -> Plan:
    """Return the plan in the file `path`, or in ``plan.json`` of the folder `path`."""
    if os.path.isdir(path):
        path = path / "plan.json"
    try:
        data = json.loads(read_text(path))
    except OSError as error:
        raise CollageError(f"cannot read the plan {str(path)!r}: {error.strerror}", "give the plan.json of a run", "no_plan") from error
    except ValueError as error:
        raise CollageError(
            f"{str(path)!r} is not JSON: {error}", "a plan is the plan.json that `collage partition --out` writes", "bad_plan"
        ) from error
    return plan_from_json(data, repr(str(path)))
