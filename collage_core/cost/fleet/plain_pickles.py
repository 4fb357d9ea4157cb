"""`restrict`: from now on Dask unpickles plain data alone in this process, whoever sent it.

Dask's messages hold pickles, and a pickle can have any function called. Here each name in one stands for `Refused`, which does nothing.
So a peer that lies can make an answer invalid, and no more.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

_PLAIN = {("builtins", "bytes"): bytes, ("builtins", "bytearray"): bytearray}


class Refused:
    """Stands for any object that a pickle asks for and that is no plain data."""

    def __new__(cls, *args: Any, **keywords: Any) -> Refused:
        return super().__new__(cls)

    def __init__(self, *args: Any, **keywords: Any) -> None: ...

    def __setstate__(self, state: object) -> None: ...


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _PLAIN.get((module, name), Refused)


def loads(data: Any, *, buffers: Iterable[Any] = ()) -> Any:
    """Return the plain data that `data` holds; `Refused` for everything else, and for what is no pickle."""
    try:
        return _PlainUnpickler(io.BytesIO(data), buffers=buffers).load()
    except Exception:  # noqa: BLE001 - bytes of a stranger may fail in any way, and all of them are refused
        return Refused()


def restrict() -> None:
    """Put `loads` wherever Dask's client unpickles."""
    import distributed.client
    import distributed.protocol.pickle

    distributed.protocol.pickle.loads = loads
    distributed.client.loads = loads
    distributed.client.pickle = SimpleNamespace(loads=loads, dumps=pickle.dumps)  # type: ignore[assignment]
