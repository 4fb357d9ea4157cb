"""Ctrl-C ends every command within two seconds, whatever library it is inside of."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

WATCHED = """
import hashlib, threading, click
from collage_core.cli import main
from collage_core.cli.watched import watched

@main.collage.command("busy")
@watched
def busy():
    try:
        print("begun", flush=True)
        threading.Event().wait()
    finally:
        hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)  # minutes inside of a library in C that hears no signal

main.MODULES["busy"] = ""
main.main()
"""
PLAIN = WATCHED.replace("@watched\n", "")


@pytest.mark.parametrize("program", [WATCHED, PLAIN], ids=["in a child", "in its own process"])
def test_ctrl_c_ends_a_command_that_does_not_hear_it(program: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", program, "busy"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "stopped; what was measured is stored\n")
