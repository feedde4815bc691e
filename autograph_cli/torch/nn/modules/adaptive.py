"""Softmax over many classes, of which the rare ones share the work."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from ... import _namespace as torch
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of the target classes, and minus their mean.

    The first `cutoffs[0]` classes, the frequent ones, stand in the head beside one position for each cluster of rarer
    classes; cluster i has its own smaller projection, `div_value` ** (i + 1) times narrower.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if len(cutoffs) == 0:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(cutoffs)
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or len(set(cutoffs)) != len(cutoffs)
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        position = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **position)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **position), Linear(width, size, bias=False, **position)
                )
            )

    def reset_parameters(self) -> None:
        """Draw new parameters for the head and all clusters."""
        self.head.reset_parameters()
        for inner, outer in self.tail:
            inner.reset_parameters()
            outer.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> Any:
        """(output, loss): the log-probability of each target, (N), and the loss; RuntimeError for targets out of
        range."""
        self._ag_check(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        output, positions = input.new_zeros(target.size(0)), target.new_empty(target.size(0))
        found = 0
        for i, (low, high) in enumerate(zip([0, *self.cutoffs], self.cutoffs, strict=False)):
            mask = (target >= low) & (target < high)
            rows = mask.nonzero().squeeze()
            if rows.numel() == 0:
                continue
            if i == 0:
                positions.index_copy_(0, rows, target[mask])
            else:
                positions.index_fill_(0, rows, self.shortlist_size + i - 1)
                log_prob = F.log_softmax(self.tail[i - 1](input.index_select(0, rows)), dim=1)
                output.index_copy_(0, rows, log_prob.gather(1, (target[mask] - low).unsqueeze(1)).squeeze(1))
            found += rows.numel()
        if found != target.size(0):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{target.min().item()}, "
                f"{target.max().item()}] were found. "
            )
        head = F.log_softmax(self.head(input), dim=1)
        output += head.gather(1, positions.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _ag_check(self, input: Any, target: Any) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and input.size(0) != target.size(0):
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        if input.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but found inputs with size",
                input.size(),
            )

    def _get_full_log_prob(self, input: Any, head_output: Any) -> Any:
        out = input.new_empty((head_output.size(0), self.n_classes))
        head = F.log_softmax(head_output, dim=1)
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (start, stop) in enumerate(zip(self.cutoffs, self.cutoffs[1:], strict=False)):
            cluster = F.log_softmax(self.tail[i](input), dim=1)
            out[:, start:stop] = cluster + head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def log_prob(self, input: Any) -> Any:
        """The log-probabilities of all classes: (N, in_features) to (N, n_classes)."""
        return self._get_full_log_prob(input, self.head(input))

    def predict(self, input: Any) -> Any:
        """The likeliest class of each row, without computing what cannot matter."""
        head = self.head(input)
        output = torch.argmax(head, dim=1)
        rare = output >= self.shortlist_size
        if not rare.any():
            return output
        if rare.all():
            return torch.argmax(self._get_full_log_prob(input, head), dim=1)
        output[rare] = torch.argmax(self._get_full_log_prob(input[rare], head[rare]), dim=1)
        return output
