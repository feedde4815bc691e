"""Reads a graph as formulas, and differentiates these by the chain rule as often as the script did."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import sympy

from autograph_cli import torch
from autograph_cli.formulas.calls import Given, call
from autograph_cli.formulas.checking import Evaluator, Trial, judge
from autograph_cli.formulas.functions import Expr, TensorFunction, called, factored, ones, pulled
from autograph_cli.formulas.operations import FILLED, Unknown, bound, recorded
from autograph_cli.formulas.records import Formula, FormulaError
from autograph_cli.formulas.replay import Played, played_operations, views_of
from autograph_cli.formulas.rules import RULES, Call, pull
from autograph_cli.formulas.sheet import Shape, Sheet
from autograph_cli.formulas.writing import latex, name_latex, text
from autograph_cli.graph.names import output_names, shown_name, told_apart
from autograph_cli.graph.records import UNGRADED, Edge, Graph, Node, Pass

MOST = 300
"""Operations of a graph that formulas are written for."""
NUMBERS = 20_000_000
"""In all tensors of a graph that formulas are written for."""
LONG = 48
"""An expression of more characters than this gets a name of its own where it is used further."""
FEW = 24
"""Characters of a tensor's numbers that are written out where it has no name."""
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def derive(graph: Graph, *, needed: bool = False) -> tuple[Formula, ...]:
    """The formulas of a graph; see `formulas_of`."""
    graph = told_apart(graph)
    count = sum(node.kind == "operation" and node.pass_id is None for node in graph)
    if count > MOST:
        raise FormulaError(f"formulas are written for up to {MOST} operations, and the graph has {count}")
    numbers = sum(math.prod(output.type.shape) for node in graph for output in node.outputs)
    if numbers > NUMBERS:
        raise FormulaError(
            f"formulas are checked with numbers, of up to {NUMBERS:,} in all tensors, and the graph has {numbers:,}"
        )
    found = _Reading(graph).formulas()
    if not found and not any(output.names for node in graph if node.computes for output in node.outputs):
        raise FormulaError("there is no formula to write: the graph has no named value that was computed")
    if needed and not found:
        raise FormulaError(_why_none(graph))
    return found


def _why_none(graph: Graph) -> str:
    """Return a sentence on a graph without formulas: the first operation of the script that cannot be run again."""
    known = played_operations(graph)
    own = (node for node in graph if node.kind == "operation" and node.pass_id is None)
    unknown = next((node for node in own if node.id not in known), None)
    if unknown is None:
        return "no formula gives the numbers of this graph, as far as it can be run again"
    where = f" at {unknown.source.file}:{unknown.source.line}" if unknown.source is not None else ""
    try:
        bound(unknown)
    except Unknown as error:
        reason = str(error)
    else:
        reason = "takes no tensor"
    return (
        f"a formula is checked by running its operations again, and {unknown.op or unknown.name}{where} cannot be: it "
        f"{reason}"
    )


@dataclass(frozen=True)
class _Line:
    """A formula before it is checked."""

    name: str
    order: int
    expr: Expr
    pass_id: int | None = None
    symbol: Expr | None = None
    """The symbol that stands for it further on."""
    edge: Edge | None = None
    """The tensor that it is, or of a derivative the one that it is by; None: it is a name for the expression."""


