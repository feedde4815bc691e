"""One layer of an LSTM over all its steps, and padded sequences packed."""

from __future__ import annotations

from typing import Any

from ..._arrays import Array


class Recurrent:
    """Kernels of recurrent layers. A sequence is (steps, batch, features)."""

    xp: Any
    number: Any

    def mkldnn_rnn_layer(
        self, input: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any, hx: Any, cx: Any, reverse: bool, *_: Any
    ) -> tuple[Any, Any, Any, Any]:
        """Outputs, last hidden state, last cell state, and what backward needs (opaque bytes)."""
        xp = self.xp
        steps, batch, features = input.shape
        n = w_hh.shape[1]
        kept, gates, cells = self._workspace(xp.empty(steps * batch * 5 * n, input.dtype), steps, batch, n)
        xp.matmul(input.reshape(steps * batch, features), w_ih.T, out=gates.reshape(steps * batch, 4 * n))
        gates += b_ih + b_hh
        out = xp.empty((steps, batch, n), input.dtype)
        between, cx = xp.empty((batch, n), input.dtype), xp.ascontiguousarray(cx)
        for t in reversed(range(steps)) if reverse else range(steps):
            cell, h = cells[t], out[t]
            self._lstm_step(gates[t], hx @ w_hh.T, between, cx, cell, h)
            hx, cx = h, cell
        return out, hx.copy(), cx.copy(), kept.view(xp.uint8)

    def _lstm_step(self, gates: Any, product: Any, between: Any, before: Any, cell: Any, h: Any) -> None:
        """One step: the product with the last output is added to `gates`, which are squashed; `cell` and `h` become the
        new states."""
        xp, n, one = self.xp, h.shape[1], self.number(1, h)
        gates += product
        new = xp.tanh(gates[:, 2 * n : 3 * n], out=between)
        xp.negative(gates, out=gates)
        xp.exp(gates, out=gates)
        gates += one
        xp.divide(one, gates, out=gates)
        gates[:, 2 * n : 3 * n] = new
        new *= gates[:, :n]
        xp.multiply(gates[:, n : 2 * n], before, out=cell)
        cell += new
        xp.tanh(cell, out=h)
        h *= gates[:, 3 * n :]

    def _workspace(self, kept: Any, steps: int, batch: int, n: int) -> tuple[Any, Any, Any]:
        """The memory kept for backward, and in it the four gates (input, forget, new, output) and the cell state of
        each step."""
        split = steps * batch * 4 * n
        return kept, kept[:split].reshape(steps, batch, 4 * n), kept[split:].reshape(steps, batch, n)

    def mkldnn_rnn_layer_backward(
        self,
        input: Any,
        w_ih: Any,
        w_hh: Any,
        b_ih: Any,
        b_hh: Any,
        hx: Any,
        cx: Any,
        output: Any,
        hy: Any,
        cy: Any,
        grad_output: Any,
        grad_hy: Any,
        grad_cy: Any,
        reverse: bool,
        workspace: Any,
    ) -> tuple[Any, ...]:
        """The gradients of the seven inputs."""
        steps, batch, n = output.shape
        _, gates, cells = self._workspace(workspace.view(input.dtype), steps, batch, n)
        derivatives, through = self._lstm_derivatives(gates, cells, self._earlier(cells, cx, reverse))
        grad_output, grad_hy = self.xp.ascontiguousarray(grad_output), self.xp.ascontiguousarray(grad_hy)
        grad_cy = grad_cy.copy("C")
        for t in range(steps) if reverse else reversed(range(steps)):
            here = derivatives[t]
            grad_cy = self._lstm_step_back(grad_output[t], grad_hy, grad_cy, through[t], here, gates[t])
            grad_hy = here.reshape(batch, 4 * n) @ w_hh
        flat = derivatives.reshape(steps * batch, 4 * n)
        bias = flat.sum(axis=0)
        return (
            (flat @ w_ih).reshape(input.shape),
            flat.T @ input.reshape(steps * batch, -1),
            flat.T @ self._earlier(output, hx, reverse).reshape(steps * batch, n),
            bias,
            bias,
            grad_hy,
            grad_cy,
        )

    def _lstm_step_back(self, grad: Any, grad_h: Any, grad_cell: Any, through: Any, here: Any, gates: Any) -> Any:
        """The gradient by the cell state before a step, perhaps in the memory of `grad_cell`; `here`, the step's
        derivatives, become the gradient by the gates."""
        top = grad + grad_h
        grad_cell = grad_cell + top * through
        here[:, :3] *= grad_cell[:, None]
        here[:, 3] *= top
        n = here.shape[2]
        grad_cell *= gates[:, n : 2 * n]
        return grad_cell

    def _earlier(self, states: Any, first: Any, reverse: bool) -> Any:
        """The state that each step started from."""
        before = self.xp.empty_like(states)
        if reverse:
            before[:-1], before[-1] = states[1:], first
        else:
            before[1:], before[0] = states[:-1], first
        return before

    def _lstm_derivatives(self, gates: Any, cells: Any, before: Any) -> tuple[Any, Any]:
        """The derivative of each step's cell state, and for the last gate of its output, by the four gates before they
        are squashed, (steps, batch, 4, n); and that of the output by the cell state."""
        gates = gates.reshape(*cells.shape[:2], 4, -1)
        one, squashed = self.number(1, cells), self.xp.tanh(cells)
        derivatives = one - gates
        derivatives *= gates
        derivatives[:, :, 2] = one - gates[:, :, 2] * gates[:, :, 2]
        for gate, factor in enumerate((gates[:, :, 2], before, gates[:, :, 0], squashed)):
            derivatives[:, :, gate] *= factor
        through = one - squashed * squashed
        through *= gates[:, :, 3]
        return derivatives, through

    def _pack_padded_sequence(self, input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
        """Return what is no padding, step by step, and how many sequences each step has; `lengths` do not grow."""
        xp = self.xp
        stepwise = xp.swapaxes(input, 0, 1) if batch_first else input
        sizes = (lengths[None, :] > xp.arange(int(lengths[0]))[:, None]).sum(axis=1)
        return xp.concatenate([stepwise[t, :size] for t, size in enumerate(sizes.tolist())]), sizes.astype(
            lengths.dtype
        )

    def _pack_padded_sequence_backward(
        self, grad: Array, input_size: tuple[int, ...], batch_sizes: Any, batch_first: bool
    ) -> Any:
        xp = self.xp
        result = xp.zeros(input_size, grad.dtype)
        stepwise = xp.swapaxes(result, 0, 1) if batch_first else result
        start = 0
        for t, size in enumerate(batch_sizes.tolist()):
            stepwise[t, :size] = grad[start : start + size]
            start += size
        return result
