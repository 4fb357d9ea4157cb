"""Reports of recorded runs as files: they are small, and hold every node's candidates, the replay, the machine and the versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from flask import Flask, request

from collage_core.cli.main import collage
from collage_core.errors import CollageError
from collage_core.model.samples import registry as samples
from collage_server.report.answers import Collector, _keep_model
from collage_server.report_file import write_report
from tests.helpers.report import answers_in, config_of

MOST_BYTES = 3_000_000
MARK = {"long": pytest.mark.long, "slow": pytest.mark.slow}

QUICK = "mini_mnist"
LONG = ("crnn", "gpt2", "quantised", "squeezenet")
RECORDED = sorted(path.name.removesuffix(".json.gz") for path in (Path(samples.__file__).parent / "recorded").glob("*.json.gz"))
"""Every sample with a recorded run; some are built in seconds and others in minutes."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLLAGE_HOME", str(tmp_path))


def check(text: str, sample: str) -> None:
    """It is small, and has an answer to whatever the page asks about its run."""
    run = f"recorded-{sample}"
    answers, report = answers_in(text), config_of(text)["report"]
    assert len(text.encode()) < MOST_BYTES
    snapshot = answers[f"GET runs/{run}"]
    nodes = answers[f"GET models/{snapshot['model']}/graph"]["graph"]["nodes"]
    packed = answers[f"GET runs/{run}/candidates?node=*"]
    assert len(packed["nodes"]) == len(nodes)
    chosen = [
        {packed["candidates"][index]["id"] for index in rows["candidates"] if packed["candidates"][index]["chosen"]}
        for rows in packed["nodes"]
    ]
    partition_of = {node: part["id"] for part in snapshot["plan"]["partitions"] for node in part["nodes"]}
    assert chosen == [{partition_of[node]} for node in range(len(nodes))], "each node is explained by the partition that it is in"
    assert answers[f"GET runs/{run}/trace"]["facts"]["steps"] > 0
    assert snapshot["verify"] is not None
    used = {part["target"] for part in snapshot["plan"]["partitions"]} - {"host"}
    assert used <= {one["name"] for one in answers["GET toolchains"]["toolchains"]}
    assert used <= report["versions"].keys()
    assert report["machine"] == snapshot["machine"] != ""
    model = f"GET models/{snapshot['model']}"
    assert answers[f"{model}/card"]["nodes"] >= len(nodes)
    assert {node["op"] for node in answers[f"{model}/file?scope="]["graph"]["nodes"]} == {
        one["op"] for one in answers[f"{model}/operators"]["operators"]
    }


def test_a_recorded_run_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    done = CliRunner().invoke(collage, ["report", QUICK, "-o", str(file)])
    assert done.exit_code == 0, done.output
    check(file.read_text(), QUICK)
    said = done.stderr.splitlines()
    assert [line for line in said if line.startswith("collecting the regrets of ")], "what takes long is told"
    assert said[-1] == f"wrote {file}"


@pytest.mark.parametrize(
    "sample", [pytest.param(name, marks=MARK["long" if name in LONG else "slow"]) for name in RECORDED if name != QUICK]
)
def test_recorded_runs_of_samples(tmp_path: Path, sample: str) -> None:
    write_report(sample, tmp_path / "report.html")
    check((tmp_path / "report.html").read_text(), sample)


def test_a_large_trace_stays_out_and_the_report_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_server.report.answers.TRACE_BYTES", 1024)
    write_report(QUICK, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    answers = answers_in(text)
    state = answers[f"GET runs/recorded-{QUICK}/trace"]
    assert (state["state"], state["facts"]) == ("failed", None)
    assert "its trace has" in state["error"]["message"]
    assert not [path for path in answers if "chunks" in path]


def test_an_unknown_run_is_refused_before_a_file_is_written(tmp_path: Path) -> None:
    with pytest.raises(CollageError, match="there is no run 'nothing'"):
        write_report("nothing", tmp_path / "report.html")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CollageError, match=r"there is no run in '.*empty': it has no run\.json\.gz"):
        write_report(str(tmp_path / "empty"), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CollageError, match="cannot write"):
        write_report(QUICK, tmp_path / "missing" / "report.html")


def test_the_file_of_a_model_is_in_it_with_its_bodies_or_counts_as_missing() -> None:
    """A body in a body, by a name that an address escapes; and a model whose file is gone since it was opened."""
    inside = {"": ["if (1)/then"], "if (1)/then": ["then/é"], "then/é": ["if (1)/then"]}
    app = Flask(__name__)

    @app.get("/api/v1/models/<model>/<part>")
    def part(model: str, part: str) -> Any:
        if model == "gone":
            return {"error": {"message": "it is gone", "hint": "", "code": "gone"}}, 404
        return {"graph": {"nodes": [{"bodies": [{"scope": scope} for scope in inside.get(request.args.get("scope", ""), [])]}, {}]}}

    app.get("/api/v1/models/<model>", endpoint="facts")(lambda model: {"id": model, "is_onnx": True, "is_missing": False})
    asked = Collector(app)
    for model in ("here", "gone"):
        _keep_model(asked, f"models/{model}")
    scopes = ["file?scope=", "file?scope=if%20(1)%2Fthen", "file?scope=then%2F%C3%A9"]
    assert sorted(asked.answers) == sorted(
        ["GET models/gone", "GET models/here", *(f"GET models/here/{part}" for part in ("card", "operators", *scopes))]
    )
    assert json.loads(asked.answers["GET models/gone"])["is_missing"] is True
    assert json.loads(asked.answers["GET models/here"])["is_missing"] is False
