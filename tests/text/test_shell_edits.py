"""The files that a command line changes."""

import pytest

from hivemind.text.shell_edits import find_edited_files


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("sed -i s/a/b/ pay.py && cat pay.py > copy.txt", ["copy.txt", "pay.py"]),
        ("sudo cp old.js dist/app.js", ["dist/app.js"]),
        ("cp -r build/a.js build/b.js dist/", ["dist/a.js", "dist/b.js"]),
        ("mv app.js dist/", ["app.js", "dist/app.js"]),
        ("git mv a.py b.py; git rm c.py", ["a.py", "b.py", "c.py"]),
        ("cd web && rm -f dist/app.js", ["web/dist/app.js"]),
        ("scp app.js host:dist/; cp --help; grep 'rm x' notes.md", []),
        ("cat > setup.sh <<'EOF'\nrm dist/app.js\nEOF", ["setup.sh"]),
    ],
)
def test_a_command_names_the_files_that_it_changes(command: str, files: list[str]) -> None:
    assert sorted(find_edited_files(command)) == sorted(files)
