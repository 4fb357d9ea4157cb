"""Routes of ``/api/v1/runs``: start, look at, mark, cancel, delete, build and export runs; `query_routes` has what asks about plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from flask import Blueprint, Response, current_app, request, send_file

from collage_core.results.formats import file_named

from ..http.answers import answer, json_body
from ..http.asker import asker_left
from ..http.file_names import attachment, plain_name
from ..messages.requests import CheckOptions, RunRequest
from ..messages.runs import ArtifactRequest, RunList, RunMarks
from ..report.compose import report_of
from ..runs import journal, run_store
from ..runs.export import archive, contents
from ..services import services
from ..sessions.save import contents_of_run, session_pieces
from ..shared.json_files import read_json
from ..shared.run_files import PLAN, record_file
from ..worker import queries
from ..worker.export_files import write_export

blueprint = Blueprint("runs", __name__)

EXPORT_TIMEOUT_S = 120.0
"""A large model is loaded as it was planned, which takes long."""


@blueprint.get("/runs")
def list_runs() -> Response:
    return answer(RunList(services().runs.all()))


@blueprint.post("/runs")
def create_run() -> Response:
    return answer(services().control.create(json_body(RunRequest)), 201)


@blueprint.post("/dry-run")
def dry_run() -> Response:
    return answer(services().dry_runs.answer(json_body(RunRequest)))


@blueprint.post("/options")
def check_options() -> Response:
    body = json_body(CheckOptions)
    return answer(services().factory.option_problems(body.targets, body))


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


@blueprint.get("/runs/<run>/plan")
def get_plan(run: str) -> Response:
    record = record_file(services().runs.folder(run))
    assert record is not None
    return answer(read_json(record.with_name(PLAN)))


@blueprint.get("/runs/<run>/events")
def get_events(run: str) -> Response:
    services().runs.get(run)
    return Response(journal.lines(run_store.run_folder(run)), mimetype="application/x-ndjson")


@blueprint.get("/runs/<run>/log")
def get_log(run: str) -> Response:
    return answer(services().runs.log(run))


@blueprint.post("/runs/<run>/artifact")
def build_artifact(run: str) -> Response:
    body = json_body(ArtifactRequest) if request.is_json or request.content_length else ArtifactRequest()
    snapshot, is_needed = services().control.build(run, body.form, request.args.get("again") == "1")
    return answer(snapshot, 202 if is_needed else 200)


@blueprint.get("/runs/<run>/export")
def export_run(run: str) -> Response:
    folder = services().runs.folder(run)
    snapshot = services().runs.get(run)
    return attachment(Response(archive(folder, snapshot), mimetype="application/zip"), f"{plain_name(snapshot.model_name)}-{run}.zip")


@blueprint.get("/runs/<run>/export/contents")
def export_contents(run: str) -> Response:
    folder = services().runs.folder(run)
    why_not = services().pool.call(queries.why_not_forms, services().config.engine, str(folder), should_stop=asker_left())
    return answer(replace(contents(folder, services().runs.get(run)), why_not=why_not))


@blueprint.get("/runs/<run>/exports/<name>")
def export_file(run: str, name: str) -> Response:
    """Make a file of the run and send it; it has no name any more when the answer begins, so nothing is left where that is cut off."""
    file, record = file_named(name), record_file(services().runs.folder(run))
    assert record is not None
    snapshot = services().runs.get(run)
    if file.make is None:
        response = Response(_SERVED[file.format](run), mimetype=file.mimetype)
        return attachment(response, f"{plain_name(snapshot.model_name)}-{name}")
    model = str(services().models.file(snapshot.model)[0]) if file.needs_model else None
    made = Path(services().pool.call(write_export, str(record), model, name, timeout_s=EXPORT_TIMEOUT_S, should_stop=asker_left()))
    content = made.open("rb")
    made.unlink()
    return attachment(send_file(content, mimetype=file.mimetype), f"{plain_name(snapshot.model_name)}-{name}")


def _report(run: str) -> str:
    return report_of(current_app._get_current_object(), run)  # type: ignore[attr-defined]


def _session(run: str) -> Iterator[bytes]:
    return session_pieces(contents_of_run(services(), run))


_SERVED: dict[str, Callable[[str], str | Iterator[bytes]]] = {"report": _report, "session": _session}
"""Format that no worker process makes → what makes it of the run of an id."""
