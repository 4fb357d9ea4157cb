"""From a model to a program that runs it: find a plan, export it in the form that needs least, and call it.

python examples/deploy.py MODEL.onnx FOLDER onnxruntime openvino
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import collage_core as collage


def export(model: str, folder: Path, targets: list[str], costs: str = "measure") -> None:
    """Find the fastest plan of `model` over `targets`, and leave its artifact in `folder`, compared with the reference."""
    run = collage.partition(model, targets=targets, costs=costs)
    verified = collage.apply(run.plan, model, folder, form="auto")
    print(f"{len(run.plan.partitions)} partitions, largest relative error {verified.max_rel_error:.1e}")


def call(folder: Path) -> dict[str, np.ndarray]:
    """Run the artifact in `folder` on zeros; gives its outputs by name."""
    with collage.open_artifact(folder) as artifact:
        inputs = {tensor.name: np.zeros(tensor.type.shape, tensor.type.dtype) for tensor in artifact.inputs}
        return artifact.run(inputs)  # several threads may do this at once


if __name__ == "__main__":
    model, folder, *targets = sys.argv[1:]
    export(model, Path(folder), targets)
    for name, array in call(Path(folder)).items():
        print(name, array.dtype, array.shape)
