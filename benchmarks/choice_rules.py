"""Rules by which replicates choose a model: ``python -m benchmarks.choice_rules [file] [sets]``.

Mixtures 1-3 of the paper's Section 4.1 with n = 100, 300 and 600, level .90.  Every model with up
to five clusters that any rule may choose is refitted to the same replicates; then each rule names
the model of every replicate, with three clusters known or with their number open from that of the
best fit upwards, and is judged by the pairs of ``JUDGED`` objects.  The seeds are not those of
`benchmarks.choice`.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.coverage import LEVEL, MIXTURES, Book, cell, covers
from credpart import pairwise_intervals, select_mixture
from credpart._bootstrap.algorithm1 import run_bootstrap
from credpart._bootstrap.refits import Plan
from credpart._random import seed_sequence
from credpart.intervals import pairwise_probabilities
from credpart.mixture.criteria import N_DEVIATIONS
from credpart.mixture.distinct import distinct
from credpart.mixture.optimisation import Limits

SIZES = (100, 300, 600)
FIRST_SEED = 700
B, JUDGED = 200, 60
MOST = 5  # clusters


class Refits(NamedTuple):
    """Models (m,) fitted to data, and refitted to the same B bootstrap samples of it."""

    n: int
    n_clusters: np.ndarray
    n_parameters: np.ndarray
    loglik: np.ndarray
    in_replicates: np.ndarray  # (m, B): log-likelihoods, -inf where a refit is not sound
    posteriors: np.ndarray  # (m, B, JUDGED, MOST)

    def take(self, rows):
        """Some of the models."""
        return self._replace(**{name: getattr(self, name)[rows] for name in self._fields[1:]})

    def penalty(self, share):
        """For each parameter: a share of the way from AIC's, 2, to that of BIC, log n."""
        return 2.0 + share * (np.log(self.n) - 2.0)

    def criterion(self, share):
        """Of the data, with that penalty."""
        return 2.0 * self.loglik - self.penalty(share) * self.n_parameters


def by_criterion(share=1.0, optimism=1.0, shrunk=lambda df, ratio: 1.0, temperature=0.0):
    """The model with the largest criterion in a replicate.

    The difference of a model from the best of the data deviates from what it is in the data;
    ``shrunk`` gives the factor of that deviation from the difference in parameters and the
    likelihood ratio.  A ``temperature`` draws a model by its weight in the replicate instead.
    """

    def choose(refits):
        k, data = refits.n_parameters, refits.criterion(share)
        best = np.argmax(data)
        df = np.abs(k - k[best])
        ratio = 2.0 * (refits.loglik - refits.loglik[best]) * np.sign(k - k[best])
        factor = np.broadcast_to(shrunk(df, np.maximum(ratio, 0.0)), k.shape)[:, None]
        penalty = (refits.penalty(share) + optimism) * k
        found = 2.0 * refits.in_replicates - penalty[:, None]
        # Where the refit of the best model is not sound, the best of the others takes its place.
        reference = np.where(np.isfinite(found[best]), found[best], found.max(axis=0))
        with np.errstate(invalid="ignore"):  # no sound refit at all
            differences = np.nan_to_num(found - reference, nan=-np.inf)
        expected = (data - data[best])[:, None]
        noise = np.random.default_rng(0).gumbel(size=found.shape)
        return np.argmax(expected + factor * (differences - expected) + temperature * noise, axis=0)

    return choose


def by_weight(share):
    """Models in proportion to exp(criterion / 2) of the data, whatever the replicate."""

    def choose(refits):
        values = refits.criterion(share)
        shares = np.exp((values - values.max()) / 2.0).cumsum()
        return np.searchsorted(shares / shares[-1], (np.arange(B) + 0.5) / B)

    return choose


def as_if_smaller_were_right(df, ratio):
    """Of two right models the ratio has variance 6 df in replicates, 2 df among data sets."""
    return 3.0**-0.5


def as_ratios_vary(df, ratio):
    """Variances 2 df + 4 ratio in replicates and, estimated, 2 df + 4 (ratio - df) of data sets."""
    among_data = 2.0 * df + 4.0 * np.maximum(ratio - df, 0.0)
    return np.minimum(1.0, np.sqrt((among_data + 1e-9) / (2.0 * df + 4.0 * ratio + 1e-9)))


