"""Faults of a graph, as marks on its nodes: where a gradient is cut, absent, incomplete, or no number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from autograph_cli.graph.ledger import Hook
from autograph_cli.graph.records import Edge, Graph, Node, Output, Saved, Values
from autograph_cli.graph.views import argument_edges, backward_edges, data_edges, users_of, walk
from autograph_cli.graph.withheld import withheld

_FLOATING = ("float", "bfloat", "complex")
CUT, UNREACHED, MISSING = "cut here", "gets no gradient", "second derivative misses"
PASSED, NONE = "left out of the gradient", "returned None"
NAN, NAN_GRADIENT, CHANGED = "NaN", "gradient NaN", "changed in place"
FREED, HOOK = "freed before", "a hook changes the gradient"
_PLAINLY = {UNREACHED: "a leaf gets no gradient", CUT: "a gradient is cut"}
_DERIVATIVE = "grad"
DETACHED = "detach"
_CUTTING = (DETACHED, _DERIVATIVE)
"""The operations that leave no node, whether or not gradients are switched on."""
_REFUSED = "Error"
"""The node that a backward leaves which is marked as once differentiable: to differentiate it is an error."""
_REGISTERED = re.compile(r"(?:^|[\s;:(])([\w.]+)\.register_hook\(")
MANY, FEW = 3, 2
"""Lines that one kind of mark is told with, and tensors."""


class Mark(Struct, frozen=True):
    """A fault at a node; a picture that does not show the node has the mark at the next of `nodes`."""

    kind: str
    words: str
    nodes: tuple[int, ...]
    line: int | None = None


def marks_of(graph: Graph, held: Collection[str] = (), hooks: Iterable[Hook] = (), older: int = 0) -> list[Mark]:
    """All marks of a graph, in the order of their nodes; where some of its parameters are `held` by optimizers, those
    of modules without any of these are not to have a gradient. The first `older` nodes are of earlier steps."""
    found = [*_cuts(graph, held), *_unreached(graph, held), *_missing(graph), *_nones(graph)]
    found += [*_nans(graph), *_nan_gradients(graph), *_changed(graph)]
    found += [*_freed(graph, older), *_hooked(graph, hooks)]
    return sorted(found, key=lambda mark: mark.nodes[0])


def marks_text(marks: Sequence[Mark]) -> str:
    """Return how many marks of each kind there are, and on which lines, in one line: `cut here (line 12)`."""
    kinds: dict[str, list[int]] = {}
    for mark in marks:
        kinds.setdefault(mark.kind, []).extend([] if mark.line is None else [mark.line])
    count = Counter(mark.kind for mark in marks)
    told = []
    for kind, lines in kinds.items():
        listed = sorted(set(lines))
        word = "lines" if len(listed) > 1 else "line"
        more = ", ..." if len(listed) > MANY else ""
        where = f" ({word} {', '.join(map(str, listed[:MANY]))}{more})" if listed else ""
        one = next(mark for mark in marks if mark.kind == kind) if count[kind] == 1 else None
        word = one.words if one is not None and kind == UNREACHED and one.words != kind else _PLAINLY.get(kind, kind)
        told.append(f"{word}{f' × {count[kind]}' if count[kind] > 1 else ''}{where}")
    return ", ".join(told)


def kept_without_history(graph: Graph, node: Node) -> list[Saved]:
    """The numbers that a custom Function keeps and that are neither inputs nor outputs of it: `forward` made them."""
    known = {graph[edge.node].outputs[edge.nr].storage for edge in node.args}
    known |= {output.storage for output in node.outputs}
    # What ran within forward left no node, and is known where a derivative takes it.
    made = {output.storage for other in graph if other.kind == "untracked" and other.cut for output in other.outputs}
    kept = [saved for saved in node.saved if _is_floating(saved) and saved.storage not in known]
    return [saved for saved in kept if not saved.given or saved.storage in made]


def _mark(kind: str, words: str, node: Node, *others: int) -> Mark:
    line = node.source.line if node.source else None
    return Mark(kind, words if line is None else f"{words}, line {line}", (node.id, *others), line)


def _has_gradient(node: Node) -> bool:
    return node.kind in ("operation", "leaf")


def _cuts(graph: Graph, held: Collection[str]) -> Iterator[Mark]:
    """Yield what was computed without a record from something that has one, and is used by what is recorded again:
    there the gradient ends, or where it was computed in place, goes on as if it had not been.

    Of several in a row it is the last, which the gradient comes to first. Where gradients are switched off and whatever
    they would go to has one all the same, as around a solver whose last turn is recorded, none is cut; nor where a
    `detach` keeps a second gradient from leaves that have one, as of a target or a sample, or from a whole model, as a
    generator, or where a copy of a model computes a target.
    """
    cuts = cutting(graph)
    led = _led(graph) if cuts else set()
    meant = _meant(graph, led, held) if cuts else set()
    told = led | _differentiated(graph) if cuts else set()
    ran = {number for entry in graph.passes for number in entry.ran} if cuts else set()
    trained = {number for entry in graph.passes if entry.call == "backward" for number in entry.ran} if cuts else set()
    for number, met in cuts.items():
        node = graph[number]
        used = sorted((trained if node.op == _DERIVATIVE else ran).intersection(met))
        if not used:
            continue
        kind = PASSED if all(_passes(graph[user], {number, *met}) for user in used) else CUT
        severed = [_before(graph, node.args[position]) for position in node.cut]
        if kind == PASSED and severed[0].kind == "leaf":
            continue  # a leaf's own history begins with what it holds
        if node.written and all(each.written and each.written[0] == node.written[0] for each in severed):
            continue  # a function of PyTorch's own, whose gradient is meant so
        behind = _leaves_behind(graph, severed)
        if meant.issuperset(behind) or (node.op == DETACHED and kind == CUT and told.issuperset(behind)):
            continue
        if kind == PASSED or node.op in _CUTTING or not ran.issuperset(each.id for each in severed):
            yield _mark(kind, f"{kind}: {node.op}", node, *used)


def cutting(graph: Graph) -> dict[int, list[int]]:
    """The operations that were computed without a record from something that has one, each with what it leads to, down
    to what is recorded again, or cuts once more."""
    untracked = [node for node in graph if node.cut and any(map(_is_real, node.outputs))]
    users = users_of(graph, argument_edges) if untracked else {}
    found = {}
    for node in untracked:
        if not any(_has_gradient(_before(graph, node.args[position])) for position in node.cut):
            continue
        met, stack = {node.id: None}, [node.id]
        while stack:
            for user in (graph[number] for number in users.get(stack.pop(), ())):
                if user.id not in met:
                    met[user.id] = None
                    stack += [user.id] if user.kind == "untracked" and not user.cut else []
        found[node.id] = [number for number in met if number != node.id]
    return found


def _is_real(output: Output) -> bool:
    return output.type.dtype.startswith(_FLOATING)


def _required(node: Node) -> list[Edge]:
    """Return what an operation was given that required a gradient then, or had one to pass on."""
    return [*backward_edges(node), *[node.args[position] for position in node.cut]]


def _before(graph: Graph, edge: Edge) -> Node:
    """Return what has the history of a tensor, however often that was changed in place outside of it."""
    node = graph[edge.node]
    while node.kind == "untracked" and node.args:
        node = graph[node.args[0].node]
    return node


def _passes(node: Node, unrecorded: Container[int]) -> bool:
    """Return whether the gradient goes on from all that a node takes of these, to what they changed in place."""
    return all(
        after is not None for given, after in zip(node.args, node.next, strict=False) if given.node in unrecorded
    )


def _unreached(graph: Graph, held: Collection[str]) -> Iterator[Mark]:
    """Leaves that the result of a `backward` was made from, that required a gradient then, and that no path of
    gradients leads to."""
    calls = [entry for entry in graph.passes if entry.call == "backward" and entry.roots]
    if not calls:
        return
    made_from = set(walk(graph, [edge.node for entry in calls for edge in entry.roots], data_edges))
    leaves = [node for node in graph if node.kind == "leaf"]
    required = {edge.node for node in graph for edge in _required(node)}
    led = _led(graph)
    wanted = (made_from & required) - led
    if not wanted:
        return
    wanted -= _meant(graph, led, held) | _differentiated(graph)
    unreached = [node for node in leaves if node.id in wanted]
    for path, its in _by_module(leaves, unreached).items():
        words = f"{len(its)} leaves of {path} get no gradient" if len(its) > 1 else UNREACHED
        yield Mark(UNREACHED, words, tuple(node.id for node in its))


def _led(graph: Graph) -> set[int]:
    """All that gradients of the passes went to."""
    ends = [edge.node for entry in graph.passes for edge in entry.roots]
    return set(walk(graph, ends, backward_edges))


def _differentiated(graph: Graph) -> set[int]:
    """The leaves whose gradient the script took itself, by `autograd.grad`."""
    return {edge.node for node in graph if node.kind == "untracked" and node.op == _DERIVATIVE for edge in node.args}


def _meant(graph: Graph, led: set[int], held: Collection[str]) -> set[int]:
    """The leaves that are to have no gradient: of copies of a model, of whole models of which all that is taken was
    detached, or of which optimizers hold nothing, though they hold another."""
    leaves = _leaves_of(graph)
    kept = {leaf for its in leaves.values() for leaf in its if not _names(graph[leaf]).isdisjoint(held)}
    found = _copies(graph, led, leaves)
    if kept & led:
        found |= set[int]().union(*(its for path, its in leaves.items() if "." not in path and not its & (kept | led)))
    if found:
        found |= _asked_by(graph, found, [its for its in leaves.values() if led.isdisjoint(its)])
    tops = [its for path, its in leaves.items() if "." not in path]
    for node in graph:
        if node.cut and node.op == DETACHED:
            behind = set(_leaves_behind(graph, [_before(graph, node.args[position]) for position in node.cut]))
            whole = [its for its in tops if its & behind]
            if behind and behind == set().union(*whole) and led.isdisjoint(behind):
                found |= behind
    return found


def _names(node: Node) -> set[str]:
    return {name for output in node.outputs for name in output.names}


def _leaves_behind(graph: Graph, nodes: Iterable[Node]) -> list[int]:
    return [
        number for number in walk(graph, [node.id for node in nodes], backward_edges) if graph[number].kind == "leaf"
    ]


def _leaves_of(graph: Graph) -> dict[str, set[int]]:
    """The leaves of each module, those of the modules in it included, by its path."""
    leaves: dict[str, set[int]] = {}
    for node in graph:
        for path in _around(node) if node.kind == "leaf" else ():
            leaves.setdefault(path, set()).add(node.id)
    return leaves


def _copies(graph: Graph, led: set[int], leaves: Mapping[str, set[int]]) -> set[int]:
    """The leaves of modules without any gradient that are of the class and built as another module is that has one, and
    that nothing of this other one hangs on: those of a teacher, or of the model that a target comes from.

    A layer of a module that is called is none: layers of one size are common there.
    """
    classes = {call.path: call.cls for call in graph.calls}

    def built(path: str) -> list[tuple[str, tuple[int, ...]]]:
        its = (graph[number] for number in sorted(leaves[path]))
        return [(leaf.module[len(path) :], leaf.outputs[0].type.shape) for leaf in its]

    def is_layer(path: str) -> bool:
        return path.rpartition(".")[0] in classes and all(graph[number].module == path for number in leaves[path])

    found: set[int] = set()
    bare = [path for path, its in leaves.items() if led.isdisjoint(its)]
    others = {path: built(path) for path, its in leaves.items() if bare and led >= its}
    for path in (path for path in bare if path.rpartition(".")[0] not in bare and not is_layer(path)):
        mine, cls = built(path), classes.get(path)
        for other in (other for other, its in others.items() if its == mine):
            if cls is not None and classes.get(other, cls) != cls:
                continue
            users = [node.id for node in graph if any(edge.node in leaves[other] for edge in node.args)]
            if leaves[path].isdisjoint(walk(graph, users, data_edges)):
                found |= leaves[path]
    return found


def _asked_by(graph: Graph, meant: set[int], models: Iterable[set[int]]) -> set[int]:
    """The leaves of modules whose results go only into a model that is to have no gradient, as the target's policy
    into the target's critic."""
    users = users_of(graph, argument_edges)

    def is_asked(its: set[int]) -> bool:
        seen, stack = set[int](), [*its]
        while stack:
            for user in (graph[number] for number in users.get(stack.pop(), ())):
                if user.kind != "untracked":
                    return False
                taken = {_before(graph, user.args[position]).id for position in user.cut}
                if user.id not in seen and not taken & meant:
                    seen.add(user.id)
                    stack.append(user.id)
        return bool(seen)

    return set[int]().union(*(its for its in models if not its & meant and is_asked(its)))


