"""Recurrent layers, composed of the same operations as PyTorch composes them of on a CPU, and packed sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._arrays.meta import readable
from ..._core.operations.operation import operation, operations, table
from ..._core.operations.registry import composite
from ..._core.running.autocast import autocasts
from ..._core.running.inplace import run_inplace
from ..._core.tape.tensor import Tensor
from ..matrices.linear import linear
from ..random_numbers.dropout import dropout
from ..shaping.joining import unbind, unbind_op
from ..shaping.split_join import unsafe_split_op as unsafe_split
from ..tensors.creation import full


def _lstm_layer_gradients(
    f: Any,
    grads: Any,
    input: Any,
    weight0: Any,
    weight1: Any,
    weight2: Any,
    weight3: Any,
    hx_: Any,
    cx_: Any,
    result0: Any,
    result1: Any,
    result2: Any,
    reverse: Any,
    mode: Any,
    hidden_size: Any,
    num_layers: Any,
    has_biases: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
    result3: Any,
) -> Any:
    return f.mkldnn_rnn_layer_backward(
        input,
        weight0,
        weight1,
        weight2,
        weight3,
        hx_,
        cx_,
        result0,
        result1,
        result2,
        *(
            f.zeros_of(tuple(r.shape), input) if g is None else g
            for g, r in zip(grads, (result0, result1, result2), strict=False)
        ),
        reverse,
        result3,
    )


lstm_layer = operation(
    "mkldnn_rnn_layer(Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor "
    "cx_, bool reverse, int[] batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool "
    "bidirectional, bool batch_first, bool train) -> (Tensor result0, Tensor result1, Tensor result2, Tensor result3)",
    nondifferentiable=("result3",),
    autocast="lower_precision_fp",
    saved={"batch_sizes": "batch_sizes"},
    joint={
        (
            "input",
            "weight0",
            "weight1",
            "weight2",
            "weight3",
            "hx_",
            "cx_",
        ): _lstm_layer_gradients
    },
)


def _layer_backward(
    input: Any,
    w_ih: Any,
    w_hh: Any,
    b_ih: Any,
    b_hh: Any,
    hx: Any,
    cx: Any,
    _output: Any,
    _hy: Any,
    _cy: Any,
    grad_output: Any,
    grad_hy: Any,
    grad_cy: Any,
    reverse: bool,
    _workspace: Any,
) -> tuple[Any, ...]:
    """The gradients of `mkldnn_rnn_layer`, recorded: its steps are computed once more, all in PyTorch's order."""
    grad_output, grad_hy, grad_cy = grad_output.contiguous(), grad_hy.contiguous(), grad_cy.contiguous()
    times = range(input.shape[0])[:: -1 if reverse else 1]
    kept = []
    for t in times:
        x = input[t]
        i, f, g, o = _quarters(linear(x, w_ih, b_ih) + linear(hx, w_hh, b_hh))
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        cell = f * cx + i * g
        kept.append((t, hx, cx, i, f, g, o, cell))
        hx, cx = o * cell.tanh(), cell
    by_input: list[Any] = [None] * len(times)
    by_w_ih = by_w_hh = by_bias = None
    for t, h, c, i, f, g, o, cell in reversed(kept):
        top = grad_output[t] + grad_hy
        right, left = cell.tanh(), cell.tanh()
        by_top = _from_one(left * right)
        inner = grad_cy + top * o * by_top
        to_g, to_i, grad_cy, to_f = inner * i, inner * g, inner * f, inner * c
        to_o = top * cell.tanh()
        by_o = _from_one(o)
        to_o = to_o * o * by_o
        to_g = to_g * _from_one(g * g)
        by_f = _from_one(f)
        to_f = to_f * f * by_f
        by_i = _from_one(i)
        gates = operations.cat([to_i * i * by_i, to_f, to_g, to_o], 1)
        bias = gates.sum(0)
        by_input[t] = gates.mm(w_ih).unsqueeze(0)
        grad_hy = gates.mm(w_hh)
        x = input[t]
        w_ih_part, w_hh_part = gates.transpose(0, 1).mm(x), gates.transpose(0, 1).mm(h)
        by_bias = _added(by_bias, bias)
        by_w_ih, by_w_hh = _added(by_w_ih, w_ih_part), _added(by_w_hh, w_hh_part)
    return operations.cat(by_input, 0), by_w_ih, by_w_hh, by_bias, by_bias, grad_hy, grad_cy


