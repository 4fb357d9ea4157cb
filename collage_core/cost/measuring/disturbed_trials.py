"""Finds trials that were disturbed from beginning to end, by comparing them with later ones of the same machine.

The first trials of a run on a new machine have no other speed to compare with than their own. What enters and leaves are records;
whoever asks does such trials again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from statistics import median
from typing import TypeVar

from ..database.records import Record
from .noise_filter import MAX_SLOWDOWN, Sample, slowdown, undisturbed_speed

K = TypeVar("K")


def disturbed_trials(records: Mapping[K, Record]) -> dict[K, Record]:
    """Return the records whose trial was disturbed, as others of the same machine show, with `slowed_by` set.

    Its core was slower than in the other trials, or the core-to-core latency was high. A trial that was stopped early is left out.
    """
    by_worker: dict[str, dict[K, Sample]] = defaultdict(dict)
    for key, record in records.items():
        if record.samples and record.reference_s:
            by_worker[record.worker][key] = Sample(median(record.samples), record.reference_s, core_latency_s=record.core_latency_s or 0.0)
    made = {}
    for trials in by_worker.values():
        speed = undisturbed_speed(list(trials.values()))
        for key, trial in trials.items():
            share = slowdown(trial, speed) - 1
            if share > MAX_SLOWDOWN and not records[key].stopped_early:
                made[key] = replace(records[key], slowed_by=share)
    return made
