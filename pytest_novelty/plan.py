"""What a run will do: judges, suites, variants and gates resolved from the settings, and the cases they make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pytest_novelty.applicability import Content, ignored_axes, look_at_content, reason_to_skip
from pytest_novelty.auditing import AUDIT, AUDITED_BY, WEAK, cites, is_by_words
from pytest_novelty.calls import Case
from pytest_novelty.errors import SettingsError, UnknownNameError
from pytest_novelty.feasibility import cannot_measure, cannot_pass, size_of
from pytest_novelty.gates import (
    DEFAULT_STABILITY_GATE,
    Gate,
    check_option_gates,
    gates_for,
    gates_stability,
    parse_gate,
)
from pytest_novelty.judges.base import Judge, share_rates
from pytest_novelty.judges.registry import Resolver
from pytest_novelty.judges.routes import Route
from pytest_novelty.looks import SampleRange, level_of
from pytest_novelty.model import REFERENCE, Instance, Suite, Variant
from pytest_novelty.paying import check_price, default_suites
from pytest_novelty.profiles import DEFAULT, MIXED, check_profile
from pytest_novelty.prompts import Prompt, resolve_prompt
from pytest_novelty.routing import check_auditor, choose_panels, find_routes, resolve_route, tell_left_out
from pytest_novelty.sampling import grow_sample, sample_instances
from pytest_novelty.settings import Settings
from pytest_novelty.suites import embedded_suites, resolve_suite
from pytest_novelty.variants import check_content, with_options


@dataclass(frozen=True)
class SuitePlan:
    """One suite as this run uses it: the variants and instances chosen, with their axes as the options change them.

    ``variants`` has the reference first, and those that are derived from its calls, too.
    """

    suite: Suite
    variants: tuple[Variant, ...]
    instances: tuple[Instance, ...]
    gates: tuple[Gate, ...]
    looks: tuple[int, ...] = ()
    """How many of the instances each planned look has; empty without a range of samples."""
    look: int | None = None
    """The look at which the run stopped, from 1; ``instances`` are then those of it."""
    without_stability_gate: str = ""
    """Why a run with variants is not held to the default stability gate: no outcome of it could pass."""

    @property
    def level(self) -> float:
        """Of the intervals."""
        return level_of(self.looks)

    def look_of(self, instance: str) -> int:
        """The number of the look to which an instance belongs, from 1; 1 where there is one look."""
        place = self._places[instance]
        return next((number for number, size in enumerate(self.looks, 1) if place < size), 1)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {instance.id: place for place, instance in enumerate(self.instances)}

    @property
    def sampled(self) -> bool:
        return len(self.instances) < len(self.suite.instances)

    @cached_property
    def by_id(self) -> dict[str, Instance]:
        return {instance.id: instance for instance in self.suite.instances}

    @property
    def reference(self) -> Variant:
        return next(variant for variant in self.variants if variant.name == REFERENCE)

    @property
    def derived(self) -> tuple[Variant, ...]:
        """The variants that make no cases: what they would ask is among the reference's calls."""
        return tuple(variant for variant in self.variants if variant.is_derived(self.reference))

    @cached_property
    def content(self) -> dict[str, Content]:
        """What the instances make of each variant."""
        return {
            variant.name: look_at_content(self.suite, self.instances, variant, self.reference)
            for variant in self.variants
        }

    def problem(self, gate: Gate, *, by_point: bool = False) -> str | None:
        """Why no outcome of this run could pass the gate; None if one could."""
        compares = gates_stability(gate)
        if gate.over:
            asked = [variant for variant in self.variants if not compares or variant.name != REFERENCE]
            asked = [variant for variant in asked if gate.entry.votes == 1 or variant not in self.derived]
            if not asked:
                return f"{gate.text}: no variant is asked"
        else:
            asked = [variant for variant in self.variants if variant.name == gate.variant]
            if not asked:
                return None
            if compares and gate.entry.votes > 1 and asked[0] in self.derived:
                return (
                    f"{gate.text}: the votes of {gate.variant} are the reference's own, there is no noise between them"
                )
        sides = [(variant, self.reference) if compares else (variant,) for variant in asked]
        problems = [
            cannot_measure(gate, min(v.axes.votes for v in pair), all(v.axes.orders == "both" for v in pair))
            for pair in sides
        ]
        if all(problems):
            return problems[0]
        return cannot_pass(gate, *size_of(gate, self.suite, self.instances), by_point=by_point, level=self.level)


