"""The experiment with skew-t data: Figures 11-13."""

from benchmarks.paper.bench import Bench, Section, SkippedError


def run(bench: Bench) -> Section:
    """Figures 11-13."""
    raise SkippedError("needs mixtures of skew-t laws, which the library does not have yet")
