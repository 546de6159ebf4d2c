"""Which ways to write the same code count as the same, and which small differences do not."""

import pytest

from tests.codebase.test_comparison import compare

PYTHON = "def f(a, b):\n{}\n"
TYPESCRIPT = "function f(a, b) {{\n{}\n}}\n"
GO = "package p\n\nfunc f(a int, b int) error {{\n{}\n}}\n"
JAVA = "class A {{ int f(int a, int b) {{\n{}\n}} }}\n"
RUST = "fn f(a: i32, b: i32) -> i32 {{\n{}\n}}\n"
C = "int f(int a, int b) {{\n{}\n}}\n"
RUBY = "def f(a, b)\n{}\nend\n"
FRAMES = {"a.py": PYTHON, "a.ts": TYPESCRIPT, "a.go": GO, "A.java": JAVA, "a.rs": RUST, "a.c": C, "a.rb": RUBY}

FORMS = [
    # Path, code, the same in other words, something else.
    ("a.py", "if not a:\n    return 1\nx(b)\nreturn 2", "if a:\n    x(b)\n    return 2\nelse:\n    return 1", "2$3"),
    ("a.py", "if a:\n    if b:\n        x(b)", "if a and b:\n    x(b)", "and$or"),
    ("a.py", "if a and b:\n    x(b)", "if not a or not b:\n    return\nx(b)", " or $ and "),
    ("a.py", "if a:\n    return 1\nif b:\n    return 1\nreturn 3", "if a or b:\n    return 1\nreturn 3", "or$and"),
    ("a.py", "for i in a:\n if i:\n  x()", "for i in a:\n if not i:\n  continue\n x()", "continue$return"),
    ("a.py", "if a > b:\n    return 1\nreturn 2", "if a <= b:\n    return 2\nreturn 1", "<=$<"),
    ("a.py", "if a > b:\n    x()", "if b < a:\n    x()", "b < a$a < b"),
    ("a.py", "if a:\n    x = 1\nelse:\n    x = 2\nreturn x", "x = 1 if a else 2\nreturn x", "1 if a$3 if a"),
    ("a.py", "c = 1\nc += 1\nreturn c, c", "c = 1\nc = c + 1\nreturn c, c", "c + 1$c + 2"),
    ("a.py", "return 'a %s b %r' % (a, b)", "return f'a {a} b {b!r}'", "{b!r}$b"),
    ("a.py", "return '{0.x} {n}'.format(a, n=b)", "return f'{a.x} {b}'", "{b}${a.y}"),
    ("a.py", "return 'a ' + a + ' b'", "return f'a {a} b'", " b'$ c'"),
    ("a.py", "c = []\nfor i in a:\n if i:\n  c.append(i.x)\nreturn c", "return [i.x for i in a if i]", "if i$if b"),
    ("a.py", "return not (a and b)", "return not a or not b", "or$and"),
    ("a.py", "return [a.b.c, a.b.d]", "short = a.b\nreturn [short.c, short.d]", "a.b$a.e"),
    ("a.ts", "if (!a) { return 1 } x(b); return 2;", "if (a) { x(b); return 2 } else return 1;", "return 1$return 3"),
    ("a.ts", "return 'a' + b.c + 'd';", "return `a${b.c}d`;", "}d`$}e`"),
    ("a.ts", "return a.map(x => { return x.y() });", "return a.map(x => x.y());", "x => x.y()$x => { x.y() }"),
    ("a.ts", "const x = a ? 1 : 2; b(x, x)", "let x = !a ? 2 : 1; b(x, x)", "!a$a"),
    ("a.ts", "if (null == a) b(); a++;", "if (a == null) b(); a += 1;", "+=$-="),
    ("a.go", "if e := g(a); e != 0 {\nreturn e\n}\nreturn 0", "e := g(a)\nif e == 0 {\nreturn 0\n}\nreturn e", "==$!="),
    ("A.java", "return a == 1 ? b : a;", "if (a != 1) return a; return b;", "!=$=="),
    ("A.java", "String x = g(); h(x); return x;", "var x = g(); h(x); return x;", "var$long"),
    ("a.rs", "if a == 1 { return b; } x(); a", "if a == 1 { b } else { x(); a }", "a == 1 { b }$a == 1 { a }"),
    ("a.rs", "let mut x = a; g(x, x); return x;", "let x = a; g(x, x); x", "g(x, x)$g(x, b)"),
    ("a.c", "if (!a) return 1; x(); return 2;", "if (a) { x(); return 2; } return 1;", "return 1$return 0"),
    ("a.rb", "return 1 unless a\nx", "if a\n x\nelse\n 1\nend", "if a$unless a"),
]  # fmt: skip


