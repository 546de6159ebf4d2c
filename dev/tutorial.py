"""Runs the commands of docs/tutorial.md in an empty home, and writes what they print under them.

python dev/tutorial.py           write the page if a command prints something else
python dev/tutorial.py --check   fail if a command fails or prints something else
"""

import difflib
import os
import pty
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from hivemind.model.recall import CODE_BEHIND

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALL_COMMAND = "git clone https://github.com/hivemind-memory/hivemind\npipx install ./hivemind\n"
"""Not run here, because it downloads; dev/test-wheel tries it."""
ID = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b")


class Terminal:
    """A shell at an 80 column terminal, in an empty home."""

    def __init__(self, home: Path) -> None:
        self.directory = self.home = home
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        user = {"HOME": str(home), "HIVEMIND_PERSON": "ada", "PATH": path}
        display = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "80"}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HIVEMIND_", "COV"))}
        self.environ = inherited | user | display

    def run(self, script: str) -> str:
        """Run a block and return what a person sees; the next block starts in the directory where it ended."""
        screen, keyboard = pty.openpty()
        with subprocess.Popen(
            ["bash", "-c", f"{script}\ncode=$?; pwd > $HOME/where; exit $code"],
            cwd=self.directory, env=self.environ, stdin=keyboard, stdout=keyboard, stderr=keyboard,
        ) as shell:  # fmt: skip
            os.close(keyboard)
            shown = b""
            # Reading a terminal whose other end is closed raises an error on Linux.
            with os.fdopen(screen, "rb", buffering=0) as output, suppress(OSError):
                while part := output.read(65536):
                    shown += part
        text = shown.decode().replace("\r\n", "\n")
        # 1 is a negative result, such as stale memories found by 'code stale'.
        if shell.returncode not in (0, 1):
            sys.exit(f"{script}ended with {shell.returncode}:\n{text}")
        self.directory = Path((self.home / "where").read_text().strip())
        return "\n".join(line.rstrip() for line in text.replace(str(self.home), "~").splitlines()) + "\n"


def normalise(text: str) -> str:
    """The text without ids, dates, times, sizes and spacing, which differ from run to run."""
    # A machine that is busy enough says this in any tree.
    text = text.replace(f"{CODE_BEHIND}\n", "")
    text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DATE", ID.sub("ID", text))
    text = re.sub(r"\b(commit|since) [0-9a-f]{7}\b", r"\1 ID", text)
    text = re.sub(r"\bID(-[0-9a-f]{4}){3}-\w+|\b[0-9a-f]{9,}\b|\d+\.\d (?=s|MB)", "…", text)
    return "\n".join(re.sub(r"\s+", " ", line).strip() for line in text.splitlines()).strip()


def run_page(page: str, terminal: Terminal) -> str:
    """The page with what its commands print now, all of one run, so that its ids agree."""
    output = ""

    def replace(block: re.Match[str]) -> str:
        nonlocal output
        language, text = block.groups()
        if language == "text":
            return f"```text\n{output}```"
        if text != INSTALL_COMMAND:
            first_id = ID.search(output)
            output = terminal.run(re.sub(r"\bID\b", first_id[0] if first_id else "ID", text))
        return block[0]

    return BLOCK.sub(replace, page)


def main() -> None:
    """Write the page, or check it."""
    page = TUTORIAL.read_text()
    # A short path, so that lines are wrapped where the page wraps them.
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        new_page = run_page(page, Terminal(Path(home)))
    old, new = normalise(page), normalise(new_page)
    if "--check" in sys.argv:
        sys.exit("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), "page", "run", lineterm="")) or 0)
    if old != new:
        TUTORIAL.write_text(new_page)


if __name__ == "__main__":
    main()
