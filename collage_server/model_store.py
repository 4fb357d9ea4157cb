"""`ModelStore`: keeps the models that were opened: ``models/<hash>/`` holds a model's facts, its graph, and an upload's files.

Uploaded files, sample names and paths enter; `ModelInfo`s, graphs, and the path that a run reads leave. A sample or a
path is used where it lies, and known again by its size and time of change.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from collage_core.base.durations import duration
from collage_core.base.home import home
from collage_core.base.isolation.worker import Worker
from collage_core.base.isolation.worker_errors import WorkerDied, WorkerError, WorkerTimeout
from collage_core.base.model_file import is_relax_file
from collage_core.base.model_folder import folder_given
from collage_core.documents.run import TensorInfo
from collage_core.errors import CollageError

from .config import ServerConfig
from .http.error_answers import Problem, api_error, error_body, not_found, refused
from .messages.live import ErrorBody
from .messages.models import ModelGroups, ModelInfo
from .shared.from_json import from_json
from .shared.json_files import is_id, read_json, write_json
from .worker import load_model
from .worker.load_model import FILE_GRAPHS, GRAPH, GROUPS, write_groups

META = "meta.json"
FILES = "files"
_INCOMING = ".incoming-"

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


@dataclass(frozen=True)
class FixedInputs:
    """Shapes and values of a model's inputs, and the region of a Relax module, as the user fixed them.

    Attributes:
        shapes: Input name → dimensions; text such as ``1,{16,64}`` where several shapes are planned for, of which the page shows the last.
        values: Input name → the value that it always has, as `collage_core.options.Options.values`.
        region: Name of the region; None for the only one.
    """

    shapes: Mapping[str, Sequence[int] | str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    region: str | None = None

    def to_json(self) -> dict[str, Any]:
        shapes = {name: shape if isinstance(shape, str) else list(shape) for name, shape in self.shapes.items()}
        return {"shapes": shapes, "values": dict(self.values), **({"region": self.region} if self.region else {})}


class ModelStore:
    """Every model that was opened and not deleted, in `home()`."""

    def __init__(self, config: ServerConfig):
        self._config = config
        self._lock = threading.Lock()
        self._samples: dict[str, str] = {}
        """The models of the samples that this server has read, with nothing fixed: an older version may have read them otherwise."""

    def open_path(self, path: Path, fixed: FixedInputs) -> tuple[ModelInfo, bool]:
        """Open a model where it lies; the flag says whether it is new here.

        Raises:
            FolderGiven: it is a folder; the error lists the models in it.
            CollageError: it cannot be opened.
        """
        if os.path.isdir(path):
            raise folder_given(path.absolute())
        with self.incoming() as folder:
            return self._open(path.absolute(), None, fixed, folder)

    def open_sample(self, name: str, fixed: FixedInputs) -> tuple[ModelInfo, bool]:
        """Open a bundled model. One that this server has read before, and whose file is the same, is not read again.

        Raises:
            CollageError: there is none of that name, or it cannot be opened.
        """
        is_plain = fixed.to_json() == FixedInputs().to_json()
        if is_plain and (known := self._known_sample(name)):
            return known, False
        with self.incoming() as folder:
            info, is_new = self._open(Path(name), name, fixed, folder)
        if is_plain:
            self._samples[name] = info.id
        return info, is_new

    def open_upload(self, folder: Path, fixed: FixedInputs) -> tuple[ModelInfo, bool]:
        """Open the one model among the files that were put into ``folder / FILES`` (a folder of `incoming`).

        Raises:
            CollageError: there is not exactly one, or it cannot be opened.
        """
        return self._open(_one_model(sorted((folder / FILES).iterdir())), None, fixed, folder)

    def read_into(self, folder: Path, path: Path, fixed: FixedInputs, sample: str | None = None) -> dict[str, Any]:
        """Read the model at `path`, or the `sample`, into `folder` (one of `incoming`), and return its facts, for `move_in`.

        Raises:
            CollageError: it cannot be opened.
        """
        return self._read(path, sample, fixed, folder)

    def move_in(self, folder: Path, meta: dict[str, Any]) -> tuple[ModelInfo, bool]:
        """Add the model in `folder` (one of `incoming`) to the store; the flag says whether it is new here."""
        with self._lock:
            return self._move_in(meta, folder, _models_folder() / meta["id"])

    def files(self, model: str) -> list[Path]:
        """Return the model's own file, and those of its external data.

        Raises:
            Problem: there is no such model (404), or its file has changed or is not here (409).
        """
        self.file(model)
        return [Path(file["path"]) for file in _meta(_folder(model))["files"]]

    def has(self, model: str) -> bool:
        """Return whether there is a model of that id, whatever became of its file."""
        return is_id(model) and (_models_folder() / model / META).exists()

    def folder(self, model: str) -> Path:
        """Return the folder of the model.

        Raises:
            Problem: there is no such model (404).
        """
        return _folder(model)

    def fixed_inputs(self, model: str) -> FixedInputs:
        """Return what of the model's inputs was fixed.

        Raises:
            Problem: there is no such model (404).
        """
        return _fixed_inputs(_meta(_folder(model)))

    def paths(self, model: str) -> list[str]:
        """Return the paths of the model's files.

        Raises:
            Problem: there is no such model (404).
        """
        return [file["path"] for file in _meta(_folder(model))["files"]]

    def open_again(
        self, model: str, shapes: Mapping[str, Sequence[int]], values: Mapping[str, str] | None, region: str | None = None
    ) -> tuple[ModelInfo, bool]:
        """Open what lies where the file of `model` lay, with these shapes and values.

        Args:
            shapes: Those that were fixed if none are given.
            values: Those that were fixed if None.
            region: The one that was opened if None; empty for none, so that the error lists them where there are several.

        Raises:
            CollageError: there is no such model (404), or what lies there cannot be opened.
        """
        folder = _folder(model)
        meta = _meta(folder)
        before = _fixed_inputs(meta)
        chosen = before.region if region is None else region or None
        fixed = FixedInputs(shapes or before.shapes, before.values if values is None else values, chosen)
        if meta["sample"]:
            return self.open_sample(meta["sample"], fixed)
        if any((folder / FILES).iterdir()):  # Uploaded: the new model must outlive the old one.
            with self.incoming() as copied:
                shutil.copytree(folder / FILES, copied / FILES, dirs_exist_ok=True)
                return self.open_upload(copied, fixed)
        return self.open_path(Path(meta["files"][0]["path"]), fixed)

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Give a folder for a model that is being opened; it is gone afterwards."""
        folder = _models_folder() / f"{_INCOMING}{secrets.token_hex(8)}"
        (folder / FILES).mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def all(self) -> list[ModelInfo]:
        """List every model, newest first."""
        folders = [folder for folder in _models_folder().iterdir() if is_id(folder.name) and (folder / META).exists()]
        folders.sort(key=lambda folder: (folder / META).stat().st_mtime_ns, reverse=True)
        return [_info(meta) for folder in folders if (meta := _known(folder))]

    def get(self, model: str) -> ModelInfo:
        """Return the model of that id.

        Raises:
            Problem: there is none (404).
        """
        return _info(_meta(_folder(model)))

    def graph(self, model: str) -> tuple[Path, str]:
        """Return the compressed file that holds the `ModelGraph`, and its digest."""
        folder = _folder(model)
        return folder / GRAPH, _meta(folder)["graph_digest"]

    def groups(self, model: str) -> ModelGroups:
        """Return what of the model can be shown as one; worked out again where the file is damaged."""
        folder = _folder(model)
        try:
            kept = read_json(folder / GROUPS)
        except (OSError, ValueError):
            kept = write_groups(read_json(folder / GRAPH)["graph"], folder)
        return from_json(ModelGroups, {"id": model, **kept})

    def file_graphs(self, model: str) -> dict[str, Any] | None:
        """Return every graph of the model's file, by scope (`write_file_graphs`); None where they were not written yet, or are damaged.

        Raises:
            Problem: there is no such model (404).
        """
        try:
            graphs: dict[str, Any] = read_json(_folder(model) / FILE_GRAPHS)
            return graphs
        except (OSError, ValueError):
            return None

    def nodes(self, model: str) -> list[tuple[str, str]]:
        """Return name and operator of every node."""
        return [(node["name"], node["op"]) for node in read_json(_folder(model) / GRAPH)["graph"]["nodes"]]

    def file(self, model: str) -> tuple[Path, FixedInputs]:
        """Return the model's own file, and what of its inputs was fixed.

        Raises:
            Problem: there is no such model (404), or its file has changed (409).
        """
        folder = _folder(model)
        meta = _meta(folder)
        if meta.get("is_missing"):
            message = f"the file of the model {meta['name']!r} is not here: it came in a session without it"
            raise refused("missing_model", message, f"open the model's own file, with the hash {model}")
        if _is_stale(meta):
            path = meta["files"][0]["path"]
            raise refused("stale_model", f"the model file {path!r} was changed or removed since it was opened", "open it again")
        return Path(meta["files"][0]["path"]), _fixed_inputs(meta)

    def delete(self, model: str) -> None:
        """Forget the model; an upload's files are removed."""
        shutil.rmtree(_folder(model))

    def _open(self, path: Path, sample: str | None, fixed: FixedInputs, folder: Path) -> tuple[ModelInfo, bool]:
        """Open the model at `path`. One that cannot be run as it is, and for which nothing was fixed, is opened as its file has it."""
        try:
            meta = self._read(path, sample, fixed, folder)
        except CollageError as error:
            if path.is_relative_to(folder):  # Of an upload the user knows the name alone.
                error.message = error.message.replace(f"{path.parent}/", "")
                if error.code == "no_external_data":
                    error.hint = "the model keeps its weights in a second file: choose both files together, or drop both"
            if is_relax_file(path) or fixed.to_json() != FixedInputs().to_json():
                raise
            meta = self._read_file(path, sample, folder, error)
        return self.move_in(folder, meta)

    def _read(self, path: Path, sample: str | None, fixed: FixedInputs, folder: Path) -> dict[str, Any]:
        """Read the model at `path` into `folder`, and return what is kept of it; files in `folder` move with it."""
        meta = self._call(path, load_model.load, str(path), sample, fixed.shapes, fixed.values, fixed.region, str(folder))
        return self._kept(meta, path, sample, fixed, folder)

    def _read_file(self, path: Path, sample: str | None, folder: Path, refusal: CollageError) -> dict[str, Any]:
        """Read the graphs of the file at `path` into `folder`; raise `refusal`, why there can be no run of it, where that cannot be."""
        try:
            try:
                meta = self._call(path, load_model.load_file, str(path), sample, str(folder), True)
            except CollageError as error:
                if error.code not in ("model_kills", "model_too_slow"):
                    raise
                # ONNX's inference may end the process on a broken model.
                meta = self._call(path, load_model.load_file, str(path), sample, str(folder), False)
        except CollageError as error:
            raise refusal from error
        meta["refusal"] = error_body(api_error(refusal), inputs=getattr(refusal, "inputs", ()))
        return self._kept(meta, path, sample, FixedInputs(), folder)

    def _kept(self, meta: dict[str, Any], path: Path, sample: str | None, fixed: FixedInputs, folder: Path) -> dict[str, Any]:
        meta = {**meta, **fixed.to_json(), "sample": sample}
        if path.is_relative_to(folder):
            final = _models_folder() / meta["id"]
            meta["files"] = [{**file, "path": str(final / Path(file["path"]).relative_to(folder))} for file in meta["files"]]
        return meta

    def _known_sample(self, name: str) -> ModelInfo | None:
        """Return what this server has read of the sample, as opened now; None where it must be read: what is kept is gone or stale."""
        if name not in self._samples:
            return None
        folder = _models_folder() / self._samples[name]
        with self._lock:
            meta = _known(folder)
            if meta is None or _is_stale(meta) or meta["sample"] != name or _fixed_inputs(meta) != FixedInputs():
                return None
            write_json(folder / META, meta)
            return _info(meta)

    def _move_in(self, meta: dict[str, Any], folder: Path, final: Path) -> tuple[ModelInfo, bool]:
        """Move the new model to its place, unless the same one is there and still good."""
        known = _known(final)
        if known is not None and not _is_stale(known):
            if meta["sample"] and not known["sample"]:
                known["sample"] = meta["sample"]
            known["shapes"] = meta["shapes"]  # the same shape may now stand for several
            write_json(final / META, known)
            return _info(known), False
        write_json(folder / META, meta)
        if final.exists():
            shutil.rmtree(final)
        folder.rename(final)
        return _info(meta), known is None

    def _call(self, path: Path, read: Callable[[*Arguments], T], *arguments: *Arguments) -> T:
        """Call `read` on the model at `path`, in a process of its own."""
        with Worker(memory_bytes=self._config.load_memory_bytes) as worker:
            try:
                result: T = worker.call(read, *arguments, timeout_s=self._config.load_timeout_s)
                return result
            except WorkerTimeout as error:
                raise CollageError(f"reading {path.name!r} took longer than {duration(error.seconds)}", "", "model_too_slow") from error
            except WorkerDied as error:
                message = f"reading {path.name!r} {error.what}: the file is damaged, or too large for this machine"
                raise CollageError(message, "check it with `onnx.checker`, or try a smaller model", "model_kills") from error
            except WorkerError as error:
                raise CollageError(f"cannot read {path.name!r}: {error}", "check it with `onnx.checker`", "bad_model") from error


