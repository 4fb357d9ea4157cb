"""How toolchains are found, and that a broken plug-in harms nobody."""

from __future__ import annotations

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from collage_core.errors import CollageError
from collage_core.rules.candidate import RejectionLog
from collage_core.rules.rule import RuleContext, RuleOptions
from collage_core.toolchains import registry
from collage_core.toolchains.abilities import lowers_precision
from collage_core.toolchains.border import rule_of, shown_rules
from collage_core.toolchains.conformance.small_models import matmul
from collage_core.toolchains.registry import all_toolchains, default_targets, get, names
from collage_core.toolchains.toolchain import Availability, ToolchainError
from tests.helpers.graphs import graph

HERE = "tests.helpers.plug_ins"


@pytest.fixture
def extra(monkeypatch: pytest.MonkeyPatch):
    return lambda value: monkeypatch.setenv("COLLAGE_TOOLCHAINS", value)


BUNDLED = ("blas", "ncnn", "onednn", "onnxruntime", "onnxruntime@int8-dynamic", "openvino", "openvino@bf16", "tvm")


def test_the_bundled_ones_are_found_by_name():
    assert set(BUNDLED) <= set(names())
    assert [toolchain.name for toolchain in all_toolchains()] == sorted(names())
    assert get("tvm").name == "tvm"


def test_each_has_a_letter_of_its_own():
    letters = [one.letter for one in all_toolchains() if one.name in BUNDLED]
    assert len(set(letters)) == len(BUNDLED) == len(letters)


def test_less_precision_than_the_model_asks_for_is_in_the_name():
    lower = ["onnxruntime@int8-dynamic", "onnxruntime@tf32:cuda:0", "openvino:npu:0", "openvino@bf16", "tensorrt@fp16", "tensorrt_rtx@fp16"]
    assert [one.name for one in all_toolchains() if lowers_precision(one)] == lower


@pytest.mark.parametrize("name", ["ncnn", "onnxruntime", "openvino", "tvm"])
def test_no_bundled_rule_is_written_for_one_model(name: str):
    """A rule tree is made before any model is read; a pattern or a list of nodes in it would have one model in mind."""
    words = set(re.findall(r"^ *(\w+)", str(get(name).rule(RuleOptions())), re.MULTILINE))
    structure = {"primitive", "union", "only_valid", "combine", "segments"}
    assert words <= structure | {"op_call_by_kind", "op_check", "op_predicate", "match_check"}


def test_an_unknown_name_is_an_error_that_lists_the_known_ones():
    with pytest.raises(CollageError) as caught:
        get("tvn")
    assert caught.value.code == "unknown_target"
    assert caught.value.message == "no toolchain is called 'tvn'"
    assert caught.value.hint == f"these are known: {', '.join(names())}"


def test_by_default_the_targets_are_those_that_are_usable_and_keep_the_models_precision(monkeypatch: pytest.MonkeyPatch):
    """The order is that of priorities; no plug-in that cannot say whether it is usable, or is not, is among them, and no variant."""

    def standing_in(name: str, usable: bool = True, style: str = "graph", lowers: bool = False):
        return SimpleNamespace(name=name, style=style, lowers_precision=lowers, availability=lambda: Availability(usable))

    stand_ins = (
        standing_in("blas", style="library"),
        standing_in("ncnn@nchw16c"),
        standing_in("onnxruntime@int8-dynamic", lowers=True),
        standing_in("openvino"),
        standing_in("tensorrt", usable=False),
        standing_in("tvm"),
    )
    monkeypatch.setattr(registry, "all_toolchains", lambda: stand_ins)
    assert default_targets() == ("openvino", "tvm", "blas")


def test_more_are_added_by_the_environment(extra):
    extra(f"{HERE}:Dummy, {HERE}:RunFails")
    assert {"dummy", "runfails", "tvm"} <= set(names())
    assert get("dummy").availability().usable


def test_rules_are_added_to_a_toolchain_that_is_there_and_listed(extra, monkeypatch: pytest.MonkeyPatch):
    extra(f"{HERE}:Dummy")
    on = graph(["a: Relu <- x", "b: Relu <- a", "c: Add <- b"])

    def found() -> set[tuple[int, ...]]:
        return {tuple(item.inside) for item in rule_of(get("dummy"), RuleOptions()).find(RuleContext(on, "dummy", RejectionLog()))}

    assert found() == {(0,), (1,), (2,)}
    monkeypatch.setenv("COLLAGE_RULES", f"dummy={HERE}:relu_pairs")
    assert found() == {(0,), (1,), (2,), (0, 1)}
    assert shown_rules(get("dummy")).splitlines() == ["union", "  op_predicate", "  df_pattern(match='Relu(Relu)', label='relus')"]
    monkeypatch.setenv("COLLAGE_RULES", f"dummy={HERE}:missing, absent={HERE}:relu_pairs")
    with pytest.raises(CollageError, match="the target 'dummy' has no rule to find candidates by: AttributeError: "):
        rule_of(get("dummy"), RuleOptions())
    assert get("absent").availability().reason.endswith("cannot be loaded: it adds rules to a toolchain that is not there")


@pytest.mark.parametrize(
    ("plug_in", "name", "reason"),
    [
        ("no.such.module:Class", "Class", "ModuleNotFoundError: No module named 'no'"),
        (f"{HERE}:Missing", "Missing", f"AttributeError: module '{HERE}' has no attribute 'Missing'"),
        (f"{HERE}:Raising", "Raising", "RuntimeError: no licence found"),
        (f"{HERE}:Nameless", "Nameless", "it has no name"),
        (f"{HERE}:NOT_A_TOOLCHAIN", "NOT_A_TOOLCHAIN", "it is a dict, not a Toolchain"),
    ],
)
def test_a_broken_plug_in_is_shown_with_its_reason(extra, plug_in: str, name: str, reason: str):
    extra(f"{plug_in},{HERE}:Dummy")
    found = get(name).availability()
    assert not found.usable
    assert found.reason == f"its plug-in {plug_in!r} cannot be loaded: {reason}"
    assert found.hint
    assert get("dummy").availability().usable
    assert str(get(name).rule(RuleOptions())) == "explicit"
    with pytest.raises(ToolchainError, match="cannot be loaded"):
        get(name).build(matmul(), 1)


def test_listing_them_imports_none_of_their_libraries():
    code = """
import sys
from collage_core.rules.rule import RuleOptions
from collage_core.toolchains.registry import all_toolchains
for toolchain in all_toolchains():
    toolchain.availability()
    toolchain.rule(RuleOptions())
print(sorted({"tvm", "tvm_ffi", "openvino", "ncnn", "onnxruntime", "onnx"} & set(sys.modules)))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == ("[]", "")
