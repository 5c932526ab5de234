"""Pages that show a kernel: its source, what was made of it, and what tuning has found.

A section of the page is a file in ``sections``; ``page`` puts them together, ``facts`` is what they are made of, and
``drawing`` makes the pictures.
"""

from polytune.report.page import report_page, write_report

__all__ = ["report_page", "write_report"]
