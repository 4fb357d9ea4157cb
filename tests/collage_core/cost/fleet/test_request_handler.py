"""A session of a run on a worker: its answers, and its end."""

from __future__ import annotations

import json
import pickle
from contextlib import closing

import psutil
import pytest

from collage_core.cost.fleet.protocol import (
    Settings,
)
from collage_core.cost.fleet.request_handler import Session
from collage_core.cost.measuring.trial import TrialLimits
from collage_core.toolchains import registry
from tests.helpers.fleets import until


@pytest.fixture
def settings() -> Settings:
    return Settings(registry.get, 1, 1e-3, TrialLimits())


def test_a_request_of_an_unknown_kind_is_a_fault(settings: Settings) -> None:
    with closing(Session(settings)) as session:
        assert json.loads(session.answer(pickle.dumps(("nonsense",)), {}, lambda: False)) == {"fault": "KeyError: 'nonsense'"}


def test_the_children_of_a_run_end_with_the_last_reference_to_its_session(settings: Settings) -> None:
    """That of Dask, which lets go of it when the run does."""
    session = Session(settings)
    answer = session.answer(pickle.dumps(("call", "os", "getpid", (), 30.0)), {}, lambda: False)
    child = psutil.Process(json.loads(answer)["value"])
    assert child.is_running()
    del session
    until(lambda: not child.is_running(), "the child to end")
