"""`OpenPackage`: a function with symbols in its shapes, of which a toolchain builds a kernel for each shape that comes.

A flat function enters. The kernel for the shapes that it was planned for is built at once, and shows that the toolchain can take it;
any other one at the first call with its shapes, in a worker process. The newest ones are kept.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tvm
from tvm import relax

from ..base.isolation.shared import shared_worker
from ..base.isolation.worker import Worker
from ..errors import CollageError
from ..model.relax.module_functions import symbol_sizes
from ..toolchains import registry
from ..toolchains.abilities import layout_of
from ..toolchains.relax_attributes import SHAPES
from .building import built_package
from .packages import Package

MOST_KERNELS = 16
"""Kernels of one function that are kept in memory."""

Shapes = tuple[tuple[int, ...], ...]
"""Shapes of all parameters of a function, in order."""


@dataclass(frozen=True)
class OpenPackage:
    """A function with symbols, and the kernel for the shapes that it was planned for.

    Attributes:
        target: The target that builds it.
        name: The name of the function, for errors.
        source: A module whose ``main`` is the function, as TVM saves it.
        threads: Threads of the kernels.
        planned: The first kernel with its shapes; None where nobody has planned it.
    """

    target: str
    name: str
    source: str
    threads: int
    planned: tuple[Shapes, Package] | None = None

    @property
    def data(self) -> bytes:
        kernel = None
        if self.planned is not None:
            shapes, package = self.planned
            kernel = {"shapes": shapes, "about": package.about(), "data": b64encode(package.data).decode()}
        return json.dumps({"source": self.source, "planned": kernel}).encode()

    def about(self) -> str:
        """Return everything but the data, as JSON; Package.about has no key ``open``."""
        return json.dumps({"target": self.target, "open": True, "name": self.name, "threads": self.threads})

    @classmethod
    def read(cls, data: bytes, about: str) -> OpenPackage:
        """Return the package of some data and what `about` gave."""
        known, held = json.loads(about), json.loads(data)
        planned = None
        if held["planned"] is not None:
            package = Package.read(b64decode(held["planned"]["data"]), held["planned"]["about"])
            planned = tuple(map(tuple, held["planned"]["shapes"])), package
        return cls(known["target"], known["name"], held["source"], known["threads"], planned)

    def function(self) -> Callable[..., Any]:
        """Return the function that computes on tensors: the inputs, then the outputs.

        Raises:
            CollageError: the toolchain is not usable here, or cannot load the kernel that is there.
        """
        return _Kernels(self)


def open_package(target: str, name: str, function: relax.Function, threads: int, worker: Worker) -> OpenPackage:
    """Return the package of a flat `function` with symbols.

    Raises:
        CollageError: `target` takes no symbols, or not the function with the shapes that it was planned for.
    """
    check_takes_symbols(target)
    planned = None
    if SHAPES in (function.attrs or {}):
        shapes: Shapes = tuple(map(tuple, json.loads(str(function.attrs[SHAPES]))))
        planned = shapes, built_package(target, name, with_shapes(function, shapes), threads, worker)
        function = function.without_attr(SHAPES)
    source = tvm.ir.save_json(tvm.IRModule({"main": function.with_attr("global_symbol", "main")}))
    return OpenPackage(target, name, source, threads, planned)


def check_takes_symbols(target: str) -> None:
    """Raise CollageError where `target` computes in a blocked layout: which tensors it holds so depends on their shapes."""
    if layout_of(registry.get(target)):
        reason = f"{target} computes in a blocked layout, and can keep no symbols in shapes"
        raise CollageError(reason, "leave it out, or fix the symbols with shapes", "layout")


def with_shapes(function: relax.Function, shapes: Sequence[Sequence[int]]) -> relax.Function:
    """Return `function` with the symbols that its parameters have fixed by the shapes of these."""
    return function.bind_symbolic_vars(symbol_sizes(function, shapes))


class _Kernels:
    """The kernels of a function that are loaded, by the shapes of its inputs."""

    def __init__(self, package: OpenPackage):
        self._package = package
        self._function = tvm.ir.load_json(package.source)["main"]
        self._count = len(self._function.params)
        self._loaded: OrderedDict[Shapes, Callable[..., Any]] = OrderedDict()
        if package.planned is not None:
            self._loaded[package.planned[0]] = package.planned[1].function()

    def __call__(self, *tensors: Any) -> Any:
        shapes = tuple(tuple(tensor.shape) for tensor in tensors[: self._count])
        kernel = self._loaded.get(shapes)
        if kernel is None:
            kernel = self._loaded[shapes] = self._built(shapes)
            if len(self._loaded) > MOST_KERNELS:
                self._loaded.popitem(last=False)
        self._loaded.move_to_end(shapes)
        return kernel(*tensors)

    def _built(self, shapes: Shapes) -> Callable[..., Any]:
        package, fixed = self._package, with_shapes(self._function, shapes)
        try:
            with shared_worker(package.target) as worker:
                return built_package(package.target, package.name, fixed, package.threads, worker).function()
        except CollageError as error:
            why = f"{error.message}, with inputs of the shapes {', '.join(map(str, shapes))}"
            raise CollageError(why, f"leave it to another toolchain, or keep to shapes that {package.target} takes", error.code) from error
