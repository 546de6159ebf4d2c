"""No input stops the store: what cannot be read is set aside and reported, and everything beside it is taken in."""

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind
from hivemind.entrypoints import hook as hook_file
from hivemind.errors import InvalidInput, StoreBusy, StoreFull
from hivemind.model.session import MAX_RAW_CHARACTERS, SkippedInput
from hivemind.sessions import quarantine, spool, truncate
from hivemind.sessions import quarantine as verbs
from hivemind.sessions.observations import isolate_failures
from hivemind.sessions.quarantine import ItemOrigin
from hivemind.text.untrusted import MAX_DEPTH
from tests.agents.test_decoder import AT, EDITS, FAILURES, PROMPTS
from tests.agents.test_transcripts import KEEPERS
from tests.command_line import residue, run, run_json
from tests.conftest import Open, Tally
from tests.mcp.client import connected
from tests.property.test_bent_shapes import every_way

SECRET = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0SaQwEr"
DEEP = "[" * 10_000 + "]" * 10_000


def nested(levels: int) -> str:
    return "[" * levels + '"leaf"' + "]" * levels


def tool_use(response: str, number: str = "t1") -> str:
    """A payload whose response is given as raw JSON, or as what should have been JSON."""
    told = {"session_id": "ours", "cwd": str(Path.cwd()), "hook_event_name": "PostToolUse", "tool_name": "mcp__x"}
    named = json.dumps(told | {"tool_input": {"command": "ls"}, "tool_use_id": number})
    return f'{named.removesuffix("}")}, "tool_response": {response}}}'


UNREADABLE = {
    "nested 600 deep": tool_use(nested(600)),
    "nested 10,000 deep": tool_use(DEEP),
    "objects nested 10,000 deep": tool_use('{"a":' * 10_000 + "1" + "}" * 10_000),
    "10,000 brackets, never closed": "[" * 10_000,
    "a number of 5,000 digits": tool_use("9" * 5_000),
    "a NUL byte": tool_use('"a\0b"'),
    "half of a payload": tool_use('"x"')[:-20],
    "nothing": "",
    "a list": "[]",
    "a number": "7",
    "no session": "{}",
}
READABLE = {
    "nested 100 deep": tool_use(nested(100)),
    "nested as deep as may be": tool_use(nested(MAX_DEPTH - 1)),
    "an infinite number": tool_use('{"exit_code": 1e999}'),
    "a number beyond 64 bits": tool_use('{"exit_code": 99999999999999999999999}'),
    "no number": tool_use('{"a": NaN, "b": -Infinity}'),
    "a key that stands twice": tool_use('{"text": "first", "text": "second"}'),
    "half a character": tool_use('"\\ud800"'),
    "an escaped NUL": tool_use('"a\\u0000b"'),
    "a moment beyond all calendars": tool_use('"x"').replace('"session_id"', '"timestamp": 1e300, "session_id"'),
    "a directory that cannot be": tool_use('"x"').replace('"cwd": "', '"cwd": "/\\u0000' + "x" * 5_000),
    "a byte order mark": "\ufeff" + tool_use('"x"'),
}


def hook(payload: bytes) -> "subprocess.CompletedProcess[bytes]":
    command = [sys.executable, "-I", "-S", str(hook_file.__file__), "claude-code", "PostToolUse"]
    return subprocess.run(command, input=payload, capture_output=True, check=False)


def leave(home: Path, *payloads: str, agent: str = "claude-code", event: str = "PostToolUse") -> None:
    for payload in payloads:
        spool.append(str(home), agent, event, AT, payload)


def good(number: int) -> str:
    return tool_use('"all is well"', f"good{number}")


def good_ones() -> int:
    rows = run_json("sql", "SELECT count(*) AS n FROM tool_outputs WHERE output = 'all is well'")
    return int(rows[0]["n"])


@pytest.mark.parametrize("what", UNREADABLE)
def test_a_line_that_cannot_be_read_costs_no_other_and_is_set_aside(home: Path, what: str) -> None:
    leave(home, good(1), UNREADABLE[what], good(2))

    assert good_ones() == 2
    (item,) = quarantine.load_items(home)
    assert item.where == "claude-code PostToolUse at 2026-03-01 10:00"
    assert item.reason
    assert (item.door, item.content.startswith("claude-code\tPostToolUse\t")) == (ItemOrigin.HOOK, True)
    assert not list(home.glob("spool*"))


