"""Questions about one shape, asked of every shape that a run would plan for: the dry run, and all candidates.

A model's file and `Options` enter; the document of one shape leaves, with those of the others where there are several. Nothing is planned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..documents.candidate_set import CandidateSetInfo
from ..documents.dry_run import DryRun
from ..events import Emit, Note, ignore
from ..options import Options
from .discover import find
from .partition import dry_run_regions
from .shapes.shapes_to_plan import named, shapes_to_plan

D = TypeVar("D")

_COUNTED = ("candidates", "unique", "deferred", "known", "to_measure")
_ADDED = (
    "builds_at_most",
    "builds_expected",
    "seconds_at_most",
    "seconds_expected",
    "after_at_most_s",
    "after_expected_s",
    "budget_s",
    "tuning_s",
)


def find_at_shapes(source: str | Path, options: Options, emit: Emit = ignore) -> CandidateSetInfo:
    """Return the document of `find`; of several shapes that of the one that comes most often, with those of all by name as ``shapes``.

    Raises:
        CollageError: a mistake of the user; it names the shape.
    """
    main, documents = _at_each(source, options, emit, find)
    return replace(documents[main], shapes=documents) if main else documents[main]


def dry_run_at_shapes(source: str | Path, options: Options, emit: Emit = ignore) -> DryRun:
    """Return the document of `dry_run_regions`; of several shapes with those of all by name as ``shapes``, and their sums beside it.

    What several shapes have in common is measured once, so the sums are bounds.

    Raises:
        CollageError: as `find_at_shapes`.
    """
    main, documents = _at_each(source, options, emit, dry_run_regions)
    return replace(_sum(documents[main], list(documents.values())), shapes=documents) if main else documents[main]


def _at_each(source: str | Path, options: Options, emit: Emit, ask: Callable[[str | Path, Options, Emit], D]) -> tuple[str, dict[str, D]]:
    """Return the answers by shape, and the shape that comes most often, of equal ones the last; its name is empty where there is one."""
    if not options.plans_shapes:
        return "", {"": ask(source, options, emit)}
    asked = shapes_to_plan(source, options)
    for said in asked.notes:
        emit(Note(said))
    documents = {}
    for shape in asked.shapes:
        with named(shape):
            documents[shape.name] = ask(source, asked.options_at(shape, options), partial(_emit_named, emit, shape.name))
    return max(reversed(asked.shapes), key=lambda shape: shape.weight).name, documents


def _emit_named(emit: Emit, name: str, event: Any) -> None:
    emit(Note(f"{name}: {event.text}") if isinstance(event, Note) else event)


def _sum(main: DryRun, documents: Sequence[DryRun]) -> DryRun:
    """Return `main` with the numbers of all dry runs added up, those of each target too; a sum with an unknown number is unknown."""
    values = {name: [getattr(document, name) for document in documents] for name in _ADDED}
    added: dict[str, Any] = {name: None if None in known else sum(known) for name, known in values.items()}
    rows = zip(*(document.targets for document in documents), strict=True)
    targets = tuple(replace(row[0], **{name: sum(getattr(target, name) for target in row) for name in _COUNTED}) for row in rows)
    return replace(main, **added, targets=targets, basis=f"added up over {len(documents)} shapes, each like this: {documents[-1].basis}")
