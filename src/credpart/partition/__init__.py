"""Evidential partitions: the value, its relational representation, its special cases."""

from credpart.partition.evidential import EvidentialPartition
from credpart.partition.relational import Relational

__all__ = ["EvidentialPartition", "Relational"]
