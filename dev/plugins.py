"""Writes the marketplace, the plugin and the extensions of this repository, from what `hivemind install` uses.

python dev/plugins.py           write
python dev/plugins.py --check   fail if what is written is not what would be written
"""

import sys
from pathlib import Path

import hivemind
from hivemind.agents.install import render_plugin_files

ROOT = Path(__file__).parents[1]
PLUGINS = "packaging/plugins"
# Agents look for the list of a marketplace in the root of its repository, and follow the path in it.
FOLDERS = (".claude-plugin", PLUGINS)


def main() -> None:
    """Write the files, or compare them."""
    files = {ROOT / path: text for path, text in render_plugin_files(hivemind.__version__, PLUGINS).items()}
    present_files = {path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()}
    if "--check" in sys.argv:
        wrong = [path for path, text in files.items() if path not in present_files or path.read_text() != text]
        wrong += sorted(present_files - files.keys())
        if wrong:
            sys.exit(f"not up to date: {wrong[0].relative_to(ROOT)}; run python dev/plugins.py")
        return
    # A command that was renamed would stay under its old name.
    for path in present_files - files.keys():
        path.unlink()
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
