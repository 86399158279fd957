"""The one table of models: what a name stands for.

A row says which family the model belongs to, how that family is made for the data, which of its
variants the model is, and which models are nested in it.  Models of one family share what is
computed of the data; families are compared by what they say of the data in its own units.

Names: the 14 covariance structures of Gaussian mixtures, "E" and "V" in one dimension; "t",
"skew-normal" and "skew-t" with a scale matrix for each component, and with a structure, as in
"t-EEE", one of the ten that need no common axes of unlike components; "latent-class"; "mixed".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from credpart._checks import Array, Table, check_data
from credpart.mixture.chart import LINEAR
from credpart.mixture.covariance import ONE_DIMENSION, STRUCTURES, Structure
from credpart.mixture.frame import NAMES, TABLE
from credpart.mixture.gaussian import Gaussian
from credpart.mixture.location_scale import Law, LocationScale
from credpart.mixture.skew import SKEW_NORMAL, SKEW_T
from credpart.mixture.student import T

Make = Callable[[Table, Array, Sequence[str]], Any]  # data, weights, structures -> family


class Model(NamedTuple):
    """A row of the table."""

    family: str  # models with the same one share a family
    make: Make
    structure: str | None = None  # of the scale matrices, where there are any
    nested: tuple[str, ...] = ()  # models that are special cases of this one
    simpler: tuple[str, ...] = ()  # those that are fitted too, for their answers as starts
    read: Callable[..., Table] = check_data
    is_plain: bool = True  # a message lists it; the others go without saying

    @property
    def variant(self) -> int:
        """The code of the structure inside the family."""
        return 0 if self.structure is None else NAMES.index(self.structure)

    @property
    def shape(self) -> Structure | None:
        """What the structure needs of the data."""
        return None if self.structure is None else TABLE[self.structure]

    def n_parameters(self, family: Any, c: int) -> int:
        """Free parameters of a mixture of c components."""
        result: int = family.n_parameters(self.structure, c)
        return result


def _gaussian(table: Table, weights: Array, structures: Sequence[str]) -> Gaussian:
    return Gaussian.of(table.values[weights > 0.0], structures)


def _location_scale(law: Law) -> Make:
    def make(table: Table, weights: Array, structures: Sequence[str]) -> LocationScale:
        return LocationScale.of(table.values[weights > 0.0], structures, law)

    return make


def below(structure: str) -> set[str]:
    """All structures nested in one."""
    direct = TABLE[structure].nested
    return set(direct).union(*map(below, direct))


def _named(family: str, structure: str) -> str:
    """A family without a structure has the most general one; the Gaussian one has no name."""
    return "-".join([part for part in (family, structure) if part]).removesuffix("-VVV")


def _rows(family: str, law: Law, smaller: Sequence[str]) -> dict[str, Model]:
    """The rows of a law, one a structure; ``smaller``: the families that it contains."""
    rows = {}
    for structure in LINEAR[::-1]:
        within = [_named(family, other) for other in LINEAR if other in below(structure)]
        others = [_named(other, structure) for other in smaller]
        shared = [name for name in within if name == _named(family, "EEE")]
        rows[_named(family, structure)] = Model(
            family,
            _location_scale(law),
            structure,
            nested=(*others, *within),
            simpler=(*others[:1], *shared),
            is_plain=structure == "VVV",
        )
    return rows


MODELS: Mapping[str, Model] = {
    **{
        name: Model("gaussian", _gaussian, name, row.nested, row.nested)
        for name, row in TABLE.items()
    },
    **_rows("t", T, [""]),
    **_rows("skew-normal", SKEW_NORMAL, [""]),
    **_rows("skew-t", SKEW_T, ["t", "skew-normal"]),
}


def model_names(d: int) -> list[str]:
    """Models for d columns of numbers."""
    return [name for name in MODELS if d == 1 or name not in ONE_DIMENSION]


def auto_models(d: int) -> list[str]:
    """What "auto" tries on d columns of numbers."""
    return list(ONE_DIMENSION if d == 1 else STRUCTURES)


def check_model(name: str, value: Any, d: int, *others: str) -> Model:
    """The row of a model; ``others``: what else the argument may be, for the message."""
    names = model_names(d)
    if not isinstance(value, str) or value not in names:
        plain = [model for model in names if MODELS[model].is_plain]
        listed = ", ".join(map(repr, [*others, *plain]))
        raise ValueError(
            f"`{name}` must be one of {listed}, or a family with a structure as in "
            f"'t-EEE', got {value!r}."
        )
    return MODELS[value]


def check_models(name: str, value: Any, d: int) -> dict[str, Model]:
    """Rows of the models that an argument names, in its order."""
    if isinstance(value, str) and value == "auto":
        return {model: MODELS[model] for model in auto_models(d)}
    if isinstance(value, str) or not isinstance(value, Iterable):
        return {value: check_model(name, value, d, "auto")}
    models = {model: check_model(name, model, d) for model in value}
    if not models:
        raise ValueError(f"`{name}` must name at least one model, got none.")
    return models


def taking_part(chosen: Mapping[str, Model]) -> dict[str, Model]:
    """Models with all that are fitted for their sake, in the order of the table."""
    found = dict(chosen)
    new = list(chosen.values())
    while new:
        names = [name for row in new for name in row.simpler if name not in found]
        new = [MODELS[name] for name in names]
        found.update(zip(names, new, strict=True))
    return {name: found[name] for name in [*MODELS, *found] if name in found}
