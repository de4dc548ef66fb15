"""The shell parts of examples/ci, run as they stand: in a project like the one that they expect, with ``lexical`` and a server."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_novelty._pytest.options import OPTIONS

from ..plugin.making import write_suite
from ..serving import Server, serving

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples" / "ci"
GITHUB = yaml.safe_load((RECIPES / "github" / "novelty.yml").read_text(encoding="utf-8"))
GITLAB = yaml.safe_load((RECIPES / "gitlab" / "novelty.gitlab-ci.yml").read_text(encoding="utf-8"))
INSTALL = "pip install -r novelty/requirements.txt"


@dataclass
class Project:
    """A folder with ``novelty/judge.yaml``, ``suite`` and ``cassette.jsonl``; steps run in it as a runner would."""

    path: Path
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, script: str, *, strict: str = "-e", **more: str) -> tuple[int, str]:
        """(status, output) of a step. ``more`` are variables of the job."""
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "TOX_", "GITHUB_", "CI"))
        }
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", strict, "-c", script],
            cwd=self.path,
            env={
                **inherited,
                **self.variables,
                **more,
                "PATH": path,
                "GITHUB_STEP_SUMMARY": str(self.path / "summary.md"),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        return done.returncode, done.stdout

    def read(self, name: str) -> Any:
        return json.loads((self.path / name).read_text())

    def record(self, judge: str) -> None:
        """The cassette of a judge, as the README says."""
        options = f"--novelty-judge={judge} --novelty-suite=$SUITE -q"
        status, out = self.run(f"rm -rf .novelty; pytest {options}; pytest-novelty export --out $CASSETTE", strict="-u")
        assert status == 0, out
        shutil.rmtree(self.path / ".novelty")


def variables_of(recipe: Mapping[str, Any]) -> dict[str, str]:
    return {**(recipe["env"] if "env" in recipe else recipe["variables"])}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Judged by ``lexical`` on 24 pairs, with a gate that it passes."""
    folder = tmp_path / "novelty"
    folder.mkdir()
    gates = ["invalid_rate<=0.5", "strict_accuracy>=0.3"]
    defaults = {"votes": 1, "related_work": True}
    write_suite(folder, "suite", 24, "pairwise", gates, change=with_words, defaults=defaults)
    made = Project(tmp_path, {**variables_of(GITHUB), "JUDGE": "lexical"})
    assert made.variables == {**variables_of(GITLAB), "JUDGE": "lexical"}
    made.record("lexical")
    return made


def with_words(row: dict[str, Any]) -> None:
    """Old ideas in the words of earlier work, new ones in words of their own."""
    number = int(row["id"][1:])
    for idea in row["ideas"]:
        old = "an old thing" in idea["text"]
        idea["text"] += f" Kelp ferries number {number} drift." if old else f" Quartz lanterns of kind {number} hum."
        idea["related_work"] = [
            {"title": "Earlier", "year": 2010, "text": f"Kelp ferries number {number} drift. An old thing."}
        ]


def step(job: str, name: str) -> str:
    (found,) = [step["run"] for step in GITHUB["jobs"][job]["steps"] if step.get("name") == name]
    text: str = found
    assert "${{" not in text, "what a runner would fill in belongs into env"
    return text


def scripts(job: str) -> str:
    return "\n".join(GITLAB[job]["script"])


def test_every_step_is_run_here() -> None:
    """Or installs: this environment has what it would install."""
    named = {(job, step.get("name")) for job, body in GITHUB["jobs"].items() for step in body["steps"] if "run" in step}
    run = {
        *(
            ("gates", name)
            for name in ("Judge from the cassette", "Annotate the gates", "Compare with main", "Show the report")
        ),
        ("gates", "Keep the report of main"),
        *(("nightly", name) for name in ("Add what is recorded", "Ask again", "Show the report")),
        ("shard", "Judge this machine's part"),
        *(
            ("merged", name)
            for name in ("Put the stores together", "Decide the gates", "Annotate the gates", "Show the report")
        ),
    }
    assert named == run | {(job, "Install") for job in GITHUB["jobs"]}
    for job in GITHUB["jobs"]:
        assert step(job, "Install") == INSTALL
    assert GITLAB[".novelty"]["before_script"] == [INSTALL]
    jobs = {name for name in GITLAB if name not in (".novelty", "variables")}
    assert jobs == {f"novelty-{name}" for name in ("gates", "compare", "nightly", "shard", "merged")}


