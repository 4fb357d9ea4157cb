"""`collage compare`: how two runs, baselines, plans or cost databases differ, as text or as one document."""

from __future__ import annotations

from collections.abc import Iterable

import click

from ..base.counted import counted
from ..base.durations import duration, signed
from ..documents.compare import Change, CommonCost, ComparedPlan, ComparedRegion, CostsCompared, PlansCompared
from ..pipeline.whole.differences import region_text
from .json_output import print_document
from .say import say

SHOWN = 20
"""So many regions or costs are shown; the document has all."""


@click.command()
@click.argument("first")
@click.argument("second")
@click.option("--nodes", "by_node", is_flag=True, help="Also list every node whose target differs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def compare(first: str, second: str, by_node: bool, as_json: bool) -> None:
    """Compare two plans of one model, or two cost databases.

    FIRST and SECOND are runs (their folders), plan files, or a run and one of its baselines, such as out#greedy or out#openvino; or two
    cost databases, each a path or URL, with a machine behind # if it holds several.
    """
    from ..what_if.compare import compare as compare_any

    document = compare_any(first, second)
    if as_json:
        print_document(document)
    elif isinstance(document, CostsCompared):
        show_costs(document)
    else:
        show_plans(document, len(document.moved) if by_node else 0)


def show_plans(document: PlansCompared, most_nodes: int = 0, others: str = "--nodes lists them") -> None:
    """Print two plans as text, with so many of the nodes whose target differs; `others` says where all of them are."""
    first, second = document.first, document.second
    say(f"first: {first.name}\nsecond: {second.name}")
    if first.machine != second.machine:
        say(f"their costs are from different machines: {_machine(first)}; {_machine(second)}")
    predicted = [(side.total_s, side.total_interval_s) for side in (first, second)]
    measured = [(side.measured_s, side.interval_s) for side in (first, second)]
    for word, times, change in (("predicted", predicted, document.predicted), ("measured", measured, document.measured)):
        if any(seconds is not None for seconds, _ in times):
            say(f"{word} {' and '.join(_known(*time) for time in times)}{_difference(change)}")
    transitions = [duration(side.transitions_s) for side in (first, second)]
    say(f"of that, transitions {' and '.join(transitions)}; {first.partitions} and {counted(second.partitions, 'partition')}")
    for side in (first, second):
        taken = ", ".join(f"{counted(count, 'node')} on {target}" for target, count in side.targets.items())
        say(f"  {side.name}: {taken or 'no nodes'}")
    _show_regions(document)
    for row in document.moved[:most_nodes]:
        say(f"  {row.node:>5} {row.name} ({row.op}): {row.first}, in the second {row.second}")
    if len(document.moved) > most_nodes:
        say(f"{len(document.moved)} of {counted(document.model.nodes, 'node')} have another target ({others})")


def _show_regions(document: PlansCompared) -> None:
    regions = document.regions
    if not regions:
        say("both plans have the same partitions, and they cost the same")
        return
    differ = f"{counted(len(regions), 'region')} {'differs' if len(regions) == 1 else 'differ'}"
    say(f"{differ}, {document.unchanged} do not; what the first takes there, less what the second does:")
    for region in regions[:SHOWN]:
        saves = "" if region.saves_s is None else f"; with transitions the first saves {signed(region.saves_s)} by it"
        say(f"  {signed(region.change_s):>10}{_noise(region)}  {KINDS[region.kind]}: {_region_words(region)}{saves}")
    if len(regions) > SHOWN:
        say(f"  and {len(regions) - SHOWN} more (--json has all)")


def _region_words(region: ComparedRegion) -> str:
    if region.kind != "same":
        return region_text(region.first, region.second)
    (part,) = region.first
    return f"{'+'.join(part.ops[:6])} on {part.target} (from {part.names[0]!r})"


KINDS = {"same": "costs otherwise", "recut": "cut otherwise", "moved": "another target"}


def _known(seconds: float | None, interval_s: float | None) -> str:
    if seconds is None:
        return "not known"
    return duration(seconds) + ("" if interval_s is None else f" ± {duration(interval_s)}")


def _difference(change: Change) -> str:
    return "" if change.change_s is None else f": {signed(change.change_s)}{_noise(change)}"


def _noise(change: Change | ComparedRegion) -> str:
    """Return by how much a difference may be off, and whether it is more than that; empty where nobody knows."""
    if change.is_clear is None:
        return ""
    return f" ± {duration(change.interval_s)}" + ("" if change.is_clear else ", within noise")


def _machine(side: ComparedPlan) -> str:
    return side.machine or "no machine"


def show_costs(document: CostsCompared) -> None:
    """Print two databases as text."""
    for word, side in (("first", document.first), ("second", document.second)):
        say(f"{word}: {side.machine} ({side.database}), {side.only_here} costs that the other one lacks")
    for row in document.toolchains:
        versions = [", ".join(versions) for versions in (row.first_versions, row.second_versions)]
        version = versions[0] if versions[0] == versions[1] else " and ".join(versions)
        unclear = row.costs - row.slower - row.faster
        counts = f"{row.slower} slower, {row.faster} faster, {unclear} within noise"
        times = f"{row.median_ratio:.3g} times as long"
        where = f"{row.toolchain} {version}, {counted(row.threads, 'thread')}"
        say(f"{where}: of {counted(row.costs, 'cost')} the first has {counts}; median {times}")
    _show_each(document.costs)
    for failure in document.failures[:SHOWN]:
        where = f"{failure.toolchain} {failure.computation[:16]} fails on the {failure.fails_on} alone"
        say(f"  {where}: {failure.stage}: {failure.reason}")
    for pair in document.transitions:
        sides = ((pair.first_fixed_s, pair.first_per_byte_s), (pair.second_fixed_s, pair.second_per_byte_s))
        first, second = (f"{duration(fixed_s)} and {per_byte_s * 1e12:.3g} ps a byte" for fixed_s, per_byte_s in sides)
        say(f"  from {pair.maker} to {pair.reader}: {first}, in the second {second}")


def _show_each(costs: Iterable[CommonCost]) -> None:
    clear = [row for row in costs if row.is_clear]
    for row in clear[:SHOWN]:
        sides = f"{_known(row.first_s, row.first_interval_s)} and {_known(row.second_s, row.second_interval_s)}"
        say(f"  {row.ratio:>6.3g} times  {row.toolchain} {row.computation[:16]}: {sides}")
    if len(clear) > SHOWN:
        say(f"  and {len(clear) - SHOWN} more that differ by more than their noise (--json has all)")
