import pytest

from collage_core.toolchains.target_names import TargetName, target_name


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("onnxruntime", TargetName("onnxruntime")),
        ("openvino@bf16", TargetName("openvino", "bf16")),
        ("onnxruntime:cuda:1", TargetName("onnxruntime", "", "cuda", 1)),
        ("onnxruntime@tf32:cuda:0", TargetName("onnxruntime", "tf32", "cuda", 0)),
    ],
)
def test_a_name_has_a_toolchain_a_variant_and_a_device(text: str, parts: TargetName):
    assert target_name(text) == parts
    assert str(parts) == text


@pytest.mark.parametrize("text", ["", "@bf16", "onnxruntime:cuda", "onnxruntime:0", "onnxruntime:cuda:x", "a:cuda:0:1"])
def test_other_texts_are_none(text: str):
    assert target_name(text) is None
