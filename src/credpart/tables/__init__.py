"""Tables of objects from files and bundled data sets: what is clustered, named and compared with.

Text is never made into numbers: a cell that is not a number is an error that names it.
"""

from credpart.tables.objects import Objects, read_objects
from credpart.tables.text import TextFormat
from credpart.tables.transform import Transform

__all__ = ["Objects", "TextFormat", "Transform", "read_objects"]
