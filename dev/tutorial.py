"""Runs docs/tutorial.md block by block in an empty home, and writes what its commands print under them.

python dev/tutorial.py           write what has changed
python dev/tutorial.py --check   fail if a command fails or prints something else
"""

import difflib
import hashlib
import os
import pty
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = "pipx install hivemind-memory\n"
"""Tried elsewhere, with the wheel; nothing is fetched here."""
UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-\w+")
ID = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b(?!-[0-9a-f]{4}-)")


class Terminal:
    """A shell at an 80 column terminal, in an empty home."""

    def __init__(self, home: Path) -> None:
        self.directory = self.home = home
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        user = {"HOME": str(home), "HIVEMIND_PERSON": "ada", "PATH": path}
        looks = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "80"}
        author = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HIVEMIND_", "COV"))}
        self.environ = kept | user | looks | author

    def run(self, script: str) -> str:
        """What a person sees; the directory is kept for the next block."""
        screen, keyboard = pty.openpty()
        with subprocess.Popen(
            ["bash", "-c", f"{script}\ncode=$?; pwd > $HOME/where; exit $code"],
            cwd=self.directory, env=self.environ, stdin=keyboard, stdout=keyboard, stderr=keyboard,
        ) as shell:  # fmt: skip
            os.close(keyboard)
            seen = b""
            # Linux ends a terminal that nobody holds any more with an error.
            with os.fdopen(screen, "rb", buffering=0) as output, suppress(OSError):
                while part := output.read(65536):
                    seen += part
        told = seen.decode().replace("\r\n", "\n").replace(f"path:{self.home}", "path:/home/ada")
        # 1 is a plain no, as 'stale' gives when something is in doubt.
        if shell.returncode not in (0, 1):
            sys.exit(f"{script}ended with {shell.returncode}:\n{told}")
        self.directory = Path((self.home / "where").read_text().strip())
        return "\n".join(line.rstrip() for line in told.replace(str(self.home), "~").splitlines()) + "\n"


def alike(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DATE", UUID.sub("UUID", text))
    text = re.sub(r"\b[0-9a-f]{9,}\b|\d+\.\d (?=s|MB)", "…", text)
    return "\n".join(re.sub(r"\s+", " ", line).strip() for line in text.splitlines()).strip()


def told_anew(page: str, terminal: Terminal) -> str:
    """The page with what its commands print now; what is alike stays as it is."""
    seen, ids = "", dict[str, str]()

    def rename_id(match: re.Match[str]) -> str:
        """Replace a random id by one that follows from its place, so that the page agrees with itself in every run."""
        return ids.setdefault(match[0], hashlib.sha256(str(len(ids)).encode()).hexdigest()[:8])

    def tell(block: re.Match[str]) -> str:
        nonlocal seen
        language, text = block.groups()
        if language == "text":
            output = ID.sub(rename_id, seen)
            return block[0] if alike(output) == alike(text) else f"```text\n{output}```"
        if text != INSTALLS:
            named = ID.search(seen)
            seen = terminal.run(re.sub(r"\bID\b", named[0] if named else "ID", text))
        return block[0]

    return BLOCK.sub(tell, page)


def main() -> None:
    """Write the page, or check it."""
    page = TUTORIAL.read_text()
    # A short name, so that lines are broken where the page breaks them.
    with tempfile.TemporaryDirectory(dir="/tmp") as home:
        anew = told_anew(page, Terminal(Path(home)))
    if "--check" in sys.argv:
        lines = difflib.unified_diff(page.splitlines(), anew.splitlines(), "written", "seen", lineterm="")
        sys.exit("\n".join(lines) or 0)
    TUTORIAL.write_text(anew)


if __name__ == "__main__":
    main()
