"""The pickle in an archive, read: by a machine that knows tensors, containers and numbers only, or by Python's own."""

from __future__ import annotations

import io
import pickle
import pickletools
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from .._core.base import dtypes, layout
from .._core.base.device import device
from .._core.base.dtypes import dtype
from .._core.base.size import Size
from .._core.tape.tensor import Tensor
from .._ops.tensors.legacy import instance, make_wrapper_subclass
from .._ops.tensors.sparse import sparse_coo_tensor, sparse_csr_tensor
from .storages import STORAGES, Storage, are_valid, rebuild_meta, rebuild_parameter, rebuild_tensor
from .writing import OURS

LoadStorage = Callable[[str, Any, str, int], Any]
"""(key, dtype, location, number of elements) -> Storage"""

ADVICE = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, do those steps only if "
    "you trust the source of the checkpoint.\n"
    "\t(1) In PyTorch 2.6, the default value of the `weights_only` argument in `torch.load` was changed from `False` "
    "to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in "
    "arbitrary code execution.\n"
    "\t(2) Keep `weights_only=True` and allow what the following message names.\n"
    "\tWeightsUnpickler error: "
)


class _StorageKind:
    """The name of a storage class in a pickle."""

    __slots__ = ("dtype",)

    def __init__(self, of: dtype | None) -> None:
        self.dtype = of


def _bytes(text: Any, encoding: Any) -> bytes:
    if type(text) is not str or type(encoding) is not str or encoding != "latin1":
        raise ValueError("bytes are not written like this")
    return text.encode("latin1")


def _byte_array(data: Any = b"") -> bytearray:
    if not isinstance(data, bytes):
        raise ValueError("a bytearray is not written like this")
    return bytearray(data)


_PLAIN = (str, bytes, int, float, bool, complex, type(None), dtype)


def check_key(key: Any) -> Any:
    """A key that is plain, or a tuple of plain ones; ValueError else, for a deep one takes Python down with its
    hash."""
    if isinstance(key, _PLAIN) or (type(key) is tuple and all(isinstance(part, _PLAIN) for part in key)):
        return key
    raise ValueError(f"a key of class {type(key).__name__} is not allowed")


def _count(key: Any, counts: Counter[int]) -> None:
    code = hash(key)
    counts[code] += 1
    if counts[code] > _COLLIDING:
        raise ValueError("too many keys of the pickle have the same hash")


def _of_keys(kind: Any) -> Callable[..., Any]:
    """A function that makes a set or a Counter; the machine has checked the keys that it is given."""

    def make(items: Any = ()) -> Any:
        if not isinstance(items, (list, tuple, dict)):
            raise ValueError(f"a {kind.__name__} is not written like this")
        return kind(items)

    return make


def _empty_dict() -> Any:
    return OrderedDict()


def _size(lengths: Any) -> Size:
    if not isinstance(lengths, tuple) or not all(type(n) is int for n in lengths):
        raise ValueError("a size is not written like this")
    return Size(lengths)


def _attributes(tensor: Tensor, state: Any) -> Tensor:
    if not isinstance(state, dict) or not all(isinstance(name, str) for name in state):
        raise ValueError("a tensor with attributes is not written like this")
    tensor.__dict__.update(state)
    return tensor


def _complex(real: Any, imaginary: Any) -> complex:
    if type(real) is not float or type(imaginary) is not float:
        raise ValueError("a complex number is not written like this")
    return complex(real, imaginary)


def _device(kind: Any, index: Any = None) -> device:
    if not isinstance(kind, str) or not (index is None or type(index) is int):
        raise ValueError("a device is not written like this")
    return device(kind, index)


def _layout(name: Any) -> Any:
    known = {repr(x): x for x in (layout.strided, layout.sparse_coo, layout.sparse_csr)}
    result = known.get(name) if type(name) is str else None
    if result is None:
        raise ValueError("there is no such layout")
    return result


def _with_attributes(function: Any, kind: Any, args: Any, state: Any) -> Any:
    if function not in (rebuild_tensor, _wrapper) or not isinstance(kind, type) or not isinstance(args, tuple):
        raise ValueError("a tensor with attributes is not written like this")
    if not issubclass(kind, Tensor):
        raise ValueError(f"{kind.__name__} is no class of tensors")
    plain = function(*args)
    if type(plain) is kind:
        return _attributes(plain, state)
    made = instance(kind, plain._ag_raw)
    made._ag_edge = plain._ag_edge
    return _attributes(made, state)


