"""Pairs of a query and the text that answers it, cut out of commits, code, manuals, transcripts and dialogues.

Every function takes text and yields pairs; none reads a file or runs a program.
"""

import ast
import csv
import io
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hivemind.text.search_terms import MAX_PASSAGE_CHARACTERS, split_passages

MAX_TEXT = MAX_PASSAGE_CHARACTERS
"""Characters; training sees passages as long as those that the product embeds."""
MAX_QUERY = 600
LONG_QUERY = 1_400
"""Characters of a pasted issue or request: about 300 tokens, so that long questions are trained too."""
RELATED_PER_FILE = 3
PASSAGES_PER_ANSWER = 6

NAMES = (
    "Anna",
    "Ben",
    "Clara",
    "David",
    "Emma",
    "Frank",
    "Grace",
    "Hugo",
    "Ines",
    "Jack",
    "Kate",
    "Leo",
    "Maria",
    "Noah",
    "Olivia",
    "Paul",
    "Quinn",
    "Rosa",
    "Sam",
    "Tina",
    "Uma",
    "Victor",
    "Wendy",
    "Yusuf",
    "Zoe",
    "Priya",
    "Chen",
    "Amir",
    "Lucia",
    "Omar",
    "Nina",
    "Pedro",
    "Mei",
    "Ivan",
    "Fatima",
    "Jonas",
    "Aisha",
    "Marco",
    "Elena",
    "Ravi",
)

