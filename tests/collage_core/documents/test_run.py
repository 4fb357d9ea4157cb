"""The document of a run as JSON, and as a record again."""

from __future__ import annotations

import gzip
import json

import pytest

from collage_core.documents.json_form import from_json, to_json
from collage_core.documents.run import RunDocument
from collage_core.errors import CollageError
from tests.helpers.documents import LEAST, run_document
from tests.helpers.paths import RECORDED


@pytest.mark.parametrize("name", ["mini_mnist", "quantised", "unet_attention", "detr"])
def test_a_recorded_document_reads_back_and_loses_nothing(name: str) -> None:
    data = json.loads(gzip.decompress((RECORDED / f"{name}.json.gz").read_bytes()))["document"]
    told = to_json(from_json(RunDocument, data))
    assert from_json(RunDocument, told) == from_json(RunDocument, data)
    assert told.keys() == data.keys()
    for part in data.keys() - {"verify"}:
        assert told[part] == data[part], part
    assert {key: told["verify"][key] for key in data["verify"]} == data["verify"]


def test_parts_of_few_runs_are_left_out_of_the_others() -> None:
    assert to_json(run_document()).keys().isdisjoint({"shapes", "node_times", "decided_for", "regions", "artifacts"})
    assert to_json(run_document(decided_for="all shapes"))["decided_for"] == "all shapes"


@pytest.mark.parametrize("part", ["model", "search", "plan", "verify", "decided_by"])
def test_what_every_run_says_has_to_be_there(part: str) -> None:
    with pytest.raises(CollageError, match=f"the JSON is not that of RunDocument: {part} is missing"):
        from_json(RunDocument, {key: value for key, value in LEAST.items() if key != part})
