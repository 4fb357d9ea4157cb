"""The page as a person uses it, on a real explorer: a sample, its graph, its recorded run, a pin; by mouse and by keyboard."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route, expect

from tests.helpers.long_cases import mostly_long

from .conftest import OpenPage
from .explorer import Explorer, Watched, download, expect_overlay, running, show_overlay, show_tab

NODES = ["add1", "relu1", "pool1"]
"""Some nodes of mini-MNIST, by the names that the model gives them."""


@pytest.fixture
def sample(explorer: Explorer, open_page: OpenPage) -> Watched:
    """mini-MNIST with its recorded run."""
    return open_page(f"{explorer.address}?sample=mini_mnist")


def target_of(page: Watched, node: str) -> str:
    """The target on which the graph says that a node runs."""
    name = page.node(node).get_attribute("aria-label") or ""
    found = re.search(r", on (\w+)", name)
    assert found, f"{name!r} names no target"
    return found[1]


def pin_elsewhere(page: Watched, node: str) -> str:
    """Select a node, pin it exactly as one candidate of another target says, and keep that; that target."""
    before = target_of(page, node)
    page.node(node).click()
    page.idle()
    buttons = page.page.get_by_role("button", name=re.compile(r"^Pin exactly .* to (?!" + before + r"\b)\w+$"))
    words = buttons.first.get_attribute("aria-label") or ""
    buttons.first.click()
    page.idle()
    page.press("k")
    return words.rsplit(" ", 1)[1]


def test_from_the_samples_to_a_pin_that_holds(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(explorer.address)
    page = watched.page
    expect(page.get_by_text(re.compile(r"are kept in .*: [\d.]+ [kMG]?B|bytes"))).to_be_visible()
    page.get_by_role("button", name="mini-MNIST").click()
    watched.idle()
    expect(page.get_by_text("recorded", exact=True)).to_be_visible()
    for node in NODES:
        expect(watched.node(node)).to_have_attribute("aria-label", re.compile(r", on \w+"))
    recorded = page.url
    target = pin_elsewhere(watched, "relu1")
    assert target_of(watched, "relu1") == target
    expect(page.locator(".decision")).to_contain_text(re.compile(r"[+±−].* partitions? change"))
    show_tab(page, "Pins")
    expect(page.locator(".pins")).to_contain_text(f"to {target}")
    assert page.url != recorded
    expect(page.get_by_text("re-planned over costs recorded on")).to_be_visible()
    page.reload()
    watched.idle()
    assert target_of(watched, "relu1") == target
    show_tab(page, "Pins")
    page.get_by_role("button", name=re.compile("^Remove: pin")).click()
    watched.idle()
    expect(page.get_by_role("tab", name="What if", exact=True)).to_be_visible()


def test_undo_and_redo_bring_back_the_same_plans(sample: Watched) -> None:
    before = target_of(sample, "relu1")
    after = pin_elsewhere(sample, "relu1")
    sample.press("u")
    assert target_of(sample, "relu1") == before
    sample.press("U")
    assert target_of(sample, "relu1") == after


@pytest.mark.long
def test_a_veto_moves_the_node_and_one_that_leaves_nothing_is_refused(sample: Watched) -> None:
    sample.node("relu1").click()
    sample.idle()
    refused = sample.page.get_by_text("The plan is as it was.")
    left = set()
    for _ in range(4):
        target = target_of(sample, "relu1")
        sample.press("v")
        if refused.is_visible():
            assert target_of(sample, "relu1") == target
            break
        left.add(target)
        assert target_of(sample, "relu1") not in left
    expect(refused).to_be_visible()
    expect(sample.page.get_by_role("alert")).to_contain_text(f"veto {target} for relu1")


def test_why_lists_every_target_with_its_costs(sample: Watched) -> None:
    sample.node("relu1").click()
    sample.idle()
    panel = sample.page.get_by_role("complementary", name="Details")
    for target in ("onnxruntime", "openvino", "tvm"):
        expect(panel.get_by_role("heading", name=re.compile(target))).to_be_visible()
    expect(panel.get_by_label("chosen")).to_have_count(1)
    expect(panel).to_contain_text(re.compile(r"runs (it|the partition of \d+ nodes that holds it) in [\d.]+ (µs|ms)"))
    sample.page.get_by_role("tab", name="What it is").click()
    expect(panel).to_contain_text("1×8×28×28 float32")


@pytest.fixture(params=[True, False], ids=["briefly", "as a user"])
def measuring(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Explorer]:
    """The explorer of all tests, or one whose runs take the time that they take."""
    if request.param:
        yield request.getfixturevalue("explorer")
    else:
        with running(tmp_path) as own:
            yield own


@pytest.mark.long
def test_a_run_is_watched_and_its_pins_hold(measuring: Explorer, open_page: OpenPage) -> None:
    """Counts rise, the run ends, the plan is verified and honours the pin."""
    watched = open_page(f"{measuring.address}?sample=mini_mnist")
    page = watched.page
    target = pin_elsewhere(watched, "relu1")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.locator(".search-words")).to_contain_text("measuring candidates", timeout=120_000)
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_visible(timeout=900_000)
    watched.idle()
    assert target_of(watched, "relu1") == target
    expect(page.locator(".readout")).to_contain_text("verified")
    expect(page.get_by_text("recorded", exact=True)).to_have_count(0)
    names = zipfile.ZipFile(download(page)).namelist()
    assert "plan.json" in names
    assert any(name.startswith("artifact/") for name in names)
    show_tab(page, "Totals")
    expect(page.get_by_text(re.compile("^(The sum of the costs|End-to-end timing) decided"))).to_be_visible()
    expect(page.get_by_role("table", name="Error of each output").get_by_role("row", name=re.compile(r"logits \d"))).to_be_visible()
    page.get_by_role("button", name="Export", exact=True).click()
    expect(page.get_by_role("region", name="Contents of the export")).to_contain_text("collage run artifact --bench")
    page.get_by_role("button", name="Copy the command: run it").click()
    expect(page.get_by_role("region", name="Contents of the export").get_by_role("status").filter(has_text="copied")).to_have_count(1)


@pytest.mark.long
def test_a_run_can_be_cancelled(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    watched.page.get_by_role("button", name="Run", exact=True).click()
    watched.page.get_by_role("button", name="Cancel").click()
    expect(watched.page.locator(".search-words")).to_have_text("cancelled")
    expect(watched.page.get_by_role("button", name="Run", exact=True)).to_be_visible()


def test_run_that_is_cancelled_before_the_server_has_answered_does_not_go_on(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=squeezenet")
    held: list[Route] = []
    watched.page.route("**/api/v1/runs", lambda route: held.append(route), times=1)
    watched.page.get_by_role("button", name="Run", exact=True).click()
    watched.page.get_by_role("button", name="Cancel").click()
    held[0].continue_()
    expect(watched.page.locator(".search-words")).to_have_text("cancelled")


def test_everything_by_keyboard(sample: Watched) -> None:
    page = sample.page
    sample.press("/")
    page.keyboard.type("relu")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_contain_text("Relu")
    sample.press("Enter")
    selected = page.locator('.stage [aria-pressed="true"]')
    expect(selected).to_have_attribute("data-name", "relu1")
    sample.press("ArrowDown")
    expect(selected).to_have_attribute("data-name", "pool1")
    expect(selected).to_be_focused()
    sample.press("ArrowUp", "p")
    expect(page.get_by_role("tab", name="What if 1")).to_be_visible()
    sample.press("u")
    expect(page.get_by_role("tab", name="What if", exact=True)).to_be_visible()
    sample.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    sample.press("Escape", "Escape")
    expect(selected).to_have_count(0)


@pytest.mark.long
def test_finding_from_afar_brings_the_node_near_and_gives_it_the_focus(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=resnet50", width=700)
    watched.press("f")
    expect(watched.page.locator(".stage [data-id]")).to_have_count(0)
    watched.press("/")
    watched.page.keyboard.type("gemm")
    watched.press("Enter")
    expect(watched.page.locator(".stage :focus")).to_have_attribute("aria-label", re.compile("^Gemm"))
    expect(watched.page.locator(".stage :focus")).to_be_in_viewport()


@pytest.mark.long
def test_tab_reaches_the_graph_and_enter_selects(sample: Watched) -> None:
    sample.page.get_by_role("scrollbar", name="Whole model").focus()
    sample.press("Tab")
    focused = sample.page.locator(".stage :focus")
    expect(focused).to_have_count(1)
    sample.press("Enter")
    expect(focused).to_have_attribute("aria-pressed", "true")


@pytest.mark.long
def test_what_is_selected_is_in_the_address(sample: Watched, open_page: OpenPage) -> None:
    page = sample.page
    first = page.url
    sample.node("relu1").click()
    sample.idle()
    show_overlay(page, "Cost")
    assert "node=" in page.url
    assert "overlay=cost" in page.url
    other = open_page(page.url)
    expect(other.node("relu1")).to_have_attribute("aria-pressed", "true")
    expect_overlay(other.page, "Cost")
    page.go_back()
    page.go_back()
    sample.idle()
    assert page.url == first
    expect(sample.node("relu1")).to_have_attribute("aria-pressed", "false")
    page.go_forward()
    sample.idle()
    expect(sample.node("relu1")).to_have_attribute("aria-pressed", "true")


def test_the_plan_never_moves_a_node(sample: Watched) -> None:
    boxes = [sample.node(node).bounding_box() for node in NODES]
    pin_elsewhere(sample, "relu1")
    assert [sample.node(node).bounding_box() for node in NODES] == boxes


@pytest.mark.long
def test_zoom_keeps_what_is_under_the_pointer_and_fit_shows_all(sample: Watched) -> None:
    page = sample.page
    before = sample.node("pool1").bounding_box()
    assert before
    page.mouse.move(before["x"] + 1, before["y"] + 1)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    sample.idle()
    width = "(width) => document.querySelector('[data-name=pool1]').getBoundingClientRect().width > width"
    page.wait_for_function(width, arg=1.5 * before["width"])
    after = sample.node("pool1").bounding_box()
    assert after
    assert abs(after["x"] - before["x"]) < 2
    assert abs(after["y"] - before["y"]) < 2
    page.get_by_role("button", name="Fit").click()
    sample.idle()
    for name in ("x", "logits"):
        expect(sample.node(name)).to_be_in_viewport()


@pytest.mark.parametrize(("width", "height"), mostly_long([(1440, 420), (520, 900)]), ids=["tall", "wide"])
def test_one_press_fits_the_model_wherever_the_view_is(explorer: Explorer, open_page: OpenPage, width: int, height: int) -> None:
    """A model that was laid out for another window: it is tall or wide in this one."""
    watched = open_page(f"{explorer.address}?sample=crnn")
    page = watched.page
    page.set_viewport_size({"width": width, "height": height})
    watched.idle()
    view = page.locator(".stage svg g").first
    watched.press("+", "f")
    whole = view.get_attribute("transform") or ""
    stage = page.locator(".stage").bounding_box()
    assert stage
    x, y = stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2

    def drag(by_x: float, by_y: float) -> None:
        page.mouse.down()
        page.mouse.move(x + by_x, y + by_y, steps=3)
        page.mouse.up()

    away: list[Callable[[], None]] = [
        lambda: page.mouse.wheel(0, -200),
        lambda: page.mouse.wheel(0, 200),
        lambda: page.mouse.wheel(300, 0),
        lambda: drag(180, 90),
        lambda: drag(-15, 0),
        lambda: watched.press("+", "+"),
        lambda: watched.press("-"),
    ]
    for move in away:
        page.mouse.move(x, y)
        move()
        expect(view).not_to_have_attribute("transform", whole)
        watched.idle()
        watched.press("f")
        expect(view).to_have_attribute("transform", whole)


@pytest.mark.long
def test_selecting_does_not_move_the_view(sample: Watched) -> None:
    sample.press("+", "+")
    before = sample.node("relu1").bounding_box()
    sample.node("relu1").click()
    sample.idle()
    assert sample.node("relu1").bounding_box() == before


@pytest.mark.long
def test_the_drawer_names_partitions_and_totals(sample: Watched) -> None:
    page = sample.page
    show_tab(page, "Partitions")
    page.get_by_role("row").nth(1).get_by_role("button").click()
    sample.idle()
    assert "part=" in page.url
    show_tab(page, "Totals")
    for name in ("this plan", "greedy", "onnxruntime alone"):
        expect(page.get_by_role("rowheader", name=name)).to_be_visible()


def test_one_plan_has_one_predicted_and_one_measured_time_in_every_view(explorer: Explorer, open_page: OpenPage) -> None:
    """The header, the bar beside it, the graph, Partitions, Totals, Compare and Time; each says which of the two it shows."""
    watched = open_page(f"{explorer.address}?sample=crnn")
    page = watched.page
    show_tab(page, "Totals")
    cells = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="this plan", exact=True)).get_by_role("cell")
    predicted, measured = (re.sub(r" ±.*", "", cells.nth(column).inner_text()) for column in (0, 1))
    assert predicted != measured, "else a view that mixes them up would pass"
    expect(page.locator(".top .readout > [title]").first).to_have_attribute("title", re.compile(f"^measured {re.escape(measured)}( |:)"))
    expect(page.locator(".top .total-bar")).to_have_attribute("aria-label", re.compile("^Predicted total by target"))
    expect(page.locator(".top")).to_contain_text(re.compile(rf"{re.escape(measured)} measured"))
    show_tab(page, "Compare")
    rows = page.get_by_role("table", name="Totals").get_by_role("row")
    for name, figure in (("predicted", predicted), ("measured", measured)):
        expect(rows.filter(has_text=re.compile(f"^{name}")).get_by_role("cell").first).to_have_text(figure)
    show_tab(page, "Partitions")
    watched.press("m")  # In columns all partitions are in view.
    parts = [row.inner_text() for row in page.locator("table.partitions tbody td:nth-of-type(1)").all()]
    for text in parts:
        expect(page.locator(f'.stage [aria-label$=", {text}"]').first).to_be_attached()
    by_target = page.get_by_role("group", name="Predicted total by target")
    between = re.findall(r"transitions ([\d.,]+ \w+)", " ".join(by_target.inner_text().split()))
    assert sum(map(seconds_of, [*parts, *between])) == pytest.approx(seconds_of(predicted), rel=0.01), "as far as three digits add up"
    show_tab(watched.page, "Time")
    whole = page.get_by_role("group", name=re.compile("^Where the time of .* goes$")).get_by_role("button").first
    expect(whole).to_have_accessible_name(re.compile(rf"{re.escape(predicted)}, 100 % of the predicted total$"))


def seconds_of(text: str) -> float:
    """A time as the page writes it."""
    number, unit = text.split()
    return float(number.replace(",", "")) * {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[unit]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_follow_the_system(explorer: Explorer, open_page: OpenPage, scheme: str) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist", scheme=scheme)
    sum_of = "reduce((sum, value) => sum + Number(value), 0)"
    page_colour = f"() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).{sum_of}"
    corner = f"""() => {{ const canvas = document.querySelector('.stage canvas');
        return [...canvas.getContext('2d').getImageData(4, canvas.height - 4, 1, 1).data.slice(0, 3)].{sum_of}; }}"""
    for probe in (page_colour, corner):
        value = watched.page.evaluate(probe)
        assert value > 700 if scheme == "light" else value < 120


FITS = "() => document.documentElement.scrollWidth <= window.innerWidth"


@pytest.mark.long
def test_at_200_percent_everything_can_be_reached(explorer: Explorer, open_page: OpenPage) -> None:
    watched = open_page(f"{explorer.address}?sample=mini_mnist", width=640, height=360, device_scale_factor=2)
    for name in ("Why", "What it is", "Pins", "Search", "Partitions", "Costs", "Totals", "Runs", "Compare", "Charts", "Netron", "Log"):
        show_tab(watched.page, name)
        watched.idle()
        expect(watched.page.get_by_role("tab", name=re.compile(f"^{name}( |$)"))).to_be_in_viewport()
        assert watched.page.evaluate(FITS), name
    show_tab(watched.page, "Toolchains")
    reached = {"Rules": "treeitem", "Options": "textbox", "Describe one": "textbox"}
    for part, role in reached.items():
        watched.page.get_by_role("radio", name=part, exact=True).click()
        watched.idle()
        assert watched.page.evaluate(FITS), part
        last = watched.page.locator(".drawer").get_by_role(role).last  # type: ignore[arg-type]
        last.scroll_into_view_if_needed()
        expect(last).to_be_in_viewport()


@pytest.mark.long
def test_a_server_that_goes_away_is_said(tmp_path: Path, open_page: OpenPage) -> None:
    with running(tmp_path, "squeezenet") as own:
        watched = open_page(own.address)
        watched.page.get_by_role("button", name="Run", exact=True).click()
        expect(watched.page.locator(".search-words")).to_contain_text("candidates", timeout=120_000)
        own.stop()
        expect(watched.page.locator(".readout")).to_contain_text("disconnected")
        expect(watched.page.get_by_role("group", name="Graph of squeezenet")).to_be_visible()
