"""The ablation of `make bench-costs`: the effect of each piece of the noise machinery, evaluated on recorded raw trials.

It takes a `Recording` and gives tables. Every variant sees the same samples: a sign of noise that is off is struck out of them, and
the product's own rules decide again when the samples are enough, which are undisturbed, and what they come to. Two visits to a model
are two measurements of the same costs (A/A). Nothing is measured here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

import numpy as np
from bench_recording import SIGNS, RawSample, RawTrial, Recording

from collage_core.cost.database.records import Record
from collage_core.cost.measuring.noise_filter import UNKNOWN_SPEED, Sample, Speed, SpeedHistory
from collage_core.cost.measuring.repetition_noise import ASSUMED_NOISE, RepetitionNoise
from collage_core.cost.measuring.repetitions import cost_of, is_precise, repetition_values, with_repetition
from collage_core.cost.measuring.timing import Samples, TimedSeries, TimingLimits

PERCENTILE = 50.0
FEWEST_RIGHT = 0.95
"""Two measurements agree within what they state in 19 of 20 tries."""
BEGIN, END = "<!-- ablation: begin -->", "<!-- ablation: end -->"
"""Marks before and after the tables in docs/measuring.md."""

Computation = tuple[str, str, str]
Row = Sequence[object]


@dataclass(frozen=True)
class Pieces:
    """Which pieces of the noise machinery are on.

    Attributes:
        reference: The reference kernel.
        waits: The run-queue waits.
        latency: The core-to-core latency probe.
        history: The speed that earlier trials saw.
        repetitions: Each computation is timed in several trials.
        own: Its cost is that of its own repetitions; else of its first trial, and the others' repetitions tell only the interval.
        learnt: The interval is learnt from all repetitions; else from its own alone.
    """

    reference: bool = True
    waits: bool = True
    latency: bool = True
    history: bool = True
    repetitions: bool = True
    own: bool = True
    learnt: bool = True


FILTER_OFF = Pieces(reference=False, waits=False, latency=False, history=False)
VARIANTS = {
    "everything": Pieces(),
    "no reference kernel": Pieces(reference=False),
    "no run-queue waits": Pieces(waits=False),
    "no latency probe": Pieces(latency=False),
    "no speed of earlier trials": Pieces(history=False),
    "no learnt interval": Pieces(learnt=False),
    "one trial, interval learnt from others": Pieces(own=False),
    "one trial, interval assumed": Pieces(repetitions=False),
    "repetitions alone": FILTER_OFF,
    "nothing": replace(FILTER_OFF, repetitions=False),
}


@dataclass(frozen=True)
class Measured:
    """One measurement of one computation: its cost, half of its interval, and what it took; all in seconds."""

    cost_s: float
    half_s: float
    spent_s: float


@dataclass(frozen=True)
class Pair:
    """Two measurements of one computation.

    Attributes:
        difference: Of the two, as a share of their mean.
        stated: Half of the first one's interval, as a share of its cost.
        is_right: They differ by no more than the root of the sum of the squares of what both state.
        spent_s: Of the first one.
    """

    difference: float
    stated: float
    is_right: bool
    spent_s: float

    @classmethod
    def of(cls, one: Measured, other: Measured) -> Pair:
        off_s = abs(one.cost_s - other.cost_s)
        is_right = off_s <= math.hypot(one.half_s, other.half_s)
        return cls(2 * off_s / (one.cost_s + other.cost_s), one.half_s / one.cost_s, is_right, one.spent_s)


def without(sample: RawSample, pieces: Pieces) -> Sample:
    """Return the sample with the signs that are off struck out."""
    seconds, reference_s, waited, latency_s = sample
    return Sample(seconds, reference_s if pieces.reference else 1.0, waited if pieces.waits else 0.0, latency_s if pieces.latency else 0.0)


def replay(trial: RawTrial, pieces: Pieces, known: Speed) -> tuple[Samples, float]:
    """Return what the trial would have come to with these pieces, and the seconds that it would have taken."""
    count = len(trial.samples)
    each_s = (trial.elapsed_s - sum(trial.spent_s.values())) / count
    each_s += sum(trial.spent_s.get(sign, 0.0) for sign in SIGNS if getattr(pieces, sign)) / count
    series = TimedSeries(TimingLimits(), known)
    elapsed_s = 0.0
    for sample in trial.samples:
        series.add(without(sample, pieces))
        series.judge()
        series.drop_most_disturbed()
        elapsed_s += each_s
        if series.is_enough(elapsed_s):
            break
    return series.result(), trial.load_s + elapsed_s


class Measurement:
    """One measurement of the computations of a model, by the trials of one visit.

    Args:
        block: Of each computation its trials, in rounds.
        lowest_latency_s: The core-to-core latency that the database knew before.
    """

    def __init__(self, block: Mapping[Computation, Sequence[RawTrial]], pieces: Pieces, lowest_latency_s: float = math.inf):
        self._block = block
        self._pieces = pieces
        self._now_s = 0.0
        self._history = SpeedHistory(lambda: self._now_s)
        self._history.add(Speed(core_latency_s=lowest_latency_s))
        self._taken: dict[Computation, int] = defaultdict(int)
        self._spent_s: dict[Computation, float] = defaultdict(float)
        self._records = {computation: self._next(computation) for computation in block}

    def run(self) -> dict[Computation, Measured]:
        """Do the trials that the pieces ask for, and return what each computation comes to."""
        first = {computation: (record, self._spent_s[computation]) for computation, record in self._records.items()}
        while self._pieces.repetitions and self._repeat():
            pass
        if self._pieces.own:
            noise = self._noise(self._records.values())
            return {computation: self._measured(record, noise, self._spent_s[computation]) for computation, record in self._records.items()}
        return {computation: self._measured(record, self._others(computation), spent_s) for computation, (record, spent_s) in first.items()}

    def _next(self, computation: Computation) -> Record:
        trial = self._block[computation][self._taken[computation]]
        self._taken[computation] += 1
        self._now_s = max(self._now_s, trial.started_s)
        samples, spent_s = replay(trial, self._pieces, self._history.fastest() if self._pieces.history else UNKNOWN_SPEED)
        self._history.add(samples.speed)
        self._spent_s[computation] += spent_s
        latency_s = samples.speed.core_latency_s if math.isfinite(samples.speed.core_latency_s) else None
        return Record(samples=samples.seconds, reference_s=samples.reference_s, slowed_by=samples.slowed_by, core_latency_s=latency_s)

    def _repeat(self) -> bool:
        """Do one more trial of each computation that is not precise; return whether there was one."""
        noise = self._noise(self._records.values())
        waiting = [
            computation
            for computation, record in self._records.items()
            if self._taken[computation] < len(self._block[computation]) and not is_precise(record, PERCENTILE, None, noise)
        ]
        for computation in waiting:
            self._records[computation] = with_repetition(self._records[computation], self._next(computation))
        return bool(waiting)

    def _noise(self, records: Iterable[Record]) -> RepetitionNoise:
        return RepetitionNoise.of(repetition_values(record, PERCENTILE) for record in records) if self._pieces.learnt else ASSUMED_NOISE

    def _others(self, computation: Computation) -> RepetitionNoise:
        return self._noise(record for other, record in self._records.items() if other != computation)

    def _measured(self, record: Record, noise: RepetitionNoise, spent_s: float) -> Measured:
        cost = cost_of(record, PERCENTILE, "measured", noise)
        assert cost.seconds is not None
        assert cost.interval_s is not None
        return Measured(cost.seconds, cost.interval_s, spent_s)


def pairs(recording: Recording, pieces: Pieces) -> dict[Computation, list[Pair]]:
    """Return every pair of measurements of each computation."""
    blocks: dict[tuple[str, int], dict[Computation, list[RawTrial]]] = defaultdict(lambda: defaultdict(list))
    for trial in recording.trials:
        blocks[trial.model, trial.visit][trial.computation].append(trial)
    measured: dict[Computation, list[Measured]] = defaultdict(list)
    for (_, visit), block in blocks.items():
        for computation, one in Measurement(block, pieces, _lowest_latency_s(recording.trials, visit)).run().items():
            measured[computation].append(one)
    return {computation: [Pair.of(*pair) for pair in combinations(found, 2)] for computation, found in measured.items()}


def _lowest_latency_s(trials: Iterable[RawTrial], visit: int) -> float:
    """Return the lowest latency of all visits before `visit`."""
    seen = (sample[3] for trial in trials if trial.visit < visit for sample in trial.samples if sample[3])
    return min(seen, default=math.inf)


COLUMNS = ("difference", "95 of 100 below", "stated ±", "stated / difference", "right", "seconds")
"""Of pairs of measurements: median and 95th percentile of the difference, median of what is stated, their ratio, share that agree."""


def variant_table(recording: Recording) -> tuple[Row, list[Row]]:
    """Return the head and the rows of the table of all variants, for small candidates and for whole models."""
    wholes = {trial.computation for trial in recording.trials if trial.is_whole}
    rows: list[Row] = []
    for name, pieces in VARIANTS.items():
        found = pairs(recording, pieces)
        parts = [pair for computation, several in found.items() if computation not in wholes for pair in several]
        whole = [pair for computation, several in found.items() if computation in wholes for pair in several]
        rows.append([name, *_cells(parts), *_cells(whole)])
    return ["", f"parts: {COLUMNS[0]}", *COLUMNS[1:], f"whole: {COLUMNS[0]}", *COLUMNS[1:]], rows


def computation_table(recording: Recording) -> tuple[Row, list[Row]]:
    """Return the head and the rows of the table of all computations, with every piece on."""
    found = pairs(recording, Pieces())
    rows: list[Row] = [[*computation, _cost_ms(recording, computation), *_cells(several)] for computation, several in found.items()]
    return ["model", "nodes", "target", "ms", *COLUMNS], rows


def right_share(recording: Recording) -> float:
    """Return the share of pairs that agree within what they state, with every piece on."""
    right = [pair.is_right for several in pairs(recording, Pieces()).values() for pair in several]
    return sum(right) / len(right)


def _cells(several: Sequence[Pair]) -> list[str]:
    differences = [pair.difference for pair in several]
    difference, stated = median(differences), median(pair.stated for pair in several)
    return [
        f"{difference:.1%}",
        f"{float(np.percentile(differences, 95)):.1%}",
        f"{stated:.1%}",
        f"{stated / difference:.1f}" if difference else "",
        f"{sum(pair.is_right for pair in several) / len(several):.0%}",
        f"{median(pair.spent_s for pair in several):.2f}",
    ]


def _cost_ms(recording: Recording, computation: Computation) -> str:
    """Return the fastest median of its trials, in milliseconds."""
    fastest_s = min(median(sample[0] for sample in trial.samples) for trial in recording.trials if trial.computation == computation)
    return f"{fastest_s * 1e3:.3g}"
