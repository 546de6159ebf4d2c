"""Measure which changes of a function ask to verify a memory about it.

python -m lab.benchmarks.code mutations REPOSITORY...          small edits that change behaviour, made by a program
python -m lab.benchmarks.code refactorings REPOSITORY...       edits that do not
python -m lab.benchmarks.code pairs REPOSITORY [--commits N]   real changes of single symbols, to be labelled
python -m lab.benchmarks.code verdicts LABELS FOLDER              labelled changes; FOLDER has a clone of each

Repositories may be bare. `lab/benchmarks/code_pairs.tsv` has labels.
"""

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from tree_sitter import Node

from hivemind.code import git
from hivemind.code.code_changes import assess_change
from hivemind.code.grammars import find_language
from hivemind.code.moved_symbols import match
from hivemind.code.parsing import Definition, ParsedFile, outline, parse_file
from hivemind.code.related_files import is_test
from hivemind.code.versions import Version, WasRenamed, compare_versions, find_version, was_renamed_in_file
from hivemind.model.code import LOOSE_KINDS, Anchor, Staleness, Symbol

COMMANDS = ("mutations", "refactorings", "pairs", "verdicts")
LENGTHS = ((4, 8), (9, 15), (16, 30), (31, 80))
LANGUAGES = ("python", "typescript", "javascript", "go", "java", "rust", "c", "cpp", "ruby", "kotlin", "php", "csharp")
MAX_PAIR_LINES = 120
"""Longer symbols are not labelled, because nobody reads them whole."""
FUNCTIONS = frozenset({"function", "method"})


class Edit(NamedTuple):
    """A replacement of bytes in a file."""

    kind: str
    start: int
    end: int
    text: bytes


def never_renamed(old_name: str, new_name: str) -> bool:
    """Take every name that is not local for another one, where the rest of the tree is not known."""
    return False


def judge_texts(path: str, old: bytes, new: bytes, qualified: str, was_renamed: WasRenamed) -> Staleness | None:
    """Judge a symbol as the product does, with the old file and the new one; None if the old one has none such."""
    # C declares a function before it defines it; the definition is meant.
    old_symbols, new_symbols = (
        [symbol for symbol in outline(path, text).symbols if symbol.qualified == qualified and symbol.kind in FUNCTIONS]
        for text in (old, new)
    )
    before = next(iter(old_symbols), None)
    if before is None:
        return None
    after = next((symbol for symbol in new_symbols if symbol.ordinal == before.ordinal), None)
    return judge_symbols(before, after, parse_file(path, old), parse_file(path, new), was_renamed)


def judge_symbols(
    before: Symbol,
    after: Symbol | None,
    old_file: ParsedFile | None,
    new_file: ParsedFile | None,
    was_renamed: WasRenamed,
) -> Staleness:
    """Judge a symbol by two parsed files."""
    anchor = Anchor.of(before)
    if after is None or before.fingerprint.raw == after.fingerprint.raw or before.kind in LOOSE_KINDS:
        return assess_change(anchor, after)
    old_version, new_version = _version(old_file, before), _version(new_file, after)
    difference = compare_versions(old_version, new_version, was_renamed) if old_version and new_version else None
    return assess_change(anchor, after, "", difference)


def _version(file: ParsedFile | None, symbol: Symbol) -> Version | None:
    return file and find_version(file, symbol.qualified, symbol.family, symbol.fingerprint.raw)


# --- edits by a program -----------------------------------------------------------------------------------------------

OPPOSITES = {
    b"<": b"<=", b"<=": b"<", b">": b">=", b">=": b">", b"==": b"!=", b"!=": b"==", b"+": b"-", b"-": b"+",
    b"&&": b"||", b"||": b"&&", b"and": b"or", b"or": b"and", b"*": b"+", b"===": b"!==", b"!==": b"===",
}  # fmt: skip
BOOLS = {b"True": b"False", b"False": b"True", b"true": b"false", b"false": b"true"}


