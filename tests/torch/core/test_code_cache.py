"""Code of generated functions is kept between processes, and never trusted when its source has changed."""

import marshal
import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = """
from autograph_cli import torch
from autograph_cli.torch._core import code_cache
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
print(len(code_cache._fresh), x.grad.tolist())
"""


def run(cache: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {
        "PYTHONPYCACHEPREFIX": str(cache)
    }
    done = subprocess.run([sys.executable, "-c", SHOW], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("end", [0, 5, 1000, 100_000])
def test_a_damaged_file_is_as_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: int) -> None:
    from autograph_cli.torch._core import code_cache

    whole = code_cache._HEAD + marshal.dumps((code_cache._FOLDER, {"name": (b"digest", "x" * 200_000)}))
    (tmp_path / "cut").write_bytes(whole[:end])
    monkeypatch.setattr(code_cache, "_file", lambda: str(tmp_path / "cut"))
    assert code_cache._read() == {}


def test_code_of_another_source_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from autograph_cli.torch._core import code_cache

    codes: dict[str, tuple[bytes, bytes]] = {}
    monkeypatch.setattr(code_cache, "_codes", lambda: codes)
    monkeypatch.setattr(code_cache, "_fresh", {"kept": ()})
    one = code_cache.compiled("answer = 1", "name")
    assert code_cache.compiled("answer = 1", "name") == one
    assert code_cache.compiled("answer = 2", "name") != one
