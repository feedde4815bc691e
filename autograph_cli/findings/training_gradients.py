"""Rules over the ledger of training: gradients between backward and step, and graphs that live on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from autograph_cli.findings.book import OFTEN, Book, Turn, at, book_of
from autograph_cli.findings.calls import called, script_parts
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import is_given, plain_op, shape_of, span_of, takers
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import LISTED, where
from autograph_cli.graph.ledger import Happening, Hook, Keeper
from autograph_cli.graph.views import backward_edges
from autograph_cli.record.names.bindings import Binding, Cause, Script

_TERMS = ("add", "sub", "rsub", "stack", "cat")
"""Operations that put the terms of a loss together: a term without history adds nothing to the gradient."""
_MULTIPLES = ("mul", "div", "neg", "sum", "mean")
_MEANT = re.compile(r"\bdetach\b|\bno_grad\b|\.data\b|\.item\(")
_TAKES_IN = ("append", "appendleft", "add", "insert", "extend", "update", "setdefault")


# -- clips


def _clips(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    by_line: dict[Source | None, list[Happening]] = {}
    for each in book.of("clip") if book else ():
        by_line.setdefault(each.source, []).append(each)
    for source, calls in by_line.items():
        assert book is not None
        if len(calls) >= OFTEN:
            found = _clip(book, calls, source)
            if found is not None:
                yield found


def _clip(book: Book, calls: list[Happening], source: Source | None) -> Found | None:
    word, times = calls[0].words, f"{len(calls)} calls"
    if len(calls) > OFTEN and not any(each.given for each in calls[1:]):
        once = " from its second call on" if calls[0].given else ""
        return Found(
            f"{word}{at(source)} is given no parameters{once}: it clips nothing",
            source, (f"{len(calls) - bool(once)} calls of it found none",), covers=_stepped(book),
            remedy="Give it model.parameters() again each time: a generator is used up when it was read once.",
        )  # fmt: skip
    given = frozenset().union(*map(book.given, calls))
    steps = [each for each in book.of("step") if book.given(each) & given]
    if not any(each.ready for each in calls):
        later = [each for each in book.backward if book.given(each) & given]
        fact = f"in {times} of it no gradient was other than zero"
        if all(_is_cleared(book, each) for each in calls):
            return None
        if later:
            return Found(
                f"{word}{at(source)} comes before backward{at(later[-1].source)}: there is nothing to clip",
                source, (fact, f"backward{at(later[-1].source)} gives the gradients after it"), covers=_stepped(book),
            )  # fmt: skip
        if any(each.ready for each in book.of("step")):
            return Found(
                f"{word}{at(source)} is given parameters that have no gradients", source,
                (fact, f"the optimizer changes {book.shown(frozenset().union(*map(book.ready, book.of('step'))))}"),
                remedy="Clip the parameters that the optimizer holds.",
            )  # fmt: skip
        return None
    if steps and all(_is_too_late(book, each, steps) for each in calls):
        return Found(
            f"{word}{at(source)} comes after step{at(steps[0].source)}: what it clips is not used any more",
            source, (f"between {times} of it and the next step the gradients are made again",), covers=_stepped(book),
        )  # fmt: skip
    scaled = [each for each in calls if _is_scaled(book, each)]
    if len(scaled) >= OFTEN and len(scaled) == len(calls):
        return Found(
            f"{word}{at(source)} clips gradients that are still multiplied by the scale of GradScaler",
            source, (f"unscale_ comes after it, in {times}",),
            remedy="Call scaler.unscale_(optimizer) before it.",
            reason="The limit is meant for gradients as they are, and holds for thousands of times as large ones.",
        )  # fmt: skip
    return None


def _is_cleared(book: Book, clip: Happening) -> bool:
    """Return whether zero_grad has thrown away what it was to clip, which AG806 tells."""
    kinds = ("backward", "zero_grad", "step")
    before = [each.kind for each in book.between(0, clip.at, kinds) if book.given(each) & book.given(clip)]
    return before[-2:] == ["backward", "zero_grad"]


def _steps_scaled(seen: Seen) -> Iterator[Found]:
    """Steps by gradients of a loss that GradScaler has multiplied, which nothing divides again."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        steps = [each for each in book.steps_of(number) if each.ready]
        calls = [each for each in book.backward if book.given(each) & book.held[number]]
        undone = any(book.given(each) & book.held[number] for each in book.of("unscale"))
        scale = None if undone or len(steps) < OFTEN else _scale(seen)
        if scale is not None:
            yield Found(
                f"{book.optimizer(number)}.step(){at(steps[0].source)} steps by gradients that are still multiplied by "
                "the scale of GradScaler",
                steps[0].source,
                (f"backward{at(calls[-1].source)} starts from the loss times {scale:g}", "nothing calls unscale_"),
                covers=_stepped(book),
            )


