"""The text of tensors: PyTorch's choice of digits, its brackets, its line breaks and its suffixes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._arrays import Array


class PrintOptions(NamedTuple):
    """The options of `set_printoptions`, with PyTorch's names and defaults."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}


def print_options(
    current: PrintOptions,
    *,
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> PrintOptions:
    """The options after `set_printoptions` with these arguments; `sci_mode` is set anew by every call, as PyTorch does.

    >>> print_options(PrintOptions(), profile="short", linewidth=100)
    PrintOptions(precision=2, threshold=1000, edgeitems=2, linewidth=100, sci_mode=None)
    """
    base = current if profile is None else PROFILES.get(profile, current)
    return PrintOptions(
        base.precision if precision is None else precision,
        base.threshold if threshold is None else threshold,
        base.edgeitems if edgeitems is None else edgeitems,
        base.linewidth if linewidth is None else linewidth,
        sci_mode,
    )


def tensor_str(
    data: Array | np.generic,
    dtype_name: str,
    *,
    default_dtype: str = "float32",
    device: str = "cpu",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    tangent: str | None = None,
    options: PrintOptions = PROFILES["default"],
    prefix: str = "tensor(",
) -> str:
    """The text of `repr(tensor)`; of an array longer than the threshold only the elements that are shown are read.

    >>> tensor_str(np.array([1.0, 2.5]), "float64", grad_fn_name="MulBackward0")
    'tensor([1.0000, 2.5000], dtype=torch.float64, grad_fn=<MulBackward0>)'
    """
    array = np.asarray(data)
    suffixes = [] if device == "cpu" else [f"device='{device}'"]
    # The shape is told where the brackets do not show it: with no elements, or with no edges to keep.
    if array.ndim != 1 if array.size == 0 else options.edgeitems == 0:
        suffixes.append(f"size={array.shape}")
    if array.size == 0:
        # Without elements nothing shows the dtype, so only the default one goes without saying.
        unsaid: tuple[str, ...] = (default_dtype,)
    else:
        unsaid = (default_dtype, "complex128" if default_dtype == "float64" else "complex64", "int64", "bool")
    if dtype_name not in unsaid:
        suffixes.append(f"dtype=torch.{dtype_name}")
    suffixes += _history(requires_grad, grad_fn_name)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    body = contents_str(array, len(prefix), options) if array.size else "[]"
    return _with_suffixes(prefix + body, suffixes, len(prefix), options.linewidth)


def meta_str(
    shape: tuple[int, ...],
    dtype_name: str,
    *,
    default_dtype: str = "float32",
    requires_grad: bool = False,
    grad_fn_name: str | None = None,
    options: PrintOptions = PROFILES["default"],
    prefix: str = "tensor(",
) -> str:
    """The text of `repr(tensor)` on the device `meta`, where there are no elements to show.

    >>> meta_str((2, 3), "int64")
    "tensor(..., device='meta', size=(2, 3), dtype=torch.int64)"
    """
    size = str(tuple(shape))
    suffixes = ["device='meta'", f"size={size}"]
    if dtype_name != default_dtype:
        suffixes.append(f"dtype=torch.{dtype_name}")
    suffixes += _history(requires_grad, grad_fn_name)
    return _with_suffixes(prefix + "...", suffixes, len(prefix), options.linewidth)


def sparse_str(
    text: str,
    shape: Any,
    count: int,
    dtype_name: str,
    layout: str,
    *,
    default_dtype: str,
    requires_grad: bool,
    grad_fn_name: str | None,
    options: PrintOptions,
    prefix: str,
    newline: bool,
) -> str:
    """`repr` of a sparse tensor, after the `text` of its indices and values."""
    kind = [] if dtype_name in (default_dtype, "int64", "bool", "complex64") else [f"dtype=torch.{dtype_name}"]
    suffixes = [f"size={tuple(shape)}", f"nnz={count}", *kind, f"layout=torch.{layout}"]
    suffixes += _history(requires_grad, grad_fn_name)
    return _with_suffixes(text, suffixes, len(prefix), options.linewidth, newline)


def _history(requires_grad: bool, grad_fn_name: str | None) -> list[str]:
    if grad_fn_name is not None:
        return [f"grad_fn=<{grad_fn_name}>"]
    return ["requires_grad=True"] if requires_grad else []


def parameter_str(data: Array | np.generic, dtype_name: str, **rest: Any) -> str:
    """The text of `repr(nn.Parameter)`: a heading above what `tensor_str` says."""
    return "Parameter containing:\n" + tensor_str(data, dtype_name, **rest)


def format_scalar(data: Array | np.generic, spec: str) -> str:
    """`f"{tensor:spec}"` of a tensor with no dimensions: that of the Python number in it.

    >>> format_scalar(np.float32(0.5), ".3f")
    '0.500'
    """
    array = np.asarray(data)
    return format(array.item() if array.dtype.kind in "biufc" else float(array), spec)


class _Style(NamedTuple):
    """The format of one kind of element, and its number of columns."""

    width: int
    write: Callable[[Any], str]

    def cell(self, value: Any) -> str:
        return self.write(value).rjust(self.width)


class _Layout(NamedTuple):
    """The options of brackets."""

    cell: Callable[[Any], str]
    cell_width: int
    cut: tuple[bool, ...]
    edge: int
    linewidth: int


def contents_str(array: Array, indent: int, options: PrintOptions) -> str:
    """The elements of an array in brackets, lines after the first `indent` columns in."""
    edge = options.edgeitems
    cut = tuple(array.size > options.threshold and length > 2 * edge for length in array.shape)
    if any(cut):
        array = array[np.ix_(*(_kept(length, edge) for length in array.shape))]
    cell, width = _cells(array, options)
    values = array.tolist() if array.dtype.kind in "biufc" else array.astype(np.float64).tolist()
    return _bracketed(values, indent, 0, _Layout(cell, width, cut, edge, options.linewidth))


def _kept(length: int, edge: int) -> list[int]:
    return [*range(min(edge, length)), *range(max(edge, length - edge), length)]


def _cells(array: Array, options: PrintOptions) -> tuple[Callable[[Any], str], int]:
    """The writer of one element and the columns that it takes."""
    if array.dtype.kind == "c":
        real, imag = _float_style(array.real, options), _float_style(array.imag, options)

        def write(value: complex) -> str:
            tail = imag.cell(value.imag).lstrip() + "j"
            return real.cell(value.real) + (tail if tail[0] in "+-" else "+" + tail)

        return write, real.width + imag.width + 1
    if array.dtype.kind in "biu":
        style = _Style(max((len(str(value)) for value in array.ravel().tolist()), default=1), str)
    else:
        style = _float_style(array, options)
    return style.cell, style.width


def _float_style(array: Array, options: PrintOptions) -> _Style:
    """Whole numbers as `2.`, others with all digits, both in scientific notation where the magnitudes are far apart."""
    values = array.astype(np.float64).ravel()
    nothing = 2.0**-127 if array.dtype.name == "float8_e8m0fnu" else 0.0
    telling = values[np.isfinite(values) & (values != nothing)]
    if not telling.size:
        return _Style(1, _write_whole)
    sizes = np.abs(telling)
    smallest, largest = float(sizes.min()), float(sizes.max())
    scientific = options.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4
    whole = not scientific and bool(np.all(telling == np.ceil(telling)))
    write = _write_whole if whole else f"{{:.{options.precision}{'e' if scientific else 'f'}}}".format
    return _Style(max(len(write(value)) for value in telling.tolist()), write)


def _write_whole(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else str(value)


def _bracketed(values: Any, indent: int, axis: int, layout: _Layout) -> str:
    """The elements from `axis` on, `indent` columns in; rows are broken into lines, blocks are set apart."""
    below = len(layout.cut) - axis
    if below == 0:
        return layout.cell(values)
    if below == 1:
        return _row(values, indent, layout)
    parts = [_bracketed(value, indent + 1, axis + 1, layout) for value in values]
    if layout.cut[axis]:
        parts.insert(layout.edge, "...")
    return "[" + ("," + "\n" * (below - 1) + " " * (indent + 1)).join(parts) + "]"


def _row(values: list[Any], indent: int, layout: _Layout) -> str:
    cells = [layout.cell(value) for value in values]
    if layout.cut[-1]:
        cells.insert(layout.edge, " ..." if cells else "...")
    per_line = max(1, (layout.linewidth - indent) // (layout.cell_width + 2))
    lines = [", ".join(cells[start : start + per_line]) for start in range(0, len(cells), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _with_suffixes(text: str, suffixes: list[str], indent: int, linewidth: int, newline: bool = False) -> str:
    """`text, a, b)`, with a line of its own for a suffix that no longer fits, and with `newline` for the first."""
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if newline or column + len(suffix) + 2 > linewidth:
            newline = False
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"
