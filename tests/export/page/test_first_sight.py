"""The first sight of a page, and the modules that open and close as one goes nearer: on scripts of many kinds, in two sizes of window."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autograph_cli.export import READABLE, render
from autograph_cli.record.run.runner import Target, record
from tests.export.pages import await_count, await_link, await_text, await_true, data_of, go_to, pictures_of

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"
SCRIPTS = {
    "one leaf": "x = torch.ones(2, requires_grad=True)\nx.sum().backward()",
    "rnn": """
w, u = (torch.randn(4, 4, requires_grad=True) for _ in range(2))
h = torch.zeros(3, 4)
for x in torch.randn(200, 3, 4):
    h = torch.tanh(x @ w + h @ u)
h.sum().backward()
""",
    "blocks": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(8), nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        x = x + self.out(F.softmax(q @ k.transpose(-2, -1), dim=-1) @ v)
        return x + self.mlp(x)
class Net(nn.Sequential):
    def forward(self, words, target):
        return F.cross_entropy(super().forward(words).flatten(0, 1), target.flatten() + 0)
net = Net(nn.Embedding(9, 8), *[Block() for _ in range(12)], nn.Linear(8, 9))
loss = net(torch.tensor([[1, 2, 3]]), torch.tensor([2, 3, 4]))
loss.backward()
""",
    "embeddings": """
import random
random.seed(0)
words, context = ([torch.randn(4, requires_grad=True) for _ in range(20)] for _ in range(2))
loss = torch.zeros(())
for _ in range(60):
    loss = loss - F.logsigmoid(words[random.randrange(20)] @ context[random.randrange(20)])
loss.backward()
""",
    "turns": """
cell, head = nn.RNNCell(3, 4), nn.Linear(4, 2)
h = torch.zeros(2, 4)
for x in torch.randn(50, 2, 3):
    h = cell(x, h)
head(h).pow(2).sum().backward()
""",
    "third order": """
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.rand(5, 1, requires_grad=True)
y = net(x)
for _ in range(3):
    (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
y.pow(2).mean().backward()
""",
    "names": """
class Odd(nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module("<img src=x onerror=alert(1)>", nn.Linear(2, 2))
    def forward(self, x):
        return next(self.children())(x)
a_name_as_long_as_a_line_of_a_script_may_be_and_some_more_so_that_no_box_can_hold_it_all = Odd()(torch.ones(1, 2)).sum()
a_name_as_long_as_a_line_of_a_script_may_be_and_some_more_so_that_no_box_can_hold_it_all.backward()
""",
}
SIZES = {"wide": (1280, 800), "phone": (390, 844)}
SMALLEST = """() => {
  const frame = document.querySelector('#picture').getBoundingClientRect();
  const seen = [...document.querySelectorAll('#picture svg text')].filter((text) => {
    const at = text.getBoundingClientRect();
    return at.width && getComputedStyle(text).visibility === 'visible' && at.right > frame.left && at.left < frame.right && at.bottom > frame.top && at.top < frame.bottom;
  });
  return Math.min(99, ...seen.map((text) => parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a));
}"""
"""The height of the smallest letters that are in sight, in pixels."""
BOX = "#picture .box:visible"
EYE = "document.querySelector('#picture svg').style.transform"
FOLDER = os.environ.get("AUTOGRAPH_PAGES", "")
"""A folder of scripts to be tried as well."""


def pages() -> list[str]:
    return [*SCRIPTS, *(str(path) for path in sorted(Path(FOLDER).glob("*.py")) if FOLDER)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, files = tmp_path_factory.mktemp("pages"), {}
    for place, name in enumerate(pages()):
        script = folder / f"a_script_of_a_long_name_{place}.py"
        script.write_text(HEAD + SCRIPTS[name] if name in SCRIPTS else Path(name).read_text("utf-8"))
        with contextlib.redirect_stdout(io.StringIO()):
            step = record(Target.of(str(script)), record={"values"})[1].steps[-1]
        files[name] = folder / f"s{place}.html"
        files[name].write_bytes(render(step, "forward", "html", title=script.name, max_nodes=READABLE))
    return files


@pytest.fixture
def open_page(browser: Any, made: dict[str, Path]) -> Iterator[Any]:
    """Opens a page; nothing may be said on its console, and nothing asked for."""
    shown, said = [], []

    def opened(name: str, size: str = "wide", place: str = "") -> Any:
        page = browser.new_page(viewport=dict(zip(("width", "height"), SIZES[size], strict=True)))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda asked: said.append(asked.url) if not asked.url.startswith("file:") else None)
        go_to(page, made[name].as_uri() + place)
        shown.append(page)
        return page

    yield opened
    for page in shown:
        page.close()
    assert said == []


