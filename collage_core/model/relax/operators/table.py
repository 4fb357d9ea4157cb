"""The table of translated operators: Relax name → the function that writes its ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .call_writer import CallWriter, Written

OPSET = 20

Writer = Callable[[CallWriter], Written]

TABLE: dict[str, Writer] = {}


def translates(*names: str) -> Callable[[Writer], Writer]:
    """Return a decorator that enters a function for the Relax operators `names`, without their ``relax.`` in front."""

    def entered(writer: Writer) -> Writer:
        TABLE.update({f"relax.{name}": writer for name in names})
        return writer

    return entered


def renamed(names: Mapping[str, str]) -> None:
    """Enter operators that are the same in ONNX under another name, with all arguments tensors and no attributes."""
    for name, op in names.items():
        TABLE[f"relax.{name}"] = _same(op)


def _same(op: str) -> Writer:
    def write(call: CallWriter) -> Written:
        return str(call.emit(op, [call.tensor(index) for index in range(len(call.call.args))]))

    return write
