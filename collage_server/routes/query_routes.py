"""Routes of ``/api/v1/runs/<id>/…`` that ask about a run with a plan: its candidates, rules, baselines, and other plans on its costs.

Checked requests enter; resources leave, found in a worker process that knows the run's record (`server.worker.queries`).
Nothing of a run changes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from flask import Blueprint, Response, request

from collage_core.documents.node_times import PartitionNodeTimes
from collage_core.documents.plan import PlacedPlan
from collage_core.errors import InfeasibleError
from collage_core.what_if.terms import Terms

from ..http.answers import answer, json_body, json_file
from ..http.asker import asker_left
from ..http.error_answers import Problem, api_error, not_found, refused
from ..http.request_checks import check_groups, check_positive, check_targets, switched_off
from ..messages.bodies import BodyInfo, BodyNode, BodyPartition, ControlNode, RunBodies
from ..messages.candidates import (
    BaselinePlan,
    CandidateRegret,
    Effect,
    Effects,
    RegretRequest,
    RunNodeTimes,
    RunRegrets,
    RunRules,
    RunSpec,
    WhatIf,
)
from ..messages.inside import InsideTimes
from ..messages.other_plans import Against, UnknownPart, Worth
from ..messages.other_terms import OtherTerms
from ..messages.requests import AgainstRequest, WhatIfRequest
from ..messages.shapes import RunShapes
from ..messages.undecided import RunUndecided
from ..runs.factory import MOST_NAME
from ..runs.run_store import run_folder
from ..runs.state import plan_info
from ..services import services
from ..shared.from_json import from_json
from ..shared.run_files import DOCUMENT
from ..worker import queries
from ..worker.engine import Engine

blueprint = Blueprint("run_queries", __name__)

MOST_REGRETS = 200

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


@blueprint.get("/runs/<run>/candidates")
def get_candidates(run: str) -> Response:
    node = request.args.get("node")
    if node is None:
        return json_file(_path_or_content(_ask(queries.write_candidates, run, run)))
    if not (node.isascii() and node.isdecimal() and len(node) < 10):
        raise Problem(400, "invalid", f"'node' must be the number of a node, and is {node[:40]!r}", "ask with ?node=0")
    return answer(_ask(queries.node_candidates, run, int(node)))


@blueprint.get("/runs/<run>/estimates")
def get_estimates(run: str) -> Response:
    return json_file(_path_or_content(_ask(queries.write_estimates, run, run)))


@blueprint.get("/runs/<run>/node-times")
def get_node_times(run: str) -> Response:
    found = _ask(queries.node_times, run)
    return answer(RunNodeTimes(run, [from_json(PartitionNodeTimes, item) for item in found["partitions"]], found["alone_s"]))


@blueprint.get("/runs/<run>/shapes")
def get_shapes(run: str) -> Response:
    return answer(from_json(RunShapes, {"run": run, **_ask(queries.shapes, run)}))


@blueprint.get("/runs/<run>/bodies")
def get_bodies(run: str) -> Response:
    return answer(RunBodies(run, [_control_node(item) for item in _ask(queries.bodies, run)]))


def _control_node(item: dict[str, Any]) -> ControlNode:
    return ControlNode(**{**item, "bodies": [_body(body) for body in item["bodies"]]})


def _body(item: dict[str, Any]) -> BodyInfo:
    nodes, partitions = [BodyNode(**node) for node in item["nodes"]], [BodyPartition(**one) for one in item["partitions"]]
    return BodyInfo(**{**item, "nodes": nodes, "partitions": partitions, "inner": [_control_node(inner) for inner in item["inner"]]})


@blueprint.get("/runs/<run>/rules")
def get_rules(run: str) -> Response:
    return answer(RunRules(run, [RunSpec(**spec) for spec in _ask(queries.specs, run)]))


@blueprint.post("/runs/<run>/regrets")
def get_regrets(run: str) -> Response:
    wanted = json_body(RegretRequest).candidates
    if len(wanted) > MOST_REGRETS:
        raise Problem(400, "invalid", f"{len(wanted)} candidates were named, {MOST_REGRETS} are accepted", "ask for some at a time")
    return answer(RunRegrets(run, [CandidateRegret(**item) for item in _ask(queries.regrets, run, wanted)]))


@blueprint.get("/runs/<run>/baselines/<name>/plan")
def get_baseline_plan(run: str, name: str) -> Response:
    services().runs.folder(run)
    known = [baseline.name for baseline in services().runs.get(run).baselines]
    if name not in known:
        raise not_found("unknown_baseline", f"the run {run!r} has no baseline {name!r}", f"it has {', '.join(known) or 'none'}")
    return answer(BaselinePlan(run, name, plan_info(from_json(PlacedPlan, _ask(queries.baseline_plan, run, name)))))


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
    return answer(WhatIf(run, plan_info(from_json(PlacedPlan, found["plan"])), found["optimal"], found["untimed"], found["keeps_plan"]))


@blueprint.post("/runs/<run>/effects")
def find_effects(run: str) -> Response:
    body = json_body(WhatIfRequest)
    costs, terms = _terms(run, body)
    check_groups(body.groups, len(body.constraints))
    found = _call(queries.effects, services().config.engine, costs, terms, body.groups)
    off = {target: Effect(**effect) for target, effect in found["switched_off"].items()}
    accuracy = Effect(**found["accuracy"]) if found["accuracy"] else None
    costs_effects = {candidate: Effect(**effect) for candidate, effect in found["costs"].items()}
    return answer(Effects(run, [Effect(**effect) for effect in found["groups"]], off, accuracy, costs_effects))


@blueprint.post("/runs/<run>/other-terms")
def find_other_terms(run: str) -> Response:
    costs, terms = _terms(run, json_body(WhatIfRequest))
    found = _call(queries.other_terms, services().config.engine, costs, terms)
    return answer(from_json(OtherTerms, {"run": run, **found}))


@blueprint.post("/runs/<run>/against")
def find_against(run: str) -> Response:
    body = json_body(AgainstRequest)
    found = _ask(queries.against, run, body.text, body.name[:MOST_NAME], body.devices)
    unknown = [UnknownPart(**part) for part in found["unknown"]]
    return answer(
        Against(run, found["name"], plan_info(from_json(PlacedPlan, found["plan"])), found["apparent_loss_s"], unknown, found["ignored"])
    )


@blueprint.get("/runs/<run>/worth")
def get_worth(run: str) -> Response:
    return answer(from_json(Worth, {"run": run, **_ask(queries.worth, run)}))


@blueprint.get("/runs/<run>/undecided")
def get_undecided(run: str) -> Response:
    return answer(from_json(RunUndecided, {"run": run, **_ask(queries.undecided, run)}))


@blueprint.post("/runs/<run>/profile")
def measure_inside(run: str) -> Response:
    folder = services().runs.folder(run)
    if not services().runs.get(run).artifact:
        raise refused("no_artifact", f"the run {run!r} has no artifact to run", "export it first, which builds it")
    if services().queue.is_measuring:
        raise refused("busy", "a run is measuring, and both would spoil each other's times", "ask again when it is over")
    return answer(from_json(InsideTimes, {"run": run, **_call(queries.profile, services().config.engine, str(folder))}))


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
