"""The arrays of the stand-in for CuPy: elements in NumPy's memory, and CuPy's rules about who may read them.

No array of NumPy is one of them or may stand beside one; no function of NumPy takes them; a reduction leaves a 0-d array;
what goes to the host or comes from there is counted.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np

from .pool import told
from .queues import read, synchronize, tell, transfers

KNOWN = json.loads(Path(__file__).with_name("cupy.json").read_text())
"""What record_cupy.py found in CuPy."""
DTYPES = tuple(
    """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128 bfloat16
    """.split()
)
"""The dtypes that CuPy has."""
ANY = (bool, int, float, complex, np.generic)
"""What may stand beside an array: Python's numbers and NumPy's scalars."""


def signature(text: str) -> inspect.Signature:
    """The signature of a recorded line of parameters."""
    scope: dict[str, Any] = {}
    exec(f"def made({text.replace('self, ', '').replace('self', '')}): ...", scope)
    return inspect.signature(scope["made"])


def refuse_host(*args: Any) -> None:
    """TypeError for an array of NumPy, and for a dtype that CuPy does not have."""
    for x in args:
        if isinstance(x, np.ndarray):
            raise TypeError(f"Unsupported type {type(x)}")
        if isinstance(x, (np.dtype, np.generic)):
            check_dtype(x if isinstance(x, np.dtype) else x.dtype)


def check_dtype(dtype: Any) -> None:
    if np.dtype(dtype).name not in DTYPES:
        raise ValueError(f"Unsupported dtype {np.dtype(dtype)}")


def bare(x: Any) -> Any:
    """The NumPy arrays inside of arguments."""
    if isinstance(x, ndarray):
        return x._a
    if isinstance(x, (tuple, list)):
        return type(x)(map(bare, x)) if type(x) in (tuple, list) else x
    return x


def root(a: Any) -> Any:
    """The array of NumPy that owns the memory of `a`."""
    while a.base is not None:
        base = getattr(a.base, "base", None) if not isinstance(a.base, np.ndarray) else a.base  # of `as_strided`
        if not isinstance(base, np.ndarray):
            break
        a = base
    return a


def wrapped(found: Any, *sources: Any) -> Any:
    """NumPy's result as CuPy gives it: arrays, also where NumPy has scalars; a view knows its base."""
    if isinstance(found, (tuple, list)):
        return (
            type(found)(wrapped(x, *sources) for x in found)
            if type(found) in (tuple, list)
            else tuple(wrapped(x, *sources) for x in found)
        )
    if not isinstance(found, (np.ndarray, np.generic)):
        return found
    check_dtype(found.dtype)
    a = np.asarray(found)
    if not a.flags.writeable:
        a = writeable(a, sources)
    made = object.__new__(ndarray)
    made._a, made.base, made._mem = a, None, None
    told(root(a))
    tell()
    for source in flat(sources):
        if root(source._a) is root(a) and a is not source._a:
            made.base = source if source.base is None else source.base
    return made


def flat(sources: Any) -> Any:
    for x in sources:
        if isinstance(x, ndarray):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from flat(x)


def writeable(a: Any, sources: Any) -> Any:
    """NumPy's broadcast views may not be written; CuPy knows no such flag."""
    whole = root(a)
    if not whole.flags.writeable:
        return a.copy()
    start = a.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return np.ndarray(a.shape, a.dtype, in_a_row(whole), start, a.strides)


def in_a_row(whole: Any) -> Any:
    """The memory of an array that has no gaps, as its elements lie there."""
    return np.lib.stride_tricks.as_strided(whole, (whole.size,), (whole.itemsize,))


def crossed(where: str) -> None:
    """Elements are asked for, which waits until they are computed."""
    transfers[where] += 1
    read()


marks: list[str] = []
"""Names of the parts that were begun for a profiler, and not ended yet."""


class Flags:
    """Which orders the elements have."""

    def __init__(self, a: Any) -> None:
        self.c_contiguous, self.f_contiguous, self.owndata = a.flags.c_contiguous, a.flags.f_contiguous, a.base is None


class Memory:
    """Memory of the device."""

    def __init__(self, whole: Any) -> None:
        self.whole, self.ptr, self.size = whole, whole.__array_interface__["data"][0], whole.nbytes
        self.device_id = 0


