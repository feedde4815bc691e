"""What a shell offers for the values of options and arguments: words, files, and names of the last trace."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, FishComplete, add_completion_class

from autograph_cli import AutographError
from autograph_cli.graph import Node
from autograph_cli.graph.names import shown_name
from autograph_cli.record.run import store

LARGEST = 20_000_000
"""Bytes of a trace, not compressed, that is read before the next key is pressed."""
Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@add_completion_class
class Fish(FishComplete):
    """click's own would cut what it offers at the first comma, and so offer nothing after `values,`."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


def one_of(*words: str) -> Complete:
    """One of these words."""
    return lambda ctx, param, incomplete: [CompletionItem(word) for word in words if word.startswith(incomplete)]


def some_of(*words: str) -> Complete:
    """Words with commas between them, each once."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        given, comma, last = incomplete.rpartition(",")
        rest = [word for word in words if word.startswith(last) and word not in given.split(",")]
        return [CompletionItem(f"{given}{comma}{word}") for word in rest]

    return complete


def file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """A file, which the shell looks for."""
    return [CompletionItem(incomplete, type="file")]


def tensor(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The name of a tensor in the trace that is given, else in the last one."""
    return _items(_tensors(_nodes(ctx)), incomplete)


def node(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The name of a tensor, of an operation or of a node."""
    nodes = _nodes(ctx)
    names = (name for node in nodes for name in (node.op, node.name) if name and node.kind == "operation")
    return _items([*_tensors(nodes), *names], incomplete)


def _items(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete) and name.isprintable()]


def _tensors(nodes: list[Node]) -> Iterator[str]:
    return (shown_name(name) for node in nodes for output in node.outputs for name in output.names)


def _nodes(ctx: click.Context) -> list[Node]:
    """The nodes of a trace; none where there is no trace, or one that takes long to read."""
    source = ctx.params.get("source")
    try:
        path = Path(source) if source and source.endswith((".json", ".json.gz")) else store.find()
        if path.stat().st_size * (10 if path.suffix == ".gz" else 1) > LARGEST:
            return []
        return [node for step in store.load(path).steps for node in step.graph]
    except (AutographError, OSError):
        return []
