"""Classes that show themselves under PyTorch's names."""

from __future__ import annotations

_PACKAGE = __name__.rpartition(".torch.")[0]


class Named(type):
    """The type of classes whose text is PyTorch's: `<class 'torch.Tensor'>`. They keep their own `__module__`."""

    def __repr__(cls) -> str:
        module = cls.__module__
        if not module.startswith(f"{_PACKAGE}.torch"):
            return super().__repr__()
        public = module[len(_PACKAGE) + 1 :].partition("._")[0]
        return f"<class '{public}.{cls.__qualname__}'>"


def type_name(x: object) -> str:
    """The type of an argument as PyTorch's messages call it: `int`, `Tensor`, `numpy.ndarray`, `torch.dtype`."""
    kind = type(x)
    if kind.__name__ == "Tensor":
        return "Tensor"
    public = repr(kind) if type(kind) is Named else ""
    if public.startswith("<class 'torch.") and "nn" not in public:
        return public[8:-2]
    return f"{kind.__module__}.{kind.__name__}" if kind.__module__ in ("numpy", "torch") else kind.__name__
