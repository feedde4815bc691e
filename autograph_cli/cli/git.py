"""Questions to git: a script as of a revision, and the revisions between two."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from autograph_cli.atomic_files import temporary_folder
from autograph_cli.cli.exit_codes import CommandError


def git(folder: Path, *arguments: str) -> bytes:
    """Return what git prints; raises `CommandError` with its last words."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, check=False)
    except OSError as error:
        raise CommandError(f"git cannot be run: {error.strerror or error}.") from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        raise CommandError(f"git {arguments[0]}: {told[-1]}")
    return done.stdout


def place_of(script: Path) -> tuple[Path, Path]:
    """The repository that a script is in, and where in it."""
    if not script.resolve().parent.is_dir():
        raise CommandError(f"There is no file {script}.")
    try:
        root = Path(git(script.resolve().parent, "rev-parse", "--show-toplevel").decode().strip())
    except CommandError as error:
        raise CommandError(
            f"{script} is in no repository of git." if "not a git" in str(error) else str(error)
        ) from None
    return root, script.resolve().relative_to(root.resolve())


def commit_of(root: Path, revision: str) -> str:
    """The commit that a revision names; raises `CommandError` where there is none."""
    if revision.startswith("-"):
        raise CommandError(f"{revision} is no revision.")
    try:
        return git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except CommandError:
        raise CommandError(f"There is no revision {revision} in {root}.") from None


def precedes(root: Path, one: str, other: str) -> bool:
    """Return whether the one commit is in the history of the other."""
    try:
        git(root, "merge-base", "--is-ancestor", one, other)
    except CommandError:
        return False
    return True


@contextmanager
def checked_out(script: Path, revision: str | None) -> Iterator[Path]:
    """The script as it is; or as of a revision, within its repository in a folder of its own: it imports its own
    neighbours."""
    if revision is None:
        if not script.is_file():
            raise CommandError(f"There is no file {script}.")
        yield script
        return
    root, inner = place_of(script)
    commit = commit_of(root, revision)
    try:
        git(root, "cat-file", "-e", f"{commit}:{inner.as_posix()}")
    except CommandError:
        raise CommandError(f"{script} is not there at {revision}.") from None
    with temporary_folder() as position:
        with tarfile.open(fileobj=BytesIO(git(root, "archive", "--format=tar", commit))) as archive:
            archive.extractall(position, filter="data")
        yield Path(position, inner)
