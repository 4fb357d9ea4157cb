"""`make bench-tvm`: the table, who is behind whom, and a run that goes on; one sample from its model to its figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import bench_tvm
import pytest
from bench_tvm import AS_IT_IS, FUSE_OPS, FUSION, HEADER, PLANS, Result, difference, from_json, is_decided, measured, report, row
from fresh_process import Rounds

from collage_core.options import Options
from collage_core.toolchains.registry import get

MS = {AS_IT_IS: 500.0, FUSE_OPS: 20.0, FUSION: 16.0, "tuned": 12.5, "libraries": 10.0, "all": 8.0}


def result(fusion_ms: Sequence[float] = (16.0,) * 5) -> Result:
    """Figures of five rounds, in which fusion mode takes `fusion_ms`."""
    seconds = {name: [each / 1e3] * 5 for name, each in MS.items()} | {FUSION: [each / 1e3 for each in fusion_ms]}
    differs = (("A+B instead of A | B (nodes 3, 4)", 2e-5), *((f"C{at} instead of D", 1e-5) for at in range(6)), ("E instead of F", -1e-5))
    return Result(Rounds(seconds), (30, 24), differs, (3, 24), 0.25, 71.0)


def test_the_row_shows_what_was_measured() -> None:
    shown = dict(zip(HEADER[:3], row("bert", result()), strict=False))
    assert shown == {"sample": "bert", "TVM as it is": "500", "FuseOps": "20"}
    cells = row("bert", result())
    assert len(cells) == len(HEADER)
    assert cells[3:7] == ["16", "1.25 [1.25–1.25]", "12.5", "1.60 [1.60–1.60]"]
    assert cells[7:] == ["10", "2.00 [2.00–2.00]", "8", "2.50 [2.50–2.50]", "30 / 24", "3 / 24", "25%", "71"]


def test_the_regions_that_save_most_are_listed_and_all_that_lose() -> None:
    lines = difference("bert", result()).splitlines()
    assert lines[:2] == [
        "bert: 30 kernels by FuseOps, 24 in fusion mode; they differ in 8 regions",
        "  saves 0.02 ms: A+B instead of A | B (nodes 3, 4)",
    ]
    assert lines[-1] == "  loses 0.01 ms: E instead of F"
    assert len(lines) == 1 + bench_tvm.MOST_REGIONS + 1


@pytest.mark.parametrize(
    ("fusion_ms", "is_behind"),
    [((20.1,) * 5, False), ((20.6,) * 5, True), ((19.0, 23.0, 20.4, 20.6, 20.5), False), ((), True)],
    ids=["a tie", "surely behind", "not sure", "it did not run"],
)
def test_fusion_mode_surely_behind_fuse_ops_fails(fusion_ms: Sequence[float], is_behind: bool) -> None:
    found = result(fusion_ms or (16.0,) * 5)
    if not fusion_ms:
        del found.rounds.seconds[FUSION]
        found.rounds.reasons[FUSION] = "it crashed"
    assert found.is_behind == is_behind
    assert ("FAIL  gpt2, fusion mode is not behind FuseOps" in report({"gpt2": found})) == is_behind
    assert ("- gpt2: fusion: it crashed" in report({"gpt2": found}).splitlines()) == (not fusion_ms)


def test_rounds_end_once_it_is_sure_who_is_behind() -> None:
    assert is_decided(result().rounds)
    assert not is_decided(result((19.0, 23.0, 20.4, 20.6, 20.5)).rounds)


def test_a_run_goes_on_with_what_has_no_figures_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def fake(name: str, options: Options, tune_s: float, fewest: int, folder: Path) -> Result:
        asked.append(f"{name} {options.budget_s} {tune_s} {fewest}")
        return replace(result(), seconds=float(len(asked)))

    monkeypatch.setattr(bench_tvm, "measured", fake)
    file, tables = tmp_path / "tvm.json", tmp_path / "tvm.md"
    assert bench_tvm.main(["--only", "mnist", "--json", str(file), "--budget", "10", "--tune", "5"]) == 0
    assert bench_tvm.main(["--only", "gpt2,mnist", "--json", str(file), "--resume", "--markdown", str(tables)]) == 0
    assert asked == ["mnist 10.0 5.0 6", "gpt2 None 60.0 6"]
    printed = capsys.readouterr().out
    assert tables.read_text() in printed
    assert [line.split("|")[1].strip() for line in tables.read_text().splitlines() if line.startswith("| ")][2:] == ["gpt2", "mnist"]
    kept = json.loads(file.read_text())["results"]["mnist"]
    assert from_json(kept) == from_json(json.loads(json.dumps(kept)))
    assert from_json(kept).times("all") == result().times("all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--only", "mnits"], "'mnits'"), (["--resume"], "--resume needs --json FILE"), (["--json", __file__], "is there already")],
)
def test_mistakes_are_told_before_anything_is_measured(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        bench_tvm.main(arguments)
    assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.skipif(not get("onednn").availability().usable, reason=get("onednn").availability().reason)
@pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)
def test_every_column_of_a_sample_comes_out(tmp_path: Path) -> None:
    found = measured("mini_mnist", Options(("tvm",), threads=1, budget_s=10.0), 5.0, 2, tmp_path)
    assert not found.failure
    assert set(found.rounds.seconds) == {AS_IT_IS, *PLANS}
    assert "-" not in row("mini_mnist", found)
    assert found.kernels[0] > 0 < found.kernels[1]
