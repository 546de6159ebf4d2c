"""Measure containers, renames and doubt by impact with cases that a program makes or finds in a history.

Containers: a random child of a class, struct, interface or enum is removed, changed or copied under another name.
The container must ask to verify, and its label must name the member.
Moves: the truth are functions that a commit took away and put elsewhere. Their lines are compared with those of all new
functions by difflib, which shares nothing with the matcher: the best one must be clearly better than the second.
Impact: functions that a commit left alone, while it changed the header of a function that they call, to be labelled.
"""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Node

from hivemind.code import git
from hivemind.code.grammars import find_language
from hivemind.code.moved_symbols import match
from hivemind.code.parsing import Definition, ParsedFile, outline, parse_file
from hivemind.model.code import Symbol
from lab.benchmarks.code_changes import FUNCTIONS, LANGUAGES, judge_symbols, never_renamed, walk

CONTAINERS = frozenset({"class", "struct", "interface", "enum", "trait", "type", "object", "protocol", "table"})
MAX_CONTAINER_BYTES = 6_000
MAX_CODE_FILES = 20
MIN_LINES = 3
"""Shorter functions are alike by chance."""
SAME, MARGIN, UNLIKE = 0.6, 0.2, 0.3
"""Share of equal lines from which two functions are one, its lead over the second best, and below which nothing is."""
_NAME = re.compile(rb"[A-Za-z_]\w{2,}")
_BODY = re.compile(r"body|block|list|members|specifiers?$|fields")


# --- containers -------------------------------------------------------------------------------------------------------


class MemberEdit(NamedTuple):
    """An edit of one member of a container."""

    kind: str
    start: int
    end: int
    text: bytes
    names: frozenset[bytes]
    """Words of the member, one of which the label must show."""


def measure_containers(repository: Path, count: int) -> None:
    """Print the share of changed members that ask to verify and are named, by edit and language."""
    noticed: dict[str, Counter[bool]] = defaultdict(Counter)
    named: dict[str, Counter[bool]] = defaultdict(Counter)
    draw = random.Random(21)
    for path, source, file, definition in _sample_containers(repository.resolve(), count):
        edits = [*_list_member_edits(file, definition, draw)]
        if not edits:
            continue
        edit = draw.choice(edits)
        new = source[: edit.start] + edit.text + source[edit.end :]
        new_file = parse_file(path, new)
        if new_file is None or new_file.root.has_error:
            continue
        before = next(symbol for symbol in outline(path, source).symbols if symbol.qualified == definition.qualified)
        after = next((symbol for symbol in outline(path, new).symbols if symbol.qualified == before.qualified), None)
        result = judge_symbols(before, after, file, new_file, never_renamed)
        shown = result.text + " ".join(f"{line.old} {line.new}" for line in result.lines[:2])
        for group in ("all", edit.kind, find_language(path) or "", definition.kind):
            noticed[group][result.must_verify] += 1
            named[group][any(name.decode("utf-8", "replace") in shown for name in edit.names)] += 1
    for group, tally in noticed.items():
        shares = f"{tally[True]:>4} of {tally.total():>4} ask to verify, {named[group][True]:>4} name the member"
        print(f"{repository.parent.name} {group:<12} {shares}")


