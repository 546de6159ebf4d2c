"""The reference pages say what the code says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_the_reference_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "dev/reference.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"COLUMNS": "80"},
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_plugin_and_the_extensions_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, "dev/plugins.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_the_recording_shows_what_a_run_does_now() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dev.recording", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    picture = (ROOT / "docs" / "pictures" / "recording.svg").read_text("utf-8")

    assert (done.returncode, done.stderr) == (0, "")
    assert picture.index("without memory</text>") < picture.index("failed</text>") < picture.index("passed</text>")


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("commands.md", "## hivemind config set"),
        ("exit-codes.md", "| 70 | "),
        ("tools.md", "## recall"),
        ("http.md", "## POST /v1/memories/{memory}/{verdict}"),
        ("views.md", "## agent_memory"),
        ("settings.md", "| `recall_limit` | 5 | `HIVEMIND_RECALL_LIMIT` |"),
        ("events.md", "| `memory.remembered` |"),
    ],
)
def test_each_page_is_there_and_says_what_it_is_for(page: str, told: str) -> None:
    assert told in (ROOT / "docs" / "reference" / page).read_text()


def test_all_paragraphs_of_a_command_have_the_same_margin() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()

    assert len(re.findall(r"\n\n {6}[A-Z]", page)) > 100
    assert re.findall(r"\n\n {7,}\S.*", page) == []


def test_every_page_is_in_the_index() -> None:
    docs = ROOT / "docs"
    named = {(docs / link).resolve() for link in LINK.findall((docs / "README.md").read_text())}

    pages = {page for page in docs.rglob("*.md") if page != docs / "README.md"}

    assert len(pages) > 20
    assert pages - named == set()


def test_the_pictures_are_shown_and_small() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    links = [(page, link) for page in pages for link in re.findall(r"!\[[^]]+\]\(([^)]+)\)", page.read_text())]
    shown = {(page.parent / link).resolve() for page, link in links}
    kept = set((ROOT / "docs" / "pictures").iterdir())

    assert shown == kept
    assert all(1_000 < picture.stat().st_size < 300_000 for picture in kept)
