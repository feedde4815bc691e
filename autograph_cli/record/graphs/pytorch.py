"""Reads the graphs of PyTorch itself, where it is installed: by its public nodes, without following its run."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from autograph_cli.graph import Edge, Graph, Node, Output, Root, Saved, TensorType
from autograph_cli.record.names.variables import items_of

_LEAF = "torch::autograd::AccumulateGrad"
_PLAIN = (bool, int, float, str, tuple, list)
_UNSIGNED = 1 << 63
"""PyTorch shows a negative dimension that it saved as an unsigned number from here on."""


def is_tensor(value: Any) -> bool:
    """Return whether this is a tensor of PyTorch, not of autograph's engine."""
    return is_loaded() and issubclass(type(value), sys.modules["torch"].Tensor)


def is_loaded() -> bool:
    """Return whether `torch` is PyTorch, and imported."""
    torch = sys.modules.get("torch")  # which is the engine while that is served
    return torch is not None and getattr(torch.__spec__, "name", "") == "torch" and hasattr(torch, "_C")


class Awaited(MetaPathFinder):
    """Calls a function once when PyTorch has been imported, unless it is closed before."""

    def __init__(self, told: Callable[[], None]) -> None:
        self._told = told
        sys.meta_path.insert(sys.meta_path.index(PathFinder), self)  # after what serves the engine as `torch`

    def close(self) -> None:
        """Wait no more."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where PyTorch is; its loader tells that it has been imported."""
        spec = PathFinder.find_spec(fullname, path, target) if fullname == "torch" else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def executed(module: ModuleType) -> None:
            execute(module)
            self.close()
            self._told()

        spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def gradients(roots: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The gradients of the roots by the leaves that they hang on, those that have a graph."""
    torch = sys.modules["torch" if is_tensor(roots[0][1]) else "autograph_cli.torch"]
    leaves = [node.variable for node in _walk([root.grad_fn for _, root in roots]) if node.name() == _LEAF]
    found = torch.autograd.grad(
        [root for _, root in roots],
        leaves,
        [torch.ones_like(root) for _, root in roots],
        create_graph=True,
        allow_unused=True,
    )
    made = [x for x in found if x is not None and x.grad_fn is not None]
    return [(f"gradient[{position}]", x) for position, x in enumerate(made)]


def graph_of(roots: Sequence[tuple[str, Any]], spaces: Iterable[Mapping[str, Any]]) -> Graph:
    """The graph of these tensors; leaves are named after the variables and parameters in `spaces`.

    PyTorch does not tell what an operation was given besides gradients, nor which backward made it: `args` are empty,
    and all is of order 0.
    """
    met = _walk([root.grad_fn for _, root in roots])
    ids = {node: position for position, node in enumerate(met)}
    names = _names(spaces)
    variables: dict[tuple[int, int], list[str]] = {}
    for name, root in roots:
        variables.setdefault((ids[root.grad_fn], root.output_nr), []).append(name)
    nodes = tuple(_node(node, ids, names, variables) for node in met)
    return Graph(nodes, tuple(Root(name, ids[root.grad_fn], root.output_nr) for name, root in roots))


def _walk(starts: Iterable[Any]) -> list[Any]:
    """The nodes that these lead to in order of creation, each leaf before the first that uses it."""
    met: dict[Any, None] = dict.fromkeys(starts)
    stack = list(met)
    while stack:
        for node, _ in stack.pop().next_functions:
            if node is not None and node not in met:
                met[node] = None
                stack.append(node)
    found: dict[Any, None] = {}
    for node in sorted((node for node in met if node.name() != _LEAF), key=lambda node: node._sequence_nr()):
        for used, _ in node.next_functions:
            if used is not None and used.name() == _LEAF:
                found[used] = None
        found[node] = None
    return list(found)


def _node(node: Any, ids: Mapping[Any, int], names: Mapping[int, str], variables: Mapping[Any, list[str]]) -> Node:
    number, name = ids[node], node.name()
    if name == _LEAF:
        x = node.variable
        known = (names[id(x)],) if id(x) in names else ()
        return Node(number, "leaf", "AccumulateGrad", "", (Output(_type(x.dtype, x.shape, x.device), known),))
    outputs = tuple(
        Output(_type(like.dtype, like.shape, like.device), tuple(variables.get((number, nr), ())))
        for nr, like in enumerate(node._input_metadata)
    )
    following = tuple(None if used is None else Edge(ids[used], nr) for used, nr in node.next_functions)
    return Node(number, "operation", name, _operation(name), outputs, following, saved=tuple(_saved(node)))


def _operation(name: str) -> str:
    """`linalg_vector_norm` for `LinalgVectorNormBackward0`; a custom Function keeps its name."""
    inner = re.fullmatch(r"(\w+?)Backward\d+", name)
    if inner is None:
        return name.rpartition("::")[2].removesuffix("Backward")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", inner[1]).lower()


def _type(dtype: Any, shape: Any, device: Any) -> TensorType:
    sides = tuple([side if side.__class__ is int else -1 for side in shape])
    return TensorType(str(dtype).removeprefix("torch."), sides, str(device))


def _saved(node: Any) -> Iterator[Saved]:
    """The plain arguments that a node keeps."""
    for name in sorted(name for name in dir(node) if name.startswith("_saved_")):
        try:
            value = getattr(node, name)
        except RuntimeError:  # freed by a backward pass
            continue
        if isinstance(value, _PLAIN) and not any(map(is_tensor, value if isinstance(value, (tuple, list)) else ())):
            yield Saved(name, value=_shown(value))


def _shown(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        parts = [_shown(item) for item in value]
        return f"({', '.join(parts)}{',' * (len(parts) == 1)})"
    if isinstance(value, int) and value >= _UNSIGNED:
        value -= 1 << 64
    return repr(value)


def _names(spaces: Iterable[Mapping[str, Any]]) -> dict[int, str]:
    """The variables and parameters by the id of their tensor."""
    found: dict[int, str] = {}
    for space in spaces:
        for name, value in list(space.items()):
            if not name.startswith(("_", "@")):
                for path, x in _tensors(name, value):
                    found.setdefault(id(x), path)
    return found


def _tensors(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if is_tensor(value):
        yield name, value
    elif issubclass(type(value), sys.modules["torch"].nn.Module):
        yield from ((f"{name}.{path}", x) for path, x in value.named_parameters())
    else:
        yield from ((f"{name}[{key!r}]", x) for key, x in items_of(value) or () if is_tensor(x))
