"""Resources of the models that are open: their graphs, and what is sent to open one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from collage_core.documents.candidate_set import FoldedInfo
from collage_core.documents.json_form import IfKnown
from collage_core.documents.model_view import OperatorDefinition
from collage_core.documents.run import TensorInfo

from .live import ErrorBody
from .runs import PlanResult


@dataclass(frozen=True)
class ConstantJson:
    """A weight or other constant, as `Constant.to_json` gives it; `value` only where it is small and shapes the computation.

    Here and in attributes an integer that a double would round is its text.
    """

    shape: list[int]
    dtype: str
    value: list[float | bool | str] | None


@dataclass(frozen=True)
class BodyLink:
    """A graph in an attribute of a node, or, where the attribute is empty, the local function that the node calls.

    Attributes:
        scope: As `FileGraph.scope`.
        nodes: The number of its nodes.
    """

    attribute: str
    scope: str
    nodes: int


@dataclass(frozen=True)
class NodeJson:
    """A node of the graph, as `Node.to_json` gives it.

    An attribute that is a tensor is ``{"tensor": digest}``; in the graph of a file it has ``shape``, ``dtype`` and its first ``value`` too.

    Attributes:
        id: Its index in the order of the graph.
        kind: E < B < I < R < A < O.
        inputs: Names of tensors and constants; empty where an optional one is absent.
        absorbed: Names of the user's other nodes that folding fused into this one.
        host: It only reshuffles references and is not placed.
        captured: How many of its last inputs only its bodies read; left out where none are.
        bodies: The graphs in it, in the graph of a file; left out where there are none.
    """

    id: int
    name: str
    op: str
    kind: str
    inputs: list[str]
    outputs: list[TensorInfo]
    attributes: dict[str, Any]
    absorbed: list[str]
    host: bool
    captured: IfKnown[int] = None
    bodies: IfKnown[list[BodyLink]] = None


@dataclass(frozen=True)
class GraphJson:
    """The dataflow graph, as `DataflowGraph.to_json` gives it: edges follow from the tensors' names."""

    nodes: list[NodeJson]
    inputs: list[TensorInfo]
    outputs: list[str]
    constants: dict[str, ConstantJson]


@dataclass(frozen=True)
class FormalInputsJson:
    """The names of an operator's inputs in its definition.

    Attributes:
        names: In order.
        rest: The name of each further input; None where there are none, or where inner graphs read the further ones.
    """

    names: list[str]
    rest: str | None


@dataclass(frozen=True)
class OpenModel:
    """JSON body of ``POST /api/v1/models``: exactly one of `sample`, `path` and `again`; answered with a `ModelInfo`.

    An upload is multipart instead: a part ``file`` for the model and one for each file of its external data, and
    ``shapes``, ``values``, ``region`` and ``trust`` as JSON text.

    Attributes:
        path: A file on the server's machine; only where `PageConfig.local_paths` says so.
        again: Id of a model that was opened before: what lies there now is opened, with the same shapes and values unless others are
            given.
        shapes: Input name to shape, such as ``{"x": [1, 3, 224, 224]}``.
        values: Input name to the value that it always has, such as ``{"sr": "16000"}``: it becomes a constant. Elements of a vector
            have commas between.
        region: Of a Relax module the name of the region to open, such as ``main.0``. Where several are to choose from and none is named,
            the answer is an error with `ErrorBody.regions`. With `again` it is the one that was opened unless given; an empty text asks.
        trust: The user trusts whoever wrote the file, which is a program. Where one is not trusted, the answer is the error ``asks_trust``.
    """

    sample: str | None = None
    path: str | None = None
    again: str | None = None
    shapes: dict[str, list[int]] = field(default_factory=dict)
    values: dict[str, str] | None = None
    region: str | None = None
    trust: bool = False


