"""What scikit-learn asks of an estimator that gives masses: labels, probabilities, columns.

Everything here is read from masses, so an estimator only has to say how it finds those.
"""

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from credpart._arrays import Array, IntArray
from credpart.focal import set_names
from credpart.partition import EvidentialPartition


class FittedObjectsMixin:
    """Outputs for the objects that were fitted; the estimator has ``partition_``."""

    partition_: EvidentialPartition

    @property
    def probabilities_(self) -> Array:
        """Belief of each fitted object's label: how sure it is, from 0 to 1.

        Examples
        --------
        >>> from credpart import ECM
        >>> from credpart.datasets import load_butterfly
        >>> model = ECM(2, delta=100, random_state=0).fit(load_butterfly().X)
        >>> bool(model.probabilities_.argmin() == 5)  # the sixth point is between the clusters
        True
        """
        partition = self.partition_
        return partition.belief()[np.arange(partition.n_objects), partition.labels]


class NewObjectsMixin(
    FittedObjectsMixin,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """Outputs for new objects; the estimator has ``partition_`` and ``predict_masses``."""

    def predict_masses(self, X: Any) -> Array:
        """Masses (m, f) of new objects."""
        raise NotImplementedError

    def predict_partition(self, X: Any) -> EvidentialPartition:
        """Return the evidential partition of new objects.

        Parameters
        ----------
        X : array or DataFrame of shape (m, d)
            The objects.

        Returns
        -------
        EvidentialPartition
            Their masses on the focal sets of the fit, with the index of a pandas DataFrame.

        Examples
        --------
        >>> from credpart import ECM
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> ECM(2, delta=100, random_state=0).fit(butterfly).predict_partition(butterfly[:3])
        EvidentialPartition(n_objects=3, n_clusters=2, n_focal_sets=4)
        """
        masses = self.predict_masses(X)
        fitted = self.partition_
        index = getattr(X, "index", None) if hasattr(X, "columns") else None
        return EvidentialPartition(
            masses, fitted.focal_sets, cluster_names=fitted.cluster_names, index=index
        )

    def predict(self, X: Any) -> IntArray:
        """Cluster of maximum plausibility of new objects, from 0."""
        return self.predict_partition(X).labels

    def predict_proba(self, X: Any) -> Array:
        """Pignistic probabilities (m, c) of new objects: each mass shared equally in its set.

        Examples
        --------
        >>> from credpart import ECM
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> model = ECM(2, delta=100, random_state=0).fit(butterfly)
        >>> model.predict_proba(butterfly[5:6]).round(2)  # between the two clusters
        array([[0.5, 0.5]])
        """
        return self.predict_partition(X).pignistic

    def predict_frame(self, X: Any) -> Any:
        """Return labels, masses, beliefs and plausibilities of new objects as a table.

        Parameters
        ----------
        X : array or DataFrame of shape (m, d)
            The objects.

        Returns
        -------
        DataFrame
            As `EvidentialPartition.to_frame` has it, of the kind that ``X`` is: a polars frame
            for a polars frame.  For an array it is a pandas DataFrame.

        Examples
        --------
        >>> from credpart import ECM
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> model = ECM(2, delta=100, random_state=0).fit(butterfly)
        >>> model.predict_frame(butterfly[5:6])[["set_label"]]
          set_label
        5     {1,2}
        """
        partition = self.predict_partition(X)
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        is_other = isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas()
        return partition.to_frame(backend=frame.implementation if is_other else None)

    def transform(self, X: Any) -> Array:
        """Masses (m, f) of new objects, as columns for the next step of a pipeline.

        They are those of `predict_masses`, also of objects that were fitted: the masses that the
        fit itself gave them are ``partition_.masses``.  ``set_output(transform="pandas")`` or
        ``"polars"`` makes a table of them.

        Examples
        --------
        >>> from credpart import ECM
        >>> from credpart.datasets import load_butterfly
        >>> butterfly = load_butterfly().X
        >>> model = ECM(2, delta=100, random_state=0).set_output(transform="pandas")
        >>> list(model.fit(butterfly).transform(butterfly))
        ['m∅', 'm{1}', 'm{2}', 'm{1,2}']
        """
        return self.predict_masses(X)

    @property
    def _n_features_out(self) -> int:
        return len(self.partition_.focal_sets)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns that `transform` gives: "m{1}", "m{2}", "m{1,2}" and so on.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the columns of the data.  They are only compared with those of the fit.
        """
        check_is_fitted(self, "partition_")
        super().get_feature_names_out(input_features)  # the comparison
        names = set_names(self.partition_.focal_sets, self.partition_.cluster_names)
        return np.array([f"m{name}" for name in names], dtype=object)
