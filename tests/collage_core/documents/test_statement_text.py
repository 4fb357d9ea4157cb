"""Statements in words: the effect of a constraint, and of a cost that was typed in."""

from __future__ import annotations

from collage_core.documents.statement_text import effect_text, explained_text, typed_effect_text
from collage_core.documents.statements import NO_CHANGE, Statement
from collage_core.documents.verify import Verify


def test_the_effect_of_a_constraint_is_said() -> None:
    costs = Statement(basis="predicted", change_s=2.0)
    less = Statement(basis="predicted", change_s=0.5)
    assert effect_text(None, None, 3) == "cannot hold, even alone"
    assert effect_text(costs, costs, 0) == "no effect: it forbids nothing that there is"
    assert effect_text(NO_CHANGE, NO_CHANGE, 3) == "no effect: the best plan holds it anyway"
    assert effect_text(costs, None, 3) == effect_text(costs, costs, 3) == "costs 2 s predicted alone"
    assert effect_text(costs, less, 3) == "costs 2 s predicted alone; taking it back saves 500 ms predicted"
    assert effect_text(NO_CHANGE, less, 3) == "costs nothing alone; taking it back saves 500 ms predicted"
    unknown = Statement(basis="unknown", at_least_s=0.5, unknown=2)
    assert effect_text(unknown, unknown, 3) == "alone, at least +500 ms: 2 costs are not known"
    assert effect_text(costs, unknown, 3) == "costs 2 s predicted alone; taking it back saves at least 500 ms"


def test_the_effect_of_a_typed_cost_is_said() -> None:
    less = Statement(basis="predicted", change_s=-1e-3)
    assert typed_effect_text(None, None) == "no plan is left with it"
    assert typed_effect_text(less, less) == "best total -1 ms predicted"
    assert typed_effect_text(NO_CHANGE, NO_CHANGE) == "the best total stays"
    assert typed_effect_text(NO_CHANGE, less) == "the best total stays by it alone, -1 ms predicted beside the other terms"


def test_what_a_sum_leaves_unexplained_is_said_with_its_size() -> None:
    assert explained_text(Verify(measured_s=0.148, additive_error_s=0.0175, explained_s=0.015)) == (
        "timed end to end it takes +17.5 ms beside the sum of its parts alone: +15 ms explained by what runs before its parts, "
        "+2.5 ms unexplained"
    )
    assert explained_text(Verify(measured_s=0.148, additive_error_s=0.0175)) == ""
