"""Modules in the mode of another stage: dropout that no mode reaches, norms that never counted or never stop, and
workers that draw the same numbers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from autograph_cli.findings.book import book_of, lines_that
from autograph_cli.findings.calls import called
from autograph_cli.findings.modes import stopped_one_by_one
from autograph_cli.findings.numbers import value_of, zeros_in
from autograph_cli.findings.records import Found, Rule, Seen, line_of
from autograph_cli.findings.ways import behind_moves, maker, saved_value, shape_of, span
from autograph_cli.graph import Edge, Node, Source
from autograph_cli.graph.cuts import LISTED
from autograph_cli.graph.records import Exact
from autograph_cli.record.names.bindings import Script

_DROPOUTS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout")
_NORM = "native_batch_norm"
_GENERATORS = ("default_rng", "RandomState", "Random", "Generator")
_VECTORS = (
    "In evaluation mode the weights are divided by what the vectors of the start make of them, which is not their norm."
)
_LOADED = ("load_state_dict", "load", "from_pretrained")


def _calls(scripts: Mapping[str, Script]) -> Iterator[tuple[str, Script, ast.Call]]:
    for file, script in scripts.items():
        for part in ast.walk(script.tree):
            if isinstance(part, ast.Call):
                yield file, script, part


def _source(file: str, script: Script, line: int) -> Source:
    return Source(file, line, script.line(line))


def _evaluates(scripts: Mapping[str, Script]) -> Source | None:
    """The first line that puts a module into evaluation mode."""
    for file, script, call in _calls(scripts):
        plain = called(call) == "eval" and isinstance(call.func, ast.Attribute) and not call.args
        off = called(call) == "train" and any(isinstance(a, ast.Constant) and a.value is False for a in call.args)
        if plain or off:
            return _source(file, script, call.lineno)
    return None


def _always_on(seen: Seen) -> Iterator[Found]:
    """Dropout that is a function without `training`, or a module that is made where it is called: of either the mode of
    the model says nothing."""
    evaluation = _evaluates(seen.scripts) if seen.is_last else None
    if evaluation is None:
        return
    ran = {(node.source.file, node.source.line) for step in seen.trace.steps for node in step.graph if node.source}
    for file, script, call in _calls(seen.scripts):
        lines = range(call.lineno, (call.end_lineno or call.lineno) + 1)
        if not _is_free_dropout(call) or not any((file, line) in ran for line in lines):
            continue
        made = isinstance(call.func, ast.Call)
        said = f"{ast.unparse(call.func)} drops out in evaluation mode too, {file}:{call.lineno}"
        fact = f"{evaluation.file}:{evaluation.line} puts the model into evaluation mode: {evaluation.text}"
        remedy = "Make the module once, in __init__, where train() and eval() reach it." if made else ""
        reason = "A module that is made in each call is in training mode, whatever the model is in." if made else ""
        yield Found(said, _source(file, script, call.lineno), (fact,), (), remedy, reason)


def _is_free_dropout(call: ast.Call) -> bool:
    """Return whether it is `F.dropout(x, 0.1)` or `nn.Dropout(0.1)(x)`."""
    if isinstance(call.func, ast.Call):
        return called(call.func).startswith("Dropout")
    names = {word.arg for word in call.keywords}
    functional = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).rpartition(".")[2] in _FUNCTIONS
    return called(call) in _DROPOUTS and functional and not names & {"training", None} and len(call.args) < 3


_FUNCTIONS = ("F", "functional")


def _never_counted(seen: Seen) -> Iterator[Found]:
    """Batch norms that are trained with the statistics that they began with."""
    if not seen.is_last or seen.trace.total_steps < 2:
        return
    norms = [node for node in seen.graph if node.op == _NORM and node.id in seen.reached and len(node.args) > 4]
    found = [node for node in norms if _is_at_start(seen, node)]
    where = _evaluates(seen.scripts)
    # Norms that are chosen among others are stopped on purpose.
    chosen = where is None or not re.match(r"\w+\.(eval|train)\(", where.text)
    if found and not chosen and not any(map(stopped_one_by_one, seen.scripts.values())):
        names = list(dict.fromkeys(node.module for node in found if node.module))
        listed = ", ".join(names[:LISTED]) or "batch norm"
        said = f"{listed} is trained in evaluation mode, with the mean 0 and the variance 1 that it began with"
        facts = () if where is None else (f"{where.file}:{where.line}: {where.text}",)
        yield Found(said, where or found[0].source, facts, tuple(node.id for node in found))


def _is_at_start(seen: Seen, node: Node) -> bool:
    given, mean, variance = (node.args[position] for position in (1, 3, 4))
    learned = seen.graph[given.node].kind == "leaf"
    start = span(value_of(seen, mean)) == (0.0, 0.0) and span(value_of(seen, variance)) == (1.0, 1.0)
    return learned and start and saved_value(node, "training") == "False"


def _dropout_off(seen: Seen) -> Iterator[Found]:
    """A model with dropout that is put into evaluation mode, never out of it, and trained so."""
    book = book_of(seen)
    if book is None or book.ledger.more or any(called(call) in _LOADED for _, _, call in _calls(seen.scripts)):
        return
    on = any(node.op in ("bernoulli", "native_dropout") for step in seen.trace.steps for node in step.graph)
    moved = frozenset().union(*(book.sets[each.moved] for each in book.of("step")))
    modes = [each for each in book.of("mode") if book.given(each) & moved]
    steps = [each for each in book.of("step") if each.moved]
    if len(modes) == 1 and modes[0].words == "eval" and modes[0].at < steps[0].at and not on and _has_dropout(seen):
        names = ", ".join(sorted({book.root(number) for number in book.given(modes[0]) & moved} - {""}))
        said = f"{names or 'a model'} is trained in evaluation mode, where its dropout does nothing"
        yield Found(said, modes[0].source, (f"{len(steps)} steps came after it, and no train()",))


def _has_dropout(seen: Seen) -> bool:
    """Return whether no script makes dropout of a part that may be 0."""
    made = [call for _, _, call in _calls(seen.scripts) if called(call).startswith("Dropout")]
    parts = [
        next(iter([*call.args[:1], *(word.value for word in call.keywords if word.arg == "p")]), None) for call in made
    ]
    return bool(made) and all(part is None or (isinstance(part, ast.Constant) and part.value) for part in parts)


def _never_estimated(seen: Seen) -> Iterator[Found]:
    """Spectral norms that are trained with the vectors that they began with: only training mode makes better ones."""
    where = _evaluates(seen.scripts) if seen.is_last and seen.trace.total_steps > 1 else None
    if where is None or any(called(call) in _LOADED for _, _, call in _calls(seen.scripts)):
        return
    norms = [list(_with_fixed_vectors(Seen(seen.trace, step))) for step in seen.trace.steps]
    for node in norms[-1] if all(norms) else ():
        said = f"{node.module} is trained in evaluation mode, where its spectral norm is never estimated again"
        yield Found(said, where, (), (node.id,), "", _VECTORS)


def _with_fixed_vectors(seen: Seen) -> Iterator[Node]:
    """The divisions of weights by u . (W v), where u and v are of the module, and nothing was copied into them."""
    for node in seen.graph:
        if node.op != "div" or node.id not in seen.reached or len(node.args) != 2:
            continue
        weights, norm = behind_moves(seen, node.args[0]), seen.graph[node.args[1].node]
        product = maker(seen, norm.args[1]) if norm.op in ("dot", "vdot") else norm
        if product.op == "mv" and behind_moves(seen, product.args[0]) == weights:
            vectors = [maker(seen, norm.args[0]), maker(seen, product.args[1])]
            if all(each.outputs[0].names and each.kind != "operation" and each.op != "copy_" for each in vectors):
                yield node


def _in_evaluation(seen: Seen) -> Iterator[Found]:
    counted = list(_never_counted(seen))
    yield from counted or _dropout_off(seen)
    yield from _never_estimated(seen)


def _still_counting(seen: Seen) -> Iterator[Found]:
    """Batch norms whose weights are frozen, and whose statistics are not, where these or parts beside are in use."""
    evaluation = _evaluates(seen.scripts)
    if not seen.is_last or not seen.graph.passes or seen.trace.total_steps < 2:
        return
    found = [
        node
        for node in seen.graph
        if node.op == _NORM and len(node.args) > 4 and saved_value(node, "training") == "True"
        if all(_is_frozen(seen, node.args[position], node) for position in (1, 2)) and _is_in_frozen(seen, node)
    ]
    if evaluation is None:
        found = [node for node in found if _is_part(seen, node)]
    if found:
        names = list(dict.fromkeys(node.module for node in found))
        said = f"{', '.join(names[:LISTED])} is frozen, and goes on counting its mean and variance"
        facts = [f"{seen.name(node.args[1])} requires no gradient" for node in found[:LISTED]]
        if evaluation is not None:
            facts.append(f"{line_of(evaluation)} calls eval, and it is in training mode here: {evaluation.text}")
        yield Found(said, found[0].source, tuple(dict.fromkeys(facts)), tuple(node.id for node in found))


def _is_part(seen: Seen, node: Node) -> bool:
    """Return whether other parts of the same model are trained, and none that a frozen copy follows, or that is frozen
    by turns."""
    book, root, tail = book_of(seen), node.module.partition(".")[0], node.module.rpartition(".")[2]
    shape = shape_of(seen, node.args[1])
    trained = [leaf for leaf in seen.graph if leaf.kind == "leaf" and leaf.id in seen.reached]
    beside = [leaf for leaf in trained if leaf.module.partition(".")[0] == root]
    twins = [leaf for leaf in beside if leaf.module.rpartition(".")[2] == tail and leaf.outputs[0].type.shape == shape]
    turns = {known.name for known in book.ledger.parameters} if book else {seen.name(node.args[1])}
    return bool(beside) and not twins and seen.name(node.args[1]) not in turns


def _is_in_frozen(seen: Seen, node: Node) -> bool:
    """Return whether weights of the same model are frozen beside those of a norm, which may be fixed on purpose."""
    root = node.module.partition(".")[0]
    beside = [each for each in seen.graph if each.module.partition(".")[0] == root and each.module != node.module]
    return any(each.kind == "input" and len(shape_of(seen, Edge(each.id))) > 1 for each in beside)


def _is_frozen(seen: Seen, edge: Edge, node: Node) -> bool:
    made = seen.graph[edge.node]
    return made.kind == "input" and bool(made.module) and made.module == node.module


def _same_numbers(seen: Seen) -> Iterator[Found]:
    """A data set that keeps a generator, or seeds one in each call, and a loader with several workers."""
    loaders = [one for one in _calls(seen.scripts) if called(one[2]) == "DataLoader" and _workers(one[2])]
    if not seen.is_last or not loaders:
        return
    words = {word.arg: word.value for _, _, call in loaders for word in call.keywords}
    for file, script in seen.scripts.items():
        for kept, line, drawn in _kept_generators(script.tree):
            if "worker_init_fn" not in words:
                said = f"each worker draws the same numbers from {kept}, which is copied to it"
                fact = f"{file}:{drawn}: {script.line(drawn)}"
                loader = f"{loaders[0][0]}:{loaders[0][2].lineno} has several workers"
                yield Found(said, _source(file, script, line), (fact, loader))
        for line in _seeds_alike(script.tree, words.get("worker_init_fn")):
            said = f"each worker is given the same seed, and so draws the same numbers, {file}:{line}"
            yield Found(
                said, _source(file, script, line), (f"{loaders[0][0]}:{loaders[0][2].lineno} has several workers",)
            )


def _drawn_alike(seen: Seen) -> Iterator[Found]:
    """Dropout that leaves out the same numbers in the first and in the last step, so many that it is no chance."""
    first, book = Seen(seen.trace, seen.of_kind[0], seen.scripts), book_of(seen)
    # A closure is run several times in a step, and is to be one function.
    closed = book is not None and any(each.closure for each in book.of("step"))
    before, now = (dict(_masks(each)) for each in (first, seen)) if seen.is_last and not closed else ({}, {})
    alike = [user for user in now if now[user] == before.get(user)] if first.step is not seen.step else []
    if alike:
        lines = lines_that(seen, _SEEDS.search)
        said = f"dropout at {line_of(alike[0])} leaves out the same numbers in each step"
        fact = f"its mask in step {seen.step.nth} is that of step {first.step.nth}"
        facts = (fact, *(f"{line_of(line)} seeds: {line.text}" for line in lines[:LISTED]))
        yield Found(said, alike[0], facts, (), _SEED_ONCE, _NO_CHANCE)


def _masks(seen: Seen) -> Iterator[tuple[Source, Exact]]:
    """The numbers that dropout multiplies by, where they are many and not all the same, by the line of this."""
    for node in seen.graph:
        mask = node.measured.exact[0] if node.op == "bernoulli" and node.measured and node.measured.exact else None
        users = seen.users.get(Edge(node.id), ())
        if mask is not None and mask.count >= _MANY and 0 < zeros_in(value_of(seen, Edge(node.id))) < mask.count:
            yield from ((user.source, mask) for user in users if user.source is not None and user.id in seen.reached)


_MANY = 64
"""The numbers of a mask that two steps do not draw alike by chance."""
_SEEDS = re.compile(r"\b(manual_seed|set_rng_state|seed_everything)\(")
_SEED_ONCE = "Seed once, before the loop, and not in each turn."
_NO_CHANCE = (
    "What is left out is to change from step to step: here some weights are never trained, and all depend on few."
)


def _same_draws(seen: Seen) -> Iterator[Found]:
    yield from _same_numbers(seen)
    yield from _drawn_alike(seen)


def _workers(call: ast.Call) -> bool:
    """Return whether a loader has more workers than one."""
    given = [word.value for word in call.keywords if word.arg == "num_workers"]
    return bool(given) and not (isinstance(given[0], ast.Constant) and given[0].value in (0, 1))


def _kept_generators(tree: ast.AST) -> Iterator[tuple[str, int, int]]:
    """The generators that a data set makes once and reads in each call: the attribute, and both lines."""
    for cls in (part for part in ast.walk(tree) if isinstance(part, ast.ClassDef)):
        methods = {part.name: part for part in cls.body if isinstance(part, ast.FunctionDef)}
        if "__init__" not in methods or "__getitem__" not in methods:
            continue
        for part in ast.walk(methods["__init__"]):
            value = part.value if isinstance(part, ast.Assign) else None
            makes = any(
                isinstance(one, ast.Call) and called(one) in _GENERATORS for one in ast.walk(value or ast.Pass())
            )
            if isinstance(part, ast.Assign) and makes and isinstance(part.targets[0], ast.Attribute):
                name = ast.unparse(part.targets[0])
                uses = [one for one in ast.walk(methods["__getitem__"]) if isinstance(one, ast.Attribute)]
                drawn = [one.lineno for one in uses if ast.unparse(one) == name]
                if drawn:
                    yield name, part.lineno, drawn[0]


def _seeds_alike(tree: ast.AST, given: ast.expr | None) -> Iterator[int]:
    """The lines of `worker_init_fn` that seed without regard to the worker."""
    functions: list[ast.FunctionDef | ast.Lambda] = [given] if isinstance(given, ast.Lambda) else []
    if isinstance(given, ast.Name):
        functions += [part for part in ast.walk(tree) if isinstance(part, ast.FunctionDef) and part.name == given.id]
    for function in functions:
        for call in (part for part in ast.walk(function) if isinstance(part, ast.Call)):
            constant = bool(call.args) and all(isinstance(argument, ast.Constant) for argument in call.args)
            if called(call) in ("seed", "manual_seed") and constant:
                yield call.lineno


RULES = (
    Rule("AG604", "dropout that no mode reaches",
        "F.dropout has training=True by default, so eval() changes nothing: what is tested is another model each time.",
        "Pass training=self.training, or use a module, nn.Dropout, that is made in __init__.",
        _always_on),
    Rule("AG605", "a model is trained in evaluation mode from the start",
        "In evaluation mode dropout does nothing, and batch norm takes the statistics that it has, and counts none.",
        "Call train() before the loop; eval() is for testing.",
        _in_evaluation, ("values",)),
    Rule("AG606", "a frozen batch norm goes on counting",
        "requires_grad=False keeps weight and bias: the running mean and variance change in each forward pass in "
        "training mode, and so does what the frozen part makes.",
        "Call eval() of the frozen part, after each train() of the whole.",
        _still_counting),
    Rule("AG607", "the same numbers are drawn again",
        "Each worker of a DataLoader is a copy of the process: PyTorch seeds torch, random and NumPy's global "
        "generator in each, and no other.",
        "Make the generator in the worker, from torch.initial_seed(), or draw with torch or NumPy's global functions.",
        _same_draws),
)  # fmt: skip
