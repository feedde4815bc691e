"""What is too big and cannot be folded otherwise is cut across into pieces, and nothing of it is lost."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from autograph_cli.export import READABLE, render
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.ranks import heights
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.modules import framed
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.simplify.closing import close_below
from autograph_cli.export.simplify.partition import PARTS, by_statement, cut_across
from autograph_cli.export.style import OPERATIONS, RESULTS
from autograph_cli.graph import Edge, Graph, Node, Output, Root, TensorType, backward, forward
from autograph_cli.record.run.runner import Target, record

VIEWS = {"forward": forward, "backward": backward}
KIND = (Output(TensorType("float32", (3,))),)


def tangle(size: int) -> Graph:
    """Operations that take two of the last twenty tensors each; every hundredth has a name."""
    chosen = random.Random(1)
    nodes = [Node(i, "leaf", "AccumulateGrad", "", (Output(KIND[0].type, (f"x{i}",)),)) for i in range(20)]
    for number in range(20, 20 + size):
        edges = tuple(Edge(number - chosen.randint(1, 20)) for _ in range(2))
        nodes.append(Node(number, "operation", "MulBackward0", chosen.choice(("mul", "add")), KIND, edges, edges))
    return Graph(tuple(nodes), tuple(Root(f"y{i}", i) for i in range(119, 20 + size, 100)))


@pytest.fixture(scope="module", params=[True, False], ids=["forward", "backward"])
def drawn(request: pytest.FixtureRequest) -> tuple[Scene, Graph]:
    view = forward(tangle(2_000)) if request.param else backward(tangle(2_000))
    return build(view, "", data=request.param), view


def test_a_tangle_becomes_a_picture_within_the_limit(drawn: tuple[Scene, Graph]) -> None:
    cut = cut_across(*drawn, 100)
    assert len(cut.boxes) <= 100
    assert sum("operations" in box.subtitle for box in cut.boxes) <= PARTS
    lay_out(cut)


def test_all_operations_are_in_the_pieces(drawn: tuple[Scene, Graph]) -> None:
    counts = [re.search(r"([\d,]+) operations", box.subtitle) for box in cut_across(*drawn, 100).boxes]
    whole = sum(box.style == "operation" for box in drawn[0].boxes)
    assert sum(int(found[1].replace(",", "")) for found in counts if found) == whole


def test_no_arrow_leads_back(drawn: tuple[Scene, Graph]) -> None:
    cut = cut_across(*drawn, 100)
    index = {box.id: number for number, box in enumerate(cut.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in cut.arrows]
    height = heights(len(index), edges)
    assert edges and all(height[tail] > height[head] for tail, head in edges)


def test_a_small_scene_stays_as_it_is(drawn: tuple[Scene, Graph]) -> None:
    assert cut_across(*drawn, len(drawn[0].boxes)) is drawn[0]


SCRIPT = """import torch
w = torch.ones(3, requires_grad=True)
state = torch.zeros(3)
total = 0.0
def step(x):
    y = (x * w + x.sin()).tanh()  # one line
    return y * y.exp() + torch.ones(3)
for turn in range(5):
    state = (state.cos() - step(state)) * 0.5
    total = total + state.pow(2).sum() * state.max()
