"""The one table of models: what a name stands for.

A row says which family the model belongs to, how that family is made for the data, which of its
variants the model is, and which models are nested in it.  Models of one family share what is
computed of the data; families are compared by what they say of the data in its own units.

Names: the 14 covariance structures of Gaussian mixtures, "E" and "V" in one dimension; "t",
"contaminated", "skew-normal" and "skew-t" with a scale matrix for each component, and with a
structure, as in "t-EEE"; "latent-class"; "mixed".  All but the last two also with noise, as in
"VVV+noise", which is the outlying part of contaminated components and uniform beside others.
A user's own family has a row too, made when it is given.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from credpart._checks import REMEDY, Table, WeightedTable, check_choice, check_data
from credpart._columns import (
    kinds,
    read_categories,
    read_mixed,
    read_numbers_that_may_miss,
    text_columns,
)
from credpart._messages import Message, Setting
from credpart.errors import DataWarning, InputError, warn_caller
from credpart.mixture.covariance.structures import NAMES, ONE_DIMENSION, STRUCTURES, TABLE
from credpart.mixture.families import (
    LAWS,
    Contaminated,
    ContaminatedWithMissing,
    ContaminatedWithNoise,
    ContaminatedWithNoiseAndMissing,
    Family,
    Gaussian,
    GaussianWithMissing,
    GaussianWithNoise,
    LatentClass,
    LocationScale,
    LocationScaleWithMissing,
    LocationScaleWithNoise,
    Mixed,
)
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.families.labelled import Labelled

Make = Callable[[WeightedTable, Sequence[str]], Family]  # data, structures -> family

NOISE = "+noise"  # ends the names of models with a component for outliers


def structure_code(structure: str | None) -> int:
    """The code of a covariance structure inside a family; families without any have one code."""
    return 0 if structure is None else NAMES.index(structure)


class Model(NamedTuple):
    """A row of the table."""

    family: str  # models with the same one share a family
    make: Make
    structure: str | None = None  # of the scale matrices, where there are any
    nested: tuple[str, ...] = ()  # models that are special cases of this one
    simpler: tuple[str, ...] = ()  # those that are fitted too, for their answers as starts
    read: Callable[..., Table] = check_data
    is_listed: bool = True  # in messages; the others are variations of those that are
    can_miss: bool = False  # it has a form for numbers that are missing
    has_noise: bool = False  # objects may be in no cluster
    needs_volume: bool = False  # noise is uniform over the volume of the data

    @property
    def is_unit_free(self) -> bool:
        """The fit does not depend on the units of the columns, as far as is known."""
        return self.structure is not None and TABLE[self.structure].is_unit_free

    def n_parameters(self, family: Family, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        return family.n_parameters(self.structure or "", c)


def _gaussian(data: WeightedTable, structures: Sequence[str]) -> Family:
    X = data.seen
    kind = GaussianWithMissing if np.isnan(X).any() else Gaussian
    return cast(Family, kind.of(X, structures))


def _location_scale(law: str) -> Make:
    def make(data: WeightedTable, structures: Sequence[str]) -> Family:
        X = data.seen
        kind = LocationScaleWithMissing if np.isnan(X).any() else LocationScale
        return cast(Family, kind.of(X, structures, LAWS[law]))

    return make


def _contaminated(data: WeightedTable, structures: Sequence[str]) -> Family:
    X = data.seen
    kind = ContaminatedWithMissing if np.isnan(X).any() else Contaminated
    return cast(Family, kind.of(X, structures))


def _contaminated_with_noise(data: WeightedTable, structures: Sequence[str]) -> Family:
    X = data.seen
    kind = ContaminatedWithNoiseAndMissing if np.isnan(X).any() else ContaminatedWithNoise
    return cast(Family, kind.of(X, structures))


def _latent_class(data: WeightedTable, structures: Sequence[str]) -> Family:
    return cast(Family, LatentClass.of(data.values, _numbers_of_levels(data), data.weights))


def _mixed(data: WeightedTable, structures: Sequence[str]) -> Family:
    return cast(Family, Mixed.of(data.values, _numbers_of_levels(data), data.weights))


def _numbers_of_levels(data: WeightedTable) -> list[int]:
    return [0 if levels is None else len(levels) for levels in data.table.levels or ()]


def below(structure: str) -> tuple[str, ...]:
    """All structures nested in one, in the order of the table."""
    direct = TABLE[structure].nested
    found = set(direct).union(*map(below, direct))
    return tuple(name for name in TABLE if name in found)


def _named(family: str, structure: str) -> str:
    """A family without a structure has the most general one; the Gaussian one has no name."""
    return "-".join([part for part in (family, structure) if part]).removesuffix("-VVV")


def _rows(
    family: str,
    make: Make,
    smaller: Sequence[str],
    *,
    structures: Iterable[str] = STRUCTURES,
    can_miss: bool = True,
    noise: str = "",
) -> dict[str, Model]:
    """The rows of a family, one for each structure; it contains the ``smaller`` families."""
    rows = {}
    for structure in reversed(list(structures)):
        within = [_named(family, other) + noise for other in below(structure)]
        others = [_named(other, structure) for other in smaller]
        shared = [name for name in within if name == _named(family, "EEE") + noise]
        rows[_named(family, structure) + noise] = Model(
            family + noise,
            make,
            structure,
            nested=(*others, *within),
            simpler=(*others[:1], *shared),
            is_listed=structure == "VVV" and not noise,
            can_miss=can_miss,
            has_noise=bool(noise),
        )
    return rows


def _noisy_rows(
    rows: Mapping[str, Model], with_noise: type[GaussianWithNoise] | type[LocationScaleWithNoise]
) -> dict[str, Model]:
    """The rows of models with uniform noise.  Without noise they are nested in those with it."""

    def make(row: Model) -> Make:
        return lambda data, structures: cast(
            Family, with_noise.of(row.make(data, structures), data.seen)
        )

    return {
        name + NOISE: row._replace(
            family=row.family + NOISE,
            make=make(row),
            nested=(name, *(other + NOISE for other in row.nested)),
            simpler=tuple(other + NOISE for other in row.simpler),
            is_listed=False,
            has_noise=True,
            needs_volume=True,
        )
        for name, row in rows.items()
    }


FAMILIES = (  # the built-in ones, for saved files
    Gaussian,
    LocationScale,
    LatentClass,
    Mixed,
    GaussianWithMissing,
    LocationScaleWithMissing,
    GaussianWithNoise,
    LocationScaleWithNoise,
    Contaminated,
    ContaminatedWithMissing,
    ContaminatedWithNoise,
    ContaminatedWithNoiseAndMissing,
    Labelled,
)
_GAUSSIAN = {
    name: Model("gaussian", _gaussian, name, row.nested, row.nested, can_miss=True)
    for name, row in TABLE.items()
}
_LOCATION_SCALE = {
    **_rows("t", _location_scale("t"), [""]),
    **_rows("skew-normal", _location_scale("skew-normal"), [""], can_miss=False),
    **_rows("skew-t", _location_scale("skew-t"), ["t", "skew-normal"], can_miss=False),
}
CONTAMINATED = "contaminated"
MODELS: Mapping[str, Model] = {
    **_GAUSSIAN,
    **_LOCATION_SCALE,
    **_rows(CONTAMINATED, _contaminated, [""], structures=TABLE),
    **_rows(CONTAMINATED, _contaminated_with_noise, [""], structures=TABLE, noise=NOISE),
    "latent-class": Model("latent-class", _latent_class, read=read_categories),
    "mixed": Model("mixed", _mixed, "VVI", read=read_mixed),
    **_noisy_rows(_GAUSSIAN, GaussianWithNoise),
    **_noisy_rows(_LOCATION_SCALE, LocationScaleWithNoise),
}


def special_cases(name: str) -> set[str]:
    """All models nested in one, directly or not; none are known of a family of one's own.

    >>> sorted(special_cases("EEE"))
    ['EEI', 'EII']
    """
    direct = MODELS[name].nested if name in MODELS else ()
    return set(direct).union(*map(special_cases, direct))


CAN_MISS = Message(REMEDY, " Or take them as missing at random: ", Setting("missing", "model"), ".")
CANNOT_MISS = (
    f"{REMEDY} Gaussian, t and contaminated mixtures can also take them as missing at random."
)
# How models read numbers that have a form for missing ones.
MISSING: Mapping[str, Callable[..., Table]] = {
    "error": partial(check_data, remedy=CAN_MISS),
    "model": read_numbers_that_may_miss,
}


def model_names(d: int) -> list[str]:
    """Models for d columns."""
    return [name for name, row in MODELS.items() if suits(row, d)]


def suits(row: Model, d: int) -> bool:
    """Whether a model is one for d columns."""
    return d == 1 or row.structure not in ONE_DIMENSION


# What each model is called with noise, uniform or by contamination.
UNIFORM_NOISE = {name: name.removesuffix(NOISE) + NOISE for name in MODELS}
CONTAMINATION = {name: _named(CONTAMINATED, name) + NOISE for name in _GAUSSIAN} | {
    name: noisy for name, noisy in UNIFORM_NOISE.items() if name.startswith(CONTAMINATED)
}
# The models of each value of the argument ``noise``: of several a criterion chooses.
NOISES: Mapping[bool | str, tuple[Mapping[str, str] | None, ...]] = {
    False: (None,),
    True: (UNIFORM_NOISE,),
    "uniform": (UNIFORM_NOISE,),
    "contaminated": (CONTAMINATION,),
    "auto": (None, UNIFORM_NOISE),
}
ONE_MODEL = tuple(noise for noise, kinds in NOISES.items() if len(kinds) == 1)


def check_noise(noise: Any, allowed: Collection[bool | str] = tuple(NOISES)) -> bool | str:
    """Refuse what is no value of the argument ``noise``."""
    value = bool(noise) if isinstance(noise, np.bool_) else noise
    if not isinstance(value, bool | str) or value not in allowed:
        *most, last = map(repr, allowed)
        raise InputError("noise", f"be {', '.join(most)} or {last}", noise)
    return value


def with_noise(
    models: Mapping[str, Model], noise: Any, allowed: Collection[bool | str] = tuple(NOISES)
) -> dict[str, Model]:
    """The models that the argument ``noise`` makes of these."""
    found: dict[str, Model] = {}
    for names in NOISES[check_noise(noise, allowed)]:
        for name, row in models.items():
            if names is None:
                found[name] = row
            elif names.get(name) in MODELS:
                found[names[name]] = MODELS[names[name]]
            else:
                raise InputError(
                    "noise",
                    f"be False for the model {name!r}",
                    noise,
                    "Uniform noise stands beside Gaussian, t and skew components of columns of "
                    "numbers; only Gaussian components can be contaminated.",
                )
    return found


def rows_of(models: Iterable[Any]) -> dict[str, Model]:
    """The rows of models that were checked before: names, or families of one's own."""
    return dict(row for row in map(_row, models) if row is not None)


