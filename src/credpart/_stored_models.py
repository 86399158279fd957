"""Whether a model that comes out of a file holds together.

`check_sizes` compares the sizes that the file declares, before any array is read; `check_result`
compares the values afterwards.  Both raise ValueError with a reason.  What passes is a model that
`CalibratedClustering.fit` could have made: all arrays have the sizes that follow from the numbers
of objects, columns, clusters and replicates, every number is within its bounds, and the posterior
probabilities are those of the mixture.
"""

from collections.abc import Iterator, Mapping
from math import prod
from numbers import Integral, Real
from typing import Any

import numpy as np

from credpart._arrays import Array, BoolArray
from credpart._bootstrap.delta_method import DeltaMethod
from credpart._bootstrap.replicates import FamilyReplicates, RefitDecision, Replicates
from credpart._checks import Table, check_cells, check_fraction, check_weights, is_writable
from credpart._columns import Columns
from credpart.calibration_options import CalibrationOptions
from credpart.intervals import METHODS, Influence, PairwiseIntervals, as_given
from credpart.mixture.criteria import CRITERIA
from credpart.mixture.families.base import MixtureFamily
from credpart.mixture.families.labelled import Labelled
from credpart.mixture.fit import MixtureFit
from credpart.mixture.known_labels import ALL, KnownLabels
from credpart.mixture.models import MODELS
from credpart.mixture.optimisation.convergence import Status
from credpart.mixture.optimisation.mixtures import take_params
from credpart.mixture.posteriors import score
from credpart.mixture.search.selection import Selection
from credpart.pairs import Landmarks, SampledObjects
from credpart.partition import EvidentialPartition
from credpart.partition.npz import Header
from credpart.result import CalibratedResult

# Type and sizes of the arrays of each value.  n objects, d columns, c clusters, f focal sets, B
# replicates, s objects that are all compared, l landmarks; `pairs` are s (s - 1) / 2.  A replicate
# has up to k clusters, and j objects or groups have an influence on landmarks.  Two sizes differ
# from value to value: b replicates of one family, m objects with masses.
SHAPES: Mapping[str, Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "CalibratedResult": {
        "weights": ("f8", ("n",)),
        "posteriors": ("f8", ("n", "c")),
        "groups": ("i", ("n",)),
        "strata": ("i", ("n",)),
    },
    "EvidentialPartition": {"masses": ("f8", ("m", "f")), "focal_sets": ("b", ("f", "c"))},
    "FamilyReplicates": {"rows": ("i", ("b",))},
    "Influence": {"moves": ("f4", ("l", "c", "j")), "weights": ("f4", ("j",))},
    "KnownLabels": {"codes": ("i", ("n",))},
    "Landmarks": {
        "weights": ("f8", ("l",)),
        "posteriors": ("f4", ("l", "k", "B")),
        "values": ("f8", ("l", "d")),
    },
    "PairwiseIntervals": {
        "lower": ("f8", ("pairs",)),
        "upper": ("f8", ("pairs",)),
        "own_lower": ("f8", ("s",)),
        "own_upper": ("f8", ("s",)),
    },
    "Replicates": {
        "loglik": ("f8", ("B",)),
        "models": ("U", ("B",)),
        "n_iter": ("i", ("B",)),
        "status": ("i", ("B",)),
    },
    "SampledObjects": {"rows": ("i", ("s",)), "weights": ("f8", ("s",))},
    "Standardisation": {
        "center": ("f8", ("d",)),
        "rounding_unit": ("f8", ("d",)),
        "scale": ("f8", ("d",)),
    },
    "Table": {"values": ("f8", ("n", "d"))},
}
LOCAL = ("b", "m")
# Rounding differs between machines, and densities of nearly singular components multiply it.
SAME = 1e-3
SUM_TOLERANCE = 1e-6


