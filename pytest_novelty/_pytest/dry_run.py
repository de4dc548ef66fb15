"""``--novelty-dry-run``: print the estimate instead of running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_novelty.dryrun import estimate_run
from pytest_novelty.errors import NoveltyError

if TYPE_CHECKING:
    from pytest_novelty._pytest.session import NoveltySession


def show_dry_run(session: NoveltySession) -> None:
    """Write what would be asked, what is stored and what the rest would cost."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    try:
        lines = estimate_run(session.plan, session.selected).lines()
    except NoveltyError as error:
        lines = [f"ERROR: {error}"]
    if reporter is not None:
        reporter.ensure_newline()
        reporter.write_sep("=", "novelty: dry run, nothing is asked")
        for line in lines:
            reporter.write_line(line)
