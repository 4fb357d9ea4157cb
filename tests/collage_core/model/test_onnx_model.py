"""`OnnxModel`: the graph that it gives, types, names and order, cutting, the reference."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from collage_core.graph.dataflow_graph import Constant, DataflowGraph, TensorType
from collage_core.graph.index_set import IndexSet
from collage_core.model.model import Model
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.model.shapes.inference import infer
from collage_core.model.types.dtypes import dtype_name, elem_type
from tests.helpers.models import loaded, model_of, run_in_parts, weights, write

CHAIN = "g (float[batch,4] x) => (float[batch,4] y) { [relu] a = Relu(x) [add] b = Add(a, w) [tanh] y = Tanh(b) }"


def test_the_graph_of_a_chain(tmp_path):
    model: Model = loaded(tmp_path, CHAIN, {"w": weights(4)})
    graph = model.graph
    assert [(node.index, node.name, node.op, node.kind.letter) for node in graph.nodes] == [
        (0, "relu", "Relu", "E"),
        (1, "add", "Add", "E"),
        (2, "tanh", "Tanh", "E"),
    ]
    assert [node.inputs for node in graph.nodes] == [("x",), ("a", "w"), ("b",)]
    assert graph.inputs[0].type == TensorType((1, 4), "float32")
    assert graph.outputs == ("y",)
    assert graph.types["b"] == TensorType((1, 4), "float32")
    assert graph.constants == {"w": Constant(TensorType((4,), "float32"))}
    assert model.folded == ()
    assert DataflowGraph.from_json(json.loads(json.dumps(graph.to_json(), allow_nan=False))) == graph


def test_unnamed_and_equally_named_nodes_get_unique_names(tmp_path):
    text = """g (float[1,4] x) => (float[1,4] y) {
        a = Relu(x) [same] b = Tanh(a) [same] c = Exp(b) [same] d = Neg(c) ["same#2"] e = Abs(d) y = Relu(e) }"""
    model = loaded(tmp_path, text)
    assert [node.name for node in model.graph.nodes] == ["Relu:a", "same", "same#3", "same#4", "same#2", "Relu:y"]


def test_nodes_keep_the_files_order_or_the_nearest_that_is_topological(tmp_path):
    proto = model_of("g (float[1,4] x) => (float[1,4] y, float[1,4] z) { [c] z = Exp(x) [a] m = Relu(x) [b] y = Tanh(m) }")
    assert [node.name for node in load_model(write(tmp_path, proto)).graph.nodes] == ["c", "a", "b"]
    reordered = list(proto.graph.node)[::-1]
    del proto.graph.node[:]
    proto.graph.node.extend(reordered)
    assert [node.name for node in load_model(write(tmp_path, proto)).graph.nodes] == ["a", "b", "c"]


def test_attributes_and_constants_are_json(tmp_path):
    text = """g (float[1,4] x) => (float[2,2] y) {
        [leaky] a = LeakyRelu<alpha = 0.1>(x) [pow] b = Pow(a, two) [min] c = Max(b, least) [r] y = Reshape(c, shape) }"""
    constants = {"two": np.float32(2), "least": np.float32(-np.inf), "shape": np.array([2, 2])}
    graph = loaded(tmp_path, text, constants, fold=False).graph
    assert graph.nodes[0].attributes == {"alpha": 0.1}
    assert graph.constants["two"].value == (2.0,)
    assert graph.constants["least"].value is None
    assert graph.constants["shape"].value == (2, 2)


def test_attributes_without_a_word_in_json_become_strings(tmp_path):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { [leaky] y = LeakyRelu(x) }")
    proto.graph.node[0].attribute.append(helper.make_attribute("alpha", float("inf")))
    graph = load_model(write(tmp_path, proto), fold=False).graph
    assert graph.nodes[0].attributes == {"alpha": "inf"}


def test_optional_inputs_stay_in_place_and_unused_outputs_go(tmp_path):
    text = "g (float[1,4] x) => (float[1,2] y) { [clip] a = Clip(x, , most) [top] y, rest = TopK(a, k) [drop] z, mask = Dropout(y) }"
    graph = loaded(tmp_path, text, {"most": np.float32(1), "k": np.array([2])}, fold=False).graph
    assert graph.nodes[0].inputs == ("x", "", "most")
    assert [tensor.name for tensor in graph.nodes[1].outputs] == ["y", "rest"]
    assert [node.name for node in graph.nodes] == ["clip", "top"], "a node that nothing reads is no node of the graph"


def test_unused_optional_outputs_are_left_out(tmp_path):
    text = "g (float[3,1,4] x) => (float[1,1,2] h) { [lstm] y, h, c = LSTM<hidden_size = 2>(x, w, r) }"
    graph = loaded(tmp_path, text, {"w": weights(1, 8, 4), "r": weights(1, 8, 2)}).graph
    assert [tensor.name for tensor in graph.nodes[0].outputs] == ["h"]


def test_initializers_that_old_files_list_as_inputs_are_constants(tmp_path):
    proto = model_of("g (float[1,4] x, float[4] w) => (float[1,4] y) { [add] y = Add(x, w) }", {"w": weights(4)})
    proto.ir_version = 3
    graph = load_model(write(tmp_path, proto)).graph
    assert [tensor.name for tensor in graph.inputs] == ["x"]
    assert list(graph.constants) == ["w"]


def test_outputs_that_are_inputs_or_constants(tmp_path):
    model = loaded(tmp_path, "g (float[1,4] x) => (float[1,4] x, float[4] w, float[1,4] y) { [add] y = Add(x, w) }", {"w": weights(4)})
    assert model.graph.outputs == ("x", "w", "y")
    inputs = model.seeded_inputs()
    assert largest_error(model.activations(inputs, model.graph.outputs), model.reference(inputs)) == 0
    assert largest_error(run_in_parts(model, [[0]], inputs), model.reference(inputs)) == 0


IF = """g (float[1,4] x, bool flag) => (float[1,4] y) {
    [neg] n = Neg(x)
    [if] y = If(flag) <
        then_branch = t () => (float[1,4] p) { q = Mul(n, w) p = Add(q, x) },
        else_branch = e () => (float[1,4] r) { r = Relu(n) }>
}"""


@pytest.mark.parametrize("fold", [True, False])
def test_an_inner_graph_is_one_opaque_node_that_reads_what_it_captures(tmp_path, fold):
    model = loaded(tmp_path, IF, {"w": weights(1, 4)}, fold=fold)
    node = model.graph.nodes[1]
    assert (node.op, node.kind.letter) == ("If", "O")
    assert node.inputs == ("flag", "n", "w", "x")
    assert node.attributes["then_branch"]["nodes"] == 2
    cut = model.cut(IndexSet([1]))
    assert [tensor.name for tensor in cut.inputs] == ["flag", "n", "x"]
    inputs = model.seeded_inputs()
    assert largest_error(run_in_parts(model, [[0], [1]], inputs), model.reference(inputs)) == 0


def test_local_functions_are_inlined(tmp_path):
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "my": 1]>
        g (float[1,4] x) => (float[1,4] y) { [call] y = my.twice(x) }
        <domain: "my", opset_import: ["": 17]> twice (a) => (b) { c = Relu(a) b = Add(c, c) }""")
    model = load_model(write(tmp_path, proto))
    assert [node.op for node in model.graph.nodes] == ["Relu", "Add"]


