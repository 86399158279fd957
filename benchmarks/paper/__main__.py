"""Run experiments of the paper: ``python -m benchmarks.paper NAME... [--full]``."""

import argparse
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

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
from benchmarks.paper.compare import VERDICTS

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
ERRATA = """## Slips of the paper that matter here

- Example 2 prints a plausibility of .908, a sum of rounded terms; exactly it is .909.
- The caption of Figure 4 says quantiles .025 and .975; the text says a 90 % interval.
- The weights of the skew t mixture are printed as .4, .4, .4; they are .3, .3, .4.
- Row 69 of Table 5 sums to 1.010.
- The last column of Table 10 is {ch,ov}, not {no,ov}.
- The Diabetes data were standardised for ECM and EVCLUS.
- "Q_i is positive definite" does not hold if the set of all clusters is focal, nor with four or
  more clusters and masses that are nearly certain; the library's programs accept a singular Q_i.
- J^(t) of Algorithm 2 adds up J_i while rows still change: it is not the J of Eq. (9), which is
  what the library reports. A sweep takes O(n^2 f + n f^3), not O(n f^3).
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
    parser.add_argument(
        "--so-far", action="store_true", help="take the data sets that a stopped run has computed"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in EXPERIMENTS]
    if unknown:
        parser.error(f"NAME must be one of {listed}, got {unknown[0]!r}.")
    mpl.use("Agg")
    bench = Bench(options.full, options.jobs, options.out, options.so_far)
    for name in options.names or EXPERIMENTS:
        _run(bench, name)
    if bench.out is not None:
        _write_page(bench.out)


def _run(bench: Bench, name: str) -> None:
    began, used = perf_counter(), process_time()
    bench.seconds.clear()
    bench.mapping = 0.0
    section = EXPERIMENTS[name](bench)
    text = section.markdown()
    print(text, flush=True)
    if bench.out is not None:
        folder = bench.out / "cache"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{name}.md", text.encode())
        about = {
            "full": bench.full,
            "title": section.title,
            "verdicts": section.verdicts,
            "wall": perf_counter() - began,
            "processor": {**bench.seconds, "the rest": process_time() - used - bench.mapping},
        }
        write_atomically(folder / f"{name}.run.json", json.dumps(about).encode())


def _write_page(out: Path) -> None:
    """Put the page together from the sections that there are."""
    sections = [out / "cache" / f"{name}.md" for name in EXPERIMENTS]
    texts = [file.read_text(encoding="utf-8") for file in sections if file.exists()]
    page = "\n".join([INTRODUCTION, _verdict_table(out), *texts, ERRATA])
    write_atomically(out / "paper.md", page.encode())
    write_atomically(out / "paper-run.md", _run_page(out).encode())


def _about(out: Path) -> dict[str, Any]:
    """What is known of the experiments that were run."""
    files = {name: out / "cache" / f"{name}.run.json" for name in EXPERIMENTS}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def _verdict_table(out: Path) -> str:
    """How often ours agrees with the paper, by experiment."""
    lines = [["experiment", *VERDICTS], ["---"] * (1 + len(VERDICTS))]
    for about in _about(out).values():
        found = about["verdicts"]
        lines.append([about["title"], *(str(found.count(verdict)) for verdict in VERDICTS)])
    missing = ", ".join(name for name in EXPERIMENTS if name not in _about(out))
    note = f"\nNot run yet, and so not on this page: {missing}.\n" if missing else ""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n" + note


def _run_page(out: Path) -> str:
    """How long the run took, and on what."""
    rows = []
    for name, about in _about(out).items():
        mode, spent = "full" if about["full"] else "quick", about["processor"]
        total, wall = sum(spent.values()), about["wall"]
        rows.append(f"| **{name}** | {mode} | {total:.0f} | {wall:.0f} |")
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
