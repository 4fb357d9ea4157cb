"""`Toolchain`: the one interface through which the explorer talks to TVM, ONNX Runtime, OpenVINO and everything else.

Design, room ``toolchains``; RFC 10's hooks and RFC 62, Appendix F, say what is asked of an integration. A toolchain is
found through the entry-point group ``collage.toolchains``; the entry point names a class that is made with no arguments.
Making one must be cheap and must not import the toolchain's own library: that happens in a worker process, in `build`,
`load` and `availability`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import Cancelled, CollageError
from ..graph.dataflow_graph import Tensor
from ..model.base import SubModel
from ..rules import rule_report
from ..rules.base import PartitionRule, RuleOptions
from .reasons import one_line

if TYPE_CHECKING:
    import tvm


@dataclass(frozen=True)
class Availability:
    """Whether a toolchain is usable here.

    Attributes:
        usable: It can build and run.
        version: Version of its library, where that is installed.
        reason: Why it is not usable, in one line.
        hint: The command that mends that.
        device: What it runs on, such as ``CPU``.
        precision: The precision that it computes in, such as ``float32``.
    """

    usable: bool
    version: str = ""
    reason: str = ""
    hint: str = ""
    device: str = "CPU"
    precision: str = "model"


class ToolchainError(CollageError):
    """A toolchain could not take a sub-model; `stage` says how far it came.

    Args:
        stage: ``import``, ``build``, ``run`` or ``device``.
        reason: The toolchain's own words, one line.
    """

    def __init__(self, stage: str, reason: str):
        super().__init__(reason, code="toolchain")
        self.stage = stage


class Kernel(Protocol):
    """A built sub-model, ready to run in this process."""

    def bind(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        """Say which buffers the next calls of `run` read and write, in the order of the sub-model's tensors.

        The arrays are C-contiguous, of the declared shapes and dtypes, and outlive the calls. Nothing is copied: the
        kernel reads and writes these buffers.
        """
        ...

    def run(self) -> None:
        """One inference on the bound buffers; returns when the outputs are written."""
        ...


class Toolchain(ABC):
    """One way to compile and run sub-graphs.

    Attributes:
        name: As in ``--targets``.
        style: ``graph`` (whole sub-graphs) or ``library`` (calls).
        letter: One capital letter by which the page tells it apart.
        reads_weights: What it makes depends on the weights' values, and not on their shapes alone: no two candidates share a cost.
        conflicts: Names of toolchains that must not be in one plan with it, such as one whose runtime cannot share a process.
    """

    name: str
    style: str = "graph"
    letter: str = "?"
    reads_weights: bool = False
    conflicts: tuple[str, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        """What a plug-in raises or answers in a wrong way must not end the run: this is checked here, whoever asks."""
        super().__init_subclass__(**options)
        if "availability" in vars(cls):
            cls.availability = _sound_availability(cls.availability)  # type: ignore[assignment, method-assign]
        if "rule" in vars(cls):
            cls.rule = _sound_rule(cls.rule)  # type: ignore[assignment, method-assign]
        for name in ("build", "load", "relax_module"):
            if name in vars(cls):
                setattr(cls, name, _uncancelled(vars(cls)[name]))

    @abstractmethod
    def availability(self) -> Availability:
        """Return whether it is usable here, or why not. Must not raise, and must not import a heavy library."""

    @abstractmethod
    def rule(self, options: RuleOptions) -> PartitionRule:
        """Return the rule tree that finds its candidates (phase 1). Must not raise, other than CollageError."""

    @abstractmethod
    def build(self, model: SubModel, threads: int) -> bytes:
        """Compile `model` into a package that `load` can read, in this process or another of the same machine.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """

    @abstractmethod
    def load(self, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int) -> Kernel:
        """Make a package ready to run with `threads` threads.

        Raises:
            ToolchainError: at stage ``build``.
        """

    def relax_module(self, model: SubModel) -> tvm.IRModule | None:
        """Return `model` as Relax functions, for a toolchain whose result is such; None for one that is called from them.

        The module's ``main`` takes the sub-model's inputs and returns its output, or a tuple of them, in order. It then
        joins the assembled module (phase 4) in place of a package.

        Raises:
            ToolchainError: at stage ``import`` or ``build``.
        """
        return None


_MEND = "leave it out, or mend the package that it comes with"


def _sound_availability(availability: Callable[[Any], Availability]) -> Callable[[Any], Availability]:
    """Return the same, where a mistake in it is an answer too: not usable, with the reason."""

    @wraps(availability)
    def answered(toolchain: Toolchain) -> Availability:
        try:
            found = availability(toolchain)
            if isinstance(found, Availability):
                said = {field.name: getattr(found, field.name) for field in fields(found) if field.name != "usable"}
                return Availability(bool(found.usable), **{name: _word(value) for name, value in said.items()})
            reason = f"it answered with a {type(found).__name__}"
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may fail in any way; the reason is kept and shown
            reason = one_line(f"{type(error).__name__}: {error}")
        return Availability(False, reason=f"it cannot say whether it is usable: {reason}", hint=_MEND)

    return answered


def _sound_rule(rule: Callable[[Any, RuleOptions], PartitionRule]) -> Callable[[Any, RuleOptions], PartitionRule]:
    """Return the same, where a mistake in it is one line for the user."""

    @wraps(rule)
    def answered(toolchain: Toolchain, options: RuleOptions) -> PartitionRule:
        try:
            found = rule(toolchain, options)
            if isinstance(found, PartitionRule):
                return found
            reason = f"it gave a {type(found).__name__}"
        except CollageError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
            reason = one_line(f"{type(error).__name__}: {error}")
        raise CollageError(f"the target {toolchain.name!r} has no rule to find candidates by: {reason}", _MEND, "target_unavailable")

    return answered


def _uncancelled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same, where `Cancelled` is a failure like any other: only the user stops a run."""

    @wraps(method)
    def done(*arguments: Any, **named: Any) -> Any:
        try:
            return method(*arguments, **named)
        except Cancelled as error:
            raise ToolchainError("build", "it cancelled what nobody had stopped") from error

    return done


def _word(value: Any) -> str:
    """Return `value` in one line of text; nothing where there is none."""
    return "" if value in (None, "") else one_line(str(value))


def rule_tree(toolchain: Toolchain) -> dict[str, Any] | None:
    """Return the rule tree as the page draws it (`rule_report.tree_without_counts`); None where there is none."""
    try:
        return rule_report.tree_without_counts(toolchain.rule(RuleOptions()))
    except CollageError:
        return None


def shown_rules(toolchain: Toolchain) -> str:
    """Return the rule tree as lists of toolchains show it; where there is none, why."""
    try:
        return str(toolchain.rule(RuleOptions()))
    except CollageError as error:
        return error.message