def check_sizes(about: Mapping[str, Any], headers: Mapping[str, Header]) -> None:
    """Raise ValueError if the arrays that a file declares cannot be those of one model."""
    content = about["content"]
    used = {str(place) for place in _places(content)}
    if used != headers.keys():
        raise ValueError("it has not the arrays that it says")
    sizes: dict[str, int] = {}
    stated: set[str] = set()
    for one in content["objects"]:
        shapes = SHAPES.get(one["kind"].get("value"), {})
        for field, (kind, names) in shapes.items():
            if one["fields"].get(field) is not None:
                place = str(one["fields"][field]["array"])
                _check_header(field, headers[place], kind, names, sizes)
                stated.add(place)
    if not {"n", "d", "c", "f", "B", "s", "pairs"} <= sizes.keys():
        raise ValueError("parts of the model are missing")
    if 0 in (size for name, size in sizes.items() if name != "pairs"):
        raise ValueError("arrays without numbers")
    if 2 * sizes["pairs"] != sizes["s"] * (sizes["s"] - 1):
        raise ValueError(f"intervals of {sizes['pairs']} pairs for {sizes['s']} objects")
    if max(sizes["s"], sizes["m"], sizes.get("l", 0), sizes.get("j", 0)) > sizes["n"]:
        raise ValueError(f"arrays of more than the {sizes['n']} objects")
    if not about["own_families"]:  # only a family of one's own may have other arrays
        d = sizes["d"]
        levels = sum(_n_cells(one["fields"].get("levels")) for one in content["objects"])
        few = (d + 1) ** 2 + levels + sizes["f"] * sizes["c"]
        for place in used - stated:
            shape = headers[place].shape
            small = prod(shape) <= few or (len(shape) > 1 and prod(shape[2:]) <= few)
            if not small or prod(shape[:2]) > sizes["B"] * max(sizes["n"], few):
                raise ValueError(f"an array of shape {shape} that the model cannot have")


def _check_header(
    field: str, header: Header, kind: str, names: tuple[str, ...], sizes: dict[str, int]
) -> None:
    is_kind = header.dtype.kind == kind[0] and (kind[0] != "f" or header.dtype.str[1:] == kind)
    if not is_kind or len(header.shape) != len(names):
        raise ValueError(f"{field} is an array of {header.dtype} with shape {header.shape}")
    for name, size in zip(names, header.shape, strict=True):
        if name in LOCAL:
            sizes[name] = max(sizes.get(name, 0), size)
        elif sizes.setdefault(name, size) != size:
            raise ValueError(f"{field} has shape {header.shape}, which no other array has")


def _places(value: Any) -> Iterator[int]:
    """The numbers of all arrays that a JSON text mentions."""
    if isinstance(value, dict):
        if value.keys() == {"array"}:
            yield value["array"]
        for part in value.values():
            yield from _places(part)
    elif isinstance(value, list):
        for part in value:
            yield from _places(part)


def _n_cells(value: Any) -> int:
    """How many texts and numbers are in a JSON text."""
    if isinstance(value, dict):
        return sum(map(_n_cells, value.values()))
    return sum(map(_n_cells, value)) if isinstance(value, list) else 1


def check_result(result: CalibratedResult) -> None:
    """Raise ValueError if a result does not hold together."""
    _require_types(
        (result.data, Table),
        (result.options, CalibrationOptions),
        (result.selection, Selection),
        (result.mixture, MixtureFit),
        (result.replicates, Replicates),
        (result.intervals, PairwiseIntervals),
        (result.partition, EvidentialPartition),
        (result.objective, float),
    )
    n = len(result.data.values)
    _check_table(result.data)
    check_weights("weights", result.weights, n)
    codes = [array for array in (result.groups, result.strata) if array is not None]
    _require(all(bool((array >= 0).all()) for array in codes), "groups or strata that are none")
    _check_known_labels(result)
    _check_options(result)
    for fit in {id(fit): fit for fit in (*result.selection.fits.values(), result.mixture)}.values():
        _check_fit(fit, result)
    _check_selection(result)
    _check_posteriors(result)
    _check_replicates(result)
    _check_pairs(result)
    _require(result.intervals.level == result.options.level, "intervals at another level")
    _require(result.intervals.own_lower is not None, "no intervals of objects and their copies")
    alone = result.intervals.pointwise_level
    _require(alone is None or _is_level(alone, result), "intervals at a level that is none")
    _require(result.partition.masses.shape[0] == n, "masses of other objects")
    _require(result.partition.n_clusters == result.mixture.n_clusters, "sets of other clusters")
    _require(result.partition.cluster_names is None, "names of clusters")
    _require(_labels(result.partition.index) == _labels(result.data.index), "masses of others")
    _require(0.0 <= result.objective < np.inf, "an objective that is none")
    _require(0.0 <= result.weakening <= 1.0, "a weakening that is none")


