"""Files and folders that appear whole or not at all: the one way in which results are written.

A result is written beside its place under a hidden name, flushed to the disk, and then renamed.
A program that is killed at any moment leaves the old content or the new one:

===========================  ====================================================================
hidden name                  what it is
===========================  ====================================================================
``.out.1f2e3d4c.partial``    a result that is being made; its writer holds a lock on it
``.out.1f2e3d4c.complete``   a finished folder that is about to take its place
``.out.1f2e3d4c.old``        the folder that was in its place
===========================  ====================================================================

A folder that exists is replaced by two renames, under a lock on the folder around it.  The next
run completes what a killed run had begun, and removes what is stale (`recover`).  Only what was
seen before the result was made, and has not changed since, is replaced.  A finished result that
cannot take its place is kept under another name, and the error says which.

A symbolic link is followed: the link stays, and what it points to is replaced.  A device or a pipe,
such as ``/dev/null`` and ``/dev/stdout``, is never replaced: the finished bytes are written to it.
"""

import os
import re
import secrets
import shutil
import signal
import stat
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

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
STOPPING = tuple(  # signals that ask a program to end
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)

Seen = frozenset[tuple[Any, ...]]  # what stood in a place: names, and when they were changed


def check_file(path: Path, *, overwrite: bool, argument: str = "path") -> None:
    """Refuse a file that cannot be made, or that is there and may not be replaced."""
    _check_place(path, argument)
    if not os.path.exists(path):
        return
    mode, name = path.stat().st_mode, str(path)
    if stat.S_ISDIR(mode):
        raise InputError(argument, "be a file", Message(f"the folder {name!r}"))
    if stat.S_ISSOCK(mode) or stat.S_ISBLK(mode):
        kind = "socket" if stat.S_ISSOCK(mode) else "disk"
        raise InputError(argument, "be a file", Message(f"the {kind} {name!r}"))
    if _is_stream(path):
        return
    if not overwrite:
        remedy = Message("Use ", Setting("overwrite", True, is_quoted=True), " to replace it.")
        raise ExistingFileError(argument, "be a new file", name, remedy)
    _check_unprotected(path, name, argument)


