"""Reading and writing npz files without pickle: arrays, and one JSON text about them.

A file is an ordinary npz archive.  Besides its arrays it has two texts: ``about``, which is JSON,
and ``digest``, the SHA-256 of all the others (`content_digest`).  A file that was damaged is never
taken for another one.

Whoever wrote a file, reading it evaluates nothing and takes no more memory than the file says and
the machine has.  The sizes that the archive declares, the types and the shapes are read from the
headers and checked before any array is made (`Archive`).  The caller can check them against each
other then, too.
"""

import hashlib
import json
import os
import re
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from credpart._checks import is_writable
from credpart._files import new_file
from credpart._memory import GIGA, free_memory
from credpart._messages import Message, Name
from credpart.errors import FileAccessError, FileContentError, InputError, MissingFileError

ABOUT, DIGEST = "about", "digest"
KINDS = "biufcSU"  # of arrays: truth values, numbers and text; others would need pickle
MAGIC = b"\x93NUMPY\x01\x00"
# numpy writes every header in this form.  It is matched, and not evaluated as Python.
HEADER = re.compile(
    rb"\{'descr': '([<>|][a-zA-Z]\d{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n"
)
MOST_AXES = 32
MOST_LEVELS = 100  # of lists in lists in ``about``: recursion over more may fail
LARGEST_RATIO = 1032  # deflate never makes less than one byte of so many
ENTRY_BYTES = 30  # of the header of an entry, without its name
CHUNK = 1 << 20

# What damaged and foreign files make zipfile, json, numpy and the classes of values raise.
UNREADABLE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, MemoryError, OSError, RuntimeError),
    *(TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error),
)


class Header(NamedTuple):
    """What a file declares of an array."""

    dtype: np.dtype[Any]
    is_fortran: bool  # whether the first axis is the one that varies fastest
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """Bytes of the array."""
        return prod(self.shape) * self.dtype.itemsize


Check = Callable[[dict[str, Any], Mapping[str, Header]], None]


def write_npz(path: Path, about: dict[str, Any], **arrays: NDArray[Any]) -> None:
    """Write the arrays and ``about`` to ``path``; the file appears whole or not at all."""
    with new_file(path) as partial, partial.open("wb") as stream:
        dump_npz(stream, about, **arrays)


def dump_npz(stream: BinaryIO, about: dict[str, Any], **arrays: NDArray[Any]) -> None:
    """Write the arrays and ``about`` to a stream."""
    content = {ABOUT: np.array(json.dumps(about)), **arrays}
    write_arrays(stream, {DIGEST: np.array(content_digest(content)), **content})


class NewArchive(zipfile.ZipFile):
    """An archive in a file that others close.

    An interruption at the wrong moment leaves it open.  Python would then write its end to the
    file, which is closed by now, and print the error.
    """

    def __del__(self) -> None:
        pass