def _by_module(leaves: Iterable[Node], some: Iterable[Node]) -> dict[str, list[Node]]:
    """Some of the leaves, by the outermost module that has no others, or each by itself."""
    total, mine = (Counter(path for node in nodes for path in _around(node)) for nodes in (leaves, some))
    found: dict[str, list[Node]] = {}
    for node in some:
        whole = next((path for path in _around(node) if mine[path] == total[path]), f"%{node.id}")
        found.setdefault(whole, []).append(node)
    return found


def _around(node: Node) -> list[str]:
    """The paths of the modules that a leaf belongs to, the outermost first."""
    parts = node.module.split(".") if node.module else []
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def _missing(graph: Graph) -> Iterator[Mark]:
    """Custom Functions that were to be differentiated again and keep numbers that `forward` made: constants there."""
    refused = {node.parent for node in graph if node.name == _REFUSED}
    for number in sorted({number for entry in graph.passes if entry.create_graph for number in entry.ran}):
        node = graph[number]
        if not node.is_custom or number in refused:
            continue
        kept = [saved.name for saved in kept_without_history(graph, node)]
        if kept:
            yield _mark(MISSING, f"{MISSING} {', '.join(kept[:FEW])}{', …' if len(kept) > FEW else ''}", node)


def _nones(graph: Graph) -> Iterator[Mark]:
    """Custom Functions whose backward keeps a gradient back."""
    for node, nr in withheld(graph):
        words = f"its backward {NONE} for input {nr}"
        target = node.next[nr]
        yield Mark(NONE, words, (node.id,) if target is None else (node.id, target.node), None)


