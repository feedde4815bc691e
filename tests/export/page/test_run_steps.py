"""All kept steps of a run on one page: which is shown, what happened in it, what changed, and how numbers went."""

from __future__ import annotations

import contextlib
import io
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from autograph_cli.export import render
from autograph_cli.export.options import Panels, RenderOptions
from autograph_cli.export.page.kept_steps import replaced, structures_of, told_changes
from autograph_cli.export.page.lane import MOST, told_hooks, told_lane
from autograph_cli.findings import Finding
from autograph_cli.graph import Trace, Watched
from autograph_cli.graph.ledger import Happening, Ledger
from autograph_cli.graph.records import Edge, Number, Pass, Source
from autograph_cli.graph.slices import Slice
from autograph_cli.record.run.runner import Target, record
from tests.export.page.test_accessibility import violations
from tests.export.pages import await_count, await_link, await_text, data_of, go_to

GAN = """
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
og, od = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
for turn in range(4):
    fake = G(torch.randn(30, 2))
    od.zero_grad()
    d_loss = (D(fake.detach()) - 1).pow(2).mean() + D(torch.ones(4, 2)).pow(2).mean()
    d_loss.backward()
    od.step()
    og.zero_grad()
    g_loss = D(fake).pow(2).mean()
    g_loss.backward()
    nn.utils.clip_grad_norm_(G.parameters(), 1.0)
    og.step()
"""


