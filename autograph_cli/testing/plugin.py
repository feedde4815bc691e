"""The pytest plugin: the fixture `graph_snapshot`, its options, a word at the end. Light until it is used."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from autograph_cli.testing.fixture import GraphSnapshot

FOLDER = "__graphs__"
SUFFIX = ".graph.txt"
_PLUGIN = "autograph-snapshots"
_LONGEST = 100
_STRANGE = re.compile(r"[^\w.\-\[\]=,+]+")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--graph-update` and `--graph-engine`."""
    group = parser.getgroup("autograph", "graph snapshots")
    group.addoption(
        "--graph-update", action="store_true", help="rewrite graph snapshots that differ, and remove unused ones"
    )
    group.addoption(
        "--graph-engine",
        nargs="?",
        const="builtin",
        choices=("builtin", "torch"),
        help="`import torch` is autograph's engine, as it is in `autograph run`, or PyTorch with `torch`",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """With `--graph-engine builtin`, whatever is imported from here on has the engine as its `torch`."""
    if early_config.known_args_namespace.graph_engine == "builtin":
        from autograph_cli.record.run.imports import serve  # pytest loads this file in every project

        serving: Any = serve()
        serving.__enter__()
        early_config.add_cleanup(lambda: serving.__exit__(None, None, None))


def pytest_configure(config: pytest.Config) -> None:
    """A record of what this session does with snapshots."""
    config.pluginmanager.register(Snapshots(config), _PLUGIN)


@pytest.fixture
def graph_snapshot(request: pytest.FixtureRequest) -> Iterator[GraphSnapshot]:
    """Compares graphs with those kept beside the test: `assert graph_snapshot == loss`."""
    from autograph_cli.testing.fixture import GraphSnapshot, recording  # likewise

    session: Any = request.config.pluginmanager.get_plugin(_PLUGIN)
    with recording(request.config.getoption("graph_engine")) as recorders:
        yield _snapshot(request, session, GraphSnapshot, recorders)


def _snapshot(request: pytest.FixtureRequest, session: Snapshots, cls: type[GraphSnapshot], recorders: Any) -> Any:
    return cls(
        folder_of(request.node.path),
        base_of(request.node),
        update=request.config.getoption("graph_update"),
        note=session.note,
        temporary=lambda: request.getfixturevalue("tmp_path"),
        root=request.config.rootpath,
        show=lambda text: request.node.add_report_section("call", "graph snapshot", text),
        recorders=recorders,
        always=request.config.getoption("graph_engine") is not None,
        fill=session.filled.append,
    )


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """The review of a graph that differs, instead of two representations."""
    module: Any = sys.modules.get("autograph_cli.testing.fixture")
    if op != "==" or module is None or not isinstance(left, (module.GraphSnapshot, module.InlineSnapshot)):
        return None
    told: list[str] | None = left.report()
    return told


def folder_of(path: Path) -> Path:
    """Return where the snapshots of a test file are."""
    return path.parent / FOLDER / path.stem


def base_of(item: pytest.Item) -> str:
    """Return how the snapshots of a test begin: `TestModel.test_loss[3-5]`."""
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    name = ".".join([*classes, item.name])
    plain = _STRANGE.sub("_", name)
    if plain == name and len(name) <= _LONGEST:
        return name
    return f"{plain[:_LONGEST]}-{sha1(name.encode(), usedforsecurity=False).hexdigest()[:8]}"


class Snapshots:
    """The snapshots of a session, or of one worker of it, as plain data that workers send home."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.update = bool(config.getoption("graph_update"))
        self.statuses: dict[str, str] = {}
        """The status of each snapshot file."""
        self.bases: dict[str, set[str]] = {}
        """The tests that were collected, by the folder of their snapshots."""
        self.passed: dict[str, set[str]] = {}
        self.filled: list[tuple[str, int, str]] = []
        """The texts that tests are to have, by file and line."""
        self.partial: set[str] = set()
        """Folders of test files of which not all tests were asked for."""

    def note(self, path: Path, status: str) -> None:
        """A snapshot was compared or written."""
        self.statuses[str(path)] = status

    # -- what was asked for

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            self.bases.setdefault(str(folder_of(item.path)), set()).add(base_of(item))
        for argument in session.config.args:
            if "::" in argument:
                self.partial.add(str(folder_of(Path(session.config.invocation_params.dir, argument.split("::")[0]))))

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        self.partial.update(str(folder_of(item.path)) for item in items)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        outcome: Any = yield
        report = outcome.get_result()
        if report.when == "call" and report.passed:
            self.passed.setdefault(str(folder_of(item.path)), set()).add(base_of(item))

    # -- workers of pytest-xdist

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output["autograph"] = {
                "statuses": self.statuses,
                "partial": sorted(self.partial),
                "filled": self.filled,
                "bases": {key: sorted(names) for key, names in self.bases.items()},
                "passed": {key: sorted(names) for key, names in self.passed.items()},
            }

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        sent = getattr(node, "workeroutput", {}).get("autograph")
        if sent is None:
            return
        self.statuses |= sent["statuses"]
        self.partial |= set(sent["partial"])
        self.filled += map(tuple, sent["filled"])
        for mine, theirs in ((self.bases, sent["bases"]), (self.passed, sent["passed"])):
            for key, names in theirs.items():
                mine.setdefault(key, set()).update(names)

    # -- at the end

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        counts = [
            f"{found} {word}"
            for status, word in (("written", "written"), ("updated", "updated"))
            if (found := sum(value == status for value in self.statuses.values()))
        ]
        if hasattr(self.config, "workerinput"):  # a worker does not know what the others used
            return
        unused = sorted(self.unused())
        if not counts and not unused and not self.filled:
            return
        terminalreporter.section("graph snapshots")
        if counts:
            terminalreporter.write_line(", ".join(counts))
        if self.filled:
            from autograph_cli.testing.inline import fill_in  # where there are any

            wrong = fill_in(self.filled)
            terminalreporter.write_line(f"{len(set(self.filled)) - len(wrong)} filled in, in the tests themselves")
            for sentence in wrong:
                terminalreporter.write_line(sentence)
        for path in unused:
            if self.update:
                path.unlink(missing_ok=True)
            shown = path.relative_to(self.config.rootpath) if path.is_relative_to(self.config.rootpath) else path
            terminalreporter.write_line(f"{'removed' if self.update else 'unused'}: {shown}")
        if unused and not self.update:
            terminalreporter.write_line("remove them with --graph-update")

    def unused(self) -> Iterator[Path]:
        """The snapshots that no test needed, as far as the tests that ran can tell."""
        for key, bases in self.bases.items():
            for path in Path(key).glob(f"*{SUFFIX}"):
                if str(path) in self.statuses:
                    continue
                stem = path.name.removesuffix(SUFFIX)
                owners = [base for base in bases if stem == base or stem.startswith(f"{base}.")]
                if owners:
                    if max(owners, key=len) in self.passed.get(key, ()):
                        yield path
                elif key not in self.partial:
                    yield path
        for parent in {Path(key).parent for key in self.bases}:
            for folder in parent.glob("*/"):
                if not (parent.parent / f"{folder.name}.py").exists():
                    yield from folder.glob(f"*{SUFFIX}")
