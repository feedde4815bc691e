"""The page of a large graph in Chromium: how long it takes to make, to open, and to open a box in it.

    python benchmarks/page.py [--nodes N]

Needs playwright and an installed Chromium. Seconds: of processor time to make the page from its trace; from the
address to the first picture that is painted; from a double click on a closed box to the frame in which it is open.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from autograph_cli import torch
from autograph_cli.export import READABLE, render
from autograph_cli.graph import Step
from autograph_cli.record.recorder import Recorder

ROUNDS = 3
PAINTED = """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
  performance.getEntriesByName("first-contentful-paint")[0]?.startTime))))"""
OPENED = """(box) => new Promise((done) => {
  const from = performance.now(), all = document.querySelectorAll("#picture .box").length;
  const look = () => document.querySelectorAll("#picture .box").length > all
    ? requestAnimationFrame(() => done(performance.now() - from)) : requestAnimationFrame(look);
  box.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
  look();
})"""


def step_of(nodes: int) -> Step:
    """A step of a deep stack of layers whose forward graph has about so many nodes."""
    recorder = Recorder("all", "layers.py")
    recorder.start()
    block = [torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()) for _ in range(nodes // 5)]
    model, x = torch.nn.Sequential(*block), torch.ones(1, 2)
    loss = model(x).sum()
    loss.backward()
    return recorder.finish({"model": model, "x": x, "loss": loss}).steps[-1]


def measured(page: Path) -> tuple[float, float]:
    """Seconds to the first picture, and to what is in its first closed box."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        shown: Any = browser.new_page(viewport={"width": 1300, "height": 850})
        begun = time.perf_counter()
        shown.goto(page.as_uri())
        shown.locator("#picture .box").first.wait_for()
        shown.evaluate(PAINTED)
        painted = time.perf_counter() - begun
        closed = shown.locator("#picture .fold").first
        opened = closed.evaluate(OPENED) / 1000
        browser.close()
    return painted, opened


def main() -> None:
    """Measure, and print a line of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=50_000)
    asked = parser.parse_args()
    step = step_of(asked.nodes)
    begun = time.process_time()
    page = render(step, "forward", "html", title="layers.py", max_nodes=READABLE)
    made = time.process_time() - begun
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_bytes(page)
        rounds = [measured(file) for _ in range(ROUNDS)]
    painted, opened = (statistics.median(each) for each in zip(*rounds, strict=True))
    whole = step.double or step.graph
    print(f"{len(step.graph):,} nodes, {len(whole):,} with derivatives; {len(page) / 1e6:.1f} MB")
    print(f"made in {made:.1f} s, opened in {painted:.2f} s, a box of it in {opened:.3f} s")


if __name__ == "__main__":
    main()
