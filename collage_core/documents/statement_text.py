"""The words of a `Statement`: a change of time, the effect of a constraint. Page, terminal and files print these texts as they are.

A statement enters; a text leaves. Nothing is compared here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from ..base.counted import counted
from ..base.durations import duration, signed
from .statements import PlanTime, Statement, Totalled, time_of_plan
from .verify import VerifyInfo

_LEAST_S = 0.5e-9
"""A change of less is none."""


def time_text(time: PlanTime, write: Callable[[float], str] = duration) -> str:
    """Return the time of a plan: measured where it was, else predicted; ``at least`` where a cost is not known."""
    if time.measured_s is not None:
        return f"measured {write(time.measured_s)}"
    if time.predicted_s is not None:
        return f"predicted {write(time.predicted_s)}"
    whose = f"{counted(time.unknown, 'cost')} {'is' if time.unknown == 1 else 'are'} not known"
    return f"predicted at least {write(time.at_least_s)}: {whose}" if time.at_least_s > 0 else f"not known: {whose}"


def predicted_text(plan: Totalled, write: Callable[[float], str] = duration) -> str:
    """Return the predicted time of a plan as `time_text`; `write` gives the text of a time in seconds."""
    return time_text(time_of_plan(plan), write)


def transfers_text(targets: Collection[str] | None) -> str:
    """Return ``; transfers free: ...`` to add to a time that rests on estimates of described targets without transfers; else nothing."""
    return f"; transfers free: {' and '.join(targets)} {'states' if len(targets) == 1 else 'state'} no cost of them" if targets else ""


def explained_text(verify: VerifyInfo) -> str:
    """Return how far a measured time is from the parts alone, and what of that is not explained; empty where no cost was corrected."""
    error_s, explained_s = verify.additive_error_s, verify.explained_s
    if error_s is None or explained_s is None:
        return ""
    parts = f"{signed(explained_s)} explained by what runs before its parts, {signed(error_s - explained_s)} unexplained"
    return f"timed end to end it takes {signed(error_s)} beside the sum of its parts alone: {parts}"


def change_text(statement: Statement) -> str:
    """Return a change as a phrase with what it rests on: ``+1.2 ms measured``, ``at least +3 ms``, ``not known: ...``."""
    if statement.change_s is None:
        return _unknown_text(statement)
    if abs(statement.change_s) < _LEAST_S:
        return "no change"
    if statement.basis != "predicted":
        return f"{signed(statement.change_s)} measured{'' if statement.is_decided else ', which is not decided'}"
    return f"{signed(statement.change_s)} predicted{_unexplained_text(statement)}"


def faster_text(statement: Statement, than: str) -> str:
    """Return how a plan does beside another in words: ``1.2 ms faster than yours, measured``."""
    change_s = statement.change_s
    if change_s is None:
        return f"beside {than}: {_unknown_text(statement)}"
    if _is_none(statement):
        return f"as fast as {than}"
    doubt = _unexplained_text(statement) if statement.basis == "predicted" else "" if statement.is_decided else ", which is not decided"
    by = "by the sums of the costs" if statement.basis == "predicted" else "as measured"
    return f"{duration(abs(change_s))} {'faster' if change_s < 0 else 'slower'} than {than} {by}{doubt}"


def _unexplained_text(statement: Statement) -> str:
    """Say that a predicted change is smaller than what sums leave unexplained of the plan of the run; empty where it is not."""
    unexplained_s = abs(statement.unexplained_s or 0.0)
    if abs(statement.change_s or 0.0) >= unexplained_s:
        return ""
    return f", not decided: timed end to end, the plan of the run is {duration(unexplained_s)} off the sum of its parts"


def _unknown_text(statement: Statement) -> str:
    least_s = statement.at_least_s
    if not statement.unknown:  # under a restriction: sums that decided nothing
        return "not known to be slower: by the sums it is none, and it was not timed end to end"
    whose = f"{counted(statement.unknown, 'cost')} {'is' if statement.unknown == 1 else 'are'} not known"
    return f"at least {signed(least_s)}: {whose}" if least_s is not None and least_s > 0 else f"not known: {whose}"


def effect_text(alone: Statement | None, saves: Statement | None, refuses: int) -> str:
    """Return the effect of a constraint in words: what it costs alone, and what taking it back saves beside the others."""
    if alone is None:
        return "cannot hold, even alone"
    if not refuses:
        return "no effect: it forbids nothing that there is"
    is_free, saves_nothing = _is_none(alone), saves is None or _is_none(saves)
    if is_free and saves_nothing:
        return "no effect: the best plan holds it anyway"
    own = _cost_text(alone)
    if saves is None or saves == alone:
        return own
    if saves_nothing:
        return f"{own}; taking it back saves nothing, for the others ask for the same"
    return f"{own}; taking it back {_saving_text(saves)}"


def typed_effect_text(alone: Statement | None, saves: Statement | None) -> str:
    """Return the effect of a cost that was typed in, in words: alone, and beside the other terms where that differs."""
    if alone is None:
        return "no plan is left with it"
    own = "the best total stays" if _is_none(alone) else f"best total {change_text(alone)}"
    if saves is None or saves == alone:
        return own
    return f"{own} by it alone, {change_text(saves)} beside the other terms"


def _is_none(statement: Statement) -> bool:
    return statement.change_s is not None and abs(statement.change_s) < _LEAST_S


def _cost_text(statement: Statement) -> str:
    change_s = statement.change_s
    if change_s is None:
        return f"alone, {_unknown_text(statement)}"
    if change_s < 0:
        return f"{change_text(statement)} alone"
    alone = "costs nothing alone" if _is_none(statement) else f"costs {duration(change_s)} {statement.basis} alone"
    return f"{alone}{_unexplained_text(statement)}" if statement.basis == "predicted" else alone


def _saving_text(statement: Statement) -> str:
    if statement.change_s is None:
        least_s = statement.at_least_s or 0.0
        return f"saves at least {duration(least_s)}" if least_s > 0 else "saves what is not known"
    verb = "saves" if statement.change_s >= 0 else "costs"
    return f"{verb} {duration(abs(statement.change_s))} {statement.basis}"
