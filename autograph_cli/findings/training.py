"""Optimizers and what they hold, steps and what they find: rules over the ledger of training."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from autograph_cli.findings.book import OFTEN, Book, Turn, at, book_of, line_that, lines_that
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import SAMPLE, Happening, Optimizer

_PLAIN = ("SGD", "LBFGS")
"""Optimizers that lose nothing when they are made anew."""
_UNFROZEN = re.compile(r"^\s*([\w.\[\]]+)\.requires_grad\s*=\s*False")
_CLEARS = re.compile(r"\.grad\s*=\s*None|\.grad(\.data)?\.(zero_|fill_)\(|\.grad\s*\*=\s*0")


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
    held = frozenset().union(*book.held)
    often = [n for n in book.reached - held if sum(n in book.given(each) for each in book.backward) >= OFTEN]
    lost = [n for n in often if not book.ledger.parameters[n].written]
    stepped = [n for n in range(len(book.ledger.optimizers)) if any(each.moved for each in book.steps_of(n))]
    told: dict[tuple[str, Source | None], list[int]] = {}
    for n in lost:
        found = _why_in_none(book, n, stepped)
        if found is not None:
            told.setdefault(found, []).append(n)
    for (why, source), numbers in told.items():
        if why in ("plain", "replaced"):
            attribute = book.ledger.parameters[numbers[0]].name.rpartition(".")[2]
            source = line_that(seen, re.compile(rf"\.{re.escape(attribute)}\s*=[^=]").search)
        yield _lost(book, why, source, numbers)


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
    if module is None and beside and "." in book.ledger.parameters[n].name:
        return "plain", None
    return None


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
    if why == "replaced":
        return Found(
            f"{shown} took the place of what an optimizer holds, and {are} never changed",
            source, (fact, "the optimizer still holds a parameter that no module has any more"),
            remedy="Change a parameter in place, under no_grad, or make the optimizer after it is replaced.",
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


def _made_anew(seen: Seen) -> Iterator[Found]:
    """An optimizer with a state that is made anew for each step."""
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
            yield Found(f"{cls} is made anew for each step, and forgets what it has averaged", source, (fact,))


def _never_steps(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    for number, known in enumerate(book.ledger.optimizers) if book else ():
        assert book is not None
        held = book.held[number]
        calls = [each for each in book.backward if book.given(each) & held]
        written = any(book.ledger.parameters[n].written for n in held)
        heard = any(each.optimizer == number and each.kind in ("step", "unscale") for each in book.happenings)
        zeroed = [each for each in book.of("zero_grad") if (each.optimizer == number or book.given(each) >= held)]
        thrown = [each for each in zeroed if book.ready(each) & held]
        alone = len(book.ledger.optimizers) == 1 and not book.ledger.more and len(calls) > OFTEN
        if written or heard or not calls or not (len(thrown) >= OFTEN or alone) or not known.at:
            continue
        name = book.optimizer(number)
        facts = [f"{name} is made{at(known.source)}, and its parameters stay as they were"]
        if thrown:
            facts.append(f"zero_grad{at(thrown[0].source)} throws the gradients away")
        scheduled = [each for each in book.of("schedule") if each.optimizer == number and not each.words]
        if scheduled:
            facts.append(f"a scheduler's step{at(scheduled[0].source)} changes the learning rate alone")
        named = line_that(seen, re.compile(rf"\s*{re.escape(name)}\.step\s*(#|$)").match)
        if named:
            facts.append(f"{line_of(named)} names {name}.step and does not call it")
        where = at(calls[-1].source)
        said = f"{name}.step() is never called: the gradients that backward{where} gives change nothing"
        yield Found(said, calls[-1].source, tuple(facts))


def _finds_nothing(seen: Seen) -> Iterator[Found]:
    """Steps that find no gradients, as they were zeroed, come too early, or are cut off."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        turns = book.turns(number)
        if len(turns) < OFTEN or any(turn.step.closure for turn in turns):
            continue
        if not any(turn.step.ready for turn in turns):
            found = _nothing(seen, book, number, turns)
        else:
            found = _behind(book, number, turns)
        if found is not None:
            yield found


