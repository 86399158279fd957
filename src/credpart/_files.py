"""Files and folders that appear whole or not at all: the one way in which results are written.

A result is written beside its place under a hidden name, flushed to the disk, and then renamed.
A program that is killed at any moment leaves the old content or the new one:

===========================  ====================================================================
hidden name                  what it is
===========================  ====================================================================
``.out.1f2e3d4c.partial``    a result that is being written; its writer holds a lock on it
``.out.1f2e3d4c.complete``   a finished folder that is about to take its place
``.out.1f2e3d4c.old``        the folder that was in its place
===========================  ====================================================================

A folder that exists is replaced by two renames, under a lock on the folder around it.  The next
run completes what a killed run had begun, and removes what is stale (`recover`).  Only files that
were checked are removed.

A symbolic link is followed: the link stays, and what it points to is replaced.  A device or a pipe,
such as ``/dev/null`` and ``/dev/stdout``, is never replaced: the finished bytes are written to it.
"""

import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from credpart._messages import Message, Setting
from credpart.errors import (
    ExistingFileError,
    FileAccessError,
    InputError,
    MissingFileError,
    OutputError,
)

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # seconds to wait for another run that is renaming; renaming takes milliseconds
YOUNG = 5.0  # seconds in which a run has locked what it has made


def check_file(path: Path, *, overwrite: bool, argument: str = "path") -> None:
    """Refuse a file that cannot be made, or that is there and may not be replaced."""
    _check_place(path, argument)
    if path.is_dir():
        raise InputError(argument, "be a file", Message(f"the folder {str(path)!r}"))
    if path.exists() and not overwrite and not _is_stream(path):
        remedy = Message("Use ", Setting("overwrite", True, is_quoted=True), " to replace it.")
        raise ExistingFileError(argument, "be a new file", str(path), remedy)


@contextmanager
def new_file(path: Path, *, overwrite: bool = True, argument: str = "path") -> Iterator[Path]:
    """A file to write, which takes the place of ``path`` at the end of the context.

    A file that it replaces passes its mode on.

    >>> with TemporaryDirectory() as folder:
    ...     with new_file(Path(folder, "a.txt")) as partial:
    ...         _ = partial.write_text("all of it")
    ...     Path(folder, "a.txt").read_text()
    'all of it'
    """
    check_file(path, overwrite=overwrite, argument=argument)
    if _is_stream(path):
        with TemporaryDirectory() as folder:
            partial = Path(folder, path.name)
            yield partial
            with partial.open("rb") as content, path.open("wb") as stream:
                shutil.copyfileobj(content, stream)
        return
    target = _real(path)
    for stale in _left_behind(target, "partial"):
        _remove_stale(stale, ())
    with _claimed(target, is_folder=False) as partial:
        yield partial
        _flush(partial)
        try:
            if target.exists():
                check_file(target, overwrite=overwrite, argument=argument)
                partial.chmod(stat.S_IMODE(target.stat().st_mode))
            partial.replace(target)
        except (InputError, OSError) as error:
            raise _kept(partial, target, error) from error
        _flush(target.parent)


def check_folder(
    path: Path, files: Collection[str], *, overwrite: bool, argument: str = "out"
) -> None:
    """Refuse a folder that cannot be made, or that holds what may not be replaced.

    ``files`` are the names of those that we make; a folder with any other is never replaced.
    """
    _check_place(path, argument)
    target = _real(path)
    with _locked(target.parent) as is_alone:
        if is_alone:
            recover(target, files)
        _check_content(path, files, overwrite=overwrite, argument=argument)


def _check_content(path: Path, files: Collection[str], *, overwrite: bool, argument: str) -> None:
    target, name = _real(path), str(path)
    if not target.exists():
        return
    if not target.is_dir():
        raise InputError(argument, "be a folder", Message(f"the file {name!r}"))
    foreign = _foreign(target, files)
    if foreign:
        raise InputError(
            argument,
            "hold nothing but what credpart made",
            Message(f"{foreign[0]!r} in {name!r}"),
            "Give another folder.",
        )
    held = sorted(entry.name for entry in target.iterdir())
    if held and not overwrite:
        force = Setting("overwrite", True, is_quoted=True)
        raise ExistingFileError(
            argument,
            "be a new folder",
            Message(f"{name!r}, which holds {held[0]!r}"),
            Message("Give another one, or ", force, " to replace it."),
        )


@contextmanager
def new_folder(
    path: Path, files: Collection[str], *, overwrite: bool, argument: str = "out"
) -> Iterator[Path]:
    """A folder to write ``files`` into, which takes the place of ``path`` at the end.

    What stands at ``path`` is checked again at the end.  If something appeared there in the
    meantime, it stays, and the finished folder is kept under another name, which the error says.

    >>> with TemporaryDirectory() as folder:
    ...     with new_folder(Path(folder, "out"), ["a.txt"], overwrite=False) as partial:
    ...         _ = (partial / "a.txt").write_text("all of it")
    ...     Path(folder, "out", "a.txt").read_text()
    'all of it'
    """
    check_folder(path, files, overwrite=overwrite, argument=argument)
    target = _real(path)
    for stale in _left_behind(target, "partial"):
        _remove_stale(stale, files)
    with _claimed(target, is_folder=True) as partial:
        yield partial
        for entry in (*partial.iterdir(), partial):
            _flush(entry)
        try:
            with _locked(target.parent):
                _check_content(path, files, overwrite=overwrite, argument=argument)
                _take_place(partial, target, files)
        except (InputError, OSError) as error:
            finished = partial if partial.exists() else _places(partial)[0]
            raise _kept(finished, target, error) from error
        _flush(target.parent)


