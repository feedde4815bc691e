"""Results of snapshots for machines: JUnit XML, SARIF, and GitHub's annotations."""

from __future__ import annotations

import platform
import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from pathlib import Path

from autograph_cli.findings import formats
from autograph_cli.graph.names import visible_lines
from autograph_cli.testing.checking import Result

_PLACE = re.compile(r"\((?P<file>[^(),]+\.py):(?P<line>\d+)[),]|line (?P<number>\d+) of (?P<other>\S+\.py)")

_RULES = {
    "different": ("The graph is another one than its snapshot has.", "Mend the script, or accept it with --update."),
    "missing": ("There is no snapshot.", "Write it with autograph snapshot, and commit it."),
    "failed": ("The script, or its snapshot, could not be read.", "Mend what the message says."),
}


def junit(results: Sequence[Result]) -> bytes:
    """A test suite with a case for each script, by the schemas of Ant and of Jenkins."""
    counts = [sum(result.outcome.exit_code == code for result in results) for code in (1, 2)]
    when, seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()), sum(result.seconds for result in results)
    told = {"id": 0, "package": "autograph", "timestamp": when, "hostname": platform.node() or "localhost",
            "tests": len(results), "failures": counts[0], "errors": counts[1], "time": f"{seconds:.3f}"}  # fmt: skip
    suite = ET.Element("testsuite", {key: str(value) for key, value in told.items()}, name="autograph snapshot")
    ET.SubElement(suite, "properties")
    for result in results:
        outcome = result.outcome
        named = {"name": visible_lines(result.script.as_posix()), "time": f"{result.seconds:.3f}"}
        case = ET.SubElement(suite, "testcase", named, classname="autograph.snapshot")
        if outcome.exit_code == 0:
            continue
        sentences = outcome.diff.sentences if outcome.diff else [outcome.error]
        entry = ET.SubElement(case, "error" if outcome.exit_code == 2 else "failure")
        entry.set("type", outcome.status)
        entry.set("message", visible_lines("; ".join(sentences)))
        entry.text = visible_lines("\n".join(sentences) + "\n\n" + (outcome.diff.to_text() if outcome.diff else ""))
    for stream in ("system-out", "system-err"):
        ET.SubElement(suite, stream)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8")
    return b'<?xml version="1.0" encoding="utf-8"?>\n' + text + b"\n"


def github(results: Sequence[Result]) -> Iterator[str]:
    """An `::error` line for each sentence, at the line of the script that it is about where that is known."""
    for _, sentence, file, line in _told(results):
        at = "" if line is None else f",line={line}"
        yield f"::error file={_property(file)}{at},title=autograph snapshot::{_data(sentence)}"


def sarif(results: Sequence[Result]) -> str:
    """A log that code scanning reads, with a result for each sentence."""
    told = list(_told(results))
    used = {status for status, *_ in told}
    rules = [
        {"id": f"snapshot-{status}", "shortDescription": {"text": title}, "help": {"text": remedy}}
        for status, (title, remedy) in _RULES.items()
        if status in used
    ]
    return formats.sarif_log(
        rules,
        [formats.sarif_result(f"snapshot-{status}", "error", said, (file, line)) for status, said, file, line in told],
    )


def _told(results: Sequence[Result]) -> Iterator[tuple[str, str, str, int | None]]:
    """Yield the status of what is not the same, a sentence, and the file and line that it is about."""
    for result in results:
        outcome = result.outcome
        if outcome.exit_code == 0:
            continue
        for sentence in outcome.diff.sentences if outcome.diff else [outcome.error]:
            position = _PLACE.search(sentence)
            file = _there(result.script, position["file"] or position["other"]) if position else result.script
            line = int(position["line"] or position["number"]) if position else None
            yield outcome.status, sentence, file.as_posix(), line


def _there(script: Path, name: str) -> Path:
    """The file that a sentence names: lines of a module are told from the folder that its package is in."""
    places = [folder / name for folder in script.parents]
    return next((place for place in places if place.is_file()), places[0])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
