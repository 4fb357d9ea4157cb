"""Starting and ending a server: as a command, as a program of what runs artifacts alone, and where its port is not to be had."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from collage_core.errors import CollageError
from collage_core.serving.__main__ import main
from collage_core.serving.launch import listen, serve
from collage_core.serving.served_model import ServedModel
from tests.helpers.command import in_this_process
from tests.helpers.paths import ROOT

PROGRAM = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("click", "flask", "werkzeug", "onnx", "tvm", "pydantic", "scipy", "collage_server"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
from collage_core.serving.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_it_starts_without_flask_says_where_it_is_and_ends_when_it_is_told(served_folder: Path):
    command = [sys.executable, "-c", PROGRAM, str(served_folder), "--port", "0", "--name", "mine"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"mine is served at (http://127\.0\.0\.1:\d+/v2/models/mine)  \(Ctrl-C ends it\)\n", line)
        assert found is not None, line
        with urllib.request.urlopen(found[1], timeout=30) as answer:
            assert json.load(answer)["inputs"][0] == {"name": "x", "datatype": "FP32", "shape": [2, 3]}
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_port_that_is_taken_is_a_users_mistake(served: ServedModel):
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]
        with pytest.raises(CollageError) as caught:
            listen("127.0.0.1", port, served, 1)
    assert (caught.value.message, caught.value.hint) == (
        f"port {port} of 127.0.0.1 is in use by another program",
        "try --port 0 for a free one",
    )


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("no.such.host.invalid", 0, "the host 'no.such.host.invalid' is not known"),
        ("127.0.0.1", 70_000, "cannot listen at port 70000 of 127.0.0.1: ports are numbers from 0 to 65535"),
        ("192.0.2.1", 0, "cannot listen at port 0 of 192.0.2.1: "),
    ],
)
def test_an_address_that_is_not_to_be_had_is_a_users_mistake(served: ServedModel, host: str, port: int, said: str, monkeypatch):
    plain = socket.getaddrinfo

    def known(name: str, *arguments: object, **more: object) -> object:
        if name.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return plain(name, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(socket, "getaddrinfo", known)
    with pytest.raises(CollageError) as caught:
        listen(host, port, served, 1)
    assert caught.value.message.startswith(said)
    assert caught.value.hint


def test_the_command_and_the_program_say_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    status, out, err = in_this_process(capsys, "serve", tmp_path / "nothing")
    assert (status, out) == (2, "")
    assert re.fullmatch(r"error: '.*nothing' does not exist, so there is no 'artifact.json'\nhint: .*\n", err)
    assert main([str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err == err


def test_a_bound_of_less_than_a_megabyte_is_refused(served_folder: Path):
    with pytest.raises(CollageError, match="--most-mb is 0, it must be at least 1"):
        serve(served_folder, most_mb=0)
