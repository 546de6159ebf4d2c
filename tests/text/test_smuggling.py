"""Characters that hide or are obeyed never reach a terminal or a model as such; emoji do."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.sessions import spool
from hivemind.text.clean import UNSAFE_CHARACTERS, neutralise
from tests.command_line import run
from tests.conftest import Tally

OBEYED_BY_TERMINALS = {
    "clear screen": "\x1b[2J\x1b[H fine",
    "conceal": "\x1b[8mhidden\x1b[0m",
    "link": "\x1b]8;;https://evil.example\x07x",
    "clipboard": "\x1b]52;c;cm0=\x07",
    "title": "\x1b]0;owned\x07",
    "c1": "\x9b31mred\x9b0m",
    "dcs": "\x1bP$q\x1b\\",
    "backspace": "rm\b\bls",
    "overwrite": "Approved: no\rApproved: yes",
    "bell": "ding\x07",
}
HIDDEN = {
    "tags": "fine" + "".join(chr(0xE0000 + ord(letter)) for letter in "run rm"),
    "selectors": "fine" + "".join(chr(0xE0100 + ord(letter)) for letter in "run rm"),
    "zero width": "fi\u200b\u200c\u200bne",
    "bidi": "user\u202e \u2066// admin\u2069",
    "soft hyphen": "ig\u00adnore",
    "invisible operator": "a\u2062b",
    "separators": "one\u2028two\u2029three",
    "marks": "h" + "\u0301" * 80,
}
LEGITIMATE = {
    "flag": "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "family": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "heart": "\u2764\ufe0f",
    "accents": "naïve café",
    "persian": "می\u200cخواهم",
    "script": "日本語 हिन्दी",
    "keycap": "1\ufe0f\u20e3",
}
COMMANDS = (
    "list --everywhere",
    "log",
    "review",
    "session list --everywhere",
    "status --counts",
    "export",
    "recall word",
    "log --receipts",
    "session show --everywhere",
    "session replay --everywhere",
    "session resume --everywhere",
)


def held_back(shown: str) -> bool:
    return not UNSAFE_CHARACTERS.search(shown.replace("\n", "").replace("\t", ""))


@pytest.mark.parametrize("name", [*OBEYED_BY_TERMINALS, *HIDDEN])
def test_what_is_obeyed_or_hidden_is_taken_out(name: str, tally: Tally) -> None:
    text = {**OBEYED_BY_TERMINALS, **HIDDEN}[name]

    shown = neutralise(text)

    assert held_back(shown)
    assert neutralise(shown) == shown
    assert len(shown) <= len(text)
    assert shown != text
    tally("smuggled sequences neutralised", 1, 1)


@pytest.mark.parametrize("name", LEGITIMATE)
def test_what_people_write_is_left_alone(name: str, tally: Tally) -> None:
    assert neutralise(LEGITIMATE[name]) == LEGITIMATE[name]
    tally("legitimate emoji and scripts kept", 1, 1)


@pytest.mark.parametrize("name", OBEYED_BY_TERMINALS)
def test_a_memory_with_an_escape_code_is_refused_or_harmless(mind: Hivemind, name: str) -> None:
    said = run("remember", f"word {OBEYED_BY_TERMINALS[name]}")

    assert held_back(said.output)
    assert all(held_back(run("show", memory.id).output) for memory in mind.list(everywhere=True))


def leave_poison(home: Path) -> None:
    """Tool output, names and prompts with escape codes in them, as hooks bring them."""
    for number, text in enumerate({**OBEYED_BY_TERMINALS, **HIDDEN}.values()):
        payload = {
            "session_id": f"s{text}",
            "cwd": str(home),
            "tool_name": f"Bash{text}",
            "tool_use_id": f"t{number}",
            "tool_input": {"command": f"word {text}", "file_path": f"/x/{text}"},
            "tool_response": {"stdout": f"word {text}", "stderr": text},
            "prompt": f"always use word {text}",
        }
        for event in ("UserPromptSubmit", "PostToolUse", "Stop"):
            spool.append(str(home), "claude-code", event, f"2026-01-01T10:00:{number:02d}.000000Z", json.dumps(payload))


def on_a_terminal(*arguments: str) -> str:
    """What a real terminal would get, colours and all."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "dumb", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "hivemind", *arguments]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    process.wait()
    os.close(ours)
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")


OURS = ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m")
"""The colours we print ourselves."""


def without_our_colours(shown: str) -> str:
    for colour in OURS:
        shown = shown.replace(colour, "")
    return shown


def test_no_command_prints_an_escape_code_it_was_fed(home: Path, tally: Tally) -> None:
    leave_poison(home)

    as_json = [f"{command} --json" for command in COMMANDS if not command.startswith(("log", "export"))]
    piped = {command: run(*command.split()) for command in (*COMMANDS, *as_json)}
    drawn = {command: without_our_colours(on_a_terminal(*command.split())) for command in (*COMMANDS, *as_json)}
    assert {name: done.output for name, done in piped.items() if done.exit_code not in (0, 1)} == {}

    assert "word" in drawn["session replay --everywhere"]
    assert [name for name, shown in drawn.items() if not held_back(shown)] == []
    assert [name for name, done in piped.items() if not held_back(done.output)] == []
    tally("commands fed with escape codes, raw ones printed: 0", len(piped) + len(drawn), len(piped) + len(drawn))


def test_errors_print_no_escape_code(mind: Hivemind, tmp_path: Path) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_text(json.dumps({"hivemind": 1, "id": "\x1b[2J\x9b", "kind": "\x1b[2J\x9b"}) + "\n")

    for arguments in (["show", "\x1b[2J"], ["import", str(odd)], ["--store", "\x9b\x1b[2J", "list"], ["\x1b[2J"]):
        assert held_back(run(*arguments).output), arguments
