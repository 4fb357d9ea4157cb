"""The tables of a run as CSV (RFC 4180): a line for each node, and one for each partition and transition.

A run enters; bytes leave. A text that a spreadsheet would read as a formula is quoted, as in the tables that the page saves. Numbers
have twelve digits and no exponent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.csv_table import Cell, csv_table
from ..pipeline.record.known_regret import IN_NO_PLAN
from ..pipeline.record.record import RunRecord
from .node_rows import node_rows

NODE_COLUMNS = ("node", "name", "operator", "target", "partition", "partition_id", "cost_s", "source", "kernel_s")
PARTITION_COLUMNS = (
    *("target", "operators", "nodes", "count", "cost_s", "interval_s", "spread_s", "share_of_predicted"),
    *("samples", "source", "stability", "id"),
)
"""Those of the page's table of partitions."""


def node_table(record: RunRecord) -> tuple[list[str], list[list[Cell]]]:
    """Return the header and a line for each node: `NODE_COLUMNS`, then for each other target its regret, a lower bound and the basis.

    The regret is empty where only the bound is known, and both are where no plan gives the node to the target. The basis is as in
    `KnownRegret`: `estimated` is no exact one.
    """
    rows = node_rows(record)
    targets = sorted({target for row in rows for target in row.regrets})
    lines: list[list[Cell]] = []
    for row in rows:
        known: list[Cell] = [row.node, row.name, row.op, row.target, row.partition, row.partition_id, row.cost_s, row.source, row.kernel_s]
        found = [row.regrets.get(target, IN_NO_PLAN) for target in targets]
        lines.append(
            [*known, *(cell for row in found for cell in (row.exact_s, row.at_least_s, row.basis if row.exact_s is not None else ""))]
        )
    words = "regret_s", "regret_at_least_s", "regret_basis"
    return [*NODE_COLUMNS, *(f"{word}_{target}" for target in targets for word in words)], lines


def partition_table(record: RunRecord) -> tuple[list[str], list[list[Cell]]]:
    """Return the header and a line for each partition, in the plan's order, then one for each transition."""
    total_s = record.plan.total_s

    def share(cost_s: float | None) -> float | None:
        return None if cost_s is None or total_s <= 0 else cost_s / total_s

    lines: list[list[Cell]] = []
    for part in record.plan.partitions:
        known: list[Cell] = ["+".join(part.ops), ";".join(part.names), len(part.nodes), part.cost_s, part.interval_s, part.spread_s]
        lines.append([part.target, *known, share(part.cost_s), part.samples, part.source, part.stability, part.id])
    for one in record.plan.transitions:
        costs = [one.cost_s, None, None, share(one.cost_s)]
        lines.append([f"{one.maker} to {one.reader}", "transition", one.tensor, None, *costs, None, None, None, None])
    return list(PARTITION_COLUMNS), lines


def nodes_csv(record: RunRecord) -> bytes:
    return _bytes(*node_table(record))


def partitions_csv(record: RunRecord) -> bytes:
    return _bytes(*partition_table(record))


def _bytes(header: Sequence[str], lines: Iterable[Sequence[Cell]]) -> bytes:
    return csv_table(header, lines).encode("utf-8", "replace")
