"""A default CPU schedule for TVM's PrimFuncs, whose unscheduled loops run on one thread, 46 to 108 times slower.

A PrimFunc after fusion enters; the same with blocked, vectorised and parallel loops leaves. Nothing is searched or measured; a
function that no rule fits is kept. Every step is a schedule primitive of TVM, which checks that it preserves the semantics; only the
order of float sums may change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import ceil, prod
from typing import Any

import tvm
from tvm.s_tir import Schedule
from tvm.s_tir.schedule import LoopRV, SBlockRV
from tvm.sym.iter_affine_map import IterMapLevel, detect_iter_map
from tvm.target.codegen import llvm_cpu_has_features
from tvm.tirx import PrimFunc

from ..border import one_line
from .tvm_packing import PACKED_CONV, PACKED_MATMUL

LANES = 16
"""Number of floats in a vector of 512 bits, or in two of 256."""

PARALLEL_FROM = 1 << 15
"""Least number of iterations for which waking other threads pays."""

SCHEDULED = "tirx.is_scheduled"
"""Attribute of PrimFuncs that have their schedule, as TVM's own schedules mark them."""

OPAQUE = 8
"""The kind (``op_pattern``) of a PrimFunc that `FuseOps` leaves alone."""

log = logging.getLogger(__name__)


def finished(function: PrimFunc) -> PrimFunc:
    """Return `function` marked as one that later passes neither schedule nor fuse with others."""
    return function.with_attr({SCHEDULED: True, "op_pattern": OPAQUE})


def scheduled(function: PrimFunc) -> PrimFunc:
    """Return `function` with the default schedule; a block that its rule does not fit is kept."""
    try:
        schedule = Schedule(tvm.IRModule({"main": function.without_attr("global_symbol")}))
        blocks = _blocks(schedule)
    except Exception as error:  # noqa: BLE001 - not in the form that schedules need, such as a call to a sort
        log.debug("left unscheduled: %s", one_line(error))
        return function
    schedule = _tried(schedule, _inline, blocks) or schedule
    for block in _blocks(schedule):
        schedule = _tried(schedule, _schedule_block, block) or _tried(schedule, _schedule_block_alone, block) or schedule
    return schedule.mod["main"].with_attrs(function.attrs)


def _tried(schedule: Schedule, step: Callable[[Schedule, Any], None], subject: Any) -> Schedule | None:
    """Return the schedule after `step`; None where TVM refuses a primitive in it."""
    trial = schedule.copy()
    try:
        step(trial, subject)
    except Exception as error:  # noqa: BLE001 - TVM refuses with many exceptions, and all mean: keep the schedule
        log.debug("%s left out: %s", step.__name__, one_line(error))
        return None
    return trial


def _blocks(schedule: Schedule) -> list[SBlockRV]:
    return list(schedule.get_child_blocks(schedule.get_sblock("root")))


def _kinds(schedule: Schedule, block: SBlockRV) -> str:
    """Return one letter for each iterator of a block: S (spatial), R (reduction) or ? (anything else)."""
    return "".join({0: "S", 2: "R"}.get(int(var.iter_type), "?") for var in schedule.get(block).iter_vars)


def _extents(schedule: Schedule, loops: list[LoopRV]) -> list[int]:
    return [int(schedule.get(loop).extent.value) for loop in loops]


def _inline(schedule: Schedule, blocks: list[SBlockRV]) -> None:
    """Inline each spatial block into its only reader where no value is computed twice by that."""
    for block in reversed(blocks):
        readers = schedule.get_consumers(block)
        if len(readers) == 1 and _is_spatial(schedule, block) and _is_spatial(schedule, readers[0]):
            work = prod(_extents(schedule, schedule.get_loops(block)))
            if work >= prod(_extents(schedule, schedule.get_loops(readers[0]))):
                schedule.compute_inline(block)


def _is_spatial(schedule: Schedule, block: SBlockRV) -> bool:
    return set(_kinds(schedule, block)) <= {"S"}


