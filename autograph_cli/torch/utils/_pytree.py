"""Trees of tuples, lists, dicts and named tuples: taken apart into leaves, and put together again."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

PyTree = Any


class MappingKey(NamedTuple):
    """The key of a child in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, parent: Any) -> Any:
        return parent[self.key]


class SequenceKey(NamedTuple):
    """The position of a child in a list, a tuple or a deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, parent: Any) -> Any:
        return parent[self.idx]


class GetAttrKey(NamedTuple):
    """The name of a child in a named tuple or an object."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, parent: Any) -> Any:
        return getattr(parent, self.name)


KeyPath = tuple[Any, ...]


class TreeSpec:
    """The shape of a tree: the type of a container, what it holds beside its children, and the children's shapes."""

    __slots__ = ("children_specs", "context", "num_leaves", "type")

    def __init__(self, type: Any, context: Any, children_specs: Iterable[TreeSpec]) -> None:
        self.type = type
        self.context = context
        self.children_specs = list(children_specs)
        self.num_leaves: int = 1 if type is None else sum(c.num_leaves for c in self.children_specs)

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
        gap = ",\n" + " " * (indent + 2)
        return (
            f"TreeSpec({self.type.__name__}, {self.context}, "
            f"[{gap.join(c.__repr__(indent + 2) for c in self.children_specs)}])"
        )


class LeafSpec(TreeSpec):
    """The shape of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None, None, ())


LEAF = LeafSpec()


class _Shown:
    def __repr__(self) -> str:
        return "*"


def _is_namedtuple(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


_Parts = tuple[list[Any], Any]


def _keyed(tree: Any) -> _Parts:
    return list(tree.values()), list(tree)


def _dict_flatten_with_keys(tree: Any) -> tuple[list[tuple[MappingKey, Any]], list[Any]]:
    """The values of a dict with their keys, and the list of keys."""
    return [(MappingKey(key), value) for key, value in tree.items()], list(tree)


def _placed(tree: Any) -> tuple[list[tuple[SequenceKey, Any]], Any]:
    return [(SequenceKey(position), child) for position, child in enumerate(tree)], None


class NodeDef(NamedTuple):
    """The functions of a class of containers: take apart, put together, and take apart with the keys of its
    children."""

    type: Any
    flatten_fn: Callable[[Any], _Parts]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None = None


SUPPORTED_NODES: dict[Any, NodeDef] = {
    node.type: node
    for node in (
        NodeDef(tuple, lambda t: (list(t), None), lambda parts, _: tuple(parts), _placed),
        NodeDef(list, lambda t: (t, None), lambda parts, _: list(parts), _placed),
        NodeDef(dict, _keyed, lambda parts, keys: dict(zip(keys, parts, strict=True)), _dict_flatten_with_keys),
        NodeDef(
            OrderedDict,
            _keyed,
            lambda parts, keys: OrderedDict(zip(keys, parts, strict=True)),
            _dict_flatten_with_keys,
        ),
        NodeDef(
            defaultdict,
            lambda t: (list(t.values()), [t.default_factory, list(t)]),
            lambda parts, context: defaultdict(context[0], zip(context[1], parts, strict=True)),
            _dict_flatten_with_keys,
        ),
        NodeDef(deque, lambda t: (list(t), t.maxlen), lambda parts, maxlen: deque(parts, maxlen), _placed),
        NodeDef(
            namedtuple,
            lambda t: (list(t), type(t)),
            lambda parts, kind: kind(*parts),
            lambda t: ([(GetAttrKey(name), child) for name, child in zip(t._fields, t, strict=True)], type(t)),
        ),
    )
}
"""By class; all named tuples are under `namedtuple`."""
_dict_flatten, _dict_unflatten = SUPPORTED_NODES[dict][1:3]
_list_flatten, _list_unflatten = SUPPORTED_NODES[list][1:3]


def register_pytree_node(
    cls: type, flatten_fn: Any, unflatten_fn: Any, *, flatten_with_keys_fn: Any = None, **_: Any
) -> None:
    """Make a class a container: `flatten_fn(x)` gives (children, context), `unflatten_fn(children, context)` builds
    it."""
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def _get_node_type(tree: Any) -> Any:
    """The class under which a tree is known."""
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and _is_namedtuple(kind) else kind


def _node(tree: Any) -> NodeDef | None:
    return SUPPORTED_NODES.get(_get_node_type(tree))


def tree_flatten(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its shape. None is a leaf.

    >>> tree_flatten({"a": 1, "b": (2, 3)})[0]
    [1, 2, 3]
    """
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        return [tree], LEAF
    children, context = node.flatten_fn(tree)
    leaves: list[Any] = []
    specs = []
    for child in children:
        found, spec = tree_flatten(child, is_leaf)
        leaves += found
        specs.append(spec)
    return leaves, TreeSpec(node.type, context, specs)


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
    return SUPPORTED_NODES[spec.type].unflatten_fn(parts, spec.context)


