"""The card of a model as its file has it, the definitions of its operators, and the values of a weight. Plain data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ViewedTensor:
    """An input or output of the model.

    Attributes:
        dimensions: A size, a symbol, or ``?`` for each; null where the file does not say how many there are.
        doc: What the file says of it.
    """

    name: str
    dtype: str
    dimensions: list[str] | None
    doc: str = ""


@dataclass(frozen=True)
class ModelCard:
    """The facts of a whole model that its file says.

    Attributes:
        opsets: Domain → version of its operators; ONNX's own domain is ``ai.onnx``.
        model_version: 0 where it has none.
        doc: The doc string of the model; `graph_doc` that of its graph.
        metadata: Key → value, as the file has them.
        operators: Operator → how many nodes have it, those of bodies and functions included; the most frequent first.
        functions: The local functions.
        nodes: The nodes of the graph itself; `inner_nodes` are those in bodies and functions.
        parameters: Elements of all weights, and `parameter_bytes` their size.
        external: The files in which weights lie.
    """

    name: str
    ir_version: int
    opsets: dict[str, int]
    producer: str
    producer_version: str
    domain: str
    model_version: int
    doc: str
    graph_doc: str
    metadata: dict[str, str]
    nodes: int
    inner_nodes: int
    operators: dict[str, int]
    functions: list[str]
    parameters: int
    parameter_bytes: int
    external: list[str]
    inputs: list[ViewedTensor]
    outputs: list[ViewedTensor]


@dataclass(frozen=True)
class OperatorAttribute:
    """An attribute in an operator's definition.

    Attributes:
        default: As text; empty where it has none.
    """

    name: str
    type: str
    required: bool
    default: str
    doc: str


@dataclass(frozen=True)
class OperatorValue:
    """An input or output in an operator's definition.

    Attributes:
        types: The types that it may have.
        option: ``single``, ``optional`` or ``variadic``.
    """

    name: str
    types: list[str]
    option: str
    doc: str


@dataclass(frozen=True)
class OperatorDefinition:
    """The definition of an operator, in the version that the model imports.

    Attributes:
        since: The version in which it last changed.
        support: ``stable``, ``experimental``, ``deprecated`` or ``local function``.
    """

    op: str
    since: int
    support: str
    doc: str
    attributes: list[OperatorAttribute]
    inputs: list[OperatorValue]
    outputs: list[OperatorValue]


@dataclass(frozen=True)
class Histogram:
    """How many values lie in each of equal intervals from `low` to `high`."""

    low: float
    high: float
    counts: list[int]


@dataclass(frozen=True)
class WeightValues:
    """Some values of a weight, and what all of them are like.

    Attributes:
        size: How many elements it has, and `bytes` their size in the file.
        first: Index of the first of `values`, in the order of the memory.
        values: Text or numbers; NaN and infinities are text.
        minimum: Of the finite values, as `maximum`, `mean`, `deviation` and `histogram`; null where there are none, or they are no numbers.
        zeros: The share of zeros.
        not_finite: How many values are NaN or infinite.
    """

    name: str
    dtype: str
    shape: list[int]
    size: int
    bytes: int
    first: int
    values: list[float | str | bool]
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    deviation: float | None = None
    zeros: float | None = None
    not_finite: int = 0
    histogram: Histogram | None = None
