"""The command line: ``credpart fit iris --out out``.

Nothing heavy is imported until a command runs, so that help and completion are quick.
"""

from credpart.cli.run import main

__all__ = ["main"]
