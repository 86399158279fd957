"""The closed list of errors and warnings.

Every error of this library is a `CredpartError`, and also the built-in exception that a user of
Python expects: a wrong argument is a ``ValueError``, a missing file a ``FileNotFoundError``.
Every warning is a `CredpartWarning`.  Both carry their text as a message in parts, which the
command line renders with options in place of arguments and with rows of the file.
"""

import inspect
import warnings
from typing import Any, ClassVar

from credpart._messages import ColumnName, Message, Name, Part, RowNumber, Vocabulary

__all__ = [
    "ConvergenceWarning",
    "CredpartError",
    "CredpartWarning",
    "DataError",
    "DataWarning",
    "DegeneracyWarning",
    "DegenerateMixtureError",
    "ExistingFileError",
    "FileAccessError",
    "FileContentError",
    "InputError",
    "InputTypeError",
    "MissingFileError",
    "MissingPackageError",
    "NoMixtureError",
    "OutputError",
    "UnsupportedError",
    "WorkerError",
    "WorkerWarning",
]


class CredpartError(Exception):
    """Base of all errors of this library.

    Attributes
    ----------
    message : str
        The text, which remembers its parts.

    Examples
    --------
    >>> from credpart import focal_sets
    >>> from credpart.errors import CredpartError
    >>> try:
    ...     focal_sets(0)
    ... except CredpartError as error:
    ...     print(error)
    `n_clusters` must be an integer >= 1, got 0.
    """

    _arguments: ClassVar[tuple[str, ...]] = ("message",)  # attributes that it is made from
    message: Message

    def __init__(self, *parts: Part) -> None:
        self.message = Message(*parts)
        super().__init__(self.message)

    def __str__(self) -> str:
        return str(self.message)

    def __reduce__(self) -> Any:  # errors come back from the workers of joblib
        return type(self), tuple(getattr(self, name) for name in self._arguments)

    def render(self, words: Vocabulary) -> str:
        """The text in the words of a vocabulary."""
        return self.message.render(words)


class InputError(CredpartError, ValueError):
    """An argument, or the data, is not what it must be.

    Attributes
    ----------
    argument : str
        The argument of the function that was called.
    requirement : str
        What it must be, have or hold; it begins with the verb.
    got : object
        What was got instead: the value itself, or a text that describes it.
    remedy : str
        What to do about it, in full sentences; empty where that is plain.
    preface : str
        What stands before the sentence, for programs that look for it.
    row : int or None
        The row of the data, counted from 0, where the first fault is.
    column : str, int or None
        The column of the data, by its name or number, where the first fault is.

    Examples
    --------
    >>> from credpart import fit_mixture
    >>> from credpart.errors import InputError
    >>> try:
    ...     fit_mixture([[1.0, 2.0], [3.0, float("nan")]], 1)
    ... except InputError as error:
    ...     print(error.argument, error.requirement, error.row, error.column)
    ...     print(error.remedy)
    X be finite 1 1
    Drop or impute them. Or take them as missing at random: missing='model'.
    """

    _arguments = ("argument", "requirement", "got", "remedy", "preface")

    def __init__(
        self, argument: str, requirement: str, got: object, remedy: str = "", preface: str = ""
    ) -> None:
        self.argument = argument
        self.requirement = requirement
        self.got = got
        self.remedy = remedy
        self.preface = preface
        described = got if isinstance(got, Message) else repr(got)
        end = (". ", remedy) if remedy else (".",)
        super().__init__(
            preface, *self._subject(), " must ", requirement, ", got ", described, *end
        )

    def _subject(self) -> tuple[Part, ...]:
        """What the sentence says of: the argument."""
        return (Name(self.argument),)

    @property
    def row(self) -> int | None:
        """The row where the first fault is, counted from 0."""
        rows = [part.number for part in self.message.parts if isinstance(part, RowNumber)]
        return int(rows[0]) if rows else None

    @property
    def column(self) -> str | int | None:
        """The column where the first fault is, by its name or number."""
        columns = [part.name for part in self.message.parts if isinstance(part, ColumnName)]
        return columns[0] if columns else None

    def render(self, words: Vocabulary) -> str:
        """The text in the words of a vocabulary, as a sentence."""
        text = super().render(words)
        return text[:1].upper() + text[1:]


