"""A run on the terminal: Ctrl-C while it goes on, and its result as text: the plan, what decided, and what was measured beside it."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any

import pytest

from collage_core.cli.terminal import Progress, show_plan
from collage_core.documents.run import RunDocument
from collage_core.events import Note
from tests.helpers.documents import SEARCH, run_document

PART = {"id": "p", "target": "tvm", "nodes": [0], "names": ["n"], "ops": ["Relu"], "cost_s": 1e-3, "source": "measured"}


def document(**changes: Any) -> RunDocument:
    measured = {"kind": "baseline", "interval_s": 2e-5, "rounds": 5, "reason": "", "is_plan": False, "partitions": []}
    known = {
        "plan": {"total_s": 1.03e-3, "total_interval_s": None, "partitions": [PART]},
        "search": {**SEARCH, "final": {**SEARCH, "lower_bound_s": 1e-3}},
        "decided_by": "whole",
        "alternatives": [
            {**measured, "name": "search", "kind": "search", "total_s": 1e-3, "measured_s": 1.06e-3},
            {
                **measured,
                "name": "rival 1",
                "kind": "rival",
                "total_s": 1.05e-3,
                "measured_s": None,
                "interval_s": None,
                "reason": "it errs",
            },
            {**measured, "name": "tvm", "total_s": 1.03e-3, "measured_s": 1e-3, "is_plan": True},
        ],
        "baselines": [
            {"name": "tvm", "total_s": 1.03e-3, "measured_s": 1e-3, "reason": ""},
            {"name": "ncnn", "total_s": None, "measured_s": None, "reason": "ncnn cannot take every node"},
        ],
        "verify": {"measured_s": 1e-3, "interval_s": 1e-5, "max_rel_error": 1e-6},
    }
    return run_document(**{**known, **changes})


def test_the_sum_of_a_plan_with_unknown_costs_is_called_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [PART, {**PART, "id": "b", "nodes": [1], "cost_s": None, "source": "unknown"}]
    show_plan(document(plan={"total_s": 1e-3, "total_interval_s": 1e-5, "partitions": parts}))
    assert "predicted at least 1 ms: 1 cost is not known in 2 partitions" in capsys.readouterr().out


def test_what_decided_and_the_measured_alternatives_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    show_plan(document())
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "tvm alone is best (others at least 4.0 % slower), checked",
        "target  nodes  operators  cost  ±  source",
        "tvm     1      Relu       1 ms     measured",
        "predicted 1.03 ms in 1 partition (chosen by measuring the whole)",
        "measured 1 ms ± 10 µs, largest relative error 1e-06",
        "end-to-end timing decided: this plan's sum is 3.0% above the least, but timed end to end the plan of the least sum is 6.0% slower",
        "  tvm alone: predicted 1.03 ms, measured 1 ms ± 20 µs, the plan itself",
        "  the plan of the least sum: predicted 1 ms, measured 1.06 ms ± 20 µs",
        "  rival 1, near in its sum: predicted 1.05 ms, measured -  (it errs)",
        "  ncnn alone: predicted not known, measured -  (ncnn cannot take every node)",
    ]


def test_what_tuning_brought_is_printed_beside_the_source(capsys: pytest.CaptureFixture[str]) -> None:
    tuned = {"digest": "d1ce", "untuned_s": 1.5 * PART["cost_s"], "spent_s": 42.4, "trials": 64}
    show_plan(document(plan={"total_s": 1e-3, "total_interval_s": None, "partitions": [{**PART, "tuned": tuned}]}))
    assert capsys.readouterr().out.splitlines()[2].endswith(f"{PART['source']}, tuned 42 s: ×1.50")


def test_an_interrupt_that_a_library_dropped_counts_at_the_next_event() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Progress(quiet=True) as progress:
        progress(Note("nothing happened yet"))
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            progress(Note("this is not shown"))
    assert signal.getsignal(signal.SIGINT) is before
