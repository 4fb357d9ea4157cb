"""The duties of every toolchain, tested on all that are found: the bundled ones and any that is installed beside them."""

from __future__ import annotations

from collage_core.rules.rule import RuleOptions
from collage_core.toolchains.conformance.duties import ToolchainDuties
from collage_core.toolchains.toolchain import Toolchain

NO_CALL = "no library function computes"
REFUSED = {
    ("ncnn", "several_inputs"): "ncnn has no layer for Gather",
    ("blas", "conv_relu"): NO_CALL,
    **{(library, model): NO_CALL for library in ("blas", "onednn") for model in ("relu", "several_outputs", "several_inputs", "scalar")},
}
"""(toolchain, model) → why it does not take a model that the others take."""


def library_of(toolchain: Toolchain) -> str:
    """Return the toolchain that a variant such as ``ncnn@nchw16c`` is one of; its own name for the others."""
    return toolchain.name.partition("@")[0]


class TestEveryToolchain(ToolchainDuties):
    def library(self, toolchain: Toolchain) -> str:
        return library_of(toolchain)

    def refusal(self, toolchain: Toolchain, model: str) -> str:
        return REFUSED.get((library_of(toolchain), model), "")

    def test_its_rule_tree_follows_the_options(self, toolchain: Toolchain):
        assert "max_depth=2" in str(toolchain.rule(RuleOptions(max_depth=2)))
