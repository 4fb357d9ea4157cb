"""Toolchains with hooks, for tests: what each does is noted in `CALLS`, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax, te

from collage_core.graph.dataflow_graph import Tensor
from collage_core.model.model import SubModel
from collage_core.rules.base_rules import OpPredicate
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains.libraries.library_functions import Bind, LibraryCall, LibraryFunctions, LibraryToolchain, Run
from collage_core.toolchains.toolchain import Availability, Kernel, Toolchain, ToolchainError

CALLS: list[str] = []


class Hooked(Toolchain):
    """Takes any operator; it has hooks only, and no packages."""

    letter = "H"

    def availability(self) -> Availability:
        return Availability(True, "1")

    def rule(self, options: RuleOptions) -> PartitionRule:
        return OpPredicate()

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ToolchainError("build", "it has hooks only")

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        raise ToolchainError("build", "it has hooks only")


def sizes(kind: Any) -> list[int]:
    return [int(extent.value) for extent in kind.shape.values]


class Doubles(Hooked):
    """Computes ``x * weight`` as ``x * w`` where the updater has doubled the weight: both halves of the proof that constants come by it."""

    name = "doubles"

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        CALLS.append("prepare")
        return module

    def constant_updater(self, name: str, array: np.ndarray) -> np.ndarray:
        CALLS.append(f"constant_updater {name}")
        return array * 2

    def relax_to_tir(self, function: relax.Function) -> tvm.IRModule | None:
        CALLS.append("relax_to_tir")
        x, weight = (te.placeholder(sizes(var.ty), "float32", var.name) for var in function.params)
        made = te.compute(x.shape, lambda *at: x[at] * weight[at] * 0.5, "scaled")
        return tvm.IRModule({"main": te.create_prim_func([x, weight, made])})


class WritesC(Doubles):
    """As `Doubles`, with its kernel in C."""

    name = "writes_c"

    def relax_to_tir(self, function: relax.Function) -> tvm.IRModule | None:
        found = super().relax_to_tir(function)
        assert found is not None
        return tvm.IRModule({"main": found["main"].with_attr({"Codegen": self.name, "count": int(np.prod(sizes(function.ret_ty)))})})

    def tir_to_runtime(self, module: tvm.IRModule) -> tvm.runtime.Module | None:
        CALLS.append("tir_to_runtime")
        names = [str(var.name_hint) for var in module.get_global_vars()]
        sources = [C_SOURCE.format(name=name, count=int(module[name].attrs["count"])) for name in names]
        return tvm.runtime._ffi_api.CSourceModuleCreate("#include <tvm/ffi/c_api.h>\n" + "".join(sources), "c", names, [])


C_SOURCE = """
#ifdef __cplusplus
extern "C"
#endif
TVM_FFI_DLL_EXPORT int __tvm_ffi_{name}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  const DLTensor* tensors[3];
  for (int at = 0; at < 3; ++at) {{
    tensors[at] = args[at].type_index == kTVMFFIDLTensorPtr ? (const DLTensor*)args[at].v_ptr
                                                            : (const DLTensor*)((char*)args[at].v_obj + sizeof(TVMFFIObject));
  }}
  const float *x = (const float*)tensors[0]->data, *weight = (const float*)tensors[1]->data;
  float* y = (float*)tensors[2]->data;
  for (int at = 0; at < {count}; ++at) y[at] = x[at] * weight[at] * 0.5f;
  return 0;
}}
"""


class WritesForTarget(WritesC):
    """As `WritesC`, by a target of its own in the place of the mark."""

    name = "writes_for_target"

    def relax_to_tir(self, function: relax.Function) -> tvm.IRModule | None:
        found = super().relax_to_tir(function)
        assert found is not None
        own = tvm.target.Target({"kind": "llvm", "keys": [self.name, "cpu"]})
        return tvm.IRModule({"main": found["main"].without_attr("Codegen").with_attr("target", own)})


class Straight(Hooked):
    """Goes straight to a runtime module."""

    name = "straight"

    def relax_to_runtime(self, symbol: str, function: relax.Function) -> tvm.runtime.Module | None:
        CALLS.append(f"relax_to_runtime {symbol}")
        count = int(np.prod(sizes(function.ret_ty)))
        source = "#include <tvm/ffi/c_api.h>\n" + C_SOURCE.replace(" * 0.5f", "").format(name=symbol, count=count)
        return tvm.runtime._ffi_api.CSourceModuleCreate(source, "c", [symbol], [])


COUNTED = LibraryFunctions("float32")


@COUNTED.add("product", "MatMul(*, *)")
def _product(call: LibraryCall) -> Bind:
    """Note each call of the library."""

    def bind(inputs: Sequence[np.ndarray], output: np.ndarray) -> Run:
        values = {**call.weights, **dict(zip(call.inputs, inputs, strict=True))}
        x, y = (values[name] for name in call.nodes[0].inputs)

        def run() -> None:
            CALLS.append("product")
            np.matmul(x, y, out=output)

        return run

    return bind


class Counting(LibraryToolchain):
    """A library of calls that counts them."""

    name = "counting"
    letter = "C"
    functions = COUNTED

    def availability(self) -> Availability:
        return Availability(True, "1")


class Elsewhere(Hooked):
    """Computes on another device."""

    name = "elsewhere"

    def availability(self) -> Availability:
        return Availability(True, "1", device="GPU")


class GivesNothing(Doubles):
    name = "gives_nothing"

    def constant_updater(self, name: str, array: np.ndarray) -> np.ndarray:
        return None  # type: ignore[return-value]


class GivesNoKernel(Doubles):
    """Its `relax_to_tir` gives a module without ``main``."""

    name = "gives_no_kernel"

    def relax_to_tir(self, function: relax.Function) -> tvm.IRModule | None:
        found = super().relax_to_tir(function)
        assert found is not None
        return tvm.IRModule({"other": found["main"]})


class GivesRelax(Doubles):
    """Its `relax_to_tir` gives the function back."""

    name = "gives_relax"

    def relax_to_tir(self, function: relax.Function) -> tvm.IRModule | None:
        return tvm.IRModule({"main": function})


class BuildsNothing(WritesC):
    """Its `tir_to_runtime` gives nothing for a PrimFunc that it has marked."""

    name = "builds_nothing"

    def tir_to_runtime(self, module: tvm.IRModule) -> tvm.runtime.Module | None:
        return None


class LeavesItsHint(Doubles):
    name = "leaves_its_hint"

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        return tvm.IRModule({"main": module["main"].with_attr("Codegen", self.name)})


class AddsHelper(Doubles):
    """Adds a function to the module."""

    name = "adds_helper"

    def prepare(self, module: tvm.IRModule) -> tvm.IRModule:
        x = te.placeholder((1,), "float32", "x")
        helper = te.create_prim_func([x, te.compute((1,), lambda at: x[at], "y")]).without_attr("global_symbol")
        return tvm.IRModule({"main": module["main"], "helper": helper})


class AddsHelperToo(AddsHelper):
    name = "adds_helper_too"
