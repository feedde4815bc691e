"""Trees: leaves, shapes and what they say, as PyTorch's."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from autograph_cli.torch.utils import _pytree as tree

Point = namedtuple("Point", "x y")

TREES = [
    (1, [1], "*"),
    (None, [None], "*"),
    ((1, 2), [1, 2], "TreeSpec(tuple, None, [*,\n  *])"),
    ([1, (2, 3)], [1, 2, 3], "TreeSpec(list, None, [*,\n  TreeSpec(tuple, None, [*,\n    *])])"),
    ({"b": 1, "a": 2}, [1, 2], "TreeSpec(dict, ['b', 'a'], [*,\n  *])"),
    (OrderedDict(b=1, a=2), [1, 2], "TreeSpec(OrderedDict, ['b', 'a'], [*,\n  *])"),
    (deque([1]), [1], "TreeSpec(deque, None, [*])"),
    (defaultdict(list, {"a": 1}), [1], "TreeSpec(defaultdict, [<class 'list'>, ['a']], [*])"),
    ((), [], "TreeSpec(tuple, None, [])"),
]


@pytest.mark.parametrize(("given", "leaves", "shown"), TREES)
def test_a_tree_is_taken_apart_and_put_together(given, leaves, shown):
    found, spec = tree.tree_flatten(given)
    assert (found, repr(spec), spec.num_leaves) == (leaves, shown, len(leaves))
    again = tree.tree_unflatten(found, spec)
    assert again == given and type(again) is type(given)


def test_a_named_tuple_stays_one():
    assert tree.tree_map(lambda x: x * 2, Point(1, [2])) == Point(2, [4])


def test_a_map_of_several_trees_goes_leaf_by_leaf():
    assert tree.tree_map(lambda a, b: a + b, {"p": (1, 2)}, {"p": (3, 4)}) == {"p": (4, 6)}


def test_a_map_of_one_type_leaves_the_others():
    assert tree.tree_map_only(int, lambda x: x * 2, (1, 2.5)) == (2, 2.5)


def test_a_leaf_stands_for_all_beneath_its_place():
    spec = tree.tree_structure((1, (2, 3)))
    assert tree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]
    assert tree._broadcast_to_and_flatten((0, None), spec) == [0, None, None]
    assert tree._broadcast_to_and_flatten((0, 1, 2), spec) is None


def test_too_few_leaves_are_told():
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        tree.tree_unflatten([1], tree.tree_structure((1, 2)))


def test_trees_of_other_shapes_are_told():
    with pytest.raises(ValueError, match="Node arity mismatch; expected 2, but got 1"):
        tree.tree_map(lambda x, y: x, (1, 2), (1,))


def test_a_class_of_the_users_can_be_a_container():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    tree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda parts, _: Pair(*parts))
    made = tree.tree_map(lambda x: x + 1, Pair(1, (2,)))
    assert (made.a, made.b) == (2, (3,))


PATHS = [
    ({"a": [1, 2], "b": (3,)}, ["['a'][0]", "['a'][1]", "['b'][0]"]),
    (Point(1, deque([2, 3])), [".x", ".y[0]", ".y[1]"]),
    (OrderedDict(b=defaultdict(int, c=1)), ["['b']['c']"]),
    (1, [""]),
]


@pytest.mark.parametrize(("given", "paths"), PATHS)
def test_a_path_leads_to_its_leaf(given, paths):
    found, spec = tree.tree_flatten_with_path(given)
    assert [tree.keystr(path) for path, _ in found] == paths
    assert [tree.key_get(given, path) for path, _ in found] == [leaf for _, leaf in found] == tree.tree_leaves(given)
    assert spec == tree.tree_structure(given)
    assert tree.tree_map_with_path(lambda path, leaf: leaf, given) == given


def test_a_class_without_keys_has_no_paths():
    kind = type("Kind", (), {})
    tree.register_pytree_node(kind, lambda k: ([1], None), lambda parts, _: kind())
    try:
        with pytest.raises(ValueError, match="Did not find a flatten_with_keys_fn"):
            tree.tree_leaves_with_path([kind()])
    finally:
        del tree.SUPPORTED_NODES[kind]
