"""Masses from pairwise intervals: Algorithm 2 of [D20], and masses of new objects."""

from credpart.masses.fitting import IRQPResult, irqp, row_masses

__all__ = ["IRQPResult", "irqp", "row_masses"]