def test_every_option_and_command_of_the_recipes_exists() -> None:
    text = "".join(
        (RECIPES / name).read_text() for name in ("github/novelty.yml", "gitlab/novelty.gitlab-ci.yml", "README.md")
    )
    known = {option.flag for option in OPTIONS}
    assert set(re.findall(r"--novelty-[a-z-]+", text)) <= known


def test_what_is_to_be_installed_reads_golden_verdicts_too() -> None:
    """Without syrupy every run is refused as soon as there is a file under ``golden/``, which the README says to commit."""
    for name in ("github/novelty.yml", "gitlab/novelty.gitlab-ci.yml", "README.md"):
        extras = re.findall(r"pytest-novelty\[(.*?)\]", (RECIPES / name).read_text())
        assert [set(each.split(",")) for each in extras] == [{"golden", "xdist", "openai"}], name


# --- gates and comparison -------------------------------------------------------------------------------------


def test_github_gates_from_the_cassette_then_compared_with_main(project: Project) -> None:
    status, out = project.run(step("gates", "Judge from the cassette"))
    assert (status, "26 passed" in out) == (0, True), out
    assert project.run(step("gates", "Annotate the gates")) == (0, "")
    assert (project.path / "novelty.xml").is_file()
    status, out = project.run(step("gates", "Compare with main"))
    assert (status, out) == (0, "There is no report of main yet.\n")
    assert project.run(step("gates", "Keep the report of main"))[0] == 0

    worsen(project)
    status, out = project.run(step("gates", "Judge from the cassette"))
    assert status == 1, out
    status, out = project.run(step("gates", "Annotate the gates"))
    assert status == 0
    assert out.startswith("::error title=model on suite%3A strict_accuracy>=0.3::")
    status, out = project.run(step("gates", "Compare with main"))
    assert status == 1
    assert "Worse than main.json: model on suite: strict_accuracy" in out
    assert project.run(step("gates", "Show the report"))[0] == 0
    summary = (project.path / "summary.md").read_text()
    assert summary.startswith("### Novelty judges\n")
    assert "### Novelty judges, then and now" in summary

    rows = (project.path / "novelty/suite/instances.jsonl").read_text().splitlines()
    (project.path / "novelty/suite/instances.jsonl").write_text("\n".join(rows[1:]))
    assert project.run(step("gates", "Judge from the cassette"))[0] == 1
    status, out = project.run(step("gates", "Compare with main"))
    assert status == 0
    assert "1 removed (i000)" in out
    assert out.endswith(
        "::warning title=novelty::Not compared with main: its suite or its policies are others, see the log.\n"
    )


def worsen(project: Project) -> None:
    """The judge is now a model that names the idea shown first; its answers are recorded."""
    with serving(verdict="first") as server:
        judge = {"format": "novelty-judge/1", "name": "model", "model": "openai:m", "api_base": server.base_url}
        (project.path / "novelty" / "judge.yaml").write_text(json.dumps(judge))
        project.variables["JUDGE"] = "novelty/judge.yaml"
        project.record("novelty/judge.yaml")


def test_a_changed_judge_without_its_answers_fails(project: Project) -> None:
    project.variables["JUDGE"] = "chance"
    status, out = project.run(step("gates", "Judge from the cassette"))
    assert status == 1
    assert "offline, and 2 of 2 verdicts of chance are not recorded" in " ".join(out.split())


class _Main(BaseHTTPRequestHandler):
    """Serves the report of main to who has the job's token."""

    def do_GET(self) -> None:
        folder: Path = self.server.folder  # type: ignore[attr-defined]
        wanted = "/projects/7/jobs/artifacts/main/raw/novelty.json?job=novelty-gates"
        file = folder / "kept.json"
        good = self.path == wanted and self.headers["JOB-TOKEN"] == "token" and file.exists()
        self.send_response(200 if good else 404)
        self.end_headers()
        if good:
            self.wfile.write(file.read_bytes())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def gitlab(project: Project) -> Iterator[dict[str, str]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Main)
    server.folder = project.path  # type: ignore[attr-defined]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield {
        "CI_API_V4_URL": f"http://127.0.0.1:{server.server_port}",
        "CI_PROJECT_ID": "7",
        "CI_DEFAULT_BRANCH": "main",
        "CI_JOB_TOKEN": "token",
    }
    server.shutdown()
    server.server_close()


