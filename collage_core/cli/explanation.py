"""The text of `collage explain`: of an explanation by all alternatives, and of the best plan over each set of targets.

Answers enter; lines on the terminal leave. The plan under other terms is told by `terms_text`.
"""

from __future__ import annotations

from ..base.counted import counted
from ..base.durations import duration
from ..documents.explain import ExplainedNode, Explanation, PartitioningDifference
from ..documents.node_times import PartitionNodeTimes
from ..documents.worth import Worth
from ..pipeline.record.known_regret import KnownRegret
from ..pipeline.record.node_times import CANDIDATES, COST, PROFILER
from ..pipeline.whole.differences import region_text
from ..rewrite.plan import source_label
from .bodies_text import bodies_text
from .say import say

_SHOWN_SETS = 16


def show_targets(document: Worth) -> None:
    """Print an answer as text: what each further target brings, then the sets."""
    say(document.text)
    for step in document.steps:
        say(f"{len(step.targets)}: {step.text}")
    say("the best plan over each set of targets:")
    # A plan in which a target gets no node is that of a smaller set.
    used = [row for row in document.sets if row.against is None or row.used == row.targets]
    for row in used[:_SHOWN_SETS]:
        say(f"  {row.text:>22}  {' + '.join(row.targets)}")
    if len(document.sets) > len(used[:_SHOWN_SETS]):
        say(f"  and {len(document.sets) - len(used[:_SHOWN_SETS])} more (--json has all)")
    if not document.is_whole:
        say("there was no time for further sets")


_SHOWN_GROUPS = 6
_SAID = {
    PROFILER: "shares by the toolchain's profiler, scaled to the partition's cost",
    CANDIDATES: "shares by the costs of its nodes, each alone on the same target: nothing is fused in them",
    COST: "the partition is this node",
}


def _show_time(item: ExplainedNode, times: PartitionNodeTimes | None) -> None:
    """Print what the node takes, and where the time of its partition goes."""
    time = item.time
    if time.share is None or times is None:
        return
    more = f" with {len(time.nodes) - 1} more in one kernel" if len(time.nodes) > 1 else ""
    alone = "".join(f", alone on {target} {duration(seconds)}" for target, seconds in time.alone_s.items())
    say(f"   takes {time.share:.1%} of its partition{more}: {duration(time.seconds)}{alone}")
    if len(times.groups) < 2:
        return
    when = f" ({times.reason})" if times.source == PROFILER and times.reason else ""
    say(f"   the partition's time, {_SAID[times.source]}{when}:")
    for group in sorted(times.groups, key=lambda group: -group.share)[:_SHOWN_GROUPS]:
        nodes = ", ".join(map(str, group.nodes[:6])) + (" …" if len(group.nodes) > 6 else "")
        say(f"     {group.share:6.1%} {duration(group.seconds):>10}  {group.kernel or 'node'} ({nodes})")


_SHOWN_REGIONS = 8


def _show_difference(one: PartitioningDifference) -> None:
    """Print how the plan differs from a partitioning that came from elsewhere."""
    measured = f", measured {duration(one.measured_s)}" if one.measured_s is not None else ""
    estimate = ", an estimate" if one.is_estimate else ""
    say(f"{one.name}: {counted(one.partitions, 'partition')}, the plan has {one.plan_partitions}")
    say(f"   predicted {duration(one.total_s)}{estimate}{measured}; the plan is {one.change_text}")
    for region in one.regions[:_SHOWN_REGIONS]:
        saves_s = region.saves_s
        saved = duration(saves_s) if saves_s is None or saves_s >= 0 else f"-{duration(-saves_s)}"
        say(f"   saves {saved:>10}  {region_text(region.plan, region.instead)}")
    if len(one.regions) > _SHOWN_REGIONS:
        say(f"   and {counted(len(one.regions) - _SHOWN_REGIONS, 'region')} more")


def show_explanation(document: Explanation) -> None:
    """Print an explanation as text."""
    if document.decision:
        say(document.decision)
    for one in document.partitionings:
        _show_difference(one)
    times_of = {node: times for times in document.node_times for group in times.groups for node in group.nodes}
    for item in document.nodes:
        show_node(item, times_of.get(item.node))
        for line in bodies_text([row for row in document.bodies if row.node == item.node], "   "):
            say(line)


def show_node(item: ExplainedNode, times: PartitionNodeTimes | None = None) -> None:
    """Print the candidates that hold a node and why others cannot take it; `times` are those of its partition."""
    say(f"{item.name} ({item.op}), node {item.node}")
    for row in item.candidates:
        mark = "*" if row.chosen else " "
        regret = "" if row.regret_at_least_s is None else f"  regret {KnownRegret.of_row(row).text(duration)}"
        label = row.label + source_label(row.cost.source)
        below = f", enters below {duration(row.enters_below_s)}" if row.enters_below_s else ""
        say(f" {mark} {row.target:<14} {duration(row.cost.seconds):>10}  {label}  [{row.id}]{regret}{below}")
        if tuned := row.cost.tuned:
            took = f"tuned for {duration(tuned.spent_s, 2)} ({tuned.trials} schedules)"
            say(f"   {'':<14} {took}: {duration(tuned.untuned_s)} with the default schedule")
        if row.over_budget:
            say(f"   {'':<14} {row.over_budget}")
    for rejection in item.rejections[:12]:
        say(f"   {rejection.target:<14} {rejection.stage}: {rejection.reason} (nodes {list(rejection.nodes[:6])})")
    _show_time(item, times)
