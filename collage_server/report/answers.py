"""`collect`: everything that the page reads about a run, asked of the app's own routes, as they would answer the page.

An app and the id of a run enter; answers as JSON text leave, by method and path. A run whose search was not traced yet is
traced. Nothing else of the run changes, and nothing is measured.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any
from urllib.parse import quote

from flask import Flask

from collage_core.base.counted import counted
from collage_core.base.durations import duration
from collage_core.documents.candidates import RegretRequest
from collage_core.documents.json_form import to_json
from collage_core.documents.two_plans import ShownPart
from collage_core.errors import CollageError
from collage_core.what_if.questions import CANDIDATES, QUESTIONS, REGRETS, TOTALS, UNDECIDED, WORTH

from ..services import Services
from ..worker import queries

API = "/api/v1/"
RECORDED = "recorded-"
"""How the ids of recorded runs begin, whose models are those of their samples."""

SEARCHED = (WORTH, UNDECIDED)
"""Questions that take a search or more; a report of a model for which one takes too long goes without it."""

READS = ("", *(f"/{question.name}" for question in QUESTIONS if question.method == "GET" and question not in SEARCHED), "/log")
"""Resources of every run that the page reads, after the run's own path."""

ALL_NODES_S = 1800.0
"""Longest that the candidates of all nodes, or their regrets, may take, for a model of thousands of nodes."""
TRACE_BYTES = 2 << 20
"""Larger traces stay out, since a report is meant to be sent."""
TRACE_S = 120.0
LOOK_S = 0.05

UNESCAPED = "!~*'()"
"""Characters that `encodeURIComponent` leaves as they are, besides those that `quote` leaves."""

Answers = dict[str, str]
"""JSON by what was asked, such as ``GET runs/1/log``."""


