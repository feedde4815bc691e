"""A rolled loop is one turn, with its number of turns, fed from before and leading on behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.export import VIEWS, render
from autograph_cli.export.layout.layered import lay_out
from autograph_cli.export.scene.building import build
from autograph_cli.export.scene.records import Scene
from autograph_cli.export.simplify.rolling import roll
from autograph_cli.graph import Step, Trace, backward, double_backward, forward
from autograph_cli.record.run.runner import Target, record

SCRIPT = """
import torch
w, u = torch.ones(2, 2, requires_grad=True), torch.ones(2, 2, requires_grad=True)
xs, h = torch.ones(9, 1, 2), torch.zeros(1, 2)
for x in xs:
    h = torch.tanh(x @ u + h @ w)
loss = (h * h).sum()
loss.backward()
"""


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Step:
    file = tmp_path_factory.mktemp("rolling") / "rnn.py"
    file.write_text(SCRIPT)
    return record(Target.of(str(file)))[1].steps[-1]


def drawn(scene: Scene) -> list[str]:
    return [f"{box.title} {box.subtitle}".strip() for box in scene.boxes if box.style == "operation"]


def arrows(scene: Scene, *, back: bool) -> set[tuple[str, str]]:
    titles = {box.id: f"{box.title} {box.subtitle}".strip() for box in scene.boxes}
    return {(titles[arrow.tail], titles[arrow.head]) for arrow in scene.arrows if arrow.back is back}


def rolled(step: Step, *, data: bool = True) -> Scene:
    graph = forward(step.graph) if data else backward(step.graph)
    return roll(build(graph, "", data=data), graph)


def run(folder: Path, text: str) -> Step:
    (folder / "a.py").write_text(f"import torch\n{text}")
    return record(Target.of(str(folder / "a.py")))[1].steps[-1]


def labels(scene: Scene) -> dict[tuple[str, str, bool], str]:
    """The label of each arrow, by the titles of the boxes at its ends and whether it leads back."""
    titles = {box.id: box.title for box in scene.boxes}
    return {(titles[arrow.tail], titles[arrow.head], arrow.back): arrow.label for arrow in scene.arrows}


def test_one_turn_of_the_forward_graph_is_drawn(step: Step) -> None:
    scene = rolled(step)
    assert drawn(scene) == ["mm × 9", "mm × 9", "add × 9", "tanh × 9", "mul", "sum"]
    assert arrows(scene, back=True) == {("tanh × 9", "mm × 9")}
    assert {("add × 9", "tanh × 9"), ("tanh × 9", "h"), ("h", "mul")} <= arrows(scene, back=False)
    assert {"× n: one of n turns of a loop", "dotted: from turn to turn"} <= set(scene.notes)


def test_what_every_turn_is_fed_with_is_drawn_once(step: Step) -> None:
    fed = sorted((box.style, box.title) for box in rolled(step).boxes if box.style not in ("operation", "result"))
    first = ("untracked", "zeros")  # what h is at first
    assert fed == [("input", "xs"), ("leaf", "u"), ("leaf", "w"), ("untracked", "unbind"), first]


def test_the_gradient_graph_rolls_as_the_forward_graph_does(step: Step) -> None:
    scene = rolled(step, data=False)
    assert sorted(title for title in drawn(scene) if "×" in title) == [
        "AddBackward0 × 9",
        "MmBackward0 × 9",
        "MmBackward0 × 9",
        "TanhBackward0 × 9",
    ]
    assert arrows(scene, back=True) == {("MmBackward0 × 9", "TanhBackward0 × 9")}


def test_an_input_that_two_operations_of_a_turn_use_is_drawn_once(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
w, h = torch.ones(2, requires_grad=True), torch.ones(2)
for i in range(6):
    x = torch.ones(2)
    h = torch.tanh(h * w * x) + x
h.sum().backward()
""",
        )
    )
    sources = [box.title for box in scene.boxes if box.style in ("input", "untracked")]
    assert sources == ["ones", "x | ones"]  # the first is what h is at first
    assert drawn(scene) == ["mul × 6", "mul × 6", "tanh × 6", "add × 6", "sum"]


def test_sizes_that_change_are_a_range(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
w = torch.ones(1, 4, requires_grad=True)
out = torch.ones(1, 4) * w
for i in range(5):
    out = torch.cat([out * 2, w])
out.sum().backward()
""",
        )
    )
    found = labels(scene)
    assert (found["mul × 2", "cat dim 0", False], found["cat dim 0", "mul × 2", True]) == ("[1…5, 4]", "[2…5, 4]")
    assert scene.notes[-1] == "a…b: changes from turn to turn"


def test_turns_may_take_the_parts_of_one_tensor(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
seq = torch.ones(7, 3, requires_grad=True)
h = torch.ones(3)
for x in seq:
    h = torch.tanh(h * x)
h.sum().backward()
""",
        )
    )
    assert labels(scene)["unbind dim 0", "mul", False] == "#0…6 [3]"


