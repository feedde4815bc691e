"""The graph of tensors that are there already, or of what a function makes: without a script, within any program."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, GraphError
from autograph_cli.graph.collector import resting
from autograph_cli.record.graphs import pytorch
from autograph_cli.record.graphs.build import Span, build
from autograph_cli.record.log.events import LEAF
from autograph_cli.record.log.saved_tensors import look
from autograph_cli.record.names import variables as names
from autograph_cli.record.names.source_locations import Sources, script_frames
from autograph_cli.record.recorder import Recorder

Pairs = list[tuple[str, Any]]


def capture(fn_or_tensors: Any, *args: Any, **kwargs: Any) -> Graph:
    """The graph that tensors hang on, or that calling a function with these arguments makes.

    Tensors are one, or a list, tuple or dict of them; of autograph's engine or of PyTorch. Of a function, the graph
    that its result hangs on; if it returns no tensor with a graph, what it recorded up to its last backward pass.
    Variables of the caller give the names, and, beside tensors, the parameters of `module=` if it is given. Raises
    `GraphError` if nothing was recorded.

    >>> from autograph_cli import torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> print(capture(lambda: (x * 2).sum()).to_text(), end="")
    graph: 3 nodes (2 operations, 1 leaf)
    order 0
      leaf x: float32[3]
      %1: float32[3] = mul(x)  grad_fn MulBackward0(x, _)
      result: float32[] = sum(%1)  grad_fn SumBackward0(%1)
    roots
      result
    """
    frames = script_frames(2)
    if callable(fn_or_tensors) and not _is_tensor(fn_or_tensors):
        return _of_function(frames, fn_or_tensors, args, kwargs)
    module = kwargs.pop("module", None)
    if args or kwargs:
        raise TypeError("Arguments are for a function; beside tensors there is only `module`.")
    return _of_tensors(frames, fn_or_tensors, {} if module is None else dict(module.named_parameters()))


def capture_derivatives(tensors: Any) -> Graph:
    """The graph of the gradients of these tensors by the leaves that they hang on, and of the tensors themselves."""
    frames = script_frames(2)
    roots = _named(frames, tensors)
    if pytorch.is_tensor(roots[0][1]):
        return pytorch.graph_of([*roots, *pytorch.gradients(roots)], _spaces(frames))
    recorder = _recorder(frames)
    for _, root in roots:
        recorder.log.engine.output(root)
    leaves = [event.ref() for event in recorder.log.known.values() if event.kind == LEAF and event.ref() is not None]
    if not leaves:
        raise GraphError(f"`{roots[0][0]}` hangs on no leaf, so it has no derivatives.")
    known = _leaf_names(recorder, frames, leaves)
    from autograph_cli.torch import autograd  # these tensors are of the engine, which is loaded then

    with recorder.log.engine.listening():
        ones = [root.detach() * 0 + 1 for _, root in roots]
        found = autograd.grad([root for _, root in roots], leaves, ones, create_graph=True, allow_unused=True)
    made = [
        (f"{name}.grad", x) for name, x in zip(known, found, strict=True) if x is not None and x.grad_fn is not None
    ]
    return _snapshot(recorder, [*roots, *made])


def capture_model(
    model: Any, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: Callable[[Any], Mapping[str, Any]]
) -> tuple[Graph, dict[Edge, Any], dict[int, Edge]]:
    """The graph of what `outputs` takes of a model's result by name, the numbers of its leaves and inputs as they were
    met, and where tensors that were given or belong to the model are in it, by id."""
    recorder = _recorder(script_frames(2))
    log = recorder.log
    log.arrays = {}
    with log.engine.listening():
        found = outputs(model(*args, **kwargs))
    roots = [(name, output) for name, x in found.items() if (output := log.engine.output(x)) is not None]
    look(log, log.step)
    span = Span(log.step, roots)
    graph = build(log, recorder.sources, span)
    ids = {number: span.ids[number] for number in log.arrays if number in span.ids}
    events = {event.number: event for event in log.known.values()}
    living = {node: events[number].ref() for number, node in ids.items()}
    places = {id(tensor): Edge(node) for node, tensor in living.items() if tensor is not None}
    return graph, {Edge(node): log.arrays[number] for number, node in ids.items()}, places


def capture_recorded(recorders: Sequence[Recorder], value: Any, *, derivatives: bool = False) -> Graph | None:
    """The graph of tensors, or of a function's result, as the recorder that is following their engine has it; None
    where there is none. Of a function without a result, the last step that it made.

    With `derivatives`, their gradients are taken and are in it.
    """
    frames = script_frames(2)
    before = [each.total for each in recorders]
    if callable(value) and not _is_tensor(value):
        value = value()
        if all(x.grad_fn is None for _, x in _tensors("result", value)):
            return _last_step(recorders, before)
    roots = _named(frames, value)
    recorder = next((each for each in recorders if isinstance(roots[0][1], each.log.engine.tensor)), None)
    if recorder is None:
        return None
    recorder.sources = _recorder(frames).sources
    names.scan(recorder.log, _spaces(frames))
    made = pytorch.gradients(roots) if derivatives else []
    return _snapshot(recorder, [*roots, *made])


def _of_function(frames: list[FrameType], function: Callable[..., Any], args: Any, kwargs: Any) -> Graph:
    recorder = _recorder(frames)
    with recorder.log.engine.listening():
        result = function(*args, **kwargs)
    roots = [(name, x) for name, x in _tensors("result", result) if x.grad_fn is not None]
    spaces = [*_spaces(frames), _given(function, args, kwargs)]
    if roots and pytorch.is_tensor(roots[0][1]):
        return pytorch.graph_of(roots, spaces)
    names.scan(recorder.log, spaces)
    if roots:
        return _snapshot(recorder, roots)
    return _last_step([recorder], [0])


def _last_step(recorders: Sequence[Recorder], before: Sequence[int]) -> Graph:
    """The graph of the step that trained last among those that came after so many."""
    for recorder, count in zip(recorders, before, strict=True):
        trace = recorder.trace()
        step = replace(trace, steps=tuple(step for step in trace.steps if step.number >= count)).main_step()
        if step is not None:
            return step.graph
    raise GraphError("The function recorded nothing: it returned no tensor that requires grad, and ran no backward.")


@resting()
def _of_tensors(frames: list[FrameType], tensors: Any, parameters: dict[str, Any]) -> Graph:
    roots = _named(frames, tensors)
    spaces = [parameters, *_spaces(frames)]
    if pytorch.is_tensor(roots[0][1]):
        return pytorch.graph_of(roots, spaces)
    from autograph_cli.record.graphs import living  # likewise

    return living.graph_of(_recorder(frames).log, roots, spaces)


def _snapshot(recorder: Recorder, roots: Pairs) -> Graph:
    """The graph of these tensors with what its nodes keep, as far as no backward pass has freed it."""
    look(recorder.log, recorder.log.step)
    return recorder.snapshot(dict(roots))


def _recorder(frames: list[FrameType]) -> Recorder:
    recorder = Recorder("last")
    recorder.sources = Sources(os.path.dirname(frames[0].f_code.co_filename) if frames else os.getcwd())
    return recorder


def _named(frames: list[FrameType], tensors: Any) -> Pairs:
    """The tensors under the names of the caller's variables; each has a graph, and all are of one engine."""
    found = list(_tensors("result", tensors))
    if not found:
        raise GraphError(f"There is no tensor in this {type(tensors).__name__}.")
    if len({pytorch.is_tensor(x) for _, x in found}) > 1:
        raise GraphError("These tensors are of two engines: autograph's and PyTorch's.")
    variables: dict[int, str] = {}
    for space in reversed(_spaces(frames)):
        for name, value in space.items():
            if not name.startswith(("_", "@")):
                variables.setdefault(id(value), name)
    roots: dict[str, Any] = {}
    for name, x in found:
        if x.grad_fn is None:
            why = "it is a leaf" if x.requires_grad else "it needs no gradient"
            raise GraphError(f"`{variables.get(id(x), name)}` has no graph: {why}.")
        chosen = variables.get(id(x), name)
        roots[chosen if chosen not in roots else f"{chosen}~{len(roots)}"] = x
    return list(roots.items())