def _scale(seen: Seen) -> float | None:
    """Return the factor of a line that calls `scale` before backward; None if there is none."""
    for edge in seen.outcome():
        node = seen.graph[edge.node]
        factors = [span_of(seen, other) for other in node.args if is_given(seen, other) and not shape_of(seen, other)]
        called_so = any(".scale(" in line for script in seen.scripts.values() for line in script.lines)
        if node.op == "mul" and called_so and factors and factors[0] is not None and factors[0][0] > 1:
            return factors[0][0]
    return None


def _stepped(book: Book) -> tuple[str, ...]:
    """The parameters that steps change, whose updates are too large where nothing clips them."""
    return tuple(book.ledger.names(frozenset().union(*map(book.ready, book.of("step")))))


def _is_too_late(book: Book, clip: Happening, steps: list[Happening]) -> bool:
    """Return whether a step has used these gradients already, and none will before they are gone."""
    given = book.given(clip)
    about = [each for each in book.of("backward", "step", "zero_grad") if book.given(each) & given]
    before = [each for each in about if each.at < clip.at]
    after = [each for each in about if each.at > clip.at]
    if not before or before[-1].kind != "step":
        return False
    following = after[0] if after else None
    return following is None or following.kind == "zero_grad" or (following.kind == "backward" and not following.ready)


def _is_scaled(book: Book, clip: Happening) -> bool:
    about = (each for each in book.of("unscale", "step") if each.at > clip.at and _concerns(book, each, clip))
    return next((each.kind == "unscale" for each in about), False)


def _concerns(book: Book, each: Happening, clip: Happening) -> bool:
    return bool(book.given(each) & book.given(clip))


# -- who wrote what is in .grad


def _twice(seen: Seen) -> Iterator[Found]:
    """A loss whose gradient is in a step twice: by itself, and as a part of another."""
    book = book_of(seen)
    told = set()
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        pairs = [pair for turn in book.turns(number) if (pair := _counted_twice(book, turn))]
        if len(pairs) < OFTEN or (pairs[0][0].source, pairs[0][1].source) in told:
            continue
        part, whole = pairs[0]
        told.add((part.source, whole.source))
        yield Found(
            f"the loss of backward{at(part.source)} is counted twice: it is part of what backward{at(whole.source)} "
            "starts from",
            whole.source,
            (f"both add to .grad before {book.optimizer(number)}.step(), with no zero_grad between",),
        )  # fmt: skip


def _counted_twice(book: Book, turn: Turn) -> tuple[Happening, Happening] | None:
    for calls in turn.wrote.values():
        for later in calls[1:]:
            for earlier in calls:
                if earlier.at in later.whole:
                    return earlier, later
    return None