def frame(path: str, body: str) -> str:
    lines = "\n".join("    " + line for line in body.splitlines())
    return FRAMES[path].format(lines)


@pytest.mark.parametrize(("path", "old", "new", "edit"), FORMS)
def test_the_same_in_other_words_is_no_difference_and_a_small_edit_of_it_is_one(
    path: str, old: str, new: str, edit: str
) -> None:
    name = "A.f" if path == "A.java" else "f"
    before, after = edit.split("$")
    assert before in new

    assert not compare(path, frame(path, old), frame(path, new), name).exists
    assert not compare(path, frame(path, new), frame(path, old), name).exists
    assert compare(path, frame(path, old), frame(path, new.replace(before, after)), name).exists


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", 'def f(a):\n    return "one\\n"\n', 'def f(a):\n    return "two\\n"\n'),
        ("a.py", 'def f(a):\n    return f"{a:>3}"\n', 'def f(a):\n    return f"{a:>4}"\n'),
        ("a.py", 'def f(a):\n    return " "\n', 'def f(a):\n    return ""\n'),
        ("a.kt", "fun f(a: Int) { if (a > 1) g(1) else g(2) }", "fun f(a: Int) { if (a > 1) g(1) else g(3) }"),
        ("a.c", "int f() { if ((n = g()) > 0) h(n); }", "int f() { if ((n = g()) > 1) h(n); }"),
        ("a.ts", "function f(a) { return a.b ? a.c() : a.b.d(); }", "function f(a) { return a.b ? a.c() : a.b.e(); }"),
        ("a.py", "def f(a):\n    a.b = 2\n    y(a.b, a.b)\n", "def f(a):\n    c = a.b\n    a.b = 2\n    y(c, c)\n"),
        ("a.py", "def f(a):\n    return [a(), a()]\n", "def f(a):\n    b = a()\n    return [b, b]\n"),
    ],
)  # fmt: skip
def test_no_form_hides_a_changed_text_branch_or_value(path: str, old: str, new: str) -> None:
    assert compare(path, old, new, "f").is_own


def test_types_may_be_added_to_a_header_where_they_have_no_effect() -> None:
    plain, typed = "def f(a, b=1):\n    return a\n", "def f(a: int, b: int = 1) -> int:\n    return a\n"

    assert not compare("a.py", plain, typed, "f").exists
    assert not compare("a.py", typed, plain, "f").exists
    assert compare("a.py", typed, typed.replace("a: int", "a: str"), "f").is_own
    assert compare("a.py", plain, typed.replace("= 1", "= 2"), "f").is_own
    # A decorator may read the types.
    assert compare("a.py", "@route\n" + plain, "@route\n" + typed, "f").is_own


def test_a_name_may_be_imported_or_qualified() -> None:
    qualified = "import os\n\n\ndef f(a):\n    return os.listdir(a)\n"
    imported = "from os import listdir\n\n\ndef f(a):\n    return listdir(a)\n"

    assert not compare("a.py", qualified, imported, "f").exists
    assert compare("a.py", qualified, imported.replace("from os", "from mine"), "f").is_own
