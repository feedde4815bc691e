"""Containers: modules in a chain, a list, a dictionary; parameters in a list or a dictionary."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ... import _namespace as torch
from ..._core.tape.tensor import Tensor
from ..parameter import Parameter
from .module import Module, indented

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Modules by name; the oldest of the containers."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """Modules under the names "0", "1", ..."""

    def _ag_names(self) -> list[str]:
        return list(self._modules)

    def _ag_position(self, index: Any) -> str:
        index, count = operator.index(index), len(self)
        if not -count <= index < count:
            raise IndexError(f"index {index} is out of range")
        return self._ag_names()[index % count] if type(self) is Sequential else str(index % count)

    def __setitem__(self, index: int, module: Any) -> None:
        setattr(self, self._ag_position(index), module)

    def __delitem__(self, index: Any) -> None:
        for name in self._ag_names()[index] if isinstance(index, slice) else [self._ag_position(index)]:
            delattr(self, name)
        self._ag_renumber(self)

    def _ag_renumber(self, modules: Iterable[Any]) -> None:
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Any) -> Any:
        """Add a module at the end; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Any) -> Any:
        """Put a module before the one at `index`."""
        modules = list(self)
        if isinstance(self, Sequential):
            if not isinstance(module, Module):
                raise AssertionError(f"module should be of type: {Module}")
            if not -len(self) <= index <= len(self):
                raise IndexError(f"Index out of range: {index}")
            index += len(self) if index < 0 else 0
        modules.insert(index, module)
        self._ag_renumber(modules)
        return self

    def pop(self: Any, key: Any) -> Any:
        """Take out the module at a position."""
        result = self[key]
        del self[key]
        return result

    def _ag_extend(self, modules: Any) -> Any:
        for module in list(modules):
            self.append(module)
        return self


class Sequential(_Numbered):
    """Modules one after the other: each gets what the one before returned.

    >>> from autograph_cli import torch
    >>> torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return self._modules[self._ag_position(index)]

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def extend(self, sequential: Any) -> Any:
        """Add all modules of another one at the end."""
        return self._ag_extend(sequential)

    def __add__(self, other: Any) -> Any:
        _check_other(other, "add")
        return Sequential()._ag_extend([*self, *other])

    def __iadd__(self, other: Any) -> Any:
        _check_other(other, "add")
        return self._ag_extend(other)

    def __mul__(self, times: int) -> Any:
        return Sequential()._ag_extend(list(self) * _times(times))

    __rmul__ = __mul__

    def __imul__(self, times: int) -> Any:
        return self._ag_extend(list(self) * (_times(times) - 1))


def _check_other(other: Any, what: str) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"{what} operator supports only objects of Sequential class, but {type(other)} is given.")


def _times(n: Any) -> int:
    if not isinstance(n, int):
        raise TypeError(f"unsupported operand type(s) for *: {Sequential} and {type(n)}")
    if n <= 0:
        raise ValueError(f"Non-positive multiplication factor {n} for {Sequential}")
    return n


class ModuleList(_Numbered):
    """A list of modules, which a module that has it knows as its own."""

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._ag_position(index)]

    def extend(self, modules: Any) -> Any:
        """Add modules at the end; TypeError for what is not iterable."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        return self._ag_extend(modules)

    def __iadd__(self, modules: Any) -> Any:
        return self.extend(modules)

    def __add__(self, other: Any) -> Any:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        lines = []
        start = 0
        for i in range(1, len(texts) + 1):
            if i == len(texts) or texts[i] != texts[start]:
                where = f"({start}): " if i == start + 1 else f"({start}-{i - 1}): {i - start} x "
                lines.append(indented(where + texts[start]))
                start = i
        inner = "\n  ".join(lines)
        return f"{self._get_name()}(\n  {inner}\n)"

    __hash__ = Module.__hash__


class ModuleDict(Module):
    """A dictionary of modules, which a module that has it knows as its own."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Any) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Take out all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Take out one module."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def items(self) -> Any:
        """(name, module) pairs."""
        return self._modules.items()

    def update(self, modules: Any) -> None:
        """Add modules of a mapping or of (name, module) pairs; TypeError or ValueError for what is neither."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(modules).__name__}"
            )
        for i, pair in enumerate(modules.items() if isinstance(modules, (Mapping, ModuleDict)) else modules):
            if not isinstance(pair, Iterable):
                raise TypeError(f"ModuleDict update sequence element #{i} should be Iterable; is{type(pair).__name__}")
            found: Any = pair
            if len(found) != 2:
                raise ValueError(f"ModuleDict update sequence element #{i} has length {len(found)}; 2 is required")
            self[found[0]] = found[1]


# ---------------------------------------------------------------- parameters


def _as_parameter(value: Any) -> Any:
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(key: Any, value: Any, of_list: bool) -> str:
    if not isinstance(value, Tensor):
        return f"  ({key}): Object of type: {type(value).__name__}"
    what = value.dtype if of_list else torch.typename(value)
    size = "x".join(str(n) for n in value.shape)
    return f"  ({key}): {'Parameter' if isinstance(value, Parameter) else 'Tensor'} containing: [{what} of size {size}]"


class ParameterList(Module):
    """A list of parameters, which a module that has it knows as its own; tensors become parameters."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _ag_position(self, index: Any) -> str:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range")
        return str(index % len(self))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(getattr(self, str(i)) for i in range(len(self))[index])
        return getattr(self, self._ag_position(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, self._ag_position(index), _as_parameter(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter(self[i] for i in range(len(self)))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Any:
        """Add a value at the end; return the list."""
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Any) -> Any:
        """Add values at the end; TypeError for what is not iterable or a single tensor."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values: Any) -> Any:
        return self.extend(values)

    def extra_repr(self) -> str:
        return "\n".join(_described(i, value, True) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary of parameters, which a module that has it knows as its own; tensors become parameters."""

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _ag_attribute(self, key: Any) -> str:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string "
                f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        return key

    def __getitem__(self, key: str) -> Any:
        return getattr(self, self._ag_attribute(key))

    def __setitem__(self, key: str, value: Any) -> None:
        self._keys[self._ag_attribute(key)] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def copy(self) -> Any:
        """A dictionary with the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is `default` where there was none."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Take out everything."""
        for key in list(self):
            del self[key]

    def pop(self, key: str) -> Any:
        """Take out one value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Take out the last (key, value)."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or `default`."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> Any:
        """A dictionary with these keys and one value."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The keys."""
        return self._keys.keys()

    def items(self) -> Any:
        """(key, value) pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Any:
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add values of a mapping or of (key, value) pairs."""
        if not isinstance(parameters, Iterable):
            raise TypeError(
                "ParametersDict.update should be called with an iterable of key/value pairs, but got "
                f"{type(parameters).__name__}"
            )
        pairs = parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters
        in_order = isinstance(parameters, (OrderedDict, ParameterDict)) or not isinstance(parameters, Mapping)
        for key, value in pairs if in_order else sorted(pairs):
            self[key] = value

    def extra_repr(self) -> str:
        return "\n".join(_described(key, value, False) for key, value in self.items())

    def __call__(self, input: Any) -> Any:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> Any:
        joined = self.copy()
        joined.update(other)
        return joined

    def __ror__(self, other: Any) -> Any:
        joined = ParameterDict(other)
        joined.update(self)
        return joined

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self
