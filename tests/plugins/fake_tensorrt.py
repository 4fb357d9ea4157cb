"""A module with the functions of TensorRT that `tensorrt_build` calls, and a toolchain that uses it. It builds no engine.

Its parser takes no MaxPool. Its engine is ``engine`` with the compute capability; a model with Sigmoid is one that it cannot build.
"""

from __future__ import annotations

import weakref
from enum import Enum, IntEnum
from types import SimpleNamespace
from typing import Any

import onnx

from collage_core.toolchains.tensorrt.tensorrt import TensorRtRtxToolchain


class FakeTensorRt(TensorRtRtxToolchain):
    name = "fake_trt"
    library = "fake_tensorrt"
    distribution = "fake-tensorrt"


class ILogger:
    Severity = Enum("Severity", "INTERNAL_ERROR ERROR VERBOSE")


ProfilingVerbosity = Enum("ProfilingVerbosity", "DETAILED")
ComputeCapability = Enum("ComputeCapability", "SM120")
ErrorCode = Enum("ErrorCode", "UNSUPPORTED_NODE")


class NetworkDefinitionCreationFlag(IntEnum):
    STRONGLY_TYPED = 3


class Network:
    nodes: tuple[onnx.NodeProto, ...] = ()


class Config:
    profiling_verbosity: Any = None
    num_compute_capabilities = 0
    capability = "none"

    def set_compute_capability(self, capability: Any, index: int) -> None:
        assert index < self.num_compute_capabilities
        self.capability = capability.name


class Builder:
    def __init__(self, log: Any):
        self.log = log

    def create_network(self, flags: int) -> Network:
        assert flags == 1 << NetworkDefinitionCreationFlag.STRONGLY_TYPED
        return Network()

    def create_builder_config(self) -> Config:
        return Config()

    def build_serialized_network(self, network: Network, config: Config) -> bytes | None:
        for node in network.nodes:
            if node.op_type == "Sigmoid":
                self.log.log(ILogger.Severity.ERROR, f"no kernel for {node.name}")
                return None
        listed = "\n".join(f"Name: {node.name}_0, LayerType: kgen, Inputs: []" for node in network.nodes)
        self.log.log(ILogger.Severity.VERBOSE, f"Layers:\n{listed}\n\nBindings:")
        return f"engine {config.capability}".encode()


class OnnxParser:
    """Keeps no network alive, as TensorRT's does not."""

    def __init__(self, network: Network, log: Any):
        self.network = weakref.ref(network)
        self.refused: list[onnx.NodeProto] = []
        self.groups: list[list[int]] = []

    def parse(self, text: bytes) -> bool:
        self.supports_model_v2(text)
        return not self.refused

    def supports_model_v2(self, text: bytes) -> bool:
        network = self.network()
        assert network is not None, "the network is gone: TensorRT would crash"
        network.nodes = tuple(onnx.load_model_from_string(text).graph.node)
        open_group: list[int] = []
        for index, node in enumerate(network.nodes):
            if node.op_type == "MaxPool":
                self.refused.append(node)
                open_group = []
                continue
            if not open_group:
                self.groups.append(open_group)
            open_group.append(index)
        return not self.refused

    @property
    def num_subgraphs(self) -> int:
        return len(self.groups)

    def get_subgraph_nodes(self, index: int) -> list[int]:
        return self.groups[index]

    @property
    def num_errors(self) -> int:
        return len(self.refused)

    def get_error(self, index: int) -> Any:
        node = self.refused[index]
        says = "Assertion failed: no MaxPool today"
        return SimpleNamespace(
            node_name=lambda: node.name, node_operator=lambda: node.op_type, desc=lambda: says, code=lambda: ErrorCode(1)
        )
