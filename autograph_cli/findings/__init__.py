"""Findings that an expert would see in a trace, with a code, a line, facts, a reason and a remedy."""

from autograph_cli.findings.explain import RULES, explain
from autograph_cli.findings.records import Finding, Rule

__all__ = ["RULES", "Finding", "Rule", "explain"]
