"""Numbers that pages say of speed are those of the table that the named command wrote."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from tests.docs.pages import ROOT


class Claim(NamedTuple):
    """A sentence with the least and the greatest number of a column."""

    page: str
    sentence: str
    """A regular expression with a group for each number."""
    command: str
    column: str


NUMBER = r"([\d.]+)"
PYTORCH, OWN = "benchmarks/recording_pytorch.py", "benchmarks/recording.py"
CLAIMS = [
    Claim(
        "README.md",
        rf"steps that are not recorded take {NUMBER} to {NUMBER} ms longer each",
        PYTORCH,
        "ms added in between",
    ),
    Claim("docs/pytorch.md", rf"take {NUMBER} to {NUMBER} ms longer each", PYTORCH, "ms added in between"),
    Claim("docs/pytorch.md", rf"a followed step takes {NUMBER} to {NUMBER} times as long", PYTORCH, "followed"),
    Claim("docs/pytorch.md", rf"a kept one with its derivatives {NUMBER} to {NUMBER} times", PYTORCH, "kept"),
    Claim(
        "docs/architecture.md",
        rf"training loops of 100 to 20,000 steps take {NUMBER} to {NUMBER} times as long",
        OWN,
        "ratio",
    ),
]
GONE = ["cost nothing", "a second to import", "costs up to 1.6 times"]
"""What was said and never measured so."""


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.page}: {claim.column}")
def test_what_a_page_says_is_in_the_table(claim: Claim) -> None:
    text = " ".join((ROOT / claim.page).read_text("utf-8").split())
    said = re.search(claim.sentence, text)
    assert said is not None, f"{claim.page} says no such thing any more: {claim.sentence}"
    numbers = column(claim.command, claim.column)
    assert list(map(float, said.groups())) == [min(numbers), max(numbers)]
    assert claim.command in text, f"{claim.page} does not name the command that measured it"


def column(command: str, name: str) -> list[float]:
    """The numbers of a column of the table that a command wrote into benchmarks/README.md."""
    assert (ROOT / command).is_file()
    page = (ROOT / "benchmarks/README.md").read_text("utf-8")
    written = page.partition(f"<!-- written by `{command}` -->")[2].partition("<!-- end -->")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines() if line.startswith("|")]
    at = rows[0].index(name)
    return [float(row[at]) for row in rows[2:]]


def test_the_mean_of_single_operations_is_said_alike() -> None:
    """`benchmarks/operations.py` prints it; the pages repeat it."""
    table = (ROOT / "benchmarks/README.md").read_text("utf-8")
    means = re.search(rf"geometric means are {NUMBER} \(tiny\), {NUMBER} \(small\) and {NUMBER} \(medium", table)
    page = " ".join((ROOT / "docs/commands.md").read_text("utf-8").split())
    said = re.search(rf"single operations take {NUMBER} \(4x4\), {NUMBER} \(64x64\) and {NUMBER} \(512x512\)", page)
    assert means is not None and said is not None
    assert means.groups() == said.groups() and "benchmarks/operations.py" in page


def test_what_is_said_of_findings_is_in_their_table() -> None:
    """`make bench-findings` writes it; the sentence above repeats it."""
    page = (ROOT / "docs/findings.md").read_text("utf-8")
    lines = page.partition("<!-- measured by make bench-findings -->")[2].partition("<!-- end -->")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    *families, (_, *every), (_, *right) = rows[2:]
    assert every == [str(sum(int(row[n]) for row in families)) for n in range(1, len(rows[0]))]
    said = re.search(r"Of \d+ mistakes [^.]*; of \d+ right scripts [^.]*\.", " ".join(page.split()))
    assert said is not None and re.findall(r"\d+", said[0]) == [*every, *right]


@pytest.mark.parametrize("words", GONE)
def test_no_page_says_what_was_never_measured(words: str) -> None:
    pages = [ROOT / "README.md", ROOT / "benchmarks/README.md", *(ROOT / "docs").glob("*.md")]
    assert not [page.name for page in pages if words in page.read_text("utf-8")]
