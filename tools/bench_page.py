"""`make bench-page`: how quick the page is, beside Netron on the same models; prints tables, and fails when a budget is not kept.

It takes `--only`, `--rounds`, `--json`. It prints tables, and PASS or FAIL for each budget; it exits with status 1 when one
fails. `bench_browser` drives Chromium, `bench_trace` reads its traces; docs/benchmarks.md says what is measured and how.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import netron  # noqa: E402
from bench import Check, machine, table  # noqa: E402
from bench_browser import (  # noqa: E402
    OURS,
    Figures,
    NoPicture,
    Site,
    acted,
    clicking,
    first_bytes,
    heap_bytes,
    move,
    netron_site,
    opened,
    paint,
    settle,
)
from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.browser.explorer import launch, running, with_token  # noqa: E402

LAYER_NODES = 37
"""Nodes of a transformer's layer when its layer norms are one node each again."""

MODELS = {"transformer500": 500, "transformer2000": 2_000, "transformer10000": 10_000, "resnet50": 122, "densenet121": 368, "gpt2": 448}
"""Model → nodes that both pages get; ours opens a large model with its repeated layers folded."""

PARTS = ("paint", "unfolded", "select", "decide", "costs", "stream", "size")
SAMPLE = "resnet50"
SMALL = "transformer500"
"""From so many nodes on it takes half as long as Netron from the command to the first paint."""
THIRD = "transformer2000"
LARGEST = "transformer10000"
STATES = 100_000
FRAME_MS = 50.0
SELECT_MS = 100.0
DECIDE_MS = 200.0
COSTS_MS = 100.0
FIRST_KB = 150.0
HEAP_GROWTH = 0.10
"""A heap is called flat when it grows by less than this share while states stream."""

KEYS = 8
OURS_NAME, EVERY_NAME, NETRON_NAME = "ours", "ours, every node", "Netron"
PAGES = (OURS_NAME, EVERY_NAME, NETRON_NAME)
FOLDED_FROM = 150
"""From so many nodes on our page opens folded; it is then opened with every node drawn, too."""


@dataclass
class Results:
    """Everything that was measured.

    Attributes:
        pages: (model, page) → a round's figures, one after the other.
        failures: (model, page) → why there is no picture.
        acts: Part → figures of each time.
        unfolded: Act on the largest model with all its nodes drawn → figures of each round.
        first: Script and style before the first paint: name → gzipped bytes.
        notes: Further facts, such as rounds that were tried again.
    """

    pages: dict[tuple[str, str], list[Figures]] = field(default_factory=dict)
    failures: dict[tuple[str, str], str] = field(default_factory=dict)
    acts: dict[str, list[Figures]] = field(default_factory=dict)
    unfolded: dict[str, list[Figures]] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def middle(self, model: str, page: str, figure: str) -> float | None:
        """The median over the rounds; None where there is no picture."""
        rounds = self.pages.get((model, page))
        return median(one[figure] for one in rounds) if rounds else None

    def worst(self, part: str, figure: str) -> float | None:
        found = self.acts.get(part)
        return max(one[figure] for one in found) if found else None

    def usual(self, part: str, figure: str) -> float | None:
        found = self.acts.get(part)
        return median(one[figure] for one in found) if found else None


def write_model(name: str, folder: Path) -> Path:
    """The model's file in its folded form, so that both pages get the same nodes."""
    import bench_models

    from collage_core.graph.index_set import IndexSet
    from collage_core.model.onnx_model import load_model

    raw, path = folder / f"{name}.raw.onnx", folder / f"{name}.onnx"
    raw.write_bytes(_build(name, bench_models.LAYER_NODES, bench_models.build).SerializeToString())
    model = load_model(raw)
    path.write_bytes(model.cut(IndexSet(range(len(model.graph)))).onnx)
    raw.unlink()
    if len(model.graph) != MODELS[name]:
        raise AssertionError(f"{name} has {len(model.graph)} nodes, and should have {MODELS[name]}")
    return path


def _build(name: str, unfolded: int, build: Callable[[str], Any]) -> Any:
    if not name.startswith("transformer"):
        return build(name)
    layers, rest = divmod(MODELS[name], LAYER_NODES)
    return build(f"transformer{layers * unfolded + rest}")


