"""`make record`: which options a sample's recorded run has."""

from __future__ import annotations

import re
from datetime import date
from typing import Any
from unittest.mock import Mock

import pytest
from record import check_same, options_of, profile
from suite import NETWORKS, OTHERS, TOOLCHAINS

from collage_core.documents.json_form import to_json
from collage_core.errors import CollageError
from collage_core.pipeline.record.record import read_record
from collage_core.rules.partitionings import is_alone
from tests.helpers.paths import RECORDED


def test_a_network_is_recorded_at_the_accuracy_that_it_needs_and_measured_as_a_user_measures() -> None:
    made = {case.name: options_of(case, threads=1) for case in NETWORKS}
    assert {name: options.accuracy for name, options in made.items() if options.accuracy is not None} == {"speech_lstm": 5e-2}
    assert {(options.targets, options.measure_all, options.threads) for options in made.values()} == {(TOOLCHAINS, False, 1)}


def test_the_other_samples_are_recorded_on_tvm_too_and_no_plan_is_slower_than_a_toolchain_beside_it() -> None:
    assert {options_of(case).targets for case in OTHERS} == {(*TOOLCHAINS, "tvm")}
    for case in (*NETWORKS, *OTHERS):
        document = to_json(read_record(RECORDED / f"{case.name}.json.gz").document)
        assert document["verify"]["measured_s"] <= 1.01 * alone_s(document), case.name


def alone_s(document: dict[str, Any]) -> float:
    """Return the time of the fastest toolchain that ran the whole model alone."""
    return min(row["measured_s"] for row in document["baselines"] if row["measured_s"] is not None and is_alone(row["name"]))


def test_each_network_is_a_model_where_mixing_clearly_wins_and_there_is_one_where_one_toolchain_does() -> None:
    for case in NETWORKS:
        document = to_json(read_record(RECORDED / f"{case.name}.json.gz").document)
        assert len({part["target"] for part in document["plan"]["partitions"]}) >= 2, case.name
        assert 1.1 * document["verify"]["measured_s"] <= alone_s(document), case.name
    single = [to_json(read_record(RECORDED / f"{case.name}.json.gz").document) for case in OTHERS]
    assert any(
        len(document["plan"]["partitions"]) == 1 and document["verify"]["measured_s"] <= 1.01 * alone_s(document) for document in single
    )


def test_only_the_machine_and_versions_that_measured_a_run_profile_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = read_record(RECORDED / "mini_mnist.json.gz")
    monkeypatch.setattr("record.machine_id", lambda: run.machine)
    versions = {target.name: target.version for target in run.plan.targets}
    monkeypatch.setattr("record.get", lambda name: Mock(availability=lambda: Mock(version=versions[name])))
    check_same(run)
    versions["tvm"] = "0.28"
    with pytest.raises(CollageError, match=r"the run was measured with .*, tvm 0\.27\.0\.post1\+collage\.\d+, which this machine has not"):
        check_same(run)
    monkeypatch.setattr("record.machine_id", lambda: "another")
    with pytest.raises(CollageError, match="the run was measured with "):
        profile(run, "mini_mnist", date(2026, 1, 1))


def test_the_recorded_mixes_have_the_times_of_their_nodes_and_say_when_they_were_profiled_if_not_in_the_run() -> None:
    for case in NETWORKS:
        times = read_record(RECORDED / f"{case.name}.json.gz").node_times
        assert {one.source for one in times} <= {"profiler", "cost"}, case.name
        said = {one.reason for one in times if one.source == "profiler"}
        assert all(re.fullmatch(r"(profiled on \d{4}-\d\d-\d\d, after the run)?", reason) for reason in said), case.name
