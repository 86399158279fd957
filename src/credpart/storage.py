"""Clusterings as files, without pickle: arrays, and one JSON text that says what they are.

A file can only bring back the classes of the closed lists below, and families of one's own that
the reader names: reading one runs no code of its own, whoever wrote it.
"""

import dataclasses
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from credpart import __version__
from credpart._bootstrap.replicates import FamilyReplicates, RefitDecision, Replicates
from credpart._checks import Table
from credpart._columns import Columns
from credpart._messages import Message
from credpart._stored_models import check_parameters_of_calls, check_result, check_sizes
from credpart.calibration_options import CalibrationOptions
from credpart.clustering import CalibratedClustering
from credpart.errors import InputError, InputTypeError
from credpart.intervals import Influence, PairwiseIntervals
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.families.standardisation import Standardisation
from credpart.mixture.fit import MixtureFit
from credpart.mixture.known_labels import KnownLabels
from credpart.mixture.models import FAMILIES
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.search.selection import Selection
from credpart.pairs import Landmarks, SampledObjects
from credpart.partition import EvidentialPartition
from credpart.partition.npz import (
    KINDS,
    MOST_LEVELS,
    decode_index,
    depth,
    dump_npz,
    encode_index,
    one_error,
    read_npz,
    write_npz,
)
from credpart.result import CalibratedResult

LAYOUT = "credpart.CalibratedClustering.6"
VALUE_LAYOUT = "credpart.value.1"

Family = type[MixtureFamily[Any]]  # whatever its parameters are

VALUES: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        CalibratedResult,
        CalibrationOptions,
        Columns,
        EvidentialPartition,
        FamilyReplicates,
        Influence,
        KnownLabels,
        Landmarks,
        MixtureFit,
        PairwiseIntervals,
        RefitDecision,
        Replicates,
        SampledObjects,
        Selection,
        Standardisation,
        Status,
        Table,
    )
}
BUILT_IN: Mapping[str, Family] = {kind.__name__: kind for kind in FAMILIES}


class Content(NamedTuple):
    """What a file holds besides its arrays, as JSON has it."""

    objects: list[Any]  # each refers only to those before it
    parameters: Any  # of the estimator
    feature_names: Any  # that scikit-learn compares with those of new data
    result: Any


