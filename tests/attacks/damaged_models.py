"""Attack: what do damaged and forged files of models and partitions get?

    python -m tests.attacks.damaged_models --damaged 20000 --forged 3000

A damaged file is a saved one after bits were flipped, bytes lost, moved or overwritten.  It must
load as what was saved, or be refused.  A forged file is well formed and has the right digest, but
its content was changed by somebody who knows the format.  It must be refused, or load as a model
that holds together: it predicts, its masses sum to 1, it can be saved and loaded again.  A few
kinds of forgery are archives that lie about their sizes.

To be refused is one `CredpartError` with a text.  Any other exception, any warning, a load that
takes more than `PATIENCE` seconds or more than `CEILING` bytes of memory is a failure.
"""

import argparse
import io
import json
import os
import re
import resource
import signal
import struct
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd

from credpart import CalibratedClustering, EvidentialPartition, diagnose, load_model, save_model
from credpart.cli.folder import report
from credpart.cli.stored import Stored, stored_model
from credpart.datasets import load_butterfly, load_iris
from credpart.diagnostics import Finding
from credpart.errors import CredpartError, CredpartWarning
from credpart.partition.npz import Archive, content_digest, dump_npz
from credpart.storage import _encoded

PATIENCE = 20  # seconds
DEEP = "deep:"
CEILING = 2 << 30  # bytes of address space above what the program takes at the start


SAVED: list[bytes] = []  # all files that are attacked
NOTES: dict[str, Any] = {
    "source": "butterfly.csv",
    "table": {"columns": ["x", "y"], "transform": {"name": "asinh", "cofactor": 5.0}},
    "classes": list("aaaaabbbbbb"),
    "command": "credpart fit butterfly.csv",
    "diagnosis": {
        "verdict": "Trust it.",
        "grade": "good",
        "findings": [asdict(Finding("replicates", "ok", "all are", ""))],
        "advice": [asdict(Finding("model", "note", "it is simple", "Try others."))],
        "normality": [{"cluster": 1, "p": 0.5}],
        "rmse": 0.1,
        "covered": 0.9,
        "statuses": {"ok": 20},
        "models": {"EII": 20},
    },
}


class Target(NamedTuple):
    """Something that was saved."""

    name: str
    content: bytes
    load: Callable[[Path], Any]
    describe: Callable[[Any], Any]  # equal for equal values
    use: Callable[[Any], None]  # raises if the value does not hold together


# What is attacked


def targets() -> list[Target]:
    """Models of all families and with all that a model can have, as small as they can be."""
    options = {"n_replicates": 20, "random_state": 0, "tol": 1e-3, "n_starts": 1}
    butterfly, iris = load_butterfly().X, load_iris().X[::5]
    kinds = iris.assign(kind=np.where(np.arange(len(iris)) % 3 == 0, "a", "b"))
    answers = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (30, 4)).astype(str))
    models = {
        "EII": CalibratedClustering(2, model="EII", **options).fit(butterfly),
        "several": CalibratedClustering([1, 2], model=["EEE", "VVI"], **options).fit(
            iris.set_axis([f"flower {i}" for i in range(len(iris))])
        ),
        "t": CalibratedClustering(2, model="t-EEE", **options).fit(iris.to_numpy()),
        "skew": CalibratedClustering(2, model="skew-t-EII", **options).fit(iris),
        "latent classes": CalibratedClustering(2, model="latent-class", **options).fit(
            answers.set_axis(list("abcd"), axis=1)
        ),
        "mixed": CalibratedClustering(2, model="mixed", **options).fit(kinds),
    }
    models |= special_models(iris, options)
    masses = np.random.default_rng(0).dirichlet(np.ones(3), 5)
    partitions = {
        "plain": EvidentialPartition(masses, [[1, 0], [0, 1], [1, 1]]),
        "named": EvidentialPartition.from_hard(
            [0, 1, 1], cluster_names=["a", "é"], index=pd.Index(["x", "y", "z"], name="id")
        ),
    }
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "saved.npz")
        for name, model in models.items():
            save_model(model, path)
            load: Callable[[Path], Any] = load_model
            found.append(Target(name, path.read_bytes(), load, describe_model, use_model))
        save_model(models["EII"], path, notes=NOTES)
        use_stored = lambda stored: report(stored.result, stored.notes)  # noqa: E731
        found.append(Target("notes", path.read_bytes(), stored_model, describe_stored, use_stored))
        for name, partition in partitions.items():
            partition.save(path)
            load = EvidentialPartition.load
            found.append(Target(name, path.read_bytes(), load, describe_partition, use_partition))
    SAVED[:] = [target.content for target in found]
    return found


