"""What the page's script reads: arrays packed into one compressed text, and a description.

The script computes the interval of any two objects itself, from the replicates.  Where the log
joint densities are products of parameters and features, both are stored: that is exact, and
small.  Else the posteriors are: they would fill the page if there are many objects, so then they
are rounded, some replicates are left out, and in the end some objects.  The description says so.
"""

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from credpart._arrays import Array, IntArray
from credpart._bootstrap import Replicates

ALIGNMENT = 8  # bytes: a typed array of the browser starts at a multiple of its item's size
EXACT_VALUES = 1 << 20  # posteriors stored as floats; more are rounded to 16 bits
MOST_VALUES = 14_000_000  # posteriors stored at all
FEWEST_REPLICATES = 100  # objects are left out rather than keep fewer
MOST_BYTES = 6_600_000  # of all arrays: as text a third more, so the page stays below 10 MB
LEAST_ROOM = 1_000_000  # for the replicates
WHOLE = 65535  # what a probability of 1 is rounded to
BLOCK_VALUES = 1 << 23  # posteriors computed together
DOUBLES = 200_000  # values of a table that keeps all digits


class StoredReplicates(NamedTuple):
    """Arrays of the replicates, and how much of them was kept."""

    arrays: dict[str, NDArray[Any]]
    objects: IntArray
    replicates: int
    of: int  # replicates that there are
    resolution: float  # 0: not rounded


def store(
    replicates: Replicates, values: Array, order: IntArray, level: float, room: int = MOST_BYTES
) -> StoredReplicates:
    """Store the replicates; ``order`` says which objects come first if some are left out."""
    stored = _products(replicates, values, room)
    return stored or _posteriors(replicates, values, order, level, room)


def room_beside(arrays: Mapping[str, NDArray[Any]]) -> int:
    """Bytes that other arrays leave for the replicates."""
    used = sum(len(_deflate(np.ascontiguousarray(array))) for array in arrays.values())
    return max(LEAST_ROOM, MOST_BYTES - used)


def _products(replicates: Replicates, values: Array, room: int) -> StoredReplicates | None:
    """Parameters and features whose product is the log joint density, if the family has them."""
    if len(replicates.parts) > 1:
        return None
    (part,) = replicates.parts
    natural = part.family.natural_parameters(part.params)
    if natural is None:
        return None
    features = part.family.features(values)
    if natural.nbytes + features.nbytes > room:
        return None
    B = len(replicates)
    return StoredReplicates(
        {"natural": natural, "features": features}, np.arange(len(features)), B, B, 0.0
    )


def _posteriors(
    replicates: Replicates, values: Array, order: IntArray, level: float, room: int
) -> StoredReplicates:
    """Posteriors (m, c, R) of m objects in R replicates."""
    n, B, c = len(order), len(replicates), int(replicates.n_clusters.max())
    fewest = min(B, max(FEWEST_REPLICATES, int(np.ceil(2.0 / (1.0 - level)))))
    R = int(np.clip(MOST_VALUES // (n * c), fewest, B))
    objects = np.sort(order[: max(2, MOST_VALUES // (R * c))])
    exact = len(objects) * c * R <= EXACT_VALUES
    kept = _computed(replicates, values[objects], R, exact)
    while _is_large(kept, room):  # half the replicates, or else half the objects
        if fewest <= R // 2:
            R //= 2
            kept = np.ascontiguousarray(kept[:, :, _spaced(kept.shape[2], R)])
        else:
            rank = np.argsort(order)[objects]
            chosen = np.sort(np.argsort(rank)[: len(objects) // 2])
            objects, kept = objects[chosen], kept[chosen]
    return StoredReplicates({"posteriors": kept}, objects, R, B, 0.0 if exact else 1.0 / WHOLE)


def _is_large(values: NDArray[Any], room: int) -> bool:
    return values.nbytes > room and len(_deflate(values)) > room


def _computed(replicates: Replicates, values: Array, R: int, exact: bool) -> NDArray[Any]:
    """Posteriors (n, c, R) of R evenly spaced replicates, by blocks of objects."""
    B, c = len(replicates), int(replicates.n_clusters.max())
    chosen = _spaced(B, R)
    found = np.empty((len(values), c, R), dtype="<f4" if exact else "<u2")
    step = max(1, BLOCK_VALUES // (B * c))
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        block = replicates.posteriors_of(values[rows])[chosen].transpose(1, 2, 0)
        found[rows] = block if exact else np.rint(block * WHOLE)
    return found


def _spaced(B: int, R: int) -> IntArray:
    """R of B replicates, evenly spaced.

    >>> _spaced(10, 4)
    array([0, 3, 6, 9])
    """
    return np.linspace(0, B - 1, R).round().astype(np.intp)


def table_values(values: Array) -> NDArray[Any]:
    """Values with all digits, or as many as a picture needs if there are many."""
    with np.errstate(over="ignore"):
        short = values.astype("<f4")
    if values.size <= DOUBLES or _is_coarse(short, values):
        return values.astype("<f8")
    return short


def _is_coarse(short: NDArray[Any], values: Array) -> bool:
    """Whether rounding would be seen, as it is in columns far from 0, such as times."""
    spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
    return bool((np.nanmax(np.abs(short - values), axis=0) > 1e-4 * spread).any())


def pack(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, dict[str, Any]]:
    """Return the arrays as one text, and where in it each is to be found.

    >>> text, places = pack({"a": np.array([1.0, 2.0])})
    >>> places
    {'a': {'kind': 'f8', 'shape': [2], 'start': 0}}
    """
    content, places = bytearray(), {}
    for name, array in arrays.items():
        content += bytes(-len(content) % ALIGNMENT)
        kind = array.dtype.str[1:]
        places[name] = {"kind": kind, "shape": list(array.shape), "start": len(content)}
        content += array.astype(array.dtype.newbyteorder("<"), order="C").tobytes()
    return base64.b64encode(_deflate(content)).decode("ascii"), places


def _deflate(content: Any) -> bytes:
    # Without a time stamp: the same result makes the same page.
    return gzip.compress(content, compresslevel=4, mtime=0)


def to_json(value: Any) -> str:
    r"""JSON that cannot end the element it stands in.

    >>> to_json({"a": "</script>"})
    '{"a":"\\u003c/script>"}'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")