def test_gitlab_gates_and_comparison(project: Project, gitlab: dict[str, str]) -> None:
    status, out = project.run(scripts("novelty-gates"))
    assert status == 0, out
    status, out = project.run(scripts("novelty-compare"), **gitlab)
    assert (status, out) == (0, "There is no report of main yet.\n")
    (project.path / "novelty.json").replace(project.path / "kept.json")
    worsen(project)
    assert project.run(scripts("novelty-gates"))[0] == 1
    status, out = project.run(scripts("novelty-compare"), **gitlab)
    assert status == 1
    assert "Worse than main.json: model on suite: strict_accuracy" in out
    assert "### Novelty judges, then and now" in (project.path / "compared.md").read_text()


# --- shards ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["github", "gitlab"])
def test_shards_come_to_what_one_machine_finds(where: str, project: Project) -> None:
    if where == "github":
        part, names = step("shard", "Judge this machine's part"), ("SHARD", "SHARDS")
        assert GITHUB["jobs"]["shard"]["env"].keys() >= set(names)
        merged = [
            step("merged", name)
            for name in ("Put the stores together", "Decide the gates", "Annotate the gates", "Show the report")
        ]
    else:
        part, names = scripts("novelty-shard"), ("CI_NODE_INDEX", "CI_NODE_TOTAL")
        merged = [scripts("novelty-merged")]
    assert project.run('pytest --novelty-judge="$JUDGE" --novelty-suite="$SUITE" --novelty-report=one.json')[0] == 0
    shutil.rmtree(project.path / ".novelty")
    sizes = []
    for number in range(1, 5):
        status, out = project.run(part, **{names[0]: str(number), names[1]: "4"})
        assert status == 0, out
        sizes.append(len((project.path / "part.txt").read_text().splitlines()))
    assert sum(sizes) == 24
    assert min(sizes) >= 4
    for script in merged:
        status, out = project.run(script)
        assert status == 0, out
    one, whole = project.read("one.json"), project.read("novelty.json")
    for part_of_report in ("metrics", "gates", "outcomes"):
        kept = [[row for row in report[part_of_report] if row.get("metric") != "cost_usd"] for report in (one, whole)]
        assert kept[0] == kept[1]
    assert whole["calls"]["made"] == 0
    assert whole["calls"]["reused"] == one["calls"]["made"] == 48
    shutil.rmtree(project.path / "shards")  # once more, with the store that there is now
    status, out = project.run(part, **{names[0]: "1", names[1]: "4"})
    assert (status, f"{2 * sizes[0]} reused" in out) == (0, True), out
    status, out = project.run(merged[0])
    assert (status, "shards/1.sqlite: 0 records added, 48 there already" in out) == (0, True), out


# --- nightly --------------------------------------------------------------------------------------------------


def record_a_model(project: Project, server: Server) -> None:
    """The project's judge is a model on the server, and its answers are recorded."""
    judge = {
        "format": "novelty-judge/1", "name": "model", "model": "openai:m", "api_base": server.base_url, "max_tokens": 100,
        "price": {"input": 0.1, "output": 0.1},
    }  # fmt: skip
    (project.path / "novelty" / "judge.yaml").write_text(json.dumps(judge))
    project.variables["JUDGE"] = "novelty/judge.yaml"
    project.record("novelty/judge.yaml")


@pytest.mark.parametrize("where", ["github", "gitlab"])
def test_nightly(where: str, project: Project) -> None:
    with serving(verdict="first") as server:
        record_a_model(project, server)
        asked = len(server.requests())
        names = ("Add what is recorded", "Ask again", "Show the report")
        parts = [step("nightly", name) for name in names] if where == "github" else [scripts("novelty-nightly")]
        said = [project.run(part) for part in parts]
        assert len(server.requests()) > asked
    assert [status for status, _ in said] == [0] * len(parts), said
    assert project.read("nightly.json")["outcomes"]


