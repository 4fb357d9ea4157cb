"""Fixtures and settings of all tests: a folder of their own to keep data in, Hypothesis without deadlines, and a Ctrl-C that arrives."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("tests.helpers")

# Deadlines would make a test depend on how busy the machine is; in CI the examples are the same in every run.
settings.register_profile(
    "collage",
    settings.get_profile("ci" if os.environ.get("CI") else "default"),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("collage")


def pytest_runtest_setup() -> None:
    """Heed Ctrl-C: a program that a shell starts in the background ignores it, and so would every command that a test starts.

    Before each test, since what a test before it used may have left a handler of its own, or the signal blocked.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@pytest.fixture(scope="session", autouse=True)
def collage_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """`COLLAGE_HOME` for the whole session, so that no test reads or writes what the user keeps."""
    folder = tmp_path_factory.mktemp("collage-home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLLAGE_HOME", str(folder))
        patch.delenv("COLLAGE_COSTS", raising=False)
        yield folder
