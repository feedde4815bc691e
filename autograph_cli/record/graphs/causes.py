"""Finds where the script cuts a gradient: the recorded graph says for which tensors, the script's text why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from autograph_cli.graph import Graph, Node, Source, Step
from autograph_cli.graph.cuts import LISTED, behind, where
from autograph_cli.graph.names import output_names, visible
from autograph_cli.graph.paths import Position, leading_to
from autograph_cli.graph.records import UNGRADED
from autograph_cli.graph.source import Switch
from autograph_cli.record.names.bindings import Binding, Found, Lines, Script


def read_scripts(graph: Graph, script: Path) -> dict[str, Script]:
    """The files that the graph's lines come from, by the names that they have there, and the script itself.

    They are looked for beside the script, or where its package is. A file whose lines are not those that were recorded
    is left out.
    """
    own = name_in(graph, script)
    folder = script.parents[len(Path(own).parts) - 1]
    lines: dict[str, dict[int, str]] = {own: {}}
    for node in graph.nodes:
        if node.source is not None:
            lines.setdefault(node.source.file, {})[node.source.line] = node.source.text
    found: dict[str, Script] = {}
    for name, recorded in lines.items():
        if ".." in Path(name).parts or Path(name).is_absolute():
            continue  # a trace may come from anywhere, and names files beside its script only
        try:
            read = Script((folder / name).read_text("utf-8-sig"))
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
        if all(read.line(number) == text for number, text in recorded.items()):
            found[name] = read
    return found


def name_in(graph: Graph, script: Path) -> str:
    """The name of the script in a graph: `package/train.py` where it was run as a module."""
    parts = script.parts
    files = {node.source.file for node in graph if node.source is not None}
    longer = [file for file in files if 1 < len(Path(file).parts) < len(parts)]
    return next((file for file in longer if parts[-len(Path(file).parts) :] == Path(file).parts), script.name)


def switched_off(node: Node, scripts: Mapping[str, Script]) -> Switch | None:
    """The `with` or the decorator that switches recording off around an operation, or around all calls of what it runs
    in."""
    if node.source is None:
        return None
    around = _switches_at(node.source.file, node.source.line, scripts)
    if around:
        return around[-1]
    for name in (node.source.function.rpartition(".")[2], *reversed(node.module.split("."))):
        calls = [(file, call.lineno) for file, script in scripts.items() for call in script.calls(name)]
        found = {tuple(_switches_at(*call, scripts)[-1:]) for call in calls}
        if any(found):
            return next(iter(found))[0] if len(found) == 1 else None
    return None


def _switches_at(file: str, line: int, scripts: Mapping[str, Script]) -> list[Switch]:
    """The statements that switch recording off around a line, outer ones first."""
    script = scripts.get(file)
    found = []
    for part, mode in [] if script is None else script.quiet:
        if script is not None and part.lineno <= line <= (part.end_lineno or 0):
            first = min(one.lineno for one in (part, *getattr(part, "decorator_list", ())))
            found.append((mode.partition("(")[0], Source(file, first, script.line(first))))
    return found


def switches(graphs: Iterable[Graph], script: Path) -> dict[Source, Switch]:
    """Return, for the lines on which gradients end, the statements that switch recording off around them."""
    found: dict[Source, Switch] = {}
    for graph in graphs:
        ends = [node for node in graph if node.cut and node.source is not None]
        scripts = read_scripts(graph, script) if ends else {}
        for node in ends:
            switch = switched_off(node, scripts)
            if node.source is not None and switch is not None:
                found[node.source] = switch
    return found


def first_binding(scripts: dict[str, Script], name: str) -> tuple[str, str, Binding] | None:
    """Return where a name that the graph does not know, or the object that holds it, is assigned to: the file, which of
    the two."""
    for part in (name, *reversed(_holders(name))):
        for file, script in scripts.items():
            binding = script.first(part)
            if binding is not None:
                return file, part, binding
    return None


def causes(
    graph: Graph, starts: Sequence[Position], ends: Sequence[Position], leaf: str, scripts: dict[str, Script]
) -> list[str]:
    """Sentences on the lines that cut the way from `leaf` (the positions `ends`, if it was recorded) to `starts`."""
    if not ends and not _reads(scripts, leaf):
        return []
    names = output_names(graph)
    leading = leading_to(graph, ends)
    histories: dict[str, tuple[Lines, Lines]] = {}
    for file in scripts:
        held = _lines((graph.nodes[number] for number in sorted(leading)), file)
        leaves = {name: {0} for name in (leaf, *_holders(leaf))}
        histories[file] = {**held, **leaves}, _lines(graph.nodes, file)
    users = _users(graph, behind(graph, starts))
    inputs = [graph.nodes[n] for n in sorted(users.keys() - {node for node, _ in ends})]
    told: dict[tuple[str, int], tuple[bool, str]] = {}
    met: set[tuple[str, str, int]] = set()
    # What a named tensor explains is not what explains a nameless one on the same line.
    for node in sorted(inputs, key=lambda node: not node.outputs[0].names):
        for user in users[node.id]:
            for name in node.outputs[0].names or ("",):
                for file, one in _found(scripts, name, user, histories, met):
                    shown = names[node.id][0] if name else ""
                    said = _sentence(file, one, shown, user, leaf)
                    told.setdefault((file, one.binding.line), (bool(one.causes) and one.sure, said))
    known = [said for sure, said in told.values() if sure]
    return (known or [said for _, said in told.values()])[:LISTED]


def _lines(nodes: Iterable[Node], file: str) -> dict[str, set[int]]:
    """The variables of nodes with a history, and the lines of a file that made them."""
    lines: dict[str, set[int]] = {}
    for node in nodes:
        line = node.source.line if node.source is not None and node.source.file == file else 0
        for name in (name for output in node.outputs for name in output.names if node.kind not in UNGRADED):
            lines.setdefault(name, set()).add(line)
    return lines


def _holders(leaf: str) -> list[str]:
    """The objects that a path goes through: of `model.fc.weight` `model` and `model.fc`; `self` is not one object."""
    return [leaf[: mark.start()] for mark in re.finditer(r"[.\[]", leaf) if leaf[: mark.start()] != "self"]


def origins(graph: Graph, ends: Sequence[Position], scripts: dict[str, Script]) -> list[str]:
    """Sentences on the lines that made tensors without history."""
    said: dict[str, None] = {}
    users = _users(graph, range(len(graph)))
    for node in (graph.nodes[number] for number, _ in ends):
        for source in [user.source for user in users.get(node.id, ())][:LISTED]:
            if source is None or source.file not in scripts:
                continue
            for name in node.outputs[0].names[:1]:
                for one in scripts[source.file].before(name, source.line)[-1:]:
                    words = ", ".join(dict.fromkeys(cause.words for cause in one.causes))
                    said[f"{name} is made at {_line(source.file, one)}{words and ': '}{words}."] = None
    return list(said)


def unused(leaf: str, scripts: dict[str, Script]) -> list[str]:
    """Sentences on a variable of the script that no operation was recorded of."""
    found = first_binding(scripts, leaf)
    if found is None:
        return []
    file, part, binding = found
    words = ", ".join(dict.fromkeys(cause.words for cause in binding.causes))
    made = f"{_line(file, binding)}{words and ': '}{words}"
    what = "recorded operation of this step takes" if is_leaf(scripts, leaf) else "tensor of this step is called"
    none = f"No {what} {leaf}"
    said = [f"{none}; {part} is made at {made}."]
    uses = _reads(scripts, part)
    if not uses:
        return [*said, f"It is never used: no other statement of {file} names it."]
    return [*said, *[f"It is read at {_line(name, one)}{_shown_causes(one, part)}." for name, one in uses[:LISTED]]]


def is_leaf(scripts: dict[str, Script], name: str) -> bool:
    """Return whether a variable that the graph does not know is made a leaf; another may hold tensors, as the hidden
    state of an LSTM does."""
    _, part, binding = first_binding(scripts, name) or ("", "", None)
    return binding is not None and (part != name or "requires_grad" in binding.text or "Parameter" in binding.text)


def nameless(name: str, scripts: dict[str, Script], step: Step) -> list[str]:
    """Sentences on a variable of the script that no tensor of the step's graph is called by, so that no path starts."""
    said = [f"No path: no tensor in the graph of this step is called {name}."]
    found = first_binding(scripts, name)
    if found is None:
        return said
    file, part, binding = found
    words = ", ".join(dict.fromkeys(cause.words for cause in binding.causes))
    said.append(f"  {part} is made at {_line(file, binding)}{words and ': '}{words}.")
    if f"({file}:{binding.line})" in step.derived:
        return [*said, f"  There {step.derived}."]
    return [*said, "  It has no grad_fn, belongs to another step, or its variable was gone before the backward pass."]