def _of_another(seen: Seen) -> Iterator[Found]:
    """Gradients that another network's pass wrote, which a step of that one has followed already."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        found = []
        for turn in book.turns(number):
            found += _left_over(book, number, turn)[:1]
        if len(found) < OFTEN:
            continue
        theirs, own, other = found[0]
        yield Found(
            f"{book.optimizer(number)}.step() also uses the gradients that backward{at(theirs.source)} wrote for "
            f"{book.optimizer(other)}",
            theirs.source,
            (
                f"{book.optimizer(other)}.step() has followed that call; then backward{at(own.source)} adds to the "
                f"gradients of {book.shown(book.held[number])}, with no zero_grad between",
            ),
        )  # fmt: skip


def _left_over(book: Book, number: int, turn: Turn) -> list[tuple[Happening, Happening, int]]:
    found = []
    for calls in turn.wrote.values():
        for theirs, own in pairwise(calls):
            between = book.between(theirs.at, own.at, ("step",))
            others = [each.optimizer for each in between if each.optimizer is not None and each.optimizer != number]
            used = [o for o in others if book.given(theirs) & book.held[o] and not book.held[o] & book.held[number]]
            if used and theirs.source != own.source:
                found.append((theirs, own, used[0]))
    return found


# -- hooks and checkpoints


def _hooks(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    by_name: dict[tuple[Source | None, str], list[Hook]] = {}
    for hook in book.ledger.hooks if book else ():
        if hook.calls:
            by_name.setdefault((hook.source, _on(book, hook)), []).append(hook)  # type: ignore[arg-type]
    alike: dict[tuple[Source | None, str], dict[str, list[Hook]]] = {}
    for (source, on), hooks in by_name.items():
        if said := _what_hooks_do(hooks):
            alike.setdefault((source, said), {})[on] = hooks
    for (source, said), named in alike.items():
        first = [hook for hooks in named.values() for hook in hooks]
        norms = [(low, high) for hook in first for low, high in zip(hook.given, hook.returned, strict=True)][:3]
        facts = [f"given a gradient of norm {low:g}, it passed on one of norm {high:g}" for low, high in norms]
        function = first[0].function
        name = f"the hook {function}" if function and function != "<lambda>" else "the hook"
        listed = ", ".join(list(named)[:LISTED]) + (", ..." if len(named) > LISTED else "")
        yield Found(f"{name} on {listed} {said}", source, tuple(dict.fromkeys(facts)))
    yield from _never_run(seen, book)


def _never_run(seen: Seen, book: Book | None) -> Iterator[Found]:
    """Hooks of modules that are not called, though operations take their parameters."""
    called = {call.path for step in seen.trace.steps for call in step.graph.calls}
    used = {seen.name(edge).rpartition(".")[0]: users[0] for edge, users in seen.users.items()}
    for hook in book.ledger.hooks if book and seen.is_last else ():
        user = used.get(hook.on)
        if hook.kind in _OF_MODULES and not hook.calls and user is not None and hook.on not in called:
            yield Found(
                f"the hook on {hook.on} never runs: {line_of(user.source)} uses its parameters, and does not call it",
                hook.source, (f"{hook.kind} at {line_of(hook.source)}",), (user.id,),
                "Call the module itself, layer(x), and not layer.forward(x).",
                "Hooks are run by the call of a module; its forward method, and functions that take its weights, know "
                "of none.",
            )  # fmt: skip


_OF_MODULES = (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
    "register_backward_hook",
)


def _on(book: Book, hook: Hook) -> str:
    named = "" if hook.parameter is None else book.ledger.parameters[hook.parameter].name
    return named or hook.on or "a tensor"


def _what_hooks_do(hooks: Sequence[Hook]) -> str:
    """Return what all calls of a hook did that is hardly meant; empty where nothing is."""
    given = [norm for hook in hooks for norm in hook.given]
    returned = [norm for hook in hooks for norm in hook.returned]
    factors = [factor for hook in hooks for factor in hook.factors]
    again = max(hook.again for hook in hooks)
    if len(given) < OFTEN or not any(given):
        return ""
    if not any(returned):
        return "sets each gradient to zero"
    if again > 1 and any(factor != 1.0 for factor in factors):
        return f"was registered {again} times, and each of them changes the gradient"
    first = factors[0]
    if first is not None and first > _MORE and all(factor == first for factor in factors):
        return f"multiplies each gradient by {first:g}"
    if any(hook.same for hook in hooks) and len(set(given)) > OFTEN:
        return "passes on the same gradient whatever it is given"
    return ""


_MORE = 1.5
"""Less is what layers that are to learn slower are given, and what turns gradients round."""


def _reentrant(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    by_line: dict[Source | None, list[Happening]] = {}
    for each in book.of("checkpoint") if book else ():
        by_line.setdefault(each.source, []).append(each)
    for source, calls in by_line.items():
        assert book is not None
        inside = frozenset().union(*map(book.given, calls)) - book.reached
        lost = inside & book.in_some
        if lost and book.backward and not any(each.kept for each in calls):
            yield Found(
                f"checkpoint{at(source)} with use_reentrant=True is given no tensor that requires a gradient: "
                f"{book.shown(lost)} {'get' if len(lost) > 1 else 'gets'} none",
                source, (f"{len(calls)} calls of it had no such input",), covers=tuple(book.ledger.names(lost)),
            )  # fmt: skip


# -- derivatives without a graph


def _constant_term(seen: Seen) -> Iterator[Found]:
    """A derivative that was made without create_graph, in a term of what backward starts from."""
    if not seen.is_last_of_kind:
        return
    wanted = seen.behind(seen.outcome(), untracked=True)
    for node in seen.graph:
        if node.op != "grad" or node.kind != "untracked" or node.id not in wanted:
            continue
        by = {node.args[position] for position in node.cut}
        term = next((user for user in _terms(seen, node) if not by.intersection(user.args)), None)
        said = f"the derivative{at(node.source)} is made without create_graph, so "
        if term is not None:
            yield Found(
                said + "the term that is computed from it adds nothing to the gradient",
                node.source, (f"{where(term)} adds it to what backward starts from, and it has no history",),
                (node.id, term.id),
            )  # fmt: skip
            continue
        alone = next((user for user, edge in takers(seen, node) if _is_held_by_none(seen, user, edge)), None)
        if alone is not None:
            yield Found(
                f"{said}{where(alone)}, which takes it, hangs on no parameter: this part of the loss trains nothing",
                node.source, (f"it goes into what backward starts from by way of {seen.shown(Edge(alone.id))}",),
                (node.id, alone.id),
            )  # fmt: skip
            continue
        # An equation that a function and its derivative are to fulfil takes both.
        made = node.args[:-1]
        beside = next((user for user, _ in takers(seen, node) if made and made[0] in user.args), None)
        if beside is not None and beside.id in seen.reached:
            yield Found(
                f"{said}{where(beside)}, which takes it beside {seen.name(node.args[0])}, sends it no gradient",
                node.source, (f"it is differentiated for the value of {seen.name(node.args[0])} alone",),
                (node.id, beside.id),
            )  # fmt: skip


def _constant_number(seen: Seen) -> Iterator[Found]:
    """A term of what backward starts from that is a plain number, which the script read out of a result that nothing
    else takes."""
    told: set[tuple[str, int]] = set()
    for term in seen.graph if seen.is_last_of_kind else ():
        edges = backward_edges(term)
        source = term.source
        if not _is_scalar_sum(seen, term) or len(edges) != 1 or source is None or source.file not in seen.scripts:
            continue
        script = seen.scripts[source.file]
        for name, one in _read_into(script, source.line):
            cut = [cause for cause in one.causes if cause.words in _NUMBERS or "new tensor" in cause.words]
            if cut and (source.file, one.line) not in told and _was_read(seen, source.file, one, cut):
                told.add((source.file, one.line))
                words = ", ".join(dict.fromkeys(cause.words for cause in cut))
                shown = f"{name} is" if name else "a term of the loss is"
                yield Found(
                    f"{shown} made of a plain number, {words}: as a term of the loss it adds nothing to the gradient",
                    Source(source.file, one.line, one.text),
                    (f"{where(term)} adds it to what backward starts from",), (term.id,),
                    "Keep it a tensor: leave .item() and torch.tensor() out.",
                    "A number has no history: this term trains nothing.",
                )  # fmt: skip


def _constant_part(seen: Seen) -> Iterator[Found]:
    """A term of what backward starts from that is computed, over several operations, from what a line took off."""
    told: set[Source | None] = set()
    for term in seen.graph if seen.is_last_of_kind else ():
        constant = [edge for edge in term.args if seen.graph[edge.node].kind == "untracked"]
        if not _is_scalar_sum(seen, term) or len(constant) != 1 or shape_of(seen, constant[0]):
            continue
        facts = (f"{where(term)} adds it to what backward starts from, and it has no history",)
        nodes = [seen.graph[number] for number in seen.behind(constant, untracked=True)]
        unrecorded = _unrecorded(seen, nodes)
        if unrecorded is not None and unrecorded not in told:
            told.add(unrecorded)
            yield Found(
                f"a term of the loss is computed at {line_of(unrecorded)}, where nothing is recorded: it adds nothing "
                "to the gradient",
                unrecorded, facts,
                (term.id,), "Compute it outside of no_grad; what is to stay as it is alone within.",
                "What is computed under no_grad has no history: this term trains nothing.",
            )  # fmt: skip
            continue
        # What a derivative made is another matter.
        lines = {node.source for node in nodes if node.kind == "untracked" and shape_of(seen, Edge(node.id))}
        for source in lines - {None, term.source} if all(node.op != "grad" for node in nodes) else ():
            taken = _taken_off(seen, source)
            if taken and source not in told:
                told.add(source)
                yield Found(
                    f"a term of the loss is computed from what {taken}{at(source)} takes off: it adds nothing to the "
                    "gradient",
                    source, facts,
                    (term.id,), "Leave .data and detach out of what is to be learned from.",
                    "What was taken off has no history: this term trains nothing.",
                )  # fmt: skip


def _unrecorded(seen: Seen, nodes: Sequence[Node]) -> Source | None:
    """The line that made a part of a term last of those that took what requires a gradient under no_grad; None if none
    did, or if a part was cut off in another way."""
    cut = [node for node in nodes if node.cut and node.source is not None]
    others = any(node.op in ("grad", "detach") or (node.source and _MEANT.search(node.source.text)) for node in nodes)
    trained = [node for node in cut if any(node.args[at].node in seen.reached for at in node.cut)]
    return None if others or not trained else trained[-1].source


def _taken_off(seen: Seen, source: Source | None) -> str:
    """The first `.data` or `.detach()` in the statement on a line; empty where there is none."""
    script = seen.scripts.get(source.file) if source else None
    every = [one for one in script.bindings if one.line <= source.line <= one.last_line] if script and source else []
    causes = [cause.words for one in every for cause in one.causes]
    if any(words.startswith("torch.") for words in causes):
        return ""
    return next((words for words in causes if words in (".data", ".detach()")), "")


def _read_into(script: Script, line: int) -> Iterator[tuple[str, Binding]]:
    """The statements that make the terms of the sums on a line, each with the term's name; the line itself has none."""
    for part in ast.walk(script.tree):
        sides: list[ast.expr] = []
        if isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Add, ast.Sub)):
            sides = [part.left, part.right]
        elif isinstance(part, ast.AugAssign) and isinstance(part.op, (ast.Add, ast.Sub)):
            sides = [part.value]
        here = sides and part.lineno <= line <= (part.end_lineno or 0)  # type: ignore[attr-defined]
        for side in map(_without_factor, sides if here else ()):
            if isinstance(side, (ast.Name, ast.Attribute)):
                yield from ((ast.unparse(side), one) for one in script.reaching(ast.unparse(side), line))
            elif isinstance(side, ast.Call) and called(side) in ("item", "float"):
                yield from (("", one) for one in script.bindings if one.line <= line <= one.last_line)


