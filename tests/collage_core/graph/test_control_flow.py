"""`If`, `Loop` and `Scan` over bodies that are Python functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from collage_core.graph.control_flow import BodySignature, ControlFlow, run_control

COUNTED = BodySignature(("i", "c", "s"), (), ("d", "t", "row"))


def loop(*inputs: str) -> ControlFlow:
    return ControlFlow("Loop", inputs, ("last", "rows"), {"body": COUNTED})


def doubled(until: int) -> Any:
    """Return a body that doubles its state, and ends before turn `until`; it writes into one buffer at each run."""
    state = np.empty(2)

    def run(arrays: Any) -> list[np.ndarray]:
        turn, _, value = arrays
        np.multiply(value, 2, out=state)
        return [np.array(turn + 1 < until), state, state]

    return run


@pytest.mark.parametrize(
    ("inputs", "most", "goes", "until", "turns"),
    [
        (("m", "c", "s"), 3, True, 99, 3),
        (("m", "c", "s"), 3, False, 99, 0),
        (("m", "c", "s"), 0, True, 99, 0),
        (("m", "c", "s"), -1, True, 99, 0),
        (("m", "", "s"), 3, False, 99, 3),
        (("", "c", "s"), 0, True, 4, 4),
        (("m", "c", "s"), 9, True, 2, 2),
        (("m", "c", "s"), 50, True, 99, 50),
    ],
)
def test_a_loop_turns_until_its_count_or_its_condition_ends_it(inputs: Any, most: int, goes: bool, until: int, turns: int) -> None:
    values = {"m": np.array([most]), "c": np.array(goes), "s": np.array([1.0, 3.0])}
    last, rows = run_control(loop(*inputs), values, {"body": doubled(until)}, [None, np.empty((0, 2))])
    np.testing.assert_array_equal(last, [2.0**turns, 3 * 2.0**turns])
    np.testing.assert_array_equal(rows, [[2.0 ** (turn + 1), 3 * 2.0 ** (turn + 1)] for turn in range(turns)] or np.empty((0, 2)))


@pytest.mark.parametrize("flag", [True, False])
def test_one_branch_of_an_if_runs(flag: bool) -> None:
    ran: list[str] = []

    def branch(name: str) -> Any:
        return lambda arrays: ran.append(name) or [np.array(len(arrays))]

    bodies = {"then_branch": branch("then"), "else_branch": branch("else")}
    flow = ControlFlow("If", ("c",), ("y",), {name: BodySignature((), (), ("a",)) for name in bodies})
    assert run_control(flow, {"c": np.array([flag])}, bodies) == [np.array(0)]
    assert ran == ["then" if flag else "else"]


def test_a_scan_takes_its_inputs_apart_along_their_axes_and_in_their_directions() -> None:
    signature = BodySignature(("s", "a", "b"), (), ("t", "u", "v"))
    options = {
        "scan_input_axes": (1, 0),
        "scan_input_directions": (0, 1),
        "scan_output_axes": (0, -1),
        "scan_output_directions": (1, 0),
    }
    flow = ControlFlow("Scan", ("s", "a", "b"), ("t", "u", "v"), {"body": signature}, 2, options)
    a, b = np.arange(6.0).reshape(2, 3), np.arange(3.0)

    def body(arrays: Any) -> list[np.ndarray]:
        state, column, number = arrays
        return [state + number, column + state, column * number]

    t, u, v = run_control(flow, {"s": np.array(0.0), "a": a, "b": b}, {"body": body})
    states = [0.0, 2.0, 3.0]
    np.testing.assert_array_equal(t, 3.0)
    np.testing.assert_array_equal(u, [a[:, turn] + states[turn] for turn in (2, 1, 0)])
    np.testing.assert_array_equal(v, np.stack([a[:, turn] * b[2 - turn] for turn in range(3)], -1))


def test_turns_that_make_other_shapes_cannot_be_collected() -> None:
    def body(arrays: Any) -> list[np.ndarray]:
        return [np.array(True), arrays[2], np.zeros(int(arrays[0]) // 3)]

    with pytest.raises(ValueError, match=r"a turn made the shape \[1\], those before it \[0\]"):
        run_control(loop("m", "", "s"), {"m": np.array(9), "s": np.array([1.0, 3.0])}, {"body": body}, [None, None])


def test_it_reads_back_as_it_was_written() -> None:
    flow = ControlFlow("Scan", ("s", "a"), ("t",), {"body": COUNTED}, 1, {"scan_input_axes": (1,)})
    assert ControlFlow.from_json(flow.to_json()) == flow
    assert (flow.carried, loop("m", "c", "s").carried) == (1, 1)
