"""The charts: drawn from real runs in both themes, said in words, as tables, and saved; nothing of them is loaded before."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, show_tab

CHARTS = {"Totals": "predicted total", "Predicted": "measured", "Spread": "samples", "Convergence": "no plan is below"}


@pytest.fixture
def charts(explorer: Explorer, open_page: OpenPage) -> Watched:
    """The charts of a recorded run that was re-planned."""
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    show_tab(watched.page, "Partitions")
    watched.page.locator(".partitions button.row").first.click()
    watched.press("v")
    expect(watched.page.get_by_role("tab", name="What if 1")).to_be_visible()
    watched.press("k")
    show_tab(watched.page, "Charts")
    watched.idle()
    return watched


def test_each_chart_is_drawn_and_said(charts: Watched) -> None:
    for name, says in CHARTS.items():
        charts.page.get_by_role("radio", name=name).click()
        charts.idle()
        drawing = charts.page.locator(".chart [role=img]")
        assert says in (drawing.get_attribute("aria-label") or "")
        expect(drawing.locator(".main-svg").first).to_be_visible()
        assert drawing.locator(".trace path").count() > 0
    charts.page.emulate_media(color_scheme="dark")
    charts.idle()
    expect(charts.page.locator(".chart .xtick text").first).to_have_css("fill", "rgb(157, 166, 179)")
    charts.page.get_by_role("button", name="As a table").click()
    expect(charts.page.get_by_role("table", name="Numbers of the chart").get_by_role("columnheader")).to_have_text(
        ["seconds", "best_predicted_s", "bound_s", "estimate_s"]
    )


@pytest.mark.long
def test_plotly_is_loaded_by_the_first_chart_alone(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    loaded: list[str] = []
    watched.page.on("request", lambda request: loaded.append(request.url))
    watched.page.goto(f"{explorer.address}?sample=mini_mnist")
    watched.idle()
    assert not [url for url in loaded if "plotly" in url]
    show_tab(watched.page, "Charts")
    watched.idle()
    assert len([url for url in loaded if "plotly" in url]) == 1


@pytest.mark.long
def test_a_chart_leaves_as_picture_and_numbers(charts: Watched) -> None:
    charts.page.get_by_role("radio", name="Spread").click()
    charts.idle()
    files = {}
    for kind in ("SVG", "PNG", "CSV"):
        charts.page.locator(".drawer").get_by_role("button", name="Save as").click()
        with charts.page.expect_download() as download:
            charts.page.get_by_role("dialog", name="Save the chart").get_by_role("button", name=kind).click()
        assert download.value.suggested_filename == f"squeezenet-spread.{kind.lower()}"
        files[kind] = Path(download.value.path()).read_bytes()
    assert ElementTree.fromstring(files["SVG"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert files["PNG"][:8] == b"\x89PNG\r\n\x1a\n"
    assert (int.from_bytes(files["PNG"][16:20]), int.from_bytes(files["PNG"][20:24])) == (2000, 1040)
    rows = list(csv.DictReader(files["CSV"].decode().splitlines()))
    assert len(rows) > 10
    assert all(float(row["cost_s"]) > 0 and int(row["samples"]) > 0 for row in rows)


@pytest.mark.long
def test_charts_work_under_the_pages_own_rules(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    refused: list[str] = []
    watched.page.on("console", lambda message: refused.append(message.text) if "Content Security Policy" in message.text else None)
    watched.page.goto(f"{explorer.address}?sample=mini_mnist")
    watched.idle()
    show_tab(watched.page, "Charts")
    for name in CHARTS:
        watched.page.get_by_role("radio", name=name).click()
        watched.idle()
    assert refused == []


@pytest.mark.long
def test_estimates_of_candidates_stand_beside_what_was_measured(charts: Watched) -> None:
    page, asked = charts.page, []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/estimates") else None)
    page.get_by_role("radio", name="Predicted").click()
    charts.idle()
    assert asked == []
    page.get_by_role("radio", name="candidates").click()
    charts.idle()
    drawing = page.locator(".chart [role=img]")
    says = re.fullmatch(
        r"The median of (\d+) measurements takes [\d.]+× its estimate \(.*; (\d+) \(.*It is no cost\..*",
        drawing.get_attribute("aria-label") or "",
    )
    assert says
    assert drawing.locator(".xtitle").text_content().startswith("roofline estimate")
    page.get_by_role("button", name="As a table").click()
    rows = page.get_by_role("table", name="Numbers of the chart").get_by_role("row").all_inner_texts()[1:]
    factors = [float(row.split("\t")[4]) for row in rows]
    assert (len(factors), sum(not 0.5 <= factor <= 2 for factor in factors)) == (int(says[1]), int(says[2]))
    page.get_by_role("button", name="As a table").click()
    charts.idle()
    drawing.locator(".points path").first.click(force=True)
    charts.idle()
    assert re.search(r"[?&](node|nodes|candidate)=", page.url)
    page.get_by_role("radio", name="Spread").click()
    page.get_by_role("radio", name="Predicted").click()
    charts.idle()
    expect(drawing).to_have_attribute("aria-label", re.compile("its estimate"))
    assert len(asked) == 1
