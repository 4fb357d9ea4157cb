"""The dataflow graph and its sub-graphs: plain data, tested in milliseconds (design, room ``graph``)."""

from .computation import Computations, computation_key, values_at
from .dataflow_graph import HOST, Constant, DataflowGraph, Node, Tensor, TensorType, item_bytes
from .groups import NodeGroup, scope_groups, sections
from .index_set import IndexSet, bits_of, indices_of
from .op_pattern_kind import OpPatternKind
from .repeats import repeats
from .sub_graph import CONSTANT, SubGraph, SubGraphConfig, Violation

__all__ = [
    "CONSTANT",
    "HOST",
    "Computations",
    "Constant",
    "DataflowGraph",
    "IndexSet",
    "Node",
    "NodeGroup",
    "OpPatternKind",
    "SubGraph",
    "SubGraphConfig",
    "Tensor",
    "TensorType",
    "Violation",
    "bits_of",
    "computation_key",
    "indices_of",
    "item_bytes",
    "repeats",
    "scope_groups",
    "sections",
    "values_at",
]