def _check_pairs(result: CalibratedResult) -> None:
    """The objects that were all compared, and the landmarks that the others were compared with."""
    _require_types((result.sample, SampledObjects))
    rows, n = result.sample.rows, len(result.weights)
    check_weights("weights", result.sample.weights, len(rows))
    _require(bool((np.diff(rows) > 0).all() and rows[0] >= 0 and rows[-1] < n), "rows of others")
    _require(result.intervals.n_objects == len(rows), "intervals of other objects")
    landmarks = result.landmarks
    if landmarks is None:
        return
    _require_types((landmarks, Landmarks), (landmarks.partition, EvidentialPartition))
    check_weights("weights", landmarks.weights, len(landmarks.partition.masses))
    most = int(result.replicates.n_clusters.max())
    shape = (len(landmarks.weights), most, result.options.n_replicates)
    _require(landmarks.posteriors.shape == shape, "posteriors of other landmarks")
    low, high = landmarks.posteriors.min(), landmarks.posteriors.max()
    _require(bool(low >= 0.0 and high <= 1.0 + SUM_TOLERANCE), "posteriors that are none")
    same = np.array_equal(landmarks.partition.focal_sets, result.partition.focal_sets)
    _require(same, "landmarks with other focal sets")
    agree = (landmarks.level, landmarks.method) == (result.options.level, result.options.method)
    agree = agree and landmarks.pointwise_level == result.intervals.pointwise_level
    _require(agree, "landmarks of other intervals")
    if landmarks.values is not None:
        _require(not result.data.may_miss, "a delta method of missing cells")
        _require(METHODS[landmarks.method].allows_delta, "a delta method for other intervals")
        _require(bool(np.isfinite(landmarks.values).all()), "landmarks without values")
        usable = DeltaMethod.of(result.replicates, landmarks.values) is not None
        _require(usable, "a delta method of replicates that have none")
        scored = result.replicates.posteriors_of(landmarks.values).transpose(1, 2, 0)
        gap = np.abs(scored - landmarks.posteriors).max(initial=0.0)
        _require(bool(gap <= SAME), "landmarks with other values")
    _check_estimate(landmarks, result.partition.n_clusters)
    if landmarks.influence is not None:
        _require_types((landmarks.influence, Influence))
        moves, moving = landmarks.influence
        is_finite = np.isfinite(moves).all() and np.isfinite(moving).all()
        _require(bool(is_finite and (moving >= 0.0).all()), "influences that are none")


def _check_estimate(landmarks: Landmarks, c: int) -> None:
    """Posteriors of the landmarks in the fit, if and only if the method needs them."""
    estimate = landmarks.estimate
    _require((estimate is not None) == METHODS[landmarks.method].needs_estimate, "no estimates")
    if estimate is None:
        return
    _require_types((estimate, np.ndarray))
    good = estimate.dtype == np.float64 and estimate.shape == (len(landmarks.weights), c)
    _require(good, "estimates of other landmarks")
    sums = estimate.sum(axis=1)
    _require(bool(estimate.min() >= 0.0 and sums.max() <= 1.0 + SUM_TOLERANCE), "odd estimates")


def _check_decision(decision: RefitDecision | None) -> None:
    """How replicates of a large sample were found: its words and figures can be shown."""
    if decision is None:
        return
    _require_types((decision, RefitDecision), (decision.figures, Mapping))
    _require(isinstance(decision.reasons, tuple) and _are_texts(decision.reasons), "odd reasons")
    good = all(isinstance(x, int | float) and np.isfinite(x) for x in decision.figures.values())
    _require(_are_texts(decision.figures) and good, "figures that are none")
    str(decision)  # an error if it lacks a figure, or is of no kind


def _check_known_labels(result: CalibratedResult) -> None:
    """Labels of these objects, and masses and families that respect them."""
    known = result.known_labels
    fits = [fit.family for fit in result.selection.fits.values()]
    families = [*fits, result.mixture.family, *(part.family for part in result.replicates.parts)]
    is_labelled = {isinstance(family, Labelled) for family in families}
    _require(is_labelled == {known is not None}, "families of other labels")
    if known is None:
        return
    _require_types((known, KnownLabels), (known.codes, np.ndarray), (known.n_named, int))
    names = known.names
    good = names is None or (isinstance(names, tuple) and _are_texts(names))
    _require(good and (names is None or len(names) == known.n_named), "names that are none")
    codes = known.codes if known.codes is not None else np.zeros(1)
    _require(bool((codes >= 0).all() and (codes <= ALL).all()), "labels that are none")
    known.numbers([result.mixture.n_clusters], is_auto=False)
    allowed = known.allowed_sets(result.partition.focal_sets)
    off = np.where(allowed, 0.0, result.partition.masses) if allowed is not None else np.zeros(1)
    _require(bool((off == 0.0).all()), "masses that its labels do not allow")