@pytest.mark.parametrize("what", READABLE)
def test_a_line_that_is_merely_odd_is_taken_in(home: Path, what: str) -> None:
    leave(home, good(1), READABLE[what], good(2))

    assert run_json("status", "--counts")["observations"] == 3
    assert good_ones() == 2
    assert quarantine.count_items(home) == 0


@pytest.mark.parametrize("what", [*UNREADABLE, *READABLE])
def test_a_hook_takes_anything_and_ends_well(home: Path, what: str) -> None:
    done = hook((UNREADABLE | READABLE)[what].encode("utf-8", "surrogatepass"))

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert run_json("status", "--counts")["observations"] == (what in READABLE)
    assert quarantine.count_items(home) == (what in UNREADABLE)


@pytest.mark.parametrize(
    "response",
    [
        '"' + "x " * 25_000_000 + '"',
        '"' + "x " * 40_000_000 + '"',
        "[" + ",".join(['"abc"'] * 8_000_000) + "]",
        '{"stdout": "' + "line\\n" * 9_000_000,
    ],
    ids=["a string of 50 MB", "a string of 80 MB", "8 million strings", "54 MB that end in a string"],
)
def test_of_a_payload_of_fifty_megabytes_a_hook_keeps_what_counts(home: Path, response: str) -> None:
    done = hook(tool_use(response).encode())

    spooled = (home / "spool").stat().st_size
    seen = run_json("sql", "SELECT session_id, tool, input FROM tool_outputs")

    assert (done.returncode, done.stderr) == (0, b"")
    assert seen == [{"session_id": "ours", "tool": "mcp__x", "input": '{"command": "ls"}'}]
    assert spooled < 1_200_000


def test_a_secret_at_the_place_where_a_payload_is_cut_goes_with_the_cut(home: Path) -> None:
    begun = tool_use('["').removesuffix("}")
    for place in (truncate.HEAD, truncate.HEAD + truncate.MARGIN):
        for shift in (5, 20, 35):
            before = (" y" * place)[: place - len(begun) - shift - 1]
            hook(f"{begun}{before} {SECRET} {'w ' * 600_000}".encode())

    assert residue(home, SECRET[:5].encode()) == []
    assert residue(home, b"y y y") == ["spool"]
    assert run_json("status", "--counts")["observations"] == 1


def bent_payloads() -> Iterator[tuple[str, str, str]]:
    for table in (EDITS, FAILURES, PROMPTS):
        for agent, (event, payload) in table.items():
            yield from ((agent, event, json.dumps(changed)) for changed in every_way(payload))


def test_a_spool_of_every_bent_payload_stops_no_command(home: Path, open_mind: Open, tally: Tally) -> None:
    mind = open_mind(Path.cwd())
    mind.remember("Deploys run from main only")
    doomed = mind.remember("heron-7731-otto quilt-5520").id
    mind.close()
    bent = list(bent_payloads())
    for number, (agent, event, payload) in enumerate(bent):
        leave(home, payload, agent=agent, event=event)
        if number % 100 == 0:
            leave(home, good(number))
    kept = len(range(0, len(bent), 100))
    commands: dict[tuple[str, ...], int] = {
        ("recall", "how do deploys run?"): 0,
        ("remember", "Tests run on every push"): 0,
        ("doctor",): 1,
        ("brief",): 0,
        ("list",): 0,
        ("session", "list", "--everywhere"): 0,
        ("session", "show", "ours", "--everywhere"): 0,
        ("erase", doomed, "--yes"): 0,
        ("status",): 0,
        ("learn",): 0,
        ("export",): 0,
        ("repair", "--rebuild"): 0,
        ("quarantine",): 0,
    }

    ended = {}
    for command in commands:
        # Each command meets a spool with all that cannot be read, the first one with everything.
        leave(home, *UNREADABLE.values(), *READABLE.values())
        ended[command] = run(*command).exit_code
    leave(home, *UNREADABLE.values())
    with connected(Path.cwd()) as client:
        client.shake_hands()
        said, failed = client.call("recall", query="how do deploys run?")

    tally("bent payloads in one spool, and read on", len(bent), len(bent))
    tally("commands run on a spool of bad input", len(commands) + 1, sum(ended[c] == commands[c] for c in commands) + 1)
    assert ended == commands
    assert ("Deploys run from main only" in said, failed) == (True, False)
    assert good_ones() == kept
    assert run_json("status")["quarantined"] == quarantine.count_items(home) > 0
    assert residue(home, b"heron-7731-otto") == []


