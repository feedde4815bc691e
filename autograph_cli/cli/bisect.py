"""`autograph bisect`: the first commit at which the graph of a script is another one, or has a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from autograph_cli import AutographError
from autograph_cli.atomic_files import temporary_folder
from autograph_cli.cli import completion
from autograph_cli.cli.exit_codes import CommandError, as_command_error
from autograph_cli.cli.explain import CodesType
from autograph_cli.cli.git import commit_of, git, place_of, precedes
from autograph_cli.cli.options import engine_option
from autograph_cli.cli.printing import say
from autograph_cli.cli.snapshot import chosen_settings
from autograph_cli.graph import GraphError, Snapshot
from autograph_cli.graph.snapshot import compare
from autograph_cli.testing import scripts, sweeps
from autograph_cli.testing.settings import Settings, load

_FIRST = re.compile(r"^([0-9a-f]{40,64}) is the first (?:bad|new) commit", re.MULTILINE)


class _Skipped(Exception):
    """A commit that cannot be judged."""


class _Judge:
    """Says what is otherwise at a commit than at the good one; nothing where it is as good."""

    def __init__(self, script: Path, settings: Settings, finding: str | None, module: str) -> None:
        self.script, self.settings, self.finding, self.module = script, settings, finding, module
        self.good = None if finding is not None else self._take()

    def told(self) -> list[str]:
        if not self.script.exists():
            raise _Skipped(f"{self.script.name} is not there")
        if self.finding is not None:
            return self._found(self.finding)
        try:
            assert self.good is not None
            return compare(self.good, self._take(), self.settings.tolerance).sentences
        except (AutographError, GraphError) as error:
            raise _Skipped(str(error)) from None

    def _take(self) -> Snapshot:
        name, folder = self.module or self.script.name, self.script.parent
        return scripts.take(self.script, self.settings, name=name, folder=folder, module=self.module)

    def _found(self, code: str) -> list[str]:
        target = ["-m", self.module] if self.module else [str(self.script)]
        words = ["explain", "--select", code, "--engine", self.settings.engine, *target]
        folder = scripts.start_of(self.script, self.module) if self.module else self.script.parent
        with sweeps.child("autograph_cli.cli", words, folder) as process:
            said = process.communicate()[0].strip().splitlines()
        found = [line for line in said if line.startswith(code)][:1]
        if process.returncode not in (0, 1) and not found:  # a finding may be why the script failed
            raise _Skipped(said[-1] if said else f"exit status {process.returncode}")
        return found


@click.command
@click.argument("good")
@click.argument("bad")
@click.argument("file", shell_complete=completion.file)
@click.option("-m", "module", is_flag=True, help="FILE is the name of a module, as in python -m.")
@click.option("--finding", metavar="CODE", help="Look for the commit that brought this finding, as AG203.")
@engine_option
@click.pass_context
def bisect(
    ctx: click.Context, good: str, bad: str, file: str, module: bool, finding: str | None, engine: str | None
) -> None:
    """Find the first commit between GOOD and BAD at which the graph of FILE differs from that at GOOD.

    It runs FILE at each commit that git bisect chooses, in a worktree of its own: yours stays as it is. A commit at
    which FILE fails is skipped. The answer is in the sentences of autograph diff.

    \b
      autograph bisect v1.0 main train.py
      autograph bisect --finding AG203 v1.0 main train.py
      autograph bisect v1.0 main -m package.train
    """
    with as_command_error():
        root, inner = place_of(scripts.module_path(file) if module else Path(file))
        ends = [commit_of(root, revision) for revision in (good, bad)]
        if ends[0] != ends[1] and precedes(root, ends[1], ends[0]):
            raise CommandError(f"{bad} comes before {good}: give the good one first.")
        if finding is not None:
            CodesType().convert(finding, None, ctx)
        settings = chosen_settings(load(), None, (), None, None, engine)
        with _worktree(root, ends[0]) as folder:
            if not Path(folder, inner).is_file():
                raise CommandError(f"{file} is not there at {good}.")
            judge = _Judge(folder / inner, settings, finding, file if module else "")
            commit, told = _search(folder, judge, ends, (good, bad))
        about = git(root, "log", "-1", "--format=%h %s (%an, %as)", commit).decode(errors="replace").strip()
        say(f"first commit that differs: {about}", style="bold")
        for sentence in told:
            say(f"  {sentence}", style="yellow")
    ctx.exit(1)


def _search(folder: Path, judge: _Judge, ends: list[str], names: tuple[str, str]) -> tuple[str, list[str]]:
    """The first commit that is bad, and what is told of it."""
    known: dict[str, list[str]] = {}
    try:
        if judge.finding is not None and judge.told():
            raise CommandError(f"{judge.finding} is found at {names[0]} already.")
        git(folder, "checkout", "--quiet", "--detach", ends[1])
        known[ends[1]] = judge.told()
    except _Skipped as why:
        raise CommandError(f"It cannot be said of both ends whether they are good: {why}.") from None
    if not known[ends[1]]:
        same = "the graph is the same" if judge.finding is None else f"there is no {judge.finding}"
        raise CommandError(f"There is nothing to look for: {same} at {names[1]}.")
    said = git(folder, "bisect", "start", ends[1], ends[0]).decode(errors="replace")
    while (first := _FIRST.search(said)) is None:
        here = git(folder, "rev-parse", "HEAD").decode().strip()
        try:
            known[here] = judge.told()
            verdict = "bad" if known[here] else "good"
        except _Skipped:
            verdict = "skip"
        said = git(folder, "bisect", verdict).decode(errors="replace")
    return first[1], known[first[1]]


@contextmanager
def _worktree(root: Path, commit: str) -> Iterator[Path]:
    """A worktree of its own, gone with the block."""
    with temporary_folder() as place:
        folder = Path(place, "tree")
        git(root, "worktree", "add", "--quiet", "--detach", str(folder), commit)
        try:
            yield folder
        finally:
            git(root, "worktree", "remove", "--force", str(folder))
