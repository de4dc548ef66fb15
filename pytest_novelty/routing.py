"""Who audits whom: of the command line, the judge's file and the ini file, the first that has a row for the judge."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_novelty.auditing import AUDITED_BY, is_by_words
from pytest_novelty.errors import NoveltyError, Problems, SettingsError, UnknownNameError, nearest
from pytest_novelty.judges.base import Judge
from pytest_novelty.judges.families import FAMILIES, declared_family, family_of, is_kin
from pytest_novelty.judges.registry import Resolver, is_known_without_conftest
from pytest_novelty.judges.routes import EVERY, ITSELF, OPTION, OTHERS, Route, read_route
from pytest_novelty.settings import Settings


class Routing(NamedTuple):
    """``routes``: the rows that count for a judge, by its name; the default is for a judge that is not there. ``idle``: rows and
    tables that are for no judge of the run, in words.
    """

    routes: Mapping[str, tuple[Route, ...]]
    idle: tuple[str, ...]


def find_routes(settings: Settings, judges: Sequence[Judge], registered: Mapping[str, object]) -> Routing:
    """The rows for each judge. Raises SettingsError for a row that cannot be read, UnknownNameError for a family that is neither
    known nor that of a judge of the run or of a registered one. A table of the ini file is for all runs of a project: there
    such a family is announced, unless it is nearly a known one.
    """
    ini = settings.ini
    source = f"novelty_auditor in {ini.name if ini else 'the ini file'}"
    base = ini.parent if ini else settings.base
    of_option = [read_route(text, OPTION, settings.base, registered) for text in settings.auditors]
    of_ini = [read_route(text, source, base, registered) for text in settings.auditors_of_ini]
    of_files = [judge.routes for judge in judges]
    families = sorted({family for judge in judges if (family := family_of(judge))})
    declared = {family for judge in registered.values() if (family := declared_family(judge))}
    known = {*FAMILIES, *families, *declared}
    for route in (*of_option, *(route for rows in of_files for route in rows)):
        _check_family(route, known)
    strangers = [route for route in of_ini if not _is_known(route, known)]
    for route in strangers:
        if nearest(route.family, sorted(known)):
            _check_family(route, known)
    routes = {}
    for judge in judges:
        for rows in (of_option, judge.routes, of_ini):
            if found := rows_for(judge, rows):
                routes[judge.name] = found
                break
    of_strangers = (
        f"{route.source} has {route.text}, and {route.family} is no known family, nor that of a judge of this run"
        for route in strangers
    )
    known_rows = [route for route in of_ini if route not in strangers]
    return Routing(routes, (*of_strangers, *_idle(judges, families, of_option, known_rows)))


def rows_for(judge: Judge, rows: Iterable[Route]) -> tuple[Route, ...]:
    """The rows of a table that are for a judge: those of its family, else those for all others; then those for every judge."""
    rows = list(rows)
    own = [route for route in rows if _names(route, judge)]
    others = [route for route in rows if route.family == OTHERS]
    return (*(own or others), *(route for route in rows if route.family == EVERY))


def choose_panel(judge: Judge, auditors: Sequence[tuple[Route, Judge]], *, own_family: bool) -> tuple[Judge, ...]:
    """The auditors of a judge, each once: without those of its own family, unless ``own_family``. Raises SettingsError if a row
    that is for its family names one of them, or if there is none left.
    """
    kin = [] if own_family else [auditor for _, auditor in auditors if is_barred(judge, auditor)]
    refused = [(route, auditor) for route, auditor in auditors if _names(route, judge) and auditor in kin]
    chosen = {auditor.name: auditor for _, auditor in auditors if auditor not in kin}
    if chosen and not refused:
        return tuple(chosen.values())
    names = ", ".join(auditor.name for _, auditor in (refused or auditors))
    told = f" ({family})" if (family := family_of(judge)) else ""
    route = (refused or auditors)[0][0]
    says = f", as {route.source} says" if route.source != OPTION else f", as {route.text} says" if refused else ""
    raise SettingsError(
        f"the judge {judge.name!r} would be audited by its own family{told}: {names}{says}",
        hint="Name an auditor of another family, or say --novelty-own-family"
        if refused
        else "Name an auditor of another family beside it, or say --novelty-own-family",
        path=route.path,
        line=route.line,
    )


def choose_panels(
    judges: Mapping[str, Judge], rows: Mapping[str, Sequence[tuple[Route, Judge]]], *, own_family: bool
) -> tuple[dict[str, tuple[Judge, ...]], dict[str, SettingsError]]:
    """The panels of all judges, and the refusals by judge: one counts only if there is something of the judge to audit."""
    chosen: dict[str, tuple[Judge, ...]] = {}
    refused: dict[str, SettingsError] = {}
    for name, auditors in rows.items():
        try:
            chosen[name] = choose_panel(judges[name], auditors, own_family=own_family)
        except SettingsError as error:
            refused[name] = error
    return chosen, refused


def tell_left_out(judge: Judge, auditors: Sequence[tuple[Route, Judge]], *, own_family: bool) -> str:
    """Who of the auditors is left out of the judge's panel for being of its family, in words; empty where nobody is."""
    names = [] if own_family else list(dict.fromkeys(other.name for _, other in auditors if is_barred(judge, other)))
    if not names:
        return ""
    family = family_of(judge)
    told = f" ({family})" if family else ""
    return (
        f"{' and '.join(names)} {'does' if len(names) == 1 else 'do'} not audit {judge.name}: of its own family{told}, "
        "which --novelty-own-family would allow"
    )