def list_mutations(function: Node) -> Iterator[Edit]:
    """Yield edits of a function that change what it does, one at a time."""
    for node in walk(function):
        text, kind = node.text or b"", node.type
        parent = node.parent.type if node.parent else ""
        if node.child_count == 0:
            if re.fullmatch(rb"\d+", text) and "comment" not in kind and "string" not in parent:
                yield Edit("number", node.start_byte, node.end_byte, str(int(text) + 1).encode())
            elif text in BOOLS and "string" not in kind:
                yield Edit("bool", node.start_byte, node.end_byte, BOOLS[text])
            elif text in OPPOSITES and re.search("binary|compar|boolean|infix", parent):
                yield Edit("operator", node.start_byte, node.end_byte, OPPOSITES[text])
        children = node.named_children
        if kind == "return_statement" and len(children) == 1 and children[0].type != "integer":
            yield Edit("return", children[0].start_byte, children[0].end_byte, b"0")
        if kind in ("raise_statement", "throw_statement"):
            names = [leaf for leaf in walk(node) if leaf.child_count == 0 and re.match(rb"[A-Z]\w+$", leaf.text or b"")]
            if names:
                yield Edit("exception", names[0].start_byte, names[0].end_byte, b"Other" + (names[0].text or b""))
        if kind in ("call", "call_expression", "method_invocation"):
            target = node.child_by_field_name("function") or node.child_by_field_name("name")
            leaves = [leaf for leaf in walk(target) if leaf.child_count == 0] if target else []
            if leaves and re.match(rb"\w+$", leaves[-1].text or b""):
                yield Edit("call", leaves[-1].start_byte, leaves[-1].end_byte, b"other_" + (leaves[-1].text or b""))
        if re.search("parameter", kind) and (value := node.child_by_field_name("value")):
            yield Edit("default", value.start_byte, value.end_byte, b"1234")
        if kind == "if_statement" and (condition := node.child_by_field_name("condition")):
            inner = condition.text or b""
            negated = b"not (" + inner + b")" if parent != "" and not inner.startswith(b"(") else b"(!" + inner + b")"
            yield Edit("condition", condition.start_byte, condition.end_byte, negated)


DECLARED = {
    "python": rb"^[ \t]+([a-z]\w*) = ", "go": rb"\b([a-z]\w*) := ", "rust": rb"\blet (?:mut )?([a-z]\w*) = ",
    "c": rb"^[ \t]+(?:[a-z]\w+ )+\*?([a-z]\w*) = ", "java": rb"^[ \t]+(?:final )?[A-Za-z<>]+ ([a-z]\w*) = ",
}  # fmt: skip
COMMENT = {"python": b"# a new remark", "ruby": b"# a new remark"}


def list_refactorings(language: str, source: bytes, function: Node) -> Iterator[Edit]:
    """Yield edits of a function that keep what it does: names, order, layout, comments."""
    start, end = function.start_byte, function.end_byte
    text = source[start:end]
    declared = re.search(DECLARED.get(language, rb"\b(?:const|let|var|val) ([a-z]\w*) = "), text, re.MULTILINE)
    if declared and len(declared[1]) > 1:
        name = declared[1]
        # Only names that occur as plain variables, so that the edit is right without any knowledge of scopes.
        plain = re.findall(rb"(?<![\w.>\"'`:$#/-])" + name + rb"(?![\w\"'`:(]| *=[^=]*[,)])", text)
        anywhere = re.findall(rb"\b" + name + rb"\b", text)
        if len(plain) == len(anywhere) and b"{ " + name not in text and b"global " not in text:
            yield Edit("rename local", start, end, re.sub(rb"\b" + name + rb"\b", b"renamed_" + name, text))
    lines = text.splitlines(keepends=True)
    for position in range(1, len(lines) - 2):
        first, second = lines[position : position + 2]
        simple = rb"\s+(?:(?:let|const|var|int|String|final|mut) )*([a-z]\w*) :?= ([\w.\"']+);?\r?\n"
        names = [re.fullmatch(simple, line) for line in (first, second)]
        if names[0] and names[1] and names[0][1] not in second and names[1][1] not in first:
            swapped = [*lines[:position], second, first, *lines[position + 2 :]]
            yield Edit("reorder", start, end, b"".join(swapped))
            break
    body = function.child_by_field_name("body")
    inside = [child for child in walk(body) if child.type.endswith("statement")][:1] if body else []
    if inside and source[: inside[0].start_byte].rpartition(b"\n")[2].strip() == b"":
        at = inside[0].start_byte
        indent = source[:at].rpartition(b"\n")[2]
        yield Edit("comment", at, at, COMMENT.get(language, b"// a new remark") + b"\n" + indent)
        yield Edit("blank line", at, at, b"\n" + indent)
    yield from _list_rewrites(language, source, function)
    arguments = [node for node in walk(function) if node.type in ("argument_list", "arguments")]
    if longer := [node for node in arguments if node.named_child_count > 1 and b"\n" not in (node.text or b"")]:
        commas = [child for child in longer[0].children if child.type == ","]
        yield Edit("line break", commas[0].start_byte, commas[0].end_byte, b",\n            ")