@dataclass(frozen=True)
class ModelInfo:
    """``GET /api/v1/models/<id>``: a model that was opened.

    Attributes:
        id: The model's hash.
        folded: How many of the user's nodes were folded away.
        size_bytes: The file with its external data.
        sample: Name of the bundled model that it is, if it is one.
        stale: The file was changed or removed since; open it again.
        opened: When it was opened last, as ISO 8601.
        values: The inputs that were fixed to a value, which are no `inputs`, as in `OpenModel`.
        dimensions: Input → its dimensions as the file has them: a size where it is fixed, else a symbol, or ``?``. Inputs of which the
            file says nothing are missing.
        accuracy: The largest relative error at which a result counts as right, unless a run says another.
        region: Name of the region of a Relax module that it is, where it was chosen from several.
        is_missing: It came in a session that has its hash alone: runs can be looked at, and opening its file completes it.
        refusal: Why there can be no run of it as it was opened, and which sizes and values may be said; null where there can. Its graph is
            then that of the file.
        is_onnx: Its file is ONNX, so that ``…/file`` has its graph.
    """

    id: str
    name: str
    nodes: int
    folded: int
    inputs: list[TensorInfo]
    outputs: list[TensorInfo]
    size_bytes: int
    quantised: bool
    sample: str | None = None
    stale: bool = False
    opened: str = ""
    values: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, list[str]] = field(default_factory=dict)
    accuracy: float = 1e-3
    region: str | None = None
    is_missing: bool = False
    refusal: ErrorBody | None = None
    is_onnx: bool = True


@dataclass(frozen=True)
class ModelList:
    """``GET /api/v1/models``, newest first.

    Attributes:
        results: Id of a model → the fastest result of its runs, where there is one.
    """

    models: list[ModelInfo]
    results: dict[str, PlanResult] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelGraph:
    """``GET /api/v1/models/<id>/graph``: the graph as `DataflowGraph.to_json` gives it, and what was folded away.

    Attributes:
        formal: Of each operator whose definition is known, by `NodeJson.op`.
    """

    id: str
    graph: GraphJson
    folded: list[FoldedInfo]
    formal: dict[str, FormalInputsJson]


@dataclass(frozen=True)
class NodeGroupJson:
    """Nodes that follow one another and can be shown as one.

    Attributes:
        first: The first node; the group holds `count` of them.
        times: How many equal blocks they are, one after the other; 1 where they are no repeat.
        is_alike: The blocks have the same operators and edges, and other sizes.
    """

    first: int
    count: int
    name: str
    times: int
    is_alike: bool


@dataclass(frozen=True)
class ModelGroups:
    """``GET /api/v1/models/<id>/groups``: ways to show a large model as few boxes.

    Attributes:
        repeats: Repeated blocks; no two overlap.
        scopes: The scopes of the nodes' names as a tree: a group stands before those inside it.
        sections: The whole model as some hundred stretches, cut where few tensors pass.
    """

    id: str
    repeats: list[NodeGroupJson]
    scopes: list[NodeGroupJson]
    sections: list[NodeGroupJson]


@dataclass(frozen=True)
class ModelOperators:
    """``GET /api/v1/models/<id>/operators``: the definitions of the operators in the model's file, by name."""

    operators: list[OperatorDefinition]


@dataclass(frozen=True)
class ScopeLink:
    """A graph of a file, on the path to another: ``scope`` is empty for the model's own."""

    scope: str
    title: str


@dataclass(frozen=True)
class FileGraph:
    """``GET /api/v1/models/<id>/file?scope=…``: a graph of the model's file as the file has it: nothing is fixed or folded.

    Attributes:
        scope: Empty for the model's own graph; else as in `BodyLink`.
        path: The graphs around it, from the model's own on, and itself.
        docs: Input, output or weight → what the file says of it.
    """

    id: str
    scope: str
    path: list[ScopeLink]
    graph: GraphJson
    formal: dict[str, FormalInputsJson]
    groups: ModelGroups
    docs: dict[str, str]


@dataclass(frozen=True)
class LayoutJson:
    """``GET`` and ``PUT /api/v1/models/<id>/layouts/<key>``: the positions of boxes and edges, as some page laid them out.

    The key is the page's digest of everything that the layout depends on: sizes, edges and their order.

    Attributes:
        centres: x, y of each box.
        points: x, y of all points of all edges, one edge after another.
        offsets: Per edge where its points begin in `points`; one more entry at the end.
        labels: Per edge x, y of its label's centre; null twice where it has none.
    """

    centres: list[float]
    points: list[float]
    offsets: list[int]
    labels: list[float | None]


@dataclass(frozen=True)
class DotCluster:
    """Nodes that are drawn together, with a border of a colour, ``#rrggbb``."""

    label: str
    colour: str
    nodes: list[int]


@dataclass(frozen=True)
class DotRequest:
    """Body of ``POST /api/v1/models/<id>/dot``; answered with the graph as DOT, for Graphviz.

    Attributes:
        fills: The colour of each node, in order, ``#rrggbb`` or None; empty for none.
        clusters: `DotCluster`s.
    """

    title: str
    fills: list[str | None] = field(default_factory=list)
    clusters: list[dict[str, Any]] = field(default_factory=list)
