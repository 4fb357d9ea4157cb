"""`make bench-page`: its models have the sizes that both pages are to draw, and its tables and budgets say what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import bench_page
import pytest
from bench_page import EVERY_NAME, LARGEST, MODELS, NETRON_NAME, OURS_NAME, Results, checks, heap_growth, judge, report, wanted, write_model

from collage_core.model.onnx_model import load_model


@pytest.mark.parametrize("name", ["transformer500", "densenet121", "gpt2"])
def test_both_pages_get_the_same_nodes(name: str, tmp_path: Path) -> None:
    path = write_model(name, tmp_path)
    assert len(load_model(path).graph) == len(load_model(path, fold=False).graph) == MODELS[name]
    assert list(tmp_path.iterdir()) == [path]


def page(wall: float, frame: float = 10.0) -> dict[str, float]:
    return {"wall": wall, "start": wall + 500.0, "cpu": wall / 2, "frame": frame, "pan": 5.0, "zoom": 6.0}


def act(cpu: float) -> dict[str, float]:
    return {"cpu": cpu, "frame": cpu / 2, "wall": cpu * 3}


def good() -> Results:
    return Results(
        pages={
            ("transformer2000", OURS_NAME): [page(900), page(1000), page(5000)],
            ("transformer2000", EVERY_NAME): [page(1500)],
            ("transformer2000", NETRON_NAME): [page(4000), page(3100), page(3000)],
            ("transformer10000", OURS_NAME): [page(2000)],
        },
        failures={("transformer10000", NETRON_NAME): "crashed"},
        acts={
            "select": [act(40), act(50)],
            "decide": [act(60)],
            "costs": [act(70)],
            "stream": [{**act(30), "before": 100.0, "after": 120.0}, {**act(80), "before": 120.0, "after": 121.0}],
        },
        unfolded={
            "open": [{"cpu": 300.0, "frame": 40.0}, {"cpu": 310.0, "frame": 60.0}, {"cpu": 290.0, "frame": 30.0}],
            "pan": [{"frame": 6.0}],
        },
        first={"main.js": 90_000, "main.css": 20_000},
    )


def verdicts(results: Results) -> dict[str, bool]:
    return {check.name: check.holds for check in checks(results)}


def test_everything_that_holds_passes() -> None:
    judged = verdicts(good())
    assert len(judged) == 11
    assert all(judged.values())


SLOW: dict[str, Callable[[Results], object]] = {
    "transformer2000, first paint beside Netron's": lambda results: results.pages.update({("transformer2000", OURS_NAME): [page(1100)]}),
    "transformer10000, dearest frame when opening": lambda results: results.pages.update({(LARGEST, OURS_NAME): [page(9, 51.0)]}),
    "transformer10000 unfolded, dearest frame of all (fold all)": lambda results: results.unfolded.update({"fold all": [{"frame": 51.0}]}),
    "select a node → its why": lambda results: results.acts.update(select=[act(101)]),
    "veto → the new plan is drawn": lambda results: results.acts.update(decide=[act(201)]),
    "the table of costs opens": lambda results: results.acts.update(costs=[act(101)]),
    "100,000 states streamed, dearest frame": lambda results: results.acts["stream"].append({**act(101), "before": 1.0, "after": 1.0}),
    "100,000 states streamed, the heap grows": lambda results: results.acts["stream"].pop(),
    "script and style before the first paint": lambda results: results.first.update({"late.js": 41_000}),
}


@pytest.mark.parametrize("name", SLOW)
def test_each_budget_can_fail(name: str) -> None:
    results = good()
    SLOW[name](results)
    assert [broken for broken, holds in verdicts(results).items() if not holds] == [name]


def test_a_heap_is_flat_when_one_round_leaves_it_so() -> None:
    assert heap_growth([{"before": 100.0, "after": 150.0}, {"before": 150.0, "after": 153.0}]) == pytest.approx(0.02)


def test_tables_show_medians_ratios_and_what_crashed() -> None:
    text = report(good())
    assert "| transformer2000" in text
    cells = {
        row[2]: row for row in ([cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "transformer2000" in line)
    }
    assert cells[OURS_NAME][-2:] == ["3.1", "2.4"]
    assert cells[EVERY_NAME][-3:] == ["2000", "2.1", "1.8"]
    assert cells[NETRON_NAME][-3:] == ["3600", "-", "-"]
    assert "crashed" in text
    assert "| main.js" in text


def test_a_page_of_ours_that_fails_fails_the_bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    assert judge(good(), file) == 0
    assert json.loads(file.read_text())["failures"] == [{"model": "transformer10000", "page": "Netron", "why": "crashed"}]
    broken = good()
    broken.failures["gpt2", OURS_NAME] = "drew nothing"
    assert judge(broken, None) == 1
    assert "FAIL  gpt2 in our page: drew nothing" in capsys.readouterr().out


def test_one_model_or_one_part_can_be_asked_for() -> None:
    assert wanted(None) == (list(MODELS), list(bench_page.PARTS))
    assert wanted("resnet50") == (["resnet50"], ["paint"])
    assert wanted("paint") == (list(MODELS), ["paint"])
    assert wanted("stream") == ([], ["stream"])
