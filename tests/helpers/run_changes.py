"""`FollowedRun`: a run of random events, a page that follows it, and a connection between them that loses messages and breaks.

`.venv/bin/python -m tests.helpers.run_changes` writes what some of these pages get into ``frontend/test/run_changes.json``, which the
page's own tests read.
"""

from __future__ import annotations

import dataclasses
import json
import random
import types
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import jsonpatch

from collage_core.events import PHASES, STEPS
from collage_server.messages.live import Change, Numbered, PatchOperation, RunStateChanged
from collage_server.messages.runs import RunSnapshot, TargetCounts
from collage_server.protocol import EVENTS
from collage_server.runs.state import apply, finish
from collage_server.shared.json_files import json_data
from collage_server.streaming.stream import SnapshotCursor
from tests.helpers.documents import PART, run_document
from tests.helpers.paths import ROOT

FILE = ROOT / "frontend" / "test" / "run_changes.json"
RUNS, STEPS_OF_A_RUN = 4, 80

T = TypeVar("T")
Json = dict[str, Any]

NODES = (("conv1", "Conv"), ("relu1", "Relu"), ("add1", "Add"))
START = RunSnapshot(
    id="r",
    state="running",
    seq=0,
    model="m",
    model_name="tiny",
    targets=["a", "b"],
    constraints=[],
    created="2026-01-01T00:00:00+00:00",
    base=None,
    machine="",
    counts=[TargetCounts("a"), TargetCounts("b")],
)
COSTS: tuple[Json, ...] = (
    {"seconds": 0.5, "source": "measured", "stage": ""},
    {"seconds": None, "source": "invalid", "stage": "build"},
    {"seconds": None, "source": "invalid", "stage": "numerics"},
    {"seconds": 0.25, "source": "estimate", "stage": ""},
    {"seconds": None, "source": "unknown", "stage": ""},
)
DOCUMENT = run_document(
    targets=[{"name": "a", "candidates": 5, "invalid": 1, "unique": 4, "measured": 2, "cache_hits": 1}],
    plan={
        "total_s": 0.7,
        "partitions": [PART],
        "transitions": [{"from": "host", "to": "a", "tensor": "t", "bytes": 4, "cost_s": 0.0}],
    },
    baselines=[{"name": "b", "total_s": None, "measured_s": None, "reason": "b cannot take every node"}],
    verify={
        "measured_s": 0.72,
        "additive_error_s": 0.02,
        "max_rel_error": 1e-6,
        "accuracy": 1e-3,
        "reference": "onnxruntime",
        "errors": {"y": 0.0, "z": 1e-6},
    },
)


def pick(draw: random.Random, choices: Sequence[T]) -> T:
    """Choose by `random()` alone, whose numbers are the same on every version of Python."""
    return choices[int(draw.random() * len(choices))]


def random_event(draw: random.Random) -> Json:
    """Return an event of any kind as the pipeline or the server emits it; its fields are any that their types admit."""
    kind = pick(draw, (*EVENTS, RunStateChanged))
    hints = get_type_hints(kind)
    event: Json = {field.name: _random_value(draw, field.name, hints[field.name]) for field in dataclasses.fields(kind)}
    return {"type": kind.__name__, **json_data(event)}


def _random_value(draw: random.Random, name: str, hint: Any) -> Any:
    named: dict[str, Sequence[Any]] = {"phase": PHASES, "step": STEPS, "cost": COSTS, "state": ("running", "queued", "failed")}
    if name in named:
        return pick(draw, named[name])
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return pick(draw, arguments)
    if origin in (Union, types.UnionType):
        return _random_value(draw, name, pick(draw, arguments))
    if origin is list or arguments[1:] == (Ellipsis,):
        return [_random_value(draw, "", arguments[0]) for _ in range(pick(draw, range(4)))]
    if origin is tuple:
        return [_random_value(draw, "", argument) for argument in arguments]
    if dataclasses.is_dataclass(hint):
        return {field: _random_value(draw, field, inner) for field, inner in get_type_hints(hint).items()}
    plain: dict[Any, Callable[[], Any]] = {
        bool: lambda: draw.random() < 0.5,
        int: lambda: pick(draw, range(4)),
        float: lambda: pick(draw, range(1, 9)) / 8,
        str: lambda: pick(draw, ("a", "b", "c")),
        type(None): lambda: None,
    }
    return plain[hint]()