@contextmanager
def new_file(
    path: Path, *, overwrite: bool = True, only_seen: bool = False, argument: str = "path"
) -> Iterator[Path]:
    """A file to write, which takes the place of ``path`` at the end of the context.

    A file that it replaces passes its mode on.  With ``only_seen``, a file that has appeared or
    changed since the context began is not replaced: for results that take long.

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
            _copy_to_stream(partial, path)
        return
    target = _real(path)
    seen = _seen(target)
    _remove_stale(_left_behind(target, "partial"), ())
    with _claimed(target, argument, is_folder=False) as partial:
        yield partial
        with uninterrupted():
            try:
                _flush(partial)
                check_file(target, overwrite=overwrite, argument=argument)
                if only_seen:
                    _check_unchanged(target, seen, argument)
                if target.exists():
                    _copy_access(target, partial)
                partial.replace(target)
            except (InputError, OSError) as error:
                raise _kept(partial, target, error) from error
            _flush_names(target.parent)


@contextmanager
def new_folder(
    path: Path, files: Collection[str], *, overwrite: bool, argument: str = "out"
) -> Iterator[Path]:
    """A folder to write ``files`` into, which takes the place of ``path`` at the end.

    ``files`` are the names of those that we make; a folder with any other is never replaced, nor
    is one that another run is making.  What stands at ``path`` is checked again at the end: if
    something appeared or changed there in the meantime, it stays, and the finished folder is kept
    under another name, which the error says.

    >>> with TemporaryDirectory() as folder:
    ...     with new_folder(Path(folder, "out"), ["a.txt"], overwrite=False) as partial:
    ...         _ = (partial / "a.txt").write_text("all of it")
    ...     Path(folder, "out", "a.txt").read_text()
    'all of it'
    """
    _check_place(path, argument)
    target = _real(path)
    with ExitStack() as stack:
        with _locked(target.parent) as is_alone:
            recover(target, files, is_alone=is_alone)
            _check_content(path, files, overwrite=overwrite, argument=argument)
            _remove_stale(_left_behind(target, "partial"), files)
            _check_idle(path, target, argument)
            seen = _seen(target)
            partial = stack.enter_context(_claimed(target, argument, is_folder=True))
        _try_longest(partial, files, path, argument)
        yield partial
        _put_in_place(partial, path, files, seen, overwrite=overwrite, argument=argument)


@contextmanager
def resumable_folder(
    path: Path, files: Collection[str], *, resume: bool, overwrite: bool, argument: str = "out"
) -> Iterator[Path]:
    """A folder as of `new_folder`, which stays under its hidden name if the context is left early.

    A later call that resumes gets the same folder again, and one that does not removes it.
    ``files`` may be patterns, and stand in folders of the folder.
    """
    _check_place(path, argument)
    target = _real(path)
    with ExitStack() as stack:
        with _locked(target.parent) as is_alone:
            recover(target, files, is_alone=is_alone)
            _check_content(path, files, overwrite=overwrite, argument=argument)
            _check_idle(path, target, argument)
            begun = _left_behind(target, "partial")
            if resume and begun:
                partial = begun[-1]
            else:
                _remove_stale(begun, files)
                partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
                try:
                    partial.mkdir()
                except OSError as error:
                    raise _cannot_be_made(target, argument, error) from error
            stack.enter_context(_locked(partial, patience=0.0))
            seen = _seen(target)
        yield partial
        _put_in_place(partial, path, files, seen, overwrite=overwrite, argument=argument)


def _put_in_place(
    partial: Path, path: Path, files: Collection[str], seen: Seen, *, overwrite: bool, argument: str
) -> None:
    """Flush a hidden folder to disk, check its place again, and give it its final name."""
    target = _real(path)
    with uninterrupted():
        try:
            for entry in partial.rglob("*"):
                (_flush_names if entry.is_dir() else _flush)(entry)
            _flush_names(partial)
            with _locked(target.parent):
                _check_content(path, files, overwrite=overwrite, argument=argument)
                _check_unchanged(target, seen, argument)
                _take_place(partial, target, files)
        except (InputError, OSError) as error:
            raise _kept(partial, target, error) from error


def discard(partial: Path, files: Collection[str]) -> None:
    """Remove what `resumable_folder` has begun, if it is not worth to be resumed."""
    _remove(partial, files)


def recover_folder(path: Path, files: Collection[str]) -> None:
    """Put a folder back that a killed run has left under a hidden name, if ``path`` lacks it.

    For readers: in a place that cannot be listed or locked, nothing happens.
    """
    target = _real(path)
    if not os.path.exists(target) and os.path.isdir(target.parent):
        with suppress(OSError), _locked(target.parent) as is_alone:
            recover(target, files, is_alone=is_alone)


def recover(target: Path, files: Collection[str], *, is_alone: bool) -> None:
    """Complete what a killed run had begun, and remove what it left.

    If the run was killed between its two renames, the finished folder takes its place.  Where
    there are no locks (``is_alone`` is False), a run that is renaming may be alive: then only what
    has not been touched for a while is.
    """
    finished, replaced = _left_behind(target, "complete"), _left_behind(target, "old")
    for place in (*finished, *replaced):
        if not is_alone and time.time() - place.stat().st_mtime < PATIENCE:
            continue
        if target.exists():
            _remove(place, files)
        else:
            place.rename(target)


def write_or_rescue(write: Callable[[Path], None], partial: Path, path: Path) -> None:
    """Call ``write(partial)``; if the disk refuses it, write to a temporary folder instead.

    So a result that took hours is not lost because a disk is full or a folder was moved.  The
    error says where it is.
    """
    try:
        write(partial)
    except OSError as error:
        try:
            around = Path(mkdtemp(prefix="credpart-"))
        except OSError:
            raise error from None
        rescued = around / path.name
        try:
            write(rescued)
        except BaseException as again:
            shutil.rmtree(around, ignore_errors=True)
            if not isinstance(again, OSError):
                raise
            told = f"The result can be written neither to {str(path)!r} nor to a temporary folder"
            raise OutputError(f"{told} ({error.strerror or error}).") from error
        raise _kept_as(rescued, path, error) from error


def is_in_place(path: Path, made: os.stat_result) -> bool:
    """Whether what stands at ``path`` is what ``made`` is the state of, before it was renamed."""
    return os.path.exists(path) and os.path.samestat(path.stat(), made)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back the signals that ask the program to end until the context has ended.

    Signals whose action is the system's own are left to it: they end the program at once.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    held: list[int] = []
    before = {number: signal.getsignal(number) for number in STOPPING}
    own = {number: handler for number, handler in before.items() if callable(handler)}
    try:
        for number in own:
            signal.signal(number, lambda number, frame: held.append(number))
        yield
    finally:
        for number, handler in own.items():
            signal.signal(number, handler)
    if held:
        signal.raise_signal(held[0])


# What is refused


def _check_place(path: Path, argument: str) -> None:
    """Refuse a path whose folder does not exist or cannot be written."""
    requirement = "be in an existing folder that can be written"
    if "\0" in str(path):
        raise InputError(argument, "be the name of a file", str(path))
    if os.path.islink(_real(path)):
        raise InputError(argument, "lead somewhere", Message(f"{str(path)!r}, a circle of links"))
    around = _real(path).parent
    if not os.path.isdir(around):
        raise MissingFileError(argument, requirement, str(path))
    if not os.access(around, os.R_OK | os.W_OK | os.X_OK) and not _is_stream(path):
        raise FileAccessError(argument, requirement, str(path))


def _check_content(path: Path, files: Collection[str], *, overwrite: bool, argument: str) -> None:
    """Refuse what stands at ``path`` if it may not be replaced by a folder of ours."""
    target, name = _real(path), str(path)
    if not os.path.exists(target):
        return
    if not target.is_dir():
        raise InputError(argument, "be a folder", Message(f"the file {name!r}"))
    if os.path.ismount(target) or os.path.samefile(target, os.curdir):
        # Neither can be renamed: a mount point is busy, and a shell would stay in the old one.
        kind = "a mount point" if os.path.ismount(target) else "the current folder"
        raise InputError(
            argument,
            "be a folder that can be replaced as a whole",
            Message(f"{name!r}, {kind}"),
            "Give a folder inside it.",
        )
    _check_unprotected(target, name, argument)
    for file in files:
        _remove_stale(_left_behind(target / file, "partial"), ())
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
    for entry in target.iterdir():
        _check_unprotected(entry, str(path / entry.name), argument)


def _check_unprotected(place: Path, name: str, argument: str) -> None:
    """Refuse to replace what its owner has protected from being written."""
    if not os.access(place, os.W_OK):
        remedy = "Give another name, or allow it to be written."
        raise FileAccessError(
            argument, "not be protected", Message(f"{name!r}, which is read-only"), remedy
        )


def _check_idle(path: Path, target: Path, argument: str) -> None:
    """Refuse a folder that another run is making; what is stale has been removed."""
    for partial in _left_behind(target, "partial"):
        if _is_locked(partial):
            raise InputError(
                argument,
                "be a folder that no other run is writing",
                str(path),
                "Wait for that run to end, or give another folder.",
            )


def _check_unchanged(target: Path, seen: Seen, argument: str) -> None:
    """Refuse to replace what was not there, or was different, when it was checked first."""
    if not _seen(target) <= seen:
        raise InputError(
            argument,
            "be left alone while its new content is being made",
            Message(f"{str(target)!r}, which another program has changed"),
        )


def _try_longest(partial: Path, files: Collection[str], path: Path, argument: str) -> None:
    """Refuse a folder whose files would have paths that are too long."""
    trial = partial / max(files, key=len)
    try:
        trial.touch()
        trial.unlink()
    except OSError as error:
        raise _cannot_be_made(path, argument, error) from error


def _cannot_be_made(path: Path, argument: str, error: OSError) -> FileAccessError:
    got = Message(f"{str(path)!r} ({error.strerror})")
    return FileAccessError(argument, "be a place where a file or a folder can be made", got)


# How a finished result takes its place


def _take_place(partial: Path, target: Path, files: Collection[str]) -> None:
    """Put a finished folder in its place, under the lock; at an error all is as before."""
    if not target.exists():
        partial.rename(target)
        _flush_names(target.parent)
        return
    complete, old = _places(partial)
    for entry in target.iterdir():
        if (partial / entry.name).exists():
            _copy_access(entry, partial / entry.name)
    _copy_access(target, partial)
    partial.rename(complete)
    try:
        target.rename(old)
        if _foreign(old, files):
            raise OSError(f"{_foreign(old, files)[0]!r} has appeared in it")
        complete.rename(target)
    except BaseException:
        if old.exists() and not target.exists():
            old.rename(target)
        complete.rename(partial)
        raise
    _flush_names(target.parent)
    with suppress(OSError):  # the next run tries again
        _remove(old, files)


def _places(partial: Path) -> tuple[Path, Path]:
    """The names that a finished folder, and the one that it replaces, have for a moment."""
    stem = partial.name.removesuffix(".partial")
    return partial.with_name(f"{stem}.complete"), partial.with_name(f"{stem}.old")


def _kept(made: Path, target: Path, error: Exception) -> OutputError:
    """Give a finished result a name that people see, and say which."""
    kept = target.with_name(f"{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        made.rename(kept)
    except OSError:  # the folder around it may be gone, or closed
        kept = Path(mkdtemp(prefix="credpart-"), target.name)
        (shutil.copytree if made.is_dir() else shutil.copyfile)(made, kept)
    return _kept_as(kept, target, error)


def _kept_as(kept: Path, target: Path, error: Exception) -> OutputError:
    reason = error.message if isinstance(error, InputError | OutputError) else f"{error}."
    start = f"The result could not be put in its place, {str(target)!r}, and was kept as "
    return OutputError(start, f"{str(kept)!r}. ", reason)


def _copy_to_stream(partial: Path, path: Path) -> None:
    """Write the finished bytes to a device or a pipe."""
    try:
        with partial.open("rb") as content, path.open("wb") as stream:
            shutil.copyfileobj(content, stream)
    except OSError as error:
        raise OutputError(f"{str(path)!r} cannot be written ({error.strerror}).") from error


def _copy_access(old: Path, new: Path) -> None:
    """Give a file or a folder the mode of the one that it replaces, and its owner if we may."""
    state = old.stat()
    with suppress(OSError, AttributeError):  # Windows has no owners
        os.chown(new, state.st_uid, state.st_gid)
    new.chmod(stat.S_IMODE(state.st_mode))  # last: a change of owner takes some bits away


# What stands in a place


def _real(path: Path) -> Path:
    """What a path leads to, through symbolic links."""
    return Path(os.path.realpath(path))


def _is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, or stands for an open one as /dev/stdout does."""
    if not os.path.exists(path):
        return False
    mode = path.stat().st_mode
    is_kept = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
    return not is_kept or any(map(_is_of_the_system, _steps(path)))


