"""The closed list of errors and warnings."""


class CredpartWarning(UserWarning):
    """Base of all warnings of this library."""


class ConvergenceWarning(CredpartWarning):
    """An iteration stopped at its limit."""


class DegeneracyWarning(CredpartWarning):
    """A component was regularised, or the data can hardly carry the model."""


class DataWarning(CredpartWarning):
    """The data have a property that a user should know of."""


class DegenerateMixtureError(ValueError):
    """No start of the mixture led to components that the data can carry."""


class UnsupportedError(ValueError):
    """A mixture family cannot do what was asked of it."""

    def __init__(self, family: str, reason: str) -> None:
        super().__init__(f"The family {family} {reason}.")
        self.family = family
        self.reason = reason