def _without_factor(part: ast.expr) -> ast.expr:
    """A term without the number, or the variable, that it is multiplied by."""
    while isinstance(part, ast.BinOp) and isinstance(part.op, (ast.Mult, ast.Div)):
        part = (
            part.right
            if isinstance(part.op, ast.Mult) and isinstance(part.left, (ast.Constant, ast.Name, ast.Attribute))
            else part.left
        )
    return part


def _was_read(seen: Seen, file: str, one: Binding, cut: Sequence[Cause]) -> bool:
    """Return whether a line reads the number out of a result that has a name, or of one that it makes, which no
    operation took."""
    names = {name for cause in cut for name in cause.operands}
    for node in (node for node in seen.graph if node.kind == "operation"):
        here = node.source is not None and node.source.file == file and one.line <= node.source.line <= one.last_line
        unused = node.id not in seen.reached and not seen.users.get(Edge(node.id))
        if names.intersection(node.outputs[0].names) or (here and unused and not shape_of(seen, Edge(node.id))):
            return True
    return False


_NUMBERS = (".item()", "a number made by float()", ".tolist()", ".numpy()")


def _without_graph(seen: Seen) -> Iterator[Found]:
    yield from _constant_term(seen)
    yield from _constant_number(seen)
    yield from _constant_part(seen)


