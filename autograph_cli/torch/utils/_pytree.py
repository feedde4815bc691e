"""Trees of tuples, lists, dicts and named tuples: taken apart into leaves, and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any

PyTree = Any


class TreeSpec:
    """The shape of a tree: the type of a container, what it holds beside its children, and the children's shapes."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = list(children_specs)
        self.num_leaves = 1 if type is None else sum(c.num_leaves for c in self.children_specs)

    def is_leaf(self) -> bool:
        return self.type is None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec) or self.type is not other.type:
            return False
        return bool(self.context == other.context) and self.children_specs == other.children_specs

    def __hash__(self) -> int:
        return hash((self.type, self.num_leaves))

    def __repr__(self, indent: int = 0) -> str:
        if self.is_leaf():
            return "*"
        name = "namedtuple" if _is_namedtuple(self.type) else self.type.__name__
        gap = ",\n" + " " * (indent + 2)
        return f"TreeSpec({name}, {self.context}, [{gap.join(c.__repr__(indent + 2) for c in self.children_specs)}])"


LEAF = TreeSpec(None, None, ())


class _Shown:
    def __repr__(self) -> str:
        return "*"


def _is_namedtuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


_Parts = tuple[list[Any], Any]


def _keyed(tree: Any) -> _Parts:
    return list(tree.values()), list(tree)


_CONTAINERS: dict[Any, tuple[Callable[[Any], _Parts], Callable[[list[Any], Any], Any]]] = {
    tuple: (lambda t: (list(t), None), lambda parts, _: tuple(parts)),
    list: (lambda t: (t, None), lambda parts, _: list(parts)),
    dict: (_keyed, lambda parts, keys: dict(zip(keys, parts, strict=True))),
    OrderedDict: (_keyed, lambda parts, keys: OrderedDict(zip(keys, parts, strict=True))),
    defaultdict: (
        lambda t: (list(t.values()), [t.default_factory, list(t)]),
        lambda parts, context: defaultdict(context[0], zip(context[1], parts, strict=True)),
    ),
    deque: (lambda t: (list(t), t.maxlen), lambda parts, maxlen: deque(parts, maxlen)),
}
_NAMED = (lambda t: (list(t), type(t)), lambda parts, kind: kind(*parts))


def register_pytree_node(cls: type, flatten_fn: Any, unflatten_fn: Any, **_: Any) -> None:
    """Make a class a container: `flatten_fn(x)` gives (children, context), `unflatten_fn(children, context)` builds it."""
    _CONTAINERS[cls] = (flatten_fn, unflatten_fn)


def _functions(kind: Any) -> Any:
    found = _CONTAINERS.get(kind)
    return _NAMED if found is None and _is_namedtuple(kind) else found


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its shape. None is a leaf.

    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    functions = None if is_leaf is not None and is_leaf(tree) else _functions(type(tree))
    if functions is None:
        return [tree], LEAF
    children, context = functions[0](tree)
    leaves: list[Any] = []
    specs = []
    for child in children:
        found, spec = tree_flatten(child, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(type(tree), context, specs)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of this shape with these leaves; ValueError where their number differs.

    >>> tree_unflatten([1, 2], tree_structure(("a", ["b"])))
    (1, [2])
    """
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})."
        )
    return _built(iter(given), treespec)


def _built(leaves: Any, spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(leaves)
    parts = [_built(leaves, child) for child in spec.children_specs]
    return _functions(spec.type)[1](parts, spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The shape of the tree, without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """`func` of each leaf (and of the leaves at the same place of `rests`), in a tree of the same shape.

    >>> tree_map(lambda x: x + 1, {"a": (1, 2)})
    {'a': (2, 3)}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_leaves_like(spec, rest) for rest in rests]
    return tree_unflatten([func(*each) for each in zip(leaves, *others, strict=True)], spec)


def _leaves_like(spec: TreeSpec, tree: PyTree) -> list[Any]:
    """The subtrees of `tree` that stand where `spec` has leaves."""
    if spec.is_leaf():
        return [tree]
    functions = _functions(type(tree))
    if functions is None or type(tree) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children = functions[0](tree)[0]
    if len(children) != len(spec.children_specs):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}.")
    return [
        leaf for child, tree in zip(spec.children_specs, children, strict=True) for leaf in _leaves_like(child, tree)
    ]


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: PyTree) -> PyTree:
    """`tree_map` of the leaves of one type (or of several); the others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree)


def tree_all(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Whether `pred` holds for every leaf."""
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Whether `pred` holds for a leaf."""
    return any(map(pred, tree_leaves(tree)))


def treespec_pprint(treespec: TreeSpec) -> str:
    """A shape as the tree that it describes, with `*` for the leaves."""
    return repr(tree_unflatten([_Shown()] * treespec.num_leaves, treespec))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree`, each repeated for all leaves of `treespec` beneath its place; None where the shapes differ."""
    if treespec.is_leaf():
        return [tree] if _functions(type(tree)) is None else None
    functions = _functions(type(tree))
    if functions is None:
        return [tree] * treespec.num_leaves
    children, context = functions[0](tree)
    if type(tree) is not treespec.type or context != treespec.context or len(children) != len(treespec.children_specs):
        return None
    found: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        leaves = _broadcast_to_and_flatten(child, spec)
        if leaves is None:
            return None
        found += leaves
    return found
