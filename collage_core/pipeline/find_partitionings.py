"""`find_partitionings`: the partitionings of a model that its targets' toolchains make, or TVM's functions for them, in a worker process.

A model, toolchains and rules enter; `Partitioning`s leave. Where one cannot be made there is none, and a note says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..base.isolation.worker import Worker
from ..base.isolation.worker_errors import WorkerError
from ..errors import CollageError
from ..events import Emit, Note
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraphConfig
from ..model.model import Model, SubModel
from ..model.relax.relax_model import RelaxSource
from ..rules.base_rules import table_prefixes
from ..rules.candidate import CandidatePartition, RejectionLog
from ..rules.partitionings import Partitioning, make_partitioning
from ..rules.rule import PartitionRule
from ..toolchains import registry
from ..toolchains.abilities import MakesPartitionings, TvmPartitioning
from ..toolchains.border import availability_of, model_for, uncancelled
from ..toolchains.reasons import one_line
from ..toolchains.toolchain import Toolchain
from ..toolchains.tvm.tvm_byoc import PARTITION_FOR
from .pattern_tables import source_of

PARTITIONINGS_S = 300.0
"""Longest that one toolchain may take for the partitionings of a model."""
Groups = Mapping[str, Sequence[Sequence[str]]]
"""The maker of groups → the names of the nodes of each."""


def find_partitionings(
    model: Model,
    toolchains: Mapping[str, Toolchain],
    rules: Mapping[str, PartitionRule],
    by_target: Mapping[str, Sequence[CandidatePartition]],
    log: RejectionLog,
    emit: Emit,
) -> list[Partitioning]:
    """Return the partitionings of `model` that the usable ones among `toolchains` make, and those of TVM's functions for them.

    A toolchain is asked about the nodes that it has candidates for, and those that only rename.

    Args:
        toolchains, rules, by_target: Each target's toolchain, rules and candidates.
        log: Takes the groups that are not valid.
    """
    asked: list[tuple[str, Callable[[Worker, Model], Groups], SubGraphConfig, tuple[str, ...]]] = []
    for target, toolchain in toolchains.items():
        if isinstance(toolchain, MakesPartitionings) and availability_of(toolchain).usable:
            taken = {index for candidate in by_target[target] for index in candidate.inside}
            taken |= {node.index for node in model.graph.nodes if node.is_host}
            asked.append((target, partial(_own, target, IndexSet(taken)), SubGraphConfig(), (target,)))
        name = tvms_name(toolchain, rules[target])
        if name and availability_of(registry.get("tvm")).usable:
            rest = tuple(one for one in toolchains if one.partition("@")[0] == "tvm")
            asked.append((target, partial(_tvms, name), SubGraphConfig(max_exits=None, allow_taps=True), rest))
    found: list[Partitioning] = []
    with Worker() as worker:
        for target, ask, config, rest in asked:
            try:
                made = ask(worker, model)
            except (CollageError, WorkerError) as error:
                emit(Note(f"{target} has no groups from elsewhere for this model: {one_line(error)}"))
                continue
            found += [make_partitioning(model.graph, source, target, groups, rest, config, log) for source, groups in made.items()]
    return [partitioning for partitioning in found if partitioning.groups]


def tvms_name(toolchain: Toolchain, rule: PartitionRule) -> str:
    """Return the name in TVM's ``partition_for_<name>`` for a toolchain: its own, or that of the pattern table in its rules; else none."""
    own = toolchain.partition_for if isinstance(toolchain, TvmPartitioning) else ""
    names = (own, toolchain.name.partition("@")[0], *(prefix.partition(".")[0] for prefix in table_prefixes(rule)))
    return next((name for name in names if name in PARTITION_FOR), "")


def _own(target: str, taken: IndexSet, worker: Worker, model: Model) -> Groups:
    made: Groups = worker.call(partitionings_of, registry.get, target, model.cut(taken), timeout_s=PARTITIONINGS_S)
    return made


def _tvms(name: str, worker: Worker, model: Model) -> Groups:
    return {f"partition_for_{name}": worker.call(groups_of, source_of(model), name, timeout_s=PARTITIONINGS_S)}


def partitionings_of(get: object, target: str, model: SubModel) -> Groups:
    """Return what `MakesPartitionings.partitionings` gives, as plain data; it runs in a worker process."""
    assert callable(get)
    toolchain = get(target)
    with uncancelled():
        made: Groups = toolchain.partitionings(model_for(toolchain, model))
    return {str(source): [tuple(map(str, names)) for names in groups] for source, groups in made.items()}


def groups_of(model: SubModel | RelaxSource, name: str) -> Sequence[Sequence[str]]:
    """As `tvm_partition_for.partition_groups`; it runs in a worker process."""
    from ..toolchains.tvm.tvm_partition_for import partition_groups

    return partition_groups(model, name)
