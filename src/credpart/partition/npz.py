"""Reading and writing npz files without pickle: arrays, and one JSON text about them."""

import json
import zipfile
import zlib
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from credpart._files import new_file
from credpart.errors import InputError

# What a damaged or foreign file makes numpy, json and zipfile raise.
UNREADABLE = (
    *(ValueError, TypeError, KeyError, EOFError, RuntimeError, OverflowError, MemoryError),
    *(zipfile.BadZipFile, zlib.error),
)


def write_npz(path: Path, about: dict[str, Any], **arrays: NDArray[Any]) -> None:
    """Write the arrays and ``about`` to ``path``; the file appears whole or not at all."""
    with new_file(path) as partial, partial.open("wb") as stream:
        dump_npz(stream, about, **arrays)


def dump_npz(stream: BinaryIO, about: dict[str, Any], **arrays: NDArray[Any]) -> None:
    """Write the arrays and ``about`` to a stream."""
    text = np.array(json.dumps(about))
    np.savez_compressed(stream, allow_pickle=False, about=text, **arrays)


def read_npz(path: Path, layout: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `write_npz` wrote, if its ``about["layout"]`` is ``layout``."""
    content = BytesIO(path.read_bytes())
    if not zipfile.is_zipfile(content):
        raise ValueError("not an npz file")
    with np.load(content, allow_pickle=False) as file:
        about = json.loads(str(file["about"]))
        if not isinstance(about, dict) or about.get("layout") != layout:
            raise ValueError(f"its layout is not {layout!r}")
        return about, {name: file[name] for name in file.files if name != "about"}


def encode_index(index: Any) -> dict[str, Any] | None:
    """Return the labels of objects as JSON can say them, with the names of a pandas index."""
    if index is None:
        return None
    names = getattr(index, "names", None)
    return {
        "labels": [_encode(label) for label in index],
        "names": None if names is None else list(names),
    }


def decode_index(value: dict[str, Any] | None) -> Any:
    """Return the index that `encode_index` described."""
    if value is None:
        return None
    labels = [_decode(label) for label in value["labels"]]
    if value["names"] is None:
        return tuple(labels)
    import pandas as pd

    return pd.Index(labels).set_names(value["names"])


def _encode(label: Any) -> Any:
    if isinstance(label, np.generic) and label.dtype.kind in "biufU":
        return label.item()
    if isinstance(label, tuple):
        return [_encode(part) for part in label]
    if isinstance(label, datetime):
        return {"time": label.isoformat()}
    if label is None or isinstance(label, str | int | float):
        return label
    saved = "hold text, numbers, times or tuples of these to be saved"
    raise InputError("index", saved, label, "Convert its labels to text.")


def _decode(label: Any) -> Any:
    if isinstance(label, list):
        return tuple(_decode(part) for part in label)
    if isinstance(label, dict):
        import pandas as pd

        return pd.Timestamp(label["time"])
    return label
