"""Optimizers and what they hold, steps and what they find: rules over the ledger of training."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import pairwise

from autograph_cli.findings.book import OFTEN, Book, at, book_of, line_that
from autograph_cli.findings.calls import called, made_at, parts_of, script_parts
from autograph_cli.findings.modes import follows, itself
from autograph_cli.findings.records import Found, Rule, Seen
from autograph_cli.findings.unheld import FREED, in_none
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import Happening, Optimizer

_PLAIN = ("SGD", "LBFGS")
"""Optimizers that lose nothing when they are made anew."""
_UNFROZEN = re.compile(r"^\s*([\w.\[\]]+)\.requires_grad\s*=\s*False")


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
        others = others or frozenset(n for n in book.reached if (module := book.module(n)) and module.copied)
        if not others:
            continue
        yield _others(book, number, known, steps, others)


def _holds_what_is_not_trained(seen: Seen) -> Iterator[Found]:
    yield from _holds_others(seen)
    yield from _holds_frozen(seen)


def _holds_frozen(seen: Seen) -> Iterator[Found]:
    """Yield what an optimizer was given by itself, and is frozen in all of its steps."""
    book = book_of(seen)
    if book is None or line_that(seen, FREED.search):
        return
    for number in book.moving:
        steps = book.steps_of(number)
        frozen = frozenset.intersection(*(book.sets[each.frozen] & book.given(each) for each in steps))
        names = {n: book.ledger.parameters[n].name for n in book.held[number]}
        frozen = frozenset(n for n in frozen if not book.ledger.parameters[n].written)
        for source, owner, whole in _given_alone(seen, book.ledger.optimizers[number].cls) if frozen else ():
            end = r"\." if whole else "$"
            own = {n for n, name in names.items() if re.match(rf"(\w+\.)?{re.escape(owner)}{end}", name)}
            if own and own <= frozen and len(steps) >= OFTEN:
                made = made_at(seen, names[min(own)].rpartition(".")[0]) if whole else None
                why = (f"it is made{at(made)}: {made.text}",) if made and "from_pretrained" in made.text else ()
                given = f"{owner}.parameters(), which require" if whole else f"{owner}, which requires"
                yield Found(
                    f"an optimizer is given {given} no gradient and {'are' if whole else 'is'} never changed",
                    source, why, covers=tuple(names[n] for n in own),
                    reason="A step moves parameters by their gradients, and frozen ones have none.",
                    remedy=_AS_PARAMETER if not whole else _UNFREEZE if why else _LEAVE_OUT,
                )  # fmt: skip


_LEAVE_OUT = "Leave them out, or call requires_grad_() of what is to be trained."
_AS_PARAMETER = "Make it an nn.Parameter, or give it requires_grad=True, before the optimizer is made; or leave it out."
_UNFREEZE = "Pass freeze=False where it is to be trained: from_pretrained freezes what it makes."


def _given_alone(seen: Seen, cls: str) -> Iterator[tuple[Source, str, bool]]:
    """The lines that give an optimizer of a class the parameters of one part of a model, and that part; or one tensor
    by its name, then False."""
    for file, script in seen.scripts.items():
        groups = [
            (key, x) for one in parts_of(script.tree, ast.Dict) for key, x in zip(one.keys, one.values, strict=True)
        ]
        given = [x for key, x in groups if getattr(key, "value", None) == "params"]
        given += [word.value for word in parts_of(script.tree, ast.keyword) if word.arg == "params"]
        alone = list(given)
        given += [call.args[0] for call in parts_of(script.tree, ast.Call) if call.args and called(call) == cls]
        for value in given:
            line = Source(file, value.lineno, script.line(value.lineno))
            if value in alone and isinstance(value, ast.Call) and called(value) == "parameters":
                yield line, ast.unparse(value.func).rpartition(".")[0].removeprefix("self."), True
            for one in value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]:
                if isinstance(one, (ast.Name, ast.Attribute)):
                    yield line, ast.unparse(one).removeprefix("self."), False


def _others(book: Book, number: int, known: Optimizer, steps: list[Happening], others: frozenset[int]) -> Found:
    held, name = book.held[number], book.optimizer(number)
    facts = [
        f"{name} holds {book.shown(held)}, none of which ever had a gradient in {len(steps)} steps",
        f"backward{at(book.backward[0].source)} gives gradients to {book.shown(others)}, which "
        + ("another optimizer holds" if others & book.in_some else "no optimizer holds"),
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
    else:
        return Found(
            said, known.source, tuple(facts), covers=names,
            remedy="Give it the parameters of the model that is trained.",
            reason="A step moves what the optimizer holds, and nothing else.",
        )  # fmt: skip
    return Found(said, known.source, tuple(facts), covers=names)


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
    yield from _freezes_no_name(seen) if book and book.reached else ()
    for file, script in seen.scripts.items() if book and book.reached else ():
        every = parts_of(script.tree, ast.Attribute)
        read = {part.attr for part in every if isinstance(part.ctx, ast.Load)}
        for part in every:
            own = isinstance(part.ctx, ast.Store) and part.attr not in (*read, "requires_grad")
            if own and SequenceMatcher(None, part.attr, "requires_grad").ratio() > _LIKE:
                yield Found(
                    f"{ast.unparse(part)} = ... freezes nothing: the attribute is called requires_grad",
                    Source(file, part.lineno, script.line(part.lineno)), (f"nothing reads {part.attr}",),
                    remedy="Call requires_grad_(False).", reason="Python takes any attribute, and nothing looks at it.",
                )  # fmt: skip


def _freezes_no_name(seen: Seen) -> Iterator[Found]:
    """A loop over named parameters that freezes those whose names begin with a word that none of them begins with,
    though it is in some."""
    nodes = (node for step in seen.trace.steps for node in step.graph if node.kind in ("leaf", "input"))
    every = {name for node in nodes for name in node.outputs[0].names}
    for line, loop in script_parts(seen, ast.For):
        models = [
            ast.unparse(call.func) for call in parts_of(loop.iter, ast.Call) if called(call) == "named_parameters"
        ]
        for choice in (part for each in loop.body for part in parts_of(each, ast.If) if models):
            test = choice.test
            plain = isinstance(test, ast.Call) and called(test) == "startswith" and len(test.args) == 1
            word = getattr(test.args[0], "value", None) if plain and isinstance(test, ast.Call) else None
            frozen = any(_OFF.search(ast.unparse(each)) for each in choice.body)
            root = models[0].removesuffix("named_parameters")
            names = [name.removeprefix(root) for name in every if name.startswith(root)]
            inside = [name for name in names if f".{word}" in name]
            # Of several modules, one that is unused may have a name that begins so.
            wrapped = len({name.partition(".")[0] for name in names}) == 1
            if frozen and isinstance(word, str) and wrapped and inside and not any(n.startswith(word) for n in names):
                source = Source(line.file, choice.lineno, seen.scripts[line.file].line(choice.lineno))
                yield Found(
                    f"no parameter of {root[:-1]} has a name that begins with {word!r}, so nothing is frozen here",
                    source, (f"one is {min(inside)}",), remedy="Use the whole name, as named_parameters() gives it.",
                    reason="Names begin with the attribute of the outermost module, such as `module.` of a wrapper.",
                )  # fmt: skip


_OFF = re.compile(r"requires_grad(_\(False\)| = False)")
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


def _schedules_too_early(seen: Seen) -> Iterator[Found]:
    """A scheduler that steps before the first step, and so on in turn: the first learning rate is never used."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        every = [each for each in book.of("schedule") if each.optimizer == number]
        calls, steps = [each for each in every if not each.words], book.steps_of(number)
        if len(calls) < OFTEN or not steps or not book.backward or len({each.source for each in calls}) > 1:
            continue
        first = [each.rate for each in every if each.at < calls[0].at][-1:]
        # A rate of 0 is one to be passed over, and one that stays is used.
        passed_over = bool(first) and first[0] > 0 and first[0] != calls[0].rate
        if passed_over and calls[0].at < min(book.backward[0].at, steps[0].at) and calls[1].at > steps[0].at:
            said = f"the scheduler{at(calls[0].source)} steps before {book.optimizer(number)} does{at(steps[0].source)}"
            yield Found(
                f"{said}: the first learning rate is never used", calls[0].source,
                (f"the first step is taken with {steps[0].rate:g}",), remedy=_AFTER, reason=_SKIPPED,
            )  # fmt: skip


