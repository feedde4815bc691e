"""Traits: what is true of an operation beside its schema, kernel and derivatives; arguments of `operation(...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Traits:
    """Each attribute is an argument of `operation(...)`; its default is what holds for most."""

    # Arguments
    promotes: bool | str = False
    """Arguments are cast to their common dtype, and a number may stand beside a tensor; "floating": which is not taken
    for an integer."""
    number_first: bool = False
    """A number may stand in the first position too."""
    strict: bool = False
    """A number may stand in no place."""
    floating: bool = False
    """Integers become the default dtype."""
    check: Callable[..., None] | None = None
    """Raises where raw arguments (or a boolean beside one) do not go together, before they are cast to one dtype."""
    refuses: Mapping[str, str | Exception | Callable[..., str | None]] = {}
    """Dtypes of the first tensor that PyTorch does not compute in, by NumPy's letters (b, i, u, c; e: float16; E:
    bfloat16): the kernel that it says lacks them, the error ({} in it is the dtype), or a function of the kernel's
    arguments that gives the name."""
    float8: bool | str = False
    """Computes in the dtypes of 8 bits; "numbers": but for float8_e8m0fnu, which has scales. Views always do."""
    autocast: str = ""
    """PyTorch's policy: "lower_precision_fp", "fp32" or "promote" (float32 if one of the tensors is);
    "lower_precision_result": casts nothing, but the product inside does, so the result is of the lower dtype."""

    from_cpu: bool = False
    """A 0-d tensor of the CPU may stand beside tensors on a GPU, as it may where elements are computed one by one."""

    moves: bool = False
    """The result may be on another device than the arguments."""

    # Results
    view: bool = False
    """The result shares the first input's memory."""
    rereads: bool = False
    """A view that reads the memory in another way: as another dtype, conjugated, negated."""
    list_result: bool = False
    """The number of outputs varies."""
    nondifferentiable: tuple[str, ...] = ()
    """Names of outputs without gradient."""
    memory_format: str | Callable[..., Any] = ""
    """The layout of results where PyTorch's order is not the kernel's: "contiguous", "preserve", "channels_last"
    (where those
    of the first argument are); "own": as they come, never the argument's memory; or a function of both."""

    # Mathematics
    pointwise: bool | None = None
    """Each element depends on the elements at its position, over broadcast arguments; None: so it is where `promotes`
    or
    `floating` is."""
    linear: bool | str | None = None
    """Linear in all inputs that have a derivative together; "each": in each while the others stay; None: as `view`."""
    commutes: bool = False
    """A product of two whose tangent PyTorch writes with the tangents in front, from the last input to the first."""
    symmetric: bool = False
    """Gives the same, but for rounding, whichever of its two tensors comes first."""
    by_strides: bool = False
    """A view that speaks of memory: right for a tangent only if that is laid out like its primal."""
    zero_to_zero: bool = False
    """A function of one number that is zero where it is: of sparse tensors it is computed on the values they keep."""
    random: bool = False
    """Draws random numbers."""
    batch: Callable[..., Any] | None = None
    """The rule by which `vmap` runs it (batching.py, batching_rules.py, batching_layers.py); None: element by element
    if it is pointwise, else sample by sample."""
    tangent: Callable[..., Any] | None = None
    """A formula of the tangent, where what follows from the derivatives has a pole; it names tangents `self_t`."""

    flops: Callable[..., int] | None = None
    """The floating-point operations of one run, from its raw results and arguments, as `FlopCounterMode` counts them
    (flops.py); None: they are not counted."""

    # Names
    aten: str = ""
    """The name in `torch.ops.aten` and in dispatch modes ("select.int"), where that is not its name and overload."""

    # Derivatives
    has_derivative: bool = True
    """False: PyTorch has no derivative; its node is called NotImplemented, and has only the edges that need one."""
    saves_all: bool = False
    """True if the arguments of a formula are saved whether its gradient is wanted or not, as PyTorch's operation
    does."""
    constants: tuple[str, ...] = ()
    """Tensors by which PyTorch refuses to differentiate: one that requires a gradient is an error."""
    complex_gradient: bool = True
    """False: PyTorch refuses to differentiate a complex result."""
    last: str = ""
    """The input whose formula comes last in a recorded pass: it makes a node without derivative, which runs first."""
    recomputed: Any = None
    """Saved outputs without a gradient that depend on the inputs all the same (recomputed.py)."""
    saved: Mapping[str, Callable[..., Any] | str | None] = {}
    """Attributes of PyTorch's node that are not named as in the formulas: a name of ours, or a function of what the
    node keeps (`{"result1": "indices", "N": lambda input_sizes: input_sizes[0]}`); None: its node has none such."""

    # In place
    complex_inplace: bool = True
    """The in-place form takes complex tensors."""
    overlap: str = "same"
    """Elements that it writes and that the in-place form may read as another argument: "none", the "same" or "any"."""
    internal_overlap: bool | str = False
    """The in-place form may write one element several times, as it writes one value; a text: PyTorch warns of it, with
    this as another example."""
    in_memory: str = ""
    """The kernel of the in-place form where one position in memory may stand for several elements, and each adds to
    it."""
    overwrites: bool = False
    """The in-place form copies the second argument into the first."""
    vmap_inplace: str = ""
    """PyTorch's name for the in-place form where vmap refuses it; "broadcast": it says that shapes do not broadcast."""

    # Kernel
    opmath: bool | str = False
    """16-bit floats are computed as float32 and rounded once; what kernels do so among themselves is marked there.
    "numbers too": numbers beside them are rounded first; "exact numbers": nor is a number, or a 0-d tensor of another
    dtype, in the second place."""
    sign: str = ""
    """The operator, `+` or `*`, that does what the kernel does to two arrays while the arguments after them have their
    defaults."""


NAMES = frozenset(Traits.__annotations__)
"""The arguments of `operation(...)` that are traits; what is none of them is a formula."""
DEFAULTS = {name: getattr(Traits, name) for name in NAMES}