DECLARATION = re.compile(
    r"\b(func|fn|def|class|function|public|private|protected|static|struct|enum|interface|trait|impl|type|void|int|"
    r"bool|char|const|export|async|override|internal|val|var|suspend|open|final|abstract|template|inline|size_t)\b"
)
COMMENT = re.compile(r"^\s*(///?!?|#|\*+/?|/\*+!?)\s?(?P<words>.*?)(\*/)?\s*$")
HEADING = re.compile(r"(?m)^(?=#{1,4} )|\n(?=[^\n]{4,90}\n[=~\-^]{4,}\n)")
TOOL_CALL = re.compile(r"(?m)</?tool-use[^>\n]*>|^Tool use: .*$|^Read file: .*$|^---$")
FAILURE = re.compile(r"(?i)\b(error|traceback|exception|failed|failure|panic|fatal|cannot|undefined|denied)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A query and its text; a natural pair was written as one by a person."""

    kind: str
    query: str
    text: str
    is_natural: bool = True
    english_query: str = ""
    english_text: str = ""
    """What a translation says, for teachers that read only English; empty where it is English already."""


def pair_commit(subject: str, body: str, files: Sequence[str]) -> Iterator[Pair]:
    """Yield a commit's subject with its body and file names."""
    body = re.sub(r"(?mi)^(signed-off-by|co-authored-by|reviewed-by|closes|pr-url|change-id|reviewed-on).*$", "", body)
    body = re.sub(r"\n{3,}", "\n\n", body).strip()
    if len(subject) >= 12 and (len(body) > 60 or files):
        text = f"{body[:1_100]}\nFiles: {' '.join(files[:10])}".strip()
        yield Pair(kind="commit", query=subject[:MAX_QUERY], text=text[:MAX_TEXT])


def pair_fix(subject: str, body: str, diff: str) -> Iterator[Pair]:
    """Yield a commit's message with its diff."""
    names = re.findall(r"(?m)^\+\+\+ b/(.*)$", diff)
    changes = re.sub(r"(?m)^(diff --git|index |--- |\+\+\+ |similarity|rename|new file).*\n?", "", diff)
    if len(subject) >= 12 and names and len(changes) > 120:
        message = f"{subject}\n{body.strip()}"[:LONG_QUERY]
        yield Pair(kind="fix", query=message, text=f"Files changed: {' '.join(names[:6])}\n{changes}"[:MAX_TEXT])


def pair_related(commits: Sequence[tuple[str, str, Sequence[str]]], rng: random.Random) -> Iterator[Pair]:
    """Yield messages of two commits that changed the same rarely changed file, with subject, body and files."""
    by_file: dict[str, list[int]] = {}
    for number, (_, body, files) in enumerate(commits):
        if len(body) > 80 and len(files) <= 8:
            for file in files:
                by_file.setdefault(file, []).append(number)
    for file, numbers in by_file.items():
        if 2 <= len(numbers) <= 12 and not re.search(r"(?i)change|news|release|lock|\.json$", file):
            for _ in range(min(RELATED_PER_FILE, len(numbers) // 2)):
                first, second = rng.sample(numbers, 2)
                subject, body, _ = commits[first]
                other_subject, other_body, files = commits[second]
                text = f"{other_subject}\n{other_body}\nFiles changed: {' '.join(files)}"
                yield Pair(kind="related", query=f"{subject}\n{body}"[:LONG_QUERY], text=text[:MAX_TEXT])


def pair_python(source: str) -> Iterator[Pair]:
    """Yield the first paragraph of each docstring with the code of its function."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        docstring = ast.get_docstring(node) or ""
        first = node.body[0]
        query = " ".join(docstring.split("\n\n")[0].split())[:300]
        code = "\n".join(lines[node.lineno - 1 : first.lineno - 1] + lines[first.end_lineno or 0 : node.end_lineno])
        if len(query) >= 20 and len(code) > 60:
            yield Pair(kind="python", query=query, text=code[:MAX_TEXT])


def pair_code(source: str) -> Iterator[Pair]:
    """Yield each comment with the declaration under it, in any language with braces, `end` or indentation."""
    lines = source.splitlines()
    number = 0
    while number < len(lines):
        words: list[str] = []
        while number < len(lines) and (match := COMMENT.match(lines[number])) and not lines[number].startswith("#!"):
            words.append(match["words"])
            number += 1
        comment = re.sub(r"<[^>]+>|\{@\w+ ([^}]*)\}", r"\1", " ".join(words)).strip()
        comment = re.split(r"\s@\w+|\s\\(?:param|return)", comment)[0].strip()
        if len(comment) < 20 or number >= len(lines) or not DECLARATION.search(lines[number]):
            number += 1
            continue
        stop = _find_end(lines, number)
        code = "\n".join(lines[number:stop])
        if len(code) > 80 and not re.search(r"(?i)copyright|licen[sc]e", comment):
            yield Pair(kind="code", query=" ".join(comment.split())[:300], text=code[:MAX_TEXT])
        number += 1


def _find_end(lines: Sequence[str], start: int) -> int:
    """Return the line after a declaration's body: where its indentation is reached again, or 60 lines on."""
    indent = len(lines[start]) - len(lines[start].lstrip())
    for number in range(start + 1, min(len(lines), start + 60)):
        line = lines[number]
        if line.strip() and len(line) - len(line.lstrip()) <= indent and not line.lstrip().startswith(("{", ")", "(")):
            closes = line.lstrip().startswith(("}", "end", "]"))
            return number + 1 if closes else number
    return min(len(lines), start + 60)


def pair_manual(source: str, kind: str = "manual") -> Iterator[Pair]:
    """Yield each heading with its section."""
    source = re.sub(r"(?s)\A---\n.*?\n---\n", "", source)
    title = ""
    for section in HEADING.split(source):
        lines = [line for line in section.strip().split("\n") if line.strip(" =~-^#")]
        if not lines:
            continue
        heading = re.sub(r"\{[#:].*?\}|`", "", lines[0].strip("# ")).strip()
        body = "\n".join(lines[1:])[:MAX_TEXT]
        if len(lines) >= 3 and 4 < len(heading) < 160 and len(body) > 120:
            query = f"{title}: {heading}" if title and len(heading) < 24 else heading
            yield Pair(kind=kind, query=query, text=body)
            yield from pair_failure(section)
            if kind == "manual":
                yield from pair_rules(query, body)
        title = title or heading


def pair_rules(heading: str, body: str) -> Iterator[Pair]:
    """Yield a heading with each short item of the list under it, as short as the notes people keep."""
    for item in re.findall(r"(?m)^\s{0,3}[-*+] (.{40,240})$", body):
        if item.count("](") == 0 and item[-1] in ".)`" and " " in item[12:]:
            yield Pair(kind="rule", query=heading, text=item.strip())


def pair_translation(translated: str, english: str, kind: str) -> Iterator[Pair]:
    """Yield headings and sections of a translated page beside the English ones, where both have the same headings."""
    pages = [list(pair_manual(page, kind)) for page in (translated, english)]
    if len(pages[0]) == len(pages[1]):
        for own, original in zip(*pages, strict=True):
            yield from _pair_languages(kind, (own.query, own.text), (original.query, original.text))


def pair_translated_command(translated: str, english: str, kind: str) -> Iterator[Pair]:
    """Yield the descriptions in a translated page of tldr with the page, beside the English ones."""
    descriptions = [re.findall(r"(?m)^[->] (.{12,200}?):?$", page) for page in (translated, english)]
    # A page with fewer only says that the command is an alias.
    if len(descriptions[0]) == len(descriptions[1]) >= 4:
        for own, original in zip(*descriptions, strict=True):
            yield from _pair_languages(kind, (own, translated[:MAX_TEXT]), (original, english[:MAX_TEXT]))


def _pair_languages(kind: str, own: tuple[str, str], english: tuple[str, str]) -> Iterator[Pair]:
    """Yield query and text in one language, and a query in one language for a text in the other."""
    query, text = own
    english_query, english_text = english
    if query == english_query or text == english_text:
        return
    yield Pair(kind=kind, query=query, text=text, english_query=english_query, english_text=english_text)
    yield Pair(kind=kind, query=query, text=english_text, english_query=english_query)
    yield Pair(kind=kind, query=english_query, text=text, english_text=english_text)


def pair_failure(markdown: str) -> Iterator[Pair]:
    """Yield blocks of terminal output that report a failure, with the sentence before them."""
    for match in re.finditer(r"(?s)([^\n]{20,300})\n+```[a-z]*\n(.*?)\n```", markdown):
        before, block = match.groups()
        if FAILURE.search(block) and len(block) > 80:
            yield Pair(kind="failure", query=before.strip(" #*->"), text=block[:MAX_TEXT])


def pair_transcript(markdown: str) -> Iterator[Pair]:
    """Yield what a person asked a coding agent with the passages of the answer, and failures it met."""
    request = ""
    for turn in re.split(r"(?m)^_\*\*(?=User|Agent|Assistant)", markdown):
        speaker, _, words = turn.partition("\n")
        words = re.sub(r"(?s)<think>.*?</think>|<details>.*?</details>", "", words)
        words = TOOL_CALL.sub("", words)
        words = re.sub(r"\n{3,}", "\n\n", words).strip(" \n-_*")
        if speaker.startswith("User"):
            request = words
            yield from pair_request(request)
        elif request:
            yield from pair_answer(request, words)
            yield from pair_failure(words)


def pair_request(request: str) -> Iterator[Pair]:
    """Yield the first passages of what a person asked an assistant."""
    for passage in split_passages(request)[:2]:
        if len(passage) > 40:
            yield Pair(kind="transcript", query="", text=passage, is_natural=False)


def pair_answer(request: str, answer: str) -> Iterator[Pair]:
    """Yield the first passages of an assistant's answer."""
    for passage in split_passages(answer)[:PASSAGES_PER_ANSWER]:
        if len(passage) > 120:
            yield Pair(kind="transcript", query=request[:LONG_QUERY], text=passage)


def pair_dialogue(turns: Sequence[tuple[str, str]], rng: random.Random, kind: str = "talk") -> Iterator[Pair]:
    """Yield turns of named people, alone and in threes, with the turn before as the query."""
    names = dict(zip(dict.fromkeys(speaker for speaker, _ in turns), rng.sample(NAMES, len(NAMES)), strict=False))
    spoken = [(names.get(speaker, speaker), " ".join(words.split())) for speaker, words in turns]
    for number, (name, words) in enumerate(spoken):
        if len(words) > 45:
            before = spoken[number - 1][1] if number else ""
            yield Pair(kind=kind, query=before[:300], text=f"{name}: {words}"[:MAX_TEXT], is_natural=False)
    for number in range(0, len(spoken) - 2, 3):
        window = "\n".join(f"{name}: {words}" for name, words in spoken[number : number + 3])
        after = spoken[number + 3][1] if number + 3 < len(spoken) else ""
        if len(window) > 120:
            yield Pair(kind=kind, query=after[:300], text=window[:MAX_TEXT], is_natural=False)
    # Sessions with an assistant are stored without names, in passages of many turns.
    for passage in split_passages("\n".join(words for _, words in spoken)):
        if len(passage) > 600:
            yield Pair(kind=kind, query="", text=passage, is_natural=False)


def read_dialogues(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the dialogues of a JSON file of Taskmaster, schema-guided dialogue or Topical-Chat."""
    content = json.loads(text)
    dialogues = content.values() if isinstance(content, dict) else content
    for dialogue in (entry for entry in dialogues if isinstance(entry, dict)):
        turns = dialogue.get("utterances") or dialogue.get("turns") or dialogue.get("content") or []
        yield [
            (
                turn.get("speaker") or turn.get("agent") or "",
                turn.get("text") or turn.get("utterance") or turn["message"],
            )
            for turn in turns
            if isinstance(turn, dict) and (turn.get("text") or turn.get("utterance") or turn.get("message"))
        ]


def read_persona_chats(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the conversations of a CSV file of Synthetic-Persona-Chat."""
    for row in csv.DictReader(io.StringIO(text)):
        turns = re.findall(r"(?m)^(User \d): (.+)$", row.get("Best Generated Conversation") or "")
        yield [(speaker, words) for speaker, words in turns]


def read_chit_chats(text: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the conversations of the Chit-Chat Challenge; messages that one person sent in a row are one turn."""
    for chat in json.loads(text).values():
        yield [(turn[0]["sender"], " ".join(part["text"] for part in turn)) for turn in chat["messages"] if turn]


def read_chats(text: str) -> Iterator[tuple[str, str]]:
    """Yield requests and answers of an assistant, from JSON or JSON lines of GPTeacher, Arena-Hard or MT-Bench-101."""
    entries = json.loads(text) if text.lstrip().startswith("[") else map(json.loads, filter(None, text.split("\n")))
    for entry in entries:
        if "instruction" in entry:
            yield f"{entry['instruction']}\n{entry['input']}".strip(), entry["response"]
        elif "messages" in entry:
            request, answer = (message["content"] for message in entry["messages"][-2:])
            yield request, answer["answer"] if isinstance(answer, dict) else answer
        for turn in entry.get("history", []):
            yield turn["user"], turn["bot"]


def pair_squad(text: str, kind: str) -> Iterator[Pair]:
    """Yield questions with their paragraphs from a file in SQuAD's format."""
    for article in json.loads(text).get("data", []):
        for paragraph in article["paragraphs"]:
            turns = paragraph.get("utterances:")
            context = paragraph.get("context") or ""
            for question in paragraph["qas"]:
                passage = _choose_turns(turns, question) if turns else context
                if passage:
                    yield Pair(kind=kind, query=question["question"].strip(), text=passage[:MAX_TEXT])


def _choose_turns(turns: Sequence[dict[str, object]], question: dict[str, object]) -> str:
    """Return the turns around an answer, because a whole scene is longer than a passage."""
    answers = question.get("answers")
    place = int(answers[0].get("utterance_id", 0)) if isinstance(answers, list) and answers else -1
    lines = [f"{' and '.join(map(str, _names(turn)))}: {turn['utterance']}" for turn in turns]
    return "\n".join(lines[max(0, place - 1) : place + 2]) if place >= 0 else ""


def _names(turn: dict[str, object]) -> Iterable[object]:
    speakers = turn["speakers"]
    return speakers if isinstance(speakers, list) else [speakers]


def pair_meeting(line: str) -> Iterator[Pair]:
    """Yield the questions of one QMSum meeting with the turns that answer them."""
    meeting = json.loads(line)
    turns = [
        f"{turn['speaker']}: {re.sub(r'[{].*?[}]', '', turn['content'])}" for turn in meeting["meeting_transcripts"]
    ]
    for entry in meeting["specific_query_list"]:
        yield Pair(kind="talk", query=entry["query"], text=entry["answer"][:MAX_TEXT])
        for first, last in entry["relevant_text_span"][:3]:
            span = "\n".join(turn for turn in turns[int(first) : int(last) + 1] if len(turn) > 80)
            if len(span) > 120:
                yield Pair(kind="talk", query=entry["query"], text=span[:MAX_TEXT])