def test_bent_transcripts_stop_no_backfill_and_good_ones_are_taken_in(
    tmp_path: Path, mind: Hivemind, tally: Tally
) -> None:
    user = tmp_path / "user"
    names = ("claude-code", "codex", "qwen")
    fed = 0
    for name in names:
        path = KEEPERS[name](user)
        whole = [json.loads(line) for line in path.read_text().splitlines()]
        for number, changed in enumerate(every_way(whole)):
            bent = path.with_name(f"{path.stem}x{number}{path.suffix}")
            bent.write_text("\n".join(json.dumps(line) for line in changed))
            fed += 1

    done = mind.sessions.import_transcripts(home=user)

    tally("bent transcripts in one backfill", fed, done.transcripts - len(names))
    assert done.transcripts == fed + len(names)
    assert {session.agent for session in mind.sessions.list(limit=10_000, everywhere=True)} == set(names)


@pytest.mark.parametrize("what", sorted({*UNREADABLE} - {"nothing", "no session"}))
def test_one_bad_line_of_a_transcript_costs_no_other(home: Path, tmp_path: Path, mind: Hivemind, what: str) -> None:
    path = KEEPERS["claude-code"](tmp_path / "user")
    whole = mind.sessions.import_transcripts(home=tmp_path / "user", dry_run=True).observations
    first, rest = path.read_text().split("\n", 1)
    path.write_text(f"{first}\n{UNREADABLE[what]} {SECRET}\n{rest}")

    done = mind.sessions.import_transcripts(home=tmp_path / "user")
    again = mind.sessions.import_transcripts(home=tmp_path / "user")

    assert (done.observations, done.quarantined, again.quarantined) == (whole, 1, 1)
    (item,) = quarantine.load_items(home)
    assert item.where == f"{path} line 2"
    assert residue(home, SECRET.encode()) == []


def test_a_line_of_fifty_megabytes_in_a_transcript_is_left_out(home: Path, tmp_path: Path, mind: Hivemind) -> None:
    path = KEEPERS["claude-code"](tmp_path / "user")
    whole = mind.sessions.import_transcripts(home=tmp_path / "user", dry_run=True).observations
    with path.open("a") as file:
        file.write('{"type": "user", "text": "' + "x" * 50_000_000 + '"}\n')

    assert mind.sessions.import_transcripts(home=tmp_path / "user").observations == whole
    (item,) = quarantine.load_items(home)
    assert item.is_cut
    assert "line too long" in item.reason
    assert sum(file.stat().st_size for file in (home / "quarantine").iterdir()) < 100_000


def exported(mind: Hivemind) -> list[str]:
    mind.remember("Deploys run from main only")
    mind.remember("Tests run on every push")
    return list(mind.files.export_lines())


BAD_LINES = {
    "no JSON": "{not json",
    "nested 10,000 deep": f'{{"hivemind": 1, "text": {DEEP}}}',
    "a number of 5,000 digits": f'{{"hivemind": 1, "confidence": {"9" * 5_000}}}',
    "a list": "[1]",
    "nothing that was exported": "{}",
}


def bent_line(line: str, **changed: Any) -> str:
    return json.dumps(json.loads(line) | {"id": "b" * 32} | changed)


@pytest.mark.parametrize("what", [*BAD_LINES, "infinite", "half a character", "a NUL", "wrong types", "no UTF-8"])
def test_an_import_takes_the_good_lines_and_names_the_bad_one(
    home: Path, tmp_path: Path, mind: Hivemind, what: str
) -> None:
    one, other = exported(mind)
    bad = BAD_LINES | {
        "infinite": bent_line(one, confidence=float("inf")),
        "half a character": bent_line(one, repo="\ud800"),
        "a NUL": bent_line(one, subject="a\0b"),
        "wrong types": bent_line(one, sources=[{"channel": 7, "file": {}}]),
        "no UTF-8": bent_line(one, text="caf\xe9"),
    }
    file = tmp_path / "memories.jsonl"
    encoded = bad[what].encode("ascii" if what != "no UTF-8" else "utf-8")
    encoded = encoded.replace(rb"caf\u00e9", b"caf\xe9 " + SECRET.encode())
    file.write_bytes(one.encode() + b"\n" + encoded + b"\n" + other.encode() + b"\n")
    target = {"HIVEMIND_HOME": str(tmp_path / "other")}

    done = subprocess.run(
        [sys.executable, "-P", "-m", "hivemind", "import", str(file)],
        env=os.environ | target, capture_output=True, text=True, check=False,
    )  # fmt: skip

    (item,) = quarantine.load_items(tmp_path / "other")
    assert done.returncode == 1
    assert "Imported 2 memories" in done.stdout
    assert "line 2 is not an exported memory" in done.stderr
    assert "1 line could not be read. Inspect: hivemind quarantine" in done.stderr
    assert (item.door, item.where) == (ItemOrigin.IMPORT, f"{file}, line 2")
    assert residue(tmp_path / "other", SECRET.encode()) == []


