"""Live events on a real server: prompt, late, returning and slow clients; none of them misses a decision without being told."""

from __future__ import annotations

from typing import Any

import jsonpatch
import pytest
from fake_runs import BURST, PLAN_EVERY

from collage_server.runs import run_store
from collage_server.shared.thinning import BATCH_THINNABLE, is_thinnable
from collage_server.streaming import stream
from tests.helpers.live import Listener, Live, until


def is_over(listener: Listener) -> bool:
    return bool(listener.states()) and listener.states()[-1] in ("done", "failed", "cancelled")


def decisions(items: list[dict[str, Any]]) -> list[int]:
    return [item["seq"] for item in items if not is_thinnable(item["event"]["type"])]


def merged(snapshot: dict[str, Any], listener: Listener) -> dict[str, Any]:
    """The snapshot with the changes that the listener got, each of which must follow the one before."""
    for change in list(listener.changes):
        assert change["after"] in (None, snapshot.get("seq"))
        snapshot = jsonpatch.apply_patch(snapshot, change["patch"])
    return snapshot


def released(live: Live, model: str, listener: Listener, target: str = "wait") -> str:
    """A run to which `listener` listens from its start."""
    run = live.start(model, target)["id"]
    listener.subscribe(run)
    (run_store.run_folder(run) / "go").touch()
    return run


def test_from_the_start_to_the_end(live: Live, model: str) -> None:
    listener = live.listen()
    run = released(live, model, listener)
    until(lambda: is_over(listener), "the end of the run")
    assert [item["seq"] for item in listener.items] == list(range(1, live.get(f"runs/{run}")["seq"] + 1))
    assert listener.states() == ["queued", "running", "done"]
    assert {batch["run"] for batch in listener.batches} == {run}
    assert not any(batch["gap"] for batch in listener.batches)


def test_late_client(live: Live, model: str) -> None:
    run = live.start(model, "fast")["id"]
    end = live.ended(run)
    listener = live.listen()
    assert listener.subscribe(run) == {"run": run, "seq": end["seq"]}
    until(lambda: is_over(listener), "the replay")
    assert [item["seq"] for item in listener.items] == list(range(1, end["seq"] + 1))


def test_returning_client_gets_what_it_has_not_seen(live: Live, model: str) -> None:
    run = live.start(model, "fast")["id"]
    seq = live.ended(run)["seq"]
    listener = live.listen()
    listener.subscribe(run, after=seq - 2)
    until(lambda: is_over(listener), "the rest")
    assert [item["seq"] for item in listener.items] == [seq - 1, seq]


def test_a_number_from_another_life_is_brought_back(live: Live, model: str) -> None:
    run = live.start(model, "hang")["id"]
    listener = live.listen()
    listener.subscribe(run, after=10**9)
    live.post(f"runs/{run}/cancel")
    until(lambda: is_over(listener), "the cancelling")
    assert listener.states()[-1] == "cancelled"


def test_snapshot_and_events_fit_together(live: Live, model: str) -> None:
    """Subscribe first, then the snapshot: every event is in one of them."""
    listener = live.listen()
    run = live.start(model, "wait")["id"]
    listener.subscribe(run)
    snapshot = live.get(f"runs/{run}")
    (run_store.run_folder(run) / "go").touch()
    until(lambda: is_over(listener), "the end of the run")
    later = [item["seq"] for item in listener.items if item["seq"] > snapshot["seq"]]
    assert later == list(range(snapshot["seq"] + 1, listener.items[-1]["seq"] + 1))


