"""The one table of models: what a name stands for.

A row says which family the model belongs to, how that family is made for the data, which of its
variants the model is, and which models are nested in it.  Models of one family share what is
computed of the data; families are compared by what they say of the data in its own units.

Names: the 14 covariance structures of Gaussian mixtures, "E" and "V" in one dimension; "t",
"skew-normal" and "skew-t" with a scale matrix for each component, and with a structure, as in
"t-EEE"; "latent-class"; "mixed".
A user's own family has a row too, made when it is given.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from credpart._checks import Table, WeightedTable, check_data
from credpart._columns import kinds, read_categories, read_mixed, text_columns
from credpart._messages import Message
from credpart.errors import DataWarning, InputError
from credpart.mixture.covariance.structures import NAMES, ONE_DIMENSION, STRUCTURES, TABLE
from credpart.mixture.families import LAWS, Family, Gaussian, LatentClass, LocationScale, Mixed
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.families.labelled import Labelled

Make = Callable[[WeightedTable, Sequence[str]], Family]  # data, structures -> family


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

    @property
    def is_unit_free(self) -> bool:
        """The fit does not depend on the units of the columns, as far as is known."""
        return self.structure is not None and TABLE[self.structure].is_unit_free

    def n_parameters(self, family: Family, c: int) -> int:
        """Number of free parameters of a mixture of c components."""
        return family.n_parameters(self.structure or "", c)


def _gaussian(data: WeightedTable, structures: Sequence[str]) -> Family:
    return cast(Family, Gaussian.of(data.seen, structures))


def _location_scale(law: str) -> Make:
    return lambda data, structures: cast(Family, LocationScale.of(data.seen, structures, LAWS[law]))


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


def _rows(law: str, *smaller: str) -> dict[str, Model]:
    """The rows of a latent law, one for each structure; it contains the ``smaller`` families."""
    rows = {}
    for structure in reversed(list(STRUCTURES)):
        within = [_named(law, other) for other in below(structure)]
        others = [_named(other, structure) for other in smaller]
        shared = [name for name in within if name == _named(law, "EEE")]
        rows[_named(law, structure)] = Model(
            law,
            _location_scale(law),
            structure,
            nested=(*others, *within),
            simpler=(*others[:1], *shared),
            is_listed=structure == "VVV",
        )
    return rows


# The built-in ones, for saved files.
FAMILIES = (Gaussian, LocationScale, LatentClass, Mixed, Labelled)
MODELS: Mapping[str, Model] = {
    **{
        name: Model("gaussian", _gaussian, name, row.nested, row.nested)
        for name, row in TABLE.items()
    },
    **_rows("t", ""),
    **_rows("skew-normal", ""),
    **_rows("skew-t", "t", "skew-normal"),
    "latent-class": Model("latent-class", _latent_class, read=read_categories),
    "mixed": Model("mixed", _mixed, "VVI", read=read_mixed),
}


def model_names(d: int) -> list[str]:
    """Models for d columns."""
    return [name for name in MODELS if d == 1 or name not in ONE_DIMENSION]


def rows_of(models: Iterable[Any]) -> dict[str, Model]:
    """The rows of models that were checked before: names, or families of one's own."""
    return dict(row for row in map(_row, models) if row is not None)


def read(
    X: Any, name: str, value: Any, *, at_least: int = 0, several: bool = True
) -> tuple[Table, dict[str, Model]]:
    """Read data as the models that an argument gives ask for; return these, in its order."""
    is_auto = several and isinstance(value, str) and value == "auto"
    many = several and isinstance(value, Iterable) and not isinstance(value, str)
    given = _chosen_for(X) if is_auto else list(value) if many else [value]
    if not given and not is_auto:
        raise InputError(name, "name at least one model", Message("none"))
    rows = [_row(model) for model in given]
    table = _reader(name, value, [row for row in rows if row])(X, at_least=at_least)
    d = table.values.shape[1]
    if not given:  # "auto" for numbers
        return table, {model: MODELS[model] for model in (ONE_DIMENSION if d == 1 else STRUCTURES)}
    others = ["auto"] if several and not many else []
    return table, dict(
        row if row and (d == 1 or row[0] not in ONE_DIMENSION) else _refuse(name, model, d, others)
        for model, row in zip(given, rows, strict=True)
    )


def _reader(name: str, value: Any, rows: Sequence[tuple[str, Model]]) -> Callable[..., Table]:
    """The one way in which all the models read data."""
    readers = {row.read for _, row in rows}
    if len(readers) > 1:
        raise InputError(
            name,
            "be models that read the data alike",
            value,
            "Likelihoods of numbers and of categories cannot be compared.",
        )
    return readers.pop() if readers else check_data


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
        warnings.warn(warning, stacklevel=4)
    return [model]


def taking_part(chosen: Mapping[str, Model]) -> dict[str, Model]:
    """Models with all that are fitted for their sake, in the order of the table."""
    found = new = dict(chosen)
    while new:
        names = [name for row in new.values() for name in row.simpler if name not in found]
        new = {name: MODELS[name] for name in names}
        found = found | new
    return {name: found[name] for name in [*MODELS, *found] if name in found}
