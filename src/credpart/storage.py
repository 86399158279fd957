"""Fitted models as files, without pickle: arrays, and one JSON text that says what they are.

A file can only bring back classes and constants of the closed lists below: reading one runs no
code of its own, whoever wrote it.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credpart import __version__
from credpart._messages import Message, Name
from credpart.clustering import CalibratedClustering
from credpart.errors import InputError, InputTypeError
from credpart.partition.storage import (
    UNREADABLE,
    decode_index,
    encode_index,
    read_npz,
    write_npz,
)

LAYOUT = "credpart.CalibratedClustering.2"

CLASSES: Mapping[str, str] = {  # dataclasses, named tuples and enumerations, and their homes
    "Gaussian": "credpart.mixture.families.gaussian",
    "GaussianParams": "credpart.mixture.families.gaussian",
    "Frame": "credpart.mixture.families.standardisation",
    "LocationScale": "credpart.mixture.families.location_scale",
    "LocationScaleParams": "credpart.mixture.families.location_scale",
    "LatentClass": "credpart.mixture.families.latent_class",
    "LatentClassParams": "credpart.mixture.families.latent_class",
    "Mixed": "credpart.mixture.families.mixed",
    "MixedParams": "credpart.mixture.families.mixed",
    "Columns": "credpart._columns",
    "Table": "credpart._checks",
    "Status": "credpart.mixture.optimisation.em",
    "MixtureFit": "credpart.mixture.fit",
    "Selection": "credpart.mixture.search.selection",
    "Replicates": "credpart._bootstrap.replicates",
    "Part": "credpart._bootstrap.refits",
    "PairwiseIntervals": "credpart.intervals",
    "EvidentialPartition": "credpart.partition",
}
CONSTANTS: Mapping[str, str] = {
    "T": "credpart.mixture.families.student",
    "SKEW_NORMAL": "credpart.mixture.families.skew",
    "SKEW_T": "credpart.mixture.families.skew",
}


def save_model(
    model: CalibratedClustering,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to an npz file, whole or not at all.

    Parameters
    ----------
    model : CalibratedClustering
        A fitted model, of any family.
    path : path
        The file.
    notes : mapping, optional
        What else to keep beside the model: anything that JSON can say.

    Notes
    -----
    A ``random_state`` that is not an integer is not kept: the loaded model has None.

    Examples
    --------
    >>> import tempfile
    >>> from credpart import CalibratedClustering, load_model, save_model
    >>> from credpart.datasets import load_butterfly
    >>> butterfly = load_butterfly().X
    >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save_model(model.fit(butterfly), directory + "/model.npz")
    ...     again = load_model(directory + "/model.npz")
    >>> again.predict_masses(butterfly).tobytes() == model.predict_masses(butterfly).tobytes()
    True
    """
    if not isinstance(model, CalibratedClustering):
        got = Message(type(model).__name__)
        raise InputTypeError("model", "be a CalibratedClustering", got)
    check_is_fitted(model, "partition_")
    writer = _Writer()
    attributes = vars(model) | {"random_state": _seed(model.random_state)}
    content = writer.encode(attributes)
    about = {
        "layout": LAYOUT,
        "version": __version__,
        "notes": dict(notes or {}),
        "objects": writer.objects,
        "model": content,
    }
    write_npz(Path(path), about, **{str(i): array for i, array in enumerate(writer.arrays)})


def load_model(path: str | os.PathLike[str]) -> CalibratedClustering:
    """Return the model that `save_model` wrote.

    Its masses, intervals and predictions are those of the model that was saved, to the byte.

    Examples
    --------
    >>> import tempfile
    >>> from credpart import CalibratedClustering, load_model, save_model
    >>> from credpart.datasets import load_butterfly
    >>> model = CalibratedClustering(2, model="EII", n_replicates=100, random_state=0)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     save_model(model.fit(load_butterfly().X), directory + "/model.npz")
    ...     load_model(directory + "/model.npz").mixture_.model
    'EII'
    """
    return load_with_notes(path)[0]


