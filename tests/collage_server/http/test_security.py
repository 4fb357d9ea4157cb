"""Who may ask: hosts, origins, sockets, headers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import requests
import socketio
from fake_engine import FakeEngine
from flask import Flask

from collage_server.app import create_app
from collage_server.config import ServerConfig, is_loopback
from collage_server.http.security import host_name
from tests.helpers.live import Live

EMPTY = "/api/v1/runs/none/cancel"


def client_status(app: Flask, method: str = "GET", path: str = "/api/v1/models", **headers: str) -> tuple[int, str]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = app.test_client().open(path, method=method, headers=named)
    return answer.status_code, (answer.json or {}).get("error", {}).get("code", "")


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST"])
def test_own_hosts(app: Flask, host: str) -> None:
    assert client_status(app, Host=host) == (200, "")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[", "a]b:1"])
def test_foreign_hosts(app: Flask, host: str) -> None:
    assert client_status(app, Host=host) == (403, "foreign_host")


def test_foreign_host_is_quoted(app: Flask) -> None:
    error = app.test_client().get("/", headers={"Host": "evil.example"}).json["error"]
    assert error["message"] == "this server does not answer for the host 'evil.example'"
    assert error["hint"] == "use the address that it printed"


@pytest.mark.parametrize(
    "origin", ["http://localhost:8000", "http://127.0.0.1:5000", "https://evil.example", "null", "garbage", "http://["]
)
def test_foreign_origins_change_nothing(app: Flask, origin: str) -> None:
    assert client_status(app, "POST", EMPTY, Host="127.0.0.1:8000", Origin=origin) == (403, "foreign_origin")
    assert client_status(app, "DELETE", "/api/v1/runs/none", Host="127.0.0.1:8000", Origin=origin) == (403, "foreign_origin")


def test_own_origin_and_programs(app: Flask) -> None:
    assert client_status(app, "POST", EMPTY, Host="127.0.0.1:8000", Origin="http://127.0.0.1:8000") == (404, "unknown_run")
    assert client_status(app, "POST", EMPTY, Host="127.0.0.1:8000") == (404, "unknown_run")


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 404), ("none", 404)])
def test_a_browser_that_says_where_it_comes_from(app: Flask, site: str, status: int) -> None:
    assert client_status(app, "POST", EMPTY, Sec_Fetch_Site=site)[0] == status


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
def test_reads_of_another_site_are_refused_as_writes_are(app: Flask, site: str, status: int) -> None:
    """Some reads start processes. `no-cors` is what an image or a script of that site would be."""
    assert client_status(app, Sec_Fetch_Site=site, Sec_Fetch_Mode="no-cors", Sec_Fetch_Dest="image")[0] == status
    assert client_status(app, Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="document")[0] == status
    assert client_status(app, path="/", Sec_Fetch_Site=site, Sec_Fetch_Mode="navigate", Sec_Fetch_Dest="iframe")[0] == status


def test_reads_of_another_origin_are_refused(app: Flask) -> None:
    assert client_status(app, Host="127.0.0.1:8000", Origin="http://localhost:8000") == (403, "foreign_origin")


def test_a_link_to_the_page_may_stand_in_another_site(app: Flask) -> None:
    opened = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert client_status(app, path="/", **opened)[0] == 200


def test_headers(app: Flask) -> None:
    for path in ("/", "/api/v1/models", "/nothing", "/static/nothing"):
        headers = app.test_client().get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "script-src 'self';" in policy
        assert "http" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert app.test_client().get("/", headers={"Host": "evil.example"}).headers["X-Content-Type-Options"] == "nosniff"


def test_sockets_of_another_origin(live: Live) -> None:
    polling = {"EIO": "4", "transport": "polling"}
    for origin in ("http://evil.example", live.address.replace("127.0.0.1", "localhost").rstrip("/")):
        client = socketio.Client(reconnection=False, websocket_extra_options={"origin": origin})
        with pytest.raises(socketio.exceptions.ConnectionError):
            client.connect(live.address, live.headers, transports=["websocket"])
        refused = requests.get(live.address + "socket.io/", params=polling, headers={"Origin": origin}, timeout=10)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "foreign_origin")
    refused = requests.get(live.address + "socket.io/", params=polling, headers={"Host": "evil.example"}, timeout=10)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "foreign_host")


def test_sockets_of_the_own_origin(live: Live) -> None:
    client = socketio.Client(reconnection=False, websocket_extra_options={"origin": live.address.rstrip("/")})
    client.connect(live.address, live.headers, transports=["websocket"])
    assert client.connected
    client.disconnect()


@pytest.fixture
def open_app(home: object) -> Iterator[Flask]:
    made, _ = create_app(ServerConfig(host="0.0.0.0", hosts=("tools.example",), behind_proxy=True, engine=FakeEngine()))
    yield made
    made.extensions["collage"].close()


def test_bound_to_everything(open_app: Flask) -> None:
    """Addresses cannot be pointed elsewhere, names can: those that were given are known, others are not."""
    assert client_status(open_app, Host="10.1.2.3:8765") == (200, "")
    assert client_status(open_app, Host="tools.example") == (200, "")
    assert client_status(open_app, Host="evil.example") == (403, "foreign_host")
    answer = open_app.test_client().post("/api/v1/models", json={"path": "/etc/passwd"})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "local_paths_off")


def test_behind_a_proxy(open_app: Flask) -> None:
    forwarded = {"X-Forwarded-Host": "tools.example", "X-Forwarded-Proto": "https", "Host": "127.0.0.1:8765"}
    assert client_status(open_app, "POST", EMPTY, **forwarded, Origin="https://tools.example") == (404, "unknown_run")
    assert client_status(open_app, "POST", EMPTY, **forwarded, Origin="https://evil.example") == (403, "foreign_origin")


def test_forwarded_headers_mean_nothing_without_a_proxy(app: Flask) -> None:
    assert client_status(app, Host="evil.example", X_Forwarded_Host="localhost") == (403, "foreign_host")


@pytest.mark.parametrize(
    ("host", "loopback"), [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("::ffff:127.0.0.1", True), ("localhost", True)]
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example", ""])
def test_no_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_host_name() -> None:
    assert host_name("[::1]:80") == "::1"
    assert host_name("a:b") == "a"
    assert host_name("[") is None
