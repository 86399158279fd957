"""One generator from any of the seeds that estimators take."""

from typing import Any

import numpy as np

from credpart._checks import check_integer


def random_generator(random_state: Any) -> np.random.Generator:
    """Return a generator; a RandomState or a Generator is drawn from, an int starts anew.

    >>> int(random_generator(0).integers(10))
    8
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31 - 1)))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    return np.random.default_rng(check_integer("random_state", random_state, at_least=0))