def _sample_containers(root: Path, count: int) -> Iterator[tuple[str, bytes, ParsedFile, Definition]]:
    draw = random.Random(21)
    listing = git.run(root, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode("utf-8", "replace").split("\0")
    paths = [
        path for path in listing if find_language(path) in LANGUAGES and not re.search("test|vendor|example", path)
    ]
    total = 0
    for path in draw.sample(paths, len(paths)):
        source = git.read_blobs(root, [f"HEAD:{path}"]).get(f"HEAD:{path}", b"")
        file = parse_file(path, source) if source else None
        definitions = [each for each in file.definitions if each.kind in CONTAINERS] if file else []
        names = Counter(each.qualified for each in definitions)
        # Of a Rust type with several `impl`s or a reopened class nobody knows which one is meant.
        unique = [each for each in definitions if names[each.qualified] == 1]
        for definition in draw.sample(unique, min(2, len(unique))):
            if file and definition.end - definition.start <= MAX_CONTAINER_BYTES:
                total += 1
                yield path, source, file, definition
        if total >= count:
            return


def _list_member_edits(file: ParsedFile, definition: Definition, draw: random.Random) -> Iterator[MemberEdit]:
    """Yield a removal, a change and a copy of one random child of a container's body, as the grammar sees it."""
    top = file.root.descendant_for_byte_range(definition.body_start, definition.end - 1)
    bodies = [node for node in walk(top) if _BODY.search(node.type)] if top else []
    members = [child for node in bodies[:1] for child in node.named_children if "comment" not in child.type]
    if not members:
        return
    member = draw.choice(members)
    text = member.text or b""
    names = frozenset(_NAME.findall(text))
    words = [leaf for leaf in walk(member) if leaf.child_count == 0 and _NAME.fullmatch(leaf.text or b"")]
    identifiers = [leaf for leaf in words if "identifier" in leaf.type]
    if not identifiers or not names:
        return
    if len(members) > 1:
        yield MemberEdit("removed", member.start_byte, _find_end(file.source, member), b"", names)
    leaf = draw.choice(identifiers)
    changed_name = b"other_" + (leaf.text or b"")
    yield MemberEdit("changed", leaf.start_byte, leaf.end_byte, changed_name, names | {changed_name})
    end = _find_end(file.source, member)
    separator = file.source[member.end_byte : end] or b"\n"
    first = identifiers[-1] if member.type == "field_declaration" and b"(" not in text else identifiers[0]
    offset = first.start_byte - member.start_byte
    copy = text[:offset] + b"added_" + text[offset:]
    indent = file.source[: member.start_byte].rpartition(b"\n")[2]
    break_line = b"\n" + indent if not indent.strip() else b" "
    yield MemberEdit("added", member.start_byte, member.start_byte, copy + separator + break_line, names | {b"added_"})


def _find_end(source: bytes, member: Node) -> int:
    """The end of a member with the comma or semicolon after it."""
    after = source[member.end_byte : member.end_byte + 1]
    return member.end_byte + (after in (b",", b";"))


# --- renames and moves ------------------------------------------------------------------------------------------------


class Side(NamedTuple):
    """The symbols of the files that a commit changed, before or after, with their lines."""

    symbols: list[Symbol]
    lines: dict[tuple[str, str, str, int], list[str]]


def measure_moves(repository: Path, commits: int) -> None:
    """Print the share of moved and renamed functions that are followed, and of leads that are wrong."""
    root = repository.resolve()
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    for commit in _list_commits(root, commits):
        sides = _read_sides(root, commit)
        if sides is None:
            continue
        old, new, moves = sides
        places = {symbol.key for symbol in new.symbols}
        earlier_places = {symbol.key for symbol in old.symbols}
        candidates = [symbol for symbol in new.symbols if symbol.kind in FUNCTIONS and symbol.key not in earlier_places]
        for before, after in match(old.symbols, new.symbols, moves):
            if before.kind not in FUNCTIONS or before.key in places or len(old.lines[before.key]) < MIN_LINES:
                continue
            target, likeness = _find_target(old.lines[before.key], candidates, new)
            language = find_language(before.path) or ""
            for group in ("all", language):
                tallies[group][_classify(after, target, likeness)] += 1
    for group, tally in tallies.items():
        moved = tally["followed"] + tally["missed"] + tally["wrong"]
        leads = tally["followed"] + tally["wrong"] + tally["unfounded"] + tally["open"]
        print(
            f"{repository.parent.name} {group:<12} {tally['followed']} of {moved} moved functions followed,"
            f" {tally['wrong']} to another, {tally['unfounded']} of {leads} leads to nothing like it"
        )


def _classify(after: Symbol | None, target: Symbol | None, likeness: float) -> str:
    if target is not None:
        return "missed" if after is None else "followed" if after.key == target.key else "wrong"
    if after is None:
        return "gone"
    # Between the two limits nobody can say without reading.
    return "unfounded" if likeness < UNLIKE else "open"


def _find_target(lines: Sequence[str], candidates: Sequence[Symbol], new: Side) -> tuple[Symbol | None, float]:
    """The new function that has most of these lines, if it is clearly the one, and its share of them."""
    ranked = sorted(
        (
            (SequenceMatcher(None, lines, new.lines[symbol.key], autojunk=False).ratio(), symbol)
            for symbol in candidates
        ),
        key=lambda pair: -pair[0],
    )
    best = ranked[0][0] if ranked else 0.0
    second = ranked[1][0] if len(ranked) > 1 else 0.0
    return (ranked[0][1] if best >= SAME and best - second >= MARGIN else None), best


def _list_commits(root: Path, commits: int) -> list[str]:
    options = ("--no-merges", "--min-parents=1", "--format=%H", f"-n{commits}")
    return git.run(root, "log", *options, "HEAD").decode().split()


def _read_sides(root: Path, commit: str) -> tuple[Side, Side, dict[str, str]] | None:
    paths, moves = git.list_changes(root, f"{commit}^", commit)
    code_paths = [path for path in dict.fromkeys(paths) if find_language(path) in LANGUAGES]
    if not code_paths or len(code_paths) > MAX_CODE_FILES:
        return None
    names = (f"{commit}^", commit)
    sources = git.read_blobs(root, [f"{side}:{path}" for path in code_paths for side in names])
    old, new = (_read_side(sources, side, code_paths) for side in names)
    return old, new, moves


def _read_side(sources: dict[str, bytes], commit: str, paths: Sequence[str]) -> Side:
    symbols: list[Symbol] = []
    lines: dict[tuple[str, str, str, int], list[str]] = {}
    for path in paths:
        source = sources.get(f"{commit}:{path}")
        if source is None:
            continue
        text = [" ".join(line.split()) for line in source.decode("utf-8", "replace").splitlines()]
        for symbol in outline(path, source).symbols:
            symbols.append(symbol)
            # Without the header: a new name alone must not make functions unlike.
            lines[symbol.key] = [line for line in text[symbol.line : symbol.end_line] if line.strip("(){}[];,")]
    return Side(symbols, lines)


# --- doubt by impact --------------------------------------------------------------------------------------------------


def print_impact(repository: Path, count: int) -> None:
    """Print functions that a commit left alone although the header of a function they call changed."""
    root, printed = repository.resolve(), 0
    for commit in _list_commits(root, 40 * count):
        sides = _read_sides(root, commit)
        if sides is None:
            continue
        old, new, moves = sides
        pairs = [(before, after) for before, after in match(old.symbols, new.symbols, moves) if after is not None]
        functions = [pair for pair in pairs if pair[0].kind in FUNCTIONS]
        names = Counter(before.name for before, _ in functions)
        changed = [
            (before, after)
            for before, after in functions
            if before.fingerprint.signature != after.fingerprint.signature and names[before.name] == 1
        ]
        for before, after in changed:
            call = re.compile(rf"\b{re.escape(before.name)}\(")
            callers = [
                caller
                for caller, now in functions
                if caller.fingerprint.raw == now.fingerprint.raw and call.search(" ".join(old.lines[caller.key]))
            ]
            if callers and printed < count:
                printed += 1
                line = next(line for line in old.lines[callers[0].key] if call.search(line))
                print(f"{repository.parent.name}\t{commit[:12]}\t{callers[0].label}\t{line[:100]}")
                print(f"    - {before.signature[:150]}\n    + {after.signature[:150]}")
        if printed >= count:
            return
