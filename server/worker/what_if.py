"""The best plan under other terms, and what each of the terms does. Called in a worker process, as `job` is.

In go a run's folder, the name of the pipeline and plain terms; out come plain answers. Nothing is measured or kept.
"""

from __future__ import annotations

import importlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..base.json_files import plain
from .run_job import load_record

Constraints = list[dict[str, Any]]


def best_plan(pipeline: str, folder: str, constraints: Constraints, accuracy: float | None) -> dict[str, Any]:
    """As the pipeline's `what_if`.

    Raises:
        CollageError: a constraint is malformed.
        InfeasibleError: no plan holds the terms.
    """
    module = importlib.import_module(pipeline)
    return plain(module.what_if(load_record(pipeline, Path(folder)), module.Terms(constraints, accuracy)))


def effects(pipeline: str, folder: str, constraints: Constraints, accuracy: float | None, groups: list[list[int]]) -> list[dict[str, Any]]:
    """The effect of each group of constraints, and last, where one is given, of the accuracy.

    Raises:
        CollageError: a constraint is malformed.
    """
    module = importlib.import_module(pipeline)
    terms = []
    for group in groups:
        alone = [constraints[index] for index in group]
        others = [item for index, item in enumerate(constraints) if index not in group]
        terms.append(module.Term(module.Terms(alone), module.Terms(others, accuracy)))
    if accuracy is not None:
        terms.append(module.Term(module.Terms([], accuracy), module.Terms(constraints)))
    found = module.effects(load_record(pipeline, Path(folder)), module.Terms(constraints, accuracy), terms)
    return [plain(asdict(effect)) for effect in found]
