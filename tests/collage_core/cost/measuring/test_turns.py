"""The turns of contenders, with given seconds and a clock that their turns move on."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable

import pytest

from collage_core.cost.measuring.paired_rounds import FEWEST_ROUNDS, MOST_ROUNDS, fastest
from collage_core.cost.measuring.turns import MOST_S, PASSES, SHORTEST_ROUNDS, Turns, timed_alone, turn_s
from collage_core.errors import CollageError


class Contenders:
    """Each takes about its mean; a burst holds one run, and takes so long on the clock. A negative mean is a failure."""

    def __init__(self, *means: float, spread: float = 0.0, burst_s: float = 0.1):
        self.asked: list[int] = []
        self.now_s = 0.0
        self._means, self._spread, self._burst_s, self._draw = means, spread, burst_s, random.Random(1)

    def burst(self, index: int) -> Callable[[], list[float]]:
        def run() -> list[float]:
            self.asked.append(index)
            self.now_s += self._burst_s
            if self._means[index] < 0:
                raise CollageError("it crashed", "build it again", "crashed")
            return [self._means[index] * self._draw.lognormvariate(0, self._spread)]

        return run

    def turns(self, limit_s: float = math.inf) -> Turns:
        return Turns({index: self.burst(index) for index in range(len(self._means))}, clock=lambda: self.now_s, limit_s=limit_s)

    def rounds(self, **changes: float) -> Counter[int]:
        """Return how many rounds each was in."""
        return Counter(index for one in self.turns(**changes).all_rounds() for index in one)


def test_a_round_has_bursts_of_each_in_passes_of_which_every_other_one_goes_backwards() -> None:
    contenders = Contenders(1e-3, 1e-3, 1e-3)
    seen: list[int] = []
    contenders.turns().all_rounds(lambda done, total: seen.append(len(contenders.asked)))
    assert contenders.asked[:18] == [0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0]
    assert seen[1] == 3 * PASSES
    contenders = Contenders(1.0, 1.0)
    contenders.turns().all_rounds()
    assert contenders.asked[:4] == [0, 1, 0, 1] or contenders.asked[:4] == [0, 1, 1, 0]
    assert len(contenders.asked) == 2 * FEWEST_ROUNDS, "one run of a second is a round"


def test_those_far_behind_are_left_out_and_the_leaders_go_on_until_they_are_apart() -> None:
    assert Contenders(10.0, 9.0, 21.0).rounds() == {0: FEWEST_ROUNDS, 1: FEWEST_ROUNDS, 2: 2}
    assert Contenders(10.0, 9.0, 15.0).rounds() == {0: FEWEST_ROUNDS, 1: FEWEST_ROUNDS, 2: 3}
    assert Contenders(10.0, 9.0, 12.0).rounds() == {0: FEWEST_ROUNDS, 1: FEWEST_ROUNDS, 2: 4}
    assert Contenders(10.0, 10.05).rounds() == {0: FEWEST_ROUNDS, 1: FEWEST_ROUNDS}, "a tie"
    assert Contenders(10.0, 10.3, spread=0.1).rounds() == {0: MOST_ROUNDS, 1: MOST_ROUNDS}


def test_one_alone_goes_on_until_its_time_is_known() -> None:
    assert Contenders(10.0).rounds() == {0: FEWEST_ROUNDS}
    assert Contenders(10.0, spread=0.1).rounds() == {0: MOST_ROUNDS}


def test_no_further_round_when_the_time_is_over() -> None:
    assert Contenders(10.0, 10.0, spread=0.03, burst_s=MOST_S / 5).rounds() == {0: 3, 1: 3}
    assert Contenders(10.0, 10.0, spread=0.03, burst_s=1.0).rounds(limit_s=0.0) == {0: SHORTEST_ROUNDS, 1: SHORTEST_ROUNDS}


def test_the_time_left_goes_down_from_the_first_round_on() -> None:
    contenders = Contenders(10.0, 10.0, 30.0, burst_s=1.0)
    turns = contenders.turns()
    left: list[float] = []
    turns.all_rounds(lambda done, total: left.append(turns.left_s(0.5)))
    assert left[0] == 0.5 * 3 * FEWEST_ROUNDS, "a guess before anything was timed"
    assert left[1:] == sorted(left[1:], reverse=True)
    assert min(left) > 0


def test_one_that_fails_in_its_turn_is_out_and_the_others_go_on() -> None:
    contenders = Contenders(-1.0, 9.0, 8.0)
    turns = contenders.turns()
    rounds = turns.all_rounds()
    assert fastest(rounds, [1, 2]) == 2
    assert {index: error.message for index, error in turns.failed.items()} == {0: "it crashed"}
    assert contenders.asked.count(0) == 1


def test_the_time_of_one_alone_comes_with_the_seconds_of_its_runs() -> None:
    time, seconds = timed_alone(Contenders(1.0).burst(0))
    assert (time.value, time.half, time.rounds) == (1.0, 0.0, FEWEST_ROUNDS)
    assert seconds == [1.0] * FEWEST_ROUNDS
    with pytest.raises(CollageError, match="it crashed") as raised:
        timed_alone(Contenders(-1.0).burst(0))
    assert raised.value.hint == "build it again"


def test_a_turn_takes_its_bursts_or_its_runs() -> None:
    assert turn_s(1e-3) == pytest.approx(0.3)
    assert turn_s(2.0) == 2.0
