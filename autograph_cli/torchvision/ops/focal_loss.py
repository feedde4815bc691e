"""The focal loss: cross entropy in which what is easy counts less (Lin et al., 2017)."""

from __future__ import annotations

from typing import Any

from autograph_cli.torch import sigmoid
from autograph_cli.torch.nn import functional as F


def sigmoid_focal_loss(
    inputs: Any, targets: Any, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Any:
    """The focal loss of scores `inputs` for labels 0 and 1 of the same shape; `alpha` -1 weighs both classes alike.

    ValueError for an `alpha` that is neither -1 nor from 0 to 1, and for an unknown reduction.
    """
    if not (0 <= alpha <= 1) and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = sigmoid(inputs)
    ce = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    p_t = p * targets + (1 - p) * (1 - targets)
    loss = ce * ((1 - p_t) ** gamma)
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    if reduction in ("mean", "sum"):
        return loss.mean() if reduction == "mean" else loss.sum()
    if reduction != "none":
        raise ValueError(
            f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
        )
    return loss
