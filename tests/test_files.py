"""Files and folders appear whole or not at all, also if the program is killed at any moment."""

import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from credpart import _files
from credpart._files import new_file, new_folder, recover_folder, write_or_rescue
from credpart.errors import FileAccessError, InputError, OutputError

FILES = ("a.txt", "b.txt")
OLD, NEW = {"a.txt": "old a", "b.txt": "old b"}, {"a.txt": "new a", "b.txt": "new b"}

posix_only = pytest.mark.skipif(os.name == "nt", reason="signals and modes of POSIX")


def put(path, content=NEW, *, overwrite=True):
    with new_folder(path, FILES, overwrite=overwrite) as partial:
        for name, text in content.items():
            (partial / name).write_text(text)


def held(path):
    return {entry.name: entry.read_text() for entry in path.iterdir()}


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


# Files


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o640)
    with new_file(path) as partial:
        partial.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["a.txt"]


def test_a_new_file_has_the_mode_that_the_user_gives_to_files(tmp_path):
    (tmp_path / "plain").write_text("")
    with new_file(tmp_path / "a.txt") as partial:
        partial.write_text("new")
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), new_file(path) as partial:
        partial.write_text(f"half {1 / 0}")
    assert held(tmp_path) == {"a.txt": "old"}


@posix_only
def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / "a.txt", tmp_path / "link.txt"
    link.symlink_to(target)  # to a file that does not exist yet
    for text in ("first", "second"):
        with new_file(link) as partial:
            partial.write_text(text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert names(tmp_path) == ["elsewhere", "link.txt"]
    assert names(tmp_path / "elsewhere") == ["a.txt"]


@posix_only
def test_a_device_is_written_to_and_not_replaced():
    with new_file(Path(os.devnull), overwrite=False) as partial:
        partial.write_text("gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@posix_only
def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    with new_file(pipe, overwrite=False) as partial:
        partial.write_text("through")
    reader.join(timeout=30)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@posix_only
def test_the_standard_output_can_be_a_file(tmp_path):
    program = (
        "from pathlib import Path\n"
        "from credpart._files import new_file\n"
        "with new_file(Path('/dev/stdout'), overwrite=False) as partial:\n"
        "    partial.write_text('table')\n"
    )
    with (tmp_path / "log").open("w") as log:
        subprocess.run([sys.executable, "-c", program], stdout=log, check=True)  # noqa: S603
    assert held(tmp_path) == {"log": "table"}


def test_a_file_that_appears_meanwhile_is_not_replaced_and_the_result_is_kept(tmp_path):
    path = tmp_path / "a.txt"

    def write():
        with new_file(path, overwrite=False) as partial:
            partial.write_text("mine")
            path.write_text("another's")

    with pytest.raises(OutputError, match=r"kept as '.*a-[0-9a-f]{8}\.txt'.*must be a new file"):
        write()
    assert path.read_text() == "another's"
    (kept,) = tmp_path.glob("a-*.txt")
    assert kept.read_text() == "mine"
    assert len(names(tmp_path)) == 2


def test_folders_that_are_no_place_for_a_file(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="`path` must be in an existing folder"),
        new_file(tmp_path / "no" / "a.txt"),
    ):
        pass
    with (
        pytest.raises(InputError, match="`path` must be a file, got the folder"),
        new_file(tmp_path),
    ):
        pass


@posix_only
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileAccessError, match="that can be written"), new_file(tmp_path / "a.txt"):
        pass
    tmp_path.chmod(0o700)


# Folders


def test_a_folder_appears_whole_and_is_replaced_only_if_asked(tmp_path):
    path = tmp_path / "out"
    put(path, OLD, overwrite=False)
    assert held(path) == OLD
    with pytest.raises(FileExistsError, match=r"`out` must be a new folder, got .*'a.txt'"):
        put(path, overwrite=False)
    path.chmod(0o750)
    put(path)
    assert held(path) == NEW
    assert os.name == "nt" or stat.S_IMODE(path.stat().st_mode) == 0o750
    assert names(tmp_path) == ["out"]


def test_an_empty_folder_may_be_filled(tmp_path):
    (tmp_path / "out").mkdir()
    put(tmp_path / "out", overwrite=False)
    assert held(tmp_path / "out") == NEW


def test_a_failure_leaves_the_old_folder_and_nothing_else(tmp_path):
    put(tmp_path / "out", OLD)
    with pytest.raises(TypeError, match="str"):
        put(tmp_path / "out", {"a.txt": "new a", "b.txt": None})
    assert held(tmp_path / "out") == OLD
    assert names(tmp_path) == ["out"]


@posix_only
def test_a_link_to_a_folder_is_followed_and_stays(tmp_path):
    put(tmp_path / "real", OLD)
    (tmp_path / "out").symlink_to("real")
    put(tmp_path / "out")
    assert (tmp_path / "out").is_symlink()
    assert held(tmp_path / "real") == NEW