def check_auditor(auditor: Judge) -> None:
    """Raises SettingsError for a judge that cannot be asked about reasons."""
    if not auditor.judges(AUDITED_BY):
        raise SettingsError(
            f"the auditor {auditor.name!r} does not judge {AUDITED_BY}",
            hint=f"It declares protocols: {', '.join(auditor.traits.protocols or ())}",
        )


def check_routes(judge: Judge, resolver: Resolver) -> list[str]:
    """Whether the auditors that a judge's file names can audit it, as if it were the only judge of a run; what cannot be told
    without the conftest of a project is not looked at. The names of those that audit it. Raises SettingsError, JudgeError.
    """
    problems = Problems()
    known = {*FAMILIES, family_of(judge)}
    found: list[tuple[Route, Judge]] = []
    for route in judge.routes:
        with problems.noted():
            _check_family(route, known)
            if is_known_without_conftest(route.auditor):
                auditor = resolve_route(route, resolver.resolve)
                check_auditor(auditor)
                found.append((route, auditor))
    own = rows_for(judge, (route for route, _ in found))
    panel: tuple[Judge, ...] = ()
    if own:
        with problems.noted():
            panel = choose_panel(judge, [item for item in found if item[0] in own], own_family=False)
    problems.raise_any()
    return [auditor.name for auditor in panel]


def resolve_route(route: Route, resolve: Callable[..., Judge]) -> Judge:
    """The judge that a row names. Raises NoveltyError that tells where the row stands."""
    try:
        return resolve(route.auditor, route.base)
    except NoveltyError as error:
        if route.path is not None and error.path is None:
            error.path, error.line = route.path, route.line
        elif route.source != OPTION:  # the file that is wrong is another than the one that names it
            error.message = f"{error.message} ({route.source} names it)"
        raise


def _names(route: Route, judge: Judge) -> bool:
    return route.family == ITSELF or (route.family not in (EVERY, OTHERS) and route.family == family_of(judge))


def is_barred(judge: Judge, auditor: Judge) -> bool:
    """It may audit the judge only where that is said to be allowed; the auditor that compares words is nobody's kin."""
    return not is_by_words(auditor) and is_kin(judge, auditor)


def _is_known(route: Route, families: Container[str]) -> bool:
    return route.family in (EVERY, OTHERS, ITSELF) or route.family in families


def _check_family(route: Route, families: Collection[str]) -> None:
    if _is_known(route, families):
        return
    raise UnknownNameError(
        f"family of models in {route.source}:",
        route.family,
        filter(None, families),
        also="A judge may declare a family of its own; * is for all others, and a judge that is named with = is written *=JUDGE",
        path=route.path,
        line=route.line,
    )


def _idle(
    judges: Sequence[Judge], families: Sequence[str], of_option: Sequence[Route], of_ini: Sequence[Route]
) -> Iterable[str]:
    """Rows of the command line one by one: somebody has just written them. A table of a file is for many runs."""
    known = f"the families of this run's judges: {', '.join(families) or 'none is known'}"
    for route in of_option:
        if not any(route in rows_for(judge, of_option) for judge in judges):
            yield f"{route.source} {route.text} is for no judge of this run ({known})"
    if of_ini and not any(rows_for(judge, of_ini) for judge in judges):
        rows = ", ".join(route.text for route in of_ini)
        yield f"{of_ini[0].source} is for no judge of this run: {rows} ({known})"
    for judge in judges:
        if judge.routes and not rows_for(judge, judge.routes):
            named = ", ".join(dict.fromkeys(route.family for route in judge.routes))
            yield f"{judge.routes[0].source} is not for {judge.name} (family {family_of(judge)}): it names {named}"