class UnownedMemory:
    """Memory that another object keeps alive."""

    def __init__(self, ptr: int, size: int, owner: Any, device_id: int = -1) -> None:
        self.ptr, self.size, self._owner, self.device_id = ptr, size, owner, 0
        self.whole = root(owner._a)


class MemoryPointer:
    """A place in memory."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr = mem, mem.ptr + offset

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)


class ndarray:
    """An array that CuPy's rules hold for."""

    __slots__ = ("__weakref__", "_a", "_mem", "base")
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]
    _a: Any
    base: Any

    def __new__(cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None, order: str = "C") -> Any:
        check_dtype(dtype)
        made = object.__new__(cls)
        made.base, made._mem = None, None
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if memptr is None:
            made._a = np.empty(shape, dtype, order)
            if made._a.dtype.kind in "fc":
                made._a.fill(np.nan)
            told(root(made._a))
            return made
        whole = memptr.mem.whole
        offset = memptr.ptr - whole.__array_interface__["data"][0]
        made._a = np.ndarray(shape, dtype, in_a_row(whole), offset, strides)
        made._mem = memptr.mem
        return made

    data = property(lambda self: MemoryPointer(memory(self), address(self._a) - memory(self).ptr))
    device = property(lambda self: Device(0))
    flags = property(lambda self: Flags(self._a))
    T = property(lambda self: wrapped(self._a.T, self))
    mT = property(lambda self: wrapped(self._a.mT, self))
    real = property(lambda self: wrapped(self._a.real, self), lambda self, value: self.real.__setitem__(..., value))
    imag = property(lambda self: wrapped(self._a.imag, self), lambda self, value: self.imag.__setitem__(..., value))
    dtype = property(lambda self: self._a.dtype)
    strides = property(lambda self: self._a.strides)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    itemsize = property(lambda self: self._a.itemsize)
    nbytes = property(lambda self: self._a.nbytes)

    @property
    def shape(self) -> Any:
        return self._a.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._a = self._a.reshape(shape, copy=False)

    # -- to other libraries

    __cuda_array_interface__ = property(
        lambda self: {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "strides": None if self.flags.c_contiguous else self.strides,
            "data": (self.data.ptr, False),
            "version": 3,
        }
    )

    def __dlpack__(self, **_: Any) -> Any:
        return self

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    # -- to the host: only these

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> Any:
        crossed("to the host")
        return self._a.copy(order)

    def item(self) -> Any:
        crossed("to the host")
        return self._a.item()

    def tolist(self) -> Any:
        crossed("to the host")
        return self._a.tolist()

    def tobytes(self, order: str = "C") -> bytes:
        crossed("to the host")
        return self._a.tobytes(order)

    def set(self, arr: Any, stream: Any = None) -> None:
        transfers["to the device"] += 1
        self._a[...] = arr

    def __bool__(self) -> bool:
        crossed("for control")
        return bool(self._a)

    def __int__(self) -> int:
        crossed("for control")
        return int(self._a)

    def __float__(self) -> float:
        crossed("for control")
        return float(self._a)

    def __complex__(self) -> complex:
        crossed("for control")
        return complex(self._a)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        raise TypeError(f"numpy.{function.__name__} of an array that is not NumPy's")

    def __len__(self) -> int:
        return len(self._a)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"strict({self._a!r})"

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    # -- parts

    def __getitem__(self, index: Any) -> Any:
        return wrapped(self._a[checked(index, self._a.shape)], self)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not isinstance(value, (ndarray, *ANY)):
            raise TypeError(f"Unsupported type {type(value)}")
        refuse_host(value)
        where, value = checked(index, self._a.shape), bare(value)
        if not any(
            isinstance(i, np.ndarray) and i.dtype != bool for i in (where if isinstance(where, tuple) else (where,))
        ):
            self._a[where] = value
            return
        # Which of several values for one element stays is not said: here it is the first, in NumPy it is the last.
        places = np.arange(self._a.size).reshape(self._a.shape)[where]
        values = np.broadcast_to(value, places.shape).reshape(-1)[::-1]
        self._a[np.unravel_index(places.reshape(-1)[::-1], self._a.shape)] = values

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        if dtype is None:
            return wrapped(self._a.view(), self)
        check_dtype(dtype)
        return wrapped(self._a.view(dtype), self)

    def astype(self, dtype: Any, order: str = "K", casting: Any = None, subok: Any = None, copy: bool = True) -> Any:
        if casting is not None or subok is not None:
            raise TypeError("casting and subok are not supported yet")
        check_dtype(dtype)
        with np.errstate(all="ignore"):
            return self if not copy and self.dtype == dtype else wrapped(self._a.astype(dtype, order))

    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Any:
        return wrapped(self._a.reshape(*shape, order=order, copy=copy), self)

    def _operate(self, name: str, other: Any) -> Any:
        if not isinstance(other, (ndarray, *ANY)):
            if isinstance(other, np.ndarray):
                raise TypeError(f"Unsupported type {type(other)}")
            return NotImplemented
        refuse_host(other)
        with np.errstate(all="ignore"):
            found = getattr(self._a, name)(bare(other))
        return self if found is self._a else found if found is NotImplemented else wrapped(found)


