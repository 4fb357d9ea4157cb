"""`collage.partition`: the pipeline as a Python function, for scripts and notebooks (design, "Python")."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .events import Emit
from .options import Options
from .pipeline import ignore
from .pipeline import partition as run
from .record import RunRecord


def partition(model: str | Path, *, targets: Sequence[str], costs: str = "measure", emit: Emit = ignore, **options: Any) -> RunRecord:
    """Find the fastest way to run `model` (a file, or a sample's name) over several `targets`.

    Args:
        costs: ``measure``, ``mock:FILE`` or ``replay:FILE``.
        emit: Gets every event of the run.
        options: The other fields of `Options`, such as ``shapes``, ``constraints`` or ``out``.

    Returns:
        The run: ``plan``, ``document`` (as ``--json`` prints it), ``node_candidates(node)``, ``save(folder)``.

    Raises:
        CollageError: a mistake of the user; `InfeasibleError` and `AccuracyError` are such.
    """
    return run(model, Options(targets=tuple(targets), costs=costs, **options), emit)
