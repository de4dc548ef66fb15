"""The vocabulary as frozen dataclasses. No I/O, no third-party import, nothing that knows pytest.

What exists once a call or once a case is a NamedTuple instead: as immutable, and made in a tenth of the time.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from pytest_novelty.verdicts import Conclusion as Conclusion
from pytest_novelty.verdicts import Document as Document
from pytest_novelty.verdicts import Failure as Failure
from pytest_novelty.verdicts import Ground as Ground
from pytest_novelty.verdicts import Group as Group
from pytest_novelty.verdicts import Verdict as Verdict

Json: TypeAlias = Any
"""A value that ``json`` can encode."""

# --- labels -------------------------------------------------------------------------------------------------

NOVEL: Final = "novel"
NOT_NOVEL: Final = "not novel"
TIE: Final = "tie"
"""A vote that declares a tie, or an outcome whose sides are equal."""
ABSTAINED: Final = "abstained"
INVALID: Final = "invalid"
INCOMPLETE: Final = "incomplete"

# --- what an outcome is against its gold label --------------------------------------------------------------

CORRECT: Final = "correct"
WRONG: Final = "wrong"
UNLABELLED: Final = "unlabelled"

# --- the one status of a call -------------------------------------------------------------------------------

OK: Final = "ok"
UNPARSED: Final = "unparsed"
SCHEMA_VIOLATION: Final = "schema violation"
REFUSED: Final = "refused"
TRUNCATED: Final = "truncated"
EXCEEDED: Final = "(exceeded)"
"""In the settings of a record, behind a limit that the server did not keep."""
TIMEOUT: Final = "timeout"
ERROR: Final = "error"
STATUSES: Final = (OK, UNPARSED, SCHEMA_VIOLATION, REFUSED, TRUNCATED, TIMEOUT, ERROR)

AB: Final = "ab"
BA: Final = "ba"

REFERENCE: Final = "reference"
"""The name of the variant that a suite's defaults describe."""

LATER: Final = "~"
"""In a record's key, before the name of its generation: a later answer to the same question, which no run reads."""

# --- suites -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Work:
    """An earlier work that an idea is to be seen against."""

    title: str
    text: str
    year: int | None = None


