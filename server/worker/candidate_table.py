"""Every candidate of a run in one table, what the measured ones were estimated to cost, and the plans that its baselines are.

In go a run's folder and the name of the pipeline; out come the files ``candidate_table.json.gz`` (`RunCandidates`) and
``candidate_estimates.json.gz`` (`RunEstimates`) in that folder, and the ``plan`` part of a document. No candidate is measured.
Called in a worker process, as `job` is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from collage_core.errors import CollageError, InfeasibleError

from ..base.json_files import plain, write_json
from .run_job import load_record, record_file

TABLE = "candidate_table.json.gz"
ESTIMATES = "candidate_estimates.json.gz"
GREEDY = "greedy"


def write_table(pipeline: str, folder: str, run: str) -> str:
    """Have the table in a file; its path."""
    return _kept(Path(folder) / TABLE, lambda: _table(load_record(pipeline, Path(folder)), run))


def write_estimates(pipeline: str, folder: str, run: str) -> str:
    """Have the estimates in a file; its path."""
    estimates = importlib.import_module(pipeline).estimates
    return _kept(Path(folder) / ESTIMATES, lambda: {"run": run, **estimates(load_record(pipeline, Path(folder)))})


def _kept(file: Path, make: Callable[[], dict[str, Any]]) -> str:
    """The file with what `make` gives, made again where the run's record is newer."""
    record = record_file(file.parent)
    if record is None or not file.exists() or file.stat().st_mtime_ns < record.stat().st_mtime_ns:
        write_json(file, plain(make()))
    return str(file)


def _table(record: Any, run: str) -> dict[str, Any]:
    chosen = {partition.id for partition in record.plan.partitions}
    rejections = [
        {**{key: item[key] for key in ("target", "rule", "stage", "reason")}, "spans": spans(item["nodes"])} for item in record.rejected
    ]
    return {"run": run, "candidates": [_row(item, chosen, record.regret_s) for item in record.candidates], "rejections": rejections}


def _row(item: Any, chosen: set[str], regret_s: dict[str, float | None]) -> dict[str, Any]:
    data = item.candidate
    return {
        **{key: data[key] for key in ("id", "target", "label", "rule")},
        "spans": spans(data["nodes"]),
        "times": data.get("times", 1),
        "cost": item.cost.to_json(),
        "chosen": item.id in chosen,
        "regret_s": regret_s.get(item.id),
        "in_no_plan": item.id in regret_s and regret_s[item.id] is None,
    }


def spans(nodes: Iterable[int]) -> list[int]:
    """Ascending numbers as pairs of the first and the last one of each run without gaps."""
    pairs: list[int] = []
    for node in nodes:
        if pairs and pairs[-1] == node - 1:
            pairs[-1] = node
        else:
            pairs += [node, node]
    return pairs


def baseline_plan(pipeline: str, folder: str, name: str) -> dict[str, Any]:
    """The best plan on the target `name` alone, or the greedy one, on the costs that the run knows.

    Raises:
        CollageError: it cannot take the whole model.
    """
    record = load_record(pipeline, Path(folder))
    others = [] if name == GREEDY else [{"kind": "veto", "target": target.name} for target in record.plan.targets if target.name != name]
    if name == GREEDY:
        record = replace(record, plan=record.plan.model_copy(update={"options": {**record.plan.options, "search": GREEDY}}))
    try:
        found = importlib.import_module(pipeline).search_again(record, others, _unprobed)
    except InfeasibleError as error:
        raise CollageError(f"{name} has no plan: it cannot take every node of the model", "compare with another one", "no_plan") from error
    return plain(found.document["plan"])


def _unprobed(event: Any) -> None:
    """Nobody listens to a baseline's search."""