def _check_table(table: Table) -> None:
    values, names, index, levels, may_miss = table
    n, d = values.shape
    _require(n >= 2 and d >= 1, f"data of shape {values.shape}")
    if names is not None:
        _require(_are_texts(names) and len(set(names)) == len(names) == d, "names of other columns")
    _require(index is None or len(index) == n, "names of other objects")
    _require(isinstance(may_miss, bool), "missing cells that are neither allowed nor refused")
    check_cells("X", table, may_miss=may_miss or levels is not None)
    if levels is None:
        return
    _require(isinstance(levels, tuple) and len(levels) == d, "levels of other columns")
    for known, codes in zip(levels, values.T, strict=True):
        if known is not None:
            good = isinstance(known, tuple) and all(isinstance(k, str | int) for k in known)
            good = good and _are_texts(k for k in known if isinstance(k, str))
            _require(good and len(set(known)) == len(known) >= 2, "levels that are none")
            seen = codes[~np.isnan(codes)]
            _require(bool(np.isin(seen, np.arange(len(known))).all()), "codes without a level")


def _check_options(result: CalibratedResult) -> None:
    options = result.options
    fields = {name: getattr(options, name) for name in options.__slots__}
    seed, is_auto, nominal = (fields.pop(name) for name in ("seed", "is_auto", "nominal_level"))
    _require(isinstance(options.n_clusters, tuple), "numbers of clusters that are none")
    _require(isinstance(seed, int) and isinstance(is_auto, bool), "a seed that is none")
    if nominal is not None:
        check_fraction("nominal_level", nominal)
    # Sets that were given for this number of clusters need not suit the others that were tried.
    fields["n_clusters"] = (result.mixture.n_clusters,)
    n_models = max(len(result.selection.models), len(options.n_clusters))
    CalibrationOptions.check(n_models=n_models, random_state=seed, **fields)
    fields["n_clusters"], fields["focal_sets"] = options.n_clusters, "singletons"
    again = CalibrationOptions.check(n_models=n_models, random_state=seed, **fields)
    _require(again.n_clusters == options.n_clusters, "numbers of clusters that are none")


def _check_fit(fit: MixtureFit, result: CalibratedResult) -> None:
    _require_types((fit, MixtureFit), (fit.family, MixtureFamily), (fit.status, Status))
    _require(fit.columns == Columns.of(result.data), "a fit of other columns")
    _check_parameters(fit.family, fit.internal, result.data, np.array([True]))
    row = MODELS.get(fit.model)
    if row is None:
        _require(fit.model == type(fit.family.innermost).__name__, "a model of another family")
        _require(fit.structure is None, "a structure that its model has not")
    else:
        n_parameters = row.n_parameters(fit.family, fit.n_clusters)
        same = fit.structure == row.structure and fit.n_parameters == n_parameters
        _require(same, f"a fit that is not one of model {fit.model!r}")
    whole = fit.n_iter, fit.n_parameters
    _require(all(isinstance(k, Integral) and k >= 0 for k in whole), "counts that are none")
    reals = fit.loglik, fit.log_certainty, fit.n_objects
    _require(all(isinstance(x, float) and np.isfinite(x) for x in reals), "a likelihood of none")
    # More than these if it was fitted out of core: then the result keeps some of the objects.
    total = float(result.weights.sum())
    is_enough = fit.n_objects > total or bool(np.isclose(fit.n_objects, total))
    _require(is_enough, "a fit of other objects")


def _check_parameters(family: Any, params: Any, data: Table, is_sound: BoolArray) -> None:
    """Raise ValueError if these are not parameters of mixtures of a family on the data.

    Of a replicate that is not sound, one whose refit broke down, parameters may be any numbers.
    """
    _require_types((params, family.params_type), *((field, np.ndarray) for field in params))
    shape = params[0].shape
    _require(len(shape) == 2 and shape[0] == len(is_sound), "parameters of other replicates")
    for field in params:
        _require(field.shape[:2] == shape and field.dtype == np.float64, "parameters of others")
    params = take_params(params, np.flatnonzero(is_sound))
    shares = params[0]
    sums = shares.sum(axis=1)
    good = bool((shares >= 0.0).all() and (np.abs(sums - 1.0) <= SUM_TOLERANCE).all())
    _require(good, "proportions that are negative or do not sum to 1")
    family.check_columns(data)
    for name, stored, known in zip(params._fields, params, family.derived(params), strict=True):
        _require(_agree(stored, known), f"{name} that do not follow from other parameters")
    _require(not np.asarray(family.is_degenerate(params)).any(), "parameters of no distribution")


