"""Other plans beside the run's: one of the user's own, and the best one over each set of targets."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from .conftest import OpenPage
from .explorer import Explorer, Watched, show_tab


@pytest.fixture
def sample(explorer: Explorer, open_page: OpenPage) -> Watched:
    """mini-MNIST with its recorded run."""
    return open_page(f"{explorer.address}?sample=mini_mnist")


def test_a_plan_of_the_users_own_is_held_against_that_of_the_run(sample: Watched, tmp_path: Path) -> None:
    page = sample.page
    show_tab(page, "Compare")
    page.get_by_role("button", name="Your own…").click()
    form = page.get_by_role("form", name="Your own plan")
    form.get_by_role("textbox", name=re.compile("^Your own plan")).fill("*=NPU")
    sample.press("Escape")
    expect(form).to_have_count(0)
    expect(page.get_by_role("button", name="Your own…")).to_be_focused()
    sample.press("Enter")
    expect(form.get_by_role("textbox", name=re.compile("^Your own plan"))).to_have_value("*=NPU")
    form.get_by_role("button", name="Compare").click()
    expect(form.get_by_role("alert")).to_contain_text("gives nodes to 'NPU', which is not a target of the run")
    form.get_by_role("textbox", name="devices").fill("NPU=onnxruntime")
    sample.press("Enter")
    expect(form).to_have_count(0)
    expect(page.locator("div.note")).to_contain_text(re.compile("this run's plan is predicted .* (faster|slower) than yours"))
    expect(page.get_by_role("combobox", name="Compared with").first.locator("option:checked")).to_have_text(re.compile("^pasted, "))
    page.get_by_role("radio", name="Nodes").click()
    expect(page.get_by_role("grid", name="Nodes of the two plans").or_(page.get_by_label("Nodes of the two plans")).first).to_contain_text(
        "onnxruntime"
    )
    page.get_by_role("button", name="Show on the graph").click()
    sample.idle()
    assert "own" not in page.url, "a link cannot bring a plan that only this page has"
    show_tab(page, "Compare")
    note = page.locator("div.note")
    expect(note).to_contain_text("It cannot be timed end to end here: the costs are from ")
    expect(note.locator("code")).to_have_text("collage explain plan.json --against mine.txt --as NPU=onnxruntime --measure MODEL")
    expect(page.get_by_role("button", name="Measure both whole")).to_have_count(0)
    file = tmp_path / "mine.txt"
    file.write_text("*=tvm\n")
    page.get_by_role("button", name="Your own…").click()
    page.locator(".own-plan input[type=file]").set_input_files(file)
    expect(form.get_by_role("textbox", name=re.compile("^Your own plan"))).to_have_value("*=tvm\n")
    form.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("combobox", name="Compared with").first.locator("option:checked")).to_have_text(re.compile("^mine.txt, "))


@pytest.mark.long
def test_one_toolchain_that_is_as_good_is_said_first(sample: Watched) -> None:
    page = sample.page
    show_tab(page, "Totals")
    page.get_by_role("button", name="Which toolchains are worth having?").click()
    section = page.get_by_role("region", name="Which toolchains are worth having")
    expect(section.locator("b").first).to_have_text(re.compile("one target alone is (best|as good) here: tvm"))
    rows = section.get_by_role("table").locator("tbody tr")
    expect(rows.first).to_contain_text("tvm")
    assert rows.count() > 1
