"""What `autograph run` sets for the process of a script."""

import ctypes
import gc
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from autograph_cli.cli import tuning
from autograph_cli.cli.main import main
from tests import inside


class Allocator:
    """Stands for the C library, and notes what it is told."""

    def __init__(self) -> None:
        self.told: dict[int, int] = {}

    def mallopt(self, name: int, value: int) -> int:
        self.told[name] = value
        return 1


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> Allocator:
    made = Allocator()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: made)
    gc.set_threshold(700, 10, 10)
    return made


@pytest.mark.parametrize(("flags", "settings"), [((), 2), (("--tune",), 2), (("--no-tune",), 0)])
def test_memory_is_kept_unless_told_otherwise(
    flags: tuple[str, ...], settings: int, allocator: Allocator, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.ones(2, requires_grad=True).sum().backward()\n")
    done = CliRunner().invoke(main, ["run", "-q", *flags, "-o", str(tmp_path / "trace.json"), str(script)])
    assert done.exit_code == 0
    assert len(allocator.told) == settings
    assert (gc.get_threshold()[0] == tuning.YOUNG) is bool(settings)
    assert (gc.get_freeze_count() > 0) is bool(settings)


@pytest.mark.skipif(not inside.is_compiled("_kernels.fast_memory"), reason="without the compiled modules")
@pytest.mark.parametrize(("flag", "allocator"), [("--tune", "lines of the cache"), ("--no-tune", "default_allocator")])
def test_arrays_are_aligned_unless_told_otherwise(flag: str, allocator: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy\nfrom numpy._core.multiarray import get_handler_name\n"
        "arrays = [numpy.empty(n) for n in range(200, 300)]\n"
        "print(get_handler_name(arrays[0]))\nprint(all(a.ctypes.data % 64 == 0 for a in arrays))\n"
    )
    asked = [sys.executable, "-m", "autograph_cli", "run", flag, "-q", "-o", str(tmp_path / "trace.json"), str(script)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    found, aligned = done.stdout.splitlines()
    assert found == allocator
    assert aligned == "True" or flag == "--no-tune"  # what the default allocator gives may lie so as well


def test_a_collector_that_is_switched_off_stays_off(allocator: Allocator) -> None:
    gc.set_threshold(0)
    tuning.tune()
    assert gc.get_threshold()[0] == 0


def test_an_allocator_without_settings_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert not tuning.keep_memory()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")
def test_glibc_takes_the_settings() -> None:
    code = "from autograph_cli.cli import tuning; print(tuning.keep_memory())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"
