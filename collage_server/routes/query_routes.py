"""Routes of ``/api/v1/runs/<id>/…`` that ask about a run with a plan: one for each question of the table, and those that no record answers.

Checked requests enter; resources leave, found in a worker process that knows the run's record (`server.worker.queries`).
Nothing of a run changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from flask import Blueprint, Response, request

from collage_core.documents.candidates import RegretRequest
from collage_core.documents.json_form import to_json
from collage_core.documents.statements import time_of_plan
from collage_core.documents.two_plans import CompareRequest
from collage_core.documents.what_if import WhatIfRequest
from collage_core.errors import InfeasibleError
from collage_core.what_if.questions import CANDIDATES, ESTIMATES, QUESTIONS, WHAT_IF, Question
from collage_core.what_if.two_plans import two_plans

from ..http.answers import answer, json_body, json_file
from ..http.asker import asker_left
from ..http.error_answers import Problem, api_error, not_found, refused
from ..http.request_checks import check_groups, check_positive, check_targets, switched_off
from ..messages.candidates import BaselinePlan, WhatIf
from ..runs.run_store import run_folder
from ..services import services
from ..shared.run_files import DOCUMENT
from ..worker import queries
from ..worker.engine import Engine

blueprint = Blueprint("run_queries", __name__)

MOST_REGRETS = 200
COMPARED_BYTES = 32 << 20
"""The largest body with two plans, which name every node of a model."""

A = TypeVar("A")
Q = TypeVar("Q")
T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def _as_it_is(question: Question[..., Any, Any], run: str) -> Response:
    return answer({"run": run, **to_json(_answered(question, run))})


def _candidates(run: str) -> Response:
    """Answer for a node, or with the table of all candidates, which is kept in a file."""
    if "node" in request.args:
        return answer(to_json(_answered(CANDIDATES, run)))
    return json_file(_path_or_content(_ask(queries.write_candidates, run, run)))


def _estimates(run: str) -> Response:
    return json_file(_path_or_content(_ask(queries.write_estimates, run, run)))


def _what_if(run: str) -> Response:
    try:
        best = _answered(WHAT_IF, run)
    except InfeasibleError as error:
        return answer(WhatIf(run, None, error=api_error(error), conflict=error.conflict, off=error.switched_off, uncovered=error.uncovered))
    plan, change, texts = best.plan, best.change, (best.change_text, best.predicted_text)
    # What its run measured of the plan is in how it compares with the run's.
    time = time_of_plan(plan, change.seconds, change.interval_s) if change.basis == "measured" else time_of_plan(plan)
    return answer(WhatIf(run, plan, best.optimal, best.untimed, best.keeps_plan, time, change, *texts))


ANSWERED_OTHERWISE: dict[Question[..., Any, Any], Callable[[str], Response]] = {
    CANDIDATES: _candidates,
    ESTIMATES: _estimates,
    WHAT_IF: _what_if,
}
"""Questions whose answers travel in another form than their records."""

for question in QUESTIONS:
    if question.method is not None:
        view = ANSWERED_OTHERWISE.get(question) or partial(_as_it_is, question)
        blueprint.add_url_rule(f"/runs/<run>/{question.name}", question.name, view, methods=[question.method])


def _answered(question: Question[..., Q, A], run: str) -> A:
    """Have a worker process answer what this request asks about `run`.

    Raises:
        CollageError: it is asked in a wrong way (400), there is no such run (404), it has no plan (409), or as the question says.
    """
    kind: Any = question.request
    asked: Q = json_body(kind) if question.method == "POST" else _from_address(kind)
    runs, engine = services().runs, services().config.engine
    if isinstance(asked, RegretRequest) and len(asked.candidates) > MOST_REGRETS:
        message = f"{len(asked.candidates)} candidates were named, {MOST_REGRETS} are accepted"
        raise Problem(400, "invalid", message, "ask for some at a time")
    own = None
    if isinstance(asked, WhatIfRequest):
        check_targets(asked.targets)
        check_positive("accuracy", asked.accuracy)
        check_groups(asked.groups, len(asked.constraints))
        snapshot = runs.get(run)
        switched_off(snapshot, asked.targets)  # refuses a target that the run has no costs of
        folder = runs.costs_of(snapshot)
        own = str(run_folder(run)) if question is WHAT_IF else None
    else:
        folder = runs.folder(run)
    return _call(queries.ask, engine, str(folder), question, asked, own)


def _from_address(kind: type[Q]) -> Q:
    """Read a request whose fields are numbers from the address. Raises Problem (400) where one is none."""
    numbers = {}
    for field in fields(kind):  # type: ignore[arg-type]  # every request is a dataclass
        text = request.args.get(field.name, "")
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            message = f"{field.name!r} must be the number of a {field.name}, and is {text[:40]!r}"
            raise Problem(400, "invalid", message, f"ask with ?{field.name}=0")
        numbers[field.name] = int(text)
    return kind(**numbers)


@blueprint.get("/runs/<run>/baselines/<name>/plan")
def get_baseline_plan(run: str, name: str) -> Response:
    services().runs.folder(run)
    known = [baseline.name for baseline in services().runs.get(run).baselines]
    if name not in known:
        raise not_found("unknown_baseline", f"the run {run!r} has no baseline {name!r}", f"it has {', '.join(known) or 'none'}")
    return answer(BaselinePlan(run, name, _ask(queries.baseline_plan, run, name)))


@blueprint.post("/compare")
def compare_two_plans() -> Response:
    return answer(two_plans(json_body(CompareRequest, COMPARED_BYTES)))


@blueprint.get("/runs/<run>/document")
def get_document(run: str) -> Response:
    folder = services().runs.folder(run)
    if not (folder / DOCUMENT).exists():
        _ask(queries.outcome, run)
    return json_file(folder / DOCUMENT)


@blueprint.post("/runs/<run>/profile")
def measure_inside(run: str) -> Response:
    folder = services().runs.folder(run)
    if not services().runs.get(run).artifact:
        raise refused("no_artifact", f"the run {run!r} has no artifact to run", "export it first, which builds it")
    if services().queue.is_measuring:
        raise refused("busy", "a run is measuring, and both would spoil each other's times", "ask again when it is over")
    return answer({"run": run, **to_json(_call(queries.profile, services().config.engine, str(folder)))})


def _path_or_content(file: str | bytes) -> Path | bytes:
    return file if isinstance(file, bytes) else Path(file)


def _ask(query: Callable[[Engine[Any], str, *Arguments], T], run: str, *args: *Arguments) -> T:
    """Have a worker process answer `query` about the record of `run`.

    Raises:
        CollageError: there is no such run (404), it has no plan (409), or as `query` raises it.
    """
    return _call(query, services().config.engine, str(services().runs.folder(run)), *args)


def _call(function: Callable[[*Arguments], T], *args: *Arguments) -> T:
    """Have a worker process answer, for as long as the client waits."""
    return services().pool.call(function, *args, should_stop=asker_left())