class InputTypeError(InputError, TypeError):
    """An argument is of a type that cannot be used.

    Examples
    --------
    >>> from credpart import irqp
    >>> from credpart.errors import InputTypeError
    >>> try:
    ...     irqp([0.2, 0.5], [[1, 0], [0, 1]])
    ... except InputTypeError as error:
    ...     error.argument, error.got
    ('intervals', 'list')
    """


class FileContentError(InputError):
    r"""A file does not hold what it must.

    Attributes
    ----------
    path : str
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from credpart.errors import FileContentError
    >>> from credpart.tables import read_objects
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.csv").write_text("x,y\n1,2\n3,low\n")
    ...     try:
    ...         read_objects(Path(folder, "a.csv"))
    ...     except FileContentError as error:
    ...         error.requirement, error.row, error.column
    ('hold numbers', 1, 'y')
    """

    _arguments = ("argument", "path", "requirement", "got", "remedy")

    def __init__(
        self, argument: str, path: str, requirement: str, got: object, remedy: str = ""
    ) -> None:
        self.path = path
        super().__init__(argument, requirement, got, remedy)

    def _subject(self) -> tuple[Part, ...]:
        return (repr(self.path),)


class MissingFileError(InputError, FileNotFoundError):
    """A file or a folder that an argument names does not exist.

    Examples
    --------
    >>> from credpart import EvidentialPartition
    >>> from credpart.errors import MissingFileError
    >>> try:
    ...     EvidentialPartition.from_hard([0, 1]).save("no/such/folder/partition.npz")
    ... except MissingFileError as error:
    ...     error.argument, error.requirement
    ('path', 'be in an existing folder that can be written')
    """


class ExistingFileError(InputError, FileExistsError):
    """A file is there already, and may not be replaced.

    Examples
    --------
    >>> from credpart.errors import ExistingFileError, InputError
    >>> issubclass(ExistingFileError, InputError), issubclass(ExistingFileError, FileExistsError)
    (True, True)
    """


class FileAccessError(InputError, OSError):
    """The operating system refuses to read a file, or to write one where an argument says.

    Examples
    --------
    >>> import tempfile
    >>> from credpart.errors import FileAccessError
    >>> from credpart.tables import read_objects
    >>> with tempfile.TemporaryDirectory(suffix=".csv") as folder:
    ...     try:
    ...         read_objects(folder)
    ...     except FileAccessError as error:
    ...         error.argument, error.requirement
    ('source', 'be a file')
    """


class OutputError(CredpartError, OSError):
    """A result could not be put in its place; the message says where it was kept.

    Examples
    --------
    >>> from credpart.errors import OutputError
    >>> issubclass(OutputError, OSError)
    True
    """


class DataError(CredpartError, ValueError):
    """The data cannot carry any of the models that were asked for.

    Examples
    --------
    >>> from credpart import fit_mixture
    >>> from credpart.errors import DataError
    >>> try:
    ...     fit_mixture([[1.0, 2.0], [2.0, 2.0], [4.0, 2.0]], 1)
    ... except DataError as error:
    ...     print(error)
    `model` 'VVV' cannot be fitted: column 1 is constant. Leave columns out, or fit a more
    constrained model.
    """


class DegenerateMixtureError(CredpartError, ValueError):
    """No start of the mixture led to components that the data can carry.

    Examples
    --------
    >>> import numpy as np
    >>> import warnings
    >>> from credpart import fit_mixture
    >>> from credpart.errors import DataWarning, DegenerateMixtureError
    >>> corners = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 10, axis=0)
    >>> try:
    ...     with warnings.catch_warnings(action="ignore", category=DataWarning):
    ...         fit_mixture(corners, 2, "EEE")
    ... except DegenerateMixtureError as error:
    ...     print(str(error)[:57])
    No mixture of 2 components with model 'EEE' can be fitted
    """


