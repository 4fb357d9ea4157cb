"""`find_partitionings`: the partitionings of a model, which its targets' toolchains make in a worker process.

A model and toolchains enter; `Partitioning`s leave. A toolchain that fails to make its partitionings has none, and a note says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..base.isolation.errors import WorkerError
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..events import Emit, Note
from ..graph.index_set import IndexSet
from ..graph.sub_graph import SubGraphConfig
from ..model.base import Model, SubModel
from ..rules.candidate import RejectionLog
from ..rules.partitionings import Partitioning, make_partitioning
from ..toolchains import registry
from ..toolchains.base import Toolchain
from ..toolchains.described import DescribedToolchain
from ..toolchains.reasons import one_line

PARTITIONINGS_S = 300.0
"""Longest that one toolchain may take for the partitionings of a model."""
Groups = Mapping[str, Sequence[Sequence[str]]]
"""What made groups → the names of the nodes of each."""


def find_partitionings(model: Model, toolchains: Mapping[str, Toolchain], log: RejectionLog, emit: Emit) -> list[Partitioning]:
    """Return the partitionings that the usable ones among `toolchains` make of the whole `model`.

    Args:
        toolchains: By target.
        log: Takes the groups that are not valid.
    """
    makers = [name for name, toolchain in toolchains.items() if makes_partitionings(toolchain) and toolchain.availability().usable]
    if not makers:
        return []
    found: list[Partitioning] = []
    with Worker() as worker:
        for target in makers:
            try:
                whole = model.cut(IndexSet(range(len(model.graph))))
                made = worker.call(partitionings_of, registry.get, target, whole, timeout_s=PARTITIONINGS_S)
            except (CollageError, WorkerError) as error:
                emit(Note(f"{target} makes no groups of its own for this model: {one_line(error)}"))
                continue
            config = SubGraphConfig()
            found += [make_partitioning(model.graph, source, target, groups, (target,), config, log) for source, groups in made.items()]
    return [partitioning for partitioning in found if partitioning.groups]


def makes_partitionings(toolchain: Toolchain) -> bool:
    """Return whether a toolchain has the method `Toolchain.partitionings` of its own."""
    return type(toolchain).partitionings is not Toolchain.partitionings and not isinstance(toolchain, DescribedToolchain)


def partitionings_of(get: object, target: str, model: SubModel) -> Groups:
    """Return what `Toolchain.partitionings` gives, as plain data; it runs in a worker process."""
    assert callable(get)
    made: Groups = get(target).partitionings(model)
    return {str(source): [tuple(map(str, names)) for names in groups] for source, groups in made.items()}