def read(
    X: Any,
    name: str,
    value: Any,
    *,
    at_least: int = 0,
    several: bool = True,
    missing: str = "error",
) -> tuple[Table, dict[str, Model]]:
    """Read data as the models that an argument gives ask for; return these, in its order.

    Numbers may be missing if ``missing`` is "model"; categories always may.
    """
    check_choice("missing", missing, MISSING)
    is_auto = several and isinstance(value, str) and value == "auto"
    many = several and isinstance(value, Iterable) and not isinstance(value, str)
    given = _chosen_for(X) if is_auto else list(value) if many else [value]
    if not given and not is_auto:
        raise InputError(name, "name at least one model", Message("none"))
    rows = [_row(model) for model in given]
    table = _reader(name, value, [row for row in rows if row], missing)(X, at_least=at_least)
    d = table.values.shape[1]
    if not given:  # "auto" for numbers
        return table, {model: MODELS[model] for model in (ONE_DIMENSION if d == 1 else STRUCTURES)}
    others = ["auto"] if several and not many else []
    return table, dict(
        row if row and suits(row[1], d) else _refuse(name, model, d, others)
        for model, row in zip(given, rows, strict=True)
    )


def _reader(
    name: str, value: Any, rows: Sequence[tuple[str, Model]], missing: str
) -> Callable[..., Table]:
    """The one way in which all the models read data."""
    readers = {row.read for _, row in rows}
    if len(readers) > 1:
        raise InputError(
            name,
            "be models that read the data alike",
            value,
            "Likelihoods of numbers and of categories cannot be compared.",
        )
    found = readers.pop() if readers else check_data
    if found is not check_data:
        return found
    if not all(row.can_miss for _, row in rows):
        return partial(check_data, remedy=CANNOT_MISS) if missing == "model" else check_data
    return MISSING[missing]