def memory(x: ndarray) -> Any:
    base = x if x.base is None else x.base
    return base._mem or Memory(root(x._a))


def address(a: Any) -> int:
    return int(a.__array_interface__["data"][0])


def checked(index: Any, shape: tuple[int, ...]) -> Any:
    """An index as NumPy takes it; a position that is not there counts on from the beginning, as in CuPy.

    IndexError for what CuPy takes for none.
    """
    items = index if isinstance(index, tuple) else (index,)
    taken = sum(
        x.ndim if isinstance(x, ndarray) and x.dtype == bool else x is not None and x is not Ellipsis for x in items
    )
    found, dim = [], 0
    for x in items:
        if isinstance(x, ndarray):
            if x.dtype.kind not in "biu":
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            masks = x.dtype == bool
            found.append(x._a if masks or dim >= len(shape) else x._a % max(shape[dim], 1))
            dim += x.ndim if masks else 1
        elif x is None or x is Ellipsis or isinstance(x, (slice, int, np.integer, list, np.bool_)):
            found.append(x)
            dim += len(shape) - taken if x is Ellipsis else x is not None
        else:
            raise IndexError(f"Unsupported type {type(x)}")
    return tuple(found) if isinstance(index, tuple) else found[0]


class Device:
    """A GPU: there is one."""

    def __init__(self, device: Any = None) -> None:
        self.id = 0 if device is None else int(device)
        if self.id:
            raise ValueError(f"invalid device ordinal {self.id}")

    mem_info = property(lambda self: (1 << 30, 1 << 31))
    compute_capability = "90"
    attributes = property(lambda self: {"MultiProcessorCount": 132, "MaxThreadsPerMultiProcessor": 2048})

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: Any) -> None: ...

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and self.id == other.id

    __hash__ = None  # type: ignore[assignment]

    def use(self) -> None: ...

    def synchronize(self) -> None:
        synchronize()


# ---------------------------------------------------------------- the other methods, each with CuPy's parameters


def _method(name: str, parameters: str) -> None:
    expected = signature(parameters)

    def run(self: ndarray, *args: Any, **options: Any) -> Any:
        expected.bind(*args, **options)
        refuse_host(*args, *options.values())
        if name in ("max", "min") and not self.size:
            raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
        if options.get("kind") not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        if name in ("sort", "argsort"):
            options["kind"] = "stable"
        with np.errstate(all="ignore"):
            found = getattr(self._a, name)(*map(bare, args), **{k: bare(x) for k, x in options.items()})
        out = options.get("out")
        return found if found is None else out if out is not None else wrapped(found, self)

    run.__name__ = name
    setattr(ndarray, name, run)


for _name, _parameters in KNOWN["methods"].items():
    if _name not in vars(ndarray) and hasattr(np.ndarray, _name):
        _method(_name, _parameters)

_OPERATORS = """
    add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod
""".split()
for _name in [f"__{p}{n}__" for n in _OPERATORS for p in ("", "r", "i")] + [
    f"__{n}__" for n in ("eq", "ne", "lt", "le", "gt", "ge")
]:
    if _name in KNOWN["special methods"]:
        setattr(ndarray, _name, lambda self, other, _name=_name: self._operate(_name, other))
for _name in ("__neg__", "__pos__", "__abs__", "__invert__"):
    setattr(ndarray, _name, lambda self, _name=_name: wrapped(getattr(self._a, _name)()))
