"""Trace one command through the package: which functions and files it enters, and how often it changes the package.

python dev/walk.py remember "Deploys run from main only"
python dev/walk.py --list recall "when may we deploy?"     the files too, in the order in which they are entered
python dev/walk.py --update                                writes the walks of ARCHITECTURE.md

The store is ``HIVEMIND_HOME``, or a temporary one. Work that modules do while they are imported is left out, and so are
comprehensions and lambdas.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from types import FrameType

import hivemind
from hivemind.__main__ import main as run_command

PACKAGE = str(Path(str(hivemind.__file__)).parent) + os.sep
ARCHITECTURE = Path(__file__).parents[1] / "ARCHITECTURE.md"
PROMPT = {"session_id": "walk", "hook_event_name": "UserPromptSubmit", "prompt": "We always use pnpm here, never npm."}
WALKS = {
    "Remember": ["remember", "Deploys run from main only"],
    "Recall": ["recall", "where do deploys run from?"],
    "Learn": ["learn", "walk"],
}
"""Run one after the other in one store, after a hook has heard a prompt."""


class Walk:
    """The calls of named functions of the package, in order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self._imports = 0
        """How many modules are being imported; a module may import another."""

    def watch(self, frame: FrameType, event: str, _: object) -> None:
        """Note a call; for ``sys.setprofile``."""
        code = frame.f_code
        if event not in ("call", "return") or not code.co_filename.startswith(PACKAGE):
            return
        if code.co_name == "<module>":
            self._imports += 1 if event == "call" else -1
        elif event == "call" and not self._imports and not code.co_name.startswith("<"):
            self.calls.append((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

    def describe(self, *, has_files: bool) -> str:
        """Return a line of counts, and the files below it."""
        files = dict.fromkeys(file for file, _ in self.calls)
        folders = [file.partition(os.sep)[0] for file, _ in self.calls]
        changes = sum(before != after for before, after in pairwise(folders))
        counts = f"{len(set(self.calls))} functions, {len(files)} files, {changes} changes of package"
        return "\n".join([counts, *(files if has_files else ())])


def update_architecture() -> None:
    """Write the walks of ARCHITECTURE.md: the files of each package, in the order in which they are first entered."""
    with tempfile.TemporaryDirectory(prefix="hivemind-walk-", ignore_cleanup_errors=True) as home:
        environ = os.environ | {"HIVEMIND_HOME": home}
        repository = Path(home) / "repository"
        subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
        hook = [sys.executable, "-m", "hivemind.entrypoints.hook", "claude-code", PROMPT["hook_event_name"]]
        payload = json.dumps(PROMPT | {"cwd": str(repository)})
        subprocess.run(hook, input=payload, text=True, cwd=repository, env=environ, check=True, capture_output=True)
        paragraphs = []
        for name, command in WALKS.items():
            process = subprocess.run(
                [sys.executable, __file__, "--list", *command],
                cwd=repository, env=environ, check=True, capture_output=True, text=True,
            )  # fmt: skip
            # Notes of the command come first.
            lines = process.stderr.splitlines()
            start = next(number for number, line in enumerate(lines) if line.endswith("changes of package"))
            counts, files = lines[start], lines[start + 1 :]
            walk = f"**{name}** ({counts}): {' → '.join(group_by_package(files))}"
            paragraphs.append(fill(walk, 120, break_long_words=False, break_on_hyphens=False))
    text = ARCHITECTURE.read_text("utf-8")
    walks = re.compile(r"(?<=first entered:\n\n).*?(?=\n\n## )", re.DOTALL)
    ARCHITECTURE.write_text(walks.sub(lambda _: "\n\n".join(paragraphs), text), "utf-8")


def group_by_package(files: Iterable[str]) -> list[str]:
    """Return each package once, with its files."""
    packages: dict[str, list[str]] = {}
    for file in files:
        package, _, module = file.removesuffix(".py").replace(os.sep, "/").partition("/")
        packages.setdefault(package, []).append(module)
    return [
        f"`{package}/` {', '.join(modules)}" if any(modules) else f"`{package}`"
        for package, modules in packages.items()
    ]


def main() -> None:
    """Run the command of the arguments, then print how it went."""
    if sys.argv[1:] == ["--update"]:
        return update_architecture()
    has_files = sys.argv[1:2] == ["--list"]
    if has_files:
        del sys.argv[1]
    # Commands end with this call, to save the time in which Python takes everything apart.
    os._exit = sys.exit  # type: ignore[assignment]
    walk = Walk()
    # What runs in the background may still write there.
    with tempfile.TemporaryDirectory(prefix="hivemind-walk-", ignore_cleanup_errors=True) as home:
        os.environ.setdefault("HIVEMIND_HOME", home)
        sys.setprofile(walk.watch)
        try:
            run_command()
        finally:
            sys.setprofile(None)
            print(walk.describe(has_files=has_files), file=sys.stderr)


if __name__ == "__main__":
    main()
