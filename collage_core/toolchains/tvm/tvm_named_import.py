"""Imports an ONNX sub-model as a Relax module and keeps which node each binding comes from, which TVM's importer does not.

A sub-model enters; a module leaves whose ``main`` is one dataflow block, each binding of it numbered, and the node of each. Passes
of TVM make bindings and lose names, so each pass goes through `NamedModule.after`, which gives each binding a node and a number again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ...model.model import SubModel
from ...model.relax.lifting import replaced
from ...model.relax.relax_model import RelaxSource
from ..border import one_line
from ..toolchain import ToolchainError
from .tvm_import import Importer, checked_model, quiet

PREFIX = "collage"
"""Beginning of the names of numbered bindings; no pass of TVM makes such names."""


@dataclass(frozen=True)
class NamedModule:
    """A module whose bindings are known by the nodes that they come from.

    Attributes:
        module: Its ``main`` is one dataflow block. The bindings are called `PREFIX` and their number; so is the line of each call's span.
        nodes: The name of the node of each binding, by its number; empty for one that belongs to none.
        node_of: The name of a binding's variable → the name of its node.
    """

    module: tvm.IRModule
    nodes: tuple[str, ...]
    node_of: Mapping[str, str]

    def after(self, transform: tvm.transform.Pass) -> NamedModule:
        """Return the module after a pass."""
        return numbered(transform(self.module), self.node_of)


def import_named(model: SubModel) -> NamedModule:
    """Return `model` as TVM's importer reads it, with weights as constants.

    Raises:
        ToolchainError: at stage ``import``; TVM does not take the model, or it has control flow.
    """
    proto = checked_model(model)
    if any(node.op_type == "If" for node in proto.graph.node):
        raise ToolchainError("import", "a model with `If` is no single dataflow block")
    importer = _NamingImporter()
    try:
        with quiet():
            module = importer.read(proto)
            return numbered(module, importer.node_of)
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("import", one_line(error)) from error


def import_source(source: SubModel | RelaxSource) -> NamedModule:
    """Return `source` as a module: a Relax one as it is, of which each node is a binding, another as `import_named`.

    Raises:
        ToolchainError: at stage ``import``.
    """
    if isinstance(source, SubModel):
        return import_named(source)
    module = tvm.ir.load_json(source.ir)
    counts = Counter(binding.var.name for binding in bindings_of(module["main"]))
    return numbered(module, {name: name for name, count in counts.items() if count == 1})


def nodes_of(source: SubModel | RelaxSource, names: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes of the graph that belong to the nodes of `import_source` called `names`."""
    if isinstance(source, SubModel):
        return tuple(names)
    wanted = set(names)
    return tuple(node for node in source.nodes if node in wanted or node.rpartition("/")[0] in wanted)


def bindings_of(function: relax.Function) -> list[Any]:
    """Return the bindings of a flat function in order."""
    return [binding for block in function.body.blocks for binding in block.bindings]


def attributed(function: relax.Function, node_of: Mapping[str, str]) -> dict[str, str]:
    """Return the node of each binding of `function`, by the name of its variable: of some the node is known.

    A field of a tuple belongs to the node of the tuple; any other binding to the first node that reads it.
    """
    bindings, known = bindings_of(function), dict(node_of)
    for binding in bindings:
        source = binding.value.tuple_value if isinstance(binding.value, relax.TupleGetItem) else binding.value
        if isinstance(source, relax.Var) and source.name in known:
            known.setdefault(binding.var.name, known[source.name])
    for binding in reversed(bindings):
        if binding.var.name in known:
            for var in relax.analysis.free_vars(binding.value):
                known.setdefault(var.name, known[binding.var.name])
    return {binding.var.name: known[binding.var.name] for binding in bindings if binding.var.name in known}


class _NamingImporter(Importer):
    """An importer that binds what it makes of each node at once, and notes the node's name.

    Attributes:
        node_of: Name of a variable → name of the node that it is an output of.
    """

    def __init__(self) -> None:
        super().__init__()
        self.node_of: dict[str, str] = {}

    def _convert_operator(self, op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
        made = super()._convert_operator(op_name, inputs, attrs, opset)
        return self._noted(made, attrs["tvm_custom"]["name"])

    def _noted(self, made: Any, node: str) -> Any:
        if isinstance(made, relax.Tuple):
            return relax.Tuple([self._noted(field, node) for field in made.fields])
        if isinstance(made, relax.Call | relax.TupleGetItem) and isinstance(made.ty, relax.TensorType | relax.TupleType):
            made = self.bb.emit(made)
        if isinstance(made, relax.DataflowVar):
            self.node_of.setdefault(made.name, node)
        return made


def numbered(module: tvm.IRModule, node_of: Mapping[str, str]) -> NamedModule:
    """Return `module` with the bindings of ``main`` numbered in names and spans, and without those that only rename.

    Args:
        node_of: The name of a binding's variable → the name of its node, of some of them (`attributed`).
    """
    main = module["main"]
    known: dict[Any, Any] = {var: relax.Var(var.name, var.ty) for var in main.params}
    owners, source = attributed(main, node_of), tvm.ir.SourceName(PREFIX)
    builder, nodes = relax.BlockBuilder(), list[str]()
    with builder.function("main", list(known.values())):
        with builder.dataflow():
            for binding in bindings_of(main):
                if isinstance(binding.value, relax.Var):
                    known[binding.var] = known[binding.value]
                    continue
                number = len(nodes)
                value = replaced(binding.value, known, tvm.ir.Span(source, number, number, 0, 0))
                known[binding.var] = builder.emit(value, f"{PREFIX}{number}")
                nodes.append(owners.get(binding.var.name, ""))
            result = replaced(main.body.body, known)
            output = builder.emit_output(result)
        builder.emit_func_output(output)
    names = {f"{PREFIX}{number}": node for number, node in enumerate(nodes) if node}
    if isinstance(result, relax.Var) and result.name in names:
        names[output.name] = names[result.name]
    module_now = tvm.IRModule(dict(module.functions_items()))
    module_now.update_func(module_now.get_global_var("main"), builder.get()["main"])
    return NamedModule(module_now, tuple(nodes), names)
