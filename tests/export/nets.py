"""Graphs of small models, written down by hand: operations in calls of modules, with their parameters."""

from __future__ import annotations

from msgspec.structs import replace

from autograph_cli.graph import Edge, Graph, ModuleCall, Node, Output, Pass, Root, TensorType

FLOATS = TensorType("float32", (3,))


class Net:
    """Builds a graph, one node at a time."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.calls: list[ModuleCall] = []

    def call(self, path: str, cls: str, parent: int | None = None, **facts: int) -> int:
        self.calls.append(ModuleCall(len(self.calls), path, cls, parent, **facts))
        return len(self.calls) - 1

    def leaf(self, name: str, module: str = "") -> int:
        return self.add(Node(0, "leaf", "AccumulateGrad", "", (Output(FLOATS, (name,)),), module=module))

    def op(self, name: str, *args: int, call: int | None = None, of: int | None = None) -> int:
        edges = tuple(map(Edge, args))
        path = "" if call is None else self.calls[call].path
        order = {} if of is None else {"order": 1, "parent": of, "pass_id": 0}
        return self.add(
            Node(
                0,
                "operation",
                f"{name.title()}Backward0",
                name,
                (Output(FLOATS),),
                edges,
                edges,
                module=path,
                call=call,
                **order,
            )
        )  # type: ignore[arg-type]

    def add(self, node: Node) -> int:
        self.nodes.append(replace(node, id=len(self.nodes)))
        return len(self.nodes) - 1

    def graph(self, *roots: int) -> Graph:
        passes = (Pass(0, "grad", 1, True),) if any(node.order for node in self.nodes) else ()
        named = tuple(Root(f"y{number}", node) for number, node in enumerate(roots))
        graph = Graph(tuple(self.nodes), named, passes, tuple(self.calls))
        graph.verify()
        return graph


def linear(net: Net, path: str, x: int, parent: int | None = None, cls: str = "Linear") -> int:
    """A layer of one weight and one operation."""
    call = net.call(path, cls, parent, parameters=3)
    return net.op("mul", x, net.leaf(f"{path}.weight", path), call=call)


def layers(count: int, *, skip: bool = True) -> Graph:
    """`count` equal blocks in a row, each with a layer inside and a connection around it."""
    net = Net()
    x = net.leaf("x")
    model = net.call("model", "Model", parameters=3 * count)
    for number in range(count):
        block = net.call(f"model.blocks.{number}", "Block", model, parameters=3)
        inner = linear(net, f"model.blocks.{number}.fc", x, block)
        x = net.op("add", inner, x, call=block) if skip else net.op("tanh", inner, call=block)
    return net.graph(net.op("sum", x))