@dataclass
class Plan:
    """A run's judges and suites. Suites that marks name are added while tests are collected."""

    settings: Settings
    judges: tuple[Judge, ...]
    known_suites: Mapping[str, Path]
    suites: dict[str, SuitePlan] = field(default_factory=dict)
    prompts: dict[str, Prompt] = field(default_factory=dict)
    skipped: dict[tuple[str, str, str], str] = field(default_factory=dict)
    panels: Mapping[str, tuple[Judge, ...]] = field(default_factory=dict)
    """Auditors by the judge that they audit, first the one whose word counts; a judge not there is audited by its words."""
    routed: Mapping[str, tuple[Route, ...]] = field(default_factory=dict)
    """The rows that say so, by judge."""
    idle: tuple[str, ...] = ()
    """What says who audits whom, and is for no judge of the run."""
    kin: Mapping[str, str] = field(default_factory=dict)
    """Who is named and left out of a judge's panel, in words, by the judge."""
    _refused: Mapping[str, SettingsError] = field(default_factory=dict)

    def add_suite(self, named: str | Suite, variants: Sequence[str] | None = None) -> SuitePlan:
        """Resolve a suite by name or path; a suite added before is extended by the variants. Raises NoveltyError."""
        suite = resolve_suite(named, self.known_suites, self.settings.base) if isinstance(named, str) else named
        suite = self._profiled(suite)
        present = self.suites.get(suite.name)
        if present is not None and present.suite.digest != suite.digest:
            first, second = (item.extension or item.path for item in (present.suite, suite))
            raise SettingsError(
                f"two suites are called {suite.name!r}: {first} and {second}",
                hint="Rename one of them"
                if suite.extension is None
                else f"Give {suite.extension.name} a name of its own",
            )
        chosen = self._choose_variants(suite, variants)
        if present is not None:
            chosen = tuple({variant.name: variant for variant in (*present.variants, *chosen)}.values())
        wanted = self.option_variants if variants is None else tuple(variants)
        check_content(suite, [variant for variant in chosen if variant.name in wanted])
        looks: tuple[int, ...] = ()
        if isinstance(self.settings.sample, SampleRange):
            looks = self.settings.sample.sizes(len(suite.instances))
            instances = grow_sample(suite, looks, self.settings.seed)
        else:
            instances = sample_instances(suite, self.settings.sample, self.settings.seed)
        gates = gates_for(suite, [parse_gate(text) for text in self.settings.gates])
        if self.settings.probe:  # too few instances for the suite's gates; it is the comparison that decides
            gates = ()
        planned = _with_stability_gate(SuitePlan(suite, chosen, instances, gates, looks))
        for judge in filter(lambda judge: judge.judges(suite.protocol), self.judges):
            if cites(suite.protocol):  # an auditor's own suite has nothing to audit
                if judge.name in self._refused:
                    raise self._refused[judge.name]
                for auditor in self.panels.get(judge.name, ()):
                    check_price(auditor, self.settings)
            if judge.traits.uses_prompt:
                for variant in chosen:
                    self._load_prompt(judge.prompt_of(suite.protocol, variant), suite)
        self.suites[suite.name] = planned
        return planned

    def _profiled(self, suite: Suite) -> Suite:
        """The suite with the profile that the options choose."""
        profile = self.settings.profile
        if profile is None:
            return suite
        try:
            check_profile(profile, suite.protocol)
        except SettingsError as error:
            raise SettingsError(
                f"the suite {suite.name} cannot be scored {profile}: {error.message}",
                hint=f"{error.hint}. Choose suites with --novelty-suite",
            ) from None
        return replace(suite, profile=profile)

    @property
    def profile(self) -> str:
        """That of all suites of the run; MIXED where they have several."""
        found = {planned.suite.profile for planned in self.suites.values()} or {self.settings.profile or DEFAULT}
        return found.pop() if len(found) == 1 else MIXED

    def set_panels(self, panels: Mapping[str, Sequence[tuple[Route, Judge]]], idle: Sequence[str]) -> None:
        """Who audits each judge, of the auditors that its rows name, and what they are asked with. Raises SettingsError,
        UnknownNameError.
        """
        judges = {judge.name: judge for judge in self.judges}
        for _, auditor in (item for rows in panels.values() for item in rows):
            check_auditor(auditor)
        own = self.settings.own_family
        chosen, self._refused = choose_panels(judges, panels, own_family=own)
        self.kin = {name: tell_left_out(judges[name], rows, own_family=own) for name, rows in panels.items()}
        self.panels = {name: panel for name, panel in chosen.items() if not all(map(is_by_words, panel))}
        self.routed = {name: tuple(route for route, _ in rows) for name, rows in panels.items()}
        self.idle = tuple(idle)
        for auditor in self.all_auditors:
            if auditor.traits.uses_prompt:
                name = auditor.prompt_of(AUDITED_BY, AUDIT)
                self.prompts[name] = resolve_prompt(name, self.settings.base, AUDITED_BY)

    @property
    def audited(self) -> tuple[str, ...]:
        """The judges whose answers have statements to audit in a suite of the run."""
        citing = [planned.suite.protocol for planned in self.suites.values() if cites(planned.suite.protocol)]
        return tuple(judge.name for judge in self.judges if any(map(judge.judges, citing)))

    @property
    def asks_auditors(self) -> bool:
        """Of any judge that is audited, others than the one that compares words."""
        return not self.panels.keys().isdisjoint(self.audited)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Who is named as an auditor and left out, where the judge is audited at all."""
        return tuple(self.kin[name] for name in self.audited if self.kin.get(name))

    @property
    def all_auditors(self) -> tuple[Judge, ...]:
        """Every auditor that is asked, by name once."""
        return tuple({item.name: item for panel in self.panels.values() for item in panel}.values())

    def auditors_of(self, judge: str) -> tuple[str, ...]:
        """The names of those who audit a judge; the word of the first counts."""
        return tuple(auditor.name for auditor in self.panels.get(judge, ())) or (WEAK,)

    def _choose_variants(self, suite: Suite, named: Sequence[str] | None) -> tuple[Variant, ...]:
        """The reference first, then the chosen ones in the suite's order.

        A mark's variants must all exist; those of the options choose from each suite what it has.
        """
        wanted = self.option_variants if named is None else tuple(named)
        names = set(suite.variants) if "all" in wanted else {REFERENCE, *wanted}
        if self.settings.probe:
            names = {REFERENCE}
        for name in sorted(names - set(suite.variants)):
            if named is not None:
                raise UnknownNameError(f"variant of the suite {suite.name}", name, suite.variants)
        available = with_options(suite, self.settings.votes, self.settings.orders)
        return tuple(variant for name, variant in available.items() if name in names)

    def _load_prompt(self, name: str, suite: Suite) -> None:
        if name not in self.prompts:
            try:
                self.prompts[name] = resolve_prompt(name, suite.folder, suite.protocol)
            except UnknownNameError:
                self.prompts[name] = resolve_prompt(name, self.settings.base, suite.protocol)

    @property
    def option_variants(self) -> tuple[str, ...]:
        """The variants that the options name, those that their gates rest on among them."""
        return (*self.settings.variants, *(parse_gate(text).variant for text in self.settings.gates))

    def pairs(self, planned: SuitePlan) -> Iterator[tuple[Judge, Variant]]:
        """The judges and variants that a suite is run with; what does not apply is noted in ``skipped``.

        Derived variants are neither: they are run with the reference.
        """
        for judge in self.judges:
            if not judge.judges(planned.suite.protocol):
                self.skipped[judge.name, planned.suite.name, ""] = f"does not judge {planned.suite.protocol}"
                continue
            for variant in planned.variants:
                if variant.name == REFERENCE:
                    yield judge, variant
                elif reason := reason_to_skip(judge, variant, planned.content[variant.name], planned.suite.protocol):
                    self.skipped[judge.name, planned.suite.name, variant.name] = reason
                elif not variant.is_derived(planned.reference):
                    yield judge, variant

    @property
    def nobody_judges(self) -> bool:
        """There are suites, and none that a judge of the run can judge."""
        return bool(self.suites) and not any(True for planned in self.suites.values() for _ in self.pairs(planned))

    def cases_of(self, planned: SuitePlan) -> Iterator[Case]:
        """All judges and variants of one instance before the next, so that a run cut short leaves paired data."""
        pairs = list(self.pairs(planned))
        for instance in planned.instances:
            for judge, variant in pairs:
                yield Case(judge, planned.suite, variant, instance)

    def cases(self) -> Iterator[Case]:
        for planned in self.suites.values():
            yield from self.cases_of(planned)

    def at_look(self, suite: str, look: int) -> Plan:
        """The plan as if the suite ended with that look."""
        planned = self.suites[suite]
        cut = replace(planned, instances=planned.instances[: planned.looks[look - 1]], look=look)
        return replace(self, suites={**self.suites, suite: cut})

    def only(self, suite: str) -> Plan:
        """The plan of one suite."""
        return replace(self, suites={suite: self.suites[suite]})

    def check_options(self) -> None:
        """Every gate and variant that the options name fits at least one suite. Raises NoveltyError."""
        suites = [planned.suite for planned in self.suites.values()]
        check_option_gates([parse_gate(text) for text in self.settings.gates], suites)
        known = {name for suite in suites for name in suite.variants}
        for name in self.settings.variants:
            if name != "all" and name not in known:
                raise UnknownNameError(
                    "variant", name, known, also="A file that says extends: adds variants to a suite"
                )

    def announcements(self) -> list[str]:
        """Gates that no outcome could pass at the planned n, said before anything is run."""
        found = []
        for planned in self.suites.values():
            for gate in planned.gates:
                if problem := planned.problem(gate, by_point=self.settings.by_point):
                    found.append(f"{planned.suite.name}: {problem}")
        return found


def _with_stability_gate(planned: SuitePlan) -> SuitePlan:
    """A run with variants holds a judge to stability, if the suite and the options do not and this run can decide it."""
    asked = [variant for variant in planned.variants if variant.changed and variant not in planned.derived]
    if not asked or any(gates_stability(gate) for gate in planned.gates):
        return planned
    gate = parse_gate(DEFAULT_STABILITY_GATE)
    if problem := planned.problem(gate):
        return replace(planned, without_stability_gate=problem)
    return replace(planned, gates=(*planned.gates, gate))


def make_plan(
    settings: Settings,
    registered_judges: Mapping[str, object],
    registered_suites: Mapping[str, Path],
    *,
    with_suites: bool,
    also: str = "",
) -> Plan:
    """Resolve judges and, unless only marked tests run, suites. Raises NoveltyError for anything that cannot be found."""
    if settings.offline and settings.refresh:
        raise SettingsError(
            "--novelty-offline answers from the store only, and --novelty-refresh takes nothing from it",
            hint="Leave one of them out",
        )
    resolver = Resolver(registered_judges, settings.base, also)
    named = {judge.name: judge for judge in map(resolver.resolve, settings.judges)}
    routing = find_routes(settings, list(named.values()), registered_judges)
    auditors = {
        judge: [(route, resolve_route(route, resolver.resolve).name) for route in rows]
        for judge, rows in routing.routes.items()
    }
    every = share_rates(resolver.judges)
    by_name = {judge.name: judge for judge in every}
    judges = tuple(by_name[name] for name in named)
    for judge in judges:
        check_price(judge, settings)
    known = {**embedded_suites(), **registered_suites}
    for judge in every:
        ignored_axes(judge)  # what it declares is checked before anything is asked
    plan = Plan(settings, judges, known)
    plan.set_panels(
        {judge: [(route, by_name[name]) for route, name in rows] for judge, rows in auditors.items()}, routing.idle
    )
    known_judges = [judge.name for judge in judges]
    if settings.reference is not None and settings.reference not in known_judges:
        raise UnknownNameError(
            "reference judge", settings.reference, known_judges, also="It is one of the judges of the run"
        )
    for text in settings.gates:
        parse_gate(text)
    if with_suites:
        names = settings.suites or default_suites(every, settings, embedded_suites())
        for name in names:
            plan.add_suite(name, None)
        plan.check_options()
    return plan
