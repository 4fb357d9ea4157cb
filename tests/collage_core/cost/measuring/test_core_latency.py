"""The echo between two real cores: that it comes, that its partner never outlives its owner, and what is said where there is none."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from collage_core.cost.measuring.core_latency import CoreLatencyProbe, rounds_at_low_latency

MOST_S = 1e-3
"""Far more than an echo takes anywhere, and far less than a turn of another process."""


def test_rounds_count_while_the_cores_lie_as_near_as_ever() -> None:
    def rounds(*echoes_s: float, lowest_core_latency_s: float = math.inf) -> tuple[list[int], float]:
        heard, done = iter(echoes_s), iter(range(100))
        return rounds_at_low_latency(lambda: next(done), 3, 6, lambda: next(heard), lowest_core_latency_s)

    assert rounds(1.0, 1.1, 1.0, 1.2) == ([0, 1, 2], 0.0)
    assert rounds(2.2, 1.0, 1.1, 1.0, 2.2, 1.0, 1.0) == ([1, 2, 5], 0.0), "the echo before a round and that after it"
    assert rounds(2.2, 2.2, 2.3, 2.2) == ([0, 1, 2], 0.0), "they never lay nearer, as far as one knows"
    assert rounds(2.2, 2.2, 2.3, 2.2, 1.0, 1.1, 1.2, lowest_core_latency_s=1.0) == ([4, 5], 0.0)
    assert rounds(2.2, 2.2, 2.3, 2.2, 4.0, 4.1, 2.2, lowest_core_latency_s=1.0) == ([0, 1, 2], 2.2), "the least far"
    assert rounds(1.0, 1.0, 2.2, 2.2, 2.2, 2.2, 2.2) == ([0], 0.0)
    assert rounds(0.0, 0.0, 0.0, 0.0) == rounds(0.0, 0.0, 0.0, 0.0, lowest_core_latency_s=1.0) == ([0, 1, 2], 0.0), "nothing tells"


needs_two = pytest.mark.skipif(
    not hasattr(os, "memfd_create") or len(os.sched_getaffinity(0)) < 2, reason="two cores are needed, and a system that tells them apart"
)
OWNER = """
import sys, time
from collage_core.cost.echo import Echo
while not (echo := Echo()).seconds():
    pass
print(echo._partner._process.pid, flush=True)
time.sleep(600)
"""


@pytest.fixture
def echo(monkeypatch: pytest.MonkeyPatch) -> Iterator[CoreLatencyProbe]:
    """It asks on, however many echoes a busy machine loses."""
    monkeypatch.setattr("collage_core.cost.measuring.core_latency._MOST_LOST", 1000)
    made = CoreLatencyProbe()
    yield made
    made.close()


def partners() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "echo_partner" in " ".join(child.cmdline())]


def heard(echo: CoreLatencyProbe) -> float:
    """The first that is one: on a busy machine the partner may have to wait for its core."""
    return next((seconds for seconds in (echo.seconds() for _ in range(500)) if 0 < seconds < MOST_S), 0.0)


@needs_two
def test_an_echo_comes_back_and_the_thread_stays_where_it_was(echo: CoreLatencyProbe) -> None:
    before = os.sched_getaffinity(0)
    assert heard(echo)
    assert os.sched_getaffinity(0) == before


@needs_two
def test_one_partner_answers_all_and_ends_with_the_echo(echo: CoreLatencyProbe) -> None:
    known = set(partners())
    heard(echo)
    (partner,) = set(partners()) - known
    lost = echo._lost
    heard(echo)
    (same,) = set(partners()) - known
    assert same == partner or echo._lost > lost
    echo.close()
    assert not same.is_running()


@needs_two
def test_a_partner_that_was_killed_is_started_again(echo: CoreLatencyProbe) -> None:
    known = set(partners())
    heard(echo)
    (partner,) = set(partners()) - known
    partner.kill()
    assert heard(echo)
    assert partner not in partners()


@needs_two
def test_a_partner_that_never_answers_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    echo = CoreLatencyProbe()
    monkeypatch.setattr("collage_core.cost.measuring.core_latency._PEER", os.devnull)
    assert [echo.seconds() for _ in range(5)] == [0.0] * 5
    monkeypatch.undo()
    assert echo.seconds() == 0.0, "given up"


@needs_two
def test_with_one_core_there_is_none(echo: CoreLatencyProbe) -> None:
    before = os.sched_getaffinity(0)
    known = set(partners())
    try:
        os.sched_setaffinity(0, {min(before)})
        assert echo.seconds() == 0.0
    finally:
        os.sched_setaffinity(0, before)
    assert set(partners()) == known


@needs_two
def test_a_partner_ends_when_its_owner_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        partner = psutil.Process(int(owner.stdout.readline()))
        owner.kill()
    psutil.wait_procs([partner], timeout=30)
    assert not partner.is_running() or partner.status() == psutil.STATUS_ZOMBIE
