"""Messages that are written in one place, and read in Python or in a shell.

A message names arguments, settings and rows.  In Python these are `` `n_clusters` ``,
``n_replicates=200`` and rows counted from 0; in a shell ``--clusters``, ``--replicates 200`` and
rows of a file counted from 1.  A message therefore remembers which of its parts are names,
settings and rows, and a `Vocabulary` says how they read.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol


class Vocabulary(Protocol):
    """How the parts of a message read in one language."""

    def name(self, name: str) -> str:
        """An argument, a method or an attribute of the library."""

    def setting(self, setting: "Setting") -> str:
        """An argument with its value."""

    def row(self, row: "RowNumber") -> str:
        """A row of the data, which the library counts from 0."""

    def call(self, call: "Call") -> str:
        """What to type to change settings of a fit."""


@dataclass(frozen=True, slots=True)
class Name:
    """An argument, a method or an attribute of the library."""

    name: str

    def render(self, words: Vocabulary) -> str:
        """The name as the vocabulary has it."""
        return words.name(self.name)


@dataclass(frozen=True, slots=True)
class Setting:
    """An argument with its value, as code to type."""

    name: str
    value: object
    method: str = ""  # that takes the argument; if empty, the function that the message is about
    is_quoted: bool = False  # whether Python text sets it apart from a sentence by backticks

    def render(self, words: Vocabulary) -> str:
        """The setting as the vocabulary has it."""
        return words.setting(self)


@dataclass(frozen=True, slots=True)
class RowNumber:
    """A row of the data, or of one of the files that they were read from, counted from 0."""

    number: int
    file: str = ""  # if there are several

    def render(self, words: Vocabulary) -> str:
        """The row as the vocabulary counts it."""
        return words.row(self)

    def counted_from(self, first: int) -> str:
        """The row in words; the first one has this number."""
        return f"row {self.number + first}" + (f" of {self.file!r}" if self.file else "")


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column of the data by its name, or by its number if it has none."""

    name: str | int

    def render(self, words: Vocabulary) -> str:
        """The column; all languages name it alike."""
        return str(self)

    def __str__(self) -> str:
        return f"column {self.name!r}"


@dataclass(frozen=True, slots=True)
class Call:
    """What to type, ready to paste: another fit with other settings, or a method of the fit."""

    settings: tuple[Setting, ...]  # as a command has them
    method: str = "fit"
    argument: str = ""  # what the method takes in Python, if not the settings

    def render(self, words: Vocabulary) -> str:
        """The line of Python, or the command."""
        return words.call(self)


Part = str | Name | Setting | RowNumber | ColumnName | Call


class PythonVocabulary:
    """Arguments and settings as Python has them."""

    def name(self, name: str) -> str:
        """An argument, a method or an attribute, in backticks."""
        return f"`{name}`"

    def setting(self, setting: Setting) -> str:
        """An argument as it is passed."""
        text = f"{setting.name}={setting.value!r}"
        text = f"{setting.method}({text})" if setting.method else text
        return f"`{text}`" if setting.is_quoted else text

    def row(self, row: RowNumber) -> str:
        """A row of an array."""
        return row.counted_from(0)

    def call(self, call: Call) -> str:
        """A line of code about ``model``, the fitted estimator, and ``X``, its data."""
        given = ", ".join(f"{one.name}={one.value!r}" for one in call.settings)
        if call.method == "fit":
            return f"model.set_params({given}).fit(X)"
        return f"model.{call.method}({call.argument or given})"


PYTHON = PythonVocabulary()


class Message(str):
    """Text for Python that can be rendered for another vocabulary.

    Parameters
    ----------
    *parts : str, Name, Setting, RowNumber, ColumnName or Call
        What the text consists of.  A part that is a message is taken apart.

    Examples
    --------
    >>> advice = Message("Take ", Setting("n_replicates", 200), " or more.")
    >>> advice
    'Take n_replicates=200 or more.'
    >>> Message("See ", Name("status"), ". ", advice)
    'See `status`. Take n_replicates=200 or more.'
    """

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> "Message":
        """Join the parts."""
        flat = tuple(_flat(parts))
        message = super().__new__(cls, _rendered(flat, PYTHON))
        message.parts = flat
        return message

    def __getnewargs__(self) -> tuple[Part, ...]:  # type: ignore[override]
        return self.parts

    def render(self, words: Vocabulary) -> str:
        """The text in the words of a vocabulary."""
        return _rendered(self.parts, words)

    def with_rows(self, place: Callable[[int], RowNumber]) -> "Message":
        """The message about data of which row i is row ``place(i)`` of other data.

        >>> Message(RowNumber(1), " is far away").with_rows(lambda i: RowNumber(i + 4, "b.csv"))
        "row 5 of 'b.csv' is far away"
        """
        parts = (
            place(int(part.number)) if isinstance(part, RowNumber) else part for part in self.parts
        )
        return Message(*parts)


def in_words(text: str, words: Vocabulary) -> str:
    """A message in the words of a vocabulary, or any other text as it is."""
    return text.render(words) if isinstance(text, Message) else text


def joined(separator: str, messages: Iterable[str]) -> Message:
    """Messages as one, with a separator between them.

    >>> joined("; ", ["row 1 is far away", Message(Name("X"), " is short")])
    'row 1 is far away; `X` is short'
    """
    parts = [part for message in messages for part in (separator, message)]
    return Message(*parts[1:])


def _flat(parts: Iterable[Part]) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, Message):
            yield from part.parts
        else:
            yield part


def _rendered(parts: Iterable[Part], words: Vocabulary) -> str:
    return "".join(part if isinstance(part, str) else part.render(words) for part in parts)
