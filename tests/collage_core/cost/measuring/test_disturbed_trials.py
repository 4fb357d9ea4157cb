"""Trials that others of the same machine show to have been disturbed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from collage_core.cost.database.records import Record
from collage_core.cost.measuring.disturbed_trials import disturbed_trials
from collage_core.cost.measuring.repetitions import with_repetition


def test_a_trial_is_disturbed_where_others_of_its_machine_show_it() -> None:
    known = {
        "undisturbed": Record(samples=(1.0,), reference_s=25e-6, core_latency_s=260e-9),
        "slow": Record(samples=(2.0,), reference_s=30e-6, core_latency_s=260e-9),
        "high latency": Record(samples=(2.0,), reference_s=25e-6, core_latency_s=390e-9),
        "as good": Record(samples=(1.0,), reference_s=28e-6, core_latency_s=320e-9),
        "lost": Record(samples=(9.0,), reference_s=30e-6, stopped_early=True),
        "elsewhere": Record(samples=(1.0,), reference_s=60e-6, worker="another"),
        "failed": Record(stage="build", reason="no"),
    }
    found = disturbed_trials(known)
    assert list(found) == ["slow", "high latency"]
    assert found["slow"] == replace(known["slow"], slowed_by=pytest.approx(0.2))
    assert all(with_repetition(record, known["undisturbed"]).samples == (1.0,) for record in found.values())
    assert disturbed_trials({"slow": known["slow"]}) == {}, "nobody knows better"
