"""The ledger of training as text: what there is, and what happened, one line each."""

from __future__ import annotations

from collections.abc import Iterator

from autograph_cli.graph.ledger import Happening, Hook, Keeper, Ledger
from autograph_cli.graph.source import Source

FEW = 3
"""The most parameters that are named one by one."""


def ledger_text(ledger: Ledger) -> str:
    """Return a ledger as lines: optimizers, hooks, what happened step by step, and what keeps graphs.

    >>> ledger_text(Ledger())
    'nothing was heard\\n'
    """
    hooks = [hook_text(ledger, each) for each in ledger.hooks]
    lines = [*_optimizers(ledger), *hooks, *_happenings(ledger), *map(_keeper, ledger.keepers)]
    if ledger.more:
        lines.append(f"{ledger.more} more were heard {'in between' if ledger.later else 'later'}, and not written down")
    return "\n".join(lines or ["nothing was heard"]) + "\n"


def _optimizers(ledger: Ledger) -> Iterator[str]:
    for each in ledger.optimizers:
        name = f"{each.name} = {each.cls}" if each.name else each.cls
        yield f"optimizer {name}: {_parameters(ledger, each.holds)}{_at(each.source)}"


def changing_hooks(ledger: Ledger | None) -> list[str]:
    """Return the hooks that send on another gradient than they are given, a line each, in order of what they do; those
    of one line of the script are one."""
    found = set()
    for each in () if ledger is None else ledger.hooks:
        if each.given and any(factor != 1 for factor in each.factors):
            factors = {None if factor is None else f"{factor:.4g}" for factor in each.factors}
            by = factors.pop() if len(factors) == 1 else None
            does = "changes a gradient" if by is None else f"multiplies a gradient by {by}"
            source = each.source or Source(each.function, 0)
            found.add((f"{each.kind} {does}", f"{source.file}:{source.line}, {source.text}"))
    return [f"{told} ({where})" for told, where in sorted(found)]


def hook_text(ledger: Ledger, each: Hook) -> str:
    """Return a hook as one line: what it is on, where it was registered, and what it did to the norms it was given."""
    on = "" if each.parameter is None else ledger.parameters[each.parameter].name
    did = ", ".join(f"{low:g} to {high:g}" for low, high in zip(each.given, each.returned, strict=True))
    function = f" {each.function}" if each.function else ""
    return f"{each.kind}{function} on {on or each.on or 'a tensor'}{_at(each.source)}{did and ': '}{did}"


def _happenings(ledger: Ledger) -> Iterator[str]:
    step = -1
    for each in ledger.heard:
        if each.step != step:
            step = each.step
            yield f"step {step + 1}"
        yield f"  {happening_text(ledger, each)}"


def happening_text(ledger: Ledger, each: Happening) -> str:
    """Return something that happened as one line, with the line of the script at its end."""
    words = [each.kind, *_about(ledger, each)]
    return f"{' '.join(word for word in words if word)}{_at(each.source)}"


def _about(ledger: Ledger, each: Happening) -> Iterator[str]:
    """Yield what else is known of something that happened."""
    if each.optimizer is not None:
        yield ledger.optimizers[each.optimizer].name or ledger.optimizers[each.optimizer].cls
    if each.words:
        yield each.words
    if each.kind == "step":
        moved, held = len(ledger.sets[each.moved]), len(ledger.sets[each.given])
        yield f"moved {moved} of {held} by {each.norm:g}, rate {each.rate:g}"
    elif each.given or each.kind == "clip":
        yield _parameters(ledger, each.given)
    if each.kind == "call":
        yield f"{'with' if each.made else 'without'} gradients, given numbers up to {each.norm:g}"
    if each.kind in ("zero_grad", "step", "clip"):
        yield f"({len(ledger.sets[each.ready])} had a gradient)"
    if each.kind in ("backward", "grad"):
        yield f"ran {each.ran} nodes{', retained' * each.kept}{', create_graph' * each.made}{', failed' * each.failed}"


def _keeper(each: Keeper) -> str:
    tensors = f"{each.count} tensors" if each.count > 1 else "a tensor"
    kept = f"{each.nodes} nodes of {each.steps} turns, {each.bytes:,} bytes"
    return f"{each.name} keeps {tensors} with {kept}{_at(each.source)}"


def _parameters(ledger: Ledger, number: int) -> str:
    numbers = ledger.sets[number]
    names = ledger.names(numbers)
    if len(numbers) <= FEW and len(names) == len(numbers) and names:
        return ", ".join(names)
    return f"{len(numbers)} parameter{'s' * (len(numbers) != 1)}"


def _at(source: Source | None) -> str:
    return f"  {source.file}:{source.line}" if source else ""