def _list_rewrites(language: str, source: bytes, function: Node) -> Iterator[Edit]:
    """Yield an if with its branches exchanged, and a returned value that got a name."""
    for node in walk(function):
        condition, then, alternative = (
            node.child_by_field_name(name) for name in ("condition", "consequence", "alternative")
        )
        if node.type == "if_statement" and condition and then and alternative and alternative.type != "elif_clause":
            other = alternative if alternative.type == then.type else alternative.child_by_field_name("body")
            other = other or next((child for child in alternative.named_children if child.type == then.type), None)
            is_plain = other is not None and node.child_by_field_name("initializer") is None
            # Of `elif` and `else if` the branches are no blocks of their own.
            if is_plain and other is not None and len(node.children_by_field_name("alternative")) == 1:
                inner = condition.text or b""
                negated = b"not (" + inner + b")" if language == "python" else b"!(" + inner + b")"
                negated = b"(" + negated + b")" if inner.startswith(b"(") else negated
                between = source[then.end_byte : other.start_byte]
                swapped = (other.text or b"") + between + (then.text or b"")
                text = negated + source[condition.end_byte : then.start_byte] + swapped
                yield Edit("invert if", condition.start_byte, other.end_byte, text)
        if node.type == "return_statement" and language in NAMED_VALUE and len(node.named_children) == 1:
            value = node.named_children[0]
            indent = source[: node.start_byte].rpartition(b"\n")[2]
            if not indent.strip() and value.child_count and b"\n" not in (value.text or b""):
                line = NAMED_VALUE[language] % (value.text or b"")
                yield Edit(
                    "name a value", node.start_byte, node.end_byte, line + b"\n" + indent + b"return named_value"
                )


NAMED_VALUE = {
    "python": b"named_value = %b", "typescript": b"const named_value = %b", "javascript": b"const named_value = %b",
    "go": b"named_value := %b",
}  # fmt: skip


def walk(top: Node) -> Iterator[Node]:
    pending = [top]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(node.children))


