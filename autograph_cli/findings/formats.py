"""Findings as text, as JSON, as annotations of a CI and as SARIF."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from msgspec import to_builtins

from autograph_cli import __version__
from autograph_cli.findings import RULES, Finding
from autograph_cli.findings.records import line_of

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}


def brief(finding: Finding) -> str:
    """Two lines: what is so, and what to change."""
    return f"{finding.code} {line_of(finding.source)}: {finding.said}.\n      {finding.remedy}"


def text(findings: Sequence[Finding]) -> str:
    """A paragraph for each."""
    paragraphs = []
    for finding in findings:
        lines = [f"{finding.code} {line_of(finding.source)}: {finding.said}."]
        if finding.source is not None and finding.source.text:
            lines.append(f"      > {finding.source.text}")
        lines += [f"      - {fact}" for fact in finding.facts]
        lines += [f"      why: {finding.reason}", f"      do:  {finding.remedy}"]
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def as_json(findings: Sequence[Finding]) -> str:
    """A list of objects, with the fields of `Finding`."""
    return json.dumps(to_builtins(findings), indent=2, ensure_ascii=False)


def github(findings: Sequence[Finding]) -> str:
    """A workflow command for each, which GitHub shows beside the line."""
    lines = []
    for finding in findings:
        source = finding.source
        where = f"file={_escaped(source.file)},line={source.line}," if source else ""
        message = f"{finding.said}. {finding.remedy}".replace("%", "%25").replace("\n", "%0A")
        lines.append(f"::warning {where}title={finding.code}::{message}")
    return "\n".join(lines)


def _escaped(value: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in value)


def sarif(findings: Sequence[Finding]) -> str:
    """A log that code scanning reads."""
    used = {finding.code for finding in findings}
    rules = [
        {
            "id": rule.code,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.reason},
            "help": {"text": rule.remedy},
        }
        for rule in RULES
        if rule.code in used
    ]
    return sarif_log(rules, list(map(_result, findings)))


def sarif_log(rules: Sequence[dict[str, Any]], results: Sequence[dict[str, Any]]) -> str:
    """Return a log of one run, with the rules that its results name."""
    driver = {"name": "autograph", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


def sarif_result(rule: str, level: str, said: str, place: tuple[str, int | None] | None) -> dict[str, Any]:
    """Return one result, at a file and a line of it as far as they are known."""
    result: dict[str, Any] = {"ruleId": rule, "level": level, "message": {"text": said}}
    if place is not None:
        file, line = place
        region = {"region": {"startLine": line}} if line is not None else {}
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": quote(file)}, **region}}]
    return result


def _result(finding: Finding) -> dict[str, Any]:
    said = " ".join([f"{finding.said}.", *finding.facts, finding.remedy])
    place = None if finding.source is None else (finding.source.file, finding.source.line)
    return sarif_result(finding.code, "warning", said, place)


FORMATS: dict[str, Callable[[Sequence[Finding]], str]] = {
    "text": text, "json": as_json, "github": github, "sarif": sarif,
}  # fmt: skip
