"""Parameters that get gradients, and that no optimizer holds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import partial
from math import prod

from autograph_cli.findings.book import OFTEN, Book, at, book_of, line_that
from autograph_cli.findings.calls import LEARN, classes, made_at, parts_of
from autograph_cli.findings.records import Found, Seen
from autograph_cli.findings.ways import moves, summands
from autograph_cli.graph import Edge, Source

FREED = re.compile(r"\.requires_grad(_\((True)?\)|\s*=\s*True)")
_REPARAMETRIZED = re.compile(r"\b(weight_norm|spectral_norm|register_parametrization|prune\.\w+)\(")


def in_none(seen: Seen) -> Iterator[Found]:
    """Parameters that get gradients and are in no optimizer, though they belong to a model that one holds."""
    book = book_of(seen)
    if book is None or not any(len(book.steps_of(n)) >= OFTEN for n in range(len(book.ledger.optimizers))):
        return
    yield from _in_forward(seen)
    lost = never_changed(book)
    told: dict[tuple[str, Source | None], list[int]] = {}
    apart = _in_terms_of_their_own(seen, book, lost)
    for n in lost:
        found = _why(book, n) or _loose(seen, book, n) or apart.get(n)
        if found is not None:
            told.setdefault(found, []).append(n)
    for (why, source), numbers in told.items():
        if why in ("plain", "replaced"):
            attribute = book.ledger.parameters[numbers[0]].name.rpartition(".")[2].partition("[")[0]
            source = line_that(seen, re.compile(rf"\.{re.escape(attribute)}\s*=[^=]").search)
            source = source or line_that(seen, _REPARAMETRIZED.search)
        if why == "unfrozen" and (source := line_that(seen, FREED.search)) is None:
            continue
        yield _lost(book, why, source, numbers)


def never_changed(book: Book) -> list[int]:
    """The parameters that get gradients time after time, and that neither an optimizer holds nor anything changes."""
    left = book.reached - book.in_some
    often = (n for n in left if sum(n in book.given(each) for each in book.backward) >= OFTEN)
    return [n for n in often if not book.ledger.parameters[n].written]


def left_over(seen: Seen) -> Iterator[Found]:
    """Parts of a model whose gradients are computed for nothing: frozen by no more than the choice of what an optimizer
    holds, or forgotten."""
    book = book_of(seen)
    if book is None or any(True for _ in in_none(seen)):
        return
    for number in book.moving:
        roots = {book.root(other) for other in book.held[number] & book.reached}
        lost = [n for n in never_changed(book) if book.root(n) in roots]
        if lost:
            source, told = book.ledger.optimizers[number].source, book.shown(lost)
            said = f"the optimizer made{at(source)} holds a part of the model: {told} "
            said += (
                f"{'get' if len(lost) > 1 else 'gets'} gradients, and {'are' if len(lost) > 1 else 'is'} never changed"
            )
            yield Found(said, source, (f"backward{at(book.backward[0].source)} computes them for nothing",))
            return


def _in_forward(seen: Seen) -> Iterator[Found]:
    """Parameters, or layers, that `forward` makes for itself: they are others in each call."""
    ran = {(node.source.file, node.source.line) for node in seen.graph if node.source and node.id in seen.reached}
    for file, script in seen.scripts.items():
        for part in (part for cls in parts_of(script.tree, ast.ClassDef) for part in cls.body):
            if not isinstance(part, ast.FunctionDef) or part.name != "forward":
                continue
            for made in parts_of(part, ast.Assign):
                name = ast.unparse(made.value.func) if isinstance(made.value, ast.Call) else ""
                owner, _, cls = name.rpartition(".")
                learned = cls == "Parameter" or (owner in ("nn", "torch.nn") and cls.startswith(LEARN))
                used = any((file, line) in ran for line in range(made.lineno, (part.end_lineno or 0) + 1))
                if learned and used and isinstance(made.targets[0], ast.Name):
                    yield Found(
                        f"{ast.unparse(made.targets[0])} is made again in each call of forward, so it is never changed",
                        Source(file, made.lineno, script.line(made.lineno)), remedy="Make it once, in __init__.",
                    )  # fmt: skip


def _why(book: Book, n: int) -> tuple[str, Source | None] | None:
    module = book.module(n)
    if module is not None and module.listed:
        return "listed", module.source
    beside = [o for o in book.moving if any(book.root(other) == book.root(n) for other in book.held[o])]
    if module is not None and beside and all(module.at > book.ledger.optimizers[o].at > 0 for o in beside):
        return "later", module.source
    if module is not None and any(_was_replaced(book, n, o) for o in beside):
        return "replaced", None
    if module is not None and not beside and _same_twice(book, book.moving):
        return "forgotten", None
    if module is not None and any(_came_later(book, n, o) for o in beside):
        return "unfrozen", None
    if module is None and beside and "." in book.ledger.parameters[n].name:
        return "plain", None
    if module is not None and beside and _most_are_held(book, n):
        return "left out", book.ledger.optimizers[beside[0]].source
    return None


def _most_are_held(book: Book, n: int) -> bool:
    """Return whether optimizers hold most of the parameters of a model that get gradients: who trains a head alone
    means to leave out the rest."""
    own = _beside(book, n)
    return len(own & book.in_some) > len(own) / 2


def _beside(book: Book, n: int) -> set[int]:
    """The parameters with gradients that the same variable leads to."""
    return {other for other in book.reached if book.root(other) == book.root(n)}


def _came_later(book: Book, n: int, optimizer: int) -> bool:
    """Return whether backward reached a parameter only after the optimizer had moved others of the same model, though
    it required a gradient then as it does now but for what was set since."""
    first = next(each.at for each in book.backward if n in book.given(each))
    return any(each.moved for each in book.steps_of(optimizer) if each.at < first) and any(
        book.root(other) == book.root(n) for other in book.held[optimizer] & book.reached
    )


def _in_terms_of_their_own(seen: Seen, book: Book, lost: Iterable[int]) -> dict[int, tuple[str, Source | None]]:
    """Return the parameters that are all that a term of the loss hangs on, and the line of that term."""
    names = {book.ledger.parameters[n].name: n for n in lost}
    found: dict[int, tuple[str, Source | None]] = {}
    for terms in map(partial(summands, seen), seen.outcome()):
        leaves = [_leaves_behind(seen, term) for term in terms]
        for term, own in zip(terms, leaves, strict=True):
            if own and own <= names.keys() and any(other - names.keys() for other in leaves):
                found |= {names[name]: ("term", seen.graph[term.node].source) for name in own}
    return found


def _loose(seen: Seen, book: Book, n: int) -> tuple[str, Source | None] | None:
    """Return why a parameter that belongs to no model of an optimizer was to be learned; None if it may not."""
    known, module = book.ledger.parameters[n], book.module(n)
    if module is not None:
        # All that a class of the script's, such as a loss, has by itself: not a network of layers.
        own = _beside(book, n)
        alone = all(book.module(other) is module for other in own) and module.cls in classes(seen)
        return ("criterion", made_at(seen, known.name)) if alone and not own & book.in_some else None
    if known.name:
        return ("alone", made_at(seen, known.name)) if _is_constant(seen, known.name) else None
    # What was moved or converted, and is kept, is no parameter.
    leaves = {node.id for node in seen.graph if node.kind == "leaf" and not node.outputs[0].names}
    kept = [
        node
        for node in seen.graph
        if moves(node) and node.args[0].node in leaves and node.source is not None and "Parameter(" in node.source.text
        if prod(node.outputs[0].type.shape) == known.size and node.outputs[0].names
    ]
    return ("moved", kept[0].source) if len(kept) == 1 else None


def _is_constant(seen: Seen, name: str) -> bool:
    """Return whether a leaf is one number that a script makes and whose gradient it does not use by itself."""
    leaves = [node.id for node in seen.graph if node.kind == "leaf" and name in node.outputs[0].names]
    asked = {edge.node for entry in seen.graph.passes if entry.call == "grad" for edge in entry.inputs}
    single = all(seen.graph[leaf].outputs[0].type.shape == () for leaf in leaves)
    used = line_that(seen, re.compile(rf"\b{re.escape(name)}\.(grad|data|register)").search)
    return bool(leaves) and single and not asked.intersection(leaves) and used is None


def _leaves_behind(seen: Seen, term: Edge) -> set[str]:
    nodes = (seen.graph[number] for number in seen.behind([term]))
    return {seen.name(Edge(node.id)) for node in nodes if node.kind == "leaf"}


def _was_replaced(book: Book, n: int, optimizer: int) -> bool:
    """Return whether an optimizer holds another parameter of the same module, and one that no module has any more."""
    module, held = book.ledger.parameters[n].module, book.held[optimizer]
    stale = [x for x in held - book.reached if book.ledger.parameters[x].module is None]
    return bool(stale) and any(book.ledger.parameters[x].module == module for x in held & book.reached)


def _same_twice(book: Book, stepped: list[int]) -> list[int]:
    """Two optimizers that were made for the same parameters, of which one was meant for others."""
    return next(([a, b] for a in stepped for b in stepped if a < b and book.held[a] == book.held[b]), [])


def _lost(book: Book, why: str, source: Source | None, numbers: list[int]) -> Found:
    shown, module, several = book.shown(numbers), book.module(numbers[0]), len(numbers) > 1
    are, were, them = ("are", "were", "them") if several else ("is", "was", "it")
    words = {"shown": shown, "are": are, "were": were, "them": them, "at": at(source)}
    words |= {"cls": module.cls, "listed": module.listed} if module else {}
    facts = [f"backward{at(book.backward[0].source)} gives {shown} gradients, and no optimizer holds {them}"]
    optimizers, stale = book.ledger.optimizers, list[int]()
    if why == "forgotten":
        first, second = _same_twice(book, [number for number in range(len(optimizers)) if book.steps_of(number)])
        words |= {"first": book.optimizer(first), "second": book.optimizer(second)}
        facts.append(f"the other is made{at(optimizers[first].source)}")
        source = optimizers[second].source
    elif why == "moved":
        facts = ["backward gives the nn.Parameter gradients, and no optimizer holds it"]
    elif why == "replaced":
        facts.append("the optimizer still holds a parameter that no module has any more")
    elif why == "unfrozen":
        facts += [f"{book.optimizer(o)} is made{at(known.source)}" for o, known in enumerate(optimizers)]
    elif why == "later":
        owner = next(o for o, held in enumerate(book.held) if any(book.root(x) == book.root(numbers[0]) for x in held))
        words["first"] = book.optimizer(owner)
        stale = [x for x in book.held[owner] if x not in book.reached]
        facts.append(f"the optimizer was made{at(optimizers[owner].source)}, before that")
        if stale:
            facts.append(f"it still holds {book.shown(stale)}, which {'get' if len(stale) > 1 else 'gets'} no gradient")
    said, remedy = _LOST[why]
    return Found(said.format_map(words), source, tuple(facts), remedy=remedy, covers=tuple(book.ledger.names(stale)))


_LOST = {
    "listed": (
        "{cls} is kept in a plain list or dict, {listed}, which parameters() does not look into: {shown} {are} never "
        "changed",
        "Keep modules in nn.ModuleList, nn.ModuleDict or nn.Sequential.",
    ),
    "plain": (
        "{shown} {are} no nn.Parameter of the module, so parameters() leaves {them} out",
        "Wrap each in nn.Parameter, several in nn.ParameterList or nn.ParameterDict, or give them to the optimizer.",
    ),
    "forgotten": (
        "{first} and {second} hold the same parameters, and none holds {shown}",
        "Give each optimizer the parameters of its own network.",
    ),
    "alone": (
        "{shown} {are} in no optimizer, and never changed",
        "Give it to the optimizer, or make it without requires_grad where it is to stay.",
    ),
    "moved": (
        "what is kept here is made from an nn.Parameter, and is none: parameters() leaves it out, and it is never "
        "changed",
        "Make the nn.Parameter last: nn.Parameter(values.to(device) * scale).",
    ),
    "criterion": (
        "{cls} has parameters and is in no optimizer: {shown} {are} never changed",
        "Give its parameters to the optimizer as well.",
    ),
    "replaced": (
        "{shown} took the place of what an optimizer holds, and {are} never changed",
        "Change a parameter in place, under no_grad, or make the optimizer after it is replaced.",
    ),
    "unfrozen": (
        "{shown} {were} frozen when the optimizer was made, and no more: no optimizer holds {them}",
        "Call optimizer.add_param_group with what is to be trained from then on.",
    ),
    "left out": (
        "the optimizer made{at} leaves out {shown}, which {are} never changed",
        "Give it to an optimizer, or freeze it with requires_grad_(False).",
    ),
    "term": (
        "a term of the loss{at} trains nothing: it hangs on {shown} alone, which {are} in no optimizer",
        "Give them to an optimizer, or leave the term out.",
    ),
    "later": (
        "{cls}, made{at} after {first}, is in no optimizer: {shown} {are} never changed",
        "Make the optimizer after the model is complete, or add_param_group what came later.",
    ),
}
"""The words and the remedy for each reason why a parameter is in no optimizer."""