def _agree(stored: Array, known: Array) -> bool:
    """Whether arrays (b, k, ...) agree, relative to the largest number of each component."""
    if stored is known:
        return True
    if stored.shape != known.shape or not np.array_equal(np.isinf(stored), np.isinf(known)):
        return False
    stored, known = np.where(np.isinf(stored), 0.0, stored), np.where(np.isinf(known), 0.0, known)
    largest = np.abs(known).reshape(*known.shape[:2], -1).max(axis=-1, initial=0.0)
    gap = np.abs(stored - known).reshape(*known.shape[:2], -1).max(axis=-1, initial=0.0)
    return bool((gap <= SAME * (1.0 + largest)).all())


def _check_selection(result: CalibratedResult) -> None:
    selection = result.selection
    _require(selection.criterion in CRITERIA, "an unknown criterion")
    _require(selection.criterion == result.options.criterion, "another criterion")
    _require(_are_texts(selection.models) and isinstance(selection.models, tuple), "no models")
    for c, model in (*selection.fits, *selection.missing):
        _require(c in selection.numbers and model in selection.models, "a fit that was not asked")
    for (c, model), fit in selection.fits.items():
        _require((c, model) == (fit.n_clusters, fit.model), "a fit in the place of another")
    _require(_are_texts(selection.missing.values()), "reasons that are none")
    _require(set(selection.numbers) <= set(result.options.n_clusters), "other numbers of clusters")
    _require(selection.best is result.mixture, "a mixture that is not the best one")


def _check_posteriors(result: CalibratedResult) -> None:
    mixture, values = result.mixture, result.mixture_values
    posteriors, log_density = score(mixture.family, mixture.internal, values)
    _require(result.posteriors.shape == posteriors.shape, "posteriors of other objects")
    gap = np.abs(result.posteriors - posteriors).max(initial=0.0)
    _require(bool(gap <= SAME), "posterior probabilities that are not those of the mixture")
    loglik = float(result.weights @ log_density)
    if bool(np.isclose(mixture.n_objects, result.weights.sum())):
        _require(abs(loglik - mixture.loglik) <= SAME * (1.0 + abs(loglik)), "another likelihood")


def _check_replicates(result: CalibratedResult) -> None:
    replicates, numbers = result.replicates, {c for c, _ in result.selection.fits}
    B = result.options.n_replicates
    columns = (replicates.models, replicates.loglik, replicates.n_iter, replicates.status)
    _require(all(array.shape == (B,) for array in columns), f"not {B} replicates")
    _require(bool(np.isin(replicates.status, list(Status)).all()), "an unknown status")
    _require(bool(np.isin(replicates.models, result.selection.models).all()), "other models")
    is_sound = replicates.status != Status.DEGENERATE
    decision = replicates.decision
    _check_decision(decision)
    if decision is None or decision.kind != "subsample":  # those have no samples of their own
        is_known = bool(np.isfinite(replicates.loglik[is_sound]).all())
        _require(is_known, "no likelihoods of replicates")
    _require(bool((replicates.n_iter >= 0).all()), "negative numbers of iterations")
    _require(replicates.resampling == result.options.resampling, "another resampling")
    _require(replicates.columns == Columns.of(result.data), "replicates of other columns")
    parts = replicates.parts
    _require(isinstance(parts, tuple) and len(parts) > 0, "no replicates")
    for part in parts:
        _require_types((part, FamilyReplicates), (part.family, MixtureFamily))
    rows = np.concatenate([part.rows for part in parts])
    _require(np.array_equal(np.sort(rows), np.arange(B)), "replicates that are there twice")
    for part in parts:
        _check_parameters(part.family, part.params, result.data, is_sound[part.rows])
        c = part.params[0].shape[1]
        _require(c in numbers, "replicates with other numbers of clusters")


def check_parameters_of_calls(parameters: Mapping[str, Any]) -> None:
    """Raise ValueError for parameters of an estimator that no later call checks."""
    jobs, verbose = parameters["n_jobs"], parameters["verbose"]
    _require(jobs is None or isinstance(jobs, Real), "a number of jobs that is none")
    _require(isinstance(verbose, Real), "a level of messages that is none")


def _is_level(alone: Any, result: CalibratedResult) -> bool:
    """Whether this can be the level of each interval if that of the options is of all together."""
    is_shared = METHODS[result.options.method].pointwise is not as_given
    return is_shared and isinstance(alone, float) and 0.0 <= alone <= 1.0


def _labels(index: Any) -> list[Any] | None:
    return None if index is None else list(index)


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) and is_writable(value) for value in values)


def _require_types(*pairs: tuple[Any, type]) -> None:
    for value, kind in pairs:
        _require(isinstance(value, kind), f"a {type(value).__name__} in place of a {kind.__name__}")


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(f"it has {otherwise}")
