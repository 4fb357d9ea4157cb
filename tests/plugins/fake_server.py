"""Serves the app with the fake engine in a process of its own: prints its address, and ends with its input. ``fake_server.py [PORT]``."""

from __future__ import annotations

import os
import sys
import threading

from fake_engine import FakeEngine

from collage_core.base.access_token import ENVIRONMENT, token_of
from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.launch import listen, make_wsgi_server


def main() -> None:
    app, _ = create_app(ServerConfig(engine=FakeEngine(), token=token_of(os.environ.get(ENVIRONMENT))))
    listening = listen("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    server = make_wsgi_server(app, "127.0.0.1", listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
    sys.stdin.read()
    app.extensions["collage"].close()


if __name__ == "__main__":
    main()