def _from_one(x: Any) -> Any:
    return full(tuple(x.shape), 1, dtype=x.dtype) - x


def _added(total: Any, part: Any) -> Any:
    return part if total is None else total + part


operations.mkldnn_rnn_layer_backward = _layer_backward


# ---------------------------------------------------------------- one step


class Cell(NamedTuple):
    """The weights of one layer in one direction; `w_hr` projects the hidden state.

    Without `w_ih` inputs come multiplied already: a layer does that for all its steps at once.
    """

    w_ih: Any
    w_hh: Any
    b_ih: Any = None
    b_hh: Any = None
    w_hr: Any = None

    def inward(self, x: Any) -> Any:
        return x if self.w_ih is None else linear(x, self.w_ih, self.b_ih)

    def onward(self, h: Any) -> Any:
        return linear(h, self.w_hh, self.b_hh)


State = tuple[Any, ...]
"""The state that one step hands to the next: (hidden,) or (hidden, cell)."""
Step = Callable[[Any, State, Cell], State]
"""From an input, the state and the weights to the next state."""


def _quarters(gates: Any) -> Any:
    return unsafe_split(gates, gates._ag_raw.shape[1] // 4, 1)


def _simple_step(squash: str) -> Step:
    function = table[squash].function

    def step(x: Any, state: State, cell: Cell) -> State:
        return (function(cell.onward(state[0]) + cell.inward(x)),)

    return step


def _lstm_step(x: Any, state: State, cell: Cell) -> State:
    i, f, g, o = _quarters(cell.onward(state[0]) + cell.inward(x))
    sigmoid, tanh = operations.sigmoid, operations.tanh
    i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
    c = f * state[1] + i * g
    h = o * tanh(c)
    return (h if cell.w_hr is None else h.matmul(cell.w_hr.t())), c


def _gru_step(x: Any, state: State, cell: Cell) -> State:
    (h,) = state
    width = h._ag_raw.shape[1]
    x_reset, x_update, x_new = unsafe_split(cell.inward(x), width, 1)
    h_reset, h_update, h_new = unsafe_split(cell.onward(h), width, 1)
    reset, update = operations.sigmoid(h_reset + x_reset), operations.sigmoid(h_update + x_update)
    new = operations.tanh(x_new + run_inplace(table["mul"], (h_new, reset)))
    return (run_inplace(table["mul"], (h - new, update)) + new,)


STEPS: dict[str, Step] = {
    "rnn_tanh": _simple_step("tanh"),
    "rnn_relu": _simple_step("relu"),
    "lstm": _lstm_step,
    "gru": _gru_step,
}


def _cell_function(kind: str) -> Callable[..., Any]:
    step = STEPS[kind]

    def run(
        input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Any:
        cell = Cell(w_ih, w_hh, b_ih, b_hh)
        state = tuple(hx) if kind == "lstm" else (hx,)
        _check_sizes(input, state, cell)
        new = step(input, state, cell)
        return new if kind == "lstm" else new[0]

    run.__name__ = run.__qualname__ = f"{kind}_cell"
    run.__doc__ = f"One step of `{kind}`."
    return run


def _check_sizes(input: Tensor, state: State, cell: Cell) -> None:
    (batch, features), wanted = input._ag_raw.shape, cell.w_ih._ag_raw.shape[1]
    if features != wanted:
        raise RuntimeError(f"input has inconsistent input_size: got {features} expected {wanted}")
    width = cell.w_hh._ag_raw.shape[1]
    for number, (rows, columns) in enumerate(s._ag_raw.shape for s in state):
        if rows != batch:
            raise RuntimeError(f"Input batch size {batch} doesn't match hidden{number} batch size {rows}")
        if columns != width:
            raise RuntimeError(f"hidden{number} has inconsistent hidden_size: got {columns}, expected {width}")


for _kind in STEPS:
    composite(method=False)(autocasts("")(_cell_function(_kind)))


# ---------------------------------------------------------------- one layer


class Packed(NamedTuple):
    """Sequences of different lengths: their steps in one tensor, and how many sequences each step has."""

    data: Any
    sizes: list[int]


def _all_inward(input: Any, cell: Cell) -> tuple[Any, Cell]:
    """All steps multiplied at once, as PyTorch does it on the CPU, and the cell that takes them."""
    return (input, cell) if input.is_meta else (cell.inward(input), Cell(None, *cell[1:]))


def _over_steps(step: Step, input: Any, state: State, cell: Cell, backwards: bool) -> tuple[Any, State]:
    """One layer in one direction over (steps, batch, features), or over a tuple of steps."""
    if not isinstance(input, tuple):
        input, cell = _all_inward(input, cell)
        input = unbind_op(input, 0)
    steps, outputs = input, []
    if not steps:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    for x in reversed(steps) if backwards else steps:
        state = step(x, state, cell)
        outputs.append(state[0])
    return operations.stack(outputs[::-1] if backwards else outputs, 0), state


def _over_packed(step: Step, input: Packed, state: State, cell: Cell, backwards: bool) -> tuple[Any, State]:
    run = _packed_backwards if backwards else _packed_forwards
    data, cell = _all_inward(input.data, cell)
    outputs, ends = run(step, data, input.sizes, state, cell)
    output = operations.cat(outputs, 0)
    return Packed(output, input.sizes), ends[0] if backwards else _joined(ends)


def _part(state: State, start: int, end: int) -> State:
    return tuple(s.narrow(0, start, end - start) for s in state)


def _joined(states: Sequence[State]) -> State:
    return tuple(operations.cat(list(parts), 0) for parts in zip(*states, strict=True))


def _packed_forwards(
    step: Step, inward: Any, sizes: list[int], state: State, cell: Cell
) -> tuple[list[Any], list[State]]:
    """Sequences that have ended leave their state behind."""
    start, last = 0, sizes[0]
    outputs, done = [], []
    for size in sizes:
        x = inward.narrow(0, start, size)
        if size < last:
            done.append(_part(state, size, last))
            state = _part(state, 0, size)
        start, last = start + size, size
        state = step(x, state, cell)
        outputs.append(state[0])
    return outputs, [state, *done[::-1]]


def _packed_backwards(
    step: Step, inward: Any, sizes: list[int], initial: State, cell: Cell
) -> tuple[list[Any], list[State]]:
    """Sequences join with their initial state when their last step comes."""
    end, last = sum(sizes), sizes[-1]
    state = _part(initial, 0, last)
    outputs = []
    for size in reversed(sizes):
        if size > last:
            state = _joined([state, _part(initial, last, size)])
        x = inward.narrow(0, end - size, size)
        end, last = end - size, size
        state = step(x, state, cell)
        outputs.append(state[0])
    return outputs[::-1], [state]


# ---------------------------------------------------------------- all layers


def _cells(params: Sequence[Any], has_biases: bool, projected: bool) -> Iterator[Cell]:
    per = (4 if has_biases else 2) + projected
    for at in range(0, len(params), per):
        own = params[at : at + per]
        b_ih, b_hh = own[2:4] if has_biases else (None, None)
        yield Cell(own[0], own[1], b_ih, b_hh, own[-1] if projected else None)


def _stack(
    kind: str, input: Any, states: list[State], cells: list[Cell], num_layers: int, dropout: float, bidirectional: bool
) -> tuple[Any, list[State]]:
    """All layers; `dropout` is 0 unless training. Gives the output and the last state of each layer and direction."""
    run = _over_packed if isinstance(input, Packed) else _over_steps
    step = STEPS[kind]
    last: list[State] = []
    directions = 2 if bidirectional else 1
    for layer in range(num_layers):
        outputs = []
        if bidirectional and run is _over_steps and input.is_meta:
            input = input.unbind(0)  # both directions share the steps
        for direction in range(directions):
            at = layer * directions + direction
            output, state = run(step, input, states[at], cells[at], direction == 1)
            outputs.append(output)
            last.append(state)
        input = _beside(outputs) if bidirectional else outputs[0]
        if dropout and layer < num_layers - 1:
            input = _dropped(input, dropout)
    return input, last


def _beside(outputs: list[Any]) -> Any:
    if isinstance(outputs[0], Packed):
        return Packed(operations.cat([o.data for o in outputs], outputs[0].data.ndim - 1), outputs[0].sizes)
    return operations.cat(outputs, outputs[0].ndim - 1)


def _dropped(input: Any, p: float) -> Any:
    return Packed(dropout(input.data, p), input.sizes) if isinstance(input, Packed) else dropout(input, p)


def _states(hx: Sequence[Any]) -> list[State]:
    """One state for each layer and direction."""
    return list(zip(*[unbind(h) for h in hx], strict=True))


def _whole(last: list[State]) -> tuple[Any, ...]:
    return tuple(operations.stack(list(parts), 0) for parts in zip(*last, strict=True))


def _recurrent(kind: str) -> Callable[..., Any]:
    def run(*args: Any) -> tuple[Any, ...]:
        input: Any
        packed = isinstance(
            args[3], (list, tuple)
        )  # (data, batch_sizes, hx, params, ...), else (input, hx, params, ...)
        if packed:
            data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional = args
            sizes, batch_first = batch_sizes.tolist(), False
            input = Packed(data, sizes)
        else:
            input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        hx = list(hx) if kind == "lstm" else [hx]
        dropout = dropout if train else 0
        projected = kind == "lstm" and hx[0]._ag_raw.shape[2] != hx[1]._ag_raw.shape[2]
        raw = args[0]._ag_raw
        alike = not packed or sizes[0] == sizes[-1]  # sequences of one length are computed as if not packed
        if kind == "lstm" and alike and not projected and raw.dtype == np.float32 and readable(raw):
            rest = params, has_biases, num_layers, dropout, train, bidirectional, batch_first
            if not packed:
                return _lstm_by_layers(input, hx, *rest)
            output, *last = _lstm_by_layers(data.reshape(len(sizes), sizes[0], -1), hx, *rest)
            return output.view(len(raw), -1), *last
        cells = list(_cells(params, has_biases, projected))
        input = input.transpose(0, 1) if batch_first else input
        output, last = _stack(kind, input, _states(hx), cells, num_layers, dropout, bidirectional)
        if packed:
            return output.data, *_whole(last)
        whole = _whole(last)
        if batch_first:
            output = output.transpose(0, 1) if kind == "lstm" else operations.transpose_(output, 0, 1)
        return output, *whole

    run.__name__ = run.__qualname__ = kind
    run.__doc__ = f"All layers of `{kind}`: outputs, then the last states. Arguments as `torch.{kind}` takes them."
    return run


for _kind in STEPS:
    composite(method=False)(_recurrent(_kind))


def _lstm_by_layers(
    input: Any,
    hx: Sequence[Any],
    params: Sequence[Any],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Any, ...]:
    """An LSTM in float32, for which PyTorch has one operation a layer."""
    input = (input.transpose(0, 1) if batch_first else input).contiguous()
    directions = 2 if bidirectional else 1
    cells = list(_cells(params, has_biases, False))
    hidden, memory = [], []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            cell = cells[at]
            biases = (
                (cell.b_ih, cell.b_hh)
                if has_biases
                else (operations.zeros_of(cell.w_ih._ag_raw.shape[:1], cell.w_ih),) * 2
            )
            output, hy, cy, _ = lstm_layer(
                input,
                cell.w_ih,
                cell.w_hh,
                *biases,
                hx[0][at],
                hx[1][at],
                direction == 1,
                (),
                2,
                hx[0]._ag_raw.shape[2],
                num_layers,
                has_biases,
                bidirectional,
                batch_first,
                train,
            )
            outputs.append(output)
            hidden.append(hy)
            memory.append(cy)
        input = operations.cat(outputs, 2) if bidirectional else outputs[0]
        if dropout and layer < num_layers - 1:
            input = _dropped(input, dropout)
    output = input.transpose(0, 1) if batch_first else input
    return output, operations.stack(hidden, 0), operations.stack(memory, 0)


# ---------------------------------------------------------------- sequences of different lengths
