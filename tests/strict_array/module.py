"""What `import cupy` gives while the stand-in is served: functions by CuPy's names, with CuPy's parameters."""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import math
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from .arrays import (
    ANY,
    DTYPES,
    KNOWN,
    Device,
    Memory,
    MemoryPointer,
    UnownedMemory,
    bare,
    check_dtype,
    marks,
    ndarray,
    refuse_host,
    signature,
    wrapped,
)
from .fusion import Variable, erf, fuse, in_fusion, sum_in_fusion
from .pool import MemoryHook, MemoryPool, OutOfMemoryError, get_allocator, pool, set_allocator
from .queues import CUDARuntimeError, Event, Stream, get_current_stream, get_elapsed_time, synchronize, transfers

DEFAULT, TF32 = 1, 7
"""CuPy's numbers of ways to multiply."""
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
ATOMIC = {"add": "iIlQLfde", "subtract": "iI", "maximum": "iIf", "minimum": "iIf"}
"""The dtypes that elements which come several times may have: CuPy takes float64 for maxima, and rounds it to float32."""
ARRAY_FIRST = frozenset(("a", "ar", "arr", "array", "m", "x", "prototype", "val"))
"""How CuPy calls a first argument that has to be an array."""
MAKE_NO_ARRAY = frozenset(
    """
    broadcast_shapes result_type can_cast promote_types finfo iinfo ndindex issubdtype min_scalar_type common_type
    """.split()
)


def function(name: str, parameters: str, of: Any, universal: bool = False) -> Callable[..., Any]:
    expected = signature(parameters)
    first = next(iter(expected.parameters.values()), None)
    needs_array = (
        first is not None
        and first.name in ARRAY_FIRST
        and name not in ("array", "asarray", "asanyarray", "ascontiguousarray")
    )

    def run(*args: Any, **options: Any) -> Any:
        expected.bind(*args, **options)
        if any(isinstance(x, Variable) for x in args):
            if name == "where":
                return in_fusion(_where, *args)
            if name != "sum":
                raise TypeError(f"cupy.{name} in a fused function")
            return sum_in_fusion(*args, **options)
        refuse_host(*deep(args), *deep(options.values()))
        if needs_array and not isinstance(args[0] if args else next(iter(options.values())), ndarray):
            raise TypeError(f"cupy.{name}: expected an array, got {type(args[0])}")
        if "dtype" in options and options["dtype"] is not None:
            check_dtype(options["dtype"])
        if options.get("kind") not in (None, "stable"):
            raise ValueError("kind can only be None or 'stable'")
        if name in ("sort", "argsort"):
            options["kind"] = "stable"
        if name in ("concatenate", "stack") and not all(isinstance(x, ndarray) for x in args[0]):
            raise TypeError("Only cupy arrays can be concatenated")
        if name in SPELLED:
            return SPELLED[name](*args, **options)
        with np.errstate(all="ignore"):
            found = of(*map(bare, args), **{k: bare(x) for k, x in options.items()})
        out = options.get("out")
        if name in MAKE_NO_ARRAY:
            return found
        return out if out is not None and found is bare(out) else wrapped(found, *args, *options.values())

    run.__name__ = run.__qualname__ = name
    run.__signature__ = expected  # type: ignore[attr-defined]
    return run


def deep(values: Any) -> Iterator[Any]:
    for x in values:
        if type(x) in (tuple, list):
            yield from deep(x)
        else:
            yield x


def _array(obj: Any, dtype: Any = None, copy: bool = True, order: str = "K", **_: Any) -> Any:
    """Return what comes from the host is copied to the device; arrays of NumPy may stand here, and only here."""
    if dtype is not None:
        check_dtype(dtype)
    interface = None if isinstance(obj, ndarray) else getattr(obj, "__cuda_array_interface__", None)
    if interface is not None:
        return of_interface(interface, obj)
    if isinstance(obj, ndarray):
        if not copy and (dtype is None or obj.dtype == dtype) and (order in "KA" or obj.flags.c_contiguous):
            return obj
        return wrapped(np.array(obj._a, dtype, order=order, copy=True))
    transfers["to the device"] += 1
    if isinstance(obj, (tuple, list)) and any(isinstance(x, ndarray) for x in deep(obj)):
        raise TypeError("a sequence of arrays")
    return wrapped(np.array(obj, dtype, order=order))


