"""Matches of pattern tables and partitionings: what a process with TVM says of a model before its candidates are found.

`matched_tables` gives what TVM's pattern tables match, for the rules that name some; the rule `PatternTable` reads it. `find_partitionings`
gives the partitionings that toolchains make, or TVM's functions for them. Where one cannot be made there is none, and a note says why.
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
from ..model.relax.relax_model import RelaxModel, RelaxSource, tvm_worker
from ..rules.base_rules import table_prefixes
from ..rules.candidate import CandidatePartition, RejectionLog
from ..rules.partitionings import Partitioning, make_partitioning
from ..rules.rule import PartitionRule, TableMatch, Tables
from ..toolchains import registry
from ..toolchains.abilities import MakesPartitionings, TvmPartitioning
from ..toolchains.border import availability_of, model_for, one_line, uncancelled
from ..toolchains.registry import get
from ..toolchains.toolchain import Toolchain, ToolchainError
from ..toolchains.tvm.tvm_byoc import PARTITION_FOR
from ..toolchains.tvm.tvm_operators import OPERATORS

TABLES_S = 300.0
"""Longest that matching all tables may take."""


def matched_tables(model: Model, rules: Mapping[str, PartitionRule]) -> Tables:
    """Return what the pattern tables in the `rules` of the targets match in `model`; empty where there are none.

    Raises:
        CollageError: TVM is not there, has no such table, or does not take the model.
    """
    prefixes = {prefix: target for target, rule in rules.items() for prefix in table_prefixes(rule)}
    if not prefixes:
        return {}
    named = f"the rules of {next(iter(prefixes.values()))} name the pattern table {next(iter(prefixes))!r}"
    found = availability_of(get("tvm"))
    if not found.usable:
        raise CollageError(f"{named}, which is TVM's: {found.reason}", found.hint, "bad_rule")
    if not any(node.op in OPERATORS for node in model.graph.nodes):
        return {prefix: [] for prefix in prefixes}
    try:
        with tvm_worker() as worker:
            made: dict[str, list[TableMatch]] = worker.call(tables_of, source_of(model), list(prefixes), timeout_s=TABLES_S)
    except (ToolchainError, WorkerError) as error:
        raise CollageError(
            f"{named}, and TVM could not match it: {one_line(error)}", "take the table out of the rules", "bad_rule"
        ) from error
    return made


def source_of(model: Model) -> SubModel | RelaxSource:
    """Return `model` as TVM's own functions want it: a Relax module as it is, another as ONNX, with the operators that TVM imports.

    What the other nodes make are inputs then. So a group may hold nodes before and behind one of them, and is no valid partition.
    """
    if isinstance(model, RelaxModel):
        return model.source
    return model.cut(IndexSet(node.index for node in model.graph.nodes if node.op in OPERATORS))


def tables_of(model: SubModel | RelaxSource, prefixes: Sequence[str]) -> dict[str, list[TableMatch]]:
    """As `tvm_pattern_tables.read_tables`; it runs in a worker process."""
    from ..toolchains.tvm.tvm_pattern_tables import read_tables

    return read_tables(model, prefixes)


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
