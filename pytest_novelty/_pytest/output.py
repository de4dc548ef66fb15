"""Where the reports meet pytest's terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_novelty.printing import clean, plural, show_usd

if TYPE_CHECKING:
    from pytest_novelty._pytest.session import NoveltySession


def header_lines(session: NoveltySession) -> list[str]:
    """What is about to run."""
    from pytest_novelty.reports.announcement import announce

    lines = announce(session.plan, *_stored_counts(session), _workers(session.config))
    lines += session.goldens.announce(session.plan)
    dist = session.config.getoption("dist", "no")
    if dist not in ("no", "load") or (dist == "load" and not session.only_suites):
        lines.append("novelty: workers look ahead by one case only (they do so further with --dist load and no paths)")
    return lines


def _workers(config: Any) -> int:
    """Processes that will judge: xdist starts them only after the header."""
    specs = getattr(config.option, "tx", None) if config.getoption("dist", "no") != "no" else None
    counts = [spec.partition("*") for spec in specs or ()]  # 3*popen is three
    return sum(int(count) if star and count.isdigit() else 1 for count, star, _ in counts) or 1


def _stored_counts(session: NoveltySession) -> tuple[dict[str, int], dict[str, int]]:
    """Verdicts of these judge versions by suite, and of other versions by judge. Counts, not promises: prompts or texts
    may have changed.
    """
    from pytest_novelty.cassette import open_store

    plan = session.plan
    if not plan.settings.store.exists() or plan.settings.refresh:
        return {}, {}
    store = open_store(plan.settings.store, offline=plan.settings.offline)
    try:
        stored = {
            name: sum(store.count(name, judge.name, judge.version) for judge in plan.judges) for name in plan.suites
        }
        older = {
            judge.name: sum(store.count_older(name, judge.name, judge.version) for name in plan.suites)
            for judge in plan.judges
            if judge.version_is_digest
        }
    finally:
        store.close()
    return stored, {name: count for name, count in older.items() if count}


def progress_line(session: NoveltySession) -> str:
    """Cases done and what they cost, while a long run goes on."""
    results, planned = session.results(), sum(1 for _ in session.plan.cases())
    done, cost = len(results), sum(result.usage.cost_usd for result in results)
    return f"novelty: {done:,} of {plural(planned, 'case')} judged, {show_usd(cost)} so far"


def write_summary(session: NoveltySession, reporter: Any) -> None:
    """The section at the end of pytest's output."""
    report = session.report
    if report is None:
        for note in session.notes:
            reporter.write_line(f"novelty: {clean(note)}")
        return
    from pytest_novelty.reports.terminal import render

    reporter.write_sep("=", "novelty")
    width = min(max(reporter._tw.fullwidth, 60), 140)
    reporter.write_line(render(report, width=width, colour=reporter.hasmarkup))
    if report.against is not None:
        from pytest_novelty.reports.between_runs import comparison_blocks
        from pytest_novelty.reports.blocks import render_blocks

        reporter.write_sep("-", f"changed since {clean(report.against.old, 60)}")
        reporter.write_line(render_blocks(comparison_blocks(report.against), width=width, colour=reporter.hasmarkup))
    for line in (*session.goldens.written, *session.written):
        reporter.write_line(f"novelty: {line}")
