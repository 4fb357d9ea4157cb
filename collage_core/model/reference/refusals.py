"""Turns ONNX Runtime's refusal of a user's model into a clear error that names the operator and the node."""

from __future__ import annotations

import re

from onnx import ModelProto

from ...errors import CollageError
from ..forms.normalising import unknown_operator
from ..scopes import all_nodes


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
