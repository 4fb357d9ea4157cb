"""Tables of candidates as the server sends them, unpacked for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def rows_of(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a `PackedCandidates`, each as a `CostedRow`."""
    columns, lists = table["columns"], {"target": "targets", "label": "labels", "rule": "rules", "cost": "costs"}
    rows = []
    for index in range(len(columns["id"])):
        row = {name: columns[name][index] for name in ("id", "spans", "times", "regret_s")}
        shared = {name: table[values][columns[name][index]] for name, values in lists.items()}
        rows.append({**row, **shared, "chosen": index in columns["chosen"], "in_no_plan": index in columns["in_no_plan"]})
    return rows
