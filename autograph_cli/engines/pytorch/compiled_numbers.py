"""The numbers inside of what `torch.compile` compiled: each result of a graph of AOTAutograd as its backend computes
it, and how far that is off from the operation alone, in float64 on the same numbers.

A backend may put many operations in one kernel, and has their results nowhere: it is given a second graph, of which
each result is an output, and this one is looked at. What the script gets comes of the graph as it is.
"""

from __future__ import annotations

import contextlib
import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

from autograph_cli.engines.pytorch import hooks
from autograph_cli.engines.pytorch.private import untouched
from autograph_cli.engines.pytorch.private_compiler import unreported
from autograph_cli.graph.numbers import kept
from autograph_cli.graph.records import Exact, Number

Told = dict[str, tuple[Exact, Number | None]]
"""By the name of a result: its numbers, and by how much they are off, relative to the largest."""


def observed(compiler: Any, graph: Any, inputs: Sequence[Any], tell: Callable[[Told], None]) -> Any:
    """Return what a compiler makes of a graph; each time it runs, the results inside are told."""
    plain, wide = copy.deepcopy(graph.graph), None
    with contextlib.suppress(Exception), unreported():  # it may refuse so many outputs
        wide = compiler(_wide(graph, plain), inputs)
    made = compiler(graph, inputs)

    def run(args: list[Any]) -> Any:
        if wide is not None:
            with contextlib.suppress(Exception), _alone(args):
                tell(_told(graph, plain, _run(wide, [_copied(x) for x in args]), args))
        return _run(made, args)

    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _run(function: Any, args: list[Any]) -> Any:
    return function(args) if getattr(function, "_boxed_call", False) else function(*args)


@contextlib.contextmanager
def _alone(args: Sequence[Any]) -> Iterator[None]:
    """Within the block nothing is seen, or added to a graph, and random numbers are put back after it."""
    devices = {x.device for x in args if isinstance(x, torch.Tensor) and x.is_cuda}
    with (
        hooks.unheard(), untouched(), torch.random.fork_rng([*devices]), torch.no_grad(), warnings.catch_warnings(),
    ):  # fmt: skip
        warnings.simplefilter("ignore")
        yield


def _copied(x: Any) -> Any:
    """A tensor with memory of its own, laid out alike: a kernel may write into what it is given."""
    if not isinstance(x, torch.Tensor) or not x.numel():
        return x
    size = 1 + sum((length - 1) * stride for length, stride in zip(x.shape, x.stride(), strict=True))
    return x.detach().as_strided((size,), (1,)).clone().as_strided(x.shape, x.stride())


def _results(graph: fx.Graph) -> list[fx.Node]:
    """The operations that make one tensor each, but for those that change one."""
    made = [node for node in graph.nodes if node.op == "call_function"]
    return [node for node in made if isinstance(node.meta.get("val"), torch.Tensor) and not _is(node, "is_mutable")]


def _is(node: fx.Node, what: str) -> bool:
    return bool(getattr(getattr(node.target, "_schema", None), what, False))


def _wide(graph: Any, plain: fx.Graph) -> fx.GraphModule:
    """The graph with all results as outputs, after its own."""
    every = copy.deepcopy(plain)
    output = next(iter(reversed(every.nodes)))
    output.args = ((*output.args[0], *_results(every)),)
    return fx.GraphModule(graph, every)


def _told(graph: Any, plain: fx.Graph, results: Sequence[Any], args: Sequence[Any]) -> Told:
    """The numbers of all results, of which a backend has computed the last ones, and of what was given."""
    names = _results(plain)
    known = dict(zip(names, list(results)[-len(names) :], strict=True)) if names else {}
    given = iter(args)
    values: dict[Any, Any] = {}
    told: Told = {}
    for node in plain.nodes:
        exact = None
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "get_attr":
            values[node] = _attribute(graph, str(node.target))
        elif node.op == "call_function":
            exact = _computed(node, values)
            values[node] = known.get(node, exact)
        value = values.get(node)
        if isinstance(value, torch.Tensor):
            told[node.name] = _kept(value), _off(value, exact if node in known else None)
    return told


def _attribute(graph: Any, path: str) -> Any:
    for name in path.split("."):
        graph = getattr(graph, name)
    return graph


def _computed(node: fx.Node, values: dict[Any, Any]) -> Any:
    """The result of one operation in float64; None where that is nothing to compare with."""
    if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) or "empty" in node.name:
        return None

    def exactly(one: fx.Node) -> Any:
        value = values[one]
        return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    with contextlib.suppress(RuntimeError, TypeError, ValueError, KeyError):
        assert callable(node.target)
        return node.target(*fx.map_arg(node.args, exactly), **fx.map_arg(node.kwargs, exactly))
    return None


def _off(value: torch.Tensor, exact: Any) -> Number | None:
    """The largest difference, relative to the largest number."""
    if not isinstance(exact, torch.Tensor) or exact.shape != value.shape or not value.numel():
        return None
    one, other = (each.to(torch.complex128 if each.is_complex() else torch.float64) for each in (value, exact))
    gap = (one - other).abs().nan_to_num(0.0)[one != other]
    size = max(float(each.abs().nan_to_num(0.0, 0.0, 0.0).max()) for each in (one, other))
    worst = float(gap.max()) if gap.numel() else 0.0
    return Number(worst / size if size else 0.0)


def _kept(value: torch.Tensor) -> Exact:
    plain = value.float() if value.dtype is torch.bfloat16 else value
    return kept(plain.numpy(force=True))