def _wrapper(
    kind: Any, of: Any, size: Any, strides: Any, offset: Any, layout: Any, device: Any, requires_grad: Any
) -> Tensor:
    """An instance without memory of a class with a `__torch_dispatch__`."""
    if not isinstance(kind, type) or not issubclass(kind, Tensor) or not isinstance(of, dtype):
        raise ValueError("a tensor with attributes is not written like this")
    if not are_valid(size, strides, 0, requires_grad):
        raise ValueError("a tensor's size, stride or offset is not valid")
    result: Tensor = make_wrapper_subclass(kind, size, strides=strides, dtype=of, requires_grad=requires_grad)
    return result


def _parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return _attributes(rebuild_parameter(data, requires_grad), state)


def _sparse(kind: Any, data: Any) -> Tensor:
    if not isinstance(data, tuple) or not 3 <= len(data) <= 4:
        raise ValueError("a sparse tensor is not written like this")
    size, tensors = (data[2], data[:2]) if kind is layout.sparse_coo else (data[-1], data[:-1])
    if not isinstance(size, Size) or not all(type(x) is Tensor for x in tensors):
        raise ValueError("a sparse tensor is not written like this")
    if kind is layout.sparse_coo:
        coalesced = data[3] if len(data) == 4 and isinstance(data[3], bool) else None
        indices, values = tensors
        return sparse_coo_tensor(indices, values, size, is_coalesced=coalesced)
    if kind is not layout.sparse_csr or len(tensors) != 3:
        raise RuntimeError(
            f"tensors of layout {kind} are not available in autograph's engine: save `tensor.to_dense()`"
        )
    return sparse_csr_tensor(*tensors, size)


def _quantized(*args: Any) -> Any:
    raise RuntimeError("quantized tensors are not available in autograph's engine: save `tensor.dequantize()`")


CALLED: dict[str, Callable[..., Any]] = {
    "torch._utils._rebuild_tensor": rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": rebuild_tensor,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild_meta,
    "torch._utils._rebuild_wrapper_subclass": _wrapper,
    "torch._utils._rebuild_parameter": rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter_with_state,
    "torch._utils._rebuild_sparse_tensor": _sparse,
    "torch._utils._rebuild_qtensor": _quantized,
    "torch._tensor._rebuild_from_type_v2": _with_attributes,
    "torch.serialization._get_layout": _layout,
    "torch.Size": _size,
    "torch.device": _device,
    "collections.OrderedDict": _empty_dict,
    "collections.Counter": _of_keys(Counter),
    "builtins.set": _of_keys(set),
    "builtins.frozenset": _of_keys(frozenset),
    "builtins.bytearray": _byte_array,
    "builtins.complex": _complex,
    "_codecs.encode": _bytes,
}
"""Functions that a file may call: our own, which check their arguments."""
_OF_KEYS = [CALLED[name] for name in ("collections.Counter", "builtins.set", "builtins.frozenset")]
_SIZED = (str, bytes, bytearray, tuple, list, dict, set, frozenset)
_SHOWN = 1_000
"""Characters of what a file is wrong in that an error shows."""
_COPIED, _SMALL, _COLLIDING = 2, 1 << 16, 100
"""Limits: of bytes that calls may copy, for each byte of the file and beside; of keys of one container with the same
hash."""

NAMED: dict[str, Any] = {
    "torch.Tensor": Tensor,
    **{f"torch.{t.name}": t for t in dtypes.ALL},
    **{f"torch.{name}": _StorageKind(of) for name, of in STORAGES.items()},
    **{f"torch.storage.{name}": _StorageKind(of) for name, of in STORAGES.items()},
}
"""Names that a file may use beside."""

_OLD_MODULES = {"__builtin__": "builtins"}
_MARK = object()


def persistent(load: LoadStorage) -> Callable[[Any], Storage]:
    """The function that finds the storage which a pickle refers to."""

    def find(reference: Any) -> Storage:
        if isinstance(reference, tuple) and len(reference) == 6 and reference[5] is None:
            reference = reference[:5]  # files from before zip archives say here that the storage is no view
        if not isinstance(reference, tuple) or len(reference) != 5:
            raise ValueError("a storage is not referred to like this")
        word, kind, key, location, length = reference
        texts = all(isinstance(part, str) for part in (word, key, location))
        if not texts or word != "storage" or not isinstance(kind, _StorageKind):
            raise ValueError("a storage is not referred to like this")
        if type(length) is not int or length < 0:
            raise ValueError("a storage has no valid length")
        storage: Storage = load(key, kind.dtype, location, length)
        return storage

    return find