def _nothing(seen: Seen, book: Book, number: int, turns: list[Turn]) -> Found | None:
    held, name, first = book.held[number], book.optimizer(number), turns[0]
    step = first.step
    covers = tuple(book.ledger.names(held))
    fact = f"{len(turns)} steps of {name}{at(step.source)} found no gradient"
    cleared = next(iter(first.cleared.values()), None)
    if cleared is not None and cleared.kind == "zero_grad":
        calls = [each for each in book.backward if each.at < cleared.at and book.gave(each) & held]
        return Found(
            f"zero_grad{at(cleared.source)} comes between backward and step: step finds no gradients",
            cleared.source, (fact, f"backward{at(calls[-1].source)} had given them"), covers=covers,
        )  # fmt: skip
    later = [each for each in book.backward if book.gave(each) & held]
    if cleared is None and later:
        return Found(
            f"{name}.step(){at(step.source)} comes before backward{at(later[0].source)}: it finds no gradients",
            step.source, (fact, *_zeroed_before(book, step, held)), covers=covers,
        )  # fmt: skip
    cut = next((each for each in book.of("cut") if book.given(each) & held), None)
    if cut is not None and not later and not held & book.reached:
        facts = (fact, f"{cut.words}{at(cut.source)} cuts what was computed from {book.shown(book.given(cut))}")
        return Found(
            f"{name}.step() finds no gradients, as {cut.words}{at(cut.source)} cuts them off",
            cut.source, facts, remedy="Let the loss of this optimizer be computed from what is not detached.",
            reason="No gradient goes through what was detached, so this network stays as it is.", covers=covers,
        )  # fmt: skip
    if cleared is not None and cleared.kind in ("step", "backward"):
        lines = lines_that(seen, _CLEARS.search)
        by = lines[0] if len(lines) == 1 else None
        who = f"{line_of(by)} sets .grad to zero or None" if by else ".grad was set to zero or None"
        return Found(
            f"{name}.step(){at(step.source)} finds no gradients: {who} after backward",
            by or step.source, (fact, f"backward{at(later[0].source)} had given them"), covers=covers,
        )  # fmt: skip
    if not book.of("backward") and not book.of("grad"):
        return Found(
            f"{name}.step(){at(step.source)} finds no gradients: backward is never called", step.source, (fact,)
        )
    return None


def _zeroed_before(book: Book, step: Happening, held: frozenset[int]) -> list[str]:
    zeroed = [each for each in book.of("zero_grad") if book.given(each) & held and book.ready(each) & held]
    return [f"zero_grad{at(zeroed[0].source)} then throws away what backward gave"] if zeroed else []


def _behind(book: Book, number: int, turns: list[Turn]) -> Found | None:
    """Each backward call runs what was computed before the step that came before it."""
    if turns[0].step.ready or len(turns) <= OFTEN:
        return None
    held = book.held[number]
    for turn in turns:
        following = next((each for each in book.backward if each.at > turn.step.at and book.given(each) & held), None)
        if following is not None and following.after > turn.step.at:
            return None
    step, backward = turns[0].step, next(each for each in book.backward if book.gave(each) & held)
    return Found(
        f"{book.optimizer(number)}.step(){at(step.source)} comes before backward{at(backward.source)}: it moves by the "
        "gradients of the turn before",
        step.source, ("the first step found no gradient", "each backward runs what was computed before the last step"),
    )  # fmt: skip


def _moves_nothing(seen: Seen) -> Iterator[Found]:
    book = book_of(seen)
    for number, known in enumerate(book.ledger.optimizers) if book else ():
        assert book is not None
        steps = [each for each in book.steps_of(number) if each.ready]
        if len(steps) <= OFTEN or any(each.moved for each in steps):
            continue
        name, source, facts = (
            book.optimizer(number),
            steps[-1].source,
            [f"{len(steps)} steps had gradients, and moved no parameter"],
        )
        scheduled = [each for each in book.of("schedule") if each.optimizer == number]
        rates = [each.rate for each in steps]
        if not any(rates):
            facts.append("the learning rate was 0 in each of them")
            if scheduled:
                facts.append(f"a scheduler sets it{at(scheduled[0].source)}")
            said = f"{name}.step() changes nothing: its learning rate is 0"
            yield Found(said, scheduled[0].source if scheduled else known.source or source, tuple(facts))
        elif all(book.ledger.parameters[n].size <= SAMPLE for n in book.ready(steps[-1])):
            dtypes = sorted({book.ledger.parameters[n].dtype for n in book.ready(steps[-1])})
            facts.append(f"the learning rate was {rates[-1]:g}, the parameters are {', '.join(dtypes)}")
            said = f"{name}.step() changes nothing: the change is too small for {', '.join(dtypes)}"
            yield Found(said, source, tuple(facts), about=tuple(book.ledger.names(book.ready(steps[-1]))))


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
        _holds_others,
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
        "an optimizer is made anew for each step",
        "Its averages of gradients start from nothing each time, so it does not do what its name says.",
        "Make the optimizer once, before the loop.",
        _made_anew,
        ledger=True,
    ),
    Rule(
        "AG805",
        "no step is taken",
        "backward only writes .grad; an optimizer changes the parameters, when it is asked to.",
        "Call optimizer.step() after backward.",
        _never_steps,
        ledger=True,
    ),
    Rule(
        "AG806",
        "a step finds no gradients, or old ones",
        "A step moves parameters by what .grad holds at that time.",
        "Keep to the order: zero_grad, backward, step.",
        _finds_nothing,
        ledger=True,
    ),
    Rule(
        "AG807",
        "a step changes nothing",
        "There are gradients, and what the optimizer makes of them is nothing.",
        "Give the optimizer a learning rate above 0; keep parameters in float32, and compute in half precision by "
        "autocast.",
        _moves_nothing,
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
