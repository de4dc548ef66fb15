"""A whole quotation in a text: every sentence must be found, and parts that an ellipsis joins must follow each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pytest_novelty.evidence.aligned import ABSENT, SHORT, VERBATIM, Haystack, Located
from pytest_novelty.evidence.folding import Folded, fold
from pytest_novelty.evidence.mending import mend
from pytest_novelty.evidence.splitting import split_parts, split_sentences

_NEAR_BY: Final = 300
"""Letters between a short part ("our method ... is") and what it belongs to; words can be picked from anywhere."""
_TRIES: Final = 20

Pieces = list[tuple[str, Located]]


def locate(span: str, haystack: Haystack) -> Pieces:
    """The pieces of a quotation, each with what became of it; without pieces if the quotation has no letter or digit."""
    whole = fold(span)
    if not whole.letters:
        return []
    found = haystack.find_exact(whole)
    if found.kind == VERBATIM:
        return [(span.strip(), found)]
    mended = mend(span, haystack)
    if mended != span:
        span, whole = mended, fold(mended)
        found = haystack.find_exact(whole)
        if found.kind == VERBATIM:
            return [(span.strip(), found)]
    parts = split_parts(span)
    if len(parts) > 1:
        return _locate_chain(parts, haystack)
    if parts == [span.strip()] or not parts:
        return _locate_sentences(span.strip(), whole, haystack, 0, found)
    return _locate_part(parts[0], haystack, 0)


def _locate_chain(parts: list[str], haystack: Haystack) -> Pieces:
    """Each part behind the one before it. A short one has to be near its neighbour, the first near the second."""
    pieces: Pieces = []
    reached, leading = 0, []
    for part in parts:
        if len(part) < SHORT and not pieces:
            leading.append(part)  # looked for once a longer part is found
            continue
        if len(part) < SHORT:
            own = [(part, haystack.find_exact(fold(part), begin=reached, end=reached + _NEAR_BY))]
        else:
            own = _locate_part(part, haystack, reached)
        pieces += [(own[0][0], _join(haystack, reached, own[0][1])), *own[1:]]
        reached = max([reached, *(located.last for _, located in own if located.kind != ABSENT)])
    if not pieces:
        return _locate_short_parts(leading, haystack)
    behind = pieces[0][1]
    for part in reversed(leading):
        located = haystack.find_exact(fold(part), begin=max(behind.first - _NEAR_BY, 0), end=behind.first, last=True)
        if located.kind != ABSENT:
            pieces[0] = (pieces[0][0], _join(haystack, located.last, pieces[0][1]))
            behind = located
        pieces.insert(0, (part, located))
    return pieces


def _locate_short_parts(parts: list[str], haystack: Haystack) -> Pieces:
    """Nothing but short parts: they must be near each other, and enough together."""
    folded = [fold(part) for part in parts]
    begin = 0 if sum(map(len, parts)) >= SHORT else len(haystack.folded.letters)
    chain: list[Located] = []
    for _ in range(_TRIES):
        first = haystack.find_exact(folded[0], begin=begin)
        if chain and first.kind == ABSENT:
            break  # the place before tells what is wrong
        chain = [first]
        for part in folded[1:]:
            if chain[-1].kind == ABSENT:
                chain.append(chain[-1])  # so is all behind it
                continue
            reached = chain[-1].last
            found = haystack.find_exact(part, begin=reached, end=reached + _NEAR_BY)
            chain.append(_join(haystack, reached, found))
        if first.kind == ABSENT or chain[-1].kind != ABSENT:
            break
        begin = first.last
    return list(zip(parts, chain, strict=True))


def _join(haystack: Haystack, reached: int, located: Located) -> Located:
    """A part that an ellipsis joins to what ends at letter ``reached``: absent if the ellipsis stands for what it must not."""
    fault = "" if located.kind == ABSENT or not reached else haystack.find_fault(reached, located.first)
    return replace(located, kind=ABSENT, reason=fault) if fault else located


def _locate_part(part: str, haystack: Haystack, begin: int) -> Pieces:
    folded = fold(part)
    found = haystack.find_exact(folded, begin=begin)
    return [(part, found)] if found.kind == VERBATIM else _locate_sentences(part, folded, haystack, begin, found)


def _locate_sentences(part: str, folded: Folded, haystack: Haystack, begin: int, tried: Located) -> Pieces:
    """The sentences of a part that is not in the text as a whole: ``tried`` says why."""
    sentences = split_sentences(part)
    if len(sentences) <= 1:
        return [(part, _look_nearer(folded, haystack, begin, tried))]
    pieces: Pieces = []
    before: Located | None = None
    for sentence in sentences:
        own = fold(sentence)
        found = haystack.find_exact(own, begin=before.last if before else begin)
        if before and found.kind == ABSENT:
            found = haystack.find_exact(own, begin=begin)
        located = _look_nearer(own, haystack, begin, found)
        if located.kind != ABSENT:
            fault = haystack.find_seam_fault(before, located) if before else ""
            before, located = located, replace(located, kind=ABSENT, reason=fault) if fault else located
        pieces.append((sentence, located))
    return pieces


def _look_nearer(folded: Folded, haystack: Haystack, begin: int, tried: Located) -> Located:
    if tried.kind == VERBATIM or len(folded.raw.strip()) < SHORT:
        return tried
    near = haystack.find_near(folded, begin=begin)
    return near if near.reason or near.kind != ABSENT else replace(near, reason=tried.reason)
