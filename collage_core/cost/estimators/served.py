"""`ServedCosts`: costs that another program answers over HTTP, a tuner or a cache of a fleet. The contract is in docs/costs.md.

Candidates enter; one request for each distinct computation leaves, first with its hash alone, and with its model where the server asks
for that. An answer is checked before it is believed. A server may be slow or hang: all answers together have a time, after which costs are
unknown, and a run that is stopped waits for none.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import math
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...base.durations import duration
from ...base.validation import first_mistake
from ...errors import Cancelled, CollageError
from ...model.files.external_data import in_one_piece
from ...model.model import Model
from ...rules.candidate import CandidatePartition
from .function import NoCostsError, NotTakenError, UnknownCost

SCHEMA = 1
LONGEST_S = 3600.0
"""Longest that one answer may take: a server may tune before it answers."""
_LOOK_S = 0.05
"""How often a wait for an answer asks whether it must end."""
MOST_BYTES = 1 << 20
"""Most bytes of an answer."""


class Answer(BaseModel):
    """An answer of a server.

    Attributes:
        latency_s: Seconds of one run; None where the server does not know.
        invalid: Why the target cannot take it; empty where it can.
        needs: ``model`` where the server wants the model to answer.
        source: Where the cost is from, for the user, such as ``tuned for 60 s on a c7i``.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    schema_: Literal[1] = Field(alias="schema")
    latency_s: float | None = None
    invalid: str = ""
    needs: Literal["", "model"] = ""
    source: str = ""


class ServedCosts:
    """Asks a server; an object is a `CostFunction`.

    Args:
        url: Of the server, such as ``http://127.0.0.1:9200``.
        model: Cuts out the candidates.
        threads: Threads of every kernel.
        accuracy: Largest relative error that is accepted.
        should_stop: Asked often while an answer is waited for; True ends the work with `Cancelled`.
        limit_s: Longest that all answers together may take; None for no limit.
    """

    def __init__(
        self,
        url: str,
        model: Model,
        threads: int,
        accuracy: float,
        should_stop: Callable[[], bool] | None = None,
        limit_s: float | None = None,
    ):
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise CollageError(f"--costs {url!r} is no address of a cost server", "write http://HOST:PORT", "bad_option")
        self.__name__ = url
        self._should_stop = should_stop or (lambda: False)
        self._limit_s, self._waited_s = limit_s, 0.0
        self._model, self._terms = model, {"threads": threads, "accuracy": accuracy}
        self._host, self._port = parts.hostname, parts.port or 80
        self._path = f"{parts.path.rstrip('/')}/v{SCHEMA}/cost"

    def __call__(self, candidate: CandidatePartition) -> float | None:
        """Return the seconds of one run of `candidate`; None where the server does not know them.

        Raises:
            NoCostsError: the server cannot be reached, or its answer is no answer.
            NotTakenError: the server says that the target cannot take the candidate, and why.
            UnknownCost: the time for all answers is over.
            Cancelled: `should_stop` said so.
        """
        onnx = in_one_piece(self._model.cut(candidate.inside).onnx)
        request = {"schema": SCHEMA, "target": candidate.target, "key": hashlib.sha256(onnx).hexdigest(), **self._terms}
        answer = self._asked(request)
        if answer.needs:
            answer = self._asked({**request, "onnx": base64.b64encode(onnx).decode()})
        if answer.needs or (answer.latency_s is not None and not math.isfinite(answer.latency_s)):
            raise self._mistake("it asks for a model that it has, or gives no finite cost")
        if answer.invalid:
            raise NotTakenError(answer.invalid)
        return answer.latency_s

    def _asked(self, request: dict[str, Any]) -> Answer:
        body = json.dumps(request)
        try:
            data = self._waited_for(body)
        except (OSError, http.client.HTTPException) as error:
            said = f"the cost server {self.__name__!r} cannot be reached: {error}"
            raise NoCostsError(said, "start it, or check the address", "no_server") from error
        try:
            return Answer.model_validate_json(data)
        except ValidationError as error:
            raise self._mistake(str(first_mistake(error))) from error

    def _waited_for(self, body: str) -> bytes:
        """Return the answer to `body`, which a thread of its own waits for: a socket's own time limit begins anew with each byte."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=LONGEST_S)
        answer: Future[bytes] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._answered(connection, body))
            except BaseException as error:  # noqa: BLE001 - the thread that waits raises it
                answer.set_exception(error)

        began = time.monotonic()
        threading.Thread(target=ask, daemon=True).start()
        try:
            while True:
                waited_s = time.monotonic() - began
                with suppress(FutureTimeout):
                    return answer.result(_LOOK_S)
                if self._should_stop():
                    raise Cancelled
                if self._limit_s is not None and self._waited_s + waited_s > self._limit_s:
                    raise UnknownCost(f"the cost server {self.__name__!r} did not answer in the {duration(self._limit_s)} of --budget")
                if waited_s > LONGEST_S:
                    raise TimeoutError(f"no answer within {duration(LONGEST_S)}")
        finally:
            self._waited_s += time.monotonic() - began
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)

    def _answered(self, connection: http.client.HTTPConnection, body: str) -> bytes:
        """Return what the server answers; the connection is not kept, since the server may have another user."""
        try:
            connection.request("POST", self._path, body, {"Content-Type": "application/json", "Connection": "close"})
            response = connection.getresponse()
            data = response.read(MOST_BYTES + 1)
        finally:
            connection.close()
        if response.status != http.client.OK or len(data) > MOST_BYTES:
            raise self._mistake(f"it answers with status {response.status} and {len(data)} bytes")
        return data

    def _mistake(self, what: str) -> NoCostsError:
        return NoCostsError(f"the cost server {self.__name__!r} does not keep to the contract: {what}", "docs/costs.md has it", "bad_costs")
