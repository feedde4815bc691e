"""Stochastic depth: the branch of a residual block left out at random (Huang et al., 2016)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import empty, nn


def stochastic_depth(input: Any, p: float, mode: str, training: bool = True) -> Any:
    """The input, all of it (`mode="batch"`) or samples of it (`"row"`) set to 0 with probability `p`, the rest scaled.

    ValueError for another mode, and for a `p` outside of 0 to 1.
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    survival = 1.0 - p
    size = [input.shape[0] if mode == "row" else 1] + [1] * (input.ndim - 1)
    noise = empty(size, dtype=input.dtype, device=input.device).bernoulli_(survival)
    if survival > 0.0:
        noise.div_(survival)
    return input * noise


class StochasticDepth(nn.Module):
    """`stochastic_depth` as a layer."""

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p, self.mode = p, mode

    def forward(self, input: Any) -> Any:
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
