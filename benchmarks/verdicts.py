"""Does the verdict say what is true?  ``python -m benchmarks.verdicts [file]``.

`diagnose`, with its defaults, on ten simulated data sets whose model and number of clusters are
right, ten where one of them is wrong or the objects are too few, and ten real ones.

A verdict speaks of intervals made in one way of data of one kind, so it is held against the true
coverage of its situation: the mean over repeated data sets, other ones than the data set that got
the verdict.  Of that very data set the coverage is printed too: its pairs stand or fall together,
so that it is near 0 or near 1 more often than its mean says.  The thresholds of `diagnose` were
looked at on data sets of other seeds (``--first 0`` and ``500``).

On the real data sets the first advice is followed, and the data diagnosed again, until the verdict
is good, nothing is left to do, or `STEPS` were taken.

Each result is a line of the file as soon as it is there, and what the file has is not run again.
``--repeats 0`` prints the tables alone.
"""

import argparse
import subprocess
import warnings
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.datasets import load_breast_cancer, load_wine

from benchmarks.audit import four, seven
from benchmarks.coverage import Book, cell, covers
from benchmarks.published import r_data
from credpart import CalibratedClustering, diagnose
from credpart._messages import Call, Message
from credpart.datasets import (
    load_diabetes,
    load_gvhd,
    load_iris,
    make_mixture1,
    make_mixture2,
    make_mixture3,
    make_skew_t,
)
from credpart.intervals import pairwise_probabilities

LEVEL, TRUE = 0.9, 0.85  # level of the intervals; coverage from which a good verdict is right
TRUTHS = 10_000  # seed of the first data set that true coverage is measured on
STEPS = 2  # advice that is followed one after the other
REPLICATES = 300  # of a real data set: a recalibrated level leaves fewer beyond a bound
NOTHING = (
    "No setting lets",
    "no setting does",
    "no setting helps",
    "No other masses help",
)  # advice that will not help
GRADES = ("poor", "caution", "good")


class Situation(NamedTuple):
    """Where data come from, and how they are fitted."""

    generator: Callable[[], Callable[[int], tuple]]  # -> seed -> objects, true posteriors
    n_clusters: Any
    parameters: Mapping[str, Any]


def paper(make, n):
    """Samples of a generator of the package."""

    def draw(seed):
        sample = make(n, random_state=seed)
        return sample.X, sample.posteriors

    return lambda: draw


def components(n, means, covariances, proportions, dof=None):
    """Samples of Gaussian components, or of t components of some degrees of freedom."""
    means, covariances = np.asarray(means, float), np.asarray(covariances, float)
    factors, d = np.linalg.cholesky(covariances), means.shape[1]

    def log_density(X, mean, covariance):
        if dof is None:
            return multivariate_normal.logpdf(X, mean, covariance)
        return multivariate_t.logpdf(X, mean, covariance, dof)

    def draw(seed):
        rng = np.random.default_rng(seed)
        y = rng.choice(len(means), n, p=proportions)
        noise = np.einsum("nde,ne->nd", factors[y], rng.standard_normal((n, d)))
        if dof is not None:
            noise /= np.sqrt(rng.chisquare(dof, n) / dof)[:, None]
        X = means[y] + noise
        logs = [log_density(X, *one) for one in zip(means, covariances, strict=True)]
        joint = np.log(proportions) + np.stack(logs, axis=1)
        return X, softmax(joint, axis=1)

    return lambda: draw


def one_gaussian(n, d):
    """Samples of a single Gaussian, whose pairs all belong together."""
    return components(n, np.zeros((1, d)), np.eye(d)[None], [1.0])


def equal(c, d, correlation):
    """The same covariance matrix for each of c components."""
    return np.tile((1.0 - correlation) * np.eye(d) + correlation, (c, 1, 1))


FIVE = components(
    250, [[0, 0], [4, 0], [0, 4], [4, 4], [8, 2]], equal(5, 2, 0.0), [0.3, 0.2, 0.2, 0.2, 0.1]
)
WIDE = components(300, [[0, 0, 0, 0], [2.5, 1, 0, 0]], equal(2, 4, 0.4), [0.6, 0.4])
HEAVY = components(300, [[0, 0], [5, 0], [2, 5]], equal(3, 2, 0.3), [0.4, 0.3, 0.3], dof=4)

