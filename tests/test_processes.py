"""Processes of tests: one that hangs is ended, and where it hung is said."""

import os
import sys

import pytest

from tests.processes import finished

HANGS = "import subprocess, sys, time\ndef stuck():\n    time.sleep(600)\n"


@pytest.mark.parametrize("where", ["stuck()", f"subprocess.run([sys.executable, '-c', {HANGS + 'stuck()'!r}])"])
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="what a process started is read in /proc")
def test_a_process_that_hangs_ends_and_says_where(where: str) -> None:
    with pytest.raises(AssertionError, match="line 3 in stuck"):
        finished([sys.executable, "-c", HANGS + where], seconds=5)


def test_what_a_process_prints_is_kept_and_its_failure_told() -> None:
    done = finished([sys.executable, "-c", "import sys; print(input()); sys.exit(3)"], input="ü\n")
    assert (done.returncode, done.stdout) == (3, "ü\n")
    with pytest.raises(AssertionError, match="ended with 3"):
        finished([sys.executable, "-c", "import sys; sys.exit(3)"], check=True)
