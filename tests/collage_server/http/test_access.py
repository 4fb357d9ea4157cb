"""Who gets in: with the token in the address, as a cookie, as a header; and who does not, however they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
import requests
import socketio
from fake_engine import FakeEngine
from flask import Flask
from flask.testing import FlaskClient

from collage_server.app import create_app
from collage_server.config import ServerConfig
from tests.helpers.live import DEADLINE_S, TOKEN, Live, bearer

BROWSER = {"Accept": "text/html,application/xhtml+xml", "Host": "127.0.0.1:8765"}
HINT = "open the address that it printed, or send the header Authorization: Bearer TOKEN"


@pytest.fixture(scope="module")
def config(home: object) -> ServerConfig:
    return ServerConfig(engine=FakeEngine(), token=TOKEN)


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    """A client that has nothing, as another account of this machine."""
    return FlaskClient(app)


@pytest.fixture
def browser(stranger: FlaskClient) -> FlaskClient:
    """A client that has followed the printed address."""
    assert stranger.get(f"/?token={TOKEN}", headers=BROWSER).status_code == 303
    return stranger


def routes(app: Flask) -> list[tuple[str, str]]:
    """Every route with a method of it, static files aside."""
    rules = [rule for rule in app.url_map.iter_rules() if rule.endpoint != "static"]
    arguments = {"model": "m", "run": "r", "key": "k", "number": 0, "name": "n", "partition": "p", "toolchain": "t"}
    with app.test_request_context():
        adapter = app.url_map.bind("")
        return [
            (method, adapter.build(rule.endpoint, {name: arguments.get(name, "x") for name in rule.arguments}, method=method))
            for rule in rules
            for method in sorted(rule.methods or ())
        ]


def test_no_route_answers_a_stranger(app: Flask, stranger: FlaskClient) -> None:
    asked = routes(app)
    assert len(asked) > 60
    for method, path in [*asked, ("GET", "/nothing"), ("POST", "/socket.io/"), ("GET", "/socket.io/?EIO=4")]:
        answer = stranger.open(path, method=method)
        assert answer.status_code == 401, (method, path)
        if method != "HEAD":
            assert answer.json == {"error": {"code": "no_token", "message": "this explorer asks for a token", "hint": HINT}}
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


def test_files_of_the_page_are_for_everybody(stranger: FlaskClient) -> None:
    assert stranger.get("/static/favicon.svg").status_code == 200
    assert stranger.get("/static/../api/v1/models").status_code == 404


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%00", "é"])
@pytest.mark.parametrize("way", ["header", "address", "cookie"])
def test_whatever_is_not_the_token(stranger: FlaskClient, token: str, way: str) -> None:
    headers = {"Authorization": f"Bearer {token}"} if way == "header" else {}
    if way == "cookie":
        headers = {"Cookie": f"collage-http={token}; collage-8765={token}"}
    answer = stranger.get(f"/api/v1/models{f'?token={token}' if way == 'address' else ''}", headers=headers)
    assert (answer.status_code, answer.json["error"]["hint"]) == (401, HINT)
    assert answer.json["error"]["code"] in ("no_token", "wrong_token")


def test_a_wrong_token_is_told_from_none(stranger: FlaskClient) -> None:
    wrong = stranger.get("/api/v1/models", headers=bearer("wrong"))
    assert (wrong.json["error"]["code"], wrong.json["error"]["message"]) == ("wrong_token", "the token is not that of this explorer")


def test_programs_send_a_header(stranger: FlaskClient) -> None:
    assert stranger.get("/api/v1/models", headers=bearer(TOKEN)).status_code == 200


def test_the_address_is_exchanged_for_a_cookie_and_loses_the_token(stranger: FlaskClient) -> None:
    answer = stranger.get(f"/?model=m&token={TOKEN}&group=nothing", headers=BROWSER)
    assert (answer.status_code, answer.headers["Location"]) == (303, "./?model=m&group=nothing")
    (cookie,) = answer.headers.getlist("Set-Cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith("collage-8765=")
    assert TOKEN not in cookie
    assert sorted(attributes) == ["HttpOnly", "SameSite=Lax"]
    assert stranger.get("/api/v1/models", headers=BROWSER).status_code == 200
    assert stranger.get("/?model=m", headers=BROWSER).status_code in (200, 503)  # a link that is shared; 503 where no page is built
    assert stranger.get(f"/?token={TOKEN}", headers=BROWSER).headers["Location"] == "./"


def test_explorers_on_other_ports_have_cookies_of_their_own(browser: FlaskClient) -> None:
    assert browser.get("/api/v1/models", headers={**BROWSER, "Host": "127.0.0.1:8766"}).status_code == 401


def test_after_a_restart_with_the_same_token_the_cookie_is_good(browser: FlaskClient, config: ServerConfig) -> None:
    again, _ = create_app(config)
    other, _ = create_app(ServerConfig(engine=FakeEngine()))
    (cookie,) = browser._cookies.values()  # type: ignore[union-attr]
    kept = {**BROWSER, "Cookie": f"{cookie.key}={cookie.value}"}
    assert FlaskClient(again, use_cookies=False).get("/api/v1/models", headers=kept).status_code == 200
    assert FlaskClient(other, use_cookies=False).get("/api/v1/models", headers=kept).status_code == 401
    for made in (again, other):
        made.extensions["collage"].close()


def test_a_browser_without_the_token_is_told_how_to_get_in(stranger: FlaskClient) -> None:
    page = stranger.get("/?model=<m>", headers=BROWSER)
    assert (page.status_code, page.mimetype) == (401, "text/html")
    assert "Open the address that <code>collage explore</code> printed" in page.text
    assert '<input type="hidden" name="model" value="&lt;m&gt;">' in page.text
    assert "is not that of this explorer" not in page.text
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    assert "is not that of this explorer" in stranger.get("/?token=wrong", headers=BROWSER).text
    for path, way in (("/", "./"), ("/netron/?x=y", "../"), ("/nothing", "./"), ("/a/b/c", "../../")):
        elsewhere = stranger.get(path, headers=BROWSER)
        assert (elsewhere.status_code, elsewhere.mimetype) == (401, "text/html")
        assert f'<form action="{way}" method="get">' in elsewhere.text
        assert "hidden" not in elsewhere.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_tab_of_another_site_gets_nothing_with_the_cookie(browser: FlaskClient, site: str) -> None:
    """Another port of this machine is the same site: its browser sends the cookie, whatever its `SameSite`."""
    for headers in ({"Sec-Fetch-Site": site}, {"Origin": "http://127.0.0.1:9999"}, {"Origin": "null"}):
        for method, path in (("GET", "/api/v1/models"), ("POST", "/api/v1/models"), ("GET", "/socket.io/?EIO=4&transport=polling")):
            answer = browser.open(path, method=method, headers={**BROWSER, **headers})
            assert (answer.status_code, answer.json["error"]["code"]) == (403, "foreign_origin")
    rebound = browser.get("/api/v1/models", headers={**BROWSER, "Host": "evil.example:8765"})
    assert (rebound.status_code, rebound.json["error"]["code"]) == (403, "foreign_host")


@pytest.fixture
def behind(home: object) -> Iterator[Callable[..., FlaskClient]]:
    """Makes strangers to an explorer behind so many proxies."""
    apps = list[Flask]()

    def make(hops: int) -> FlaskClient:
        config = ServerConfig(engine=FakeEngine(), hosts=("tools.example",), behind_proxy=hops, token=TOKEN)
        apps.append(create_app(config)[0])
        return FlaskClient(apps[-1], use_cookies=False)

    yield make
    for app in apps:
        app.extensions["collage"].close()


FORWARDED = {"X-Forwarded-Host": "tools.example", "X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/tools/collage"}


def test_behind_a_proxy(behind: Callable[..., FlaskClient]) -> None:
    client = behind(1)
    page = client.get(f"/tools/collage/?token={TOKEN}&run=r", headers={**BROWSER, **FORWARDED})
    assert (page.status_code, page.headers["Location"]) == (303, "./?run=r")
    (cookie,) = page.headers.getlist("Set-Cookie")
    assert cookie.startswith("collage-https=")
    assert sorted(cookie.split("; ")[1:]) == ["HttpOnly", "SameSite=Lax", "Secure"]
    kept = {**FORWARDED, "Cookie": cookie.split(";")[0]}
    assert client.get("/api/v1/models", headers=kept).status_code == 200
    assert FlaskClient(client.application).get("/api/v1/models", headers=FORWARDED).status_code == 401


def test_each_proxy_counts(behind: Callable[..., FlaskClient]) -> None:
    """Of two proxies the last adds a value to each header: the first of the two is that of the client, as the outer one saw it."""
    forwarded = {"X-Forwarded-Host": "evil.example, tools.example, inner.example", "X-Forwarded-For": "9.9.9.9, 10.0.0.1, 10.0.0.2"}
    assert behind(2).get("/api/v1/models", headers={**forwarded, **bearer(TOKEN)}).status_code == 200
    refused = behind(1).get("/api/v1/models", headers={**forwarded, **bearer(TOKEN)})
    assert (refused.status_code, refused.json["error"]["code"]) == (403, "foreign_host")


def test_no_token_is_asked_for(home: object) -> None:
    app, _ = create_app(ServerConfig(engine=FakeEngine(), token=None))
    assert app.test_client().get("/api/v1/models").status_code == 200
    app.extensions["collage"].close()


def test_sockets_ask_for_the_token(live: Live) -> None:
    client = socketio.Client(reconnection=False)
    for transport in ("websocket", "polling"):
        with pytest.raises(socketio.exceptions.ConnectionError):
            client.connect(live.address, transports=[transport])
    with requests.Session() as session:
        assert session.get(f"{live.address}?token={TOKEN}", timeout=DEADLINE_S).url == live.address
        names = [cookie.name for cookie in session.cookies]
        assert names == [f"collage-{urlsplit(live.address).port}"]
        client = socketio.Client(reconnection=False, http_session=session)
        client.connect(live.address, transports=["websocket"])
        assert client.connected
        client.disconnect()
