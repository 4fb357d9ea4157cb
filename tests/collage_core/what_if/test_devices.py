"""What-ifs of devices: memory and link of another size, and the curves, which agree with a search at each point."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from collage_core.documents.what_if import DeviceCurve, DeviceTerms
from collage_core.errors import CollageError
from collage_core.options import Options
from collage_core.pipeline.partition import partition
from collage_core.pipeline.record.record import RunRecord
from collage_core.results.result import result_of
from collage_core.what_if.devices import device_curve
from collage_core.what_if.terms import Terms
from collage_core.what_if.what_if import what_if
from tests.helpers.command import document_of, in_this_process

NPU = """
name = "npu"
style = "library"
[[pattern]]
match = "Conv(*, *)"
label = "conv"
[[pattern]]
match = "MatMul(*, *)"
label = "dense"
[[pattern]]
match = "Relu(*)"
label = "relu"
[location]
name = "npu:0"
from_host = {fixed_s = 0.2, per_byte_s = 1e-4}
to_host = {fixed_s = 0.2, per_byte_s = 1e-4}
"""


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    folder = tmp_path_factory.mktemp("devices")
    (folder / "npu.toml").write_text(NPU)
    (folder / "mock.json").write_text(json.dumps({"targets": {"onnxruntime": {"op_s": 3}, "npu": {"op_s": 1}}}))
    options = Options(("onnxruntime", "npu"), costs=f"mock:{folder / 'mock.json'}", toolchain_files=(folder / "npu.toml",))
    return partition("mnist", options)


def total_s(record: RunRecord, **device: float) -> float:
    return what_if(record, Terms(devices={"npu:0": DeviceTerms(**device)})).plan.total_s


def curve(record: RunRecord, quantity: str) -> DeviceCurve:
    return device_curve(record, Terms(), "npu:0", quantity)


def test_a_plan_is_the_best_for_all_sizes_of_its_piece_and_no_others(record: RunRecord) -> None:
    found = curve(record, "memory")
    assert found.is_complete
    assert found.now is None
    assert len(found.pieces) > 2
    assert found.pieces[0].first == 0
    assert found.pieces[-1].last_s == pytest.approx(record.plan.total_s)
    for piece, after in zip(found.pieces, found.pieces[1:], strict=False):
        assert piece.last + 1 == after.first
        assert piece.first_s == piece.last_s > after.first_s
    for piece in found.pieces:
        for size in {piece.first, (piece.first + piece.last) // 2, piece.last}:
            assert total_s(record, memory=size) == pytest.approx(piece.first_s)


def test_a_plan_is_the_best_for_all_speeds_of_its_piece(record: RunRecord) -> None:
    found = curve(record, "link")
    assert (found.is_complete, found.now) == (True, 1.0)
    assert len(found.pieces) > 1
    assert (found.pieces[0].first, found.pieces[-1].last) == (1 / 16, 16)
    for piece, after in zip(found.pieces, found.pieces[1:], strict=False):
        assert piece.last == pytest.approx(after.first)
        assert piece.last_s == pytest.approx(after.first_s)
    for piece in found.pieces:
        assert total_s(record, link=piece.first) == pytest.approx(piece.first_s)
        middle = 2 / (1 / piece.first + 1 / piece.last)
        assert total_s(record, link=middle) == pytest.approx((piece.first_s + piece.last_s) / 2)


def test_the_cut_of_each_piece_is_told(record: RunRecord) -> None:
    slowest, fastest = curve(record, "link").pieces[0], curve(record, "link").pieces[-1]
    assert len(slowest.nodes) < len(fastest.nodes)
    assert len(slowest.copied) < len(fastest.copied)
    assert curve(record, "link").texts[-1].endswith(f"{len(fastest.copied)} tensors ({fastest.copied_bytes / 1000:.3g} kB) copied")


def test_without_the_device_is_a_veto_of_its_location(record: RunRecord) -> None:
    without = what_if(record, Terms([{"kind": "veto", "location": "npu:0"}])).plan
    assert {part.target for part in without.partitions} <= {"onnxruntime", "host"}
    assert without.total_s == pytest.approx(curve(record, "memory").pieces[0].first_s)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ({"cuda:0": DeviceTerms(memory=1)}, "the run has no device 'cuda:0': its devices are npu:0"),
        ({"npu:0": DeviceTerms(link=0)}, "the link of 'npu:0' is 0, it must be a number above 0, of at most 1e"),
        ({"npu:0": DeviceTerms(memory=-1)}, "the memory of 'npu:0' is -1, it must be a number from 0, of at most 1e"),
    ],
)
def test_what_no_device_can_be_is_refused(record: RunRecord, device: dict[str, DeviceTerms], message: str) -> None:
    with pytest.raises(CollageError, match=message):
        what_if(record, Terms(devices=device))


def test_a_curve_whose_time_is_over_says_so(record: RunRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collage_core.what_if.devices.LONGEST_S", 0.0)
    assert curve(record, "memory") == replace(curve(record, "memory"), pieces=(), is_complete=False, texts=())


def test_the_command_line_and_python_answer_the_same(record: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record.save(tmp_path)
    held = next(row.peak for row in record.plan.memory or () if row.location == "npu:0")
    half = total_s(record, memory=held // 2)
    asked = document_of(capsys, "explain", tmp_path, "--what-if", "memory:npu:0=50%", "--what-if", "link:npu:0=1")
    assert asked["plan"]["total_s"] == pytest.approx(half)
    assert asked["change"]["change_s"] == pytest.approx(half - record.plan.total_s)
    result = result_of(record)
    assert result.what_if(memory={"npu:0": held // 2}).plan.total_s == pytest.approx(half)
    assert result.what_if(link={"npu:0": 2.0}).plan.total_s == pytest.approx(total_s(record, link=2.0))
    _, text, _ = in_this_process(capsys, "explain", tmp_path, "--what-if", "memory:npu:0")
    assert text.splitlines() == list(result.device_curve("npu:0").texts)
    without = document_of(capsys, "explain", tmp_path, "--what-if", "without:npu:0")["plan"]
    assert without["total_s"] == pytest.approx(curve(record, "memory").pieces[0].first_s)
    code, _, err = in_this_process(capsys, "explain", tmp_path, "--what-if", "memory:npu:0=much")
    assert (code, "the memory of 'npu:0' is 'much', where a number must stand" in err) == (2, True)
