"""For transformers: `Trainer(..., callbacks=[RecordGraph("trace.json")])`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from transformers import Trainer, TrainerCallback

from autograph_cli.callbacks.keeping import Keeping


class RecordGraph(Keeping, TrainerCallback):  # type: ignore[misc]
    """Records the steps of a training, and keeps the trace in a file that every command of `autograph` takes."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begin."""
        self.begin()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End, and write the trace."""
        self.end()


def _telling(train: Callable[..., Any]) -> Callable[..., Any]:
    """`Trainer.train`, which tells callbacks of an exception: transformers has no event for it."""

    @functools.wraps(train)
    def told(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return train(self, *args, **kwargs)
        except BaseException as error:
            for each in self.callback_handler.callbacks:
                if isinstance(each, RecordGraph):
                    each.end(error)
            raise

    return told


Trainer.train = _telling(Trainer.train)
