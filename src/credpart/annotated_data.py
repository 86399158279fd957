"""AnnData objects, in which cells are clustered and get their masses, labels and doubts.

They are known by their attributes: nothing here needs the package anndata.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from credpart._memory import GIGA, free_memory
from credpart._messages import Message, Setting
from credpart.errors import InputError, InputTypeError
from credpart.focal import set_names
from credpart.partition import EvidentialPartition

if TYPE_CHECKING:
    import pandas as pd

MATRIX = "X"
NEEDED = ("X", "obs", "obsm", "obs_names", "var_names", "layers")


def objects_of(adata: Any, use: str | None = None, *, argument: str = "use") -> "pd.DataFrame":
    """Return the observations of an AnnData object as a table to cluster.

    Parameters
    ----------
    adata : AnnData
        Observations and their variables.
    use : str, optional
        "X", a layer, or a key of ``obsm`` such as "X_pca".  It may be left out if there is
        nothing but X.
    argument : str
        How an error names ``use``.

    Returns
    -------
    DataFrame
        One row for each observation, by its name; a sparse matrix is made dense.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from types import SimpleNamespace  # stands for an AnnData object
    >>> from credpart.annotated_data import objects_of
    >>> cells = pd.Index(["cell 1", "cell 2"])
    >>> adata = SimpleNamespace(
    ...     X=np.eye(2), obs=pd.DataFrame(index=cells), obsm={"X_pca": np.ones((2, 1))},
    ...     obs_names=cells, var_names=pd.Index(["CD3", "CD4"]), layers={},
    ... )
    >>> objects_of(adata, "X_pca")
            X_pca 1
    cell 1      1.0
    cell 2      1.0
    """
    import pandas as pd

    _check_kind(adata)
    layers = [name for name in adata.layers if name is not None]  # None is X, from anndata 0.13 on
    choices = [MATRIX, *layers, *adata.obsm.keys()]
    if use is None and len(choices) > 1:
        raise InputError(
            argument,
            f"be one of {', '.join(map(repr, choices))}",
            use,
            Message("Say which, as in ", Setting(argument, choices[-1], is_quoted=True), "."),
        )
    if use is not None and use not in choices:
        raise InputError(argument, f"be one of {', '.join(map(repr, choices))}", use)
    if use is None or use == MATRIX:
        matrix = adata.X
    else:
        matrix = adata.layers[use] if use in adata.layers else adata.obsm[use]
    values = _dense(matrix)
    names = [str(name) for name in adata.var_names]
    if use in adata.obsm:
        own = getattr(matrix, "columns", range(1, values.shape[1] + 1))
        names = [f"{use} {name}" for name in own]
    return pd.DataFrame(values, index=pd.Index(adata.obs_names), columns=names)


def annotate(adata: Any, model: Any, name: str = "credpart") -> None:
    """Write masses, labels and doubts of a fitted clustering into an AnnData object.

    Parameters
    ----------
    adata : AnnData
        The observations that were fitted, in the same order.  It is changed.
    model : estimator or EvidentialPartition
        What they were clustered by, or the partition itself.
    name : str
        What the new entries begin with: ``obsm[name + "_masses"]``, and the columns
        ``name + "_label"`` (clusters from 1; missing for an outlier), ``"_set"``, ``"_belief"``
        (mass of the label alone), ``"_overlap"`` (mass on other single clusters), ``"_undecided"``
        (mass on sets of several clusters) and ``"_outlying"`` (mass on the empty set, if it is a
        focal set) of ``obs``.  Entries of these names are replaced.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from types import SimpleNamespace  # stands for an AnnData object
    >>> from credpart import EvidentialPartition
    >>> from credpart.annotated_data import annotate
    >>> cells = pd.Index(["cell 1", "cell 2"])
    >>> adata = SimpleNamespace(
    ...     X=np.eye(2), obs=pd.DataFrame(index=cells), obsm={}, obs_names=cells,
    ...     var_names=pd.Index(["CD3", "CD4"]), layers={},
    ... )
    >>> annotate(adata, EvidentialPartition.from_rough([[1, 0], [1, 1]]))
    >>> adata.obs[["credpart_set", "credpart_undecided"]]
           credpart_set  credpart_undecided
    cell 1          {1}                 0.0
    cell 2        {1,2}                 1.0
    """
    import pandas as pd

    _check_kind(adata)
    partition = getattr(model, "partition_", model)
    if not isinstance(partition, EvidentialPartition):
        what = "be a fitted clustering or an EvidentialPartition"
        raise InputTypeError("model", what, type(model).__name__)
    index = pd.Index(adata.obs_names)
    _check_same_objects(partition, index)
    masses, focal = partition.masses, partition.focal_sets
    sets = set_names(focal, partition.cluster_names)
    clusters = partition.cluster_names or tuple(str(k + 1) for k in range(partition.n_clusters))
    sizes = focal.sum(axis=1)
    belief = partition.belief()[np.arange(partition.n_objects), partition.labels]
    columns: dict[str, Any] = {
        "label": pd.Categorical.from_codes(partition.labels_or_outlier, pd.Index(clusters)),
        "set": pd.Categorical.from_codes(partition.set_labels, pd.Index(sets)),
        "belief": belief,
        "overlap": np.maximum(masses[:, sizes == 1].sum(axis=1) - belief, 0.0),
        "undecided": masses[:, sizes > 1].sum(axis=1),
    }
    if (sizes == 0).any():
        columns["outlying"] = masses[:, sizes == 0].sum(axis=1)
    for column, values in columns.items():
        adata.obs[f"{name}_{column}"] = values
    frame = pd.DataFrame(masses, index=index, columns=[f"m{one}" for one in sets])
    adata.obsm[f"{name}_masses"] = frame


def _check_kind(adata: Any) -> None:
    if not all(hasattr(adata, attribute) for attribute in NEEDED):
        raise InputTypeError("adata", "be an AnnData object", type(adata).__name__)


def _check_same_objects(partition: EvidentialPartition, names: "pd.Index") -> None:
    n = partition.n_objects
    if n != len(names):
        got = Message(f"{n} objects for {len(names)} observations")
        raise InputError("model", "be fitted to the observations of `adata`", got)
    if partition.index is not None and list(map(str, partition.index)) != list(map(str, names)):
        got = Message("objects of other names, or in another order")
        raise InputError("model", "be fitted to the observations of `adata`", got)


def _dense(matrix: Any) -> Any:
    """The matrix as an array, if it fits in memory."""
    if not hasattr(matrix, "nnz"):
        return np.asarray(matrix)
    needed, free = 8.0 * matrix.shape[0] * matrix.shape[1], free_memory()
    if free is not None and 2.0 * needed > free:
        raise InputError(
            "adata",
            f"be dense in the {free / GIGA:.1f} GB of memory that are free",
            Message(f"a sparse matrix of {needed / GIGA:.1f} GB"),
            "Cluster a key of `obsm`, such as 'X_pca'.",
        )
    return matrix.toarray()
