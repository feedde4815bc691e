"""The part that callbacks of all trainers share: record a training, and keep its trace however it ends."""

from __future__ import annotations

import sys
from pathlib import Path

from msgspec.structs import replace

from autograph_cli.in_code import Recording, record
from autograph_cli.record.run import store
from autograph_cli.record.run.tracebacks import summary


class Keeping:
    """Records from `begin` to `end`, and keeps the trace in a file that every command of `autograph` takes."""

    def __init__(self, path: str | Path = "trace.json", steps: str = "first,last") -> None:
        self.path, self.steps = path, steps
        self.recording: Recording | None = None

    def begin(self) -> None:
        """Begin; a training that was not ended, such as one with too large a batch, is forgotten."""
        if self.recording is not None:
            self.recording.__exit__(None, None, None)
        self.recording = record(self.steps, engine="torch")
        self.recording.__enter__()

    def end(self, error: BaseException | None = None) -> None:
        """End, and write the trace; does nothing where no training was begun. A trace that cannot be written is told on
        stderr where an `error` is on its way, which the training's caller must see."""
        if self.recording is None:
            return
        recording, self.recording = self.recording, None
        recording.__exit__(None if error is None else type(error), error, None)
        recording.trace = replace(recording.trace, failure="" if error is None else summary(error))
        try:
            recording.save(self.path)
        except store.StoreError as unwritten:
            if error is None:
                raise
            print(f"autograph: {unwritten}", file=sys.stderr)