def _is_nan(values: Values | None) -> bool:
    return values is not None and (values.nans > 0 or any("nan" in line for line in values.whole))


def _value(graph: Graph, edge: Edge, *, gradient: bool = False) -> Values | None:
    measured = graph[edge.node].measured
    found = () if measured is None else measured.gradients if gradient else measured.values
    return found[edge.nr] if edge.nr < len(found) else None


def _is_measured(graph: Graph) -> bool:
    return any(node.measured is not None for node in graph)


def _nans(graph: Graph) -> Iterator[Mark]:
    """The first tensors with a NaN: nothing that they are made from has one."""
    if not _is_measured(graph):
        return
    for node in graph:
        made = any(_is_nan(_value(graph, Edge(node.id, nr))) for nr in range(len(node.outputs)))
        if made and not any(_is_nan(_value(graph, edge)) for edge in node.args):
            yield _mark(NAN, f"{NAN} is made here" if node.computes else f"{NAN} is given", node)


def _nan_gradients(graph: Graph) -> Iterator[Mark]:
    """The backwards that were given numbers, computed with numbers, and made a NaN."""
    if not _is_measured(graph):
        return
    for number in sorted({number for entry in graph.passes for number in entry.ran}):
        node = graph[number]
        own = [Edge(number, nr) for nr in range(len(node.outputs))]
        if any(_is_nan(_value(graph, edge, gradient=True)) or _is_nan(_value(graph, edge)) for edge in own):
            continue
        sent = [edge for edge in node.next if edge is not None and _is_nan(_value(graph, edge, gradient=True))]
        if _uses_numbers(node) and any(_is_alone(graph, edge, number) for edge in sent):
            yield _mark(NAN_GRADIENT, "its backward makes NaN", node)


