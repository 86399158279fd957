"""Attack: do units, an offset, or the type of the numbers change a result?

    python -m tests.attacks.representations --tries 100

Small studies are run on data as they are and on the same data in another form: in other units, all
or column by column; far from the origin; as 32-bit numbers, as integers, in Fortran order.  An
offset and 32 bits round the data: there the study is compared with one of the rounded data.
Intervals and masses have to agree.
"""

import argparse
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from credpart import CalibratedClustering
from credpart.errors import CredpartError, CredpartWarning
from tests.attacks.small_data import clusters
from tests.attacks.units import EQUIVARIANT

ALL = (
    "EII", "VII", "EEI", "VVI", "EEE", "VEE", "EVE", "EEV", "VEV", "VVV", "t", "t-EEE",
    "skew-normal", ["EEE", "VVV"],
)  # fmt: skip
OFFSET = 1e9


class Form(NamedTuple):
    """Another form of data: what is given, and what the result is compared with."""

    given: Callable[[np.ndarray], np.ndarray]
    like: Callable[[np.ndarray], np.ndarray] = lambda X: X
    models: tuple = ALL
    resampling: tuple = ("nonparametric", "bayesian", "parametric")


FORMS = {
    "x 1e12": Form(lambda X: X * 1e12),
    "x 1e-12": Form(lambda X: X * 1e-12),
    "columns x 1e6 and 1e-6": Form(
        lambda X: X * np.array([1e6, 1e-6, 1.0])[: X.shape[1]], models=EQUIVARIANT
    ),
    # A parametric sample far from the origin is rounded, as data are.
    "+ 1e9": Form(
        lambda X: X + OFFSET,
        lambda X: (X + OFFSET) - OFFSET,
        resampling=("nonparametric", "bayesian"),
    ),
    "float32": Form(
        lambda X: X.astype(np.float32), lambda X: X.astype(np.float32).astype(np.float64)
    ),
    "integers": Form(lambda X: np.round(8 * X).astype(np.int32), lambda X: np.round(8 * X)),
    "Fortran order": Form(np.asfortranarray),
}


def attempt(seed, name):
    """The largest difference of the intervals, and of the masses."""
    rng = np.random.default_rng([seed, 31])
    X, c = clusters(rng, most_columns=3, per_cluster=(8, 25))
    while X.shape[1] == 1:
        X, c = clusters(rng, most_columns=3, per_cluster=(8, 25))
    form = FORMS[name]
    options = {
        "model": form.models[rng.integers(len(form.models))],
        "resampling": str(rng.choice(form.resampling)),
        "n_replicates": 40,
        "random_state": seed,
    }
    one, two = (found(data, c, options) for data in (form.like(X), form.given(X)))
    if isinstance(one, str) or isinstance(two, str):
        return (0.0, 0.0) if one == two else (np.inf, np.inf)
    return (
        max(
            np.abs(one.intervals_.lower - two.intervals_.lower).max(),
            np.abs(one.intervals_.upper - two.intervals_.upper).max(),
        ),
        np.abs(one.partition_.masses - two.partition_.masses).max(),
    )


def found(X, c, options):
    """The fitted estimator, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredpartWarning)
        try:
            return CalibratedClustering(c, **options).fit(X)
        except CredpartError as error:
            return type(error).__name__


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=100, help="for each form")
    parser.add_argument("--form", nargs="+", default=FORMS, choices=FORMS)
    parser.add_argument("--seed", type=int, default=0, help="of the first study")
    options = parser.parse_args()
    failed = 0
    for name in options.form:
        seeds = range(options.seed, options.seed + options.tries)
        gaps = np.array([attempt(seed, name) for seed in seeds])
        bad = np.flatnonzero(gaps.max(axis=1) > 1e-8)
        failed += len(bad)
        equal = int((gaps.max(axis=1) == 0.0).sum())
        print(
            f"{name}: {len(bad)} of {options.tries} differ by more than 1e-8, {equal} are the same "
            f"to the bit; worst interval {gaps[:, 0].max():.2g}, masses {gaps[:, 1].max():.2g}; "
            f"seeds {[options.seed + int(i) for i in bad]}",
            flush=True,
        )
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
