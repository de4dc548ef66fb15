"""Golden files of a run under pytest: read before anything is asked, compared or written when all is known, by the controller."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_novelty._pytest.ids import slug
from pytest_novelty._pytest.probes import compare_with_store, evidence_of_probe, note_left_out
from pytest_novelty.errors import GoldenError, NoveltyError, SettingsError
from pytest_novelty.files import write_atomically
from pytest_novelty.golden import Golden, check_against, judged_all, make_golden, merge, read_text, write_text
from pytest_novelty.judges.registry import SHIPPED
from pytest_novelty.masking import make_mask
from pytest_novelty.model import REFERENCE
from pytest_novelty.protocols import PROTOCOLS

if TYPE_CHECKING:
    from syrupy.data import SnapshotCollection

    from pytest_novelty.drifting import Drift
    from pytest_novelty.judges.base import Judge
    from pytest_novelty.plan import Plan, SuitePlan
    from pytest_novelty.results import Report

FOLDER: Final = "golden"
_EXTENSION: Final = "txt"
_INSTALL: Final = "Install the extra: pip install 'pytest-novelty[golden]'"


class Goldens:
    """What the rootdir's ``golden`` folder holds of this run's judges and suites. Does nothing on workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.updates = bool(config.getoption("update_snapshots", False))
        self._folder = config.rootpath / FOLDER
        self._machinery: Any = None
        self._held: dict[Path, Golden | None] = {}
        self._known: frozenset[str] = frozenset()
        self.written: list[str] = []
        """What was said of the files."""

    def start(self, plan: Plan, known: Iterable[str] = ()) -> None:
        """Read the files of what is planned, so that one that cannot be read costs no call. ``known``: judges that conftests
        give. Raises NoveltyError.
        """
        self._known = frozenset(known) | set(SHIPPED)
        if self.updates and {"site-packages", "dist-packages"} & set(self._folder.parts):
            raise SettingsError(
                f"golden verdicts would be written into an installation, {self._folder}",
                hint="Run in a folder of your own, or give one with --rootdir",
            )
        if self.updates:
            _check_writable(self._folder)
        taken: dict[Path, str] = {}
        for planned, judge in _pairs(plan):
            self._recorded(planned, judge)
            what = f"{judge.name} on {planned.suite.name}"
            other = taken.setdefault(self._path(planned.suite.name, judge.name), what)
            if self.updates and other != what:
                raise SettingsError(
                    f"the golden verdicts of {what} and of {other} would be one file, "
                    f"{FOLDER}/{self._path(planned.suite.name, judge.name).name}",
                    hint="Give a judge or a suite another name",
                )

    def announce(self, plan: Plan) -> list[str]:
        """Lines for the header."""
        held = [self._path(planned.suite.name, judge.name) for planned, judge in _pairs(plan)]
        read = [(path, golden) for path in held if (golden := self._held.get(path)) is not None]
        what = "recorded anew" if self.updates else "compared with"
        return [f"novelty golden: {what} {FOLDER}/{path.name}, {len(golden.entries)} verdicts" for path, golden in read]

    def count(self, plan: Plan) -> int:
        """Comparisons that will be reported, as far as is known now."""
        return sum(
            self._path(planned.suite.name, judge.name).is_file()
            or bool(plan.settings.probe or self._stand_in(plan, planned, judge))
            for planned, judge in _pairs(plan)
        )

    def conclude(self, report: Report, generation: str, *, write: bool, unpaid: int = 0) -> bool:
        """Compare with what is recorded (for a probe's ``generation``, if no file is, with the store) and, if that is asked for
        and ``write``, record. ``unpaid``: cases that were skipped for the budget. False if a file could not be used.
        """
        from pytest_novelty.drifting import compare_all  # numpy: workers never need it

        found: list[Drift] = []
        complete = True
        for planned, judge in _pairs(report.plan):
            try:
                found += self._conclude(report, planned, judge, generation, write)
            except NoveltyError as error:
                self.written.append(f"ERROR: {error}")
                complete = False
        if generation:
            note_left_out(report, list(_pairs(report.plan)), unpaid)
        report.drifts += compare_all(found)
        return complete

    def _conclude(self, report: Report, planned: SuitePlan, judge: Judge, generation: str, write: bool) -> list[Drift]:
        from pytest_novelty.drifting import compare, not_recorded, nothing_found  # numpy: workers never need it

        path = self._path(planned.suite.name, judge.name)
        old = self._recorded(planned, judge)
        if old is None and not self.updates and not generation:
            other = self._stand_in(report.plan, planned, judge)
            return [] if other is None else [not_recorded(judge.name, planned.suite.name, *other)]
        if old is None and generation:
            return list(compare_with_store(report, planned, judge, generation))
        new = make_golden(report.plan, planned, judge, report.outcomes)
        if not new.entries:
            return [] if old is None else [nothing_found(judge.name, planned.suite.name, f"{FOLDER}/{path.name}")]
        if self.updates and write:
            self._record(path, planned, judge, old, new)
        elif self.updates:
            self.written.append(f"golden verdicts not written: the run was interrupted ({FOLDER}/{path.name})")
        if old is None:
            return []
        place = (judge.name, planned.suite.name, REFERENCE)
        usages = [r.usage for r in report.outcomes if (r.judge, r.suite, r.variant) == place]
        reused = sum(usage.reused for usage in usages)
        asked = sum(usage.made for usage in usages)
        evidence = evidence_of_probe(report, planned, judge, generation) if generation else None
        reuse = (reused, reused + asked)
        drift = compare(report.plan, planned, judge, old, new, f"{FOLDER}/{path.name}", reuse, evidence=evidence)
        if self.updates and write:
            whole = judged_all(new, planned.suite)
            drift = replace(drift, recorded=True, unremoved=() if whole else drift.removed)
        return [drift]

    def _path(self, suite: str, judge: str) -> Path:
        return self._folder / f"{slug(suite)}.{slug(judge)}.{_EXTENSION}"

    def _stand_in(self, plan: Plan, planned: SuitePlan, judge: Judge) -> tuple[str, str] | None:
        """(file, judge): verdicts of another judge of this kind on the suite, which may be this one under its former name."""
        if judge.name in SHIPPED:
            return None
        own = {self._path(planned.suite.name, each.name) for each in plan.judges}
        for path in sorted(self._folder.glob(f"{slug(planned.suite.name)}.*.{_EXTENSION}")):
            try:
                held = None if path in own else self._read(path, planned)
            except NoveltyError:  # not a file of this run
                continue
            if held is None or held.suite != planned.suite.name or held.is_of_model != (judge.asked is not None):
                continue
            if held.judge not in self._known:  # one that is there still was not renamed
                return f"{FOLDER}/{path.name}", held.judge
        return None

    def _recorded(self, planned: SuitePlan, judge: Judge) -> Golden | None:
        """What is recorded of a judge on a suite. Raises GoldenError for a file of others: names may share a file's."""
        path = self._path(planned.suite.name, judge.name)
        golden = self._read(path, planned)
        if golden is not None:
            self._check_owner(path, golden, planned.suite.name, judge.name)
            check_against(golden, planned, path)
        return golden

    def _check_owner(self, path: Path, golden: Golden, suite: str, judge: str) -> None:
        """The suite decides: the file of a judge that was renamed is renamed by hand, and then names its former judge."""
        if golden.suite != suite:
            raise GoldenError(
                f"has verdicts on the suite {golden.suite!r}, and is the file of {judge!r} on {suite!r}",
                path=path,
                line=2,
                hint="Give a judge or a suite another name; if the suite was renamed, remove the file and record it anew",
            )

    def _read(self, path: Path, planned: SuitePlan) -> Golden | None:
        if path not in self._held:
            self._held[path] = self._read_now(path, planned)
        return self._held[path]

    def _read_now(self, path: Path, planned: SuitePlan) -> Golden | None:
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise GoldenError("is no file, and has the name of golden verdicts", path=path, hint="Move it away")
            text = self._files().read_snapshot_data_from_location(
                snapshot_location=str(path), snapshot_name=path.stem, session_id=""
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise GoldenError(f"cannot be read: {error}", path=path) from None
        return None if text is None else read_text(text, path, PROTOCOLS[planned.suite.protocol])

    def _record(self, path: Path, planned: SuitePlan, judge: Judge, began: Golden | None, new: Golden) -> None:
        """Write the file as it is now with what this run found: another run may have written since this one began."""
        with _alone(path.parent):
            now = self._read_now(path, planned)
            if now is not None:
                self._check_owner(path, now, planned.suite.name, judge.name)
            golden = merge(now, new, planned.suite, began)
            self._write(path, golden, now, make_mask(secrets=judge.secrets))

    def _write(self, path: Path, golden: Golden, old: Golden | None, mask: Callable[[str], str]) -> None:
        from syrupy.data import Snapshot, SnapshotCollection

        files, text = self._files(), mask(write_text(golden))
        if old is not None and files.matches(serialized_data=files.serialize(text), snapshot_data=write_text(old)):
            self.written.append(f"golden verdicts unchanged: {FOLDER}/{path.name}")
            return
        collection = SnapshotCollection(location=str(path))
        collection.add(Snapshot(name=path.stem, data=files.serialize(text)))
        files.write_snapshot_collection(snapshot_collection=collection)
        self.written.append(f"golden verdicts written: {FOLDER}/{path.name} ({_what_changed(old, golden)})")

    def _files(self) -> Any:
        if self._machinery is None:
            self._machinery = _make_machinery()
        return self._machinery


def _pairs(plan: Plan) -> Iterator[tuple[SuitePlan, Judge]]:
    """Every suite with every judge that judges its reference."""
    for planned in plan.suites.values():
        yield from ((planned, judge) for judge in plan.judges if judge.judges(planned.suite.protocol))


def _check_writable(folder: Path) -> None:
    """Raise GoldenError if files can be written neither into the folder nor, where there is none, into the one that it would
    stand in. Tried rather than asked for: modes do not tell of a file system that is read only.
    """
    present = os.path.lexists(folder)
    try:
        with tempfile.TemporaryFile(dir=folder if present else folder.parent):
            pass
    except NotADirectoryError:
        raise GoldenError(
            "is no folder, and golden verdicts are written there", path=folder, hint="Move it away"
        ) from None
    except OSError as error:
        raise GoldenError(
            f"cannot be written: {error.strerror}", path=folder, hint="Leave out --snapshot-update, or make it writable"
        ) from None


def _what_changed(old: Golden | None, new: Golden) -> str:
    before, after = {} if old is None else old.entries, new.entries
    counts = {
        "added": len(set(after) - set(before)),
        "changed": sum(
            after[name]._replace(head={}) != before[name]._replace(head={}) for name in set(after) & set(before)
        ),
        "removed": len(set(before) - set(after)),
    }
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "head only"


def _make_machinery() -> Any:
    """The snapshot extension, one text file a snapshot. Raises SettingsError where syrupy is not installed."""
    try:
        from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
    except ImportError:
        raise SettingsError(
            f"the folder {FOLDER} has golden verdicts of this run, and syrupy, which reads them, is not installed",
            hint=_INSTALL,
        ) from None

    class GoldenFiles(SingleFileSnapshotExtension):
        """Used alone, on the controller: the snapshot fixture would want a file and a warning a case."""

        file_extension = _EXTENSION
        _write_mode = WriteMode.TEXT

        @classmethod
        def write_snapshot_collection(
            cls, *, snapshot_collection: SnapshotCollection, name_order: dict[str, int] | None = None
        ) -> None:
            """In one step, on the disk before it takes the old file's place: a killed run leaves the old one or the new one."""
            path = Path(snapshot_collection.location)
            for snapshot in snapshot_collection:
                write_atomically(path, str(snapshot.data), "utf-8", GoldenError)

    return GoldenFiles()


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One run at a time reads and writes the folder's files. Where a folder cannot be locked (Windows) two runs that end within
    the same milliseconds may still write one after the other.
    """
    try:
        import fcntl

        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except ImportError:
        yield
        return
    except OSError as error:
        raise GoldenError(f"cannot be written: {error.strerror}", path=folder) from None
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
