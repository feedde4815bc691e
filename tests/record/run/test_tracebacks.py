"""An exception in one line."""

from __future__ import annotations

import pytest

from autograph_cli.record.run.tracebacks import summary

OF_ANOTHER = """

-- Process 1 terminated with the following error:
Traceback (most recent call last):
  File "train.py", line 3, in main
    raise KeyError("w")
KeyError: 'w'
"""


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("too small", "RuntimeError: too small"),
        ("too small\nby far", "RuntimeError: too small"),
        ("", "RuntimeError"),
        (OF_ANOTHER, "KeyError: 'w'"),
    ],
)
def test_the_summary_is_one_line_and_that_of_the_process_that_failed(message: str, said: str) -> None:
    assert summary(RuntimeError(message)) == said
