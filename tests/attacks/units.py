"""Attack: do the units of the columns change what a mixture finds?

    python -m tests.attacks.units --tries 300 --model VVV

Random data sets are fitted twice with the default starts: as they are, and with every column
multiplied by its own factor between 1e-6 and 1e6.  For structures that are closed under such
factors, the log-likelihoods, corrected by the logarithms of the factors, and the posterior
probabilities have to agree.
"""

import argparse
import warnings
from collections import Counter
from typing import NamedTuple

import numpy as np

from credpart import fit_mixture
from credpart.errors import CredpartError, CredpartWarning
from tests.attacks.small_data import clusters, pair_probabilities

EQUIVARIANT = ("EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVV", "VVV")
LOGLIK, POSTERIORS = 1e-6, 1e-6  # differences that are still called agreement


class Outcome(NamedTuple):
    """How a try ended: "same" if both units gave the same answer."""

    kind: str  # "same", "likelihood", "posteriors", "error"
    loglik: float = 0.0  # of the rescaled data, less that of the data as they are
    change: float = 0.0  # largest |change of P_ij|


def attempt(seed, model):
    """One data set under one rescaling."""
    rng = np.random.default_rng([seed, 17])
    X, c = clusters(rng)
    while X.shape[1] == 1:  # where there is only one column, there is no structure
        X, c = clusters(rng)
    scales = 10.0 ** rng.uniform(-6.0, 6.0, X.shape[1])
    one, two = fitted(X, c, model), fitted(X * scales, c, model)
    if isinstance(one, str) or isinstance(two, str):
        return Outcome("same" if one == two else "error")
    loglik = two.loglik + len(X) * np.log(scales).sum() - one.loglik
    change = np.abs(
        pair_probabilities(one.posteriors(X)) - pair_probabilities(two.posteriors(X * scales))
    ).max()
    if abs(loglik) > LOGLIK * (1.0 + abs(one.loglik)):
        return Outcome("likelihood", loglik, change)
    return Outcome("posteriors" if change > POSTERIORS else "same", loglik, change)


def fitted(X, c, model):
    """The fit, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredpartWarning)
        try:
            return fit_mixture(X, c, model)
        except CredpartError as error:
            return type(error).__name__


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tries", type=int, default=300, help="for each structure")
    parser.add_argument("--model", nargs="+", default=EQUIVARIANT, help="structures")
    parser.add_argument("--seed", type=int, default=0, help="of the first data set")
    options = parser.parse_args()
    failures = 0
    for model in options.model:
        seeds = range(options.seed, options.seed + options.tries)
        outcomes = {seed: attempt(seed, model) for seed in seeds}
        bad = {seed: one for seed, one in outcomes.items() if one.kind != "same"}
        kinds = Counter(one.kind for one in bad.values())
        worst = max((one.change for one in outcomes.values()), default=0.0)
        print(f"{model}: {len(bad)} of {options.tries} disagree {dict(kinds)}, worst {worst:.2g}")
        for seed, one in bad.items():
            print(f"    seed {seed}: {one.kind}, loglik {one.loglik:+.3g}, P_ij {one.change:.2g}")
        failures += len(bad)
    raise SystemExit(failures > 0)


if __name__ == "__main__":
    main()
