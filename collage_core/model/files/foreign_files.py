"""Says what a file is that is no ONNX model, and what to do instead. Nothing in it is run, and no pickle is read.

The first bytes of a file and its path enter; a description and advice leave.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...base.model_file import is_tflite


@dataclass(frozen=True)
class Foreign:
    """A file that is no ONNX model.

    Attributes:
        what: What it is, as the end of "it is …".
        hint: What to do instead.
    """

    what: str
    hint: str


_FROM_PYTORCH = "build the network in Python, load the weights into it, and export it: `torch.onnx.export(model, inputs, 'model.onnx')`"
_FROM_KERAS = "load it in Keras and export it: `model.export('model.onnx', format='onnx')`"
_FROM_FOLDER = "export the network that the weights belong to, such as with `optimum-cli export onnx --model FOLDER OUT`"
_ORIGINAL = "nothing converts it to ONNX: give the ONNX model that it was made from"

_SIGNATURES: tuple[tuple[int, bytes, Foreign], ...] = (
    (0, b"\x89HDF", Foreign("an HDF5 file (Keras saves such files)", _FROM_KERAS)),
    (4, b"ORTM", Foreign("a model in ONNX Runtime's own format (.ort)", _ORIGINAL)),
    (0, b"GGUF", Foreign("a GGUF file: weights for llama.cpp, without a graph", _FROM_FOLDER)),
    (0, b"\x1f\x8b", Foreign("a gzip archive", "unpack it, and name the .onnx file in it")),
    (0, b"7767517\n", Foreign("an ncnn parameter file", _ORIGINAL)),
    (0, b"version https://git-lfs", Foreign("a Git LFS pointer, not the file that it points to", "fetch the file: `git lfs pull`")),
)
_PICKLE = Foreign("a Python pickle (PyTorch saves such files): it holds no graph, and reading one may run any code", _FROM_PYTORCH)
_OTHER = "export the model to ONNX first"
_FROZEN = Foreign(
    "a frozen graph of TensorFlow",
    "convert it: `python -m tf2onnx.convert --graphdef FILE --inputs IN:0 --outputs OUT:0 --output model.onnx`",
)

_ENDINGS: Mapping[str, Foreign] = {
    ".pt": _PICKLE,
    ".pth": _PICKLE,
    ".ckpt": _PICKLE,
    ".pkl": _PICKLE,
    ".bin": Foreign("a file of weights without a graph", _FROM_FOLDER),
    ".msgpack": Foreign("a file of weights, as Flax saves them", _FROM_FOLDER),
    ".mlmodel": Foreign("a Core ML model", _ORIGINAL),
    ".caffemodel": Foreign("weights of Caffe", _ORIGINAL),
    ".prototxt": Foreign("a network of Caffe as text", _ORIGINAL),
    ".pdmodel": Foreign("a program of Paddle", "convert it: `paddle2onnx --model_dir FOLDER --save_file model.onnx`"),
    ".engine": Foreign("an engine of TensorRT", _ORIGINAL),
    ".mnn": Foreign("a model of MNN", _ORIGINAL),
}
"""Ending of a file whose content tells nothing → what files that are called so usually are."""

_GRAPH_DEF = re.compile(rb"\n[\x80-\xff]{0,4}[\x00-\x7f]\n([\x01-\x7f])")
"""A TensorFlow graph begins with a node, and that with its name. No ONNX model does: its first field is a number."""


def recognise(head: bytes, path: Path) -> Foreign | None:
    """Return what the file at `path`, which begins with `head`, is; None where it is not known to be anything else than ONNX."""
    for at, mark, known in _SIGNATURES:
        if head[at : at + len(mark)] == mark:
            return known
    return next((kind for check in _CHECKS if (kind := check(head, path)) is not None), None)


def recognise_ending(path: Path) -> Foreign | None:
    """Return what files with the extension of `path`, which is no ONNX model, usually are; None for an unknown extension."""
    return _ENDINGS.get(path.suffix.lower())


def _zip(head: bytes, path: Path) -> Foreign | None:
    if not head.startswith(b"PK\x03\x04"):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name.partition("/")[2] or name for name in archive.namelist()[:10_000]]
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError):
        return Foreign("a zip archive (PyTorch and Keras save such files)", _OTHER)
    if any(name.startswith("models/") or name == "serialized_exported_program.json" for name in names):
        return Foreign("a program of torch.export under another ending", "let its name end in .pt2")
    if "data.pkl" in names:
        if any(name.startswith("code/") for name in names):
            return Foreign("a TorchScript program of PyTorch", _FROM_PYTORCH)
        return Foreign("a checkpoint of PyTorch: pickled weights without a graph", _FROM_PYTORCH)
    if "model.weights.h5" in names:
        return Foreign("a model of Keras", _FROM_KERAS)
    return Foreign("a zip archive (PyTorch and Keras save such files)", "unpack it, and name the .onnx file in it")


def _pickle(head: bytes, path: Path) -> Foreign | None:
    return _PICKLE if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05") else None


def _safetensors(head: bytes, path: Path) -> Foreign | None:
    is_header = len(head) > 9 and head[8:9] == b"{" and 2 <= int.from_bytes(head[:8], "little") <= 100 << 20
    return Foreign("a file of safetensors: weights without a graph", _FROM_FOLDER) if is_header else None


def _text(head: bytes, path: Path) -> Foreign | None:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start.startswith(b"<"):
        if b"<net" in start and b"<layer" in start:
            hint = "nothing converts it to ONNX: give the model that it was made from; the target openvino runs that"
            return Foreign("a saved model of OpenVINO (IR)", hint)
        return Foreign("text (XML or HTML)", _OTHER)
    return Foreign("text (JSON)", _OTHER) if start.startswith(b"{") else None


def _tflite(head: bytes, path: Path) -> Foreign | None:
    return Foreign("a TensorFlow Lite model", "leave --ir out: it is read as a Relax module") if is_tflite(head) else None


def _saved_model(head: bytes, path: Path) -> Foreign | None:
    if path.name != "saved_model.pb":
        return None
    return Foreign("a SavedModel of TensorFlow", "convert it: `python -m tf2onnx.convert --saved-model FOLDER --output model.onnx`")


def _graph_def(head: bytes, path: Path) -> Foreign | None:
    match = _GRAPH_DEF.match(head)
    if match is None:
        return None
    end = match.end() + match[1][0]
    return _FROZEN if head[end : end + 1] == b"\x12" and head[match.end() : end].isascii() else None


_CHECKS: tuple[Callable[[bytes, Path], Foreign | None], ...] = (_zip, _pickle, _safetensors, _text, _tflite, _saved_model, _graph_def)
