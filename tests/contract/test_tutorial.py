"""Every command of the tutorial runs, and prints what the tutorial says it prints."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHECK = [sys.executable, "dev/tutorial.py", "--check"]


def test_the_tutorial_does_what_it_says() -> None:
    done = subprocess.run(CHECK, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.stderr, done.returncode) == ("", 0), "run 'python dev/tutorial.py' and read the difference"


def test_the_tutorial_says_what_its_commands_print() -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]

    assert f"`pipx install {name}`" in page
    assert len(re.findall("^```sh$", page, re.MULTILINE)) >= 15
    assert len(re.findall("^```text$", page, re.MULTILINE)) >= 10
    assert re.findall("^```(?!sh|text)", page, re.MULTILINE) == page.count("\n```\n") * ["```"]