def test_the_changes_of_a_snapshot_end_with_its_plan(live: Live, model: str) -> None:
    """A page that has the newest snapshot gets what changes, one that has an older one the whole; no event is sent to either."""
    follower, late = live.listen(), live.listen()
    run = live.start(model, "wait")["id"]
    started = until(lambda: (got := live.get(f"runs/{run}"))["phases"] and got["phases"][-1]["seconds"] and got, "the wait of the run")
    assert follower.subscribe(run, started["seq"], "snapshot") == {"run": run, "seq": started["seq"]}
    late.subscribe(run, started["seq"] - 1, "snapshot")
    (run_store.run_folder(run) / "go").touch()
    end = live.ended(run)
    for listener, known in ((follower, started), (late, {"seq": started["seq"] - 1})):
        until(lambda listener=listener, known=known: merged(known, listener).get("seq") == end["seq"], "the end of the run")
        assert merged(known, listener) == end
        assert listener.batches == []
    assert follower.changes[0]["after"] == started["seq"]
    assert late.changes[0]["after"] is None
    assert end["plan"]["partitions"][0]["cost_s"] is not None


def test_a_run_that_has_ended_changes_no_more(live: Live, model: str) -> None:
    run = live.start(model, "fast")["id"]
    end = live.ended(run)
    same, other = live.listen(), live.listen()
    same.subscribe(run, end["seq"], "snapshot")
    other.subscribe(run, end["seq"] + 7, "snapshot")
    until(lambda: other.changes, "the whole")
    assert merged({}, other) == end
    assert same.changes == []


def test_flood_is_merged_for_a_page_that_is_slow(live: Live, model: str) -> None:
    """A page that acknowledges nothing gets a window of changes, and then one with all that it has missed."""
    slow, quick = live.listen(acknowledge=False), live.listen()
    run = live.start(model, "burst")["id"]
    for listener in (slow, quick):
        listener.subscribe(run, 0, "snapshot")
    end = live.ended(run)
    until(lambda: merged({}, quick).get("seq") == end["seq"], "the end of the burst")
    assert len(slow.changes) <= stream.WINDOW
    slow.hold.set()
    until(lambda: merged({}, slow).get("seq") == end["seq"], "the slow page's end")
    assert merged({}, slow) == merged({}, quick) == end
    assert len(slow.changes) <= stream.WINDOW + 1


def test_flood_is_thinned_and_no_decision_is_lost(live: Live, model: str) -> None:
    listener = live.listen()
    run = live.start(model, "burst")["id"]
    listener.subscribe(run)
    until(lambda: is_over(listener), "the end of the burst")
    assert not any(batch["gap"] for batch in listener.batches)
    plans = [item["event"]["round"] for item in listener.items if item["event"]["type"] == "PlanImproved"]
    assert plans == [*range(PLAN_EVERY, BURST + 1, PLAN_EVERY), 0]
    assert all(len(batch["items"]) <= stream.BATCH_ITEMS for batch in listener.batches)
    thinned = [item for item in listener.items if is_thinnable(item["event"]["type"])]
    assert len(thinned) <= BATCH_THINNABLE * len(listener.batches)


def test_slow_client_gets_a_window_and_then_the_rest(live: Live, model: str) -> None:
    slow, quick = live.listen(acknowledge=False), live.listen()
    run = live.start(model, "burst")["id"]
    slow.subscribe(run)
    quick.subscribe(run)
    until(lambda: is_over(quick), "the end of the burst")
    assert len(slow.batches) <= stream.WINDOW
    slow.hold.set()
    until(lambda: is_over(slow), "the slow client's end")
    assert decisions(slow.items) == decisions(quick.items)
    assert not any(batch["gap"] for batch in slow.batches)


@pytest.mark.long
def test_many_clients_of_every_kind_end_with_the_same(live: Live, model: str) -> None:
    prompt, slow, leaving = [live.listen() for _ in range(4)], live.listen(acknowledge=False), live.listen()
    run = live.start(model, "flood")["id"]
    for listener in (*prompt, slow, leaving):
        listener.subscribe(run)
    until(lambda: len(decisions(leaving.items)) > 10, "something to go on from")
    leaving.client.disconnect()
    seen = leaving.items[-1]["seq"]
    late, returning = live.listen(), live.listen()
    late.subscribe(run)
    returning.subscribe(run, after=seen)
    for listener in (*prompt, late, returning):
        until(lambda listener=listener: is_over(listener), "the end of the flood")
    slow.hold.set()
    until(lambda: is_over(slow), "the slow client's end")
    wanted = decisions(prompt[0].items)
    came_back = [item for item in leaving.items if item["seq"] <= seen] + returning.items
    for items in (*(listener.items for listener in (*prompt, slow, late)), came_back):
        assert decisions(items) == wanted
    for listener in (*prompt, slow, late, returning):
        for before, batch in zip(listener.batches, listener.batches[1:], strict=False):
            assert batch["after"] == before["items"][-1]["seq"], "each batch follows the one before"


