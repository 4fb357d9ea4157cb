"""A cost server to start from: answers `--costs http://127.0.0.1:9200` with times of ONNX Runtime, and remembers them (docs/costs.md).

`python tools/cost_server.py [PORT]`. One request at a time, since it measures; for any target, since it shows the contract and no more.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from statistics import median
from typing import Any

import numpy as np
import onnxruntime

KNOWN: dict[tuple[str, str, int], float] = {}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Return the answer to one request."""
    key = request["target"], request["key"], request["threads"]
    if key not in KNOWN and "onnx" not in request:
        return {"schema": 1, "needs": "model"}
    try:
        KNOWN.setdefault(key, seconds(base64.b64decode(request["onnx"]), request["threads"]) if key not in KNOWN else 0.0)
    except Exception as error:  # noqa: BLE001 - whatever ONNX Runtime says is the reason
        return {"schema": 1, "invalid": str(error).splitlines()[0][:300]}
    return {"schema": 1, "latency_s": KNOWN[key], "source": "measured by ONNX Runtime"}


def seconds(model: bytes, threads: int) -> float:
    """Return the seconds of one run on random inputs: the median of ten."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    given = {one.name: random.standard_normal(one.shape).astype(np.float32) for one in session.get_inputs()}
    samples = []
    for _ in range(11):
        began = time.perf_counter()
        session.run(None, given)
        samples.append(time.perf_counter() - began)
    return median(samples[1:])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = json.dumps(answer(json.loads(body))).encode() if self.path == "/v1/cost" else b""
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing for each request."""


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 9200), Handler).serve_forever()
