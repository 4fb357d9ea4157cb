"""Records that come from elsewhere: each way in which the parts of one can contradict each other is found."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.model.samples import registry
from collage_core.pipeline.record.record import RunRecord
from collage_core.pipeline.record.record_agreement import check_agreement

RECORDED = Path(registry.__file__).parent / "recorded"


def record(folder: Path, change: Callable[[dict[str, Any]], object]) -> RunRecord:
    data = json.loads(gzip.decompress((RECORDED / "mnist.json.gz").read_bytes()))
    change(data)
    (folder / "run.json.gz").write_bytes(gzip.compress(json.dumps(data).encode()))
    return RunRecord.load(folder)


def rename(data: dict[str, Any]) -> None:
    data["plan"]["partitions"][0]["id"] = data["document"]["plan"]["partitions"][0]["id"] = "c999999"


@pytest.mark.parametrize("name", ["mnist", "lstm", "crnn"])
def test_those_of_the_samples_agree(name: str) -> None:
    check_agreement(RunRecord.load(RECORDED / f"{name}.json.gz"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data["problem"]["candidates"].pop(), "its problem has other candidates than were costed"),
        (lambda data: data["candidates"][0].update(target="other"), "its problem has other candidates than were costed"),
        (lambda data: data["plan"]["partitions"].pop(), "its plan does not hold every node once"),
        (rename, "its plan has a partition 'c999999' that is no candidate of it"),
        (lambda data: data["document"]["plan"]["partitions"][0].update(target="other"), "its document tells of another plan"),
    ],
)
def test_one_that_contradicts_itself_is_refused(change: Callable[[dict[str, Any]], object], says: str, tmp_path: Path) -> None:
    with pytest.raises(CollageError, match=f"the run contradicts itself: {says}"):
        check_agreement(record(tmp_path, change))
