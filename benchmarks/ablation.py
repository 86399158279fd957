"""What each heuristic of the search saves and wins: ``python -m benchmarks.ablation``.

Every heuristic is switched off, one at a time, and a stage is run on the four data sets of
``benchmarks.speed`` and on 20 synthetic ones.  "Time" is the processor time without the heuristic,
relative to that with it, as the geometric mean over data sets (and the range of the four).
"Likelihood" is what the sum of all log-likelihoods of the stage loses without it (a negative figure
means that it would gain), and "choices" counts data sets whose best model, or replicates whose
model, would be another one.
"""

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from time import process_time
from typing import NamedTuple
from unittest.mock import patch

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

from credpart import bootstrap, select_mixture
from credpart._bootstrap import algorithm1, refits
from credpart.datasets import load_diabetes, load_gvhd, load_iris, make_mixture1
from credpart.mixture import fit
from credpart.mixture.optimisation import maximise
from credpart.mixture.optimisation.em import em
from credpart.mixture.search import grid_search, multistart

REAL = {
    "Iris": load_iris().X.to_numpy(),
    "Diabetes": load_diabetes().X.to_numpy(),
    "GvHD sample": load_gvhd(sample=True).X.to_numpy(),
    "Mixture 1": make_mixture1(300, random_state=1).X,
}
N_SYNTHETIC = 20
NUMBERS = range(1, 8)
B = 200


def synthetic(seed: int) -> np.ndarray:
    """Gaussian clusters of random number, sizes, shapes and separation."""
    rng = np.random.default_rng([2026, seed])
    d, c, n = int(rng.integers(2, 6)), int(rng.integers(2, 6)), int(rng.integers(100, 500))
    labels = rng.choice(c, size=n, p=rng.dirichlet(np.full(c, 4.0)))
    means = rng.uniform(1.0, 4.0) * rng.standard_normal((c, d))
    roots = rng.standard_normal((c, d, d)) * rng.uniform(0.3, 1.0, (c, 1, d))
    return means[labels] + np.einsum("nde,ne->nd", roots[labels], rng.standard_normal((n, d)))


class Switch(NamedTuple):
    """A heuristic, the stage it belongs to, and what to patch to switch it off."""

    stage: str
    patches: tuple[tuple[object, str, object], ...]


def embedded_only(self: object, answers: object, new: object) -> None:
    """No starts from related models, but for those that are embedded."""
    embedded, self.embedded = self.embedded, None  # type: ignore[attr-defined]
    return embedded


def plain(*arguments: object, **options: object) -> object:
    """EM without acceleration."""
    return em(*arguments, **(options | {"is_accelerated": False}))  # type: ignore[arg-type]


def without_start(k: int) -> tuple[object, str, object]:
    starts = fit.WITH_UNITS
    return fit, "WITH_UNITS", (*starts[:k], *starts[k + 1 :])


SWITCHES: Mapping[str, Switch] = {
    "early stopping": Switch(
        "select", ((multistart, "CATCH_UP", np.inf), (multistart, "SOUND_BY", np.inf))
    ),
    "starts from related models": Switch(
        "select", ((grid_search.RelatedStarts, "__call__", embedded_only),)
    ),
    "start: model-based agglomeration": Switch("select", (without_start(0),)),
    "start: Ward, scaled": Switch("select", (without_start(1),)),
    "start: Ward, raw": Switch("select", (without_start(2),)),
    "start: Ward, sphered": Switch("select", (without_start(3),)),
    "single precision (selection)": Switch("select", ((maximise, "SINGLE_FROM", 1 << 60),)),
    "acceleration (selection)": Switch("select", ((maximise, "em", plain),)),
    "single precision (refits)": Switch("refit", ((maximise, "SINGLE_FROM", 1 << 60),)),
    "acceleration (refits)": Switch("refit", ((maximise, "em", plain),)),
    "models without a chance left out": Switch("each", ((algorithm1, "PILOTS", ()),)),
    "loose tolerance first": Switch("each", ((refits, "LOOSE", 0.0),)),
}


def select(X: np.ndarray) -> tuple[float, list[str]]:
    found = select_mixture(X, NUMBERS, n_starts=len(fit.WITH_UNITS))
    best = found.best
    return sum(fit.loglik for fit in found.fits.values()), [f"{best.model} {best.n_clusters}"]


def refit(X: np.ndarray) -> tuple[float, list[str]]:
    fits = select_mixture(X, 3, ["VEV", "VVV"]).fits.values()
    found = [bootstrap(X, fit, B, random_state=0) for fit in fits]
    return sum(float(one.loglik.sum()) for one in found), []


def each(X: np.ndarray) -> tuple[float, list[str]]:
    found = select_mixture(X, 3)
    fits = [found.best, *(fit for fit in found.fits.values() if fit is not found.best)]
    replicates = bootstrap(X, fits, B, random_state=0)
    return float(replicates.loglik.sum()), replicates.models.tolist()


STAGES: Mapping[str, Callable[[np.ndarray], tuple[float, list[str]]]] = {
    "select": select,
    "refit": refit,
    "each": each,
}


@contextmanager
def switched_off(switch: Switch) -> Iterator[None]:
    with ExitStack() as stack:
        for home, name, value in switch.patches:
            stack.enter_context(patch.object(home, name, value))
        yield


def timed(stage: str, X: np.ndarray) -> tuple[float, float, list[str]]:
    began = process_time()
    loglik, choices = STAGES[stage](X)
    return process_time() - began, loglik, choices


def main(*names: str) -> None:
    warnings.simplefilter("ignore")
    data = REAL | {f"synthetic {seed}": synthetic(seed) for seed in range(N_SYNTHETIC)}
    print("| heuristic | stage | time, real (range) | time, synthetic | likelihood, real |", end="")
    print(" likelihood, synthetic | other choices |\n|---|---|---|---|---|---|---|")
    for name, switch in SWITCHES.items():
        if names and name not in names:
            continue
        ratios, losses, others, total = {}, {}, 0, 0
        for key, X in data.items():
            seconds, loglik, choices = timed(switch.stage, X)
            with switched_off(switch):
                slower, lower, changed = timed(switch.stage, X)
            ratios[key], losses[key] = slower / seconds, loglik - lower
            others += sum(a != b for a, b in zip(choices, changed, strict=True))
            total += len(choices)
        real, made = (
            [values for key, values in ratios.items() if (key in REAL) == is_real]
            for is_real in (True, False)
        )
        lost = [sum(v for key, v in losses.items() if (key in REAL) == flag) for flag in (1, 0)]
        means = [float(np.exp(np.mean(np.log(values)))) for values in (real, made)]
        print(
            f"| {name} | {switch.stage} | {means[0]:.2f} ({min(real):.2f}-{max(real):.2f}) "
            f"| {means[1]:.2f} | {lost[0]:.1f} | {lost[1]:.1f} | {others} of {total} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
