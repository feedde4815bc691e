"""Recurrent layers: RNN, LSTM and GRU over sequences, and their cells for one step."""

from __future__ import annotations

import math
import numbers
from typing import Any

from ... import _namespace as torch
from ..._core.base.user_warnings import warn
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """Base of RNN, LSTM and GRU: the weights of all layers and directions.

    Input (L, N, input_size), or (N, L, input_size) with `batch_first`, or without N, or a `PackedSequence`; output of
    the same kind with (hidden_size or proj_size) * directions features. States are (num_layers * directions, N,
    hidden_size).
    """

    __constants__ = """
        mode input_size hidden_size num_layers bias batch_first dropout bidirectional proj_size
    """.split()

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._ag_check_settings(dropout)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._ag_directions]:
                self._ag_make_layer(layer, f"_l{layer}{suffix}", device, dtype)
        self.reset_parameters()

    def _ag_check_settings(self, dropout: Any) -> None:
        number = isinstance(dropout, numbers.Number) and not isinstance(dropout, bool)
        if not number or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}"
            )
        for name, kind in (("input_size", int), ("hidden_size", int), ("batch_first", bool)):
            if not isinstance(getattr(self, name), kind):
                given = type(getattr(self, name)).__name__
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {given}")
        for name in ("input_size", "hidden_size"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _ag_directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _ag_make_layer(self, layer: int, suffix: str, device: Any, dtype: Any) -> None:
        rows, out = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, self.input_size if layer == 0 else out * self._ag_directions),
            "weight_hh": (rows, out),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name + suffix, Parameter(torch.empty(shape, device=device, dtype=dtype)))
        self._all_weights.append([name + suffix for name in shapes])

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        own = self._parameters
        return [own[name] if name in own else getattr(self, name) for names in self._all_weights for name in names]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Nothing to do on a CPU."""

    # -- checks

    def check_input(self, input: Any, batch_sizes: Any) -> None:
        """RuntimeError for a wrong number of dimensions or features, ValueError for another dtype than the
        parameters'."""
        kind = self.weight_ih_l0.dtype
        if input.dtype != kind and not torch.is_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({kind}). Convert input: "
                f"input.to({kind}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the hidden state for an input."""
        batch = int(batch_sizes[0]) if batch_sizes is not None else input.size(0 if self.batch_first else 1)
        return self.num_layers * self._ag_directions, batch, self.proj_size or self.hidden_size

    def check_hidden_size(
        self, hx: Any, expected_hidden_size: Any, msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """RuntimeError for a state of another shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(tuple(expected_hidden_size), list(hx.size())))

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        """RuntimeError for an input or a state that does not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # -- the call

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The outputs of all steps, and the last states."""
        if isinstance(input, PackedSequence):
            return self._ag_forward_packed(input, hx)
        ndim = input.dim()
        if ndim not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got "
                f"{ndim}D{' tensor' if self.mode.startswith('RNN') else ''} instead"
            )
        batched = ndim == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            hx = self._ag_given_state(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            hx = self._ag_first_state(input, input.size(batch_dim))
        self.check_forward_args(input, hx, None)
        output, *last = self._ag_run(
            input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if not batched:
            output, last = output.squeeze(batch_dim), [state.squeeze(1) for state in last]
        return output, self._ag_state(last)

    def _ag_forward_packed(self, packed: PackedSequence, hx: Any) -> Any:
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        hx = self._ag_first_state(data, int(batch_sizes[0])) if hx is None else self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, *last = self._ag_run(
            data,
            batch_sizes,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        state = self.permute_hidden(self._ag_state(last), unsorted_indices)
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), state

    def _ag_run(self, *args: Any) -> Any:
        return getattr(torch, self.mode.lower())(*args)

    def _ag_zeros(self, input: Any, batch: int, width: int) -> Any:
        return torch.zeros(self.num_layers * self._ag_directions, batch, width, dtype=input.dtype, device=input.device)

    def _ag_first_state(self, input: Any, batch: int) -> Any:
        return self._ag_zeros(input, batch, self.hidden_size)

    def _ag_given_state(self, hx: Any, batched: bool) -> Any:
        """The user's state with a batch; RuntimeError where it does not go with the input."""
        if hx.dim() != (3 if batched else 2):
            kind, n = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
            raise RuntimeError(f"For {kind} input, hx should also be {n}-D but got {hx.dim()}-D tensor")
        return hx if batched else hx.unsqueeze(1)

    def _ag_state(self, last: list[Any]) -> Any:
        return last[0]

    def extra_repr(self) -> str:
        unless = {
            "proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False,
        }  # fmt: skip
        shown = [f"{name}={getattr(self, name)}" for name, usual in unless.items() if getattr(self, name) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *shown])


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu of it, over sequences.

    >>> from autograph_cli import torch
    >>> output, h = torch.nn.RNN(3, 5)(torch.ones(7, 2, 3))
    >>> output.shape, h.shape
    (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(
            f"RNN_{nonlinearity.upper()}",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            0,
            device,
            dtype,
        )
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units over sequences.

    >>> from autograph_cli import torch
    >>> torch.nn.GRU(3, 5, bidirectional=True)(torch.ones(7, 2, 3))[0].shape
    torch.Size([7, 2, 10])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


class LSTM(RNNBase):
    """Long short-term memory over sequences; its state is (hidden, cell), and `proj_size` projects the hidden one.

    >>> from autograph_cli import torch
    >>> output, (h, c) = torch.nn.LSTM(3, 5, num_layers=2)(torch.ones(7, 2, 3))
    >>> output.shape, h.shape, c.shape
    (torch.Size([7, 2, 5]), torch.Size([2, 2, 5]), torch.Size([2, 2, 5]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM",
            input_size,
            hidden_size,
            num_layers,
            bias,
            batch_first,
            dropout,
            bidirectional,
            proj_size,
            device,
            dtype,
        )

    def get_expected_cell_size(self, input: Any, batch_sizes: Any) -> tuple[int, int, int]:
        """The shape of the cell state for an input."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_forward_args(self, input: Any, hidden: Any, batch_sizes: Any) -> None:
        self.check_input(input, batch_sizes)
        for state, size, which in zip(
            hidden, (self.get_expected_hidden_size, self.get_expected_cell_size), (0, 1), strict=True
        ):
            self.check_hidden_size(state, size(input, batch_sizes), f"Expected hidden[{which}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        return hx if permutation is None else tuple(state.index_select(1, permutation) for state in hx)

    def _ag_first_state(self, input: Any, batch: int) -> Any:
        return self._ag_zeros(input, batch, self.proj_size or self.hidden_size), self._ag_zeros(
            input, batch, self.hidden_size
        )

    def _ag_given_state(self, hx: Any, batched: bool) -> Any:
        n = 3 if batched else 2
        if hx[0].dim() != n or hx[1].dim() != n:
            kind = "batched 3-D" if batched else "unbatched 2-D"
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {n}-D but got ({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx if batched else tuple(state.unsqueeze(1) for state in hx)

    def _ag_state(self, last: list[Any]) -> Any:
        return tuple(last)


# ---------------------------------------------------------------- one step


class RNNCellBase(Module):
    """Base of the cells: two weights and two biases."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    weight_ih: Any
    weight_hh: Any
    bias_ih: Any
    bias_hh: Any
    _ag_function: str

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        for name, shape in (("weight_ih", (rows, input_size)), ("weight_hh", (rows, hidden_size))):
            setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(torch.empty(rows, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new parameters, uniform within 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input: Any, hx: Any = None) -> Any:
        """The next state of (N, input_size) or (input_size)."""
        self._ag_check(input, "input")
        if hx is not None:
            self._ag_check(hx, "hidden")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            hx = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
        elif not batched:
            hx = hx.unsqueeze(0)
        found = self._ag_step(input, hx)
        return found if batched else found.squeeze(0)

    def _ag_check(self, x: Any, what: str) -> None:
        if x.dim() not in (1, 2):
            raise ValueError(f"{type(self).__name__}: Expected {what} to be 1D or 2D, got {x.dim()}D instead")

    def _ag_step(self, input: Any, hx: Any) -> Any:
        return getattr(torch, self._ag_function)(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            shown.append(f"bias={self.bias}")
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            shown.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join(shown)


class RNNCell(RNNCellBase):
    """One step of `RNN`."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _ag_step(self, input: Any, hx: Any) -> Any:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        self._ag_function = f"rnn_{self.nonlinearity}_cell"
        return super()._ag_step(input, hx)


class GRUCell(RNNCellBase):
    """One step of `GRU`."""

    _ag_function = "gru_cell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: from the state (hidden, cell) to the next.

    >>> from autograph_cli import torch
    >>> h, c = torch.nn.LSTMCell(3, 5)(torch.ones(2, 3))
    >>> h.shape
    torch.Size([2, 5])
    """

    _ag_function = "lstm_cell"

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Any, hx: Any = None) -> Any:
        self._ag_check(input, "input")
        for number, state in enumerate(hx or ()):
            self._ag_check(state, f"hx[{number}]")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if hx is None:
            zeros = torch.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            hx = (zeros, zeros)
        elif not batched:
            hx = tuple(state.unsqueeze(0) for state in hx)
        found = self._ag_step(input, tuple(hx))
        return found if batched else tuple(state.squeeze(0) for state in found)
