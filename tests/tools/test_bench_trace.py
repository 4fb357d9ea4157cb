"""Traces of Chromium: CPU time of the page's own main thread, by frame and between marks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench_trace import FRAME, MAIN_THREAD, OWN, TASK, read_trace

PAGE, OTHER, BESIDE = (7, 70), (8, 80), (9, 90)


def thread(which: tuple[int, int], name: str = MAIN_THREAD) -> dict[str, Any]:
    return {"name": "thread_name", "ph": "M", "pid": which[0], "tid": which[1], "ts": 0, "args": {"name": name}}


def task(start_us: float, cpu_us: float | None, which: tuple[int, int] = PAGE) -> dict[str, Any]:
    made = {"name": TASK, "cat": "toplevel", "ph": "X", "pid": which[0], "tid": which[1], "ts": start_us, "dur": 9e9}
    return made if cpu_us is None else {**made, "tdur": cpu_us}


def frame(start_us: float, phase: str = "b") -> dict[str, Any]:
    return {"name": FRAME, "cat": "devtools.timeline", "ph": phase, "pid": PAGE[0], "tid": PAGE[1], "ts": start_us}


def mark(name: str, at_us: float, which: tuple[int, int] = PAGE) -> dict[str, Any]:
    return {"name": name, "cat": "blink.user_timing", "ph": "I", "pid": which[0], "tid": which[1], "ts": at_us}


def trace_of(*events: dict[str, Any]) -> bytes:
    own = [mark(OWN, -1), mark(OWN, -1, BESIDE)]
    return json.dumps({"traceEvents": [thread(PAGE), thread(BESIDE), thread(OTHER), thread((7, 71), "Compositor"), *own, *events]}).encode()


def test_only_the_marked_main_thread_that_worked_most_counts() -> None:
    others = [task(2, 80_000, OTHER), task(3, 90_000, (7, 71)), task(4, 4_000, BESIDE)]
    assert read_trace(trace_of(task(0, 5_000), task(1, 1_000), *others)).cpu_ms() == 6.0


def test_a_task_without_a_cpu_time_costs_nothing_and_wall_time_never_counts() -> None:
    assert read_trace(trace_of(task(0, None), task(1, 2_000))).cpu_ms() == 2.0


def test_a_frame_costs_what_was_done_since_the_frame_before() -> None:
    events = [task(0, 10_000), frame(50), frame(60, "e"), task(70, 20_000), task(80, 15_000), frame(90), task(95, 30_000)]
    trace = read_trace(trace_of(*reversed(events)))
    assert trace.longest_frame_ms() == 35.0
    assert trace.count_frames() == 2


def test_what_lies_between_two_marks() -> None:
    events = [
        task(0, 1_000),
        mark("a", 5),
        task(10, 2_000),
        frame(15),
        task(20, 4_000),
        mark("b", 25),
        task(30, 8_000),
        mark("b", 5, OTHER),
    ]
    trace = read_trace(trace_of(*events))
    assert trace.cpu_ms("a", "b") == 6.0
    assert trace.cpu_ms(until="a") == 1.0
    assert trace.cpu_ms(since="b") == 8.0
    assert trace.longest_frame_ms("a", "b") == 4.0
    assert trace.count_frames("a", "b") == 1


def test_of_a_mark_that_is_set_twice_the_last_counts() -> None:
    trace = read_trace(trace_of(mark("a", 5), task(10, 2_000), mark("a", 15), task(20, 4_000)))
    assert trace.cpu_ms(since="a") == 4.0


def test_a_trace_without_cpu_times_is_refused() -> None:
    for events in ([], [task(0, None)], [task(0, 5_000, OTHER)]):
        with pytest.raises(ValueError, match="no CPU time"):
            read_trace(trace_of(*events))
