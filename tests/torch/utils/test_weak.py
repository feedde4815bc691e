"""Dictionaries that hold tensors weakly and tell them apart by identity."""

import copy

from autograph_cli import torch
from autograph_cli.torch.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_equal_tensors_are_two_keys_and_go_with_their_entries():
    a, b = torch.ones(2), torch.ones(2)
    notes = WeakTensorKeyDictionary({a: 1})
    notes[b] = 2
    assert (notes[a], notes[b], len(notes), list(notes.values())) == (1, 2, 2, [1, 2])
    assert torch.ones(2) not in notes and 3 not in notes
    assert notes.setdefault(a, 5) == 1 and notes.pop(b) == 2
    del a
    assert len(notes) == 0 and list(notes) == []


def test_copies_share_keys_and_are_equal():
    a, b = torch.ones(2), torch.zeros(2)
    notes = WeakIdKeyDictionary({a: [1]})
    assert notes.copy() == notes and copy.copy(notes)[a] is notes[a]
    deep = copy.deepcopy(notes)
    assert deep == notes and deep[a] is not notes[a]
    both = notes | {b: [2]}
    assert [ref() is key for ref, key in zip(both.keyrefs(), (a, b), strict=True)] == [True, True]
    assert both != notes and len(notes) == 1


def test_references_are_equal_as_long_as_they_are_to_the_same_object():
    a = torch.ones(2)
    one, other, weak = WeakIdRef(a), WeakIdRef(a), TensorWeakRef(a)
    assert one == other and hash(one) == hash(other) and weak() is a
    del a
    assert one != other and one == one and weak() is None