class UnsupportedError(CredpartError, ValueError):
    """A mixture family cannot do what was asked of it.

    Attributes
    ----------
    family : str
        The name of the family.
    reason : str
        What it cannot do.

    Examples
    --------
    >>> from credpart.errors import UnsupportedError
    >>> print(UnsupportedError("Gamma", "has no method `sample`"))
    The family Gamma has no method `sample`.
    """

    _arguments = ("family", "reason")

    def __init__(self, family: str, reason: str) -> None:
        self.family = family
        self.reason = reason
        super().__init__(f"The family {family} {reason}.")


class MissingPackageError(CredpartError, ImportError):
    """An optional package is needed that is not installed.

    Examples
    --------
    >>> from credpart.errors import MissingPackageError
    >>> issubclass(MissingPackageError, ImportError)
    True
    """


class WorkerError(CredpartError, RuntimeError):
    """Worker processes were killed again and again.

    Examples
    --------
    >>> from credpart.errors import WorkerError
    >>> issubclass(WorkerError, RuntimeError)
    True
    """


class NoMixtureError(CredpartError, AttributeError):
    """A result that was made of posterior draws has no mixture, nor what needs one.

    Examples
    --------
    >>> from credpart.errors import NoMixtureError
    >>> issubclass(NoMixtureError, AttributeError)
    True
    """


class CredpartWarning(UserWarning):
    """Base of all warnings of this library.

    Attributes
    ----------
    message : str
        The text, which remembers its parts.

    Examples
    --------
    >>> from credpart.errors import ConvergenceWarning, CredpartWarning
    >>> issubclass(ConvergenceWarning, CredpartWarning), issubclass(CredpartWarning, UserWarning)
    (True, True)
    """

    message: Message

    def __init__(self, *parts: Part) -> None:
        self.message = Message(*parts)
        super().__init__(self.message)

    def __reduce__(self) -> Any:
        return type(self), (self.message,)

    def render(self, words: Vocabulary) -> str:
        """The text in the words of a vocabulary."""
        return self.message.render(words)


class ConvergenceWarning(CredpartWarning):
    """An iteration stopped at its limit.

    Examples
    --------
    >>> import warnings
    >>> from credpart import fit_mixture
    >>> from credpart.datasets import load_iris
    >>> from credpart.errors import ConvergenceWarning
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     fit = fit_mixture(load_iris().X, 3, max_iter=2)
    >>> caught[0].category is ConvergenceWarning
    True
    """


class DegeneracyWarning(CredpartWarning):
    """A component was regularised, or the data can hardly carry the model.

    Examples
    --------
    >>> from credpart.errors import CredpartWarning, DegeneracyWarning
    >>> issubclass(DegeneracyWarning, CredpartWarning)
    True
    """


class DataWarning(CredpartWarning):
    """The data have a property that a user should know of.

    Examples
    --------
    >>> import warnings
    >>> from credpart import fit_mixture
    >>> from credpart.datasets import load_iris
    >>> with warnings.catch_warnings(record=True, action="always") as caught:
    ...     fit = fit_mixture(load_iris().X.assign(unit=1.0), 3, "EII")
    >>> print(caught[0].message)
    The data: column 'unit' is constant.
    """


class WorkerWarning(CredpartWarning):
    """A worker process was killed, and its tasks were run again.

    Examples
    --------
    >>> from credpart.errors import CredpartWarning, WorkerWarning
    >>> issubclass(WorkerWarning, CredpartWarning)
    True
    """


def warn_caller(warning: CredpartWarning) -> None:
    """Warn at the line that called this library, however many calls inside it lie between."""
    frame, level = inspect.currentframe(), 1
    package = __name__.partition(".")[0]
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == package:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
