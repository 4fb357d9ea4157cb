"""Descriptions that workers give of themselves."""

from __future__ import annotations

import pytest

from collage_core import __version__
from collage_core.cost.database.records import machine_id
from collage_core.cost.fleet import self_description
from collage_core.cost.fleet.jobs import WorkerLost, described
from collage_core.cost.fleet.protocol import (
    parse,
)
from collage_core.cost.fleet.self_description import describe


def test_a_worker_describes_itself_in_plain_data(monkeypatch: pytest.MonkeyPatch) -> None:
    about = described(parse(describe("one").encode()))
    assert (about.name, about.version, about.machine) == ("one", __version__, machine_id())
    assert about.toolchains["onnxruntime"].usable
    monkeypatch.setattr(self_description, "_DESCRIBE_S", 0.0)
    with pytest.raises(WorkerLost, match="it cannot measure: gave no answer within 0 µs"):
        described(parse(describe("one").encode()))
