"""The page of a large graph in Chromium: how long it takes to make, to open, to open a box in it, and how it is panned.

    python benchmarks/page.py [--nodes N]

Needs playwright and an installed Chromium. Seconds: of processor time to make the page from its trace; from the
address to the first picture that is painted; from a double click on a closed box to the frame in which it is open.
Frames a second while the picture is dragged; the most memory that making it took, and that its scripts hold.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from autograph_cli import torch
from autograph_cli.export import READABLE, render
from autograph_cli.graph import Step, Trace, to_json
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


PANNED = """() => new Promise((done) => {
  const from = performance.now(); let frames = 0;
  const drag = (type, x) => document.querySelector("#picture").dispatchEvent(new PointerEvent(type, { pointerId: 1, clientX: x, clientY: 300, bubbles: true }));
  drag("pointerdown", 500);
  const look = () => {
    frames += 1;
    drag("pointermove", 500 + 3 * (frames % 60));
    if (performance.now() - from < 1000) requestAnimationFrame(look);
    else { drag("pointerup", 500); done(frames / (performance.now() - from) * 1000); }
  };
  requestAnimationFrame(look);
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


def measured(page: Path) -> tuple[float, float, float, float]:
    """Seconds to the first picture and to what is in its first closed box, frames a second, and MB of its scripts."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        shown: Any = browser.new_page(viewport={"width": 1300, "height": 850})
        begun = time.perf_counter()
        shown.goto(page.as_uri())
        shown.locator("#picture .box:visible").first.wait_for()
        shown.evaluate(PAINTED)
        painted = time.perf_counter() - begun
        closed = shown.locator("#picture .fold").first
        opened = closed.evaluate(OPENED) / 1000
        frames = shown.evaluate(PANNED)
        held = shown.evaluate("performance.memory.usedJSHeapSize") / 1e6
        browser.close()
    return painted, opened, frames, held


def main() -> None:
    """Measure, and print a line of each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=50_000)
    asked = parser.parse_args()
    step = step_of(asked.nodes)
    with tempfile.TemporaryDirectory() as folder:
        trace, file = Path(folder, "trace.json"), Path(folder, "page.html")
        trace.write_text(to_json(Trace("layers.py", (step,))))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begun, from_ = time.process_time(), time.perf_counter()
        page = render(step, "forward", "html", title="layers.py", max_nodes=READABLE)
        made, waited = time.process_time() - begun, time.perf_counter() - from_
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        file.write_bytes(page)
        whole = step.double or step.graph
        print(f"{len(step.graph):,} nodes, {len(whole):,} with derivatives; {len(page) / 1e6:.1f} MB", end="")
        print(f", {len(page) / trace.stat().st_size:.2f} of its trace")
        print(
            f"made in {made:.1f} s ({waited:.1f} s waited), {most / 1e3:.0f} MB at most, {before / 1e3:.0f} before",
            flush=True,
        )
        rounds = [measured(file) for _ in range(ROUNDS)]
    painted, opened, frames, held = (statistics.median(each) for each in zip(*rounds, strict=True))
    print(f"opened in {painted:.2f} s, a box of it in {opened:.3f} s, {frames:.0f} frames a second, {held:.0f} MB held")


if __name__ == "__main__":
    main()