def test_a_file_of_which_no_line_can_be_read_is_refused_and_not_kept(home: Path, mind: Hivemind) -> None:
    with pytest.raises(InvalidInput, match="line 1 is not an exported memory: not JSON"):
        mind.files.import_lines(["not json", "neither"])

    assert quarantine.count_items(home) == 0


def test_a_line_whose_recording_fails_is_found_and_the_others_are_recorded() -> None:
    recorded: list[int] = []
    aside: list[tuple[int, str]] = []

    def record(numbers: Any) -> int:
        if 13 in numbers:
            raise RuntimeError("nobody foresaw this")
        recorded.extend(numbers)
        return len(numbers)

    assert isolate_failures(range(100), record, lambda number, error: aside.append((number, str(error)))) == 99
    assert recorded == [number for number in range(100) if number != 13]
    assert aside == [(13, "nobody foresaw this")]


@pytest.mark.parametrize("error", [StoreFull("full"), StoreBusy("busy"), OSError("no room"), MemoryError()])
def test_a_full_disk_or_a_busy_store_sets_nothing_aside(error: Exception) -> None:
    aside: list[int] = []

    def record(numbers: Any) -> int:
        raise error

    with pytest.raises(type(error)):
        isolate_failures(range(100), record, lambda number, _: aside.append(number))

    assert aside == []


def test_a_person_can_list_show_and_discard_and_nothing_is_obeyed_by_the_terminal(home: Path) -> None:
    leave(home, f'{{"\x1b]0;owned\x07 {SECRET} \u202e": ', "neither")
    status = run("status")

    listed = run_json("quarantine")
    shown = run("quarantine", listed[0]["id"][:8])
    as_json = run("quarantine", listed[0]["id"], "--json")

    assert "2 items that could not be read" in status.stdout
    assert "hivemind quarantine" in status.stdout
    assert {one["door"] for one in listed} == {"hook"}
    assert "owned" in shown.stdout + run("quarantine", listed[1]["id"]).stdout
    for character in ("\x1b", "\x07", "\u202e"):
        assert character not in shown.stdout + as_json.stdout
    assert residue(home, SECRET.encode()) == []
    assert run("quarantine", "zzz").exit_code == 3
    assert run("quarantine", "--discard").exit_code == 2
    assert run_json("quarantine", "--discard", listed[0]["id"]) == {"discarded": 1}
    assert run("quarantine", "--discard", "--all").stdout == "Discarded 1 item.\n"
    assert run("doctor").exit_code == 0
    assert "quarantine" not in run("status").stdout


def test_what_can_be_read_after_an_upgrade_is_read_again(home: Path) -> None:
    leave(home, good(1), "never")
    # As an older program would have set it aside.
    quarantine.add(
        home,
        ItemOrigin.HOOK,
        [SkippedInput(reason="unknown", raw=f"claude-code\tPostToolUse\t{AT}\t{good(2)}")],
        AT,
        frozenset(),
    )

    done = run_json("quarantine", "--retry")
    again = run_json("quarantine", "--retry")

    assert done == {"read": 1, "still_unreadable": 0}
    assert again == {"read": 0, "still_unreadable": 1}
    assert good_ones() == 2
    assert quarantine.count_items(home) == 1


def test_no_agent_is_shown_what_is_in_quarantine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leave(home, "the heron is called Otto")
    run("status")
    monkeypatch.setenv("CLAUDECODE", "1")

    refused = [run("quarantine", *command) for command in ([], ["a"], ["--discard", "--all"], ["--retry"])]
    told = [run(*command).output for command in (["recall", "heron"], ["brief"], ["status"], ["doctor"])]
    monkeypatch.delenv("CLAUDECODE")

    assert [done.exit_code for done in refused] == [4] * 4
    assert "Otto" not in "".join(told)
    assert "Otto" in verbs.find([quarantine.load_items(home)[0].id])[0].content


