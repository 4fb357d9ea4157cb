"""`make truth` shows what each surface says of recorded runs, and finds two that contradict each other."""

from __future__ import annotations

import pytest
from truth import TEN, Cell, cells, contradictions, record_of, side_by_side


def test_what_says_the_same_stands_in_one_line() -> None:
    said = [Cell("verdict", "terminal", "as fast"), Cell("verdict", "survey", "as fast"), Cell("verdict", "notebook", "slower")]
    assert [line.split(maxsplit=1) for line in side_by_side(said)] == [
        ["verdict", "terminal, survey: as fast"],
        ["verdict", "notebook: slower"],
    ]
    assert contradictions(said) == ["verdict: terminal says 'as fast', notebook 'slower'"]


def test_a_number_beside_another_one_or_beside_none_contradicts_it() -> None:
    said = [Cell("beside a", "compare", "+1 s", 1.0), Cell("beside a", "what-if", "+1 s measured", 1.0 + 1e-12)]
    assert contradictions(said) == []
    assert len(contradictions([*said, Cell("beside a", "by-targets", "not known"), Cell("beside a", "effect", "+2 s", 2.0)])) == 2


def test_nothing_that_is_said_of_a_recorded_run_contradicts() -> None:
    said = list(cells(record_of("crnn"), 1))
    assert {cell.surface for cell in said} > {"terminal", "notebook", "survey", "compare", "what-if", "by-targets", "explain"}
    assert contradictions(said) == []


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in TEN if name != "crnn"])
def test_nothing_that_is_said_of_any_recorded_run_contradicts(name: str) -> None:
    assert contradictions(list(cells(record_of(name), 2))) == []
