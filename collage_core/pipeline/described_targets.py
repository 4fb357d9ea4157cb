"""Which targets of a plan are only described: their descriptions stand in the plan's options, and none of them can be built.

Estimates of some of them count transfers as free, since their descriptions say nothing of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import CollageError
from ..rewrite.plan import Plan
from ..toolchains.described import parse_description
from .record.record import DESCRIBED


def described_options(options: dict[str, Any], descriptions: Mapping[str, str]) -> dict[str, Any]:
    """The options of a plan in which the targets `descriptions` are only described."""
    known = {**options.get(DESCRIBED, {}), **descriptions}
    return {**options, DESCRIBED: known} if known else options


def free_transfers(options: Mapping[str, Any], costs: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the described targets whose estimates count transfers to them and back as free.

    Args:
        options: Those of the plan.
        costs: Target and source of each cost that the plan rests on.
    """
    texts = options.get(DESCRIBED, {})
    estimated = dict.fromkeys(target for target, source in costs if source == "estimate" and target in texts)
    return tuple(name for name in estimated if not parse_description(texts[name], name).location)


def check_not_described(plan: Plan) -> None:
    """Raise CollageError where a partition of `plan` is on a toolchain that is only described."""
    known = plan.options.get(DESCRIBED, {})
    name = next((name for name in plan.used_targets if name in known), None)
    if name is not None:
        raise CollageError(
            f"the target {name!r} is only described: nothing can be built for it",
            "veto it, and build the plan that comes out",
            "target_unavailable",
        )
