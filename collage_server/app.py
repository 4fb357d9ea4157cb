"""`create_app`: makes the Flask application with its routes, its sockets, and the check of who may ask.

A `ServerConfig` enters; an app that any WSGI server with threads can run leaves, and its Socket.IO.
``app.extensions["collage"]`` holds the `Services`, which the caller closes.
"""

from __future__ import annotations

from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from flask_socketio import SocketIO
from werkzeug.middleware.proxy_fix import ProxyFix

from .config import ServerConfig
from .http import access, error_answers, security
from .http.answers import JSON_BYTES
from .routes import (
    described_routes,
    drawing_routes,
    layout_routes,
    model_routes,
    netron,
    page,
    query_routes,
    report_routes,
    run_routes,
    sample_routes,
    session_routes,
    sockets,
    storage,
    toolchain_routes,
    trace_routes,
    view_routes,
)
from .services import attach, make
from .streaming import bounds

API = "/api/v1"


def create_app(config: ServerConfig | None = None) -> tuple[Flask, SocketIO]:
    """Make an app, and its Socket.IO, set up as `config` says.

    Raises:
        CollageError: the folder in which everything is kept cannot be written.
    """
    config = config or ServerConfig()
    services = make(config)
    app = Flask(__name__)
    app.request_class = model_routes.UploadRequest
    app.config["MAX_CONTENT_LENGTH"] = config.upload_bytes
    app.config[JSON_BYTES] = config.body_bytes
    attach(app, services)
    for module in (
        model_routes,
        view_routes,
        drawing_routes,
        layout_routes,
        run_routes,
        query_routes,
        trace_routes,
        report_routes,
        toolchain_routes,
        described_routes,
        sample_routes,
        session_routes,
        storage,
    ):
        app.register_blueprint(module.blueprint, url_prefix=API)
    app.register_blueprint(netron.models, url_prefix=API)
    app.register_blueprint(netron.blueprint)
    app.register_blueprint(page.blueprint)
    app.after_request(page.set_asset_headers)
    error_answers.register(app)
    socketio = SocketIO(
        app,
        async_mode="threading",
        async_handlers=False,  # else each message starts a thread
        cors_allowed_origins=security.socket_origins(),
        max_http_buffer_size=bounds.MESSAGE_BYTES,
    )
    services.on_close.append(sockets.register(socketio, services).close)
    app.wsgi_app = bounds.bound_sockets(socketio)(app.wsgi_app)  # type: ignore[method-assign]
    sign_in = app.jinja_env.get_template("sign_in.html").render
    app.wsgi_app = access.AccessGate(app.wsgi_app, config.token, sign_in)  # type: ignore[method-assign]
    if config.token is not None:
        app.test_client_class = _own_client(config.token)
    app.wsgi_app = security.Gatekeeper(app.wsgi_app, config)  # type: ignore[method-assign]
    if hops := config.behind_proxy:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops, x_prefix=hops)  # type: ignore[method-assign]
    return app, socketio


def _own_client(token: str) -> type[FlaskClient]:
    """Return the class of the app's clients in this process, such as that of a report."""

    class OwnClient(FlaskClient):
        def __init__(self, *args: Any, **options: Any):
            super().__init__(*args, **options)
            self.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"

    return OwnClient
