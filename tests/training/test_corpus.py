"""Pairs are cut out of small files written here; the sources themselves are not needed."""

import random
import subprocess
from pathlib import Path

from training import corpus, overlap, pairs

PYTHON = '''
def retry(call, times):
    """Call a function again until it succeeds.

    Gives up after a number of times.
    """
    for _ in range(times):
        if call():
            return True
    return False
'''
RUST = """
/// Sends the request again with a growing delay
/// until the server answers.
pub fn resend(request: Request, limit: u32) -> Result<Response> {
    let mut delay = 1;
    for _ in 0..limit {
        wait(delay);
        delay *= 2;
    }
}
"""
MANUAL = """# Guide

## Retry a failed upload

Uploads that fail are kept in the queue. Run the command again to send them; the queue survives a restart, and nothing
is lost if the server stays away for long.
It prints this when the server is away:

```
error: connection refused while sending part 3 of 7 to the server, so the upload was not finished
```
"""


def test_a_docstring_is_paired_with_its_code_and_not_repeated_in_it() -> None:
    (pair,) = pairs.pair_python(PYTHON)

    assert pair.query == "Call a function again until it succeeds."
    assert "for _ in range(times)" in pair.text
    assert "succeeds" not in pair.text


def test_source_that_does_not_parse_gives_no_pairs() -> None:
    assert list(pairs.pair_python("def broken(:")) == []


def test_a_comment_is_paired_with_the_declaration_under_it() -> None:
    (pair,) = pairs.pair_code(RUST)

    assert pair.query == "Sends the request again with a growing delay until the server answers."
    assert pair.text.startswith("pub fn resend")
    assert pair.text.rstrip().endswith("}")


def test_a_licence_at_the_top_of_a_file_is_no_comment_on_code() -> None:
    notice = "// Copyright the authors. This file is under the MIT licence, see the file of that name.\n"

    assert list(pairs.pair_code(notice + "pub fn f() {\n" + "    work();\n" * 12 + "}\n")) == []


def test_a_heading_is_paired_with_its_section_and_a_failure_with_the_sentence_before() -> None:
    found = {pair.kind: pair for pair in pairs.pair_manual(MANUAL)}

    assert found["manual"].query == "Guide: Retry a failed upload"
    assert found["failure"].text.startswith("error: connection refused")


def test_speakers_of_a_dialogue_get_names() -> None:
    turns = [("user", "I moved to Lisbon in May because the weather here is so much better."), ("agent", "Nice!")]

    (pair,) = pairs.pair_dialogue(turns, random.Random(1))

    name, _, words = pair.text.partition(": ")
    assert name in pairs.NAMES
    assert words == turns[0][1]


def test_commits_and_files_of_a_mirror_are_read(tmp_path: Path) -> None:
    def git(*command: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "retry.py").write_text(PYTHON)
    git("add", ".")
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    git(*author, "commit", "-qm", "Retry failed calls\n\nBecause the server drops one connection in a hundred.")

    found = list(corpus.gather(tmp_path / ".git", ["commits", "code"], random.Random(1), scale=1))

    assert {pair.kind for pair in found} == {"commit", "fix", "python"}
    assert next(pair for pair in found if pair.kind == "commit").text.endswith("Files: retry.py")


def test_text_of_a_question_set_is_recognised_and_other_text_is_not(tmp_path: Path) -> None:
    question = "Which instrument did Anna start to learn after she moved to the coast?"
    (tmp_path / "set.jsonl").write_text('{"question": "' + question + '"}\n')
    forbidden = overlap.hash_folder(tmp_path)

    assert overlap.shares_run(f"Somebody asked: {question.upper()} And more.", forbidden)
    assert not overlap.shares_run("Which instrument did Anna start to play when she was a child?", forbidden)