def load_with_notes(path: str | os.PathLike[str]) -> tuple[CalibratedClustering, dict[str, Any]]:
    """Return the model that `save_model` wrote, and the notes beside it."""
    try:
        about, arrays = read_npz(Path(path), LAYOUT)
        attributes = _Reader(arrays, about["objects"]).decode(about["model"])
        model = CalibratedClustering()
        foreign = [name for name in attributes if hasattr(CalibratedClustering, name)]
        if foreign or not vars(model).keys() <= attributes.keys():
            raise ValueError(f"its attributes are {list(attributes)}")
        for name, value in attributes.items():
            setattr(model, name, value)
        return model, dict(about["notes"])
    except UNREADABLE as error:
        requirement = Message("be a file written by ", Name("save_model"))
        got = Message(f"{os.fspath(path)!r} ({error})")
        raise InputError("path", requirement, got) from error


def _seed(random_state: Any) -> int | None:
    return int(random_state) if isinstance(random_state, int | np.integer) else None


def _home(name: str, homes: Mapping[str, str]) -> Any:
    """A class or a constant of a closed list."""
    return getattr(import_module(homes[name]), name)


class _Writer:
    """Values as JSON; arrays, and what is met more than once, stand in lists of their own."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.objects: list[Any] = []  # each refers only to those before it
        self._places: dict[int, dict[str, int]] = {}
        self._alive: list[Any] = []  # while ids are compared, no object may go
        self._constants = {id(_home(name, CONSTANTS)): name for name in CONSTANTS}

    def encode(self, value: Any) -> Any:
        """The value in terms that JSON has."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if id(value) in self._constants:
            return {"constant": self._constants[id(value)]}
        if id(value) not in self._places:
            self._alive.append(value)
            self._places[id(value)] = self._place(value)
        return self._places[id(value)]

    def _place(self, value: Any) -> Any:
        if type(value).__name__ in CLASSES:
            fields = {name: self.encode(part) for name, part in _fields(value).items()}
            self.objects.append({"class": type(value).__name__, "fields": fields})
            return {"object": len(self.objects) - 1}
        for kind, encode in ENCODERS.items():
            if isinstance(value, kind):
                return encode(self, value)
        raise InputTypeError("model", "hold arrays and values", value)

    def array(self, value: NDArray[Any]) -> Any:
        """Arrays of objects, such as names of columns, would need pickle."""
        if value.dtype == object:
            return {"names": [str(name) for name in value]}
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1}


def _fields(value: Any) -> dict[str, Any]:
    """What a class of the closed list is made from."""
    if isinstance(value, Enum):
        return {"value": value.value}
    names = getattr(value, "_fields", None) or [
        field.name for field in dataclasses.fields(value) if field.init
    ]
    return {name: getattr(value, name) for name in names}


def _several(name: str) -> Callable[[_Writer, Iterable[Any]], Any]:
    return lambda writer, value: {name: [writer.encode(part) for part in value]}


ENCODERS: Mapping[Any, Callable[[_Writer, Any], Any]] = {
    np.ndarray: _Writer.array,
    pd.Index: lambda writer, value: {"index": encode_index(value)},
    Mapping: lambda writer, value: _several("items")(writer, value.items()),
    tuple: _several("tuple"),
    Iterable: _several("list"),
}


class _Reader:
    """Values from what `_Writer` made of them."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], objects: list[Any]) -> None:
        self._arrays = arrays
        self._objects: list[Any] = []
        for one in objects:
            fields = {name: self.decode(part) for name, part in one["fields"].items()}
            self._objects.append(_home(one["class"], CLASSES)(**fields))

    def decode(self, value: Any) -> Any:
        """The value that JSON has described."""
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        return DECODERS[kind](self, content)

    def several(self, values: list[Any]) -> list[Any]:
        """Each of the values."""
        return [self.decode(value) for value in values]

    def array(self, place: int) -> NDArray[Any]:
        """An array by its place."""
        return self._arrays[str(place)]

    def object(self, place: int) -> Any:
        """An object by its place."""
        return self._objects[place]


DECODERS: Mapping[str, Callable[[_Reader, Any], Any]] = {
    "array": _Reader.array,
    "object": _Reader.object,
    "constant": lambda reader, name: _home(name, CONSTANTS),
    "names": lambda reader, names: np.array(names, dtype=object),
    "index": lambda reader, index: decode_index(index),
    "items": lambda reader, items: dict(reader.several(items)),
    "tuple": lambda reader, values: tuple(reader.several(values)),
    "list": _Reader.several,
}
