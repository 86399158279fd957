"""What all tests rely on."""

import signal


def pytest_configure():
    # A shell starts programs in the background with SIGINT ignored, and tests interrupt programs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