RULES = {
    "BIC less one unit a parameter, ours": by_criterion(),
    "BIC, plain": by_criterion(optimism=0.0),
    "BIC less two units": by_criterion(optimism=2.0),
    "halfway to AIC, less one unit": by_criterion(0.5),
    "BIC, deviations divided by the root of 3": by_criterion(shrunk=as_if_smaller_were_right),
    "halfway to AIC, deviations divided by the root of 3": by_criterion(
        0.5, shrunk=as_if_smaller_were_right
    ),
    "BIC, deviations shrunk by the likelihood ratio": by_criterion(shrunk=as_ratios_vary),
    "three tenths to AIC, deviations shrunk by the likelihood ratio": by_criterion(
        0.7, shrunk=as_ratios_vary
    ),
    "drawn by exp(BIC / 2) of the replicate, deviations shrunk": by_criterion(
        shrunk=as_ratios_vary, temperature=2.0
    ),
    "drawn by exp(BIC / 4) of the replicate, deviations shrunk": by_criterion(
        shrunk=as_ratios_vary, temperature=4.0
    ),
    "drawn by exp(AIC / 2) of the data": by_weight(0.0),
    "drawn halfway, exp((AIC + BIC) / 4) of the data": by_weight(0.5),
    "drawn by exp(BIC / 2) of the data": by_weight(1.0),
}


def refit_all(sample, seed):
    """Refit all models that some rule may choose, and draw the objects that are judged."""
    X = sample.X
    judged = np.random.default_rng(seed).choice(len(X), JUDGED, replace=False)
    fits = list(select_mixture(X, range(1, MOST + 1), n_jobs=1).fits.values())
    k = np.array([fit.n_parameters for fit in fits])
    loglik = np.array([fit.loglik for fit in fits])
    deviations = N_DEVIATIONS * np.sqrt(2.0 * k)
    may_win = np.zeros(len(fits), dtype=bool)
    for penalty in (2.0, 0.5 * np.log(len(X)) + 1.0, np.log(len(X)), np.log(len(X)) + 1.0):
        values = 2.0 * loglik - penalty * k
        may_win |= values.max() - values < deviations
    objects, seeds = distinct(X, np.ones(len(X))), seed_sequence(seed).spawn(B)
    posteriors, in_replicates = [], []
    for fit in (fits[i] for i in np.flatnonzero(may_win)):
        # As in a choice among models, a refit that is spurious is not sound.
        choice = ("nonparametric", "bic", "fallback", Limits())
        plan = Plan(objects, (fit,), *choice, is_choice=True)
        replicates = run_bootstrap(plan, seeds, n_jobs=1)
        in_replicates.append(np.where(replicates.status == 0, replicates.loglik, -np.inf))
        padding = ((0, 0), (0, 0), (0, MOST - fit.n_clusters))
        posteriors.append(np.pad(replicates.posteriors(X[judged]), padding).astype("f4"))
    n_clusters = np.array([fit.n_clusters for fit in fits])
    return judged, Refits(
        len(X),
        n_clusters[may_win],
        k[may_win],
        loglik[may_win],
        np.array(in_replicates),
        np.array(posteriors),
    )


def judge(make, n, seed):
    """Coverage and mean length under every rule, with three clusters and with any number."""
    sample = make(n, random_state=seed)
    judged, refits = refit_all(sample, seed)
    P, found = pairwise_probabilities(sample.posteriors[judged]), {}
    best = refits.n_clusters[np.argmax(refits.criterion(1.0))]
    for where, rows in {
        "c known": refits.n_clusters == 3,
        "c chosen": refits.n_clusters >= best,
    }.items():
        some = refits.take(rows)
        for rule, choose in RULES.items():
            posteriors = some.posteriors[choose(some), np.arange(B)]
            intervals = pairwise_intervals(posteriors, LEVEL, n_jobs=1)
            covered = covers(intervals.lower, P, intervals.upper)
            found[f"{rule} | {where}"] = covered, float(intervals.length.mean())
    return found


def print_tables(results):
    """A table with c known and one with c chosen: rules down, kinds of data across."""
    kinds = list(dict.fromkeys(kind for kind, *_ in results))
    for where in ("c known", "c chosen"):
        print(f"\n| {where} | " + " | ".join(kinds) + " |")
        print("|---" * (len(kinds) + 1) + "|")
        for rule in RULES:
            cells = []
            for kind in kinds:
                key = f"{rule} | {where}"
                found = [row[key] for (one, *_), row in results.items() if one == kind]
                coverages, lengths = zip(*found, strict=True)
                cells.append(f"{cell(coverages)}, {np.mean(lengths):.3f}")
            print(f"| {rule} | " + " | ".join(cells) + " |")


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else "choice_rules.jsonl"
    sets = int(sys.argv[2]) if len(sys.argv) > 2 else 16
    warnings.simplefilter("ignore")
    book = Book(path)
    for seed in range(FIRST_SEED, FIRST_SEED + sets):
        for name, make in MIXTURES.items():
            for n in SIZES:
                key = f"{name}, n = {n}", seed, "rules"
                book.once(key, judge, make, n, seed)
    print_tables(book.results)


if __name__ == "__main__":
    main()