def _steps(path: Path) -> Iterator[Path]:
    """A path, and where it leads, link by link: it ends, since the path exists."""
    step = Path(os.path.abspath(path))
    yield step
    while step.is_symlink():
        step = Path(os.path.abspath(step.parent / step.readlink()))
        yield step


def _is_of_the_system(path: Path) -> bool:
    """Whether a path names a device or an open file, and no file of its own."""
    if path.is_relative_to("/dev/shm"):  # noqa: S108  (files in memory)
        return False
    return path.is_relative_to("/dev") or path.is_relative_to("/proc")


def _seen(target: Path) -> Seen:
    """What stands at a path, such that a change can be told."""
    if not os.path.exists(target):
        return frozenset()
    entries = target.iterdir() if target.is_dir() else [target]
    states = [(entry.name, entry.lstat()) for entry in entries]
    return frozenset((name, s.st_ino, s.st_mtime_ns, s.st_size) for name, s in states)


def _left_behind(target: Path, kind: str) -> list[Path]:
    """What runs have put beside a path, in the order of their names."""
    pattern = rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.{kind}({re.escape(target.suffix)})?"
    around = target.parent.iterdir() if target.parent.is_dir() else ()
    return sorted(path for path in around if re.fullmatch(pattern, path.name))


def _foreign(folder: Path, files: Collection[str]) -> list[str]:
    """What a folder holds that we did not make."""
    return sorted(
        entry.relative_to(folder).as_posix()
        for entry in folder.rglob("*")
        if not _is_ours(entry, folder, files)
    )


