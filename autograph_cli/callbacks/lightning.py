"""For Lightning: `Trainer(callbacks=[RecordGraph("trace.json")])`."""

from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback
except ModuleNotFoundError:
    from pytorch_lightning import Callback

from autograph_cli.callbacks.keeping import Keeping


class RecordGraph(Keeping, Callback):  # type: ignore[misc]
    """Records the steps of a fit, and keeps the trace in a file that every command of `autograph` takes."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin."""
        self.begin()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """End, and write the trace."""
        self.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """End where training failed or was interrupted: what was recorded so far is kept."""
        self.end(exception)