def _is_held_by_none(seen: Seen, user: Node, given: Edge) -> bool:
    """Return whether what an operation adds to a derivative without history hangs on no parameter, though the loss that
    it goes into hangs on some."""
    book = book_of(seen)
    held = {book.ledger.parameters[n].name for n in book.in_some} if book else set()
    leaves = [
        {name for n in seen.behind([e]) for name in seen.graph[n].outputs[0].names}
        for e in (Edge(user.id), *seen.outcome())
    ]
    adds = plain_op(user) in _TERMS and user.id in seen.reached and given not in backward_edges(user)
    return adds and not leaves[0] & held and any(other & held for other in leaves[1:])


def _terms(seen: Seen, start: Node) -> Iterator[Node]:
    """The operations with a gradient that take a number in which is computed from a derivative, as a term."""
    return (user for user, edge in takers(seen, start, _MEANT) if _is_term(seen, user, edge))


def _is_term(seen: Seen, user: Node, given: Edge) -> bool:
    """Return whether an operation adds what it is given, which has no history, to a number that has one."""
    edges = backward_edges(user)
    return _is_scalar_sum(seen, user) and bool(edges) and given not in edges


def _is_scalar_sum(seen: Seen, node: Node) -> bool:
    scalar = plain_op(node) in _TERMS and node.outputs[0].type.shape == ()
    return scalar and node.id in seen.reached and _is_in_sum(seen, node)


