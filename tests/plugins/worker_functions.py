"""Functions that workers run in tests: they answer, raise, crash, hang, talk and eat."""

from __future__ import annotations

import ctypes
import errno
import importlib
import inspect
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from collage_core.base.isolation.report import report
from collage_core.base.isolation.worker import Worker
from collage_core.errors import Cancelled, CollageError, InfeasibleError
from collage_core.toolchains.toolchain import ToolchainError


class Holder:
    """A method is no module-level function, but its qualified name can be found all the same."""

    @staticmethod
    def double(value: int) -> int:
        return 2 * value


class Unpicklable:
    def __reduce__(self) -> str:
        raise TypeError("this object stays at home")


def add(a: int, b: int) -> int:
    return a + b


def pid() -> int:
    return os.getpid()


def imported(names: list[str], asked: list[str]) -> dict[str, bool]:
    for name in names:
        importlib.import_module(name)
    return {name: name in sys.modules for name in asked}


def source_of(name: str) -> str:
    return inspect.getsource(importlib.import_module(name))


def echo(value: object) -> object:
    return value


def build_and_load(target: str, path: str) -> None:
    """Have a toolchain build and load the whole of a model."""
    from collage_core.graph.index_set import IndexSet
    from collage_core.model.onnx_model import load_model
    from collage_core.toolchains.registry import get

    model, toolchain = load_model(path), get(target)
    whole = model.cut(IndexSet(range(len(model.graph))))
    toolchain.load(toolchain.build(whole, 1), whole.inputs, whole.outputs, 1)


def ask_outside() -> list[str]:
    """Look a name up, connect and send a datagram; returns how each was refused."""
    refused = []
    try:
        socket.getaddrinfo("collage.invalid", 80)
    except OSError as error:
        refused.append(type(error).__name__)
    with socket.socket() as stream, socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as datagrams:
        for ask in (lambda: stream.connect(("192.0.2.1", 80)), lambda: datagrams.sendto(b"", ("2001:db8::1", 53))):
            try:
                ask()
            except OSError as error:
                refused.append(errno.errorcode[error.errno or 0])
    return refused


def environment(name: str) -> str | None:
    return os.environ.get(name)


def run_and_name_tvms_libraries(folder: str, arrays: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Run an artifact; return its outputs, and which of TVM's libraries this process has loaded by then."""
    from collage_core.rewrite.runtime.artifact_calls import run_artifact

    made = run_artifact(Path(folder), arrays)
    import tvm.base

    return made, sorted(tvm.base._LOADED_LIBS)


def open_descriptors() -> list[str]:
    """Return the descriptors that this process has open, apart from that of the listing itself."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(entry))
        except FileNotFoundError:
            continue
    return found


def count(steps: int) -> str:
    for step in range(steps):
        report({"step": step})
    return "counted"


def raise_toolchain_error() -> None:
    raise ToolchainError("import", "no converter for operator Foo")


def raise_collage_error() -> None:
    raise CollageError("'x' is odd", "use 'y'", "odd")


def raise_infeasible() -> None:
    error = InfeasibleError("no plan", "drop a pin", conflict=[3, 1])
    error.extra = threading.Lock()  # type: ignore[attr-defined]
    raise error


def raise_local_error() -> None:
    class Local(CollageError):
        pass

    raise Local("made inside")


def raise_cancelled() -> None:
    raise Cancelled


def raise_odd(message: str) -> None:
    raise RuntimeError(message)


def leave(code: int) -> None:
    sys.exit(code)


def unpicklable() -> Unpicklable:
    return Unpicklable()


def crash(last_words: str = "") -> None:
    print(last_words, flush=True)
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


def exit_quietly(code: int) -> None:
    os._exit(code)


def hang(started: str | None = None) -> None:
    if started:
        Path(started).write_text(str(os.getpid()))
    while True:
        time.sleep(60)


def hang_in_native_code(started: str | None = None) -> None:
    """Hangs with the interpreter's lock held: no other Python thread of the process runs any more."""
    if started:
        Path(started).write_text(str(os.getpid()))
    ctypes.PyDLL(None).sleep(600)


def hang_with_child(started: str) -> None:
    """Hangs and leaves a child of its own behind, whose number it writes down."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    Path(started).write_text(str(child.pid))
    hang()


def babble(megabytes: int) -> str:
    """Prints garbage to both streams, through Python and past it."""
    noise = os.urandom(1 << 16)
    for _ in range(megabytes * 16):
        os.write(1, noise)
        sys.stderr.write("warning: 100%\n")
    return "said enough"


def say_and_fail(words: str) -> None:
    print(words)
    print("   ", file=sys.stderr)
    os._exit(9)


def close_the_socket() -> None:
    """Close all descriptors, as some libraries do, and live on."""
    os.closerange(3, 256)
    time.sleep(60)


def eat(megabytes: int) -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20) * megabytes))
        time.sleep(0.01)


def map_file(path: str) -> int:
    """Reads a mapped file to its end: pages that are not the process's own."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as view:
        total = sum(view[at] for at in range(0, len(view), 4096))
        time.sleep(0.5)
    return total


def parent_that_dies(started: str, native: bool) -> None:
    """Starts a worker that hangs, so that this process can be killed above it."""
    with Worker() as worker:
        worker.call(hang_in_native_code if native else hang, started, timeout_s=60)


def put_costs(path: Path, owner: str, count: int) -> list[str]:
    """Puts records into a cost database that other processes write too; gives its notes."""
    from collage_core.cost.database.database import CostDatabase
    from collage_core.cost.database.records import CostKey, Record

    with CostDatabase(path) as database:
        for index in range(count):
            database.put(CostKey(f"{owner}{index}", "tvm", "1", 1, "a CPU"), Record(samples=(1e-3,)))
        return database.notes