def test_sparse_initializers_become_dense(tmp_path):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { [add] y = Add(x, w) }")
    values = numpy_helper.from_array(np.array([2, 3], np.float32), "w")
    proto.graph.sparse_initializer.append(helper.make_sparse_tensor(values, numpy_helper.from_array(np.array([1, 3])), [4]))
    model = load_model(write(tmp_path, proto))
    assert model.constant("w").tolist() == [0, 2, 0, 3]


def test_a_shape_that_depends_on_data_is_taken_from_the_reference(tmp_path):
    model = loaded(tmp_path, "g (float[1,4] x) => (int64[2,n] y) { [relu] a = Relu(x) [nz] y = NonZero(a) }")
    inputs = model.seeded_inputs()
    assert model.graph.types["y"] == TensorType((2, int((inputs["x"] > 0).sum())), "int64", (1,))


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_a_window_behind_the_image_is_left_out_as_the_reference_does(tmp_path, op):
    """ONNX's inference for these opsets counts it."""
    pool = f"b = {op}<kernel_shape = [1, 2], strides = [2, 2], ceil_mode = 1>(a)"
    model = loaded(tmp_path, f"g (float[1,3,6,5] x) => (float[1,3,p,q] y) {{ a = Sin(x) {pool} y = Cos(b) }}")
    assert [model.graph.types[name].shape for name in "aby"] == [(1, 3, 6, 5), (1, 3, 3, 3), (1, 3, 3, 3)]
    assert model.reference(model.seeded_inputs())["y"].shape == (1, 3, 3, 3)


