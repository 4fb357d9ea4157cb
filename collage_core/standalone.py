"""What single commands do without a run: search a problem file, run an artifact, list the toolchains. Documents out."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from .errors import CollageError, InfeasibleError
from .isolation import Worker, WorkerError
from .planning import result_document
from .rules import RuleOptions
from .search import FEMTOSECONDS, parse_constraints, problem_from_json, regrets, solve
from .toolchains import all_toolchains

RUN_TIMEOUT_S = 600.0


def solve_file(path: Path, search: str, regret: bool) -> dict[str, Any]:
    """The document of `collage search`; ``plan`` is None where there is none."""
    data = _read_json(path)
    problem = problem_from_json(data)
    constraints = parse_constraints(data.get("constraints", []), problem)
    document: dict[str, Any] = {"schema": 1, "search": None, "plan": None, "regret": [], "conflict": [], "uncovered": []}
    try:
        best = solve(problem, constraints, search)
    except InfeasibleError as error:
        document["search"] = {"algorithm": search}
        document["conflict"], document["uncovered"] = error.conflict, error.uncovered
        return document
    document["search"] = result_document(best)
    document["plan"] = {"total_s": best.total / FEMTOSECONDS, "chosen": list(best.chosen)}
    if regret:
        values = regrets(problem, constraints, best)
        document["regret"] = [None if value is None else value / FEMTOSECONDS for value in values]
    return document


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", "give a JSON file", "no_file") from error
    except ValueError as error:
        raise CollageError(
            f"{str(path)!r} is not JSON: {error}", "`collage partition --save-problem FILE` writes one", "bad_problem"
        ) from error


def run_folder(folder: Path, inputs: Path | None, outputs: Path | None, bench: bool) -> dict[str, Any]:
    """The document of `collage run`. The artifact runs in a worker process, which its toolchains may crash."""
    from .runtime import describe_artifact, run_artifact, time_artifact

    with Worker() as worker:
        try:
            arrays = (
                _load_arrays(inputs) if inputs is not None else worker.call(describe_artifact, folder, timeout_s=RUN_TIMEOUT_S)["seeded"]
            )
            got = worker.call(run_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S)
            seconds = worker.call(time_artifact, folder, arrays, timeout_s=RUN_TIMEOUT_S) if bench else []
        except WorkerError as error:
            raise CollageError(f"the artifact could not be run: {error}", "build it again with `collage apply`", "artifact") from error
    if outputs is not None:
        _save_arrays(outputs, got)
    timing = (
        {"median_s": statistics.median(seconds), "min_s": min(seconds), "max_s": max(seconds), "samples": len(seconds)} if seconds else None
    )
    return {"schema": 1, "outputs": {name: _summary(value) for name, value in got.items()}, "bench": timing}


def _summary(value: np.ndarray) -> dict[str, Any]:
    mean = float(np.mean(value, dtype=np.float64)) if value.size and value.dtype.kind in "fiub" else 0.0
    return {"shape": list(value.shape), "dtype": str(value.dtype), "mean": mean if np.isfinite(mean) else None}


def _load_arrays(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as data:
            return dict(data)
    except (OSError, ValueError) as error:
        raise CollageError(
            f"cannot read the inputs {str(path)!r}: {error}", "give an .npz with one array for each input", "bad_inputs"
        ) from error


def _save_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    try:
        with path.open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    except OSError as error:
        raise CollageError(f"cannot write the outputs {str(path)!r}: {error.strerror}", "give another file", "unwritable") from error


def toolchain_documents() -> list[dict[str, Any]]:
    """What `collage toolchains --json` and the page list."""
    made = []
    for toolchain in all_toolchains():
        found = toolchain.availability()
        rule = toolchain.rule(RuleOptions())
        made.append(
            {
                "name": toolchain.name,
                "letter": toolchain.letter,
                "style": toolchain.style,
                "usable": found.usable,
                "version": found.version,
                "reason": found.reason,
                "hint": found.hint,
                "device": found.device,
                "precision": found.precision,
                "rules": str(rule),
            }
        )
    return made
