"""Every page of the documentation renders as it was meant, and its links lead somewhere."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "lab" / "notes").glob("*.md")]
MARKDOWN = MarkdownIt("commonmark").enable("table")
COMMAND = re.compile(r"(\$ |(hivemind|pip|pipx|npx|python3?|git|dev/\w+) [\w.-]+( |$))")


def list_rendering_faults(text: str) -> Iterator[str]:
    """Yield what a Markdown renderer shows otherwise than its author meant."""
    lines = text.splitlines()
    for before, token in pairwise([Token("", "", 0), *MARKDOWN.parse(text)]):
        start, end = token.map or (0, 0)
        if token.type == "fence" and lines[end - 1].strip() != token.markup:
            yield f"line {start + 1}: this block is not closed"
        if token.type in ("fence", "code_block") and not token.content.strip():
            yield f"line {start + 1}: this block is empty"
        # Inside a list item the indent belongs to the item.
        if token.type == "inline" and before.type == "paragraph_open" and before.level == 0:
            if any(line.startswith("    ") for line in lines[start:end]):
                yield f"line {start + 1}: an indented block needs a blank line before it"
            if COMMAND.match(token.content):
                yield f"line {start + 1}: a command is shown as text"


def list_links(page: Path) -> list[str]:
    inline = [child for token in MARKDOWN.parse(page.read_text()) for child in token.children or ()]
    targets = [child.attrGet("href") or child.attrGet("src") for child in inline]
    return [str(target) for target in targets if target and "://" not in str(target)]


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as code hosts make them."""
    tokens = MARKDOWN.parse(page.read_text())
    headings = [token.content for before, token in pairwise(tokens) if before.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def is_broken(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = page.parent / path if path else page
    return not target.exists() or bool(anchor and anchor not in list_anchors(target))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_keeps_its_commands_and_its_links(page: Path) -> None:
    assert list(list_rendering_faults(page.read_text())) == []
    assert [link for link in list_links(page) if is_broken(page, link)] == []


@pytest.mark.parametrize(
    "text",
    [
        "# Zed\n\nhivemind install zed\n    hivemind install zed --project .\n",
        "hivemind install zed\n",
        "Run this:\n    python -m lab.evals.faults\n",
        "```sh\nhivemind recall deploys\n",
        "```sh\n```\n",
    ],
)
def test_a_page_that_loses_its_commands_is_noticed(text: str) -> None:
    assert len(list(list_rendering_faults(text))) > 0


def test_a_link_to_nowhere_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One page\n\n[here](#one-page) [gone](other.md) [lost](page.md#two)\n")

    assert [link for link in list_links(page) if is_broken(page, link)] == ["other.md", "page.md#two"]


def test_the_documentation_can_be_read_in_an_afternoon() -> None:
    words = sum(len(page.read_text().split()) for page in (ROOT / "docs").rglob("*.md"))

    assert words <= 40_000, "move measurements to lab/notes, and say what a reader needs once"


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = [page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")]

    # The builder refuses pages that nobody can reach; it is not among the tools of the tests.
    assert [page for page in pages if f" {page}\n" not in navigation] == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "AGENTS.md", "CONTRIBUTING.md", "docs/explanation/inside.md"])
def test_a_page_about_the_code_names_files_that_exist(page: str) -> None:
    files = [str(path) for folder in ("src/hivemind", "tests", "lab", "dev") for path in (ROOT / folder).rglob("*.py")]

    names = re.findall(r"`([\w./-]+\.py)`", (ROOT / page).read_text("utf-8"))

    assert [name for name in names if not any(file.endswith(f"/{name}") for file in files)] == []
