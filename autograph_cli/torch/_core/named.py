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
