"""The fixtures of the server's tests, for the documents that are compared with a running app."""

from tests.collage_server.conftest import app, config, home, module_patch

__all__ = ["app", "config", "home", "module_patch"]