@pytest.fixture(scope="module")
def gan(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    script = tmp_path_factory.mktemp("gan") / "gan.py"
    script.write_text(GAN)
    with contextlib.redirect_stdout(io.StringIO()):
        return record(Target.of(str(script)), "all", record={"values", "time"}, watch={"gradients"})[1]


def shown(trace: Trace, **options: Any) -> str:
    step = trace.main_step()
    assert step is not None
    panels = Panels(options.pop("findings", ()), options.pop("watched", ()), trace)
    sources = {"gan.py": GAN}
    return render(step, "forward", "html", title="gan.py", panels=panels, sources=sources, **options).decode()


def test_steps_of_one_structure_share_a_picture(gan: Trace) -> None:
    main = gan.main_step()
    assert main is not None
    steps, drawn = structures_of(main, gan, "forward", RenderOptions())
    assert len(steps) == len(gan.steps) == 8 and drawn[0] is main
    assert {step.structure for step in steps} == set(range(len(drawn))) and 2 <= len(drawn) <= 4
    own = [step for step in steps if step.measured is None]
    assert [step.step.number for step in own] == sorted(step.number for step in drawn)


def test_what_selects_nothing_leaves_out_no_step(gan: Trace) -> None:
    """As `render -f html` asks, which has an empty selection where none was given."""
    main = gan.main_step()
    assert main is not None
    steps, _ = structures_of(main, gan, "forward", RenderOptions(part=Slice(), roots=None))
    assert all(step.structure >= 0 for step in steps)


def test_the_numbers_of_each_step_are_its_own(gan: Trace) -> None:
    """A step of a shared picture has the numbers that a page of that step alone has."""
    main = gan.main_step()
    assert main is not None
    for kept in structures_of(main, gan, "forward", RenderOptions())[0]:
        if kept.measured is None:
            continue
        alone = data_of(render(kept.step, "forward", "html").decode())["nodes"]
        for fact in ("value", "gradient", "norm", "size", "times"):
            values, at = kept.measured.get(fact, (None, [-1] * len(alone)))
            told = [None if place < 0 else values[place] for place in at]
            assert told == [node.get(fact) for node in alone], (kept.step.nth, fact)


LATE = """
import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
optimizer = torch.optim.Adam(net.parameters())
for turn in range(3):
    x = torch.rand(30, 3, requires_grad=True)
    y = net(x)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (slope.sum(1) - y.squeeze()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_a_step_that_numbers_its_nodes_otherwise_has_the_same_picture(tmp_path: Path) -> None:
    """The first step meets the parameters one by one, later ones know them from the start."""
    (tmp_path / "late.py").write_text(LATE)
    trace = record(Target.of(str(tmp_path / "late.py")), record={"values"})[1]
    first, last = trace.steps
    (one, other), drawn = structures_of(last, trace, "forward", RenderOptions())
    assert drawn == [last] and one.step.number == first.number and one.measured is not None
    assert not other.place and sorted(one.place) == list(range(len(first.graph))) != list(one.place)
    alone = data_of(render(first, "forward", "html").decode())["nodes"]
    for fact in ("value", "gradient", "norm"):
        values, at = one.measured[fact]
        assert [None if at[place] < 0 else values[at[place]] for place in one.place] == [n.get(fact) for n in alone]
    finding = Finding("AG901", "", None, "", "", (), (0, 2), first.number)
    assert [each.nodes for each in replaced([finding], [one, other])] == [(one.place[0], one.place[2])]


def test_what_stands_on_boxes_is_drawn_for_each_step(gan: Trace) -> None:
    main = gan.main_step()
    assert main is not None
    _, drawn = structures_of(main, gan, "forward", RenderOptions(shown=("values",)))
    assert len(drawn) == len(gan.steps)
    steps, drawn = structures_of(main, gan, "forward", RenderOptions(roots=("g_loss",)))
    assert drawn == [main] and [step.structure for step in steps].count(0) == 1


def test_steps_of_too_many_nodes_are_named_and_not_drawn(gan: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograph_cli.export.page.kept_steps.MOST_DRAWN", 0)
    told = data_of(shown(gan))["steps"]
    assert len(told) == 8 and {step["page"] for step in told} == {0, -1}


def test_structures_are_compared(gan: Trace) -> None:
    discriminates, generates = gan.steps[-2:]
    (told,) = told_changes([discriminates, generates]).values()
    assert any("gradient" in line for line in told["sentences"])
    for old, new in enumerate(told["likes"]):
        if new >= 0:
            assert discriminates.graph[old].kind == generates.graph[new].kind
    assert told["likes"].count(-1) == len(discriminates.graph) - (len(generates.graph) - len(told["new"]))


def test_the_lane_has_what_the_ledger_has(gan: Trace) -> None:
    assert gan.ledger is not None
    lane = told_lane(gan.ledger, gan.steps[-1].number)
    kinds = [each["kind"] for each in lane]
    assert [kind for kind in kinds if kind in ("backward", "clip", "step")] == ["backward", "clip", "step"]
    assert all(each["line"].startswith("gan.py:") for each in lane)
    assert set(next(each for each in lane if each["kind"] == "step")["names"]) == {"G.weight", "G.bias"}
    assert told_lane(None, 0) == told_hooks(None) == []


def test_a_lane_says_where_it_ends() -> None:
    many = Ledger(happenings=tuple(Happening("zero_grad", at, 0) for at in range(MOST + 2)), more=5)
    assert told_lane(many, 0)[-1]["about"] == "2 more"
    (told,) = told_lane(many, 3)
    assert told["about"] == "the ledger ends with step 1" and "5 things" in told["words"]
    beside = Ledger(happenings=(Happening("step", 0, 15), Happening("call", 1, 29)), more=5)
    assert told_lane(beside, 28)[0]["about"] == "the ledger ends with step 16", "a call is told of later steps, too"
    ran = Pass(0, "backward", 1, False, (Edge(2),), ran=(2, 0), source=Source("a.py", 3, "loss.backward()"))
    known, end = told_lane(beside, 28, [ran])
    assert (known["kind"], known["words"], known["line"]) == ("backward", "backward ran 2 nodes", "a.py:3")
    assert end["kind"] == "no more is known"


def test_a_step_of_which_there_is_nothing_to_draw_is_named(tmp_path: Path) -> None:
    text = "import torch\nx = torch.tensor(2.0, requires_grad=True)\nx.backward()\n(torch.ones(3, requires_grad=True) * 2).sum().backward()\n"
    (tmp_path / "leaf.py").write_text(text)
    trace = record(Target.of(str(tmp_path / "leaf.py")))[1]
    told = data_of(shown(trace))
    assert [step["page"] for step in told["steps"]] == [-1, 0]


def test_a_pass_of_a_tensor_without_a_name_names_its_operation(tmp_path: Path) -> None:
    text = "import torch\nw = torch.ones(3, requires_grad=True)\n(g,) = torch.autograd.grad((w * w).sum(), w, create_graph=True)\nloss = g.sum()\nloss.backward()\n"
    (tmp_path / "twice.py").write_text(text)
    data = data_of(shown(record(Target.of(str(tmp_path / "twice.py")))[1]))
    (step,) = data["steps"]
    assert re.match(r"pass 1: grad of sum \(%\d+\) at twice.py:3, ", step["passes"][0]), step["passes"]
    assert {"sum", "loss"} <= {name for view in data["views"] for name in view["of"]}


@pytest.fixture
def page(browser: Any, gan: Trace, tmp_path: Path) -> Iterator[Any]:
    other = next(step for step in gan.steps if step.number == 4)
    finding = Finding("AG901", "of another step", None, "since", "do so", ("given 0",), (0,), other.number)
    (tmp_path / "gan.html").write_text(shown(gan, findings=(finding,)))
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    said: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    go_to(opened, (tmp_path / "gan.html").as_uri())
    yield opened
    assert said == []
    opened.close()


def words(page: Any) -> str:
    return str(page.text_content("#step-words"))


def test_a_search_finds_steps(page: Any) -> None:
    page.fill("#search", "step:2")
    await_text(page.locator("#found li"), "^Step 2 of 8, ended by backward of g_loss")
    page.press("#search", "Enter")
    await_text(page.locator("#step-words"), "^Step 2 of 8")
    page.fill("#search", "of d_loss")
    await_count(page.locator("#found li", has_text="ended by backward of d_loss"), 4)
    page.fill("#search", "step:99")
    await_count(page.locator("#found li"), 0)


def test_which_step_is_shown_is_always_said(page: Any) -> None:
    assert words(page) == "Step 8 of 8, ended by backward of g_loss at gan.py:15"
    assert "pass 1: backward of g_loss at gan.py:15" in page.text_content("#told-run")
    page.click("#step-back")
    page.locator("#step-words", has_text="Step 7 of 8, ended by backward of d_loss at gan.py:11").wait_for()
    page.locator("#picture", has_text="detach").wait_for()
    await_link(page, "step=7")
    page.keyboard.press(">")
    page.locator("#step-words", has_text="Step 8").wait_for()
    page.keyboard.press(".")
    assert page.text_content("#step").startswith("1/"), "keys are heard once, however often the page began anew"


def test_the_numbers_are_those_of_the_step(page: Any, gan: Trace) -> None:
    seen = []
    for number in (8, 6, 4):
        page.locator("#step-words", has_text=f"Step {number} of 8").wait_for()
        step = gan.steps[number - 1]
        root = next(root for root in step.graph.roots if root.name == "g_loss")
        measured = step.graph[root.node].measured
        assert measured is not None and measured.values[0] is not None
        row = page.locator("#names button", has_text="g_loss").first.text_content()
        assert f"= {measured.values[0].whole[0]}" in row
        seen.append(row)
        page.keyboard.press("<")
        page.locator("#step-words", has_text=f"Step {number - 1} of 8").wait_for()
        page.keyboard.press("<")
    assert len(set(seen)) == 3


def test_a_node_tells_how_its_numbers_went(page: Any) -> None:
    page.locator("#names button", has_text="g_loss").first.click()
    history = page.locator("#text .history")
    history.first.wait_for()
    assert history.first.locator("circle").count() == 4, "of the steps of its kind, whatever their structure"
    assert "norm of the value" in history.first.text_content() and "steps 2 to 8" in history.first.text_content()
    assert page.locator("#text .near").all_text_contents() == ["made from pow 2"]


def test_changes_since_another_step_are_listed_and_marked(page: Any) -> None:
    page.select_option("#since", "6")
    page.locator("#changes button").first.wait_for()
    assert page.locator("#changes button").count() > 3 and "→" in page.locator("#changes button").first.text_content()
    page.select_option("#colour", "change")
    assert "%" in page.text_content("#scale")
    page.select_option("#since", "7")
    page.locator("#changes", has_text="It ran other operations").wait_for()
    page.locator("#changes", has_text="Norms that changed most").wait_for()
    assert "no finite norm" not in page.text_content("#changes"), "of what was not recorded in one of the steps"
    page.select_option("#since", "")
    assert not page.locator("#changes-pane").is_visible()
    assert page.locator('#colour option[value="change"]').count() == 0


def test_a_click_in_the_lane_chooses_the_parameters(page: Any) -> None:
    page.locator("#lane button", has_text="clip").click()
    (chosen,) = page.locator("#picture .box.chosen").all()
    assert "weight" in chosen.text_content() and "bias" in chosen.text_content()
    assert "clip_grad_norm_" in page.text_content("#said")
    assert "clip_grad_norm_" in page.locator("#source .now").text_content()


def test_a_finding_of_another_step_leads_there(page: Any) -> None:
    page.locator("#findings button").first.click()
    page.locator("#step-words", has_text="Step 5 of 8").wait_for()
    page.locator("#picture .box.chosen").first.wait_for()


def test_a_link_names_the_step(page: Any) -> None:
    file = page.url.partition("#")[0]
    page.goto("about:blank")
    go_to(page, f"{file}#view=backward&step=5")
    page.locator("#step-words", has_text="Step 5 of 8").wait_for()
    assert page.get_by_role("tab", selected=True).text_content() == "Backward"
    page.evaluate("location.hash = '#view=forward&step=8'")
    page.locator("#step-words", has_text="Step 8 of 8").wait_for()
    page.locator('[role="tab"][aria-selected="true"]', has_text="Forward").wait_for()


def test_a_link_holds_the_whole_state(page: Any) -> None:
    page.keyboard.press(".")
    page.select_option("#colour", "time")
    page.fill("#search", "g_loss")
    page.press("#search", "Enter")
    await_link(page, "node=.*at=1&colour=time&q=g_loss")
    chosen = page.locator("#picture .box.chosen")
    assert chosen.evaluate("box => [getComputedStyle(box).opacity, box.classList.contains('later')]") == ["1", True]
    told = page.url
    page.goto("about:blank")
    go_to(page, told)
    await_text(page.locator("#hits"), ".")
    await_count(page.locator("#picture .box.chosen"), 1)
    assert page.url == told and not page.locator("#found").is_visible()


def test_panes_are_as_wide_as_they_are_made(page: Any) -> None:
    before = page.locator("#side").bounding_box()["width"]
    page.locator("#split-left").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#side").bounding_box()["width"] == pytest.approx(before + 48, abs=2)
    assert page.get_attribute("#split-left", "aria-valuenow") == str(round(before + 48))


def test_a_line_tells_what_was_seen_kept_and_taken(page: Any) -> None:
    line = page.locator("#source button", has_text="g_loss = D(fake)")
    assert re.search(r"g_loss = [\d.]+$", line.locator(".mark").text_content())
    page.select_option("#marks", "bytes")
    assert re.fullmatch(r"[\d.]+ (B|KiB) kept", line.locator(".mark").text_content())
    page.select_option("#marks", "time")
    assert re.search(r"[\d.]+ .s$", line.locator(".mark").text_content())
    assert page.locator("#source .of-keyword").count() > 2


def test_a_thousand_curves_are_ranked_and_found(browser: Any, gan: Trace, tmp_path: Path) -> None:
    def watched(number: int) -> Watched:
        sizes = (math.nan if number == 7 else 1.0, number + 1.0)
        rows = tuple(tuple(map(Number, (step, size, 0.1, 0.2, 0.0))) for step, size in enumerate(sizes))
        return Watched(f"layers.{number}.weight", "gradients", rows)

    (tmp_path / "many.html").write_text(shown(gan, watched=tuple(map(watched, range(1000)))))
    page = browser.new_page()
    go_to(page, (tmp_path / "many.html").as_uri())
    names = page.locator("#watched b")
    names.first.wait_for()
    assert names.count() == 60 and "940 more" in page.text_content("#watched")
    for order, first in (("most", 999), ("least", 0), ("sick", 7)):
        page.select_option("#watched-sort", order)
        assert names.first.text_content() == f"layers.{first}.weight"
    page.fill("#watched-find", "layers.77")
    names.nth(11).wait_for(state="detached")
    assert names.count() == 11
    page.fill("#watched-find", "none such")
    page.locator("#watched", has_text="No parameter").wait_for()
    page.close()


def test_a_run_of_one_step_without_a_ledger_has_no_bar(browser: Any, gan: Trace, tmp_path: Path) -> None:
    lone = replace(gan, steps=gan.steps[-1:], total_steps=1, ledger=None)
    (tmp_path / "lone.html").write_text(shown(lone))
    opened = browser.new_page()
    go_to(opened, (tmp_path / "lone.html").as_uri())
    assert not opened.locator("#at-step").is_visible() and not opened.locator("#lane").is_visible()
    opened.close()


@pytest.mark.parametrize("scheme, width", [("light", 390), ("dark", 1400)])
def test_the_panes_of_a_run_can_be_read_by_all(page: Any, scheme: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 850})
    page.reload()
    page.emulate_media(color_scheme=scheme)
    page.locator("#lane button").first.wait_for()
    states = {
        "whole": lambda: None,
        "changes": lambda: page.select_option("#since", "6"),
        "heat": lambda: page.keyboard.press("["),
        "a node": lambda: page.locator("#names button").first.click(),
        "another step": lambda: (
            page.locator("#step-back").click(),
            page.locator("#step-words", has_text="Step 7 of 8").wait_for(),
        ),
        "lane": lambda: page.locator("#lane button").last.click(),
    }
    for state, act in states.items():
        act()
        assert violations(page) == [], state
    assert page.evaluate("document.documentElement.scrollWidth") <= width