def special_models(iris: pd.DataFrame, options: dict[str, Any]) -> dict[str, CalibratedClustering]:
    """Models with landmarks, samples, noise, known labels, groups, strata and missing cells."""
    n, plain = len(iris), {"model": "EEE", **options}
    holes = iris.mask(np.random.default_rng(1).random(iris.shape) < 0.05)
    names = ["a" if i < 5 else "a|b" if i < 9 else "" for i in range(n)]
    design = {"groups": np.arange(n) // 2, "strata": np.arange(n) // 10}
    many = np.concatenate([iris.to_numpy() + 0.01 * k for k in range(10)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredpartWarning)
        models = {
            "landmarks": CalibratedClustering(2, pairs=5, **plain).fit(iris),
            "noise": CalibratedClustering(2, noise=True, **plain).fit(iris),
            "labels": CalibratedClustering(2, **plain).fit(iris, labels=names),
            "groups": CalibratedClustering(2, **plain).fit(iris, **design),
            "holes": CalibratedClustering(2, missing="model", **plain).fit(holes),
        }
        with mock.patch.multiple("credpart.pairs", SAMPLED=12, FEWEST=3):
            for method in ("simultaneous", "bca"):
                sampled = CalibratedClustering(2, pairs=3, method=method, **plain)
                models[f"sample, {method}"] = sampled.fit(iris)
            linear = CalibratedClustering(2, pairs=4, refit="linear", **plain)
            models["sample, linear"] = linear.fit(many)
    return models


def describe_model(model: CalibratedClustering) -> Any:
    about, arrays = _encoded(model, {})
    return json.dumps(about), content_digest(arrays)


def describe_stored(stored: Stored) -> Any:
    about, arrays = _encoded(stored.result, stored.notes)
    return json.dumps(about), content_digest(arrays)


def describe_partition(partition: EvidentialPartition) -> Any:
    index = None if partition.index is None else list(partition.index)
    names = getattr(partition.index, "names", None)
    arrays = {"masses": partition.masses, "focal_sets": partition.focal_sets}
    return content_digest(arrays), partition.cluster_names, index, names and list(names)


def use_model(model: CalibratedClustering) -> None:
    """Do what a user would do with a loaded model."""
    result = model.result_
    use_partition(result.partition)
    check_masses(result.predict_masses(result.frame()[:3]))
    assert np.isfinite(result.intervals_at(0.8).lower).all()
    sums = result.posteriors.sum(axis=1)  # the rest is noise
    assert (sums <= 1.0 + 1e-6).all()
    assert result.has_noise or np.allclose(sums, 1.0)
    check_masses(result.refit_partition(level=0.8).partition.masses)
    assert isinstance(repr(model) + repr(result.selection) + repr(result.mixture.params), str)
    assert np.isfinite([result.mixture.bic, result.rmse]).all()
    assert result.selection.table.notna().any(axis=None)
    assert isinstance(str(result.replicates.decision) + repr(result.landmarks), str)
    assert len(result.profile()) == result.partition.n_clusters
    diagnose(result, audit=0, rivals=False)
    again = io.BytesIO()
    about, arrays = _encoded(model, {})
    dump_npz(again, about, **arrays)


def use_partition(partition: EvidentialPartition) -> None:
    check_masses(partition.masses)
    belief, plausibility = partition.pairwise()
    assert (belief <= plausibility + 1e-12).all()
    assert len(partition.labels) == partition.n_objects == len(partition.to_frame())


def check_masses(masses: np.ndarray) -> None:
    assert np.isfinite(masses).all()
    assert (masses >= 0.0).all()
    assert np.allclose(masses.sum(axis=1), 1.0)


# Damage: functions of the bytes of a file


def flip_bits(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    for place in rng.integers(0, len(content), rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def flip_bit_of_directory(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    start = content.index(b"PK\x01\x02")
    changed[rng.integers(start, len(content))] ^= 1 << rng.integers(8)
    return bytes(changed)


def truncate(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


def lose_beginning(content: bytes, rng: np.random.Generator) -> bytes:
    return content[rng.integers(1, len(content)) :]


def _range(content: bytes, rng: np.random.Generator) -> tuple[int, int]:
    start = int(rng.integers(len(content)))
    return start, min(len(content), start + int(rng.integers(1, 500)))


def lose_middle(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _range(content, rng)
    return content[:start] + content[stop:]


def repeat_part(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _range(content, rng)
    return content[:stop] + content[start:]


def move_part(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _range(content, rng)
    part, rest = content[start:stop], content[:start] + content[stop:]
    place = int(rng.integers(len(rest) + 1))
    return rest[:place] + part + rest[place:]


def overwrite(content: bytes, rng: np.random.Generator) -> bytes:
    start, stop = _range(content, rng)
    filler = rng.bytes(stop - start) if rng.random() < 0.5 else bytes(stop - start)
    return content[:start] + filler + content[stop:]


def append(content: bytes, rng: np.random.Generator) -> bytes:
    return content + rng.bytes(int(rng.integers(1, 200)))


def rewrite_entry(content: bytes, rng: np.random.Generator) -> bytes:
    """One byte of one entry is changed, and the archive made anew, with right checksums."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    name = str(rng.choice(list(entries)))
    changed = bytearray(entries[name])
    changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
    entries[name] = bytes(changed)
    return _zip(entries)


def exchange_entries(content: bytes, rng: np.random.Generator) -> bytes:
    """Two arrays exchange their names."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    one, other = rng.choice(list(entries), 2, replace=False)
    entries[one], entries[other] = entries[other], entries[one]
    return _zip(entries)


def mix(content: bytes, rng: np.random.Generator) -> bytes:
    """The beginning is that of another file: what a reader sees while a file is written over."""
    other = _pick(rng, [saved for saved in SAVED if saved != content])
    place = int(rng.integers(1, min(len(content), len(other))))
    return other[:place] + content[place:]


def _zip(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        for name, data in entries.items():
            new.writestr(name, data)
    return stream.getvalue()


DAMAGE: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "bits flipped": flip_bits,
    "a bit of the directory flipped": flip_bit_of_directory,
    "end lost": truncate,
    "beginning lost": lose_beginning,
    "middle lost": lose_middle,
    "part repeated": repeat_part,
    "part moved": move_part,
    "part overwritten": overwrite,
    "bytes appended": append,
    "a byte of an entry changed": rewrite_entry,
    "entries exchanged": exchange_entries,
    "mixed with another file": mix,
}


# Forgeries: functions that change the JSON text and the arrays in place


def _nodes(value: Any, trail: tuple[Any, ...] = ()) -> list[tuple[Any, Any]]:
    """All places (container, key) of a JSON text."""
    found = []
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in items:
        found.append((value, key))
        found.extend(_nodes(part))
    return found


def _pick(rng: np.random.Generator, values: Any) -> Any:
    values = list(values)
    return values[rng.integers(len(values))]


ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 10**9, 10**30, -(10**30), 0.5, -0.5, 1.5, 1e308),
    *(float("nan"), float("inf"), float("-inf"), "", "x", "VVV", "EII", "auto", "full", "bic"),
    *("t", "Gaussian", "LocationScale", "__class__", "nonparametric", "\ud800", "\x00", "a" * 9999),
    *([], {}, [None], [[]], {"array": 0}, {"array": -1}, {"array": "0"}, {"object": 0}),
    *({"object": -1}, {"object": 10**6}, {"tuple": []}, {"tuple": [1, 2]}, {"list": [{}]}),
    *({"items": []}, {"items": [{"tuple": [1, 2]}]}, {"names": ["a"]}, {"names": [[1]]}),
    *({"type": {"family": "Gaussian"}}, {"type": {"own_family": "Popen"}}, {"call": "system"}),
    *({"index": {"labels": [1], "names": None}}, {"index": {"labels": 5, "names": [None]}}),
    *({"index": {"labels": [{"time": "x"}], "names": [None]}}, {"array": 0, "object": 0}),
]


def odd_value(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    holder, key = _pick(rng, _nodes(about))
    holder[key] = json.loads(json.dumps(_pick(rng, ODD_VALUES)))


def exchanged_values(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    nodes = _nodes(about)
    (one, key), (other, place) = _pick(rng, nodes), _pick(rng, nodes)
    one[key], other[place] = (
        json.loads(json.dumps(other[place])),
        json.loads(json.dumps(one[key])),
    )


def lost_value(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    holder, key = _pick(rng, _nodes(about))
    del holder[key]


def added_value(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    nodes = _nodes(about)
    holder, key = _pick(rng, nodes)
    value = json.loads(json.dumps(holder[key]))
    if isinstance(holder, list):
        holder.insert(int(rng.integers(len(holder) + 1)), value)
    else:
        holder[str(_pick(rng, ["x", "", "__init__", "self", key + "_"]))] = value


def near_number(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """A number that looks right, and is not."""
    numbers = [
        (holder, key)
        for holder, key in _nodes(about)
        if isinstance(holder[key], int | float) and not isinstance(holder[key], bool)
    ]
    if numbers:
        holder, key = _pick(rng, numbers)
        holder[key] = _pick(rng, [holder[key] + 1, holder[key] - 1, -holder[key], holder[key] * 2])


def deep_text(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """Lists in lists in lists, more than `json.dumps` could write."""
    holder, key = _pick(rng, _nodes(about))
    holder[key] = f"{DEEP}{_pick(rng, [50, 300, 900, 5000, 100_000])}"


def other_layout(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    about["layout"] = _pick(rng, ["x", None, 3, [], about["layout"][:-1] + "1"])


def other_shape(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    name = _pick(rng, arrays)
    array = arrays[name]
    changes = [
        lambda a: a[..., None],
        lambda a: a[None],
        lambda a: a.T,
        lambda a: a.reshape(-1),
        lambda a: a[:-1],
        lambda a: a[:0],
        lambda a: a[..., :1],
        lambda a: np.concatenate([a, a]),
        lambda a: np.concatenate([a, a[:1]]),
        lambda a: a.reshape(-1)[0],
        lambda a: np.zeros((0, 5), a.dtype),
    ]
    arrays[name] = np.asarray(_pick(rng, changes)(np.atleast_1d(array)))


def other_type(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    name = _pick(rng, arrays)
    kinds = ["f4", "f2", "i8", "u1", "?", "U9", "S9", "c16", ">f8", "i1"]
    with warnings.catch_warnings(action="ignore"):
        try:
            arrays[name] = arrays[name].astype(_pick(rng, kinds))
        except ValueError:
            arrays[name] = arrays[name].astype("U9")


def odd_cell(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    name = _pick(rng, [name for name, array in arrays.items() if array.size])
    array = arrays[name].copy()
    cells = array.reshape(-1)
    odd = {
        "f": [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, -1e300, 1e-300, 2.0, 0.5],
        "i": [-1, 10**6, 2**62, -(2**62), 0],
        "b": [True, False],
        "U": ["", "x", "VVV", "\x00"],
    }[array.dtype.kind]
    cells[rng.integers(len(cells))] = _pick(rng, odd)
    arrays[name] = array


def all_cells(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """Proportions that do not sum to 1, matrices that are not positive definite, and so on."""
    name = _pick(rng, [name for name, array in arrays.items() if array.dtype.kind in "fi"])
    array = arrays[name]
    changes = [
        lambda a: a * 2,
        lambda a: a * 0,
        lambda a: -a,
        lambda a: a + 1,
        lambda a: a[::-1],
        lambda a: rng.permuted(a),
        lambda a: (a * rng.uniform(0.5, 2.0, a.shape)).astype(a.dtype),
    ]
    arrays[name] = np.ascontiguousarray(_pick(rng, changes)(array))


def exchanged_arrays(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    one, other = _pick(rng, arrays), _pick(rng, arrays)
    arrays[one], arrays[other] = arrays[other], arrays[one]


def lost_array(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    del arrays[_pick(rng, arrays)]


def added_array(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    arrays[str(_pick(rng, ["x", "999", "", "../x", "é"]))] = np.zeros(3)


def other_order(about: Any, arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """The same numbers in Fortran's order, which is no fault."""
    name = _pick(rng, arrays)
    arrays[name] = np.asfortranarray(arrays[name])


FORGERIES: dict[str, Callable[[Any, dict[str, Any], np.random.Generator], None]] = {
    "an odd value": odd_value,
    "values exchanged": exchanged_values,
    "a value lost": lost_value,
    "a value added": added_value,
    "another number": near_number,
    "deep text": deep_text,
    "another layout": other_layout,
    "another shape": other_shape,
    "another type": other_type,
    "an odd cell": odd_cell,
    "other cells": all_cells,
    "arrays exchanged": exchanged_arrays,
    "an array lost": lost_array,
    "an array added": added_array,
    "another order": other_order,
}


def forge(content: bytes, kind: str, rng: np.random.Generator) -> bytes:
    """A file with changed content and the right digest."""
    about, arrays = _content(content)
    FORGERIES[kind](about, arrays, rng)
    stream = io.BytesIO()
    arrays = {name or "_": array for name, array in arrays.items()}
    text = np.array(re.sub(f'"{DEEP}(.*?)"', _nested, json.dumps(about)))
    digest = np.array(content_digest({"about": text, **arrays}))
    np.savez(stream, about=text, digest=digest, **arrays)
    return stream.getvalue()


def _nested(found: re.Match[str]) -> str:
    depth = int(found[1])
    return '{"tuple":[' * depth + "]}" * depth if depth % 3 else "[" * depth + "]" * depth


def _content(content: bytes) -> tuple[Any, dict[str, Any]]:
    with Archive(io.BytesIO(content)) as archive:
        arrays = {name: archive.read(name) for name in archive.headers}
    del arrays["digest"]
    return json.loads(str(arrays.pop("about"))), arrays


# Archives that lie about their sizes: functions of the bytes of a file


def _npy(descr: str, shape: str, data: bytes = b"", fortran: str = "False") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def _with_entry(content: bytes, rng: np.random.Generator, data: bytes) -> bytes:
    """The archive with another array in the place of one."""
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    entries[str(rng.choice(list(entries)))] = data
    return _zip(entries)


def huge_shape(content: bytes, rng: np.random.Generator) -> bytes:
    shapes = ["(1000000000000,)", "(99999, 99999, 99999)", "(0, 99999999999999999)", "(-1,)"]
    shapes += ["(1, -5)", "(9" + "9" * 40 + ",)", "(" + "1, " * 60 + ")", "(" * 300 + ")" * 300]
    return _with_entry(content, rng, _npy("'<f8'", _pick(rng, shapes), bytes(800)))


def odd_descr(content: bytes, rng: np.random.Generator) -> bytes:
    descrs = ["'|O'", "[('a', '<f8')]", "'<U999999999'", "'|V8'", "'<M8[ns]'", "'<U0'", "'<f3'"]
    descrs += ["__import__('os').system('true')", "'<f8', 'descr': '|O'", "''", "'" + "<" * 5000]
    return _with_entry(content, rng, _npy(_pick(rng, descrs), "(100,)", bytes(800)))


def pickled(content: bytes, rng: np.random.Generator) -> bytes:
    payload = b"cos\nsystem\n(S'exit 3'\ntR."
    return _with_entry(content, rng, _npy("'|O'", "(1,)", payload))


def _bomb(n_megabytes: int) -> bytes:
    """A deflated array of zeros that is made without the zeros."""
    n_bytes = n_megabytes << 20
    header = _npy("'<f8'", f"({n_bytes // 8},)")
    compress = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [compress.compress(header), compress.flush(zlib.Z_FULL_FLUSH)]
    block = compress.compress(bytes(1 << 20)) + compress.flush(zlib.Z_FULL_FLUSH)
    return b"".join([*parts, block * n_megabytes, compress.flush()])


def _raw_zip(entries: list[tuple[str, bytes, int, int]], *, is_shared: bool = False) -> bytes:
    """An archive of entries (name, deflated bytes, declared size, checksum)."""
    body, directory, first = b"", b"", None
    for name, data, size, checksum in entries:
        coded = name.encode()
        fields = struct.pack(
            "<HHHHHIIIHH", 20, 0, 8, 0, 33, checksum, len(data), size, len(coded), 0
        )
        place = len(body) if first is None or not is_shared else first
        if first is None or not is_shared:
            first = len(body)
            body += b"PK\x03\x04" + fields + coded + data
        directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields
        directory += struct.pack("<HHHII", 0, 0, 0, 0, place) + coded
    end = struct.pack("<HHHHIIH", 0, 0, len(entries), len(entries), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def zip_bomb(content: bytes, rng: np.random.Generator) -> bytes:
    """Three megabytes that would be 3.2 GB, beside the true arrays."""
    data = _bomb(3200)
    size = len(_npy("'<f8'", f"({(3200 << 20) // 8},)")) + (3200 << 20)
    return _raw_zip([*_raw_entries(content), ("999.npy", data, size, 0)])


def understated_bomb(content: bytes, rng: np.random.Generator) -> bytes:
    """An entry that is larger than the archive declares."""
    entries = _raw_entries(content)
    place = int(rng.integers(len(entries)))
    name, _, size, checksum = entries[place]
    entries[place] = name, _bomb(64), size, checksum
    return _raw_zip(entries)


def overstated_entry(content: bytes, rng: np.random.Generator) -> bytes:
    """An entry that is smaller than the archive and its header declare."""
    entries = _raw_entries(content)
    place = int(rng.integers(len(entries)))
    n = int(rng.choice([10**6, 10**8, 2 * 10**8]))
    data = _npy("'<f8'", f"({n},)")
    deflated = zlib.compress(data + bytes(8000), 9)[2:-4]
    entries[place] = entries[place][0], deflated, len(data) + 8 * n, 0
    return _raw_zip(entries)


def overlapping_entries(content: bytes, rng: np.random.Generator) -> bytes:
    """Many entries that are one and the same bytes."""
    data, size = _bomb(10), len(_npy("'<f8'", f"({(10 << 20) // 8},)")) + (10 << 20)
    entries = [(f"{i}.npy", data, size, 0) for i in range(int(rng.integers(2, 500)))]
    return _raw_zip(entries, is_shared=True)


def twin_entries(content: bytes, rng: np.random.Generator) -> bytes:
    entries = _raw_entries(content)
    return _raw_zip([*entries, _pick(rng, entries)])


def many_entries(content: bytes, rng: np.random.Generator) -> bytes:
    data = zlib.compress(_npy("'<f8'", "()", bytes(8)), 9)[2:-4]
    extra = [(f"x{i}.npy", data, 136, 0) for i in range(5000)]
    return _raw_zip([*_raw_entries(content), *extra])


def _raw_entries(content: bytes) -> list[tuple[str, bytes, int, int]]:
    with zipfile.ZipFile(io.BytesIO(content)) as old:
        return [
            (info.filename, zlib.compress(old.read(info), 9)[2:-4], info.file_size, info.CRC)
            for info in old.infolist()
        ]


LIES: dict[str, Callable[[bytes, np.random.Generator], bytes]] = {
    "a huge or impossible shape": huge_shape,
    "an odd type": odd_descr,
    "a pickle": pickled,
    "a bomb of 3.2 GB": zip_bomb,
    "an entry larger than declared": understated_bomb,
    "an entry smaller than declared": overstated_entry,
    "entries that overlap": overlapping_entries,
    "two entries of one name": twin_entries,
    "thousands of entries": many_entries,
}


# The judge


class Tally(NamedTuple):
    """What became of the files of one kind of attack."""

    outcomes: Counter[str]
    failures: list[str]


def judge(target: Target, content: bytes, path: Path, *, is_damaged: bool, original: Any) -> str:
    """What a file gets: "equal", "refused", "holds together", or what is wrong."""
    path.write_bytes(content)
    signal.alarm(PATIENCE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            value = target.load(path)
            described = target.describe(value)
            if described == original:
                return "equal"
            if is_damaged:
                return "WRONG: loaded as something else"
            target.use(value)
            return "holds together"
    except CredpartError as error:
        return "refused" if str(error).strip() else "WRONG: an error without a text"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"WRONG: {type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def _too_slow(*_: object) -> None:
    raise TimeoutError(f"more than {PATIENCE} seconds")


def attack(n_damaged: int, n_forged: int, seed: int = 0) -> dict[str, Tally]:
    """Attack that often, and count what happened, by kind of attack."""
    rng = np.random.default_rng(seed)
    victims = targets()
    originals = {}
    tallies = {name: Tally(Counter(), []) for name in (*DAMAGE, *FORGERIES, *LIES)}
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "attacked.npz")
        for victim in victims:
            path.write_bytes(victim.content)
            originals[victim.name] = victim.describe(victim.load(path))
        kinds = list(DAMAGE)
        for i in range(n_damaged):
            victim, kind = _turn(i, victims, kinds)
            made = DAMAGE[kind](victim.content, rng)
            _count(tallies[kind], victim, made, path, originals, is_damaged=True)
        forgeries = [*FORGERIES, *LIES]
        for i in range(n_forged):
            victim, kind = _turn(i, victims, forgeries)
            if kind in LIES:
                made = LIES[kind](victim.content, rng)
            else:
                made = forge(victim.content, kind, rng)
            _count(tallies[kind], victim, made, path, originals, is_damaged=False)
    return tallies


def _turn(i: int, victims: list[Target], kinds: list[str]) -> tuple[Target, str]:
    """What is attacked, and how, at the i-th try: all kinds in turn, each on another victim."""
    turn, place = divmod(i, len(kinds))
    return victims[(turn + place) % len(victims)], kinds[place]


def _count(
    tally: Tally,
    victim: Target,
    content: bytes,
    path: Path,
    originals: dict[str, Any],
    *,
    is_damaged: bool,
) -> None:
    outcome = judge(victim, content, path, is_damaged=is_damaged, original=originals[victim.name])
    tally.outcomes[outcome.split(":")[0]] += 1
    if outcome.startswith("WRONG"):
        tally.failures.append(f"{victim.name}: {outcome}")
        if "KEEP" in os.environ:
            Path(os.environ["KEEP"], f"{len(tally.failures)}-{victim.name}.npz").write_bytes(
                content
            )


def limit_memory() -> None:
    """Refuse this process more than `CEILING` bytes of memory above what it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * os.sysconf("SC_PAGE_SIZE") + CEILING
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def main() -> int:
    """Attack and print a table; the exit code is 1 if there was a failure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--damaged", type=int, default=20000)
    parser.add_argument("--forged", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    limit_memory()
    tallies = attack(options.damaged, options.forged, options.seed)
    print("| attack | tries | equal | refused | holds together | failures |")
    print("|---|---|---|---|---|---|")
    for name, (outcomes, failures) in tallies.items():
        counts = [outcomes[word] for word in ("equal", "refused", "holds together")]
        print(
            f"| {name} | {sum(outcomes.values())} |", *(f"{k} |" for k in (*counts, len(failures)))
        )
    failures = [f"{name}: {what}" for name, tally in tallies.items() for what in tally.failures]
    for what in failures[:50]:
        print(what[:400])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    tries = f"{options.damaged} damaged, {options.forged} forged"
    print(f"{tries}, {len(failures)} failures, {peak:.2f} GB of memory")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