def _is_in_sum(seen: Seen, term: Node) -> bool:
    """Return whether nothing but sums and multiples lead from a term to what backward starts from: what an update makes
    goes into other operations first."""
    ends, stack, met = {edge.node for edge in seen.outcome()}, [term], {term.id}
    while stack:
        node = stack.pop()
        if node.id in ends:
            return True
        users = (user for nr in range(len(node.outputs)) for user in seen.users.get(Edge(node.id, nr), ()))
        for user in users:
            if plain_op(user) in (*_TERMS, *_MULTIPLES) and user.id not in met:
                met.add(user.id)
                stack.append(user)
    return False


# -- what lives on


def kept_graphs(seen: Seen) -> Iterator[Found]:
    """Yield who keeps the graphs of steps, or turns, that are over."""
    book = book_of(seen)
    for keeper in book.ledger.keepers if book else ():
        source = _taken_in(seen, keeper) or keeper.source
        each = f"{_size(keeper.bytes // keeper.steps)} more each time" if keeper.steps else ""
        size = f" ({_size(keeper.bytes)}, {each})" if keeper.bytes and each else ""
        facts = [f"{keeper.nodes} nodes{size} of {keeper.steps} earlier turns live on by it"]
        if keeper.living:
            shown = ", ".join(map(str, keeper.living[-4:]))
            facts.append(f"{shown} nodes of earlier steps were alive when one backward call after the other began")
        else:
            facts.append("no backward call runs them")
        said = f"{keeper.name} keeps the graphs of earlier turns: it takes in one more at {line_of(source)} each time"
        yield Found(said, source, tuple(facts), (), _SAVE if keeper.name.startswith("ctx.") else "")


