"""Graphs by chance that keep the rules of the records, and no others: what any exporter must take."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence

from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, ModuleCall, Node, Output, Pass, Root, Source, TensorType
from autograph_cli.graph.records import Measured, Run, Saved, Values

NAMES = (
    *("x", "w", "loss", "net.0.weight", "layers.3.bias", "x~2", "w.grad", "self.h", "xs[3]", "r0", "n1", "t2_0"),
    *(
        "</script><b>",
        "\"&'",
        "权重",
        "שלום",
        "🙂",
        "\u2028",
        "a\nb",
        "\x1b[31m",
        "a" * 900,
        "→ ∂ • × 3",
        "{x|y}",
        "%7",
        "",
    ),
)
"""Among them such as keys, numbers and marks of the pictures look like."""
TYPES = (
    *(TensorType("float32", shape) for shape in ((), (3,), (2, 4), (2, -1), (0,), (1,) * 9)),
    *(TensorType("int64", (3,)), TensorType("", ()), TensorType("float64", (3,), "cuda:0")),
)
OPERATIONS = (
    *("add", "mul", "sub", "div", "tanh", "relu", "sum", "mean", "mm", "addmm", "pow", "t", "view", "select", "slice"),
    *("cat", "stack", "index", "softmax", "copy_", "fill_", "expand", "my op", "</b>", "权重", "_x" * 90),
)
SEVERAL = ("unbind", "split", "topk", "native_layer_norm")
CONSTANTS = (("other", "2"), ("dim", "1"), ("dim", "[0, 1]"), ("keepdim", "True"), ("p", "nan"), ("text", "</b>" * 40))
LINES = ("y = x * w", "", "</pre>", "权" * 300, "for i in range(9): h = f(h)")
FILES = ("a.py", "/far/away/b.py", "<string>", "ü ber.py", "")
SIZES = (0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 25, 28, 32, 36, 40, 60, 150)
CLASSES = ("Linear", "Block", "Net", "类", "<lambda>", "")


_FIRST, _, _LAST = os.environ.get("AUTOGRAPH_GRAPHS", "60").rpartition("-")
"""How many graphs tests draw, or which: 600, or 690-1290."""


def batches(at_once: int) -> list[range]:
    """The numbers of the graphs to draw, so many for each test."""
    first, last = int(_FIRST or 0), int(_LAST)
    return [range(start, min(last, start + at_once)) for start in range(first, last, at_once)]


def random_graph(seed: int) -> Graph:
    """The graph of this number; one in ten is empty or a single node, and one in twenty has more than a hundred."""
    return _Draw(seed).graph()


class _Draw:
    def __init__(self, seed: int) -> None:
        self.plain = seed % 10 == 9
        """Whether it is a model such as other programs know."""
        self.chance = random.Random(seed)
        self.nodes: list[Node] = []
        self.calls: list[ModuleCall] = []
        self.passes: list[Pass] = []
        self.results: list[Edge] = []
        """What an operation may be given."""
        self.odd = self.some(0.3)
        """Whether names, lines and facts are odd, and not only absent."""
        self.tells = not self.some(0.1)
        """Whether the engine tells what operations were given."""
        self.measures = self.some(0.3)

    def some(self, share: float) -> bool:
        return self.chance.random() < share

    def graph(self) -> Graph:
        size = self.chance.choice(SIZES)
        if self.plain:
            kind = Output(TYPES[1])
            self.add(Node(0, "leaf", "AccumulateGrad", "", (kind,)))
            while len(self.nodes) < 5 + size // 4:
                op, args = self.chance.choice((("tanh", self.results[-1:]), ("mul", (self.results * 2)[-2:])))
                edges = tuple(args)
                self.add(Node(0, "operation", f"{op.title()}Backward0", op, (kind,), edges, edges))
            return Graph(tuple(self.nodes), (Root("y", len(self.nodes) - 1),))
        self.modules(self.chance.choice((0, 0, 1, 4, 8)))
        pieces = (
            self.single,
            self.single,
            self.loop,
            self.layers,
            self.written,
            self.siblings,
            self.backward,
            self.detached,
        )
        if size:
            self.source()
        while len(self.nodes) < size:
            self.chance.choice(pieces)()
        return Graph(tuple(self.nodes), tuple(self.roots()), tuple(self.passes), tuple(self.calls))

    # What nodes are made of

    def add(self, node: Node) -> int:
        number = len(self.nodes)
        self.nodes.append(replace(node, id=number, measured=self.measured(node) if self.measures else None))
        self.results += [Edge(number, nr) for nr in range(len(node.outputs))]
        return number

    def name(self) -> str:
        return self.chance.choice(NAMES if self.odd else NAMES[:12])

    def output(self, type_: TensorType | None = None) -> Output:
        names = tuple(self.name() for _ in range(self.chance.choice((0, 0, 0, 1, 1, 2))))
        return Output(type_ or self.type(), names, self.chance.choice((None, 0, 1)))

    def type(self) -> TensorType:
        return self.chance.choice(TYPES if self.odd else TYPES[:3])

    def line(self) -> Source | None:
        if self.some(0.2):
            return None
        file = self.chance.choice(FILES) if self.odd else FILES[0]
        return Source(file, self.chance.randrange(1, 9), self.chance.choice(LINES) if self.odd else LINES[0])

    def saved(self) -> tuple[Saved, ...]:
        kinds = (
            Saved("self", self.type(), bytes=12, storage=self.chance.choice((None, 0, 1)), given=self.some(0.5)),
            Saved("dim", value="1"),
            Saved(self.name(), None),
        )
        return tuple(self.chance.choice(kinds) for _ in range(self.chance.choice((0, 0, 1, 2))))

    def measured(self, node: Node) -> Measured | None:
        values = (None, Values(("[1, 2]", "[nan, inf]")), Values((), "-1", "0", "1e30", 9, 2, 1, (1,) * 16, "3"))
        some = tuple(self.chance.choice(values) for _ in node.outputs)
        whole = Measured(
            some,
            some[: self.chance.randrange(2)],
            self.chance.choice((None, 0, 10**12)),
            7,
            formula=("self: grad * other",),
            inside=_Draw(self.chance.randrange(99)).small() if self.some(0.1) else None,
            began=len(self.nodes),
            flops=self.chance.choice((None, 0, 64)),
            runs=(Run(1, 2, 3),) * self.chance.randrange(3),
            error=self.chance.choice((None, 0.0, 0.5)),
            wrong=self.chance.choice(("", "order 1")),
        )
        return self.chance.choice((None, Measured(), whole, whole))

    def small(self) -> Graph:
        """Such as is inside of a node."""
        self.measures = False
        for _ in range(3):
            self.single()
        return Graph(tuple(self.nodes), tuple(self.roots()))

    # Pieces

    def modules(self, many: int) -> None:
        """Calls of modules, one in the other; some of them of one module."""
        for number in range(many):
            parent = self.chance.randrange(number) if number and self.some(0.7) else None
            path = self.chance.choice(("net", "net.0", "net.1", "net.0.fc", self.name()))
            self.call(path, parent)

    def call(self, path: str, parent: int | None = None, cls: str = "") -> int:
        turn = 1 + sum(call.path == path for call in self.calls)
        cls = cls or self.chance.choice(CLASSES[: 6 if self.odd else 3])
        self.calls.append(ModuleCall(len(self.calls), path, cls, parent, turn, turn + 1, self.chance.choice((0, 12))))
        return len(self.calls) - 1

    def somewhere(self) -> int | None:
        return self.chance.randrange(len(self.calls)) if self.calls and self.some(0.7) else None

    def source(self, call: int | None = None) -> int:
        """A leaf or an input; of a module, or made in a call of one."""
        kind, name = self.chance.choice((("leaf", "AccumulateGrad"), ("leaf", "AccumulateGrad"), ("input", "Input")))
        module = self.chance.choice(self.calls).path if self.calls and self.some(0.5) else ""
        made_in = call if call is not None else self.somewhere() if self.some(0.2) else None
        return self.add(Node(0, kind, name, "", (self.output(),), module=module, call=made_in, source=self.line()))

    def given(self, many: int) -> list[Edge]:
        """Mostly what is new, sometimes a new leaf or what is long past."""
        found = []
        for _ in range(many):
            if self.some(0.25):
                self.source()
            recent = self.results[-6:] if self.some(0.8) else self.results
            found.append(self.chance.choice(recent) if recent else Edge(self.source()))
        return found

    def single(self) -> int:
        op = self.chance.choice(OPERATIONS if self.odd else OPERATIONS[:20])
        return self.operation(op, self.given(self.chance.choice((0, 1, 1, 2, 2, 3))), call=self.somewhere())

    def operation(
        self,
        op: str,
        args: Sequence[Edge],
        *,
        call: int | None = None,
        source: Source | None = None,
        outputs: Sequence[Output] = (),
        **facts: object,
    ) -> int:
        """An operation on these; where none of them has a gradient, or by chance, one that autograd did not record."""
        graded = [edge if self.nodes[edge.node].kind in ("leaf", "operation") else None for edge in args]
        many = self.chance.choice((2, 3, 5)) if op in SEVERAL else 1
        node = Node(
            0,
            "operation" if any(graded) and not ("order" not in facts and self.some(0.1)) else "untracked",
            "",
            op,
            tuple(outputs) or tuple(self.output() for _ in range(many)),
            source=source or self.line(),
            module=self.chance.choice(("", "net")) if call is None else self.calls[call].path,
            call=call,
            constants=tuple(self.chance.choice(CONSTANTS) for _ in range(self.chance.choice((0, 0, 1, 2)))),
        )
        if node.kind == "untracked":
            return self.add(replace(node, args=tuple(args)))
        custom = op if self.some(0.05) else f"{op.title()}Backward0"
        told = tuple(args) if self.tells else ()
        return self.add(replace(node, name=custom, next=tuple(graded), args=told, saved=self.saved(), **facts))

    def loop(self) -> None:
        """Turns of the same lines, which carry something or not, with leaves of all or of each, in one module or in
        one for each turn, and some with a loop inside or a result that is taken out."""
        body = [
            (self.chance.choice(OPERATIONS[:8]), Source("a.py", 20 + at)) for at in range(self.chance.randrange(1, 4))
        ]
        carried, shared, own = self.some(0.7), self.source(), self.some(0.5)
        mode = self.chance.choice(("none", "shared", "each"))
        fed, taken = self.given(1)[0], []
        state = fed
        kind, names = Output(TYPES[1]), self.chance.choice(("ws.{}", "w"))
        for turn in range(self.chance.choice((3, 4, 6))):
            call = None if mode == "none" else self.call(f"rnn.{turn}" if mode == "each" else "rnn", None, "Cell")
            weight = shared
            if own:
                name = (names.format(turn),)
                weight = self.add(
                    Node(
                        0,
                        self.chance.choice(("leaf", "leaf", "input")),
                        "AccumulateGrad",
                        "",
                        (Output(TYPES[1], name),),
                    )
                )
            last = state if carried else fed
            for at, (op, source) in enumerate(body * self.chance.choice((1, 1, 1, 2))):
                args = (last, Edge(weight)) if at % 2 == 0 else (last,)
                last = Edge(self.operation(op, args, call=call, source=source, outputs=(kind,)))
            state = last
            if self.some(0.3):
                taken.append(last)
        self.operation("stack", [state, *taken], call=None)

    def layers(self) -> None:
        """Equal modules in a row, each with a module inside and a way around it."""
        around = self.call(self.name(), self.somewhere(), "Model")
        x, kind, skip = self.given(1)[0], (Output(TYPES[1]),), self.some(0.5)
        for number in range(self.chance.choice((2, 3, 5))):
            path = f"model.blocks.{number}"
            block = self.call(path, around, "Block")
            inner = self.call(f"{path}.fc", block, "Linear")
            weight = Node(
                0, "leaf", "AccumulateGrad", "", (Output(TYPES[1], (f"{path}.fc.weight",)),), module=f"{path}.fc"
            )
            y = Edge(
                self.operation("mul", [x, Edge(self.add(weight))], call=inner, source=Source("a.py", 50), outputs=kind)
            )
            x = Edge(
                self.operation("add", [y, x] if skip else [y], call=block, source=Source("a.py", 51), outputs=kind)
            )

    def siblings(self) -> None:
        """Calls of one module on different tensors, compared at the end."""
        weight = self.source()
        made = []
        for at in range(3):
            call = self.call("embed", None, "Linear")
            x = self.add(Node(0, "input", "Input", "", (Output(TYPES[1], (("anchor", "pos", "neg")[at],)),)))
            y = Edge(x)
            for op in ("mm", "tanh"):
                y = Edge(
                    self.operation(
                        op, [y, Edge(weight)], call=call, source=Source("a.py", 60), outputs=(Output(TYPES[1]),)
                    )
                )
            made.append(y)
        self.operation("cat", made)

    def detached(self) -> None:
        """A tensor of a module, or another, without its gradient, and what is made of that."""
        own = [edge for edge in self.results if self.nodes[edge.node].module]
        given = self.chance.choice(own) if own and self.some(0.7) else self.given(1)[0]
        kind = self.nodes[given.node].outputs[given.nr].type
        node = Node(0, "untracked", "", "detach", (Output(kind),), args=(given,), source=self.line())
        cut = Edge(self.add(replace(node, call=None if self.some(0.6) else self.somewhere())))
        if self.some(0.7):
            cut = Edge(self.operation("mul", [cut], call=self.somewhere()))
        for other in (given, self.given(1)[0])[: self.chance.randrange(1, 3)]:
            cut = Edge(self.operation("mm", [cut, other], call=self.somewhere()))
        self.backward(cut.node)

    def written(self) -> None:
        """In-place writes into views of a base, one after the other."""
        base = self.given(1)[0]
        if self.nodes[base.node].kind == "leaf":
            base = Edge(self.operation("mul", [base]))
        kind = self.nodes[base.node].outputs[base.nr].type
        for _ in range(self.chance.choice((1, 2, 4))):
            view, value = Edge(self.operation(self.chance.choice(("select", "slice")), [base])), self.given(1)[0]
            graded = tuple(
                edge if self.nodes[edge.node].kind in ("leaf", "operation") else None for edge in (base, value)
            )
            names = ("CopySlices", "operation") if any(graded) else ("", "untracked")
            node = Node(
                0,
                names[1],
                names[0],
                "copy_",
                (self.output(kind),),
                graded if any(graded) else (),
                (view, value),
                source=self.line(),
            )
            base = Edge(self.add(node))

    def backward(self, top: int | None = None) -> None:
        """A pass over what a node was made from, which makes derivatives of some of what it ran, and sums of them."""
        tops = [node.id for node in self.nodes[-30:] if node.kind == "operation" and top in (None, node.id)]
        if not tops or len(self.passes) > 4:
            return
        top = self.chance.choice(tops)
        ran, stack = {top}, [top]
        while stack:
            for edge in self.nodes[stack.pop()].next:
                if edge is not None and edge.node not in ran:
                    ran.add(edge.node)
                    stack.append(edge.node)
        order = 1 + max(self.nodes[number].order for number in ran)
        number, made = len(self.passes), []
        facts = {"order": order, "pass_id": number}
        grad = Edge(self.add(Node(0, "input", "Input", "", (Output(TYPES[1]),), pass_id=number, order=order)))
        create = self.some(0.8)
        for node in sorted(ran, reverse=True)[:12] if create else ():
            for op in ("mul", "sum")[: self.chance.randrange(3)]:
                args = [grad if not made or self.some(0.3) else self.chance.choice(made), Edge(node)]
                parent = {"parent": node} if self.some(0.9) else {}
                made.append(Edge(self.operation(op, args, call=self.nodes[node].call, **facts, **parent)))
            if len(made) > 1 and self.some(0.3):
                made.append(Edge(self.operation("add", made[-2:], **facts)))
        ends = [node for node in sorted(ran) if self.nodes[node].kind == "leaf"]
        results = tuple(self.chance.choice((None, *made)) for _ in ends) if self.some(0.7) else ()
        inputs = tuple(map(Edge, ends))
        self.passes.append(
            Pass(
                number,
                self.chance.choice(("backward", "grad")),
                order,
                create,
                (Edge(top),),
                self.line(),
                tuple(sorted(ran, reverse=True)),
                inputs,
                results,
            )
        )

    def roots(self) -> list[Root]:
        """Mostly of what is last, sometimes of anything, and some without any."""
        if not self.nodes or self.some(0.1):
            return []
        last = len(self.nodes) - 1
        at = [last, *(self.chance.randrange(len(self.nodes)) for _ in range(self.chance.choice((0, 0, 1, 3))))]
        nodes = [self.nodes[number] for number in at if self.nodes[number].outputs]
        return [Root(self.name() or "y", node.id, self.chance.randrange(len(node.outputs))) for node in nodes]
