"""Optimizers and what they hold, steps and what they find: rules over the ledger of training."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from functools import partial
from math import prod
from typing import TypeVar

from autograph_cli.findings.book import OFTEN, Book, at, book_of, line_that
from autograph_cli.findings.calls import LEARN, called, made_at
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.ways import moves, summands
from autograph_cli.graph import Edge, Source
from autograph_cli.graph.cuts import behind
from autograph_cli.graph.ledger import Happening, Optimizer

_Part = TypeVar("_Part", bound=ast.AST)
_PLAIN = ("SGD", "LBFGS")
"""Optimizers that lose nothing when they are made anew."""
_UNFROZEN = re.compile(r"^\s*([\w.\[\]]+)\.requires_grad\s*=\s*False")
_FREED = re.compile(r"\.requires_grad(_\((True)?\)|\s*=\s*True)")
_REPARAMETRIZED = re.compile(r"\b(weight_norm|spectral_norm|register_parametrization|prune\.\w+)\(")


def _holds_others(seen: Seen) -> Iterator[Found]:
    """An optimizer whose parameters never had a gradient, while others had, which no optimizer that steps holds."""
    book = book_of(seen)
    for number, known in enumerate(book.ledger.optimizers) if book else ():
        assert book is not None
        steps, held = book.steps_of(number), book.held[number]
        if len(steps) < OFTEN or any(each.ready or each.moved for each in steps) or held & book.reached:
            continue
        stepped = frozenset().union(
            *(book.held[each.optimizer] for each in book.of("step") if each.optimizer is not None)
        )
        # A leaf that is made in each turn is nothing to be learned.
        calls = Counter(number for each in book.backward for number in book.given(each))
        others = frozenset(number for number in book.reached - stepped if calls[number] >= OFTEN)
        if not others:
            continue
        yield _others(book, number, known, steps, others)


def _holds_what_is_not_trained(seen: Seen) -> Iterator[Found]:
    yield from _holds_others(seen)
    yield from _holds_frozen(seen)


def _holds_frozen(seen: Seen) -> Iterator[Found]:
    """Yield what an optimizer was given by itself, and is frozen in all of its steps."""
    book = book_of(seen)
    if book is None or line_that(seen, _FREED.search):
        return
    for number in _stepped(book):
        steps = book.steps_of(number)
        frozen = frozenset.intersection(*(book.sets[each.frozen] & book.given(each) for each in steps))
        names = {n: book.ledger.parameters[n].name for n in book.held[number]}
        for source, owner in _given_alone(seen) if frozen else ():
            own = {n for n, name in names.items() if re.match(rf"(\w+\.)?{re.escape(owner)}\.", name)}
            if own and own <= frozen and len(steps) >= OFTEN:
                made = made_at(seen, names[min(own)].rpartition(".")[0])
                why = (f"it is made{at(made)}: {made.text}",) if made and "from_pretrained" in made.text else ()
                yield Found(
                    f"an optimizer is given {owner}.parameters(), which require no gradient and are never changed",
                    source, why, covers=tuple(names[n] for n in own),
                    reason="A step moves parameters by their gradients, and frozen ones have none.",
                    remedy=_UNFREEZE if why else "Leave them out, or call requires_grad_() of what is to be trained.",
                )  # fmt: skip


_UNFREEZE = "Pass freeze=False where it is to be trained: from_pretrained freezes what it makes."


def _given_alone(seen: Seen) -> Iterator[tuple[Source, str]]:
    """The lines that make a group of the parameters of one part of a model, and that part."""
    for file, script in seen.scripts.items():
        groups = [
            (key, x) for one in _parts(script.tree, ast.Dict) for key, x in zip(one.keys, one.values, strict=True)
        ]
        given = [x for key, x in groups if getattr(key, "value", None) == "params"]
        given += [word.value for word in _parts(script.tree, ast.keyword) if word.arg == "params"]
        for value in given:
            if isinstance(value, ast.Call) and called(value) == "parameters" and isinstance(value.func, ast.Attribute):
                owner = ast.unparse(value.func.value).removeprefix("self.")
                yield Source(file, value.lineno, script.line(value.lineno)), owner


def _others(book: Book, number: int, known: Optimizer, steps: list[Happening], others: frozenset[int]) -> Found:
    held, name = book.held[number], book.optimizer(number)
    facts = [
        f"{name} holds {book.shown(held)}, none of which ever had a gradient in {len(steps)} steps",
        f"backward{at(book.backward[0].source)} gives gradients to {book.shown(others)}, which no optimizer holds",
    ]
    names = tuple(book.ledger.names(held))
    if all(each.frozen == each.given for each in steps):
        return Found(
            f"{name} holds only parameters that require no gradient, so its step changes nothing",
            known.source, (*facts[:1], "all of them have requires_grad=False", facts[1]),
            remedy="Give the optimizer the parameters that are to be learned, or freeze the others.",
            reason="A step moves parameters by their gradients, and frozen ones have none.", covers=names,
        )  # fmt: skip
    made = [module for each in others if (module := book.module(each)) is not None]
    own = [module for each in held if (module := book.module(each)) is not None]
    later = [module for module in made if module.at > known.at]
    said = f"{name} holds other parameters than those that are trained"
    if made and all(module.copied for module in made):
        source = made[0].source
        said = f"{name} holds the parameters of a model that was copied: the copy is trained"
        facts.append(f"the copy is made{at(source)}")
    elif own and all(module.copied for module in own) and not any(module.copied for module in made):
        said = f"{name} holds the parameters of a copy of the model that is trained"
        facts.append(f"the copy is made{at(own[0].source)}")
    elif later:
        said = f"{name} was made before the model that is trained: it holds the parameters of an earlier one"
        facts.append(f"{later[0].cls} is built{at(later[0].source)}, after the optimizer{at(known.source)}")
    return Found(said, known.source, tuple(facts), covers=names)


def _in_none(seen: Seen) -> Iterator[Found]:
    """Parameters that get gradients and are in no optimizer, though they belong to a model that one holds."""
    book = book_of(seen)
    if book is None or not any(len(book.steps_of(n)) >= OFTEN for n in range(len(book.ledger.optimizers))):
        return
    yield from _in_forward(seen)
    lost, stepped = never_changed(book), _stepped(book)
    told: dict[tuple[str, Source | None], list[int]] = {}
    apart = _in_terms_of_their_own(seen, book, lost)
    for n in lost:
        found = _why_in_none(book, n, stepped) or _loose(seen, book, n) or apart.get(n)
        if found is not None:
            told.setdefault(found, []).append(n)
    for (why, source), numbers in told.items():
        if why in ("plain", "replaced"):
            attribute = book.ledger.parameters[numbers[0]].name.rpartition(".")[2]
            source = line_that(seen, re.compile(rf"\.{re.escape(attribute)}\s*=[^=]").search)
            source = source or line_that(seen, _REPARAMETRIZED.search)
        if why == "unfrozen" and (source := line_that(seen, _FREED.search)) is None:
            continue
        yield _lost(book, why, source, numbers)


def never_changed(book: Book) -> list[int]:
    """The parameters that get gradients time after time, and that neither an optimizer holds nor anything changes."""
    left = book.reached - frozenset().union(*book.held)
    often = (n for n in left if sum(n in book.given(each) for each in book.backward) >= OFTEN)
    return [n for n in often if not book.ledger.parameters[n].written]


def _stepped(book: Book) -> list[int]:
    return [n for n in range(len(book.ledger.optimizers)) if any(each.moved for each in book.steps_of(n))]


def left_over(seen: Seen) -> Iterator[Found]:
    """Parts of a model whose gradients are computed for nothing: frozen by no more than the choice of what an optimizer
    holds, or forgotten."""
    book = book_of(seen)
    if book is None or any(True for _ in _in_none(seen)):
        return
    for number in _stepped(book):
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
        for part in (part for cls in _parts(script.tree, ast.ClassDef) for part in cls.body):
            if not isinstance(part, ast.FunctionDef) or part.name != "forward":
                continue
            for made in _parts(part, ast.Assign):
                name = ast.unparse(made.value.func) if isinstance(made.value, ast.Call) else ""
                owner, _, cls = name.rpartition(".")
                learned = cls == "Parameter" or (owner in ("nn", "torch.nn") and cls.startswith(LEARN))
                used = any((file, line) in ran for line in range(made.lineno, (part.end_lineno or 0) + 1))
                if learned and used and isinstance(made.targets[0], ast.Name):
                    yield Found(
                        f"{ast.unparse(made.targets[0])} is made again in each call of forward, so it is never changed",
                        Source(file, made.lineno, script.line(made.lineno)), remedy="Make it once, in __init__.",
                    )  # fmt: skip


def _parts(tree: ast.AST, kind: type[_Part]) -> list[_Part]:
    return [part for part in ast.walk(tree) if isinstance(part, kind)]


def _why_in_none(book: Book, n: int, stepped: list[int]) -> tuple[str, Source | None] | None:
    module = book.module(n)
    if module is not None and module.listed:
        return "listed", module.source
    beside = [o for o in stepped if any(book.root(other) == book.root(n) for other in book.held[o])]
    if module is not None and beside and all(module.at > book.ledger.optimizers[o].at > 0 for o in beside):
        return "later", module.source
    if module is not None and any(_was_replaced(book, n, o) for o in beside):
        return "replaced", None
    if module is not None and not beside and _same_twice(book, stepped):
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
    own = {other for other in book.reached if book.root(other) == book.root(n)}
    return len(own & frozenset().union(*book.held)) > len(own) / 2


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
        own = [other for other in book.reached if book.root(other) == book.root(n)]
        classes = {part.name for script in seen.scripts.values() for part in _parts(script.tree, ast.ClassDef)}
        alone = all(book.module(other) is module for other in own) and module.cls in classes
        return ("criterion", made_at(seen, known.name)) if alone and not _holds_any(book, own) else None
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


def _holds_any(book: Book, numbers: Iterable[int]) -> bool:
    return bool(frozenset().union(*book.held).intersection(numbers))


def _leaves_behind(seen: Seen, term: Edge) -> set[str]:
    nodes = (seen.graph[number] for number in behind(seen.graph, [(term.node, term.nr)]))
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
    shown, module = book.shown(numbers), book.module(numbers[0])
    are, them = ("are", "them") if len(numbers) > 1 else ("is", "it")
    fact = f"backward{at(book.backward[0].source)} gives {shown} gradients, and no optimizer holds {them}"
    if why == "listed":
        assert module is not None
        return Found(
            f"{module.cls} is kept in a plain list or dict, {module.listed}, which parameters() does not look into: "
            f"{shown} {are} never changed",
            source, (fact,), remedy="Keep modules in nn.ModuleList, nn.ModuleDict or nn.Sequential.",
        )  # fmt: skip
    if why == "plain":
        return Found(
            f"{shown} {are} a tensor and no nn.Parameter, so parameters() leaves it out",
            source, (fact,), remedy="Wrap it in nn.Parameter, or give it to the optimizer by itself.",
        )  # fmt: skip
    if why == "forgotten":
        pair = [number for number in range(len(book.ledger.optimizers)) if book.steps_of(number)]
        first, second = _same_twice(book, pair)
        return Found(
            f"{book.optimizer(first)} and {book.optimizer(second)} hold the same parameters, and none holds {shown}",
            book.ledger.optimizers[second].source,
            (fact, f"the other is made{at(book.ledger.optimizers[first].source)}"),
            remedy="Give each optimizer the parameters of its own network.",
        )  # fmt: skip
    if why == "alone":
        return Found(
            f"{shown} {are} in no optimizer, and never changed", source, (fact,),
            remedy="Give it to the optimizer, or make it without requires_grad where it is to stay.",
        )  # fmt: skip
    if why == "moved":
        return Found(
            "what is kept here is made from an nn.Parameter, and is none: parameters() leaves it out, and it is never "
            "changed",
            source, ("backward gives the nn.Parameter gradients, and no optimizer holds it",),
            remedy="Make the nn.Parameter last: nn.Parameter(values.to(device) * scale).",
        )  # fmt: skip
    if why == "criterion":
        assert module is not None
        return Found(
            f"{module.cls} has parameters and is in no optimizer: {shown} {are} never changed",
            source, (fact,), remedy="Give its parameters to the optimizer as well.",
        )  # fmt: skip
    if why == "replaced":
        return Found(
            f"{shown} took the place of what an optimizer holds, and {are} never changed",
            source, (fact, "the optimizer still holds a parameter that no module has any more"),
            remedy="Change a parameter in place, under no_grad, or make the optimizer after it is replaced.",
        )  # fmt: skip
    if why == "unfrozen":
        made = [f"{book.optimizer(o)} is made{at(known.source)}" for o, known in enumerate(book.ledger.optimizers)]
        were = "were" if are == "are" else "was"
        return Found(
            f"{shown} {were} frozen when the optimizer was made, and no more: no optimizer holds {them}",
            source, (fact, *made),
            remedy="Call optimizer.add_param_group with what is to be trained from then on.",
        )  # fmt: skip
    if why == "left out":
        return Found(
            f"the optimizer made{at(source)} leaves out {shown}, which {are} never changed",
            source, (fact,), remedy="Give it to an optimizer, or freeze it with requires_grad_(False).",
        )  # fmt: skip
    if why == "term":
        return Found(
            f"a term of the loss{at(source)} trains nothing: it hangs on {shown} alone, which {are} in no optimizer",
            source, (fact,), remedy="Give them to an optimizer, or leave the term out.",
        )  # fmt: skip
    assert module is not None
    owners = [
        o
        for o in range(len(book.ledger.optimizers))
        if any(book.root(x) == book.root(numbers[0]) for x in book.held[o])
    ]
    optimizer = book.ledger.optimizers[owners[0]]
    stale = [x for x in book.held[owners[0]] if x not in book.reached]
    more = [f"the optimizer was made{at(optimizer.source)}, before that"]
    if stale:
        more.append(f"it still holds {book.shown(stale)}, which {'get' if len(stale) > 1 else 'gets'} no gradient")
    return Found(
        f"{module.cls}, made{at(source)} after {book.optimizer(owners[0])}, is in no optimizer: {shown} "
        f"{are} never changed",
        source, (fact, *more),
        remedy="Make the optimizer after the model is complete, or add_param_group what came later.",
        covers=tuple(book.ledger.names(stale)),
    )  # fmt: skip


def _freezes_nothing(seen: Seen) -> Iterator[Found]:
    """A module that was given `requires_grad = False`, which only a tensor has."""
    book = book_of(seen)
    for module in book.ledger.modules if book else ():
        if module.flagged:
            source = line_that(seen, _UNFROZEN.match)
            match = _UNFROZEN.match(source.text) if source else None
            yield Found(
                f"{match[1] if match else module.cls}.requires_grad = False freezes nothing: it is a module", source
            )
    for file, script in seen.scripts.items() if book and book.reached else ():
        every = _parts(script.tree, ast.Attribute)
        read = {part.attr for part in every if isinstance(part.ctx, ast.Load)}
        for part in every:
            own = isinstance(part.ctx, ast.Store) and part.attr not in (*read, "requires_grad")
            if own and SequenceMatcher(None, part.attr, "requires_grad").ratio() > _LIKE:
                yield Found(
                    f"{ast.unparse(part)} = ... freezes nothing: the attribute is called requires_grad",
                    Source(file, part.lineno, script.line(part.lineno)), (f"nothing reads {part.attr}",),
                    remedy="Call requires_grad_(False).", reason="Python takes any attribute, and nothing looks at it.",
                )  # fmt: skip


_LIKE = 0.85
"""The likeness by which a name is that of another with a mistake in it."""


def _made_anew(seen: Seen) -> Iterator[Found]:
    """An optimizer with a state that is made again for each step."""
    book = book_of(seen)
    by_line: dict[tuple[Source | None, int], list[int]] = {}
    for number, known in enumerate(book.ledger.optimizers) if book else ():
        if known.source is not None and known.cls not in _PLAIN:
            by_line.setdefault((known.source, known.holds), []).append(number)
    for (source, _), numbers in by_line.items():
        assert book is not None
        if len(numbers) > OFTEN and all(len(book.steps_of(n)) <= 1 for n in numbers):
            cls = book.ledger.optimizers[numbers[0]].cls
            fact = f"{cls} was made {len(numbers)} times for the same parameters, and took at most one step each time"
            yield Found(f"{cls} is made again for each step, and forgets what it has averaged", source, (fact,))


def _schedules_another(seen: Seen) -> Iterator[Found]:
    """A scheduler of an optimizer that never steps, beside one that holds the same parameters and does."""
    book = book_of(seen)
    done = set()
    for each in book.of("schedule") if book else ():
        assert book is not None
        number = each.optimizer
        if number is None or number in done or each.words or book.steps_of(number):
            continue
        done.add(number)
        others = [o for o, held in enumerate(book.held) if held & book.held[number] and len(book.steps_of(o)) >= OFTEN]
        if others:
            theirs = book.ledger.optimizers[others[0]]
            yield Found(
                f"the scheduler{at(each.source)} changes the learning rate of an optimizer that never steps",
                each.source,
                (f"the optimizer that steps is made{at(theirs.source)} and holds the same parameters",),
            )


def _moved_twice(seen: Seen) -> Iterator[Found]:
    """Two optimizers that step one after the other by the same gradients on the same parameters."""
    book = book_of(seen)
    if book is None:
        return
    pairs: dict[tuple[int, int], list[Happening]] = {}
    before: Happening | None = None
    for each in book.of("step", "backward", "zero_grad"):
        if each.kind == "step" and before is not None and before.optimizer != each.optimizer:
            shared = book.sets[each.moved] & book.sets[before.moved]
            if shared and each.optimizer is not None and before.optimizer is not None and not each.closure:
                pairs.setdefault((before.optimizer, each.optimizer), []).append(each)
        before = each if each.kind == "step" and not each.closure else None
    for (one, other), steps in pairs.items():
        if len(steps) >= OFTEN:
            shared = book.held[one] & book.held[other]
            said = f"{book.optimizer(one)} and {book.optimizer(other)} both move {book.shown(shared)} by one gradient"
            yield Found(said, book.ledger.optimizers[other].source, (f"both hold {book.shown(shared)}",))


RULES = (
    Rule(
        "AG801",
        "an optimizer holds what is not trained",
        "An optimizer holds tensors, not a model: what takes the model's place later is unknown to it.",
        "Make the optimizer last, from the model that is trained.",
        _holds_what_is_not_trained,
        ledger=True,
    ),
    Rule(
        "AG802",
        "a parameter that gets gradients is in no optimizer",
        "Only what an optimizer holds is changed by its step.",
        "Register it in the module, and make the optimizer after that.",
        _in_none,
        ledger=True,
    ),
    Rule(
        "AG803",
        "requires_grad of a module freezes nothing",
        "requires_grad is an attribute of tensors; a module takes any attribute, and does not look at this one.",
        "Call module.requires_grad_(False).",
        _freezes_nothing,
        ledger=True,
    ),
    Rule(
        "AG804",
        "an optimizer is made again for each step",
        "Its averages of gradients start from nothing each time, so it does not do what its name says.",
        "Make the optimizer once, before the loop.",
        _made_anew,
        ledger=True,
    ),
    Rule(
        "AG808",
        "a scheduler of another optimizer",
        "A scheduler changes the groups of the one optimizer that it was made with.",
        "Make the scheduler after the optimizer, and with the one that steps.",
        _schedules_another,
        ledger=True,
    ),
    Rule(
        "AG809",
        "two optimizers move the same parameters",
        "Each of them takes a full step by the same gradient.",
        "Give each parameter to one optimizer.",
        _moved_twice,
        ledger=True,
    ),
)
