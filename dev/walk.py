"""Trace one command through the package: which functions and files it enters, and how often it changes the package.

python dev/walk.py remember "Deploys run from main only"
python dev/walk.py --list recall "when may we deploy?"     the files too, in the order in which they are entered

The store is ``HIVEMIND_HOME``, or a temporary one. Work that modules do while they are imported is left out, and so are
comprehensions and lambdas.
"""

import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import FrameType

import hivemind
from hivemind.__main__ import main as run_command

PACKAGE = str(Path(str(hivemind.__file__)).parent) + os.sep


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


def main() -> None:
    """Run the command of the arguments, then print how it went."""
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
