"""Reads a graph as formulas, and differentiates these by the chain rule as often as the script did."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Sequence

import sympy

from autograph_cli.formulas.functions import Expr, TensorFunction, pulled, unknown
from autograph_cli.formulas.records import Formula, FormulaError
from autograph_cli.formulas.rules import RULES, Call, pull
from autograph_cli.formulas.sheet import Shape, Sheet
from autograph_cli.formulas.writing import latex, name_latex, text
from autograph_cli.graph.names import output_names, shown_name, told_apart
from autograph_cli.graph.records import Edge, Graph, Node, Pass

MOST = 300
"""Operations of a graph that formulas are written for."""
LONG = 48
"""An expression of more characters than this gets a name of its own where it is used further."""
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def derive(graph: Graph) -> tuple[Formula, ...]:
    """The formulas of a graph; see `formulas_of`."""
    graph = told_apart(graph)
    count = sum(node.kind == "operation" and node.pass_id is None for node in graph)
    if count > MOST:
        raise FormulaError(f"formulas are written for up to {MOST} operations, and the graph has {count}")
    found = _Reading(graph).formulas()
    if not found:
        raise FormulaError("there is no formula to write: the graph has no named value that was computed")
    return found


class _Reading:
    """Turns nodes into expressions on a sheet; the results of a backward call are derived, not read."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.names = graph, output_names(graph)
        self.sheet = Sheet()
        self.values: dict[Edge, Expr] = {}
        self.results = {
            edge: (entry, position)
            for entry in graph.passes
            for position, edge in enumerate(entry.results)
            if edge is not None
        }
        self.lines: list[tuple[str, int, Expr, int | None]] = []
        self.done: dict[int, list[Expr]] = {}
        self.parts = 0

    def formulas(self) -> tuple[Formula, ...]:
        for entry in self.graph.passes:
            self.derive(entry)
        for root in self.graph.roots:
            self.value(Edge(root.node, root.nr))
        return tuple(self._written(name, order, expr, pass_id) for name, order, expr, pass_id in self.lines)

    def _written(self, name: str, order: int, expr: Expr, pass_id: int | None) -> Formula:
        rough = any(isinstance(each, (unknown, pulled)) for each in sympy.preorder_traversal(expr))
        in_latex = " = ".join([*map(name_latex, name.split(" = ")), latex(expr)])
        return Formula(name, order, text(expr), in_latex, expr, pass_id, rough)

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
        return node.kind in ("leaf", "input") or node.pass_id is not None

    def _name(self, edge: Edge) -> str:
        return shown_name(self.names[edge.node][edge.nr])

    def _read(self, edge: Edge, node: Node) -> Expr:
        shape = node.outputs[edge.nr].type.shape
        name = self._name(edge)
        if edge in self.results:
            entry, position = self.results[edge]
            found = self.derive(entry)[position]
            return self.sheet.define(name, shape, found)
        if self._given(node) or any(arg not in self.values for arg in node.args):
            return self.sheet.define(name, shape)
        made = self._computed(edge, node, shape)
        if not node.outputs[edge.nr].names:
            if len(text(made)) <= LONG:
                return made
            self.parts += 1
            name = f"t{self.parts}".translate(_LOWERED)
        self.lines.append((name, 0, made, None))
        return self.sheet.define(name, shape, made)

    def _computed(self, edge: Edge, node: Node, shape: Shape) -> Expr:
        args = [self.values[arg] for arg in node.args]
        shapes = [self.graph.nodes[arg.node].outputs[arg.nr].type.shape for arg in node.args]
        plain = {saved.name.removeprefix("_saved_"): _plain(saved.value) for saved in node.saved if saved.type is None}
        plain |= {name: _plain(value) for name, value in node.constants}
        rule = RULES.get(node.op.strip("_"))
        try:
            if rule is not None and edge.nr == 0:
                return rule(Call(self.sheet, args, shapes, plain, shape))
        except (KeyError, IndexError, TypeError):
            pass  # an argument that was not recorded
        kept = [arg for arg in args if any(True for _ in self.sheet.atoms(arg))]
        return self.sheet.apply(unknown, shape, sympy.Symbol(f"{node.op}#{edge.nr}" if edge.nr else node.op), *kept)

    # -- derivatives

    def derive(self, entry: Pass) -> list[Expr]:
        """The derivatives of the roots of a pass by what it was asked for, in that order."""
        if entry.id in self.done:
            return self.done[entry.id]
        roots = [self.value(root) for root in entry.roots]
        wanted = [self.value(edge) for edge in entry.inputs]
        wanted = [each if each in self.sheet.definitions else self._named(each) for each in wanted]
        top = self._roots_text(entry.roots)
        chain = _Chain(self.sheet, top, roots, wanted, self._gradient_of(entry))
        found = chain.run()
        self.lines += [
            (part.name, entry.order, self.sheet.definitions[part], entry.id) for part in chain.parts.values()
        ]
        exprs = []
        for position, (symbol, expr) in enumerate(zip(wanted, found, strict=True)):
            exprs.append(expr)
            own = entry.results[position] if position < len(entry.results) else None
            named = own is not None and self.graph.nodes[own.node].outputs[own.nr].names
            name = f"d{top}/d{symbol.name}"
            if own is not None and named:
                name = self._name(own) if "′" in self._name(own) else f"{self._name(own)} = {name}"
            self.lines.append((name, entry.order, expr, entry.id))
        self.done[entry.id] = exprs
        return exprs

    def _named(self, expr: Expr) -> Expr:
        """What an expression is differentiated by, as a symbol."""
        return self.sheet.define(f"({text(expr)})", self.sheet.shape(expr))

    def _roots_text(self, roots: Sequence[Edge]) -> str:
        names = [self._name(root) for root in roots]
        return names[0] if len(names) == 1 else f"({' + '.join(names)})"

    def _gradient_of(self, entry: Pass) -> list[Expr]:
        """The gradient that each root starts with: 1 of a scalar, else what the script gave, which has a name."""
        found = []
        for root in entry.roots:
            shape = self.graph.nodes[root.node].outputs[root.nr].type.shape
            found.append(sympy.Integer(1) if not shape else self.sheet.define("v", shape))
        return found


class _Chain:
    """The chain rule from roots back to what is wanted, from the last definition to the first."""

    def __init__(
        self, sheet: Sheet, top: str, roots: Sequence[Expr], wanted: Sequence[Expr], start: Sequence[Expr]
    ) -> None:
        self.sheet, self.top, self.wanted = sheet, top, wanted
        self.parts: dict[Expr, Expr] = {}
        """Gradients that have a name, and their symbols."""
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
            if made is not None:
                part = self._part(f"d{self.top}/d{symbol.name}", gradient, self.sheet.shapes[symbol])
                self._through(made, part, self.sheet.shapes[symbol])
        return [found.get(symbol, sympy.Integer(0)) for symbol in self.wanted]

    def _part(self, name: str, gradient: Expr, shape: Shape) -> Expr:
        """A gradient that is used further, under a name of its own if it is long."""
        if len(text(gradient)) <= LONG:
            return gradient
        if gradient not in self.parts:
            self.parts[gradient] = self.sheet.define(name, shape, self.sheet.filled(gradient, shape))
        return self.parts[gradient]

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


def _plain(value: str) -> object:
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
