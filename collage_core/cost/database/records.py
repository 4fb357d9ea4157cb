"""`Record` and `CostKey`: what a trial came to, and everything that it depends on. Plain data; kept by `CostDatabase`."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class CostKey:
    """What a measurement depends on.

    Attributes:
        computation: As `computation_key` gives it.
        toolchain, version: Name of the target, and version of its library.
        threads: Threads that the kernel was given.
        machine: As `machine_id` gives it.
        options: Whatever else of the toolchain changes the result: its precision.
        weights: A digest of the weights' values, for a toolchain that looks at them; empty for the others.
    """

    computation: str
    toolchain: str
    version: str
    threads: int
    machine: str
    options: str = ""
    weights: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What a trial came to.

    Attributes:
        samples: Seconds of one run each, of those that nothing disturbed (`steadiness`); empty where it failed.
        repetitions: How many of the samples each repetition gave, one after another, 0 where it did not count; empty where there was one.
        stage: Where it failed (`Cost.stage`), or empty.
        reason: Why.
        error: Largest relative error against the reference, where it was compared and finite.
        stopped_early: The trial was ended because it was sure to lose.
        crashed: It failed by a crash, a hang or too much memory, and not in the toolchain's own words.
        limit_s: It was ended after that many seconds; a trial that may take longer is worth another try.
        reference_s: Median seconds of a small fixed computation between the samples: tells a slowed-down machine.
        created: UTC, ISO 8601.
        slowed_by: By what share the machine was slowed down, where too few samples were undisturbed and all were kept; else 0.
        worker: Name of the machine that measured it, in a fleet; empty for this one.
        seconds_spent: What building, checking and timing it took, the first time.
        core_latency_s: Seconds of the fastest echo between two cores meanwhile (`echo`); None where none was asked for.
    """

    samples: tuple[float, ...] = ()
    stage: str = ""
    reason: str = ""
    error: float | None = None
    stopped_early: bool = False
    crashed: bool = False
    limit_s: float | None = None
    reference_s: float | None = None
    created: str = ""
    slowed_by: float = 0.0
    worker: str = ""
    seconds_spent: float = 0.0
    repetitions: tuple[int, ...] = ()
    core_latency_s: float | None = None

    @property
    def is_lasting(self) -> bool:
        """Worth keeping. A target that cannot be used here and now may be usable in the next run."""
        return self.stage != "device"


@dataclass(frozen=True, slots=True)
class TransitionKey:
    """What a measured transition depends on; an empty `dtype` means any."""

    maker: str
    reader: str
    maker_version: str
    reader_version: str
    threads: int
    machine: str
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class MeasuredTransition:
    """What measuring a hand-over came to; `note` says why it could not be measured, and then it counts as free.

    `created` (UTC, ISO 8601) is when; two that say the same at different times are equal.
    """

    fixed_s: float = 0.0
    per_byte_s: float = 0.0
    note: str = ""
    created: str = field(default="", compare=False)


@cache
def machine_id() -> str:
    """The CPU's model and the number of its cores: measurements of one are not those of another."""
    return f"{_cpu_model()}, {os.cpu_count() or 1} cores"


def now() -> str:
    """The time as records hold it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            label, _, value = line.partition(":")
            if label.strip() == "model name":
                return " ".join(value.split())
    return platform.processor() or platform.machine()
