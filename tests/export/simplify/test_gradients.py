"""Results that hang on one box are written on it, each counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograph_cli.export import READABLE, render
from autograph_cli.export.scene.records import Arrow, Box, Scene
from autograph_cli.export.simplify.gradients import NOTE, with_results
from autograph_cli.record.run.runner import Target, record

MODULE = Box("m0", "module", "layer: Linear", lines=("72 parameters",))


def gradients(*names: str) -> tuple[tuple[Box, ...], tuple[Arrow, ...]]:
    boxes = tuple([Box(f"r{number}_0", "result", name) for number, name in enumerate(names)])
    return boxes, tuple([Arrow(box.id, MODULE.id, "[8]") for box in boxes])


def test_two_are_named() -> None:
    boxes, arrows = gradients("weight.grad", "bias.grad")
    scene = with_results(Scene("", (MODULE, *boxes), arrows))
    (box,) = scene.boxes
    assert box.lines == ("72 parameters", "= weight.grad · bias.grad")
    assert box.others == ("r0_0", "r1_0")
    assert scene.arrows == () and scene.notes == (NOTE,)


def test_many_are_counted_and_named_in_the_tooltip() -> None:
    names = [f"encoder.layers.{number}.self_attention.{kind}.grad" for kind in ("w", "b") for number in range(6)]
    boxes, arrows = gradients(*names)
    (box,) = with_results(Scene("", (MODULE, *boxes), arrows)).boxes
    assert box.lines[-1] == "= 12 gradients"
    assert all(name in box.tooltip for name in names)


def test_what_is_differentiated_or_used_twice_stays_a_box() -> None:
    boxes = MODULE, Box("n1", "operation", "add"), Box("r1_0", "result", "y"), Box("r2_0", "root", "loss")
    arrows = Arrow("r1_0", "m0"), Arrow("r1_0", "n1"), Arrow("r2_0", "m0")
    scene = Scene("", boxes, arrows)
    assert with_results(scene) is scene


NAMED = {
    "one order": "loss = h.pow(2).sum()\naux = h.exp()\nloss.backward()\n",
    "two orders": "g, = torch.autograd.grad(h.exp().sum(), x, create_graph=True)\n"
    "gp = (g.norm() - 1) ** 2\nloss = h.sum() + gp\nloss.backward()\n",
}


@pytest.mark.parametrize("view", ["backward", "double-backward"])
@pytest.mark.parametrize("case", NAMED)
def test_no_gradient_comes_from_a_result_that_was_not_differentiated(tmp_path: Path, case: str, view: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import torch\nx = torch.ones(3, requires_grad=True)\nh = x.tanh()\n{NAMED[case]}")
    step = record(Target.of(str(script), ()))[1].main_step()
    assert step is not None
    text = render(step, view, "mermaid", max_nodes=READABLE).decode()
    assert ":::root" in text and ":::result" not in text and "= h" in text
