"""Measuring a candidate again over the web: a run of its own in a process of its own, on the costs and constraints of its base."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.live import Live, until


@pytest.fixture(scope="module")
def base(live: Live, model: str) -> dict[str, Any]:
    return live.ended(live.start(model, "fast", constraints=[{"kind": "veto", "node": "a", "target": "slow"}])["id"])


def test_a_run_with_the_new_cost_comes_out(live: Live, model: str, base: dict[str, Any]) -> None:
    made = live.start(model, "other", base=base["id"], measure="c0")
    done = live.ended(made["id"])
    assert (done["state"], done["base"], done["artifact"]) == ("done", base["id"], False)
    assert (done["targets"], done["constraints"]) == (base["targets"], base["constraints"])
    assert done["plan"]["total_s"] == 0.007
    text = live.http.get(f"{live.address}api/v1/runs/{done['id']}/events", timeout=30).text
    assert '"CandidateCosted"' in text
    assert live.get(f"runs/{base['id']}")["plan"] == base["plan"], "the base stays as it was"
    again = live.ended(live.start(model, "fast", base=done["id"])["id"])
    runs = live.services.runs
    assert (done["remeasured"], again["remeasured"]) == ("c0", None)
    assert runs.costs_of(runs.get(again["id"])) == runs.folder(done["id"]), "what follows rests on the new cost"


def test_it_waits_for_the_run_that_measures_and_is_cancelled(live: Live, model: str, base: dict[str, Any]) -> None:
    slow = live.start(model, "fast", base=base["id"], measure="slow")
    waiting = live.start(model, "fast", base=base["id"], measure="c0")
    until(lambda: live.get(f"runs/{slow['id']}")["phase"] == "costs")
    assert live.get(f"runs/{waiting['id']}")["state"] == "queued"
    assert live.post(f"runs/{slow['id']}/cancel")["state"] == "cancelled"
    assert live.ended(waiting["id"])["state"] == "done"


def test_mistakes(live: Live, model: str, base: dict[str, Any]) -> None:
    failed = live.ended(live.start(model, "fast", base=base["id"], measure="nothing")["id"])
    assert (failed["state"], failed["error"]["code"]) == ("failed", "unknown_candidate")
    bodies = [
        ({"measure": "c0"}, 400, "invalid"),
        ({"measure": "c0", "base": "nothing"}, 404, "unknown_run"),
        ({"measure": 3, "base": base["id"]}, 400, "invalid"),
    ]
    for body, status, code in bodies:
        answer = live.http.post(f"{live.address}api/v1/runs", json={"model": model, "targets": ["fast"], **body}, timeout=30)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


def test_what_is_undecided_is_measured_for_a_while_as_a_run_with_costs_of_its_own(live: Live, model: str, base: dict[str, Any]) -> None:
    done = live.ended(live.start(model, "other", base=base["id"], decide_s=20.0)["id"])
    assert (done["state"], done["base"], done["has_own_costs"], done["targets"]) == ("done", base["id"], True, base["targets"])
    assert "measured for 20 s" in done["notes"]
    for body, message in (
        ({"decide_s": 0, "base": base["id"]}, "'decide_s' is 0, it must be more than 0"),
        ({"decide_s": 5}, "'decide_s' is about the choices of a base, and there is none"),
    ):
        answer = live.http.post(f"{live.address}api/v1/runs", json={"model": model, "targets": ["fast"], **body}, timeout=30)
        assert (answer.status_code, answer.json()["error"]["message"]) == (400, message)


def test_a_plan_of_the_users_own_is_a_run_that_the_constraints_of_its_base_do_not_bind(
    live: Live, model: str, base: dict[str, Any]
) -> None:
    given = {"text": "*=fast", "name": "mine.txt", "devices": {"CPU": "fast"}}
    done = live.ended(live.start(model, "other", base=base["id"], own_plan=given)["id"])
    assert (done["state"], done["base"], done["has_own_costs"], done["constraints"]) == ("done", base["id"], True, [])
    assert (done["targets"], done["plan"]["total_s"], done["decided_by"]) == (base["targets"], 0.012, "given")
    assert (done["verify"]["measured_s"], [one["measured_s"] for one in done["alternatives"]]) == (0.0125, [0.0105])
    assert [row["name"] for row in live.get("runs")["runs"] if row["id"] == done["id"]] == ["your own plan, mine.txt"]
    assert live.get(f"runs/{base['id']}")["plan"] == base["plan"], "the base stays as it was"
    wrong = live.ended(live.start(model, "fast", base=base["id"], own_plan={"text": "wrong"})["id"])
    assert (wrong["state"], wrong["error"]["code"]) == ("failed", "own_plan")
    for body, code in (({"own_plan": given}, "invalid"), ({"own_plan": {"name": "no text"}, "base": base["id"]}, "invalid")):
        answer = live.http.post(f"{live.address}api/v1/runs", json={"model": model, "targets": ["fast"], **body}, timeout=30)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


def test_regrets_are_told_when_asked_for(live: Live, base: dict[str, Any]) -> None:
    got = live.post(f"runs/{base['id']}/regrets", {"candidates": ["c0", "unknown"]})
    assert got == {
        "run": base["id"],
        "regrets": [
            {
                "id": "c0",
                "regret_s": None,
                "regret_at_least_s": 0.25,
                "rests_on_unknown": False,
                "in_no_plan": False,
                "regret_basis": "predicted",
            }
        ],
    }
    answer = live.http.post(f"{live.address}api/v1/runs/{base['id']}/regrets", json={"candidates": ["c"] * 201}, timeout=30)
    assert (answer.status_code, answer.json()["error"]["message"]) == (400, "201 candidates were named, 200 are accepted")
