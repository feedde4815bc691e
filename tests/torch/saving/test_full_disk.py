"""A disk that is full while `torch.save` writes: one exception, the old file stays, and nothing is said later."""

from pathlib import Path

import pytest

from tests.conftest import Run

resource = pytest.importorskip("resource", reason="there are no limits of files")

SCRIPT = """
import io, os, resource, signal, sys
from autograph_cli import torch

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
unraised = []
sys.unraisablehook = unraised.append
value = {"w": torch.ones(500), "more": [torch.ones(100), "text", torch.zeros(0)]}
for archive in (True, False):
    whole = io.BytesIO()
    torch.save(value, whole, _use_new_zipfile_serialization=archive)
    size = len(whole.getvalue())
    open("kept.pt", "wb").write(b"old")
    refused = 0
    for limit in (*range(0, size, 97), size - 1):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            torch.save(value, "kept.pt", _use_new_zipfile_serialization=archive)
        except OSError:
            refused += 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert open("kept.pt", "rb").read() == b"old", limit
    if os.path.exists("/dev/full"):
        try:
            torch.save(value, "/dev/full", _use_new_zipfile_serialization=archive)
        except OSError:
            refused += 1
        else:
            refused = -1
    torch.save(value, "kept.pt", _use_new_zipfile_serialization=archive)
    print(refused >= size // 97, torch.load("kept.pt")["w"].sum().item(), os.listdir())
print(unraised)
"""


def test_a_full_disk_is_one_exception(python: Run, tmp_path: Path) -> None:
    done = python("-c", SCRIPT)
    assert done.stderr == ""
    assert done.stdout == "True 500.0 ['kept.pt']\n" * 2 + "[]\n"
