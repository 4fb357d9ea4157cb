"""Mistakes at the command line of a fleet, and the keys that it makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.base.extras import install_command
from collage_core.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["worker"], "Missing option '--scheduler'"),
        (["worker", "--scheduler", "no where"], "--scheduler is 'no where', it must be an address"),
        (["worker", "--tracker", "a:1"], "name it with --scheduler ADDRESS"),
        (["partition", "x.onnx", "--targets", "tvm", "--tracker", "a:1"], "name it with --fleet ADDRESS"),
        (["partition", "mini_mnist", "--targets", "onnxruntime", "--fleet", "local:0"], "--fleet is 'local:0', it must be local:N"),
        (["partition", "mini_mnist", "--targets", "onnxruntime", "--fleet", "tcp://rack-7:1"], "--fleet is 'tcp://rack-7:1': without TLS"),
        (["partition", "mini_mnist", "--targets", "onnxruntime", "--fleet", "rack-7"], "tls://rack-7:8786 needs keys, and there are none"),
        (["worker", "--scheduler", "localhost:1", "--name", "x" * 61], "it must be at most 60 characters"),
        (["worker", "--scheduler", "localhost:1", "--host", "0.0.0.0"], "--host is '0.0.0.0': without TLS, everyone who reaches it"),
        (["worker", "--scheduler", "localhost:1", "--port", "70000"], "70000 is not in the range"),
        (["worker", "--scheduler", "rack-7"], "tls://rack-7:8786 needs keys, and there are none"),
        (["fleet", "scheduler", "--host", "0.0.0.0"], "tls://0.0.0.0:8786 needs keys, and there are none"),
        (["fleet", "scheduler", "--dashboard", "127.0.0.1:1"], "the dashboard needs bokeh, which is not installed"),
        (["fleet", "keys", "/proc/keys-of-a-fleet"], "cannot write keys into '/proc/keys-of-a-fleet'"),
    ],
)
def test_mistakes_at_the_command_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], own_home: Path):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert len(err.splitlines()) <= 3


def test_without_the_extra_one_line_says_what_installs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit):
        main(["worker", "--scheduler", "localhost:1"])
    assert capsys.readouterr().err.splitlines() == [
        "error: a fleet needs Dask and cryptography, which are not installed",
        f"hint: {install_command('fleet')}",
    ]


def test_keys_are_made_in_the_folder_of_the_user(own_home: Path, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        main(["fleet", "keys"])
    assert not ended.value.code
    assert (own_home / "fleet-keys" / "ca.pem").exists()
    assert "copy the folder to each of its machines, over ssh" in capsys.readouterr().out