class RestrictedMachine:
    """Runs a pickle without Python's unpickler: each of the few opcodes that `torch.save` writes has a method here.

    Nothing but `CALLED` and what the user added as `safe` is ever called; UnpicklingError for everything else. Time and
    memory stay in proportion to the file: what calls copy is counted, and so are keys of the same hash.
    """

    steps: ClassVar[dict[str, Callable[[Any, Any], None]]] = {}
    """The function of each opcode; filled in below."""
    advice = ADVICE
    """The beginning of an error."""

    def __init__(self, load: LoadStorage, safe: dict[str, Any]) -> None:
        self._find = persistent(load)
        self._safe = safe
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._left = 0
        """The bytes that may still be copied."""
        self._hashes: dict[int, tuple[Any, Counter[int]]] = {}
        """By its id, a container, and how many of its keys have the same hash."""

    def run(self, data: bytes) -> Any:
        """Return what the pickle builds."""
        self._left = _COPIED * len(data) + _SMALL
        try:
            for opcode, argument, _ in pickletools.genops(data):
                if opcode.name == "STOP":
                    return self._pop()
                step = self.steps.get(opcode.name)
                if step is None:
                    raise ValueError(f"Unsupported operand {opcode.name}")
                step(self, argument)
        except RecursionError:
            raise pickle.UnpicklingError(f"{self.advice}the pickle is nested too deeply") from None
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError) as error:
            raise pickle.UnpicklingError(f"{self.advice}{str(error)[:_SHOWN]}") from None
        raise pickle.UnpicklingError(f"{self.advice}the pickle has no end")

    # -- the stack

    def _pop(self) -> Any:
        value = self._stack.pop()
        if value is _MARK:
            raise ValueError("the stack of the pickle is not in order")
        return value

    def _top(self, kind: Any) -> Any:
        value = self._stack[-1]
        if not isinstance(value, kind):
            raise ValueError(f"Can only append to or set items of containers, but got {type(value).__name__}")
        return value

    def _to_mark(self) -> list[Any]:
        at = len(self._stack) - 1
        while self._stack[at] is not _MARK:
            at -= 1
            if at < 0:
                raise ValueError("the stack of the pickle is not in order")
        items = self._stack[at + 1 :]
        del self._stack[at:]
        return items

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def _copies(self, values: Iterable[Any]) -> None:
        """Count what is about to be copied; ValueError where a small file has the same large thing copied many
        times."""
        self._left -= sum(len(value) for value in values if isinstance(value, _SIZED))
        if self._left < 0:
            raise ValueError("what the pickle builds is out of proportion to its size")

    def _checked_key(self, key: Any, holder: Any) -> Any:
        if type(check_key(key)) is not str:  # the hash of a text cannot be foreseen
            _count(key, self._hashes.setdefault(id(holder), (holder, Counter()))[1])
        return key

    # -- what opcodes do

    def name(self, argument: Any) -> None:
        module, _, name = argument.partition(" ")
        full = f"{_OLD_MODULES.get(module, module)}.{name}"
        for table in (self._safe, CALLED, NAMED):
            if full in table:
                self.push(table[full])
                return
        raise ValueError(
            f"Unsupported global: GLOBAL {full} was not an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full}])` or the `torch.serialization.safe_globals([{full}])` "
            "context manager to allowlist this global if you trust this class/function."
        )

    def call(self, _: Any) -> None:
        args, function = self._pop(), self._pop()
        if not isinstance(args, tuple) or not self._may_call(function):
            raise ValueError(f"Trying to call reduce for unrecognized function {_shown(function)}")
        self._copies(args)
        if function in _OF_KEYS and args and isinstance(args[0], (list, tuple)):
            counts: Counter[int] = Counter()
            for key in args[0]:
                _count(check_key(key), counts)
        self.push(function(*args))

    def make(self, _: Any) -> None:
        args, kind = self._pop(), self._pop()
        if not isinstance(args, tuple) or not isinstance(kind, type) or not any(kind is x for x in self._safe.values()):
            raise ValueError(f"Trying to call __new__ for unrecognized class {_shown(kind)}")
        self.push(kind.__new__(kind, *args))

    def _may_call(self, function: Any) -> bool:
        return any(function is known for table in (CALLED, self._safe) for known in table.values())

    def build(self, _: Any) -> None:
        state, target = self._pop(), self._stack[-1]
        self._copies((state, *(state if isinstance(state, tuple) else ())))
        allowed = type(target) in self._safe.values()
        if allowed and hasattr(target, "__setstate__"):
            target.__setstate__(state)
        elif (allowed or type(target) is OrderedDict) and isinstance(state, dict):
            target.__dict__.update(state)
        else:
            raise ValueError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {_shown(type(target))}"
            )

    def refer(self, _: Any) -> None:
        self.push(self._find(self._pop()))

    def memoize(self, index: Any) -> None:
        self._memo[index] = self._stack[-1]

    def recall(self, index: Any) -> None:
        self.push(self._memo[index])

    def append(self, _: Any) -> None:
        item = self._pop()
        self._top(list).append(item)

    def append_all(self, _: Any) -> None:
        items = self._to_mark()
        self._top(list).extend(items)

    def set_item(self, _: Any) -> None:
        value, key = self._pop(), self._pop()
        holder = self._top(dict)
        holder[self._checked_key(key, holder)] = value

    def set_all(self, _: Any) -> None:
        items = self._to_mark()
        if len(items) % 2:
            raise ValueError("a dictionary in the pickle has a key without a value")
        holder = self._top(dict)
        for key, value in zip(items[::2], items[1::2], strict=True):
            holder[self._checked_key(key, holder)] = value

    def tuple_of(self, count: int) -> None:
        items = [self._pop() for _ in range(count)]
        self.push(tuple(reversed(items)))