def cache_keys(where: str, project: Project, night: int) -> tuple[str, str]:
    """(prefix of what a runner restores, key under which it keeps the folder), as the runner reads the recipe."""
    digest = hashlib.sha256((project.path / "novelty" / "cassette.jsonl").read_bytes()).hexdigest()
    if where == "gitlab":
        key = GITLAB["novelty-nightly"]["cache"]["key"]
        assert key["files"] == [GITLAB["variables"]["CASSETTE"]]
        return (f"{key['prefix']}-{digest}",) * 2
    (cache,) = [step["with"] for step in GITHUB["jobs"]["nightly"]["steps"] if step.get("uses") == "actions/cache@v4"]
    values = {"hashFiles(env.CASSETTE)": digest, "github.run_id": str(night)}
    before, after = (re.sub(r"\$\{\{ (.*?) \}\}", lambda m: values[m[1]], cache[k]) for k in ("restore-keys", "key"))
    assert after.startswith(before)
    return before, after


def night(where: str, project: Project, number: int) -> tuple[int, str]:
    """(status, output) of a nightly job on a fresh machine with what its runner's cache restores."""
    before, after = cache_keys(where, project, number)
    caches = project.path / "caches"
    found = sorted(caches.glob(f"{before}*"), key=lambda folder: folder.stat().st_mtime_ns)
    shutil.rmtree(project.path / ".novelty", ignore_errors=True)
    if found:
        shutil.copytree(found[-1], project.path / ".novelty")
    names = ("Add what is recorded", "Ask again")
    script = "\n".join(step("nightly", name) for name in names) if where == "github" else scripts("novelty-nightly")
    said = project.run(script)
    shutil.rmtree(caches / after, ignore_errors=True)
    shutil.copytree(project.path / ".novelty", caches / after)
    (caches / after).touch()
    return said


@pytest.mark.parametrize("where", ["github", "gitlab"])
def test_nights_after_a_change_was_accepted_are_green(where: str, project: Project) -> None:
    suite = project.path / "novelty" / "suite" / "suite.yaml"
    head = json.loads(suite.read_text())
    suite.write_text(json.dumps({**head, "gates": [], "defaults": {**head["defaults"], "votes": 3}}))
    with serving(verdict="first") as server:
        record_a_model(project, server)
        said = [night(where, project, 1)]
        server.change(verdict="second")
        said.append(night(where, project, 2))
        project.record("novelty/judge.yaml")
        said.append(night(where, project, 3))
    assert [status for status, _ in said] == [0, 1, 0], said
    assert "drifted beyond its noise" in said[1][1]
    assert "all 24 verdicts are the same" in said[2][1]


def test_a_store_with_other_answers_than_the_cassette_stops_the_night(project: Project) -> None:
    assert project.run(step("nightly", "Add what is recorded"))[0] == 0
    assert project.run(step("nightly", "Add what is recorded"))[0] == 0
    lines = (project.path / "novelty/cassette.jsonl").read_text().splitlines()
    first = json.loads(lines[1])
    first["label"] = {"i000x": "i000y"}.get(first["label"], "i000x")
    (project.path / "novelty/cassette.jsonl").write_text("\n".join([lines[0], json.dumps(first), *lines[2:]]))
    status, out = project.run(step("nightly", "Add what is recorded"))
    assert (status, "1 conflict" in out) == (1, True)


# --- pre-commit -----------------------------------------------------------------------------------------------


def test_the_hook(project: Project) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    (repo,) = yaml.safe_load((RECIPES / "pre-commit-config.yaml").read_text())["repos"]
    (use,) = repo["hooks"]
    assert (use["id"], hook["pass_filenames"]) == (hook["id"], False)
    for args in (hook["args"], use["args"]):
        status, out = project.run(" ".join([hook["entry"], *args]))
        assert (status, "1 checked, 0 not valid" in out) == (0, True), out
    for name in ("suite.yaml", "instances.jsonl", "ideas.jsonl", "judge.yml", "one.txt"):
        assert re.search(hook["files"], f"novelty/{name}")
    (project.path / "novelty/suite/suite.yaml").write_text("format: novelty-suite/1\n")
    assert project.run(" ".join([hook["entry"], *use["args"]]))[0] == 1
