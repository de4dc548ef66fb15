"""The report as plain data, in the format ``novelty-report/1`` (schemas/report.json), and its file."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.files import write_atomically
from pytest_novelty.granularity import CAPS, TOKENIZER
from pytest_novelty.instances import instance_digest
from pytest_novelty.judges.base import Traits
from pytest_novelty.looks import SampleRange
from pytest_novelty.masking import make_mask, mask_all
from pytest_novelty.model import Outcome, Suite
from pytest_novelty.outcomes import CaseResult, Trace

if TYPE_CHECKING:
    from pytest_novelty.claiming import Claim
    from pytest_novelty.measuring import VariantResult
    from pytest_novelty.metrics.comparison import Comparison
    from pytest_novelty.metrics.differences import Change
    from pytest_novelty.results import Report

FORMAT: Final = "novelty-report/1"


def report_to_dict(report: Report) -> dict[str, Any]:
    """Plain data that fits ``schemas/report.json``."""
    from pytest_novelty.reports.as_published import published_to_dict
    from pytest_novelty.reports.auditors import auditors_to_dict, routing_to_dicts
    from pytest_novelty.reports.between_runs import comparison_to_dict
    from pytest_novelty.reports.drift import drift_to_dict
    from pytest_novelty.reports.grounding import grounding_to_dict
    from pytest_novelty.results import versions

    plan, settings = report.plan, report.plan.settings
    return {
        "format": FORMAT,
        "headline": report.headline,
        "run": {
            "versions": versions(),
            "settings": {
                "votes": settings.votes,
                "orders": settings.orders,
                "decide": settings.decide,
                "inconclusive": settings.inconclusive,
                "failures": settings.failures,
                "strict": settings.strict,
                "sample": str(settings.sample) if isinstance(settings.sample, SampleRange) else settings.sample,
                "threshold": settings.threshold,
                "reference": settings.reference,
                "budget_usd": settings.budget_usd,
                "offline": settings.offline,
                "refresh": settings.refresh,
                "missing": settings.missing,
                "probe": settings.probe,
                "max_age_days": settings.max_age_days,
                "concurrency": settings.concurrency,
                "variants": list(settings.variants),
                "gates": list(settings.gates),
                "auditors": list(settings.auditors),
                "auditors_of_ini": list(settings.auditors_of_ini),
                "own_family": settings.own_family,
                "profile": settings.profile,
            },
            "seed": settings.seed,
            "profile": plan.profile,
            "granularity": {"tokenizer": TOKENIZER, "caps": dict(CAPS)},
            "judges": [
                {
                    "name": judge.name,
                    "version": judge.version,
                    "version_is_digest": judge.version_is_digest,
                    "asked": mask_all(judge.asked, make_mask(secrets=judge.secrets)),
                    "traits": _traits(judge.traits),
                }
                for judge in plan.judges
            ],
            "suites": [
                {
                    "name": planned.suite.name,
                    "version": planned.suite.version,
                    "digest": planned.suite.digest,
                    "protocol": planned.suite.protocol,
                    "label_kind": planned.suite.label_kind,
                    "profile": planned.suite.profile,
                    "cluster": planned.suite.cluster,
                    "variants": [variant.name for variant in planned.variants],
                    "instances": len(planned.suite.instances),
                    "planned": len(planned.instances),
                    "looks": list(planned.looks),
                    "look": planned.look,
                    "level": planned.level,
                    "blocklist": dict(planned.suite.blocklist),
                }
                for planned in plan.suites.values()
            ],
            "skipped": [
                {"judge": judge, "suite": suite, "variant": variant or None, "reason": reason}
                for (judge, suite, variant), reason in sorted(plan.skipped.items())
            ],
            "audits": routing_to_dicts(plan),
        },
        "metrics": [
            {
                "judge": row.judge,
                "suite": row.suite,
                "protocol": row.protocol,
                "variant": row.variant,
                "stratum": row.stratum,
                "reference": None if row.reference is None else asdict(row.reference),
                "metric": row.metric,
                **row.estimate.to_dict(),
                "bounds": _bounds(row.estimate.bounds),
            }
            for row in report.metrics
        ],
        "variants": [_variant(item) for item in report.variants],
        "claims": [_claim(item) for item in report.claims],
        "comparisons": [_comparison(item) for item in report.comparisons],
        "gates": [
            {
                "judge": result.judge,
                "suite": result.suite,
                "name": result.gate.text,
                "metric": result.gate.metric,
                "variant": result.gate.variant,
                "op": result.gate.op,
                "threshold": result.gate.threshold,
                "absolute": result.gate.absolute,
                "point": result.gate.point or settings.by_point,
                "stratum": ":".join(result.gate.stratum) if result.gate.stratum else None,
                "decision": result.decision,
                "value": result.value,
                "low": result.low,
                "high": result.high,
                "bounds": _bounds(result.bounds),
                "n": result.n,
                "message": result.message,
            }
            for result in report.gates
        ],
        "instances": [row for planned in plan.suites.values() for row in _instances(planned.suite)],
        "outcomes": [
            {
                "judge": result.judge,
                "suite": result.suite,
                "variant": result.variant,
                "instance": result.instance,
                "label": result.outcome.label,
                "result": result.outcome.result,
                "correct": None if result.outcome.gold is None else result.outcome.correct,
                "score": result.outcome.score,
                "tallies": result.outcome.tallies(),
                "scores": [vote.score for vote in result.outcome.votes if vote.score is not None] or None,
                "trace": None if result.trace == Trace() else result.trace._asdict(),
                "reason": result.outcome.reason,
                "grounds": _grounds(result.outcome),
                "invented": None if result.invented is None else result.invented._asdict(),
            }
            for result in report.outcomes
        ],
        "answers": list(_answers(report.outcomes)),
        "grounding": [grounding_to_dict(item) for item in report.grounding],
        "published": [published_to_dict(item) for item in report.published],
        "auditors": [auditors_to_dict(item) for item in report.auditors],
        "drift": [drift_to_dict(item) for item in report.drifts],
        "calls": asdict(report.calls),
        "baselines": dict(report.baselines),
        "findings": list(report.findings),
        "notes": [*report.notes, *(crash.said for crash in report.crashes)],
        "against": None if report.against is None else comparison_to_dict(report.against),
    }


def _answers(outcomes: Iterable[CaseResult]) -> Iterator[dict[str, Any]]:
    """Of each judge, suite and variant how many answers were no verdict, and how many broke a rule and were read, by kind."""
    counts: dict[tuple[str, str, str], tuple[int, Counter[str], Counter[str]]] = {}
    for result in outcomes:
        place = result.judge, result.suite, result.variant
        calls, failed, broken = counts.get(place, (0, Counter(), Counter()))
        failed.update(result.kinds)
        broken.update(result.oddities)
        counts[place] = calls + len(result.outcome.votes), failed, broken
    for (judge, suite, variant), (calls, failed, broken) in sorted(counts.items()):
        yield {
            "judge": judge,
            "suite": suite,
            "variant": variant,
            "calls": calls,
            "no_verdict": dict(sorted(failed.items())),
            "read_all_the_same": dict(sorted(broken.items())),
        }


def _grounds(outcome: Outcome) -> list[list[dict[str, Any]] | None] | None:
    """Of each vote, what became of the evidence of its positive statements, None of a vote without a verdict; None where no vote
    has any.
    """
    if not any(vote.grounds for vote in outcome.votes):
        return None
    return [[ground.told() for ground in vote.grounds] if vote.label is not None else None for vote in outcome.votes]


def _traits(traits: Traits) -> dict[str, Any]:
    return {
        "higher_is": traits.higher_is,
        "threshold": traits.threshold,
        "score_range": None if traits.score_range is None else list(traits.score_range),
        "may_tie": traits.may_tie,
        "may_abstain": traits.may_abstain,
        "retrieves": traits.retrieves,
        "honours_as_of": traits.honours_as_of,
    }


def _instances(suite: Suite) -> Iterator[dict[str, Any]]:
    for instance in suite.instances:
        cluster = None if suite.cluster is None else instance.strata[suite.cluster]
        yield {
            "suite": suite.name,
            "instance": instance.id,
            "ideas": [idea.id for idea in instance.ideas],
            "gold": instance.gold,
            "as_of": instance.as_of,
            "cluster": cluster,
            "digest": instance_digest(instance, cluster),
        }


def _bounds(bounds: tuple[float, float] | None) -> list[float] | None:
    return None if bounds is None else list(bounds)


def _variant(item: VariantResult) -> dict[str, Any]:
    return {
        "judge": item.judge,
        "suite": item.suite,
        "variant": item.variant,
        "changed": list(item.changed),
        "n": item.n,
        "cause": item.cause,
        "attribution": item.sentence,
        "moved": {"p": item.moved_p, "p_holm": item.moved_p_holm, "method": item.method},
        "order_p_holm": item.order_p_holm,
        "together_p_holm": item.together_p,
        "votes_lost": item.lost,
        "votes_lost_p_holm": item.lost_p,
        "detectable_vote_shift": item.seen.shift,
        "detectable_score_drift": item.seen.drift,
        "own_noise_flip_rate": item.noise,
        "transitions": {before: dict(row) for before, row in item.transitions.items()},
        "changes": [_change(change) for change in item.changes],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "metric": change.metric,
        **change.estimate.to_dict(),
        "p": change.p,
        "p_holm": change.p_holm,
        "starred": change.starred,
    }


def _claim(item: Claim) -> dict[str, Any]:
    return {
        "judge": item.judge,
        "suite": item.suite,
        "contrast": asdict(item.contrast),
        "measure": item.measure,
        "variants": [
            {
                "variant": held.variant,
                **held.estimate.to_dict(),
                "p": held.p,
                "p_holm": held.p_holm,
                "starred": held.starred,
            }
            for held in item.held
        ],
        "least_favourable": item.least_favourable,
        "sign_holds": item.signs,
        "star_holds": item.stars,
        "star_against": item.against,
        "sentence": item.sentence,
    }


def _comparison(item: Comparison) -> dict[str, Any]:
    return {
        "first": item.first,
        "second": item.second,
        "suite": item.suite,
        "variant": item.variant,
        "n": item.n,
        "accuracy_difference": item.accuracy_difference.to_dict(),
        "p": item.p,
        "p_holm": item.p_holm,
        "flip_rate": item.flip_rate.to_dict(),
        "vote_shift": item.vote_shift.to_dict(),
        "rank_flip": item.rank_flip.to_dict(),
        "moved": {"p": item.shift_p, "p_holm": item.shift_p_holm, "by_scores": item.by_scores},
        "detectable_vote_shift": item.seen.shift,
        "detectable_score_drift": item.seen.drift,
        "own_noise_flip_rate": item.noise,
        "transitions": {before: dict(row) for before, row in item.transitions.items()},
        "changes": [_change(change) for change in item.changes],
        "verified_f1": None if item.verified is None else _change(item.verified),
        "needed": item.needed,
        "sentence": item.sentence,
        "advice": item.advice,
    }


def write_json(report: Report, path: Path) -> None:
    """Write the report as ASCII JSON. Raises SettingsError if it cannot be written."""
    write_atomically(path, json.dumps(report_to_dict(report), ensure_ascii=True, indent=1, allow_nan=False) + "\n")
