"""`torch.nn.utils.prune`: a parameter multiplied by a mask, which is computed once and applied before each call of its
module."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ... import _namespace as torch
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """A forward pre-hook that sets `name` to `name_orig * name_mask`.

    A subclass has a `PRUNING_TYPE` ("unstructured", "structured" or "global") and `compute_mask(t, default_mask)`.
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for a tensor of scores: zero where the parameter is pruned, and where `default_mask` is zero."""

    def apply_mask(self, module: Any) -> Any:
        """The parameter with its mask applied; AssertionError if the module has none."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune a parameter of a module by this method; further rounds join a `PruningContainer`. The hook,
        returned."""
        method = _with_earlier(cls, module, name, args, kwargs)
        original = getattr(module, name)
        if importance_scores is None:
            importance_scores = original
        elif importance_scores.shape != original.shape:
            shapes = f"got {importance_scores.shape} vs {original.shape}"
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, {shapes}"
            )
        first = not isinstance(method, PruningContainer)
        if first:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = torch.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone(memory_format=torch.contiguous_format)
        try:
            mask = method.compute_mask(importance_scores, default_mask=default_mask)
            module.register_buffer(name + "_mask", mask)
            setattr(module, name, method.apply_mask(module))
            module.register_forward_pre_hook(method)
        except Exception:
            if first:
                module.register_parameter(name, module._parameters.pop(name + "_orig"))
            raise
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """`t` times the mask that this method computes for it."""
        if importance_scores is None:
            importance_scores = t
        elif importance_scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default_mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(importance_scores, default_mask=default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values the parameter itself."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hooks_of(module: Any, name: str) -> list[tuple[int, Any]]:
    return [
        (key, hook)
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]


def _with_earlier(cls: Any, module: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The method to apply: a new one, or a container of it and those that came before; their hook is taken off."""
    earlier = _hooks_of(module, name)
    if len(earlier) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    method = cls(*args, **kwargs)
    method._tensor_name = name
    if not earlier:
        return method
    key, hook = earlier[0]
    del module._forward_pre_hooks[key]
    container = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
    container.add_pruning_method(method)
    return container


class PruningContainer(BasePruningMethod):
    """Methods that prune one parameter one after the other."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add a method for the same parameter; TypeError for anything else, ValueError for another parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on "
                f"the parameter named '{self._tensor_name}' to PruningContainer {self}."
                f" Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask of the last method, on what the earlier ones left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        part = _left(method, t, mask)
        mask[part] = method.compute_mask(t[part], default_mask=mask[part]).to(dtype=mask.dtype)
        return mask


def _left(method: Any, t: Any, mask: Any) -> Any:
    """The index of what earlier methods left for this one."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    if method.PRUNING_TYPE == "global":
        return (slice(None),) * t.dim()
    if method.PRUNING_TYPE != "structured":
        raise AttributeError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    index: list[Any] = [slice(None)] * t.dim()
    index[method.dim] = mask.sum(dim=[d for d in range(t.dim()) if d != method.dim % t.dim()]) != 0
    return tuple(index)


class Identity(BasePruningMethod):
    """Prunes nothing: a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class _ByAmount(BasePruningMethod):
    """Prunes a number of entries, or a fraction of them."""

    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_ByAmount):
    """Prunes entries at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return _without(default_mask, _number(self.amount, t.nelement()), lambda: torch.rand_like(t), largest=True)


class L1Unstructured(_ByAmount):
    """Prunes the entries of smallest magnitude."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return _without(default_mask, _number(self.amount, t.nelement()), lambda: torch.abs(t), largest=False)


def _without(default_mask: Any, count: int, scores: Any, largest: bool) -> Any:
    mask = default_mask.clone(memory_format=torch.contiguous_format)
    if count != 0:
        mask.view(-1)[torch.topk(scores().view(-1), k=count, largest=largest).indices] = 0
    return mask


class RandomStructured(_ByAmount):
    """Prunes channels along a dimension at random."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = _channels(t, self.dim, self.amount)
        if count == 0:
            return default_mask
        scores = torch.rand(t.shape[self.dim])
        return _keep_channels(t, self.dim, scores > torch.kthvalue(scores, k=count).values) * default_mask


class LnStructured(_ByAmount):
    """Prunes the channels of smallest norm of order `n` along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        count = _channels(t, self.dim, self.amount)
        if count == 0:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norm = torch.norm(t, p=self.n, dim=others)
        kept = torch.topk(norm, k=t.shape[self.dim] - count, largest=True).indices
        return _keep_channels(t, self.dim, kept) * default_mask


def _channels(t: Any, dim: int, amount: Any) -> int:
    """Return how many channels to prune."""
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to "
            "multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    if dim >= t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")
    return _number(amount, t.shape[dim])


def _keep_channels(t: Any, dim: int, kept: Any) -> Any:
    mask = torch.zeros_like(t)
    index: list[Any] = [slice(None)] * t.dim()
    index[dim] = kept
    mask[tuple(index)] = 1
    return mask


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    whole = isinstance(amount, numbers.Integral)
    if (whole and amount < 0) or (not whole and (float(amount) > 1.0 or float(amount) < 0.0)):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _number(amount: Any, available: int) -> int:
    """Return how many of `available` are to be pruned; ValueError if there are fewer."""
    if not isinstance(amount, numbers.Integral):
        share: int = round(amount * available)
        return share
    if int(amount) > available:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={available}")
    return int(amount)


# ---------------------------------------------------------------- functions


def identity(module: Any, name: str) -> Any:
    """Give a parameter a mask of ones; the module, returned."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune entries of a parameter at random: `amount` is their number, or a fraction.

    >>> from autograph_cli import torch
    >>> m = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=1)
    >>> torch.sum(m.weight_mask == 0)
    tensor(1)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune the entries of smallest magnitude, or of smallest score."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune channels along a dimension at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune the channels of smallest norm of order `n` along a dimension."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune a parameter by a mask."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune entries of several parameters together: `parameters` are pairs (module, name)."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    if not isinstance(importance_scores, (dict, type(None))):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs, given = list(parameters), importance_scores or {}
    vector = parameters_to_vector
    scores = vector([given.get(pair, getattr(*pair)) for pair in pairs])
    masks = vector([getattr(m, name + "_mask", torch.ones_like(getattr(m, name))) for m, name in pairs])
    container = PruningContainer()
    method = pruning_method(**kwargs)
    container._tensor_name = method._tensor_name = "temp"
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    container.add_pruning_method(method)
    final, start = container.compute_mask(scores, masks), 0
    for module, name in pairs:
        parameter = getattr(module, name)
        custom_from_mask(module, name, mask=final[start : start + parameter.numel()].view_as(parameter))
        start += parameter.numel()


def remove(module: Any, name: str) -> Any:
    """Make the pruned values the parameter itself; ValueError if it is not pruned."""
    found = _hooks_of(module, name)
    if not found:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    key, hook = found[0]
    hook.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Return whether a parameter of the module, or of one in it, is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )
