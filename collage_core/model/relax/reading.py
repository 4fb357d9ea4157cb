"""Reads a Relax module, a program of `torch.export` or a TensorFlow Lite model, and writes one of its regions as an ONNX model.

A path and the user's shapes enter; plain data leave. It runs TVM, of a script also Python, and belongs in a worker process.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tvm
from onnx import ModelProto
from tvm import relax

from ...base.model_file import head_of, is_tflite
from ...base.module_regions import RegionSummary, several_regions
from ...base.user_file import read_text
from ...errors import CollageError
from ...graph.work_estimate import WorkEstimator
from ..files.external_data import MOST_BYTES
from ..shapes.inference import proto_graph
from ..shapes.shapes import assumed_sizes, fix_shapes
from .module_functions import bound_to_processor, function_of, prepared, region_module, stub
from .operators.call_writer import Untranslatable
from .realized_devices import with_realized_devices
from .region_names import read_region_name, region_name
from .regions import Division, Region, divided, largest
from .span_names import with_names_of_spans

_HEADER = "import tvm\nfrom tvm.script import ir as I\nfrom tvm.script import relax as R\nfrom tvm.script import tirx as T\n"
"""Names that a script that TVM printed takes for granted."""
_TAKE_ALL = "`collage partition` and `CollagePartition` take all"


@dataclass(frozen=True)
class ReadRegion:
    """A region of a Relax function.

    Attributes:
        function: The name of the function.
        onnx: The region as a serialised ONNX model.
        ir: A module whose ``main`` is the region, as TVM saves it; its outputs are those of the ONNX model, in a tuple.
        sizes: Name of each parameter of the function → its shape.
        parameters: The names of the region's inputs, in order.
        left: What is in no region, with its reason; and what else the user should know.
        bound: The names of the nodes that the user's annotations bind to the processor.
        assumed: As `OnnxModel` takes it.
    """

    function: str
    onnx: bytes
    ir: str
    sizes: dict[str, tuple[int, ...]]
    parameters: tuple[str, ...]
    left: tuple[str, ...]
    bound: tuple[str, ...] = ()
    assumed: Mapping[str, int] = field(default_factory=dict)


def read_relax(path: str, region: str | None, shapes: Mapping[str, Sequence[int]], asks: bool = False) -> ReadRegion:
    """Return a region of the module in the file at `path`.

    Args:
        region: The name of the region; the largest one of the function ``main``, or of the only one, unless given.
        shapes: Shapes of parameters by name, for those with symbols.
        asks: Where none is named and there are several, raise `SeveralRegions`.

    Raises:
        CollageError: there is no module, no such function or region, or a shape is open.
    """
    with _quiet():
        module, notes = read_module(Path(path))
    if asks and region is None:
        _ask(module, shapes, Path(path).name)
    return region_of(module, region, shapes, notes)


def _ask(module: tvm.IRModule, shapes: Mapping[str, Sequence[int]], name: str) -> None:
    """Raise `SeveralRegions` where the module of the file `name` has several."""
    regions, _ = regions_of(module, shapes)
    if len(regions) > 1:
        raise several_regions(name, regions)


def read_regions(path: str, shapes: Mapping[str, Sequence[int]]) -> tuple[list[RegionSummary], list[str]]:
    """Return all regions of the module in the file at `path`, and which functions are left to TVM as a whole, and why.

    The region that is taken where none is named comes first.

    Raises:
        CollageError: as `read_relax`.
    """
    with _quiet():
        module, _ = read_module(Path(path))
    return regions_of(module, shapes)


def regions_of(module: tvm.IRModule, shapes: Mapping[str, Sequence[int]]) -> tuple[list[RegionSummary], list[str]]:
    """As `read_regions`, of a module that is there already."""
    first = function_of(module, None)
    summaries: list[RegionSummary] = []
    left: list[str] = []
    for name in (first, *_others(module, first)):
        try:
            regions = _divided(module, name, shapes).regions
        except CollageError as error:
            if name == first:
                raise
            left.append(f"the function {name!r} is left to TVM: {error.message}")
            continue
        order = sorted(range(len(regions)), key=lambda at: regions[at] is not largest(regions)) if name == first else range(len(regions))
        summaries += [region_summary(regions[at], name, at) for at in order]
    return summaries, left


def region_summary(region: Region, function: str, index: int) -> RegionSummary:
    """Return what a list says of the region `index` of `function`."""
    try:
        graph = proto_graph(region.model(function))
        operations = sum(map(WorkEstimator(graph).operations, range(len(graph))))
    except (Untranslatable, CollageError):
        operations = 0.0
    return RegionSummary(region_name(function, index), region.block, len(region.writer.nodes), operations)


def _others(module: tvm.IRModule, first: str) -> list[str]:
    """Return the names of the functions besides `first` that no pass has taken."""
    functions = [(str(var.name_hint), one) for var, one in module.functions_items() if isinstance(one, relax.Function)]
    return [name for name, one in functions if name != first and not _is_taken(one)]


def _is_taken(function: relax.Function) -> bool:
    return any(name in (function.attrs or {}) for name in ("Codegen", "Composite", "Primitive"))


def _divided(module: tvm.IRModule, name: str, shapes: Mapping[str, Sequence[int]]) -> Division:
    named = with_names_of_spans(module, name)
    return divided(prepared(named, name, parameter_shapes(named, name, shapes))[name])


def largest_region_name(module: tvm.IRModule, shapes: Mapping[str, Sequence[int]]) -> str:
    """Return the name of the region that is taken where none is named. Raises CollageError as `read_relax`."""
    name = function_of(module, None)
    regions = _divided(module, name, shapes).regions
    return region_name(name, regions.index(largest(regions)) if regions else 0)


def region_of(module: tvm.IRModule, region: str | None, shapes: Mapping[str, Sequence[int]], notes: Sequence[str] = ()) -> ReadRegion:
    """As `read_relax`, of a module that is there already."""
    function, index = (None, None) if region is None else read_region_name(region)
    name = function_of(module, function)
    module = with_names_of_spans(module, name)
    sizes = parameter_shapes(module, name, shapes)
    division = divided(prepared(module, name, sizes)[name])
    regions, left = division.regions, division.left
    if index is not None and index >= len(regions):
        raise CollageError(f"the function {name!r} has {len(regions)} regions, and {region!r} is none", "count from 0", "no_nodes")
    if not regions:
        why = f": {left[0].name!r}: {left[0].reason}" if left else ""
        hint = "calls of high-level operators are wanted, as an importer of TVM makes them, before they are lowered"
        raise CollageError(f"the function {name!r} has no binding that a toolchain could take{why}", hint, "no_nodes")
    chosen = largest(regions) if index is None else regions[index]
    said = [f"the binding {one.name!r} of {name!r} is left to TVM: {one.reason}" for one in left] if chosen is largest(regions) else []
    if len(regions) > 1 and index is None:
        said.insert(0, f"the function {name!r} has {len(regions)} regions: this is the largest; {_TAKE_ALL}")
    saved = tvm.ir.save_json(region_module(chosen))
    held = bound_to_processor(module[name])
    bound = tuple(node for node, at in chosen.writer.binding_of.items() if chosen.bindings[at].var.name in held)
    assumed = assumed_sizes(stub(module[name]), shapes.keys())
    return ReadRegion(name, _serialised(chosen, name), saved, sizes, tuple(chosen.inputs), (*notes, *said), bound, assumed)


def _serialised(region: Region, name: str) -> bytes:
    if sum(array.nbytes for array in region.writer.constants.values()) > MOST_BYTES:
        raise CollageError("the module holds more weights than the 2 GiB that one ONNX message can", "split it", "too_big")
    try:
        return region.model(name).SerializeToString()
    except Untranslatable as reason:
        raise CollageError(f"the function {name!r} {reason}", "give its shapes with --shape", "open_shape") from reason


def parameter_shapes(module: tvm.IRModule, name: str, shapes: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters of the function `name`, with symbols as the user says; a symbolic batch is 1.

    Raises:
        CollageError: a symbol is open, or a shape does not fit, or is one of no function's parameter.
    """
    functions = [one for one in module.functions.values() if isinstance(one, relax.Function) and one is not module[name]]
    elsewhere = {var.name for one in functions for var in one.params} - {var.name for var in module[name].params}
    model = ModelProto()
    model.CopyFrom(stub(module[name]))
    return fix_shapes(model, {parameter: shape for parameter, shape in shapes.items() if parameter not in elsewhere})


