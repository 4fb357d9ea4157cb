"""A folder in place of a model: its models are listed, and one of them is asked for."""

from __future__ import annotations

from pathlib import Path

from collage_core.base.model_folder import folder_given, models_in


def repository(folder: Path, *names: str) -> Path:
    """Make the files of a repository of Hugging Face."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x" * 1_500_000)
    return folder


def test_several_models_are_listed_with_their_sizes(tmp_path: Path):
    models = ("onnx/model.onnx", "onnx/model.onnx_data", "onnx/model_quantized.onnx")
    names = (*models, "config.json", ".cache/hidden.onnx", "a/b/c/d/deep.onnx")
    folder = repository(tmp_path, *names)
    error = folder_given(folder)
    assert error.message == f"'{folder}' is a folder with 2 models: onnx/model.onnx (3.0 MB), onnx/model_quantized.onnx (1.5 MB)"
    assert error.hint == f"name one of them, such as '{folder}/onnx/model.onnx'"
    assert (error.code, error.exit_status) == ("several_models", 2)
    assert error.choices == [f"{folder}/onnx/model.onnx", f"{folder}/onnx/model_quantized.onnx"]


def test_a_long_list_is_cut_off(tmp_path: Path):
    folder = repository(tmp_path, *(f"{number:02}.onnx" for number in range(14)))
    assert "11.onnx (1.5 MB) and 2 more" in folder_given(folder).message
    assert len(models_in(folder)) == 14


def test_weights_without_a_graph_are_named_with_what_to_do(tmp_path: Path):
    error = folder_given(repository(tmp_path, "model.safetensors", "config.json"))
    assert error.message == f"'{tmp_path}' holds no ONNX model; 'model.safetensors' holds weights without a graph"
    assert error.hint == "export it first, such as with `optimum-cli export onnx --model FOLDER OUT`"
    assert error.choices == []


def test_a_folder_with_nothing_in_it(tmp_path: Path):
    assert folder_given(tmp_path).message == f"'{tmp_path}' is a folder, not a model file"


def test_names_with_brackets_are_counted_by_themselves(tmp_path: Path):
    folder = repository(tmp_path, "a[1].onnx", "a1.onnx")
    assert "a[1].onnx (1.5 MB)" in folder_given(folder).message
