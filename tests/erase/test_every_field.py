"""An erased text stays out of every field, by every way in, and behind every escape."""

import base64
import html
import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from hivemind import Hivemind
from hivemind.errors import Refused
from hivemind.model.claim import Claim
from hivemind.model.codec import unpack_content
from hivemind.model.memory import Channel, Writer
from hivemind.text.escapes import decode
from hivemind.text.excluded_text import MARK
from tests.command_line import run
from tests.conftest import AGENT, Open, Tally
from tests.erase.test_stays_out import OTHER, VALUE, hook, observed

NON_ASCII = "Die Größe der Rechnung für Zoë Łukasz beträgt dreißig Złoty je Monat"
ESCAPED: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "JSON": lambda text: json.dumps({"a": text}),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"a": text})),
    "every letter as JSON": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "HTML": lambda text: html.escape(text).replace(" ", "&nbsp;").replace("ö", "&ouml;"),
    "HTML, by number": lambda text: "".join(f"&#{ord(letter)};" if ord(letter) > 127 else letter for letter in text),
    "a URL": quote,
    "a URL in a URL": lambda text: quote(quote(text)),
    "a form": lambda text: quote(text).replace("%20", "+"),
    "Git's names of files": lambda text: "".join(
        letter if letter.isascii() else "".join(f"\\{byte:03o}" for byte in letter.encode()) for letter in text
    ),
    "Python's bytes": lambda text: str(text.encode()),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
}


def stored(mind: Hivemind) -> str:
    """Everything that the log has, in headers and bodies, without escapes."""
    db = mind._context.store.db
    bodies = [unpack_content(row[0]) for row in db.execute("SELECT content FROM bodies")]
    headers = [" ".join(map(str, row)) for row in db.execute("SELECT * FROM events")]
    text = "\n".join([*bodies, *headers])
    decoded = decode(text)
    return f"{text}\n{decoded.text if decoded else ''}".lower()


def note(mind: Hivemind) -> str:
    return mind.remember(f"Till {len(mind.history.log(limit=1000))} closes at six").id


WAYS: dict[str, Callable[[Hivemind, str], object]] = {
    "metadata": lambda mind, text: mind.remember("A note", metadata={"customer": text}),
    "a key of metadata": lambda mind, text: mind.remember("A note", metadata={text.replace(" ", "_")[:64]: "x"}),
    "metadata, by edit": lambda mind, text: mind.edit(note(mind), metadata={"customer": text}),
    "the subject": lambda mind, text: mind.remember("A note", subject=text),
    "the subject, by edit": lambda mind, text: mind.edit(note(mind), subject=text),
    "a tag": lambda mind, text: mind.remember("A note", tags=[text]),
    "a tag, later": lambda mind, text: mind.tag(note(mind), add=[text]),
    "a source": lambda mind, text: mind.remember("A note", sources=[f"mail: {text}"]),
    "a link": lambda mind, text: mind.remember("A note", links=[text.replace("/", "-")]),
    "a session": lambda mind, text: mind.remember_all([Claim(text="A note", session_id=text)]),
    "a trace": lambda mind, text: mind.store_trace(agent="codex", action="look", reasoning=text),
    "the agent of a trace": lambda mind, text: mind.store_trace(agent=text, action="look"),
    "the reason of forget": lambda mind, text: mind.forget(note(mind), reason=text),
    "the reason of verify": lambda mind, text: mind.review.verify(note(mind), reason=text),
    "the reason of edit": lambda mind, text: mind.edit(note(mind), "The till closes at ten", reason=text),
    "the reason of dispute": lambda mind, text: mind.review.dispute(
        note(mind), mind.remember("Tills are red").id, reason=text
    ),
}


def in_batch(mind: Hivemind, text: str) -> None:
    with mind.review.batch(text):
        note(mind)


PERSONS_WAYS: dict[str, Callable[[Hivemind, str], object]] = {
    "the reason of approve": lambda mind, text: mind.approve(note(mind), reason=text),
    "the reason of reject": lambda mind, text: mind.reject(note(mind), reason=text),
    "the reason of restore": lambda mind, text: mind.restore(mind.forget(note(mind)).id, reason=text),
    "a name of a batch": in_batch,
}


@pytest.fixture
def text() -> str:
    return "Zabrowski of Nordbank owes 400 to Quorn"