@pytest.mark.parametrize("name", ["mine.txt", "a.txt/mine.txt"])
def test_a_folder_with_anything_else_is_never_replaced(name, tmp_path):
    mine = tmp_path / "out" / name
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(InputError, match="must hold nothing but what credpart made, got"):
        put(tmp_path / "out")
    assert mine.read_text() == "mine"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("before", [None, OLD])
def test_what_appears_meanwhile_stays_and_the_result_is_kept(before, tmp_path):
    path = tmp_path / "out"
    if before:
        put(path, before)

    def write():
        with new_folder(path, FILES, overwrite=True) as partial:
            for name, text in NEW.items():
                (partial / name).write_text(text)
            path.mkdir(exist_ok=True)
            (path / "mine.txt").write_text("mine")

    with pytest.raises(OutputError, match=r"kept as '.*out-[0-9a-f]{8}'.*got 'mine.txt'"):
        write()
    assert held(path) == (before or {}) | {"mine.txt": "mine"}
    (kept,) = tmp_path.glob("out-*")
    assert held(kept) == NEW
    assert names(tmp_path) == ["out", kept.name]


def test_what_appears_between_the_check_and_the_rename_stays(tmp_path, monkeypatch):
    path, rename = tmp_path / "out", Path.rename
    put(path, OLD)

    def late(self, target):
        if self.name == "out":
            (self / "mine.txt").write_text("mine")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", late)
    with pytest.raises(OutputError, match=r"'mine.txt' has appeared in it"):
        put(path)
    assert held(path) == OLD | {"mine.txt": "mine"}
    (kept,) = tmp_path.glob("out-*")
    assert held(kept) == NEW


def test_a_folder_that_another_run_is_making_is_refused_at_once(tmp_path):
    path = tmp_path / "out"
    with new_folder(path, FILES, overwrite=False) as partial:
        (partial / "a.txt").write_text("first")
        for overwrite in (False, True):
            with pytest.raises(InputError, match=r"that no other run is writing, got .*Wait for"):
                put(path, overwrite=overwrite)
        put(tmp_path / "other", OLD)
    assert held(path) == {"a.txt": "first"}
    assert names(tmp_path) == ["other", "out"]


def both_at_once(path, *, overwrite):
    """Two runs that both found the folder free, as they do where there are no locks."""
    both = threading.Barrier(2, timeout=30)
    lost = []

    def run(text):
        try:
            with new_folder(path, FILES, overwrite=overwrite) as partial:
                (partial / "a.txt").write_text(text)
                both.wait()
        except OutputError as error:
            lost.append(str(error))

    runs = [threading.Thread(target=run, args=(text,)) for text in ("one", "two")]
    for one in runs:
        one.start()
    for one in runs:
        one.join(timeout=60)
    return lost


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("before", [None, OLD])
def test_of_two_runs_without_locks_both_results_are_kept(before, overwrite, tmp_path, monkeypatch):
    path = tmp_path / "out"
    if before:
        put(path, before)
    monkeypatch.setattr(_files, "fcntl", None)
    if before and not overwrite:
        with pytest.raises(FileExistsError, match="must be a new folder"):
            put(path, overwrite=overwrite)
        return
    lost = both_at_once(path, overwrite=overwrite)
    assert len(lost) == 1
    (kept,) = tmp_path.glob("out-*")
    assert str(kept) in lost[0]
    assert {held(path)["a.txt"], held(kept)["a.txt"]} == {"one", "two"}
    assert len(names(tmp_path)) == 2


def test_a_result_that_changed_meanwhile_is_not_replaced(tmp_path):
    path = tmp_path / "out"
    put(path, OLD)

    def write():
        with new_folder(path, FILES, overwrite=True) as partial:
            (partial / "a.txt").write_text("mine")
            (path / "a.txt").write_text("edited by hand")

    with pytest.raises(OutputError, match="which another program has changed"):
        write()
    assert held(path) == OLD | {"a.txt": "edited by hand"}
    (kept,) = tmp_path.glob("out-*")
    assert held(kept) == {"a.txt": "mine"}