def recover(target: Path, files: Collection[str]) -> None:
    """Complete what a killed run had begun, and remove what it left; nobody else may be renaming.

    If the run was killed between its two renames, the finished folder takes its place.
    """
    finished, replaced = _left_behind(target, "complete"), _left_behind(target, "old")
    for place in (*finished, *replaced):
        if target.exists():
            _remove(place, files)
        else:
            place.rename(target)


def _take_place(partial: Path, target: Path, files: Collection[str]) -> None:
    """Put a finished folder in its place, under the lock."""
    if not target.exists():
        partial.rename(target)
        return
    complete, old = _places(partial)
    partial.chmod(stat.S_IMODE(target.stat().st_mode))
    partial.rename(complete)
    try:
        target.rename(old)
        if _foreign(old, files):
            raise OSError(f"{_foreign(old, files)[0]!r} has appeared in it")
        complete.rename(target)
    except BaseException:  # an interruption too
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    _flush(target.parent)
    _remove(old, files)


def _places(partial: Path) -> tuple[Path, Path]:
    """The names that a finished folder, and the one that it replaces, have for a moment."""
    stem = partial.name.removesuffix(".partial")
    return partial.with_name(f"{stem}.complete"), partial.with_name(f"{stem}.old")


def _kept(made: Path, target: Path, error: Exception) -> OutputError:
    """Give a finished result a name that people see, and say which."""
    kept = target.with_name(f"{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    made.rename(kept)
    reason = error.message if isinstance(error, InputError) else f"{error}."
    start = f"The result could not be put in its place, {str(target)!r}, and was kept as "
    return OutputError(start, f"{str(kept)!r}. ", reason)


def _real(path: Path) -> Path:
    """What a path leads to, through symbolic links."""
    return Path(os.path.realpath(path))


def _is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, or stands for an open one as /dev/stdout does."""
    if not path.exists():
        return False
    mode, is_device = path.stat().st_mode, path.is_relative_to("/dev")
    if is_device and not path.is_relative_to("/dev/shm"):  # noqa: S108
        return True
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _check_place(path: Path, argument: str) -> None:
    """Refuse a path whose folder does not exist or cannot be written."""
    requirement = "be in an existing folder that can be written"
    around = _real(path).parent
    if not around.is_dir():
        raise MissingFileError(argument, requirement, str(path))
    if not os.access(around, os.W_OK) and not _is_stream(path):
        raise FileAccessError(argument, requirement, str(path))


def _left_behind(target: Path, kind: str) -> list[Path]:
    """What runs have put beside a path, in the order of their names."""
    pattern = rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.{kind}({re.escape(target.suffix)})?"
    return sorted(path for path in target.parent.iterdir() if re.fullmatch(pattern, path.name))


def _foreign(folder: Path, files: Collection[str]) -> list[str]:
    """What a folder holds that we did not make."""
    return sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.name not in files or not stat.S_ISREG(entry.lstat().st_mode)
    )


def _remove(folder: Path, files: Collection[str]) -> None:
    """Remove a folder of ours; one that holds anything else stays, with that in it."""
    for name in files:
        (folder / name).unlink(missing_ok=True)
        for partial in _left_behind(folder / name, "partial"):
            partial.unlink()
    with suppress(OSError):  # not empty
        folder.rmdir()


def _remove_stale(partial: Path, files: Collection[str]) -> None:
    """Remove what a killed run was writing; what is locked is still being written.

    What has just been made may not be locked yet, and is left alone too.
    """
    with suppress(OSError), _locked(partial, patience=0.0) as is_alone:
        if time.time() - partial.stat().st_mtime < YOUNG:
            return
        if is_alone and partial.is_dir():
            _remove(partial, files)
        elif is_alone:
            partial.unlink()


@contextmanager
def _claimed(target: Path, *, is_folder: bool) -> Iterator[Path]:
    """A new hidden file or folder beside a path, with a lock on it; removed if it is left."""
    suffix = "" if is_folder else target.suffix  # which says the format of a picture
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial{suffix}")
    if is_folder:
        partial.mkdir()
    else:
        partial.touch(exist_ok=False)
    try:
        with _locked(partial):
            yield partial
    finally:
        if is_folder:
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


@contextmanager
def _locked(path: Path, patience: float = PATIENCE) -> Iterator[bool]:
    """Lock a file or a folder against other runs; False where that cannot be done.

    The operating system ends the lock with the process, and no file of a lock is left.  Windows
    and some network file systems have no such locks: there runs are kept apart only by a rename
    onto a folder that is not empty, which fails.
    """
    if fcntl is None:
        yield False
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        yield _acquired(handle, path, patience)
    finally:
        os.close(handle)


def _acquired(handle: int, path: Path, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                raise OutputError(f"Another run is writing in {str(path)!r}.") from None
            time.sleep(0.02)
        except OSError:
            return False


def _flush(path: Path) -> None:
    """Have the disk hold a file, or the names in a folder, before anything is renamed."""
    if os.name == "nt" and path.is_dir():
        return  # Windows has no handles of folders
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
