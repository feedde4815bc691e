"""Layers that are a function of `torch.nn.functional` with settings: the class body lists them, the rest follows."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from .. import functional as F
from .module import Module

_REQUIRED = inspect.Parameter.empty


class Layer(Module):
    """Base of layers without parameters.

    A subclass with `call=` names its function and lists its settings as annotated attributes, in the order of the
    constructor's arguments; a value is the default. `keyword_only=True` takes them as keywords only. `shows` is the
    format of `extra_repr`; by default every setting is shown, `inplace` only where it is True. `function=` names
    another function for the settings of the base.
    """

    __constants__: list[str]
    __signature__: ClassVar[inspect.Signature]
    _ag_function = ""
    _ag_shows: str | None = None

    def __init_subclass__(
        cls,
        call: str | None = None,
        shows: str | None = None,
        keyword_only: bool = False,
        function: str | None = None,
        **more: Any,
    ) -> None:
        super().__init_subclass__(**more)
        if function is not None:
            cls._ag_function = function
        if call is None:
            return
        cls._ag_function, cls._ag_shows = call, shows
        kind = inspect.Parameter.KEYWORD_ONLY if keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        cls.__constants__ = [name for name in inspect.get_annotations(cls) if not name.startswith("_")]
        cls.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind, default=cls.__dict__.get(name, _REQUIRED)) for name in cls.__constants__]
        )
        for name in cls.__constants__:
            if name in cls.__dict__:
                delattr(cls, name)  # so that a buffer may take the name

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        bound = self._ag_signature().bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    @classmethod
    def _ag_signature(cls) -> inspect.Signature:
        result: inspect.Signature = next(
            c.__dict__["__signature__"] for c in cls.__mro__ if "__signature__" in c.__dict__
        )
        return result

    def _ag_settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__constants__}

    def forward(self, *inputs: Any) -> Any:
        of = self.__dict__
        try:
            settings = {name: of[name] for name in self.__constants__}
        except KeyError:  # one of them was made a parameter
            settings = self._ag_settings()
        return getattr(F, self._ag_function)(*inputs, **settings)

    def extra_repr(self) -> str:
        if self._ag_shows is not None:
            return self._ag_shows.format(**self._ag_settings())
        return ", ".join(f"{k}={v!r}" for k, v in self._ag_settings().items() if k != "inplace" or v)
