"""A command that reads a stranger's model: whatever becomes of its process, the user gets one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

from collage_core.cli import watched as module
from collage_core.cli.watched import OWN_PROCESS, waited_s, watched
from collage_core.errors import CollageError
from tests.helpers.command import collage


def test_a_model_that_ends_onnx_runtime_by_a_signal(tmp_path: Path) -> None:
    """The least integer divided by -1 does not fit: the processor refuses, while ONNX Runtime folds the model."""
    numbers = {"least": np.array([-(2**63)]), "minus_one": np.array([-1])}
    nodes = [
        helper.make_node("Div", ["least", "minus_one"], ["q"]),
        helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "f"], ["y"]),
    ]
    types = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", types[:1], types[1:], [numpy_helper.from_array(value, name) for name, value in numbers.items()])
    path = tmp_path / "divides.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    done = collage(tmp_path / "home", "candidates", path, "--targets", "onnxruntime")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[0] == f"error: a library crashed with SIGFPE while it read or ran {str(path)!r}"
    assert len(done.stderr.splitlines()) == 2


def test_a_model_that_a_library_has_no_memory_for() -> None:
    @click.command()
    @click.argument("model")
    @watched
    def allocate(model: str) -> None:
        raise MemoryError

    with pytest.raises(CollageError) as caught:
        allocate.main(["big.onnx"], standalone_mode=False)
    assert caught.value.message == "'big.onnx' takes more memory than this machine has to spare"


FRESH = """
import os, signal, time
from pathlib import Path
from collage_core.cli import watched

signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD))
watched._LOOK_S = 0.01

def child(what):
    process = os.fork()
    if process == 0:
        what()
        os._exit(7)
    return process

def sleep():
    time.sleep(60)

"""
INTERRUPTS = """
def interrupt_again():
    # The child has its signals blocked, as one that is inside of a library: the first interrupt waits for it.
    while "ShdPnd:\\t0000000000000002" not in Path(f"/proc/{sleeps}/status").read_text():
        time.sleep(0.01)
    os.kill(os.getppid(), signal.SIGINT)

os.kill(os.getpid(), signal.SIGINT)
sleeps = child(sleep)
child(interrupt_again)
print(*watched._wait(sleeps))
"""


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        pytest.param("print(*watched._wait(child(lambda: None)))", "7 False 0", id="the exit status is that of the child"),
        pytest.param("watched.MEMORY_SHARE = 0.0; print(*watched._wait(child(sleep)))", "-9 True 0", id="too much memory"),
        pytest.param(INTERRUPTS, "-9 False 2", id="a second interrupt ends a child that does not hear the first"),
    ],
)
def test_waiting_for_the_child(code: str, wanted: str) -> None:
    """In a process of one thread, as the command is while it waits: signals must come to that one."""
    done = subprocess.run([sys.executable, "-c", FRESH + code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == wanted


@pytest.mark.parametrize(("whole", "seconds"), [(OWN_PROCESS, 2.5), (None, 0.0)])
def test_the_user_waits_from_the_start_of_a_command_that_is_the_whole_process(
    whole: str | None, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.time, "monotonic", lambda: module._BEGAN_S + 2.5)
    with click.Context(click.Command("partition"), obj=whole):
        assert waited_s() == pytest.approx(seconds)
