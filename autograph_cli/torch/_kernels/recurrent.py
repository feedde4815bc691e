"""One layer of an LSTM over all its steps, and padded sequences packed."""

from __future__ import annotations

from typing import Any


class Recurrent:
    """Kernels of recurrent layers. A sequence is (steps, batch, features)."""

    xp: Any
    sigmoid: Any

    def unsafe_split(self: Any, a: Any, split_size: int, dim: int) -> list[Any]:
        return self.split(a, split_size, dim)  # type: ignore[no-any-return]

    def mkldnn_rnn_layer(self, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, cx: Any, reverse: bool,
                         *_: Any) -> tuple[Any, Any, Any, Any]:  # fmt: skip
        """Outputs, last hidden state, last cell state, and what backward needs (opaque bytes)."""
        xp = self.xp
        steps, batch, _features = input.shape
        n = w_hh.shape[1]
        inward = (input.reshape(steps * batch, -1) @ w_ih.T + (b_ih + b_hh)).reshape(steps, batch, 4 * n)
        # For each step: the four gates, then the cell state.
        work = xp.empty((steps, batch, 5 * n), input.dtype)
        out = xp.empty((steps, batch, n), input.dtype)
        w_hh = w_hh.T
        for t in reversed(range(steps)) if reverse else range(steps):
            gates = hx @ w_hh
            gates += inward[t]
            kept = work[t]
            kept[:, : 4 * n] = self.sigmoid(gates)
            kept[:, 2 * n : 3 * n] = xp.tanh(gates[:, 2 * n : 3 * n])
            i, f, g, o = (kept[:, k * n : (k + 1) * n] for k in range(4))
            cx = f * cx + i * g
            kept[:, 4 * n :] = cx
            hx = out[t] = o * xp.tanh(cx)
        return out, hx.copy(), cx, work.view(xp.uint8).reshape(-1)

    def mkldnn_rnn_layer_backward(self, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, cx: Any, output: Any,
                                  hy: Any, cy: Any, grad_output: Any, grad_hy: Any, grad_cy: Any, reverse: bool,
                                  workspace: Any) -> tuple[Any, ...]:  # fmt: skip
        """The gradients of the seven inputs."""
        xp = self.xp
        steps, batch, n = output.shape
        work = workspace.view(input.dtype).reshape(steps, batch, 5 * n)
        grad_gates = xp.empty((steps, batch, 4 * n), input.dtype)
        before = xp.empty_like(output)
        """The hidden state that each step started from."""
        order = range(steps)[:: -1 if reverse else 1]
        for t, earlier in zip(order, (None, *order), strict=False):
            before[t] = hx if earlier is None else output[earlier]
        for t, earlier in reversed(list(zip(order, (None, *order), strict=False))):
            i, f, g, o, cell = (work[t][:, k * n : (k + 1) * n] for k in range(5))
            cell_before = cx if earlier is None else work[earlier][:, 4 * n :]
            top = grad_output[t] + grad_hy
            squashed = xp.tanh(cell)
            inner = grad_cy + top * o * (1 - squashed * squashed)
            parts = inner * g * i * (1 - i), inner * cell_before * f * (1 - f), inner * i * (1 - g * g), top * squashed * o * (1 - o)
            xp.concatenate(parts, axis=1, out=grad_gates[t])
            grad_hy = grad_gates[t] @ w_hh
            grad_cy = inner * f
        flat = grad_gates.reshape(steps * batch, 4 * n)
        bias = flat.sum(axis=0)
        return (
            (flat @ w_ih).reshape(input.shape),
            flat.T @ input.reshape(steps * batch, -1),
            flat.T @ before.reshape(steps * batch, n),
            bias, bias, grad_hy, grad_cy,
        )  # fmt: skip

    def _pack_padded_sequence(self, input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
        """What is no padding, step by step, and how many sequences each step has; `lengths` do not grow."""
        xp = self.xp
        stepwise = xp.swapaxes(input, 0, 1) if batch_first else input
        sizes = (lengths[None, :] > xp.arange(int(lengths[0]))[:, None]).sum(axis=1)
        return xp.concatenate([stepwise[t, :size] for t, size in enumerate(sizes)]), sizes.astype(lengths.dtype)

    def _pack_padded_sequence_backward(self, grad: Any, input_size: tuple[int, ...], batch_sizes: Any, batch_first: bool) -> Any:
        xp = self.xp
        made = xp.zeros(input_size, grad.dtype)
        stepwise = xp.swapaxes(made, 0, 1) if batch_first else made
        start = 0
        for t, size in enumerate(batch_sizes.tolist()):
            stepwise[t, :size] = grad[start : start + size]
            start += size
        return made
