"""From records to an outcome, the traces of retrieving judges, and the form in which a result travels."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.judges.base import Judge, Traits
from pytest_novelty.model import STATUSES, TIE, Document, Idea, Record, Vote
from pytest_novelty.outcomes import CaseResult, Trace, Usage, case_result, label_of_score, make_outcome
from pytest_novelty.wire import MAX_WIRE_BYTES, from_wire, to_wire

LABELS = {"pointwise": ("novel", "not novel"), "pairwise": ("x", "y", TIE)}
ORDERS = {"pointwise": (None,), "pairwise": ("ab", "ba")}
floats = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 10**6)


def votes_of(protocol: str, votes: int) -> st.SearchStrategy[tuple[Vote, ...]]:
    one = st.one_of(
        st.builds(lambda label: {"label": label}, st.sampled_from(LABELS[protocol])),
        st.builds(lambda status: {"status": status}, st.sampled_from(STATUSES[1:])),
        st.just({"abstained": True}),
        *([st.builds(lambda score: {"score": score}, floats)] if protocol == "pointwise" else []),
        *([st.builds(lambda score: {"label": "novel", "score": score}, floats)] if protocol == "pointwise" else []),
    )
    slots = [(order, sample) for order in ORDERS[protocol] for sample in range(votes)]
    return st.tuples(*(one.map(lambda fields, slot=slot: Vote(*slot, **fields)) for slot in slots))


usages = st.builds(
    Usage,
    made=counts,
    reused=counts,
    retries=counts,
    cost_usd=floats,
    unpriced=counts,
    tokens_in=counts,
    tokens_out=counts,
    latencies_ms=st.lists(counts, max_size=6).map(tuple),
    models=st.lists(st.text(max_size=9), max_size=2).map(tuple),
    settings=st.lists(st.text(max_size=9), max_size=2).map(tuple),
    oldest=st.sampled_from(["", "2026-11-30T10:00:00Z"]),
    reused_usd=floats,
    reused_unpriced=counts,
)
traces = st.builds(Trace, st.none() | st.booleans(), st.none() | st.booleans(), st.none() | st.floats(0, 1))
hostile = st.text(max_size=40) | st.sampled_from(["\ud800", "a\x00b", "\U0001f92f", '"}{'])


@pytest.mark.parametrize("protocol", LABELS)
@given(data=st.data())
def test_the_wire_brings_back_what_was_sent(
    data: st.DataObject, protocol: str, make_suite: Any, make_instance: Any
) -> None:
    gold = data.draw(st.sampled_from([*LABELS[protocol][:2], None]))
    instance = make_instance(protocol, data.draw(hostile.filter(bool)), gold=gold)
    suite = make_suite(protocol, instance)
    votes = data.draw(votes_of(protocol, data.draw(st.integers(1, 3))))
    outcome = make_outcome(suite, instance, votes, ORDERS[protocol], Traits())
    sent = CaseResult(
        "judge",
        suite.name,
        "reference",
        instance.id,
        outcome._replace(reason=data.draw(hostile)),
        data.draw(usages),
        data.draw(traces),
        data.draw(st.dictionaries(st.sampled_from(["not JSON", "empty"]), counts, max_size=2)),
    )
    text = to_wire(sent, suite, instance)
    assert text.isascii()
    assert len(text) <= MAX_WIRE_BYTES
    assert from_wire(json.loads(text), suite, instance) == sent


@pytest.mark.parametrize("protocol", LABELS)
@pytest.mark.parametrize("reason", ["r" * 403, "\U0001f92f" * 403, "\ud800" * 403])
def test_a_hundred_votes_per_order_fit(protocol: str, reason: str, make_suite: Any, make_instance: Any) -> None:
    """The worst that is not absurd: long scores, a reason that needs escapes, a latency for every call."""
    instance = make_instance(protocol, "i" * 80)
    suite = make_suite(protocol, instance, name="s" * 80)
    score = {"score": -1.2345678901234567e-100} if protocol == "pointwise" else {}
    slots = [(order, sample) for order in ORDERS[protocol] for sample in range(100)]
    votes = [Vote(*slot, label=LABELS[protocol][0], **score) for slot in slots]
    outcome = make_outcome(suite, instance, votes, ORDERS[protocol], Traits())
    usage = Usage(
        200, 0, 999, 0.1 + 0.2, 200, 10**7, 10**7, (119_999,) * 200, ("a-model-of-2026-01-01", "another-model")
    )
    sent = CaseResult("j" * 60, suite.name, "v" * 40, instance.id, outcome._replace(reason=reason), usage)
    text = to_wire(sent, suite, instance)
    assert len(text) <= MAX_WIRE_BYTES
    found = from_wire(json.loads(text), suite, instance)
    assert found.outcome.votes == outcome.votes
    assert (found.label, found.outcome.label, found.outcome.score) == (sent.label, outcome.label, outcome.score)
    assert reason.startswith(found.outcome.reason[:60])
    assert (found.usage.made, found.usage.cost_usd, found.usage.models) == (usage.made, usage.cost_usd, usage.models)


# --- outcomes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "higher_is", "label"),
    [
        (0.5, "novel", "novel"),
        (0.49, "novel", "not novel"),
        (0.5, "not novel", "novel"),
        (0.51, "not novel", "not novel"),
    ],
)
def test_a_threshold_is_reached_from_the_side_that_means_novel(score: float, higher_is: str, label: str) -> None:
    assert label_of_score(score, 0.5, higher_is) == label


@pytest.mark.parametrize(
    ("threshold", "given_threshold", "label", "result"),
    [
        (None, None, None, "unlabelled"),
        (0.5, None, "novel", "correct"),
        (0.5, 0.9, "not novel", "wrong"),
        (None, 0.0, "novel", "correct"),
    ],
)
def test_mean_scores_become_labels_where_there_is_a_threshold(
    threshold: float | None, given_threshold: float | None, label: str | None, result: str, make_suite: Any
) -> None:
    suite = make_suite()
    votes = [Vote(None, 0, score=0.2), Vote(None, 1, score=1.0), Vote(None, 2, "timeout")]
    outcome = make_outcome(suite, suite.instances[0], votes, (None,), Traits(threshold=threshold), given_threshold)
    assert (outcome.label, outcome.result, outcome.score) == (label, result, pytest.approx(0.6))
    assert len(outcome.failures) == 1
    assert not outcome.valid


def record(**changes: Any) -> Record:
    made = Record("k", "judge", "1", "made", "reference", "i1", None, 0, 1, "ok", "", "", "{}", "novel")
    return made._replace(**changes)


def result_of_records(
    make_suite: Any, make_case: Any, *records: Record, instance: Any = None, fresh: int = 0
) -> CaseResult:
    suite = make_suite("pointwise", *([] if instance is None else [instance]))
    case = make_case(suite, Judge("judge", lambda request: "", Traits("1")))
    return case_result(case, records, records[:fresh])


def test_the_reason_is_that_of_a_vote_for_the_outcome(make_suite: Any, make_case: Any) -> None:
    records = [
        record(label="not novel", reason="against"),
        record(label="novel", reason="for\n  it " + "x" * 500),
        record(label="novel"),
    ]
    reason = result_of_records(make_suite, make_case, *records).outcome.reason
    assert reason.startswith("for it x")
    assert len(reason) == 403


def test_without_votes_the_reason_is_a_failure(make_suite: Any, make_case: Any) -> None:
    failed = [record(status="timeout", kind="timeout", message="no answer within 5 s", label=None)] * 2
    result = result_of_records(make_suite, make_case, *failed)
    assert (result.outcome.label, result.outcome.reason, result.kinds) == (
        "invalid",
        "no answer within 5 s",
        {"timeout": 2},
    )


def test_usage_counts_what_was_sent_now(make_suite: Any, make_case: Any) -> None:
    records = [
        record(cost_usd=0.5, tokens_in=7, latency_s=0.25, retries=2, model="m2"),
        record(tokens_out=3, latency_s=1.0, model="m1"),
        record(cost_usd=9.0, tokens_in=99, model="m0"),
    ]
    assert result_of_records(make_suite, make_case, *records, fresh=2).usage == Usage(
        2, 1, 2, 0.5, 1, 7, 3, (250, 1000), ("m0", "m1", "m2"), reused_usd=9.0
    )


def test_tokens_that_no_call_told_are_unknown(make_suite: Any, make_case: Any) -> None:
    records = [record(tokens_in=7), record(tokens_in=8), record(tokens_out=99)]
    usage = result_of_records(make_suite, make_case, *records, fresh=2).usage
    assert (usage.tokens_in, usage.tokens_out) == (15, None)
    assert usage.joined(Usage()).tokens_out is None
    assert Usage().joined(usage).tokens_out is None
    assert usage.joined(usage._replace(tokens_out=4)).tokens_out == 4
    assert Usage().tokens_out == 0  # no calls, no tokens


def test_a_part_of_the_tokens_is_no_more_than_all_of_them(make_suite: Any, make_case: Any) -> None:
    records = [
        record(tokens_in=10, tokens_out=5, tokens_cached=1000, tokens_reasoning=99),
        record(tokens_in=20, tokens_out=5, tokens_cached=2, tokens_reasoning=3),
    ]
    usage = result_of_records(make_suite, make_case, *records, fresh=2).usage
    assert (usage.tokens_cached, usage.tokens_reasoning) == (12, 8)


# --- traces -----------------------------------------------------------------------------------------------------

IDEA = Idea(
    "x", "A Way to Sort", "Text.", metadata={"published_title": "Sorting, Revisited!", "published_id": ["arXiv:1", 7]}
)


def trace_of(
    make_suite: Any, make_instance: Any, make_case: Any, *votes: Any, idea: Idea = IDEA, as_of: str | None = None
) -> Trace:
    instance = make_instance(ideas=(idea,), as_of=as_of)
    records = [record(sample=number, retrieved=documents) for number, documents in enumerate(votes)]
    return result_of_records(make_suite, make_case, *records, instance=instance).trace


@pytest.mark.parametrize(
    ("document", "leaked"),
    [
        (Document("", "a way to sort"), True),
        (Document("", "A  WAY -- to sort."), True),
        (Document("", "sorting revisited"), True),
        (Document("", "\uff33orting, \u202frevisited"), True),
        (Document("arXiv:1"), True),
        (Document("7", "Anything"), True),
        (Document("2", "A way to sort faster"), False),
        (Document("", ""), False),
    ],
)
def test_the_idea_itself_is_a_leak(
    document: Document, leaked: bool, make_suite: Any, make_instance: Any, make_case: Any
) -> None:
    assert trace_of(make_suite, make_instance, make_case, (Document("9", "Another"), document)).leaked is leaked


@pytest.mark.parametrize(
    "idea",
    [
        Idea("x", "", "Text."),
        Idea("x", "?!", "Text."),
        *(
            Idea("x", "T", "Text.", metadata={name: value})
            for name in ("published_title", "published_id")
            for value in (None, 5.5, {}, [None])
        ),
    ],
)
def test_an_idea_without_published_names_leaks_nothing(
    idea: Idea, make_suite: Any, make_instance: Any, make_case: Any
) -> None:
    documents = (Document("1"), Document("", "Another"), Document("2", "..."))
    assert trace_of(make_suite, make_instance, make_case, documents, idea=idea).leaked is False


@pytest.mark.parametrize(
    ("date", "late"),
    [
        ("2016-12-31", False),
        ("2017-01-01", True),
        ("2016", False),
        ("2017", True),
        ("2016-12", False),
        ("2017-01", True),
        ("2017-01-01T00:00:00Z", True),
        ("2016-12-31T23:59:59Z", False),
        ("20160105", False),
        ("20170105", True),
        ("May 2010", None),
        ("circa 1950", None),
        ("n/a", None),
        ("", None),
        (None, None),
    ],
)
def test_late_is_later_than_as_of_at_the_precision_given(
    date: str | None, late: bool | None, make_suite: Any, make_instance: Any, make_case: Any
) -> None:
    """A date that cannot be read says nothing; it must not count as late."""
    documents = (Document("1", "T", date),)
    assert trace_of(make_suite, make_instance, make_case, documents, as_of="2016-12-31").late is late
    assert trace_of(make_suite, make_instance, make_case, documents).late is None


A, B, C = Document("a"), Document("b"), Document("", "Third, Title")


@pytest.mark.parametrize(
    ("votes", "overlap"),
    [
        ([(A, B)], None),
        ([(A, B), (B, A)], 1.0),
        ([(A, B), (A,)], 0.5),
        ([(A,), (B,)], 0.0),
        ([(A, B), (B, C)], 1 / 3),
        ([(C,), (Document("", "third title"),)], 1.0),
        ([(), ()], 1.0),
        ([(), (A,)], 0.0),
        ([(A,), (A,), (B,)], 1 / 3),
        ([(A,), None, (A,)], 1.0),
    ],
)
def test_overlap_is_the_mean_jaccard_similarity_of_votes(
    votes: Any, overlap: float | None, make_suite: Any, make_instance: Any, make_case: Any
) -> None:
    found = trace_of(make_suite, make_instance, make_case, *votes).overlap
    assert found == (None if overlap is None else pytest.approx(overlap))


def test_no_trace_is_not_an_empty_trace(make_suite: Any, make_instance: Any, make_case: Any) -> None:
    assert trace_of(make_suite, make_instance, make_case, None, None) == Trace()
    assert trace_of(make_suite, make_instance, make_case, (), None) == Trace(leaked=False)