def save_model(
    model: CalibratedClustering | CalibratedResult,
    path: str | os.PathLike[str],
    *,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to an npz file, whole or not at all.

    Parameters
    ----------
    model : CalibratedClustering or CalibratedResult
        A fitted model, or its result, of any family; one of your own has to say in
        ``params_type`` which NamedTuple its parameters are.
    path : path
        The file.
    notes : mapping, optional
        What else to keep beside the model: anything that JSON can say.

    Notes
    -----
    A ``random_state`` that is not an integer is not kept: the loaded estimator has None, and its
    ``result_.options.seed`` says which seed gives the same result.  Timings are not kept either:
    two models of the same data and seed make the same file.

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
    about, arrays = _encoded(model, notes)
    write_npz(Path(path), about, **arrays)


def dump_model(
    model: CalibratedClustering | CalibratedResult,
    stream: BinaryIO,
    *,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Write what `save_model` writes to a stream."""
    about, arrays = _encoded(model, notes)
    dump_npz(stream, about, **arrays)


def load_model(
    path: str | os.PathLike[str], *, families: Sequence[Family] = ()
) -> CalibratedClustering:
    """Return the model that `save_model` wrote.

    Its masses, intervals and predictions are those of the model that was saved, to the byte.

    Parameters
    ----------
    path : path
        The file.
    families : sequence of classes, optional
        The families of your own that the model has.

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
    return load_with_notes(path, families=families)[0]


def load_with_notes(
    path: str | os.PathLike[str], *, families: Sequence[Family] = ()
) -> tuple[CalibratedClustering, dict[str, Any]]:
    """Return the model that `save_model` wrote, and the notes beside it."""
    own = {family.__name__: _check_family("families", family) for family in families}
    with one_error(path, "save_model"):
        about, arrays = read_npz(Path(path), LAYOUT, check_sizes)
        missing = [name for name in about["own_families"] if name not in own]
        if not missing:
            content = Content(**about["content"])
            model = _estimator(_Reader(arrays, content.objects, own), content)
            if not isinstance(about["notes"], dict):
                raise ValueError(f"its notes are a {type(about['notes']).__name__}")
            return model, about["notes"]
    raise InputError(
        "families",
        f"hold the classes of all families of one's own that the model has, {', '.join(missing)}",
        list(families),
        f"Call `load_model(path, families=[{', '.join(about['own_families'])}])`.",
    )


def save_value(value: Any, path: Path) -> None:
    """Write one of the values that a result is made of, or a mapping or list of these."""
    writer = _Writer()
    encoded = writer.encode(value)
    about = {"layout": VALUE_LAYOUT, "objects": writer.objects, "value": encoded}
    arrays = {str(i): array for i, array in enumerate(writer.arrays)}
    write_npz(path, about, **arrays)


def load_value(path: Path, families: Sequence[Family] = ()) -> Any:
    """Return the value that `save_value` wrote."""
    about, arrays = read_npz(path, VALUE_LAYOUT)
    own = {family.__name__: family for family in families}
    return _Reader(arrays, about["objects"], own).decode(about["value"])


def _encoded(
    model: CalibratedClustering | CalibratedResult, notes: Mapping[str, Any] | None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The JSON text and the arrays of a file."""
    if isinstance(model, CalibratedResult):
        model = _fitted(CalibratedClustering(**model.parameters()), model, model.data.names)
    if not isinstance(model, CalibratedClustering):
        got = Message(type(model).__name__)
        raise InputTypeError("model", "be a CalibratedClustering", got)
    check_is_fitted(model)
    seed = model.random_state
    kept = {"random_state": int(seed) if isinstance(seed, int | np.integer) else None}
    writer = _Writer()
    content = Content(
        parameters=writer.encode(model.get_params(deep=False) | kept),
        feature_names=writer.encode(getattr(model, "feature_names_in_", None)),
        result=writer.encode(model.result_),
        objects=writer.objects,
    )
    about = {
        "layout": LAYOUT,
        "version": __version__,
        "notes": dict(notes or {}),
        "own_families": sorted(writer.own),
        "content": content._asdict(),
    }
    if depth(about) > MOST_LEVELS:
        got = Message("more than that")
        raise InputError("notes", f"have at most {MOST_LEVELS - 1} levels of lists in lists", got)
    return about, {str(i): array for i, array in enumerate(writer.arrays)}


def _estimator(reader: "_Reader", content: Content) -> CalibratedClustering:
    parameters, result = reader.decode(content.parameters), reader.decode(content.result)
    model = CalibratedClustering()
    if parameters.keys() != model.get_params(deep=False).keys():
        raise ValueError(f"its parameters are {list(parameters)}")
    if not isinstance(result, CalibratedResult):
        raise ValueError(f"its result is a {type(result).__name__}")
    check_parameters_of_calls(parameters)
    check_result(result)
    names = reader.decode(content.feature_names)
    if names is not None and len(names) != result.data.values.shape[1]:
        raise ValueError("it has names of other columns")
    return _fitted(model.set_params(**parameters), result, names)


def _fitted(
    model: CalibratedClustering, result: CalibratedResult, names: Iterable[str] | None
) -> CalibratedClustering:
    """The estimator as it is after a fit."""
    model.n_features_in_ = result.data.values.shape[1]
    if names is not None:
        model.feature_names_in_ = np.array([*names], dtype=object)
    model.result_ = result
    return model


def _check_family(name: str, family: Any) -> Family:
    """Refuse a class that is no family, or does not say what its parameters are."""
    if not isinstance(family, type) or not issubclass(family, MixtureFamily):
        raise InputError(name, "hold classes that inherit MixtureFamily", family)
    if family.params_type is None:
        raise InputError(
            name,
            "have families that say what their parameters are, so that a file can keep them",
            family,
            "Set its `params_type` to the NamedTuple that `m_step` returns.",
        )
    return family


class _Writer:
    """Values as JSON; arrays, and what is met more than once, stand in lists of their own."""

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.objects: list[Any] = []
        self.own: dict[str, Family] = {}  # families that are not built in
        self._places: dict[int, dict[str, Any]] = {}
        self._alive: list[Any] = []  # while ids are compared, no object may go

    def encode(self, value: Any) -> Any:
        """The value in terms that JSON has."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if id(value) not in self._places:
            self._alive.append(value)
            self._places[id(value)] = self._place(value)
        return self._places[id(value)]

    def _place(self, value: Any) -> dict[str, Any]:
        if isinstance(value, MixtureFamily):
            return self._object(self.family(type(value)), value.state())
        if isinstance(value, type) and issubclass(value, MixtureFamily):
            return {"type": self.family(value)}
        if VALUES.get(type(value).__name__) is type(value):
            return self._object({"value": type(value).__name__}, _fields(value))
        for family in (*BUILT_IN.values(), *self.own.values()):
            if type(value) is family.params_type:
                return self._object({"parameters": self.family(family)}, _fields(value))
        for kind, encode in ENCODERS.items():
            if isinstance(value, kind):
                return encode(self, value)
        raise _refusal(value)

    def family(self, family: Family) -> dict[str, Any]:
        """A family by its name."""
        if BUILT_IN.get(family.__name__) is family:
            return {"family": family.__name__}
        self.own[family.__name__] = _check_family("model", family)
        return {"own_family": family.__name__}

    def array(self, value: NDArray[Any]) -> dict[str, Any]:
        """Arrays of objects, such as names of columns, would need pickle."""
        if value.dtype == object:
            return {"names": [str(name) for name in value]}
        if value.dtype.kind not in KINDS or not value.dtype.itemsize:
            raise _refusal(value)
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1}

    def _object(self, kind: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
        made_of = {name: self.encode(part) for name, part in fields.items()}
        self.objects.append({"kind": kind, "fields": made_of})
        return {"object": len(self.objects) - 1}


def _refusal(value: Any) -> InputTypeError:
    return InputTypeError(
        "model",
        "hold arrays, numbers and text to be saved",
        value,
        "A family of your own can say in `state` what it has to remember.",
    )


def _fields(value: Any) -> dict[str, Any]:
    """What a value of the closed list is made from."""
    if isinstance(value, CalibratedResult):
        value = dataclasses.replace(value, timings={})
    if isinstance(value, Enum):
        return {"value": value.value}
    if isinstance(value, tuple):
        return dict(zip(type(value)._fields, value, strict=True))  # type: ignore[attr-defined]
    return {
        field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init
    }


def _several(name: str) -> Callable[[_Writer, Iterable[Any]], dict[str, Any]]:
    return lambda writer, value: {name: [writer.encode(part) for part in value]}


ENCODERS: Mapping[Any, Callable[[_Writer, Any], dict[str, Any]]] = {
    np.ndarray: _Writer.array,
    pd.Index: lambda writer, value: {"index": encode_index(value)},
    Mapping: lambda writer, value: _several("items")(writer, value.items()),
    tuple: _several("tuple"),
    Iterable: _several("list"),
}


class _Reader:
    """Values from what `_Writer` made of them."""

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], objects: list[Any], own: Mapping[str, Family]
    ) -> None:
        self._arrays, self._own = arrays, own
        self._objects: list[Any] = []
        for one in objects:
            fields = {name: self.decode(part) for name, part in one["fields"].items()}
            self._objects.append(self._maker(one["kind"])(fields))

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

    def family(self, name: dict[str, str]) -> Family:
        """A family by its name."""
        ((kind, known),) = name.items()
        return {"family": BUILT_IN, "own_family": self._own}[kind][known]

    def _maker(self, kind: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
        """What makes an object of its fields."""
        ((what, name),) = kind.items()
        if what == "value":
            return lambda fields: VALUES[name](**fields)
        if what == "parameters":
            params_type: Any = self.family(name).params_type
            return lambda fields: params_type(**fields)
        return self.family(kind).from_state


DECODERS: Mapping[str, Callable[[_Reader, Any], Any]] = {
    "array": _Reader.array,
    "object": _Reader.object,
    "type": _Reader.family,
    "names": lambda reader, names: np.array(names, dtype=object),
    "index": lambda reader, index: decode_index(index),
    "items": lambda reader, items: dict(reader.several(items)),
    "tuple": lambda reader, values: tuple(reader.several(values)),
    "list": _Reader.several,
}