@contextmanager
def our_site(folder: Path, *arguments: str, query: str = "") -> Iterator[Site]:
    """A fresh explorer with nothing cached."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=folder) as home, running(Path(home), *arguments) as explorer:
        yield Site(with_token(explorer.address + query), OURS, True, time.perf_counter() - began)


def site_of(page_name: str, folder: Path, path: Path) -> AbstractContextManager[Site]:
    """The page of that name with the model at `path`."""
    if page_name == NETRON_NAME:
        return netron_site(path)
    return our_site(folder, str(path), query="?group=nothing" if page_name == EVERY_NAME else "")


def measure_pages(browser: Browser, names: Sequence[str], rounds: int, folder: Path, results: Results) -> None:
    """First paint, panning and zooming of each model in the pages, in turns: ours, Netron, ours, Netron …"""
    for name in names:
        path = write_model(name, folder)
        for _ in range(rounds):
            for page_name in PAGES:
                if (name, page_name) in results.failures or (page_name == EVERY_NAME and MODELS[name] < FOLDED_FROM):
                    continue
                with site_of(page_name, folder, path) as site:
                    _one_round(browser, site, name, page_name, results)
        print(f"{name}: {_summary(results, name)}", file=sys.stderr)
        path.unlink()


def _one_round(browser: Browser, site: Site, name: str, page_name: str, results: Results) -> None:
    try:
        with opened(browser, site) as page:
            figures = paint(browser, page, site) | move(browser, page, site)
    except NoPicture as error:
        results.failures[name, page_name] = str(error)
        return
    results.pages.setdefault((name, page_name), []).append(figures)


def _summary(results: Results, name: str) -> str:
    told = []
    for page_name in (OURS_NAME, NETRON_NAME):
        wall = results.middle(name, page_name, "wall")
        told.append(f"{page_name} {results.failures.get((name, page_name), 'no figure') if wall is None else f'{wall:.0f} ms'}")
    return ", ".join(told)


def measure_acts(browser: Browser, parts: Sequence[str], folder: Path, results: Results) -> None:
    """Measure the acts of a person on the sample and its recorded run; each act once to warm up, then `KEYS` times."""
    with our_site(folder, query=f"?sample={SAMPLE}") as site, opened(browser, site) as page:
        page.goto(site.address)
        settle(page, site)
        for _ in range(3):  # past the input, which nobody places
            page.keyboard.press("ArrowDown")
            settle(page, site)

        def repeat(part: str, act: Callable[[], None], seen: Callable[[], object], undo: Callable[[], None] = lambda: None) -> None:
            for number in range(KEYS + 1):
                before = seen()
                figures = acted(browser, page, act)
                if seen() == before:
                    raise AssertionError(f"{part!r} did nothing: the page is as it was")
                undo()
                settle(page, site)
                if number:
                    results.acts.setdefault(part, []).append(figures)
            print(f"{part}: {results.usual(part, 'cpu'):.0f} ms", file=sys.stderr)

        press = page.keyboard.press
        if "select" in parts:
            repeat("select", lambda: press("ArrowDown"), lambda: page.url)
        if "decide" in parts:
            repeat("decide", lambda: press("v"), page.locator(".decision").all_inner_texts, lambda: press("u"))


def measure_costs(browser: Browser, rounds: int, folder: Path, results: Results) -> None:
    """The table of costs of the sample with the most candidates, opened for the first time in a page."""
    for _ in range(rounds):
        with our_site(folder, query=f"?sample={largest_sample()}") as site, opened(browser, site) as page:
            page.goto(site.address)
            settle(page, site)
            results.acts.setdefault("costs", []).append(acted(browser, page, clicking(page.get_by_role("tab", name="Costs"))))
    print(f"costs: {results.usual('costs', 'cpu'):.0f} ms", file=sys.stderr)


def measure_unfolded(browser: Browser, rounds: int, folder: Path, results: Results) -> None:
    """The largest model with all its nodes drawn and a plan over them: everything that is done to the whole of it."""
    from bench_large import figures_of, planned

    home = folder / LARGEST
    home.mkdir()
    with planned(home, write_model(LARGEST, folder)) as site:
        for _ in range(rounds):
            for name, figures in figures_of(browser, site).items():
                results.unfolded.setdefault(name, []).append(figures)
    name, frame = dearest_unfolded(results)
    print(f"unfolded: {frame:.0f} ms ({name})", file=sys.stderr)


def dearest_unfolded(results: Results) -> tuple[str, float]:
    """Return the act with the longest frame, and that frame: the median of its rounds."""
    frames = {name: median(one["frame"] for one in rounds) for name, rounds in results.unfolded.items()}
    return max(frames.items(), key=lambda item: item[1])


def largest_sample() -> str:
    """The sample whose recorded run has the most candidates."""
    files = (ROOT / "collage_core" / "model" / "samples" / "recorded").glob("*.json.gz")
    sizes = {file.name.partition(".")[0]: len(json.loads(gzip.decompress(file.read_bytes()))["candidates"]) for file in files}
    return max(sizes, key=lambda name: sizes[name])


def measure_stream(browser: Browser, folder: Path, results: Results) -> None:
    """A run that streams `STATES` states to the page: frames, and the heap before and after."""
    from bench_stream import flooding, prepare, run

    with flooding(folder) as address:
        site = Site(address, OURS, True)
        with opened(browser, site) as page:
            prepare(page)
            page.goto(site.address)
            settle(page, site)
            session = page.context.new_cdp_session(page)
            run(page)  # warms up
            for _ in range(2):
                settle(page, site)
                before = heap_bytes(session)
                figures = acted(browser, page, lambda: run(page))
                results.acts.setdefault("stream", []).append({**figures, "before": before, "after": heap_bytes(session)})
    print(f"stream: {results.worst('stream', 'frame'):.0f} ms", file=sys.stderr)


def checks(results: Results) -> list[Check]:
    """The budgets of what was measured."""
    made = []
    ours, theirs = (results.middle(THIRD, page, "wall") for page in (OURS_NAME, NETRON_NAME))
    if (THIRD, OURS_NAME) in results.pages and (ours and theirs):
        made.append(Check(f"{THIRD}, first paint beside Netron's", ours / theirs, 1 / 3, "of it"))
    ours, theirs = (results.middle(SMALL, page, "start") for page in (OURS_NAME, NETRON_NAME))
    if (SMALL, OURS_NAME) in results.pages and (ours and theirs):
        made.append(Check(f"{SMALL}, first paint from start beside Netron's", ours / theirs, 1 / 2, "of it"))
    for figure, what in (("frame", "opening"), ("pan", "panning"), ("zoom", "zooming")):
        if (LARGEST, OURS_NAME) in results.pages:
            made.append(Check(f"{LARGEST}, dearest frame when {what}", results.middle(LARGEST, OURS_NAME, figure), FRAME_MS, "ms"))
    if results.unfolded:
        name, frame = dearest_unfolded(results)
        made.append(Check(f"{LARGEST} unfolded, dearest frame of all ({name})", frame, FRAME_MS, "ms"))
    for part, what, budget in (
        ("select", "select a node → its why", SELECT_MS),
        ("decide", "veto → the new plan is drawn", DECIDE_MS),
        ("costs", "the table of costs opens", COSTS_MS),
    ):
        if part in results.acts:
            made.append(Check(what, results.usual(part, "cpu"), budget, "ms"))
    if "stream" in results.acts:
        made.append(Check(f"{STATES:,} states streamed, dearest frame", results.worst("stream", "frame"), FRAME_MS, "ms"))
        made.append(Check(f"{STATES:,} states streamed, the heap grows", heap_growth(results.acts["stream"]), HEAP_GROWTH, "of it"))
    if results.first:
        made.append(Check("script and style before the first paint", sum(results.first.values()) / 1000, FIRST_KB, "KB gzipped"))
    return made


def heap_growth(rounds: Sequence[Figures]) -> float:
    """The least share by which the heap grew: what stays is there each time, what is a cache is not."""
    return min((one["after"] - one["before"]) / one["before"] for one in rounds)


HEADER = (
    *("model", "nodes", "page", "first paint ms", "CPU ms", "dearest frame ms", "pan ms", "zoom ms", "from start ms"),
    *("Netron/ours", "from start"),
)


def page_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """A line for each model and page."""
    for name, nodes in MODELS.items():
        for page in PAGES:
            why = results.failures.get((name, page))
            if why:
                yield name, f"{nodes:,}", page, why, *"-" * 7
            elif (name, page) in results.pages:
                figures = [_number(results.middle(name, page, figure)) for figure in ("wall", "cpu", "frame", "pan", "zoom", "start")]
                ratios = (
                    ["-", "-"] if page == NETRON_NAME else [_beside_netron(results, name, page, figure) for figure in ("wall", "start")]
                )
                yield name, f"{nodes:,}", page, *figures, *ratios


def _beside_netron(results: Results, name: str, page: str, figure: str) -> str:
    """How often our figure fits into Netron's."""
    ours, theirs = (results.middle(name, one, figure) for one in (page, NETRON_NAME))
    return f"{theirs / ours:.1f}" if ours and theirs and page != NETRON_NAME else "-"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


