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
        (f"cat > a.py <<'EOF' && rm b.py\n{'rm x  ' * 20_000}\nEOF\nrm c.py", ["a.py", "b.py", "c.py"]),
        ("cat <<A <<-B > a.py\nrm x\nA\nrm y\n\tB\necho $((1<<n)) > b.py\nrm c.py", ["a.py", "b.py", "c.py"]),
        ("sed -i s/a/b/ src/@types/[id].tsx; echo x>a+b,c.js", ["src/@types/[id].tsx", "a+b,c.js"]),
        ("git checkout HEAD~1 -- a.py; git -C web restore b.py; git restore --staged c.py", ["a.py", "web/b.py"]),
        ("X=1 sed -i s/a/b/ a.py; env X=1 truncate -s 0 b.py; sudo -E dd if=c.py of=d.py", ["a.py", "b.py", "d.py"]),
        ("bash -lc 'cd web && echo x > a.py'", ["web/a.py"]),
        ("(cd web;rm a.py);(cd web; bash -c 'sh -c \"rm b.py\"')", ["web/a.py", "web/web/b.py"]),
        ("for f in a.py b.py; do sed -i s/a/b/ $f; done; F=c; if true; then rm ${F}.py; fi", ["a.py", "b.py", "c.py"]),
        ("sed -i '' 's/a/b/' pay.py", ["pay.py"]),
        ("LC_ALL=C sed -i s/a/b/ pay.py && time env X=1 rm b.py", ["b.py", "pay.py"]),
        ("if [ -f a.py ]; then rm a.py; else { rm b.py; }; fi", ["a.py", "b.py"]),
        ("bash -lc \"cd web && sed -i 's/a/b/' app.js\"", ["web/app.js"]),
        ("rm a.py \\\n  b.py  # it's gone", ["a.py", "b.py"]),
        ("cat <<\\EOF > pay.py\nit's\nEOF", ["pay.py"]),
        ("perl -Mstrict -ne 'print' pay.py", []),
        ("[[ a > b ]] && echo $((3 > 2)) && make 2> >(tee errors)", ["errors"]),
        ("patch pay.py < fix.diff", ["pay.py"]),
        ("patch -p0 <<'EOF'\n--- pay.py\n+++ pay.py\n@@ -1 +1 @@\n-x\n+y\nEOF", ["pay.py"]),
        ("apply_patch <<'EOF'\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\nEOF", ["a.py", "b.py"]),
    ],
)
def test_a_command_names_the_files_that_it_changes(command: str, files: list[str]) -> None:
    assert sorted(find_edited_files(command)) == sorted(files)


PATH_SCRIPT = """python3 - <<'EOF'
from pathlib import Path
path = Path("web/app.js")
text = Path("notes.md").read_text()
path.write_text(path.read_text().replace("a", text))
EOF"""
OPEN_SCRIPT = """python - <<EOF
file = 'pay.py'
rows = open("rows.csv").read()
with open(file, "w") as out:
    out.write(rows)
EOF"""


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (PATH_SCRIPT, ["web/app.js"]),
        (OPEN_SCRIPT, ["pay.py"]),
        ("python3 -c \"open('pay.py', mode='a').write('x')\"", ["pay.py"]),
        ("node -e 'fs.writeFileSync(\"app.js\", text)'", ["app.js"]),
        ("python3 -c \"print(open('pay.py').read(), open('a.bin', 'rb'))\"", []),
        (PATH_SCRIPT.replace("python3 -", "cat > tool.py"), ["tool.py"]),
        ("ruby -e \"File.rename('a.rb', 'b.rb')\"", ["a.rb"]),
        ("python3 -c \"import os; os.remove('a.py')\"", ["a.py"]),
        ("python - <<EOF\nopen('dist/app.js', 'w').write('x')\nEOF", ["dist/app.js"]),
        ("python3 -c \"Path('dist/app.js').write_text('x')\"", ["dist/app.js"]),
        ("node -e \"fs.writeFileSync('dist/app.js', 'x')\"", ["dist/app.js"]),
        ("python -c \"print(open('dist/app.js', 'r').read())\"", []),
        (
            "python - <<EOF\ntext = open('a.py', encoding='utf-8').read()\nopen('b.py', mode='w').write(text)\nEOF",
            ["b.py"],
        ),
        (
            "python - <<EOF\npath = Path('a.py')\npath.write_text(path.read_text() + Path('b.py').read_text())\nEOF",
            ["a.py"],
        ),
        ("node -e \"fs.writeFileSync('a.js', fs.readFileSync('b.js'))\"", ["a.js"]),
        ("python write.py -c 'dist/app.js'", []),
        ("grep -n \"open('pay.py', 'w')\" tool.py", []),
    ],
)
def test_a_script_on_the_command_line_names_the_files_that_it_writes(command: str, files: list[str]) -> None:
    assert find_edited_files(command) == files
