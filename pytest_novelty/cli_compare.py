"""``pytest-novelty compare`` and ``annotate``: what is done with reports after a run."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_novelty.errors import SettingsError
from pytest_novelty.printing import print_lines


def add_compare(commands: Any) -> None:
    compare = commands.add_parser(
        "compare", help="what changed between two reports", description=compare_two_reports.__doc__
    )
    compare.add_argument("old", type=Path, metavar="OLD", help="a report that --novelty-report wrote (.json)")
    compare.add_argument("new", type=Path, metavar="NEW", help="another one")
    compare.add_argument("--fail-on-regression", action="store_true", help="status 1 if something is worse")
    compare.add_argument(
        "--markdown", type=Path, default=None, metavar="FILE", help="write it for a pull request, too (.md)"
    )
    compare.set_defaults(run=compare_two_reports)
    annotate = commands.add_parser(
        "annotate", help="gates as annotations of a GitHub workflow", description=annotate_gates.__doc__
    )
    annotate.add_argument("report", type=Path, metavar="REPORT", help="a report that --novelty-report wrote (.json)")
    annotate.set_defaults(run=annotate_gates)


def compare_two_reports(arguments: argparse.Namespace) -> int:
    """Every metric then and now with its paired difference, verdicts that turned, variants by judge, ranks, gates and cost.
    Worse is a metric that changed for the worse by more than chance, or a gate that fails and passed or was not there. Reports
    of other instances, failure policies or profiles are refused, with what differs (status 4).
    """
    from pytest_novelty.between_runs.changes import compare_reports
    from pytest_novelty.between_runs.reading import load_report
    from pytest_novelty.reports.between_runs import comparison_blocks
    from pytest_novelty.reports.blocks import render_blocks

    if arguments.markdown is not None:
        _check_target(arguments.markdown, (arguments.old, arguments.new))
    found = compare_reports(load_report(arguments.old), load_report(arguments.new))
    on_terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((120, 24)).columns if on_terminal else 140
    text = render_blocks(
        comparison_blocks(found), width=max(width, 80), colour=on_terminal, elsewhere="--markdown out.md"
    )
    print_lines([text])
    if arguments.markdown is not None:
        from pytest_novelty.files import write_atomically
        from pytest_novelty.reports.markdown import comparison_to_markdown

        write_atomically(arguments.markdown, comparison_to_markdown(found), "utf-8")
    return 1 if arguments.fail_on_regression and found.regressions else 0


def _check_target(path: Path, reports: Sequence[Path]) -> None:
    """Raise SettingsError for a file that is no Markdown, or one of those that are compared."""
    if path.suffix != ".md":
        raise SettingsError(f"--markdown is {str(path)!r}", hint="Name a file that ends in .md")
    if path.exists() and any(report.exists() and path.samefile(report) for report in reports):
        raise SettingsError("--markdown names a report that is compared", path=path, hint="Name another file")


def annotate_gates(arguments: argparse.Namespace) -> int:
    """Print a line for each gate, and each comparison with recorded verdicts, that did not pass, as a GitHub workflow turns into
    an annotation: an error if it fails, a warning if it is undecided, a notice if it is not enforced. The status is 0: that of
    the run itself says whether it failed.
    """
    from pytest_novelty.between_runs.reading import read_json
    from pytest_novelty.reports.annotations import annotation_lines

    report = read_json(arguments.report)
    drifts = [
        {**drift, "name": f"compared with {drift['against']}", "message": drift["sentence"]}
        for drift in report["drift"]
    ]
    print_lines(annotation_lines([*report["gates"], *drifts]))
    return 0
