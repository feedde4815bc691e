"""Segments of a dimension, each reduced to one element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays import Array

_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}
_UFUNCS = {"sum": "add", "mean": "add", "prod": "multiply", "max": "maximum", "min": "minimum"}


class Segments:
    """Kernels of segment_reduce."""

    xp: Any

    def segment_reduce(self, data: Any, reduce: str, lengths: Any, offsets: Any, axis: int, initial: Any) -> Any:
        count = lengths.shape[-1] if lengths is not None else offsets.shape[-1] - 1
        out = self.xp.empty((*data.shape[:axis], count, *data.shape[axis + 1 :]), data.dtype)
        for row, segments in self._bounds(data, lengths, offsets, axis):
            for i, (start, end) in enumerate(segments):
                at = (*row, i)
                out[at] = self._fold(data[row][start:end], reduce, initial)
        return out

    def _bounds(self, data: Any, lengths: Any, offsets: Any, axis: int) -> Any:
        """For each row before `axis`: the pairs of start and end of its segments."""
        ends = self.xp.cumsum(lengths, axis=-1) if lengths is not None else offsets[..., 1:]
        starts = ends - lengths if lengths is not None else offsets[..., :-1]
        rows = self.xp.ndindex(*data.shape[:axis])
        return [(row, list(zip(starts[row].tolist(), ends[row].tolist(), strict=True))) for row in rows]

    def _fold(self, part: Any, reduce: str, initial: Any) -> Any:
        start = _STARTS[reduce] if initial is None else initial
        result = getattr(self.xp, _UFUNCS[reduce]).reduce(part, axis=0, initial=start)
        if reduce != "mean":
            return result
        return result / len(part) if len(part) else result * (np.nan if initial is None else 1)

    def _segment_reduce_backward(
        self, grad: Array, output: Any, data: Any, reduce: str, lengths: Any, offsets: Any, axis: int, initial: Any
    ) -> Any:
        out = self.xp.zeros(data.shape, grad.dtype)
        for row, segments in self._bounds(data, lengths, offsets, axis):
            for i, (start, end) in enumerate(segments):
                if start != end:
                    at = (*row, i)
                    out[row][start:end] = self._segment_share(
                        data[row][start:end], grad[at], output[at], reduce, initial
                    )
        return out

    def _segment_share(self, part: Any, g: Any, result: Any, reduce: str, initial: Any) -> Any:
        if reduce == "sum":
            return g
        if reduce == "mean":
            return g / len(part)
        if reduce in ("max", "min"):
            chosen = part == result
            return self.xp.where(chosen, g / self.xp.maximum(chosen.sum(axis=0), 1), 0)
        start = 1.0 if initial is None else initial
        multiply, rest = self.xp.multiply, self.xp.delete
        return g * self.xp.stack([multiply.reduce(rest(part, j, 0), axis=0, initial=start) for j in range(len(part))])
