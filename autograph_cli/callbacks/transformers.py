"""For transformers: `Trainer(..., callbacks=[RecordGraph("trace.json")])`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from autograph_cli.in_code import Recording, record


class RecordGraph(TrainerCallback):  # type: ignore[misc]
    """Records the steps of a training, and keeps the trace in a file that every command of `autograph` takes."""

    def __init__(self, path: str | Path = "trace.json", steps: str = "first,last") -> None:
        self.path, self.steps = path, steps
        self.recording: Recording | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin."""
        self.recording = record(self.steps, engine="torch")
        self.recording.__enter__()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End, and write the trace."""
        if self.recording is not None:
            recording, self.recording = self.recording, None
            recording.__exit__(None, None, None)
            recording.save(self.path)
