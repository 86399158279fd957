"""Run experiments of the paper: ``python -m benchmarks.paper NAME... [--full]``."""

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import matplotlib as mpl

from benchmarks.paper import (
    diabetes,
    example3_4,
    examples1_2,
    gvhd,
    iris,
    mixtures,
    skew_t,
)
from benchmarks.paper.bench import PRINTED, Bench, Section, write_atomically

EXPERIMENTS: Mapping[str, Callable[[Bench], Section]] = {
    "examples1_2": examples1_2.run,
    "example3_4": example3_4.run,
    "mixtures": mixtures.run,
    "skew_t": skew_t.run,
    "iris": iris.run,
    "diabetes": diabetes.run,
    "gvhd": gvhd.run,
}

INTRODUCTION = f"""# The paper, executed

What `python -m benchmarks.paper --full` computes, beside the numbers that the paper prints
({PRINTED["source"]}). No number here depends on the date or the machine's speed: a second run
gives this page byte for byte. How long it took, on what, is in [paper-run.md](paper-run.md).
Verdicts: *agrees* (within the tolerance that is said), *closer to nominal* (a coverage that
misses the printed one, but is nearer to the confidence level), *within noise* (chance explains
the difference) and *differs*, with the reason.
"""
PACKAGES = ("credpart", "numpy", "scipy", "scikit-learn", "joblib", "matplotlib")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paper", description=__doc__)
    listed = ", ".join(EXPERIMENTS)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{listed}; all by default")
    parser.add_argument("--full", action="store_true", help="the paper's sizes, not a quick look")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--out", type=Path, help="folder for page, figures, and what a rerun keeps")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"NAME must be one of {listed}, got {unknown[0]!r}.")
    mpl.use("Agg")
    bench = Bench(options.full, options.jobs, options.out)
    for name in options.names or EXPERIMENTS:
        _run(bench, name)
    if bench.out is not None:
        _write_page(bench.out)


def _run(bench: Bench, name: str) -> None:
    began, used = perf_counter(), process_time()
    bench.seconds.clear()
    bench.mapping = 0.0
    text = EXPERIMENTS[name](bench).markdown()
    print(text, flush=True)
    if bench.out is not None:
        folder = bench.out / "cache"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.md", text.encode())
        about = {
            "full": bench.full,
            "jobs": bench.jobs,
            "wall": perf_counter() - began,
            "processor": {**bench.seconds, "the rest": process_time() - used - bench.mapping},
        }
        write_atomically(folder / f"{name}.run.json", json.dumps(about).encode())


def _write_page(out: Path) -> None:
    """Put the page together from the sections that there are."""
    sections = [out / "cache" / f"{name}.md" for name in EXPERIMENTS]
    texts = [file.read_text(encoding="utf-8") for file in sections if file.exists()]
    write_atomically(out / "paper.md", "\n".join([INTRODUCTION, *texts]).encode())
    write_atomically(out / "paper-run.md", _run_page(out).encode())


def _run_page(out: Path) -> str:
    """How long the run took, and on what."""
    rows = []
    for name in EXPERIMENTS:
        file = out / "cache" / f"{name}.run.json"
        if file.exists():
            about = json.loads(file.read_text())
            mode, spent = "full" if about["full"] else "quick", about["processor"]
            rows.append(
                f"| **{name}** | {mode} | {sum(spent.values()):.0f} | {about['wall']:.0f} |"
            )
            rows += [f"| {part} | | {seconds:.0f} | |" for part, seconds in spent.items()]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return "\n".join(
        [
            "# The run behind paper.md\n",
            "| experiment | mode | processor time, s | wall time of the last start, s |",
            "|---|---|---|---|",
            *rows,
            f"\nPython {platform.python_version()}, {versions}; {os.cpu_count()} cores, "
            f"{platform.machine()}. BLAS runs with one thread. Seeds stand in the modules of "
            "`benchmarks/paper`. Processor time counts every piece, also those that an earlier "
            "start had computed; on j free cores a piece of work takes a j-th of it. Wall time "
            "is that of the last start, on whatever else the machine did.\n",
        ]
    )


if __name__ == "__main__":
    main()