_AFTER = "Call the scheduler's step at the end of the turn, after optimizer.step()."
_SKIPPED = "A scheduler sets the learning rate of the next turn, and the first is set when it is made."


def _schedules_wrongly(seen: Seen) -> Iterator[Found]:
    yield from _schedules_another(seen)
    yield from _schedules_too_early(seen)


def _moved_by_several(seen: Seen) -> Iterator[Found]:
    yield from _moved_twice(seen)
    book = book_of(seen)
    for source, updated, other, _ in follows(seen) if book else ():
        assert book is not None
        for number in book.moving:
            moved = frozenset[int]().union(*(book.sets[each.moved] for each in book.steps_of(number)))
            one, two = (
                {n for n in moved if name in book.ledger.parameters[n].name.split(".")} for name in (updated, other)
            )
            if one and two and not one & two:
                name, known = book.optimizer(number), book.ledger.optimizers[number].source
                yield Found(
                    f"{name}, made{at(known)}, also trains {updated}, which follows {other}{at(source)}",
                    known, (f"both move {book.shown(one)}", source.text),
                    reason=f"{updated} is to be made of {other} alone, and here it learns by itself as well.",
                    remedy=f"Give the optimizer the parameters of {other} alone, and call {updated} within no_grad().",
                )  # fmt: skip


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