total.backward()
"""


@pytest.mark.parametrize("view", ["forward", "backward"])
def test_a_line_of_the_script_is_one_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, view: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.py").write_text(SCRIPT)
    graph = VIEWS[view](record(Target.of("script.py", ()))[1].steps[-1].graph)
    scene = build(graph, "", data=view == "forward")
    told = by_statement(scene, graph)
    titles = Counter(box.title for box in told.boxes)
    assert titles["y = (x * w + x.sin()).tanh()"] == titles["y * y.exp() + torch.ones(3)"] == 5
    many = sum(box.style in OPERATIONS for box in scene.boxes)
    assert sum(box.many for box in told.boxes if box.style in OPERATIONS) == many > 2 * len(told.boxes) / 3
    assert {key for box in told.boxes for key in (box.id, *box.others)} == {box.id for box in scene.boxes}
    index = {box.id: number for number, box in enumerate(told.boxes)}
    edges = [(index[arrow.tail], index[arrow.head]) for arrow in told.arrows]
    height = heights(len(index), edges)
    assert all(height[tail] > height[head] for tail, head in edges)
    parts = cut_across(told, graph, 4)
    assert len(parts.boxes) < len(told.boxes)
    lines = [line for box in parts.boxes for line in (box.title, *box.lines)]
    assert any("y = (x * w + x.sin()).tanh()" in line for line in lines)


@pytest.mark.parametrize(("count", "told"), [(4, 4), (5, 3)])
def test_the_last_line_of_a_box_counts_two_or_more(
    count: int, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written = [f"    x = (x + {number}).exp()" for number in range(count)]
    call = "f(torch.ones(3, requires_grad=True)).sum().backward()"
    Path("script.py").write_text("\n".join(["import torch", "def f(x):", *written, "    return x", call]))
    view = forward(record(Target.of("script.py", ()))[1].steps[-1].graph)
    scene = build(view, "", data=True)
    (lines,) = [box.lines for box in cut_across(by_statement(scene, view), view, 2).boxes if len(box.lines) > 2]
    assert lines == (*[f" {text.strip()}" for text in written[:told]], *([" … 2 more lines"] if count > told else []))


@pytest.mark.parametrize("limit", [8, 14, 24, 40])
def test_of_many_results_that_were_differentiated_the_last_stays(limit: int) -> None:
    view = forward(tangle(2_000))
    scene = build(view, "", data=True)
    roots = [box.id for box in scene.boxes if box.style == "result"]
    scene = replace(scene, boxes=tuple([replace(box, style="root") if box.id in roots else box for box in scene.boxes]))
    cut = cut_across(scene, view, limit)
    assert [box.id for box in cut.boxes if box.style == "root"] == roots[-1:] and len(cut.boxes) <= limit
    (arrow,) = (arrow for arrow in cut.arrows if arrow.head == roots[-1])
    assert arrow.tail in {box.id for box in cut.boxes}


def test_a_piece_that_holds_recorded_operations_is_not_drawn_as_unrecorded() -> None:
    """Two of three operations are unrecorded; the legend has what is drawn, and the leaves are in the piece."""
    leaf, given = Node(0, "leaf", "AccumulateGrad", "", KIND), Node(1, "input", "", "", KIND)
    plain = [Node(number, "untracked", "", "sin", KIND, (), (Edge(number - 1),)) for number in (2, 3)]
    recorded = Node(4, "operation", "MulBackward0", "mul", KIND, (Edge(0), None), (Edge(0), Edge(3)))
    after = Node(5, "operation", "SinBackward0", "sin", KIND, (Edge(4),), (Edge(4),))
    view = forward(Graph((leaf, given, *plain, recorded, after), (Root("y", 5),)))
    told = cut_across(build(view, "", data=True), view, 2)
    assert [box.style for box in told.boxes if box.many > 1] == ["operation"]
    assert {style for style, _ in told.legend} == {box.style for box in told.boxes}


POLICY = """import torch
policy = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
def act(state):
    logits = policy(state)
    chosen = logits.softmax(0).log().sum()
    return chosen
told = [act(torch.ones(4) * turn) for turn in range(6)]
loss = torch.stack(told).exp().sum()
loss.backward()
"""


def test_turns_that_take_nothing_of_each_other_are_no_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.py").write_text(POLICY)
    graph = forward(record(Target.of("policy.py", ()))[1].steps[0].graph)
    whole = close_below(framed(build(graph, "", data=True), graph), graph, 0)
    for limit in range(5, 12):
        cut = cut_across(by_statement(whole, graph), graph, limit)
        turns = {box.id for box in cut.boxes if any("softmax" in line for line in (box.title, *box.lines))}
        assert len(turns) > 1
        assert [arrow for arrow in cut.arrows if {arrow.tail, arrow.head} <= turns] == []
        assert [box.title for box in cut.boxes if box.style in RESULTS] == ["loss"]


TURNS = """
import torch
A, C = torch.eye(2, requires_grad=True), torch.ones(1, 2, requires_grad=True)
def run(ys):
    m, P, out = torch.zeros(2), torch.eye(2), 0.0
    for y in ys:
        m, P = A @ m, A @ P @ A.T + torch.eye(2).exp().diag().diag()
        S = C @ P @ C.T + 0.1; K = P @ C.T / S; r = y - C @ m
        out = out + 0.5 * (r * r / S.squeeze() + S.squeeze().log()).sum()
        m, P = m + K @ r, P - K @ C @ P
    return out
run(torch.ones(8, 1)).backward()
"""


def test_a_line_of_a_loop_keeps_its_turns_apart_from_what_goes_in_first(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(TURNS)
    graph = record(Target.of(str(tmp_path / "a.py")))[1].steps[-1].graph
    drawn = render(graph, "forward", "mermaid", max_nodes=READABLE).decode()
    lines = [line for line in drawn.splitlines() if "m, P = " in line and "× 7" in line]
    assert len(lines) == 2, drawn
    assert '["zeros"]' in drawn, "it is no part of a turn"
