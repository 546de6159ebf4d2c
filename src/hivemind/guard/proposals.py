"""Proposes the trigger of a guard from what a memory says: the commands and files that it warns of."""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from hivemind.errors import InvalidInput
from hivemind.guard import patterns
from hivemind.lazy import when_called
from hivemind.model.commands import PROGRAMS
from hivemind.model.guard import Trigger
from hivemind.model.memory import FORBIDS, Memory

# Loads the parser, which only a proposal and a call that may match need.
list_invocations = when_called("guard.shell", "list_invocations")

SUBCOMMANDS = frozenset(
    """
    install add remove update upgrade run test build push pull commit publish deploy migrate start serve dev up down
    exec ci apply destroy reset rebase checkout clean merge stash init create delete drop lint fmt format check
    compose watch release sync lock system prune rm rmi tag revert cherry-pick uninstall downgrade rollback
    makemigrations freeze seed wipe flush scale drain cordon
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)
"""Words that belong to a program named before them without backticks."""
COMMON_WORDS = frozenset(("make", "go", "task", "just", "next", "hub", "nose"))
"""Programs whose names are words; without backticks they count only if a subcommand or option follows."""
OPTION_HOLDERS = {
    "--no-verify": ("git commit", "git push"),
    "--force": ("git push",),
    "--force-with-lease": ("git push",),
    "--amend": ("git commit",),
    "--hard": ("git reset",),
    "--legacy-peer-deps": ("npm install",),
}
"""The commands that notes mean when they name an option alone."""
PHRASES = (
    (r"\bforce[- ]?push(?:es|ing)?\b", ("git push --force",)),
    (
        r"(?<!force-)(?<!force )\bpush(?:es|ing)?(?: directly| straight)? (?:to|on|into) (?:the )?"
        r"`?(main|master|develop|trunk)`?\b",
        ("git push * {}", "git push * *:{}"),
    ),
    (
        r"\bamend(?:ing)?\b(?: \w+){0,2} commits?\b|\bamend(?:ing)? (?:existing|published|pushed)",
        ("git commit --amend",),
    ),
    (r"\b(?:skip|bypass)(?:ping)? (?:\w+ ){0,2}hooks?\b", ("git commit --no-verify",)),
    (r"(?:(?<=n't )|(?<=not )|(?<=never )|(?<=no ))rebas(?:e|ing)\b", ("git rebase",)),
)
"""What people call some commands in plain words."""

FORBID = (
    r"\b(?:never|do not|don['’]?t|must not|mustn['’]t|must never|should not|shouldn['’]t|should never|cannot|can['’]t"
    r"|may not|avoid|stop|no longer|refrain from|not allowed to|forbidden to|prohibited to|instead of|rather than"
    r"|in place of|not|over|no)\b"
)
GAP = r"(?:(?!but |instead )[\w'’/-]+ ){0,6}?"
"""Words between a prohibition and what it forbids: "do not run or suggest", "not with a globally installed"."""
RUNS = r"(?:runs?|uses?|calls?|executes?|starts?)"
RESERVED = (
    rf"\b(?:nobody|no one)\b[^.`]{{0,40}}? {RUNS}|\bonly (?:(?:the|our|an?) (?:[\w-]+ ){{1,3}}?{RUNS}"
    rf"|[\w-]+ (?:may|can|should|must|is allowed to) {RUNS})"
)
"""What others alone do: "only the ops team runs", "nobody but CI calls"."""
FORBIDDEN = re.compile(rf"(?:{FORBID},? {GAP}|(?:{RESERVED}) )(?=`)", re.IGNORECASE)
"""A prohibition before something in backticks."""
FILLER = (
    r"(?:ever |do |doing |directly |manually |just |even |simply |also |try to |attempt to |raw |bare |plain |the |a "
    r"|an |any |our |your |global |globally |run |use |call |invoke |execute |running |using |calling |invoking "
    r"|executing |with )*"
)
FORBIDDEN_BARE = re.compile(rf"{FORBID},? {FILLER}(?=[\w.-])", re.IGNORECASE)
"""A prohibition directly before a program without backticks."""
FORBIDDEN_WITH = re.compile(
    rf"{FORBID} (?P<verb>(?!without|unless|until|before|except)[\w'’/-]+) "
    r"(?:(?!without|unless|until|before|except)[\w'’/-]+,? ){0,7}?(?:with|using|via) (?=[\w-])",
    re.IGNORECASE,
)
"""A prohibition of what a command does: "never commit with --no-verify", "do not delete branches with git push -d"."""
FORBIDDEN_OPTION = re.compile(
    rf"{FORBID},? (?:\w+ ){{0,3}}?`?(?P<option>--?[\w-]+)`?[^.;`]{{0,30}}?"
    r"\b(?:to|with|for|on|in|when (?:\w+ing)) (?:the )?",
    re.IGNORECASE,
)
"""A prohibition of an option of a command: "do not pass --force to git push"."""
RUN_VERB = re.compile(
    r"\b(?:run|running|invoke|invoking|execute|executing|type|launch|call|calling)\b[^`]*\Z", re.IGNORECASE
)
BANNED = re.compile(
    r"\b(?:is|are|was|were) (?:strictly |explicitly )?(?:forbidden|banned|prohibited|not allowed|deprecated"
    r"|off[- ]limits|disabled|(?:not|no longer) (?:supported|used|permitted)|gone|dead|removed|retired|obsolete)\b"
    r"|\b(?:must|should|may) (?:not|never) be (?:run|used|called|invoked|executed)\b"
    r"|\b(?:(?:is|are|runs?) )?(?:only|done|handled) (?:from|in|on|by|through|via) (?:the |our |a )?(?:\w+ ){0,2}"
    r"(?:CI|pipelines?|bots?|workflows?|teams?|maintainers?|admins?)\b",
    re.IGNORECASE,
)
SUBJECT_END = re.compile(
    r"\s*(?:\b(?:commands?|scripts?|targets?|tasks?)\s*)?(?:\b(?:to|in|on|at|from|for|with|without|outside|here)\b.*)?",
    re.I,
)
"""Between a command and what is said of it: "`git push` to main"; of "`docker run` containers" it is not said."""
ALWAYS_WITH = re.compile(
    r"\balways (?:pass|use|add|include|set|specify|give|run with) `?(?P<option>--?[\w-]+)`?[^.;]{0,40}?"
    r"(?:to|with|when (?:you )?(?:run(?:ning)?|call(?:ing)?|us(?:e|ing))|for|on) (?:the )?",
    re.IGNORECASE,
)
ALWAYS_RUN_WITH = re.compile(
    r"\balways (?:run|call|use|invoke|execute) (?P<command>`[^`\n]+`|[a-z][\w-]*) (?:with|using|and) (?:the )?"
    r"`?(?P<option>--?[\w-]+)`?",
    re.IGNORECASE,
)
WITHOUT = re.compile(r"\bwithout (?:passing |using |the )*(?:`([^`\n]+)`|(--?[\w-]+))", re.IGNORECASE)
EDIT_VERB = (
    r"(?:edit|modif(?:y|ie)|chang|touch|writ|alter|hand-edit|overwrit|updat|delet|add|commit|mov|renam|creat)"
    r"(?:s|e|ing|ting|ed)?"
)
EDIT_FORBIDDEN = re.compile(
    rf"\b(?:never|do not|don['’]?t|must not|mustn['’]t|should not|shouldn['’]t|should never|must never|avoid|cannot"
    rf"|no)\b[^.;`]{{0,40}}?\b{EDIT_VERB}\b|\bhands off\b|\b{EDIT_VERB}\b"
    rf".*\b(?:never|not|don['’]?t)\b.{{0,20}}\b(?:by hand|manually)",
    re.IGNORECASE,
)
GENERATED = re.compile(
    r"\b(?:auto-?)?generated\b|\bread-only\b|\bvendored\b"
    r"|\b(?:must|should) (?:not|never) be (?:edited|modified|changed|touched)\b"
    r"|\bnot (?:be )?(?:edited|modified|changed|touched)\b|\boff[- ]limits\b|\bimmutable\b",
    re.IGNORECASE,
)
RECOMMENDED_BEFORE = re.compile(
    r"\b(?:us(?:e[sd]?|ing)|runs?|prefers?|call|try|take|add|edit|fix|patch|change|merge|regenerate|via|with|through|by"
    r"|from|plain|except|unless|other than|apart from|only(?: in)?|live in|goe?s? (?:in|through))\b[^.;`]{0,25}\Z",
    re.IGNORECASE,
)
RECOMMENDED_AFTER = re.compile(
    r"[^.;`\w]*(?:is |are |stays? )?(?:fine|ok|okay|allowed|enough|safe|instead|only|at most|should be used)\b",
    re.IGNORECASE,
)
NOT_RECOMMENDED = re.compile(rf"{FORBID}(?:(?!\bwith\b|\bvia\b)[^.,;`]){{0,30}}\Z", re.IGNORECASE)
PREFERRED = re.compile(r"\s*(?:in place of|instead of|rather than|over)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?:`[^`\n]*`|[^.;!\n`]|\.(?=\S)|(?<=\s)\.)+")
"""A sentence or clause; a period inside a name, in backticks or alone does not end it: ``git add .``."""
CODE = re.compile(r"`([^`\n]+)`")
BARE = re.compile(r"(?:\./)?[A-Za-z][\w.+-]*(?=\W|\Z)")
JOINT = re.compile(
    r"\s*(?:[,/(]?\s*\bn?or\b\s*(?:use |run )?|[,/(]?\s*\band\b\s*|[,/(]\s*)(?:even |with |the )*", re.IGNORECASE
)
"""Between names of a list; "don't use npm, use pnpm" ends it."""
PATH = re.compile(
    r"(?<![\w/`.])(?:[\w.*@-]+/)+(?:[\w*@-]|\.(?=\w))*|(?<![\w/`.])[\w*-]+(?:\.[A-Za-z][\w-]*)+\b"
    r"|(?<![\w/`.])\.[A-Za-z][\w-]*(?:\.[\w-]+)*"
)
"""A path or the name of a file without backticks: src/gen/, README.md, .env.local."""
PLAIN_FILE = re.compile(r".*/.*|\..*|[A-Z]{3,}.*|.*\.(?:json|ya?ml|toml|lock|md|txt|cfg|ini|xml|sql|proto)")
"""What is a file also without backticks; Next.js is not."""
LOOKS_LIKE_PATH = re.compile(r"[\w.@*{}-]*/[\w.@*/{}-]*|\.?[\w*-]+(?:\.[\w*-]+)+|\.\w+")


def propose_trigger(memory: Memory) -> Trigger:
    """Return the calls that a memory forbids: as its agent named them, or else from its words and links."""
    trigger = read_forbidden(str(memory.metadata.get(FORBIDS, "")))
    if trigger.is_empty:
        trigger = propose_from_text(memory.text)
    is_protective = trigger.is_empty and EDIT_FORBIDDEN.search(memory.text) is not None
    symbols = (f"{anchor.path}::{anchor.qualified}" for anchor in memory.anchors if anchor.qualified and is_protective)
    return replace(trigger, symbols=tuple(symbols))


def read_forbidden(names: str) -> Trigger:
    """Read what an agent named as forbidden, "npm install, dist/**, !dist/keep.txt"; ``!`` marks what is allowed."""
    commands, exceptions, files = list[str](), list[str](), list[str]()
    for name in filter(None, (part.strip().strip("`") for part in re.split(r",\s", names))):
        pattern = name.removeprefix("!").strip()
        is_file = LOOKS_LIKE_PATH.fullmatch(pattern) is not None and not pattern.startswith("./")
        with suppress(InvalidInput):
            if name.startswith("!"):
                exceptions.append(patterns.validate_command_pattern(pattern))
            elif is_file:
                files.append(patterns.validate_file_pattern(pattern))
            else:
                commands.append(patterns.validate_command_pattern(pattern))
    return Trigger(commands=tuple(commands), exceptions=tuple(exceptions), files=tuple(files))


def propose_from_text(text: str) -> Trigger:
    """Return the commands and files that a text says not to run or change."""
    commands, exceptions, files = list[str](), list[str](), list[str]()
    for sentence in SENTENCE.findall(text):
        sentence_commands, sentence_exceptions = _find_forbidden(sentence, text)
        commands += sentence_commands
        exceptions += sentence_exceptions
        if not sentence_commands:
            files += _find_protected_files(sentence)
    if not commands and not files:
        commands, files = _find_mentioned(text)
    mentioned_names = dict.fromkeys(name for _, _, names in _list_mentions(text) for name in names)
    recommendations = [command for command in mentioned_names if command not in commands]
    exceptions += [command for command in recommendations if _may_run_one_of(commands, command)]
    return Trigger(
        commands=tuple(dict.fromkeys(commands)),
        exceptions=tuple(dict.fromkeys(exceptions)),
        files=tuple(dict.fromkeys(files)),
    )


def _find_mentioned(text: str) -> tuple[list[str], list[str]]:
    """Return the commands that a text names without recommending them, or else such files.

    Rules forbid in more ways than can be listed: "`git stash` is not welcome", "vendor/ is third-party".
    """
    commands, files = list[str](), list[str]()
    for sentence in SENTENCE.findall(text):
        for start, end, names in _list_mentions(sentence):
            commands += [] if _is_recommended(sentence, start, end) else names
        for match in re.finditer(rf"{CODE.pattern}|{PATH.pattern}", sentence):
            path = (match[1] or match[0]).strip().rstrip(",:")
            if (match[1] or PLAIN_FILE.fullmatch(path)) and not _is_recommended(sentence, match.start(), match.end()):
                files += _make_file_patterns(path)
    return commands, [] if commands else files


def _is_recommended(sentence: str, start: int, end: int) -> bool:
    """Whether a sentence says to use what it names at a place, or leaves it out of what it says."""
    before = sentence[:start]
    if NOT_RECOMMENDED.search(before):
        return False
    return bool(RECOMMENDED_BEFORE.search(before) or RECOMMENDED_AFTER.match(sentence, end))


def _may_run_one_of(commands: list[str], recommendation: str) -> bool:
    """Whether a command that a memory recommends runs one that it forbids, as ``uv run`` runs Python."""
    inner = list_invocations(f"{recommendation} {commands[0]}")[0][1:] if commands else ()
    return bool(inner or patterns.find_match(commands, (), list_invocations(recommendation)))


def _find_forbidden(sentence: str, text: str) -> tuple[list[str], list[str]]:
    """Return the command patterns that a sentence of a text warns of, and those that it allows nevertheless."""
    commands, exceptions = list[str](), list[str]()
    for expression, forms in PHRASES:
        for match in re.finditer(expression, sentence, re.IGNORECASE):
            if re.search(FORBID, sentence[: match.start()], re.IGNORECASE) or BANNED.search(sentence, match.end()):
                commands += (form.format(*match.groups()) for form in forms)
    for match in FORBIDDEN_OPTION.finditer(sentence):
        commands += (f"{name} {match['option']}" for name in _read_names(sentence, match.end()))
    for match in (*ALWAYS_RUN_WITH.finditer(sentence), *ALWAYS_WITH.finditer(sentence)):
        names = _read_names(match["command"], 0) if match.re is ALWAYS_RUN_WITH else _read_names(sentence, match.end())
        commands += names
        exceptions += (f"{name} {match['option']}" for name in names)
    for match in FORBIDDEN_WITH.finditer(sentence):
        # A program alone does other things, too: "never call the production API with curl".
        verb = match["verb"].lower()
        for name in _read_names(sentence, match.end()):
            if " " in name or verb in SUBCOMMANDS:
                commands.append(name if " " in name else f"{name} {verb}")
    if not commands:
        for match in (*FORBIDDEN.finditer(sentence), *FORBIDDEN_BARE.finditer(sentence)):
            # An unknown word in backticks is a program if a command stands before it: "Use `mvn`; never `mvnw`".
            before = text.partition(sentence)[0] + sentence[: match.end()]
            has_company = any(map(_read_command, CODE.findall(before)))
            commands += _read_names(sentence, match.end(), has_company=has_company)
        for match in BANNED.finditer(sentence):
            commands += _read_last_names(sentence[: match.start()])
    if clause := WITHOUT.search(sentence):
        option = clause[1] or clause[2]
        is_option = option.startswith("-")
        exceptions += (f"{command} {option}" if is_option else option for command in commands)
        commands = [command for command in commands if command != option]
    return commands, [text for text in exceptions if text not in commands]


def _read_names(sentence: str, start: int, *, has_company: bool = False) -> list[str]:
    """Read the commands that a sentence lists from a place on: ``npm`` or ``yarn install``, and bare names."""
    names, place = list[str](), start
    while place < len(sentence):
        if code := CODE.match(sentence, place):
            # "`pnpm` in place of `npm`": what follows is replaced, this is not.
            if PREFERRED.match(sentence, code.end()):
                break
            names += _read_command(code[1], is_run=has_company or bool(RUN_VERB.search(sentence[:place])))
            has_company = has_company or bool(names)
            place = code.end()
        elif bare := _match_bare(sentence, place):
            name, place = bare
            names.append(name)
        else:
            break
        joint = JOINT.match(sentence, place)
        if not joint:
            break
        place = joint.end()
    return names


def _read_last_names(text: str) -> list[str]:
    """Read the commands that a text ends with: npm and yarn in "we use pnpm because npm and yarn"."""
    names, start = list[str](), len(text)
    for mention_start, end, mentioned_names in reversed(_list_mentions(text)):
        if not (JOINT if names else SUBJECT_END).fullmatch(text, end, start):
            break
        names, start = [*mentioned_names, *names], mention_start
    return names


def _match_bare(sentence: str, place: int) -> tuple[str, int] | None:
    """Match a program without backticks, with the subcommands and options after it."""
    first = re.compile(r"--?[\w-]+|" + BARE.pattern).match(sentence, place)
    if not first:
        return None
    words, end = [first[0].rstrip(".")], first.end()
    while more := re.compile(r" (--?[\w-]+|\.(?=\s|\Z)|[a-z][\w:-]*(?:[/.][\w-]+)*)(?=\W|\Z)").match(sentence, end):
        if not re.search(r"\A-|[_/.]", more[1]) and more[1] not in SUBCOMMANDS:
            break
        words.append(more[1])
        end = more.end()
    if words[0].startswith("-"):
        holders = OPTION_HOLDERS.get(words[0], ())
        return (f"{holders[0]} {words[0]}", end) if holders else None
    name = words[0].removeprefix("./").lower()
    # "No git command that discards work" and "no curl | bash" are about some commands of git and curl.
    if re.compile(r" (?:commands?\b|\|)").match(sentence, end) and len(words) == 1:
        return None
    if name not in PROGRAMS or (name in COMMON_WORDS and len(words) == 1):
        return None
    return " ".join([name, *words[1:]]), end


def _read_command(text: str, *, is_run: bool = False) -> list[str]:
    """Return the command patterns of what stands in backticks; nothing for paths, names of code and values."""
    text = re.sub(r"\s*(?:(?<!/)\.\.\.|…|<[^>]*>|\[[^\]]*\])", "", text).strip().removeprefix("$ ")
    words = text.split()
    if not words or not re.fullmatch(r"(?:\./)?[A-Za-z][\w./+-]*", words[0]) or re.search(r"[(){}=;]", words[0]):
        return _hold_option(text)
    is_script = words[0].startswith("./") or words[0].endswith(".sh")
    name = patterns.get_program(words)
    is_program = name in PROGRAMS or is_script or bool(shutil.which(name)) or len(words) > 1 or is_run
    if not is_program or (len(words) == 1 and "." in words[0] and not is_script) or words[0].endswith("/"):
        return []
    try:
        return [patterns.validate_command_pattern(" ".join([name, *words[1:]]))]
    except InvalidInput:
        return []


def _hold_option(text: str) -> list[str]:
    option = text.split(maxsplit=1)[0] if text.startswith("-") else ""
    return [f"{command} {option}" for command in OPTION_HOLDERS.get(option, ())]


def _list_mentions(text: str) -> list[tuple[int, int, list[str]]]:
    """List the places where a text names commands, in backticks or bare, in order."""
    mentions = [(match.start(), match.end(), _read_command(match[1])) for match in CODE.finditer(text)]
    plain_text = CODE.sub(lambda match: " " * len(match[0]), text)
    for match in re.finditer(r"(?<![\w/.-])[A-Za-z][\w.+-]*", plain_text):
        if bare := _match_bare(plain_text, match.start()):
            mentions.append((match.start(), bare[1], [bare[0]]))
    return sorted(mention for mention in mentions if mention[2])


def _find_protected_files(sentence: str) -> Iterator[str]:
    """Yield the files that a sentence says not to change."""
    edit = EDIT_FORBIDDEN.search(sentence)
    if not edit and not GENERATED.search(sentence):
        return
    # "Edit the schema in `schema/`, not `gen/`": what comes before the verb or after "instead" is where to edit.
    mentions = list(re.finditer(rf"{CODE.pattern}|{PATH.pattern}", sentence))
    for match in mentions:
        path = (match[1] or match[0]).strip().rstrip(",:")
        before = sentence[: match.start()]
        is_alternative = re.search(
            r"\b(?:instead|edit|change|update|regenerate|run|use|via|with|by|from)\b[^`]{0,25}\Z", before, re.IGNORECASE
        )
        is_by_hand = re.search(r"\bby hand\b|\bmanually\b", sentence, re.IGNORECASE)
        if is_alternative and not is_by_hand and not re.search(rf"{FORBID}[^`]{{0,60}}\Z", before, re.IGNORECASE):
            continue
        yield from _make_file_patterns(path)


def _make_file_patterns(path: str) -> list[str]:
    """Return the pattern of a path; nothing for what is no path."""
    if not LOOKS_LIKE_PATH.fullmatch(path) or path.startswith("http"):
        return []
    pattern = path.removeprefix("./").lstrip("/")
    if pattern.endswith("/"):
        return [f"{pattern}**"]
    return [f"{pattern}/**" if "." not in pattern.rpartition("/")[2] and "*" not in pattern else pattern]
