"""Odd little models: scalars, empty tensors, left-out inputs and outputs, strings, packed types, sequences, optionals, inner graphs.

`ODD` has them by name, as text with initializers; `together` makes one model of them all, so that one artifact serves for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import onnx
from onnx import ModelProto, compose, helper

from .models import model_of

OPSET = 23
ODD: Mapping[str, tuple[str, Mapping[str, np.ndarray]]] = {
    "rank_0": ("(float x) => (float y, int64 n) { a = Exp(x) y = Neg(a) n = Size(y) }", {}),
    "bool_scalar": ("(bool c, float[3] x, float[3] z) => (float[3] y, bool d) { d = Not(c) y = Where(d, x, z) }", {}),
    "index_scalar": ("(int64 i, float[10,3] x) => (float[3] y) { g = Gather<axis = 0>(x, i) y = Relu(g) }", {}),
    "empty_in_the_middle": (
        """(float[4,3] x) => (float[a,b] y, int64[2] s) {
            m = Sub(x, x) g = Greater(m, one) c = Cast<to = 7>(g) z = NonZero(c) t = Transpose(z) y = Cast<to = 1>(t) s = Shape(y) }""",
        {"one": np.array(1, np.float32)},
    ),
    "no_element_of_text": (
        '(string[3] x) => (bool[3] y, string[0] e) { y = RegexFullMatch<pattern = "[0-4]">(x) e = Slice(x, o, o) }',
        {"o": np.array([0])},
    ),
    "input_left_out": ("(float[3] x, float high) => (float[3] y) { a = Neg(x) y = Clip(a, , high) }", {}),
    "output_left_out": (
        "(float[3,1,4] x) => (float[1,1,5] y) { , , c = LSTM<hidden_size = 5>(x, w, r) y = Neg(c) }",
        {"w": np.full((1, 20, 4), 0.1, np.float32), "r": np.full((1, 20, 5), 0.1, np.float32)},
    ),
    "strings": (
        """(string[2] a, string[2] b) => (string[2] y, float[2] n) {
            c = StringConcat(a, b) y = StringNormalizer<case_change_action = "NONE">(c) n = Cast<to = 1>(y) }""",
        {},
    ),
    "strings_split": ('(string[2] a) => (string[2,m] y, int64[2] n) { b = StringConcat(a, a) y, n = StringSplit<delimiter = "5">(b) }', {}),
    "strings_equal": ("(string[2] a) => (bool[2] y) { b = Identity(a) y = Equal(a, b) }", {}),
    "string_constant": ('(float[3] x) => (string[2] k, float[3] y) { k = Constant<value_strings = ["a", "é"]>() y = Relu(x) }', {}),
    "sequence": (
        """(float[2,3] x, float[2,3] z) => (float[4,3] y, int64 n, float[a,b] e) {
            s = SequenceConstruct(x, z) y = ConcatFromSequence<axis = 0>(s) n = SequenceLength(s) e = SequenceAt(s, one) }""",
        {"one": np.array(1)},
    ),
    "sequence_at_the_ends": (
        """(seq(float[2,3]) s, float[2,3] x) => (float[a,b] y, seq(float[2,3]) t) {
            e = SequenceAt(s, o) y = Relu(e) t = SequenceInsert(s, x) }""",
        {"o": np.array(0)},
    ),
    "sequence_of_pieces": (
        "(float[6,2] x) => (seq(float[2,2]) s, float[p,q] y) { s = SplitToSequence<axis = 0>(x, k) e = SequenceAt(s, o) y = Exp(e) }",
        {"k": np.array(2), "o": np.array(0)},
    ),
    "sequence_empty": (
        "(float[2] x) => (seq(float[2]) s, int64 n) { e = SequenceEmpty<dtype = 1>() n = SequenceLength(e) s = SequenceInsert(e, x) }",
        {},
    ),
    "sequence_from_a_loop": (
        """(int64 n, float[2] x) => (seq(float[2]) s) { e = SequenceEmpty<dtype = 1>() s = Loop(n, , e)<body = b (
            int64 i, bool c, seq(float[2]) a) => (bool d, seq(float[2]) m) { d = Identity(c) m = SequenceInsert(a, x) }> }""",
        {},
    ),
    "optional": ("(optional(float[3]) o) => (bool h, float[3] y) { h = OptionalHasElement(o) e = OptionalGetElement(o) y = Neg(e) }", {}),
    "optional_made": ("(float[3] x) => (optional(float[3]) o, float[3] y) { o = Optional(x) e = OptionalGetElement(o) y = Relu(e) }", {}),
    "int4": ("(int4[3,2] a, float[2] s) => (float[3,2] y, int4[3,2] q) { b = Cast<to = 1>(a) y = Mul(b, s) q = Cast<to = 22>(y) }", {}),
    "int4_quantised": (
        "(float[4,4] x) => (int4[4,4] q, float[4,4] y) { q = QuantizeLinear<output_dtype = 22>(x, s) y = DequantizeLinear(q, s) }",
        {"s": np.array(0.3, np.float32)},
    ),
    "uint4": ("(uint4[5] a) => (uint4[5] q, float[5] y) { y = Cast<to = 1>(a) b = Neg(y) c = Abs(b) q = Cast<to = 21>(c) }", {}),
    "float8": ("(float[5] x) => (float8e4m3fn[5] q, float[5] y) { q = Cast<to = 17>(x) y = Cast<to = 1>(q) }", {}),
    "bfloat16": ("(bfloat16[5] x) => (float[5] y, bfloat16[5] z) { a = Cast<to = 1>(x) y = Exp(a) z = Cast<to = 16>(y) }", {}),
    "output_twice": ("(float[3] x) => (float[3] y, float[3] z) { y = Relu(x) z = Identity(y) }", {}),
    "input_as_output": ("(float[3] x, string[2] s) => (float[3] y, string[2] t) { y = Identity(x) t = Identity(s) }", {}),
    "without_inputs": ("() => (float[2,2] y) { y = EyeLike<dtype = 1>(s) }", {"s": np.zeros((2, 2), np.float32)}),
    "bytes": ("(uint8[4] a, uint8[4] b) => (uint8[4] y, bool[4] c) { y = Max(a, b) c = Less(y, a) }", {}),
    "input_unused": ("(float[3] x, float[2] unused) => (float[3] y) { y = Relu(x) }", {}),
    "branches": (
        """(bool c, float[3] x) => (float[3] y) { d = Not(c) y = If(d)<
            then_branch = t () => (float[3] r) { r = Relu(x) }, else_branch = e () => (float[3] q) { q = Neg(x) }> }""",
        {},
    ),
    "unique": ("(int64[6] x) => (int64[u] y, int64[v] n) { a = Abs(x) y, , , n = Unique(a) }", {}),
    "range": ("(int64 n) => (int64[r] y) { m = Abs(n) y = Range(o, m, i) }", {"o": np.array(0), "i": np.array(1)}),
    "optional_sequence": (
        """(optional(seq(float[2])) o) => (int64 n, bool h) {
            s = OptionalGetElement(o) n = SequenceLength(s) h = OptionalHasElement(o) }""",
        {},
    ),
    "text_in_branches": (
        """(bool c, string[2] a) => (string[2] y) { d = Not(c) y = If(d)<
            then_branch = t () => (string[2] r) { r = StringConcat(a, a) }, else_branch = e () => (string[2] q) { q = Identity(a) }> }""",
        {},
    ),
    "text_picked": ('(string[6] a) => (string[k] q) { m = RegexFullMatch<pattern = "[0-4]">(a) q = Compress(a, m) }', {}),
    "text_constant_read": ("(string[3] a) => (string[3] q) { q = StringConcat(a, w) }", {"w": np.array(["x", "y", "zé"], object)}),
    "texts_in_a_sequence": (
        "(string[2] a, string[3] b) => (seq(string) s, string[p] t) { s = SequenceConstruct(a, b) t = SequenceAt(s, o) }",
        {"o": np.array(1)},
    ),
    "sequence_mapped": (
        "(seq(float[2]) s) => (seq(float[2]) t) { t = SequenceMap(s)<body = b (float[2] x) => (float[2] y) { y = Relu(x) }> }",
        {},
    ),
    "loop_that_collects": (
        """(int64 n, float[2] x) => (float[2] f, float[k,2] s) { f, s = Loop(n, , x)<body = b (
            int64 i, bool c, float[2] a) => (bool d, float[2] r, float[2] o) { d = Identity(c) r = Relu(a) o = Neg(a) }> }""",
        {},
    ),
    "not_numbers": ("(float[3] x) => (float[3] y, bool[3] n) { a = Log(x) y = Sqrt(a) n = IsNaN(y) }", {}),
    "no_elements": ("(float[3] x) => (float[0] y, float[3] z) { y = Slice(x, o, o) z = Relu(x) }", {"o": np.array([0])}),
    "int4_scalar": ("(int4 a) => (float y, int4 q) { y = Cast<to = 1>(a) q = Cast<to = 22>(y) }", {}),
    "double": ("(double[3] x) => (double[3] y, float[3] z) { y = Abs(x) z = Cast<to = 1>(y) }", {}),
}


def odd_model(name: str) -> ModelProto:
    """Return one of the models; its tensors have its name in front."""
    text, constants = ODD[name]
    proto = model_of(f"{name} {text}", constants, opset=OPSET)
    proto.ir_version = 10
    return compose.add_prefix(proto, f"{name}/")


SMALL_TYPES = tuple(name for name in ODD if name.startswith(("int4", "uint4", "float8", "bfloat16")))
"""Those in types that numpy lacks. ONNX Runtime's Python interface does not return such beside inputs of text and sequences."""


def together(names: Iterable[str]) -> ModelProto:
    """Return one model of these, which share nothing."""
    graph = onnx.GraphProto(name="odd")
    for name in names:
        one = odd_model(name).graph
        for field in ("node", "input", "output", "initializer"):
            getattr(graph, field).extend(getattr(one, field))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)
