"""Answers of respondents in latent classes, with true posteriors."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import softmax

from credpart._arrays import Array
from credpart._checks import check_integer
from credpart.datasets.generators import RandomState, Sample
from credpart.errors import InputError


class SurveyTruth(NamedTuple):
    """The parameters of latent classes.

    Examples
    --------
    >>> from credpart.datasets import make_survey
    >>> make_survey(random_state=0).truth.proportions.tolist()
    [0.5, 0.3, 0.2]
    """

    proportions: Array  # (c,)
    probabilities: tuple[Array, ...]  # one (c, levels) a question


def _binary(*yes: float) -> Array:
    shares = np.array(yes)
    return np.column_stack([1.0 - shares, shares])


SURVEY = SurveyTruth(
    np.array([0.5, 0.3, 0.2]),
    (
        _binary(0.9, 0.2, 0.6),
        _binary(0.8, 0.3, 0.1),
        _binary(0.85, 0.75, 0.15),
        _binary(0.7, 0.1, 0.4),
        _binary(0.2, 0.8, 0.3),
        np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.2, 0.6, 0.2]]),
        np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.7, 0.2]]),
        np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5], [0.1, 0.5, 0.3, 0.1]]),
    ),
)
for _array in (SURVEY.proportions, *SURVEY.probabilities):
    _array.flags.writeable = False
LEVELS = {2: ["no", "yes"], 3: ["low", "middle", "high"], 4: ["a", "b", "c", "d"]}


def make_survey(n: int = 500, random_state: RandomState = None, *, missing: float = 0.0) -> Sample:
    """Draw answers to eight questions from three latent classes of respondents.

    Five questions are answered by yes or no, two have three levels and one has four.  Given the
    class, answers are independent.

    Parameters
    ----------
    n : int
        Number of respondents.
    random_state : int, Generator or None
        Seed of `numpy.random.default_rng`.
    missing : float
        Probability that an answer is missing, at random; everyone answers the first question.

    Returns
    -------
    Sample
        ``X`` is a DataFrame of categories; posteriors are given the answers that are there.

    Examples
    --------
    >>> from credpart.datasets import make_survey
    >>> sample = make_survey(4, random_state=0, missing=0.2)
    >>> sample
    Sample(4 objects x 8, 3 components)
    >>> sample.X["q6"].tolist()
    [nan, 'middle', 'low', 'low']
    """
    size, rng = check_integer("n", n, at_least=1), np.random.default_rng(random_state)
    if not 0.0 <= missing < 1.0:
        raise InputError("missing", "be in [0, 1)", missing)
    y = rng.choice(len(SURVEY.proportions), size=size, p=SURVEY.proportions)
    columns, joint = {}, np.log(SURVEY.proportions)[None].repeat(size, axis=0)
    for j, table in enumerate(SURVEY.probabilities):
        codes = (rng.random((size, 1)) > np.cumsum(table, axis=1)[y, :-1]).sum(axis=1)
        gone = (rng.random(size) < missing) & (j > 0)
        names = np.array(LEVELS[table.shape[1]], dtype=object)
        joint += np.where(gone[:, None], 0.0, np.log(table).T[codes])
        answers = pd.Series(np.where(gone, None, names[codes]), dtype=object)
        columns[f"q{j + 1}"] = answers.astype(pd.CategoricalDtype(list(names)))
    return Sample(pd.DataFrame(columns), y, softmax(joint, axis=1), SURVEY)