def _shown(x: Any) -> str:
    return getattr(x, "__qualname__", None) or type(x).__name__


RestrictedMachine.steps = {
    "PROTO": lambda m, a: None,
    "GLOBAL": RestrictedMachine.name,
    "REDUCE": RestrictedMachine.call,
    "NEWOBJ": RestrictedMachine.make,
    "BUILD": RestrictedMachine.build,
    "BINPERSID": RestrictedMachine.refer,
    "BINPUT": RestrictedMachine.memoize,
    "LONG_BINPUT": RestrictedMachine.memoize,
    "BINGET": RestrictedMachine.recall,
    "LONG_BINGET": RestrictedMachine.recall,
    "MARK": lambda m, a: m.push(_MARK),
    "NONE": lambda m, a: m.push(None),
    "NEWTRUE": lambda m, a: m.push(True),
    "NEWFALSE": lambda m, a: m.push(False),
    **dict.fromkeys(
        ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING"), RestrictedMachine.push
    ),
    "EMPTY_LIST": lambda m, a: m.push([]),
    "EMPTY_DICT": lambda m, a: m.push({}),
    "EMPTY_SET": lambda m, a: m.push(set()),
    "EMPTY_TUPLE": lambda m, a: m.push(()),
    "TUPLE": lambda m, a: m.push(tuple(m._to_mark())),
    "TUPLE1": lambda m, a: m.tuple_of(1),
    "TUPLE2": lambda m, a: m.tuple_of(2),
    "TUPLE3": lambda m, a: m.tuple_of(3),
    "APPEND": RestrictedMachine.append,
    "APPENDS": RestrictedMachine.append_all,
    "SETITEM": RestrictedMachine.set_item,
    "SETITEMS": RestrictedMachine.set_all,
}


class TrustingUnpickler(pickle.Unpickler):
    """Python's unpickler, which runs what a file says; PyTorch's names are looked up in this engine."""

    def __init__(self, data: bytes, load: LoadStorage) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")
        self._find = persistent(load)

    def find_class(self, module: str, name: str) -> Any:
        full = f"{module}.{name}"
        if module.partition(".")[0] != "torch":
            return super().find_class(module, name)
        for table in (CALLED, NAMED):
            if full in table:
                return table[full]
        return super().find_class(OURS + module.removeprefix("torch"), name)

    def persistent_load(self, reference: Any) -> Any:
        if isinstance(reference, tuple) and len(reference) == 4 and reference[0] == "module":
            return reference[1]  # a class, beside which files from before zip archives keep its source
        return self._find(reference)
