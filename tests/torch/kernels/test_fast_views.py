"""Views of arrays: the compiled module gives those of NumPy."""

from typing import Any

import numpy as np
import pytest

from autograph_cli.torch._compiled import compiled
from autograph_cli.torch._kernels import cpu
from tests.cases import for_each

fast: Any = compiled("_kernels.fast_views")
pytestmark = pytest.mark.skipif(fast is None, reason="the package was installed without its compiled modules")

BASE = np.arange(120, dtype="float32").reshape(2, 3, 4, 5)
READ_ONLY = BASE.copy()
READ_ONLY.flags.writeable = False
ARRAYS = {
    "rows": BASE,
    "turned": BASE.transpose(2, 0, 3, 1),
    "with gaps": BASE[:, ::2, 1:, ::-1],
    "one column": BASE[:, :1, :, 2:3],
    "repeated": np.broadcast_to(BASE[:, :1], (2, 3, 4, 5)),
    "read only": READ_ONLY,
    "empty": BASE[:, :0],
    "bytes swapped": BASE.astype(">f4"),
    "booleans": BASE > 3,
    "a vector": BASE.reshape(-1),
    "a matrix": BASE.reshape(6, 20),
    "a turned matrix": BASE.reshape(6, 20).T,
    "without gaps": np.lib.stride_tricks.as_strided(BASE, (2, 1, 3, 1), (12, 99, 4, 7)),
    "a number": np.array(1.0),
    "a scalar": np.float32(1),
}
CALLS = [
    *(
        ("slice", d, start, end, step)
        for d in (0, 1, 3)
        for start, end, step in ((0, 1, 1), (1, 2, 1), (0, 2, 2), (1, 1, 3))
    ),
    *(("select", d, i) for d in (0, 2) for i in (0, 1)),
    *(("view", size) for size in ((120,), (6, 20), (2, 3, 4, 5), (1, 120), (120, 1, 1), (7,), ())),
    *(("expand", size) for size in ((2, 3, 4, 5), (6, 2, 3, 4, 5), (3, 120), (2, 3, 4, 7), (2,))),
    *(("diagonal", offset, *dims) for offset in (-2, 0, 1, 5) for dims in ((0, 1), (3, 1), (1, 2))),
    *(("permute", dims) for dims in ((3, 1, 0, 2), (0, 1, 2, 3), (1, 0), (0, 0, 1, 2), (-1, 0, 1, 2))),
    *(("transpose", *dims) for dims in ((0, 1), (3, 1), (2, 2))),
    *(("unsqueeze", d) for d in range(5)),
    ("t",),
    *(("windows", d, size, step) for d in (0, 1, 3) for size, step in ((1, 1), (2, 1), (2, 3), (4, 1))),
]


def told(found: Any) -> Any:
    flags = found.flags
    return (
        found.shape,
        found.strides,
        found.dtype,
        flags.writeable,
        flags.c_contiguous,
        flags.f_contiguous,
        flags.aligned,
    )


@pytest.mark.parametrize("name", ARRAYS)
@for_each("call", CALLS)
def test_views_are_those_of_numpy(name: str, call: tuple[Any, ...]) -> None:
    array, (kernel, *arguments) = ARRAYS[name], call
    found = getattr(fast, kernel)(array, *arguments)
    if found is None:
        return
    expected = getattr(cpu, kernel)(array, *arguments)
    assert told(found) == told(expected)
    assert found.__array_interface__["data"][0] == expected.__array_interface__["data"][0]
    assert np.shares_memory(found, array) or not found.size


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("dim", [0, 1, 3])
def test_what_is_unbound_are_the_views_of_numpy(name: str, dim: int) -> None:
    array = ARRAYS[name]
    found = fast.unbind(array, dim)
    if array.ndim <= dim:
        assert found is None
        return
    assert list(map(told, found)) == list(map(told, cpu.unbind(array, dim)))
    assert [x.tobytes() for x in found] == [x.tobytes() for x in cpu.unbind(array, dim)]


def test_what_is_usual_is_not_left_to_numpy() -> None:
    assert fast.slice(BASE, 1, 0, 2, 1) is not None
    assert fast.select(BASE, 1, 2) is not None
    assert fast.view(BASE, (6, 20)) is not None
    assert fast.view(BASE, (2, 3, 4, 5)) is not None
    assert fast.expand(BASE[:, :1], (2, 3, 4, 5)) is not None
    assert fast.diagonal(BASE, 1, 0, 1) is not None
    assert fast.windows(BASE, 1, 2, 1) is not None
    assert fast.permute(BASE, (1, 0, 3, 2)) is not None
    assert fast.transpose(BASE, 1, 2) is not None
    assert fast.unsqueeze(BASE, 4) is not None
    assert fast.t(BASE[0, 0]) is not None
