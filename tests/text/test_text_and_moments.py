"""What people write is taken as they mean it, or refused with a sentence that helps."""

from datetime import UTC, datetime

import pytest

from hivemind.errors import InvalidInput
from hivemind.model import timestamps
from hivemind.model.ids import shorten_session_ids
from hivemind.text.clean import MAX_TEXT_BYTES, first_line, neutralise, parse_tags, validate_label, validate_text
from hivemind.text.search_terms import extract_phrases, extract_terms, split_identifiers, split_passages

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "empty"),
        ("  \n ", "empty"),
        ("a\x00b", "NUL"),
        ("a\ud800b", "not valid Unicode"),
        ("a\x1b[2Jb", "control character U+001B"),
        ("a\x9bb", "control character U+009B"),
        ("x" * (MAX_TEXT_BYTES + 1), "the limit is 65,536"),
    ],
)
def test_text_that_cannot_be_kept_is_refused_with_a_reason(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint.replace("+", r"\+")):
        validate_text(text)


def test_ordinary_text_is_kept_as_it_is() -> None:
    assert validate_text("  tabs\tand\r\nlines, ünïcode, 日本, 👩‍💻 ") == "tabs\tand\nlines, ünïcode, 日本, 👩‍💻"
    assert validate_text("x" * MAX_TEXT_BYTES) == "x" * MAX_TEXT_BYTES


def test_a_label_is_one_line() -> None:
    with pytest.raises(InvalidInput, match="several lines"):
        validate_label("two\nlines", "the subject")
    assert validate_label("deploy-target", "the subject") == "deploy-target"


def test_tags_are_lower_case_and_come_once() -> None:
    assert parse_tags("Auth, bug-fix ,auth,,Clerk") == ("auth", "bug-fix", "clerk")


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2Jall good", "\ufffd[2Jall good"),
        ("no\ryes", "no\nyes"),
        ("user\u202e \u2066// admin\u2069", "user // admin"),
        ("ok\u200b\u200c\u200c\u200bdone", "okdone"),
        ("fine\U0001f600\U000e0159\U000e0157", "fine\U0001f600"),
        ("a" + "\u0301" * 80, "a" + "\u0301" * 4),
        ("one\u2028two\x85three", "one\ntwo\nthree"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_made_harmless(hostile: str, shown: str) -> None:
    assert neutralise(hostile) == shown


@pytest.mark.parametrize(
    "honest",
    [
        "flag \U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f ok",
        "family \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "می\u200cخواهم",
        "plain\ttext\nwith lines",
        "❤️ and é",
    ],
)
def test_honest_text_is_shown_as_it_is(honest: str) -> None:
    assert neutralise(honest) == honest


def test_dates_and_spans_are_read_as_people_write_them() -> None:
    assert timestamps.parse_deadline("28d", NOW) == "2026-03-29T12:00:00.000000Z"
    assert timestamps.parse_past("2w", NOW) == "2026-02-15T12:00:00.000000Z"
    assert timestamps.parse_date("2026-03-01") == "2026-03-01T00:00:00.000000Z"
    assert timestamps.parse_date("2026-03-01T14:00+02:00") == "2026-03-01T12:00:00.000000Z"
    assert timestamps.parse_end_of_day("2026-03-01") == "2026-03-01T23:59:59.999999Z"


@pytest.mark.parametrize("absurd", ["soon", "0001-01-01", "9999-12-31", "99999y", "2026-13-01", "-3d", ""])
def test_an_absurd_date_is_refused(absurd: str) -> None:
    with pytest.raises(InvalidInput):
        timestamps.parse_deadline(absurd, NOW)


def test_identifiers_are_words_whole_and_in_parts() -> None:
    assert split_identifiers("call getUserById in auth/http_client.py") == (
        "getuserbyid get user by id httpclient http client"
    )
    assert "httpserver" in split_identifiers("HTTPServer")


def test_a_question_is_asked_by_its_telling_words() -> None:
    assert extract_terms("How do we deploy the API?") == ["deploy", "api"]
    assert extract_terms("what is it") == ["what", "is", "it"]
    assert extract_phrases('the "exact words" please') == ["exact words"]


def test_a_fact_in_a_long_text_is_in_some_passage() -> None:
    filler = "Nothing to see in this sentence. " * 200
    pieces = split_passages(filler + "The launch code is opal. " + filler)

    assert len(pieces) > 3
    assert any("launch code is opal" in piece for piece in pieces)


def test_a_headline_is_cut_at_a_word() -> None:
    assert first_line("short\nand more") == "short"
    assert first_line("word " * 40, longest=20) == "word word word word …"


def test_a_period_names_its_day_once() -> None:
    assert timestamps.format_period("2026-03-01T09:00:00Z", "2026-03-01T09:30:00Z") == "2026-03-01 09:00 to 09:30"
    assert timestamps.format_period("2026-03-01T23:00:00Z", "2026-03-02T00:30:00Z") == (
        "2026-03-01 23:00 to 2026-03-02 00:30"
    )


def test_ids_of_sessions_are_shortened_as_far_as_they_stay_different() -> None:
    ids = ["01a1de0f-2fe1-7c73", "01a1de0f-af2a-75e1", "5f1c9a52-31d7-4c0e", "s1"]

    assert shorten_session_ids(ids) == ["01a1de0f-2", "01a1de0f-a", "5f1c9a52", "s1"]
