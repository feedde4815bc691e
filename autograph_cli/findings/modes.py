"""Modules in the mode that was not meant, and one module where several were meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from autograph_cli.findings.book import at, book_of
from autograph_cli.findings.calls import called, made_at, parts_of, script_parts
from autograph_cli.findings.linear import layer_of
from autograph_cli.findings.numbers import value_of
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import PRODUCTS, behind_moves, shape_of, takers
from autograph_cli.graph import Edge, Graph, Node, Source
from autograph_cli.graph.cuts import where
from autograph_cli.record.names.bindings import Binding, Script

_MODES = ("no_grad()", "inference_mode()")
_LISTS = ("Sequential", "ModuleList")


def _in_training(graph: Graph) -> dict[str, Node]:
    """The modules that do something else in training, by path, where they do it: with a node of theirs."""
    classes = {call.path: call.cls for call in graph.calls}
    own = (node for node in graph if node.kind == "operation" and not node.order)
    return {node.module: node for node in own if _trains(graph, node, classes.get(node.module, ""))}


def _trains(graph: Graph, node: Node, cls: str) -> bool:
    """Return whether this is dropout, which evaluation leaves out, or batch norm that keeps statistics of the batch."""
    counts = "BatchNorm" in cls and any(0 not in one.type.shape for one in node.outputs[1:])
    names = [name for edge in node.args for name in graph[edge.node].outputs[edge.nr].names if counts]
    return "Dropout" in cls or any(name.endswith("running_mean") for name in names)


def _tested_in_training(seen: Seen) -> Iterator[Found]:
    """A call under `no_grad` of a module that drops out, in a script that never calls `eval`."""
    training = _in_training(seen.graph)
    if not seen.is_last or not training or _calls_method(seen.scripts, "eval"):
        return
    outer = {call.path for call in seen.graph.calls if call.parent is None}
    judged = {path for step in seen.trace.steps for path in _judged(Seen(seen.trace, step), outer)}
    targets = {node.module.partition(".")[0] for node in seen.graph if node.kind == "untracked" and node.args}
    for path in sorted(outer - targets - judged):
        inside = [name for name in training if name == path or name.startswith(f"{path}.")]
        source = (_called_without_grad(seen.scripts, path) or _heard_without_grad(seen, path)) if inside else None
        if source is not None:
            classes = {call.path: call.cls for call in seen.graph.calls}
            shown = ", ".join(f"{name} ({classes[name]})" for name in inside[:3])
            fact = f"{shown} {'are' if len(inside) > 1 else 'is'} in training mode, and nothing calls eval()"
            yield Found(f"{path} is tested in training mode", source, (fact,), tuple(training[n].id for n in inside))


def _teaches_in_training(seen: Seen) -> Iterator[Found]:
    """Yield networks that nothing trains, that go into a loss, and that are in training mode; none that is like one
    which is trained, whose results are judged, or that is called several times, to average over what it draws."""
    book = book_of(seen)
    if book is None or seen.trace.total_steps < 2:
        return
    classes = {call.path: call.cls for call in seen.graph.calls}
    trained = [node for node in seen.graph if node.kind == "leaf" and node.id in seen.reached]
    # What was trained before, and is no more, is a teacher now.
    begun = [each.at for each in book.backward if seen.graph.passes and each.source == seen.graph.passes[-1].source]
    still = [each for each in book.of("backward", "step") if each.at >= min(begun, default=0)]
    shapes, held = {node.outputs[0].type.shape for node in trained}, set(book.ledger.names(book.reached | book.in_some))
    held &= set(book.ledger.names(frozenset().union(*map(book.given, still)))) if begun else held
    outer = {call.path: call.turns for call in seen.graph.calls if call.parent is None}
    for path in [path for path in outer if outer[path] == 1 and path not in _judged(seen, set(outer))]:
        own = [node for node in seen.graph if _outermost(node, {path}) and not node.order]
        weights = [node for node in own if node.kind in ("input", "leaf") and node.outputs[0].type.shape]
        random = [
            node for node in own if node.kind == "untracked" and _trains(seen.graph, node, classes.get(node.module, ""))
        ]
        names = {seen.name(Edge(node.id)) for node in weights}
        copied = 2 * sum(node.outputs[0].type.shape in shapes for node in weights) > len(weights)
        if not random or not weights or copied or names & held or any(node.kind == "operation" for node in own):
            continue
        users = [user for user, _ in takers(seen, own[-1]) if user.id in seen.reached]
        # Batch norm in a frozen part of what is trained is AG606's.
        part = path.partition(".")[0] in {node.module.partition(".")[0] for node in trained}
        if users and not (part and all("BatchNorm" in classes[node.module] for node in random)):
            source = next((node.source for node in own if node.source is not None), None)
            shown = ", ".join(f"{name} ({classes[name]})" for name in dict.fromkeys(node.module for node in random))
            said = f"{path}, which is not trained and whose result goes into the loss, is in training mode"
            facts = (f"{shown} does in training mode what it does not in evaluation",)
            yield Found(said, source, facts, (random[0].id, users[0].id), _STILL, _NOISY)
            return


_STILL = "Call eval() of it, once, where it is made, and again after each train() of a model that it is a part of."
_NOISY = "What it makes is not what it has learned: dropout throws a part away, and batch norm goes by the batch alone."


def _in_training_mode(seen: Seen) -> Iterator[Found]:
    found = list(_tested_in_training(seen))
    yield from found or (_teaches_in_training(seen) if seen.is_last else ())


def _judged(seen: Seen, outer: set[str]) -> set[str]:
    """The models whose results another model is given that is called on other data too, as a discriminator is: what
    they draw is not compared with anything."""
    found = set()
    often = {call.path for call in seen.graph.calls if call.parent is None and call.turns > 1}
    for node in seen.graph:
        judge = _outermost(node, often)
        for edge in node.args if judge else ():
            maker = _outermost(seen.graph[behind_moves(seen, edge).node], outer)
            found |= {maker} - {judge, ""}
    return found


def _outermost(node: Node, among: set[str]) -> str:
    """The model of these that a node is in; empty where it is in none."""
    return next((path for path in among if node.module == path or node.module.startswith(f"{path}.")), "")


def _calls_method(scripts: Mapping[str, Script], name: str) -> bool:
    parts = [part for script in scripts.values() for part in ast.walk(script.tree)]
    # A statement of `model.eval` alone calls nothing.
    alone = {id(part.value) for part in parts if isinstance(part, ast.Expr)}
    return any(isinstance(part, ast.Attribute) and part.attr == name and id(part) not in alone for part in parts)


def _called_without_grad(scripts: Mapping[str, Script], path: str) -> Source | None:
    """The statement under `no_grad` that calls this variable."""
    for file, script in scripts.items():
        drawn = _drawn_again(script.tree)
        called = {
            part.lineno
            for part in ast.walk(script.tree)
            if isinstance(part, ast.Call) and ast.unparse(part.func) == path and part not in drawn
        }
        for one in script.bindings:
            if _is_quiet(one) and any(one.line <= line <= one.last_line for line in called):
                return Source(file, one.line, one.text)
    return None


def _heard_without_grad(seen: Seen, path: str) -> Source | None:
    """The line that calls a model under `no_grad`, by another name, and is in no loop that does so over and over."""
    book = book_of(seen)
    calls = [each for each in book.of("call") if each.words == path] if book else []
    source = next((each.source for each in calls if not each.made and any(one.made for one in calls)), None)
    script = seen.scripts.get(source.file) if source else None
    if source is None or script is None:
        return None
    drawn = {call.lineno for call in _drawn_again(script.tree)}  # type: ignore[attr-defined]
    here = (one for one in script.bindings if one.line <= source.line <= one.last_line)
    return source if source.line not in drawn and any(map(_is_quiet, here)) else None


def _is_quiet(one: Binding) -> bool:
    """Return whether a statement is under `no_grad`."""
    return any(cause.words.removeprefix("torch.") in _MODES for cause in one.causes)


def _drawn_again(tree: ast.AST) -> set[ast.AST]:
    """Return what is computed in a loop over and over of the same: a sample of what dropout makes of it."""
    found: set[ast.AST] = set()
    for part in ast.walk(tree):
        targets = (
            [part.target] if isinstance(part, ast.For) else [each.target for each in getattr(part, "generators", ())]
        )
        body = part.body if isinstance(part, ast.For) else [part] if targets else []
        names = {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
        trains = any(isinstance(inner, ast.Attribute) and inner.attr == "backward" for inner in ast.walk(part))
        for call in (inner for each in body for inner in ast.walk(each) if isinstance(inner, ast.Call)):
            read = {name.id for name in ast.walk(call) if isinstance(name, ast.Name)}
            given = all(isinstance(value, ast.Name) for value in call.args)
            if targets and not trains and given and not names & read and not _assigned(body) & read:
                found.add(call)
    return found


def _assigned(body: Sequence[ast.AST]) -> set[str]:
    """The variables that statements assign to."""
    return {
        name.id
        for each in body
        for name in ast.walk(each)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }


def stopped_one_by_one(script: Script) -> bool:
    """Return whether a script calls `eval` on modules that a loop chooses among others, as on batch norms alone."""
    chosen = {
        name.id
        for part in ast.walk(script.tree)
        if isinstance(part, ast.For) and isinstance(part.iter, ast.Call) and isinstance(part.iter.func, ast.Attribute)
        if part.iter.func.attr in ("modules", "named_modules", "children", "named_children")
        for name in ast.walk(part.target)
        if isinstance(name, ast.Name)
    }
    return any(
        isinstance(part, ast.Attribute) and part.attr == "eval" and ast.unparse(part.value) in chosen
        for part in ast.walk(script.tree)
    )


def _trained_in_eval(seen: Seen) -> Iterator[Found]:
    """Yield what is in training mode in the first kept step, and no more in the last."""
    first = seen.of_kind[0].graph
    stopped = _stopped(seen)
    if not seen.is_last or first is seen.graph or (_calls_method(seen.scripts, "train") and stopped is None):
        return
    if any(map(stopped_one_by_one, seen.scripts.values())):
        return
    before, now = _in_training(first), _in_training(seen.graph)
    classes = {call.path: call.cls for call in first.calls}
    lost = [path for path in before if path not in now and _differentiated(seen, path)]
    if lost:
        node = before[lost[0]]
        facts = [f"in step {seen.of_kind[0].nth} it was in training mode, and in step {seen.step.nth} not"]
        shown = ", ".join(f"{path} ({classes[path]})" for path in lost[:3])
        by, begun = stopped or (_evaluated(seen), None)
        said = f"{shown} went on in evaluation mode{' after eval()' if by else ''}{at(by)}"
        said += f": train(){at(begun)} comes before the first step alone" if begun else ""
        yield Found(said, node.source, tuple(facts))


def _stopped(seen: Seen) -> tuple[Source | None, Source | None] | None:
    """The lines of the first eval() after the first step, before a test, and of train(), where that was called before
    the first step alone."""
    book = book_of(seen)
    if book is None or not book.backward:
        return None
    start, modes = book.backward[0].at, book.of("mode")
    tests = [each.at for each in book.of("call") if not each.made]
    begun = [each for each in modes if each.words == "train"]
    stopped = next((each for each in modes if each.words == "eval" and each.at > start), None)
    if stopped is None or any(each.at >= start for each in begun) or not any(stopped.at < test for test in tests):
        return None
    if book.ledger.more and not any(each.at > stopped.at for each in book.backward):
        return None  # what comes next is not known
    return stopped.source, begun[-1].source if begun else None


def _evaluated(seen: Seen) -> Source | None:
    """The line of the first eval() that was heard."""
    book = book_of(seen)
    modes = book.of("mode") if book else ()
    return next((each.source for each in modes if each.words == "eval"), None)


def _differentiated(seen: Seen, path: str) -> bool:
    """Return whether a backward pass runs the module, or what it is in: dropout in evaluation mode computes nothing."""
    around = path.rpartition(".")[0] or path
    return any(node.id in seen.reached and node.module.startswith(around) for node in seen.graph)


def _listed_twice(seen: Seen) -> Iterator[Found]:
    """A list of modules that is one module several times, and was called so."""
    shared = [call for call in seen.graph.calls if call.turns > 1 and call.turn == 1 and call.parameters]
    for source, part in script_parts(seen, ast.Call) if shared and seen.step is seen.trace.steps[0] else ():
        if words := _repeats(part):
            facts = tuple(f"{call.path} ({call.cls}) is called {call.turns} times" for call in shared[:3])
            yield Found(f"{words} is one module several times", source, facts)


def _repeats(part: ast.Call) -> str:
    """A container of modules that is given `[Linear(...)] * 3`, or `block for _ in range(3)`; empty for all else."""
    if called(part) not in _LISTS:
        return ""
    for argument in part.args:
        given = argument.value if isinstance(argument, ast.Starred) else argument
        if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
            listed = next((side for side in (given.left, given.right) if isinstance(side, (ast.List, ast.Tuple))), None)
            if listed is not None:
                return ast.unparse(given)
        if isinstance(given, (ast.ListComp, ast.GeneratorExp)) and isinstance(given.elt, ast.Name):
            bound = {
                name.id for each in given.generators for name in ast.walk(each.target) if isinstance(name, ast.Name)
            }
            if given.elt.id not in bound:
                return ast.unparse(given)
    return ""


def itself(seen: Seen) -> Iterator[Found]:
    """A model that is updated from another, and is that one by another name."""
    for file, script in seen.scripts.items() if seen.is_last and seen.trace.total_steps > 1 else ():
        parts = list(ast.walk(script.tree))
        assigned = [part for part in parts if isinstance(part, ast.Assign) and len(part.targets) == 1]
        for part in parts:
            for updated, other in _updated(part):
                lines = [one for one in assigned if _attribute(one.targets[0]) == updated]
                if updated == other or len(lines) != 1 or _attribute(lines[0].value) != other:
                    continue
                line, update = lines[0].lineno, part.lineno  # type: ignore[attr-defined]
                facts = (f"{file}:{update} updates it from {other}: {script.line(update)}",)
                names = [seen.name(Edge(node.id)) for node in seen.graph if node.kind == "leaf"]
                covers = tuple(name for name in names if other in name.split("."))
                said = f"{updated} is {other} itself, and no copy of it"
                yield Found(said, Source(file, line, script.line(line)), facts, (), _COPY, _SAME, covers)
                return


def _in_one_memory(seen: Seen) -> Iterator[Found]:
    """Yield models that were given the memory of those that they are then updated from."""
    pairs = list(follows(seen)) if seen.is_last and seen.trace.total_steps > 1 else []
    used = {part for node in seen.graph for name in node.outputs[0].names for part in name.split(".")[:-1]}
    book = book_of(seen)
    moved = (
        {part for number in book.moving for name in book.ledger.names(book.held[number]) for part in name.split(".")}
        if book
        else set[str]()
    )
    for _, updated, other, line in pairs:
        if line is not None and updated in used - moved and other in moved:
            said = f"the parameters of {updated} are those of {other}, in one memory: .data = .data copies nothing"
            again = [source for source, *names, alias in pairs if names == [updated, other] and alias is None]
            facts = tuple(f"{line_of(each)} updates {updated} from {other}, which it is equal to" for each in again[:1])
            yield Found(said, line, facts, (), _COPY_NUMBERS, _SAME)
            return


def follows(seen: Seen) -> Iterator[tuple[Source, str, str, Source | None]]:
    """The loops over two models that change the parameters of one, in place, by those of the other: their names, and
    the line that gives the one the memory of the other, if one does."""
    for source, loop in script_parts(seen, ast.For):
        names = [part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name)]
        models = [ast.unparse(call.func.value).rpartition(".")[2] for call in parts_of(loop.iter, ast.Call)
                  if isinstance(call.func, ast.Attribute) and call.func.attr == "parameters"]  # fmt: skip
        if len(names) == 2 and len(models) == 2:
            changed = {name for each in loop.body for name in names if _changes(each, name)}
            for name in changed if len(changed) == 1 else ():
                first = names.index(name)
                shared = f"{names[first]}.data = {names[1 - first]}.data"
                alike = (line for line, part in script_parts(seen, ast.Assign) if ast.unparse(part) == shared)
                line = next((line for line in alike if loop.lineno <= line.line <= (loop.end_lineno or 0)), None)
                yield source, models[first], models[1 - first], line


def _changes(part: ast.stmt, name: str) -> bool:
    """Return whether a statement changes a tensor in place by a method, or sets its data."""
    own = re.compile(rf"{re.escape(name)}(\.data)?")
    calls = [call.func for call in parts_of(part, ast.Call) if isinstance(call.func, ast.Attribute)]
    by_method = any(f.attr.endswith("_") and own.fullmatch(ast.unparse(f.value).split(".mul_")[0]) for f in calls)
    targets = part.targets if isinstance(part, ast.Assign) else []
    return by_method or any(ast.unparse(target) == f"{name}.data" for target in targets)


_COPY_NUMBERS = "Copy the numbers: p.data.copy_(q.data)."


def _one_for_two(seen: Seen) -> Iterator[Found]:
    """A layer that has two names and is given one tensor under both: what it makes is the same twice."""
    given: dict[tuple[Edge, Edge], list[Node]] = {}
    for layer in filter(None, (layer_of(seen, node) for node in seen.graph if seen.is_last)):
        given.setdefault((layer.data, layer.leaf), []).append(layer.node)
    twice = {leaf: nodes for (_, leaf), nodes in given.items() if len(nodes) > 1}
    for line, part in script_parts(seen, ast.Assign) if twice else ():
        own, other = _attribute(part.targets[0]), _attribute(part.value)
        on_self = isinstance(part.targets[0], ast.Attribute) and isinstance(part.value, ast.Attribute) and own != other
        for leaf, nodes in twice.items() if on_self else ():
            if {own, other} & set(seen.name(leaf).split(".")[:-1]):
                data = next(edge for edge, each in given if each == leaf)
                facts = tuple(dict.fromkeys(f"{where(node)} computes with one weight" for node in nodes))
                said = f"{own} is {other} itself, and both are given {seen.shown(data)}"
                yield Found(said, line, facts, tuple(node.id for node in nodes), _COPY_OF_LAYER, _EQUAL)


_COPY_OF_LAYER = "Make a layer for each."
_EQUAL = "One layer makes the same of the same: the two results are equal, and are learned as one."


def _updated(part: ast.AST) -> list[tuple[str, str]]:
    """The names of the models of `zip(a.parameters(), b.parameters())`, either of which may be updated, or of
    `a.load_state_dict(b.state_dict())`."""
    if not isinstance(part, ast.Call):
        return []
    sides: list[ast.expr] = []
    if ast.unparse(part.func) == "zip" and len(part.args) == 2:
        sides = part.args
    elif isinstance(part.func, ast.Attribute) and part.func.attr == "load_state_dict":
        sides = [part, *part.args[:1]]
    models = [
        _attribute(one.func.value)
        for one in sides
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _LISTING
    ]
    if len(models) != 2 or "" in models:
        return []
    return [(models[0], models[1]), *([(models[1], models[0])] if sides[0] is not part else [])]


def _attribute(part: ast.expr) -> str:
    """The last name of a variable or an attribute; empty where it is none."""
    return part.id if isinstance(part, ast.Name) else part.attr if isinstance(part, ast.Attribute) else ""


_LISTING = ("parameters", "state_dict", "load_state_dict", "buffers")
_COPY = "Copy it: copy.deepcopy(model)."
_SAME = "Both names are of one model: what is to follow slowly is always equal to it."


def _tied_no_more(seen: Seen) -> Iterator[Found]:
    """Weights of a last layer that begin with the same numbers as an embedding, and are then trained by themselves."""
    first = Seen(seen.trace, seen.of_kind[0], seen.scripts)
    if not seen.is_last or first.step is seen.step or first.step.number:
        return
    looked, used = _tables(first), _tables(seen)
    for name, (edge, embeds) in looked.items():
        values = value_of(first, edge)
        for other, (second, embeds_too) in looked.items() if embeds else ():
            same = second != edge and value_of(first, second) == values and values is not None and not values.alike
            same = same and shape_of(first, second) == shape_of(first, edge) and not embeds_too
            if same and name in used and other in used:
                now = [value_of(seen, used[each][0]) for each in (name, other)]
                if now[0] != now[1]:
                    said = f"{other} begins as a copy of {name}, and is trained apart from it"
                    yield Found(
                        said, made_at(seen, other), (f"they are equal in step 1, and not in step {seen.step.nth}",)
                    )


def _tables(seen: Seen) -> dict[str, tuple[Edge, bool]]:
    """The leaves of two dimensions that a product or an embedding takes, by name, and whether it is an embedding."""
    found: dict[str, tuple[Edge, bool]] = {}
    for node in seen.graph:
        for edge in node.args if node.op in PRODUCTS or node.op == "embedding" else ():
            made = behind_moves(seen, edge)
            if seen.graph[made.node].kind == "leaf" and len(shape_of(seen, made)) > 1:
                found.setdefault(seen.name(made), (made, node.op == "embedding"))
    return found


def _one_for_several(seen: Seen) -> Iterator[Found]:
    yield from _listed_twice(seen)
    yield from itself(seen)
    yield from _in_one_memory(seen)
    yield from _one_for_two(seen)


RULES = (
    Rule("AG601", "a model is tested in training mode",
        "Dropout goes on throwing numbers away, and batch norm goes on counting, so the test is of another model.",
        "Call eval() before the test and train() after it.",
        _in_training_mode),
    Rule("AG602", "a model is trained in evaluation mode",
        "From the second turn on dropout does nothing, and batch norm keeps the statistics of the first.",
        "Call train() at the beginning of each epoch, after the test that called eval().",
        _trained_in_eval),
    Rule("AG603", "one module stands where several were meant",
        "They share their weights: each call adds to the same gradient, and there are fewer parameters than layers.",
        "Make new ones, [Layer() for _ in range(n)], or copy.deepcopy it; to share on purpose, call one layer in a "
        "loop.",
        _one_for_several),
    Rule("AG608", "tied weights that are two",
        "A copy is tied to nothing: each gets its own gradient, and they part with the first step.",
        "Assign the parameter itself: head.weight = embedding.weight.",
        _tied_no_more, ("values",)),
)  # fmt: skip