def act_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """A line for each thing that a person does."""
    for part, found in results.acts.items():
        cpu, wall = ([one[figure] for one in found] for figure in ("cpu", "wall"))
        yield part, str(len(found)), *map(_number, (median(cpu), max(cpu), results.worst(part, "frame"), median(wall)))


def unfolded_rows(results: Results) -> Iterator[tuple[str, ...]]:
    """A line for each thing that is done to the largest model, unfolded."""
    for name, rounds in results.unfolded.items():
        cpu = [one["cpu"] for one in rounds if "cpu" in one]
        yield name, _number(median(cpu) if cpu else None), _number(median(one["frame"] for one in rounds))


def report(results: Results) -> str:
    """All tables."""
    parts = []
    if pages := list(page_rows(results)):
        parts.append(f"## Beside Netron {netron.__version__} (medians)\n\n{table(HEADER, pages)}")
    if acts := list(act_rows(results)):
        header = ("what", "times", "CPU ms", "most ms", "dearest frame ms", "wall ms")
        parts.append(f"## What a person does\n\n{table(header, acts)}")
    if rows := list(unfolded_rows(results)):
        parts.append(f"## {LARGEST}, all nodes drawn\n\n{table(('what', 'CPU ms', 'dearest frame ms'), rows)}")
    if results.first:
        rows = [(name, f"{size / 1000:.1f}") for name, size in results.first.items()]
        parts.append(f"## Before the first paint\n\n{table(('file', 'KB gzipped'), rows)}")
    return "\n\n".join([*parts, *results.notes])


