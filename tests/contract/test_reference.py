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


@pytest.mark.parametrize(
    ("page", "told"),
    [
        ("commands.md", "## hivemind config set"),
        ("exit-codes.md", "| 70 | "),
        ("tools.md", "## recall"),
        ("http.md", "## POST /v1/memories/{memory}/{verdict}"),
        ("views.md", "## agent_memory"),
        ("settings.md", "| `recall_limit` | 5 | `HIVEMIND_RECALL_LIMIT` |"),
        ("events.md", "## memory.remembered"),
    ],
)
def test_each_page_is_there_and_says_what_it_is_for(page: str, told: str) -> None:
    assert told in (ROOT / "docs" / "reference" / page).read_text()


def test_what_the_pages_point_at_exists() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    pointed = [(page, link) for page in pages for link in LINK.findall(page.read_text()) if "://" not in link]

    lost = [f"{page.relative_to(ROOT)}: {link}" for page, link in pointed if not (page.parent / link).exists()]

    assert pointed != []
    assert lost == []
