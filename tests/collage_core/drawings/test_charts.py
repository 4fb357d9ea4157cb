"""Charts by Plotly: their numbers are those of the run, names are escaped, the page asks nobody, and what installs a missing Plotly."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from collage_core.drawings.charts import figures, write_html
from collage_core.errors import CollageError
from collage_core.pipeline.record.record import RunRecord
from tests.collage_core.drawings.conftest import HOSTILE
from tests.helpers.command import in_this_process
from tests.helpers.documents import alternative, run_document


def test_the_numbers_are_those_of_the_run(drawn_run: RunRecord) -> None:
    made = figures(drawn_run)
    predicted, measured = made["Totals"].data
    assert predicted.y[0] == "the plan"
    assert predicted.x[0] == pytest.approx(drawn_run.plan.total_s * 1e3)
    assert measured.x[0] is None, "nothing was measured"
    chart = made["Where the time goes"].data[0]
    seconds = dict(zip(chart.ids, chart.values, strict=True))
    for part in drawn_run.plan.partitions:
        assert seconds[part.id] == pytest.approx(part.cost_s * 1e3)
        inside = [seconds[one] for one, parent in zip(chart.ids, chart.parents, strict=True) if parent == part.id]
        assert sum(inside) <= seconds[part.id] * (1 + 1e-9)
    assert any("Relu" in label for label in chart.labels)
    assert "%{value:.4~r} ms" in chart.hovertemplate, "without exponents"


def test_a_plan_that_was_timed_by_itself_is_not_drawn_beside_others(drawn_run: RunRecord) -> None:
    row = alternative("search", kind="search", total_s=1e-3, measured_s=2e-3)
    verify = {"measured_s": 9e-3, "apart": True}

    def plan_ms(document: dict[str, Any]) -> float | None:
        return figures(replace(drawn_run, document=run_document(**document)))["Totals"].data[1].x[0]  # type: ignore[no-any-return]

    assert plan_ms({"verify": verify, "alternatives": [row]}) is None
    assert plan_ms({"verify": verify, "alternatives": [row, {**row, "name": "tvm", "measured_s": 3e-3, "is_plan": True}]}) == 3.0
    assert plan_ms({"verify": {**verify, "apart": False}, "alternatives": [row]}) == 9.0


def test_the_page_holds_all_that_it_needs_and_no_name_is_markup(drawn_run: RunRecord, tmp_path: Path) -> None:
    write_html(drawn_run, tmp_path / "charts.html")
    page = (tmp_path / "charts.html").read_text(encoding="utf-8")
    assert page.count("Plotly.newPlot(") == 2
    assert f"predicted {drawn_run.plan.total_s * 1e3:.4g} ms (costs: {drawn_run.plan.partitions[0].source})</h1>" in page
    assert not re.search(r'<(script|link|img|iframe)[^>]*\s(src|href)="', page)
    own = page[page.rindex("<h2>Where the time goes") :]
    assert HOSTILE not in own
    assert own.count("</script>") == own.count("<script"), "a name ends no script"
    assert "&lt;/script" in own or "\\u0026lt;/script" in own or "&lt;\\u002fscript" in own


def test_without_the_package_the_error_says_what_installs_it(drawn_run: RunRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    with pytest.raises(CollageError, match="a chart needs the Python package 'plotly', which is not installed") as error:
        write_html(drawn_run, tmp_path / "charts.html")
    assert error.value.hint == "pip install 'plotly>=6'"
    assert not (tmp_path / "charts.html").exists()


def test_the_command_writes_the_file_and_names_one_that_cannot_be(
    drawn_run: RunRecord, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn_run.save(tmp_path)
    file = tmp_path / "charts.html"
    assert in_this_process(capsys, "explain", tmp_path, "--charts", file) == (0, "", f"wrote {file}\n")
    assert file.read_text(encoding="utf-8").startswith("<!doctype html>")
    status, out, err = in_this_process(capsys, "explain", tmp_path, "--charts", tmp_path / "none" / "charts.html")
    assert (status, out) == (2, "")
    assert err.splitlines()[0].endswith("charts.html': No such file or directory")
