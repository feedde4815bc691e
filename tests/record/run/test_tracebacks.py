"""An exception as it is shown: in one line, and with the frames of the script."""

from __future__ import annotations

import json
import os
import traceback

import pytest

from autograph_cli.record.run.tracebacks import OURS, details, print_exception, summary, trim

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


FILES = {"own": os.path.join(OURS, "x.py"), "library": json.__file__, "package": pytest.__file__, "script": "train.py"}


@pytest.mark.parametrize(
    ("called", "shown"),
    [
        ("own script own", "script"),
        ("own script library", "script library"),
        ("own script own library", "script"),
        ("own script own library own library", "script"),
        ("own script own library script library", "script script library"),
        ("own library script", "library script"),
        ("own script own package", "script package"),
    ],
)
def test_frames_of_autograph_and_what_they_call_in_the_library_are_left_out(called: str, shown: str) -> None:
    def fail() -> None:
        raise ValueError

    call = fail
    for file in reversed(called.split()):
        space = {"call": call}
        exec(compile("def step(): call()", FILES[file], "exec"), space)
        call = space["step"]
    with pytest.raises(ValueError) as caught:
        call()
    assert caught.value.__traceback__ is not None
    caught.value.__traceback__ = caught.value.__traceback__.tb_next  # without the frame of this test
    trim(caught.value)
    frames = traceback.extract_tb(caught.value.__traceback__)
    named = {file: name for name, file in FILES.items()}
    assert " ".join(named[frame.filename] for frame in frames if frame.filename in named) == shown


def raising(*_: object) -> str:
    raise KeyError("hostile")


@pytest.mark.parametrize(
    "members",
    [
        {"__str__": raising},
        {"__str__": lambda self: 3},
        {"__repr__": raising, "__str__": raising},
        {"exceptions": property(raising)},
        {"exceptions": 3},
        {"__getattr__": raising},
        {"__eq__": raising, "__hash__": None, "__bool__": raising},
    ],
    ids=lambda members: " ".join(members),
)
def test_an_exception_that_cannot_be_asked_is_told(members: dict[str, object]) -> None:
    error = type("Odd", (RuntimeError,), members)("words")
    print_exception(error)
    assert summary(error).startswith("Odd: ")
    assert details(error) == ""
