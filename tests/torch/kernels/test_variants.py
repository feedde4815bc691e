"""Kernels and their compiled variants meet in one table, and answer alike."""

import ast
import inspect
import types
from pathlib import Path
from typing import Any

import numpy as np

from autograph_cli.torch import _kernels
from autograph_cli.torch._kernels import Kernels, cpu, half_precision
from autograph_cli.torch._kernels.elements import indexing, sparse
from autograph_cli.torch._kernels.elementwise import special
from autograph_cli.torch._kernels.matrices import lapack, triangular
from autograph_cli.torch._kernels.random_numbers import random_variates
from autograph_cli.torch._kernels.variants import VARIANTS
from tests.cases import for_each
from tests.torch.kernels.compared import KINDS, chooser, needs_compiled, numbers, spread_out

FUNCTIONS: dict[str, Any] = {
    "all_below": indexing.all_below,
    "_back": half_precision._back,
    "_each": random_variates._each,
    "_each_at": lapack._each_at,
    "add_rows": sparse.add_rows,
    "chebyshev": special.chebyshev,
    "rational": special.rational,
    "substituted": triangular.substituted,
    "to_float32": half_precision.to_float32,
}
ASK_THEMSELVES = {"__init__.py", "composed.py", "lapack.py", "variants.py"}
"""The files that may load a compiled module: for the rules of optimizers, and for where LAPACK is."""


def test_each_variant_stands_before_a_kernel() -> None:
    assert [name for name in VARIANTS if name not in FUNCTIONS and not callable(getattr(Kernels, name, None))] == []


def test_no_kernel_asks_for_a_compiled_module() -> None:
    asking = {
        path.name
        for path in Path(_kernels.__path__[0]).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "compiled"
    }
    assert asking == ASK_THEMSELVES


def test_kernels_are_called_by_position() -> None:
    """A variant has no names of arguments to go by."""
    engine = Path(_kernels.__path__[0]).parent
    named = [
        f"{path.name}:{node.lineno}"
        for folder in ("_kernels", "_ops")
        for path in (engine / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.keywords
        if node.func.attr in VARIANTS and isinstance(node.func.value, ast.Name) and node.func.value.id in ("self", "f")
    ]
    assert named == []


def arguments(run: Any) -> tuple[int, int] | None:
    """How many arguments a function must have, and how many it may have; None where it does not say."""
    if isinstance(run, types.FunctionType) or type(run).__name__ == "cython_function_or_method":
        given = [p for p in inspect.signature(run).parameters.values() if p.name != "self"]
        return sum(p.default is p.empty for p in given), len(given)
    return None


@needs_compiled
@for_each("name", [name for name in VARIANTS if name != "_small_gradients"])
def test_it_has_the_arguments_of_its_kernel(name: str) -> None:
    kernel = FUNCTIONS[name].kernel if name in FUNCTIONS else inspect.unwrap(getattr(Kernels, name))
    variant, wanted = arguments(VARIANTS[name].function()), arguments(kernel)
    assert wanted is not None
    assert variant is None or (variant[0] == wanted[0] and variant[1] >= wanted[1])


@needs_compiled
@for_each("name", [name for name, variant in VARIANTS.items() if variant.place.startswith("composed.")])
def test_what_is_composed_takes_arrays_where_it_names_them(name: str) -> None:
    parameters = [*inspect.signature(VARIANTS[name].function()).parameters.values()]
    assert {parameters[place].annotation for place in VARIANTS[name].arrays} <= {"Array"}


@needs_compiled
@for_each("name", [name for name, variant in VARIANTS.items() if variant.arrays])
@for_each("kind", KINDS)
def test_it_is_asked_about_what_it_takes(name: str, kind: str) -> None:
    variant, asked = VARIANTS[name], []

    def run(*args: Any) -> str:
        asked.append(args)
        return "variant"

    chosen = chooser.either(run, lambda *args: "kernel", variant.arrays, variant.alike, variant.laid)
    good = numbers(kind, 2, 3)
    other = np.float64 if kind == "float32" else np.float32
    bad = [spread_out(good), good.T, good.astype(other), good.astype("int64"), np.array(1, kind), good[0, 0], 1.0, None]
    if variant.alike and len(variant.arrays) > 1:
        bad.append(good[:1])
    places = range(max(variant.arrays) + 1)
    assert chosen(*[good for _ in places]) == "variant"
    for wrong in variant.arrays:
        for x in bad if len(variant.arrays) > 1 else [*bad[:2], *bad[3:]]:
            assert chosen(*[x if at == wrong else good for at in places]) == "kernel"
    assert chosen(*[good for _ in places[:-1]], *[]) == "kernel" or not variant.arrays
    assert len(asked) == 1


@needs_compiled
def test_a_variant_may_leave_a_call_to_its_kernel() -> None:
    chosen = chooser.either(lambda *args: None, lambda *args: args)
    assert chosen(1, 2) == (1, 2)
    assert type(cpu.softmax) is not type(Kernels(np).softmax)