def _reads(scripts: dict[str, Script], leaf: str) -> list[tuple[str, Binding]]:
    """The statements that read a variable or an object that holds it, by file."""
    names = (leaf, *_holders(leaf))
    found = {
        (file, one.line): one
        for file, script in scripts.items()
        for name in names
        for one in script.uses(name)
        if script.sees(one, name)
    }
    return [(file, one) for (file, _), one in sorted(found.items(), key=lambda item: item[0])]


def _users(graph: Graph, inside: Iterable[int]) -> dict[int, list[Node]]:
    """Return the operations of these that take each input."""
    users: dict[int, list[Node]] = {}
    for number in sorted(inside):
        for other in dict.fromkeys(edge.node for edge in graph.nodes[number].args):
            if graph.nodes[other].kind in UNGRADED:
                users.setdefault(other, []).append(graph.nodes[number])
    return users


def _found(
    scripts: dict[str, Script],
    name: str,
    user: Node,
    histories: dict[str, tuple[Lines, Lines]],
    met: set[tuple[str, str, int]],
) -> list[tuple[str, Found]]:
    """Return where the way to a tensor of this name is cut; asked once for each line, and noted in `met`."""
    source = user.source
    if source is None or source.file not in scripts or (source.file, name, source.line) in met:
        return []
    met.add((source.file, name, source.line))
    found = scripts[source.file].trace_back(name, source.line, *histories[source.file])
    # Of a tensor without a name, its line may hold much that has nothing to do with it: only a cause tells.
    return [(source.file, one) for one in found if one.causes or name]


def _sentence(file: str, found: Found, name: str, user: Node, leaf: str) -> str:
    way = f"{name}, which has no history, enters {where(user)}"
    if not name:
        way = f"it is on the way to the line of {where(user)}, which takes a nameless tensor without history"
    if not found.sure:
        words = ", ".join(found.causes)
        return (
            f"{_line(file, found.binding)} cuts {found.source}: {words}; whether {leaf} is in it, is not told; {way}."
        )
    if found.causes:
        return f"Cut at {_line(file, found.binding)}: {', '.join(found.causes)}, of {found.source}; {way}."
    return (
        f"{way}; it comes from {found.source} by {_line(file, found.binding)}; what cuts there, the trace does not "
        "tell."
    )


def _shown_causes(binding: Binding, name: str) -> str:
    words = dict.fromkeys(cause.words for cause in binding.causes if name in cause.operands)
    return f": {', '.join(words)}" if words else ""


def _line(file: str, binding: Binding) -> str:
    return f"{visible(file)}:{binding.line} `{visible(binding.text)}`"