@pytest.mark.long
def test_client_that_is_too_slow_is_told_of_the_gap(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RING_DECISIONS", 20)
    slow = live.listen(acknowledge=False)
    run = live.start(model, "flood")["id"]
    slow.subscribe(run)
    live.ended(run)
    slow.hold.set()
    until(lambda: is_over(slow), "the slow client's end")
    after_gap = next(number for number, batch in enumerate(slow.batches) if batch["gap"])
    assert slow.batches[after_gap]["items"][0]["seq"] > live.services.runs.live_run(run)._ring.lost > 1000
    seqs = [item["seq"] for item in slow.items]
    assert seqs == sorted(seqs)


def test_run_of_an_earlier_life_is_a_gap(live: Live, model: str) -> None:
    run = live.start(model, "fast")["id"]
    live.ended(run)
    live.services.runs._live.clear()
    listener = live.listen()
    listener.subscribe(run, after=1)
    until(lambda: listener.batches, "the gap")
    (batch,) = listener.batches
    assert (batch["run"], batch["items"], batch["gap"]) == (run, [], True)
    assert batch["after"] == live.get(f"runs/{run}")["seq"]


def test_who_leaves_the_events_still_gets_the_changes(live: Live, model: str) -> None:
    listener = live.listen()
    run = released(live, model, listener, "hang")
    listener.subscribe(run, 0, "snapshot")
    listener.client.call("unsubscribe", {"run": run}, timeout=30)
    live.post(f"runs/{run}/cancel")
    until(lambda: merged({"seq": 0}, listener).get("state") == "cancelled", "the cancelling")
    assert not is_over(listener)


def test_unsubscribe(live: Live, model: str) -> None:
    listener, other = live.listen(), live.listen()
    run = live.start(model, "wait")["id"]
    for one in (listener, other):
        one.subscribe(run)
    until(lambda: listener.states() and other.states())
    answer = listener.client.call("unsubscribe", {"run": run}, timeout=30)
    assert answer["run"] == run
    (run_store.run_folder(run) / "go").touch()
    until(lambda: is_over(other), "the other's end")
    assert not is_over(listener)


def test_disconnected_client_is_forgotten_and_the_run_goes_on(live: Live, model: str, app: Any) -> None:
    listener = live.listen()
    run = live.start(model, "wait")["id"]
    listener.subscribe(run)
    listener.client.disconnect()
    (run_store.run_folder(run) / "go").touch()
    assert live.ended(run)["state"] == "done"
    again = live.listen()
    again.subscribe(run, after=listener.items[-1]["seq"] if listener.items else 0)
    until(lambda: is_over(again), "the rest")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"run": "nothing"}, "unknown_run"),
        ({"run": "nothing", "to": "plan"}, "invalid"),
        ({"run": 3}, "invalid"),
        ({}, "invalid"),
        ("run", "invalid"),
        ({"run": "../x"}, "unknown_run"),
    ],
)
def test_mistakes(live: Live, message: Any, code: str) -> None:
    listener = live.listen()
    for name in ("subscribe", "unsubscribe"):
        error = listener.client.call(name, message, timeout=30)["error"]
        assert (error["code"], set(error)) == (code, {"code", "message", "hint"})


def test_one_page_listens_to_a_bounded_number_of_runs(live: Live, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_server.routes.sockets.RUNS_PER_CLIENT", 1)
    first, second = (live.start(model, "fast")["id"] for _ in range(2))
    listener = live.listen()
    listener.subscribe(first)
    assert "error" not in listener.subscribe(first)
    assert "error" not in listener.subscribe(first, to="snapshot")
    assert listener.subscribe(second)["error"]["message"] == "this page listens to 1 run already"