RIGHT = {
    "Mixture 1, n = 300, EII": Situation(paper(make_mixture1, 300), 3, {"model": "EII"}),
    "Mixture 1, n = 150, model chosen": Situation(paper(make_mixture1, 150), 3, {}),
    "Mixture 2, n = 300, EEE": Situation(paper(make_mixture2, 300), 3, {"model": "EEE"}),
    "Mixture 2, n = 600, model chosen": Situation(paper(make_mixture2, 600), 3, {}),
    "Mixture 3, n = 300, VVV": Situation(paper(make_mixture3, 300), 3, {"model": "VVV"}),
    "Mixture 3, n = 600, model chosen": Situation(paper(make_mixture3, 600), 3, {}),
    "four components, n = 400, VVV": Situation(lambda: four(400), 4, {"model": "VVV"}),
    "five round components, n = 250, EII": Situation(FIVE, 5, {"model": "EII"}),
    "two components in 4-D, n = 300, model chosen": Situation(WIDE, 2, {}),
    "three t components, n = 300, t": Situation(HEAVY, 3, {"model": "t"}),
}
WRONG = {
    "skew t, n = 300, EVV": Situation(paper(make_skew_t, 300), 3, {"model": "EVV"}),
    "skew t, n = 300, Gaussian model chosen": Situation(paper(make_skew_t, 300), 3, {}),
    "Mixture 3 (VVV), n = 2000, EEE": Situation(paper(make_mixture3, 2000), 3, {"model": "EEE"}),
    "Mixture 3 (VVV), n = 2000, VEV": Situation(paper(make_mixture3, 2000), 3, {"model": "VEV"}),
    "Mixture 1, n = 300, c = 2": Situation(paper(make_mixture1, 300), 2, {}),
    "Mixture 3, n = 300, c = 2": Situation(paper(make_mixture3, 300), 2, {"model": "VVV"}),
    "Mixture 2, n = 300, c = 5": Situation(paper(make_mixture2, 300), 5, {"model": "EEE"}),
    "one Gaussian in 2-D, n = 200, c = 3": Situation(one_gaussian(200, 2), 3, {"model": "EII"}),
    "one Gaussian in 3-D, n = 500, c = 3": Situation(one_gaussian(500, 3), 3, {}),
    "seven components, n = 300, VVV": Situation(lambda: seven(300), 7, {"model": "VVV"}),
}
SITUATIONS = RIGHT | WRONG


def sklearn_columns(load, n_columns):
    return lambda: load().data[:, :n_columns]


def r_columns(value, package="mclust"):
    return lambda: r_data(package, value)()[0]


REAL: Mapping[str, Callable[[], Any]] = {
    "Iris": lambda: load_iris().X.to_numpy(),
    "Diabetes": lambda: load_diabetes().X.to_numpy(),
    "Old Faithful": r_columns("cbind(0, faithful)", "datasets"),
    "USArrests": r_columns("cbind(0, USArrests)", "datasets"),
    "acidity": r_columns("cbind(0, acidity)"),
    "thyroid": r_columns("thyroid"),
    "banknote": r_columns("banknote"),
    "wine": sklearn_columns(load_wine, 13),
    "wdbc, 10 mean columns": sklearn_columns(load_breast_cancer, 10),
    "GvHD, 1000 cells": lambda: load_gvhd(sample=True).X.to_numpy(),
}


def estimator(n_clusters, parameters, seed, options):
    common = {"n_replicates": options.replicates, "level": LEVEL, "random_state": seed, "n_jobs": 1}
    return CalibratedClustering(n_clusters, **(common | dict(parameters)))


def coverage(model, posteriors):
    """The share of pairs whose true probability is in the interval, and in [Bel, Pl]."""
    P, intervals = pairwise_probabilities(posteriors), model.intervals_
    belief, plausibility = model.partition_.pairwise_condensed()
    return {
        "coverage": covers(intervals.lower, P, intervals.upper),
        "partition": covers(belief, P, plausibility),
    }


def truth(draw, situation, seed, options):
    """True coverage on one data set of a situation."""
    X, posteriors = draw(seed)
    model = estimator(situation.n_clusters, situation.parameters, seed, options).fit(X)
    return coverage(model, posteriors)


def verdict(draw, situation, seed, options):
    """The verdict on a data set of a situation, and the true coverage on it."""
    X, posteriors = draw(seed)
    began = process_time()
    model = estimator(situation.n_clusters, situation.parameters, seed, options).fit(X)
    fitted = process_time()
    told = told_by(diagnose(model, n_jobs=1))
    seconds = {"fit": fitted - began, "diagnose": process_time() - fitted}
    return told | coverage(model, posteriors) | {"seconds": seconds}


def told_by(found):
    """What a diagnosis says, in values that JSON has."""
    looked_at = {
        "audit": found.audit and [found.audit.coverage, found.audit.standard_error],
        "rivals": found.rivals and found.rivals.table.head(12).to_dict("records"),
    }
    worst = [one for one in found.findings if one.severity in ("caution", "problem")]
    return {
        "grade": found.grade,
        "objections": {one.topic: f"{one.severity}: {one.text}" for one in worst},
        "advice": [[one.topic, str(one.advice), str(one.change)] for one in found.advice],
        **looked_at,
    }


def advised(read, seed, options):
    """The verdict on a real data set with default options, and what following its advice does."""
    X = read()
    model = estimator("auto", {"n_replicates": REPLICATES}, seed, options).fit(X)
    path = []
    for _ in range(STEPS + 1):
        found = diagnose(model, n_jobs=1)
        fit = {"clusters": model.mixture_.n_clusters, "model": model.mixture_.model}
        path.append(told_by(found) | fit)
        if found.grade == "good" or not found.advice or not found.advice[0].change:
            break
        if says_nothing_helps(found.advice[0].advice):
            break
        follow(model, found, X)
    return {"n": len(X), "columns": X.shape[1], "path": path}


