"""A run of the real engine: the states of its searches reach a page while costs are measured, not only once they are known."""

from __future__ import annotations

from pathlib import Path

import pytest
from brief_engine import BriefEngine

from collage_server.config import ServerConfig
from tests.helpers.live import Live, until


@pytest.fixture(scope="module")
def config(home: Path) -> ServerConfig:
    return ServerConfig(engine=BriefEngine())


@pytest.mark.long
def test_states_of_searches_arrive_while_costs_are_measured(live: Live) -> None:
    model = live.post("models", {"sample": "squeezenet"})["id"]
    page = live.listen()
    run = live.start(model, "onnxruntime", max_depth={"": 2})["id"]
    page.subscribe(run)
    until(lambda: page.states()[-1:] == ["done"], "the end of the run")
    events = [item["event"] for item in page.items]
    types = [event["type"] for event in events]
    while_measuring = events[: next(i for i, event in enumerate(events) if event["type"] == "PhaseEnded" and event["phase"] == "costs")]
    states = [i for i, event in enumerate(while_measuring) if event["type"] == "SearchProgress" and event["placed"]]
    assert states, types
    assert "CandidateCosted" in types[states[0] : len(while_measuring)], "more is measured after the first of them"
    assert {while_measuring[i]["best_s"] for i in states} == {None}
    traced = live.get(f"runs/{run}")["search"]
    assert traced is None, "a run that is over searches no more"
