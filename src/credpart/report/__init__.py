"""A fitted result as one self-contained page: no network, nothing to install."""

import credpart._matplotlib  # noqa: F401  (first)
from credpart.report.page import to_html, write_report

__all__ = ["to_html", "write_report"]