@pytest.mark.parametrize("way", [*WAYS, *PERSONS_WAYS])
@pytest.mark.parametrize("who", ["person", "agent"])
def test_an_erased_text_is_refused_in_every_field_that_somebody_writes(
    open_mind: Open, tally: Tally, text: str, way: str, who: str
) -> None:
    if who == "agent" and way in PERSONS_WAYS:
        pytest.skip("agents may not do that at all")
    person = open_mind()
    mind = person if who == "person" else open_mind(writer=AGENT)
    person.erase(person.remember(text).id)
    write = {**WAYS, **PERSONS_WAYS}[way]

    write(mind, "Quillfeather of Westbank has 300 from Quinn")
    for escape in (str, str.upper, lambda text: quote(text, safe="")):
        if way == "a key of metadata" and escape is not str:
            continue
        with pytest.raises(Refused, match="erased before"):
            write(mind, escape(text))

    assert "zabrowski" not in stored(person)
    assert "quillfeather" in stored(person)
    tally(f"erased texts written into other fields by {'an agent' if who == 'agent' else 'a person'}", 1, 1)


@pytest.mark.parametrize("field", ["metadata", "subject", "tags", "links", "trace", "owner", "repo", "sources"])
def test_an_import_counts_what_has_an_erased_text_in_any_field(open_mind: Open, text: str, field: str) -> None:
    def make_line(number: int, said: str) -> str:
        values = {
            "metadata": {"customer": said}, "subject": said, "tags": [said], "links": [said], "owner": said,
            "trace": {"agent": "codex", "action": said}, "repo": said,
            "sources": [{"channel": "agent", "file": said, "session_id": said}],
        }  # fmt: skip
        line = {
            "hivemind": 1, "id": f"{number:032x}", "kind": "fact", "text": f"Note {number}", "owner": "bob",
            "scope": "project", "repo": "", field: values[field],
        }  # fmt: skip
        return json.dumps(line)

    mind = open_mind()
    mind.erase(mind.remember(text).id)

    done = mind.files.import_lines([make_line(1, text), make_line(2, "Quillfeather of Westbank")])

    assert (done.new, done.refused) == (1, 1)
    assert "zabrowski" not in stored(mind)
    assert "quillfeather" in stored(mind)


@pytest.mark.parametrize("escape", ESCAPED)
@pytest.mark.parametrize("said", [VALUE, NON_ASCII])
def test_an_observation_loses_an_erased_text_behind_every_escape(
    open_mind: Open, home: Path, tmp_path: Path, tally: Tally, said: str, escape: str
) -> None:
    mind = open_mind()
    mind.erase(mind.remember(said).id)

    hook(home, tmp_path, f"First {ESCAPED[escape](OTHER)} then {ESCAPED[escape](said)} end.")
    mind.sessions.take_in_spool()

    assert MARK in observed(mind)
    assert "end." in observed(mind)
    assert not any(name in stored(mind) for name in ("zabrowski", "łukasz"))
    assert "quillfeather" in stored(mind)
    tally("erased texts behind escapes in what a hook told", 1, 1)


def test_an_agents_ids_of_sessions_and_steps_bring_nothing_back(
    open_mind: Open, home: Path, tmp_path: Path, text: str
) -> None:
    mind = open_mind()
    mind.erase(mind.remember(text).id)

    hook(home, tmp_path, "first", session=text)
    hook(home, tmp_path, "second", number=2, session=text)
    hook(home, tmp_path, "third", number=3, session="Quillfeather")
    mind.sessions.take_in_spool()

    assert "zabrowski" not in stored(mind)
    assert sorted(session.observations for session in mind.sessions.list(everywhere=True)) == [1, 2]


def test_a_client_or_person_whose_name_is_an_erased_text_writes_nothing(open_mind: Open, text: str) -> None:
    person = open_mind()
    person.erase(person.remember(text).id)
    named_so = open_mind(writer=Writer(actor=text, channel=Channel.AGENT))

    with pytest.raises(Refused, match="erased before"):
        named_so.remember("A note")
    assert "zabrowski" not in stored(person)
    assert open_mind(writer=Writer(actor="Quillfeather", channel=Channel.AGENT)).remember("A note")


def test_a_setting_cannot_hold_an_erased_text(text: str, home: Path) -> None:
    run("remember", text)
    assert run("erase", json.loads(run("list", "--json").stdout)[0]["id"], "--yes").exit_code == 0

    refused, accepted = run("config", "set", "person", text), run("config", "set", "person", "Quillfeather")

    assert (refused.exit_code, accepted.exit_code) == (4, 0), refused.output
    assert "erased before" in refused.output
    assert "Zabrowski" not in (home / "config.toml").read_text()


@pytest.mark.parametrize("way", ["metadata", "the subject", "the reason of verify"])
def test_a_rejected_value_is_refused_as_a_whole_field_until_it_is_restored(
    open_mind: Open, text: str, way: str
) -> None:
    mind = open_mind()
    rejected = mind.remember(text)
    mind.reject(rejected.id)

    with pytest.raises(Refused, match="rejected before"):
        WAYS[way](mind, text)
    mind.restore(rejected.id)

    assert WAYS[way](mind, text)