def _schedule_block(schedule: Schedule, block: SBlockRV) -> None:
    kinds, loops = _kinds(schedule, block), schedule.get_loops(block)
    if len(kinds) != len(loops) or "S" not in kinds or "?" in kinds or "SR" not in kinds + "R" or "RS" in kinds:
        return
    if len(schedule.get_child_blocks(loops[0])) > 1:
        return
    name = _packed_name(schedule, block)
    if "R" not in kinds:
        _spatial(schedule, loops, is_vector=not _keeps_truth_values(schedule, block))
    elif name == PACKED_CONV:
        _packed(schedule, block, loops, rows=3, outs=1)
    elif name == PACKED_MATMUL:
        _packed(schedule, block, loops, rows=kinds.count("S") - 2, outs=kinds.count("S") - 1)
    elif _reads_along(schedule, block, kinds.index("R") - 1):
        _tiled(schedule, block, loops, kinds.index("R"))
    else:
        _row_reduction(schedule, block, loops, kinds.index("R"))


def _schedule_block_alone(schedule: Schedule, block: SBlockRV) -> None:
    """Schedule a block whose reader cannot be computed in its tiles: its result is copied from registers to memory."""
    if "R" in _kinds(schedule, block):
        schedule.cache_write(block, 0, "local")
        _schedule_block(schedule, block)


def _reads_along(schedule: Schedule, block: SBlockRV, iterator: int) -> bool:
    """Return whether neighbours along the iterator number `iterator` read neighbours in memory of a reduced tensor."""
    body = schedule.get(block)
    variables = [known.var for known in body.iter_vars]
    for read in body.reads:
        used = [{index for index, var in enumerate(variables) if _uses(extent.min, var)} for extent in read.region]
        is_reduced = any(index > iterator for extent in used for index in extent)
        if is_reduced and iterator in used[-1]:
            return True
    return False


def _uses(expression: Any, variable: Any) -> bool:
    return any(variable.same_as(used) for used in tvm.tirx.analysis.undefined_vars(expression))


def _parallel(schedule: Schedule, loops: list[LoopRV], work: int) -> None:
    if loops and work >= PARALLEL_FROM:
        schedule.parallel(schedule.fuse(*loops))


def _keeps_truth_values(schedule: Schedule, block: SBlockRV) -> bool:
    """Return whether `block` reads or writes booleans that the function holds for itself.

    Vectors of these are of bits in TVM, those of a parameter's are of bytes: an ``And`` of both is no valid code.
    """
    kept = [buffer for buffer in schedule.get(schedule.get_sblock("root")).alloc_buffers if buffer.dtype == "bool"]
    body = schedule.get(block)
    return any(region.source.same_as(buffer) for region in (*body.reads, *body.writes) for buffer in kept)


def _spatial(schedule: Schedule, loops: list[LoopRV], is_vector: bool) -> None:
    extents = _extents(schedule, loops)
    inner = loops[-1]
    width = _divisor(extents[-1], 2048)
    if width < extents[-1]:
        outer, inner = schedule.split(inner, [None, width])
        loops = [*loops[:-1], outer, inner]
    _parallel(schedule, loops[:-1], prod(extents))
    lanes = _lanes(width)
    if lanes < width:
        _, inner = schedule.split(inner, [None, lanes])
    if is_vector:
        schedule.vectorize(inner)


def _packed_name(schedule: Schedule, block: SBlockRV) -> str:
    return schedule.get(block).name_hint.rpartition("_")[0]


def _packed_lanes(schedule: Schedule, block: SBlockRV) -> int:
    return int(schedule.get(block).name_hint.rpartition("_")[2])


