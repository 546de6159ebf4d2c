"""Split Markdown into front matter and points: the bullets and paragraphs of a note, with headings and lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
FIELD = re.compile(r"\s*(?P<name>[\w-]+):\s*(?P<value>.*)")
FENCE = "---"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownPoint:
    """A bullet or paragraph."""

    heading: str
    """The heading above it; empty if there is none."""
    text: str
    lines: str
    """Its line or lines, such as ``3`` or ``3-5``."""

    @property
    def titled_text(self) -> str:
        """The text with the heading before it."""
        return f"{self.heading}: {self.text}" if self.heading else self.text


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the fields of the front matter, nested ones by their own names, and the body with its line numbers."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != FENCE or FENCE not in (line.strip() for line in lines[1:]):
        return {}, text
    end = next(number for number, line in enumerate(lines[1:], start=1) if line.strip() == FENCE)
    fields = [match for match in map(FIELD.match, lines[1:end]) if match]
    # Empty lines take the place of the front matter, so that line numbers stay right.
    body = "\n".join([""] * (end + 1) + lines[end + 1 :])
    return {match["name"]: match["value"].strip().strip("\"'") for match in fields}, body


def split_points(text: str) -> Iterator[MarkdownPoint]:
    """Split text into bullets and paragraphs, without code blocks and comments."""
    heading, start, in_code = "", 0, False
    paragraph: list[str] = []
    # The empty line at the end closes the last paragraph.
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        is_break = bool(BULLET.match(line)) or not line.strip() or line.startswith("#") or line.strip() == FENCE
        if is_break and paragraph:
            lines = str(start) if start == number - 1 else f"{start}-{number - 1}"
            yield MarkdownPoint(heading=heading, text=" ".join(paragraph), lines=lines)
            paragraph = []
        if line.startswith("#"):
            heading = line.lstrip("# ").strip()
        elif line.strip() and line.strip() != FENCE and not in_code and not line.lstrip().startswith(("```", "<!--")):
            start = start if paragraph else number
            paragraph.append(BULLET.sub("", line).strip())
