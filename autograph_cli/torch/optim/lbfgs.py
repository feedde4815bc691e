"""L-BFGS: Newton's method with curvature learned from the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.operations.registry import functions
from .._core.tape.tensor import Tensor
from ._checks import check_lr, options
from ._line_search import strong_wolfe
from .optimizer import Optimizer, evaluate, without_grad

SMALLEST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """Limited-memory BFGS over all parameters as one vector; `step(closure)` evaluates the loss several times.

    One parameter group only (ValueError otherwise). `line_search_fn` is None or "strong_wolfe".

    >>> from autograph_cli import torch
    >>> w = torch.tensor([3.0], requires_grad=True)
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (w * w).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(9., grad_fn=<SumBackward0>)
    >>> w
    tensor([0.], requires_grad=True)
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        names = "lr max_iter max_eval tolerance_grad tolerance_change history_size line_search_fn"
        super().__init__(params, options(locals(), names))
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Any] = self.param_groups[0]["params"]

    # -- all parameters as one vector

    def _flat_grad(self) -> Any:
        parts = []
        for p in self._params:
            grad = p.new_zeros(p.numel()) if p.grad is None else p.grad.to_dense().reshape(-1)
            parts.append(functions["view_as_real"](grad).reshape(-1) if grad.dtype.is_complex else grad)
        return functions["cat"](parts, 0)

    def _move(self, step_size: Any, direction: Any) -> None:
        start = 0
        for p in self._params:
            real = functions["view_as_real"](p) if p.dtype.is_complex else p
            real.add_(direction[start : start + real.numel()].reshape(real.shape), alpha=_plain(step_size))
            start += real.numel()

    def _try(self, closure: Callable[[], Any], start: list[Any], step_size: Any, direction: Any) -> tuple[float, Any]:
        """Loss and gradient a step away; the parameters stay at `start`."""
        self._move(step_size, direction)
        loss = float(_plain(evaluate(closure)))
        grad = self._flat_grad()
        for p, before in zip(self._params, start, strict=True):
            p.copy_(before)
        return loss, grad

    # -- the step

    @without_grad
    def step(self, closure: Callable[[], Any]) -> Any:
        """Move until `max_iter`, `max_eval` or a tolerance is reached; returns the first loss.

        `closure` clears the gradients, computes the loss and calls `backward`. RuntimeError for an unknown line search.
        """
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate(closure)
        state["func_evals"] += 1
        grad = self._flat_grad()
        if _largest(grad) <= group["tolerance_grad"]:
            return first_loss
        search = _Search(self, closure, group, state, float(_plain(first_loss)), grad)
        for turn in range(1, group["max_iter"] + 1):
            if not search.advance(last=turn == group["max_iter"]):
                break
        search.keep()
        return first_loss


class _Search:
    """One `step` on its way: where it stands, and what is kept between steps under PyTorch's names."""

    kept = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")

    def __init__(self, optimizer: LBFGS, closure: Any, group: Any, state: Any, loss: float, grad: Any) -> None:
        self.optimizer, self.closure, self.group, self.state = optimizer, closure, group, state
        self.loss, self.grad, self.evaluations = loss, grad, 1
        lr = group["lr"]
        self.lr = lr.squeeze() if isinstance(lr, Tensor) else lr
        self.d, self.t, self.old_dirs, self.old_stps, self.ro, self.H_diag, self.prev_flat_grad, self.prev_loss = (
            state.get(name) for name in self.kept
        )

    def keep(self) -> None:
        self.state.update((name, getattr(self, name)) for name in self.kept)

    def advance(self, last: bool) -> bool:
        """Take one step; whether another is worth taking."""
        group, state = self.group, self.state
        state["n_iter"] += 1
        if state["n_iter"] == 1:
            self.d, self.old_dirs, self.old_stps, self.ro, self.H_diag = self.grad.neg(), [], [], [], 1
            self.t = min(1.0, 1.0 / self.grad.abs().sum()) * self.lr
        else:
            self._learn()
            self.d = self._direction()
            self.t = self.lr
        if self.prev_flat_grad is None:
            self.prev_flat_grad = self.grad.clone()
        else:
            self.prev_flat_grad.copy_(self.grad)
        self.prev_loss = self.loss
        slope = self.grad.dot(self.d)
        if slope > -group["tolerance_change"]:
            return False
        used = self._take(slope, last)
        self.evaluations += used
        state["func_evals"] += used
        return not (
            last
            or self.evaluations >= group["max_eval"]
            or _largest(self.grad) <= group["tolerance_grad"]
            or _largest(self.d.mul(self.t)) <= group["tolerance_change"]
            or abs(self.loss - self.prev_loss) < group["tolerance_change"]
        )

    def _learn(self) -> None:
        """Remember the last step and how it changed the gradient."""
        y, s = self.grad.sub(self.prev_flat_grad), self.d.mul(self.t)
        curvature = y.dot(s)
        if curvature > SMALLEST_CURVATURE:
            if len(self.old_dirs) == self.group["history_size"]:
                for memory in (self.old_dirs, self.old_stps, self.ro):
                    memory.pop(0)
            self.old_dirs.append(y)
            self.old_stps.append(s)
            self.ro.append(1.0 / curvature)
            self.H_diag = curvature / y.dot(y)

    def _direction(self) -> Any:
        """The gradient times the inverse curvature, by the two loops over the memory."""
        shares = self.state.setdefault("al", [None] * self.group["history_size"])
        q = self.grad.neg()
        for i in reversed(range(len(self.old_dirs))):
            shares[i] = self.old_stps[i].dot(q) * self.ro[i]
            q.add_(self.old_dirs[i], alpha=-_plain(shares[i]))
        d = q.mul(self.H_diag)
        for i, (y, s) in enumerate(zip(self.old_dirs, self.old_stps, strict=True)):
            d.add_(s, alpha=_plain(shares[i] - y.dot(d) * self.ro[i]))
        return d

    def _take(self, slope: Any, last: bool) -> int:
        """Move along the direction; how often the loss was computed for it."""
        optimizer, line_search = self.optimizer, self.group["line_search_fn"]
        if line_search is None:
            optimizer._move(self.t, self.d)
            if last:
                return 0
            self.loss = float(_plain(evaluate(self.closure)))
            self.grad = optimizer._flat_grad()
            return 1
        if line_search != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        start = [p.clone() for p in optimizer._params]
        self.loss, self.grad, self.t, used = strong_wolfe(
            lambda t: optimizer._try(self.closure, start, t, self.d),
            self.t,
            self.d,
            self.loss,
            self.grad,
            slope,
            self.group["max_eval"] - self.evaluations,
        )
        optimizer._move(self.t, self.d)
        return used


def _plain(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def _largest(x: Any) -> float:
    return float(x.abs().max())