def sample_functions(root: Path, count: int) -> Iterator[tuple[str, bytes, Definition, Node, int]]:
    """Yield random functions of a repository: path, source, definition, node, number of lines."""
    draw = random.Random(21)
    listing = git.run(root, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode("utf-8", "replace").split("\0")
    paths = [
        path for path in listing if find_language(path) in LANGUAGES and not re.search("test|vendor|example", path)
    ]
    total = 0
    chosen = draw.sample(paths, min(len(paths), 2 * count))
    sources = git.read_blobs(root, [f"HEAD:{path}" for path in chosen])
    for path in chosen:
        source = sources.get(f"HEAD:{path}", b"")
        file = parse_file(path, source) if source else None
        functions = [each for each in file.definitions if each.kind in FUNCTIONS] if file else []
        names = Counter(each.qualified for each in functions)
        unique = [each for each in functions if names[each.qualified] == 1]
        for definition in draw.sample(unique, min(4, len(unique))):
            lines = source.count(b"\n", definition.start, definition.end) + 1
            if LENGTHS[0][0] <= lines <= LENGTHS[-1][1] and file:
                node = file.root.descendant_for_byte_range(definition.start, definition.end - 1)
                if node and "block" not in node.type:
                    total += 1
                    yield path, source, definition, node, lines
        if total >= count:
            return


def measure_edits(repositories: Sequence[Path], count: int, is_mutation: bool, is_verbose: bool) -> None:
    """Print the share of edits that ask to verify, by kind, language and length."""
    tallies: dict[str, Counter[bool]] = defaultdict(Counter)
    for repository in repositories:
        draw = random.Random(5)
        for path, source, definition, node, lines in sample_functions(repository, count):
            language = find_language(path) or ""
            possible_edits = list_mutations(node) if is_mutation else list_refactorings(language, source, node)
            # With an attribute above it, the node around a function is that of its container.
            edits = [edit for edit in possible_edits if definition.start <= edit.start and edit.end <= definition.end]
            kinds = sorted({edit.kind for edit in edits})
            for kind in draw.sample(kinds, min(2, len(kinds))) if is_mutation else kinds:
                edit = draw.choice([each for each in edits if each.kind == kind])
                new = source[: edit.start] + edit.text + source[edit.end :]
                if new == source or (file := parse_file(path, new)) is None or file.root.has_error:
                    continue
                result = judge_texts(path, source, new, definition.qualified, never_renamed)
                if result is None:
                    continue
                bucket = next(f"{first}-{last} lines" for first, last in LENGTHS if first <= lines <= last)
                for group in ("all", kind, language, bucket):
                    tallies[group][result.must_verify] += 1
                if is_verbose and result.must_verify is not is_mutation:
                    print(f"--- {repository.parent.name} {path}::{definition.qualified} {kind} → {result.change}")
                    print(show_diff(source, new))
    for group, tally in tallies.items():
        print(f"{group:<16} {tally[True]:>4} of {tally.total():>4} ask to verify  {tally[True] / tally.total():.0%}")


def show_diff(old: bytes, new: bytes, context: int = 2) -> str:
    before, after = (text.decode("utf-8", "replace").splitlines() for text in (old, new))
    return "\n".join([*unified_diff(before, after, n=context, lineterm="")][2:])


# --- real changes -----------------------------------------------------------------------------------------------------


class CommitChange(NamedTuple):
    """One symbol that a commit changed, as judged."""

    commit: str
    staleness: Staleness
    old_text: bytes
    new_text: bytes


def judge_commit(root: Path, commit: str, label: str = "") -> Iterator[CommitChange]:
    """Judge every symbol that a commit changed, or the one with this label, and yield its text before and after."""
    paths, moves = git.list_changes(root, f"{commit}^", commit)
    code_paths = [path for path in dict.fromkeys(paths) if find_language(path) in LANGUAGES]
    if not code_paths or len(code_paths) > 20:
        return
    sources = git.read_blobs(root, [f"{side}:{path}" for path in code_paths for side in (f"{commit}^", commit)])
    old, new = ([*_list_symbols(sources, side, code_paths)] for side in (f"{commit}^", commit))
    files: dict[str, ParsedFile | None] = {}

    def parse(side: str, path: str) -> ParsedFile | None:
        name = f"{side}:{path}"
        if name not in files:
            files[name] = parse_file(path, sources[name])
        return files[name]

    was_renamed = _make_rename_check(root, commit, old, new)
    for before, after in match(old, new, moves):
        if after is None or before.fingerprint.raw == after.fingerprint.raw or before.kind in LOOSE_KINDS:
            continue
        if label and before.label != label:
            continue
        if before.end_line - before.line > MAX_PAIR_LINES or re.search("test|vendor", before.path):
            continue
        old_file, new_file = parse(f"{commit}^", before.path), parse(commit, after.path)
        result = judge_symbols(before, after, old_file, new_file, was_renamed)
        texts = [_version(file, symbol) for file, symbol in ((old_file, before), (new_file, after))]
        if texts[0] and texts[1]:
            yield CommitChange(commit, result, *(_cut(version) for version in texts if version))


def _make_rename_check(root: Path, commit: str, old: Sequence[Symbol], new: Sequence[Symbol]) -> WasRenamed:
    """What the tree before and after a commit says about names, as the product asks git and its index."""
    old_names, new_names = {symbol.name for symbol in old}, {symbol.name for symbol in new}

    def was_renamed(old_name: str, new_name: str) -> bool:
        if new_name in new_names - old_names and old_name in old_names - new_names:
            return True
        paths = {symbol.path for symbol in new if symbol.name == new_name}
        pairs = (([symbol for symbol in side if symbol.path == path] for side in (old, new)) for path in paths)
        if any(was_renamed_in_file(before, after, old_name, new_name) for before, after in pairs):
            return True
        # As the product does for names that are no symbols, with the whole tree.
        return (
            len(git.find_files_with_word(root, new_name, commit=commit) or ()) > 1
            and git.find_files_with_word(root, old_name, commit=commit) == []
            and git.find_files_with_word(root, new_name, commit=f"{commit}^") == []
        )

    return was_renamed


def _cut(version: Version) -> bytes:
    return version.file.source[version.definition.start : version.definition.end]


def _list_symbols(sources: dict[str, bytes], commit: str, paths: Iterable[str]) -> Iterator[Symbol]:
    for path in paths:
        if (source := sources.get(f"{commit}:{path}")) is not None:
            yield from outline(path, source).symbols


def print_pairs(
    root: Path, commits: int, count: int, seed: int, subject_pattern: str, *, is_without_tests: bool = False
) -> None:
    """Print one changed symbol of each of some random commits, with its diff."""
    draw = random.Random(seed)
    subjects = ("--extended-regexp", "--regexp-ignore-case", f"--grep={subject_pattern}") if subject_pattern else ()
    # A root commit has nothing to compare with.
    options = ("--no-merges", "--min-parents=1", "--format=%H", f"-n{commits}")
    listing = git.run(root, "log", *options, *subjects, "HEAD").decode().split()
    for commit in draw.sample(listing, len(listing)):
        if not count:
            return
        # A change of behaviour mostly comes with a change of tests.
        if is_without_tests and any(is_test(path) for path in git.list_changes(root, f"{commit}^", commit)[0]):
            continue
        changes = [*judge_commit(root, commit)]
        if changes:
            count -= 1
            change = draw.choice(changes)
            subject = git.run(root, "log", "-1", "--format=%s", commit).decode("utf-8", "replace").strip()
            print(f"\n=== {root.parent.name.replace('+', '/')}\t{commit[:12]}\t{change.staleness.anchor.label}")
            print(f"    {subject[:90]}")
            print(show_diff(change.old_text, change.new_text)[:1500])


def print_verdicts(labels: Path, folder: Path, wanted_part: str, is_verbose: bool) -> None:
    """Print the share of each verdict that asks to verify, by language."""
    tallies: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for line in labels.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        repository, commit, label, verdict, part = line.split("\t")
        if wanted_part not in ("all", part):
            continue
        names = (repository, repository.rpartition("/")[2], f"{repository.replace('/', '+')}/repo")
        root = next(folder / name for name in names if (folder / name).exists())
        full_id = git.resolve_commit(root, commit)
        change = next(judge_commit(root, full_id, label), None)
        if change is None:
            print(f"not there: {line}")
            continue
        is_flagged = change.staleness.must_verify
        for group in ("all", find_language(label.partition("::")[0]) or ""):
            tallies[verdict, group][is_flagged] += 1
        if is_verbose and is_flagged is not (verdict == "behaviour"):
            print(f"--- {line}: {change.staleness.change}\n{show_diff(change.old_text, change.new_text)[:1200]}")
    for (verdict, group), tally in sorted(tallies.items()):
        share = tally[True] / tally.total()
        print(f"{verdict:<12} {group:<12} {tally[True]:>3} of {tally.total():>3} ask to verify  {share:.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="lab.benchmarks.code_changes", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(required=True)
    for name in ("mutations", "refactorings"):
        command = commands.add_parser(name)
        command.add_argument("repositories", type=Path, nargs="+")
        command.add_argument("--functions", type=int, default=80)
        command.add_argument("--verbose", action="store_true", help="print the edits that were judged wrongly")
        command.set_defaults(
            run=lambda given, name=name: measure_edits(
                given.repositories, given.functions, name == "mutations", given.verbose
            )
        )
    command = commands.add_parser("pairs")
    command.add_argument("repository", type=Path)
    command.add_argument("--commits", type=int, default=600)
    command.add_argument("--count", type=int, default=20)
    command.add_argument("--seed", type=int, default=1)
    command.add_argument("--subject", default="", help="only commits whose message matches this pattern")
    command.add_argument("--without-tests", action="store_true", help="only commits that change no tests")
    command.set_defaults(
        run=lambda given: print_pairs(
            given.repository,
            given.commits,
            given.count,
            given.seed,
            given.subject,
            is_without_tests=given.without_tests,
        )
    )
    command = commands.add_parser("verdicts")
    command.add_argument("labels", type=Path)
    command.add_argument("folder", type=Path)
    command.add_argument("--part", choices=("held", "tuned", "all"), default="held")
    command.add_argument("--verbose", action="store_true")
    command.set_defaults(run=lambda given: print_verdicts(given.labels, given.folder, given.part, given.verbose))
    options = parser.parse_args()
    options.run(options)