def read_module(path: Path) -> tuple[tvm.IRModule, list[str]]:
    """Return the module in the file at `path`, its hints at devices realized, and what the user should know of how it was read."""
    if path.suffix == ".pt2":
        from .torch_program import read_program

        return read_program(path)
    try:
        if is_tflite(head_of(path)):
            from .tflite_model import read_tflite

            return read_tflite(path), []
        return with_realized_devices(_run_script(path) if path.suffix == ".py" else _load_json(path)), []
    except OSError as error:
        raise CollageError(f"cannot read {str(path)!r}: {error.strerror}", "check the path and its permissions", "unreadable") from error


def _load_json(path: Path) -> tvm.IRModule:
    try:
        found = tvm.ir.load_json(read_text(path))
    except OSError:
        raise
    except Exception as error:  # any exception of TVM says that it is not what it saves
        hint = "write it with `tvm.ir.save_json(module)`"
        raise CollageError(f"{str(path)!r} is not a module that TVM saved: {_first_line(error)}", hint, "not_relax") from error
    if not isinstance(found, tvm.IRModule):
        raise CollageError(f"{str(path)!r} holds a {type(found).__name__}, not a module", "save an IRModule", "not_relax")
    return found


def _run_script(path: Path) -> tvm.IRModule:
    """Run the script, and return its only module. One that TVM printed, without imports, is run with them."""
    text = read_text(path)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"{path.stem}.py"
        source.write_text(text if "import" in text.replace("ir_module", "") and "tvm" in text.split("@")[0] else _HEADER + text)
        spec = importlib.util.spec_from_file_location("collage_user_script", source)
        assert spec is not None
        assert spec.loader is not None
        script = importlib.util.module_from_spec(spec)
        sys.modules["collage_user_script"] = script
        try:
            spec.loader.exec_module(script)
        except (Exception, SystemExit) as error:  # a script may raise anything
            reason = f"{type(error).__name__}: {_first_line(error)}"
            raise CollageError(f"{str(path)!r} does not run as a script of TVM: {reason}", "mend it", "not_relax") from error
    found = {id(value): value for value in vars(script).values() if isinstance(value, tvm.IRModule)}
    if len(found) != 1:
        which = "none" if not found else f"{len(found)}"
        raise CollageError(f"{str(path)!r} must define one module, and defines {which}", "keep one class under @I.ir_module", "not_relax")
    return next(iter(found.values()))


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what importers and scripts print off the terminal."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def run_module(ir: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compile a module that `ReadRegion.ir` holds with TVM's default pipeline, run it, and return its outputs as arrays."""
    module = tvm.ir.load_json(ir)
    built = tvm.compile(module, tvm.target.Target({"kind": "llvm"}))
    machine = relax.VirtualMachine(built, tvm.cpu())
    given = [tvm.runtime.tensor(np.require(array, requirements="C")) for array in inputs]
    return [output.numpy() for output in machine["main"](*given)]
