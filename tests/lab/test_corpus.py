"""Pairs are cut out of small files written here; the sources themselves are not needed."""

import random
import subprocess
from pathlib import Path

from lab.training import corpus, overlap, pairs
from lab.training.asking import ask_about
from lab.training.queries import expand

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


def test_text_of_a_question_set_is_recognised_and_other_text_is_not() -> None:
    question = "Which instrument did Anna start to learn after she moved to the coast?"
    forbidden = frozenset(overlap.hash_runs(question))

    assert overlap.shares_run(f"Somebody asked: {question.upper()} And more.", forbidden)
    assert not overlap.shares_run("Which instrument did Anna start to play when she was a child?", forbidden)


def test_a_run_of_few_different_words_says_nothing() -> None:
    assert list(overlap.hash_runs("no no no no yes yes yes yes")) == []


def test_items_of_a_list_are_paired_with_their_heading_and_links_are_not() -> None:
    body = "- We use pnpm, not npm, for every package of the workspace.\n- [pnpm](https://pnpm.io), the documentation."

    (pair,) = pairs.pair_rules("Package manager", body)

    assert (pair.query, pair.text) == ("Package manager", "We use pnpm, not npm, for every package of the workspace.")


def test_a_translated_section_is_paired_with_what_it_says_in_english() -> None:
    english = "## Retry an upload\n\nUploads that fail are kept in the queue.\n" + "They are sent again later. " * 5
    german = "## Erneut hochladen\n\nWas fehlschlägt, bleibt in der Warteschlange.\n" + "Es wird später gesendet. " * 5

    own, *crossed = pairs.pair_translation(german, english, "other de")

    assert (own.query, own.english_query) == ("Erneut hochladen", "Retry an upload")
    assert own.english_text.startswith("Uploads that fail")
    assert [pair.query for pair in crossed] == ["Erneut hochladen", "Retry an upload"]


def test_a_translation_with_other_sections_than_the_original_is_left_out() -> None:
    english = "## Retry an upload\n\nUploads that fail are kept in the queue.\n" + "They are sent again later. " * 5

    assert list(pairs.pair_translation("## Leer\n", english, "other de")) == []


def test_the_original_of_a_translated_page_is_the_english_one() -> None:
    assert corpus.original_path("content/zh-cn/docs/home.md") == "content/en/docs/home.md"
    assert corpus.original_path("pages.fr/common/tar.md") == "pages/common/tar.md"
    assert corpus.original_path("docs/en/docs/index.md") == ""
    assert corpus.original_path("docs/guide/index.md") == ""


def test_a_table_of_conversations_is_read_and_another_table_is_not() -> None:
    table = 'a,Best Generated Conversation\nx,"User 1: Hello there!\nUser 2: I bake bread."\n'

    assert list(pairs.read_persona_chats(table)) == [[("User 1", "Hello there!"), ("User 2", "I bake bread.")]]
    assert list(pairs.read_persona_chats("id,text\n1,User 1: Hello\n")) == [[]]


def test_messages_that_one_person_sends_in_a_row_are_one_turn() -> None:
    chats = '{"a": {"messages": [[{"sender": "x", "text": "Hi"}, {"sender": "x", "text": "there"}], []]}}'

    assert list(pairs.read_chit_chats(chats)) == [[("x", "Hi there")]]


def test_a_question_is_asked_about_what_a_person_did() -> None:
    questions = {ask_about("Anna: I bought a violin in May.", random.Random(seed)) for seed in range(40)}

    assert "When did Anna buy a violin?" in questions
    assert all("Anna" in question and question.endswith("?") for question in questions)


def test_nothing_is_asked_about_a_greeting() -> None:
    assert ask_about("Anna: Good morning to all of you!", random.Random(1)) == ""


def test_a_translation_is_to_have_the_vectors_of_the_english_original() -> None:
    pair = pairs.Pair(
        kind="other de",
        query="Erneut hochladen",
        text="Uploads bleiben in der Warteschlange.",
        english_query="Retry an upload",
        english_text="Uploads stay in the queue.",
    )

    rows = expand([pair], random.Random(1))

    assert rows.texts == ["Uploads stay in the queue.", "Uploads bleiben in der Warteschlange."]
    assert rows.text_sources == [0, 0]
    assert [rows.queries[source] for source in rows.query_sources] == ["Retry an upload", "Retry an upload"]
    assert rows.owners == [0, 1]
