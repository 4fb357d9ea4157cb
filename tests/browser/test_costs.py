"""The table of every candidate: filtered, sorted, walked, saved; with thousands of rows it stays quick."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Route, expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, http, show_tab

MANY = 5000


@pytest.fixture
def costs(explorer: Explorer, open_page: OpenPage) -> Watched:
    """The table of a recorded run in which some candidates are invalid."""
    watched = open_page(f"{explorer.address}?sample=quantised")
    show_tab(watched.page, "Costs")
    watched.idle()
    return watched


def table(watched: Watched) -> Locator:
    return watched.page.get_by_role("table", name="Candidates")


def choose(watched: Watched, **wanted: str) -> None:
    filters = watched.page.get_by_role("group", name="Filter")
    for name, words in wanted.items():
        filters.get_by_role("combobox", name=name.capitalize()).select_option(label=words)
    watched.idle()


def test_it_lists_every_candidate_and_only_those_in_view_are_in_the_page(costs: Watched) -> None:
    expect(costs.page.get_by_role("status").filter(has_text=" of ")).to_have_text("386 of 386")
    expect(table(costs)).to_have_attribute("aria-rowcount", "387")
    assert 5 < table(costs).get_by_role("row").count() < 40


def test_filters_say_how_many_are_left(costs: Watched) -> None:
    status = costs.page.get_by_role("status").filter(has_text=" of ")
    choose(costs, validity="invalid")
    expect(status).to_have_text("6 of 386")
    expect(table(costs).locator("tbody tr[data-row]").first.locator("td").last).not_to_be_empty()
    choose(costs, validity="in the plan")
    expect(status).to_have_text("1 of 386")
    choose(costs, validity="valid", target="tvm", regret="up to 10 % of the predicted total")
    few = status.inner_text()
    costs.page.get_by_role("textbox", name="Operator").fill("nothing like it")
    expect(costs.page.get_by_text("No candidate passes the filter.")).to_be_visible()
    costs.page.get_by_role("button", name="show all").click()
    expect(status).to_have_text("386 of 386")
    assert few != "386 of 386"


@pytest.mark.long
def test_every_column_sorts_both_ways(costs: Watched) -> None:
    headers = table(costs).get_by_role("columnheader")
    for at in range(headers.count()):
        header = headers.nth(at)
        before = header.get_attribute("aria-sort")
        header.get_by_role("button").click()
        first = header.get_attribute("aria-sort")
        assert first != before
        assert first in ("ascending", "descending")
        header.get_by_role("button").click()
        assert {first, header.get_attribute("aria-sort")} == {"ascending", "descending"}


@pytest.mark.long
def test_a_row_selects_its_nodes_and_pins_them(costs: Watched) -> None:
    choose(costs, target="openvino")
    costs.page.get_by_role("textbox", name="Operator").fill("MaxPool")
    costs.idle()
    row = table(costs).locator("tbody tr[data-row]").first
    row.get_by_role("button").click()
    costs.idle()
    expect(row.get_by_role("button")).to_have_attribute("aria-pressed", "true")
    assert "node=" in costs.page.url
    expect(costs.page.locator('.candidate button[aria-pressed="true"]')).to_have_count(1)
    costs.press("p")
    expect(costs.page.get_by_role("tab", name="What if 1")).to_be_visible()


@pytest.mark.long
def test_it_is_walked_by_keys(costs: Watched) -> None:
    table(costs).locator("tbody tr[data-row]").first.get_by_role("button").focus()
    costs.press("ArrowDown", "ArrowDown")
    focused = costs.page.locator(".long-table :focus")
    expect(focused.locator("xpath=ancestor::tr")).to_have_attribute("aria-rowindex", "4")
    costs.press("End")
    expect(focused.locator("xpath=ancestor::tr")).to_have_attribute("aria-rowindex", "387")
    expect(focused).to_be_in_viewport()
    costs.press("Enter")
    expect(focused).to_have_attribute("aria-pressed", "true")


@pytest.mark.long
def test_what_is_shown_is_saved_as_csv(costs: Watched, tmp_path: Path) -> None:
    choose(costs, validity="invalid")
    with costs.page.expect_download() as download:
        costs.page.get_by_role("button", name="Save as CSV").click()
    assert download.value.suggested_filename == "quantised-costs.csv"
    with Path(download.value.path()).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    assert all(row["source"] == "invalid" and row["stage"] and row["reason"] and row["cost_s"] == "" for row in rows)
    assert all(len(row["nodes"].split(";")) == int(row["count"]) for row in rows)


@pytest.mark.long
def test_thousands_of_rows_scroll_to_their_end(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    watched.page.route(re.compile(r"/candidates$"), many)
    show_tab(watched.page, "Costs")
    watched.idle()
    expect(watched.page.get_by_role("status").filter(has_text=" of ")).to_have_text("5,000 of 5,000")
    end = "() => { const box = document.querySelector('.long-table'); box.scrollTop = box.scrollHeight; }"
    watched.page.evaluate(end)
    watched.idle()
    expect(table(watched).locator('tr[aria-rowindex="5001"]')).to_be_in_viewport()
    assert table(watched).get_by_role("row").count() < 40


def many(route: Route) -> None:
    """The answer with as many rows as a large model has."""
    body: dict[str, Any] = route.fetch().json()
    columns, count = body["columns"], len(body["columns"]["id"])
    values = {name: column for name, column in columns.items() if len(column) == count}
    columns |= {name: [column[at % count] for at in range(MANY)] for name, column in values.items()}
    columns["id"] = [f"{at}" for at in range(MANY)]
    route.fulfill(body=json.dumps(body), content_type="application/json")


@pytest.mark.long
def test_regrets_of_a_large_model_are_asked_for_the_rows_in_view(explorer: Explorer, open_page: OpenPage) -> None:
    """As if the run were of a model so large that no regret came with its plan."""
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    watched.page.route(re.compile(r"/candidates$"), without_regrets)
    asked: list[int] = []
    watched.page.on(
        "request", lambda request: asked.append(len(request.post_data_json["candidates"])) if "/regrets" in request.url else None
    )
    show_tab(watched.page, "Costs")
    regrets = table(watched).locator("tbody tr[data-row] td:nth-child(9)")
    expect(regrets.filter(has_text=re.compile(r"^[+±≥]|–|in no plan")).nth(4)).to_be_visible()
    expect(regrets.filter(has_text="…")).to_have_count(0)
    assert 0 < sum(asked) < 80


def without_regrets(route: Route) -> None:
    body: dict[str, Any] = route.fetch().json()
    body["columns"] |= {"regret_s": [None] * len(body["columns"]["id"]), "in_no_plan": []}
    route.fulfill(body=json.dumps(body), content_type="application/json")


@pytest.mark.long
def test_a_candidate_is_measured_again(explorer: Explorer, open_page: OpenPage) -> None:
    """A run that was measured here, and one of its candidates once more: another run, with another cost, that can be undone."""
    api = f"{explorer.address}api/v1"
    model = http.post(f"{api}/models", json={"sample": "mini_mnist"}, timeout=60).json()["id"]
    run = http.post(f"{api}/runs", json={"model": model, "targets": ["onnxruntime"]}, timeout=60).json()["id"]
    watched = open_page(f"{explorer.address}?run={run}")
    show_tab(watched.page, "Costs")
    expect(table(watched)).to_be_visible(timeout=900_000)
    table(watched).get_by_role("button", name="Measure again").first.click()
    expect(watched.page.get_by_text("was measured again")).to_be_visible(timeout=900_000)
    watched.idle()
    assert run not in watched.page.url
    watched.press("u")
    assert run in watched.page.url
