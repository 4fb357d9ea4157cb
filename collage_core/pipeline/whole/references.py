"""`Reference`: the outputs of the model itself on one set of inputs, with which artifacts are compared.

A model and its first inputs enter; one `Reference` for each set (`Model.input_sets`) leaves, and the error of what an artifact made there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...model.model import EXTREME, Arrays
from ...model.onnx_model import OnnxModel
from ...model.reference.accuracy import output_errors


@dataclass
class Reference:
    """The outputs of the model on one set of inputs.

    Attributes:
        name: As `InputSet.name`.
        inputs: The inputs, by name.
        wanted: The outputs of the model, by name.
    """

    model: OnnxModel
    name: str
    inputs: Arrays

    @cached_property
    def wanted(self) -> dict[str, np.ndarray]:
        return self.model.reference(self.inputs)

    @cached_property
    def noise(self) -> Mapping[str, float]:
        """Output → by how much it may differ by rounding alone; of extreme inputs only."""
        if self.name != EXTREME:
            return {}
        return self.model.noise(self.inputs, self.model.activations(self.inputs, self.model.graph.outputs))

    def errors(self, got: Arrays, value_policy: str) -> dict[str, float]:
        """Return the error of each output that an artifact made on these inputs."""
        errors = output_errors(got, self.wanted, self.model.row_sets(self.inputs), value_policy)
        return {name: max(error - self.noise.get(name, 0.0), 0.0) if error else error for name, error in errors.items()}


def references_of(model: OnnxModel, inputs: Arrays, value_policy: str) -> list[Reference]:
    """Return the references of a model, that of `inputs` first."""
    return [Reference(model, one.name, one.arrays) for one in model.input_sets(inputs, value_policy).all]
