"""The seconds that an assembled module takes to call a partition, measured on real artifacts."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.cost.measuring.call_meter import measure_call
from collage_core.errors import CollageError
from collage_core.rewrite.call_trial import call_rounds
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Availability
from collage_core.toolchains.tvm.tvm import TvmToolchain

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


@pytest.mark.long
@pytest.mark.parametrize("target", ["onnxruntime", pytest.param("tvm", marks=pytest.mark.long)])
def test_a_call_is_measured_in_a_worker(target: str):
    with Worker() as worker:
        seconds = worker.call(measure_call, call_rounds, target, 1, timeout_s=60)
    assert 0 <= seconds < 1e-3


def test_each_round_is_a_finite_difference_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with call_rounds("onnxruntime", 1) as one_round:
        assert [path.name.startswith("collage-call-") for path in tmp_path.iterdir()] == [True]
        assert all(abs(one_round()) < 1e-3 for _ in range(3))
    assert list(tmp_path.iterdir()) == []


def test_nothing_can_be_assembled_without_tvm(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(TvmToolchain, "availability", lambda self: Availability(False, reason="not installed"))
    with pytest.raises(CollageError, match="the toolchain 'tvm', which assembles every artifact, is not usable here: not installed"):
        call_rounds("onnxruntime", 1).__enter__()
