"""`matched_tables`: what TVM's pattern tables match in a model, for the rules that name some. TVM runs in a worker process.

A model and rule trees enter; plain data leaves, which the rule `PatternTable` reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.isolation.worker_errors import WorkerError
from ..errors import CollageError
from ..graph.index_set import IndexSet
from ..model.model import Model, SubModel
from ..model.relax.relax_model import RelaxModel, RelaxSource, tvm_worker
from ..rules.base_rules import table_prefixes
from ..rules.rule import PartitionRule, TableMatch, Tables
from ..toolchains.border import availability_of
from ..toolchains.reasons import one_line
from ..toolchains.registry import get
from ..toolchains.toolchain import ToolchainError
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
