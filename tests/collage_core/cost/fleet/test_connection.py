"""Addresses, and the keys that they need."""

from __future__ import annotations

from pathlib import Path

import pytest

from collage_core.base.isolation.worker import Worker
from collage_core.cost.fleet.connection import connection, local_count, own_keys, set_up_dask
from collage_core.cost.fleet.keys import make_keys
from collage_core.errors import CollageError


@pytest.mark.parametrize(
    ("text", "keys", "shown"),
    [
        ("tls://rack-7:8786", False, "tls://rack-7:8786"),
        ("rack-7", False, "tls://rack-7:8786"),
        ("127.0.0.1:80", False, "tcp://127.0.0.1:80"),
        ("localhost:80", False, "tcp://localhost:80"),
        ("[::1]:80", False, "tcp://[::1]:80"),
        ("[2001:db8::7]:80", False, "tls://[2001:db8::7]:80"),
        ("127.0.0.1:80", True, "tls://127.0.0.1:80"),
        ("tcp://127.0.0.1:80", True, "tcp://127.0.0.1:80"),
    ],
)
def test_an_address_is_read_and_only_loopback_goes_without_tls(text: str, keys: bool, shown: str, own_home: Path):
    if keys:
        make_keys(own_keys())
    to = connection(text, "--fleet")
    assert str(to) == shown
    assert to.keys == (own_keys() if keys and shown.startswith("tls") else None)


@pytest.mark.parametrize("text", ["", ":9190", "host:", "host:65536", "host:-1", "host:x", "host:²", "http://a:1", "a b:1", "a:1/x"])
def test_what_is_no_address_is_refused(text: str, own_home: Path):
    with pytest.raises(CollageError, match="it must be an address"):
        connection(text, "--fleet")


@pytest.mark.parametrize("text", ["tcp://10.0.0.7:8786", "tcp://rack-7:8786", "tcp://0.0.0.0:8786", "tcp://localhost.example:1"])
def test_whatever_leaves_this_machine_without_tls_is_refused(text: str, own_home: Path):
    with pytest.raises(CollageError, match="without TLS, whoever reaches it could run anything on every worker") as caught:
        connection(text, "--fleet")
    assert "collage fleet keys" in caught.value.hint


def test_tls_without_keys_says_how_to_make_them(own_home: Path):
    pytest.importorskip("distributed")
    with pytest.raises(CollageError, match="tls://rack-7:8786 needs keys, and there are none") as caught:
        connection("rack-7", "--fleet").security("client")
    assert "`collage fleet keys` makes them" in caught.value.hint


@pytest.mark.parametrize("spoil", ["absent", "garbage"])
def test_keys_that_are_absent_or_damaged_are_named(tmp_path: Path, spoil: str):
    pytest.importorskip("distributed")
    make_keys(tmp_path / "keys")
    path = tmp_path / "keys" / "client.pem"
    path.unlink() if spoil == "absent" else path.write_text("garbage")
    to = connection("rack-7", "--fleet", tmp_path / "keys")
    assert to.security("worker")
    with pytest.raises(CollageError, match=r"the keys of a client in '.*keys' cannot be used"):
        to.security("client")
    with pytest.raises(CollageError, match=r"there is no ca\.pem in"):
        connection("rack-7", "--fleet", tmp_path)


@pytest.mark.parametrize(("text", "count"), [("local:1", 1), ("local:64", 64), ("127.0.0.1:1", None)])
def test_an_embedded_fleet_says_how_many_workers(text: str, count: int | None):
    assert local_count(text) == count


@pytest.mark.parametrize("text", ["local:", "local:0", "local:65", "local:-1", "local:two", "local:²"])
def test_an_embedded_fleet_of_no_number_is_refused(text: str):
    with pytest.raises(CollageError, match="it must be local:N for 1 to 64 workers"):
        local_count(text)


def test_only_a_scheduler_with_a_dashboard_serves_pages():
    """Its pages need style sheets and scripts of Dask, without which they are lists of links."""
    pytest.importorskip("distributed")
    with Worker() as worker:
        assert worker.call(routes, False, timeout_s=60) == []
        assert "distributed.http.statics" in worker.call(routes, True, timeout_s=60)


def routes(has_pages: bool) -> list[str]:
    import dask.config

    set_up_dask(has_pages=has_pages)
    return list(dask.config.get("distributed.scheduler.http.routes"))
