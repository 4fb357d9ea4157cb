"""A pytest plugin: spreads tests over pytest-xdist's workers by duration, and writes the durations down.

Each worker gets its share as one list, the longest tests first; a worker that is done takes short tests from the end
of the other's list (``--dist worksteal``). Tests that share a fixture of their module stay together, so that it is made once.

Durations stand in `DURATIONS`, in seconds, by file and test; ``pytest --write-durations`` (`make test-durations`) writes them anew.
Only their proportions matter. A test that is not listed is taken for a short one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from tests.helpers.paths import ROOT

DURATIONS = ROOT / "tests" / "durations.json"
LISTED_S = 0.5
"""Tests that take less are not listed."""
SHORT_S = 0.05
"""The assumed duration of a test that is not listed."""

T = TypeVar("T")
Durations = Mapping[str, Mapping[str, float]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-durations", action="store_true", help=f"keep how long tests took in {DURATIONS.relative_to(ROOT)}")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--write-durations") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker: put the tests in the order in which they are spread."""
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        known = read_durations()
        groups: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            groups[item.nodeid.partition("::")[0] if shares_fixture(item) else item.nodeid].append(item)
        timed = [(sum(seconds_of(item.nodeid, known) for item in group), group) for group in groups.values()]
        items[:] = in_shares(timed, workers)


def shares_fixture(item: pytest.Item) -> bool:
    """Return whether the test uses a fixture that is made once for its module or class."""
    found = getattr(item, "_fixtureinfo", None)
    definitions = found.name2fixturedefs.values() if found else ()
    return any(each[-1].scope in ("module", "class") for each in definitions)


def in_shares(groups: Sequence[tuple[float, Sequence[T]]], workers: int) -> list[T]:
    """Divide groups, given with their seconds, into shares that take equally long, and put these one behind the other.

    All shares have equally many tests, since pytest-xdist divides the whole by number: what is too many at the end of one, the
    shortest, goes to others.
    """
    shares: list[list[T]] = [[] for _ in range(workers)]
    taken_s = [0.0] * workers
    for seconds, group in sorted(groups, key=lambda each: -each[0]):
        least = taken_s.index(min(taken_s))
        shares[least].extend(group)
        taken_s[least] += seconds
    count = sum(map(len, shares))
    sizes = [(count + number) // workers for number in range(workers)]
    surplus = [item for share, size in zip(shares, sizes, strict=True) for item in share[size:]]
    made: list[T] = []
    for share, size in zip(shares, sizes, strict=True):
        missing = max(0, size - len(share))
        made += [*share[:size], *surplus[:missing]]
        del surplus[:missing]
    return made


def seconds_of(nodeid: str, durations: Durations) -> float:
    file, _, test = nodeid.partition("::")
    return durations.get(file, {}).get(test, SHORT_S)


def read_durations(path: Path = DURATIONS) -> Durations:
    return json.loads(path.read_text()) if path.exists() else {}


class Recorder:
    """Sums up set-up, call and tear-down of each test of a session, and keeps the sums when it ends."""

    def __init__(self, path: Path = DURATIONS):
        self._path = path
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        made: dict[str, dict[str, float]] = defaultdict(dict)
        for nodeid, seconds in sorted(self._seconds.items()):
            file, _, test = nodeid.partition("::")
            if seconds >= LISTED_S:
                made[file][test] = round(seconds, 1)
        self._path.write_text(json.dumps(made, indent=1) + "\n")
