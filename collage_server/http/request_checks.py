"""Checks what a request asks of a plan: its targets, the largest error, and which targets of a run it leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from ..messages.runs import RunSnapshot
from .error_answers import Problem


def check_targets(targets: Sequence[str]) -> None:
    """Raise Problem (400) where none is given."""
    if not targets:
        raise Problem(400, "no_target", "no target was given", "choose at least one toolchain")


def check_positive(name: str, value: float | None) -> None:
    """Raise Problem (400) where the field `name` has a value that is not more than 0."""
    if value is not None and value <= 0:
        raise Problem(400, "invalid", f"{name!r} is {value:g}, it must be more than 0", "leave it out for the default")


def check_groups(groups: Sequence[Sequence[int]], count: int) -> None:
    """Raise Problem (400) where a group names a constraint that is not among the `count` given ones."""
    if any(not 0 <= index < count for group in groups for index in group):
        raise Problem(400, "invalid", f"'groups' names a constraint that there is not: {count} were given", "they are numbered from 0")


def switched_off(run: RunSnapshot, targets: Sequence[str]) -> list[str]:
    """Return the targets of `run` that are not among `targets`.

    Raises:
        Problem: the run knows no costs of one of `targets` (400).
    """
    known = [counts.name for counts in run.counts]
    unknown = [target for target in targets if target not in known]
    if unknown:
        hint = f"that run knows {', '.join(known)}; start one without a base to measure others"
        raise Problem(400, "unknown_target", f"the run {run.id!r} has no costs of {unknown[0]!r}", hint)
    return [target for target in known if target not in targets]
