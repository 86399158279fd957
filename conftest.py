"""What all tests and doctests rely on."""

import signal
import sys

import pytest


def pytest_configure():
    """Let SIGINT interrupt: a shell starts programs in the background with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:  # it warns of more than 20 open figures
        sys.modules["matplotlib.pyplot"].close("all")
