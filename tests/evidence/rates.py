"""Print how often each matcher errs, as a Markdown table: python tests/evidence/rates.py [--kinds] [--changes N]"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytest_novelty.evidence import PublishedText, Source, check_span
from pytest_novelty.evidence.published import HALLUCINATION
from tests.evidence.labels import LENGTHS, STRANGER, Judged, judge_all
from tests.evidence.mechanical import changed
from tests.evidence.prose import filler_and_strangers

MATCHERS: dict[str, Callable[[Judged], bool]] = {
    "aligned": lambda one: one.aligned,
    "published": lambda one: one.published,
}


def rate(judged: Sequence[Judged], wrong: Callable[[Judged], bool]) -> str:
    return f"{sum(map(wrong, judged))} of {len(judged)} ({100 * sum(map(wrong, judged)) / len(judged):.0f} %)"


def table(results: Mapping[str, Sequence[Judged]]) -> list[str]:
    rows = {
        "altered spans accepted": lambda one: not one.labelled.said and one.labelled.kind != STRANGER,
        "sentences of other papers accepted": lambda one: not one.labelled.said and one.labelled.kind == STRANGER,
        "true spans rejected": lambda one: one.labelled.said,
    }
    lines = [
        f"| wrong | matcher | {' | '.join(f'{name} characters' if name[0].isdigit() else name for name in results)} |"
    ]
    lines.append("| --- " * (2 + len(results)) + "|")
    for name, chosen in rows.items():
        for matcher, accepts in MATCHERS.items():
            cells = [
                rate(
                    [one for one in judged if chosen(one)],
                    lambda one, accepts=accepts: accepts(one) != one.labelled.said,
                )  # type: ignore[misc]
                for judged in results.values()
            ]
            lines.append(f"| {name} | {matcher} | {' | '.join(cells)} |")
    return lines


def random_changes(limit: int) -> list[str]:
    """Slips and alterations made at random in sentences of one document of about 100,000 characters."""
    text = "\n\n".join(filler_and_strangers("machine learning")[0])
    source, published = Source("", text), PublishedText(text)
    counts: dict[tuple[bool, str], list[tuple[bool, bool]]] = {}
    for kind, said, span in changed(limit):
        found = (check_span(span, source).found, published.classify(span) != HALLUCINATION)
        counts.setdefault((said, kind), []).append(found)
    lines = [
        f"| change, in {len(text):,} characters | should be found | aligned | published |",
        "| --- | --- | --- | --- |",
    ]
    for (said, kind), found in counts.items():
        cells = [f"{100 * sum(one[matcher] for one in found) / len(found):.0f} %" for matcher in (0, 1)]
        lines.append(f"| {kind} ({len(found)}) | {'yes' if said else 'no'} | {' | '.join(cells)} |")
    return lines


def by_kind(results: Mapping[str, Sequence[Judged]]) -> list[str]:
    kinds = dict.fromkeys((one.labelled.kind, one.labelled.said) for judged in results.values() for one in judged)
    lines = []
    for kind, said in sorted(kinds, key=lambda one: (not one[1], one[0])):
        cells = []
        for judged in results.values():
            own = [one for one in judged if (one.labelled.kind, one.labelled.said) == (kind, said)]
            cells.append(
                " ".join(
                    f"{matcher} {sum(accepts(one) for one in own)}/{len(own)}" for matcher, accepts in MATCHERS.items()
                )
            )
        lines.append(f"{'says' if said else 'does not say':13} {kind:26} found: {';  '.join(cells)}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", action="store_true", help="also how many of each kind were found, at each length")
    parser.add_argument(
        "--changes", type=int, default=150, help="how many sentences are changed at random, in each way"
    )
    options = parser.parse_args()
    results = {name: judge_all(name) for name in LENGTHS}
    print("\n".join([*table(results), "", *random_changes(options.changes)]))
    if options.kinds:
        print("\n".join(["", *by_kind(results)]))


if __name__ == "__main__":
    main()
