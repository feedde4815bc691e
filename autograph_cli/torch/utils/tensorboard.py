"""`torch.utils.tensorboard`: event files, written by the tensorboard package where it is installed."""

from __future__ import annotations

import importlib
import io
import os
import socket
import time
from datetime import datetime
from typing import Any

import numpy as np

from .._core.tape.tensor import Tensor

try:
    from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2
    from tensorboard.summary.writer.event_file_writer import EventFileWriter
except ImportError as error:
    raise ModuleNotFoundError(
        "torch.utils.tensorboard needs the tensorboard package: pip install tensorboard", name="tensorboard"
    ) from error

__all__ = ["SummaryWriter"]


class SummaryWriter:
    """Writes scalars, texts, histograms and pictures to an event file in `log_dir` (`runs/<time>_<host><comment>` by
    default).

    After `close`, more may be added: a new file is begun.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            moment = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{moment}_{socket.gethostname()}{comment}")
        self.log_dir: str = os.fspath(log_dir)
        self._how = (max_queue, flush_secs, filename_suffix)
        self._writers: dict[str, Any] = {}
        """The writers that are open, by their folders."""
        self._writer(self.log_dir)
        if purge_step is not None:
            version = event_pb2.Event(step=purge_step, file_version="brain.Event:2")
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            for event in (version, event_pb2.Event(step=purge_step, session_log=start)):
                self._put(event, None, self.log_dir)

    def _writer(self, folder: str) -> Any:
        if folder not in self._writers:
            self._writers[folder] = EventFileWriter(folder, *self._how)
        return self._writers[folder]

    def _put(self, event: Any, moment: float | None, folder: str) -> None:
        event.wall_time = time.time() if moment is None else moment
        self._writer(folder).add_event(event)

    def _add(self, step: Any, moment: float | None, folder: str = "", **value: Any) -> None:
        event = event_pb2.Event(summary=summary_pb2.Summary(value=[summary_pb2.Summary.Value(**value)]))
        if step is not None:
            event.step = int(_array(step))
        self._put(event, moment, folder or self.log_dir)

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """One number at a step; AssertionError for more than one."""
        number = _number(scalar_value)
        if not new_style:
            self._add(global_step, walltime, tag=tag, simple_value=number)
            return
        kind = (
            {"double_val": [number], "dtype": "DT_DOUBLE"}
            if double_precision
            else {"float_val": [number], "dtype": "DT_FLOAT"}
        )
        self._add(global_step, walltime, tag=tag, tensor=tensor_pb2.TensorProto(**kind), metadata=_metadata("scalars"))

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: dict[str, Any], global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Several numbers under one heading, each as a run of its own beside this one."""
        moment = time.time() if walltime is None else walltime
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, f"{main_tag}_{tag}".replace("/", "_"))
            self._add(global_step, moment, folder, tag=main_tag, simple_value=_number(value))

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Write the distribution of a tensor's elements; ValueError for none."""
        self._add(global_step, walltime, tag=tag, histo=_histogram(_array(values), bins, max_bins))

    def add_text(self, tag: str, text_string: str, global_step: Any = None, walltime: float | None = None) -> None:
        """A text, in Markdown."""
        one = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
        tensor = tensor_pb2.TensorProto(dtype="DT_STRING", string_val=[text_string.encode()], tensor_shape=one)
        self._add(global_step, walltime, tag=f"{tag}/text_summary", tensor=tensor, metadata=_metadata("text"))

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture, of bytes or of numbers from 0 to 1; `dataformats` names its dimensions."""
        self._add(global_step, walltime, tag=tag, image=_image(_array(img_tensor), dataformats))

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """A batch of pictures as one, eight in a row."""
        pictures = img_tensor
        if isinstance(img_tensor, list):
            pictures, dataformats = (
                np.stack([_array(picture) for picture in img_tensor]),
                f"N{dataformats.replace('N', '')}",
            )
        self._add(global_step, walltime, tag=tag, image=_image(_array(pictures), dataformats))

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True, walltime: float | None = None
    ) -> None:
        """A figure of matplotlib, as a picture; several as a batch."""
        agg = importlib.import_module("matplotlib.backends.backend_agg")
        drawn = []
        for one in figure if isinstance(figure, list) else [figure]:
            canvas = agg.FigureCanvasAgg(one)
            canvas.draw()
            drawn.append(np.asarray(canvas.buffer_rgba())[:, :, :3])
            if close:
                importlib.import_module("matplotlib.pyplot").close(one)
        if isinstance(figure, list):
            self.add_images(tag, np.stack(drawn), global_step, walltime, "NHWC")
        else:
            self.add_image(tag, drawn[0], global_step, walltime, "HWC")

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: Any = None,
        run_name: str | None = None,
        global_step: Any = None,
    ) -> None:
        """Write the options and metrics of a run, as a run of its own. TypeError for what are no dicts."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        chosen = {
            name: _array(value).item() if isinstance(value, Tensor) else value for name, value in hparam_dict.items()
        }
        for summary in _hparams(chosen, metric_dict):
            self._put(event_pb2.Event(summary=summary), None, folder)
        for name, value in metric_dict.items():
            self._add(global_step, None, folder, tag=name, simple_value=_number(value))
        self._writers.pop(folder).close()

    def add_graph(self, *args: Any, **options: Any) -> None:
        """RuntimeError: draw graphs with `autograph render`."""
        raise RuntimeError("SummaryWriter.add_graph is not available in autograph's engine: use `autograph render`")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("add_"):
            raise AttributeError(f"SummaryWriter.{name} is not available in autograph's engine yet")
        raise AttributeError(name)

    def flush(self) -> None:
        """Write what waits."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Write what waits and close the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        self.close()


def _array(x: Any) -> Any:
    return np.asarray(x.detach()._ag_raw if isinstance(x, Tensor) else x)


def _number(x: Any) -> float:
    array = _array(x)
    assert array.size == 1, (
        f"Tensor should contain one element (0 dimensions). Was given size: {array.size} and {array.ndim} dimensions."
    )
    return float(array.reshape(()).item())


def _metadata(plugin: str) -> Any:
    data = summary_pb2.SummaryMetadata.PluginData(plugin_name=plugin)
    return summary_pb2.SummaryMetadata(plugin_data=data)


# ---------------------------------------------------------------- histograms


def _edges() -> list[float]:
    """The edges between which TensorBoard counts: each a tenth further from zero than the one before."""
    up, edge = [], 1e-12
    while edge < 1e20:
        up.append(edge)
        edge *= 1.1
    return [*(-x for x in reversed(up)), 0.0, *up]


def _histogram(values: Any, bins: Any, max_bins: int | None) -> Any:
    if values.size == 0:
        raise ValueError("The input has no element.")
    data = values.reshape(-1).astype(np.float64)
    counts, limits = np.histogram(data, _edges() if isinstance(bins, str) and bins == "tensorflow" else bins)
    if max_bins is not None and counts.size > max_bins:
        counts, limits = _coarser(counts, limits, counts.size // max_bins)
    filled = np.flatnonzero(counts)
    first, last = filled[0], filled[-1]
    counts = counts[first - 1 : last + 1] if first else np.concatenate([[0], counts[: last + 1]])
    return summary_pb2.HistogramProto(
        min=data.min(),
        max=data.max(),
        num=data.size,
        sum=data.sum(),
        sum_squares=data.dot(data),
        bucket_limit=limits[first : last + 2].tolist(),
        bucket=counts.tolist(),
    )


def _coarser(counts: Any, limits: Any, together: int) -> tuple[Any, Any]:
    """Return the counts with `together` bins joined into one."""
    filled = np.pad(counts, (0, -counts.size % together)).reshape(-1, together).sum(-1)
    return filled, np.append(limits[:-1:together], limits[-1])


# ---------------------------------------------------------------- pictures


def _image(array: Any, names: str) -> Any:
    """A picture as PNG, of an array whose dimensions are named by letters."""
    names = names.upper()
    if sorted(set(names)) != sorted(names) or array.ndim != len(names) or not set("HW") <= set(names) <= set("NCHW"):
        raise ValueError(f"a picture of {array.ndim} dimensions cannot be of the form {names!r}")
    scale = 1 if array.dtype == np.uint8 else 255
    batch = np.transpose(array, [names.index(letter) for letter in "NHWC" if letter in names])
    batch = batch if "C" in names else batch[..., None]
    batch = batch if "N" in names else batch[None]
    batch = np.repeat(batch, 3, axis=-1) if batch.shape[-1] == 1 else batch
    pixels = (_side_by_side(batch).astype(np.float32) * scale).clip(0, 255).astype(np.uint8)
    height, width, channels = pixels.shape
    return summary_pb2.Summary.Image(height=height, width=width, colorspace=channels, encoded_image_string=_png(pixels))


def _side_by_side(batch: Any, across: int = 8) -> Any:
    """Pictures [N, H, W, C] as one, eight in a row."""
    count, height, width, channels = batch.shape
    across = min(count, across)
    down = -(-count // across)
    grid = np.zeros((down * height, across * width, channels), batch.dtype)
    for i, picture in enumerate(batch):
        top, left = i // across * height, i % across * width
        grid[top : top + height, left : left + width] = picture
    return grid


def _png(pixels: Any) -> bytes:
    try:
        pillow = importlib.import_module("PIL.Image")
    except ModuleNotFoundError:
        raise ModuleNotFoundError("SummaryWriter needs Pillow for pictures: pip install pillow", name="PIL") from None
    file = io.BytesIO()
    pillow.fromarray(pixels).save(file, format="PNG")
    return file.getvalue()


# ---------------------------------------------------------------- what was chosen for a run


def _hparams(chosen: dict[str, Any], metrics: dict[str, Any]) -> list[Any]:
    """The three summaries of a run: what may be chosen, what was, and that it ended well."""
    api = importlib.import_module("tensorboard.plugins.hparams.api_pb2")
    plugin = importlib.import_module("tensorboard.plugins.hparams.plugin_data_pb2")
    start, known = plugin.SessionStartInfo(), []
    for name, value in chosen.items():
        if isinstance(value, (int, float)):
            start.hparams[name].number_value, kind = value, "DATA_TYPE_FLOAT64"
        elif isinstance(value, str):
            start.hparams[name].string_value, kind = value, "DATA_TYPE_STRING"
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        known.append(api.HParamInfo(name=name, type=api.DataType.Value(kind)))
    measured = [api.MetricInfo(name=api.MetricName(tag=name)) for name in metrics]
    told = {
        "experiment": plugin.HParamsPluginData(experiment=api.Experiment(hparam_infos=known, metric_infos=measured)),
        "session_start_info": plugin.HParamsPluginData(session_start_info=start),
        "session_end_info": plugin.HParamsPluginData(
            session_end_info=plugin.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
        ),
    }
    return [_told(f"_hparams_/{name}", content.SerializeToString()) for name, content in told.items()]


def _told(tag: str, content: bytes) -> Any:
    data = summary_pb2.SummaryMetadata.PluginData(plugin_name="hparams", content=content)
    value = summary_pb2.Summary.Value(tag=tag, metadata=summary_pb2.SummaryMetadata(plugin_data=data))
    return summary_pb2.Summary(value=[value])
