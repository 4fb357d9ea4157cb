"""Messages of live runs, over Socket.IO (`protocol` says how they travel), and the errors of every answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

RunState = Literal["queued", "running", "done", "cancelled", "failed", "recorded"]


@dataclass(frozen=True)
class ApiError:
    """Body of every error answer, under the key ``error``."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class RegionChoice:
    """A region of a Relax module, as it is offered to be opened.

    Attributes:
        name: Such as ``main.0``.
        function: Name of its function.
        block: Index of its dataflow block in the function.
        nodes: Number of its nodes.
    """

    name: str
    function: str
    block: int
    nodes: int


@dataclass(frozen=True)
class OpenInputJson:
    """An input of a model whose sizes, or whose value, can be said when it is opened.

    Attributes:
        dimensions: A size where the model fixes it, else a symbol, or ``?``; null where the model says no number of dimensions. Dimensions
            with the same symbol have the same size; ``a = b`` stands for two that the model takes only together.
        sizes: Proposed sizes, one for each dimension.
        is_asked: Whether a size of it must be said; a batch is 1 unless said.
        takes_value: Whether its value can be fixed (`OpenModel.values`).
        value: A value that the model compares it with; empty where none is known.
    """

    name: str
    dtype: str
    dimensions: list[str] | None
    sizes: list[int]
    is_asked: bool
    takes_value: bool
    value: str


@dataclass(frozen=True)
class ErrorBody:
    """Every answer whose status is 400 or more.

    Attributes:
        choices: Paths of models, one of which is to be opened in place of the folder that was named; left out where there are none.
        regions: Regions of the Relax module, one of which is to be opened, the largest first; left out where there are none.
        inputs: Inputs of the model, of which sizes are to be said, or a value can be; left out where no size is missing.
    """

    error: ApiError
    choices: list[str] = field(default_factory=list)
    regions: list[RegionChoice] = field(default_factory=list)
    inputs: list[OpenInputJson] = field(default_factory=list)


@dataclass(frozen=True)
class Subscribe:
    """Sent by a client that opens a run. `after` is the number of the last event that it has, 0 for none.

    Attributes:
        to: The run's events (`Batch`), or its snapshot (`Change`); then `after` is the `RunSnapshot.seq` that the client has.
    """

    run: str
    after: int = 0
    to: Literal["events", "snapshot"] = "events"


@dataclass(frozen=True)
class Subscribed:
    """Answers `Subscribe`: `seq` is the number of the newest event."""

    run: str
    seq: int


@dataclass(frozen=True)
class Numbered:
    """An event and its number in the run, from 1. `at_s`: on the run's clock, which counts seconds from when it was created."""

    seq: int
    event: dict[str, Any]
    at_s: float = 0.0


@dataclass(frozen=True)
class RunStateChanged:
    """Sent by the server itself, among the numbered events, when the run enters another state. Never dropped.

    Attributes:
        error: Why it failed; with ``done``, why the artifact asked for could not be built (the plan stands).
        conflict: Indices in `RunSnapshot.constraints` of a minimal set that cannot hold together.
        uncovered: Nodes that no usable candidate holds.
        artifact: The runnable artifact is built and verified.
        waits_for: Of one that is queued: what it waits for, in words; empty where it need not wait.
    """

    state: RunState
    error: ApiError | None = None
    conflict: list[int] = field(default_factory=list)
    uncovered: list[int] = field(default_factory=list)
    artifact: bool = False
    waits_for: str = ""


@dataclass(frozen=True)
class Batch:
    """Some numbered events of a run, in order. `gap` says that events before them were lost: fetch a snapshot.

    Attributes:
        after: Every event up to this number was sent before, is left out for being thinnable, or is lost (`gap`).
        now_s: The time on the run's clock when this is sent.
    """

    run: str
    items: list[Numbered]
    gap: bool = False
    after: int = 0
    now_s: float = 0.0


@dataclass(frozen=True)
class PatchOperation:
    """An operation of JSON Patch (RFC 6902) on a snapshot. `path` is a JSON Pointer, empty for the whole; ``remove`` has no value."""

    op: Literal["add", "remove", "replace"]
    path: str
    value: Any = None


@dataclass(frozen=True)
class Change:
    """The difference between two snapshots of a run.

    Attributes:
        after: The `RunSnapshot.seq` of the snapshot that `patch` changes; None where it replaces the whole, whatever the client has.
    """

    run: str
    after: int | None
    patch: list[PatchOperation]