def of_interface(interface: dict[str, Any], owner: Any) -> Any:
    """An array over memory that another object owns."""
    a = np.asarray(types.SimpleNamespace(__array_interface__=interface))
    found = wrapped(a)
    found._mem = Borrowed(a, owner)
    return found


class Borrowed:
    """Memory of the device that belongs to another library."""

    device_id = 0

    def __init__(self, a: Any, owner: Any) -> None:
        self.whole, self._other = a, owner
        self.ptr, self.size = a.__array_interface__["data"][0], a.nbytes


def _from_dlpack(array: Any, *, device: Any = None, copy: Any = None) -> Any:
    found = array.__dlpack__()
    return found if isinstance(found, ndarray) else found._ag_raw


class PinnedMemoryPointer:
    """Memory of the host that a GPU reads."""


def _empty_pinned(shape: Any, dtype: Any = float, order: str = "C") -> Any:
    size = math.prod(shape) * np.dtype(dtype).itemsize
    pinned = type("PinnedMemory", (PinnedMemoryPointer, ctypes.c_ubyte * max(size, 1)), {})()
    return np.frombuffer(pinned, np.uint8, size).view(dtype).reshape(shape)


def _asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: Any = None, blocking: bool = False) -> Any:
    return _array(a, dtype, bool(copy), order or "K")


def _contiguous(a: Any, dtype: Any = None) -> Any:
    found = _array(a, dtype, False, "C")
    return found if found.ndim else found.reshape(1)


def _put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    np.put_along_axis(arr._a, bare(indices), bare(values), axis)


def _copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = None) -> None:
    with np.errstate(all="ignore"):
        np.copyto(dst._a, bare(src), casting, **({} if where is None else {"where": bare(where)}))


def _beside_numbers(found: Any, given: Iterable[Any]) -> Any:
    """CuPy computes bfloat16 beside a float, and what `where` chooses of it, as float32."""
    floats = any(isinstance(x, float) for x in given)
    return found.astype(np.float32) if floats and getattr(found, "dtype", None) == BFLOAT16 else found


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if not isinstance(condition, ndarray):
        raise TypeError("cupy.where: the condition has to be an array")
    return wrapped(
        np.where(condition._a) if x is None else _beside_numbers(np.where(condition._a, bare(x), bare(y)), [0.0])
    )


def _tri(N: int, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    return wrapped(np.tri(N, M, k, dtype))


def _roll(a: Any, shift: Any, axis: Any = None) -> Any:
    return wrapped(np.roll(a._a, shift, axis))


def _clip(a: Any, a_min: Any, a_max: Any, out: Any = None) -> Any:
    found = np.clip(a._a, bare(a_min), bare(a_max), out=bare(out))
    return out if out is not None else wrapped(found)


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None) -> Any:
    return wrapped(np.take(a._a, bare(indices), axis, mode="wrap"))


compute_types: dict[str, int] = {}
"""How products of a dtype are computed, where that was asked for."""


def in_tf32(a: Any) -> Any:
    """Numbers of float32 with the 10 bits that a product in TF32 takes of them."""
    if compute_types.get("float32") != TF32 or a.dtype != np.float32:
        return a
    return ((np.ascontiguousarray(a).view(np.int32) + 0x1000) & ~0x1FFF).view(np.float32).reshape(a.shape)


def _matmul(x1: Any, x2: Any, out: Any = None, **_: Any) -> Any:
    """CuPy 14.2 stops at batches of matrices of bfloat16."""
    if BFLOAT16 in (x1.dtype, x2.dtype) and max(x1.ndim, x2.ndim) > 2:
        raise TypeError("cupy.matmul: batches of bfloat16")
    a, b = in_tf32(x1._a), in_tf32(x2._a)
    if out is not None:
        np.matmul(a, b, out=out._a)
        return out
    found = np.matmul(a, b)
    return wrapped(found.astype(x1.dtype) if x1.dtype == x2.dtype == BFLOAT16 else found)


