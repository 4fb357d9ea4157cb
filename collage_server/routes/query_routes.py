"""Routes of ``/api/v1/runs/<id>/…`` that ask about a run with a plan: its candidates, rules, baselines, and other plans on its costs.

Checked requests enter; resources leave, found in a worker process that knows the run's record (`server.worker.queries`).
Nothing of a run changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from flask import Blueprint, Response, request

from collage_core.documents.json_form import to_json
from collage_core.errors import InfeasibleError
from collage_core.what_if import questions
from collage_core.what_if.terms import Terms

from ..http.answers import answer, json_body, json_file
from ..http.asker import asker_left
from ..http.error_answers import Problem, api_error, not_found, refused
from ..http.request_checks import check_groups, check_positive, check_targets, switched_off
from ..messages.candidates import BaselinePlan, RegretRequest, WhatIf
from ..messages.other_plans import Against
from ..messages.requests import AgainstRequest, WhatIfRequest
from ..runs.factory import MOST_NAME
from ..runs.run_store import run_folder
from ..runs.state import plan_info
from ..services import services
from ..shared.run_files import DOCUMENT
from ..worker import queries
from ..worker.engine import Engine

blueprint = Blueprint("run_queries", __name__)

MOST_REGRETS = 200

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


def _answer_plainly(question: questions.Question[Any], run: str) -> Response:
    return _answer(run, _ask(queries.ask, run, question))


def _answer(run: str, found: object) -> Response:
    """Answer with a record about `run`."""
    return answer({"run": run, **to_json(found)})


@blueprint.get("/runs/<run>/candidates")
def get_candidates(run: str) -> Response:
    node = request.args.get("node")
    if node is None:
        return json_file(_path_or_content(_ask(queries.write_candidates, run, run)))
    if not (node.isascii() and node.isdecimal() and len(node) < 10):
        raise Problem(400, "invalid", f"'node' must be the number of a node, and is {node[:40]!r}", "ask with ?node=0")
    return answer(to_json(_ask(queries.node_candidates, run, int(node))))


@blueprint.get("/runs/<run>/estimates")
def get_estimates(run: str) -> Response:
    return json_file(_path_or_content(_ask(queries.write_estimates, run, run)))


for plain in questions.PLAIN:
    blueprint.add_url_rule(f"/runs/<run>/{plain.name}", plain.name, partial(_answer_plainly, plain))


@blueprint.post("/runs/<run>/regrets")
def get_regrets(run: str) -> Response:
    wanted = json_body(RegretRequest).candidates
    if len(wanted) > MOST_REGRETS:
        raise Problem(400, "invalid", f"{len(wanted)} candidates were named, {MOST_REGRETS} are accepted", "ask for some at a time")
    return _answer(run, _ask(queries.ask, run, questions.REGRETS, wanted))


@blueprint.get("/runs/<run>/baselines/<name>/plan")
def get_baseline_plan(run: str, name: str) -> Response:
    services().runs.folder(run)
    known = [baseline.name for baseline in services().runs.get(run).baselines]
    if name not in known:
        raise not_found("unknown_baseline", f"the run {run!r} has no baseline {name!r}", f"it has {', '.join(known) or 'none'}")
    return answer(BaselinePlan(run, name, plan_info(_ask(queries.baseline_plan, run, name))))


@blueprint.get("/runs/<run>/document")
def get_document(run: str) -> Response:
    folder = services().runs.folder(run)
    if not (folder / DOCUMENT).exists():
        _ask(queries.outcome, run)
    return json_file(folder / DOCUMENT)


@blueprint.post("/runs/<run>/what-if")
def find_what_if(run: str) -> Response:
    body = json_body(WhatIfRequest)
    costs, terms = _terms(run, body)
    try:
        found = _call(queries.what_if, services().config.engine, costs, terms, str(run_folder(run)))
    except InfeasibleError as error:
        return answer(WhatIf(run, None, error=api_error(error), conflict=error.conflict, off=error.switched_off, uncovered=error.uncovered))
    return answer(WhatIf(run, plan_info(found.plan), found.optimal, found.untimed, found.keeps_plan))


@blueprint.post("/runs/<run>/effects")
def find_effects(run: str) -> Response:
    body = json_body(WhatIfRequest)
    costs, terms = _terms(run, body)
    check_groups(body.groups, len(body.constraints))
    return _answer(run, _call(queries.ask, services().config.engine, costs, questions.EFFECTS, terms, body.groups))


@blueprint.post("/runs/<run>/other-terms")
def find_other_terms(run: str) -> Response:
    costs, terms = _terms(run, json_body(WhatIfRequest))
    return _answer(run, _call(queries.ask, services().config.engine, costs, questions.OTHER_TERMS, terms))


@blueprint.post("/runs/<run>/against")
def find_against(run: str) -> Response:
    body = json_body(AgainstRequest)
    found = _ask(queries.ask, run, questions.AGAINST, body.text, body.name[:MOST_NAME], body.devices)
    return answer(Against(run, found.name, plan_info(found.plan), found.apparent_loss_s, found.unknown, found.ignored))


@blueprint.post("/runs/<run>/profile")
def measure_inside(run: str) -> Response:
    folder = services().runs.folder(run)
    if not services().runs.get(run).artifact:
        raise refused("no_artifact", f"the run {run!r} has no artifact to run", "export it first, which builds it")
    if services().queue.is_measuring:
        raise refused("busy", "a run is measuring, and both would spoil each other's times", "ask again when it is over")
    return _answer(run, _call(queries.profile, services().config.engine, str(folder)))


def _path_or_content(made: str | bytes) -> Path | bytes:
    return made if isinstance(made, bytes) else Path(made)


def _ask(query: Callable[[Engine[Any], str, *Arguments], T], run: str, *args: *Arguments) -> T:
    """Have a worker process answer `query` about the record of `run`.

    Raises:
        CollageError: there is no such run (404), it has no plan (409), or as `query` raises it.
    """
    return _call(query, services().config.engine, str(services().runs.folder(run)), *args)


def _call(function: Callable[[*Arguments], T], *args: *Arguments) -> T:
    """Have a worker process answer, for as long as the client waits."""
    return services().pool.call(function, *args, should_stop=asker_left())


def _terms(run: str, body: WhatIfRequest) -> tuple[str, Terms]:
    """Return the folder with the costs of `run`, and the terms that are asked for."""
    check_targets(body.targets)
    check_positive("accuracy", body.accuracy)
    snapshot = services().runs.get(run)
    off = switched_off(snapshot, body.targets)
    return str(services().runs.costs_of(snapshot)), Terms(body.constraints, body.accuracy, off, body.costs)
