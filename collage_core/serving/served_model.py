"""`ServedModel`: an artifact that answers inference requests, one after another, with what the protocol says about it.

A request's JSON and the bytes after it enter; an answer's JSON and bytes leave. The artifact belongs to one thread: toolchains keep a pool
of threads for each thread that calls them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

import numpy as np

from ..errors import CollageError
from ..graph.dataflow_graph import Tensor
from ..rewrite.runtime.shaped_artifact import ShapedArtifact, open_artifact
from .json_bounds import JsonBounds, parse_json
from .refusal import Refusal
from .tensors import DATATYPES, array_of, bytes_of, json_of

VERSION = "1"
MOST_WAITING = 64
"""Most requests that wait for their inference; the next one is refused."""
LEAST_BODY, MOST_BODY = 1 << 20, 64 << 20
"""Bounds of the bytes that a request may have unless the user says how many; `BYTES_AN_ELEMENT` for each element lie between."""
BYTES_AN_ELEMENT = 32
BYTES_A_VALUE = 8
"""A request for inputs of any shape may have one value for so many bytes of `MOST_BODY`, and one list for `BYTES_AN_ELEMENT`."""
SPARE_VALUES, SPARE_LISTS = 10_000, 1_000
"""Values and lists beside those of tensors: names, shapes, parameters."""
_USERS_MISTAKES = ("bad_inputs", "other_shape", "shape", "dtype")


class ServedModel:
    """An artifact with a thread of its own.

    Args:
        folder: The artifact.
        name: What clients call it; that of its model unless given.
        other_versions: As `Artifact` takes it.

    Attributes:
        notes: Those of the artifact.
        body_bytes: Most bytes of a request.
        json_bounds: How much its JSON may hold.

    Raises:
        CollageError: as `Artifact`; or a tensor of it cannot be sent by this protocol.
    """

    def __init__(self, folder: Path, name: str = "", other_versions: bool = False):
        self._thread = ThreadPoolExecutor(1, "collage-serve")
        self._room = BoundedSemaphore(MOST_WAITING)
        self._inferences: set[Future[dict[str, np.ndarray]]] = set()
        try:
            self._artifact = self._thread.submit(open_artifact, folder, other_versions=other_versions).result()
            for tensor in (*self._artifact.inputs, *self._artifact.outputs):
                if tensor.type.dtype not in DATATYPES:
                    reason = f"the tensor {tensor.name!r} is {tensor.type}, which the inference protocol has no datatype for"
                    raise CollageError(reason, "run the artifact from Python instead (docs/toolchains.md)", "dtype")
        except BaseException:
            self.close()
            raise
        self.name = name or _name_of(self._artifact.manifest.about, folder)
        self.notes = self._artifact.notes
        elements = sum(math.prod(tensor.type.shape) for tensor in self._artifact.inputs)
        self.body_bytes = min(max(LEAST_BODY, BYTES_AN_ELEMENT * elements), MOST_BODY)
        if isinstance(self._artifact, ShapedArtifact):
            self.body_bytes = MOST_BODY
        self.json_bounds = self._json_bounds()

    def close(self, within_s: float | None = None) -> bool:
        """End its thread; return whether it has ended, which an inference in progress may prevent for longer than `within_s`."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        return not wait(list(self._inferences), within_s).not_done

    def parse(self, text: bytes) -> object:
        """Return the JSON `text` of a request. Raises Refusal where it is none, or holds more than the inputs can need."""
        return parse_json(text, self.json_bounds)

    def metadata(self) -> dict[str, Any]:
        """Return what the protocol calls the metadata of a model; a dimension of -1 has any size."""
        inputs = [_described(tensor, self._varying(tensor)) for tensor in self._artifact.inputs]
        outputs = [_described(tensor, self._varying_output(tensor)) for tensor in self._artifact.outputs]
        return {"name": self.name, "versions": [VERSION], "platform": "collage_artifact", "inputs": inputs, "outputs": outputs}

    def infer(self, request: object, binary: bytes) -> tuple[dict[str, Any], bytes]:
        """Return the answer to an inference request, and the bytes of its binary tensors.

        Raises:
            Refusal: the request is not right, too many wait, or the inference failed.
        """
        asked, arrays = read_request(request, binary)
        outputs = self._asked_outputs(asked)
        if not self._room.acquire(blocking=False):
            raise Refusal(503, f"{MOST_WAITING} requests wait already: try again later")
        try:
            made = self._run(arrays)
        except CollageError as error:
            status = 400 if error.code in _USERS_MISTAKES else 500
            raise Refusal(status, f"{error.message}: {error.hint}" if error.hint and status == 400 else error.message) from error
        except MemoryError as error:
            raise Refusal(503, "the server has too little memory for this inference") from error
        except CancelledError as error:
            raise Refusal(503, "the server ends") from error
        finally:
            self._room.release()
        return self._answer(asked, outputs, made)

    def _run(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        inference = self._thread.submit(self._artifact.run, arrays)
        self._inferences.add(inference)
        try:
            return inference.result()
        finally:
            self._inferences.discard(inference)

    def _asked_outputs(self, asked: Mapping[str, Any]) -> dict[str, bool]:
        """Return the outputs to answer with; whether each is a binary tensor."""
        whole = _parameter(asked, "binary_data_output")
        names = [tensor.name for tensor in self._artifact.outputs]
        if "outputs" not in asked:
            return dict.fromkeys(names, whole)
        outputs = {}
        for entry in _entries(asked, "outputs"):
            name = entry.get("name")
            if name not in names:
                raise Refusal(400, f"the model has no output {name!r}; it has {', '.join(map(repr, names))}")
            outputs[str(name)] = _parameter(entry, "binary_data", whole)
        return outputs

    def _answer(self, asked: Mapping[str, Any], outputs: Mapping[str, bool], made: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        types = {tensor.name: DATATYPES[tensor.type.dtype] for tensor in self._artifact.outputs}
        told, parts = [], []
        for name, is_binary in outputs.items():
            array = np.asarray(made[name])
            entry: dict[str, Any] = {"name": name, "datatype": types[name], "shape": list(array.shape)}
            if is_binary:
                parts.append(bytes_of(array, types[name]))
                told.append({**entry, "parameters": {"binary_data_size": len(parts[-1])}})
            else:
                told.append({**entry, "data": json_of(name, array, types[name])})
        own = {"id": asked["id"]} if "id" in asked else {}
        return {"model_name": self.name, "model_version": VERSION, **own, "outputs": told}, b"".join(parts)

    def _json_bounds(self) -> JsonBounds:
        """Return how many values and lists a request can need: those of the largest shapes, nested as deep as these are."""
        shapes = [[tensor.type.shape for tensor in self._artifact.inputs]]
        if isinstance(self._artifact, ShapedArtifact):
            shapes += [list(box.values()) for box in self._artifact.manifest.boxes]
        elements = max(sum(map(math.prod, inputs)) for inputs in shapes)
        lists = max(sum(math.prod(shape[:axis]) for shape in inputs for axis in range(len(shape))) for inputs in shapes)
        if self._takes_any_shape():
            elements, lists = max(elements, MOST_BODY // BYTES_A_VALUE), max(lists, MOST_BODY // BYTES_AN_ELEMENT)
        return JsonBounds(elements + lists + SPARE_VALUES, lists + SPARE_LISTS)

    def _takes_any_shape(self) -> bool:
        """Return whether an input may have sizes that nobody planned for."""
        any_size = any(tensor.type.open_axes for tensor in self._artifact.inputs)
        return any_size or (isinstance(self._artifact, ShapedArtifact) and self._artifact.manifest.fallback is not None)

    def _varying(self, tensor: Tensor) -> frozenset[int]:
        """Return the dimensions of an input that may have several sizes."""
        if not isinstance(self._artifact, ShapedArtifact):
            return frozenset()
        manifest = self._artifact.manifest
        sizes = zip(*(box[tensor.name] for box in manifest.boxes), strict=True)
        dynamic = [one for entry in manifest.dynamic for one in entry.inputs if one.name == tensor.name]
        return frozenset(axis for axis, one in enumerate(sizes) if len(set(one)) > 1).union(*(one.type.open_axes for one in dynamic))

    def _varying_output(self, tensor: Tensor) -> frozenset[int]:
        is_varying = isinstance(self._artifact, ShapedArtifact)
        return frozenset(range(len(tensor.type.shape)) if is_varying else tensor.type.open_axes)


def read_request(request: object, binary: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return an inference request, and the arrays by input name that it brings; whether the model takes them is not checked.

    Raises:
        Refusal: it is no such request.
    """
    asked = _checked(request)
    return asked, _arrays(asked["inputs"], binary)


def _checked(request: object) -> dict[str, Any]:
    if not isinstance(request, dict):
        raise Refusal(400, f"the body is a JSON {type(request).__name__}, and not an object with 'inputs'")
    if "id" in request and not isinstance(request["id"], str):
        raise Refusal(400, "the 'id' is no text")
    if "inputs" not in request:
        raise Refusal(400, "the request has no 'inputs'")
    return request


def _entries(of: Mapping[str, Any], key: str) -> Sequence[dict[str, Any]]:
    found = of[key]
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise Refusal(400, f"the {key!r} must be a list of objects")
    return found


def _parameter(of: Mapping[str, Any], name: str, otherwise: bool = False) -> bool:
    """Return a parameter that is true or false."""
    parameters = of.get("parameters", {})
    found = parameters.get(name, otherwise) if isinstance(parameters, dict) else None
    if not isinstance(found, bool):
        raise Refusal(400, f"the parameter {name!r} must be true or false")
    return found


def _arrays(inputs: object, binary: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a request; its binary tensors follow one another, in the order of the inputs."""
    arrays: dict[str, np.ndarray] = {}
    start = 0
    for tensor in _entries({"inputs": inputs}, "inputs"):
        name = tensor.get("name")
        if not isinstance(name, str) or name in arrays:
            raise Refusal(400, f"an input is called {name!r}: each needs a name of its own")
        size = _binary_size(name, tensor)
        if size is None:
            arrays[name] = array_of(name, tensor, None)
            continue
        if start + size > len(binary):
            raise Refusal(400, f"the input {name!r} should have {size} bytes after the JSON, and there are {len(binary) - start}")
        arrays[name] = array_of(name, tensor, binary[start : start + size])
        start += size
    if start != len(binary):
        raise Refusal(400, f"there are {len(binary) - start} bytes after the JSON that belong to no input")
    return arrays


def _binary_size(name: str, tensor: Mapping[str, Any]) -> int | None:
    parameters = tensor.get("parameters", {})
    size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
    if size is None:
        return None
    if type(size) is not int or size < 0 or "data" in tensor:
        raise Refusal(400, f"the input {name!r} must have either 'data', or a whole number as its 'binary_data_size'")
    return size


def _described(tensor: Tensor, varying: frozenset[int]) -> dict[str, Any]:
    shape = [-1 if axis in varying else size for axis, size in enumerate(tensor.type.shape)]
    return {"name": tensor.name, "datatype": DATATYPES[tensor.type.dtype], "shape": shape}


def _name_of(about: Mapping[str, Any], folder: Path) -> str:
    model = about.get("model")
    name = model.get("name") if isinstance(model, dict) else None
    return str(name or folder.resolve().name or "model")
