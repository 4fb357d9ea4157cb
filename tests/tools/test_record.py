"""`make record`: which options a sample's recorded run has."""

from __future__ import annotations

from record import options_of
from suite import NETWORKS, OTHERS, TOOLCHAINS

from tests.helpers.paths import RECORDED


def test_a_network_is_recorded_at_the_accuracy_that_it_needs_and_measured_as_a_user_measures() -> None:
    made = {case.name: options_of(case, threads=1) for case in NETWORKS}
    assert {name: options.accuracy for name, options in made.items() if options.accuracy is not None} == {"speech_lstm": 5e-2}
    assert {(options.targets, options.measure_all, options.threads) for options in made.values()} == {(TOOLCHAINS, False, 1)}


def test_every_candidate_of_the_other_samples_is_recorded() -> None:
    assert all(options_of(case).measure_all for case in OTHERS)
    assert all((RECORDED / f"{case.name}.json.gz").exists() for case in OTHERS)
