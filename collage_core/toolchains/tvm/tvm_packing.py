"""A Relax pass that folds changes of a weight's layout, packs weights for vector units, and uses fast float32 elementary functions.

TVM's own `FoldConstant` compiles every call that it folds (18 to 33 s for a ResNet-50); here numpy folds calls that only move the
elements of a weight. A convolution or matrix product with a constant float32 weight becomes a PrimFunc that reads the weight in blocks
of output channels, one vector each; `tvm_schedule` recognises it by the name of its block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tvm
from tvm import relax, te, tirx, topi

LANES = (16, 8)
"""Output channels in a block of a packed weight, the wider one where it divides them. 16 are a vector of 512 bits, or two of 256."""

SMALL = 4096
"""Most elements of constants on which arithmetic is folded here."""

PACKED_CONV = "packed_conv2d"
PACKED_MATMUL = "packed_matmul"
"""Names of the blocks, which an underscore and the number of lanes follow."""


@tvm.transform.module_pass(opt_level=0, name="CollagePackWeights")
class PackWeights:
    """The pass. It keeps calls that it has no rule for."""

    def transform_module(self, mod: tvm.IRModule, _context: Any) -> tvm.IRModule:
        mutator = _Packer(mod)
        for name, function in mod.functions_items():
            if isinstance(function, relax.Function):
                mutator.builder_.update_func(name, mutator.visit_expr(function))
        return mutator.builder_.get()


@relax.expr_functor.mutator
class _Packer(relax.PyExprMutator):
    def visit_call_(self, call: relax.Call) -> relax.Expr:
        call = super().visit_call_(call)
        rule = _RULES.get(getattr(call.op, "name", ""))
        made = rule(self, call) if rule else None
        return call if made is None else made

    def constant(self, expr: relax.Expr) -> np.ndarray | None:
        """Return the values of `expr` where it is a constant."""
        if isinstance(expr, relax.Var):
            expr = self.lookup_binding(expr)
        return expr.value.numpy() if isinstance(expr, tvm.ir.GenericConst) else None

    def te_call(self, compute: Callable[..., Any], *args: Any, name: str) -> relax.Expr:
        """Return a call of `compute` that `FuseOps` may fuse with element-wise readers."""
        return self.builder_.call_te(compute, *args, primfunc_name_hint=name, primfunc_attrs={"op_pattern": 4})


def _fold_move(packer: _Packer, call: relax.Call) -> relax.Expr | None:
    """Return a call that only moves the elements of a constant as a constant."""
    values = packer.constant(call.args[0])
    if values is None:
        return None
    shape = [int(extent) for extent in call.ty.shape.values]
    if call.op.name == "relax.permute_dims":
        axes = call.attrs.axes
        values = np.transpose(values, None if axes is None else [int(axis) for axis in axes])
    return relax.const(np.ascontiguousarray(values).reshape(shape), call.ty.dtype)


def _folded(compute: Callable[..., np.ndarray]) -> Callable[[_Packer, relax.Call], relax.Expr | None]:
    """Return a rule that folds a call of `compute` on small constants (bounds of a clip, parameters of a normalisation)."""

    def rule(packer: _Packer, call: relax.Call) -> relax.Expr | None:
        values = [packer.constant(arg) for arg in call.args]
        if str(call.ty.dtype) not in ("float32", "bool") or any(value is None or value.size > SMALL for value in values):
            return None
        with np.errstate(all="ignore"):
            made = compute(*values)
        return relax.const(np.asarray(made, dtype=str(call.ty.dtype)), call.ty.dtype)

    return rule


def _packed_conv2d(packer: _Packer, call: relax.Call) -> relax.Expr | None:
    data, weight, attrs = call.args[0], packer.constant(call.args[1]), call.attrs
    plain = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout) == ("NCHW", "OIHW", "NCHW") and attrs.groups == 1
    if weight is None or not plain or not _is_float32(call) or not _is_static(data):
        return None
    outs, ins, height, width = weight.shape
    lanes = _lanes(outs)
    if not lanes:
        return None
    blocks = weight.reshape(outs // lanes, lanes, ins, height, width).transpose(0, 2, 3, 4, 1)
    top, left, bottom, right = (int(pad) for pad in attrs.padding)
    (sy, sx), (dy, dx) = ([int(value) for value in pair] for pair in (attrs.strides, attrs.dilation))

    def packed_conv2d(x: te.Tensor, w: te.Tensor) -> te.Tensor:
        padded = topi.nn.pad(x, [0, 0, top, left], [0, 0, bottom, right], name="pad") if top | left | bottom | right else x
        i, ky, kx = (te.reduce_axis((0, n), name) for n, name in ((ins, "i"), (height, "ky"), (width, "kx")))
        rows = (padded.shape[2] - (height - 1) * dy - 1) // sy + 1
        columns = (padded.shape[3] - (width - 1) * dx - 1) // sx + 1

        def at(n: Any, o: Any, y: Any, c: Any) -> Any:
            seen = padded[n, i, y * sy + ky * dy, c * sx + kx * dx]
            return te.sum(seen * w[o // lanes, i, ky, kx, o % lanes], axis=[i, ky, kx])

        return te.compute((x.shape[0], outs, rows, columns), at, name=f"{PACKED_CONV}_{lanes}")

    return packer.te_call(packed_conv2d, data, relax.const(np.ascontiguousarray(blocks)), name=PACKED_CONV)


def _packed_matmul(packer: _Packer, call: relax.Call) -> relax.Expr | None:
    data, weight = call.args[0], packer.constant(call.args[1])
    if weight is None or weight.ndim != 2 or not _is_float32(call) or not _is_static(data) or len(data.ty.shape.values) < 2:
        return None
    depth, outs = weight.shape
    lanes = _lanes(outs)
    if not lanes:
        return None
    blocks = weight.reshape(depth, outs // lanes, lanes).transpose(1, 0, 2)

    def packed_matmul(x: te.Tensor, w: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, depth), "k")

        def at(*position: Any) -> Any:
            return te.sum(x[(*position[:-1], k)] * w[position[-1] // lanes, k, position[-1] % lanes], axis=k)

        return te.compute((*x.shape[:-1], outs), at, name=f"{PACKED_MATMUL}_{lanes}")

    return packer.te_call(packed_matmul, data, relax.const(np.ascontiguousarray(blocks)), name=PACKED_MATMUL)


def _dequantize(packer: _Packer, call: relax.Call) -> relax.Expr | None:
    """Return a quantised weight as a constant of floats."""
    values, scale, zero = (packer.constant(arg) for arg in call.args)
    if values is None or scale is None or zero is None or call.ty.dtype != "float32":
        return None
    along = [1] * values.ndim
    if scale.size > 1:
        along[int(call.attrs.axis)] = scale.size
    moved = values.astype(np.int32) - zero.astype(np.int32).reshape(along if zero.size > 1 else [1] * values.ndim)
    return relax.const(moved.astype(np.float32) * scale.reshape(along))


def _power(packer: _Packer, call: relax.Call) -> relax.Expr | None:
    """Return a square or a cube as products."""
    exponent = packer.constant(call.args[1])
    if exponent is None or exponent.size != 1 or float(exponent.item()) not in (2.0, 3.0) or not _is_float32(call):
        return None
    base = call.args[0]
    square = packer.builder_.emit(relax.op.multiply(base, base))
    return square if exponent.item() == 2 else relax.op.multiply(square, base)


def _fast_rule(compute: Callable[[te.Tensor], te.Tensor]) -> Callable[[_Packer, relax.Call], relax.Expr | None]:
    def rule(packer: _Packer, call: relax.Call) -> relax.Expr | None:
        if not _is_float32(call) or not _is_static(call.args[0]):
            return None
        return packer.builder_.call_te(compute, call.args[0])

    return rule


def _softmax(packer: _Packer, call: relax.Call) -> relax.Expr | None:
    if not _is_float32(call) or not _is_static(call.args[0]):
        return None
    return packer.te_call(lambda x: topi.nn.fast_softmax(x, int(call.attrs.axis)), call.args[0], name="softmax")


def _erf(x: te.Tensor) -> te.Tensor:
    """Return TVM's fast erf, with NaN passed on, which it loses."""
    fast = topi.fast_erf(x)
    return te.compute(x.shape, lambda *at: te.if_then_else(tirx.isnan(x[at]), x[at], fast[at]), name="erf")


