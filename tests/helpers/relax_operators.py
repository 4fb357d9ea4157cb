"""Relax functions of calls that TVM's pattern tables know, for tests; TVM is imported when one is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from collage_core.toolchains.conformance.small_models import normal

UNARY = "abs atan ceil cos erf exp floor log negative sigmoid sin sqrt tanh rsqrt"
BINARY = "add subtract multiply divide maximum minimum power equal greater greater_equal less less_equal not_equal"


class Ops:
    """Builds a function of calls, each bound by itself."""

    def __init__(self, dtype: str):
        from tvm import relax

        self.relax, self.dtype = relax, dtype
        self.builder = relax.BlockBuilder()
        self.image, self.rows = self.input("image", 1, 4, 8, 8), self.input("rows", 1, 4, 8)
        self.outputs: list[Any] = []

    def input(self, name: str, *shape: int) -> Any:
        return self.relax.Var(name, self.relax.TensorType(shape, self.dtype))

    def weight(self, *shape: int) -> Any:
        return self.relax.const(normal(*shape).astype(self.dtype))

    def bind(self, *values: Callable[[Any], Any], first: Any) -> None:
        """Bind a chain of calls; the last is an output."""
        last = first
        for value in values:
            last = self.builder.emit(value(last))
        self.outputs.append(last)

    def module(self, fill: Callable[[Ops], None]) -> Any:
        with self.builder.function("main", [self.image, self.rows]):
            with self.builder.dataflow():
                fill(self)
                result = self.builder.emit_output(self.relax.Tuple(self.outputs))
            self.builder.emit_func_output(result)
        return self.builder.get()


def convolutions(ops: Ops) -> None:
    op, image = ops.relax.op, ops.image
    relu, bias = op.nn.relu, ops.weight(1, 4, 1, 1)

    def conv(x: Any) -> Any:
        return op.nn.conv2d(x, ops.weight(4, 4, 3, 3), padding=1)

    def transposed(x: Any) -> Any:
        return op.nn.conv2d_transpose(x, ops.weight(4, 4, 3, 3), padding=1)

    def pad(x: Any) -> Any:
        return op.nn.pad(x, [0, 0, 0, 0, 1, 1, 1, 1])

    def norm(x: Any) -> Any:
        return op.nn.batch_norm(x, *(ops.weight(4) for _ in range(4)), axis=1)

    def field(x: Any) -> Any:
        return ops.relax.TupleGetItem(x, 0)

    def biased(x: Any) -> Any:
        return op.add(x, bias)

    def clip(x: Any) -> Any:
        return op.clip(x, 0.0, 6.0)

    for first in ((conv,), (transposed,), (pad, lambda x: op.nn.conv2d(x, ops.weight(4, 4, 3, 3)))):
        for middle in ((), (biased,), (norm, field), (biased, norm, field)):
            for last in ((), (relu,), (clip,)):
                ops.bind(*first, *middle, *last, first=image)


def fused_convolutions(ops: Ops) -> None:
    op, image = ops.relax.op, ops.image
    relu, silu = op.nn.relu, op.nn.silu

    def nhwc(x: Any) -> Any:
        return op.nn.conv2d(x, ops.weight(8, 3, 3, 8), padding=1, data_layout="NHWC", kernel_layout="OHWI")

    def nhwc_biased(x: Any) -> Any:
        return op.add(x, ops.weight(1, 1, 1, 8))

    for activation in ((), (relu,), (silu_of(ops),)):
        ops.bind(nhwc, nhwc_biased, *activation, first=image)
        for residual in (op.add, op.multiply):
            ops.bind(nhwc, nhwc_biased, *activation, lambda x, residual=residual: residual(x, image), first=image)
            ops.bind(nhwc, nhwc_biased, *activation, lambda x, residual=residual: residual(x, image), relu, first=image)
    ops.bind(silu, first=image)
    ops.bind(lambda x: op.nn.conv2d(x, ops.weight(4, 1, 3, 3), groups=4), first=image)
    ops.bind(lambda x: op.nn.conv1d(x, ops.weight(4, 4, 3)), first=ops.rows)
    ops.bind(nhwc, first=image)


def silu_of(ops: Ops) -> Callable[[Any], Any]:
    """`x * sigmoid(x)`, as the patterns of CUTLASS spell it."""
    return lambda x: ops.relax.op.multiply(x, ops.builder.emit(ops.relax.op.sigmoid(x)))


def products(ops: Ops) -> None:
    op, rows = ops.relax.op, ops.rows
    relu, gelu = op.nn.relu, op.nn.gelu

    def product(x: Any) -> Any:
        return op.matmul(x, ops.weight(8, 8))

    def transposed(x: Any) -> Any:
        return op.matmul(x, ops.builder.emit(op.permute_dims(ops.weight(8, 8))))

    def biased(x: Any) -> Any:
        return op.add(x, ops.weight(8))

    for first in (product, transposed):
        ops.bind(first, first=rows)
        ops.bind(first, lambda x: op.multiply(x, ops.weight()), first=rows)
        for activation in ((), (relu,), (gelu,)):
            ops.bind(first, biased, *activation, first=rows)
            for residual in (op.add, op.multiply):
                ops.bind(first, biased, *activation, lambda x, residual=residual: residual(x, rows), first=rows)
                ops.bind(first, biased, *activation, lambda x, residual=residual: residual(x, rows), relu, first=rows)
    ops.bind(product, relu, first=rows)
    ops.bind(lambda x: op.nn.layer_norm(x, ops.weight(8), ops.weight(8), axes=[-1]), first=rows)
    ops.bind(lambda x: op.nn.rms_norm(x, ops.weight(8), axes=[-1]), first=rows)
    heads = ops.builder.emit(op.reshape(rows, (1, 2, 2, 8)))
    ops.bind(lambda x: op.nn.attention(x, x, x), first=heads)
    ops.bind(lambda x: op.nn.attention(x, x, x, ops.weight(1, 2, 2, 2)), first=heads)
    layout = (1, 4, 2, 4)
    stacked = ops.builder.emit(op.concat([rows, rows, rows], axis=-1))
    split = ops.builder.emit(op.split(stacked, 3, axis=2))
    fields = [ops.builder.emit(ops.relax.TupleGetItem(split, at)) for at in range(3)]
    slices = [ops.builder.emit(op.strided_slice(stacked, [2], [at * 8], [at * 8 + 8], [1])) for at in range(3)]
    for parts in (fields, slices):
        ops.outputs.append(ops.builder.emit(op.nn.attention(*(ops.builder.emit(op.reshape(part, layout)) for part in parts))))


def others(ops: Ops) -> None:
    op, image, rows = ops.relax.op, ops.image, ops.rows
    for name in UNARY.split():
        ops.bind(getattr(op, name), first=image)
    for name in BINARY.split():
        ops.bind(lambda x, name=name: getattr(op, name)(x, ops.weight(1, 4, 8, 8)), first=image)
    for pool in (op.nn.max_pool2d, op.nn.avg_pool2d):
        ops.bind(lambda x, pool=pool: pool(x, (2, 2), (2, 2)), first=image)
    for pool in (op.nn.max_pool3d, op.nn.avg_pool3d):
        ops.bind(lambda x: op.expand_dims(x, 0), lambda x, pool=pool: pool(x, (2, 2, 2)), first=image)
    for reduce in (op.mean, op.sum, op.max, op.min, op.prod):
        ops.bind(lambda x, reduce=reduce: reduce(x, axis=[2, 3], keepdims=True), first=image)
    ops.bind(lambda x: op.nn.adaptive_avg_pool2d(x, (1, 1)), first=image)
    ops.bind(lambda x: op.nn.softmax(x, axis=-1), first=rows)
    ops.bind(op.nn.relu, first=rows)
    ops.bind(op.nn.gelu, first=rows)
    ops.bind(op.nn.batch_flatten, first=image)
    ops.bind(lambda x: op.clip(x, 0.0, 6.0), first=rows)
    ops.bind(op.squeeze, first=rows)
    ops.bind(lambda x: op.permute_dims(x, [0, 2, 1]), first=rows)
    ops.bind(lambda x: op.reshape(x, (4, 8)), first=rows)
    ops.bind(lambda x: op.astype(x, "int32"), first=rows)
    ops.bind(lambda x: op.strided_slice(x, [1], [0], [2]), first=rows)
    ops.bind(lambda x: op.concat([x, x], axis=1), first=rows)
    ops.bind(lambda x: op.split(x, 2, axis=1), lambda x: ops.relax.TupleGetItem(x, 0), first=rows)
    ops.bind(lambda x: op.image.resize2d(x, (16, 16)), first=image)
    ops.bind(lambda x: op.layout_transform(x, lambda n, c, h, w: (n, h, w, c)), first=image)
    ops.bind(lambda x: op.matmul(x, ops.weight(1, 8, 8)), first=rows)
    ops.bind(lambda x: op.nn.conv3d(op_expanded(ops, x), ops.weight(4, 4, 1, 3, 3)), first=image)
    ops.bind(lambda x: op.nn.conv3d_transpose(op_expanded(ops, x), ops.weight(4, 4, 1, 3, 3)), first=image)


def op_expanded(ops: Ops, x: Any) -> Any:
    return ops.builder.emit(ops.relax.op.expand_dims(x, 2))
