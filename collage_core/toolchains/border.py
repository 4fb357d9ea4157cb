"""The border to a toolchain: its methods are called here, so that a wrong answer or an exception of a plug-in does not end a run.

A toolchain and what its methods take enter; answers of the right type leave, or an error that a run knows. Abilities that one file alone
asks for (`abilities`) are called there, with `model_for` and `uncancelled`. `one_line` reduces an exception to the line that says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..errors import Cancelled, CollageError
from ..graph.dataflow_graph import Tensor
from ..model.model import SubModel, may_name_files
from .abilities import ExternalData, LoadsAlone
from .toolchain import Availability, Kernel, Toolchain, ToolchainError

if TYPE_CHECKING:
    from ..rules.rule import PartitionRule, RuleOptions
import re

_REPAIR_HINT = "leave it out, or mend the package that it comes with"


def availability_of(toolchain: Toolchain) -> Availability:
    """Return what the toolchain says of itself; "not usable", with the reason, where it raises or gives something else."""
    try:
        answer = toolchain.availability()
        if isinstance(answer, Availability):
            texts = {field.name: _text(getattr(answer, field.name)) for field in fields(answer) if field.name != "usable"}
            return Availability(bool(answer.usable), **texts)
        reason = f"it answered with a {type(answer).__name__}"
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plug-in may fail in any way; the reason is kept and shown
        reason = one_line(f"{type(error).__name__}: {error}")
    return Availability(False, reason=f"it cannot say whether it is usable: {reason}", hint=_REPAIR_HINT)


def _text(value: Any) -> str:
    """Return `value` as one line of text; empty where there is none."""
    return "" if value in (None, "") else one_line(str(value))


def rule_of(toolchain: Toolchain, options: RuleOptions) -> PartitionRule:
    """Return the rule tree of the toolchain.

    Raises:
        CollageError: there is none; one line.
    """
    from ..rules.rule import PartitionRule

    try:
        rule = toolchain.rule(options)
        if isinstance(rule, PartitionRule):
            return rule
        reason = f"it gave a {type(rule).__name__}"
    except CollageError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        reason = one_line(f"{type(error).__name__}: {error}")
    raise CollageError(f"the target {toolchain.name!r} has no rule to find candidates by: {reason}", _REPAIR_HINT, "target_unavailable")


def rule_tree(toolchain: Toolchain) -> dict[str, Any] | None:
    """Return the rule tree as the page draws it (`spec.tree_without_counts`); None where the rule fails."""
    from ..rules.rule import RuleOptions
    from ..rules.spec import tree_without_counts

    try:
        return tree_without_counts(rule_of(toolchain, RuleOptions()))
    except CollageError:
        return None


def shown_rules(toolchain: Toolchain) -> str:
    """Return the rule tree as text for lists of toolchains, or why there is none."""
    from ..rules.rule import RuleOptions

    try:
        return str(rule_of(toolchain, RuleOptions()))
    except CollageError as error:
        return error.message


def build_package(toolchain: Toolchain, model: SubModel, threads: int) -> bytes:
    """Return the package of `model`.

    Raises:
        ToolchainError: as `Toolchain.build`, or since what it built is no package.
    """
    with uncancelled():
        package = toolchain.build(model_for(toolchain, model), threads)
    if not isinstance(package, bytes):
        raise ToolchainError("build", f"it gave a {type(package).__name__} as a package, not bytes")
    return package


def load_kernel(
    toolchain: Toolchain, package: bytes, inputs: Sequence[Tensor], outputs: Sequence[Tensor], threads: int, *, is_alone: bool = False
) -> Kernel:
    """Return `package` as a kernel, for a plan of this one partition where it `is_alone`.

    Raises:
        ToolchainError: as `Toolchain.load`, or since what it loaded is no kernel.
    """
    with uncancelled():
        load = toolchain.load_alone if is_alone and isinstance(toolchain, LoadsAlone) else toolchain.load
        kernel = load(package, inputs, outputs, threads)
    if not all(callable(getattr(kernel, method, None)) for method in ("bind", "run")):
        raise ToolchainError("build", f"it gave a {type(kernel).__name__} as a kernel, which cannot be bound and run")
    if not all(tensor.type.has_buffer for tensor in outputs) and not callable(getattr(kernel, "allocated", None)):
        raise ToolchainError("build", f"it gave a {type(kernel).__name__} as a kernel, which cannot say what it allocated")
    return kernel


@contextmanager
def uncancelled() -> Iterator[None]:
    """Turn `Cancelled` of a toolchain into a ToolchainError: only the user may cancel a run."""
    try:
        yield
    except Cancelled as error:
        raise ToolchainError("build", "it cancelled what nobody had stopped") from error


def model_for(toolchain: Toolchain, model: SubModel) -> SubModel:
    """Return `model` as `toolchain` takes it: with the weights inside that it has in files, unless the toolchain reads those.

    Raises:
        ToolchainError: as `with_weights_inside`.
    """
    return model if isinstance(toolchain, ExternalData) and toolchain.takes_external_data else with_weights_inside(model)


def with_weights_inside(model: SubModel) -> SubModel:
    """Return `model` with the weights inside that it has in files.

    Raises:
        ToolchainError: at stage ``import``, where there are more than one ONNX message can hold, or a file cannot be read.
    """
    if not may_name_files(model.onnx):
        return model
    from ..model.files.external_data import in_one_piece

    try:
        onnx = in_one_piece(model.onnx)
    except CollageError as error:
        raise ToolchainError("import", error.message) from error
    return replace(model, onnx=onnx)


LONGEST = 300
_NOISE = re.compile(r"^(Traceback|File \"|Stack trace|\^+$|~+$|[-=*]{3,}$|Exception from .*:$|Error loading\b.*:$)")
_SOURCE_POSITION = re.compile(r"^(?:\[\d\d:\d\d:\d\d\] )?(?:\S*/)?\S+\.(?:cc|cpp|h|hpp|py):\d+:? ?")


def one_line(error: BaseException | str) -> str:
    """Return the first line of `error` that says something, without source paths, of at most `LONGEST` characters.

    A line that ends with a colon announces the next one, which is added. An exception without a message gives the name of its class; a
    `KeyError` or a bare assertion keeps that name in front.
    """
    text = error if isinstance(error, str) else str(error)
    lines = [(said, line.rstrip().endswith(":")) for line in text.splitlines() if (said := _text_of(line))]
    said, announces = lines[0] if lines else ("", False)
    if announces and len(lines) > 1:
        said = f"{said}: {lines[1][0]}"
    if isinstance(error, KeyError | IndexError | AssertionError | AttributeError | TypeError):
        said = f"{type(error).__name__}: {said}" if said else type(error).__name__
    elif not said:
        said = type(error).__name__ if isinstance(error, BaseException) else "no reason given"
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"


def _text_of(line: str) -> str:
    """Return the text of `line` without source positions; empty where nothing else is in it."""
    line = "".join(char if char.isprintable() else " " for char in line).strip()
    return "" if _NOISE.match(line) else _SOURCE_POSITION.sub("", line).strip(" :")
