"""The kernels that TVM's own `FuseOps` makes of a model, as groups of its nodes.

A sub-model enters; names of nodes leave. Nothing is compiled. It runs TVM, and belongs in a worker process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import onnx
import tvm
from tvm import relax

from ...base.processor import usable_cores
from ...graph.dataflow_graph import DataflowGraph
from ...graph.index_set import IndexSet
from ...graph.sub_graph import constant_fed_nodes, with_constant_fed
from ...model.model import SubModel
from ...model.relax.lifting import replaced
from ..border import one_line
from ..sub_model_graph import graph_of
from ..toolchain import ToolchainError
from .tvm_build import before_fusion, cpu_target
from .tvm_named_import import bindings_of, import_named

_KERNEL = "collage_kernel"


def fuse_ops_groups(model: SubModel) -> list[tuple[str, ...]]:
    """Return the names of the nodes of each kernel of `FuseOps`, in the order in which the kernels run.

    A node whose operations are in several kernels is in the group that has most of them. What only constants feed is computed when the
    model is built: it is in the group that alone reads it.

    Raises:
        ToolchainError: at stage ``import`` or ``build``.
    """
    named = import_named(model)
    try:
        with cpu_target(usable_cores()):
            for step in before_fusion():
                named = named.after(step)
            apart, binding_of = _told_apart(named.module)
            fused = tvm.transform.Sequential([relax.transform.CanonicalizeBindings(), relax.transform.FuseOps()])(apart)
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("build", one_line(error)) from error
    kernels = [[named.node_of.get(binding_of[name], "") for name in kernel] for kernel in _kernels(fused)]
    return folded(owned(kernels), graph_of(onnx.ModelProto.FromString(model.onnx), model.outputs))


def owned(kernels: Sequence[Iterable[str]]) -> list[tuple[str, ...]]:
    """Return the nodes of each kernel, given the node of each of its operations: every node once, where most of its operations are."""
    shares = [Counter(filter(None, kernel)) for kernel in kernels]
    home: dict[str, int] = {}
    for index, share in enumerate(shares):
        for node, count in share.items():
            if node not in home or count > shares[home[node]][node]:
                home[node] = index
    groups = (tuple(node for node in share if home[node] == index) for index, share in enumerate(shares))
    return [group for group in groups if group]


def folded(groups: Sequence[Sequence[str]], graph: DataflowGraph) -> list[tuple[str, ...]]:
    """Return `groups` with each node that only constants feed in the group that reads it, if only one does."""
    constant_fed = constant_fed_nodes(graph)
    whole = [with_constant_fed(graph, IndexSet(graph.index_by_name[name] for name in group), constant_fed) for group in groups]
    home = {index: number for number, inside in enumerate(whole) for index in inside if graph.nodes[index].name not in groups[number]}
    named = (tuple(graph.nodes[index].name for index in inside if home.get(index, number) == number) for number, inside in enumerate(whole))
    return [group for group in named if group]


def _told_apart(module: tvm.IRModule) -> tuple[tvm.IRModule, Mapping[str, str]]:
    """Return `module` with a PrimFunc of its own for each call of one, and the name of each PrimFunc → that of the call's binding.

    `FuseOps` keeps the PrimFuncs that it puts together, but not the names of all bindings.
    """
    main, builder = module["main"], relax.BlockBuilder()
    called: dict[relax.Var, tvm.ir.GlobalVar] = {}
    binding_of: dict[str, str] = {}
    for binding in bindings_of(main):
        if _is_kernel_call(binding.value):
            function = module[binding.value.args[0]].with_attr(_KERNEL, len(called))  # equal functions would become one
            called[binding.var] = builder.add_func(function, f"{_KERNEL}{len(called)}")
            binding_of[called[binding.var].name_hint] = binding.var.name
    known = {var: relax.Var(var.name, var.ty) for var in main.params}
    with builder.function("main", list(known.values())):
        with builder.dataflow():
            for binding in bindings_of(main):
                value = replaced(binding.value, known)
                if binding.var in called:
                    value = relax.Call(value.op, [called[binding.var], *value.args[1:]], value.attrs, value.ty_args)
                known[binding.var] = builder.emit(value, binding.var.name)
            result = builder.emit_output(replaced(main.body.body, known))
        builder.emit_func_output(result)
    return builder.get(), binding_of


def _kernels(module: tvm.IRModule) -> list[list[str]]:
    """Return the names of the PrimFuncs of each kernel that ``main`` calls, in order."""
    kernels = []
    for binding in bindings_of(module["main"]):
        value = binding.value
        if _is_kernel_call(value):
            kernels.append([value.args[0].name_hint])
        elif isinstance(value, relax.Call) and isinstance(value.op, tvm.ir.GlobalVar):
            inner = bindings_of(module[value.op])
            kernels.append([binding.value.args[0].name_hint for binding in inner if _is_kernel_call(binding.value)])
    return kernels


def _is_kernel_call(value: object) -> bool:
    return isinstance(value, relax.Call) and getattr(value.op, "name", "") == "relax.call_tir"