SPELLED: dict[str, Callable[..., Any]] = {
    "put_along_axis": _put_along_axis,
    "copyto": _copyto,
    "matmul": _matmul,
    "take": _take,
    "where": _where,
    "tri": _tri,
    "roll": _roll,
    "clip": _clip,
    "empty": lambda shape, dtype=float, order="C": ndarray(shape, dtype, order=order),
    "empty_like": lambda prototype, dtype=None, order="K", subok=None, shape=None: wrapped(
        np.empty_like(prototype._a, dtype, order, shape=shape)
    ),
    "broadcast_arrays": lambda *args: [
        wrapped(np.broadcast_to(x._a, np.broadcast_shapes(*(y.shape for y in args))), x) for x in args
    ],
    "reshape": lambda a, newshape, order="C", copy=None: a.reshape(newshape, order=order),
}


class ufunc:
    """A universal function: of the dtypes that CuPy has it for, and with the methods that CuPy has."""

    def __init__(self, name: str) -> None:
        self.name, self._of, self.types = f"cupy_{name}", getattr(np, name), KNOWN["universal"][name]
        self._narrow = any("E" in line for line in self.types)
        self._at = name in KNOWN["universal with at"]
        self.__name__ = name

    def __call__(
        self, *args: Any, out: Any = None, where: Any = None, dtype: Any = None, casting: str = "same_kind"
    ) -> Any:
        if any(isinstance(x, Variable) for x in args):
            return in_fusion(self, *args)
        refuse_host(*args)
        for x in (*args, *([] if out is None else [out])):
            if not isinstance(x, (ndarray, *ANY)):
                raise TypeError(f"Unsupported type {type(x)}")
            if getattr(x, "dtype", None) == BFLOAT16 and not self._narrow:
                raise TypeError(f"{self.name}: no loop for bfloat16")
        options = {} if dtype is None else {"dtype": dtype}
        with np.errstate(all="ignore"):
            if where is not None:
                options["where"] = bare(where)
            found = self._of(
                *map(bare, args), **options, **({} if out is None else {"out": bare(out)}), casting=casting
            )
        return out if out is not None else wrapped(_beside_numbers(found, args))

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if self.__name__ == "add":
            return array.sum(axis, dtype, out, keepdims)
        if self.__name__ == "multiply":
            return array.prod(axis, dtype, out, keepdims)
        raise NotImplementedError(f"`{self.name}.reduce` is not supported yet")

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.__name__ == "add":
            return array.cumsum(axis, dtype, out)
        if self.__name__ == "multiply":
            return array.cumprod(axis, dtype, out)
        raise NotImplementedError(f"`{self.name}.accumulate` is not supported yet")

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        if self.__name__ != "add":
            raise NotImplementedError(f"`{self.name}.reduceat` is not supported yet")
        return wrapped(self._of.reduceat(array._a, bare(indices), axis, dtype))

    def outer(self, a: Any, b: Any, **options: Any) -> Any:
        return wrapped(self._of.outer(bare(a), bare(b), **options))

    def at(self, a: Any, indices: Any, b: Any = None) -> None:
        if not self._at:
            raise NotImplementedError(f"`{self.name}.at` is not supported yet")
        refuse_host(*deep([indices, b]))
        if a.dtype.char not in ATOMIC[self.__name__]:
            raise TypeError(f"{self.name}.at only supports some dtypes, not {a.dtype}")
        self._of.at(a._a, bare(indices), bare(b))


