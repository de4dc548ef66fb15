"""The report as Markdown that fits a pull-request comment: headline, gates, what changed; the rest folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS, GateResult
from pytest_novelty.headline import headline_sentences
from pytest_novelty.metrics.catalogue import CATALOGUE
from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean, plural, show_usd
from pytest_novelty.reports.as_published import published_blocks
from pytest_novelty.reports.auditors import auditor_blocks
from pytest_novelty.reports.between_runs import cost_block, detail_blocks, metrics_block, transitions_block
from pytest_novelty.reports.blocks import Block
from pytest_novelty.reports.drift import table_row
from pytest_novelty.reports.grounding import grounding_blocks
from pytest_novelty.reports.invented import TITLE, invented_blocks
from pytest_novelty.reports.tables import DECISIONS, Justify
from pytest_novelty.reports.text import failed_calls, made_calls, show_estimate, show_gate, show_interval

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_novelty.between_runs.changes import RunComparison
    from pytest_novelty.drifting import Drift
    from pytest_novelty.results import Report

LIMIT: Final = 60_000
"""Characters. A comment of a pull request holds 65,536."""
_ORDER: Final = (FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS)
_FOLDED_GATES: Final = 30


def report_to_markdown(report: Report) -> str:
    """Headline, gates and what changed in sight; metrics, variants, findings and cost folded.

    At most LIMIT characters: what does not fit is left out from the end, and the text says so.
    """
    parts = ["### Novelty judges\n"]
    parts += [f"{escape(clean(sentence))}\n" for sentence in headline_sentences(report)]
    parts += _gates([*report.gates, *report.drifts])
    parts += _drifts(report)
    if report.against is not None:
        parts += _changed(report.against)
        parts.append(_folded(f"All that changed since {report.against.old}", detail_blocks(report.against)))
    parts.append(_folded("Grounding", grounding_blocks(report)))
    parts.append(_folded(TITLE, invented_blocks(report)))
    parts.append(_folded("By the release's rules (profile as-published), not ours", published_blocks(report)))
    parts.append(_folded("Auditors", auditor_blocks(report)))
    parts += [_folded("All metrics", _metric_blocks(report)), _folded("Variants", _variant_blocks(report))]
    parts.append(_folded("Judges compared", _judge_blocks(report)))
    if report.crashes:
        parts.insert(1, "".join(f"- **Error:** {escape(clean(crash.said, 500))}\n" for crash in report.crashes))
    if said := [*(f"Finding: {text}" for text in report.findings), *(f"Note: {text}" for text in report.notes)]:
        parts.append(_folded("Findings and notes", [Block("", notes=tuple(clean(text, 500) for text in said))]))
    parts.append(f"{escape(_calls(report))}\n")
    return _fitted(parts)


def comparison_to_markdown(found: RunComparison) -> str:
    """What changed between two reports: what is starred in sight, the rest folded. At most LIMIT characters."""
    everything = _folded("All numbers", detail_blocks(found))
    return _fitted(["### Novelty judges, then and now\n", *_changed(found), everything])


def write_markdown(report: Report, path: Path) -> None:
    """Write the report as UTF-8. Raises SettingsError if it cannot be written."""
    from pytest_novelty.files import write_atomically

    write_atomically(path, report_to_markdown(report), "utf-8")


def _fitted(parts: Iterable[str]) -> str:
    """The parts that fit, and a word on those that do not."""
    text, left_out = "", 0
    for part in filter(None, parts):
        if len(text) + len(part) > LIMIT:
            left_out += 1
        else:
            text += f"{part}\n"
    if left_out:
        text += f"{plural(left_out, 'section')} too long for a comment: see the report in JSON.\n"
    return text


# --- sections ---------------------------------------------------------------------------------------------------


def _gates(gates: list[GateResult | Drift]) -> Iterator[str]:
    """What fails and what is open in sight; what passes folded where there is much of it."""
    if not gates:
        return
    counts = [(sum(gate.decision == decision for gate in gates), DECISIONS[decision][0]) for decision in _ORDER]
    yield f"**Gates:** {', '.join(f'{count} {word}' for count, word in counts if count)}\n"
    ordered = sorted(gates, key=lambda gate: _ORDER.index(gate.decision))
    first = ordered if len(ordered) <= _FOLDED_GATES else [gate for gate in ordered if gate.decision == FAIL]
    if first:
        yield _table(_gate_block(first))
    if len(first) < len(ordered):
        yield _folded("The other gates", [_gate_block(ordered[len(first) :])])


def _gate_block(gates: list[GateResult | Drift]) -> Block:
    rows = []
    for gate in gates:
        name, value, advice = _cells_of(gate)
        advice = "" if gate.decision == PASS else clean(advice, 200)
        word = DECISIONS[gate.decision][0]
        rows.append((word, name, gate.judge, clean(gate.suite, 100), value, str(gate.n), advice))
    headings: tuple[tuple[str, Justify], ...] = (
        ("", "left"),
        ("gate", "left"),
        ("judge", "left"),
        ("suite", "left"),
        ("value", "left"),
        ("n", "right"),
        ("", "left"),
    )
    return Block("", headings, tuple(rows))


def _cells_of(gate: GateResult | Drift) -> tuple[str, str, str]:
    """(what is asked for, what was found, what is to be said where it does not pass)."""
    if isinstance(gate, GateResult):
        return gate.gate.text, show_gate(gate), gate.advice
    differ = f"{plural(len(gate.differing), 'verdict')} differ{'s' * (len(gate.differing) == 1)}" if gate.n else ""
    return f"compared with {clean(gate.against, 100)}", differ, gate.sentence


def _drifts(report: Report) -> Iterator[str]:
    """Comparisons with recorded verdicts: what they say in sight, the verdicts that differ folded."""
    for drift in report.drifts:
        title = f"{drift.judge} on {clean(drift.suite, 100)}, compared with {clean(drift.against, 100)}"
        said = tuple(clean(part, 1000) for part in drift.parts)
        yield _section(Block(f"{title}: {DECISIONS[drift.decision][0]}", notes=said))
        if drift.differing:
            ordered = sorted(drift.differing, key=lambda item: not item.label_differs)
            rows = tuple(table_row(item) for item in ordered)
            headings: tuple[tuple[str, Justify], ...] = (("instance", "left"), ("before", "left"), ("after", "left"))
            yield _folded("Verdicts that differ", [Block("", headings, rows)])


def _changed(found: RunComparison) -> Iterator[str]:
    yield f"#### What changed since {escape(clean(found.old))}\n"
    yield f"{escape(clean(found.headline, 3000))}\n"
    if found.notes:
        yield "".join(f"- {escape(clean(note, 300))}\n" for note in found.notes)
    for change in found.changes:
        block = metrics_block(change, starred=True)
        if block.rows or change.turned.starred:
            yield _section(Block(block.title, block.headings if block.rows else (), block.rows, block.notes))
            if change.turned.starred and (turned := transitions_block(change)):
                yield _folded(turned.title, [Block("", turned.headings, turned.rows)])
    yield f"{escape(cost_block(found).title)}\n"


def _metric_blocks(report: Report) -> Iterator[Block]:
    places = dict.fromkeys((row.judge, row.suite, row.variant) for row in report.metrics if row.reference is None)
    for judge, suite, variant in sorted(
        places, key=lambda place: (place[0], place[1], place[2] != REFERENCE, place[2])
    ):
        if variant.startswith("["):
            continue
        rows = [
            (
                row.metric + (f" ({row.stratum})" if row.stratum else ""),
                CATALOGUE[row.metric].title_for(row.protocol),
                show_estimate(row.metric, row.estimate),
                show_interval(row.metric, row.estimate),
                str(row.estimate.n),
            )
            for row in report.metrics
            if (row.judge, row.suite, row.variant, row.reference) == (judge, suite, variant, None)
            and row.estimate.value is not None
        ]
        headings: tuple[tuple[str, Justify], ...] = (
            ("metric", "left"),
            ("", "left"),
            ("value", "right"),
            ("interval", "left"),
            ("n", "right"),
        )
        place = "" if variant == REFERENCE else f", variant {variant}"
        yield Block(f"{judge} on {clean(suite, 100)}{place}", headings, tuple(rows))


def _variant_blocks(report: Report) -> Iterator[Block]:
    for judge, suite in dict.fromkeys((item.judge, item.suite) for item in report.variants):
        own = [item for item in report.variants if (item.judge, item.suite) == (judge, suite)]
        notes = tuple(f"{item.variant} ({', '.join(item.changed)}): {clean(item.sentence, 300)}." for item in own)
        yield Block(f"{judge} on {clean(suite, 100)}", notes=notes)


def _judge_blocks(report: Report) -> Iterator[Block]:
    for suite in dict.fromkeys(item.suite for item in report.comparisons):
        own = [item for item in report.comparisons if item.suite == suite and item.sentence]
        variants = ["" if item.variant == REFERENCE else f" under {item.variant}" for item in own]
        notes = tuple(
            f"{item.first} - {item.second}{variant}: {clean(item.sentence, 400)}."
            for item, variant in zip(own, variants, strict=True)
        )
        if notes:
            yield Block(clean(suite, 100), notes=notes)


def _calls(report: Report) -> str:
    calls = report.calls
    return (
        f"Calls: {made_calls(calls)}, {calls.reused:,} reused, {failed_calls(calls)}; cost {show_usd(calls.cost_usd)}."
    )


# --- Markdown ---------------------------------------------------------------------------------------------------


def _folded(title: str, blocks: Iterable[Block]) -> str:
    body = "\n".join(map(_section, blocks))
    return f"<details><summary>{escape(clean(title, 300))}</summary>\n\n{body}\n</details>\n" if body else ""


def _section(block: Block) -> str:
    parts = [f"**{escape(block.title)}**\n"] if block.title else []
    parts += [_table(block)] if block.headings else []
    parts += ["\n".join(f"- {escape(note)}" for note in block.notes) + "\n"] if block.notes else []
    return "\n".join(parts)


def _table(block: Block) -> str:
    lines = [[escape(name) for name, _ in block.headings]]
    lines.append(["---:" if justify == "right" else "---" for _, justify in block.headings])
    lines += [[escape(cell) for cell in row] for row in block.rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def escape(text: str) -> str:
    """Text that Markdown and HTML show as it is: nothing in it formats, links, mentions or breaks a table."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u200b")
    text = re.sub(r"([\\`*\[\]|~$])", r"\\\1", text)
    text = re.sub(r"(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])", r"\\_", text)
    text = re.sub(r"^(\s*\d*)((?<!\d)[-+#=]|(?<=\d)[.)])(?=\s|$)", r"\1\\\2", text)
    return _LINKED.sub("\\g<0>\u200b", text)


_LINKED: Final = re.compile(r":(?=//|[a-z0-9_+-]+:)|\bwww(?=\.)|#(?=\d)|\bGH-(?=\d)", re.IGNORECASE)
"""Where GitHub would make a link or a picture; a space of no width behind it keeps the text."""