def test_a_result_that_all_turns_take_is_their_only_way_to_it(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
a = torch.ones(3, requires_grad=True)
x, h = a * 2, torch.ones(3) * a
for i in range(6):
    h = torch.sin(h) * x
(h.sum() + x.sum()).backward()
""",
        )
    )
    assert {tail for tail, head in arrows(scene, back=False) if head.startswith("mul × 6")} == {"x", "sin × 6"}


def test_a_result_within_a_loop_stands_beside_the_way_of_all_turns(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
h, first = torch.ones(3, requires_grad=True), None
for i in range(6):
    y = torch.sin(h)
    first = first if i else y
    h = torch.exp(y)
del y
(h.sum() + first.sum()).backward()
""",
        )
    )
    assert {tail for tail, head in arrows(scene, back=False) if head.startswith("exp")} == {"sin × 6 · y"}


def test_a_note_on_loops_goes_where_modules_are_closed_over_them(tmp_path: Path) -> None:
    step = run(
        tmp_path,
        """
class Net(torch.nn.Module):
    def forward(self, h):
        for _ in range(9):
            h = torch.sin(h)
        return h
net = Net()
loss = net(torch.ones(3, requires_grad=True)).sum()
loss.backward()
""",
    )
    drawn = [render(step, "forward", "svg", roll=True, depth=depth).decode() for depth in (0, 1)]
    assert ["turn" in its for its in drawn] == [False, True]


def test_what_a_closed_module_takes_from_turn_to_turn_is_one_input(tmp_path: Path) -> None:
    step = run(
        tmp_path,
        """
net, h = torch.nn.Tanh(), torch.ones(3, requires_grad=True)
for _ in range(9):
    h = net(h * 2)
loss = h.sum()
loss.backward()
""",
    )
    assert "[3] → [3]" in render(step, "forward", "svg", roll=True, depth=0, level="aten").decode()


@pytest.mark.parametrize("format", ["pdf", "png"])
def test_every_picture_has_the_sign_of_a_turn_that_leads_into_itself(format: str, tmp_path: Path) -> None:
    step = run(
        tmp_path,
        """
h = torch.ones(3, requires_grad=True)
for _ in range(9):
    h = torch.sin(h)
loss = h.sum()
loss.backward()
""",
    )
    assert "↻: takes its own result of the turn before" in rolled(step).notes
    assert render(step, "forward", format, roll=True)


def test_a_loop_in_a_loop_says_both_numbers(tmp_path: Path) -> None:
    text = """
w, h = torch.ones(3, requires_grad=True), torch.ones(3)
for i in range(6):
    for j in range(TURNS):
        h = torch.sin(h * w)
    h = torch.exp(h)
h.sum().backward()
"""
    same, changing = (rolled(run(tmp_path, text.replace("TURNS", turns))) for turns in ("4", "1 + i % 4"))
    assert drawn(same) == ["mul × 6 × 4", "sin × 6 × 4 · h", "exp × 6", "sum"]
    assert arrows(same, back=True) == {("sin × 6 × 4 · h", "mul × 6 × 4"), ("exp × 6", "mul × 6 × 4")}
    assert drawn(changing) == ["mul × 6 × 1…4", "sin × 6 × 1…4 · h", "exp × 6", "sum"]


