"""Turns a library's refusal of a user's model into a clear error that names the operator and the node."""

from __future__ import annotations

import re

import onnx.defs
from onnx import ModelProto

from ..errors import CollageError
from .nodes import all_nodes, domain_of, op_name, opset_versions


def refused(model: ModelProto, reason: str) -> CollageError:
    """Return the error for a model that ONNX Runtime did not load; `reason` is its message."""
    newest = re.search(r"Opset (\d+) is under development.*?till opset (\d+)", reason)
    if newest:
        message = f"the model needs opset {newest[1]} of the ONNX operators, newer than the {newest[2]} that ONNX Runtime reads here"
        return CollageError(message, "update onnxruntime, or export the model with an older opset", "opset")
    unknown = unknown_operator(model)
    if unknown is not None:
        return unknown
    unregistered = re.search(r"(\S*):(\w+)\(-?\d+\) is not a registered function/op", reason)
    if unregistered:
        name = next((node.name for node in all_nodes(model.graph) if node.op_type == unregistered[2]), "")
        message = f"node {name!r} is a {unregistered[2]!r} of the domain {unregistered[1]!r}, which ONNX Runtime does not know"
        return CollageError(message, "export the model with standard operators", "unknown_operator")
    locale = re.search(r"construct locale with name:([\w.@-]+?):", reason)
    if locale:
        name = next((node.name for node in all_nodes(model.graph) if node.op_type == "StringNormalizer"), "")
        message = f"node {name!r} compares text by the rules of the locale {locale[1]!r}, which this machine does not have"
        hint = f"install it (`locale-gen {locale[1]}`), or give the node the attribute locale 'C', which compares bytes"
        return CollageError(message, hint, "unsupported")
    missing = re.search(r"Could not find an implementation for (\S+?)\(\d+\) node with name '(.*?)'", reason)
    if missing:
        message = f"ONNX Runtime cannot run node {missing[2]!r}: it has no {missing[1]!r} for these element types on the CPU"
        return CollageError(message, "the reference is computed with ONNX Runtime: export the model in a type that it runs", "unsupported")
    return CollageError(
        f"ONNX Runtime does not take the model: {reason}", "check the model with `onnx.checker`, or export it again", "broken_model"
    )


def unknown_operator(model: ModelProto) -> CollageError | None:
    """Return an error for the first node whose operator is unknown, as a reason for a refusal; None where there is none."""
    versions = opset_versions(model)
    for node in all_nodes(model.graph):
        domain = domain_of(node)
        where = f"node {node.name!r} is a {op_name(node)!r}" if node.name else f"an unnamed node is a {op_name(node)!r}"
        if domain and domain not in versions:
            return CollageError(f"{where}, but the model imports no opset of {domain!r}", "export the model again", "unknown_operator")
        if domain and not domain.startswith(("ai.onnx.", "com.microsoft")):
            hint = "only ONNX's own domains and com.microsoft are known here: export the model with standard operators"
            return CollageError(f"{where}, an operator of the unknown domain {domain!r}", hint, "unknown_operator")
        if not domain and not onnx.defs.has(node.op_type):
            hint = "export the model with standard operators"
            return CollageError(f"{where}, which is not an operator of ONNX", hint, "unknown_operator")
    return None


def error_text(error: BaseException) -> str:
    """Return the message of a library's exception as one line, without error codes and source positions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines) or type(error).__name__
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    text = re.sub(r"\S*\bonnxruntime_src/\S+:\d+ ", "\0", text)
    while "\0" in text:
        before, after = text.split("\0", 1)
        text = before + _without_signature(after)
    return text if len(text) <= 400 else text[:400] + "…"


def _without_signature(text: str) -> str:
    """Return `text` without the C++ function signature in front of it."""
    depth = 0
    opened = text.find("(")
    for position in range(max(opened, 0), len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0 and opened >= 0:
            return text[position + 1 :].removeprefix(" const").lstrip()
    return text