def test_an_output_that_is_left_out_leads_from_no_pool_to_an_input_that_is_left_out():
    """The LSTM reads what a window behind the image is in, the Clip does not."""
    pool = "b = MaxPool<kernel_shape = [1], strides = [2], ceil_mode = 1>(x)"
    rest = "s, h = LSTM<hidden_size = 2>(b, w, r) c = Clip(x, , top)"
    proto = model_of(f"g (float[1,3,6] x, float[1,8,4] w, float[1,8,2] r, float top) => (float h, float c) {{ {pool} {rest} }}")
    proto.graph.node[1].output[0] = ""
    found = infer(proto).types
    assert "h" not in found
    assert found["c"].shape == (1, 3, 6)


def test_an_operator_of_another_domain_has_it_in_its_name(tmp_path):
    proto = model_of("g (float[1,4] x) => (float[1,4] y) { y = com.microsoft.QuickGelu(x) }", domains={"com.microsoft": 1})
    node = load_model(write(tmp_path, proto)).graph.nodes[0]
    assert (node.op, node.name, node.kind.letter) == ("com.microsoft.QuickGelu", "com.microsoft.QuickGelu:y", "E")


@pytest.mark.parametrize(
    ("kind", "name"), [(TensorProto.BFLOAT16, "bfloat16"), (TensorProto.FLOAT16, "float16"), (TensorProto.FLOAT8E4M3FN, "float8e4m3fn")]
)
def test_small_floats_pass_through(tmp_path, kind, name):
    nodes = [
        helper.make_node("Cast", ["x"], ["a"], "up", to=TensorProto.FLOAT),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Cast", ["b"], ["y"], "down", to=kind),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", kind, ["N", 4])], [helper.make_tensor_value_info("y", kind, None)]
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    model = load_model(write(tmp_path, proto))
    assert model.graph.types["y"] == TensorType((1, 4), name)
    inputs = model.seeded_inputs()
    want = model.reference(inputs)
    assert np.abs(want["y"].astype(np.float32)).max() > 0
    assert largest_error(run_in_parts(model, [[0], [1], [2]], inputs), want) == 0


def test_strings_pass_through(tmp_path):
    model = loaded(tmp_path, "g (string[3] x) => (string[3] y) { [id] y = Identity(x) }", fold=False)
    assert model.graph.types["y"] == TensorType((3,), "string")
    assert model.graph.nodes[0].is_host
    inputs = model.seeded_inputs()
    assert largest_error(model.reference(inputs), {"y": inputs["x"]}) == 0


def test_four_bit_weights_do_not_disturb(tmp_path):
    proto = model_of(
        "g (float[1,4] x) => (float[1,4] y) { [deq] w = DequantizeLinear(q, s) [mul] y = Mul(x, w) }", {"s": np.float32(0.5)}, opset=21
    )
    proto.graph.initializer.append(helper.make_tensor("q", TensorProto.INT4, [4], [1, -2, 3, 7]))
    proto.ir_version = 10
    model = load_model(write(tmp_path, proto), fold=False)
    assert model.graph.constants["q"] == Constant(TensorType((4,), "int4"), (1, -2, 3, 7))
    inputs = model.seeded_inputs()
    assert largest_error(run_in_parts(model, [[0], [1]], inputs), model.reference(inputs)) == 0