def test_a_file_that_changed_meanwhile_is_replaced_only_if_that_does_not_matter(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write(text, *, only_seen):
        with new_file(path, only_seen=only_seen) as partial:
            partial.write_text(text)
            path.write_text("another's")

    write("first", only_seen=False)
    assert held(tmp_path) == {"a.txt": "first"}
    with pytest.raises(OutputError, match=r"kept as .* which another program has changed"):
        write("second", only_seen=True)
    assert sorted(held(tmp_path).values()) == ["another's", "second"]


@posix_only
def test_what_replaces_a_private_folder_is_private_at_every_moment(tmp_path):
    path = tmp_path / "out"
    put(path, OLD)
    path.chmod(0o700)
    (path / "b.txt").chmod(0o600)
    with new_folder(path, FILES, overwrite=True) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o700
        for name in FILES:
            (partial / name).write_text("new")
            (partial / name).chmod(0o644)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert stat.S_IMODE((path / "a.txt").stat().st_mode) == 0o644
    assert stat.S_IMODE((path / "b.txt").stat().st_mode) == 0o600


@posix_only
def test_what_replaces_a_private_file_is_private_at_every_moment(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("secret")
    path.chmod(0o640)
    with new_file(path) as partial:
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
        partial.write_text("secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_folder_that_cannot_be_renamed_is_refused_at_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"got '\.', the current folder\. Give a folder inside"):
        put(Path("."))
    (tmp_path / "volume").mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "volume")
    with pytest.raises(InputError, match="'volume', a mount point"):
        put(Path("volume"))
    put(Path("volume/out"))
    assert held(tmp_path / "volume" / "out") == NEW


@posix_only
@pytest.mark.parametrize("length", [240, 256, 5000])
def test_names_that_are_too_long_are_refused_at_once(length, tmp_path):
    name = "n" * length
    with pytest.raises(FileAccessError, match=r"can be made, got .*File name too long"):
        put(tmp_path / name)
    with (
        pytest.raises(FileAccessError, match=r"can be made, got .*File name too long"),
        new_file(tmp_path / name),
    ):
        pass
    assert names(tmp_path) == []


@posix_only
def test_a_path_with_room_for_the_folder_only_is_refused_at_once(tmp_path):
    deep, length = os.fspath(tmp_path), 4070  # room for `.out.12345678.partial`, not for `a.txt`
    while len(deep) < length:
        deep += "/" + "d" * min(100, length - len(deep) - 1)
    Path(deep).mkdir(parents=True)
    with pytest.raises(FileAccessError, match="File name too long"):
        put(Path(deep, "out"))
    assert names(Path(deep)) == []


def test_a_disk_that_refuses_the_result_does_not_lose_it(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "a.txt"

    def write(place):
        if place.parent == tmp_path:
            raise OSError(28, "No space left on device")
        place.write_text("hours of work")

    def run():
        with new_file(path) as partial:
            write_or_rescue(write, partial, path)

    with pytest.raises(OutputError, match=r"kept as '.*elsewhere.*a\.txt'.*No space left"):
        run()
    (rescued,) = (tmp_path / "elsewhere").rglob("a.txt")
    assert rescued.read_text() == "hours of work"
    assert names(tmp_path) == ["elsewhere"]


def test_a_disk_that_refuses_everything_is_left_clean(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def write(place):
        place.write_text("half")
        raise OSError(27, "File too large")

    def run():
        with new_file(tmp_path / "a.txt") as partial:
            write_or_rescue(write, partial, tmp_path / "a.txt")

    with pytest.raises(OutputError, match=r"neither to .* nor to .*\(File too large\)"):
        run()
    assert names(tmp_path) == []


@posix_only
def test_a_circle_of_links_is_refused_at_once(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="a circle of links"):
        put(tmp_path / "a")


@posix_only
@pytest.mark.parametrize("name", ["out", "out/b.txt"])
def test_what_its_owner_has_protected_is_not_replaced(name, tmp_path, monkeypatch):
    put(tmp_path / "out", OLD)
    protected, access = tmp_path / name, os.access
    monkeypatch.setattr(  # as for people other than root
        os, "access", lambda path, mode: access(path, mode) and Path(path) != protected
    )
    with pytest.raises(FileAccessError, match=r"must not be protected, got .*read-only"):
        put(tmp_path / "out")
    assert held(tmp_path / "out") == OLD


def test_a_result_that_can_be_renamed_nowhere_is_copied(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()

    def refused(self, target):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refused)
    with pytest.raises(OutputError, match=r"kept as '.*elsewhere.*out'.*Read-only"):
        put(tmp_path / "out")
    (rescued,) = (tmp_path / "elsewhere").rglob("out")
    assert held(rescued) == NEW


@posix_only
def test_sockets_and_disks_are_no_files(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "s"))
        with (
            pytest.raises(InputError, match="must be a file, got the socket"),
            new_file(tmp_path / "s"),
        ):
            pass


@posix_only
def test_a_link_to_the_standard_output_is_no_file_to_replace(tmp_path):
    (tmp_path / "link").symlink_to("/dev/stdout")
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from credpart._files import new_file\n"
        "with new_file(Path(sys.argv[1])) as partial:\n"
        "    partial.write_text('table')\n"
    )
    with (tmp_path / "log").open("w") as log:
        inode = os.fstat(log.fileno()).st_ino
        command = [sys.executable, "-c", program, str(tmp_path / "link")]
        subprocess.run(command, stdout=log, check=True)  # noqa: S603
    assert (tmp_path / "log").read_text() == "table"
    assert (tmp_path / "log").stat().st_ino == inode


@posix_only
def test_a_signal_while_the_result_takes_its_place_waits(tmp_path, monkeypatch):
    path, rename = tmp_path / "out", Path.rename
    put(path, OLD)

    def signalled(self, target):
        os.kill(os.getpid(), signal.SIGINT)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", signalled)
    with pytest.raises(KeyboardInterrupt):
        put(path)
    assert held(path) == NEW
    assert names(tmp_path) == ["out"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


# Killed runs

KILLED = """
import os, signal, sys
from pathlib import Path
from credpart._files import new_file, new_folder

path, last = Path(sys.argv[1]), int(sys.argv[2])
steps = 0

def counted(function):
    def step(*arguments, **options):
        global steps
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)
        steps += 1
        return function(*arguments, **options)
    return step

for name in ("mkdir", "rename", "replace", "unlink", "rmdir", "chmod", "fsync", "open"):
    setattr(os, name, counted(getattr(os, name)))
if path.suffix:
    with new_file(path) as partial:
        partial.write_text("new")
else:
    with new_folder(path, ("a.txt", "b.txt"), overwrite=True) as partial:
        (partial / "a.txt").write_text("new a")
        (partial / "b.txt").write_text("new b")
"""


def killed_at(step, path):
    """Whether a run was killed before its ``step``-th call of the operating system."""
    command = [sys.executable, "-c", KILLED, str(path), str(step)]
    code = subprocess.run(command, check=False).returncode  # noqa: S603
    assert code in (0, -9)
    return code == -9


@posix_only
@pytest.mark.parametrize("before", [None, OLD], ids=["new", "replaced"])
def test_a_run_that_is_killed_anywhere_loses_nothing(before, tmp_path):
    found, step = [], 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        path = folder / "out"
        if before:
            put(path, before)
        was_killed = killed_at(step, path)
        recover_folder(path, FILES)  # what the next command does first
        assert path.exists() or before is None
        found.append(held(path) if path.exists() else None)
        put(path, NEW)
        assert held(path) == NEW
        assert names(folder) == ["out"]
        if not was_killed:
            break
        step += 1
    assert step > 8
    # First the old content, then, from one step on, the new one; never a part of it, or none.
    assert found == sorted(found, key=lambda content: content == NEW)
    assert all(content in (before, NEW) for content in found)
    assert found[0] == before
    assert found[-1] == NEW


@posix_only
def test_a_file_whose_writer_is_killed_anywhere_is_the_old_or_the_new(tmp_path):
    path, found, step = tmp_path / "a.txt", [], 0
    while True:
        path.write_text("old")
        was_killed = killed_at(step, path)
        found.append(path.read_text())
        with new_file(path) as partial:
            partial.write_text("next")
        assert names(tmp_path) == ["a.txt"]
        if not was_killed:
            break
        step += 1
    assert set(found) == {"old", "new"}
    assert found == sorted(found, reverse=True)


@posix_only
def test_what_a_living_run_is_writing_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"
    with new_file(path) as partial:
        partial.write_text("slow")
        with pytest.raises(ZeroDivisionError), new_file(path):
            _ = 1 / 0
        assert partial.read_text() == "slow"
    assert held(tmp_path) == {"a.txt": "slow"}


@posix_only
def test_a_file_of_a_folder_whose_writer_was_killed_does_not_block_the_folder(tmp_path):
    put(tmp_path / "out", OLD)
    (tmp_path / "out" / ".a.txt.00000000.partial.txt").write_text("half")
    put(tmp_path / "out")
    assert held(tmp_path / "out") == NEW


@posix_only
def test_a_new_claim_that_a_cleaner_removes_is_made_again(tmp_path, monkeypatch):
    # Between its making and its lock, another run may take it for stale.
    locked, seen = _files._locked, []

    def late(path, *arguments, **options):
        if ".partial" in path.name and not seen:
            seen.append(path)
            path.unlink()
        return locked(path, *arguments, **options)

    monkeypatch.setattr(_files, "_locked", late)
    with new_file(tmp_path / "a.txt") as partial:
        partial.write_text("whole")
    assert seen
    assert held(tmp_path) == {"a.txt": "whole"}


@posix_only
def test_what_a_killed_run_left_is_removed_only_where_it_is_ours(tmp_path):
    stale = tmp_path / ".out.00000000.partial"
    stale.mkdir()
    (stale / "a.txt").write_text("half")
    (stale / "mine.txt").write_text("mine")
    put(tmp_path / "out")
    assert held(stale) == {"mine.txt": "mine"}