def _packed(schedule: Schedule, block: SBlockRV, loops: list[LoopRV], rows: int, outs: int) -> None:
    """Keep a tile of rows (or columns of an image) by blocks of outputs in registers; the outputs of a block are the vector."""
    extents, first_reduced = _extents(schedule, loops), _kinds(schedule, block).index("R")
    lanes, room = _packed_lanes(schedule, block), _accumulators()
    height = _divisor(extents[rows], room)
    row = schedule.split(loops[rows], [None, height])
    out = schedule.split(loops[outs], [None, _divisor(extents[outs] // lanes, room // height), lanes])
    outer = [out[0], *(loop for index, loop in enumerate(loops[:first_reduced]) if index not in (rows, outs))]
    reduced = loops[first_reduced:]
    schedule.reorder(*outer, row[0], *reduced, out[1], row[1], out[2])
    _finish_tile(schedule, block, outer, row[0], reduced, [out[1], row[1]], out[2], prod(extents))


def _tiled(schedule: Schedule, block: SBlockRV, loops: list[LoopRV], first_reduced: int) -> None:
    """Keep a tile of the two last spatial iterators in registers; the last one is the vector."""
    extents = _extents(schedule, loops)
    vector = schedule.split(loops[first_reduced - 1], [None, _lanes(extents[first_reduced - 1])])
    outer, reduced = loops[: first_reduced - 1], loops[first_reduced:]
    if outer:
        row = schedule.split(outer[-1], [None, _divisor(extents[first_reduced - 2], _accumulators() // 2)])
        outer = [*outer[:-1], row[0]]
    else:
        row = [None, schedule.add_unit_loop(vector[1])]
    schedule.reorder(*outer, vector[0], *reduced, row[1], vector[1])
    _finish_tile(schedule, block, outer, vector[0], reduced, [row[1]], vector[1], prod(extents))


def _finish_tile(
    schedule: Schedule,
    block: SBlockRV,
    outer: list[LoopRV],
    tile: LoopRV,
    reduced: list[LoopRV],
    unrolled: list[LoopRV],
    vector: LoopRV,
    work: int,
) -> None:
    schedule.vectorize(vector)
    for loop in unrolled:
        schedule.unroll(loop)
    write_back = _write_back(schedule, block)
    if _packed_name(schedule, block) == PACKED_CONV:
        lanes = _packed_lanes(schedule, block)
        schedule.transform_layout(block, ("write", 0), lambda n, o, y, x: (n, o // lanes, y, x, o % lanes))
    schedule.reverse_compute_at(write_back, tile)
    _parallel(schedule, outer, work)
    init = schedule.decompose_reduction(block, reduced[0])
    schedule.vectorize(schedule.get_loops(init)[-1])


def _write_back(schedule: Schedule, block: SBlockRV) -> SBlockRV:
    """Return the block that moves finished tiles from registers to memory: the only reader, else a copy."""
    readers = schedule.get_consumers(block)
    if len(readers) == 1 and _is_spatial(schedule, readers[0]) and _is_all_of(schedule, readers[0], block):
        schedule.set_scope(block, 0, "local")
        return readers[0]
    return schedule.cache_write(block, 0, "local")


def _row_reduction(schedule: Schedule, block: SBlockRV, loops: list[LoopRV], first_reduced: int) -> None:
    """Sum each row as `LANES` parallel partial sums, and then these."""
    extents = _extents(schedule, loops)
    last = extents[-1]
    if last % LANES == 0 and last > LANES:
        _, part = schedule.split(loops[-1], [None, LANES])
        parts = schedule.rfactor(part, first_reduced)
        around = schedule.get_loops(parts)
        _parallel(schedule, around[:first_reduced], prod(extents))
    _parallel(schedule, schedule.get_loops(block)[:first_reduced], prod(extents))


def _is_all_of(schedule: Schedule, reader: SBlockRV, block: SBlockRV) -> bool:
    """Return whether computing what reads each element of `block` is all that `reader` computes.

    It is not for padding: nothing of a tile is read for the margin, which `reverse_compute_at` would leave as the memory was.
    """
    written, body = schedule.get(block).writes[0].source, schedule.get(reader)
    region = [extent for read in body.reads if read.source.same_as(written) for extent in read.region]
    if len(region) != len(written.shape) or any(int(extent.extent) != 1 for extent in region):
        return False
    indices = [extent.min for extent in region]
    used = {known.var: known.dom for known in body.iter_vars if any(_uses(index, known.var) for index in indices)}
    if prod(int(known.extent) for known in used.values()) != prod(map(int, written.shape)):
        return False
    return bool(detect_iter_map(indices, used, check_level=IterMapLevel.Bijective).indices)


def _accumulators() -> int:
    """Return how many blocks of `LANES` sums fit into the registers of the current target, besides the values that are read."""
    target = tvm.target.Target.current(allow_none=True)
    return 14 if target is not None and llvm_cpu_has_features("avx512f", target) else 6


def _divisor(extent: int, bound: int) -> int:
    """Return the greatest divisor of `extent` that is at most `bound`."""
    return next(width for width in range(min(extent, bound), 0, -1) if extent % width == 0)


def _lanes(extent: int) -> int:
    """Return the divisor of `extent`, up to two vectors long, that fills vectors best."""
    widths = [width for width in range(1, min(extent, 2 * LANES) + 1) if extent % width == 0]
    return max(widths, key=lambda width: (width / (LANES * ceil(width / LANES)), width))
