"""`make bench-operators`: how much a toolchain that is faster at one kind of operator could bring to the samples at most; prints a table.

It reads the recorded runs that come with the samples, and measures nothing. For each kind it prints the share of the plan's time that
these operators take, and how much of the plan's time goes where they become faster and all transitions are free. Their time is the least
that recorded candidates of these nodes alone take; where there are none, it is that of the profiled kernels that compute them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from pathlib import Path

from collage_core.documents.node_times import PartitionNodeTimes
from collage_core.graph.dataflow_graph import DataflowGraph, Node
from collage_core.model import samples
from collage_core.pipeline.record.record import RunRecord, read_record

RECORDED = Path(samples.__file__).parent / "recorded"
FACTORS = (1.3, 2.0, float("inf"))
"""How many times faster the other toolchain is; infinity is an operator that takes no time."""

ELEMENTWISE = {"Add", "Div", "Erf", "Mul", "Pow", "Tanh"}


def main() -> int:
    """Print the table; a sample without operators of a kind has no row for it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=KINDS, action="append", help="one kind of operator; repeatable")
    given = parser.parse_args()
    print(f"| sample | threads | plan, ms | operators | how many | share | {' | '.join(map(_named, FACTORS))} |")
    print("|" + " --- |" * (6 + len(FACTORS)))
    for path in sorted(RECORDED.glob("*.json.gz")):
        record = read_record(path)
        for kind in given.only or KINDS:
            if groups := KINDS[kind](record.graph):
                print(_row(path.name.partition(".")[0], kind, groups, record), flush=True)
    return 0


def _named(factor: float) -> str:
    return "gain if free" if factor == float("inf") else f"gain at {factor:g} times"


def _row(sample: str, kind: str, groups: list[frozenset[int]], record: RunRecord) -> str:
    total_s = sum(partition.cost_s or 0.0 for partition in record.plan.partitions)
    seconds = [_seconds(group, record) for group in groups]
    known = [one for one in seconds if one is not None]
    share = sum(known) / total_s
    lacking = "" if len(known) == len(seconds) else f", {len(seconds) - len(known)} without a cost"
    gains = " | ".join(f"{most_gain(share, factor):.1%}" for factor in FACTORS)
    return (
        f"| {sample} | {record.plan.options['threads']} | {total_s * 1e3:.2f} | {kind} | {len(groups)}{lacking} | {share:.1%} | {gains} |"
    )


def _seconds(group: frozenset[int], record: RunRecord) -> float | None:
    least = least_s(group, inside(record, group))
    return profiled_s(group, record.node_times) if least is None else least


def most_gain(share: float, factor: float) -> float:
    """Return the share of a plan's time that is saved where operators with this `share` become `factor` times faster."""
    return share * (1 - 1 / factor)


def inside(record: RunRecord, group: Collection[int]) -> dict[frozenset[int], float]:
    """Return the seconds of the fastest candidate for each set of nodes within `group`."""
    least: dict[frozenset[int], float] = {}
    for costed in record.candidates:
        if costed.cost.seconds is None or costed.cost.stopped_early or not all(node in group for node in costed.inside):
            continue
        nodes = frozenset(costed.inside)
        least[nodes] = min(costed.cost.seconds, least.get(nodes, float("inf")))
    return least


def least_s(group: frozenset[int], candidates: Mapping[frozenset[int], float]) -> float | None:
    """Return the least seconds that candidates take together which cover `group`, each node once; None where none do."""

    @cache
    def rest_s(left: frozenset[int]) -> float:
        if not left:
            return 0.0
        first = min(left)
        fitting = (s + rest_s(left - nodes) for nodes, s in candidates.items() if first in nodes and nodes <= left)
        return min(fitting, default=float("inf"))

    found = rest_s(group)
    return None if found == float("inf") else found


def profiled_s(group: frozenset[int], times: Iterable[PartitionNodeTimes]) -> float | None:
    """Return the seconds of all kernels that compute a node of `group`, whatever else they compute; None where a node has no time."""
    kernels = [one for partition in times for one in partition.groups if one.seconds is not None and not group.isdisjoint(one.nodes)]
    if not group <= {node for one in kernels for node in one.nodes}:
        return None
    return sum(one.seconds for one in kernels if one.seconds is not None)


def gelus(graph: DataflowGraph) -> list[frozenset[int]]:
    """Return the nodes of each GELU that is spelt out, by the part of their names that they share."""
    named: dict[str, list[int]] = {}
    for index, node in enumerate(graph.nodes):
        if node.op in ELEMENTWISE:
            named.setdefault(node.name.rpartition("/")[0], []).append(index)
    ops = {name: {graph.nodes[index].op for index in indices} for name, indices in named.items()}
    return [frozenset(indices) for name, indices in named.items() if "Erf" in ops[name] or {"Tanh", "Pow"} <= ops[name]]


def _each(is_wanted: Callable[[Node], bool]) -> Callable[[DataflowGraph], list[frozenset[int]]]:
    return lambda graph: [frozenset([index]) for index, node in enumerate(graph.nodes) if is_wanted(node)]


def _is_wide(node: Node) -> bool:
    return node.op == "Conv" and list(node.attributes.get("kernel_shape", ())) == [5, 5]


KINDS: Mapping[str, Callable[[DataflowGraph], list[frozenset[int]]]] = {
    "GELU": gelus,
    "layer norm": _each(lambda node: node.op == "LayerNormalization"),
    "5×5 convolution": _each(_is_wide),
}
"""Kinds of operators → the sets of nodes that each is made of in a graph."""


if __name__ == "__main__":
    sys.exit(main())
