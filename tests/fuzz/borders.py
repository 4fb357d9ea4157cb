"""One function for each border: what a stranger gives goes in, as bytes; it may raise `CollageError`, and nothing else.

`model`, `relax` and `loaded` run in a worker, since a library may end its process. `server_borders` has those of servers.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerTimeout
from collage_core.cli.constraints_file import mistakes_located, read_constraints
from collage_core.cli.explanation import show_explanation
from collage_core.cli.terms_text import explain_terms
from collage_core.cost.database.database import CostDatabase
from collage_core.cost.database.json_lines import read_lines
from collage_core.cost.database.record_validation import InvalidRecord, cost_row, transition_row
from collage_core.cost.estimators.replay import ReplayEstimator
from collage_core.cost.fleet import plain_pickles, protocol
from collage_core.cost.fleet.connection import AUTHORITY, connection
from collage_core.cost.fleet.jobs import WorkerLost, described
from collage_core.cost.fleet.keys import make_keys
from collage_core.documents.json_form import to_json
from collage_core.documents.what_if import WhatIfRequest
from collage_core.errors import CollageError
from collage_core.model.forms.normalising import normalise
from collage_core.model.onnx_model import load_model
from collage_core.model.relax.relax_model import read_in
from collage_core.pipeline.discover import planned_shapes
from collage_core.pipeline.record.record import FILE_NAME, read_record
from collage_core.rewrite.plan import read_plan
from collage_core.rewrite.runtime.arrays_file import read_arrays
from collage_core.rewrite.runtime.manifest import NAME, read_manifest
from collage_core.rewrite.runtime.shaped_artifact import open_artifact
from collage_core.rewrite.runtime.shaped_manifest import read_shaped_manifest
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions, find_with_note
from collage_core.search.constraints.constraints import parse_constraints
from collage_core.search.problem_json import problem_from_json
from collage_core.serving.json_bounds import JsonBounds, parse_json
from collage_core.serving.refusal import Refusal
from collage_core.serving.served_model import read_request
from collage_core.survey.survey import _read_row
from collage_core.survey.tables import cells, sentence, survey_csv, survey_page
from collage_core.toolchains.described import read_description
from collage_core.what_if.explanation import explain
from collage_server.http.validation import read
from collage_server.messages import models, requests, runs
from tests.fuzz import server_borders
from tests.helpers.graphs import MINI_MNIST
from tests.helpers.served import write_served

Border = Callable[[bytes, Path], None]
MODEL_S = 60.0
"""A model of a few hundred bytes may take so long on a busy machine, and no longer."""


def _put(data: bytes, folder: Path, name: str) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def plan(data: bytes, folder: Path) -> None:
    made = read_plan(_put(data, folder, "plan.json"))
    json.dumps(made.to_json())
    planned_shapes(made)
    made.check_covers(tuple(node.name for node in MINI_MNIST.nodes))


def record(data: bytes, folder: Path) -> None:
    path = _put(data, folder, FILE_NAME)
    kept = read_record(path)
    with contextlib.redirect_stdout(io.StringIO()):
        found = explain(kept)
        json.dumps(to_json(found))
        show_explanation(found)
        explain_terms(folder, [{"kind": "veto", "op": "Relu", "target": "host"}], None)
    list(ReplayEstimator(path).estimate(kept.graph, []))


def artifact(data: bytes, folder: Path) -> None:
    _put(data, folder, NAME)
    shaped = read_shaped_manifest(folder)
    (read_manifest(folder) if shaped is None else shaped).check_files(folder)


def arrays(data: bytes, folder: Path) -> None:
    read_arrays(_put(data, folder, "inputs.npz"))


@cache
def _problem() -> Any:
    nodes = MINI_MNIST.nodes
    return problem_from_json(
        {
            "schema": 1,
            "nodes": len(nodes),
            "edges": [],
            "names": [node.name for node in nodes],
            "ops": [node.op for node in nodes],
            "candidates": [{"nodes": [node.index], "target": "tvm", "cost_s": 1.0} for node in nodes],
        }
    )


def constraints(data: bytes, folder: Path) -> None:
    path = _put(data, folder, "constraints.json")
    with mistakes_located(path):
        parse_constraints(list(read_constraints(path)), _problem())


def toolchain(data: bytes, folder: Path) -> None:
    described = read_description(_put(data, folder, "hook.toml"))
    list(find_with_note(described.rule(RuleOptions()), RuleContext(MINI_MNIST, "hook", RejectionLog())))


def row(data: bytes, folder: Path) -> None:
    """A row of the database, an exported file, and the file of the database itself."""
    read_from = _put(data, folder, "costs.sqlite3")
    if data.startswith(b"SQLite"):
        with CostDatabase(read_from) as database:
            database.of_computations(["c0"])
        return
    with contextlib.suppress(ValueError, RecursionError):
        values = json.loads(data)
        if isinstance(values, dict):
            for make_row in (cost_row, transition_row):
                with contextlib.suppress(InvalidRecord):
                    make_row(values)
    read_lines(io.BytesIO(data), "the file")


def messages(data: bytes, folder: Path) -> None:
    """Read what a page or a program sends."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return
    for kind in (requests.RunRequest, requests.CheckOptions, WhatIfRequest, models.OpenModel, runs.RunMarks):
        with contextlib.suppress(CollageError):  # each kind has its say
            read(kind, body)