def _is_ours(entry: Path, folder: Path, files: Collection[str]) -> bool:
    """Whether we make a file of this name in a folder, or the folder that it stands in."""
    name, mode = entry.relative_to(folder).as_posix(), entry.lstat().st_mode
    if stat.S_ISDIR(mode):
        return any(known.startswith(f"{name}/") for known in files)
    return stat.S_ISREG(mode) and any(fnmatchcase(name, known) for known in files)


# What is removed


def _remove(folder: Path, files: Collection[str]) -> None:
    """Remove a folder of ours; one that holds anything else stays, with that in it."""
    for name in files:
        for made in folder.glob(name):
            made.unlink()
        remove_unfinished(folder, name)
    inside = {folder / Path(name).parent for name in files} - {folder}
    for empty in (*sorted(inside, reverse=True), folder):
        with suppress(OSError):  # not empty, or not there
            empty.rmdir()


def remove_unfinished(folder: Path, name: str) -> None:
    """Remove what was being written in a folder of ours, under a name or a pattern of names."""
    around, known = folder / Path(name).parent, Path(name).name
    for path in around.glob(".*.partial*"):
        hidden = re.fullmatch(r"\.(.+)\.[0-9a-f]{8}\.partial(\.[^.]*)?", path.name)
        if hidden and fnmatchcase(hidden[1], known):
            path.unlink()


