"""`OtherLoad`, on made-up counters and a clock of its own, and once on the real ones; `busy_text`."""

from __future__ import annotations

import pytest

from collage_core.cost.measuring.other_load import OtherLoad, busy_text


class Machine:
    """Its clock and counters stand where a test puts them."""

    def __init__(self) -> None:
        self.now_s = self.everybody_s = self.own_s = 50.0

    def counters(self) -> tuple[float, float]:
        return self.everybody_s, self.own_s

    def clock(self) -> float:
        return self.now_s

    def load_after(self, took_s: float, everybody_s: float, own_s: float) -> float:
        load = OtherLoad(self.counters, self.clock)
        self.now_s += took_s
        self.everybody_s += everybody_s
        self.own_s += own_s
        return load.cores()


def test_what_this_process_and_its_own_do_is_not_counted() -> None:
    assert Machine().load_after(10.0, everybody_s=16.0, own_s=12.0) == pytest.approx(0.4)
    assert Machine().load_after(10.0, everybody_s=5.0, own_s=6.0) == 0.0, "counters are coarse"
    assert Machine().load_after(0.05, everybody_s=1.0, own_s=0.0) == 0.0, "too short to tell"


def test_the_real_counters_give_a_number() -> None:
    now = [0.0]
    load = OtherLoad(clock=lambda: now[0])
    now[0] = 1.0
    assert load.cores() >= 0.0


@pytest.mark.parametrize(
    ("others", "cores", "threads", "is_busy"),
    [(0.2, 2, 2, False), (0.5, 2, 2, True), (1.0, 2, 1, False), (1.6, 2, 1, True), (40.0, 64, 2, False), (0.5, 2, 8, True)],
)
def test_it_is_busy_where_threads_do_not_get_the_cores_they_want(others: float, cores: int, threads: int, is_busy: bool) -> None:
    text = busy_text(others, cores, threads)
    assert text == (f"other processes keep {others:.1f} of the {cores} cores busy" if is_busy else "")