def write_arrays(stream: BinaryIO, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays as `numpy.savez_compressed` does, but never a pickle.

    NumPy 2.0 takes its argument ``allow_pickle`` for one more array.
    """
    with NewArchive(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asarray(array), allow_pickle=False)


def content_digest(arrays: Mapping[str, NDArray[Any]]) -> str:
    r"""SHA-256 of arrays: of each, by name, its name, type, order and shape, and its bytes.

    >>> content_digest({"x": np.array([1.0, 2.0])})[:16]
    '1b5b1e53dabc0cf5'
    >>> text = b'["x", "<f8", false, [2]]\n' + np.array([1.0, 2.0]).tobytes()
    >>> hashlib.sha256(text).hexdigest()[:16]
    '1b5b1e53dabc0cf5'
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = arrays[name]
        is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        digest.update(_digest_line(name, Header(array.dtype, is_fortran, array.shape)))
        stored = np.ascontiguousarray(array.T if is_fortran else array)
        digest.update(stored.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _digest_line(name: str, header: Header) -> bytes:
    parts = [name, header.dtype.str, header.is_fortran, header.shape]
    return json.dumps(parts).encode() + b"\n"


def read_npz(
    path: Path, layout: str, check: Check | None = None
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `write_npz` wrote, if its ``about["layout"]`` is ``layout``.

    ``check`` gets ``about`` and the headers of the arrays, before any of these is made.
    """
    # The list of its entries is read at once, and an archive may be nothing but that list.
    check_memory(path, path.stat().st_size, "a file")
    with path.open("rb") as stream, Archive(stream) as archive:
        needed = sum(header.n_bytes for header in archive.headers.values())
        check_memory(path, needed)
        arrays = {ABOUT: archive.read(ABOUT), DIGEST: archive.read(DIGEST)}
        about = json.loads(_text(arrays[ABOUT]))
        if not isinstance(about, dict) or about.get("layout") != layout:
            found = about.get("layout") if isinstance(about, dict) else None
            raise ValueError(f"its layout is {found!r}, and this version reads {layout!r}")
        if depth(about) > MOST_LEVELS:
            raise ValueError(f"its text has lists in lists, more than {MOST_LEVELS} levels of them")
        others = {name: header for name, header in archive.headers.items() if name not in arrays}
        if check is not None:
            check(about, others)
        arrays |= {name: archive.read(name) for name in others}
    digest = _text(arrays.pop(DIGEST))
    if digest != content_digest(arrays):
        raise ValueError("its content is not that of its digest: the file is damaged")
    del arrays[ABOUT]
    return about, arrays


def depth(value: Any) -> int:
    """Number of levels of lists in lists of a JSON text.

    >>> depth(0), depth({"a": [1, [2]]})
    (0, 3)
    """
    levels, parts = 0, [value]
    while parts := [part for part in parts if isinstance(part, dict | list | tuple)]:
        levels += 1
        inner = (part.values() if isinstance(part, dict) else part for part in parts)
        parts = [part for several in inner for part in several]
    return levels


def _text(array: NDArray[Any]) -> str:
    if array.shape != () or array.dtype.kind != "U":
        raise ValueError(f"a text is an array of {array.dtype} with shape {array.shape}")
    return str(array)


@contextmanager
def one_error(path: str | os.PathLike[str], writer: str) -> Iterator[None]:
    """Whatever a file provokes while it is read becomes one error, which says who writes such."""
    name = os.fspath(path)
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # a pipe would block
            raise FileAccessError("path", "be a file", Message(f"{name!r}, which is none"))
        with np.errstate(all="ignore"):
            yield
    except FileNotFoundError:
        raise MissingFileError("path", "be a file that exists", name) from None
    except (FileAccessError, FileContentError):
        raise
    except PermissionError as error:
        reason = (error.strerror or str(error)).lower()
        raise FileAccessError("path", "be a file", Message(f"{name!r}: {reason}")) from None
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        requirement = Message("be a file written by ", Name(writer))
        raise InputError("path", requirement, Message(f"{name!r} ({reason})")) from error


def check_memory(path: Path, needed: float, what: str = "arrays") -> None:
    """Refuse a file that needs more memory than is free."""
    free = free_memory()
    if free is not None and needed > free:
        raise FileContentError(
            "path",
            str(path),
            f"fit in the {free / GIGA:.3g} GB of memory that are free",
            Message(f"{what} of {needed / GIGA:.3g} GB"),
            "Read it on a machine with more memory.",
        )


class Archive:
    """The arrays of an npz file.  Their headers are read at once, and the arrays on demand.

    What the archive declares is checked first: entries do not overlap and have names of their own,
    none is encrypted, each is an array of plain numbers or text, has as many bytes as its shape
    says, and can be what so many compressed bytes hold.
    """

    def __init__(self, stream: BinaryIO) -> None:
        if not zipfile.is_zipfile(stream):
            raise ValueError("not an npz file")
        self._zip = zipfile.ZipFile(stream)
        entries = self._zip.infolist()
        names = [entry.filename.removesuffix(".npy") for entry in entries]
        if len(set(names)) < len(names):
            raise ValueError("two arrays of one name")
        self._check_places(entries)
        self._entries = dict(zip(names, entries, strict=True))
        self.headers = {name: self._header(entry) for name, entry in self._entries.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def read(self, name: str) -> NDArray[Any]:
        """An array, as its header says."""
        header = self.headers[name]
        with self._zip.open(self._entries[name]) as stream:
            _read_header(stream)
            array = np.empty(header.shape, header.dtype, order="F" if header.is_fortran else "C")
            flat = array.T if header.is_fortran else array
            cells, step = flat.reshape(-1), max(1, CHUNK // max(1, header.dtype.itemsize))
            for first in range(0, len(cells), step):
                some = cells[first : first + step]
                some[:] = np.frombuffer(_exactly(stream, some.nbytes), header.dtype)
            if stream.read(1):  # at its end the stream compares the checksum
                raise ValueError(f"array {name!r} is longer than its shape says")
        if header.dtype.kind == "U" and (_characters(cells) > sys.maxunicode).any():
            raise ValueError(f"array {name!r} has characters that do not exist")
        return array

    def _check_places(self, entries: list[zipfile.ZipInfo]) -> None:
        end = 0
        for entry in sorted(entries, key=lambda entry: entry.header_offset):
            if entry.header_offset < end:
                raise ValueError("entries of the archive overlap")
            end = entry.header_offset + ENTRY_BYTES + entry.compress_size
            if entry.flag_bits & 1:
                raise ValueError("an entry of the archive is encrypted")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError("an entry of the archive is compressed in an unknown way")
            if entry.file_size > LARGEST_RATIO * (entry.compress_size + 1):
                raise ValueError("an entry of the archive declares more than it can hold")
        if end > self._zip.start_dir:
            raise ValueError("entries of the archive overlap")

    def _header(self, entry: zipfile.ZipInfo) -> Header:
        with self._zip.open(entry) as stream:
            header, length = _read_header(stream)
        if length + header.n_bytes != entry.file_size:
            raise ValueError(f"{entry.filename!r} has not the size that its shape says")
        return header


def _characters(texts: NDArray[np.str_]) -> NDArray[np.uint32]:
    """The numbers of the characters of texts."""
    return texts.view(np.dtype(np.uint32).newbyteorder(texts.dtype.byteorder))


def _read_header(stream: Any) -> tuple[Header, int]:
    """The header of an npy file, and its length."""
    start = _exactly(stream, len(MAGIC) + 2)
    if not start.startswith(MAGIC):
        raise ValueError("not a file of arrays")
    (length,) = struct.unpack("<H", start[len(MAGIC) :])
    text = _exactly(stream, length)
    found = HEADER.fullmatch(text)
    if found is None:
        raise ValueError(f"an array with the header {text[:80]!r}")
    dtype = np.dtype(found[1].decode())
    shape = tuple(int(size) for size in found[3].replace(b",", b" ").split())
    if dtype.kind not in KINDS or not dtype.itemsize or len(shape) > MOST_AXES:
        raise ValueError(f"an array with the header {text[:80]!r}")
    return Header(dtype, found[2] == b"True", shape), len(start) + length


def _exactly(stream: Any, n: int) -> bytes:
    content: bytes = stream.read(n)
    if len(content) < n:
        raise EOFError("the file ends too early")
    return content


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
    if label is None or isinstance(label, int | float):
        return label
    if isinstance(label, str) and is_writable(label):
        return label
    saved = "hold text, numbers, times or tuples of these to be saved"
    raise InputError("index", saved, label, "Convert its labels to text.")


def _decode(label: Any) -> Any:
    if isinstance(label, list):
        return tuple(_decode(part) for part in label)
    if isinstance(label, dict):
        import pandas as pd

        return pd.Timestamp(label["time"])
    if isinstance(label, str) and not is_writable(label):
        raise ValueError(f"the label {label!r} is no text")
    return label
