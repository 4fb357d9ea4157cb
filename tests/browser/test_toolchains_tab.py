"""The tab of toolchains and rules: who is here, what every rule gave and rejected, options of the next run, a described toolchain tried."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from collage_core.model.samples.registry import SAMPLES

from .conftest import OpenPage
from .explorer import Explorer, Watched, expect_overlay, http, running, show_tab


@pytest.fixture
def tab(explorer: Explorer, open_page: OpenPage) -> Watched:
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    show(watched)
    return watched


def show(watched: Watched) -> None:
    show_tab(watched.page, "Toolchains")
    watched.idle()


def tree(watched: Watched, target: str) -> Locator:
    return watched.page.get_by_role("tree", name=f"Rule tree of {target}")


@pytest.fixture(scope="module")
def plugged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explorer]:
    """An explorer with a toolchain that is not installed, and one that takes few operators."""
    plug_ins = "collage_test_toolchains:Absent,collage_test_toolchains:Numpy"
    more = {"COLLAGE_TOOLCHAINS": plug_ins, "PYTHONPATH": os.pathsep.join(sys.path)}
    with running(tmp_path_factory.mktemp("plugged"), is_brief=True, **more) as started:
        yield started


@pytest.mark.long
def test_a_toolchain_that_is_not_installed_says_why_and_what_installs_it(plugged: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{plugged.address}?sample=mini_mnist", permissions=["clipboard-read", "clipboard-write"])
    show(watched)
    page = watched.page
    absent = page.get_by_role("list", name="Toolchains").get_by_role("listitem").filter(has_text="absent")
    expect(absent).to_contain_text("its library is not installed")
    expect(absent.get_by_text("pip install absent", exact=True)).to_be_visible()
    absent.get_by_role("button", name="Copy the command that makes absent usable").click()
    expect(absent.get_by_role("status")).to_have_text("copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == "pip install absent"
    targets = page.get_by_role("group", name="Targets")
    expect(targets.get_by_role("button", name="numpy")).to_have_attribute("aria-pressed", "true")
    more = targets.get_by_role("button", name=re.compile("more$"))
    more.press("Enter")
    why = page.get_by_role("dialog", name="More targets").get_by_role("listitem").filter(has_text="absent")
    expect(why).to_contain_text("its library is not installed")
    page.evaluate("() => navigator.clipboard.writeText('')")
    why.get_by_role("button", name="Copy the command that makes absent usable").press("Enter")
    expect(why.get_by_role("status")).to_have_text("copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == "pip install absent"
    watched.press("Escape")
    expect(more).to_be_focused()


@pytest.mark.long
def test_variants_of_targets_wait_behind_more_until_they_are_on(tab: Watched) -> None:
    targets = tab.page.get_by_role("group", name="Targets")
    variant = targets.get_by_role("button", name="onnxruntime@int8-dynamic")
    expect(variant).to_have_count(0)
    targets.get_by_role("button", name=re.compile("more$")).press("Enter")
    variant.press("Enter")
    expect(variant).to_have_attribute("aria-pressed", "true")
    expect(tab.page.get_by_role("dialog", name="More targets")).to_have_count(0)
    expect(variant).to_be_enabled()
    variant.press("Enter")
    expect(variant).to_have_count(0)


@pytest.mark.long
def test_a_run_that_finds_no_plan_says_why_and_is_started_again(plugged: Explorer, open_page: OpenPage, tmp_path: Path) -> None:
    """By keys: Enter runs; the failed run says what to do; and when that is done, it runs again."""
    path, proto = tmp_path / "mnist.onnx", SAMPLES["mini_mnist"].build()
    proto.doc_string = "not the sample, which has a recorded run"
    path.write_bytes(proto.SerializeToString())
    model = http.post(f"{plugged.address}api/v1/models", json={"path": str(path)}, timeout=60).json()["id"]
    watched = open_page(f"{plugged.address}?model={model}")
    page = watched.page
    targets = page.get_by_role("group", name="Targets")
    for name in ("ncnn", "onnxruntime", "openvino", "tvm"):
        targets.get_by_role("button", name=name, exact=True).click()
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("Enter")
    failure = page.get_by_role("alert")
    expect(failure).to_contain_text("no target can take add1, pool1, reshape", timeout=120_000)
    expect(failure).to_contain_text("add a target that can")
    expect(page.locator(".readout")).to_contain_text("failed")
    failed = page.url
    targets.get_by_role("button", name="onnxruntime", exact=True).click()
    failure.get_by_role("button", name="Run again").press("Enter")
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible(timeout=120_000)
    watched.idle()
    expect(failure).to_have_count(0)
    expect(page.locator(".readout")).to_contain_text("verified")
    assert page.url != failed


def test_rules_say_what_they_gave_and_rejected(tab: Watched) -> None:
    listed = tab.page.get_by_role("list", name="Toolchains")
    expect(listed.get_by_role("button", name=re.compile("^O? *onnxruntime "))).to_have_attribute("aria-pressed", "true")
    expect(tab.page.get_by_text("openvino has the same rules, which ran once for all.")).to_be_visible()
    items = tree(tab, "onnxruntime").get_by_role("treeitem")
    expect(items.first).to_have_attribute("aria-expanded", "true")
    only_valid = items.filter(has_text="only_valid")
    only_valid.get_by_role("button", name="rejected").click()
    tab.idle()
    rejected = tab.page.get_by_role("region", name="Rejected by only_valid")
    expect(rejected.get_by_role("listitem").first).to_contain_text("validity exits:")
    rejected.get_by_role("listitem").first.get_by_role("button").click()
    tab.idle()
    assert "node=" in tab.page.url
    gave = only_valid.get_by_role("button", name=re.compile("gave"))
    number = gave.inner_text().removeprefix("gave ")
    gave.click()
    tab.idle()
    expect(tab.page.get_by_role("status").filter(has_text=" of ")).to_have_text(re.compile(f"^{number} of "))
    tab.page.get_by_role("button", name="rule only_valid").click()
    expect(tab.page.get_by_role("status").filter(has_text=" of ")).not_to_have_text(re.compile(f"^{number} of "))


@pytest.mark.long
def test_the_tree_is_walked_and_folded_by_keys(tab: Watched) -> None:
    items = tree(tab, "onnxruntime").get_by_role("treeitem")
    every = items.count()
    items.first.focus()
    tab.press("ArrowDown", "ArrowLeft")
    expect(items).to_have_count(2)
    expect(items.nth(1)).to_have_attribute("aria-expanded", "false")
    tab.press("ArrowRight")
    expect(items).to_have_count(every)
    tab.press("End")
    expect(items.last).to_be_focused()
    tab.press("ArrowLeft")
    expect(items.filter(has_text="segments")).to_be_focused()
    tab.press("Tab")
    expect(items.filter(has_text="segments").get_by_role("button")).to_be_focused()


@pytest.mark.long
def test_options_are_checked_beside_their_fields_and_used_by_the_run(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist")
    show(watched)
    page = watched.page
    page.get_by_role("radio", name="Options").click()
    form = page.get_by_role("form", name="Options of the next run")
    run = form.get_by_role("button", name="Run with these")
    form.get_by_role("textbox", name="max depth of onnxruntime").fill("0")
    form.get_by_role("textbox", name="threads").fill("two")
    watched.idle()
    expect(form.get_by_role("alert")).to_have_text(["max depth onnxruntime is 0, it must be at least 1", "two is not a whole number"])
    expect(run).to_be_disabled()
    page.locator("header").get_by_role("button", name="Run", exact=True).click()
    expect(form.get_by_role("alert")).to_have_count(2)
    form.get_by_role("textbox", name="max depth of onnxruntime").fill("1")
    form.get_by_role("textbox", name="threads").fill("1")
    form.get_by_role("combobox", name="fusion of tvm").select_option("none")
    watched.idle()
    expect(form.get_by_role("alert")).to_have_count(0)
    for name in ("ncnn", "openvino", "tvm"):
        page.get_by_role("group", name="Targets").get_by_role("button", name=name, exact=True).click()
    watched.idle()
    run.click()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0, timeout=120_000)
    watched.idle()
    show(watched)
    expect(form).to_contain_text("The shown run: max depth 1 for onnxruntime · threads 1.")
    show_tab(page, "Runs")
    page.get_by_role("textbox", name="Words").fill("threads 1")
    expect(page.get_by_role("table", name="Runs").locator("tbody tr[data-row]")).to_contain_text("max depth 1 for onnxruntime, threads 1")
    show(watched)
    page.get_by_role("radio", name="Rules").click()
    watched.idle()
    expect(tree(watched, "onnxruntime").get_by_role("treeitem").filter(has_text="only_valid")).to_contain_text("max_depth 1")
    page.get_by_role("radio", name="Options").click()
    form.get_by_role("button", name="Reset to defaults").click()
    expect(form.get_by_role("textbox", name="threads")).to_have_value("")
    form.get_by_role("button", name="Copy into the form").click()
    expect(form.get_by_role("textbox", name="threads")).to_have_value("1")


@pytest.fixture
def editor(tab: Watched) -> Watched:
    tab.page.get_by_role("radio", name="Describe one").click()
    tab.idle()
    return tab


def test_mistakes_of_a_description_are_told_with_their_line(editor: Watched) -> None:
    page = editor.page
    text = page.get_by_role("textbox", name="Description of a toolchain, as TOML")
    attempt = page.locator(".table-bar").get_by_role("button", name="Try", exact=True)
    good = text.input_value()
    text.fill(good.replace("Relu(Conv(*, *) |", "Relu(Cov(*, *) |"))
    editor.idle()
    said = page.get_by_role("status").filter(has_text="line")
    expect(said).to_contain_text("line 8: pattern[0].match is 'Cov'")
    expect(said).to_contain_text("did you mean Conv?")
    expect(attempt).to_be_disabled()
    said.get_by_role("button", name="line 8").click()
    assert "Cov(" in str(
        page.evaluate("() => { const t = document.activeElement; return t.value.slice(t.selectionStart, t.selectionEnd); }")
    )
    taken = good.replace('"hook"', '"tvm"')
    for wrong, words in ((taken, "'tvm' is the name of a"), ("name = ", "it is not TOML"), ("#" * 70_000, "70000 bytes")):
        text.fill(wrong)
        editor.idle()
        expect(page.get_by_text(words)).to_be_visible()
    text.fill(good.partition("[cost]")[0])
    editor.idle()
    expect(page.get_by_text("It has no [cost]")).to_be_visible()
    expect(attempt).to_be_disabled()


@pytest.mark.long
def test_a_described_toolchain_is_tried_discarded_and_kept(editor: Watched) -> None:
    page = editor.page
    before = page.locator(".readout").inner_text()
    page.get_by_role("textbox", name="Description of a toolchain, as TOML").focus()
    editor.press("Control+Enter")
    brings = page.get_by_role("region", name="Gain with hook", exact=True)
    expect(brings).to_contain_text(re.compile(r"-[\d.]+ .s predicted.*estimate"))
    expect(brings).to_contain_text(re.compile(r"hook would take \d+ partitions, \d+ of \d+ nodes\."))
    expect_overlay(page, "Difference")
    assert page.locator(".readout").inner_text() == before, "nothing is kept yet"
    expect(brings.get_by_role("listitem").first).to_contain_text(re.compile(r"Conv \+ Relu.*about \d"))
    brings.get_by_role("listitem").first.get_by_role("button").click()
    editor.idle()
    here = page.get_by_role("region", name="Gain with hook here")
    expect(here).to_contain_text(
        re.compile(r"tried, not kept.*an estimate, nothing was measured.*FLOP at 4 TFLOP/s.*It wins by.*It would win down to", re.DOTALL)
    )
    brings.get_by_role("button", name="Discard").click()
    editor.idle()
    expect(brings).to_have_count(0)
    expect(here).to_have_count(0)
    expect_overlay(page, "Target")
    page.locator(".table-bar").get_by_role("button", name="Try", exact=True).click()
    editor.idle()
    brings.get_by_role("button", name="Keep").click()
    editor.idle()
    expect(page.locator(".readout")).to_contain_text("estimate")
    editor.page.locator(".stage").focus()
    editor.press("u")
    expect(page.locator(".readout")).not_to_contain_text("estimate")


@pytest.mark.long
def test_a_saved_one_is_a_target_like_any_other(editor: Watched) -> None:
    page = editor.page
    targets = page.get_by_role("group", name="Targets")
    page.get_by_role("button", name="Save", exact=True).click()
    editor.idle()
    expect(targets.get_by_role("button", name="hook")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("radio", name="Rules").click()
    page.get_by_role("list", name="Toolchains").get_by_role("button", name=re.compile("hook")).click()
    editor.idle()
    expect(tree(editor, "hook").get_by_role("treeitem").filter(has_text="conv_relu").first).to_be_visible()
    page.reload()
    editor.idle()
    expect(targets.get_by_role("button", name="hook")).to_have_attribute("aria-pressed", "false")
    show(editor)
    page.get_by_role("radio", name="Describe one").click()
    editor.idle()
    page.get_by_role("button", name="Delete hook").click()
    editor.idle()
    expect(targets.get_by_role("button", name="hook")).to_have_count(0)
