"""What distinguishes the families of `location_scale`: the distribution of the latent variables."""

from collections.abc import Callable
from typing import NamedTuple

from credpart._arrays import Array


class Expectations(NamedTuple):
    """What the E-step expects of the latent variables given x, (b, k, n); None is 1, 0, 1, 0."""

    w: Array | None
    wu: Array | None  # over tau
    wuu: Array | None  # over tau^2
    log_w: Array | None


class LatentLaw(NamedTuple):
    """The distribution of w and u: functions of eta and y (b, k, n), dof (b, k) and d."""

    name: str
    log_density: Callable[[Array, Array, Array, int], Array]  # without `constant`
    constant: Callable[[Array, int], Array]  # (dof, d)
    expect: Callable[[Array, Array, Array, int], Expectations]
    dof: Callable[[Array], Array]  # from mean w - 1 - mean log w
    bounds: tuple[float, float] | None  # on dof; None: there is none to estimate
    first_dof: float
    is_skew: bool = False
