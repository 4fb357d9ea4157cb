"""The sample models by name, and the files that they are written to.

The user's argument MODEL enters; the path of a file leaves. A sample is built under `COLLAGE_HOME` when it is first needed, and again
when its version changes.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ...base.home import home, home_path
from ...base.isolation.scratch import scratch_folder
from ...errors import CollageError

if TYPE_CHECKING:
    from onnx import ModelProto


@dataclass(frozen=True)
class Sample:
    """A model that comes with the explorer, built by code.

    Attributes:
        name: As in ``collage partition NAME``.
        title: Name that is shown.
        description: One sentence.
        module: The module of this room that has the function of that name, which builds it.
        aliases: Other names that are accepted.
        version: Counted up when the function changes what it builds.
    """

    name: str
    title: str
    description: str
    module: str
    aliases: tuple[str, ...] = ()
    version: int = 1

    def build(self) -> ModelProto:
        """Build the model; its bytes are the same on every machine. ONNX is imported here: listing the samples needs none of it."""
        model: ModelProto = getattr(import_module(f".{self.module}", __package__), self.name)()
        return model


_ALL = (
    Sample(
        "mini_mnist",
        "mini-MNIST",
        "The eight nodes of RFC 62: pad, convolution, add, ReLU, pool, reshape, dense, add.",
        "convolutional",
    ),
    Sample("mnist", "MNIST", "RFC 62's digit classifier: two convolutional layers, 12 nodes.", "convolutional"),
    Sample("squeezenet", "SqueezeNet 1.1", "Eight fire modules: small convolutions side by side.", "convolutional", ("squeezenet1.1",)),
    Sample("resnet50", "ResNet-50", "Sixteen bottleneck blocks, batch norms still nodes of their own.", "convolutional", ("resnet",)),
    Sample(
        "inception",
        "Inception modules",
        "GoogLeNet's stem and four modules of four branches each.",
        "convolutional",
        ("googlenet",),
    ),
    Sample("gpt2", "GPT-2 block", "One block of the real size: 768 wide, 12 heads, 128 tokens.", "transformers", ("gpt2_block",)),
    Sample("bert", "BERT-base layers", "Two encoder layers of the real size on 128 tokens.", "transformers", ("bert_base", "bert_layers")),
    Sample("lstm", "LSTM tagger", "Embedding, bidirectional LSTM, linear layer and softmax.", "recurrent", ("lstm_tagger",)),
    Sample(
        "quantised",
        "Quantised network",
        "Four convolutions in 8 bits with quantise and dequantise nodes.",
        "quantised",
        ("quantized", "qdq", "quantised_cnn", "quantized_cnn", "int8"),
    ),
    Sample("crnn", "CRNN", "Reader of text lines: VGG convolutions, then two bidirectional LSTMs.", "recurrent"),
    Sample("unet_segmentation", "U-Net segmentation", "Gives each pixel of 256 × 256 one of 21 classes.", "unets", ("unet",)),
    Sample(
        "unet_attention",
        "Diffusion U-Net",
        "64 × 64, attention of eight heads at 32 × 32 and 16 × 16.",
        "unets",
        ("diffusion",),
    ),
    Sample(
        "speech_transformer",
        "Speech transformer",
        "Convolutions in 8 bits, six layers that quantise as they run.",
        "speech",
    ),
    Sample("speech_lstm", "Speech LSTM", "Convolutions in 8 bits, three bidirectional LSTMs that quantise as they run.", "speech"),
    Sample("ssd300", "SSD300", "VGG-16 and six feature maps, then non-maximum suppression.", "detection", ("ssd",)),
    Sample("yolov4_tiny", "YOLOv4-tiny", "Leaky ReLUs and split channels, then non-maximum suppression.", "detection", ("yolo",)),
    Sample("detr", "DETR", "ResNet-34, six encoder and six decoder layers, then TopK.", "detr"),
    Sample("retinanet", "RetinaNet", "ResNet-18 in 8 bits, pyramid and heads in float, TopK and suppression.", "retinanet"),
)

SAMPLES: dict[str, Sample] = {sample.name: sample for sample in _ALL}
"""The samples, in the order in which they are listed."""


def _plain(name: str) -> str:
    """Return `name` in lower case without ``-``, ``_`` and spaces, which do not distinguish names."""
    return name.lower().replace("-", "").replace("_", "").replace(" ", "")


_BY_ALIAS = {_plain(alias): sample for sample in _ALL for alias in (sample.name, *sample.aliases)}


def find_sample(source: str) -> Sample | None:
    """Return the sample of that name or alias; None where there is none."""
    return _BY_ALIAS.get(_plain(source))


def resolve(source: str) -> Path:
    """Return the path of the model that `source` names: an existing file, or the file of a sample, which is built if needed.

    Raises:
        CollageError: `source` is neither a file nor a sample.
    """
    path = Path(source)
    sample = find_sample(source)
    if sample is not None and not os.path.isfile(path):
        return _built(sample)
    # For anything that looks like a path the loader raises a better error.
    if not os.path.exists(path) and path.suffix == "" and path.name == source:
        names = ", ".join(SAMPLES)
        raise CollageError(f"{source!r} is neither a file nor a sample model", f"the samples are {names}", "no_file")
    return path


def _built(sample: Sample) -> Path:
    folder = home_path() / "samples" / f"v{sample.version}"
    path = folder / f"{sample.name}.onnx"
    if path.is_file():
        return path
    try:
        home()
    except CollageError:
        folder = scratch_folder()
        path = folder / path.name
    data = sample.build().SerializeToString(deterministic=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Write another file and rename it: a reader sees the whole file or none.
        handle, beside = tempfile.mkstemp(prefix=f".{sample.name}-", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(beside).replace(path)
    except OSError as error:
        raise CollageError(
            f"cannot write the sample model to {str(path)!r}: {error.strerror}", "set COLLAGE_HOME to a folder with room", "unwritable"
        ) from error
    return path