def _row(model: Any) -> tuple[str, Model] | None:
    """Name and row of a model: of the table, or of a family of one's own, or of an instance."""
    if isinstance(model, str):
        return (model, MODELS[model]) if model in MODELS else None
    if isinstance(model, MixtureFamily):
        name = type(model).__name__
        return name, Model(f"own {name}", lambda data, structures: model)
    if isinstance(model, type) and issubclass(model, MixtureFamily):
        name, missing = model.__name__, [f"`{name}`" for name in sorted(model.__abstractmethods__)]
        if missing:
            raise NotImplementedError(f"The family {name} must have {', '.join(missing)}.")
        return name, Model(f"own {name}", lambda data, structures: model(data.seen))
    return None


def _refuse(name: str, value: Any, d: int, others: Sequence[str]) -> tuple[str, Model]:
    plain = [model for model in model_names(d) if MODELS[model].is_listed]
    raise InputError(
        name,
        f"be one of {', '.join(map(repr, [*others, *plain]))}, a family with a structure as in "
        "'t-EEE', or a family of your own",
        value,
    )


def _chosen_for(X: Any) -> list[str]:
    """What "auto" is for a frame with categories; nothing for numbers."""
    numbers = kinds(X)
    if all(numbers):
        return []
    model = "mixed" if any(numbers) else "latent-class"
    texts = text_columns(X)
    if texts:
        listed = ", ".join(map(repr, texts))
        warning = DataWarning(
            f"The text of {listed} is read as categories, and the model is {model!r}. Leave out "
            "columns that are not attributes; columns of type category are read without a warning."
        )
        warn_caller(warning)
    return [model]


def taking_part(chosen: Mapping[str, Model]) -> dict[str, Model]:
    """Models with all that are fitted for their sake, in the order of the table."""
    found = new = dict(chosen)
    while new:
        names = [name for row in new.values() for name in row.simpler if name not in found]
        new = {name: MODELS[name] for name in names}
        found = found | new
    return {name: found[name] for name in [*MODELS, *found] if name in found}