def _one_model(paths: Sequence[Path]) -> Path:
    models = [path for path in paths if path.suffix.lower() == ".onnx" or is_relax_file(path)]
    if len(models) == 1:
        return models[0]
    if len(paths) == 1:
        return paths[0]  # Whatever it is called: the loader says what it is, by its content.
    if not models:
        names = ", ".join(repr(path.name) for path in paths) or "nothing"
        hint = "send the .onnx file, and its external data with it; Relax modules end in .json or .py, programs of torch.export in .pt2"
        raise Problem(400, "no_model", f"no .onnx file is among what was sent: {names}", hint)
    names = ", ".join(repr(path.name) for path in models)
    raise Problem(
        400, "several_models", f"{len(models)} models were sent at once: {names}", "send one model at a time, with its external data"
    )


def _models_folder() -> Path:
    folder = home() / "models"
    folder.mkdir(exist_ok=True)
    return folder


def _folder(model: str) -> Path:
    folder = _models_folder() / model if is_id(model) else None
    if folder is None or not (folder / META).exists():
        raise not_found("unknown_model", f"there is no model {model!r}", "GET /api/v1/models lists them; open it first")
    return folder


def _meta(folder: Path) -> dict[str, Any]:
    return read_json(folder / META)


def _fixed_inputs(meta: Mapping[str, Any]) -> FixedInputs:
    return FixedInputs(meta["shapes"], meta["values"], meta.get("region"))