def _gelu(x: te.Tensor) -> te.Tensor:
    return topi.multiply(topi.multiply(x, _float(0.5)), topi.add(_erf(topi.multiply(x, _float(2**-0.5))), _float(1.0)))


def _sigmoid(x: te.Tensor) -> te.Tensor:
    return topi.divide(_float(1.0), topi.add(topi.fast_exp(topi.negative(x)), _float(1.0)))


def _float(value: float) -> Any:
    return tirx.const(value, "float32")


def _lanes(outs: int) -> int | None:
    """Return the width of the blocks that `outs` channels are packed into; None where none divides them."""
    return next((lanes for lanes in LANES if outs % lanes == 0), None)


def _is_float32(call: relax.Call) -> bool:
    return str(getattr(call.ty, "dtype", "")) == "float32" and all(
        str(getattr(arg.ty, "dtype", "float32")) == "float32" for arg in call.args
    )


def _is_static(expr: relax.Expr) -> bool:
    shape = getattr(expr.ty, "shape", None)
    return isinstance(shape, relax.ShapeExpr) and all(isinstance(extent, tirx.IntImm) for extent in shape.values)


_RULES: dict[str, Callable[[_Packer, relax.Call], relax.Expr | None]] = {
    "relax.isnan": _folded(np.isnan),
    "relax.where": _folded(np.where),
    "relax.add": _folded(np.add),
    "relax.subtract": _folded(np.subtract),
    "relax.multiply": _folded(np.multiply),
    "relax.divide": _folded(np.divide),
    "relax.sqrt": _folded(np.sqrt),
    "relax.rsqrt": _folded(lambda x: 1 / np.sqrt(x)),
    "relax.negative": _folded(np.negative),
    "relax.reshape": _fold_move,
    "relax.permute_dims": _fold_move,
    "relax.expand_dims": _fold_move,
    "relax.squeeze": _fold_move,
    "relax.nn.conv2d": _packed_conv2d,
    "relax.matmul": _packed_matmul,
    "relax.dequantize": _dequantize,
    "relax.power": _power,
    "relax.exp": _fast_rule(topi.fast_exp),
    "relax.erf": _fast_rule(_erf),
    "relax.nn.gelu": _fast_rule(_gelu),
    "relax.nn.softmax": _softmax,
    "relax.sigmoid": _fast_rule(_sigmoid),
    "relax.tanh": _fast_rule(topi.fast_tanh),
}