def test_what_is_erased_leaves_the_quarantine_too(home: Path, open_mind: Open) -> None:
    mind = open_mind(Path.cwd())
    memory = mind.remember('The customer "Blue  Heron" pays in May').id
    leave(home, 'not json: the CUSTOMER \\"blue heron\\"\\npays in \\u004day', "not json: the customer pays")
    mind.sessions.take_in_spool()

    receipt = mind.erase(memory)

    details = [place.detail for place in receipt.places if place.name == "quarantine"]
    assert details == ["items that quoted it, removed: 1"]
    assert residue(home, b"blue heron") == []
    assert quarantine.count_items(home) == 1


def test_the_quarantine_is_bounded_private_and_keeps_the_newest(home: Path) -> None:
    first, many = [SkippedInput(reason="old", raw="x" * 70_000)], range(quarantine.MOST_ITEMS + 5)
    quarantine.add(home, ItemOrigin.HOOK, first, AT, frozenset())
    time.sleep(0.01)
    quarantine.add(home, ItemOrigin.HOOK, [SkippedInput(reason="new", raw=f"item {n}") for n in many], AT, frozenset())

    items = quarantine.load_items(home)

    assert len(items) == quarantine.MOST_ITEMS
    assert {item.reason for item in items} == {"new"}
    assert quarantine.is_full(home)
    assert stat.S_IMODE((home / "quarantine").stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in (home / "quarantine").iterdir()} == {0o600}


def test_the_quarantine_takes_a_limited_number_of_bytes(home: Path) -> None:
    large = [SkippedInput(reason="large", raw=f"{number:03}" + "x " * 40_000) for number in range(300)]

    quarantine.add(home, ItemOrigin.HOOK, large, AT, frozenset())

    total = sum(file.stat().st_size for file in (home / "quarantine").iterdir())
    assert quarantine.MOST_BYTES // 2 < total <= quarantine.MOST_BYTES
    assert all(item.is_cut for item in quarantine.load_items(home))


def test_where_nothing_can_be_set_aside_the_spool_stays_and_the_store_opens(home: Path) -> None:
    run("status")
    (home / "quarantine").write_text("a file where a folder belongs")
    leave(home, good(1), "not json")

    doctor = {one["what"]: one for one in json.loads(run("doctor", "--json").stdout)}

    assert good_ones() == 1
    assert not doctor["spool"]["is_well"]
    assert residue(home, b"not json") != []
    (home / "quarantine").unlink()
    assert run("status").exit_code == 0
    assert quarantine.count_items(home) == 1
    assert "spool" not in {one["what"] for one in json.loads(run("doctor", "--json").stdout)}


@pytest.mark.parametrize("coded", ["utf-8", "utf-16-le"])
def test_no_secret_is_kept_whole_or_cut_in_two(home: Path, coded: str) -> None:
    wide = 1 if coded == "utf-8" else 2
    for place in (quarantine.LONGEST_CONTENT, MAX_RAW_CHARACTERS):
        for shift in (5, 20, 35):
            before = " y" * (place // wide)
            text = f"<private>{'p' * 9_000}</private>" + before[: place // wide - shift - 9_020] + f" {SECRET} " * 3
            raw = (text + "w " * 40_000).encode(coded).decode("latin-1")
            quarantine.add(
                home, ItemOrigin.IMPORT, [SkippedInput(reason="x", raw=raw[:MAX_RAW_CHARACTERS])], AT, frozenset()
            )
            quarantine.add(home, ItemOrigin.IMPORT, [SkippedInput(reason="y", where="z", raw=raw)], AT, frozenset())

    assert residue(home, SECRET[:6].encode()) == []
    assert len(residue(home, b"y y y")) == quarantine.count_items(home) > 0


def test_an_item_that_is_damaged_itself_is_listed_and_can_be_discarded(home: Path) -> None:
    (home / "quarantine").mkdir(parents=True)
    (home / "quarantine" / ("a" * 12)).write_bytes(b"\xff\x00 no note")
    (home / "quarantine" / "something else").write_text("not ours")

    assert [item["reason"] for item in run_json("quarantine")] == ["its first line, which says why, is damaged"]
    assert run("quarantine", "--discard", "--all").exit_code == 0
    assert (home / "quarantine" / "something else").exists()
