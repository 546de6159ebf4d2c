"""Promises that hold for all edits of a kind."""

from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from hivemind.code.code_changes import compare
from hivemind.code.fingerprint import SKETCH_SIZE, measure_similarity, pack, sketch
from hivemind.code.parsing import outline
from hivemind.model.code import Fingerprint, SymbolChange
from tests.hypothesis_profile import examples

SAMPLES = {path.stem: path.read_text() for path in (Path(__file__).parent / "samples").glob("*.sample")}
COMMENTS = {
    "py": "#", "rb": "#", "sh": "#", "toml": "#", "yaml": "#", "sql": "--",
    **dict.fromkeys(("js", "ts", "go", "rs", "java", "c", "cpp", "cs", "kt", "swift", "scala"), "//"),
}  # fmt: skip
HARMLESS = {SymbolChange.FRESH, SymbolChange.COSMETIC, SymbolChange.DOCS}

names = st.sampled_from(sorted(SAMPLES))
commented = st.sampled_from(sorted(name for name in SAMPLES if name.rpartition(".")[2] in COMMENTS))
places = st.lists(st.integers(min_value=0, max_value=60), min_size=1, max_size=8)
words = st.lists(st.text("abcxyz", min_size=1, max_size=3).map(str.encode), max_size=200)


def inserted(text: str, where: list[int], line: str) -> str:
    lines = text.splitlines()
    for place in where:
        lines.insert(place % (len(lines) + 1), line)
    return "\n".join(lines) + "\n"


def changes(name: str, before: str, after: str) -> dict[str, SymbolChange]:
    new_symbols = {symbol.key: symbol for symbol in outline(name, after.encode()).symbols}
    return {
        old.label: compare(old, new_symbols[old.key]) if old.key in new_symbols else SymbolChange.GONE
        for old in outline(name, before.encode()).symbols
    }


@given(name=names, where=places)
@examples(150)
def test_blank_lines_never_make_anything_stale(name: str, where: list[int]) -> None:
    told = changes(name, SAMPLES[name], inserted(SAMPLES[name], where, ""))

    assert set(told.values()) <= HARMLESS


@given(name=commented, where=places)
@example(name="shop.py", where=[0, 16])  # between a decorator and its method
@examples(150)
def test_comments_never_make_anything_stale(name: str, where: list[int]) -> None:
    mark = COMMENTS[name.rpartition(".")[2]]
    # Between lines of a literal or a declaration with its own layout a comment would be text.
    told = changes(name, SAMPLES[name], inserted(SAMPLES[name], where, f"{mark} a remark"))

    assert set(told.values()) <= HARMLESS


@given(name=names, spaces=st.integers(min_value=1, max_value=3))
@examples(60)
def test_spaces_at_the_end_of_lines_never_make_anything_stale(name: str, spaces: int) -> None:
    told = changes(name, SAMPLES[name], SAMPLES[name].replace("\n", " " * spaces + "\n"))

    assert set(told.values()) <= HARMLESS


@given(source=st.binary(max_size=400), name=names)
@examples(150)
def test_any_bytes_can_be_outlined_in_any_language(source: bytes, name: str) -> None:
    symbols = outline(name, source).symbols

    assert symbols[0].kind == "file"
    assert all(symbol.line <= symbol.end_line for symbol in symbols)
    assert all(Fingerprint.parse(str(symbol.fingerprint)) == symbol.fingerprint for symbol in symbols)


@given(one=words, other=words)
def test_similarity_is_a_share_and_the_same_both_ways(one: list[bytes], other: list[bytes]) -> None:
    left, right = pack(sketch(one)), pack(sketch(other))

    share = measure_similarity(left, right)

    assert 0.0 <= share <= 1.0
    assert share == measure_similarity(right, left)
    assert measure_similarity(left, left) == (1.0 if left else 0.0)


@given(
    one=words.filter(lambda found: len(found) < SKETCH_SIZE), other=words.filter(lambda found: len(found) < SKETCH_SIZE)
)
def test_similarity_of_small_bodies_is_exact(one: list[bytes], other: list[bytes]) -> None:
    triples = [set(zip(found, found[1:], found[2:], strict=False)) for found in (one, other)]
    exact = len(triples[0] & triples[1]) / max(1, len(triples[0] | triples[1]))

    share = measure_similarity(pack(sketch(one)), pack(sketch(other)))

    assert abs(share - exact) < 1e-9
