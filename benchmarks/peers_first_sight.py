"""What a person sees first of the models of peers.py, in Chromium: a screenshot each, and how long it took.

    python benchmarks/peers_first_sight.py FOLDER [MODEL ...]

Writes a picture of 1280 by 800 pixels for each tool and model into FOLDER and prints the rows of docs/peers.md: seconds of
processor time from the model to the page (the tool's server with it), and those of the page's main thread until 2.5 seconds
after the picture is there. It needs what peers.py needs, and: `pip install torchvista tensorboard`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from peers import models
from peers_viewers import exported

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PORT, WAIT = 8093, 90


class Shown(NamedTuple):
    """Where a tool shows a model, and what is there when it does."""

    url: str
    selector: str
    click: str = ""
    server: Any = None
    stop: Callable[[], Any] = lambda: None


def served(*command: str) -> tuple[str, subprocess.Popen[str]]:
    """Start a server; return the address that it prints."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    return next(word for line in process.stdout for word in line.split() if f"localhost:{PORT}" in word), process


def autograph(model: Any, x: Any, file: Path) -> Shown:
    import autograph_cli
    from autograph_cli.export import READABLE, render

    with autograph_cli.record(steps="all") as recorded:
        model(x).sum().backward()
    page = file.with_suffix(".autograph.html")
    page.write_bytes(render(recorded.trace.steps[-1], "forward", "html", max_nodes=READABLE, title=file.name))
    return Shown(page.as_uri(), "#picture .box:visible")


def torchvista(model: Any, x: Any, file: Path) -> Shown:
    import torchvista as tool

    page = file.with_suffix(".torchvista.html")
    tool.trace_model(model, x, export_format="html", export_path=str(page))
    return Shown(page.as_uri(), "svg g text")


def netron(model: Any, x: Any, file: Path) -> Shown:
    import netron as tool
    import torch

    torch.export.save(exported(model, x, False), file)
    host, port = tool.start(str(file), browse=False)
    return Shown(f"http://{host}:{port}", "body.default #canvas .node", "text=Accept", None, tool.stop)


def model_explorer(model: Any, x: Any, file: Path) -> Shown:
    import torch

    torch.export.save(exported(model, x, False), file)
    program = Path(sys.executable).with_name("model-explorer")
    url, server = served(str(program), str(file), "--no_open_in_browser", "--port", str(PORT), "--skip_health_check")
    return Shown(url, "canvas", "", server, server.terminate)


def tensorboard(model: Any, x: Any, file: Path) -> Shown:
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(file.with_suffix(".events")))
    writer.add_graph(model, x)
    writer.close()
    log = str(file.with_suffix(".events"))
    url, server = served(sys.executable, "-m", "tensorboard.main", "--logdir", log, "--port", str(PORT))
    return Shown(f"{url.rstrip('/')}/#graphs", "g.node", "", server, server.terminate)


def busy(server: Any) -> float:
    """Seconds of processor time of this process and of a server, where /proc tells of it."""
    own = time.process_time()
    if server is None:
        return own
    facts = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return own + (int(facts[11]) + int(facts[12])) / 100


def seen(browser: Any, shown: Shown, picture: Path) -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(shown.url, timeout=WAIT * 1000)
    if shown.click:
        page.click(shown.click)
    page.locator(shown.selector).first.wait_for(timeout=WAIT * 1000, state="attached")
    page.wait_for_timeout(2_500)
    page.screenshot(path=str(picture))
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    page.close()
    return float(metrics["TaskDuration"])


def main(folder: Path, wanted: list[str]) -> None:
    from playwright.sync_api import sync_playwright

    made = {name: make for name, make in models().items() if name != "gradient penalty"}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name in wanted or made:
            for tool in (autograph, torchvista, netron, model_explorer, tensorboard):
                model, x, _ = made[name]()
                key = name.partition(",")[0].replace(" ", "_")
                start, shown = busy(None), Shown("", "")
                try:
                    shown = tool(model, x, folder / f"{key}.pt2")
                    took = busy(shown.server) - start
                    page = seen(browser, shown, folder / f"{key}.{tool.__name__}.png")
                    print(f"| {name} | {tool.__name__} | {took:.1f} | {page:.2f} |", flush=True)
                except Exception as error:
                    print(f"- {name}, {tool.__name__}: `{str(error).splitlines()[0]}`", flush=True)
                finally:
                    shown.stop()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