def test_what_is_used_of_several_turns_is_one_arrow_that_says_so(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
w, h, hs = torch.ones(3, requires_grad=True), torch.ones(3), []
for i in range(6):
    h = torch.sin(h * w)
    hs.append(h)
torch.stack([*hs[:-1], h * 2]).sum().backward()
""",
        )
    )
    assert labels(scene)["sin", "stack dim 0", False] == "[3] × 5"
    assert scene.notes[-1] == "× k at an arrow: from k turns"


def test_a_loop_that_runs_until_something_holds_rolls(tmp_path: Path) -> None:
    step = run(
        tmp_path,
        """
a, x = torch.tensor(7.0, requires_grad=True), torch.tensor(100.0)
while (x * x - a).abs() > 1e-4:
    x = (x + a / x) / 2
x.backward()
""",
    )
    assert drawn(rolled(step)) == ["div × 8", "add × 8", "div ÷ 2 × 8"]
    assert drawn(rolled(step, data=False)) == ["DivBackward0 × 8", "AddBackward0 × 8", "DivBackward0 × 8"]


@pytest.mark.parametrize(
    "turns, leaves, operation",
    [(12, ["ws[0…11]"], "mul ↻ × 12 · hs[0…11]"), (3, ["ws[0…2]"], "mul ↻ × 3 · hs[0…2]")],
)
def test_what_each_turn_has_of_its_own_is_told_by_all_names(
    turns: int, leaves: list[str], operation: str, tmp_path: Path
) -> None:
    text = """
ws, h, hs = [torch.ones(3, requires_grad=True) for _ in range(TURNS)], torch.ones(3), []
for w in ws:
    h = h * w
    hs.append(h)
del h, w
torch.stack(hs).sum().backward()
"""
    scene = rolled(run(tmp_path, text.replace("TURNS", str(turns))))
    assert [box.title for box in scene.boxes if box.style == "leaf"] == leaves
    assert drawn(scene)[0] == operation


def test_calls_of_one_module_on_several_tensors_stand_side_by_side(tmp_path: Path) -> None:
    step = run(
        tmp_path,
        """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
anchor, pos, neg = torch.ones(3), torch.ones(3) * 2, torch.zeros(3)
loss = torch.stack([net(anchor), net(pos), net(neg)]).sum()
loss.backward()
""",
    )
    for data in (True, False):
        assert not any("×" in title for title in drawn(rolled(step, data=data)))


def test_derivatives_of_derivatives_are_no_turns_of_a_loop(tmp_path: Path) -> None:
    step = run(
        tmp_path,
        """
x = torch.tensor(1.5, requires_grad=True)
y = torch.sin(x) * x**3
for order in range(4):
    (y,) = torch.autograd.grad(y, x, create_graph=True)
""",
    )
    graph = double_backward(step.graph, None, 4)
    scene = build(graph, "", data=False)
    assert roll(scene, graph) is scene


def test_two_uses_in_one_turn_are_two_arrows(tmp_path: Path) -> None:
    scene = rolled(
        run(
            tmp_path,
            """
x = torch.ones(2, requires_grad=True)
y = x
for _ in range(6):
    y = torch.sin(y) * y
y.sum().backward()
""",
        )
    )
    (times,) = (box.id for box in scene.boxes if box.title == "mul" and "×" in box.subtitle)
    assert sum(arrow.head == times and not arrow.back for arrow in scene.arrows) >= 2


@pytest.mark.parametrize("view", VIEWS)
def test_a_rolled_picture_is_smaller_and_well_laid_out(step: Step, view: str) -> None:
    whole, rolled = (render(step, view, roll=rolls) for rolls in (False, True))
    assert len(rolled) < len(whole) / 2
    assert render(step, view, roll=True) == rolled


def test_a_double_backward_graph_rolls_in_both_orders(step: Step) -> None:
    assert step.double is not None
    graph = double_backward(step.double)
    scene = roll(build(graph, "", data=False), graph)
    assert {box.band for box in scene.boxes if "×" in box.subtitle} == {0, 2}
    lay_out(scene)


def test_a_graph_without_loops_stays_as_it_is(traces: dict[str, Trace]) -> None:
    graph = forward(traces["higher_order"].steps[0].graph)
    scene = build(graph, "", data=True)
    assert roll(scene, graph) is scene


def test_pictures_roll_by_themselves_where_that_makes_them_much_smaller(step: Step, tmp_path: Path) -> None:
    def shown(step: Step, **how: object) -> bool:
        return "turns of a loop" in render(step, "forward", **how).decode()  # type: ignore[arg-type]

    few = run(tmp_path, "x = torch.ones(2, requires_grad=True)\n(x * x * x * x).sum().backward()\n")
    assert [shown(step), shown(step, max_nodes=200), shown(step, max_nodes=200, roll=False)] == [False, True, False]
    assert [shown(few, max_nodes=200), shown(few, roll=True)] == [False, True]


def test_a_leaf_with_far_users_is_one_box_on_request(step: Step) -> None:
    tagged, whole = (
        render(step, "forward", roll=False, tags=tags, parameters="boxes").decode() for tags in (True, False)
    )
    # Of w, of u, whose users stand in one row, and of the legend.
    assert [tagged.count("ellipse"), whole.count("ellipse")] == [9 + 1 + 1, 1 + 1 + 1]


def test_what_each_turn_draws_is_counted_and_what_all_share_is_not(tmp_path: Path) -> None:
    text = """
import torch
w, shared = torch.ones(3, requires_grad=True), torch.rand(3)
x = torch.ones(3)
for _ in range(5):
    x = torch.tanh(w * x + shared) * torch.rand_like(x)
x.sum().backward()
"""
    titles = [box.title for box in rolled(run(tmp_path, text)).boxes]
    assert "5 × rand_like" in titles and "shared" in titles
