"""A selection whose criterion has given values, without fits."""

from typing import NamedTuple

from credpart.mixture.search.selection import Selection


class Valued(NamedTuple):
    """What a selection asks of a fit."""

    n_clusters: int
    model: str
    value: float
    n_parameters: int = 1

    def criterion(self, name):
        """The value, whatever the criterion."""
        return self.value


def selection_of(table):
    """The selection with these values of each model, for 1, 2, ... clusters."""
    fits = {
        (c, model): Valued(c, model, float(value))
        for model, values in table.items()
        for c, value in enumerate(values, start=1)
    }
    numbers = tuple(sorted({c for c, _ in fits}))
    return Selection(fits, {}, "bic", numbers, tuple(table))