def tree_leaves(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The shape of the tree, without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """`func` of each leaf (and of the leaves at the same position of `rests`), in a tree of the same shape.

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
    node = _node(tree)
    if node is None or node.type is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {type(tree)!r}.")
    children = node.flatten_fn(tree)[0]
    if len(children) != len(spec.children_specs):
        raise ValueError(f"Node arity mismatch; expected {len(spec.children_specs)}, but got {len(children)}.")
    return [
        leaf for child, tree in zip(spec.children_specs, children, strict=True) for leaf in _leaves_like(child, tree)
    ]


def tree_map_only(kind: Any, func: Callable[[Any], Any], tree: PyTree) -> PyTree:
    """`tree_map` of the leaves of one type (or of several); the others stay."""
    return tree_map(lambda x: func(x) if isinstance(x, kind) else x, tree)


def tree_all(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Return whether `pred` holds for every leaf."""
    return all(map(pred, tree_leaves(tree)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree) -> bool:
    """Return whether `pred` holds for a leaf."""
    return any(map(pred, tree_leaves(tree)))


def _with_paths(path: KeyPath, tree: PyTree, is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[KeyPath, Any]]:
    node = None if is_leaf is not None and is_leaf(tree) else _node(tree)
    if node is None:
        yield path, tree
        return
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node.type}. Please pass a flatten_with_keys_fn argument "
            "to register_pytree_node."
        )
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        yield from _with_paths((*path, key), child, is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each after the keys that lead to it, and the shape of the tree.

    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"a": [1, 2]})[0]]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(_with_paths((), tree, is_leaf)), tree_structure(tree, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each after the keys that lead to it."""
    return list(_with_paths((), tree, is_leaf))


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: Callable[[Any], bool] | None = None
) -> PyTree:
    """`tree_map` whose function is given the keys that lead to a leaf, too."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [_leaves_like(spec, rest) for rest in rests]
    return tree_unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others, strict=True)], spec)


def keystr(kp: KeyPath) -> str:
    """A path as it is written behind the name of a tree."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return what a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def treespec_pprint(treespec: TreeSpec) -> str:
    """A shape as the tree that it describes, with `*` for the leaves."""
    return repr(tree_unflatten([_Shown()] * treespec.num_leaves, treespec))


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec) -> list[Any] | None:
    """The leaves of `tree`, each repeated for all leaves of `treespec` beneath its position; None where the shapes
    differ."""
    if treespec.is_leaf():
        return [tree] if _node(tree) is None else None
    node = _node(tree)
    if node is None:
        return [tree] * treespec.num_leaves
    children, context = node.flatten_fn(tree)
    if node.type is not treespec.type or context != treespec.context or len(children) != len(treespec.children_specs):
        return None
    result: list[Any] = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        leaves = _broadcast_to_and_flatten(child, spec)
        if leaves is None:
            return None
        result += leaves
    return result
