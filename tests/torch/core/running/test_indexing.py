"""Indexing: every form, read and written, against NumPy; gradients against counting."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from autograph_cli import torch

SHAPE = (3, 4, 2)
ARRAY = np.arange(24.0).reshape(SHAPE)


def tensor():
    return torch.tensor(ARRAY.tolist(), dtype=torch.float64)


def slices(n):
    bound = st.one_of(st.none(), st.integers(-n - 1, n + 1))
    return st.builds(slice, bound, bound, st.one_of(st.none(), st.integers(1, 3)))


def one(n):
    """An index of a dimension of length n, as Python writes it."""
    return st.one_of(
        st.integers(-n, n - 1),
        slices(n),
        st.lists(st.integers(-n, n - 1), min_size=2, max_size=2),
        st.lists(st.booleans(), min_size=n, max_size=n).filter(lambda mask: sum(mask) == 2),
    )


@st.composite
def indices(draw):
    count = draw(st.integers(0, 3))
    items = [draw(one(n)) for n in SHAPE[:count]]
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    if count < 3 and draw(st.booleans()):
        # After an ellipsis, dimensions are counted from the end.
        items = [..., draw(one(SHAPE[-1]))] if draw(st.booleans()) else [*items, ...]
    return tuple(items)


def as_tensors(index):
    return tuple(torch.tensor(i) if isinstance(i, list) else i for i in index)


def expected(index, array=ARRAY):
    """NumPy's answer, with the one rule that differs: a number beside lists is a selection here, an index there."""
    selected, rest, axis = array, [], 0
    taken = sum(i is not None and i is not ... for i in index)
    for item in index:
        if isinstance(item, int):
            selected = selected[(slice(None),) * axis + (item,)]
            continue
        if item is ...:
            axis += array.ndim - taken
        elif item is None:
            selected = np.expand_dims(selected, axis)
            rest.append((axis, slice(None)))
            axis += 1
        else:
            if isinstance(item, slice):
                selected = selected[(slice(None),) * axis + (item,)]
            else:
                rest.append((axis, np.array(item)))
            axis += 1
    full = [slice(None)] * selected.ndim
    for where, item in rest:
        full[where] = item
    return selected[tuple(full)]


@settings(max_examples=150, deadline=None, derandomize=True)
@given(indices(), st.booleans())
def test_any_index_reads_what_numpy_reads(index, wrapped):
    got = tensor()[as_tensors(index) if wrapped else index]
    assert got.tolist() == expected(index).tolist()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(indices())
def test_the_gradient_counts_how_often_an_element_was_read(index):
    x = tensor().requires_grad_()
    read = x[index]
    positions = expected(index, np.arange(24).reshape(SHAPE))
    weights = np.arange(1.0, positions.size + 1)
    (g,) = torch.autograd.grad((read * torch.tensor(weights, dtype=x.dtype).reshape(positions.shape)).sum(), x)
    count = np.zeros(24)
    np.add.at(count, positions.ravel(), weights)
    assert g.tolist() == count.reshape(SHAPE).tolist()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(indices(), st.booleans())
def test_any_index_writes_where_it_reads(index, number):
    x = tensor()
    positions = expected(index, np.arange(24).reshape(SHAPE))
    values = np.full(positions.shape, -5.0) if number else -1 - positions.astype(float)
    want = ARRAY.copy()
    want.reshape(-1)[positions.ravel()] = values.ravel()
    x[index] = -5.0 if number else torch.tensor(values.tolist(), dtype=x.dtype).reshape(positions.shape)
    assert x.tolist() == want.tolist()


@settings(max_examples=60, deadline=None, derandomize=True)
@given(indices())
def test_what_was_overwritten_has_no_gradient_and_what_was_written_has(index):
    x = tensor().requires_grad_()
    s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x * 1
    y[index] = s
    gx, gs = torch.autograd.grad(y.sum(), (x, s), materialize_grads=True)
    positions = set(expected(index, np.arange(24).reshape(SHAPE)).ravel().tolist())
    assert gx.tolist() == [
        [[float(4 * 2 * i + 2 * j + k not in positions) for k in range(2)] for j in range(4)] for i in range(3)
    ]
    assert gs.item() in (len(positions), expected(index).size)


