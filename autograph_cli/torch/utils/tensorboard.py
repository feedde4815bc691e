"""`torch.utils.tensorboard`: event files, written by the tensorboard package where it is installed."""

from __future__ import annotations

import os
import socket
import time
from datetime import datetime
from typing import Any

import numpy as np

from .._core.tensor import Tensor

try:
    from tensorboard.compat.proto import event_pb2, summary_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError as error:
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the tensorboard package: pip install tensorboard", name="tensorboard"
    ) from error

__all__ = ["SummaryWriter"]


def _plain(x: Any) -> Any:
    return x.detach()._raw if isinstance(x, Tensor) else x


class SummaryWriter:
    """Writes scalars, texts and histograms to an event file in `log_dir` (`runs/<time>_<host><comment>` by default)."""

    def __init__(self, log_dir: Any = None, comment: str = "", purge_step: int | None = None, max_queue: int = 10,
                 flush_secs: int = 120, filename_suffix: str = "") -> None:  # fmt: skip
        if not log_dir:
            moment = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{moment}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self._writer = EventFileWriter(self.log_dir, max_queue, flush_secs, filename_suffix)

    def _add(self, value: Any, step: int | None, moment: float | None) -> None:
        event = event_pb2.Event(summary=summary_pb2.Summary(value=[value]), wall_time=moment or time.time())
        if step is not None:
            event.step = int(step)
        self._writer.add_event(event)

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(self, tag: str, scalar_value: Any, global_step: int | None = None, walltime: float | None = None,
                   new_style: bool = False, double_precision: bool = False) -> None:  # fmt: skip
        """One number at a step."""
        number = float(np.asarray(_plain(scalar_value)).reshape(()))
        self._add(summary_pb2.Summary.Value(tag=tag, simple_value=number), global_step, walltime)

    def add_scalars(self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: int | None = None,
                    walltime: float | None = None) -> None:  # fmt: skip
        """Several numbers under one heading, each as `main_tag/tag`."""
        for tag, value in tag_scalar_dict.items():
            self.add_scalar(f"{main_tag}/{tag}", value, global_step, walltime)

    def add_histogram(self, tag: str, values: Any, global_step: int | None = None, bins: Any = "tensorflow",
                      walltime: float | None = None, max_bins: int | None = None) -> None:  # fmt: skip
        """How the elements of a tensor are distributed."""
        data = np.asarray(_plain(values), dtype=np.float64).reshape(-1)
        counts, edges = np.histogram(data, 30 if isinstance(bins, str) and bins == "tensorflow" else bins)
        histogram = summary_pb2.HistogramProto(
            min=data.min(), max=data.max(), num=data.size, sum=data.sum(), sum_squares=data.dot(data),
            bucket_limit=edges[1:].tolist(), bucket=counts.tolist(),
        )  # fmt: skip
        self._add(summary_pb2.Summary.Value(tag=tag, histo=histogram), global_step, walltime)

    def add_graph(self, *args: Any, **options: Any) -> None:
        """RuntimeError: draw graphs with `autograph render`."""
        raise RuntimeError("SummaryWriter.add_graph is not available in autograph's engine: use `autograph render`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            raise AttributeError(f"SummaryWriter.{name} is not available in autograph's engine yet")
        raise AttributeError(name)

    def flush(self) -> None:
        """Write what waits."""
        self._writer.flush()

    def close(self) -> None:
        """Write what waits and close the file."""
        self._writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()
