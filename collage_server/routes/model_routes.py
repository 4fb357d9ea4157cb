"""Routes of ``/api/v1/models``: open, list, look at, and forget models."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path
from typing import IO

from flask import Blueprint, Request, Response, request
from werkzeug.datastructures import FileStorage

from collage_core.base.home import expanded, home
from collage_core.model.samples import registry as samples

from ..http.answers import accepts_gzip, answer, compressed_json, json_body, parse
from ..http.error_answers import Problem, refused
from ..http.security import check_code, check_path
from ..http.validation import read
from ..messages.models import ModelInfo, ModelList, OpenModel
from ..model_store import FILES, FixedInputs
from ..services import services

blueprint = Blueprint("models", __name__)

NAME_BYTES = 200


class UploadRequest(Request):
    """A request whose uploads are spooled where the models lie, and not into a small temporary file system."""

    max_form_parts = 200

    def _get_file_stream(
        self, total_content_length: int | None, content_type: str | None, filename: str | None = None, content_length: int | None = None
    ) -> IO[bytes]:
        return tempfile.TemporaryFile(dir=home())


@blueprint.get("/models")
def list_models() -> Response:
    return answer(ModelList(services().models.all(), services().runs.results()))


@blueprint.post("/models")
def open_model() -> Response:
    info, is_new = _upload() if request.mimetype == "multipart/form-data" else _open(json_body(OpenModel))
    return answer(info, 201 if is_new else 200)


@blueprint.get("/models/<model>")
def get_model(model: str) -> Response:
    return answer(services().models.get(model))


@blueprint.delete("/models/<model>")
def delete_model(model: str) -> Response:
    services().models.get(model)
    if services().runs.uses(model):
        raise refused("busy", f"a run on the model {model!r} is waiting or under way", "cancel it first")
    services().models.delete(model)
    return Response(status=204)


@blueprint.get("/models/<model>/graph")
def get_graph(model: str) -> Response:
    file, digest = services().models.graph(model)
    data = file.read_bytes()
    response = compressed_json(data) if accepts_gzip() else Response(gzip.decompress(data), mimetype="application/json")
    response.set_etag(digest)
    response.headers["Cache-Control"] = "no-cache"
    response.vary.add("Accept-Encoding")
    response.make_conditional(request)
    return response


@blueprint.get("/models/<model>/groups")
def get_groups(model: str) -> Response:
    return answer(services().models.groups(model))


def _open(body: OpenModel) -> tuple[ModelInfo, bool]:
    if sum(given is not None for given in (body.sample, body.path, body.again)) != 1:
        raise Problem(400, "invalid", "exactly one of 'sample', 'path' and 'again' is expected", "docs/api.md shows what is expected")
    if body.again is not None:
        is_known = not services().models.get(body.again).stale  # it was trusted when it was opened, unless it is another one now
        for path in services().models.paths(body.again):
            check_code(services().config, request.environ, path, is_trusted=body.trust or is_known)
        return services().models.open_again(body.again, body.shapes, body.values, body.region)
    fixed = FixedInputs(body.shapes, body.values or {}, body.region or None)
    if body.sample is not None:
        sample = samples.find_sample(body.sample)
        if sample is None:
            known = ", ".join(samples.SAMPLES)
            raise Problem(400, "unknown_sample", f"there is no sample {body.sample!r}", f"these are known: {known}")
        return services().models.open_sample(sample.name, fixed)
    assert body.path is not None
    check_path(services().config, request.environ)
    check_code(services().config, request.environ, body.path, is_trusted=body.trust)
    if "\0" in body.path:
        raise Problem(400, "invalid", f"{body.path!r} is no path", "")
    return services().models.open_path(expanded(body.path), fixed)


def _upload() -> tuple[ModelInfo, bool]:
    files = request.files.getlist("file")
    limit = services().config.upload_files
    if len(files) > limit:
        raise Problem(
            400, "too_many_files", f"{len(files)} files were sent, {limit} are accepted", "send the model with its external data alone"
        )
    given = {name: parse(text) for name in ("shapes", "values", "region", "trust") if (text := request.form.get(name))}
    body = read(OpenModel, given)
    for file in files:
        check_code(services().config, request.environ, file.filename or "", is_trusted=body.trust)
    with services().models.incoming() as folder:
        for file in files:
            _save(file, folder / FILES)
        return services().models.open_upload(folder, FixedInputs(body.shapes, body.values or {}, body.region or None))


def _save(file: FileStorage, folder: Path) -> None:
    """Keep one file under the last part of its name, which must be a plain one."""
    given = file.filename or ""
    name = given.replace("\\", "/").rpartition("/")[2]
    if name in ("", ".", "..") or not name.isprintable() or len(os.fsencode(name)) > NAME_BYTES:
        raise Problem(400, "bad_name", f"{given[:80]!r} cannot be the name of a file", "rename it")
    if (folder / name).exists():
        raise Problem(400, "same_name", f"two files are called {name!r}", "send each file once")
    file.save(folder / name)