def test_every_label_is_told_with_its_place_and_its_arrows(made: dict[str, Path]) -> None:
    """Arrows that begin as one share a label; a page that counts it twice puts all later ones at other arrows."""
    shared = 0
    for name, path in made.items():
        page = path.read_text("utf-8")
        for view, picture in zip(data_of(page)["views"], pictures_of(page), strict=True):
            drawn = [float(x) for x in re.findall(r'class="label">\s*<rect[^>]*>\s*<text x="([-\d.]+)"', picture)]
            assert drawn == [label[0] for label in view["labels"]], (name, view["key"])
            shared += sum(len(label) > 3 for label in view["labels"])
    assert shared


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", pages())
def test_all_that_is_in_sight_at_first_can_be_read(open_page: Any, name: str, size: str) -> None:
    page = open_page(name, size)
    for tab in page.get_by_role("tab").all()[:-1]:
        tab.click()
        assert page.evaluate(SMALLEST) >= 8.99, tab.text_content()
        assert page.locator(BOX).count() >= 2, tab.text_content()
        page.keyboard.press("0")
        page.keyboard.press("0")
        assert page.evaluate(SMALLEST) >= 8.99, f"{tab.text_content()}, all of it"


def test_closed_layers_stand_one_below_the_other(open_page: Any) -> None:
    """Their insides lead sideways, which nobody sees while they are closed; what goes on below goes on straight."""
    page = open_page("blocks")
    at = page.locator(".shut:visible").evaluate_all("(all) => all.map((box) => box.getBoundingClientRect())")
    middles = [each["x"] + each["width"] / 2 for each in at]
    assert len(at) >= 12 and max(middles) - min(middles) < 2, middles
    told = """(all) => all.map((line) => [line.getTotalLength(), line.getAttribute('d').match(/[LC]/g).length,
      line.getPointAtLength(0).x, line.getPointAtLength(line.getTotalLength()).x])"""
    lines = page.locator("#picture .arrow path:visible").evaluate_all(told)
    past = max(lines)
    assert past[1] <= 4, "what leads past all of them is no staircase"
    between = [line for line in lines if line is not past][1:13]
    assert all(abs(x0 - x1) < 1 for _, _, x0, x1 in between), between


def test_a_model_is_closed_to_what_fits_and_opens_as_one_goes_nearer(open_page: Any) -> None:
    page = open_page("blocks")
    shut, boxes = page.locator(".shut:visible"), page.locator(BOX)
    closed, before = shut.count(), boxes.count()
    assert closed >= 12, "the blocks"
    at = shut.nth(3).bounding_box()
    page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    for _ in range(8):
        seen = page.evaluate(EYE)
        page.mouse.wheel(0, -200)
        await_true(page, f"(seen) => {EYE} !== seen", seen)
        if boxes.count() > before:
            break
    assert boxes.count() > before
    assert page.evaluate(SMALLEST) >= 8.99
    inner = boxes.count()
    page.keyboard.press("u")
    await_count(boxes, before)  # undone
    page.keyboard.press("]")
    assert boxes.count() >= inner
    for _ in range(12):
        page.keyboard.press("-")
        page.wait_for_timeout(260)  # at least so long between two that close something
    assert boxes.count() <= before, "the innermost are closed again"


def test_a_link_holds_the_place(open_page: Any) -> None:
    page = open_page("blocks")
    page.keyboard.press("]")
    page.fill("#search", "gelu")
    page.keyboard.press("Enter")
    page.locator("#search").blur()
    page.keyboard.press(".")
    await_link(page, r"at=1&.*q=gelu")
    seen = {
        "chosen": page.locator(".box.chosen:visible").count(),
        "closed": page.locator(".shut:visible").count(),
        "step": page.text_content("#step"),
        "sought": page.input_value("#search"),
    }
    other = open_page("blocks", place=page.evaluate("location.hash"))
    await_text(other.locator("#step"), f"^{re.escape(seen['step'])}$")
    where = "document.querySelector('#picture svg').getBoundingClientRect()"
    assert other.evaluate(f"{where}.left") == pytest.approx(page.evaluate(f"{where}.left"), abs=3)
    assert other.evaluate(f"{where}.width") == pytest.approx(page.evaluate(f"{where}.width"), rel=0.02)
    await_count(other.locator(".box.chosen:visible"), seen["chosen"])
    assert seen["chosen"] > 0
    assert other.locator(".shut:visible").count() == seen["closed"]
    assert other.input_value("#search") == seen["sought"]