def _opened(model: str) -> str:
    with suppress(OSError):
        return datetime.fromtimestamp((_models_folder() / model / META).stat().st_mtime, UTC).isoformat(timespec="seconds")
    return ""


def _known(folder: Path) -> dict[str, Any] | None:
    with suppress(OSError, ValueError):
        return _meta(folder)
    return None


def _is_stale(meta: Mapping[str, Any]) -> bool:
    if meta.get("is_missing"):
        return True
    try:
        return any(load_model.stamp(Path(file["path"])) != file for file in meta["files"])
    except OSError:
        return True


def _info(meta: Mapping[str, Any]) -> ModelInfo:
    return ModelInfo(
        id=meta["id"],
        name=meta["name"],
        nodes=meta["nodes"],
        folded=meta["folded"],
        inputs=[from_json(TensorInfo, tensor) for tensor in meta["inputs"]],
        outputs=[from_json(TensorInfo, tensor) for tensor in meta["outputs"]],
        size_bytes=meta["size_bytes"],
        quantised=meta["quantised"],
        sample=meta["sample"],
        stale=_is_stale(meta),
        opened=_opened(meta["id"]),
        values=meta["values"],
        dimensions=meta["dimensions"],
        accuracy=meta["accuracy"],
        region=meta.get("region"),
        is_missing=meta.get("is_missing", False),
        refusal=from_json(ErrorBody, meta["refusal"]) if meta.get("refusal") else None,
        is_onnx=meta.get("is_onnx", True),
    )
