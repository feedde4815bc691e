"""What a project copies into its CI works: the workflow's commands, and the pre-commit hook."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = "import torch\nw = torch.ones(3, requires_grad=True)\nloss = torch.tanh(w).sum()\nloss.backward()\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a script and its snapshot, and `autograph` on the path."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    command = bin_ / "autograph"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m autograph_cli "$@"\n')
    command.chmod(0o755)
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "expr.py").write_text(SCRIPT)
    assert run(folder, "autograph", "snapshot", "expr.py").returncode == 0
    return folder


def run(folder: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {key: value for key, value in os.environ.items() if key != "CI" and not key.startswith("GIT_")}
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**environment, "PATH": path, "NO_COLOR": "1", **env},
    )


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = run(folder, "git", *who, *arguments)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script here")
def test_the_commands_of_the_workflow_pass_and_fail_as_they_should(project: Path) -> None:
    text = (ROOT / "samples" / "ci" / "github.yml").read_text()
    commands = [line.split() for line in re.findall(r"- run: (autograph .*)", text)]
    assert len(commands) == 1
    assert run(project, *commands[0], CI="true").returncode == 0
    (project / "expr.py").write_text(SCRIPT.replace("tanh", "sigmoid"))
    failed = run(project, *commands[0], CI="true")
    assert failed.returncode == 1
    assert "::error file=expr.py,line=3,title=autograph snapshot::`tanh` became `sigmoid` (expr.py:3)" in failed.stdout
    assert 'failures="1"' in (project / "graphs.xml").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script here")
def test_the_commands_of_the_gitlab_job_pass_and_fail_as_they_should(project: Path) -> None:
    text = (ROOT / "samples" / "ci" / "gitlab.yml").read_text()
    (command,) = [line.split() for line in re.findall(r"- (autograph .*)", text)]
    assert run(project, *command, CI="true").returncode == 0
    (project / "expr.py").write_text(SCRIPT.replace("tanh", "sigmoid"))
    assert run(project, *command, CI="true").returncode == 1
    assert 'failures="1"' in (project / re.search(r"junit: (\S+)", text)[1]).read_text()  # type: ignore[index]


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script here")
def test_the_tasks_of_vs_code_run_and_their_matcher_finds_the_line(project: Path) -> None:
    tasks = json.loads((ROOT / "samples" / "ci" / "vscode-tasks.json").read_text())["tasks"]
    names = {"${file}": str(project / "expr.py"), "${fileDirname}/": f"{project}/"}
    commands = [[task["command"], *(names.get(word, word) for word in task["args"])] for task in tasks]
    assert [run(project, *command).returncode for command in commands] == [0, 0, 0]
    assert sorted(path.name for path in project.glob("*.svg")) == [
        "expr.backward.svg",
        "expr.double-backward.svg",
        "expr.forward.svg",
    ]
    (project / "expr.py").write_text(SCRIPT.replace("tanh", "sigmoid"))
    failed = run(project, *commands[-1])
    pattern = tasks[-1]["problemMatcher"]["pattern"]
    found = re.search(pattern["regexp"], failed.stdout, re.MULTILINE)
    assert found
    assert found[pattern["file"]] == "expr.py" and found[pattern["line"]] == "3"


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a shell script here")
def test_the_pre_commit_hook_of_a_local_clone_passes_and_fails_as_it_should(project: Path, tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / ".pre-commit-hooks.yaml").write_text((ROOT / ".pre-commit-hooks.yaml").read_text())
    git(hooks, "init", "-q")
    git(hooks, "add", ".")
    git(hooks, "commit", "-q", "-m", "hooks")
    revision = run(hooks, "git", "rev-parse", "HEAD").stdout.strip()
    # The hook's environment would be installed from a registry; here the command is on the path.
    config = f"repos:\n  - repo: {hooks}\n    rev: {revision}\n    hooks:\n      - id: autograph-snapshot\n        language: system\n"
    (project / ".pre-commit-config.yaml").write_text(config)
    git(project, "init", "-q")
    git(project, "add", ".")
    where = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    passed = run(project, sys.executable, "-m", "pre_commit", "run", "--all-files", **where)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    (project / "expr.py").write_text(SCRIPT.replace("tanh", "sigmoid"))
    failed = run(project, sys.executable, "-m", "pre_commit", "run", "--all-files", **where)
    assert failed.returncode == 1
    assert "`tanh` became `sigmoid` (expr.py:3)" in failed.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="the steps are run by bash")
def test_the_steps_of_the_action_write_a_comment(project: Path, tmp_path: Path) -> None:
    text = (ROOT / "action.yml").read_text()
    install, compare = re.findall(r"      run: (?:\|\n)?((?:        .*\n)+|.*\n)", text)[:2]
    files = {name: str(tmp_path / name) for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    env = {
        **files,
        "RUNNER_TEMP": str(tmp_path),
        "SCRIPTS": "expr.py",
        "BASE": "HEAD",
        "GITHUB_ACTION_PATH": "/nowhere",
    }
    git(project, "init", "-q")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "first")
    assert run(project, "bash", "-e", "-c", install, **env).returncode == 0, "it is installed already"
    same = run(project, "bash", "-e", "-c", compare, **env)
    assert same.returncode == 0 and (tmp_path / "GITHUB_OUTPUT").read_text() == "changed=false\n", same.stderr
    assert (tmp_path / "graphs.md").read_text() == "No gradient graph changed.\n"
    (project / "expr.py").write_text(SCRIPT.replace("tanh", "sigmoid"))
    other = run(project, "bash", "-e", "-c", compare, **env)
    assert other.returncode == 0 and (tmp_path / "GITHUB_OUTPUT").read_text().endswith("changed=true\n"), other.stderr
    comment = (tmp_path / "graphs.md").read_text()
    assert "`tanh` became `sigmoid`" in comment and comment.count("flowchart") == 1
    assert "By `autograph diff --rev HEAD expr.py`\n" in comment
    assert "flowchart TD" in (tmp_path / "GITHUB_STEP_SUMMARY").read_text()
    (project / "fresh.py").write_text(SCRIPT)
    fresh = run(project, "bash", "-e", "-c", compare, **env | {"SCRIPTS": "fresh.py expr.py"})
    assert fresh.returncode == 0, fresh.stderr
    comment = (tmp_path / "graphs.md").read_text()
    assert "### Graphs: `fresh.py` is new" in comment and "`tanh` became `sigmoid`" in comment
    shallow = run(project, "bash", "-e", "-c", compare, **env | {"BASE": "origin/main"})
    assert shallow.returncode == 2 and "There is no revision origin/main here" in shallow.stdout
    (project / "expr.py").write_text("import torch\nraise SystemExit(3)\n")
    assert run(project, "bash", "-e", "-c", compare, **env).returncode > 1


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ("github-actions", "action.yml"),
        ("github-workflows", "samples/ci/github.yml"),
        ("gitlab-ci", "samples/ci/gitlab.yml"),
        ("citation-file-format", "CITATION.cff"),
        ("github-issue-forms", ".github/ISSUE_TEMPLATE/bug.yml"),
    ],
)
def test_the_files_that_services_read_have_the_shape_that_their_schemas_ask_for(schema: str, name: str) -> None:
    pytest.importorskip("check_jsonschema")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", name]
    done = run(ROOT, *words)
    assert done.returncode == 0, done.stdout