def fleet(data: bytes, folder: Path) -> None:
    """Read what a worker of a fleet says of itself and answers, and pickles of its scheduler."""
    plain_pickles.loads(data)
    with contextlib.suppress(protocol.InvalidAnswer):
        answer = protocol.parse(data)
        for understand in (
            described,
            protocol.description_from_json,
            lambda item: protocol.record_from_json(item, 1.0),
            protocol.error_from_json,
        ):
            with contextlib.suppress(protocol.InvalidAnswer, WorkerLost):
                understand(answer)


def keys(data: bytes, folder: Path) -> None:
    """Use a certificate as that of the fleet's authority and as that of a run, with a key that belongs to another one."""
    make_keys(folder)
    key = (folder / "client.pem").read_bytes().partition(b"-----END CERTIFICATE-----\n")[2]
    for name, content in (("client.pem", data + key), (AUTHORITY, data)):
        (folder / name).write_bytes(content)
        with contextlib.suppress(CollageError):
            connection("tls://127.0.0.1:1", "--fleet", folder).security("client")


def survey_row(data: bytes, folder: Path) -> None:
    """Go on with a survey that has this file of a model: its row is used, or made again."""
    row = _read_row(_put(data, folder, "survey.json"), "k")
    if row is not None:
        survey_csv([row])
        survey_page([row], "")
        sentence(row)
        cells(row, ["onnxruntime"])
        json.dumps(to_json(row), allow_nan=False)


def inference(data: bytes, folder: Path) -> None:
    """Read what a client sends to a served artifact: JSON, and after an empty line the bytes of binary tensors."""
    text, _, binary = data.partition(b"\n\n")
    with contextlib.suppress(Refusal):
        read_request(parse_json(text, JsonBounds(10_000, 1_000)), binary)


WORKER = Worker(memory_bytes=4 << 30)
"""Reads models; whoever has called `model` or `relax` closes it."""


def model(data: bytes, folder: Path) -> None:
    path = _put(data, folder, "model.onnx")
    try:
        WORKER.call(load, str(path), timeout_s=MODEL_S)
    except WorkerTimeout as error:
        raise AssertionError("it takes too long") from error


def load(path: str) -> int:
    return len(load_model(path).graph)


def relax(data: bytes, folder: Path) -> None:
    """A module as TVM saves it; a process that it takes down is a clear error, one that it keeps busy is not."""
    try:
        read = read_in(WORKER, _put(data, folder, "module.json"), {}, timeout_s=MODEL_S)
    except CollageError as error:
        if isinstance(error.__cause__, WorkerTimeout):
            raise AssertionError("it takes too long") from error
        raise
    normalise(ModelProto.FromString(read.onnx))


@cache
def _artifact() -> tuple[Path, dict[str, Any]]:
    """Return an artifact and the content of its manifest; the files stay until the process ends."""
    kept = tempfile.TemporaryDirectory()
    atexit.register(kept.cleanup)
    folder = write_served(Path(kept.name) / "out")
    return folder, json.loads((folder / NAME).read_bytes())


def loaded(data: bytes, folder: Path) -> None:
    """Open and run an artifact whose manifest says this beside what depends on the machine and on versions."""
    source, real = _artifact()
    shutil.copytree(source, folder, dirs_exist_ok=True)
    data = data.replace(b"VERSION", real["partitions"][0]["version"].encode())
    with contextlib.suppress(ValueError, RecursionError):
        told = json.loads(data)
        if isinstance(told, dict):
            data = json.dumps({"machine": real["machine"], "files": real["files"], **told}).encode()
    _put(data, folder, NAME)
    WORKER.call(open_and_run, str(folder), timeout_s=MODEL_S)


def open_and_run(folder: str) -> None:
    with open_artifact(Path(folder)) as opened:
        opened.run({tensor.name: np.zeros([size or 1 for size in tensor.type.shape], tensor.type.dtype) for tensor in opened.inputs})


BORDERS: dict[str, Border] = {
    border.__name__: border
    for border in (
        *(model, relax, plan, record, artifact, loaded, arrays, constraints, toolchain, row, messages, inference, fleet, keys, survey_row),
        *(server_borders.access, server_borders.api, server_borders.sockets, server_borders.serving),
    )
}
"""Name, which is that of the folder of its seeds → border."""