def test_a_cut_is_a_checked_model_with_its_weights_and_names(tmp_path):
    model = loaded(tmp_path, CHAIN, {"w": weights(4), "unused": weights(9)})
    proto = onnx.load_from_string(model.cut(IndexSet([1, 2])).onnx)
    onnx.checker.check_model(proto, full_check=True)
    assert [node.name for node in proto.graph.node] == ["add", "tanh"]
    assert [tensor.name for tensor in proto.graph.initializer] == ["w"]
    assert [(entry.domain, entry.version) for entry in proto.opset_import] == [("", 17)]


def test_a_cut_with_taps_gives_every_tensor_that_is_read_outside(tmp_path):
    text = "g (float[1,4] x) => (float[1,4] y, float[1,4] a) { [r] a = Relu(x) [t] b = Tanh(a) [e] c = Exp(a) [s] y = Add(b, c) }"
    model = loaded(tmp_path, text)
    cut = model.cut(IndexSet([0, 1]))
    assert [tensor.name for tensor in cut.outputs] == ["a", "b"]
    inputs = model.seeded_inputs()
    assert largest_error(run_in_parts(model, [[0, 1], [2, 3]], inputs), model.reference(inputs)) == 0


def test_the_hash_is_of_contents_shapes_and_folding(tmp_path):
    text = "g (float[batch,c] x) => (float[batch,c] y) { [relu] y = Relu(x) }"
    one = write(tmp_path, model_of(text))
    (tmp_path / "elsewhere").mkdir()
    other = write(tmp_path / "elsewhere", model_of(text), "other.onnx")
    first = load_model(one, {"x": (1, 4)})
    assert load_model(other, {"x": (1, 4)}).hash == first.hash
    assert len({first.hash, load_model(one, {"x": (1, 8)}).hash, load_model(one, {"x": (1, 4)}, fold=False).hash}) == 3
    changed = write(tmp_path, model_of(text.replace("Relu", "Tanh")))
    assert load_model(changed, {"x": (1, 4)}).hash != first.hash
    assert (first.name, load_model(other, {"x": (1, 4)}, name="mine").name) == ("model", "mine")


def test_external_data_is_read_and_counts_in_the_hash(tmp_path):
    proto = model_of("g (float[1,400] x) => (float[1,400] y) { [add] y = Add(x, w) }", {"w": weights(400)})
    inside = load_model(write(tmp_path, proto, "inside.onnx"))
    path = tmp_path / "outside.onnx"
    onnx.save(proto, path, save_as_external_data=True, location="outside.data", size_threshold=0)
    outside = load_model(path)
    inputs = inside.seeded_inputs()
    assert largest_error(outside.reference(inputs), inside.reference(inputs)) == 0
    data = bytearray((tmp_path / "outside.data").read_bytes())
    data[0] ^= 1
    (tmp_path / "outside.data").write_bytes(data)
    assert load_model(path).hash != outside.hash


@pytest.mark.parametrize(("op", "quantised"), [("DynamicQuantizeLinear", True), ("Relu", False)], ids=["dynamic", "plain"])
def test_is_quantised(tmp_path, op, quantised):
    text = {
        "DynamicQuantizeLinear": "g (float[1,4] x) => (uint8[1,4] y) { y, s, z = DynamicQuantizeLinear(x) }",
        "Relu": "g (float[1,4] x) => (float[1,4] y) { y = Relu(x) }",
    }[op]
    assert loaded(tmp_path, text).is_quantised is quantised


def test_nothing_is_printed_while_onnx_runtime_refuses(tmp_path, capfd):
    model = loaded(tmp_path, "g (float[2,3] x, int64[2] s) => (float[a,b] y) { [r] y = Reshape(x, s) [n] z = NonZero(y) }", fold=False)
    assert model.graph.types["y"].shape
    assert capfd.readouterr() == ("", "")


def test_every_element_type_of_onnx_has_a_size_and_a_way_back():
    for number in TensorProto.DataType.values():
        name = dtype_name(number)
        if name != "undefined":
            assert elem_type(name) == number
            assert TensorType((3,), name).bytes >= 3