@dataclass(frozen=True, slots=True)
class Idea:
    """One research idea as a suite holds it, or a paper: its abstract is the ``text``. A judge sees a :class:`ShownIdea`, never
    this.
    """

    id: str
    title: str
    text: str
    area: str | None = None
    year: int | None = None
    source: str | None = None
    generator: str | None = None
    system: str | None = None
    renderings: Mapping[str, str] = field(default_factory=dict)
    related_work: tuple[Work, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    full_text: str = ""
    """The whole proposal or paper, with headings: what granularities other than the abstract (``text``) show."""
    introduction: str = ""
    """The introduction where the suite gives it apart; else it is looked for in the full text."""


@dataclass(frozen=True, slots=True)
class Instance:
    """One benchmark item. ``gold`` is a label of its protocol (pairwise: an idea's id), or None if unlabelled. ``ideas`` are the
    papers of protocols that compare papers, in one ``dimension``; ``conclusion`` is what is to be audited.
    """

    id: str
    ideas: tuple[Idea, ...]
    gold: str | None = None
    as_of: str | None = None
    strata: Mapping[str, str] = field(default_factory=dict)
    labels: tuple[Mapping[str, Json], ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict)
    line: int | None = None
    dimension: str = ""
    conclusion: Conclusion | None = None


@dataclass(frozen=True, slots=True)
class Axes:
    """What may differ between two variants of a suite.

    ``votes`` counts votes per order. ``related_work`` is False, True (all) or how many works an idea shows. ``granularity`` is
    how much of the rendering ``text`` is shown: ``abstract``, ``abstract+introduction`` or ``full``.
    """

    prompt: str
    votes: int = 3
    orders: str = "both"
    related_work: bool | int = False
    format: str = "text"
    params: Mapping[str, Json] = field(default_factory=dict)
    effort: str | None = None
    temperature: float | None = None
    granularity: str = "abstract"


@dataclass(frozen=True, slots=True)
class Variant:
    """A named change of ``changed`` axes with all else as in the reference."""

    name: str
    axes: Axes
    changed: tuple[str, ...] = ()

    def is_derived(self, reference: Variant) -> bool:
        """Its votes are some of the reference's: it has no cases and no calls of its own, it is computed from theirs.

        So it is for fewer votes, or one order of two, and nothing else; more of either take calls.
        """
        fewer = self.axes.votes <= reference.axes.votes and self.axes.orders in ("ab", reference.axes.orders)
        return bool(self.changed) and set(self.changed) <= {"votes", "orders"} and fewer


@dataclass(frozen=True, slots=True)
class Contrast:
    """A claim about two origins of ideas: those whose ``field`` is ``ours`` are more novel than those where it is ``base``.

    ``field`` is a field of :class:`Idea`: ``system``, ``generator`` or ``source``.
    """

    field: str
    ours: str
    base: str

    def is_ours(self, idea: Idea) -> bool | None:
        """Which side an idea is on; None if it is on neither."""
        value = getattr(idea, self.field)
        return True if value == self.ours else False if value == self.base else None


@dataclass(frozen=True, slots=True)
class Suite:
    """A validated file of instances of one protocol.

    ``digest`` covers every byte it was loaded from; paths inside the suite (its prompts) are relative to ``folder``.
    ``metadata`` is what the suite says of how it was made, such as the design of its pairs. ``extension`` is the file that
    extends the suite at ``path``, if one does.
    """

    name: str
    version: str
    protocol: str
    label_kind: str
    instances: tuple[Instance, ...]
    variants: Mapping[str, Variant]
    digest: str
    path: Path
    folder: Path = Path()
    title: str = ""
    licence: str = ""
    provenance: str = ""
    gates: tuple[str, ...] = ()
    cluster: str | None = None
    blocklist: Mapping[str, str] = field(default_factory=dict)
    """Instances that are left out (they are not in ``instances``), with the reason of each."""
    profile: str = "default"
    contrast: Contrast | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    extension: Path | None = None

    @property
    def labelled(self) -> bool:
        return self.label_kind != "none"


# --- requests and answers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownIdea:
    """What a judge may know of an idea: the chosen rendering and, if the variant shows them, earlier works."""

    title: str
    text: str
    related_work: tuple[Work, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """What a judge is asked once. Everything in it is what the judge may use; nothing in it gives the label away.

    Attributes
    ----------
    protocol: ``"pointwise"``, ``"pairwise"``, ``"similarity"``, ``"grouping"`` or ``"entailment"``.
    instance_id: an opaque digest, the same for every vote, order and variant of one instance.
    ideas, papers: the ideas or papers in the order shown (pairwise, similarity: the first is "A").
    dimension: ``"task"``, ``"problem"`` or ``"method"``, where papers are compared; else empty.
    conclusion: what is to be audited (entailment); ``evidence``, ``evidence_a``, ``evidence_b`` and ``reason`` are of it.
    as_of: ISO date; novelty is relative to what was known then. None if the suite gives no date.
    variant, order, sample: which variant, ``"ab"``/``"ba"``/None, and the number of this vote (0-based).
    seed: differs between votes and is the same in every run and process.
    params, effort, temperature: the variant's settings for judges that have such knobs.
    """

    protocol: str
    instance_id: str
    ideas: tuple[ShownIdea, ...]
    as_of: str | None
    variant: str
    order: str | None
    sample: int
    seed: int
    effort: str | None = None
    temperature: float | None = None
    _messages: tuple[tuple[str, str], ...] = ()
    _schema: Mapping[str, Json] = field(default_factory=dict)
    _params: Mapping[str, Json] = field(default_factory=dict)
    dimension: str = ""
    conclusion: Conclusion | None = None

    @property
    def messages(self) -> list[dict[str, str]]:
        """The rendered prompt as chat messages (a fresh list); empty for a judge that declares ``uses_prompt = False``."""
        return [{"role": role, "content": content} for role, content in self._messages]

    @property
    def schema(self) -> dict[str, Json]:
        """JSON Schema of the answer (a fresh copy)."""
        return copy.deepcopy(dict(self._schema))

    @property
    def params(self) -> dict[str, Json]:
        """The variant's ``params`` (a fresh copy)."""
        return copy.deepcopy(dict(self._params))

    @property
    def idea(self) -> ShownIdea:
        """The only idea of a pointwise request."""
        if len(self.ideas) != 1:
            raise AttributeError(f"a {self.protocol} request has {len(self.ideas)} ideas: use request.ideas")
        return self.ideas[0]

    @property
    def papers(self) -> tuple[ShownIdea, ...]:
        """The papers in the order shown, where papers are compared."""
        return self.ideas

    @property
    def evidence(self) -> tuple[str, ...]:
        """The spans of what is to be audited, one of each of two to ten papers; empty where nothing is."""
        return self.conclusion.evidence if self.conclusion else ()

    @property
    def evidence_a(self) -> str:
        """The first of two spans; empty where nothing is to be audited. Raises AttributeError where there are more."""
        return self.conclusion.one_of_two(0) if self.conclusion else ""

    @property
    def evidence_b(self) -> str:
        """The second of two spans; empty where nothing is to be audited. Raises AttributeError where there are more."""
        return self.conclusion.one_of_two(1) if self.conclusion else ""

    @property
    def reason(self) -> str:
        """The reason that is to be audited; empty where there is none."""
        return self.conclusion.reason if self.conclusion else ""

    @property
    def related_work(self) -> tuple[Work, ...]:
        """The earlier works of all ideas shown, each once, in the order shown."""
        return tuple(dict.fromkeys(work for idea in self.ideas for work in idea.related_work))


class Record(NamedTuple):
    """One call, as stored and exported. ``raw`` is the judge's answer as JSON (a string answer: a JSON string).

    ``tokens_in`` contains ``tokens_cached``, ``tokens_out`` contains ``tokens_reasoning``. ``settings``: how a model was asked.
    ``grounds``: what became of the evidence, as JSON (``grounding.write_grounds``).
    """

    key: str
    judge: str
    judge_version: str
    suite: str
    variant: str
    instance: str
    order: str | None
    sample: int
    seed: int
    status: str
    kind: str
    message: str
    raw: str
    label: str | None = None
    score: float | None = None
    abstained: bool = False
    reason: str = ""
    retrieved: tuple[Document, ...] | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    latency_s: float = 0.0
    retries: int = 0
    parts: str = ""
    created: str = ""
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    settings: str = ""
    grounds: str = ""


class Vote(NamedTuple):
    """One call's share of an outcome. ``label`` names an idea (not a position) in pairwise. ``grounds``: what became of the
    evidence of a positive verdict.
    """

    order: str | None
    sample: int
    status: str = OK
    kind: str = ""
    label: str | None = None
    score: float | None = None
    abstained: bool = False
    grounds: tuple[Ground, ...] = ()

    @property
    def valid(self) -> bool:
        """A vote for a label (a declared tie is one); neither a failure nor an abstention nor a score alone."""
        return self.label is not None


class Outcome(NamedTuple):
    """The aggregate over one instance's votes.

    ``label``: the winning label, or ``tie``, ``abstained``, ``incomplete``, ``invalid``; None if the judge only scores.
    ``result``: ``correct``, ``wrong``, ``tie``, ``abstained``, ``incomplete``, ``invalid`` or ``unlabelled``.
    ``score``: the mean score of the votes that carry one.
    """

    label: str | None
    result: str
    votes: tuple[Vote, ...]
    gold: str | None = None
    score: float | None = None
    reason: str = ""

    @property
    def correct(self) -> bool:
        return self.result == CORRECT

    @property
    def failures(self) -> tuple[Vote, ...]:
        return tuple(vote for vote in self.votes if vote.status != OK)

    @property
    def valid(self) -> bool:
        """Every planned vote came back as a valid verdict or, where allowed, as an abstention."""
        return bool(self.votes) and all(vote.status == OK for vote in self.votes)

    def tallies(self) -> dict[str, dict[str, dict[str, int]]]:
        """Per order (``-`` where a protocol has none): ``votes`` by label, ``failed`` calls by status.

        Votes are by idea id or ``novel``/``not novel``, with ``tie`` and ``abstained``; ``score`` for a score alone.
        """
        counts: dict[str, dict[str, dict[str, int]]] = {}
        for vote in self.votes:
            order = counts.setdefault(vote.order or "-", {"votes": {}, "failed": {}})
            name = vote.status if vote.status != OK else ABSTAINED if vote.abstained else vote.label or "score"
            kind = order["votes" if vote.status == OK else "failed"]
            kind[name] = kind.get(name, 0) + 1
        return counts
