"""Starting and ending a server: as a command, as a program of what runs artifacts alone, and where its port is not to be had."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.serving import http_server, launch
from collage_core.serving.__main__ import main
from collage_core.serving.http_server import ModelServer
from collage_core.serving.launch import listen, serve
from collage_core.serving.served_model import ServedModel
from tests.helpers.command import in_this_process
from tests.helpers.paths import ROOT

Start = Callable[..., tuple[str | None, str]]

PROGRAM = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("click", "flask", "werkzeug", "onnx", "tvm", "pydantic", "scipy", "collage_server"):
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
from collage_core.serving import http_server, launch
from collage_core.serving.__main__ import main
from collage_core.serving.http_server import ModelServer
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


@pytest.fixture
def started(
    served_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[str | None, str]]:
    """Start a server as if 127.0.0.1 were an address that other machines reach, and end it at once: its token, and standard error."""
    tokens: list[str | None] = []

    def start(*, is_local: bool = False, **options: Any) -> tuple[str | None, str]:
        monkeypatch.setattr(launch, "is_loopback", lambda _: is_local)
        monkeypatch.setattr(http_server, "is_loopback", lambda _: is_local)
        monkeypatch.setattr(ModelServer, "serve_forever", lambda server: tokens.append(server.app.token))
        serve(served_folder, port=0, **options)
        return tokens.pop(), capsys.readouterr().err

    return start


def test_beyond_this_machine_a_new_token_is_asked_for_and_printed(started: Start):
    token, err = started()
    assert token is not None
    assert len(token) >= 32
    assert err == f"clients must bring this token: Authorization: Bearer {token}\n"
    assert started()[0] != token


def test_a_token_of_the_users_own_is_asked_for_everywhere_and_never_printed(started: Start):
    for is_local in (False, True):
        assert started(token="sesame", is_local=is_local) == ("sesame", "clients must bring the token: Authorization: Bearer ...\n")


def test_on_this_machine_and_without_a_token_all_may_ask(started: Start):
    assert started(is_local=True) == (None, "")
    assert started(no_token=True) == (None, "anyone who reaches 127.0.0.1 can use it: there is no token\n")


@pytest.mark.parametrize("where", ["option", "variable"])
def test_both_commands_take_a_token(where: str, served_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    tokens: list[str | None] = []
    monkeypatch.setattr(ModelServer, "serve_forever", lambda server: tokens.append(server.app.token))
    given = ["--token", "sesame"] if where == "option" else []
    if where == "variable":
        monkeypatch.setenv("COLLAGE_TOKEN", "sesame")
    assert in_this_process(capsys, "serve", served_folder, "--port", "0", *given)[0] == 0
    assert main([str(served_folder), "--port", "0", *given]) == 0
    assert tokens == ["sesame", "sesame"]


def test_a_token_and_none_contradict_each_other(served_folder: Path):
    with pytest.raises(CollageError, match="a token and --no-token contradict each other"):
        serve(served_folder, token="sesame", no_token=True)


def test_without_waitress_its_command_is_named(served: ServedModel, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "collage_core.serving.http_server", None)
    with pytest.raises(CollageError) as caught:
        listen("127.0.0.1", 0, served, 1)
    assert (caught.value.message, caught.value.hint) == (
        "serving needs the package waitress, which is not installed",
        "pip install waitress",
    )


@pytest.mark.parametrize("interrupted", [True, False])
def test_an_inference_that_goes_on_does_not_hold_up_the_end(interrupted: bool, served_folder: Path, monkeypatch: pytest.MonkeyPatch):
    goes_on, begun, statuses = threading.Event(), threading.Event(), []

    def endless(_: object) -> dict[str, Any]:
        begun.set()
        goes_on.wait()
        return {}

    def interrupt(server: ModelServer) -> None:
        monkeypatch.setattr(server.model._artifact, "run", endless)
        threading.Thread(target=lambda: server.model._run({}), daemon=True).start()
        begun.wait()
        if interrupted:
            raise KeyboardInterrupt

    monkeypatch.setattr(launch, "LEAVE_S", 0.01)
    monkeypatch.setattr(launch.os, "_exit", statuses.append)
    monkeypatch.setattr(ModelServer, "serve_forever", interrupt)
    with pytest.raises(KeyboardInterrupt) if interrupted else nullcontext():
        serve(served_folder, port=0)
    goes_on.set()
    assert statuses == [130 if interrupted else 0]


def test_a_bound_of_less_than_a_megabyte_is_refused(served_folder: Path):
    with pytest.raises(CollageError, match="--most-mb is 0, it must be at least 1"):
        serve(served_folder, most_mb=0)
