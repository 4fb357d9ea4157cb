"""The file of a run that lies about its types: one clear line that names the field, and never a traceback later on."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.base.user_file import unpack
from collage_core.errors import CollageError
from collage_core.pipeline.record import record
from collage_core.pipeline.record.record import FILE_NAME, read_record
from tests.helpers.paths import RECORDED, ROOT

RUN = json.loads(gzip.decompress((ROOT / "tests" / "fuzz" / "corpus" / "record" / "run.json.gz").read_bytes()))


NODE = {
    "node": 0,
    "name": "loop",
    "op": "Loop",
    "runs_on": "host",
    "host": {"seconds": None, "source": "measured"},
    "predicted_s": 1.0,
    "bodies": [],
}
BODY = {"attribute": "body", "runs": 3, "nodes": 2, "partitions": [], "total_s": 1.0, "bodies": []}
TIMES = {"partition": "p", "source": "profiler", "groups": [{"nodes": [0, 7], "share": 1.0, "seconds": 1.0}]}


def written(folder: Path, data: Any) -> Path:
    path = folder / FILE_NAME
    path.write_bytes(gzip.compress(json.dumps(data).encode(), 1))
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda run: run["graph"]["nodes"][0].update(op={}), "graph.nodes[0].op is a dict"),
        (lambda run: run["candidates"][0].update(label=7), "candidates[0].label is a int"),
        (lambda run: run["candidates"][1].pop("rule"), "candidates[1].rule is missing"),
        (lambda run: run["candidates"][0].update(nodes=[10**30]), "candidates[0].nodes names a node that does not exist"),
        (lambda run: run["candidates"][0].update(nodes=["0"]), "candidates[0].nodes is a str"),
        (lambda run: run["candidates"][0]["cost"].update(seconds=-1), "candidates[0].cost.seconds is not a valid number"),
        (lambda run: run["candidates"][0]["cost"].update(seconds=float("nan")), "candidates[0].cost.seconds is not a valid number"),
        (lambda run: run["candidates"][0]["cost"].update(seconds=1e999), "candidates[0].cost.seconds is not a finite number"),
        (lambda run: run["candidates"][0]["cost"].update(tuned=3), "candidates[0].cost.tuned is a int"),
        (
            lambda run: run["candidates"][0]["cost"].update(tuned={"digest": "a", "trials": 1, "untuned_s": "b", "spent_s": 1.0}),
            "candidates[0].cost.tuned.untuned_s is not a valid number",
        ),
        (lambda run: run["rejected"][0].update(target=None), "rejected[0].target is a NoneType"),
        (lambda run: run.update(rejected=[0.5]), "rejected[0] is a float"),
        (lambda run: run["plan"]["partitions"][0].update(nodes=[99]), "plan.partitions[0].nodes names a node that does not exist"),
        (lambda run: run.update(machine=3), "the run.machine is a int"),
        (
            lambda run: run["document"].update(baselines=[{"name": 1}]),
            "the JSON is not that of RunDocument: baselines[0].name is 1, it must be a valid string",
        ),
        (
            lambda run: run["document"].update(bodies=[{**NODE, "runs_on": 3}]),
            "the JSON is not that of RunDocument: bodies[0].runs_on is 3, it must be a valid string",
        ),
        (
            lambda run: run["document"].update(bodies=[{**NODE, "node": 99}]),
            "the document has bodies of the node 99, and there are 8 nodes",
        ),
        (
            lambda run: run["document"].update(bodies=[{**NODE, "host": {"source": "measured", "seconds": -1.0}}]),
            "the JSON is not that of RunDocument: bodies[0].host.seconds is -1.0, it must be greater than or equal to 0",
        ),
        (
            lambda run: run["document"].update(bodies=[{**NODE, "bodies": [{**BODY, "bodies": [{**NODE, "node": 2}]}]}]),
            "the document has bodies of the node 2, and there are 2 nodes",
        ),
        (lambda run: run.update(bodies={"loop": []}), "bodies['loop'] is a list"),
    ],
)
def test_a_lie_is_named(tmp_path: Path, change: Callable[[Any], Any], words: str) -> None:
    run = json.loads(json.dumps(RUN))
    change(run)
    with pytest.raises(CollageError) as caught:
        read_record(written(tmp_path, run))
    assert f"it is damaged ({words})" in caught.value.message
    assert caught.value.code == "bad_run"


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (3, "'int' object is not iterable"),
        ([{"partition": "p", "source": "guess"}], "source is 'guess', it must be 'profiler', 'candidates', 'cost' or 'none'"),
        ([{**TIMES, "groups": [{"nodes": [0, 8], "share": 1.0, "seconds": 1.0}]}], "node_times of 'p' names a node that does not exist"),
    ],
)
def test_broken_times_inside_partitions_alone_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, times: object, words: str
) -> None:
    run = json.loads(json.dumps(RUN))
    run["document"]["node_times"] = [TIMES]
    whole = read_record(written(tmp_path, run))
    run["document"]["node_times"] = times
    read = read_record(written(tmp_path, run))
    assert whole.document.node_times is not None
    assert len(caplog.records) == 1
    assert read.document == replace(whole.document, node_times=None)
    assert words in caplog.text


def test_whole_runs_are_read(tmp_path: Path) -> None:
    assert read_record(written(tmp_path, RUN)).candidates
    assert read_record(RECORDED / "unet_attention.json.gz").candidates


def test_a_file_that_unpacks_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "unpack", lambda data, path: unpack(data, path, 1 << 20))
    path = tmp_path / FILE_NAME
    path.write_bytes(gzip.compress(bytes(16 << 20)))
    with pytest.raises(CollageError, match="it holds more than 1 MiB"):
        read_record(path)
