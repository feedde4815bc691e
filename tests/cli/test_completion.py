"""What a shell offers for values: words, several with commas, files, and names of the last trace."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from autograph_cli.graph import Trace
from autograph_cli.record.run import store
from tests.conftest import ROOT

Cli = Callable[..., Result]


def offered(cli: Cli, shell: str, line: str) -> list[str]:
    """Return what is offered for the last word of a line."""
    words = line.split(" ")
    position = words[-1] if shell == "fish" else str(len(words) - 1)
    env = {"_AUTOGRAPH_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": position}
    lines = cli(env=env).stdout.splitlines()
    if shell == "zsh":
        return [f"{kind},{word}" for kind, word in zip(lines[::3], lines[1::3], strict=False)]
    return [line for line in lines if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("autograph render --show va", ["values"]),
        ("autograph render --show values,gra", ["values,gradients"]),
        ("autograph show --show none,li", ["none,line", "none,links"]),
        ("autograph open --record values,t", ["values,time"]),
        ("autograph run --steps first,l", ["first,last"]),
        ("autograph render --step f", ["first"]),
        ("autograph render -f pd", ["pdf"]),
        ("autograph render --flow d", ["data"]),
        ("autograph render --layout gr", ["graphviz-pure"]),
        ("autograph diff --engines builtin,t", ["builtin,torch"]),
        ("autograph diff -f ma", ["markdown"]),
        ("autograph snapshot --include names,sh", ["names,shapes"]),
        ("autograph render --root y", ["y"]),
        ("autograph render --inside Mul", ["MulBackward0"]),
        ("autograph why y", ["y"]),
        ("autograph why y w", ["w"]),
        ("autograph render t.json --from w", ["w"]),
        ("autograph render --root nob", []),
    ],
)
def test_values_are_offered(cli: Cli, trace: Trace, tmp_path: Path, shell: str, line: str, words: list[str]) -> None:
    store.keep(trace, tmp_path)
    store.save(trace, tmp_path / "t.json")
    assert offered(cli, shell, line) == [f"plain,{word}" for word in words]


@pytest.mark.parametrize(
    "line", ["autograph render ex", "autograph run ex", "autograph open ex", "autograph diff a.py ex"]
)
def test_files_are_left_to_the_shell(cli: Cli, line: str) -> None:
    assert offered(cli, "bash", line) == ["file,ex"]


def test_without_a_trace_no_name_is_offered(cli: Cli) -> None:
    assert offered(cli, "bash", "autograph render --root l") == []


ZSH = """
autoload -Uz compinit && compinit -u -D
eval "$(_AUTOGRAPH_COMPLETE=zsh_source autograph)"
compadd() { print -r -- "${completions[@]}" }
words=(autograph render --show values,gr); CURRENT=4
_autograph_completion
"""
BASH = """
eval "$(_AUTOGRAPH_COMPLETE=bash_source autograph)"
COMP_WORDS=(autograph render --show values,gr); COMP_CWORD=3
_autograph_completion autograph; echo "${COMPREPLY[@]}"
"""
FISH = """
_AUTOGRAPH_COMPLETE=fish_source autograph | source
complete --do-complete "autograph render --show values,gr"
"""


@pytest.mark.parametrize(
    ("shell", "script"),
    [(("bash",), BASH), (("zsh", "-f"), ZSH), (("fish", "--no-config"), FISH)],
    ids=lambda it: it[0],
)
def test_the_shell_itself_completes_values(trace: Trace, tmp_path: Path, shell: tuple[str, ...], script: str) -> None:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    store.keep(trace, tmp_path)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "autograph"
    command.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m autograph_cli "$@"\n')
    command.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*shell, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        check=True,
    )
    assert done.stdout == "values,gradients\n"
