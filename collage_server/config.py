"""`ServerConfig`: everything that can be set about the server, in one place. Plain data."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import Any

import psutil

from collage_core.base.access_token import new_token

from .worker.engine import COLLAGE, Engine

DEFAULT_PORT = 8765
MEMORY_SHARE = 0.75
"""Of the machine's memory: as much as a trial's worker may take."""


@dataclass(frozen=True)
class ServerConfig:
    """How the server is set up.

    Attributes:
        host: Address that it is bound to.
        hosts: Further names under which it may be asked (the ``Host`` header), such as that of a proxy.
        behind_proxy: So many proxies stand in front, each of which adds to the ``X-Forwarded-…`` headers, the path prefix among them.
        token: Whoever asks must bring it; a new one unless given, None for none.
        trust_local: Where there is no token, whoever asks from this machine may open programs, and models by their path.
        upload_bytes: Largest upload, all files together.
        upload_files: Most files in one upload.
        body_bytes: Largest JSON body.
        load_timeout_s: Longest that reading a model may take.
        load_memory_bytes: Most memory that reading a model may take, three quarters of the machine's unless given; None for no bound.
        waiting_runs: Most runs that may wait for the one that measures.
        engine: Does the work, in worker processes.
        model: Id of the model that the page opens when its address names nothing.
        run: Id of the run that it shows with that model.
    """

    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    behind_proxy: int = 0
    token: str | None = field(default_factory=new_token, repr=False)
    trust_local: bool = False
    upload_bytes: int = 2 << 30
    upload_files: int = 64
    body_bytes: int = 1 << 20
    load_timeout_s: float = 300.0
    load_memory_bytes: int | None = field(default_factory=lambda: int(psutil.virtual_memory().total * MEMORY_SHARE))
    waiting_runs: int = 20
    engine: Engine[Any] = COLLAGE
    model: str | None = None
    run: str | None = None

    @property
    def is_loopback(self) -> bool:
        """Return whether the server can be reached from this machine only."""
        return is_loopback(self.host)

    @property
    def is_reached_directly(self) -> bool:
        """Return whether nobody stands between the server and this machine's users: a proxy asks from this machine for anybody."""
        return self.is_loopback and not self.behind_proxy and not self.hosts


def is_loopback(host: str) -> bool:
    """Return whether `host` (a name or an address) is this machine itself."""
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