def wanted(only: str | None) -> tuple[list[str], list[str]]:
    """The models and the parts that `only` names: all of them, one model, or one part."""
    if only is None:
        return list(MODELS), list(PARTS)
    if only in MODELS:
        return [only], ["paint"]
    return (list(MODELS) if only == "paint" else []), [only]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description="Measures the page beside Netron, and checks its budgets.")
    parser.add_argument("--only", metavar="NAME", choices=[*PARTS, *MODELS], help=f"one part ({', '.join(PARTS)}) or one model")
    parser.add_argument("--rounds", metavar="N", type=int, default=3, help="how often each model is opened in each page")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write all figures there too")
    options = parser.parse_args(arguments)
    results = Results()
    models, parts = wanted(options.only)
    with tempfile.TemporaryDirectory(prefix="collage-bench-") as name, sync_playwright() as playwright:
        folder, browser = Path(name), launch(playwright)
        if "size" in parts:
            with our_site(folder, query=f"?sample={SAMPLE}") as site:
                results.first = first_bytes(browser, site)
        if {"select", "decide"} & set(parts):
            measure_acts(browser, parts, folder, results)
        if "costs" in parts:
            measure_costs(browser, options.rounds, folder, results)
        if "stream" in parts:
            measure_stream(browser, folder, results)
        if "unfolded" in parts:
            measure_unfolded(browser, options.rounds, folder, results)
        measure_pages(browser, models, options.rounds, folder, results)
        browser.close()
    return judge(results, options.json)


def judge(results: Results, file: Path | None) -> int:
    """Print everything, write it to `file` where there is one; 1 when a budget is not kept."""
    judged = checks(results)
    wrong = [f"{model} in our page: {why}" for (model, page), why in results.failures.items() if page == OURS_NAME]
    about = f"{machine().replace('one core', f'{os.cpu_count()} cores')}, Chromium without a GPU"
    print(f"{about}\n\n{report(results)}\n\n## Budgets\n")
    print("\n".join([*map(str, judged), *(f"FAIL  {fault}" for fault in wrong)]))
    if file is not None:
        file.write_text(json.dumps(_plain(results, judged, about), indent=1) + "\n")
    return 0 if not wrong and all(check.holds for check in judged) else 1


def _plain(results: Results, judged: Sequence[Check], about: str) -> Mapping[str, Any]:
    return {
        "schema": 1,
        "machine": about,
        "pages": [{"model": model, "page": page, "rounds": rounds} for (model, page), rounds in results.pages.items()],
        "failures": [{"model": model, "page": page, "why": why} for (model, page), why in results.failures.items()],
        "acts": results.acts,
        "unfolded": results.unfolded,
        "first_bytes": results.first,
        "checks": [{**asdict(check), "holds": check.holds} for check in judged],
    }


if __name__ == "__main__":
    sys.exit(main())
