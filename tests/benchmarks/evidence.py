"""Measure the evidence check: spans a second of both matchers and of the naive published one. Not a test: it prints a table.

    python tests/benchmarks/evidence.py [--texts 200] [--length 60000] [--spans 1000] [--naive 40] [--seed 0]

Cold: each matcher folds and indexes every text itself, within the time that is measured. Spans have 50 to 400 characters; half are
verbatim, half have a word replaced, left out or put in. Times are of the processor, so that other processes count less.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytest_novelty.evidence import PublishedText, Source, check_span
from tests.evidence import naive
from tests.evidence.prose import all_sentences

Spans = list[tuple[int, str]]


def make_texts(count: int, length: int, rng: random.Random) -> list[str]:
    """Texts of sentences in a random order, in lines of about 80 characters, every tenth with a word broken at its end."""
    sentences = all_sentences()
    texts = []
    for _ in range(count):
        parts: list[str] = []
        size = 0
        while size < length:
            parts.append(rng.choice(sentences))
            size += len(parts[-1]) + 1
        texts.append(wrap(" ".join(parts)[:length], rng))
    return texts


def wrap(text: str, rng: random.Random) -> str:
    lines, start = [], 0
    while start < len(text):
        end = text.find(" ", start + 75)
        end = len(text) if end < 0 else end
        line = text[start:end]
        lines.append(line if rng.random() > 0.1 else f"{line[:-3]}-\n{line[-3:]}")
        start = end + 1
    return "\n".join(lines)


def make_spans(texts: Sequence[str], count: int, rng: random.Random) -> Spans:
    spans = []
    for number in range(count):
        text = number * len(texts) // count
        size = rng.randint(50, 400)
        start = rng.randrange(len(texts[text]) - size)
        words = texts[text][start : start + size].split(" ")[1:-1] or ["word"]
        if number % 2:
            place = rng.randrange(len(words))
            change = rng.choice(("replace", "leave out", "put in"))
            words[place : place + (change != "put in")] = [] if change == "leave out" else ["zebras"]
        spans.append((text, " ".join(words)))
    return spans


def run_published(texts: Sequence[str], spans: Spans) -> list[str]:
    found = []
    for text, own in groupby(spans, key=itemgetter(0)):
        known = PublishedText(texts[text])
        found += [known.classify(span) for _, span in own]
    return found


def run_aligned(texts: Sequence[str], spans: Spans) -> list[str]:
    found = []
    for text, own in groupby(spans, key=itemgetter(0)):
        known = Source("", texts[text])
        found += [check_span(span, known).status for _, span in own]
    return found


def run_naive(texts: Sequence[str], spans: Spans) -> list[str]:
    return [naive.classify(span, texts[text]) for text, span in spans]


def measure(
    run: Callable[[Sequence[str], Spans], list[str]], texts: Sequence[str], spans: Spans
) -> tuple[float, list[str]]:
    begun = time.process_time()
    found = run(texts, spans)
    return len(spans) / (time.process_time() - begun), found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=200)
    parser.add_argument("--length", type=int, default=60_000)
    parser.add_argument("--spans", type=int, default=1_000)
    parser.add_argument("--naive", type=int, default=40, help="how many of the spans the naive matcher gets")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    texts = make_texts(options.texts, options.length, rng)
    spans = make_spans(texts, options.spans, rng)
    run_published(texts[:1], [(0, "A first span, which imports what is needed.")])
    run_aligned(texts[:1], [(0, "A first span, which imports what is needed.")])
    few = sorted(rng.sample(spans, min(options.naive, len(spans))))
    print(f"{options.spans} spans over {options.texts} texts of {options.length} characters, cold; processor time")
    by_naive = None
    for name, run, given in (
        ("naive", run_naive, few),
        ("published", run_published, spans),
        ("aligned", run_aligned, spans),
    ):
        rate, found = measure(run, texts, given)
        counts = ", ".join(f"{found.count(one)} {one}" for one in dict.fromkeys(sorted(found)))
        by_naive = by_naive or rate
        print(f"{name:10}{rate:8,.0f} spans/s  {rate / by_naive:4.0f} times the naive   {counts}")
    same = run_published(texts, few) == run_naive(texts, few)
    print(f"published and naive agree on {len(few)} spans: {'yes' if same else 'NO'}")


if __name__ == "__main__":
    main()