class _Reading:
    """Turns nodes into expressions on a sheet; the results of a backward call are derived, not read."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.names = graph, output_names(graph)
        self.sheet = Sheet()
        self.operations = played_operations(graph)
        self.values: dict[Edge, Expr] = {}
        self.results = {
            edge: (entry, position)
            for entry in graph.passes
            for position, edge in enumerate(entry.results)
            if edge is not None
        }
        self.lines: list[_Line] = []
        self.edges: dict[Expr, Edge] = {}
        """The tensor that each symbol is."""
        self.starts: dict[Expr, tuple[int, int]] = {}
        """The pass and the root of each symbol for a gradient that the script gave."""
        self.literals: dict[Expr, Expr] = {}
        """A symbol of the numbers for each tensor of few that the script wrote out and gave no name, where they are
        recorded."""
        self.unnamed: set[Expr] = set()
        """Symbols of tensors that the script made of nothing and gave no name, as the integers of `randint`."""
        self.own: set[Expr] = set()
        """Symbols that are no name of the script, and mean nothing where their line is not written."""
        self.done: dict[int, list[Expr]] = {}
        self.titles: dict[tuple[int, int], str] = {}
        """The names of the derivatives of each pass."""
        self.parts = 0

    def formulas(self) -> tuple[Formula, ...]:
        for entry in self.graph.passes:
            self.derive(entry)
        for root in self.graph.roots:
            self.value(Edge(root.node, root.nr))
        return tuple(self._written(line) for line in self._holding())

    def _holding(self) -> list[_Line]:
        """The lines that give the graph's numbers and stand on such only."""
        made = {line.symbol: line.expr for line in self.lines if line.symbol is not None}
        trials = [Trial(line.expr, partial(self._expected, line)) for line in self.lines]
        judge(trials, partial(Played, self.graph, self.operations), partial(self._evaluator, made))
        kept, missing = [], set(self.own)
        for line, trial in zip(self.lines, trials, strict=True):
            if (line.edge is None or trial.passed) and missing.isdisjoint(line.expr.free_symbols):
                kept.append(line)
                missing.discard(line.symbol)
        used = {symbol for line in kept if line.symbol not in self.own for symbol in line.expr.free_symbols}
        for line in reversed(kept):
            if line.symbol in used:
                used |= line.expr.free_symbols
        return [
            line
            for line in kept
            if (line.symbol not in self.own or line.symbol in used) and (line.order or line.expr not in self.unnamed)
        ]

    def _expected(self, line: _Line, played: Played) -> Any:
        if line.edge is None:
            return None
        if line.pass_id is None:
            return played.number(line.edge)
        return played.gradient(self.graph.passes[line.pass_id], line.edge)

    def _evaluator(self, made: dict[Expr, Expr], played: Played) -> Evaluator:
        values = {symbol: found for symbol, edge in self.edges.items() if (found := played.number(edge)) is not None}
        values |= {
            symbol: played.starts[at].detach().numpy() for symbol, at in self.starts.items() if at in played.starts
        }
        return Evaluator(values, self.sheet.calls, made)

    def _written(self, line: _Line) -> Formula:
        rough = any(isinstance(each, pulled) for each in sympy.preorder_traversal(line.expr))
        shown = self.sheet.averaged(line.expr).xreplace(self.literals)
        in_latex = " = ".join([*map(name_latex, line.name.split(" = ")), latex(shown)])
        return Formula(line.name, line.order, text(shown), in_latex, line.expr, line.pass_id, rough)

    # -- the script's own operations

    def value(self, edge: Edge) -> Expr:
        if edge not in self.values:
            self._read_up_to(edge)
        return self.values[edge]

    def _read_up_to(self, edge: Edge) -> None:
        """Read what an output hangs on, the first made first."""
        stack, begun = [edge], set[Edge]()
        while stack:
            last = stack[-1]
            node = self.graph.nodes[last.node]
            if last not in begun and not self._given(node):
                begun.add(last)
                stack += [arg for arg in node.args if arg not in self.values and arg not in begun]
            else:
                stack.pop()
                if last not in self.values:
                    self.values[last] = self._read(last, node)

    def _given(self, node: Node) -> bool:
        return not node.args or node.pass_id is not None

    def _name(self, edge: Edge) -> str:
        return shown_name(self.names[edge.node][edge.nr])

    def _read(self, edge: Edge, node: Node) -> Expr:
        shape, name = node.outputs[edge.nr].type.shape, self._name(edge)
        named = bool(node.outputs[edge.nr].names)
        if edge in self.results:
            entry, position = self.results[edge]
            found = self.derive(entry)[position]
            return self._defined(edge, name if named else self.titles[entry.id, position], shape, found)
        if node.kind == "untracked" and node.op in FILLED and _is_float(node, edge) and not named:
            return sympy.Integer(FILLED[node.op])
        made = None
        if not self._given(node) and all(arg in self.values for arg in node.args):
            with suppress(ArithmeticError, IndexError, KeyError, TypeError):  # arguments that these shapes do not take
                made = self._computed(edge, node, shape)
        if made is None:
            symbol = self._defined(edge, name, shape)
            if node.kind in UNGRADED and not node.args:
                self.sheet.constant.add(symbol)
                values = "" if named else _written_out(dict(node.constants).get("values", ""), shape)
                self.unnamed |= set() if named else {symbol}
                if values:
                    self.literals[symbol] = sympy.Symbol(values, real=True)
            elif not named and node.kind != "leaf":
                self.own.add(symbol)  # its name is told nowhere
            return symbol
        return self._of_script(edge, node, name if named else "", made)

    def _of_script(self, edge: Edge, node: Node, name: str, made: Expr) -> Expr:
        """Return what stands for a computed tensor: a symbol of its name; without one, of a part, or all of the
        expression."""
        fixed = node.kind == "untracked" and _is_float(node, edge) and self.sheet.moves(made)
        if not name and len(text(made)) <= LONG and not fixed:
            return made
        if not name:
            self.parts += 1
        symbol = self._defined(
            edge, name or f"t{self.parts}".translate(_LOWERED), node.outputs[edge.nr].type.shape, made
        )
        if not name:
            self.own.add(symbol)
        if fixed:
            self.sheet.constant.add(symbol)
        self.lines.append(_Line(symbol.name, 0, made, symbol=symbol, edge=edge))
        return symbol

    def _defined(self, edge: Edge, name: str, shape: Shape, expr: Expr | None = None) -> Expr:
        symbol = self.sheet.define(name, shape, expr)
        self.edges[symbol] = edge
        return symbol

    def _computed(self, edge: Edge, node: Node, shape: Shape) -> Expr | None:
        """The expression of an operation's output; None where it cannot be run again."""
        args = [self.values[arg] for arg in node.args]
        shapes = [self.graph.nodes[arg.node].outputs[arg.nr].type.shape for arg in node.args]
        if node.op == "detach":
            made = self.sheet.call(called, "detach({0})", shape, torch.Tensor.detach, args[0])
            self.sheet.constant.add(made)
            return made
        if node.id not in self.operations:
            return None
        if node.name == "CopySlices":
            return self._written_into(node, args, shapes)
        made = self._same_view(node) or self._result(edge, node, args, shapes, shape)
        if not _is_float(node, edge) and isinstance(made, TensorFunction):
            self.sheet.constant.add(made)
        return made

    def _same_view(self, node: Node) -> Expr | None:
        """A view that is made anew after a change of its base was written through just that view."""
        changed = self.graph.nodes[node.args[0].node]
        if node.op != "as_strided" or changed.name != "CopySlices":
            return None
        views, given = views_of(self.graph, changed), recorded(node)
        base = self.values[node.args[0]]
        shape = changed.outputs[0].type.shape
        places = torch.arange(math.prod(shape)).reshape(shape)
        made = base
        for view in views:
            places = self.operations[view.id](places)[0]
            made = self._result(Edge(view.id), view, [made], [shape], view.outputs[0].type.shape)
            shape = view.outputs[0].type.shape
        there = places.shape, places.stride(), places.storage_offset()
        return made if there == tuple(given.get(name) for name in ("size", "stride", "storage_offset")) else None

    def _result(self, edge: Edge, node: Node, args: list[Expr], shapes: list[Shape], shape: Shape) -> Expr:
        bound = self.operations[node.id]
        rule = RULES.get(bound.record.name.strip("_"))
        if rule is not None and edge.nr == 0:
            try:
                return rule(Call(self.sheet, args, shapes, recorded(node), shape))
            except (KeyError, IndexError, TypeError):
                pass  # not one that algebra has
        masks = [self.graph.nodes[arg.node].outputs[arg.nr].type.dtype == "bool" for arg in node.args]
        return call(Given(self.sheet, args, shapes, shape, bound, edge.nr, masks))

    def _written_into(self, node: Node, args: list[Expr], shapes: list[Shape]) -> Expr | None:
        """A tensor of which a part was changed: itself, and at the part the difference."""
        try:
            views = views_of(self.graph, node)
        except Unknown:
            return None
        part = self._result(Edge(node.id), node, args, shapes, shapes[0])
        base = self.values[views[0].args[0]]
        shape = node.outputs[0].type.shape
        inner = self.sheet.apply(ones, shape, shape) if base.is_number else base
        if self.sheet.shape(inner) != shape:
            return None
        made = []
        for view in views:
            inner = factored(self._result(Edge(view.id), view, [inner], [shape], view.outputs[0].type.shape))[1]
            shape = view.outputs[0].type.shape
            made.append((inner, shape))
        difference = part - args[0]
        for inner, shape in reversed(made):
            if not isinstance(inner, TensorFunction):
                return None
            difference = pull(self.sheet, inner, self.sheet.filled(difference, shape))[0][1]
        return base + difference

    # -- derivatives

    def derive(self, entry: Pass) -> list[Expr]:
        """The derivatives of the roots of a pass by what it was asked for, in that order."""
        if entry.id in self.done:
            return self.done[entry.id]
        roots = [self.value(root) for root in entry.roots]
        wanted = [self.value(edge) for edge in entry.inputs]
        wanted = [
            each if each in self.sheet.definitions else self._named(edge, each)
            for edge, each in zip(entry.inputs, wanted, strict=True)
        ]
        top = self._roots_text(entry.roots)
        chain = _Chain(self.sheet, top, roots, wanted, self._gradient_of(entry))
        found = chain.run()
        for symbol, part in chain.parts.items():
            edge = self.edges.get(chain.origins[symbol]) if symbol in chain.origins else None
            self.lines.append(_Line(symbol.name, entry.order, part, entry.id, symbol, edge))
            self.own.add(symbol)
        exprs = []
        for position, (symbol, expr, edge) in enumerate(zip(wanted, found, entry.inputs, strict=True)):
            exprs.append(expr)
            own = entry.results[position] if position < len(entry.results) else None
            named = own is not None and self.graph.nodes[own.node].outputs[own.nr].names
            name = f"d{top}/d{symbol.name}"
            if own is not None and named:
                name = self._name(own) if "′" in self._name(own) else f"{self._name(own)} = {name}"
            self.titles[entry.id, position] = name
            self.lines.append(_Line(name, entry.order, expr, entry.id, edge=edge))
        self.done[entry.id] = exprs
        return exprs

    def _named(self, edge: Edge, expr: Expr) -> Expr:
        """Return what an expression is differentiated by, as a symbol."""
        return self._defined(edge, f"({text(expr)})", self.sheet.shape(expr))

    def _roots_text(self, roots: Sequence[Edge]) -> str:
        names = [
            self._name(root) if self.graph.nodes[root.node].outputs[root.nr].names else self._unnamed(root)
            for root in roots
        ]
        return names[0] if len(names) == 1 else f"({' + '.join(names)})"

    def _unnamed(self, root: Edge) -> str:
        written = text(self.value(root))
        return written if self.value(root).is_Symbol else f"({written})"

    def _gradient_of(self, entry: Pass) -> list[Expr]:
        """The gradient that each root starts with: 1 of a scalar, else what the script gave, which has a name."""
        found = []
        for position, root in enumerate(entry.roots):
            shape = self.graph.nodes[root.node].outputs[root.nr].type.shape
            found.append(sympy.Integer(1) if not shape else self.sheet.define("v", shape))
            if shape:
                self.starts[found[-1]] = (entry.id, position)
        return found