class Collector:
    """Asks the app, and keeps what it answers.

    Args:
        app: It answers as the server of the page would.
    """

    def __init__(self, app: Flask):
        self._client = app.test_client()
        self.answers: Answers = {}

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the answer of the app, which is not kept; with a body it is a POST.

        Raises:
            CollageError: as the app says.
        """
        return json.loads(self._text(path, body))

    def keep(self, path: str) -> Any:
        """Return the answer of the app to a GET, and keep it."""
        text = self.answers[f"GET {path}"] = self._text(path, None)
        return json.loads(text)

    def add(self, asked: str, answer: Any) -> None:
        """Keep an answer that the app did not give as such."""
        self.answers[asked] = json.dumps(answer, separators=(",", ":"))

    def _text(self, path: str, body: Mapping[str, Any] | None) -> str:
        response = self._client.get(API + path) if body is None else self._client.post(API + path, json=body)
        text: str = response.get_data(as_text=True)
        if response.status_code >= 400:
            error = json.loads(text)["error"]
            raise CollageError(error["message"], error["hint"], error["code"])
        return text


def tell_nobody(_: str) -> None:
    """Ignore what is being collected."""


def collect(app: Flask, run: str, tell: Callable[[str], None] = tell_nobody) -> tuple[Answers, dict[str, Any]]:
    """Return the answers that the page of `run` needs, and the run's snapshot.

    Args:
        tell: Called with what is collected next, where that may take long.

    Raises:
        CollageError: there is no such run, it has no plan, or its model is not kept any more.
    """
    asked = Collector(app)
    path = f"runs/{quote(run, safe='')}"
    snapshot = asked.ask(path)
    asked.ask(f"{path}/export/contents")  # refuses a run without a plan
    if run.startswith(RECORDED):
        asked.ask("models", {"sample": run.removeprefix(RECORDED)})
    for read in READS:
        asked.keep(path + read)
    tell("which targets are worth having, and what is undecided")
    for question in SEARCHED:
        with suppress(CollageError):
            asked.keep(f"{path}/{question.name}")
    model = f"models/{quote(snapshot['model'], safe='')}"
    for read in ("/graph", "/groups"):
        asked.keep(model + read)
    _keep_model(asked, model)
    _keep_reasons(asked, app.extensions["collage"], run, path, tell)
    _keep_baselines(asked, path, snapshot)
    _keep_lists(asked, run, snapshot)
    tell("the trace of its search")
    _keep_trace(asked, run, path)
    return asked.answers, snapshot


def _keep_reasons(asked: Collector, services: Services, run: str, path: str, tell: Callable[[str], None]) -> None:
    """Keep the candidates of every node and all regrets, which the page asks for node by node and row by row."""
    folder, engine = str(services.runs.folder(run)), services.config.engine
    tell("the candidates of every node")
    packed = services.pool.call(queries.packed_node_candidates, engine, folder, timeout_s=ALL_NODES_S)
    asked.add(f"GET {path}/{CANDIDATES.name}?node=*", packed)
    ids = json.loads(asked.answers[f"GET {path}/{CANDIDATES.name}"])["columns"]["id"]
    tell(f"the regrets of {counted(len(ids), 'candidate')}")
    regrets = services.pool.call(queries.ask, engine, folder, REGRETS, RegretRequest(ids), timeout_s=ALL_NODES_S)
    asked.add(f"POST {path}/{REGRETS.name}", {"run": run, **to_json(regrets)})


def _keep_model(asked: Collector, model: str) -> None:
    """Keep the model's facts, and of its file the card, the operators and the graph with all bodies and functions.

    Where the file cannot be read any more, the report's model is one without its file.
    """
    info = asked.keep(model)
    if not info["is_onnx"] or info["is_missing"]:
        return
    try:
        asked.keep(f"{model}/card")
        asked.keep(f"{model}/operators")
        waiting, known = [""], {""}
        while waiting:
            # The page asks by this very text, which it escapes as `encodeURIComponent` does.
            graph = asked.keep(f"{model}/file?scope={quote(waiting.pop(), safe=UNESCAPED)}")["graph"]
            scopes = {body["scope"] for node in graph["nodes"] for body in node.get("bodies", ())} - known
            known |= scopes
            waiting.extend(scopes)
    except CollageError:
        asked.add(f"GET {model}", {**info, "is_missing": True})


def _keep_baselines(asked: Collector, path: str, snapshot: Mapping[str, Any]) -> None:
    times = {row["name"]: row["time"] for row in json.loads(asked.answers[f"GET {path}/{TOTALS.name}"])["rows"]}
    own = shown(snapshot["plan"], snapshot["time"], snapshot["id"], is_plan=True)
    for baseline in snapshot["baselines"]:
        name = baseline["name"]
        if baseline["total_s"] is not None:
            answer = asked.keep(f"{path}/baselines/{quote(name, safe='')}/plan")
            other = shown(answer["plan"], times[name], snapshot["id"], is_plan=False)
            asked.add(f"POST compare this plan/{name}", asked.ask("compare", {"first": own, "second": other}))
            asked.add(f"POST compare {name}/this plan", asked.ask("compare", {"first": other, "second": own}))


def shown(plan: Mapping[str, Any], known: Mapping[str, Any], run: str, is_plan: bool) -> dict[str, Any]:
    """Return the fields of a `ShownPlan`."""
    parts = [{field.name: part[field.name] for field in fields(ShownPart)} for part in plan["partitions"]]
    transitions_s = sum(transition["cost_s"] for transition in (*plan["transitions"], *plan.get("copies", ())))
    return {"parts": parts, "transitions_s": transitions_s, "time": known, "run": run, "is_plan": is_plan}


def _keep_lists(asked: Collector, run: str, snapshot: Mapping[str, Any]) -> None:
    """Keep the lists that the page asks for, with what belongs to this run."""
    targets = {*snapshot["targets"], *(count["name"] for count in snapshot["counts"])}
    toolchains = [known for known in asked.ask("toolchains")["toolchains"] if known["name"] in targets]
    asked.add("GET toolchains", {"toolchains": toolchains})
    asked.add("GET runs", {"runs": [row for row in asked.ask("runs")["runs"] if row["id"] == run]})
    asked.add("GET models", {"models": [], "results": {}})
    asked.add("GET samples", {"samples": []})
    asked.add("GET described", {"toolchains": []})


def _keep_trace(asked: Collector, run: str, path: str) -> None:
    """Keep the trace of the search, or why there is none in the report."""
    try:
        state = _traced(asked, path)
    except CollageError as error:
        why = {"code": error.code, "message": f"the report has no replay: {error.message}", "hint": error.hint}
        state = {"run": run, "state": "failed", "steps": 0, "facts": None, "error": why}
    asked.add(f"GET {path}/trace", state)
    facts = state["facts"]
    chunks = -(-facts["steps"] // facts["chunk_steps"]) if facts else 0
    for number in range(chunks):
        asked.keep(f"{path}/trace/chunks/{number}")


def _traced(asked: Collector, path: str) -> Any:
    """Return the state of the trace, made where there is none.

    Raises:
        CollageError: it cannot be made, takes long, or is large.
    """
    state = asked.ask(f"{path}/trace", {})
    end_s = time.monotonic() + TRACE_S
    while state["state"] == "tracing":
        if time.monotonic() > end_s:
            raise CollageError(
                f"tracing takes more than {duration(TRACE_S, 2)}", "trace the search on the page, then write the report again"
            )
        time.sleep(LOOK_S)
        state = asked.ask(f"{path}/trace")
    if state["state"] == "ready" and state["facts"]["size_bytes"] > TRACE_BYTES:
        size = f"{state['facts']['size_bytes'] / (1 << 20):.1f} MiB"
        reason = f"its trace has {size}, and a report holds {TRACE_BYTES >> 20} MiB"
        raise CollageError(reason, "watch it with `collage explore` where the run is")
    return state