def test_what_is_chosen_and_what_is_played_go_on_in_every_view(open_page: Any) -> None:
    page = open_page("third order")
    page.locator('.box[aria-label*="Tanh"]').first.click()
    for key, tab in (("2", "Backward"), ("3", "Order 1"), ("5", "Order 3"), ("8", "All orders"), ("1", "Forward")):
        page.keyboard.press(key)
        assert page.get_by_role("tab", selected=True).text_content() == tab
        assert page.locator(".box.chosen, .box.linked").count() > 0 or "not in this view" in page.text_content("#hangs")
    assert page.locator(".box.chosen").first.get_attribute("aria-label").endswith("Tanh")
    page.keyboard.press("3")
    page.locator("#hangs button").first.click()
    assert page.get_by_role("tab", selected=True).text_content() == "Forward"
    page.keyboard.press("8")
    page.keyboard.press("9")
    assert page.get_by_role("tab", selected=True).text_content() == "Step by step"
    page.keyboard.press("1")
    last = int(page.get_attribute("#slider", "max"))
    page.locator("#slider").fill(str(last // 2))
    title = page.locator("#step").text_content().split(": ", 1)[1]
    page.click("#play")
    page.keyboard.press("2")
    assert page.text_content("#play") == "⏸" and page.text_content("#step"), title
    page.keyboard.press(" ")
    assert page.text_content("#play") == "▶"


def test_a_backward_pass_says_what_flows_and_its_arrows_are_turned(open_page: Any) -> None:
    page = open_page("rnn")
    last = int(page.get_attribute("#slider", "max"))
    page.locator("#slider").fill(str(last))
    page.evaluate("document.activeElement.blur()")
    said = []
    for _ in range(last // 2):
        said.append(page.text_content("#step"))
        page.keyboard.press(",")
    assert any("backward" in words for words in said)
    turned = page.locator(".gradient.against > path")
    while not turned.count():
        page.keyboard.press(".")
    assert "turned" in turned.first.evaluate("path => getComputedStyle(path).markerStart")


@pytest.mark.parametrize("name", ["third order", "blocks"])
def test_the_header_is_one_row_whatever_the_view(open_page: Any, name: str) -> None:
    page = open_page(name)
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.locator("header").bounding_box()["height"] < 50, tab.text_content()


def test_the_keys_are_listed(open_page: Any) -> None:
    page = open_page("one leaf")
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible() and "undo" in page.text_content("#keys")
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()


def test_what_is_chosen_is_in_sight_in_every_view(open_page: Any) -> None:
    page = open_page("third order")
    page.locator('.box[aria-label*="Linear"]').last.click()
    for key in ("2", "8", "3", "1"):
        page.keyboard.press(key)
        marked = page.locator(".box:is(.chosen, .linked):visible")
        if marked.count():
            around, at = page.locator("#picture").bounding_box(), marked.first.bounding_box()
            assert around["y"] <= at["y"] < around["y"] + around["height"], key


def test_many_turns_of_a_module_are_one_row_of_the_tree(open_page: Any) -> None:
    page = open_page("turns")
    assert page.locator("#tree button:not(.twig)").all_text_contents() == ["cell: RNNCell × 50", "head: Linear"]
    page.locator("#tree .twig").first.click()
    assert page.locator("#tree button:not(.twig)").count() == 52
    page.locator("#tree button", has_text="cell: RNNCell (7 of 50)").click()
    assert page.locator(".box.chosen:visible").count() >= 1


def test_of_several_results_the_source_and_the_player_tell_the_named_one(open_page: Any) -> None:
    page = open_page("blocks")
    assert page.locator("#source button", has_text="loss =").locator("em").text_content().startswith("loss = 2.")
    said = []
    while not any("cross_entropy" in words for words in said[-1:]):
        page.keyboard.press(".")
        said.append(page.text_content("#step"))
    assert re.fullmatch(r"\d+/\d+ forward: cross_entropy = [\d.]+", said[-1])
    while not any("LayerNorm" in words and "backward" in words for words in said[-1:]):
        page.keyboard.press(".")
        said.append(page.text_content("#step"))
    assert " = " in said[-1] and "#" not in said[-1], "only one of three results has a gradient"


def test_the_table_of_steps_goes_to_what_is_chosen_and_a_row_has_few_lines(open_page: Any) -> None:
    page = open_page("blocks")
    page.locator('.box[aria-label^="cross_entropy"]').dispatch_event("click")
    page.keyboard.press("9")
    assert page.locator("tr.chosen").first.is_visible()
    assert max(row.bounding_box()["height"] for row in page.locator("tbody tr").all()[:60]) < 64
