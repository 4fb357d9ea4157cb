"""`OrtSession`: ONNX Runtime for folding and the reference: silent, on the CPU, with errors in one line and arrays of every dtype.

Candidates are not run here, but by the toolchain of that name in worker processes. ONNX Runtime's Python interface has no arrays for types
that numpy lacks: `ValueRunner` takes and gives values of every type (arrays of numpy and of `ml_dtypes`, strings, lists, None),
and writes and reads their bytes.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto

from ...base.durations import duration
from ...base.processor import usable_cores
from ...errors import CollageError
from ..files.external_data import with_relative_paths
from ..files.unsigned_weights import with_unsigned_weights
from ..refusals import error_text
from ..types.dtypes import BITS, dtype_name, elem_type, graph_dtype, numpy_dtype, packed, unpacked
from .exact_integers import with_exact_integers

_ODD = ("bfloat16", "float8", *BITS)


class ValueRunner:
    """Runs a session on values.

    Args:
        session: An `onnxruntime.InferenceSession`.
    """

    def __init__(self, session: Any):
        self._session = session
        self._types = {value.name: value.type for value in (*session.get_inputs(), *session.get_outputs())}

    def run(self, inputs: Mapping[str, Any], names: Iterable[str], options: Any = None) -> dict[str, Any]:
        """Return the values of the outputs `names` on `inputs`.

        Raises:
            CollageError: values that ONNX Runtime's Python interface does not take together.
            Exception: whatever ONNX Runtime raises.
        """
        wanted = list(names)
        odd = [name for name in wanted if self._is_odd(name)]
        feeds = {name: to_ort(value) if _has_odd_type(value) else value for name, value in inputs.items()}
        plain = [name for name in wanted if name not in odd]
        found = dict(zip(plain, self._session.run(plain, feeds, options), strict=True)) if plain else {}
        if odd:
            values = self._session.run_with_ort_values(odd, {name: self._bound(name, value) for name, value in feeds.items()}, options)
            found |= {name: from_ort(value) for name, value in zip(odd, values, strict=True)}
        return {name: found[name] for name in wanted}

    def _is_odd(self, name: str) -> bool:
        """Return whether the tensor `name` has a type that numpy lacks."""
        return any(odd in self._types[name] for odd in _ODD)

    def _bound(self, name: str, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            if value is None or isinstance(value, list | dict):
                raise _not_together(name, self._types[name])
            return value
        if value.dtype.kind in "OUS":
            raise _not_together(name, self._types[name])
        import onnxruntime

        return onnxruntime.OrtValue.ortvalue_from_numpy(value)


def _not_together(name: str, kind: str) -> CollageError:
    found = (
        f"the input {name!r} is a {kind}, which ONNX Runtime's Python interface does not take where an output is of a type that numpy lacks"
    )
    return CollageError(found, "export the model with that output in a type of numpy", "dtype")


def _has_odd_type(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind not in "OUS" and value.dtype.type.__module__ != "numpy"


def to_ort(array: np.ndarray) -> Any:
    """Return a value of ONNX Runtime with the elements of `array`, whose type numpy lacks."""
    import onnxruntime

    name = graph_dtype(array.dtype)
    value = onnxruntime.OrtValue.ortvalue_from_shape_and_type(list(array.shape), elem_type(name))
    raw = packed(array, BITS[name]) if name in BITS else np.ascontiguousarray(array)
    if raw.nbytes:
        ctypes.memmove(value.data_ptr(), raw.ctypes.data, raw.nbytes)
    return value


def from_ort(value: Any) -> np.ndarray:
    """Return a tensor of ONNX Runtime as an array of its own."""
    name = dtype_name(value.element_type())
    dtype = numpy_dtype(name)
    if dtype.type.__module__ == "numpy":
        return np.asarray(value.numpy())
    raw = np.frombuffer(ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes()), np.uint8)
    if name in BITS:
        return unpacked(raw, BITS[name], value.shape(), dtype)
    return raw.view(dtype).reshape(value.shape())


RUN_LIMIT_S = 300.0
"""Longest that one run of the reference may take."""

_FATAL_ONLY = 4


class RuntimeRefusal(Exception):
    """Raised when ONNX Runtime does not load a model or cannot run it; the text is its message in one line."""


class OrtSession:
    """A loaded model that runs on arrays by name.

    Args:
        model: The model to load. Weights that are external stay in their files, which are mapped.
        optimise: Whether to optimise at ONNX Runtime's basic level.
        disabled: Names of optimisers to leave out.
        saved_to: File that the optimised model is written to.

    Attributes:
        types: Inputs and outputs → their types, as ONNX Runtime writes them: ``tensor(float)``, ``seq(tensor(int64))``.

    Raises:
        RuntimeRefusal: ONNX Runtime does not load the model.
    """

    def __init__(self, model: ModelProto, *, optimise: bool = False, disabled: Sequence[str] = (), saved_to: Path | None = None):
        levels = ort.GraphOptimizationLevel
        options = ort.SessionOptions()
        options.log_severity_level = _FATAL_ONLY
        options.graph_optimization_level = levels.ORT_ENABLE_BASIC if optimise else levels.ORT_DISABLE_ALL
        options.intra_op_num_threads = usable_cores()
        # Spinning idle threads would take cores from measurements beside this process.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # Operators that are defined by other operators are not expanded when the graph is optimised.
        options.add_session_config_entry("session.disable_aot_function_inlining", "1")
        ort.set_default_logger_severity(_FATAL_ONLY)
        if saved_to is not None:
            # What is saved is the model itself; a call of constants alone is gone from it, and has to be evaluated right.
            options.optimized_model_filepath = str(saved_to)
            model = with_exact_integers(model, constants_only=True)
        else:
            model = with_unsigned_weights(with_exact_integers(model))
        data, folder = with_relative_paths(model)
        if folder:
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
            # Kernels would hold copies of their weights in another order; these sessions run a few times.
            options.add_session_config_entry("session.disable_prepacking", "1")
        with _Refusals():
            # The fallback to other providers would print on the terminal and try the same provider again.
            session = ort.InferenceSession(data, options, ["CPUExecutionProvider"], disabled_optimizers=list(disabled), enable_fallback=0)
        self._runner = ValueRunner(session)
        self.types: Mapping[str, str] = {value.name: value.type for value in (*session.get_inputs(), *session.get_outputs())}

    def run(self, inputs: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
        """Return the values of the outputs `names` on `inputs`: arrays, lists for sequences, None for an optional without a value.

        Raises:
            RuntimeRefusal: ONNX Runtime does not accept the inputs, or fails.
            CollageError: it takes longer than `RUN_LIMIT_S`.
        """
        with _Refusals(), _bounded() as options:
            return self._runner.run(inputs, names, options)


@contextmanager
def _bounded() -> Iterator[ort.RunOptions]:
    """Give options by which a run ends after `RUN_LIMIT_S`: a loop may say that it turns 2^62 times.

    Raises:
        CollageError: it has ended for that reason.
    """
    options = ort.RunOptions()
    is_over = threading.Event()

    def end() -> None:
        is_over.set()
        options.terminate = True

    timer = threading.Timer(RUN_LIMIT_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield options
    except Exception as error:
        if is_over.is_set():
            hint = "export it with fewer turns of its loops, or in larger operators"
            raise CollageError(f"the model was still running after {duration(RUN_LIMIT_S)}", hint, "model_too_slow") from error
        raise
    finally:
        timer.cancel()


class _Refusals:
    """Turns every exception of ONNX Runtime into a `RuntimeRefusal`; its exceptions have no common base class."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, RuntimeRefusal | CollageError):
            raise RuntimeRefusal(error_text(error)) from error