class _Chain:
    """The chain rule from roots back to what is wanted, from the last definition to the first."""

    def __init__(
        self, sheet: Sheet, top: str, roots: Sequence[Expr], wanted: Sequence[Expr], start: Sequence[Expr]
    ) -> None:
        self.sheet, self.top, self.wanted = sheet, top, wanted
        self.parts: dict[Expr, Expr] = {}
        """Gradients that have a name, by their symbols."""
        self.origins: dict[Expr, Expr] = {}
        """The symbols that those are derivatives by."""
        self.known: dict[tuple[Expr, Shape], Expr] = {}
        self.gradients: dict[Expr, list[Expr]] = defaultdict(list)
        self.order = list(sheet.definitions)
        for root, gradient in zip(roots, start, strict=True):
            self._add(root, gradient)

    def run(self) -> list[Expr]:
        found: dict[Expr, Expr] = {}
        for symbol in reversed(self.order):
            if symbol not in self.gradients:
                continue
            gradient = found[symbol] = self.sheet.shortest(sympy.Add(*self.gradients[symbol]))
            made = self.sheet.definitions[symbol]
            if made is not None and symbol not in self.sheet.constant:
                part = self._part(f"d{self.top}/d{symbol.name}", gradient, self.sheet.shapes[symbol])
                if part in self.parts:
                    self.origins.setdefault(part, symbol)
                self._through(made, part, self.sheet.shapes[symbol])
        return [found.get(symbol, sympy.Integer(0)) for symbol in self.wanted]

    def _part(self, name: str, gradient: Expr, shape: Shape) -> Expr:
        """A gradient that is used further, under a name of its own if it is long."""
        if len(text(gradient)) <= LONG:
            return gradient
        key = gradient, shape
        if key not in self.known:
            whole = self.sheet.filled(gradient, shape)
            self.known[key] = symbol = self.sheet.define(name, shape, whole)
            self.parts[symbol] = whole
        return self.known[key]

    def _add(self, expr: Expr, gradient: Expr) -> None:
        if expr in self.sheet.definitions:
            self.gradients[expr].append(gradient)
        else:
            self._through(expr, gradient, self.sheet.shape(expr))

    def _through(self, expr: Expr, gradient: Expr, shape: Shape) -> None:
        """Hand the gradient of an expression to all that it is made of."""
        if expr in self.sheet.shapes and isinstance(expr, TensorFunction):
            gradient = self._part("δ", self.sheet.shortest(gradient), shape)
            for inner, back, nominal in pull(self.sheet, expr, gradient):
                if back != 0:
                    self._through_or_add(inner, back, nominal)
            return
        for atom in dict.fromkeys(self.sheet.atoms(expr)):
            if atom in self.sheet.constant:
                continue
            slope = self.sheet.derivative(expr, atom)
            if slope == 0:
                continue
            back = self.sheet.reduced(gradient * slope, shape, self.sheet.shapes[atom])
            if atom in self.sheet.definitions:
                self.gradients[atom].append(back)
            else:
                self._through(atom, back, self.sheet.shapes[atom])

    def _through_or_add(self, inner: Expr, back: Expr, nominal: Shape) -> None:
        own = self.sheet.shape(inner)
        back = self.sheet.reduced(back, nominal, own) if nominal != own else back
        if inner in self.sheet.definitions:
            self.gradients[inner].append(back)
        elif any(True for _ in self.sheet.atoms(inner)):
            self._through(inner, back, own)


def _written_out(values: str, shape: Shape) -> str:
    """Return the numbers of a tensor as a list, if they are few.

    >>> _written_out("[1, 2]", (2,)), _written_out("-1", (1, 2)), _written_out("-1", ())
    ('[1, 2]', '[[-1, -1]]', '(-1)')
    """
    if not values or not (values[0] in "[-." or values[0].isdigit()) or math.prod(shape) > FEW:
        return ""
    if not values.startswith("["):  # all are this number
        values = f"({values})" if values.startswith("-") and not shape else values
        for size in reversed(shape):
            values = f"[{', '.join([values] * size)}]"
    return values if len(values) <= FEW else ""


def _is_float(node: Node, edge: Edge) -> bool:
    return node.outputs[edge.nr].type.dtype.startswith(("float", "bfloat"))
