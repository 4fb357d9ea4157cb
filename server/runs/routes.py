"""Routes of ``/api/v1/runs``: start, look at, cancel, delete, build and take away runs."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Response, request

from ..base.json_files import read_json
from ..http.answers import accepts_gzip, answer, compressed_json, json_body
from ..http.errors import Problem
from ..messages.candidates import RegretRequest
from ..messages.requests import CheckOptions, RunRequest, WhatIfRequest
from ..messages.runs import RunList, RunMarks
from ..services import services
from ..worker import run_job
from . import journal
from . import store as run_store
from .export import archive, contents

blueprint = Blueprint("runs", __name__)


@blueprint.get("/runs")
def list_runs() -> Response:
    return answer(RunList(services().runs.all()))


@blueprint.post("/runs")
def create_run() -> Response:
    return answer(services().control.create(json_body(RunRequest)), 201)


@blueprint.post("/options")
def check_options() -> Response:
    body = json_body(CheckOptions)
    return answer(services().orders.option_problems(body.targets, body))


@blueprint.get("/runs/<run>")
def get_run(run: str) -> Response:
    return answer(services().runs.opened(run))


@blueprint.patch("/runs/<run>")
def mark_run(run: str) -> Response:
    return answer(services().runs.mark(run, json_body(RunMarks)))


@blueprint.delete("/runs/<run>")
def delete_run(run: str) -> Response:
    services().traces.stop(run)
    services().runs.delete(run)
    return Response(status=204)


@blueprint.post("/runs/<run>/cancel")
def cancel_run(run: str) -> Response:
    return answer(services().control.cancel(run))


@blueprint.get("/runs/<run>/candidates")
def get_candidates(run: str) -> Response:
    node = request.args.get("node")
    if node is None:
        return _stored(services().questions.candidate_table(run))
    if not (node.isascii() and node.isdecimal() and len(node) < 10):
        raise Problem(400, "invalid", f"'node' must be the number of a node, and is {node[:40]!r}", "ask with ?node=0")
    return answer(services().questions.candidates(run, int(node)))


@blueprint.get("/runs/<run>/estimates")
def get_estimates(run: str) -> Response:
    return _stored(services().questions.estimates(run))


@blueprint.get("/runs/<run>/rules")
def get_rules(run: str) -> Response:
    return answer(services().questions.rules(run))


@blueprint.post("/runs/<run>/regrets")
def get_regrets(run: str) -> Response:
    return answer(services().questions.regrets(run, json_body(RegretRequest).candidates))


@blueprint.get("/runs/<run>/baselines/<name>/plan")
def get_baseline_plan(run: str, name: str) -> Response:
    return answer(services().questions.baseline_plan(run, name))


@blueprint.post("/runs/<run>/what-if")
def find_what_if(run: str) -> Response:
    return answer(services().what_if.plan(run, json_body(WhatIfRequest)))


@blueprint.post("/runs/<run>/effects")
def find_effects(run: str) -> Response:
    return answer(services().what_if.effects(run, json_body(WhatIfRequest)))


@blueprint.get("/runs/<run>/plan")
def get_plan(run: str) -> Response:
    record = run_job.record_file(services().runs.folder(run))
    assert record is not None
    return answer(read_json(record.with_name(run_job.PLAN)))


@blueprint.get("/runs/<run>/document")
def get_document(run: str) -> Response:
    return _stored(services().questions.document(run))


@blueprint.get("/runs/<run>/events")
def get_events(run: str) -> Response:
    services().runs.get(run)
    return Response(journal.lines(run_store.run_folder(run)), mimetype="application/x-ndjson")


@blueprint.get("/runs/<run>/log")
def get_log(run: str) -> Response:
    return answer(services().runs.log(run))


@blueprint.post("/runs/<run>/artifact")
def build_artifact(run: str) -> Response:
    snapshot, is_needed = services().control.build(run)
    return answer(snapshot, 202 if is_needed else 200)


@blueprint.get("/runs/<run>/export")
def export_run(run: str) -> Response:
    folder = services().runs.folder(run)
    snapshot = services().runs.get(run)
    response = Response(archive(folder, snapshot), mimetype="application/zip")
    response.headers.set("Content-Disposition", "attachment", filename=f"{_file_name(snapshot.model_name)}-{run}.zip")
    return response


@blueprint.get("/runs/<run>/export/contents")
def export_contents(run: str) -> Response:
    services().runs.folder(run)
    return answer(contents(services().runs.get(run)))


def _stored(file: Path) -> Response:
    """A compressed JSON file of the run's folder, as the client can take it."""
    response = compressed_json(file.read_bytes()) if accepts_gzip() else answer(read_json(file))
    response.vary.add("Accept-Encoding")
    return response


def _file_name(name: str) -> str:
    """A model's name without what a file's name cannot have."""
    return "".join(char if char.isascii() and (char.isalnum() or char in "-_") else "_" for char in name)[:60] or "model"
