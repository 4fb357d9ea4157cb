"""The ablation on made-up recordings: a piece that is off shows exactly where its kind of noise is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bench_ablation
import bench_costs
import numpy as np
import pytest
from bench_ablation import BEGIN, END, VARIANTS, Measurement, Pieces, pairs, replay, without
from bench_recording import LIMITS, ROUNDS, SIGNS, WHOLE, RawSample, RawTrial, Recording, chosen, timed_signs

from collage_core.cost.cost import Cost
from collage_core.cost.measuring.noise_filter import UNKNOWN_SPEED, Sample
from collage_core.cost.measuring.sampling import NoiseSigns
from collage_core.graph.index_set import IndexSet
from collage_core.pipeline.record.record import CostedCandidate, RecordedCandidate
from tests.helpers.paths import DOCS

COST_S, REFERENCE_S, LATENCY_S = 1e-3, 25e-6, 270e-9
SAMPLES, VISITS = 60, 4
PARTS = (("mnist", "1,2", "tvm"), ("mnist", "3", "onnxruntime"), ("mnist", WHOLE, "tvm"))

Disturb = Callable[[int, int, int, RawSample], RawSample]
"""(visit, round, number of the sample, quiet sample) → the sample as the machine was then."""


def quiet(visit: int, round_: int, number: int, sample: RawSample) -> RawSample:
    return sample


def slow_core(visit: int, round_: int, number: int, sample: RawSample) -> RawSample:
    seconds, reference_s, waited, latency_s = sample
    return (1.6 * seconds, 1.5 * reference_s, waited, latency_s) if number % 3 and visit % 2 else sample


def core_taken(visit: int, round_: int, number: int, sample: RawSample) -> RawSample:
    return (2 * sample[0], sample[1], 0.5, sample[3]) if number % 3 and visit % 2 else sample


def cores_moved(visit: int, round_: int, number: int, sample: RawSample) -> RawSample:
    return (1.8 * sample[0], sample[1], sample[2], 2.2 * sample[3]) if number % 3 and visit % 2 else sample


def recording(disturb: Disturb = quiet) -> Recording:
    rng = np.random.default_rng(7)
    trials = []
    for visit in range(VISITS):
        for round_ in range(ROUNDS):
            for index, part in enumerate(PARTS):
                cost_s = COST_S * 3**index * rng.normal(1.0, 0.01)
                quiet_samples = [
                    (cost_s * rng.normal(1.0, 0.005), REFERENCE_S * rng.normal(1.0, 0.02), 0.0, LATENCY_S) for _ in range(SAMPLES)
                ]
                samples = tuple(disturb(visit, round_, number, sample) for number, sample in enumerate(quiet_samples))
                spent_s = dict(zip(SIGNS, (0.006, 0.0006, 0.003), strict=True))
                elapsed_s = sum(sample[0] for sample in samples) + sum(spent_s.values())
                trials.append(RawTrial(*part, visit, round_, 100.0 * visit + round_, 0.05, elapsed_s, spent_s, samples))
    return Recording("a machine", tuple(trials))


def difference(found: Recording, pieces: Pieces) -> float:
    """Return the largest difference of any two measurements."""
    return max(pair.difference for several in pairs(found, pieces).values() for pair in several)


ONE = replace(Pieces(), repetitions=False)
"""One trial, so that repetitions make up for nothing."""


@pytest.mark.parametrize(
    ("disturb", "piece"),
    [(slow_core, "reference"), (core_taken, "waits"), (cores_moved, "latency")],
)
def test_without_its_piece_a_noise_shows_and_with_it_not(disturb: Disturb, piece: str) -> None:
    found = recording(disturb)
    assert difference(found, ONE) < 0.06
    assert difference(found, replace(ONE, **{piece: False})) > 0.3


def test_on_a_quiet_machine_the_filter_does_nothing_but_take_time() -> None:
    found = recording()
    everything, bare = (pairs(found, pieces) for pieces in (Pieces(), bench_ablation.FILTER_OFF))
    for computation, several in everything.items():
        for one, other in zip(several, bare[computation], strict=True):
            assert one.difference == pytest.approx(other.difference, abs=0.005)
            assert one.spent_s > other.spent_s


def test_repetitions_narrow_what_is_stated_and_cost_trials() -> None:
    found = recording()
    repeated, look, assumed = (pairs(found, VARIANTS[name]) for name in ("everything", *list(VARIANTS)[6:8]))
    for computation, several in repeated.items():
        for of_many, of_one, by_assumption in zip(several, look[computation], assumed[computation], strict=True):
            assert of_many.stated < of_one.stated < by_assumption.stated
            assert of_many.spent_s > 5 * of_one.spent_s == pytest.approx(5 * by_assumption.spent_s)
    right = [pair.is_right for several in repeated.values() for pair in several]
    assert bench_ablation.right_share(found) == sum(right) / len(right) >= 0.95


def test_speed_of_earlier_trials_tells_of_one_that_is_slow_from_beginning_to_end() -> None:
    def slow_later(visit: int, round_: int, number: int, sample: RawSample) -> RawSample:
        return (1.6 * sample[0], 1.5 * sample[1], *sample[2:]) if round_ == 1 and visit % 2 else sample

    found = recording(slow_later)
    block = {part: [trial for trial in found.trials if trial.computation == part and trial.visit == 1] for part in PARTS}
    knowing, not_knowing = (Measurement(block, replace(Pieces(), history=history)) for history in (True, False))
    assert knowing._next(PARTS[0]).slowed_by > 0.3
    assert not_knowing._next(PARTS[0]).slowed_by == 0.0


def test_a_sign_that_is_off_is_struck_out() -> None:
    sample = (1e-3, 30e-6, 0.4, 600e-9)
    assert without(sample, Pieces()) == Sample(*sample)
    assert without(sample, Pieces(reference=False, waits=False, latency=False)) == Sample(1e-3, 1.0, 0.0, 0.0)


def test_a_replayed_trial_ends_when_the_product_would_end_it_and_takes_what_that_took() -> None:
    trial = recording().trials[0]
    samples, spent_s = replay(trial, Pieces(), UNKNOWN_SPEED)
    assert len(samples.seconds) == 5
    assert spent_s == pytest.approx(0.05 + trial.elapsed_s * 5 / SAMPLES)
    _, bare_s = replay(trial, bench_ablation.FILTER_OFF, UNKNOWN_SPEED)
    assert spent_s - bare_s == pytest.approx(sum(trial.spent_s.values()) * 5 / SAMPLES)


def test_the_command_prints_the_tables_between_the_marks_of_the_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "made" / "recording.json.gz"
    recording(slow_core).save(path)
    assert Recording.load(path) == recording(slow_core)
    monkeypatch.setattr("sys.argv", ["bench_costs.py", "--only", "ablation", "--recording", str(path)])
    assert bench_costs.main() == 0
    told = capsys.readouterr().out
    table = told[told.index(BEGIN) : told.index(END)]
    assert all(f"\n| {name} |" in table for name in VARIANTS)
    assert "\n| mnist | whole | tvm | 9." in table or "\n| mnist | whole | tvm | 8." in table
    assert "PASS  ablation: two measurements agree within what they state" in told
    document = (DOCS / "measuring.md").read_text()
    assert document.index(BEGIN) < document.index(END)


def test_recorded_trials_end_only_with_the_time() -> None:
    assert LIMITS.interval < 0
    assert (LIMITS.total_s, LIMITS.longest_s, LIMITS.fewest) == (0.3, 5.0, 5)


def test_small_candidates_of_each_target_and_the_fastest_whole_are_chosen() -> None:
    def item(target: str, nodes: range, seconds: float) -> CostedCandidate:
        held = RecordedCandidate({"id": f"{target}{len(nodes)}{seconds}", "target": target, "nodes": list(nodes)})
        return CostedCandidate(held, Cost(seconds, "measured"))

    small = [item(target, range(1), seconds) for target in ("onnxruntime", "openvino") for seconds in (1.0, 2.0, 3.0, 4.0, 5.0)]
    wholes = [item("onnxruntime", range(20), 9.0), item("openvino", range(20), 8.0)]
    assert [(part, target, len(inside)) for part, target, inside in chosen([*small, *wholes])] == [
        ("0", "onnxruntime", 1),
        ("0", "openvino", 1),
        (WHOLE, "openvino", 20),
    ]
    assert list(chosen(wholes))[-1] == (WHOLE, "openvino", IndexSet(range(20)))


def test_what_each_sign_takes_is_counted() -> None:
    now = 0.0

    def spend(seconds: float) -> float:
        nonlocal now
        now += seconds
        return seconds

    spent_s = dict.fromkeys(SIGNS, 0.0)
    signs = timed_signs(NoiseSigns(lambda clock: spend(2.0), core_latency_s=lambda: spend(3.0)), spent_s, lambda: now)
    assert signs.reference_s(lambda: now) == 2.0
    assert signs.core_latency_s is not None
    assert signs.core_latency_s() == signs.core_latency_s() == 3.0
    with signs.waits() as waits:
        waits()
    assert spent_s == {"reference": 2.0, "waits": 0.0, "latency": 6.0}
    assert timed_signs(NoiseSigns(), spent_s, lambda: now).core_latency_s is None
    assert math.isfinite(now)
