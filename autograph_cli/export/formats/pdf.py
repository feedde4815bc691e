"""A placed scene as PDF 1.4: one page of lines, shapes and the fonts that every reader has.

Libraries were tried: fpdf2 takes seven times as long and has no `∂` or `…` in these fonts; reportlab takes as long, and
brings 30 MB of packages and no font of our own for `↻`; those on cairo or pango embed the machine's fonts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from autograph_cli.export.errors import ExportError
from autograph_cli.export.formats.drawing import Area, Text, Way, primitives
from autograph_cli.export.layout.placed import Placed, Point, Rectangle, outline

LARGEST = 14_400.0
"""Points of a side that readers accept."""
_ROUND = 0.5523
"""The distance of the control points of a quarter circle, as a part of its radius."""

# Widths of Helvetica in thousandths, for the characters from space to tilde.
_HELVETICA_WIDTHS = """
    278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278
    584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944
    667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500
    278 556 500 722 500 500 500 334 260 334 584
"""
_HELVETICA = [int(width) for width in _HELVETICA_WIDTHS.split()]
_OTHER = {"·": 278, "…": 1000, "\xa0": 278, "×": 584}
# Letters that only the font Symbol has: their code there, and their width.
_SYMBOL_GLYPHS = """
    ∂ B6 494  ′ A2 247  α 61 631  β 62 549  γ 67 411  δ 64 494  ε 65 439  ζ 7A 494  η 68 603
    θ 71 521  ι 69 329  κ 6B 549  λ 6C 549  μ 6D 576  ν 6E 521  ξ 78 493  ο 6F 549  π 70 549
    ρ 72 549  σ 73 603  τ 74 439  υ 75 576  φ 66 521  χ 63 549  ψ 79 686  ω 77 686  Γ 47 603
    Δ 44 612  Θ 51 741  Λ 4C 686  Ξ 58 645  Π 50 768  Σ 53 592  Φ 46 763  Ψ 59 795  Ω 57 768
    ∇ D1 713  → AE 987  ↓ AF 603  − 2D 549  ◦ B0 400  ⊕ C5 768
