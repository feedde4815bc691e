"""The layers that two models share, where others were put in or taken out, so that they have other numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from autograph_cli.graph.alignment import align
from autograph_cli.graph.records import Graph

Tree = dict[str, Any]
"""The parts of the names of a graph's tensors and modules, as a tree; under "" stands the type or class."""


def renumbered(old: Graph, new: Graph) -> Callable[[str], str]:
    """Return what gives the name in `old` of what has a dotted name in `new`; nothing for a layer that `old` lacks.

    >>> from autograph_cli.graph.records import Node, Output, TensorType
    >>> def layers(*sizes):
    ...     outputs = [Output(TensorType("float32", (n,)), (f"net.{at}.weight",)) for at, n in enumerate(sizes)]
    ...     return Graph(tuple([Node(at, "leaf", "", "", (output,)) for at, output in enumerate(outputs)]))
    >>> before = renumbered(layers(2, 3), layers(2, 5, 3))
    >>> before("net.0.weight"), before("net.1.weight"), before("net.2.weight"), before("x")
    ('net.0.weight', '', 'net.1.weight', 'x')
    """
    modules = knows_modules(old, new)
    one, other = _tree(old, modules), _tree(new, modules)
    if set(_paths(one)) == set(_paths(other)):
        return str
    found: dict[str, str] = {}
    _pair(one, other, found)
    return lambda name: found.get(name, name)


def knows_modules(*graphs: Graph) -> bool:
    """Return whether all of these say in which modules they ran; what is read from a snapshot does not."""
    return all(graph.calls for graph in graphs)


def _tree(graph: Graph, modules: bool) -> Tree:
    tree: Tree = {}
    for node in graph.nodes:
        for output in () if node.is_operation else node.outputs:
            for name in output.names:
                _put(tree, name, str(output.type))
        if node.module and modules:
            _put(tree, node.module, "")
    for call in graph.calls if modules else ():
        _put(tree, call.path, call.cls)
    return tree


def _put(tree: Tree, name: str, said: str) -> None:
    for part in name.split("."):
        tree = tree.setdefault(part or " ", {})
    tree[""] = said


def _below(tree: Tree, path: str = "") -> Iterator[tuple[str, Tree]]:
    """The paths of all parts of a tree, each with the tree that it is; modules may be thousands deep."""
    waiting = [(path, tree)]
    while waiting:
        path, tree = waiting.pop()
        for part, below in tree.items():
            if part:
                yield f"{path}{part}", below
                waiting.append((f"{path}{part}.", below))


def _paths(tree: Tree, path: str = "") -> Iterator[str]:
    return (found for found, _ in _below(tree, path))


def _pair(old: Tree, new: Tree, found: dict[str, str]) -> None:
    """Note for all that is in the new tree what it is in the old one."""
    waiting = [(old, new, "", "")]
    while waiting:
        old, new, before, after = waiting.pop()
        likes = _likes(old, new)
        for part, below in new.items():
            like = likes.get(part, "") if part.isdecimal() else part
            if part and like:
                found[f"{after}{part}"] = f"{before}{like}"
                waiting.append((old.get(like, {}), below, f"{before}{like}.", f"{after}{part}."))
            elif part:
                found.update(dict.fromkeys([f"{after}{part}", *_paths(below, f"{after}{part}.")], ""))


def _likes(old: Tree, new: Tree) -> dict[str, str]:
    """Return the number in the old tree of each numbered part of the new one that is there too."""
    olds, news = ([part for part in sorted(tree, key=_order) if part.isdecimal()] for tree in (old, new))
    if olds == news or not olds or not news:
        return dict(zip(news, news, strict=True))
    found: dict[str, str] = {}
    ends = align([_whole(old[part]) for part in olds], [_whole(new[part]) for part in news])
    first = second = 0
    for one, other in [*ends, (len(olds), len(news))]:
        mine, theirs = olds[first:one], news[second:other]
        rough = align([_kind(old[part]) for part in mine], [_kind(new[part]) for part in theirs])
        found.update((theirs[at], mine[was]) for was, at in rough)
        if other < len(news):
            found[news[other]] = olds[one]
        first, second = one + 1, other + 1
    return found


def _order(part: str) -> int:
    return int(part) if part.isdecimal() else -1


def _whole(tree: Tree) -> Hashable:
    """Return all that a layer is."""
    return tree.get(""), tuple(sorted((path, below.get("", "")) for path, below in _below(tree)))


def _kind(tree: Tree) -> Hashable:
    """Return what kind of layer one is, whatever its sizes."""
    said = "" if len(tree) == 1 and "" in tree and "[" in tree[""] else tree.get("", "")
    return said, tuple(sorted(part for part in tree if part and not part.isdecimal()))