def _remove_stale(partials: Collection[Path], files: Collection[str]) -> None:
    """Remove what killed runs were writing; what is locked is still being written."""
    for partial in partials:
        with suppress(OSError), _locked(partial, patience=0.0) as is_alone:
            if is_alone and partial.is_dir():
                _remove(partial, files)
            elif is_alone:
                partial.unlink()


@contextmanager
def _claimed(target: Path, argument: str, *, is_folder: bool) -> Iterator[Path]:
    """A new hidden file or folder beside a path, with a lock on it; removed if it is left.

    What will replace something is readable by its owner only while it is being made.
    """
    suffix = "" if is_folder else target.suffix  # which says the format of a picture
    is_private = os.path.exists(target)
    with ExitStack() as stack:
        while True:
            partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial{suffix}")
            stack.callback(_discard, partial)  # before it is made: a signal may come in between
            try:
                if is_folder:
                    partial.mkdir(mode=0o700 if is_private else 0o777)
                else:
                    partial.touch(mode=0o600 if is_private else 0o666, exist_ok=False)
            except OSError as error:
                raise _cannot_be_made(target, argument, error) from error
            with suppress(FileNotFoundError):
                stack.enter_context(_locked(partial))
                if partial.exists():  # else another run has found it unlocked, and removed it
                    break
        yield partial


def _discard(partial: Path) -> None:
    """Remove what has not taken its place, if there is anything."""
    with uninterrupted(), suppress(OSError):
        if os.path.isdir(partial):
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


# Locks and the disk


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
                raise OutputError(
                    f"Another program has locked {str(path)!r} for more than {patience:.0f} s."
                ) from None
            time.sleep(0.02)
        except OSError:
            return False


def _is_locked(path: Path) -> bool:
    """Whether a living run holds a lock on a file or a folder."""
    try:
        with _locked(path, patience=0.0):
            return False
    except FileNotFoundError:
        return False
    except OutputError:
        return True


def _flush(path: Path) -> None:
    """Have the disk hold a file before it is renamed."""
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flush_names(folder: Path) -> None:
    """Have the disk hold the names in a folder; some file systems, and Windows, cannot be asked."""
    with suppress(OSError):
        _flush(folder)
