"""`Connection`: the address of a fleet and the keys that protect it, with the settings of Dask that follow.

Mutual TLS protects every connection; only one that never leaves this machine may go without. Nothing here connects.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...base.extras import install_command
from ...base.home import expanded, home
from ...errors import CollageError

if TYPE_CHECKING:
    from distributed.security import Security

ROLES = ("scheduler", "worker", "client")
"""The three sides of a fleet, as Dask calls them; the client is a run."""
AUTHORITY = "ca.pem"
DEFAULT_PORT = 8786
CONNECT_S = 10.0
MOST_LOCAL = 64
_PAGES = ["distributed.http.statics", "distributed.http.scheduler.info"]
_ADDRESS = re.compile(r"(?:(?P<scheme>tcp|tls)://)?(?P<host>\[[^\]\s]+\]|[^:/\s\[\]]+)(?::(?P<port>[0-9]{1,5}))?")


@dataclass(frozen=True)
class Connection:
    """An address with the keys for it.

    Attributes:
        scheme: ``tls`` or ``tcp``.
        host: Name or IP address, without brackets.
        keys: Folder of the keys; None where there is no TLS, or Dask's own configuration names the keys.
    """

    scheme: str
    host: str
    port: int
    keys: Path | None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def security(self, role: str) -> Security:
        """Return what Dask needs to connect or to listen as `role`. Raises CollageError where a key is missing or damaged."""
        from distributed.security import Security

        if self.scheme == "tcp":
            return Security(require_encryption=False)
        files: dict[str, Any] = {}
        if self.keys is not None:
            files = {"tls_ca_file": str(self.keys / AUTHORITY), f"tls_{role}_cert": str(self.keys / f"{role}.pem")}
        try:
            security = Security(require_encryption=True, **files)
            context = security.get_connection_args(role)["ssl_context"]
        except OSError as error:  # a file that is absent or damaged; ssl.SSLError is one
            where = f"in {str(self.keys)!r}" if self.keys else "that Dask's configuration names"
            hint = "`collage fleet keys` makes them"
            raise CollageError(f"the keys of a {role} {where} cannot be used: {error}", hint, "bad_option") from error
        if context is None:
            hint = "`collage fleet keys` makes them; copy the folder here and name it with --keys"
            raise CollageError(f"{self} needs keys, and there are none", hint, "bad_option")
        return security


def connection(text: str, option: str, keys: Path | None = None) -> Connection:
    """Return the connection that `text`, the value of `option`, says: ``HOST:PORT``, with ``tls://`` or ``tcp://`` or without.

    Args:
        keys: Folder of the keys, else that in `home` if it is there. Without either, TLS has the keys of Dask's configuration.

    Raises:
        CollageError: it is no address, or it leaves this machine without TLS.
    """
    match = _ADDRESS.fullmatch(text)
    port = int(match["port"] or DEFAULT_PORT) if match else 0
    if match is None or not 0 <= port < 1 << 16:
        raise CollageError(f"{option} is {text[:200]!r}, it must be an address", "such as tls://rack-7:8786", "bad_option")
    host = match["host"].strip("[]")
    folder = own_keys() if keys is None else expanded(str(keys)).absolute()
    has_keys = (folder / AUTHORITY).is_file()
    if keys is not None and not has_keys:
        raise CollageError(f"there is no {AUTHORITY} in {str(keys)!r}", "`collage fleet keys` makes one", "no_file")
    scheme = match["scheme"] or ("tls" if has_keys or not is_loopback(host) else "tcp")
    if scheme == "tcp" and not is_loopback(host):
        said = f"{option} is {text!r}: without TLS, whoever reaches it could run anything on every worker"
        raise CollageError(said, "only loopback may go without; say tls:// and make keys with `collage fleet keys`", "bad_option")
    return Connection(scheme, host, port, folder if has_keys and scheme == "tls" else None)


def local_count(text: str) -> int | None:
    """Return N of ``local:N``, an embedded fleet; None for an address. Raises CollageError where it is no number from 1 on."""
    if not text.startswith("local:"):
        return None
    count = text.removeprefix("local:")
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= MOST_LOCAL):
        said = f"--fleet is {text[:200]!r}, it must be local:N for 1 to {MOST_LOCAL} workers on this machine"
        raise CollageError(said, "such as local:2", "bad_option")
    return int(count)


def check_fleet(text: str, keys: Path | None) -> None:
    """Raise CollageError where no run could use the fleet that `text`, the value of ``--fleet``, names."""
    check_installed()
    if local_count(text) is None:
        connection(text, "--fleet", keys).security("client")


def own_keys() -> Path:
    """Return the folder of keys that is used unless another one is named."""
    return home() / "fleet-keys"


def is_loopback(host: str) -> bool:
    """Return whether `host` is this machine itself, by its address or by the name localhost."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_installed() -> None:
    """Raise CollageError where the extra ``fleet`` is not installed."""
    if importlib.util.find_spec("distributed") is None or importlib.util.find_spec("cryptography") is None:
        raise CollageError("a fleet needs Dask and cryptography, which are not installed", install_command("fleet"), "not_installed")


def set_up_dask(*, has_pages: bool = False) -> None:
    """Import Dask and set what a process of a fleet needs: no profiler beside timings, no log, short waits, and pages only if asked for.

    Args:
        has_pages: A scheduler serves what its dashboard is made of.
    """
    import dask.config

    dask.config.set({
        "distributed.worker.profile.enabled": False,
        "distributed.worker.http.routes": [],
        "distributed.scheduler.http.routes": _PAGES if has_pages else [],
        "distributed.comm.timeouts.connect": f"{CONNECT_S:g}s",
    })  # fmt: skip
    importlib.import_module("distributed")  # It sets the levels of its log.
    for name in ("distributed", "distributed.client", "distributed.worker", "distributed.scheduler", "tornado.application"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