def follow(model, found, X):
    """Do what the first advice says to type."""
    change = found.advice[0].change
    (call,) = (part for part in Message(change).parts if isinstance(part, Call))
    settings = {setting.name: setting.value for setting in call.settings}
    if call.method == "fit":
        model.set_params(**settings).fit(X)
    elif call.method == "recalibrate":
        model.recalibrate(found.audit)
    else:
        model.refit_partition(**settings)


def print_simulated(book, first):
    """Verdict and true coverage of each situation, and how often they agree."""
    heads = "verdict | because of | true coverage | of [Bel, Pl] | on this data set | audit"
    print(f"| simulated | {heads} |")
    print("|---" * 7 + "|")
    seen: dict[str, list[float]] = {grade: [] for grade in GRADES}
    for name in SITUATIONS:
        told = book.results.get((name, first, "verdict"))
        truths = [
            r for (one, _, kind), r in book.results.items() if one == name and kind == "truth"
        ]
        repeats = [r["coverage"] for r in truths]
        if told is None or not repeats:
            continue
        seen[told["grade"]].append(float(np.mean(repeats)))
        said = "" if told["audit"] is None else "{:.2f} ({:.2f})".format(*told["audit"])
        because = ", ".join(told["objections"])
        print(f"| {name} | {told['grade']} | {because} | {cell(repeats)} | ", end="")
        print(f"{cell([r['partition'] for r in truths])} | ", end="")
        print(f"{told['coverage']:.2f} | {said} |")
    good, poor = np.array(seen["good"]), np.array(seen["poor"])
    print(f"\ngood, and true coverage is at least {TRUE}: {(good >= TRUE).sum()} of {len(good)}")
    print(f"poor, and true coverage is below {TRUE}: {(poor < TRUE).sum()} of {len(poor)}")


def print_real(book, first):
    """The verdict on each real data set, its first advice, and where following it leads."""
    print("\n| real | n | columns | model | verdict | because of | what to do first | then |")
    print("|---" * 8 + "|")
    outcomes = []
    for name in REAL:
        found = book.results.get((name, first, "advised"))
        if found is None:
            continue
        start, *rest = found["path"]
        fit = f"{start['model']}, {start['clusters']}"
        _, advice, change = start["advice"][0] if start["advice"] else ("", "", "")
        typed = f" `{change}`" if change else ""
        after = [*(step["grade"] for step in rest), *["nothing will"] * nothing_helps(found)]
        told = f"{start['grade']} | {', '.join(start['objections'])} | {advice}{typed}"
        print(f"| {name} | {found['n']} | {found['columns']} | {fit} | {told} | ", end="")
        print(f"{', '.join(after)} |")
        outcomes.append(improved(found) or nothing_helps(found))
    print(f"\ngood, improved, or told that nothing will: {sum(outcomes)} of {len(outcomes)}")


def improved(found):
    """Whether the verdict was good from the beginning, or is better at the end."""
    first, last = (GRADES.index(found["path"][k]["grade"]) for k in (0, -1))
    return first == len(GRADES) - 1 or last > first


def nothing_helps(found):
    """Whether the last diagnosis says that no setting improves the verdict."""
    advice = found["path"][-1]["advice"]
    return bool(advice) and says_nothing_helps(advice[0][1])


def says_nothing_helps(advice):
    return any(words in advice for words in NOTHING)


def study(book, options):
    """Verdicts first; then true coverage seed by seed, so that a part of it is a smaller study."""
    seed, asked = (
        options.first,
        [name for name in [*SITUATIONS, *REAL] if any(part in name for part in options.only)],
    )
    draws = {name: SITUATIONS[name].generator() for name in asked if name in SITUATIONS}
    for name, draw in draws.items():
        book.once((name, seed, "verdict"), verdict, draw, SITUATIONS[name], seed, options)
    for name in (one for one in asked if one in REAL):
        try:
            book.once((name, seed, "advised"), advised, REAL[name], seed, options)
        except (FileNotFoundError, subprocess.CalledProcessError):
            print(f"{name}: R or its package is not installed")
    for repeat in range(TRUTHS, TRUTHS + options.repeats):
        for name, draw in draws.items():
            book.once((name, repeat, "truth"), truth, draw, SITUATIONS[name], repeat, options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default="verdicts.jsonl")
    parser.add_argument("--only", nargs="*", default=[""], help="parts of the names")
    parser.add_argument("--repeats", type=int, default=40, help="data sets for true coverage")
    parser.add_argument("--first", type=int, default=600, help="seed of what gets a verdict")
    parser.add_argument("--replicates", type=int, default=200)
    options = parser.parse_args()
    book = Book(options.file)
    if options.repeats:
        study(book, options)
    print_simulated(book, options.first)
    print_real(book, options.first)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