_SAVE = "Pass it to ctx.save_for_backward: an attribute of ctx that is a result of its own makes a cycle."


def _size(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB" if count >= 1e3 else f"{count} bytes"


def _taken_in(seen: Seen, keeper: Keeper) -> Source | None:
    """The line by which a container takes in what it keeps."""
    last = re.search(r"(\w+)(\[[^\[\]]*\])?$", keeper.name.partition(" (in ")[0])
    if last is None:
        return None
    wanted = re.compile(rf"\b{last[1]}(\[.*\]|\.(setdefault|get)\(.*\))?$")
    for line, part in script_parts(seen, ast.stmt, ast.expr):
        target: ast.expr | None = None
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _TAKES_IN:
            target = part.func.value
        elif isinstance(part, ast.AugAssign):
            target = part.target
        elif isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Subscript) and keeper.count > 1:
            target = part.targets[0].value
        elif isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == keeper.name:
            target = part.targets[0] if keeper.name.startswith("ctx.") else None
        if target is not None and wanted.search(ast.unparse(target)):
            return line
    return None


RULES = (
    Rule(
        "AG810",
        "a step by gradients that are scaled",
        "GradScaler multiplies the loss. Its own step divides the gradients before it calls optimizer.step().",
        "Call scaler.step(optimizer) and scaler.update() in the place of optimizer.step().",
        _steps_scaled,
        ledger=True,
    ),
    Rule(
        "AG811",
        "gradients are clipped at the wrong time",
        "Clipping changes what .grad holds at that time, and nothing else.",
        "Clip between backward (and unscale_) and step.",
        _clips,
        ledger=True,
    ),
    Rule(
        "AG812",
        "a loss is counted twice",
        "backward adds to .grad: what both calls run adds twice as much as the rest.",
        "Call backward once, on the sum; look at gradients by torch.autograd.grad.",
        _twice,
        ledger=True,
    ),
    Rule(
        "AG813",
        "gradients of another network's pass are used",
        "A backward call writes the gradients of all networks that it goes through.",
        "Zero the gradients right before the backward call whose step is to use them, or freeze the other network for "
        "the pass.",
        _of_another,
        ledger=True,
    ),
    Rule(
        "AG814",
        "a hook takes gradients away, changes them more than once, or never runs",
        "A hook's result takes the place of the gradient, for all that comes behind it.",
        "Return nothing from a hook that looks only, and register it once.",
        _hooks,
        ledger=True,
    ),
    Rule(
        "AG815",
        "a reentrant checkpoint records nothing",
        "With use_reentrant=True the function runs under no_grad, and has a node only if one of its inputs needs a "
        "gradient: parameters inside do not count.",
        "Pass use_reentrant=False.",
        _reentrant,
        ledger=True,
    ),
    Rule(
        "AG816",
        "a term of the loss has no graph",
        "Without create_graph=True a derivative is a constant: this term trains nothing.",
        "Make this derivative with create_graph=True.",
        _without_graph,
    ),
)