FORMS = {
    "x[mask]": (lambda x: x[x > 20], [21.0, 22.0, 23.0]),
    "x[mask of one dimension]": (lambda x: x[torch.tensor([False, False, True]), 3], [[22.0, 23.0]]),
    "x[True]": (lambda x: x[True].shape, (1, 3, 4, 2)),
    "x[False]": (lambda x: x[False].shape, (0, 3, 4, 2)),
    "x[0-d tensor]": (lambda x: x[torch.tensor(1), 0].tolist(), [8.0, 9.0]),
    "x[uint8]": (lambda x: x[torch.tensor([2, 0], dtype=torch.int32), 0, 0].tolist(), [16.0, 0.0]),
    "x[range]": (lambda x: x[range(2), 0, 0].tolist(), [0.0, 8.0]),
    "x[numpy]": (lambda x: x[np.array([0, 2]), 0, 0].tolist(), [0.0, 16.0]),
    "x[numpy integer]": (lambda x: x[np.int64(2), 0, 0].item(), 16.0),
    "x[list of lists]": (lambda x: x[[[0, 1], [2, 0]], 0, 0].tolist(), [[0.0, 8.0], [16.0, 0.0]]),
    "lists apart": (lambda x: x[[0, 1], :, [0, 1]].shape, (2, 4)),
    "lists together": (lambda x: x[:, [0, 1, 2], [0, 1, 0]].shape, (3, 3)),
    "empty list": (lambda x: x[[]].shape, (0, 4, 2)),
    "iteration": (lambda x: [row.shape for row in x], [(4, 2)] * 3),
    "unpacking": (lambda x: [float(v) for v in x[0, 0]], [0.0, 1.0]),
    "len": (len, 3),
    "in": (lambda x: (7 in x, 99 in x), (True, False)),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name):
    read, want = FORMS[name]
    got = read(tensor())
    got = got.tolist() if hasattr(got, "tolist") else got
    assert got == want


REFUSED = {
    "index 3 is out of bounds for dimension 0 with size 3": (IndexError, lambda x: x[3]),
    "too many indices for tensor of dimension 3": (IndexError, lambda x: x[0, 0, 0, 0]),
    "step must be greater than zero": (ValueError, lambda x: x[::-1]),
    "slice step cannot be zero": (ValueError, lambda x: x[:, ::0]),
    "slice indices must be integers or None or have an __index__ method": (TypeError, lambda x: x[1.5:]),
    "tensors used as indices must be long, int, byte or bool tensors": (IndexError, lambda x: x[torch.tensor([1.0])]),
    "The shape of the mask": (IndexError, lambda x: x[torch.tensor([True, False])]),
    "index 5 is out of bounds for dimension 0 with size 3": (IndexError, lambda x: x[[0, 5]]),
    "invalid index of a 0-dim tensor": (IndexError, lambda x: x[0, 0, 0][0]),
    "shape mismatch: indexing tensors could not be broadcast": (IndexError, lambda x: x[[0, 1], [0, 1, 2]]),
    r"shape mismatch: value tensor of shape \[3\] cannot be broadcast": (
        RuntimeError,
        lambda x: x.__setitem__([0, 1], torch.ones(3, dtype=torch.float64)),
    ),
    "The expanded size of the tensor": (RuntimeError, lambda x: x.__setitem__(0, torch.ones(3))),
    "iteration over a 0-d tensor": (TypeError, lambda x: list(x[0, 0, 0])),
    r"len\(\) of a 0-d tensor": (TypeError, lambda x: len(x[0, 0, 0])),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    error, read = REFUSED[message]
    with pytest.raises(error, match=message):
        read(tensor())


def test_a_sparse_gradient_of_gather_is_refused_by_name():
    x = torch.ones(2, 2, requires_grad=True)
    index = torch.zeros(1, 2, dtype=torch.int64)
    with pytest.raises(NotImplementedError, match="sparse_grad=True is not available"):
        torch.gather(x, 0, index, sparse_grad=True)
    assert torch.gather(x.detach(), 0, index, sparse_grad=True).tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize(
    ("window", "whole"),
    [
        (slice(None), True),
        (slice(0, 100), True),
        (slice(None, 3), True),
        (slice(-3, None), False),
        (slice(-5, 3), False),
        (slice(np.int64(-3), None), False),
    ],
)
def test_a_slice_that_begins_before_the_end_is_no_whole_dimension(window, whole):
    x = torch.ones(3, requires_grad=True)
    assert type(x[window,].grad_fn).__name__ == ("AliasBackward0" if whole else "SliceBackward0")
    for index in (window, (window,)):
        y = x * 1
        y[index] = torch.ones(3, requires_grad=True)
        assert type(y.grad_fn).__name__ == ("CopyBackwards" if whole else "CopySlices")
