"""The latency probe between two real cores: its answer, the end of its peer process with its owner, and what it says with one core."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from collage_core.cost.measuring.core_latency import CoreLatencyProbe

MOST_S = 1e-3
"""Far more than a round trip takes anywhere, and far less than a turn of another process."""


needs_two = pytest.mark.skipif(
    not hasattr(os, "memfd_create") or len(os.sched_getaffinity(0)) < 2, reason="two cores are needed, and a system that tells them apart"
)
OWNER = """
import sys, time
from collage_core.cost.measuring.core_latency import CoreLatencyProbe
while not (probe := CoreLatencyProbe()).round_trip_s():
    pass
print(probe._peer._process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> Iterator[CoreLatencyProbe]:
    """A probe that does not give up, however often a busy machine loses the answer."""
    monkeypatch.setattr("collage_core.cost.measuring.core_latency._MOST_LOST", 1000)
    made = CoreLatencyProbe()
    yield made
    made.close()


def peers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "core_latency_peer" in " ".join(child.cmdline())]


def measured(probe: CoreLatencyProbe) -> float:
    """Return the first latency that is one: on a busy machine the peer may have to wait for its core."""
    return next((seconds for seconds in (probe.round_trip_s() for _ in range(500)) if 0 < seconds < MOST_S), 0.0)


@needs_two
def test_latency_is_measured_and_the_thread_stays_on_its_cores(probe: CoreLatencyProbe) -> None:
    before = os.sched_getaffinity(0)
    assert measured(probe)
    assert os.sched_getaffinity(0) == before


@needs_two
def test_the_peer_gets_none_of_the_users_secrets(probe: CoreLatencyProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    known = set(peers())
    measured(probe)
    (peer,) = set(peers()) - known
    assert "AWS_SECRET_ACCESS_KEY" not in peer.environ()
    assert peer.environ()["PATH"] == os.environ["PATH"]


@needs_two
def test_one_peer_answers_all_probes_and_ends_with_the_probe(probe: CoreLatencyProbe) -> None:
    known = set(peers())
    measured(probe)
    (peer,) = set(peers()) - known
    lost = probe._lost
    measured(probe)
    (same,) = set(peers()) - known
    assert same == peer or probe._lost > lost
    probe.close()
    assert not same.is_running()


@needs_two
def test_the_peer_is_closed_once_even_where_ctrl_c_comes_meanwhile(probe: CoreLatencyProbe, monkeypatch: pytest.MonkeyPatch) -> None:
    measured(probe)
    assert probe._peer is not None
    process = probe._peer._process

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        probe.close()
    monkeypatch.undo()
    probe.close()
    process.wait()


@needs_two
def test_peer_that_was_killed_is_started_again(probe: CoreLatencyProbe) -> None:
    known = set(peers())
    measured(probe)
    (peer,) = set(peers()) - known
    peer.kill()
    assert measured(probe)
    assert peer not in peers()


@needs_two
def test_peer_that_never_answers_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    probe = CoreLatencyProbe()
    monkeypatch.setattr("collage_core.cost.measuring.core_latency._PEER", os.devnull)
    assert [probe.round_trip_s() for _ in range(5)] == [0.0] * 5
    monkeypatch.undo()
    assert probe.round_trip_s() == 0.0, "given up"


@needs_two
def test_with_one_core_there_is_no_latency(probe: CoreLatencyProbe) -> None:
    before = os.sched_getaffinity(0)
    known = set(peers())
    try:
        os.sched_setaffinity(0, {min(before)})
        assert probe.round_trip_s() == 0.0
    finally:
        os.sched_setaffinity(0, before)
    assert set(peers()) == known


@needs_two
def test_peer_ends_when_its_owner_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        peer = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
    psutil.wait_procs([peer], timeout=30)
    assert not peer.is_running() or peer.status() == psutil.STATUS_ZOMBIE
