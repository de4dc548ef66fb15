"""A report in the format that the suffix of its file names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_novelty.results import Report


def write_report(report: Report, path: Path) -> None:
    """Write the report, by ``settings.REPORT_SUFFIXES``. Raises SettingsError if it cannot be written."""
    if path.suffix == ".md":
        from pytest_novelty.reports.markdown import write_markdown

        write_markdown(report, path)
        return
    from pytest_novelty.reports.as_dict import write_json

    write_json(report, path)
