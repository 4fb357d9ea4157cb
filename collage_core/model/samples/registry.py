"""The sample models by name, and the files that they become.

Enters: whatever the user gave for MODEL. Leaves: the path of a file. A sample is built when it is first asked for, under
`COLLAGE_HOME`, and again when its version changes.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from onnx import ModelProto

from ...base.home import home
from ...errors import CollageError
from . import convolutional, quantised, recurrent, transformers


@dataclass(frozen=True)
class Sample:
    """A model that comes with the explorer, built by code.

    Attributes:
        name: As in ``collage partition NAME``.
        title: For people.
        description: One sentence.
        build: Makes it; the same bytes every time and everywhere.
        aliases: Other names that are accepted.
        version: Rises when `build` makes something else than before.
    """

    name: str
    title: str
    description: str
    build: Callable[[], ModelProto]
    aliases: tuple[str, ...] = ()
    version: int = 1


_ALL = (
    Sample(
        "mini_mnist",
        "mini-MNIST",
        "The eight nodes of RFC 62: pad, convolution, add, ReLU, pool, reshape, dense, add.",
        convolutional.mini_mnist,
    ),
    Sample("mnist", "MNIST", "RFC 62's digit classifier: two convolutional layers, 12 nodes.", convolutional.mnist),
    Sample(
        "squeezenet", "SqueezeNet 1.1", "Eight fire modules: small convolutions side by side.", convolutional.squeezenet, ("squeezenet1.1",)
    ),
    Sample(
        "resnet50", "ResNet-50", "Sixteen bottleneck blocks, batch norms still nodes of their own.", convolutional.resnet50, ("resnet",)
    ),
    Sample(
        "inception",
        "Inception modules",
        "GoogLeNet's stem and four modules of four branches each.",
        convolutional.inception,
        ("googlenet",),
    ),
    Sample("gpt2", "GPT-2 block", "One block of the real size: 768 wide, 12 heads, 128 tokens.", transformers.gpt2, ("gpt2_block",)),
    Sample(
        "bert", "BERT-base layers", "Two encoder layers of the real size on 128 tokens.", transformers.bert, ("bert_base", "bert_layers")
    ),
    Sample("lstm", "LSTM tagger", "Embedding, bidirectional LSTM, linear layer and softmax.", recurrent.lstm, ("lstm_tagger",)),
    Sample(
        "quantised",
        "Quantised network",
        "Four convolutions in 8 bits with quantise and dequantise nodes.",
        quantised.quantised,
        ("quantized", "qdq", "quantised_cnn", "quantized_cnn", "int8"),
    ),
)

SAMPLES: dict[str, Sample] = {sample.name: sample for sample in _ALL}
"""The samples, in the order in which they are listed."""


def _plain(name: str) -> str:
    """A name without what is not told apart: case, ``-``, ``_`` and spaces."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


_BY_ALIAS = {_plain(alias): sample for sample in _ALL for alias in (sample.name, *sample.aliases)}


def list_samples() -> list[Sample]:
    """All samples, simplest first."""
    return list(_ALL)


def find_sample(source: str) -> Sample | None:
    """The sample of that name or alias, if there is one."""
    return _BY_ALIAS.get(_plain(source))


def resolve(source: str) -> Path:
    """The file that MODEL stands for: an existing file as it is, a sample's name as its file, built on demand.

    Raises:
        CollageError: it is neither.
    """
    path = Path(source)
    sample = find_sample(source)
    if sample is not None and not path.is_file():
        return _built(sample)
    # What looks like a path is left to the loader, which says what is wrong with it.
    if not path.exists() and path.suffix == "" and path.name == source:
        names = ", ".join(SAMPLES)
        raise CollageError(f"{source!r} is neither a file nor a sample model", f"the samples are {names}", "no_file")
    return path


def _built(sample: Sample) -> Path:
    folder = home() / "samples" / f"v{sample.version}"
    path = folder / f"{sample.name}.onnx"
    if path.is_file():
        return path
    data = sample.build().SerializeToString(deterministic=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Written beside and renamed: whoever looks sees the whole file or none.
        handle, beside = tempfile.mkstemp(prefix=f".{sample.name}-", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).replace(path)
    except OSError as error:
        raise CollageError(
            f"cannot write the sample model to {str(path)!r}: {error.strerror}", "set COLLAGE_HOME to a folder with room", "unwritable"
        ) from error
    return path
