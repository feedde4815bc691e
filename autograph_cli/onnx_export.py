"""`torch.onnx.export` of the engine: a model's forward is recorded once, and its graph is written as ONNX."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autograph_cli import torch
from autograph_cli.export import ExportError
from autograph_cli.export.exchange.onnx.graph import OPSET, to_onnx
from autograph_cli.export.exchange.onnx.operations import DRAWN
from autograph_cli.record.capture import capture_model

_CHOSEN: dict[str, Any] = {
    "dynamic_axes": None,
    "dynamic_shapes": None,
    "custom_translation_table": None,
    "custom_opsets": None,
    "export_modules_as_functions": False,
    "export_params": True,
    "keep_initializers_as_inputs": False,
}
"""Options that ask for another model, and what they may be."""
_WORDS = (
    "verbose dynamo external_data report optimize verify profile dump_exported_program artifacts_dir training "
    "operator_export_type do_constant_folding autograd_inlining fallback"
)
_IGNORED = frozenset(_WORDS.split())
"""Options of how a model is written, not which."""


def write(
    model: Any,
    args: Any,
    kwargs: Mapping[str, Any],
    names: tuple[Sequence[str], Sequence[str]],
    opset: int | None,
    options: Mapping[str, Any],
    refused: type[Exception],
) -> bytes:
    """The model as ONNX; `names` are those of its inputs and of its outputs. Raises `refused`."""
    _check(opset, options, refused)
    args = args if isinstance(args, tuple) else (args,)
    given = dict(_named(_parameters(model, args, kwargs)))
    inputs = {name: x for name, x in given.items() if isinstance(x, torch.Tensor)}
    asked, wanted = names
    if len(asked) > len(inputs):
        raise refused(f"input_names has {len(asked)} names, and the model is given {len(inputs)} tensors.")

    def outputs(result: Any) -> dict[str, Any]:
        found = [x for _, x in _named([("output", result)]) if isinstance(x, torch.Tensor)]
        if len(wanted) > len(found):
            raise refused(f"output_names has {len(wanted)} names, and the model returns {len(found)} tensors.")
        return dict(zip([*wanted, *_numbered(len(wanted), len(found))], found, strict=True))

    with torch.enable_grad():
        graph, values, places = capture_model(model, args, kwargs, outputs)
    drawn = sorted({node.op for node in graph if node.op in DRAWN or node.op.startswith("rand")})
    if drawn:
        raise refused(f"The model draws at random ({', '.join(drawn)}), which a file cannot hold: call model.eval().")
    own = {**dict(model.named_parameters()), **dict(model.named_buffers())} if hasattr(model, "named_buffers") else {}
    called = [*asked, *list(inputs)[len(asked) :]]
    names_of = {places[id(x)]: name for name, x in own.items() if id(x) in places}
    ends = {places[id(x)]: name for name, x in zip(called, inputs.values(), strict=True) if id(x) in places}
    held = {edge: array for edge, array in values.items() if edge not in ends}
    try:
        return to_onnx(graph, type(model).__name__, held, names_of | ends)
    except ExportError as error:
        raise refused(str(error)) from None


def _check(opset: int | None, options: Mapping[str, Any], refused: type[Exception]) -> None:
    if opset not in (None, OPSET):
        raise refused(f"opset_version {opset} is not written: only {OPSET} is.")
    for name, value in options.items():
        if name not in _CHOSEN and name not in _IGNORED:
            raise TypeError(f"export() got an unexpected keyword argument '{name}'")
        if name in _CHOSEN and value != _CHOSEN[name] and value not in (None, {}, ()):
            raise refused(f"{name} is not supported: the model has the sizes and parameters that it was recorded with.")


def _parameters(model: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The arguments under the names that the model's `forward` has for them."""
    try:
        bound = inspect.signature(getattr(model, "forward", model)).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return [*((f"input{nr}", x) for nr, x in enumerate(args)), *kwargs.items()]
    return list(bound.arguments.items())


def _named(pairs: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield what there is within tuples, lists and dicts as well."""
    for name, value in pairs:
        if isinstance(value, (tuple, list)):
            yield from _named([(f"{name}_{nr}", item) for nr, item in enumerate(value)])
        elif isinstance(value, dict):
            yield from _named([(str(key), item) for key, item in value.items()])
        else:
            yield name, value


def _numbered(start: int, end: int) -> list[str]:
    return ["output" if end == 1 else f"output_{nr}" for nr in range(start, end)]
