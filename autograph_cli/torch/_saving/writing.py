"""The pickle in an archive, written under PyTorch's names, so that PyTorch can read it."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import IO, Any, ClassVar

from .._arrays.dispatched import Dispatched
from .._arrays.lazy import bits_of
from .._arrays.sparse import Sparse
from .._core.base.device import device
from .._core.base.dtypes import dtype
from .._core.base.layout import layout, strided
from .._core.base.size import Size
from .._core.tape.tensor import Tensor, make
from .._ops.tensors.legacy import instance
from .storages import BITS, STORAGE_NAMES, StorageTable, parameters, plain_size

OURS = __name__.rpartition(".")[0].rpartition(".")[0]
"""The name of the package that stands for PyTorch's."""


class Global:
    """A name in a pickle, of something that need not be importable here."""

    def __init__(self, module: str, name: str) -> None:
        self.text = f"c{module}\n{name}\n".encode()

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError("names in a pickle are not called")


REBUILD_TENSOR = Global("torch._utils", "_rebuild_tensor_v2")
REBUILD_WRAPPER = Global("torch._utils", "_rebuild_wrapper_subclass")
REBUILD_META = Global("torch._utils", "_rebuild_meta_tensor_no_storage")
REBUILD_SPARSE = Global("torch._utils", "_rebuild_sparse_tensor")
REBUILD_UNTYPED = Global("torch._utils", "_rebuild_tensor_v3")
REBUILD_PARAMETER = Global("torch._utils", "_rebuild_parameter")
REBUILD_PARAMETER_WITH_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
REBUILD_WITH_ATTRIBUTES = Global("torch._tensor", "_rebuild_from_type_v2")
GET_LAYOUT = Global("torch.serialization", "_get_layout")
SIZE, DEVICE, TENSOR = Global("torch", "Size"), Global("torch", "device"), Global("torch", "Tensor")
UNTYPED = Global("torch.storage", "UntypedStorage")


def _as_plain(tensor: Tensor) -> Tensor:
    return tensor if type(tensor) is Tensor else instance(Tensor, tensor._ag_raw)


class _InStorage:
    """The position of a tensor's memory, for `persistent_id`."""

    __slots__ = ("tuple",)

    def __init__(self, tuple: Any) -> None:
        self.tuple = tuple


class Pickler(pickle._Pickler):
    """Writes tensors as references to storages, everything else as plain pickle; needs no PyTorch to name its parts."""

    dispatch: ClassVar[dict[type, Any]] = dict(pickle._Pickler.dispatch)
    write: Callable[[bytes], None]
    memoize: Callable[[Any], None]
    save: Callable[[Any], None]

    def __init__(self, file: IO[bytes], storages: StorageTable, protocol: int = 2, rest: tuple[None, ...] = ()) -> None:
        super().__init__(file, protocol)
        self._storages = storages
        self._rest = rest
        """The end of a reference to a storage: in files older than archives, that it is no view of another one."""
        self.lengths: dict[str, int] = {}
        """The number of elements of each storage."""
        self._names: dict[str, Global] = {}

    def _name(self, module: str, name: str) -> Global:
        return self._names.setdefault(f"{module}.{name}", Global(module, name))

    def persistent_id(self, obj: Any) -> Any:
        return obj.tuple if isinstance(obj, _InStorage) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, Size):
            return SIZE, (tuple(obj),)
        if isinstance(obj, device):
            return DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, layout):
            return GET_LAYOUT, (repr(obj),)
        return NotImplemented

    def _tensor(self, tensor: Tensor) -> Any:
        if parameters().is_lazy(tensor):
            raise RuntimeError(
                "uninitialized parameters cannot be saved: call the module once to give them their shape"
            )
        attributes = dict(tensor.__dict__)
        kind = type(tensor)
        if kind is not parameters().Parameter:
            holds = tensor._ag_raw.__class__ is not Dispatched or tensor._ag_raw.memory is not None
            found = self._plain(_as_plain(tensor), tensor.requires_grad) if holds else self._wrapper(tensor)
            named = TENSOR if kind is Tensor else kind
            return (
                found
                if kind is Tensor and not attributes
                else (REBUILD_WITH_ATTRIBUTES, (found[0], named, found[1], attributes))
            )
        data = tensor.detach().as_subclass(Tensor)
        parts: tuple[Any, ...] = (data, tensor.requires_grad, OrderedDict())
        return (REBUILD_PARAMETER_WITH_STATE, (*parts, attributes)) if attributes else (REBUILD_PARAMETER, parts)

    def _wrapper(self, tensor: Tensor) -> Any:
        """An instance without memory of a class with a `__torch_dispatch__`."""
        return REBUILD_WRAPPER, (
            type(tensor),
            tensor.dtype,
            plain_size(tensor),
            tuple(s // tensor._ag_raw.itemsize for s in tensor._ag_raw.strides),
            0,
            strided,
            tensor.device,
            tensor.requires_grad,
        )

    def _plain(self, tensor: Tensor, requires_grad: bool) -> Any:
        if tensor.is_meta:
            return REBUILD_META, (tensor.dtype, plain_size(tensor), tensor.stride(), requires_grad)
        if isinstance(tensor._ag_raw, Sparse):
            size = Size(tensor.shape)
            return REBUILD_SPARSE, (tensor.layout, (*map(make, tensor._ag_raw.parts()), size, *tensor._ag_raw.facts()))
        storage, length, offset, stride = self._storages.position(tensor)
        name, place = STORAGE_NAMES.get(tensor.dtype), str(tensor.device)
        self.lengths[str(storage)] = length if name else length * tensor.dtype.itemsize
        if name is None:
            position = _InStorage(
                ("storage", UNTYPED, str(storage), place, length * tensor.dtype.itemsize, *self._rest)
            )
            rest: tuple[Any, ...] = (requires_grad, OrderedDict(), tensor.dtype)
            return REBUILD_UNTYPED, (position, offset, plain_size(tensor), stride, *rest)
        position = _InStorage(("storage", self._name("torch", name), str(storage), place, length, *self._rest))
        parts: tuple[Any, ...] = (position, offset, plain_size(tensor), stride, requires_grad, OrderedDict())
        bits = {name: True for name, bit in zip(BITS, bits_of(tensor._ag_raw), strict=True) if bit}
        return REBUILD_TENSOR, (*parts, bits) if bits else parts

    def _save_name(self, obj: Global) -> None:
        self.write(obj.text)
        self.memoize(obj)

    def _save_dtype(self, obj: dtype) -> None:
        self.save(self._name("torch", obj.name))

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of a function or a class; what is ours goes by PyTorch's name."""
        module = getattr(obj, "__module__", None) or ""
        if module == OURS or module.startswith(OURS + "."):
            self._save_name(Global("torch" + module.removeprefix(OURS), name or obj.__qualname__))
            return
        super().save_global(obj, name)  # type: ignore[misc]

    dispatch[Global] = _save_name
    dispatch[dtype] = _save_dtype
    dispatch[type(lambda: 0)] = save_global
    dispatch[type(print)] = save_global


def dump(obj: Any, file: IO[bytes], protocol: int) -> StorageTable:
    """Pickle `obj` into `file`; the storages that go with it."""
    storages = StorageTable()
    Pickler(file, storages, protocol).dump(obj)
    return storages
