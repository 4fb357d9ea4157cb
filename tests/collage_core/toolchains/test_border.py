"""A plug-in may answer anything or raise anything: what leaves the border is of the right type, or an error that a run knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from collage_core.errors import Cancelled, CollageError
from collage_core.rules.rule import RuleOptions
from collage_core.toolchains.border import (
    LONGEST,
    availability_of,
    build_package,
    load_kernel,
    one_line,
    rule_of,
    rule_tree,
    shown_rules,
    uncancelled,
)
from collage_core.toolchains.conformance.small_models import found, matmul
from collage_core.toolchains.toolchain import Availability, ToolchainError
from tests.helpers.plug_ins import Dummy

HINT = "leave it out, or mend the package that it comes with"


class Answers(Dummy):
    """Answers every question with `answer`, and raises it where it is an exception."""

    def __init__(self, answer: Any):
        self.answer = answer

    def _answer(self, *_: object) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    availability = rule = build = load = _answer


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (None, "it answered with a NoneType"),
        (OSError("libdriver.so.7: cannot open"), "OSError: libdriver.so.7: cannot open"),
        (SystemExit("no licence"), "SystemExit: no licence"),
    ],
)
def test_a_toolchain_that_cannot_say_whether_it_is_usable_is_not(answer: object, reason: str):
    assert availability_of(Answers(answer)) == Availability(False, reason=f"it cannot say whether it is usable: {reason}", hint=HINT)


def test_what_it_says_of_itself_becomes_lines_of_text():
    answer = Availability(1, version=3, reason=None, hint="one\ntwo")  # type: ignore[arg-type]
    assert availability_of(Answers(answer)) == Availability(True, version="3", hint="one")


@pytest.mark.parametrize(
    ("answer", "reason"), [("Relu", "it gave a str"), (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero")]
)
def test_a_toolchain_without_a_rule_tree_is_refused(answer: object, reason: str):
    toolchain = Answers(answer)
    with pytest.raises(CollageError) as caught:
        rule_of(toolchain, RuleOptions())
    assert caught.value.message == f"the target 'dummy' has no rule to find candidates by: {reason}"
    assert (caught.value.hint, caught.value.code) == (HINT, "target_unavailable")
    assert (rule_tree(toolchain), shown_rules(toolchain)) == (None, caught.value.message)


def test_what_a_rule_itself_refuses_stays_as_it_is():
    with pytest.raises(CollageError, match="no such operator"):
        rule_of(Answers(CollageError("no such operator")), RuleOptions())


def test_what_is_no_package_or_no_kernel_is_refused():
    model = matmul()
    with pytest.raises(ToolchainError, match="it gave a str as a package, not bytes"):
        build_package(Answers("text"), model, 1)
    with pytest.raises(ToolchainError, match="it gave a str as a kernel, which cannot be bound and run"):
        load_kernel(Answers("text"), b"", model.inputs, model.outputs, 1)


class Bound:
    """A kernel that allocates nothing."""

    def bind(self, inputs: Sequence[object], outputs: Sequence[object]) -> None:
        raise NotImplementedError

    def run(self) -> None:
        raise NotImplementedError


def test_a_kernel_for_open_shapes_must_say_what_it_allocated():
    kernel, model = Bound(), found()
    assert load_kernel(Answers(kernel), b"", model.inputs, model.outputs[1:], 1) is kernel
    with pytest.raises(ToolchainError, match="it gave a Bound as a kernel, which cannot say what it allocated"):
        load_kernel(Answers(kernel), b"", model.inputs, model.outputs, 1)


class LoadsBoth(Answers):
    def load_alone(self, *_: object) -> Bound:
        return Alone()


class Alone(Bound):
    pass


def test_a_kernel_of_a_plan_of_one_partition_is_loaded_by_the_method_for_that_where_there_is_one():
    model = matmul()
    kinds = [
        type(load_kernel(toolchain, b"", model.inputs, model.outputs, 1, is_alone=is_alone))
        for toolchain in (Answers(Bound()), LoadsBoth(Bound()))
        for is_alone in (False, True)
    ]
    assert kinds == [Bound, Bound, Bound, Alone]


def test_only_the_user_cancels():
    model = matmul()
    for call in (lambda toolchain: build_package(toolchain, model, 1), lambda toolchain: load_kernel(toolchain, b"", (), (), 1)):
        with pytest.raises(ToolchainError, match="it cancelled what nobody had stopped"):
            call(Answers(Cancelled()))
    with pytest.raises(ValueError, match="anything else"), uncancelled():
        raise ValueError("anything else")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("plain"), "plain"),
        (ValueError("first\nsecond"), "first"),
        (RuntimeError("failed with these errors: \n\n  and <20 x i1>\n  third"), "failed with these errors: and <20 x i1>"),
        (RuntimeError("nothing follows:"), "nothing follows"),
        (RuntimeError("\n\n   indented\n"), "indented"),
        (RuntimeError(""), "RuntimeError"),
        (KeyError("axes"), "KeyError: 'axes'"),
        (AssertionError(), "AssertionError"),
        (RuntimeError('Traceback (most recent call last):\n  File "/a/b.py", line 3\nreal cause'), "real cause"),
        (RuntimeError("[10:42:31] /project/src/relax/ir/builder.cc:67: Check failed: x"), "Check failed: x"),
        (RuntimeError("tab\tand\x1b[31mcolour"), "tab and [31mcolour"),
        ("a text", "a text"),
        ("", "no reason given"),
    ],
)
def test_the_first_line_that_says_something(error: Exception | str, said: str):
    assert one_line(error) == said


def test_long_ones_are_cut():
    said = one_line("x" * 1000)
    assert len(said) == LONGEST
    assert said.endswith("…")
