"""Kernels of toolchains inside TVM's modules: the source that carries a package, and the function that it calls.

The source is C: it holds the package, and at its first call hands it to ``collage.load_package``, which this process must have
registered; afterwards its calls go straight to the kernel. Without a compiler between, the function is registered under its own name.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import tvm
from tvm.runtime import _ffi_api
from tvm_ffi.registry import register_global_func

from ..base.home import home
from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..rewrite.runtime.manifest import PartitionEntry
from ..rewrite.runtime.packed import make_packed
from ..toolchains import registry
from ..toolchains.border import availability_of, load_kernel

LOADER = "collage.load_package"

_SOURCE = """\
#include <stddef.h>
#include <tvm/ffi/c_api.h>
__asm__(".section .rodata\\n.balign 64\\n{symbol}_package:\\n.incbin \\"{path}\\"\\n{symbol}_package_end:\\n.previous\\n");
extern const char {symbol}_package[] __attribute__((visibility("hidden")));
extern const char {symbol}_package_end[] __attribute__((visibility("hidden")));
static const char {symbol}_about[] = {about};
static TVMFFIObjectHandle {symbol}_function = NULL;
#ifdef __cplusplus
extern "C"
#endif
TVM_FFI_DLL_EXPORT int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  if ({symbol}_function == NULL) {{
    TVMFFIByteArray name = {{"{loader}", sizeof("{loader}") - 1}};
    TVMFFIByteArray package = {{{symbol}_package, (size_t)({symbol}_package_end - {symbol}_package)}};
    TVMFFIObjectHandle loader = NULL;
    TVMFFIAny given[2] = {{}}, made = {{}};
    if (TVMFFIFunctionGetGlobal(&name, &loader) != 0 || loader == NULL) {{
      TVMFFIErrorSetRaisedFromCStr("RuntimeError", "a partition of {target} needs Python's `import collage_core.transform` before");
      return -1;
    }}
    given[0].type_index = kTVMFFIByteArrayPtr;
    given[0].v_ptr = &package;
    given[1].type_index = kTVMFFIRawStr;
    given[1].v_c_str = {symbol}_about;
    if (TVMFFIFunctionCall(loader, given, 2, &made) != 0) return -1;
    {symbol}_function = made.v_ptr;
  }}
  return TVMFFIFunctionCall({symbol}_function, (TVMFFIAny*)args, count, result);
}}
"""


@dataclass(frozen=True)
class Package:
    """A built sub-model, and how it is called.

    Attributes:
        target: The target that built it.
        data: What `Toolchain.build` gave.
        inputs: Its inputs; the caller's argument of each is in `order`.
        order: Index of the caller's argument → for each input.
        count: The number of the caller's inputs.
        threads: Threads of the kernel.
    """

    target: str
    data: bytes
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    order: tuple[int, ...]
    count: int
    threads: int

    def about(self) -> str:
        """Return everything but the data, as JSON."""
        tensors = {side: [tensor.to_json() for tensor in getattr(self, side)] for side in ("inputs", "outputs")}
        return json.dumps({"target": self.target, **tensors, "order": self.order, "count": self.count, "threads": self.threads})

    @classmethod
    def read(cls, data: bytes, about: str) -> Package:
        """Return the package of some data and what `about` gave."""
        known = json.loads(about)
        sides = [tuple(map(Tensor.from_json, known[side])) for side in ("inputs", "outputs")]
        return cls(known["target"], data, sides[0], sides[1], tuple(known["order"]), known["count"], known["threads"])

    def function(self) -> Any:
        """Load the kernel, and return the function that computes on tensors: the inputs, then the outputs.

        Raises:
            CollageError: the toolchain is not usable here, or cannot load it.
        """
        tool = registry.get(self.target)
        found = availability_of(tool)
        if not found.usable:
            raise CollageError(
                f"a partition needs {self.target}, which is not usable here: {found.reason}", found.hint, "unavailable_target"
            )
        kernel = load_kernel(tool, self.data, self.inputs, self.outputs, self.threads)
        packed = make_packed(PartitionEntry(self.target, self.target, "", (), self.inputs, self.outputs), kernel)
        chosen = [*self.order, *range(self.count, self.count + len(self.outputs))]
        if chosen == list(range(len(chosen))):
            return packed
        return lambda *tensors: packed(*(tensors[index] for index in chosen))


class Carried(Protocol):
    """A `Package`, or an `open_packages.OpenPackage`: the content of a runtime module."""

    @property
    def target(self) -> str: ...

    @property
    def data(self) -> bytes: ...

    def about(self) -> str: ...

    def function(self) -> Callable[..., Any]: ...


def runtime_module(symbol: str, package: Carried) -> tvm.runtime.Module:
    """Return a module that carries `package` as the function `symbol`, and register the function for calls in this process."""
    register_global_func(symbol, _Late(package), override=True)
    path = _kept(package.data)
    about = json.dumps(package.about())
    source = _SOURCE.format(symbol=symbol, path=path, about=about, loader=LOADER, target=package.target)
    return _ffi_api.CSourceModuleCreate(source, "c", [symbol], [])


class _Late:
    """Loads the kernel at the first call: compiling a module must not need its kernels."""

    def __init__(self, package: Carried):
        self._package = package
        self._function: Callable[..., Any] | None = None

    def __call__(self, *tensors: Any) -> Any:
        if self._function is None:
            self._function = self._package.function()
        return self._function(*tensors)


def _kept(data: bytes) -> Path:
    """Write a package where the compiler finds it when the module is exported, and return its path."""
    folder = home() / "packages"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{hashlib.sha256(data).hexdigest()[:32]}.bin"
        if not path.exists():
            beside = path.with_suffix(".new")
            beside.write_bytes(data)
            beside.replace(path)
    except OSError as error:
        hint = "set COLLAGE_HOME to a folder with room"
        raise CollageError(f"cannot write a package to {str(folder)!r}: {error.strerror}", hint, "unwritable") from error
    return path


def symbols_of(functions: Sequence[Any]) -> list[str]:
    """Return the ``global_symbol`` of each function. Raises CollageError where one has none."""
    names = [str(function.attrs["global_symbol"]) if function.attrs and "global_symbol" in function.attrs else "" for function in functions]
    if not all(names):
        raise CollageError("a function of a codegen has no global_symbol", "partition it as TVM does", "bad_module")
    return names
