"""What experiments share: a run with its cache of results, and a section of the page."""

import hashlib
import inspect
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from joblib import Parallel, delayed, parallel_config
from matplotlib.figure import Figure
from PIL import Image

import credpart

LARGEST_PNG, LARGEST_SVG = 150_000, 200_000  # bytes of a figure on the page
RESOLUTIONS = (120, 100, 80, 64, 50)  # dots an inch
COLOURS = 64

PRINTED: Mapping[str, Any] = json.loads(
    Path(__file__).with_name("printed.json").read_text(encoding="utf-8")
)

Case = dict[str, Any]  # settings of one piece of work, as JSON can say them
Result = dict[str, Any]


@dataclass
class Section:
    """A part of the page: Markdown, and what its comparisons found."""

    title: str
    figures: "Figures"
    blocks: list[str] = field(default_factory=list)
    verdicts: list[str] = field(default_factory=list)

    def text(self, *paragraphs: str) -> None:
        """Add paragraphs."""
        self.blocks += paragraphs

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add a table."""
        lines = [header, ["---"] * len(header), *rows]
        self.blocks.append("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines))

    def judge(self, verdict: str) -> str:
        """Count a verdict, and return it."""
        self.verdicts.append(verdict)
        return verdict

    def figure(self, name: str, draw: Callable[[], Figure], caption: str) -> None:
        """Add a figure, if figures are wanted."""
        link = self.figures.save(name, draw)
        if link:
            self.blocks.append(f"![{name}]({link})\n\n*{caption}*")

    def markdown(self) -> str:
        """Return the section."""
        counts = {verdict: self.verdicts.count(verdict) for verdict in dict.fromkeys(self.verdicts)}
        verdict = ", ".join(f"{count} {name}" for name, count in counts.items())
        summary = [f"**Verdict:** {verdict}."] if counts else []
        return "\n\n".join([f"## {self.title}", *summary, *self.blocks]) + "\n"


@dataclass
class Figures:
    """Where figures go: a folder beside the page, or nowhere."""

    folder: Path | None
    vector: bool = True  # write SVG files too

    def save(self, name: str, draw: Callable[[], Figure]) -> str | None:
        """Write a PNG, and an SVG if wanted and not large; return the PNG's relative path."""
        if self.folder is None:
            return None
        self.folder.mkdir(parents=True, exist_ok=True)
        with mpl.rc_context({"svg.hashsalt": "credpart", "font.size": 9.0}):
            figure = draw()
            write_atomically(self.folder / f"{name}.png", _png(figure))
            if self.vector:
                _write_svg(figure, self.folder / f"{name}.svg")
        plt.close("all")
        return f"{self.folder.name}/{name}.png"


@dataclass
class Bench:
    """A run: quick or full, with how many jobs, and where results are kept."""

    full: bool
    jobs: int
    out: Path | None
    so_far: bool = False  # compute nothing of what comes in many pieces: take what there is
    seconds: dict[str, float] = field(default_factory=dict)  # processor time, by kind of work
    mapping: float = 0.0  # processor time of this process while it saw to them

    def size(self, quick: Any, full: Any) -> Any:
        """A number of replicates, data sets or objects."""
        return full if self.full else quick

    def section(self, title: str) -> Section:
        """A new section of the page."""
        mode = "" if self.full else " (quick mode: small, only to see that it runs)"
        return Section(title + mode, Figures(self.out and self.out / "paper", vector=self.full))

    def map(self, name: str, task: Callable[..., Result], cases: Sequence[Case]) -> list[Result]:
        """Return the results of all cases: those that were computed before are read."""
        used = process_time()
        files = [self._file(name, task, case) for case in cases]
        done = {i: found for i, file in enumerate(files) if (found := _read(file))}
        left = [i for i in range(len(cases)) if i not in done]
        progress = Progress(name, len(left), len(done))
        with parallel_config(backend="loky", inner_max_num_threads=1):
            parallel = Parallel(n_jobs=min(self.jobs, max(1, len(left))), return_as="generator")
            for i, record in zip(
                left, parallel(delayed(timed)(task, cases[i]) for i in left), strict=True
            ):
                _write(files[i], {"case": cases[i], **record})
                done[i] = record
                progress.step()
        spent = sum(record["processor"] for record in done.values())
        self.seconds[name] = self.seconds.get(name, 0.0) + spent
        self.mapping += process_time() - used
        return [done[i]["result"] for i in range(len(cases))]

    def known(self, name: str, task: Callable[..., Result], case: Case) -> bool:
        """Whether a case was computed before."""
        file = self._file(name, task, case)
        return file is not None and file.exists()

    def _file(self, name: str, task: Callable[..., Result], case: Case) -> Path | None:
        """Where a result is kept: as long as neither the library nor the task has changed."""
        if self.out is None:
            return None
        text = json.dumps([library_digest(), inspect.getsource(task), case], sort_keys=True)
        return self.out / "cache" / name / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def _read(file: Path | None) -> Any:
    return json.loads(file.read_text()) if file and file.exists() else None


def _write(file: Path | None, record: Result) -> None:
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(record).encode())


@cache
def library_digest() -> str:
    """Digest of the library's code, without its pictures."""
    root, digest = Path(credpart.__file__).parent, hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        if file.relative_to(root).parts[0] != "plot":
            digest.update(file.read_bytes())
    return digest.hexdigest()


def timed(task: Callable[..., Result], case: Case) -> dict[str, Any]:
    """Result of a case, as JSON will give it back, and the seconds that it took."""
    began, used = perf_counter(), process_time()
    result = json.loads(json.dumps(task(**case)))
    seconds = {"seconds": perf_counter() - began, "processor": process_time() - used}
    return {"result": result, **seconds}


class Progress:
    """Say on standard error how far a task is."""

    def __init__(self, name: str, total: int, known: int) -> None:
        self.name, self.total, self.known = name, total, known
        self.done, self.began, self.told = 0, perf_counter(), 0.0

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        elapsed = perf_counter() - self.began
        terminal = sys.stderr.isatty()
        if terminal or self.done == self.total or elapsed - self.told > 30.0:
            self.told = elapsed
            rest = elapsed / self.done * (self.total - self.done)
            kept = f", {self.known} were kept" if self.known else ""
            line = f"{self.name}: {self.done} of {self.total}{kept}, {rest:.0f} s left"
            end = "\r" if terminal and self.done < self.total else "\n"
            print(f"{line:70s}", end=end, file=sys.stderr, flush=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_bytes(content)
    partial.replace(path)


def _write_svg(figure: Figure, path: Path) -> None:
    content = _bytes(figure, "svg", metadata={"Date": None})
    if len(content) <= LARGEST_SVG:
        write_atomically(path, content)


def _png(figure: Figure) -> bytes:
    """The figure with few colours, at the highest resolution that is small enough."""
    for resolution in RESOLUTIONS:
        picture = Image.open(io.BytesIO(_bytes(figure, "png", dpi=resolution))).convert("RGB")
        stream = io.BytesIO()
        picture.quantize(COLOURS).save(stream, "png", optimize=True)
        if stream.tell() <= LARGEST_PNG:
            break
    return stream.getvalue()


def _bytes(figure: Figure, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, bbox_inches="tight", **options)
    return stream.getvalue()