def _its_own_weights(seen: Seen) -> Iterator[Found]:
    """A model is given back weights that were no copy: they went on with training."""
    book = book_of(seen)
    loads = book.of("load") if book else []
    for each in [each for each in loads if each.words == "nothing"]:
        yield Found(
            f"load_state_dict{at(each.source)} loads nothing: no name in what it is given is one of the model's",
            each.source, reason="With strict=False names that do not fit are passed over.",
            remedy="Take off what is before the names, such as `module.`, and look at missing_keys of what it returns.",
        )  # fmt: skip
    told = list(pairwise(book.of("state", "load"))) if book and not any(itself(seen)) else []
    times = Counter((one.source, two.source, two.words) for one, two in told if two.words in ("own", "same"))
    for (state, load, words), count in times.items():
        if words == "own" or count >= OFTEN:
            said = f"state_dict(){at(state)} gives the weights themselves, and load_state_dict{at(load)} gives the "
            yield Found(f"{said}model what it has already", state)


RULES = (
    Rule("AG801", "an optimizer holds what is not trained",
        "An optimizer holds tensors, not a model: what takes the model's place later is unknown to it.",
        "Make the optimizer last, from the model that is trained.",
        _holds_what_is_not_trained, ledger=True),
    Rule("AG802", "a parameter that gets gradients is in no optimizer",
        "Only what an optimizer holds is changed by its step.",
        "Register it in the module, and make the optimizer after that.",
        in_none, ledger=True),
    Rule("AG803", "requires_grad of a module freezes nothing",
        "requires_grad is an attribute of tensors; a module takes any attribute, and does not look at this one.",
        "Call module.requires_grad_(False).",
        _freezes_nothing, ledger=True),
    Rule("AG804", "an optimizer is made again for each step",
        "Its averages of gradients start from nothing each time, so it does not do what its name says.",
        "Make the optimizer once, before the loop.",
        _made_anew, ledger=True),
    Rule("AG808", "a scheduler of another optimizer, or too early",
        "A scheduler changes the groups of the one optimizer that it was made with.",
        "Make the scheduler after the optimizer, and with the one that steps.",
        _schedules_wrongly, ledger=True),
    Rule("AG809", "the same parameters are moved by two",
        "Each of them takes a full step by the same gradient.",
        "Give each parameter to one optimizer.",
        _moved_by_several, ledger=True),
    Rule("AG817", "weights are kept by reference, or not loaded",
        "The dict of state_dict() holds the tensors of the model, which each step changes in place.",
        "Keep a copy: copy.deepcopy(model.state_dict()).",
        _its_own_weights, ledger=True),
)  # fmt: skip
