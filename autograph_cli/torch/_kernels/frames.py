"""Padding: images inside frames of constants, mirrored or repeated edges."""

from __future__ import annotations

from typing import Any


class Frames:
    """Kernels that pad; `pad` counts from the last dimension, (left, right) each, negative where it crops."""

    xp: Any

    def constant_pad_nd(self, a: Any, pad: Any, value: Any = 0) -> Any:
        frame, inside = [(0, 0)] * a.ndim, [slice(None)] * a.ndim
        for i in range(len(pad) // 2):
            left, right = pad[2 * i], pad[2 * i + 1]
            d = a.ndim - 1 - i
            frame[d] = (max(left, 0), max(right, 0))
            inside[d] = slice(max(-left, 0), a.shape[d] - max(-right, 0))
        return self.xp.pad(a[tuple(inside)], frame, constant_values=value) if a.ndim else a

    def _reflected(self, n: int, left: int, right: int) -> Any:
        place = self.xp.abs(self.xp.arange(-left, n + right))
        return self.xp.where(place >= n, 2 * (n - 1) - place, place)

    def _replicated(self, n: int, left: int, right: int) -> Any:
        return self.xp.clip(self.xp.arange(-left, n + right), 0, n - 1)

    def _taken(self, a: Any, pad: Any, places: Any) -> Any:
        for i in range(len(pad) // 2):
            d = a.ndim - 1 - i
            a = self.xp.take(a, places(a.shape[d], pad[2 * i], pad[2 * i + 1]), axis=d)
        return a

    def _put_back(self, grad: Any, sizes: Any, pad: Any, places: Any) -> Any:
        for i in range(len(pad) // 2):
            d = grad.ndim - 1 - i
            lines = self.xp.moveaxis(grad, d, 0)
            out = self.xp.zeros((sizes[d], *lines.shape[1:]), grad.dtype)
            self.xp.add.at(out, places(sizes[d], pad[2 * i], pad[2 * i + 1]), lines)
            grad = self.xp.moveaxis(out, 0, d)
        return self.xp.ascontiguousarray(grad)

    def reflection_pad1d(self, a: Any, padding: Any) -> Any:
        return self._taken(a, padding, self._reflected)

    def reflection_pad1d_backward(self, grad: Any, a: Any, padding: Any) -> Any:
        return self._put_back(grad, a.shape, padding, self._reflected)

    def replication_pad1d(self, a: Any, padding: Any) -> Any:
        return self._taken(a, padding, self._replicated)

    def replication_pad1d_backward(self, grad: Any, a: Any, padding: Any) -> Any:
        return self._put_back(grad, a.shape, padding, self._replicated)

    reflection_pad2d = reflection_pad3d = reflection_pad1d
    reflection_pad2d_backward = reflection_pad3d_backward = reflection_pad1d_backward
    replication_pad2d = replication_pad3d = replication_pad1d
    replication_pad2d_backward = replication_pad3d_backward = replication_pad1d_backward
