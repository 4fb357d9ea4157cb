"""An example of a library inside a kernel: TVM tiles ``relu(x @ weight)``, BLAS multiplies each tile, TVM finishes it while it is hot.

The hook `relax_to_tir` gives a PrimFunc whose schedule replaces the product of a tile by a call of ``cblas_sgemm``.
"""

from __future__ import annotations

import ctypes

import tvm
from tvm import relax, s_tir, te, tirx
from tvm.script import tirx as T

from collage_core.rules.base_rules import DFPattern
from collage_core.rules.rule import PartitionRule, RuleOptions
from collage_core.toolchains.libraries.blas import _library

from .hooked_toolchains import Hooked, sizes

MOST_ROWS = 16
ROW_MAJOR, PLAIN = 101, 111


class TilesByBlas(Hooked):
    """Takes a product with a matrix and the Relu behind it."""

    name = "tiles_by_blas"

    def rule(self, options: RuleOptions) -> PartitionRule:
        return DFPattern("Relu(MatMul(*, *))", "matmul_relu", ("float32",))

    def relax_to_tir(self, function: relax.Function) -> tvm.IRModule | None:
        shapes = [sizes(var.ty) for var in function.params]
        is_matrix = all(len(shape) == 2 for shape in shapes)
        return tiled(*shapes) if is_matrix and shapes[0][0] > 1 else None


def tiled(one: list[int], other: list[int]) -> tvm.IRModule:
    """Return ``main``: tiles of rows in parallel, each multiplied by one call and finished by vectors."""
    (rows, depth), columns = one, other[1]
    x, weight = te.placeholder((rows, depth), "float32", "x"), te.placeholder((depth, columns), "float32", "weight")
    along = te.reduce_axis((0, depth), "along")
    product = te.compute((rows, columns), lambda i, j: te.sum(x[i, along] * weight[along, j], axis=along), "product")
    made = te.compute((rows, columns), lambda i, j: tirx.max(product[i, j], tirx.const(0, "float32")), "made")
    schedule = s_tir.Schedule(tvm.IRModule({"main": te.create_prim_func([x, weight, made])}))
    multiply, finish = schedule.get_sblock("product"), schedule.get_sblock("made")
    height = next((size for size in range(min(rows, MOST_ROWS), 1, -1) if rows % size == 0), rows)
    tiles, inside = schedule.split(schedule.get_loops(multiply)[0], [None, height])
    schedule.reverse_compute_at(finish, tiles)
    schedule.vectorize(schedule.get_loops(finish)[-1])
    schedule.parallel(tiles)
    schedule.decompose_reduction(multiply, inside)
    schedule.tensorize(inside, _sgemm(height, depth, columns))
    return schedule.mod


def _sgemm(rows: int, depth: int, columns: int) -> str:
    """Register ``cblas_sgemm`` as what computes a product of these sizes, and return the name under which TVM knows it."""
    found = _library()
    assert found is not None
    file, prefix, _ = found
    ctypes.CDLL(file, ctypes.RTLD_GLOBAL)  # TVM's compiler finds the symbol among those of the process

    @T.prim_func(s_tir=True)
    def wanted(
        a: T.Buffer((rows, depth), "float32", offset_factor=1),
        b: T.Buffer((depth, columns), "float32", offset_factor=1),
        c: T.Buffer((rows, columns), "float32", offset_factor=1),
    ):
        with T.sblock("root"):
            T.reads(c[0:rows, 0:columns], a[0:rows, 0:depth], b[0:depth, 0:columns])
            T.writes(c[0:rows, 0:columns])
            for i, j, k in T.grid(rows, columns, depth):
                with T.sblock("product"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    c[vi, vj] = c[vi, vj] + a[vi, vk] * b[vk, vj]

    @T.prim_func(s_tir=True)
    def called(
        a: T.Buffer((rows, depth), "float32", offset_factor=1),
        b: T.Buffer((depth, columns), "float32", offset_factor=1),
        c: T.Buffer((rows, columns), "float32", offset_factor=1),
    ):
        with T.sblock("root"):
            T.reads(c[0:rows, 0:columns], a[0:rows, 0:depth], b[0:depth, 0:columns])
            T.writes(c[0:rows, 0:columns])
            T.evaluate(
                T.call_extern(
                    "int32", prefix + "cblas_sgemm", ROW_MAJOR, PLAIN, PLAIN, rows, columns, depth,
                    T.float32(1), a.access_ptr("r"), depth, b.access_ptr("r"), columns, T.float32(1), c.access_ptr("rw"), columns,
                )
            )  # fmt: skip

    name = f"collage_example_sgemm_{rows}_{depth}_{columns}"
    s_tir.TensorIntrin.register(name, wanted, called, override=True)
    return name
