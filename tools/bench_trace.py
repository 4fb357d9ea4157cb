"""Read a page's main thread from Chromium's traces: CPU time of its tasks, and of each frame.

Take the JSON of a trace (the categories `CATEGORIES`). Give milliseconds of CPU, between two marks if wanted. Wall
time is not used: another process on the machine would be in it.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

CATEGORIES = ("toplevel", "devtools.timeline", "blink.user_timing")
OWN = "bench: "
"""How the marks begin that the bench itself sets."""

TASK = "ThreadControllerImpl::RunTask"
FRAME = "AnimationFrame::Render"
MAIN_THREAD = "CrRendererMain"
US_PER_MS = 1000.0


@dataclass(frozen=True)
class Task:
    """One task of the main thread: when it began, and how much CPU time it took, in microseconds."""

    start_us: float
    cpu_us: float


@dataclass(frozen=True)
class Trace:
    """The main thread of the page that was measured.

    Attributes:
        tasks: By time.
        frames: When each frame began, by time.
        marks: ``performance.mark`` → when it was set last.
    """

    tasks: tuple[Task, ...]
    frames: tuple[float, ...]
    marks: Mapping[str, float]

    def cpu_ms(self, since: str | None = None, until: str | None = None) -> float:
        """CPU time of the tasks that began between two marks."""
        return sum(task.cpu_us for task in self._between(since, until)) / US_PER_MS

    def longest_frame_ms(self, since: str | None = None, until: str | None = None) -> float:
        """CPU time of the dearest frame: all that the thread did since the frame before it began."""
        costs: dict[int, float] = defaultdict(float)
        for task in self._between(since, until):
            costs[bisect_left(self.frames, task.start_us)] += task.cpu_us
        return max(costs.values(), default=0.0) / US_PER_MS

    def count_frames(self, since: str | None = None, until: str | None = None) -> int:
        """How many frames began between two marks."""
        least, most = self._span(since, until)
        return sum(least <= frame <= most for frame in self.frames)

    def _between(self, since: str | None, until: str | None) -> Iterable[Task]:
        least, most = self._span(since, until)
        return (task for task in self.tasks if least <= task.start_us <= most)

    def _span(self, since: str | None, until: str | None) -> tuple[float, float]:
        return (self.marks[since] if since else float("-inf")), (self.marks[until] if until else float("inf"))


def read_trace(data: bytes) -> Trace:
    """The trace of the page in which the bench set marks of its own; of several the one that worked most.

    Raises:
        ValueError: no such page, or no CPU times, are in it.
    """
    events = json.loads(data)["traceEvents"]
    mains = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name" and event["args"]["name"] == MAIN_THREAD}
    ours = {_thread(event) for event in events if event["name"].startswith(OWN)} & mains
    work: dict[tuple[int, int], float] = defaultdict(float)
    for event in events:
        if event["name"] == TASK and _thread(event) in ours:
            work[_thread(event)] += event.get("tdur", 0)
    if not work or not max(work.values()):
        raise ValueError("the trace has no CPU time of the page's main thread")
    chosen = max(work, key=lambda thread: work[thread])
    own = [event for event in events if _thread(event) == chosen]
    tasks = sorted((Task(event["ts"], event.get("tdur", 0)) for event in own if event["name"] == TASK), key=lambda task: task.start_us)
    marks = {event["name"]: event["ts"] for event in own if "blink.user_timing" in event.get("cat", "") and event["ph"] in "RI"}
    frames = sorted(event["ts"] for event in own if event["name"] == FRAME and event["ph"] not in "eE")
    return Trace(tuple(tasks), tuple(frames), marks)


def _thread(event: Mapping[str, Any]) -> tuple[int, int]:
    return event["pid"], event["tid"]
