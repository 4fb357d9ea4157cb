"""Toolchains for tests that crash, hang, raise, refuse, or write where nobody asked them to."""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from collage_test_toolchains import Numpy, NumpyKernel

from collage_core.errors import Cancelled
from collage_core.graph.dataflow_graph import Tensor
from collage_core.model.model import SubModel
from collage_core.toolchains.toolchain import Kernel, ToolchainError


class SegfaultsAtBuild(Numpy):
    name = "segfaults_at_build"

    def spoil_build(self) -> None:
        print("optimising node 7 of 9", flush=True)
        ctypes.string_at(0)


class SegfaultsAtRun(Numpy):
    name = "segfaults_at_run"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        ctypes.string_at(0)


class IsKilled(Numpy):
    """As a system without memory would."""

    name = "is_killed"

    def spoil_build(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class HangsAtBuild(Numpy):
    name = "hangs_at_build"

    def spoil_build(self) -> None:
        time.sleep(600)


class HangsAtRun(Numpy):
    """Hangs in native code, with the interpreter's lock held."""

    name = "hangs_at_run"

    def spoil_run(self, kernel: NumpyKernel) -> None:
        ctypes.PyDLL(None).sleep(600)


class HangsWhenTimed(Numpy):
    """Its first run is well, and that on extreme inputs."""

    name = "hangs_when_timed"
    runs = 0

    def spoil_run(self, kernel: NumpyKernel) -> None:
        self.runs += 1
        if self.runs > 2:
            time.sleep(600)


class RaisesOddly(Numpy):
    """Raises something whose class and text nobody expects."""

    name = "raises_oddly"

    def spoil_build(self) -> None:
        class Oddity(BaseException):
            pass

        raise Oddity("stack trace:\n  frame 1\nInternalError: lowering failed\n\n")


class RefusesRelu(Numpy):
    name = "refuses_relu"

    def spoil_build(self) -> None:
        raise ToolchainError("import", "no converter for Relu")


class LeavesQuietly(Numpy):
    name = "leaves_quietly"

    def spoil_build(self) -> None:
        os._exit(0)


class AsksToEnd(Numpy):
    name = "asks_to_end"

    def spoil_build(self) -> None:
        sys.exit("licence not found")


class EatsMemory(Numpy):
    name = "eats_memory"

    def spoil_build(self) -> None:
        held = []
        while True:
            held.append(os.urandom(16 << 20))


class GivesNoBytes(Numpy):
    name = "gives_no_bytes"

    def build(self, model: SubModel, threads: int) -> bytes:
        package = super().build(model, threads)
        return package if not NumpyKernel(package).has_relu else None  # type: ignore[return-value]


class Poisoned(Numpy):
    """The second build in one process crashes; each alone would be well."""

    name = "poisoned"
    builds = 0

    def build(self, model: SubModel, threads: int) -> bytes:
        self.builds += 1
        if self.builds > 1:
            ctypes.string_at(0)
        return super().build(model, threads)


class Interrupts(Numpy):
    name = "interrupts"

    def spoil_build(self) -> None:
        raise KeyboardInterrupt


class GivesUpForAll(Numpy):
    """Raises what means that the user stopped the run; nobody did."""

    name = "gives_up_for_all"

    def spoil_build(self) -> None:
        raise Cancelled


class RaisesMuch(Numpy):
    """Its words are far too many, in several lines, and no text: control characters, half characters, colours."""

    name = "raises_much"

    def spoil_build(self) -> None:
        raise RuntimeError("\x1b[31m\0lowering \udcff failed\r\n" + "at node 7, " * (1 << 20))


class RefusesMuch(Numpy):
    """The same, in what a toolchain should raise."""

    name = "refuses_much"

    def spoil_build(self) -> None:
        raise ToolchainError("build", "out of \x07registers\n" + "at node 7\n" * (1 << 20) + "x" * (1 << 20))


class RaisesMutely(Numpy):
    """Not even its own text can be had."""

    name = "raises_mutely"

    def spoil_build(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text either")

        raise Mute


class RefusesWithoutStage(Numpy):
    name = "refuses_without_stage"

    def spoil_build(self) -> None:
        raise HalfMade


class HalfMade(ToolchainError):
    """An error whose author forgot the rest."""

    def __init__(self) -> None:
        pass


class GivesText(Numpy):
    name = "gives_text"

    def build(self, model: SubModel, threads: int) -> bytes:
        package = super().build(model, threads)
        return "a package" if NumpyKernel(package).has_relu else package  # type: ignore[return-value]


class FailsToLoad(Numpy):
    name = "fails_to_load"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        if NumpyKernel(package).has_relu:
            raise OSError("undefined symbol: relu_f32")
        return super().load(package, inputs, outputs, threads)


class LoadsNothing(Numpy):
    name = "loads_nothing"

    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        return super().load(package, inputs, outputs, threads) if not NumpyKernel(package).has_relu else None  # type: ignore[return-value]


def channels() -> list[int]:
    """Descriptors of this process's sockets: a worker has one, on which it talks with its parent."""
    return [int(link.name) for link in Path("/proc/self/fd").iterdir() if link.is_symlink() and os.readlink(link).startswith("socket:")]


class Floods(Numpy):
    """Prints to every descriptor there is, the parent's channel among them."""

    name = "floods"
    flood = b"\n".join([b"optimising node 7 of 9"] * 100)

    def spoil_build(self) -> None:
        for descriptor in channels():
            os.write(descriptor, self.flood)


class SendsNoPickle(Floods):
    """Its flood looks like a message, as far as its length goes."""

    name = "sends_no_pickle"
    flood = struct.pack("!Q", 9) + b"no pickle"


class SendsAnything(Floods):
    """A message that says nothing."""

    name = "sends_anything"
    flood = struct.pack("!Q", len(pickle.dumps(5))) + pickle.dumps(5)


class AnswersItself(Floods):
    """An answer to another question, before the answer: all later ones would be one too late."""

    name = "answers_itself"
    flood = struct.pack("!Q", len(pickle.dumps(("result", 0, None)))) + pickle.dumps(("result", 0, None))


class ClosesAll(Numpy):
    """Closes every descriptor that it did not open, and goes on."""

    name = "closes_all"

    def spoil_build(self) -> None:
        os.closerange(3, 256)


class LacksLibrary(Numpy):
    """Says that it is usable, and is not."""

    name = "lacks_library"

    def build(self, model: SubModel, threads: int) -> bytes:
        raise ModuleNotFoundError("No module named 'lacking'")