"""
_SYMBOL = {
    character: (int(code, 16), int(width)) for character, code, width in re.findall(r"(\S) (\S+) (\S+)", _SYMBOL_GLYPHS)
}
_CIRCLED = {chr(ord("①") + number): 0xAC + number for number in range(10)}
"""The numbers that the font ZapfDingbats has."""
_CIRCLE = 788
_TURN, _TURN_WIDTH = "↻", 800
"""No font of readers has it: the file brings one with this glyph alone."""


def to_pdf(placed: Placed) -> bytes:
    """Write the picture; nothing in the file tells when or where it was made.

    Raises `ExportError` for a page larger than readers accept, and for a character that their fonts lack.
    """
    if max(placed.width, placed.height) > LARGEST:
        raise ExportError("The graph is too big for a PDF page: choose svg, or a smaller part with --from and --to.")
    page = _Page(placed.height)
    for primitive in primitives(placed):
        for part in primitive.parts:
            page.draw(part)
    return _file(placed, "\n".join(page.lines).encode("latin-1"))


class _Page:
    """The drawing commands of a page whose y grows downwards."""

    def __init__(self, height: float) -> None:
        self.height = height
        self.lines: list[str] = []

    def at(self, *points: Point) -> str:
        return " ".join(f"{_number(x)} {_number(self.height - y)}" for x, y in points)

    def draw(self, part: Area | Text | Way) -> None:
        """Draw a part of a picture."""
        if isinstance(part, Area):
            self.area(part)
        elif isinstance(part, Text):
            self.words(part)
        else:
            self.way(part)

    def area(self, area: Area) -> None:
        position = area.position
        if not area.line:
            self.lines.append(f"{_colour(area.fill)} rg {self.polygon(outline('operation', position))} h f")
            return
        if position.round:
            way = self.rounded(position, position.width / 2, position.height / 2)
        elif area.corner:
            way = self.rounded(position, area.corner)
        else:
            way = self.polygon(outline("input" if area.slanted else "operation", position))
        look = f"{area.thick or '1'} w [{'4 3' if area.dashed else ''}] 0 d"
        self.lines.append(f"{_colour(area.fill)} rg {_colour(area.line)} RG {look} {way} h B")

    def polygon(self, points: Sequence[Point]) -> str:
        return f"{self.at(points[0])} m " + " ".join(f"{self.at(point)} l" for point in points[1:])

    def rounded(self, position: Rectangle, across: float, down: float = 0.0) -> str:
        """A rectangle with round corners of these radii; with those of half its sides, an ellipse."""
        down = down or across
        left, right = position.x - position.width / 2, position.x + position.width / 2
        top, bottom = position.y - position.height / 2, position.y + position.height / 2
        a, b = across * (1 - _ROUND), down * (1 - _ROUND)
        corners: Iterable[tuple[Point, Point, Point, Point]] = (
            ((right - across, top), (right - a, top), (right, top + b), (right, top + down)),
            ((right, bottom - down), (right, bottom - b), (right - a, bottom), (right - across, bottom)),
            ((left + across, bottom), (left + a, bottom), (left, bottom - b), (left, bottom - down)),
            ((left, top + down), (left, top + b), (left + a, top), (left + across, top)),
        )
        way = f"{self.at((left + across, top))} m"
        for start, *curve in corners:
            way += f" {self.at(start)} l {self.at(*curve)} c"
        return way

    def way(self, way: Way) -> None:
        ink, drawn = _colour(way.colour), f"{self.at(way.line.start)} m"
        strokes = way.line.strokes
        for number, stroke in enumerate(strokes, 1):
            points = (*stroke[:-1], way.neck) if way.head and number == len(strokes) else stroke
            drawn += f" {self.at(*points)} {'c' if len(points) == 3 else 'l'}"
        if not way.head:
            self.lines.append(f"{ink} RG 0.6 w [] 0 d {drawn} S")
            return
        self.lines.append(f"{ink} RG {ink} rg 1 w [{way.dash}] {_number(way.phase)} d {drawn} S")
        self.lines.append(f"{self.polygon(way.head)} h f")

    def words(self, text: Text) -> None:
        """Write a line of text, in runs of one font each."""
        if not text.words:
            return
        x = text.at[0] - helvetica_width(text.words) * text.size / 2 if text.centred else text.at[0]
        parts = [f"BT {_colour(text.ink)} rg {self.at((x, text.at[1]))} Td"]
        parts += [f"/{font} {text.size} Tf <{codes.hex()}> Tj" for font, codes in _runs(text.words)]
        self.lines.append(" ".join([*parts, "ET"]))


def _runs(text: str) -> list[tuple[str, bytes]]:
    runs: list[tuple[str, bytes]] = []
    for character in text:
        font, code = "F1", b""
        if character in _SYMBOL:
            font, code = "F2", bytes([_SYMBOL[character][0]])
        elif character == _TURN:
            font, code = "F3", b"t"
        elif character in _CIRCLED:
            font, code = "F4", bytes([_CIRCLED[character]])
        else:
            try:
                code = character.encode("cp1252")
            except UnicodeEncodeError:
                raise ExportError(f"A PDF without embedded fonts has no glyph for {character!r}: choose svg.") from None
        if runs and runs[-1][0] == font:
            runs[-1] = (font, runs[-1][1] + code)
        else:
            runs.append((font, code))
    return runs


def helvetica_width(text: str) -> float:
    """The width of a line in units of its font size."""
    total = 0
    for character in text:
        if character in _SYMBOL:
            total += _SYMBOL[character][1]
        elif character == _TURN:
            total += _TURN_WIDTH
        elif character in _CIRCLED:
            total += _CIRCLE
        elif " " <= character <= "~":
            total += _HELVETICA[ord(character) - 32]
        else:
            total += _OTHER.get(character, 556)
    return total / 1000


def _file(placed: Placed, content: bytes) -> bytes:
    fonts = [
        f"<< /Type /Font /Subtype /Type1 /BaseFont /{name}{encoding} >>"
        for name, encoding in (("Helvetica", " /Encoding /WinAnsiEncoding"), ("Symbol", ""))
    ]
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_number(placed.width)} {_number(placed.height)}] "
        "/Contents 4 0 R /Resources << /Font << /F1 5 0 R /F2 6 0 R /F3 7 0 R /F4 9 0 R >> >> >>".encode(),
        _stream(content),
        *(font.encode() for font in fonts),
        b"<< /Type /Font /Subtype /Type3 /FontBBox [0 -100 %d 800] /FontMatrix [0.001 0 0 0.001 0 0] "
        b"/CharProcs << /turn 8 0 R >> /Encoding << /Type /Encoding /Differences [116 /turn] >> "
        b"/FirstChar 116 /LastChar 116 /Widths [%d] /Resources << >> >>" % (_TURN_WIDTH, _TURN_WIDTH),
        _stream(_turn().encode()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /ZapfDingbats >>",
    ]
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    positions = []
    for number, body in enumerate(objects, 1):
        positions.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % position for position in positions)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _turn() -> str:
    """The glyph of a turn: an open ring, clockwise, and the head of an arrow at its end."""
    ring = [(angle, 310) for angle in range(0, -301, -12)] + [(angle, 240) for angle in range(-300, 1, 12)]
    corners = [(400 + r * math.cos(math.radians(a)), 340 + r * math.sin(math.radians(a))) for a, r in ring]
    head = [(430, 480), (700, 480), (650, 760)]
    ways = (" l ".join(f"{x:.0f} {y:.0f}" for x, y in way).replace(" l ", " m ", 1) + " l h" for way in (corners, head))
    return f"{_TURN_WIDTH} 0 0 -100 {_TURN_WIDTH} 800 d1 {' '.join(ways)} f"


def _colour(code: str) -> str:
    """`#FFCC00` as three parts of one."""
    return " ".join(_number(int(code[i : i + 2], 16) / 255) for i in (1, 3, 5))


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") or "0"