def _modules() -> dict[str, types.ModuleType]:
    cupy = types.ModuleType("cupy")
    made = {"cupy": cupy}
    for name, text in KNOWN["functions"].items():
        if hasattr(np, name):
            setattr(cupy, name, function(name, text, getattr(np, name)))
    cupy.array = _array  # type: ignore[attr-defined]
    cupy.asarray = cupy.asanyarray = _asarray  # type: ignore[attr-defined]
    cupy.ascontiguousarray = _contiguous  # type: ignore[attr-defined]
    cupy.from_dlpack = _from_dlpack  # type: ignore[attr-defined]
    cupy.asnumpy = lambda a, *_, **__: a.get()  # type: ignore[attr-defined]
    for name in KNOWN["universal"]:
        if hasattr(np, name) and isinstance(getattr(np, name), np.ufunc):
            setattr(cupy, name, ufunc(name))
    for name, functions in KNOWN["folders"].items():
        parent, of = cupy, np
        for part in name.split("."):
            path = f"{parent.__name__}.{part}"
            if path not in made:
                made[path] = types.ModuleType(path)
                setattr(parent, part, made[path])
            parent, of = made[path], getattr(of, part)
        for each, text in functions.items():
            if hasattr(of, each):
                setattr(parent, each, function(each, text, getattr(of, each)))
    made["cupy.lib.stride_tricks"].as_strided = lambda x, shape=None, strides=None: ndarray(  # type: ignore[attr-defined]
        x.shape if shape is None else shape, x.dtype, x.data, x.strides if strides is None else strides
    )
    cuda = types.ModuleType("cupy.cuda")
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: 1,
        driverGetVersion=lambda: 12040,
        runtimeGetVersion=lambda: 12040,
        deviceSynchronize=synchronize,
        getDeviceProperties=lambda n: {
            "name": b"stand-in",
            "major": 9,
            "minor": 0,
            "totalGlobalMem": 1 << 31,
            "multiProcessorCount": 132,
            "maxThreadsPerMultiProcessor": 2048,
        },
        CUDARuntimeError=CUDARuntimeError,
        getDevice=lambda: 0,
    )
    vars(cuda).update(
        Device=Device,
        Memory=Memory,
        MemoryPointer=MemoryPointer,
        UnownedMemory=UnownedMemory,
        MemoryHook=MemoryHook,
        PinnedMemoryPointer=PinnedMemoryPointer,
        Event=Event,
        Stream=Stream,
        MemoryPool=MemoryPool,
        get_allocator=get_allocator,
        set_allocator=set_allocator,
        nvtx=types.SimpleNamespace(available=True, Mark=marks.append, RangePush=marks.append, RangePop=marks.pop),
        is_available=lambda: True,
        runtime=runtime,
        memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError),
        get_current_stream=get_current_stream,
        get_elapsed_time=get_elapsed_time,
    )
    vars(cupy).update(
        ndarray=ndarray,
        ufunc=ufunc,
        cuda=cuda,
        fuse=fuse,
        get_default_memory_pool=lambda: pool,
        __version__=KNOWN["version"],
    )
    for name in (
        *(name for name in DTYPES if name != "bfloat16"),
        "pi",
        "e",
        "inf",
        "nan",
        "newaxis",
        "dtype",
        "bool_",
        "finfo",
        "iinfo",
        "generic",
        "floating",
        "integer",
        "ndindex",
    ):
        setattr(cupy, name, getattr(np, name))
    _linalg_as_in_cupy(made["cupy.linalg"])
    cupyx = types.ModuleType("cupyx")
    vars(cupyx).update(errstate=_errstate, empty_pinned=_empty_pinned)
    linalg = types.ModuleType("cupy._core._routines_linalg")
    vars(linalg).update(
        COMPUTE_TYPE_DEFAULT=DEFAULT, COMPUTE_TYPE_TF32=TF32, set_compute_type=compute_types.__setitem__
    )
    core, scipy, special = (types.ModuleType(name) for name in ("cupy._core", "cupyx.scipy", "cupyx.scipy.special"))
    special.erf = erf  # type: ignore[attr-defined]
    return {**made, **{x.__name__: x for x in (cuda, cupyx, core, linalg, scipy, special)}}


raising = False
"""Whether a decomposition that fails raises an error."""


@contextlib.contextmanager
def _errstate(*, linalg: str) -> Iterator[None]:
    global raising
    before, raising = raising, linalg == "raise"
    yield
    raising = before


def _linalg_as_in_cupy(linalg: Any) -> None:
    """Where NumPy raises an error, CuPy gives nan, unless it is told to raise one."""

    def silent(run: Any) -> Any:
        def answer(*args: Any, **options: Any) -> Any:
            try:
                return run(*args, **options)
            except np.linalg.LinAlgError:
                if raising:
                    raise
                return wrapped(np.full(args[0].shape, np.nan, args[0].dtype))

        return answer

    for name in KNOWN["folders"]["linalg"]:
        setattr(linalg, name, silent(getattr(linalg, name)))


@contextlib.contextmanager
def served() -> Iterator[types.ModuleType]:
    """Within the block, `import cupy` gives the stand-in."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] in ("cupy", "cupyx")}
    made = _modules()
    for name in before:
        del sys.modules[name]
    sys.modules.update(made)
    try:
        yield made["cupy"]
    finally:
        for name in made:
            sys.modules.pop(name, None)
        sys.modules.update(before)


def parameters_of(function: Any) -> str:
    """The parameters that a function of the stand-in takes."""
    return str(inspect.signature(function))
