"""A client of `collage serve`: asks what the model takes, and sends it zeros as binary tensors.

collage serve FOLDER
python examples/serve_client.py http://127.0.0.1:8080/v2/models/NAME
"""

from __future__ import annotations

import json
import sys
import urllib.request

import numpy as np

NUMPY = {"FP32": "float32", "FP64": "float64", "FP16": "float16", "INT64": "int64", "INT32": "int32", "UINT8": "uint8", "BOOL": "bool"}


def inputs_of(address: str) -> dict[str, np.ndarray]:
    """Return zeros for each input of the model; a dimension of any size is one."""
    with urllib.request.urlopen(address) as answer:
        metadata = json.load(answer)
    return {one["name"]: np.zeros([max(size, 1) for size in one["shape"]], NUMPY[one["datatype"]]) for one in metadata["inputs"]}


def infer(address: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the model's outputs by name."""
    said = {dtype: name for name, dtype in NUMPY.items()}
    sent = [
        {"name": name, "datatype": said[array.dtype.name], "shape": array.shape, "parameters": {"binary_data_size": array.nbytes}}
        for name, array in inputs.items()
    ]
    text = json.dumps({"inputs": sent, "parameters": {"binary_data_output": True}}).encode()
    body = text + b"".join(array.tobytes() for array in inputs.values())
    request = urllib.request.Request(f"{address}/infer", body, {"Inference-Header-Content-Length": str(len(text))})
    with urllib.request.urlopen(request) as answer:
        told = json.loads(answer.read(int(answer.headers["Inference-Header-Content-Length"])))
        parts = [(one, answer.read(one["parameters"]["binary_data_size"])) for one in told["outputs"]]
    return {one["name"]: np.frombuffer(part, NUMPY[one["datatype"]]).reshape(one["shape"]) for one, part in parts}


if __name__ == "__main__":
    for name, array in infer(sys.argv[1], inputs_of(sys.argv[1])).items():
        print(name, array.dtype, array.shape)