class FollowedRun:
    """A run on the server and what a page has of it; each method is something that can happen.

    Attributes:
        snapshot: The server's.
        page: The page's, as JSON.
        arrived: Every message that the page got; a snapshot that it fetched is among them as a message that holds the whole.
        misfits: How many of them belonged to another snapshot than the page's.
    """

    def __init__(self, draw: random.Random):
        self._draw = draw
        self.snapshot = START
        self.page: Json = json_data(START)
        self.arrived: list[Json] = []
        self.misfits = 0
        self._under_way: deque[Json] = deque()
        self._cursor = SnapshotCursor(0, START)

    def something(self) -> None:
        """Let the run, the server, the network or the page do something."""
        rare = (self.breaks, self.opened, self.subscribe, self.ends)
        pick(self._draw, (self.event, self.send, self.arrive) if self._draw.random() < 0.9 else rare)()

    def event(self) -> None:
        self._take(random_event(self._draw))

    def ends(self) -> None:
        """Let the run end with a plan; it may go on, as when its artifact is built."""
        self.snapshot = finish(self.snapshot, DOCUMENT)
        self._take({"type": "RunStateChanged", **asdict(RunStateChanged("done"))})

    def _take(self, event: Json) -> None:
        later_s = self.snapshot.now_s + pick(self._draw, (0.0, 0.0625, 0.5))
        self.snapshot = apply(self.snapshot, Numbered(self.snapshot.seq + 1, event, later_s), NODES)

    def send(self) -> None:
        change = self._cursor.next_change(self.snapshot)
        if change is not None:
            self._under_way.append(json_data(change))

    def arrive(self) -> None:
        """Let the page get the next message, which it acknowledges; it subscribes anew where that does not fit."""
        if not self._under_way:
            return
        change = self._under_way.popleft()
        self.arrived.append(change)
        self._cursor.acknowledged()
        if change["after"] in (None, self.page["seq"]):
            self.page = jsonpatch.apply_patch(self.page, change["patch"])
        else:
            self.misfits += 1
            self.subscribe()

    def opened(self) -> None:
        """Let the page fetch the snapshot and follow the run from there, while messages of before are under way."""
        self.page = json_data(self.snapshot)
        self.arrived.append(json_data(Change(self.snapshot.id, None, [PatchOperation("replace", "", self.page)])))
        self.event()
        self.subscribe()

    def breaks(self) -> None:
        """Lose all messages that are under way; the page connects again, which may take a while."""
        self._under_way.clear()
        for _ in range(pick(self._draw, range(4))):
            self.event()
        self.subscribe()

    def subscribe(self) -> None:
        self._cursor = SnapshotCursor(self.page["seq"], self.snapshot)

    def settle(self) -> None:
        """Let everything arrive that is still to come."""
        while True:
            self.send()
            if not self._under_way:
                return
            self.arrive()


def followed_run(draw: random.Random, steps: int) -> FollowedRun:
    """Return a run that something happened to `steps` times, when all has arrived; one message at the end no longer fits."""
    run = FollowedRun(draw)
    for _ in range(steps):
        run.something()
    run.event()
    run.send()
    run.opened()
    run.settle()
    return run


def content() -> str:
    """Return what the file of the page's tests holds."""
    runs = [followed_run(random.Random(seed), STEPS_OF_A_RUN) for seed in range(RUNS)]
    lines = [json.dumps({"changes": run.arrived, "end": json_data(run.snapshot), "misfits": run.misfits}) for run in runs]
    return f'{{"start": {json.dumps(json_data(START))},\n"runs": [\n' + ",\n".join(lines) + "\n]}\n"


if __name__ == "__main__":
    FILE.write_text(content())