def _uses_numbers(node: Node) -> bool:
    """Return whether a backward computes with numbers of the forward pass; what is linear makes no NaN of finite
    gradients."""
    return any(map(_is_floating, node.saved))


def _is_floating(saved: Saved) -> bool:
    return saved.type is not None and saved.type.dtype.startswith(_FLOATING)


def _is_alone(graph: Graph, edge: Edge, user: int) -> bool:
    """Return whether one node alone may have made the NaN in a gradient, of which several may be the sum."""
    return all(node.id == user or not _uses_numbers(node) for node in graph if edge in node.next)


def _changed(graph: Graph) -> Iterator[Mark]:
    """Recorded in-place changes of memory that an earlier node has saved for its backward."""
    ops = {node.op for node in graph}
    in_place = {op for op in ops if op.endswith("_") and not op.endswith("__")}
    if not in_place:
        return
    savers: dict[int, Node] = {}
    for node in graph:
        if node.kind == "operation" and node.op in in_place and node.args:
            given = node.args[0]
            storage = graph[given.node].outputs[given.nr].storage
            saver = None if storage is None else savers.get(storage)
            if saver is not None:
                yield _mark(CHANGED, f"{CHANGED} after {saver.op or saver.name} saved it", node, saver.id)
        for saved in node.saved:
            if saved.type is not None and saved.storage is not None:
                savers.setdefault(saved.storage, node)


def _freed(graph: Graph, older: int) -> Iterator[Mark]:
    """The node of an earlier step at which a backward call ended, as what it kept was freed."""
    for entry in graph.passes:
        node = graph[entry.ran[-1]] if entry.failed and entry.ran and not entry.inputs else None
        if node is None or node.id >= older or node.is_custom or node.saved or not any(node.next):
            continue
        if not {edge.node for edge in node.next if edge is not None}.intersection(entry.ran):
            line = "" if entry.source is None else f", line {entry.source.line}"
            yield Mark(FREED, f"{FREED} {entry.call}(){line}", (node.id,), entry.source.line if entry.source else None)


def _hooked(graph: Graph, hooks: Iterable[Hook]) -> Iterator[Mark]:
    """The tensors that have a hook which hands on another gradient, by the name that it was registered by."""
    for hook in hooks:
        name = _REGISTERED.search(hook.source.text if hook.source else "")
        named = [node for node in graph for output in node.outputs if name and name[1] in output.names]
        factors = set(hook.factors)
        if hook.source is None or len(named) != 1 or (hook.given == hook.returned and factors <= {1.0}):
            continue
        by = f"× {factors.pop():g}" if len(factors) == 1 and None not in factors else "changes it"
        yield Mark(HOOK, f"hook {by}, line {hook.source.line}", (named[0].id,), hook.source.line)
