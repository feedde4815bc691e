"""Elements by their places: index, put, gather, scatter."""

from __future__ import annotations

from typing import Any


class Indexing:
    """Kernels that read and write by index."""

    xp: Any
    cast: Any

    def index(self, a: Any, indices: Any) -> Any:
        try:
            return a[self._whole(indices)]
        except IndexError:
            raise self._index_error(a, indices) from None

    def _whole(self, indices: Any) -> Any:
        return tuple(slice(None) if i is None else i for i in indices)

    def _index_error(self, a: Any, indices: Any) -> IndexError:
        """What is wrong with indices that the backend refused."""
        shapes = [i.shape for i in indices if i is not None]
        try:
            self.xp.broadcast_shapes(*shapes)
        except ValueError:
            shown = ", ".join(str(list(s)) for s in shapes)
            return IndexError(f"shape mismatch: indexing tensors could not be broadcast together with shapes {shown}")
        for dim, (places, n) in enumerate(zip(indices, a.shape, strict=False)):
            wrong = [] if places is None else places[(places < -n) | (places >= n)].ravel().tolist()
            if wrong:
                return IndexError(f"index {wrong[0]} is out of bounds for dimension {dim} with size {n}")
        return IndexError(f"too many indices for tensor of dimension {a.ndim}")

    def index_put(self, a: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
        out = a.copy()
        places = self._whole(indices)
        try:
            if accumulate:
                self.xp.add.at(out, places, values)
            else:
                out[places] = values
        except IndexError:
            raise self._index_error(a, indices) from None
        except ValueError:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
                f"{list(a[places].shape)}"
            ) from None
        return out

    index_put_impl = index_put

    def gather(self, a: Any, dim: int, index: Any) -> Any:
        return a[self._places(index, dim)] if a.ndim else a

    def _places(self, index: Any, dim: int) -> Any:
        grid = list(self.xp.ogrid[tuple(slice(n) for n in index.shape)])
        grid[dim] = index
        return tuple(grid)

    def scatter_src(self, a: Any, dim: int, index: Any, src: Any) -> Any:
        if a.ndim == 0:
            return src
        out = a.copy()
        out[self._places(index, dim)] = src[tuple(slice(n) for n in index.shape)]
        return out

    def scatter_value(self, a: Any, dim: int, index: Any, value: Any) -> Any:
        if a.ndim == 0:
            return a.dtype.type(value)
        out = a.copy()
        out[self._places(index, dim)] = value
        return out

    def scatter_add(self, a: Any, dim: int, index: Any, src: Any) -> Any:
        if a.ndim == 0:
            return a + src
        out = a.copy()
        self.xp.add.at(out, self._places(index, dim), src[tuple(slice(n) for n in index.shape)])
        return out

    def index_select(self, a: Any, dim: int, index: Any) -> Any:
        return self.xp.take(a, index, axis=dim) if a.ndim else a

    def index_add(self, a: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
        out = a.copy()
        self.xp.add.at(out, (slice(None),) * dim + (index,), source if alpha == 1 else source * source.dtype.type(alpha))
        return out

    def copy(self, a: Any, src: Any) -> Any:
        return self.xp.broadcast_to(self.cast(src, a.dtype), a.shape)

    def copied(self, grad: Any, sizes: Any, dtype: Any) -> Any:
        return grad

    def fill_Scalar(self, a: Any, value: Any) -> Any:
        return self.xp.full(a.shape, value, a.dtype)

    def fill_Tensor(self, a: Any, value: Any) -> Any:
        return self.xp.full(a.shape, value, a.dtype)

    def masked_fill_Scalar(self, a: Any, mask: Any, value: Any) -> Any:
        return self.xp.where(mask, a.dtype.type(value), a)[()]

    def masked_fill_Tensor(self, a: Any, mask: Any, value: Any) -> Any:
        return self.xp.where(mask, value.astype(a.dtype), a)[()]

    def masked_select(self, a: Any, mask: Any) -> Any:
        a, mask = self.xp.broadcast_arrays(a, mask)
        return a[mask]

    def masked_scatter(self, a: Any, mask: Any, source: Any) -> Any:
        a, mask = self.xp.broadcast_arrays(a, mask)
        out = a.copy()
        count = int(mask.sum())
        if count > source.size:
            raise RuntimeError("Number of elements of source < number of ones in mask")
        out[mask] = source.reshape(-1)[:count]
        return out

    def padded(self, values: Any, sizes: Any) -> Any:
        out = self.xp.zeros(sizes, values.dtype)
        out.reshape(-1)[: values.size] = values
        return out

    def nonzero(self, a: Any) -> Any:
        places = self.xp.nonzero(a if a.ndim else a.reshape(1))
        return self.xp.stack(places, axis=1) if a.ndim else self.xp.zeros((len(places[0]), 0), "int64")
