"""Random streams from any of the seeds that estimators take."""

import numpy as np
from numpy.random import Generator, SeedSequence
from numpy.random import RandomState as LegacyState

from credpart._arrays import IntArray
from credpart._checks import check_integer

RandomState = int | SeedSequence | Generator | LegacyState | None  # what is taken as a seed


def seed_sequence(random_state: RandomState) -> SeedSequence:
    """The root of random streams; an int or a SeedSequence gives the same at every call.

    >>> seed_sequence(1).entropy
    1
    """
    if isinstance(random_state, SeedSequence):
        return SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    if isinstance(random_state, LegacyState):
        return SeedSequence(int(random_state.randint(2**31 - 1)))
    if isinstance(random_state, Generator):
        return SeedSequence(int(random_state.integers(2**63)))
    if random_state is None:
        return SeedSequence()
    return SeedSequence(check_integer("random_state", random_state, at_least=0))


def integer_seed(random_state: RandomState) -> int:
    """An integer that stands for a random state: as a seed it gives the same streams.

    >>> integer_seed(1), integer_seed(np.random.SeedSequence(1))
    (1, 1)
    """
    root = seed_sequence(random_state)
    if isinstance(root.entropy, int) and not root.spawn_key:
        return root.entropy
    return int.from_bytes(root.generate_state(4).tobytes(), "little")


def random_generator(random_state: RandomState) -> Generator:
    """Return a generator: a Generator itself, or a new one from any other seed.

    >>> int(random_generator(0).integers(10))
    8
    """
    if isinstance(random_state, Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))


def random_rows(n: int, at_most: int, random_state: RandomState) -> IntArray:
    """All of n rows, or a random sample of so many; in their order.

    >>> random_rows(4, 9, 0).tolist(), random_rows(9, 4, 0).tolist()
    ([0, 1, 2, 3], [2, 4, 5, 7])
    """
    if n <= at_most:
        return np.arange(n)
    return np.sort(random_generator(random_state).choice(n, at_most, replace=False))
