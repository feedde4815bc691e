"""Steps that find nothing, or change nothing: rules over the ledger of training."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise, takewhile

from autograph_cli.findings.book import OFTEN, Book, Turn, at, book_of, lines_that, not_called
from autograph_cli.findings.calls import around, called, parts_of
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.graph import Source
from autograph_cli.graph.ledger import SAMPLE, Happening
from autograph_cli.record.names.bindings import Script

_CLEARS = re.compile(r"\.grad\s*=\s*None|\.grad(\.data)?\.(zero_|fill_)\(|\.grad\s*\*=\s*0")


def _rebound(seen: Seen) -> Iterator[Found]:
    """A loop over parameters that gives its variable another tensor, `p = p - lr * p.grad`, and changes none; or over
    those of two models, of which one is to follow the other."""
    book = book_of(seen)
    if not seen.is_last or seen.trace.failure or not seen.graph.passes:
        return
    stepped = book is not None and any(book.ledger.parameters[number].written for number in book.reached)
    for file, script in seen.scripts.items():
        for loop in parts_of(script.tree, ast.For):
            names = {part.id for part in parts_of(loop.target, ast.Name)}
            models = [call for call in parts_of(loop.iter, ast.Call) if called(call) in ("parameters", "buffers")]
            for part in (part for each in loop.body for part in parts_of(each, ast.Assign)):
                name, read = ast.unparse(part.targets[0]), {x.id for x in parts_of(part.value, ast.Name)}
                follows = len(models) > 1 and bool(read & names - {name})
                by_gradient = f"{name}.grad" in ast.unparse(part.value) and not stepped
                if name in names and (follows or by_gradient) and _is_for_nothing(script, loop, part, name):
                    said = f"{name} = ... gives the name {name} another tensor, and changes no parameter"
                    remedy = _IN_PLACE if by_gradient else _COPY
                    yield Found(said, Source(file, part.lineno, script.line(part.lineno)), (), (), remedy, _NAMES)


def _is_for_nothing(script: Script, loop: ast.For, part: ast.Assign, name: str) -> bool:
    """Return whether nothing reads what the variable of a loop is given there, and nothing is changed in place."""
    end = part.end_lineno or 0, part.end_col_offset or 0
    within = around(script.tree, part.lineno, ast.For, ast.While)
    later = [x for x in parts_of(script.tree, ast.Name) if x.id == name and (x.lineno, x.col_offset) > end]
    read = [
        x
        for x in later
        if isinstance(x.ctx, ast.Load) and any(one.line == part.lineno for one in script.before(name, x.lineno))
    ]
    in_place = any(called(call).endswith("_") for call in parts_of(part.value, ast.Call))
    return not read and not in_place and all(each.lineno <= loop.lineno for each in within)


_IN_PLACE = "Change it in place, within torch.no_grad(): p -= lr * p.grad."
_COPY = "Change it in place, within torch.no_grad(): p.copy_(...), or p.mul_(decay).add_(other, alpha=1 - decay)."
_NAMES = "The variable of a loop is a name: the tensor that it stood for stays as it was."


def _not_taken(seen: Seen) -> Iterator[Found]:
    yield from _never_steps(seen)
    yield from _rebound(seen)


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
        named = not_called(seen, "step")
        if named:
            facts.append(f"{line_of(named)} names step and does not call it")
        where = at(calls[-1].source)
        said = f"{name}.step() is never called: the gradients that backward{where} gives change nothing"
        yield Found(said, calls[-1].source, tuple(facts))


def _finds_nothing(seen: Seen) -> Iterator[Found]:
    """Steps that find no gradients, as they were zeroed, come too early, or are cut off."""
    book = book_of(seen)
    for number in range(len(book.ledger.optimizers)) if book else ():
        assert book is not None
        turns = book.turns(number)
        if any(turn.step.closure for turn in turns):
            continue
        if len(turns) < OFTEN:
            found = _thrown_away(seen, book, number)
        elif not any(turn.step.ready for turn in turns):
            found = _nothing(seen, book, number, turns)
        else:
            found = _taken_away(seen, book, number) or _behind(book, number, turns) or _thrown_away(seen, book, number)
            found = found or _used_again(seen, book, number)
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
    # What is trained is held by none: AG801. A leaf that is made in each turn is nothing to be trained.
    often = Counter(n for each in book.backward for n in book.given(each))
    strange = [n for n in book.reached - book.in_some if often[n] >= OFTEN]
    if cut is not None and not later and not held & book.reached and not strange:
        facts = (fact, f"{cut.words}{at(cut.source)} cuts what was computed from {book.shown(book.given(cut))}")
        through, remedy = _through(cut.words)
        off = f"{line_of(cut.source)} records no gradients" if remedy is _RECORD else ""
        off = off or f"{cut.words}{at(cut.source)} cuts them off"
        return Found(
            f"{name}.step() finds no gradients, as {off}", cut.source, facts, covers=covers, remedy=remedy,
            reason=f"No gradient goes through {through}, so this network stays as it is.",
        )  # fmt: skip
    clips = [each for each in book.between(0, step.at, ("clip",)) if book.ready(each) & held]
    if cleared is step and clips:
        return Found(
            f"{clips[0].words}{at(clips[0].source)} leaves nothing of the gradients: {name}.step() finds none",
            clips[0].source, (fact, f"backward{at(later[0].source)} had given them"), covers=covers,
            remedy="Give it a limit above 0.",
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
    told = {each.name for each in seen.trace.notices if each.kind != "unused"} & set(covers)
    return None if told or strange or held & book.reached else _of_others(book, number, turns, fact)


def _of_others(book: Book, number: int, turns: list[Turn], fact: str) -> Found | None:
    """Each step follows a backward call that gives gradients to the parameters of others alone."""
    before = [list(book.between(0, turn.step.at, ("backward", "step"))) for turn in turns]
    last = [each[-1] for each in before if each and each[-1].kind == "backward"]
    # Where copies are trained, AG801 tells of it.
    copied = any(module.copied for n in book.reached if (module := book.module(n)))
    if copied or len(last) < len(turns) or len({each.source for each in last}) > 1:
        return None
    name = book.optimizer(number)
    return Found(
        f"{name}.step() finds no gradients: the loss of backward{at(last[0].source)} does not hang on what it holds",
        last[0].source, (fact, f"it gives gradients to {book.shown(book.given(last[0]))}, and to nothing of {name}"),
        covers=tuple(book.ledger.names(book.held[number])),
        remedy="Compute this loss by the network that it is to train.",
    )  # fmt: skip


def _through(op: str) -> tuple[str, str]:
    """Return what no gradient goes through where this operation cuts it, and what to do."""
    if op.startswith("arg") or op in _WHOLE:
        return "a comparison" if op in _COMPARED else "an index", _WEIGH
    return ("what was detached", _NOT_DETACHED) if op == "detach" else ("what is computed without recording", _RECORD)


_RECORD = "Compute it outside of no_grad, where gradients are recorded."
_NOT_DETACHED = "Let the loss of this optimizer be computed from what is not detached."
_COMPARED = ("gt", "ge", "lt", "le", "eq", "ne")
_WHOLE = ("multinomial", "bernoulli", "one_hot", *_COMPARED)
_WEIGH = "Weigh what may be picked, by softmax or gumbel_softmax, or learn from the logarithm of its probability."


def _zeroed_before(book: Book, step: Happening, held: frozenset[int]) -> list[str]:
    zeroed = [each for each in book.of("zero_grad") if book.given(each) & held and book.ready(each) & held]
    return [f"zero_grad{at(zeroed[0].source)} then throws away what backward gave"] if zeroed else []


def _taken_away(seen: Seen, book: Book, number: int) -> Found | None:
    """Each backward call leaves some parameters without a gradient, as a hook takes it away while the call runs."""
    calls = [each for each in book.of("backward") if book.sets[each.gone] & book.held[number]]
    changed = frozenset().union(*(book.sets[each.moved] | book.ready(each) for each in book.of("step")))
    gone = frozenset().union(*(book.sets[each.gone] for each in calls)) & book.held[number] - changed
    lost = [n for n in gone - book.reached if not book.ledger.parameters[n].written]
    if len(calls) < OFTEN or not lost:
        return None
    hooks = lines_that(seen, re.compile(r"\.register_\w*hook\(").search)
    them = "them" if len(lost) > 1 else "it"
    return Found(
        f"backward{at(calls[0].source)} leaves no gradient of {book.shown(lost)}: a hook sets .grad to None while it "
        f"runs, and {book.optimizer(number)}.step() does not change {them}",
        hooks[0] if len(hooks) == 1 else calls[0].source,
        tuple(f"{line_of(one)} registers a hook: {one.text}" for one in hooks[:OFTEN]),
        covers=tuple(book.ledger.names(lost)), remedy="Let hooks read .grad, and leave it in its place.",
    )  # fmt: skip


def _thrown_away(seen: Seen, book: Book, number: int) -> Found | None:
    """Each step uses the last of several backward calls, as zero_grad throws away what the others gave: those of one
    line, or of another one, where there is one optimizer and all that they gave is its own."""
    held = book.held[number]
    about = [each for each in book.of("backward", "zero_grad", "step") if book.given(each) & held]
    counts, thrown, lines, lost = list[int](), list[Happening](), set(), set()
    for before, each in pairwise(about):
        if each.kind == "step":
            counts.append(len(thrown) - sum(counts))
        elif each.kind == "zero_grad" and before.kind == "backward" and book.ready(each) >= held & book.given(before):
            thrown.append(each)
            lost.add(before.source if book.given(before) <= held else None)
        lines |= {each.source} if each.kind == "backward" else set()
    taken = [each for each in (*book.of("step"), *book.ledger.later) if each.kind == "step"]
    steady = len(counts) >= OFTEN and len(set(counts)) == 1 and len(thrown) > OFTEN
    # Of long epochs the first alone is written down, or not all of that.
    steady = steady or (len(counts) < OFTEN and len(thrown) >= _STEADY and bool(taken))
    apart = len(lost) == 1 and len(book.ledger.optimizers) == 1 and None not in lost and not book.ledger.hooks
    if not steady or not (len(lines) == 1 or apart) or any(each.optimizer != number for each in taken):
        return None
    some = f"{counts[0]} of {counts[0] + 1} backward calls" if counts else f"{len(thrown)} backward calls or more"
    some = some if len(lines) == 1 else f"backward{at(*lost)}"
    # Who reads or writes gradients has kept them elsewhere.
    if lines_that(seen, re.compile(r"\.grad\b").search):
        return None
    return Found(
        f"zero_grad{at(thrown[0].source)} throws away the gradients of {some} before each "
        f"{book.optimizer(number)}.step()",
        thrown[0].source,
        () if len(lines) > 1 else (f"backward{at(lines.pop())} gave them",),
        remedy="To add up gradients of several batches, or losses, call zero_grad after step alone.",
    )  # fmt: skip


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


def _used_again(seen: Seen, book: Book, number: int) -> Found | None:
    """A step comes after another one with nothing between that gives new gradients, time after time."""
    held = book.held[number]
    again = [
        (first, step)
        for first, step in pairwise(book.steps_of(number))
        if book.sets[step.moved]
        and not any(book.given(each) & held for each in book.between(first.at, step.at, ("backward", "zero_grad")))
    ]
    # Who writes gradients by hand gives new ones.
    if len(again) < OFTEN or lines_that(seen, re.compile(r"\.grad\b").search):
        return None
    name, steps = book.optimizer(number), len(book.steps_of(number))
    return Found(
        f"{name}.step(){at(again[0][1].source)} steps again by gradients that it has used: no backward call gives new "
        "ones in between",
        again[0][1].source, (f"{len(again)} of its {steps} steps do so",),
        remedy="Step where backward is called, and there alone.",
    )  # fmt: skip


def _at_the_end(seen: Seen, book: Book, number: int, rates: list[float]) -> float:
    """The learning rate of the last kept step, as far as it goes on falling as it did in the first steps: else it has
    fallen for the end of training alone."""
    later = [each.rate for each in book.ledger.later if each.kind == "step" and each.optimizer == number]
    if not later or not rates or not rates[0]:
        return float("inf")
    return max(later[-1], rates[0] * float((rates[-1] / rates[0]) ** (seen.trace.total_steps / len(rates))))


_STEADY = 8
"""The backward calls that must have lost their gradients where their step may come much later."""


def _idle(seen: Seen) -> Iterator[Found]:
    """A group of an optimizer that gets gradients, and whose learning rate is 0 in all of its steps, in a script that
    never sets it."""
    book = book_of(seen)
    for number, known in enumerate(book.ledger.optimizers) if book and not lines_that(seen, _SETS.search) else ():
        assert book is not None
        if any(each.optimizer == number for each in book.of("schedule")):
            continue
        steps = [each for each in book.ledger.heard if each.kind == "step" and each.optimizer == number]
        idle = frozenset.intersection(*(book.sets[each.idle] & book.ready(each) for each in steps)) if steps else ()
        still = [n for n in idle if not book.ledger.parameters[n].written]
        if still and len(steps) > OFTEN and any(each.moved for each in steps):
            name, each = book.optimizer(number), "s" * (len(still) == 1)
            yield Found(
                f"{name}, made{at(known.source)}, has a group whose learning rate is 0: {book.shown(still)} get{each} "
                f"gradients, and never change{each}",
                known.source, (f"{name}.step(){at(steps[-1].source)} changes the others",),
                remedy="Give the group a learning rate, or freeze what is to stay: requires_grad_(False).",
            )  # fmt: skip


_SETS = re.compile(r"""param_groups\b.*\[.lr.\]\s*[*+]?=[^=]|^\s*\w+\[.lr.\]\s*[*+]?=[^=]""")


def _moves_nothing(seen: Seen) -> Iterator[Found]:
    yield from _idle(seen)
    book = book_of(seen)
    for number, known in enumerate(book.ledger.optimizers) if book else ():
        assert book is not None
        steps = [each for each in book.steps_of(number) if each.ready]
        still = list(takewhile(lambda each: not each.moved, reversed(steps)))
        scheduled = [each for each in book.of("schedule") if each.optimizer == number]
        rates = [each.rate for each in steps]
        least = GONE * max(rates, default=0.0)
        gone = [rate for nr, rate in enumerate(rates) if max(rates[nr:]) < least]
        name, source = book.optimizer(number), steps[-1].source if steps else None
        facts = [f"{len(still)} steps had gradients, and moved no parameter"] if still else []
        if scheduled and (len(gone) > OFTEN or _at_the_end(seen, book, number, rates) < least):
            later = len(gone) <= OFTEN
            said = f"{name}.step() changes hardly anything {'soon' if later else 'any more'}: the scheduler"
            said += f"{at(scheduled[-1].source)} has brought its learning rate from {max(rates):g} to {rates[-1]:g}"
            said += f" in {len(rates)} of {seen.trace.total_steps} steps" if later else ""
            remedy = "Call the scheduler's step as often as it is made for, which is mostly once in an epoch."
            facts.append(f"it was called {len(scheduled)} times in {len(steps)} steps")
            yield Found(said, scheduled[-1].source, tuple(facts), remedy=remedy)
            continue
        if len(steps) <= OFTEN or len(still) < len(steps):
            continue
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


def _options(seen: Seen) -> Iterator[Found]:
    """Optimizers with numbers by which they cannot train: momentum that never fades, decay that outweighs a step."""
    book = book_of(seen)
    for number, known in enumerate(book.ledger.optimizers) if book else ():
        assert book is not None
        given, steps = dict(known.options), book.steps_of(number)
        decay, rate = given.get("weight_decay", 0.0), max((step.rate for step in steps), default=0.0)
        shrinks = decay * rate if known.cls in ("SGD", "AdamW") else decay if known.cls == "Adam" else 0.0
        wrong = [words for name, words in _LIMITS.items() if name in given and given[name] >= 1]
        if given.get("beta1", 0.0) > given.get("beta2", 1.0):
            wrong.append(_TURNED)
        if shrinks >= (1 if known.cls == "Adam" else MUCH):
            wrong.append(_EATS)
        if wrong and len(steps) > OFTEN:
            words = {name: f"{value:g}" for name, value in given.items()} | {"rate": f"{rate:g}"}
            said, reason, remedy = wrong[0]
            yield Found(
                f"{book.optimizer(number)}, made{at(known.source)}, has {said.format_map(words)}", known.source,
                remedy=remedy, reason=reason,
            )  # fmt: skip


_FADES = "What is kept of earlier steps is to fade: else it grows with each step, and the parameters run away."
_LIMITS = {
    "momentum": ("momentum={momentum}", _FADES, "Use less than 1, mostly 0.9."),
    "beta1": ("a first beta of {beta1}", _FADES, "Use less than 1, mostly 0.9."),
}
_TURNED = (
    "betas=({beta1}, {beta2}), of which the first is the larger",
    "Squares are averaged over fewer steps than the gradients: what a step is divided by is noise.",
    "Turn them round: the first, mostly 0.9, is of the gradients, the second, mostly 0.999, of their squares.",
)
_EATS = (
    "weight_decay={weight_decay} at a learning rate of {rate}, which outweighs the gradients",
    "Decay takes a part of each weight in each step: with so much of it they go to zero, whatever the loss says.",
    "Use a decay that is smaller by orders of magnitude, such as 1e-2 for AdamW or 1e-4 for others.",
)
MUCH = 0.1
"""The part of each weight that is too much for decay to take in one step."""
GONE = 1e-5
"""The part of itself to which a learning rate falls that ends training."""


RULES = (
    Rule("AG805", "no step is taken",
        "backward only writes .grad; an optimizer changes the parameters, when it is asked to.",
        "Call optimizer.step() after backward.",
        _not_taken, ledger=True),
    Rule("AG806", "a step finds no gradients, or old ones",
        "A step moves parameters by what .grad holds at that time.",
        "Keep to the order: zero_grad, backward, step.",
        _finds_nothing, ledger=True),
    Rule("AG807", "a step changes nothing",
        "There are gradients, and what the optimizer makes of them is nothing.",
        "Give the optimizer a learning rate above 0; keep parameters in float32, and compute in half precision by "
        "autocast.",
        _moves_nothing, ledger=True),
    Rule("AG818", "an optimizer with numbers by which it cannot train",
        "The step that it takes is not one along the gradient any more.",
        "Begin with the defaults of the optimizer.",
        _options, ledger=True),
)  # fmt: skip
