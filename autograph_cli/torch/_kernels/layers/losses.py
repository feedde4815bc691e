"""Kernels of losses; `<name>_backward` is the gradient by the input."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..._arrays import Array
from ..._arrays.meta import readable
from ..._core.base.dtypes import cpp_name
from ..._core.base.errors import refused
from ..elements.indexing import all_below
from ..half_precision import widened

MEAN, SUM = 1, 2


class Losses:
    """Losses of predictions and targets. `reduction`: 0 keeps all, 1 takes their mean, 2 their sum."""

    xp: Any
    number: Any
    where: Any
    sum: Any
    mean: Any
    log_of_one_more: Any

    def reduced(self, losses: Any, reduction: int) -> Any:
        """All losses, their mean (1) or their sum (2)."""
        if reduction == 0:
            return losses
        return self.sum(losses) if reduction == SUM else self.mean(losses)

    def _share(self, grad: Array, slope: Any, reduction: int) -> Any:
        """The gradient of each loss times its slope: a mean hands each element its share."""
        return slope * (grad / self.number(slope.size, grad) if reduction == MEAN else grad)

    def mse_loss(self, a: Array, target: Any, reduction: int = 1) -> Any:
        difference = a - target
        return self.reduced(difference * difference, reduction)

    def mse_loss_backward(self, grad: Array, a: Array, target: Any, reduction: int) -> Any:
        scale = self.number(2 / a.size if reduction == MEAN else 2, a)
        return (a - target) * scale * grad

    def smooth_l1_loss(self, a: Array, target: Any, reduction: int = 1, beta: float = 1.0) -> Any:
        return self.reduced(self._smooth_l1(a, target, beta), reduction)

    def _smooth_l1(self, a: Array, target: Any, beta: float) -> Any:
        size, edge, half = self.xp.abs(a - target), self.number(beta, a), self.number(0.5, a)
        return self.where(size < edge, half * size * size / edge, size - half * edge)

    def smooth_l1_loss_backward(self, grad: Array, a: Array, target: Any, reduction: int, beta: float) -> Any:
        x, one = a - target, self.number(1, a)
        return self._share(
            grad, self.xp.clip(x / self.number(beta, a), -one, one) if beta else self.xp.sign(x), reduction
        )

    def huber_loss(self, a: Array, target: Any, reduction: int = 1, delta: float = 1.0) -> Any:
        return self.reduced(self._huber(a, target, delta), reduction)

    def _huber(self, a: Array, target: Any, delta: float) -> Any:
        size, edge, half = self.xp.abs(a - target), self.number(delta, a), self.number(0.5, a)
        return self.where(size < edge, half * size * size, edge * (size - half * edge))

    def huber_loss_backward(self, grad: Array, a: Array, target: Any, reduction: int, delta: float) -> Any:
        if target.dtype != a.dtype:
            raise RuntimeError(f"Found dtype {cpp_name(target.dtype)} but expected {cpp_name(a.dtype)}")
        edge = self.number(delta, a)
        return self._share(grad, self.xp.clip(a - target, -edge, edge), reduction)

    def soft_margin_loss(self, a: Array, target: Any, reduction: int = 1) -> Any:
        losses = self.log_of_one_more(self.xp.exp(-a * target))
        return self.reduced(losses.astype(a.dtype, copy=False), reduction)

    def soft_margin_loss_backward(self, grad: Array, a: Array, target: Any, reduction: int) -> Any:
        power = self.xp.exp(-target * a)
        return self._share(grad, -(target * power / (power + self.number(1, a))), reduction)

    def binary_cross_entropy(self, a: Array, target: Any, weight: Array = None, reduction: int = 1) -> Any:
        for name, x in (("input", a), ("target", target)):
            if readable(x) and not ((x >= 0) & (x <= 1)).all():
                raise RuntimeError(f"all elements of {name} should be between 0 and 1")
        low, one = self.number(-100, a), self.number(1, a)
        losses = (target - one) * self.xp.maximum(self.log_of_one_more(-a), low) - target * self.xp.maximum(
            self.xp.log(a), low
        )
        return self.reduced(losses if weight is None else losses * weight, reduction)

    def binary_cross_entropy_backward(self, grad: Array, a: Array, target: Any, weight: Array, reduction: int) -> Any:
        slope = (a - target) / self.xp.maximum((self.number(1, a) - a) * a, self.number(1e-12, a))
        return self._share(grad, slope if weight is None else slope * weight, reduction)

    def binary_cross_entropy_with_logits(
        self, a: Array, target: Any, weight: Array = None, pos_weight: Any = None, reduction: int = 1
    ) -> Any:
        if pos_weight is None:
            losses = self._logits_losses(a, target)
        else:
            one = self.number(1, a)
            losses = (one - target) * a - ((pos_weight - one) * target + one) * self._log_sigmoid(a)
        losses = losses if weight is None else losses * weight
        return self.reduced(losses.astype(target.dtype, copy=False), reduction)

    def _logits_losses(self, a: Array, target: Any) -> Any:
        return (self.number(1, a) - target) * a - self._log_sigmoid(a)

    def _log_sigmoid(self, a: Array) -> Any:
        return self.xp.minimum(a, self.number(0, a)) - self.log_of_one_more(self.xp.exp(-self.xp.abs(a)))

    # ---------------------------------------------------------------- classes

    def _class_weights(self, a: Array, target: Any, weight: Array, ignore_index: int) -> tuple[Any, Any]:
        """A class for every element that can be looked up, and its weight: None for 1 everywhere."""
        classes = a.shape[1]
        looked_up = target.__class__ is np.ndarray and weight is None and target.size
        if looked_up and not 0 <= ignore_index < classes and all_below(target, classes):
            return target, None
        known = target != ignore_index
        everywhere = not readable(known) or bool(known.all())
        positions = target if everywhere else self.xp.where(known, target, 0)
        if readable(positions) and (positions.min() < 0 or positions.max() >= a.shape[1]):
            wrong = positions[(positions < 0) | (positions >= a.shape[1])].ravel()[0]
            raise refused(IndexError, f"Target {int(wrong)} is out of bounds.")
        if everywhere:
            return positions, None if weight is None else weight[positions]
        return positions, known.astype(a.dtype) * (self.number(1, a) if weight is None else weight[positions])

    def _entries(self, a: Array, positions: Any) -> Any:
        """The entry of the class that each position names."""
        if a.ndim == 2:
            return a[self._lines(a), positions]
        return self.xp.take_along_axis(a, positions[:, None], 1)[:, 0]

    @widened
    def nll_loss_forward(self, a: Array, target: Any, weight: Array, reduction: int, ignore_index: int) -> Any:
        """Minus the entry of each target, and the sum of the weights that the mean divides by."""
        if a.ndim == 1:
            losses, total = self.nll_loss_forward(a[None], target.reshape(1), weight, reduction, ignore_index)
            if reduction == 0:
                return losses[0], total if weight is None else weight[target]
            return losses, total
        positions, weights = self._class_weights(a, target.copy(), weight, ignore_index)
        losses = -self._entries(a, positions)
        if weights is not None:
            losses = self.where(weights == 0, self.number(0, a), losses * weights)
        total = self.number(losses.size, a) if weights is None else self.xp.add.reduce(weights, axis=None)
        if reduction == 0:
            return losses, self.number(0, a)
        result = self.xp.add.reduce(losses, axis=None)
        return (result / total if reduction == MEAN else result), total

    nll_loss2d_forward = nll_loss_forward

    def nll_loss_backward(
        self, grad: Array, a: Array, target: Any, weight: Array, reduction: int, ignore_index: int, total: Any
    ) -> Any:
        if a.ndim == 1:
            grad = grad.reshape(1) if reduction == 0 else grad
            return self.nll_loss_backward(grad, a[None], target.reshape(1), weight, reduction, ignore_index, total)[0]
        positions, weights = self._class_weights(a, target, weight, ignore_index)
        each = -grad / total if reduction == MEAN else -grad
        each = each if weights is None else self.where(weights == 0, self.number(0, a), each * weights)
        out = self.xp.zeros(a.shape, grad.dtype)
        if a.ndim == 2:
            out[self._lines(a), positions] = each
        else:
            self.xp.put_along_axis(out, positions[:, None], self.xp.broadcast_to(each, target.shape)[:, None], 1)
        return out

    def _lines(self, a: Array) -> Any:
        return self.xp.arange(len(a))

    nll_loss2d_backward = nll_loss_backward

    def _margins(self, a: Array, target: Any, margin: Any) -> tuple[Any, Any, Any]:
        """Return how far each class comes closer to the target's than the margin, 0 for the target itself."""
        rows = a.reshape(-1, a.shape[-1] if a.ndim else 1)
        positions = target.reshape(-1, 1)
        if readable(positions) and (positions.min() < 0 or positions.max() >= rows.shape[1]):
            raise RuntimeError("target out of range")
        own = self.xp.take_along_axis(rows, positions, 1)
        distance = self.xp.maximum(self.number(margin, a) - own + rows, self.number(0, a))
        self.xp.put_along_axis(distance, positions, self.number(0, a), 1)
        return rows, positions, distance

    def multi_margin_loss(
        self, a: Array, target: Any, p: Any = 1, margin: Any = 1, weight: Array = None, reduction: int = 1
    ) -> Any:
        rows, positions, distance = self._margins(a, target, margin)
        losses = distance if p == 1 else distance * distance
        losses = losses if weight is None else losses * weight[positions]
        each = self.xp.add.reduce(losses, axis=1) / self.number(rows.shape[1], a)
        return self.reduced(each if target.ndim else each[0], reduction)

    def multi_margin_loss_backward(
        self, grad: Array, a: Array, target: Any, p: Any, margin: Any, weight: Array, reduction: int
    ) -> Any:
        rows, positions, distance = self._margins(a, target, margin)
        slope = (distance > 0).astype(a.dtype) if p == 1 else distance * self.number(2, a)
        slope = slope if weight is None else slope * weight[positions]
        slope = slope / self.number(rows.shape[1], a)
        self.xp.put_along_axis(slope, positions, -self.xp.add.reduce(slope, axis=1, keepdims=True), 1)
        return self._each_row(grad, slope, reduction).reshape(a.shape)[()]

    def _each_row(self, grad: Array, slope: Any, reduction: int) -> Any:
        share = grad / self.number(slope.shape[0], grad) if reduction == MEAN else grad
        return slope * (share.reshape(-1, 1) if share.ndim else share)

    def _label_sets(self, a: Array, target: Any) -> tuple[Any, Any, Any]:
        """Rows, the labels up to the first -1 (0 after it) with their mask, and which classes are labels."""
        n = a.shape[-1] if a.ndim else 1
        rows, labels = a.reshape(-1, n), target.reshape(-1, n)
        if readable(labels) and (labels.min() < -1 or labels.max() >= rows.shape[1]):
            raise RuntimeError("argument #2 'target' is out of range")
        valid = self.xp.logical_and.accumulate(labels >= 0, axis=1)
        is_target = self.xp.zeros(rows.shape, a.dtype)
        lines = self.xp.broadcast_to(self.xp.arange(rows.shape[0])[:, None], labels.shape)
        is_target[lines[valid], labels[valid]] = 1
        return rows, (self.xp.where(valid, labels, 0), valid), is_target

    def _label_margins(self, a: Array, target: Any) -> Any:
        rows, (labels, valid), is_target = self._label_sets(a, target)
        own = self.xp.take_along_axis(rows, labels, 1)
        distance = self.number(1, a) - own[:, :, None] + rows[:, None, :]
        inside = valid[:, :, None] & (is_target == 0)[:, None, :] & (distance > 0)
        return rows, labels, is_target, self.where(inside, distance, self.number(0, a))

    def multilabel_margin_loss_forward(self, a: Array, target: Any, reduction: int) -> Any:
        rows, _, is_target, distance = self._label_margins(a, target)
        each = self.xp.add.reduce(distance, axis=(1, 2)) / self.number(max(rows.shape[1], 1), a)
        return self.reduced(each if a.ndim > 1 else each[0], reduction), is_target.reshape(target.shape)[()]

    def multilabel_margin_loss_backward(
        self, grad: Array, a: Array, target: Any, reduction: int, is_target: Any
    ) -> Any:
        rows, labels, _, distance = self._label_margins(a, target)
        step = (distance > 0).astype(a.dtype) / self.number(max(rows.shape[1], 1), a)
        slope = self.xp.add.reduce(step, axis=1)
        lines = self.xp.broadcast_to(self.xp.arange(rows.shape[0])[:, None], labels.shape)
        self.xp.subtract.at(slope, (lines, labels), self.xp.add.reduce(step, axis=2))
        return self._each_row(grad, slope, reduction).reshape(a.shape)[()]

    # ---------------------------------------------------------------- sequences

    def _ctc_states(self, a: Array, targets: Any, target_lengths: Any, blank: int) -> tuple[Any, Any, Any, Any]:
        """Labels with blanks between them (N, states), where a state may be entered from two before, and the
        lengths."""
        n = a.shape[1]
        lengths = self.xp.asarray(target_lengths, "int64")
        longest = int(lengths.max()) if n else 0
        position = self.xp.arange(longest)
        if targets.ndim == 1:
            starts = self.xp.cumsum(lengths) - lengths
            flat = self.xp.minimum(starts[:, None] + position, max(targets.size - 1, 0))
            labels = targets[flat] if targets.size else self.xp.zeros((n, longest), "int64")
        else:
            labels = targets[:, :longest]
        states = self.xp.full((n, 2 * longest + 1), blank, "int64")
        states[:, 1::2] = self.xp.where(position < lengths[:, None], labels, blank)
        skips = self.xp.zeros(states.shape, bool)
        skips[:, 2:] = states[:, 2:] != states[:, :-2]
        inside = self.xp.arange(states.shape[1]) < (2 * lengths + 1)[:, None]
        return states, skips, inside, lengths

    def _log_sum(self, *parts: Any) -> Any:
        top = functools.reduce(self.xp.maximum, parts)
        safe = self.where(top == -math.inf, self.number(0, top), top)
        return self.xp.log(sum(self.xp.exp(part - safe) for part in parts)) + safe

    def _closed(self, a: Array, skips: Any) -> Any:
        """Return the addend for the states two away: -inf where they cannot be entered from there."""
        return self.where(skips, self.number(0, a), self.number(-math.inf, a))

    def _ctc_loss(
        self, a: Array, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
    ) -> Any:
        """The negative logarithm of the likelihood of each sequence, and the forward variables (N, T, states)."""
        states, skips, inside, lengths = self._ctc_states(a, targets, target_lengths, blank)
        n, low = a.shape[1], self.number(-math.inf, a)
        lines = self.xp.full((a.shape[0], n, states.shape[1] + 2), low, a.dtype)
        """The forward variables behind two states that are never entered."""
        emitted = self.where(inside, self.xp.take_along_axis(a, states[None], 2), low)
        if a.shape[0]:
            lines[0, :, 2:4] = emitted[0, :, :2]
        closed = self._closed(a, skips)
        for line, following, each in zip(lines[:-1], lines[1:], emitted[1:], strict=True):
            following[:, 2:] = self._log_sum(line[:, 2:], line[:, 1:-1], line[:, :-2] + closed) + each
        alpha = self.xp.ascontiguousarray(lines[:, :, 2:].swapaxes(0, 1))
        ends = self.xp.asarray(input_lengths, "int64")
        rows = self.xp.arange(n)
        last = alpha[rows, self.xp.maximum(ends - 1, 0)]
        final = last[rows, 2 * lengths]
        previous = self.where(lengths > 0, last[rows, self.xp.maximum(2 * lengths - 1, 0)], low)
        loss = -self._log_sum(final, previous)
        empty = self.where(lengths == 0, self.number(0, a), self.number(math.inf, a))
        return self.where(ends == 0, empty, loss), alpha

    def _ctc_loss_backward(
        self,
        grad: Array,
        a: Array,
        targets: Any,
        input_lengths: Any,
        target_lengths: Any,
        loss: Any,
        alpha: Any,
        blank: int,
        zero_infinity: bool,
    ) -> Any:
        states, skips, inside, lengths = self._ctc_states(a, targets, target_lengths, blank)
        n, low = a.shape[1], self.number(-math.inf, a)
        ends, rows = self.xp.asarray(input_lengths, "int64"), self.xp.arange(n)
        ahead = self.xp.zeros(skips.shape, bool)
        ahead[:, :-2] = skips[:, 2:]
        position = self.xp.arange(states.shape[1])
        final = (position == 2 * lengths[:, None]) | (position == 2 * lengths[:, None] - 1)
        ok = ~(self.xp.isinf(loss) & bool(zero_infinity))
        time = self.xp.arange(a.shape[0])[:, None]
        running, ending = time < ends, time == ends - 1
        emitted = self.xp.take_along_axis(a, states[None], 2)
        entered = self.where(inside & running[:, :, None], emitted, low)
        lines = self.xp.full((a.shape[0] + 1, n, states.shape[1] + 2), low, a.dtype)
        """The backward variables before two states that are never entered, from one step after the last on."""
        closed, start = self._closed(a, ahead), self._closed(a, final)
        for t in reversed(range(a.shape[0])):
            line = lines[t + 1]
            total = self._log_sum(line[:, :-2], line[:, 1:-1], line[:, 2:] + closed)
            if ending[t].any():
                total = self.where(ending[t][:, None], start, total)
            lines[t, :, :-2] = total + entered[t]
        beta = lines[:-1, :, :-2]
        joint = self.xp.exp(alpha.swapaxes(0, 1) + beta - emitted + loss[:, None])
        joint = self.where(self.xp.isneginf(beta), self.number(0, a), joint)
        seen = self.xp.zeros(a.shape, a.dtype)
        cells = (time * n + rows)[:, :, None] * a.shape[2] + states
        self.xp.add.at(seen.reshape(-1), cells.reshape(-1), joint.reshape(-1))
        slope = (self.xp.exp(a) - seen) * grad[:, None]
        return self.where((running & ok)[:, :, None], slope, self.number(0, a))
