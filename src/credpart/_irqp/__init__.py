"""The evidential partition that fits pairwise intervals (IRQP), and masses of new objects.

`algorithm` holds the public function, Algorithm 2 of [D20]; `descent` its loop, `initialisation`
and `multistart` where it starts, `new_objects` one quadratic program for each new object.
"""

from credpart._irqp.algorithm2 import IRQPResult, irqp
from credpart._irqp.new_objects import row_masses

__all__ = ["IRQPResult", "irqp", "row_masses"]
