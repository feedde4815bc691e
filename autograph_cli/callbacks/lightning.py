"""For Lightning: `Trainer(callbacks=[RecordGraph("trace.json")])`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from lightning.pytorch import Callback
except ModuleNotFoundError:
    from pytorch_lightning import Callback

from autograph_cli.in_code import Recording, record


class RecordGraph(Callback):  # type: ignore[misc]
    """Records the steps of a fit, and keeps the trace in a file that every command of `autograph` takes."""

    def __init__(self, path: str | Path = "trace.json", steps: str = "first,last") -> None:
        self.path, self.steps = path, steps
        self.recording: Recording | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin."""
        self.recording = record(self.steps, engine="torch")
        self.recording.__enter__()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End, and write the trace."""
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End where training failed: what was recorded so far is kept."""
        self._end()

    def _end(self) -> None:
        if self.recording is not None:
            recording, self.recording = self.recording, None
            recording.__exit__(None, None, None)
            recording.save(self.path)