def _is_tensor(value: Any) -> bool:
    """Return whether this is a tensor of PyTorch or of the engine, which need not be loaded."""
    engine = sys.modules.get("autograph_cli.torch")
    return pytorch.is_tensor(value) or (engine is not None and isinstance(value, engine.Tensor))


def _tensors(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if _is_tensor(value):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for position, item in enumerate(value):
            yield from _tensors(f"{path}[{position}]", item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _tensors(str(key) if path == "result" else f"{path}[{key!r}]", item)


def _spaces(frames: list[FrameType]) -> list[dict[str, Any]]:
    """Return what each frame sees by name, its own variables first, and of its module's those that its code uses."""
    spaces = []
    for frame in reversed(frames):
        space = dict(names.variables_of(frame))
        for name in frame.f_code.co_names:
            if name in frame.f_globals:
                space.setdefault(name, frame.f_globals[name])
        spaces.append(space)
    return spaces


def _given(function: Callable[..., Any], args: Any, kwargs: Any) -> dict[str, Any]:
    """Return what a function sees by name: its closure and its arguments."""
    space: dict[str, Any] = {}
    inner = inspect.unwrap(function)
    if inspect.isfunction(inner):
        space |= inspect.getclosurevars(inner).nonlocals
    with contextlib.suppress(TypeError, ValueError):
        space |= inspect.signature(function).bind(*args, **kwargs).arguments
    return space


def _leaf_names(recorder: Recorder, frames: list[FrameType], leaves: list[Any]) -> list[str]:
    names.scan(recorder.log, _spaces(frames))
    outputs = [recorder.log.engine.output(leaf) for leaf in leaves]
    found = [() if output is None else recorder.log.names_of(output) for output in outputs]
    return [known[0] if known else f"leaf {position}" for position, known in enumerate(found)]
