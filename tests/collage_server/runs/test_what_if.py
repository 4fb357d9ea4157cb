"""The what-if: plans under other terms that nobody keeps, and the effect of each term, as the routes answer."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.live import Live

PIN = {"kind": "pin", "node": 0, "target": "fast"}


@pytest.fixture(scope="module")
def done(live: Live, model: str) -> dict[str, Any]:
    return live.ended(live.start(model, "fast", "other")["id"])


def ask(live: Live, run: str, what: str, **body: Any) -> tuple[int, dict[str, Any]]:
    answer = live.http.post(f"{live.address}api/v1/runs/{run}/{what}", json={"targets": ["fast", "other"], **body}, timeout=30)
    return answer.status_code, answer.json()


def test_a_plan_is_found_and_nothing_is_kept(live: Live, done: dict[str, Any]) -> None:
    before = live.get("runs")["runs"]
    status, answer = ask(live, done["id"], "what-if", constraints=[PIN])
    assert (status, answer["plan"]["total_s"], answer["optimal"], answer["untimed"]) == (200, 0.007, True, 0)
    assert ask(live, done["id"], "what-if", accuracy=0.5)[1]["untimed"] == 3
    assert live.get("runs")["runs"] == before


def test_a_run_whose_plan_holds_the_terms_keeps_it(live: Live, model: str, done: dict[str, Any]) -> None:
    _, answer = ask(live, done["id"], "what-if")
    assert (answer["keeps_plan"], answer["plan"]["total_s"]) == (True, done["plan"]["total_s"])
    assert not ask(live, done["id"], "what-if", constraints=[PIN])[1]["keeps_plan"]
    kept = live.ended(live.start(model, "fast", "other", base=done["id"], constraints=[PIN])["id"])
    assert ask(live, kept["id"], "what-if", constraints=[PIN])[1]["keeps_plan"], "its own plan is meant, and not that of its base"
    assert not ask(live, kept["id"], "what-if")[1]["keeps_plan"]


def test_why_there_is_no_plan(live: Live, done: dict[str, Any]) -> None:
    _, answer = ask(live, done["id"], "what-if", constraints=[PIN, {"kind": "veto", "target": "impossible"}])
    assert (answer["plan"], answer["error"]["code"], answer["conflict"], answer["uncovered"]) == (None, "infeasible", [0, 1], [1])
    _, answer = ask(live, done["id"], "what-if", targets=["fast"], constraints=[{"kind": "veto", "target": "impossible"}])
    assert (answer["conflict"], answer["off"]) == ([0], ["other"]), "a switched-off target is told apart from the constraints"


def test_a_run_of_one_shape_tells_of_no_others(live: Live, done: dict[str, Any]) -> None:
    found = live.get(f"runs/{done['id']}/shapes")
    assert (found["run"], found["shapes"], found["chosen"]) == (done["id"], [], "")


def said(effect: dict[str, Any]) -> tuple[float, float, int]:
    return effect["alone"]["change_s"], effect["saves"]["change_s"], effect["refuses"]


def test_each_of_the_terms_has_its_effect(live: Live, done: dict[str, Any]) -> None:
    _, answer = ask(live, done["id"], "effects", targets=["fast"], constraints=[PIN, PIN, PIN], groups=[[0, 2], [1]], accuracy=0.5)
    assert [effect["alone"]["change_s"] for effect in answer["groups"]] == [2, 1]
    assert [effect["saves"]["change_s"] for effect in answer["groups"]] == [2, 3], "the others are those that are not in the group"
    assert said(answer["off"]["other"]) == (1, 3, 4)
    assert answer["accuracy"]["saves"]["change_s"] == 4


def test_a_typed_cost_has_an_effect_and_a_kept_plan_remembers_it(live: Live, model: str, done: dict[str, Any]) -> None:
    _, answer = ask(live, done["id"], "effects", costs={"c0": 0.002}, constraints=[PIN], groups=[[0]])
    assert {id: said(effect) for id, effect in answer["costs"].items()} == {"c0": (1, 1, 2)}
    _, told = ask(live, done["id"], "other-terms", costs={"c0": 0.002})
    assert [(row["id"], row["seconds"], row["equal"]) for row in told["typed"]] == [("c0", 0.002, 2)]
    assert told["targets"] == [{"target": "fast", "nodes": 2, "nodes_before": 0, "untimed": 0, "brings_s": 0.003}]
    kept = live.ended(live.start(model, "fast", "other", base=done["id"], costs={"c0": 0.002})["id"])
    assert (kept["state"], kept["costs"], kept["has_own_costs"]) == ("done", {"c0": 0.002}, False)
    again = live.ended(live.start(model, "fast", base=kept["id"], measure="c0")["id"])
    assert again["costs"] == {}, "what was measured counts, not what was typed"


def test_costs_are_typed_in_beside_those_of_a_run(live: Live, model: str) -> None:
    answer = live.http.post(f"{live.address}api/v1/runs", json={"model": model, "targets": ["fast"], "costs": {"c0": 1}}, timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    assert answer.json()["error"]["message"] == "'costs' count in place of those of a base, and there is none"


def test_effects_that_take_too_long_are_missing(live: Live, done: dict[str, Any]) -> None:
    late = {"kind": "veto", "target": "late"}
    _, answer = ask(live, done["id"], "effects", targets=["fast"], constraints=[PIN, late], groups=[[0], [1]], accuracy=0.5)
    assert (len(answer["groups"]), answer["off"], answer["accuracy"]) == (1, {}, None)


@pytest.mark.parametrize("what", ["what-if", "effects", "other-terms"])
@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"targets": []}, "no_target", "no target was given"),
        ({"targets": ["cudnn"]}, "unknown_target", "has no costs of 'cudnn'"),
        ({"accuracy": 0}, "invalid", "'accuracy' is 0, it must be more than 0"),
        ({"constraints": 3}, "invalid", "constraints is 3, it must be a valid list"),
        ({"costs": {"c0": "fast"}}, "invalid", "costs"),
    ],
)
def test_mistakes(live: Live, done: dict[str, Any], what: str, body: dict[str, Any], code: str, message: str) -> None:
    status, answer = ask(live, done["id"], what, **body)
    assert (status, answer["error"]["code"]) == (400, code)
    assert message in answer["error"]["message"]


def test_a_group_of_constraints_that_are_not_there(live: Live, done: dict[str, Any]) -> None:
    status, answer = ask(live, done["id"], "effects", constraints=[PIN], groups=[[1]])
    assert (status, answer["error"]["code"]) == (400, "invalid")
    assert answer["error"]["message"] == "'groups' names a constraint that there is not: 1 were given"


def test_a_run_without_a_plan(live: Live, model: str) -> None:
    run = live.ended(live.start(model, "crash")["id"])["id"]
    status, answer = ask(live, run, "what-if", targets=["crash"])
    assert (status, answer["error"]["code"]) == (409, "no_record")


def test_the_partitions_inside_the_whole_are_timed_where_there_is_an_artifact(live: Live, model: str, done: dict[str, Any]) -> None:
    told = live.post(f"runs/{done['id']}/profile")
    assert (told["run"], told["whole_s"], told["partitions"][0]["difference_s"]) == (done["id"], 0.013, 0.002)
    bare = live.ended(live.start(model, "fast", base=done["id"])["id"])["id"]
    answer = live.http.post(f"{live.address}api/v1/runs/{bare}/profile", timeout=30)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "no_artifact")
