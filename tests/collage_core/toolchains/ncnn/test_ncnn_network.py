"""How a network of ncnn is written down."""

from __future__ import annotations

import numpy as np
import pytest

from collage_core.toolchains.ncnn.ncnn_network import Network, marked, plain


def test_the_text_names_every_layer_and_writes_floats_with_an_exponent():
    network = Network()
    x = network.add("Input", [], (3, 5, 7))
    made = network.add("Clip", [x], (3, 5, 7), {0: -1.0, 1: 2, 3: (4, 5)})
    finished = network.finished([made])
    lines = finished.text(with_hints=False).splitlines()
    assert lines == ["7767517", "2 2", "Input l0 0 1 b0_0", "Clip l1 1 1 b0_0 b1_0 0=-1.000000000e+00 1=2 -23303=2,4,5"]
    assert (finished.outputs, finished.index_of) == ((1,), {"b0_0": 0, "b1_0": 1})


def test_hints_are_dims_w_h_c_of_every_blob_that_has_up_to_three_axes():
    network = Network()
    x = network.add("Input", [], (3, 5, 7))
    flat = network.view(x, (15, 7))
    deep = network.view(x, (3, 5, 7, 1))
    lines = network.finished([flat, deep]).text(with_hints=True).splitlines()[2:]
    assert lines[0].endswith(" -23330=4,3,7,5,3")
    assert lines[1].startswith("Split ")
    assert lines[1].endswith(" -23330=8,3,7,5,3,3,7,5,3")
    assert lines[2].endswith(" 0=7 1=15 -23330=4,2,7,15,1")
    assert lines[3].endswith(" 0=1 1=7 11=5 2=3")


def test_a_blob_that_is_read_several_times_is_split_and_an_output_counts_as_a_reader():
    network = Network()
    x = network.add("Input", [], (4,))
    a = network.add("ReLU", [x], (4,))
    b = network.add("BinaryOp", [a, a], (4,))
    finished = network.finished([a, b])
    assert [layer.type for layer in finished.layers] == ["Input", "ReLU", "Split", "BinaryOp"]
    assert len(finished.layers[2].tops) == 3
    assert len(set(finished.outputs)) == 2


def test_what_nobody_needs_is_left_out():
    network = Network()
    x, unused = network.add("Input", [], (4,)), network.add("Input", [], (4,))
    network.add("ReLU", [unused], (4,))
    finished = network.finished([network.add("TanH", [x], (4,))])
    assert [layer.type for layer in finished.layers] == ["Input", "TanH"]
    assert unused.blob not in finished.index_of


def test_a_view_of_a_view_is_a_view_of_the_first_and_is_made_once():
    network = Network()
    x = network.add("Input", [], (2, 6))
    assert network.view(network.view(x, (12,)), (2, 6)) is x
    assert network.view(network.view(x, (12,)), (3, 4)) is network.view(x, (3, 4))
    with pytest.raises(ValueError, match=r"\[2, 6\] cannot be viewed as \[5\]"):
        network.view(x, (5,))


@pytest.mark.parametrize(
    ("readers", "may"), [(["Convolution"], True), (["ReLU"], False), (["Convolution", "ReLU"], False), (["Reshape"], False)]
)
def test_only_layers_that_make_new_memory_may_read_the_callers_buffers(readers: list[str], may: bool):
    network = Network()
    x = network.add("Input", [], (4, 4, 4))
    made = [network.add(type, [x], (4, 4, 4)) for type in readers]
    assert network.finished(made).may_share(x.blob) is may


def test_weights_are_float32_in_c_order_and_some_have_a_mark():
    array = np.arange(6, dtype=np.float64).reshape(2, 3).T
    assert plain(array) == np.array([0, 3, 1, 4, 2, 5], np.float32).tobytes()
    assert marked(array) == b"\0\0\0\0" + plain(array)
